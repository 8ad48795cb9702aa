//! Batched affine additions: rounds that halve the entries of every bucket before the bucket sums.

use crate::gpu::kernels::{self, Batch, PAIR_ROUNDS_MAX, PairArrays, PairKernels, Windows};
use crate::gpu::{Curve, DeviceBuffer, DeviceSlice, Gpu, GpuError, Xyzz};

/// The levels of a batch and the flags that tell buckets apart.
pub(super) struct PairTree<'g, C: Curve> {
    gpu: &'g Gpu,
    kernels: PairKernels,
    rounds: usize,
    flags: DeviceBuffer<'g, u32>,
    levels: DeviceBuffer<'g, C::Affine>,
}

/// Rounds that leave an average bucket of the widest windows two to four of `n` points: further ones
/// cost more in rests than they save. None where the curve has no kernels for them.
pub(super) fn round_count<C: Curve>(n: usize, windows: Windows) -> usize {
    let average = (n / windows.bucket_stride()).max(1);
    let rounds = (average.ilog2() as usize).saturating_sub(1).min(PAIR_ROUNDS_MAX);
    if C::PAIRS.is_some() { rounds } else { 0 }
}

/// Words of flags and points of all levels.
fn counts(n: usize, batch: usize, rounds: usize) -> (usize, usize) {
    let points: usize = (1..=rounds).map(|level| kernels::level_stride(n, level)).sum();
    (batch * n.div_ceil(32), batch * points)
}

impl<'g, C: Curve> PairTree<'g, C> {
    /// For up to `n` entries in each of `batch` windows; `None` for no rounds.
    ///
    /// # Panics
    /// When rounds are asked for where the curve has none.
    pub(super) fn new(
        gpu: &'g Gpu,
        n: usize,
        batch: usize,
        rounds: usize,
    ) -> Result<Option<Self>, GpuError> {
        if rounds == 0 {
            return Ok(None);
        }
        let kernels = C::PAIRS.expect("rounds are counted only for curves that have them");
        let (flags, points) = counts(n, batch, rounds);
        let flags = DeviceBuffer::new(gpu, flags)?;
        Ok(Some(Self { gpu, kernels, rounds, flags, levels: DeviceBuffer::new(gpu, points)? }))
    }

    /// Device memory of [`PairTree::new`].
    pub(super) fn bytes(n: usize, batch: usize, rounds: usize) -> u64 {
        if rounds == 0 {
            return 0;
        }
        let (flags, points) = counts(n, batch, rounds);
        (flags * 4 + points * size_of::<C::Affine>()) as u64
    }

    /// The level that the rounds lead to.
    pub(super) fn level(&self) -> usize {
        self.rounds
    }

    fn arrays<'a>(
        &'a self,
        bases: DeviceSlice<'a, C::Affine>,
        (sorted, starts): (DeviceSlice<'a, u32>, DeviceSlice<'a, u32>),
    ) -> PairArrays<'a, C> {
        let (flags, levels) = (self.flags.as_slice(), self.levels.as_slice());
        PairArrays { bases, sorted, starts, flags, levels }
    }

    /// Enqueues the rounds over a batch's sorted entries; returns the last level.
    pub(super) fn run<'a>(
        &'a self,
        bases: DeviceSlice<'a, C::Affine>,
        entries: (DeviceSlice<'a, u32>, DeviceSlice<'a, u32>),
        batch: Batch,
    ) -> Result<DeviceSlice<'a, C::Affine>, GpuError> {
        let arrays = self.arrays(bases, entries);
        kernels::flag_starts(self.gpu, &arrays, batch)?;
        for round in 0..self.rounds {
            kernels::pair_round(self.gpu, self.kernels, &arrays, batch, round)?;
        }
        Ok(arrays.level(batch, self.rounds))
    }

    /// Enqueues the addition of what the rounds left out to the buckets.
    pub(super) fn add_rests(
        &self,
        buckets: DeviceSlice<'_, Xyzz<C::Field>>,
        bases: DeviceSlice<'_, C::Affine>,
        entries: (DeviceSlice<'_, u32>, DeviceSlice<'_, u32>),
        batch: Batch,
    ) -> Result<(), GpuError> {
        let arrays = self.arrays(bases, entries);
        kernels::add_rests(self.gpu, self.kernels, buckets, &arrays, batch, self.rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{G1, G2};

    #[test]
    fn rounds_leave_two_to_four_points_a_bucket() {
        let windows = Windows { count: 12, width: 22, wide_count: 3 };
        assert_eq!(round_count::<G1>(1 << 27, windows), 5);
        assert_eq!(round_count::<G1>(1 << 23, windows), 1);
        assert_eq!(round_count::<G1>(1 << 22, windows), 0);
        assert_eq!(round_count::<G1>(0, windows), 0);
        assert_eq!(round_count::<G1>(1 << 27, Windows::of_patterns(10)), PAIR_ROUNDS_MAX);
        assert_eq!(round_count::<G2>(1 << 27, windows), 0);
    }
}
