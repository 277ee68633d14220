//! Parts of global arrays: `MPI_Type_create_subarray` and `MPI_Type_create_darray`
//! (MPI 5.0, section 5.1.3 and 5.1.4).
use std::sync::Arc;

use super::Datatype;
use super::bounds::{Bounds, mul};
use super::construct::derive;
use super::layout::{Placed, from_parts};
use super::recipe::{DarrayRecipe, Recipe};
use crate::error::{Class, Error, Result};

/// Storage order of an array; the discriminants are the ABI's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Order {
    /// Row-major: the last dimension is contiguous.
    C = 12,
    /// Column-major: the first dimension is contiguous.
    Fortran = 15,
}

impl Order {
    /// The order with this ABI number.
    pub fn from_abi(value: i32) -> Result<Order> {
        match value {
            12 => Ok(Order::C),
            15 => Ok(Order::Fortran),
            _ => Err(argument(format!(
                "order is {value}; it must be MPI_ORDER_C or MPI_ORDER_FORTRAN"
            ))),
        }
    }
}

/// How a dimension is dealt to the processes; the discriminants are the ABI's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Distribution {
    /// `MPI_DISTRIBUTE_NONE`: not distributed.
    None = 16,
    /// `MPI_DISTRIBUTE_BLOCK`: one block per process.
    Block = 17,
    /// `MPI_DISTRIBUTE_CYCLIC`: blocks dealt in turn.
    Cyclic = 18,
}

impl Distribution {
    /// The distribution with this ABI number.
    pub fn from_abi(value: i32) -> Result<Distribution> {
        match value {
            16 => Ok(Distribution::None),
            17 => Ok(Distribution::Block),
            18 => Ok(Distribution::Cyclic),
            _ => Err(argument(format!(
                "distribution is {value}; it must be MPI_DISTRIBUTE_BLOCK, _CYCLIC or _NONE"
            ))),
        }
    }
}

/// `MPI_DISTRIBUTE_DFLT_DARG` of the ABI: the default distribution argument.
pub const DFLT_DARG: i64 = 19;

/// Copies of the element type: where they lie and how many.
#[derive(Clone)]
struct Pattern {
    bounds: Bounds,
    root: Placed,
    copies: i64,
}

impl Pattern {
    fn of(old: &Datatype) -> Pattern {
        Pattern { bounds: old.bounds, root: old.layout.root.clone(), copies: 1 }
    }

    /// `count` copies, `stride` bytes apart, from `first * stride` on.
    fn slice(&self, first: i64, count: i64, stride: i64) -> Result<Pattern> {
        let disp = mul(first, stride)?;
        Ok(Pattern {
            bounds: self.bounds.replicate(disp, count, stride)?,
            root: self.root.repeat(count, stride).moved(disp),
            copies: mul(self.copies, count)?,
        })
    }

    /// Both, the other one after this one in the stream.
    fn then(&self, other: &Pattern) -> Result<Pattern> {
        Ok(Pattern {
            bounds: self.bounds.union(&other.bounds),
            root: from_parts(vec![self.root.clone(), other.root.clone()]),
            copies: self.copies + other.copies,
        })
    }

    /// The datatype whose extent is that of the whole array.
    fn finish(self, recipe: Recipe, old: &Arc<Datatype>, extent: i64) -> Result<Arc<Datatype>> {
        let bounds = self.bounds.resized(0, extent)?.check()?;
        derive(recipe, bounds, self.root, old, self.copies)
    }
}

impl Datatype {
    /// `MPI_Type_create_subarray`: the part of `subsizes` elements per dimension at `starts` of
    /// an array of `sizes` elements of `old`.
    pub fn subarray(
        sizes: &[i64],
        subsizes: &[i64],
        starts: &[i64],
        order: Order,
        old: &Arc<Datatype>,
    ) -> Result<Arc<Datatype>> {
        check_subarray(sizes, subsizes, starts)?;
        let mut stride = old.extent();
        check_whole(sizes, old)?;
        let mut pattern = Pattern::of(old);
        for dim in fastest_first(sizes.len(), order) {
            pattern = pattern.slice(starts[dim], subsizes[dim], stride)?;
            stride = mul(stride, sizes[dim])?;
        }
        let grid = [sizes.into(), subsizes.into(), starts.into()];
        pattern.finish(Recipe::Subarray { grid, order, old: old.clone() }, old, stride)
    }

    /// `MPI_Type_create_darray`: the part of process `rank` of an array of `gsizes` elements of
    /// `old` that is dealt to a grid of `psizes` processes, `size` in all, numbered row-major.
    #[allow(clippy::too_many_arguments, reason = "the standard's argument list")]
    pub fn darray(
        size: i64,
        rank: i64,
        gsizes: &[i64],
        distribs: &[Distribution],
        dargs: &[i64],
        psizes: &[i64],
        order: Order,
        old: &Arc<Datatype>,
    ) -> Result<Arc<Datatype>> {
        check_darray(size, rank, gsizes, distribs, dargs, psizes)?;
        check_whole(gsizes, old)?;
        let coords = grid_coordinates(rank, psizes);
        let mut stride = old.extent();
        let mut pattern = Pattern::of(old);
        for dim in fastest_first(gsizes.len(), order) {
            let deal = Deal { n: gsizes[dim], procs: psizes[dim], me: coords[dim] };
            pattern = match distribs[dim] {
                Distribution::None => pattern.slice(0, deal.n, stride)?,
                Distribution::Block => deal.block(dargs[dim], &pattern, stride)?,
                Distribution::Cyclic => deal.cyclic(dargs[dim], &pattern, stride)?,
            };
            stride = mul(stride, gsizes[dim])?;
        }
        let recipe = Recipe::Darray(Box::new(DarrayRecipe {
            size,
            rank,
            gsizes: gsizes.into(),
            distribs: distribs.into(),
            dargs: dargs.into(),
            psizes: psizes.into(),
            order,
            old: old.clone(),
        }));
        pattern.finish(recipe, old, stride)
    }
}

