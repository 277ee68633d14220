//! How fast packing is, as a fraction of `memcpy` of the same number of bytes in the same run.
//!
//! Run with
//! `cargo test --release -p hpvm-mpi --test datatype_speed -- --ignored --nocapture`.
use hpvm_mpi::datatype::{Datatype, Order};
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

fn report(what: &str, ty: &Datatype, count: i64) {
    let size = (ty.size() * count) as usize;
    let mut memory = vec![1u8; (ty.true_lb() + ty.extent() * count) as usize + 64];
    let mut packed = vec![2u8; size];
    let dense = memory.clone();
    let rounds = (1 << 20) / size.max(1) + 1;
    let copy = median(|| {
        for _ in 0..rounds {
            black_box(&mut packed).copy_from_slice(black_box(&dense[..size]));
        }
    });
    let pack = median(|| {
        for _ in 0..rounds {
            // SAFETY: the memory spans `count` copies.
            unsafe { ty.pack(black_box(memory.as_ptr()), count, 0, black_box(&mut packed)) };
        }
    });
    let unpack = median(|| {
        for _ in 0..rounds {
            // SAFETY: as above.
            unsafe { ty.unpack(black_box(memory.as_mut_ptr()), count, 0, black_box(&packed)) };
        }
    });
    let rate = |time: f64| (size * rounds) as f64 / time / 1e9;
    println!(
        "{what:34} {size:9} bytes: memcpy {:6.1} GB/s, pack {:6.1} ({:3.0} %), unpack {:6.1} ({:3.0} %)",
        rate(copy),
        rate(pack),
        100.0 * copy / pack,
        rate(unpack),
        100.0 * copy / unpack,
    );
}

#[test]
#[ignore = "a measurement, not a check"]
fn fractions_of_memcpy() {
    let named = |abi| Datatype::predefined(abi).unwrap();
    let (double, float, byte) = (named(0x214), named(0x210), named(0x247));
    let c = Order::C;
    for n in [512, 8192, 1 << 18] {
        report("every other double", &Datatype::vector(n, 1, 2, double).unwrap(), 1);
        report("every other float", &Datatype::vector(n, 1, 2, float).unwrap(), 1);
        report("every third double", &Datatype::vector(n, 1, 3, double).unwrap(), 1);
        report("column of 512 doubles per row", &Datatype::vector(n, 1, 512, double).unwrap(), 1);
        let disps: Vec<i64> = (0..n).map(|i| i * 2 + i % 2).collect();
        report("list of doubles", &Datatype::indexed_block(1, &disps, double).unwrap(), 1);
        let lens: Vec<i64> = (0..n).map(|i| 1 + i % 3).collect();
        let disps: Vec<i64> = (0..n).map(|i| i * 4).collect();
        report("list of 1 to 3 doubles", &Datatype::indexed(&lens, &disps, double).unwrap(), 1);
    }
    for n in [64, 512] {
        let half = [n / 2, n / 2];
        let ty = Datatype::subarray(&[n, n], &half, &[n / 4, n / 4], c, double).unwrap();
        report("2-D subarray, half of each side", &ty, 1);
    }
    for n in [16, 64, 128] {
        let (all, half, start) = ([n; 3], [n / 2; 3], [n / 4; 3]);
        let ty = Datatype::subarray(&all, &half, &start, c, double).unwrap();
        report("3-D subarray, half of each side", &ty, 1);
        let ty = Datatype::subarray(&all, &[n, n, 1], &[0, 0, 1], c, double).unwrap();
        report("3-D face, one double per row", &ty, 1);
        let ty = Datatype::subarray(&all, &[n, 1, n], &[0, 1, 0], c, double).unwrap();
        report("3-D face, one row per plane", &ty, 1);
    }
    let types = [double.clone(), float.clone(), byte.clone()];
    let particle = Datatype::structure(&[3, 1, 4], &[0, 24, 32], &types).unwrap();
    for n in [16, 1024, 1 << 15] {
        report("array of structs", &particle, n);
    }
}
