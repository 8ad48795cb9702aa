//! The steps that all sums share: entries sorted by bucket, and the buckets' sums.

use super::tree::{Entries, Level, PairTree};
use crate::gpu::kernels::{
    self, AccumulateArrays, Batch, Carries, Levels, PartitionArrays, SORT_BINS, Windows,
};
use crate::gpu::{Curve, DeviceBuffer, DeviceSlice, Gpu, GpuError, Xyzz};

/// Entries a thread adds: fewer where there are too few threads otherwise.
const CHUNK_MAX: usize = 128;
const CHUNK_MIN: usize = 8;
/// Threads that fill a large GPU several times over.
const THREADS_WANTED: usize = 1 << 18;
/// Carries that a thread adds in one round: many where there are many, else few, because a round is
/// as long as its longest thread.
fn carry_group(carries: usize) -> usize {
    if carries > THREADS_WANTED { 16 } else { 4 }
}

/// The memory of the first sort pass, for `batch` windows at once: 6 bytes an entry.
pub(super) struct Partition<'g> {
    gpu: &'g Gpu,
    bin_counts: DeviceBuffer<'g, u32>,
    bin_starts: DeviceBuffer<'g, u32>,
    cursors: DeviceBuffer<'g, u32>,
    entries: DeviceBuffer<'g, u32>,
    lows: DeviceBuffer<'g, u16>,
}

impl<'g> Partition<'g> {
    pub(super) fn new(gpu: &'g Gpu, n: usize, batch: usize) -> Result<Self, GpuError> {
        Ok(Self {
            gpu,
            bin_counts: DeviceBuffer::new(gpu, batch * SORT_BINS)?,
            bin_starts: DeviceBuffer::new(gpu, batch * (SORT_BINS + 1))?,
            cursors: DeviceBuffer::new(gpu, batch * SORT_BINS)?,
            entries: DeviceBuffer::new(gpu, batch * n)?,
            lows: DeviceBuffer::new(gpu, batch * n)?,
        })
    }

    /// Device memory of [`Partition::new`].
    pub(super) fn bytes(n: usize, batch: usize) -> u64 {
        (batch * (6 * n + 4 * (3 * SORT_BINS + 1))) as u64
    }

    /// Enqueues the partition of the batch's entries by bin; `digits` has a row a window.
    pub(super) fn run(&self, digits: DeviceSlice<'_, u32>, batch: Batch) -> Result<(), GpuError> {
        let n = digits.len() / batch.windows.count as usize;
        kernels::partition_batch(self.gpu, digits, &self.arrays(), n, batch)
    }

    pub(super) fn arrays(&self) -> PartitionArrays<'_> {
        PartitionArrays {
            bin_counts: self.bin_counts.as_slice(),
            bin_starts: self.bin_starts.as_slice(),
            cursors: self.cursors.as_slice(),
            entries: self.entries.as_slice(),
            lows: self.lows.as_slice(),
        }
    }
}

