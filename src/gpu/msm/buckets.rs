//! The steps that all sums share: entries sorted by bucket, and the buckets' sums.

use crate::gpu::kernels::{
    self, AccumulateArrays, Batch, Carries, PartitionArrays, SORT_BINS, Windows,
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

/// Entries that a thread adds.
fn chunk(n: usize, batch: usize) -> usize {
    (n * batch / THREADS_WANTED).clamp(CHUNK_MIN, CHUNK_MAX)
}

/// Carries of a window in the first round and in the second.
fn carries(n: usize, windows: Windows, batch: usize) -> [usize; 2] {
    let carries = n.div_ceil(chunk(n, batch));
    [carries, carries.div_ceil(carry_group(windows.count as usize * carries))]
}

/// The memory of the first sort pass, for `batch` windows at once: 6 bytes an entry.
pub(super) struct Partition<'g> {
    gpu: &'g Gpu,
    n: usize,
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
            n,
            bin_counts: DeviceBuffer::new(gpu, batch * SORT_BINS)?,
            bin_starts: DeviceBuffer::new(gpu, batch * (SORT_BINS + 1))?,
            cursors: DeviceBuffer::new(gpu, batch * SORT_BINS)?,
            entries: DeviceBuffer::new(gpu, batch * n)?,
            lows: DeviceBuffer::new(gpu, batch * n)?,
        })
    }

    /// Bytes of device memory that [`Partition::new`] takes.
    pub(super) fn bytes(n: usize, batch: usize) -> u64 {
        (batch * (6 * n + 4 * (3 * SORT_BINS + 1))) as u64
    }

    /// Enqueues the partition of the batch's entries by bin.
    pub(super) fn run(&self, digits: DeviceSlice<'_, u32>, batch: Batch) -> Result<(), GpuError> {
        kernels::partition_batch(self.gpu, digits, &self.arrays(), self.n, batch)
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
    buckets: DeviceBuffer<'g, Xyzz<C::Field>>,
    /// Two of each: the rounds alternate.
    carries: [DeviceBuffer<'g, Xyzz<C::Field>>; 2],
    carry_buckets: [DeviceBuffer<'g, u32>; 2],
}

impl<'g, C: Curve> BucketSums<'g, C> {
    /// For `n` points, `batch` windows at a time.
    pub(super) fn new(
        gpu: &'g Gpu,
        n: usize,
        windows: Windows,
        batch: usize,
    ) -> Result<Self, GpuError> {
        let all = windows.count as usize;
        let chunk = chunk(n, batch);
        let [carries, next_carries] = carries(n, windows, batch);
        Ok(Self {
            gpu,
            n,
            windows,
            chunk,
            buckets: DeviceBuffer::new(gpu, all * windows.bucket_stride())?,
            carries: [
                DeviceBuffer::new(gpu, all * carries)?,
                DeviceBuffer::new(gpu, all * next_carries)?,
            ],
            carry_buckets: [
                DeviceBuffer::new(gpu, all * carries)?,
                DeviceBuffer::new(gpu, all * next_carries)?,
            ],
        })
    }

    /// Bytes of device memory that [`BucketSums::new`] takes.
    pub(super) fn bytes(n: usize, windows: Windows, batch: usize) -> u64 {
        let points = size_of::<Xyzz<C::Field>>();
        let carries: usize = carries(n, windows, batch).iter().sum();
        let of_window = windows.bucket_stride() * points + carries * (points + 4);
        windows.count as u64 * of_window as u64
    }

    /// Enqueues empty buckets.
    pub(super) fn clear(&self) -> Result<(), GpuError> {
        self.buckets.fill_zero()
    }

    /// Enqueues the batch's bucket sums, carries apart.
    pub(super) fn accumulate(
        &self,
        points: DeviceSlice<'_, C::Affine>,
        (sorted, starts): (DeviceSlice<'_, u32>, DeviceSlice<'_, u32>),
        batch: Batch,
    ) -> Result<(), GpuError> {
        assert_eq!(points.len(), self.n, "points as many as prepared for");
        let first = batch.first as usize;
        let rows = |len: usize| first * len..(first + batch.count as usize) * len;
        let carries = self.n.div_ceil(self.chunk);
        let arrays = AccumulateArrays::<C> {
            buckets: self.buckets.as_slice().slice(rows(self.windows.bucket_stride())),
            carries: self.carries[0].as_slice().slice(rows(carries)),
            carry_buckets: self.carry_buckets[0].as_slice().slice(rows(carries)),
            points,
            sorted,
            starts,
        };
        kernels::accumulate_batch(self.gpu, &arrays, batch, self.chunk)
    }

    /// Enqueues the carries of all windows; then the buckets are complete.
    pub(super) fn fold_carries(&self) -> Result<(), GpuError> {
        let mut count = self.n.div_ceil(self.chunk);
        let mut source = 0;
        while count > 0 {
            let sets = [0, 1].map(|i| Carries::<C> {
                points: self.carries[i].as_slice(),
                buckets: self.carry_buckets[i].as_slice(),
            });
            let ends = (sets[1 - source], sets[source]);
            let buckets = self.buckets.as_slice();
            let group = carry_group(count * self.windows.count as usize);
            count = kernels::fold_carries(self.gpu, buckets, ends, self.windows, count, group)?;
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
