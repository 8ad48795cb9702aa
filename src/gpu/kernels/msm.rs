//! Launchers of gpu/msm_*.cu.
#![expect(unsafe_code, reason = "the layouts of kernels' parameters are vouched for here")]

use std::ops::Range;

use blstrs::Scalar;

use super::{
    ACCUMULATE_THREADS, Kernel, PARTITIONS_MAX, SORT_BINS, SORT_STAGE, SORT_THREADS, SORT_TILE,
    WINDOW_WIDTH_MAX, blocks, count32,
};
use crate::gpu::device::{KernelArgument, Launch};
use crate::gpu::{Curve, DeviceSlice, Gpu, GpuError, Xyzz};

/// The windows of an MSM, `MsmWindows` in gpu/msm_digits.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) struct Windows {
    pub(in crate::gpu) count: u32,
    pub(in crate::gpu) width: u32,
    pub(in crate::gpu) wide_count: u32,
}

// SAFETY: `repr(C)`, three words, as in gpu/msm_digits.cu.
unsafe impl KernelArgument for Windows {}

impl Windows {
    /// Buckets of the widest window.
    pub(in crate::gpu) fn bucket_stride(self) -> usize {
        1 << (self.width - 1)
    }

    /// One window over the bit patterns of `partitions` witnesses.
    pub(in crate::gpu) fn of_patterns(partitions: usize) -> Self {
        Self { count: 1, width: partitions as u32 + 1, wide_count: 1 }
    }

    fn assert_scalars_fit(self) {
        let bits = self.count * (self.width - 1) + self.wide_count;
        assert!(bits >= 255, "windows of 255 bits or more, got {bits}");
        assert!((2..=WINDOW_WIDTH_MAX).contains(&self.width) && self.wide_count <= self.count);
        assert!(self.wide_count > 0, "the width is that of the first window");
    }
}

/// `msm_split_digits`.
pub(in crate::gpu) fn split_digits(
    gpu: &Gpu,
    digits: DeviceSlice<'_, u32>,
    scalars: DeviceSlice<'_, Scalar>,
    windows: Windows,
    reversed: bool,
) -> Result<(), GpuError> {
    windows.assert_scalars_fit();
    assert_eq!(digits.len(), scalars.len() * windows.count as usize, "a digit a window");
    assert!(!reversed || scalars.len().is_power_of_two(), "2^k scalars have a reversed order");
    let n = count32(scalars.len());
    assert!(n < 1 << 31, "indices leave room for a sign");
    let reverse_log = if reversed && n > 0 { n.ilog2() } else { 0 };
    gpu.launch_elements(
        Kernel::MsmSplitDigits,
        scalars.len(),
        &[&digits.address(), &scalars.address(), &n, &windows, &reverse_log],
    )
}

/// In a table of bit places: a base that meets no bit.
pub(in crate::gpu) const NO_BIT: u32 = u32::MAX;

/// Which bit of a witness each base meets, `BitPlaces` in gpu/msm_digits.cu.
#[derive(Clone, Copy)]
pub(in crate::gpu) struct BitPlaces<'a> {
    pub(in crate::gpu) table: DeviceSlice<'a, u32>,
    pub(in crate::gpu) head: usize,
    pub(in crate::gpu) period: usize,
    pub(in crate::gpu) bit_start: usize,
    pub(in crate::gpu) bit_stride: usize,
    /// Bits of a witness that the places need.
    pub(in crate::gpu) bits: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct BitPlacesParameter {
    table: u64,
    head: u32,
    period: u32,
    bit_start: u32,
    bit_stride: u32,
}

// SAFETY: `repr(C)` without padding, fields as in gpu/msm_digits.cu.
unsafe impl KernelArgument for BitPlacesParameter {}
const _: () = assert!(size_of::<BitPlacesParameter>() == 24);

