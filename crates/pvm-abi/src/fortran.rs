//! Fortran.
