//! The hpvm command.
fn main() {}
