//! `hpvm bench` as a program of its own, for development: `cargo run -p hpvm-bench -- peers`.

fn main() {
    std::process::exit(hpvm_bench::run(&hpvm_bench::command().get_matches()));
}
