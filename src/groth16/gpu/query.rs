//! The sums of one query over a group: bits and tail.

use super::clock::Clock;
use crate::gpu::msm::{BitSums, TailSums};
use crate::gpu::{Curve, DeviceSlice, DeviceWitnesses, Gpu, GpuError, QueryBits};
use crate::groth16::native::{BitsVariant, PartitionAssignment};
use crate::groth16::terms::QueryTerms;
use crate::progress::Phase;
use crate::r1cs::QueryMap;
use crate::witness::Layout;

/// What the sums of one query take on the device.
pub(super) struct QuerySums<'g, C: Curve> {
    places: QueryBits<'g>,
    bits: BitSums<'g, C>,
    tail: TailSums<'g, C>,
    /// Partitions of one call of `bits`.
    together: usize,
    /// The phases' names, of bits and of tails.
    names: [&'static str; 2],
}

impl<'g, C: Curve> QuerySums<'g, C> {
    /// For the bases of `map`, and groups of up to `slots` partitions.
    pub(super) fn new(
        gpu: &'g Gpu,
        (map, layout): (&QueryMap, &Layout),
        slots: usize,
        variant: BitsVariant,
        names: [&'static str; 2],
    ) -> Result<Self, GpuError> {
        let together = match variant {
            BitsVariant::Pattern => slots,
            BitsVariant::Each => 1,
        };
        let tail = QueryTerms::new(map, layout).tail;
        Ok(Self {
            places: QueryBits::new(gpu, map, layout)?,
            bits: BitSums::new(gpu, map.bases(), together)?,
            tail: TailSums::new(gpu, &tail)?,
            together,
            names,
        })
    }

    /// For each of the partitions, whose witnesses are on the device in this order, the sum of
    /// `points` times their variables.
    pub(super) fn run(
        &self,
        points: DeviceSlice<'_, C::Affine>,
        witnesses: &DeviceWitnesses<'_>,
        partitions: &[PartitionAssignment<'_>],
        clock: Clock<'_>,
    ) -> Result<Vec<C::Projective>, GpuError> {
        let [bits, tail] = self.names;
        let bytes = (points.len() * size_of::<C::Affine>()) as u64;
        let words = witnesses.words();
        let words_each = words.len() / witnesses.partitions();
        let mut sums = Vec::with_capacity(witnesses.partitions());
        // Places without a partition are summed and dropped.
        for first in (0..partitions.len()).step_by(self.together) {
            let words = words.slice(first * words_each..(first + self.together) * words_each);
            let run = || self.bits.run(points, 0..points.len(), &self.places, words);
            sums.extend(clock.run(Phase::new(bits), bytes, run)?);
        }
        sums.truncate(partitions.len());
        self.tail.gather(points, 0)?;
        for (slot, (sum, partition)) in sums.iter_mut().zip(partitions).enumerate() {
            let (_, scalars) = witnesses.partition(slot);
            let phase = Phase::new(tail).partition(partition.partition);
            *sum += clock.run(phase, 0, || self.tail.run(scalars))?;
        }
        Ok(sums)
    }
}
