//! Multi-scalar multiplication on the device: signed digits, sort, bucket sums, reduction.

mod bits;
mod buckets;
mod tail;
mod tree;
mod windows;

use blstrs::Scalar;
use group::Group;

pub use self::bits::BitSums;
use self::buckets::{BucketSums, Partition};
pub use self::tail::TailSums;
use self::tree::{Entries, has_rounds, round_count};
pub use self::windows::WINDOW_BITS_MAX;
pub(super) use self::windows::additions;
use super::kernels::{self, Batch, Sums, Windows};
use super::{Curve, DeviceBuffer, DeviceSlice, Gpu, GpuError, Mark, Xyzz};
use crate::msm::Window;

/// Entries that one batch of windows handles at once where there are more than points: enough to
/// fill a large GPU, for 10 bytes each in the sort and about as many as a point in the pair rounds.
const BATCH_ENTRIES: usize = 1 << 25;
/// log2 of the buckets that a thread of the first reduction round adds, at most, and of later
/// rounds, which are as long as their longest thread.
const FIRST_GROUP_LOG_MAX: u32 = 6;
const NEXT_GROUP_LOG: u32 = 2;
/// Threads that fill a large GPU in the first reduction round.
const REDUCE_THREADS_WANTED: usize = 1 << 17;

/// Whose sums over points with full scalars run: `msm=pairs|generated`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MsmVariant {
    /// Ours: signed digits, sorted; in G1, rounds of batched affine additions of pairs while buckets
    /// have many entries; XYZZ additions of what is left. On an H200 (2026-11-29), with rounds and
    /// without, 562 and 656 ms at 2^27 points of G1, 26.8 and 28.6 at 2^22, 11.0 and 9.7 at 2^20: up to
    /// 2^24 points, as many as a streamed chunk has at most, do without.
    #[default]
    Pairs,
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

