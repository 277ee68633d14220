//! Tidy rules, code generation, drivers.
fn main() {}
