//! Build script of every library for another ABI: its name, and its link to `libmpi_abi.so.1`.
//!
//! Cargo cannot link one of our shared libraries with another, so it is linked with a stand-in that
//! has the name and the three symbols of the real one that such libraries use, which the dynamic linker finds beside us.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

const STAND_IN: &str =
    "char hpvm_entries_1[1];\nchar hpvm_onesided_1[1];\nchar hpvm_models_1[1];\n";

pub fn main() {
    println!("cargo:rerun-if-changed=../foreign/link.rs");
    println!("cargo:rerun-if-changed=Cargo.toml");
    let manifest = fs::read_to_string("Cargo.toml").expect("our Cargo.toml");
    let soname = manifest
        .lines()
        .find_map(|line| line.strip_prefix("soname = \"")?.strip_suffix('"'))
        .expect("Cargo.toml says soname = \"...\" under [package.metadata.hpvm]");
    let folder = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let source = Path::new(&folder).join("stand_in.c");
    // Our unit tests load it by the name of the real one, and link by the short one.
    let library = Path::new(&folder).join("libmpi_abi.so.1");
    let short = Path::new(&folder).join("libmpi_abi.so");
    fs::write(&source, STAND_IN).expect("OUT_DIR can be written");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Command::new(&compiler)
        .args(["-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libmpi_abi.so.1", "-o"])
        .args([&library, &source])
        .status();
    match status {
        Ok(status) if status.success() => {}
        other => panic!("{compiler} made no stand-in for libmpi_abi.so.1: {other:?}"),
    }
    let _ = fs::remove_file(&short);
    fs::copy(&library, &short).expect("OUT_DIR can be written");
    println!("cargo:rustc-link-search=native={folder}");
    println!("cargo:rustc-link-lib=dylib=mpi_abi");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{soname}");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--enable-new-dtags");
    // `MPI_X` calls `PMPI_X`: always ours, whatever else is loaded.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
}