/// `msm_split_patterns` of the bases `range` for `partitions` witnesses of `bits.len() /
/// partitions` words; zero patterns after them.
pub(in crate::gpu) fn split_patterns(
    gpu: &Gpu,
    digits: DeviceSlice<'_, u32>,
    bits: DeviceSlice<'_, u32>,
    partitions: usize,
    places: &BitPlaces<'_>,
    range: Range<usize>,
) -> Result<(), GpuError> {
    assert!((1..=PARTITIONS_MAX).contains(&partitions), "1 to {PARTITIONS_MAX} partitions");
    assert_eq!(bits.len() % partitions, 0, "witnesses of one length");
    let words = bits.len() / partitions;
    assert!(places.bits <= 32 * words, "{} bits of {words} words", places.bits);
    assert!(range.len() <= digits.len(), "a digit a base");
    assert!(places.table.len() >= places.head && places.period > 0, "a period of the table");
    let parameter = BitPlacesParameter {
        table: places.table.address(),
        head: count32(places.head),
        period: count32(places.period),
        bit_start: count32(places.bit_start),
        bit_stride: count32(places.bit_stride),
    };
    let (n, first, count) = (count32(digits.len()), count32(range.start), count32(range.len()));
    let (words, partitions) = (count32(words), count32(partitions));
    gpu.launch_elements(
        Kernel::MsmSplitPatterns,
        digits.len(),
        &[&digits.address(), &bits.address(), &parameter, &n, &first, &count, &words, &partitions],
    )
}

/// The windows `first .. first + count` that one batch of sort and accumulation handles.
#[derive(Clone, Copy)]
pub(in crate::gpu) struct Batch {
    pub(in crate::gpu) windows: Windows,
    pub(in crate::gpu) first: u32,
    pub(in crate::gpu) count: u32,
}

/// The arrays of a batch's first sort pass.
#[derive(Clone, Copy)]
pub(in crate::gpu) struct PartitionArrays<'a> {
    pub(in crate::gpu) bin_counts: DeviceSlice<'a, u32>,
    pub(in crate::gpu) bin_starts: DeviceSlice<'a, u32>,
    pub(in crate::gpu) cursors: DeviceSlice<'a, u32>,
    pub(in crate::gpu) entries: DeviceSlice<'a, u32>,
    pub(in crate::gpu) lows: DeviceSlice<'a, u16>,
}

/// `msm_count_bins`, `msm_scan_bins`, `msm_partition` over `n` entries a window: entries by bin.
pub(in crate::gpu) fn partition_batch(
    gpu: &Gpu,
    digits: DeviceSlice<'_, u32>,
    arrays: &PartitionArrays<'_>,
    n: usize,
    batch: Batch,
) -> Result<(), GpuError> {
    let Batch { windows, first, count } = batch;
    let y = count as usize;
    assert!(first + count <= windows.count, "a batch of the windows");
    assert_eq!(digits.len(), n * windows.count as usize);
    assert!(arrays.bin_counts.len() >= y * SORT_BINS && arrays.cursors.len() >= y * SORT_BINS);
    assert!(arrays.bin_starts.len() >= y * (SORT_BINS + 1));
    assert!(arrays.entries.len() >= y * n && arrays.lows.len() >= y * n);
    let n32 = count32(n);
    let tiles = Launch {
        grid: (blocks(n, SORT_TILE), count),
        block: SORT_THREADS,
        shared_bytes: Kernel::MsmCountBins.shared_bytes(),
    };
    let digits = digits.address();
    let bin_counts = arrays.bin_counts.address();
    let bin_starts = arrays.bin_starts.address();
    let cursors = arrays.cursors.address();
    let entries = arrays.entries.address();
    let lows = arrays.lows.address();
    arrays.bin_counts.fill(0)?;
    gpu.launch(Kernel::MsmCountBins, tiles, &[&bin_counts, &digits, &n32, &windows, &first])?;
    gpu.launch(
        Kernel::MsmScanBins,
        Launch { grid: (1, count), block: SORT_THREADS, shared_bytes: 0 },
        &[&bin_starts, &cursors, &bin_counts],
    )?;
    gpu.launch(
        Kernel::MsmPartition,
        Launch { shared_bytes: Kernel::MsmPartition.shared_bytes(), ..tiles },
        &[&entries, &lows, &cursors, &digits, &n32, &windows, &first],
    )
}