/// One dimension of `n` elements dealt to `procs` processes, seen by process `me`.
struct Deal {
    n: i64,
    procs: i64,
    me: i64,
}

impl Deal {
    fn block(&self, darg: i64, of: &Pattern, stride: i64) -> Result<Pattern> {
        let Deal { n, procs, me } = *self;
        let block = if darg == DFLT_DARG { (n - 1) / procs + 1 } else { darg };
        if block <= 0 || block.checked_mul(procs).is_some_and(|room| room < n) {
            let text = format!(
                "blocks of {block} elements on {procs} processes do not cover {n} elements"
            );
            return Err(argument(text));
        }
        let first = block.saturating_mul(me).min(n);
        of.slice(first, block.min(n - first), stride)
    }

    fn cyclic(&self, darg: i64, of: &Pattern, stride: i64) -> Result<Pattern> {
        let Deal { n, procs, me } = *self;
        let block = if darg == DFLT_DARG { 1 } else { darg };
        if block <= 0 {
            return Err(argument(format!("the cyclic block size is {block}; it must be positive")));
        }
        let round = block.saturating_mul(procs);
        let start = block.saturating_mul(me).min(n);
        // Of the elements from `start` on, each round begins with a block of this process.
        let rest = n - start;
        let whole = rest / round + i64::from(rest % round >= block);
        let partial = if rest % round >= block { 0 } else { rest % round };
        let one = of.slice(0, block.min(n), stride)?;
        let blocks = if whole <= 1 {
            one.slice(0, whole, 0)?
        } else {
            one.slice(0, whole, mul(round, stride)?)?
        };
        let tail_at = if partial > 0 { whole.saturating_mul(round) } else { 0 };
        let tail = of.slice(tail_at, partial, stride)?;
        let both = if whole == 0 { tail } else { blocks.then(&tail)? };
        both.at(mul(start, stride)?)
    }
}

impl Pattern {
    /// The pattern moved by `disp` bytes.
    fn at(&self, disp: i64) -> Result<Pattern> {
        let bounds = self.bounds.replicate(disp, 1, 0)?;
        Ok(Pattern { bounds, root: self.root.moved(disp), copies: self.copies })
    }
}

fn fastest_first(ndims: usize, order: Order) -> Box<dyn Iterator<Item = usize>> {
    match order {
        Order::C => Box::new((0..ndims).rev()),
        Order::Fortran => Box::new(0..ndims),
    }
}

/// The place of `rank` in a grid whose last dimension varies fastest, in either storage order.
fn grid_coordinates(rank: i64, psizes: &[i64]) -> Vec<i64> {
    let mut left = rank;
    let mut coords = vec![0; psizes.len()];
    for (coord, size) in coords.iter_mut().zip(psizes).rev() {
        *coord = left % size;
        left /= size;
    }
    coords
}

/// Refuses arrays whose bytes do not fit in 64 bits, so that no part of one can overflow.
fn check_whole(sizes: &[i64], old: &Datatype) -> Result<()> {
    let elements = sizes.iter().try_fold(1, |n, size| mul(n, *size))?;
    mul(elements, old.extent())?;
    mul(elements, old.size())?;
    Ok(())
}

fn check_subarray(sizes: &[i64], subsizes: &[i64], starts: &[i64]) -> Result<()> {
    if sizes.is_empty() || sizes.len() != subsizes.len() || sizes.len() != starts.len() {
        return Err(argument(
            "a subarray needs at least one dimension, and sizes, subsizes and \
            starts for each",
        ));
    }
    for (dim, ((&size, &sub), &start)) in sizes.iter().zip(subsizes).zip(starts).enumerate() {
        if size < 1 || sub < 1 || sub > size || start < 0 || start > size - sub {
            return Err(argument(format!(
                "dimension {dim}: {sub} elements from {start} on are no part of {size} elements"
            )));
        }
    }
    Ok(())
}

fn check_darray(
    size: i64,
    rank: i64,
    gsizes: &[i64],
    distribs: &[Distribution],
    dargs: &[i64],
    psizes: &[i64],
) -> Result<()> {
    let ndims = gsizes.len();
    if ndims == 0 || [distribs.len(), dargs.len(), psizes.len()] != [ndims; 3] {
        return Err(argument(
            "a distributed array needs at least one dimension, and a size, a \
            distribution, an argument and a process count for each",
        ));
    }
    for (dim, (&n, &procs)) in gsizes.iter().zip(psizes).enumerate() {
        if n < 1 || procs < 1 {
            return Err(argument(format!(
                "dimension {dim}: {n} elements on {procs} processes; both must be positive"
            )));
        }
        if distribs[dim] == Distribution::None && procs != 1 {
            return Err(argument(format!(
                "dimension {dim} is not distributed but has {procs} processes; it must have 1"
            )));
        }
    }
    let procs = psizes.iter().try_fold(1, |n, p| mul(n, *p))?;
    if procs != size || !(0..size).contains(&rank) {
        return Err(argument(format!(
            "rank {rank} of {size} processes on a grid of {procs} processes"
        )));
    }
    Ok(())
}

fn argument(text: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(Class::Arg, text)
}
