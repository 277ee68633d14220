//! Shared-memory transport.
