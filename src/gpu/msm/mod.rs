//! Multi-scalar multiplication on the device: signed digits, sort, bucket sums, reduction.

mod bits;
mod buckets;
mod tail;

use blstrs::Scalar;
use group::Group;

pub use self::bits::BitSums;
use self::buckets::{BucketSums, Partition};
pub use self::tail::TailSums;
use super::kernels::{self, Batch, Sums, WINDOW_WIDTH_MAX, Windows};
use super::{Curve, DeviceBuffer, DeviceSlice, Gpu, GpuError, Xyzz};

/// Entries that one batch of windows sorts at once; bounds the sort's memory at 10 bytes each.
const BATCH_ENTRIES: usize = 1 << 27;
/// log2 of the buckets that a thread of the first reduction round adds, at most, and of later
/// rounds, which are as long as their longest thread.
const FIRST_GROUP_LOG_MAX: u32 = 6;
const NEXT_GROUP_LOG: u32 = 2;
/// Threads that fill a large GPU in the first reduction round.
const REDUCE_THREADS_WANTED: usize = 1 << 17;

/// A bucket costs two full additions in the reduction, 2.75 mixed ones.
const BUCKET_COST: f64 = 2.75;

/// Whose sums over points with full scalars run: `msm=xyzz|generated`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MsmVariant {
    /// Ours: signed digits, sorted, summed into XYZZ buckets. 656 ms at 2^27 points of G1 on an H200
    /// (2026-11-29).
    #[default]
    Xyzz,
    /// ec-gpu-gen's multiexp. 2,983 ms at 2^26.
    Generated,
}

/// The order in which an MSM reads its scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarOrder {
    /// Scalar i belongs to point i.
    Natural,
    /// Scalar rev(i) belongs to point i.
    BitReversed,
}