/// MSMs of up to a number of points, with their memory.
pub struct Msm<'g, C: Curve> {
    gpu: &'g Gpu,
    n: usize,
    vectors: usize,
    /// Those of all vectors.
    windows: Windows,
    batch: u32,
    digits: DeviceBuffer<'g, u32>,
    partition: Partition<'g>,
    /// The stream that sorts a batch while the one before is added: two places for its results.
    side: &'g Gpu,
    sorted: [DeviceBuffer<'g, u32>; 2],
    starts: [DeviceBuffer<'g, u32>; 2],
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

/// Elements of the arrays of sums over up to `n` points.
struct Sizes {
    n: usize,
    windows: Windows,
    /// Pair rounds before the bucket sums.
    rounds: usize,
    /// Windows at once.
    batch: usize,
    digits: usize,
    sorted: usize,
    starts: usize,
    /// Sums after the first and the second reduction round.
    reduced: [usize; 2],
}

impl Sizes {
    fn new<C: Curve>(n: usize, vectors: usize, window: Window) -> Self {
        let windows = windows::choose::<C>(n, vectors, window);
        let rounds = if has_rounds::<C>(n) { round_count::<C>(n, windows) } else { 0 };
        Self::of(n, windows, rounds)
    }

    fn of(n: usize, windows: Windows, rounds: usize) -> Self {
        assert!(n < 1 << 31, "fewer than 2^31 points, got {n}");
        let all = windows.count as usize;
        let batch = (BATCH_ENTRIES / n.max(1)).clamp(1, all);
        let stride = windows.bucket_stride();
        let first_log = first_group_log(windows);
        let reduced = [first_log, first_log + NEXT_GROUP_LOG];
        Self {
            n,
            windows,
            rounds,
            batch,
            digits: all * n,
            sorted: batch * n,
            starts: batch * (stride + 1),
            reduced: reduced.map(|log| all * stride.div_ceil(1 << log)),
        }
    }
}

impl<'g, C: Curve> Msm<'g, C> {
    /// Prepares sums of up to `n` products, the widest window as wide as `window` says; the empty sum
    /// is the identity.
    ///
    /// # Errors
    /// When device memory is short.
    ///
    /// # Panics
    /// When `n` is not below 2^31, or the window is wider than [`WINDOW_BITS_MAX`].
    pub fn new(gpu: &'g Gpu, n: usize, window: Window) -> Result<Self, GpuError> {
        Self::for_vectors(gpu, n, 1, window)
    }

    /// As [`Msm::new`] for `vectors` vectors of scalars at once: what is bound by latency, the
    /// carries' and the reduction's last rounds, is done once for all.
    ///
    /// # Errors
    /// When device memory is short.
    ///
    /// # Panics
    /// As [`Msm::new`], or when `vectors` is zero.
    pub fn for_vectors(
        gpu: &'g Gpu,
        n: usize,
        vectors: usize,
        window: Window,
    ) -> Result<Self, GpuError> {
        Self::of_sizes(gpu, vectors, &Sizes::new::<C>(n, vectors, window))
    }

    /// As [`Msm::new`], with pair rounds however few the points are: slower for few, and how the
    /// rounds are tested against sums that are known.
    ///
    /// # Errors
    /// When device memory is short.
    ///
    /// # Panics
    /// As [`Msm::new`].
    pub fn with_rounds(gpu: &'g Gpu, n: usize, window: Window) -> Result<Self, GpuError> {
        let windows = windows::choose::<C>(n, 1, window);
        Self::of_sizes(gpu, 1, &Sizes::of(n, windows, round_count::<C>(n, windows)))
    }

    fn of_sizes(gpu: &'g Gpu, vectors: usize, sizes: &Sizes) -> Result<Self, GpuError> {
        let &Sizes { n, windows, rounds, batch, .. } = sizes;
        let [first, next] = sizes.reduced;
        let side = gpu.side()?;
        let words = |len| DeviceBuffer::new(side, len);
        Ok(Self {
            gpu,
            n,
            vectors,
            windows,
            batch: batch as u32,
            digits: DeviceBuffer::new(gpu, sizes.digits)?,
            side,
            partition: Partition::new(side, n, batch)?,
            sorted: [words(sizes.sorted)?, words(sizes.sorted)?],
            starts: [words(sizes.starts)?, words(sizes.starts)?],
            sums: BucketSums::new(gpu, n, windows, batch, rounds)?,
            weighted: [DeviceBuffer::new(gpu, first)?, DeviceBuffer::new(gpu, next)?],
            plain: [DeviceBuffer::new(gpu, first)?, DeviceBuffer::new(gpu, next)?],
        })
    }

    /// Bytes of device memory that [`Msm::new`] takes.
    ///
    /// # Panics
    /// As [`Msm::new`].
    pub fn bytes(n: usize, window: Window) -> u64 {
        Self::bytes_for_vectors(n, 1, window)
    }

    /// Bytes of device memory that [`Msm::for_vectors`] takes.
    ///
    /// # Panics
    /// As [`Msm::for_vectors`].
    pub fn bytes_for_vectors(n: usize, vectors: usize, window: Window) -> u64 {
        let sizes = Sizes::new::<C>(n, vectors, window);
        let words = sizes.digits + 2 * (sizes.sorted + sizes.starts);
        let reduced = 2 * (sizes.reduced[0] + sizes.reduced[1]) * size_of::<Xyzz<C::Field>>();
        (4 * words + reduced) as u64
            + Partition::bytes(n, sizes.batch)
            + BucketSums::<C>::bytes(n, sizes.windows, sizes.batch, sizes.rounds)
    }

    /// The number of points at most.
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
        let digits = self.split(points, vectors, order)?;
        self.side.wait_for(&self.gpu.mark()?)?;
        let mut done: [Option<Mark>; 2] = [None, None];
        for (turn, batch) in self.batches().enumerate() {
            let slot = turn % 2;
            if let Some(mark) = &done[slot] {
                self.side.wait_for(mark)?;
            }
            self.sort(points, digits, batch, slot)?;
            self.gpu.wait_for(&self.side.mark()?)?;
            self.sums.accumulate(points, self.entries(slot), batch)?;
            done[slot] = Some(self.gpu.mark()?);
        }
        let mut sums = self.finish(points.len())?;
        sums.truncate(vectors.len());
        Ok(sums)
    }

    /// As [`Msm::run`], with the time of each step. One step is done at a time, so that together they
    /// take longer.
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
        let digits = self.split(points, &[scalars], order)?;
        times.digits_ms = timer.stop_ms()?;
        for batch in self.batches() {
            let timer = self.side.timer()?;
            self.sort(points, digits, batch, 0)?;
            times.sort_ms += timer.stop_ms()?;
            let timer = self.gpu.timer()?;
            self.sums.accumulate(points, self.entries(0), batch)?;
            times.accumulate_ms += timer.stop_ms()?;
        }
        let timer = self.gpu.timer()?;
        let sums = self.finish(points.len())?;
        times.reduce_ms = timer.stop_ms()?;
        Ok((sums.into_iter().next().expect("a sum a vector"), times))
    }

    fn batches(&self) -> impl Iterator<Item = Batch> {
        let (windows, batch) = (self.windows, self.batch);
        (0..windows.count).step_by(batch as usize).map(move |first| {
            let count = batch.min(windows.count - first);
            Batch { windows, first, count }
        })
    }

    fn entries(&self, slot: usize) -> Entries<'_> {
        let (sorted, starts) = (self.sorted[slot].as_slice(), self.starts[slot].as_slice());
        Entries { sorted, starts, slot }
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
        points: DeviceSlice<'_, C::Affine>,
        vectors: &[DeviceSlice<'_, Scalar>],
        order: ScalarOrder,
    ) -> Result<DeviceSlice<'_, u32>, GpuError> {
        let n = points.len();
        assert!(n <= self.n, "at most {} points, got {n}", self.n);
        assert!(vectors.len() <= self.vectors, "at most {} vectors", self.vectors);
        let reversed = order == ScalarOrder::BitReversed;
        let windows = self.vector_windows();
        let digits = self.digits.as_slice().slice(0..n * self.windows.count as usize);
        let len = windows.count as usize * n;
        self.sums.clear()?;
        for (vector, scalars) in vectors.iter().enumerate() {
            assert_eq!(scalars.len(), n, "a scalar a point");
            let own = digits.slice(vector * len..(vector + 1) * len);
            kernels::split_digits(self.gpu, own, *scalars, windows, reversed)?;
        }
        digits.slice(vectors.len() * len..digits.len()).fill(0)?;
        Ok(digits)
    }

    /// Enqueues, on the side stream, a batch's sort and the plan of its additions.
    fn sort(
        &self,
        points: DeviceSlice<'_, C::Affine>,
        digits: DeviceSlice<'_, u32>,
        batch: Batch,
        slot: usize,
    ) -> Result<(), GpuError> {
        self.partition.run(digits, batch)?;
        let entries = self.entries(slot);
        let target = (entries.sorted, entries.starts);
        kernels::sort_bins(self.side, &self.partition.arrays(), target, points.len(), batch)?;
        self.sums.plan(points, entries, batch)
    }

    /// The sum of each vector, from the buckets.
    fn finish(&self, n: usize) -> Result<Vec<C::Projective>, GpuError> {
        self.sums.fold_carries(n)?;
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
