//! Names the library and links it to `libmpi.so.40`, for which a stand-in with the symbols that are
//! used is enough: cargo cannot link one of our shared libraries with another.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/constants.rs");
    let text = fs::read_to_string("src/constants.rs").expect("src/constants.rs");
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let mut symbols: Vec<&str> = words.filter(|w| is_data(w)).collect();
    symbols.sort_unstable();
    symbols.dedup();
    let mut source =
        String::from("int MPI_Type_free, MPI_Win_free, MPI_File_close, hpvm_set_cxx_intercept;\n");
    for symbol in symbols {
        source.push_str(&format!("char {symbol}[16];\n"));
    }
    let folder = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let (file, library) =
        (Path::new(&folder).join("stand_in.c"), Path::new(&folder).join("libmpi.so"));
    fs::write(&file, source).expect("OUT_DIR can be written");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Command::new(&compiler)
        .args(["-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libmpi.so.40", "-o"])
        .args([&library, &file])
        .status();
    match status {
        Ok(status) if status.success() => {}
        other => panic!("{compiler} made no stand-in for libmpi.so.40: {other:?}"),
    }
    println!("cargo:rustc-link-search=native={folder}");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_cxx.so.40");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--enable-new-dtags");
}

fn is_data(word: &str) -> bool {
    ["ompi_mpi_", "ompi_request_"].iter().any(|start| word.starts_with(start))
}
