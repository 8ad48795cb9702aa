//! The sums of one query over a group: bits and tail.

use std::ops::Range;

use super::clock::Clock;
use crate::gpu::msm::{BitSums, TailSums};
use crate::gpu::{Curve, DeviceSlice, DeviceWitnesses, Gpu, GpuError, QueryBits};
use crate::groth16::native::{NativeError, PartitionAssignment};
use crate::groth16::terms::QueryTerms;
use crate::msm::Window;
use crate::progress::Phase;
use crate::r1cs::QueryMap;
use crate::witness::Layout;

/// What is done with a part of a query's points: the first elements are those of the range.
pub(super) type ChunkWork<'a, C> =
    dyn FnMut(DeviceSlice<'_, <C as Curve>::Affine>, Range<usize>) -> Result<(), GpuError> + 'a;

/// What the sums of one query take on the device.
pub(super) struct QuerySums<'g, C: Curve> {
    places: QueryBits<'g>,
    bits: BitSums<'g, C>,
    tail: TailSums<'g, C>,
    /// Partitions of one call of `bits`.
    together: usize,
    names: PhaseNames,
}

/// Names of a query's phases.
#[derive(Clone, Copy)]
pub(super) struct PhaseNames {
    pub(super) bits: &'static str,
    pub(super) tail: &'static str,
}

/// How the sums of a query are made.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Partitions whose bits are summed at once.
    pub(super) together: usize,
    /// Partitions whose tails are summed at once.
    pub(super) tails: usize,
    /// Window of the tails.
    pub(super) window: Window,
}

impl<'g, C: Curve> QuerySums<'g, C> {
    /// For the bases of `map`, whole or in chunks for which `bits` has room.
    pub(super) fn new(
        gpu: &'g Gpu,
        bits: BitSums<'g, C>,
        (map, layout): (&QueryMap, &Layout),
        shape: Shape,
        names: PhaseNames,
    ) -> Result<Self, GpuError> {
        let Shape { together, tails, window } = shape;
        let tail = QueryTerms::new(map, layout).tail;
        Ok(Self {
            places: QueryBits::new(gpu, map, layout)?,
            bits,
            tail: TailSums::new(gpu, &tail, tails, window)?,
            together,
            names,
        })
    }

    /// For each of the partitions, whose witnesses are on the device in this order, the sum of the
    /// query's points times their variables; `each` calls its argument with all of the points.
    pub(super) fn run(
        &self,
        each: impl FnOnce(&mut ChunkWork<'_, C>) -> Result<(), NativeError>,
        witnesses: &DeviceWitnesses<'_>,
        partitions: &[PartitionAssignment<'_>],
        clock: Clock<'_>,
    ) -> Result<Vec<C::Projective>, NativeError> {
        let words = witnesses.words();
        let words_each = words.len() / witnesses.partitions();
        let mut sums: Vec<C::Projective> = Vec::new();
        each(&mut |points, range| {
            let bytes = (range.len() * size_of::<C::Affine>()) as u64;
            let points = points.slice(0..points.len().min(self.places.len()));
            let mut of_chunk = Vec::with_capacity(witnesses.partitions());
            // Places without a partition are summed and dropped.
            for first in (0..partitions.len()).step_by(self.together) {
                let words = words.slice(first * words_each..(first + self.together) * words_each);
                let run = || self.bits.run(points, range.clone(), &self.places, words);
                of_chunk.extend(clock.run(Phase::new(self.names.bits), bytes, run)?);
            }
            self.tail.gather(points.slice(0..range.len()), range.start)?;
            if sums.is_empty() {
                sums = of_chunk;
            } else {
                sums.iter_mut().zip(of_chunk).for_each(|(sum, of_chunk)| *sum += of_chunk);
            }
            // Before the chunk's memory is filled again.
            clock.gpu.synchronize()
        })?;
        sums.truncate(partitions.len());
        let tails = || self.tail.run_group(witnesses, partitions.len());
        let tails = clock.run(Phase::new(self.names.tail), 0, tails)?;
        sums.iter_mut().zip(tails).for_each(|(sum, tail)| *sum += tail);
        Ok(sums)
    }
}