/// `msm_sort_bins` after [`partition_batch`]: entries by bucket, and the buckets' starts.
pub(in crate::gpu) fn sort_bins(
    gpu: &Gpu,
    arrays: &PartitionArrays<'_>,
    (sorted, starts): (DeviceSlice<'_, u32>, DeviceSlice<'_, u32>),
    n: usize,
    batch: Batch,
) -> Result<(), GpuError> {
    let Batch { windows, first, count } = batch;
    let y = count as usize;
    let stride = windows.bucket_stride() + 1;
    assert!(arrays.bin_starts.len() >= y * (SORT_BINS + 1));
    assert!(arrays.entries.len() >= y * n && arrays.lows.len() >= y * n);
    assert!(sorted.len() >= y * n && starts.len() >= y * stride);
    let (n32, stride32) = (count32(n), count32(stride));
    // Parts of an average bin that leave a tenth of the stage for bins above it.
    let parts = n.div_ceil(SORT_BINS).div_ceil(SORT_STAGE / 10 * 9);
    let group_log = parts.next_power_of_two().ilog2();
    gpu.launch(
        Kernel::MsmSortBins,
        Launch {
            // Bins without buckets, and memory without entries, would only be waited for.
            grid: (count32(SORT_BINS.min(windows.bucket_stride())), count),
            block: SORT_THREADS,
            shared_bytes: Kernel::MsmSortBins.shared_bytes().min(n32.saturating_mul(4)),
        },
        &[
            &sorted.address(),
            &starts.address(),
            &arrays.entries.address(),
            &arrays.lows.address(),
            &arrays.bin_starts.address(),
            &n32,
            &stride32,
            &windows,
            &first,
            &group_log,
        ],
    )
}

/// The parameter of `msm_accumulate_*`, `Accumulation` in gpu/msm_accumulate.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct AccumulationParameter {
    buckets: u64,
    carries: u64,
    carry_buckets: u64,
    points: u64,
    sorted: u64,
    starts: u64,
    n: u32,
    bucket_stride: u32,
    threads: u32,
    chunk: u32,
    point_stride: u32,
    windows: Windows,
    first_window: u32,
    padding: u32,
}

// SAFETY: `repr(C)`, all bytes are set, fields as in gpu/msm_accumulate.cu.
unsafe impl KernelArgument for AccumulationParameter {}
const _: () = assert!(size_of::<AccumulationParameter>() == 88);

/// The arrays of one batch's accumulation; buckets and carries are those of the batch's windows.
pub(in crate::gpu) struct AccumulateArrays<'a, C: Curve> {
    pub(in crate::gpu) buckets: DeviceSlice<'a, Xyzz<C::Field>>,
    pub(in crate::gpu) carries: DeviceSlice<'a, Xyzz<C::Field>>,
    pub(in crate::gpu) carry_buckets: DeviceSlice<'a, u32>,
    /// The bases, or in place of them a level of sums, `[window][count]`.
    pub(in crate::gpu) points: DeviceSlice<'a, C::Affine>,
    /// The entries, or none for points in bucket order.
    pub(in crate::gpu) sorted: Option<DeviceSlice<'a, u32>>,
    pub(in crate::gpu) starts: DeviceSlice<'a, u32>,
}

/// `msm_accumulate_*` over up to `count` entries a window, with `chunk` a thread.
pub(in crate::gpu) fn accumulate_batch<C: Curve>(
    gpu: &Gpu,
    arrays: &AccumulateArrays<'_, C>,
    batch: Batch,
    count: usize,
    chunk: usize,
) -> Result<(), GpuError> {
    let threads = count.div_ceil(chunk);
    let y = batch.count as usize;
    let bucket_stride = batch.windows.bucket_stride();
    assert_eq!(arrays.buckets.len(), y * bucket_stride);
    assert!(arrays.carries.len() == y * threads && arrays.carry_buckets.len() == y * threads);
    assert!(arrays.starts.len() >= y * (bucket_stride + 1));
    match arrays.sorted {
        Some(sorted) => assert!(arrays.points.len() == count && sorted.len() >= y * count),
        None => assert!(arrays.points.len() >= y * count),
    }
    let parameter = AccumulationParameter {
        buckets: arrays.buckets.address(),
        carries: arrays.carries.address(),
        carry_buckets: arrays.carry_buckets.address(),
        points: arrays.points.address(),
        sorted: arrays.sorted.map_or(0, |sorted| sorted.address()),
        starts: arrays.starts.address(),
        n: count32(count),
        bucket_stride: count32(bucket_stride),
        threads: count32(threads),
        chunk: count32(chunk),
        point_stride: count32(count),
        padding: 0,
        windows: batch.windows,
        first_window: batch.first,
    };
    let grid = (blocks(threads, ACCUMULATE_THREADS as usize), batch.count);
    let launch = Launch { grid, block: ACCUMULATE_THREADS, shared_bytes: 0 };
    gpu.launch(C::ACCUMULATE, launch, &[&parameter])
}

