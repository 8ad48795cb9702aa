//! Batched affine additions: rounds that halve the entries of every bucket before the bucket sums.

use crate::gpu::kernels::{self, Batch, Levels, PAIR_ROUNDS_MAX, PairArrays, PairKernels, Windows};
use crate::gpu::{Curve, DeviceBuffer, DeviceSlice, Gpu, GpuError};

/// Batched affine additions over batches of windows, with their memory.
pub(super) struct PairTree<'g, C: Curve> {
    gpu: &'g Gpu,
    kernels: PairKernels,
    rounds: usize,
    /// The stream that plans a batch while the one before is added.
    side: &'g Gpu,
    points: DeviceBuffer<'g, C::Affine>,
    /// Of the levels; two of each, one a slot.
    starts: [DeviceBuffer<'g, u32>; 2],
    words: [DeviceBuffer<'g, u32>; 2],
}

/// The sorted entries of a batch, where their buckets start, and which of the two places for them
/// and for what is derived from them is in use.
#[derive(Clone, Copy)]
pub(super) struct Entries<'a> {
    pub(super) sorted: DeviceSlice<'a, u32>,
    pub(super) starts: DeviceSlice<'a, u32>,
    pub(super) slot: usize,
}

/// A level of a batch: points in bucket order, `[window][stride]`, and where the buckets start.
pub(super) struct Level<'a, C: Curve> {
    pub(super) points: DeviceSlice<'a, C::Affine>,
    pub(super) starts: DeviceSlice<'a, u32>,
}

/// Points of a sum from which it begins with rounds. They gain 6 % at 2^24 points of G1 and 14 % at
/// 2^27 (H200, 2026-11-29), lose at 2^20, and hold points for every entry of a batch: 8 GB that the
/// cards have not on which points pass through in chunks, of 2^24 at most.
const POINTS_MIN: usize = 1 << 25;

/// Whether a sum of `n` points begins with rounds: a curve without kernels for them has none.
pub(super) fn has_rounds<C: Curve>(n: usize) -> bool {
    C::PAIRS.is_some() && n >= POINTS_MIN
}

/// Rounds that leave an average bucket of the widest windows two to three of `n` points. None where
/// the curve has no kernels for them.
pub(super) fn round_count<C: Curve>(n: usize, windows: Windows) -> usize {
    let average = (n / windows.bucket_stride()).max(1);
    let rounds = (average.ilog2() as usize).saturating_sub(1).min(PAIR_ROUNDS_MAX);
    if C::PAIRS.is_some() { rounds } else { 0 }
}

impl<'g, C: Curve> PairTree<'g, C> {
    /// For batches of the shape `levels` or smaller; `None` for no rounds.
    ///
    /// # Panics
    /// When rounds are asked for where the curve has none.
    pub(super) fn new(gpu: &'g Gpu, levels: Levels) -> Result<Option<Self>, GpuError> {
        if levels.rounds == 0 {
            return Ok(None);
        }
        let side = gpu.side()?;
        let starts = || DeviceBuffer::new(side, levels.starts());
        let words = || DeviceBuffer::new(side, levels.words());
        Ok(Some(Self {
            gpu,
            side,
            kernels: C::PAIRS.expect("rounds are counted only for curves that have them"),
            rounds: levels.rounds,
            points: DeviceBuffer::new(gpu, levels.points())?,
            starts: [starts()?, starts()?],
            words: [words()?, words()?],
        }))
    }

    /// Device memory of [`PairTree::new`].
    pub(super) fn bytes(levels: Levels) -> u64 {
        let words = levels.starts() + levels.words();
        (2 * 4 * words + levels.points() * size_of::<C::Affine>()) as u64
    }

    fn arrays<'a>(
        &'a self,
        bases: DeviceSlice<'a, C::Affine>,
        entries: Entries<'a>,
        batch: Batch,
    ) -> (PairArrays<'a, C>, Levels) {
        let levels = Levels {
            n: bases.len(),
            bucket_stride: batch.windows.bucket_stride(),
            batch: batch.count as usize,
            rounds: self.rounds,
        };
        let arrays = PairArrays {
            bases,
            sorted: entries.sorted,
            starts: entries.starts,
            level_points: self.points.as_slice(),
            level_starts: self.starts[entries.slot].as_slice(),
            level_words: self.words[entries.slot].as_slice(),
        };
        (arrays, levels)
    }

    /// Enqueues what the rounds over a batch need to know of its buckets, on the side stream.
    pub(super) fn plan(
        &self,
        bases: DeviceSlice<'_, C::Affine>,
        entries: Entries<'_>,
        batch: Batch,
    ) -> Result<(), GpuError> {
        let (arrays, levels) = self.arrays(bases, entries, batch);
        kernels::plan_levels(self.side, &arrays, levels, batch)
    }

    /// Enqueues the rounds over a batch, after [`PairTree::plan`], and returns the last level.
    pub(super) fn run<'a>(
        &'a self,
        bases: DeviceSlice<'a, C::Affine>,
        entries: Entries<'a>,
        batch: Batch,
    ) -> Result<Level<'a, C>, GpuError> {
        let (arrays, levels) = self.arrays(bases, entries, batch);
        for round in 0..self.rounds {
            kernels::pair_round(self.gpu, self.kernels, &arrays, levels, batch, round)?;
        }
        let (points, starts) = arrays.level(levels, self.rounds);
        Ok(Level { points, starts })
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

    #[test]
    fn small_sums_and_g2_do_without_rounds() {
        assert!(has_rounds::<G1>(1 << 25) && !has_rounds::<G1>(1 << 24));
        assert!(!has_rounds::<G2>(1 << 27));
    }
}
