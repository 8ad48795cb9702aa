//! Sums over 0/1 scalars for several witnesses of one set of bases.

use group::Group;

use super::buckets::{BucketSums, Partition};
use crate::gpu::kernels::{self, Batch, PARTITIONS_MAX, Windows};
use crate::gpu::{Curve, DeviceBuffer, DeviceSlice, Gpu, GpuError, Xyzz};

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
            sums: BucketSums::new(gpu, n, windows, 1)?,
        })
    }

    /// The sums, one a witness.
    ///
    /// `bits` is `[witness][words]`: bit j of a witness is bit j % 32 of its word j / 32. `map`
    /// gives each base's index in a witness, where it is not its own.
    ///
    /// # Errors
    /// When a launch fails.
    ///
    /// # Panics
    /// When the lengths do not fit. Indices in `map` are not checked.
    pub fn run(
        &self,
        bases: DeviceSlice<'_, C::Affine>,
        bits: DeviceSlice<'_, u32>,
        map: Option<DeviceSlice<'_, u32>>,
    ) -> Result<Vec<C::Projective>, GpuError> {
        let batch = Batch { windows: self.windows, first: 0, count: 1 };
        let digits = self.digits.as_slice();
        self.sums.clear()?;
        kernels::split_patterns(self.gpu, digits, bits, map, self.partitions)?;
        self.partition.run(digits, batch)?;
        // There are no more buckets than bins, so the first pass has put the entries in order.
        let arrays = self.partition.arrays();
        self.sums.accumulate(bases, (arrays.entries, arrays.bin_starts), batch)?;
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