/// Carries of all windows, each with its bucket: `[window][count]`.
#[derive(Clone, Copy)]
pub(in crate::gpu) struct Carries<'a, C: Curve> {
    pub(in crate::gpu) points: DeviceSlice<'a, Xyzz<C::Field>>,
    pub(in crate::gpu) buckets: DeviceSlice<'a, u32>,
}

/// One round of `msm_fold_carries_*` over `count` carries a window; returns the next `count`.
pub(in crate::gpu) fn fold_carries<C: Curve>(
    gpu: &Gpu,
    buckets: DeviceSlice<'_, Xyzz<C::Field>>,
    (out, input): (Carries<'_, C>, Carries<'_, C>),
    windows: Windows,
    count: usize,
    group: usize,
) -> Result<usize, GpuError> {
    let next = count.div_ceil(group);
    let y = windows.count as usize;
    assert_eq!(buckets.len(), y * windows.bucket_stride());
    assert!(input.points.len() >= y * count && input.buckets.len() >= y * count);
    assert!(out.points.len() >= y * next && out.buckets.len() >= y * next);
    assert_ne!(out.points.address(), input.points.address(), "rounds alternate");
    let last = u32::from(next <= 1);
    let numbers = (count32(windows.bucket_stride()), count32(count), count32(group));
    gpu.launch(
        C::FOLD_CARRIES,
        Launch {
            grid: (blocks(next, ACCUMULATE_THREADS as usize), windows.count),
            block: ACCUMULATE_THREADS,
            shared_bytes: 0,
        },
        &[
            &buckets.address(),
            &out.points.address(),
            &out.buckets.address(),
            &input.points.address(),
            &input.buckets.address(),
            &numbers.0,
            &numbers.1,
            &numbers.2,
            &last,
        ],
    )?;
    Ok(next)
}

/// Points of `C` as sums.
type SumSlice<'a, C> = DeviceSlice<'a, Xyzz<<C as Curve>::Field>>;

/// The two arrays of a reduction's form: sums with and without a weight.
#[derive(Clone, Copy)]
pub(in crate::gpu) struct Sums<'a, C: Curve> {
    pub(in crate::gpu) weighted: DeviceSlice<'a, Xyzz<C::Field>>,
    pub(in crate::gpu) plain: Option<DeviceSlice<'a, Xyzz<C::Field>>>,
}

/// One round of `msm_reduce_*` over rows of `count` sums, of which the narrow windows use half;
/// returns the next count.
pub(in crate::gpu) fn reduce_sums<C: Curve>(
    gpu: &Gpu,
    out: (SumSlice<'_, C>, SumSlice<'_, C>),
    input: Sums<'_, C>,
    windows: Windows,
    count: usize,
    group_log: u32,
) -> Result<usize, GpuError> {
    let next = count.div_ceil(1 << group_log);
    let rows = windows.count as usize;
    assert!(count.is_power_of_two(), "rows of 2^k sums, got {count}");
    let needed = rows * count;
    assert!(input.weighted.len() >= needed && input.plain.iter().all(|a| a.len() >= needed));
    assert!(out.0.len() >= rows * next && out.1.len() >= rows * next);
    let plain = input.plain.map_or(0, |array| array.address());
    let count = count32(count);
    gpu.launch(
        C::REDUCE,
        Launch {
            grid: (blocks(next, ACCUMULATE_THREADS as usize), windows.count),
            block: ACCUMULATE_THREADS,
            shared_bytes: 0,
        },
        &[
            &out.0.address(),
            &out.1.address(),
            &input.weighted.address(),
            &plain,
            &count,
            &windows.wide_count,
            &group_log,
        ],
    )?;
    Ok(next)
}

/// `msm_canonical_*`.
pub(in crate::gpu) fn canonical_sums<C: Curve>(
    gpu: &Gpu,
    sums: DeviceSlice<'_, Xyzz<C::Field>>,
) -> Result<(), GpuError> {
    let n = count32(sums.len());
    let grid = (blocks(sums.len(), ACCUMULATE_THREADS as usize), 1);
    let launch = Launch { grid, block: ACCUMULATE_THREADS, shared_bytes: 0 };
    gpu.launch(C::CANONICAL, launch, &[&sums.address(), &n])
}
