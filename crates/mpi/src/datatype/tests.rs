//! Random nested datatypes against a naive model: the type map itself, one entry per element.
use super::*;
use proptest::prelude::*;

/// A type map: (handle, displacement) of each basic element in order, the bound markers, and
/// where the last constituent ends with its padding.
#[derive(Debug, Clone, Default)]
struct Model {
    entries: Vec<(&'static Predefined, i64)>,
    marks: Option<(i64, i64)>,
    end: Option<i64>,
}

impl Model {
    fn of(entry: &'static Predefined) -> Model {
        let entries = match entry.kind {
            Kind::Scalar(_) => vec![(entry, 0)],
            Kind::Pair { value, index, index_at } => vec![(value, 0), (index, index_at as i64)],
        };
        Model { entries, marks: None, end: Some(entry.extent as i64) }
    }

    fn size(&self) -> i64 {
        self.entries.iter().map(|(e, _)| e.size as i64).sum()
    }

    fn true_bounds(&self) -> (i64, i64) {
        let lb = self.entries.iter().map(|(_, d)| *d).min().unwrap_or(0);
        let ub = self.entries.iter().map(|(e, d)| d + e.size as i64).max().unwrap_or(0);
        (lb, ub)
    }

    fn bounds(&self) -> (i64, i64) {
        if let Some(marks) = self.marks {
            return marks;
        }
        self.natural_bounds()
    }

    /// The bounds that the data and its padding ask for.
    fn natural_bounds(&self) -> (i64, i64) {
        let (lb, ub) = (self.true_bounds().0, self.end.unwrap_or(0));
        let align = self.entries.iter().map(|(e, _)| e.align as i64).max().unwrap_or(1);
        (lb, lb + (ub - lb + align - 1) / align * align)
    }

    fn extent(&self) -> i64 {
        self.bounds().1 - self.bounds().0
    }

    fn append(&mut self, other: &Model, disp: i64) {
        self.entries.extend(other.entries.iter().map(|(e, d)| (*e, d + disp)));
        if let Some((lb, ub)) = other.marks {
            let (lb, ub) = (lb + disp, ub + disp);
            let old = self.marks.unwrap_or((lb, ub));
            self.marks = Some((old.0.min(lb), old.1.max(ub)));
        }
        if !other.entries.is_empty() {
            let end = other.natural_bounds().1 + disp;
            self.end = Some(self.end.map_or(end, |old| old.max(end)));
        }
    }

    /// `n` copies per block, one block at each displacement in bytes.
    fn blocks(&self, blocks: impl IntoIterator<Item = (i64, i64)>) -> Model {
        let mut result = Model::default();
        for (n, disp) in blocks {
            (0..n).for_each(|i| result.append(self, disp + i * self.extent()));
        }
        result
    }

    /// The offset of every byte of the packed stream of `count` copies.
    fn stream(&self, count: i64) -> Vec<i64> {
        let all = self.blocks([(count, 0)]);
        all.entries.iter().flat_map(|(e, d)| (0..e.size as i64).map(move |i| d + i)).collect()
    }

