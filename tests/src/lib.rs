//! Multi-process tests and their runner.
