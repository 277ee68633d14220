//! The C interface of Fast Messages (fm.h).
