//! Atomics facade, padding, backoff; the only user of loom.
