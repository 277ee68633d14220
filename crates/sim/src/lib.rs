//! A seeded, deterministic virtual network.