    /// How many elements the first `bytes` bytes of a long stream hold.
    fn elements(&self, bytes: u64) -> Option<u64> {
        let (mut left, mut n) = (bytes, 0);
        while left > 0 {
            let (entry, _) = self.entries.get(n as usize % self.entries.len().max(1))?;
            left = left.checked_sub(entry.size as u64)?;
            n += 1;
        }
        Some(n)
    }
}

type Pair = (Arc<Datatype>, Model);

fn leaf() -> impl Strategy<Value = Pair> {
    let names = ["MPI_BYTE", "MPI_SHORT", "MPI_INT", "MPI_DOUBLE", "MPI_DOUBLE_INT", "MPI_REAL16"];
    prop::sample::select(names.to_vec()).prop_map(|name| {
        let entry = predefined::all().find(|e| e.name == name).unwrap();
        (Datatype::predefined(entry.abi).unwrap().clone(), Model::of(entry))
    })
}

fn scaled_blocks(lens: &[i64], disps: &[i64], by: i64) -> Vec<(i64, i64)> {
    lens.iter().zip(disps).map(|(n, d)| (*n, d * by)).collect()
}

fn derived(old: impl Strategy<Value = Pair> + Clone + 'static) -> BoxedStrategy<Pair> {
    let lists = prop::collection::vec((0i64..4, -12i64..12), 0..5);
    let parts = prop::collection::vec((0i64..3, -40i64..40, old.clone()), 0..4);
    prop_oneof![
        (old.clone(), 0i64..4)
            .prop_map(|((t, m), n)| { (Datatype::contiguous(n, &t).unwrap(), m.blocks([(n, 0)])) }),
        (old.clone(), 0i64..4, 0i64..3, -5i64..6, any::<bool>()).prop_map(
            |((t, m), n, len, stride, bytes)| {
                let step = if bytes { stride } else { stride * m.extent() };
                let new = if bytes { Datatype::hvector } else { Datatype::vector };
                (new(n, len, stride, &t).unwrap(), m.blocks((0..n).map(|i| (len, i * step))))
            }
        ),
        (old.clone(), lists.clone(), any::<bool>()).prop_map(|((t, m), list, bytes)| {
            let (lens, disps): (Vec<i64>, Vec<i64>) = list.into_iter().unzip();
            let by = if bytes { 1 } else { m.extent() };
            let new = if bytes { Datatype::hindexed } else { Datatype::indexed };
            let model = m.blocks(scaled_blocks(&lens, &disps, by));
            (new(&lens, &disps, &t).unwrap(), model)
        }),
        (old.clone(), lists, 0i64..3, any::<bool>()).prop_map(|((t, m), list, len, bytes)| {
            let disps: Vec<i64> = list.iter().map(|entry| entry.1).collect();
            let lens = vec![len; disps.len()];
            let by = if bytes { 1 } else { m.extent() };
            let new = if bytes { Datatype::hindexed_block } else { Datatype::indexed_block };
            let model = m.blocks(scaled_blocks(&lens, &disps, by));
            (new(len, &disps, &t).unwrap(), model)
        }),
        parts.prop_map(|parts| {
            let lens: Vec<i64> = parts.iter().map(|p| p.0).collect();
            let disps: Vec<i64> = parts.iter().map(|p| p.1).collect();
            let types: Vec<Arc<Datatype>> = parts.iter().map(|p| p.2.0.clone()).collect();
            let mut model = Model::default();
            parts.iter().for_each(|(n, d, (_, m))| model.append(&m.blocks([(*n, 0)]), *d));
            (Datatype::structure(&lens, &disps, &types).unwrap(), model)
        }),
        (old.clone(), -20i64..20, 0i64..40).prop_map(|((t, m), lb, extent)| {
            let model = Model { marks: Some((lb, lb + extent)), ..m };
            (Datatype::resized(lb, extent, &t).unwrap(), model)
        }),
        (old, 1i64..4, 1i64..4, 0i64..3, any::<bool>()).prop_map(subarray_2d),
    ]
    .boxed()
}

/// A 2-D subarray with one element of margin after it.
fn subarray_2d(((t, m), rows, cols, start, fortran): (Pair, i64, i64, i64, bool)) -> Pair {
    let order = if fortran { Order::Fortran } else { Order::C };
    let sizes = [rows + start + 1, cols + start + 1];
    let ty = Datatype::subarray(&sizes, &[rows, cols], &[start, start], order, &t).unwrap();
    let (outer, inner, row) = if fortran { (cols, rows, sizes[0]) } else { (rows, cols, sizes[1]) };
    let place = |i: i64| (inner, ((start + i) * row + start) * m.extent());
    let whole = sizes[0] * sizes[1] * m.extent();
    (ty, Model { marks: Some((0, whole)), ..m.blocks((0..outer).map(place)) })
}

fn any_type() -> impl Strategy<Value = Pair> {
    let once = leaf();
    let twice = prop_oneof![1 => leaf(), 3 => derived(once.boxed())];
    let thrice = derived(twice.boxed());
    prop_oneof![1 => derived(leaf().boxed()), 2 => thrice.clone(), 2 => derived(thrice)]
}

/// A buffer that holds all bytes of the stream, and the offset of the buffer's address in it.
fn buffer(stream: &[i64]) -> (Vec<u8>, i64) {
    let low = stream.iter().copied().min().unwrap_or(0).min(0);
    let high = stream.iter().copied().max().unwrap_or(0).max(0);
    let len = (high - low + 1) as usize;
    ((0..len).map(|i| (i * 7 + i / 251) as u8).collect(), -low)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn bounds_and_counts((ty, model) in any_type(), bytes in 0u64..200) {
        let (lb, ub) = model.bounds();
        let (true_lb, true_ub) = model.true_bounds();
        prop_assert_eq!((ty.lb(), ty.ub(), ty.size()), (lb, ub, model.size()));
        prop_assert_eq!((ty.true_lb(), ty.true_extent()), (true_lb, true_ub - true_lb));
        if model.size() > 0 {
            prop_assert_eq!(ty.get_elements(bytes), model.elements(bytes));
        }
        let external: usize = model.entries.iter().map(|(e, _)| e.external).sum();
        prop_assert_eq!(ty.external_size(3), Some(3 * external as i64));
        let same = |w: &[(&'static Predefined, i64)]| std::ptr::eq(w[0].0, w[1].0);
        if let Some(basic) = ty.basic() {
            prop_assert!(model.entries.windows(2).all(same));
            prop_assert_eq!(model.entries[0].0.basic(), Some(basic));
        }
    }

    #[test]
    fn pack_and_unpack_in_pieces(
        (ty, model) in any_type(),
        count in 0i64..4,
        pieces in prop::collection::vec(1usize..40, 1..8),
    ) {
        let stream = model.stream(count);
        let (memory, zero) = buffer(&stream);
        let expect: Vec<u8> = stream.iter().map(|off| memory[(off + zero) as usize]).collect();
        let mut packed = Vec::new();
        let mut sizes = pieces.iter().cycle();
        loop {
            let mut piece = vec![0u8; *sizes.next().unwrap()];
            let base = memory.as_ptr().wrapping_add(zero as usize);
            // SAFETY: the buffer spans all bytes of the type map.
            let len = unsafe { ty.pack(base, count, packed.len() as u64, &mut piece) };
            packed.extend_from_slice(&piece[..len]);
            if len < piece.len() {
                break;
            }
        }
        prop_assert_eq!(&packed, &expect);

        let mut target = vec![0xa5u8; memory.len()];
        let mut want = target.clone();
        stream.iter().zip(&expect).for_each(|(off, byte)| want[(off + zero) as usize] = *byte);
        let base = target.as_mut_ptr().wrapping_add(zero as usize);
        let mut done = 0;
        while done < packed.len() {
            let end = packed.len().min(done + sizes.next().unwrap());
            // SAFETY: as above, for writes.
            let len = unsafe { ty.unpack(base, count, done as u64, &packed[done..end]) };
            prop_assert_eq!(len, end - done);
            done = end;
        }
        prop_assert_eq!(target, want);
    }

    #[test]
    fn grids_of_every_length_and_shape(
        bytes in prop::sample::select(vec![1i64, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64, 80]),
        counts in (1i64..20, 1i64..20, 1i64..4),
        gaps in (0i64..3, 0i64..9),
        columns_first in any::<bool>(),
        piece in 1usize..3000,
    ) {
        let block = Datatype::contiguous(bytes, Datatype::byte()).unwrap();
        let model = Model::of(Datatype::byte().as_predefined().unwrap()).blocks([(bytes, 0)]);
        let near = bytes * (1 + gaps.0);
        let far = near * counts.0 + gaps.1;
        let [inner, outer] = if columns_first {
            [(counts.1, far), (counts.0, near)]
        } else {
            [(counts.0, near), (counts.1, far)]
        };
        let nest = |(ty, m): Pair, (n, stride): (i64, i64)| -> Pair {
            let model = m.blocks((0..n).map(|i| (1, i * stride)));
            (Datatype::hvector(n, 1, stride, &ty).unwrap(), model)
        };
        let (ty, model) = nest(nest((block, model), inner), outer);
        let count = counts.2;
        let stream = model.stream(count);
        let (memory, zero) = buffer(&stream);
        let expect: Vec<u8> = stream.iter().map(|off| memory[(off + zero) as usize]).collect();
        let mut packed = vec![0u8; expect.len()];
        let mut target = vec![0xa5u8; memory.len()];
        let mut want = target.clone();
        stream.iter().zip(&expect).for_each(|(off, byte)| want[(off + zero) as usize] = *byte);
        for (i, out) in packed.chunks_mut(piece).enumerate() {
            let at = (i * piece) as u64;
            // SAFETY: both buffers span all bytes of the type map.
            unsafe {
                let base = memory.as_ptr().wrapping_add(zero as usize);
                prop_assert_eq!(ty.pack(base, count, at, out), out.len());
                let base = target.as_mut_ptr().wrapping_add(zero as usize);
                prop_assert_eq!(ty.unpack(base, count, at, out), out.len());
            }
        }
        prop_assert_eq!(packed, expect);
        prop_assert_eq!(target, want);
    }

    #[test]
    fn segments_are_the_stream((ty, model) in any_type(), count in 0i64..4, from in 0u64..60) {
        let stream = model.stream(count);
        let runs: Vec<(i64, u64)> = ty.segments(count).collect();
        let bytes: Vec<i64> =
            runs.iter().flat_map(|(off, len)| (0..*len as i64).map(move |i| off + i)).collect();
        prop_assert_eq!(&bytes, &stream);
        prop_assert!(runs.windows(2).all(|w| w[0].0 + w[0].1 as i64 != w[1].0));
        prop_assert!(!ty.is_dense() || runs.len() <= 1);
        prop_assert!(ty.as_run(count).is_none_or(|run| runs == [run] || (run.1 == 0 && runs.is_empty())));
        let some: u64 = ty.segments_of(count, from, 25).map(|run| run.1).sum();
        prop_assert_eq!(some, (stream.len() as u64).saturating_sub(from).min(25));
    }

    #[test]
    fn typed_copy_moves_the_stream(
        (sty, smodel) in any_type(),
        (dty, dmodel) in any_type(),
        scount in 0i64..3,
        dcount in 0i64..3,
    ) {
        let (from, to) = (smodel.stream(scount), dmodel.stream(dcount));
        let (memory, szero) = buffer(&from);
        let (target, dzero) = buffer(&to);
        let (mut target, mut want) = (target.clone(), target);
        for (s, d) in from.iter().zip(&to) {
            want[(d + dzero) as usize] = memory[(s + szero) as usize];
        }
        let src = memory.as_ptr().wrapping_add(szero as usize);
        let dst = target.as_mut_ptr().wrapping_add(dzero as usize);
        // SAFETY: both buffers span all bytes of their type maps and are distinct.
        let copied = unsafe { copy(src, scount, &sty, dst, dcount, &dty) };
        prop_assert_eq!(copied, from.len().min(to.len()) as u64);
        prop_assert_eq!(target, want);
    }

    #[test]
    fn external32_round_trip((ty, model) in any_type(), count in 0i64..3) {
        let stream = model.stream(count);
        let (memory, zero) = buffer(&stream);
        let mut external = vec![0u8; ty.external_size(count).unwrap() as usize];
        let mut target = vec![0xa5u8; memory.len()];
        let base = memory.as_ptr().wrapping_add(zero as usize);
        // SAFETY: both buffers span all bytes of the type map.
        unsafe {
            let written = ty.pack_external32(base, count, &mut external).unwrap();
            prop_assert_eq!(written, external.len());
            let base = target.as_mut_ptr().wrapping_add(zero as usize);
            prop_assert_eq!(ty.unpack_external32(base, count, &external).unwrap(), written);
        }
        // The leaves of these types have the same size in both forms: each entry is reversed.
        let mut at = 0;
        let all = model.blocks([(count, 0)]);
        for (entry, disp) in &all.entries {
            let native = &memory[(disp + zero) as usize..][..entry.size];
            let reversed: Vec<u8> = native.iter().rev().copied().collect();
            prop_assert_eq!(&external[at..at + entry.size], &reversed[..]);
            at += entry.size;
        }
        stream.iter().for_each(|off| {
            let i = (off + zero) as usize;
            assert_eq!(target[i], memory[i]);
        });
    }

    #[test]
    fn darray_deals_every_element_once(
        dims in prop::collection::vec((1i64..9, 1i64..4, 0u8..3, 1i64..4, any::<bool>()), 1..4),
        fortran in any::<bool>(),
    ) {
        let order = if fortran { Order::Fortran } else { Order::C };
        let gsizes: Vec<i64> = dims.iter().map(|d| d.0).collect();
        let distribs: Vec<Distribution> = dims.iter().map(|d| match d.2 {
            0 => Distribution::None,
            1 => Distribution::Block,
            _ => Distribution::Cyclic,
        }).collect();
        let psizes: Vec<i64> = dims.iter().map(|d| if d.2 == 0 { 1 } else { d.1 }).collect();
        let dargs: Vec<i64> = dims.iter().map(|d| match (d.4, d.2) {
            (true, _) => DFLT_DARG,
            (false, 1) => (d.0 + d.1 - 1) / d.1 + d.3 - 1,
            (false, _) => d.3,
        }).collect();
        let size: i64 = psizes.iter().product();
        let int = Datatype::predefined(0x209).unwrap();
        for rank in 0..size {
            let ty = Datatype::darray(
                size, rank, &gsizes, &distribs, &dargs, &psizes, order, int).unwrap();
            prop_assert_eq!(ty.extent(), 4 * gsizes.iter().product::<i64>());
            let elements: Vec<i64> = ty.segments(1).flat_map(|(off, len)| {
                (0..len as i64 / 4).map(move |i| off / 4 + i)
            }).collect();
            let expect = owned(rank, &gsizes, &distribs, &dargs, &psizes, order);
            prop_assert_eq!(elements, expect);
        }
    }
}

/// The elements of a distributed array that `rank` owns, by index arithmetic, in storage order.
fn owned(
    rank: i64,
    gsizes: &[i64],
    distribs: &[Distribution],
    dargs: &[i64],
    psizes: &[i64],
    order: Order,
) -> Vec<i64> {
    let owner = |dim: usize, i: i64| {
        let (n, p, darg) = (gsizes[dim], psizes[dim], dargs[dim]);
        match distribs[dim] {
            Distribution::None => 0,
            Distribution::Block if darg == DFLT_DARG => i / ((n + p - 1) / p),
            Distribution::Block => i / darg,
            Distribution::Cyclic if darg == DFLT_DARG => i % p,
            Distribution::Cyclic => i / darg % p,
        }
    };
    (0..gsizes.iter().product())
        .filter(|flat| {
            let mut left = *flat;
            let mut index = vec![0; gsizes.len()];
            let dims: Vec<usize> = match order {
                Order::C => (0..gsizes.len()).rev().collect(),
                Order::Fortran => (0..gsizes.len()).collect(),
            };
            for dim in dims {
                index[dim] = left % gsizes[dim];
                left /= gsizes[dim];
            }
            let grid = (0..gsizes.len()).fold(0, |r, d| r * psizes[d] + owner(d, index[d]));
            grid == rank
        })
        .collect()
}