/// An MSM of a fixed number of points, with its memory.
pub struct Msm<'g, C: Curve> {
    gpu: &'g Gpu,
    n: usize,
    vectors: usize,
    /// Those of all vectors.
    windows: Windows,
    batch: u32,
    digits: DeviceBuffer<'g, u32>,
    partition: Partition<'g>,
    sorted: DeviceBuffer<'g, u32>,
    starts: DeviceBuffer<'g, u32>,
    sums: BucketSums<'g, C>,
    /// Two of each: the rounds alternate.
    weighted: [DeviceBuffer<'g, Xyzz<C::Field>>; 2],
    plain: [DeviceBuffer<'g, Xyzz<C::Field>>; 2],
}

/// Milliseconds of the device in the steps of one MSM.
#[derive(Clone, Copy, Debug, Default)]
pub struct MsmTimes {
    /// Digits.
    pub digits_ms: f64,
    /// Sort, all batches.
    pub sort_ms: f64,
    /// Bucket sums, all batches.
    pub accumulate_ms: f64,
    /// Carries and reduction.
    pub reduce_ms: f64,
}

/// The cheapest windows for `n` points: 255 bits in `count` windows, as equal as can be.
fn choose_windows(n: usize) -> Windows {
    let candidates = (255u32.div_ceil(WINDOW_WIDTH_MAX)..=64).map(|count| {
        let width = 255u32.div_ceil(count);
        let wide_count = 255 - count * (width - 1);
        Windows { count, width, wide_count }
    });
    cheapest(n, candidates)
}

/// The same for `vectors` vectors of scalars, one after the other in all windows of one width.
fn choose_vector_windows(n: usize, vectors: usize) -> Windows {
    if vectors == 1 {
        return choose_windows(n);
    }
    let vectors = u32::try_from(vectors).expect("a group of partitions");
    let candidates = (2..=WINDOW_WIDTH_MAX).map(|width| {
        let count = vectors * 255u32.div_ceil(width);
        Windows { count, width, wide_count: count }
    });
    cheapest(n, candidates)
}

/// The windows with the fewest additions, those of the reduction included.
fn cheapest(n: usize, candidates: impl Iterator<Item = Windows>) -> Windows {
    let cost = |windows: &Windows| {
        let wide = f64::from(windows.wide_count);
        let all = f64::from(windows.count);
        let buckets = windows.bucket_stride() as f64 * (wide + (all - wide) / 2.0);
        n as f64 * all + BUCKET_COST * buckets
    };
    candidates.min_by(|x, y| cost(x).total_cmp(&cost(y))).expect("there are candidates")
}

/// Additions into buckets that a sum of `n` products takes: one a digit.
pub(super) fn additions(n: usize) -> u64 {
    n as u64 * u64::from(choose_windows(n).count)
}

/// Windows that are sorted at once.
fn batch(n: usize, windows: Windows) -> usize {
    (BATCH_ENTRIES / n.max(1)).clamp(1, windows.count as usize)
}

impl<'g, C: Curve> Msm<'g, C> {
    /// Prepares sums of exactly `n` products; the empty sum is the identity.
    ///
    /// # Errors
    /// When device memory is short.
    ///
    /// # Panics
    /// When `n` is not below 2^31.
    pub fn new(gpu: &'g Gpu, n: usize) -> Result<Self, GpuError> {
        Self::for_vectors(gpu, n, 1)
    }

    /// As [`Msm::new`] for `vectors` vectors of scalars at once: what is bound by latency, the
    /// carries' and the reduction's last rounds, is done once for all.
    ///
    /// # Errors
    /// When device memory is short.
    ///
    /// # Panics
    /// When `n` is not below 2^31, or `vectors` is zero.
    pub fn for_vectors(gpu: &'g Gpu, n: usize, vectors: usize) -> Result<Self, GpuError> {
        assert!(n < 1 << 31, "fewer than 2^31 points, got {n}");
        assert!(vectors > 0, "a vector of scalars");
        let windows = choose_vector_windows(n, vectors);
        let all = windows.count as usize;
        let batch = batch(n, windows);
        let stride = windows.bucket_stride();
        let first = all * stride.div_ceil(1 << first_group_log(windows));
        let next = all * stride.div_ceil(1 << (first_group_log(windows) + NEXT_GROUP_LOG));
        Ok(Self {
            gpu,
            n,
            vectors,
            windows,
            batch: batch as u32,
            digits: DeviceBuffer::new(gpu, all * n)?,
            partition: Partition::new(gpu, n, batch)?,
            sorted: DeviceBuffer::new(gpu, batch * n)?,
            starts: DeviceBuffer::new(gpu, batch * (stride + 1))?,
            sums: BucketSums::new(gpu, n, windows, batch)?,
            weighted: [DeviceBuffer::new(gpu, first)?, DeviceBuffer::new(gpu, next)?],
            plain: [DeviceBuffer::new(gpu, first)?, DeviceBuffer::new(gpu, next)?],
        })
    }

    /// Bytes of device memory that [`Msm::new`] takes.
    pub fn bytes(n: usize) -> u64 {
        Self::bytes_for_vectors(n, 1)
    }

    /// Bytes of device memory that [`Msm::for_vectors`] takes.
    pub fn bytes_for_vectors(n: usize, vectors: usize) -> u64 {
        let windows = choose_vector_windows(n, vectors);
        let (all, batch, stride) =
            (windows.count as usize, batch(n, windows), windows.bucket_stride());
        let reduced = [first_group_log(windows), first_group_log(windows) + NEXT_GROUP_LOG]
            .map(|log| all * stride.div_ceil(1 << log));
        let words = all * n + batch * (n + stride + 1);
        let points = 2 * reduced.iter().sum::<usize>();
        (4 * words + points * size_of::<Xyzz<C::Field>>()) as u64
            + Partition::bytes(n, batch)
            + BucketSums::<C>::bytes(n, windows, batch)
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether the sum is over no points.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// sum_i scalars[i] * points[i], or with rev(i) for i in the scalars.
    ///
    /// # Errors
    /// When a launch fails.
    ///
    /// # Panics
    /// When the lengths are not those of [`Msm::new`].
    pub fn run(
        &self,
        points: DeviceSlice<'_, C::Affine>,
        scalars: DeviceSlice<'_, Scalar>,
        order: ScalarOrder,
    ) -> Result<C::Projective, GpuError> {
        let sums = self.run_vectors(points, &[scalars], order)?;
        Ok(sums.into_iter().next().expect("a sum a vector"))
    }

    /// [`Msm::run`] for each vector, of which there may be fewer than prepared for.
    ///
    /// # Errors
    /// When a launch fails.
    ///
    /// # Panics
    /// When the lengths are not those of [`Msm::for_vectors`], or there are more vectors.
    pub fn run_vectors(
        &self,
        points: DeviceSlice<'_, C::Affine>,
        vectors: &[DeviceSlice<'_, Scalar>],
        order: ScalarOrder,
    ) -> Result<Vec<C::Projective>, GpuError> {
        self.split(vectors, order)?;
        for first in (0..self.windows.count).step_by(self.batch as usize) {
            let batch = self.batch_from(first);
            self.sort(batch)?;
            self.accumulate(points, batch)?;
        }
        let mut sums = self.finish()?;
        sums.truncate(vectors.len());
        Ok(sums)
    }

    /// As [`Msm::run`], with the time of each step; the waits between steps cost a little.
    ///
    /// # Errors
    /// When a launch fails.
    pub fn run_timed(
        &self,
        points: DeviceSlice<'_, C::Affine>,
        scalars: DeviceSlice<'_, Scalar>,
        order: ScalarOrder,
    ) -> Result<(C::Projective, MsmTimes), GpuError> {
        let mut times = MsmTimes::default();
        let timer = self.gpu.timer()?;
        self.split(&[scalars], order)?;
        times.digits_ms = timer.stop_ms()?;
        for first in (0..self.windows.count).step_by(self.batch as usize) {
            let batch = self.batch_from(first);
            let timer = self.gpu.timer()?;
            self.sort(batch)?;
            times.sort_ms += timer.stop_ms()?;
            let timer = self.gpu.timer()?;
            self.accumulate(points, batch)?;
            times.accumulate_ms += timer.stop_ms()?;
        }
        let timer = self.gpu.timer()?;
        let sums = self.finish()?;
        times.reduce_ms = timer.stop_ms()?;
        Ok((sums.into_iter().next().expect("a sum a vector"), times))
    }

    fn batch_from(&self, first: u32) -> Batch {
        let count = self.batch.min(self.windows.count - first);
        Batch { windows: self.windows, first, count }
    }

    /// The windows of one vector.
    fn vector_windows(&self) -> Windows {
        let Windows { count, width, wide_count } = self.windows;
        let vectors = self.vectors as u32;
        Windows { count: count / vectors, width, wide_count: wide_count / vectors }
    }

    /// Enqueues empty buckets and the digits, `[vector][window][point]`; those of vectors that are
    /// not there are zero.
    fn split(
        &self,
        vectors: &[DeviceSlice<'_, Scalar>],
        order: ScalarOrder,
    ) -> Result<(), GpuError> {
        assert!(vectors.len() <= self.vectors, "at most {} vectors", self.vectors);
        let reversed = order == ScalarOrder::BitReversed;
        let windows = self.vector_windows();
        let digits = self.digits.as_slice();
        let len = windows.count as usize * self.n;
        self.sums.clear()?;
        for (vector, scalars) in vectors.iter().enumerate() {
            assert_eq!(scalars.len(), self.n, "a scalar a point");
            let digits = digits.slice(vector * len..(vector + 1) * len);
            kernels::split_digits(self.gpu, digits, *scalars, windows, reversed)?;
        }
        digits.slice(vectors.len() * len..digits.len()).fill(0)
    }

    fn sort(&self, batch: Batch) -> Result<(), GpuError> {
        self.partition.run(self.digits.as_slice(), batch)?;
        let target = (self.sorted.as_slice(), self.starts.as_slice());
        kernels::sort_bins(self.gpu, &self.partition.arrays(), target, self.n, batch)
    }

    fn accumulate(&self, points: DeviceSlice<'_, C::Affine>, batch: Batch) -> Result<(), GpuError> {
        self.sums.accumulate(points, (self.sorted.as_slice(), self.starts.as_slice()), batch)
    }

    /// The sum of each vector, from the buckets.
    fn finish(&self) -> Result<Vec<C::Projective>, GpuError> {
        self.sums.fold_carries()?;
        let sums = self.reduce()?;
        let windows = self.vector_windows();
        let (count, wide) = (windows.count as usize, windows.wide_count as usize);
        // Horner's rule from the top window; each shift is by the width of the window below.
        let total = |sums: &[Xyzz<C::Field>]| {
            let mut total = C::Projective::identity();
            for (window, sum) in sums.iter().enumerate().rev() {
                let width = if window < wide { windows.width } else { windows.width - 1 };
                for _ in 0..width {
                    total = total.double();
                }
                total += C::to_projective(sum);
            }
            total
        };
        Ok(sums.chunks(count).map(total).collect())
    }

    /// The weighted bucket sum of each window.
    fn reduce(&self) -> Result<Vec<Xyzz<C::Field>>, GpuError> {
        let mut stride = self.windows.bucket_stride();
        let mut input = Sums::<C> { weighted: self.sums.buckets(), plain: None };
        let mut group_log = first_group_log(self.windows);
        for target in [0, 1].into_iter().cycle() {
            let out = (self.weighted[target].as_slice(), self.plain[target].as_slice());
            stride = kernels::reduce_sums(self.gpu, out, input, self.windows, stride, group_log)?;
            group_log = NEXT_GROUP_LOG;
            input = Sums { weighted: out.0, plain: Some(out.1) };
            if stride == 1 {
                let sums = out.1.slice(0..self.windows.count as usize);
                kernels::canonical_sums::<C>(self.gpu, sums)?;
                return sums.to_host();
            }
        }
        unreachable!("rounds alternate until one sum is left")
    }
}

/// log2 of the buckets a thread adds first: as many as leave enough threads.
fn first_group_log(windows: Windows) -> u32 {
    let buckets = windows.bucket_stride() * windows.count as usize;
    (buckets / REDUCE_THREADS_WANTED).max(1).ilog2().clamp(NEXT_GROUP_LOG, FIRST_GROUP_LOG_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_255_bits_and_grow_with_the_points() {
        let mut width = 0;
        for log_n in 0..31 {
            let windows = choose_windows((1 << log_n).min((1 << 31) - 1));
            assert_eq!(windows.count * (windows.width - 1) + windows.wide_count, 255);
            assert!(windows.width <= WINDOW_WIDTH_MAX);
            assert!(windows.width >= width, "2^{log_n}: {windows:?}");
            width = windows.width;
        }
    }

    #[test]
    fn vectors_have_windows_of_one_width() {
        for (n, vectors) in [(1, 2), (1000, 10), (1_700_000, 10), (1 << 20, 5)] {
            let windows = choose_vector_windows(n, vectors);
            assert_eq!(windows.wide_count, windows.count, "{n} x {vectors}");
            let bits = windows.count as usize / vectors * windows.width as usize;
            assert!(bits >= 255, "{windows:?}");
            assert!((windows.count as usize).is_multiple_of(vectors), "{windows:?}");
        }
        assert_eq!(choose_vector_windows(1 << 20, 1), choose_windows(1 << 20));
    }

    #[test]
    fn the_largest_sum_of_a_sector_has_twelve_windows() {
        assert_eq!(choose_windows(1 << 27), Windows { count: 12, width: 22, wide_count: 3 });
    }
}
