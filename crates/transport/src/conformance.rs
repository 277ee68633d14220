//! The suite that every transport passes.
