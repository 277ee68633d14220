//! How fast reductions are, beside `memcpy` of the same number of bytes in the same run.
//!
//! Run with `cargo test --release -p hpvm-mpi --test op_speed -- --ignored --nocapture`.
use hpvm_mpi::datatype::predefined;
use hpvm_mpi::op::*;
use std::hint::black_box;
use std::time::Instant;

/// Median seconds of one call, of `REPEATS` measured.
fn median(mut call: impl FnMut()) -> f64 {
    const REPEATS: usize = 41;
    let mut times: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[REPEATS / 2]
}

#[test]
#[ignore = "a measurement, not a check"]
fn reductions_beside_memcpy() {
    const BYTES: usize = 32768;
    const ROUNDS: usize = 64;
    let input = vec![0u8; BYTES];
    let mut inout = vec![0u8; BYTES];
    let rate = |time: f64| (BYTES * ROUNDS) as f64 / time / 1e9;
    let copy = median(|| {
        for _ in 0..ROUNDS {
            black_box(&mut inout).copy_from_slice(black_box(&input));
        }
    });
    println!("memcpy {:6.1} GB/s of 32 KiB", rate(copy));
    let names = ["MPI_SIGNED_CHAR", "MPI_INT", "MPI_LONG", "MPI_FLOAT", "MPI_DOUBLE"];
    let more = ["MPI_C_DOUBLE_COMPLEX", "MPI_DOUBLE_INT", "MPI_LONG_DOUBLE", "MPI_REAL16"];
    for entry in names.iter().chain(&more).flat_map(|n| predefined::all().find(|e| e.name == *n)) {
        for op in [Predef::Sum, Predef::Prod, Predef::Max, Predef::Land, Predef::MaxLoc] {
            if !op.allows(entry.group) {
                continue;
            }
            let n = BYTES / entry.extent;
            let time = median(|| {
                for _ in 0..ROUNDS {
                    let (from, to) =
                        (black_box(&input).as_ptr(), black_box(&mut inout).as_mut_ptr());
                    // SAFETY: both vectors hold `n` elements.
                    let done = unsafe { op.apply(entry, from, to, n) };
                    assert!(done.is_ok());
                }
            });
            println!("{:10} {:22} {:6.1} GB/s", op.name(), entry.name, rate(time));
        }
    }
}
