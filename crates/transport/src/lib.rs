//! The Transport trait, its limits, its conformance suite.