/// The buckets of all windows and the carries of their chunks.
pub(super) struct BucketSums<'g, C: Curve> {
    gpu: &'g Gpu,
    n: usize,
    windows: Windows,
    chunk: usize,
    rounds: usize,
    tree: Option<PairTree<'g, C>>,
    buckets: DeviceBuffer<'g, Xyzz<C::Field>>,
    /// Two of each: the rounds alternate.
    carries: [DeviceBuffer<'g, Xyzz<C::Field>>; 2],
    carry_buckets: [DeviceBuffer<'g, u32>; 2],
}

/// Entries a thread adds, and the carries of a window of `count` and of the round after.
fn chunk_and_carries(count: usize, batch: usize, windows: Windows) -> (usize, [usize; 2]) {
    let chunk = (count * batch / THREADS_WANTED).clamp(CHUNK_MIN, CHUNK_MAX);
    let carries = count.div_ceil(chunk);
    let group = carry_group(windows.count as usize * carries);
    (chunk, [carries, carries.div_ceil(group)])
}

/// What a thread's chunk is cut from: the entries, or the last level of the rounds.
fn summands(n: usize, windows: Windows, rounds: usize) -> usize {
    if rounds == 0 { n } else { kernels::level_stride(n, windows.bucket_stride(), rounds) }
}

fn levels(n: usize, windows: Windows, batch: usize, rounds: usize) -> Levels {
    Levels { n, bucket_stride: windows.bucket_stride(), batch, rounds }
}

impl<'g, C: Curve> BucketSums<'g, C> {
    /// For up to `n` points, `batch` windows at a time, after `rounds` rounds of pairs.
    pub(super) fn new(
        gpu: &'g Gpu,
        n: usize,
        windows: Windows,
        batch: usize,
        rounds: usize,
    ) -> Result<Self, GpuError> {
        let all = windows.count as usize;
        let count = summands(n, windows, rounds);
        let (chunk, carries) = chunk_and_carries(count, batch, windows);
        let [first, next] = carries.map(|count| all * count);
        Ok(Self {
            gpu,
            n,
            windows,
            chunk,
            rounds,
            tree: PairTree::new(gpu, levels(n, windows, batch, rounds))?,
            buckets: DeviceBuffer::new(gpu, all * windows.bucket_stride())?,
            carries: [DeviceBuffer::new(gpu, first)?, DeviceBuffer::new(gpu, next)?],
            carry_buckets: [DeviceBuffer::new(gpu, first)?, DeviceBuffer::new(gpu, next)?],
        })
    }

    /// Bytes of device memory that [`BucketSums::new`] takes.
    pub(super) fn bytes(n: usize, windows: Windows, batch: usize, rounds: usize) -> u64 {
        let (_, carries) = chunk_and_carries(summands(n, windows, rounds), batch, windows);
        let sum = size_of::<Xyzz<C::Field>>();
        let window = windows.bucket_stride() * sum + (carries[0] + carries[1]) * (sum + 4);
        let tree = PairTree::<C>::bytes(levels(n, windows, batch, rounds));
        (windows.count as usize * window) as u64 + tree
    }

    /// Enqueues empty buckets.
    pub(super) fn clear(&self) -> Result<(), GpuError> {
        self.buckets.fill_zero()
    }

    /// Carries of a window of `n` entries.
    fn carries(&self, n: usize) -> usize {
        summands(n, self.windows, self.rounds).div_ceil(self.chunk)
    }

    /// Enqueues, on the side stream, what [`BucketSums::accumulate`] needs beside sorted entries.
    pub(super) fn plan(
        &self,
        points: DeviceSlice<'_, C::Affine>,
        entries: Entries<'_>,
        batch: Batch,
    ) -> Result<(), GpuError> {
        self.tree.as_ref().map_or(Ok(()), |tree| tree.plan(points, entries, batch))
    }

    /// Enqueues the batch's bucket sums, carries apart.
    pub(super) fn accumulate(
        &self,
        points: DeviceSlice<'_, C::Affine>,
        entries: Entries<'_>,
        batch: Batch,
    ) -> Result<(), GpuError> {
        let n = points.len();
        assert!(n <= self.n, "at most {} points, got {n}", self.n);
        let first = batch.first as usize;
        let rows = |len: usize| first * len..(first + batch.count as usize) * len;
        let carries = self.carries(n);
        let (level, sorted) = match &self.tree {
            Some(tree) => (tree.run(points, entries, batch)?, None),
            None => (Level { points, starts: entries.starts }, Some(entries.sorted)),
        };
        let arrays = AccumulateArrays::<C> {
            buckets: self.buckets.as_slice().slice(rows(self.windows.bucket_stride())),
            carries: self.carries[0].as_slice().slice(rows(carries)),
            carry_buckets: self.carry_buckets[0].as_slice().slice(rows(carries)),
            points: level.points,
            sorted,
            starts: level.starts,
        };
        let count = summands(n, self.windows, self.rounds);
        kernels::accumulate_batch(self.gpu, &arrays, batch, count, self.chunk)
    }

    /// Enqueues the carries of all windows of `n` entries; then the buckets are complete.
    pub(super) fn fold_carries(&self, n: usize) -> Result<(), GpuError> {
        let windows = self.windows.count as usize;
        let mut count = self.carries(n);
        // That of as many points as there may be: the second set has room for no more sums.
        let mut group = carry_group(windows * self.carries(self.n));
        let mut source = 0;
        while count > 0 {
            let sets = [0, 1].map(|i| Carries::<C> {
                points: self.carries[i].as_slice(),
                buckets: self.carry_buckets[i].as_slice(),
            });
            let ends = (sets[1 - source], sets[source]);
            let buckets = self.buckets.as_slice();
            count = kernels::fold_carries(self.gpu, buckets, ends, self.windows, count, group)?;
            group = carry_group(windows * count);
            source = 1 - source;
            if count == 1 {
                break;
            }
        }
        Ok(())
    }

    /// [window][bucket], rows of the widest window's length.
    pub(super) fn buckets(&self) -> DeviceSlice<'_, Xyzz<C::Field>> {
        self.buckets.as_slice()
    }
}
