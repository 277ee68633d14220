//! Gives the shared library its standard name (MPI 5.0, section 20.3).

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    // Libraries for other ABIs export the same names; ours must not call theirs. Functions only: the
    // linker copies variables (FM_nodeid) into programs, and both sides have to mean the copy.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
}
