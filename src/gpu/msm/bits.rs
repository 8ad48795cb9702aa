//! Sums over 0/1 scalars for several witnesses of one set of bases.

use std::ops::Range;

use group::Group;

use super::buckets::{BucketSums, Partition};
use super::tree::Entries;
use crate::gpu::kernels::{self, Batch, PARTITIONS_MAX, Windows};
use crate::gpu::{Curve, DeviceBuffer, DeviceSlice, Gpu, GpuError, QueryBits, Xyzz};

/// Rounds of pairs would save a third of the additions' time, some 40 ms of a 32 GiB sector, and
/// take 96 bytes a base, which is better spent on resident bases.
const NO_ROUNDS: usize = 0;

/// For each of up to ten witnesses the sum of the bases whose bit is one.
///
/// Each base is added once, into the bucket of its pattern of bits across the witnesses (gpu.md
/// 4.2); a witness's sum is that of the buckets whose pattern has its bit. Chunks of equal size
/// keep the work balanced whatever the patterns are.
pub struct BitSums<'g, C: Curve> {
    gpu: &'g Gpu,
    partitions: usize,
    windows: Windows,
    digits: DeviceBuffer<'g, u32>,
    partition: Partition<'g>,
    sums: BucketSums<'g, C>,
}

impl<'g, C: Curve> BitSums<'g, C> {
    /// Prepares sums over `n` bases for `partitions` witnesses: about 12 bytes a base.
    ///
    /// # Errors
    /// When device memory is short.
    ///
    /// # Panics
    /// When `partitions` is not 1 to 10, or `n` not below 2^31.
    pub fn new(gpu: &'g Gpu, n: usize, partitions: usize) -> Result<Self, GpuError> {
        assert!((1..=PARTITIONS_MAX).contains(&partitions), "1 to 10 witnesses");
        assert!(n < 1 << 31, "fewer than 2^31 bases, got {n}");
        let windows = Windows::of_patterns(partitions);
        Ok(Self {
            gpu,
            partitions,
            windows,
            digits: DeviceBuffer::new(gpu, n)?,
            partition: Partition::new(gpu, n, 1)?,
            sums: BucketSums::new(gpu, n, windows, 1, NO_ROUNDS)?,
        })
    }

    /// Bytes of device memory that [`BitSums::new`] takes.
    pub fn bytes(n: usize, partitions: usize) -> u64 {
        let windows = Windows::of_patterns(partitions);
        4 * n as u64 + Partition::bytes(n, 1) + BucketSums::<C>::bytes(n, windows, 1, NO_ROUNDS)
    }

    /// The sums over the bases `range` of a query, one a witness. A streamed query is summed chunk
    /// by chunk, with the sums of its chunks added.
    ///
    /// `bases` starts with those of `range`; what follows them is not looked at. `bits` is
    /// `[witness][words]`: bit j of a witness is bit j % 32 of its word j / 32.
    ///
    /// # Errors
    /// When a launch fails.
    ///
    /// # Panics
    /// When `bases` are not as many as prepared for, or less than the range, the range is not
    /// inside the query, or a witness has too few words.
    pub fn run(
        &self,
        bases: DeviceSlice<'_, C::Affine>,
        range: Range<usize>,
        query: &QueryBits<'_>,
        bits: DeviceSlice<'_, u32>,
    ) -> Result<Vec<C::Projective>, GpuError> {
        assert!(range.end <= query.len(), "bases {range:?} of {}", query.len());
        let batch = Batch { windows: self.windows, first: 0, count: 1 };
        let digits = self.digits.as_slice();
        self.sums.clear()?;
        let (partitions, places) = (self.partitions, query.places());
        kernels::split_patterns(self.gpu, digits, bits, partitions, &places, range)?;
        self.partition.run(digits, batch)?;
        // There are no more buckets than bins, so the first pass has put the entries in order.
        let arrays = self.partition.arrays();
        let entries = Entries { sorted: arrays.entries, starts: arrays.bin_starts, slot: 0 };
        self.sums.accumulate(bases, entries, batch)?;
        self.sums.fold_carries(bases.len())?;
        kernels::canonical_sums::<C>(self.gpu, self.sums.buckets())?;
        Ok(pattern_sums::<C>(&self.sums.buckets().to_host()?, self.partitions))
    }
}

/// From the sums by pattern 1, 2, .. 2^k, the sums by bit: the upper half of the patterns has the
/// top bit; folded onto the lower half, it leaves the same problem with one bit less.
fn pattern_sums<C: Curve>(buckets: &[Xyzz<C::Field>], partitions: usize) -> Vec<C::Projective> {
    let mut by_pattern = vec![C::Projective::identity()];
    by_pattern.extend(buckets.iter().map(C::to_projective));
    let mut sums = vec![C::Projective::identity(); partitions];
    for (bit, sum) in sums.iter_mut().enumerate().rev() {
        let (lower, upper) = by_pattern.split_at_mut(1 << bit);
        for (low, high) in lower.iter_mut().zip(upper) {
            *sum += *high;
            *low += *high;
        }
        by_pattern.truncate(1 << bit);
    }
    sums
}
