//! Names the library, and compiles the functions that have to be C: those with arguments as `printf` has them.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=src/varargs.c");
    println!("cargo:rerun-if-changed=Cargo.toml");
    let manifest = fs::read_to_string("Cargo.toml").expect("our Cargo.toml");
    let soname = manifest
        .lines()
        .find_map(|line| line.strip_prefix("soname = \"")?.strip_suffix('"'))
        .expect("Cargo.toml says soname = \"...\" under [package.metadata.hpvm]");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{soname}");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    let folder = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let object = Path::new(&folder).join("varargs.o");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Command::new(&compiler)
        .args(["-c", "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", "src/varargs.c", "-o"])
        .arg(&object)
        .status();
    match status {
        Ok(status) if status.success() => {}
        other => panic!("{compiler} could not compile src/varargs.c: {other:?}"),
    }
    println!("cargo:rustc-link-arg-cdylib={}", object.display());
}
