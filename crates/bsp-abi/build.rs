//! Links with `libmpi_abi.so.1` as the libraries for other ABIs do, and compiles the one function that has to be C.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

#[path = "../foreign/link.rs"]
mod link;

fn main() {
    link::main();
    println!("cargo:rerun-if-changed=src/abort.c");
    let folder = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let object = Path::new(&folder).join("abort.o");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Command::new(&compiler)
        .args(["-c", "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", "src/abort.c", "-o"])
        .arg(&object)
        .status();
    match status {
        Ok(status) if status.success() => {}
        other => panic!("{compiler} could not compile src/abort.c: {other:?}"),
    }
    assert!(fs::exists(&object).is_ok_and(|there| there), "{compiler} has written no abort.o");
    println!("cargo:rustc-link-arg-cdylib={}", object.display());
}
