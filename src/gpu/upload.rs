//! Points from the mapped parameter file to the device, decoded there.
//!
//! A few threads take pieces of the file in turn. Each copies its piece into page-locked memory
//! and enqueues the copy to the device and the decoding; it has two pieces under way, so that one
//! is read from the file while the other crosses the bus. One thread reads a mapped file at
//! 5 GB/s, eight at 29 GB/s, of the bus's 55 (gpu.md 1.0, one H200).
#![expect(unsafe_code, reason = "copies run on after the call, and mapped pages are locked here")]

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use cudarc::driver::sys;

use super::{Curve, DeviceBuffer, DeviceSlice, Gpu, GpuError, Mark, PinnedBuffer, kernels};
use crate::threads::joined;

/// Bytes of a piece at most: whole points of both groups.
const PIECE_BYTES: usize = (8 << 20) / 192 * 192;
/// Pieces of an upload at most: those of 2^32 points of G2.
const PIECES_MAX: usize = (192usize << 32).div_ceil(PIECE_BYTES);
/// Threads at most: 14 read no more than 8 (gpu.md 1.0).
const THREADS_MAX: usize = 8;
/// Pieces that a thread has under way.
const PIECES_PER_THREAD: usize = 2;
const PAGE_BYTES: usize = 4096;

/// How host memory is made ready for the bus. The rates are of whole uploads of 1.9 GiB of
/// parameters in the page cache, an H200 with 16 cores, 2026-11-29.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PinVariant {
    /// Through page-locked buffers that several threads fill from the file: 23 GiB/s.
    #[default]
    Staged,
    /// The file's own pages are locked while they are copied: 7.7 GiB/s, most of it locking.
    Register,
    /// Not at all, the driver copies page by page: 4.3 GiB/s.
    Off,
}

/// The page-locked memory and the encoded points of one piece.
struct Lane<'g> {
    staging: Option<PinnedBuffer<'g, u8>>,
    encoded: DeviceBuffer<'g, u8>,
    /// When the staging memory may be filled again.
    copied: Option<Mark>,
}

/// Uploads through buffers that are made once.
pub struct Uploader<'g> {
    gpu: &'g Gpu,
    pin: PinVariant,
    lanes: Vec<Lane<'g>>,
    /// The first bad point of each piece of an upload: here, because freeing device memory waits
    /// for all work on the device.
    first_bad: DeviceBuffer<'g, u32>,
}

/// How far an upload got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uploaded {
    /// Everything is on the device, and every point is good.
    All,
    /// It was cancelled.
    Cancelled,
}

/// What the threads of one upload share.
struct Upload<'a, C: Curve> {
    gpu: &'a Gpu,
    out: DeviceSlice<'a, C::Affine>,
    bytes: &'a [u8],
    /// The first bad point of each piece.
    first_bad: DeviceSlice<'a, u32>,
    next_piece: AtomicUsize,
    cancelled: &'a AtomicBool,
    /// Is told bytes as they are read.
    advance: &'a (dyn Fn(u64) + Sync),
}

fn threads(pin: PinVariant) -> usize {
    match pin {
        PinVariant::Staged => {
            thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX)
        }
        PinVariant::Register | PinVariant::Off => 1,
    }
}

impl<'g> Uploader<'g> {
    /// An uploader whose work goes to the stream of `gpu`, best one of its own.
    ///
    /// # Errors
    /// When memory is short.
    pub fn new(gpu: &'g Gpu, pin: PinVariant) -> Result<Self, GpuError> {
        let lane = |_| {
            let staging = match pin {
                PinVariant::Staged => Some(PinnedBuffer::zeroed(gpu, PIECE_BYTES)?),
                PinVariant::Register | PinVariant::Off => None,
            };
            Ok(Lane { staging, encoded: DeviceBuffer::new(gpu, PIECE_BYTES)?, copied: None })
        };
        let lanes = (0..threads(pin) * PIECES_PER_THREAD).map(lane).collect::<Result<_, _>>()?;
        Ok(Self { gpu, pin, lanes, first_bad: DeviceBuffer::new(gpu, PIECES_MAX)? })
    }

    /// Device memory that an uploader takes.
    pub fn device_bytes(pin: PinVariant) -> u64 {
        let pieces = threads(pin) * PIECES_PER_THREAD * PIECE_BYTES;
        (pieces + size_of::<u32>() * PIECES_MAX) as u64
    }

    /// Page-locked host memory that an uploader takes.
    pub fn host_bytes(pin: PinVariant) -> u64 {
        match pin {
            PinVariant::Staged => (threads(pin) * PIECES_PER_THREAD * PIECE_BYTES) as u64,
            PinVariant::Register | PinVariant::Off => 0,
        }
    }

    /// Copies uncompressed points to the device and decodes them into `out`; waits until all are
    /// there, or `cancelled` is set. `advance` is told bytes as they are read.
    ///
    /// # Errors
    /// The first point that is no uncompressed point of the curve, or when the device fails.
    ///
    /// # Panics
    /// When `bytes` are not as many points as `out` has, or 2^32 points or more.
    pub fn points<C: Curve>(
        &mut self,
        out: DeviceSlice<'_, C::Affine>,
        bytes: &[u8],
        cancelled: &AtomicBool,
        advance: &(dyn Fn(u64) + Sync),
    ) -> Result<Uploaded, GpuError> {
        let (gpu, pin) = (self.gpu, self.pin);
        assert_eq!(bytes.len(), size_of::<C::Affine>() * out.len(), "as many points as places");
        let first_bad = self.first_bad.as_slice().slice(0..bytes.len().div_ceil(PIECE_BYTES));
        first_bad.fill(0xff)?;
        let upload = Upload::<C> {
            gpu,
            out,
            bytes,
            first_bad,
            next_piece: AtomicUsize::new(0),
            cancelled,
            advance,
        };
        let registered = match pin {
            PinVariant::Register if !bytes.is_empty() => Some(Registered::new(gpu, bytes)?),
            _ => None,
        };
        let enqueued = upload.run(&mut self.lanes);
        // Before any memory that copies read is given up, whatever happened.
        let done = gpu.synchronize();
        drop(registered);
        enqueued.and(done)?;
        if cancelled.load(Ordering::Relaxed) {
            return Ok(Uploaded::Cancelled);
        }
        let first_bad = first_bad.to_host()?;
        let bad = first_bad.iter().enumerate().find(|&(_, &index)| index != u32::MAX);
        let points_per_piece = PIECE_BYTES / size_of::<C::Affine>();
        bad.map_or(Ok(Uploaded::All), |(piece, &index)| {
            Err(GpuError::BadPoint { index: piece * points_per_piece + index as usize })
        })
    }
}

impl<C: Curve> Upload<'_, C> {
    /// Enqueues all pieces.
    fn run(&self, lanes: &mut [Lane<'_>]) -> Result<(), GpuError> {
        let failed = AtomicBool::new(false);
        let work = |lanes: &mut [Lane<'_>]| {
            let result = self.work(lanes, &failed);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            result
        };
        if lanes.len() == PIECES_PER_THREAD {
            return work(lanes);
        }
        thread::scope(|scope| {
            let threads: Vec<_> = lanes
                .chunks_mut(PIECES_PER_THREAD)
                .map(|lanes| scope.spawn(|| work(lanes)))
                .collect();
            threads.into_iter().try_for_each(|thread| joined(thread.join()))
        })
    }

    /// Takes pieces until none is left.
    fn work(&self, lanes: &mut [Lane<'_>], failed: &AtomicBool) -> Result<(), GpuError> {
        let lane_count = lanes.len();
        for turn in 0.. {
            let stop = [self.cancelled, failed].map(|flag| flag.load(Ordering::Relaxed));
            let piece = self.next_piece.fetch_add(1, Ordering::Relaxed);
            let start = piece * PIECE_BYTES;
            if stop.contains(&true) || start >= self.bytes.len() {
                break;
            }
            let range = start..(start + PIECE_BYTES).min(self.bytes.len());
            let bytes = range.len() as u64;
            self.enqueue(&mut lanes[turn % lane_count], piece, range)?;
            (self.advance)(bytes);
        }
        Ok(())
    }

    fn enqueue(
        &self,
        lane: &mut Lane<'_>,
        piece: usize,
        range: Range<usize>,
    ) -> Result<(), GpuError> {
        let source = &self.bytes[range.clone()];
        let encoded = lane.encoded.as_slice().slice(0..source.len());
        let source = match &mut lane.staging {
            Some(staging) => {
                if let Some(copied) = lane.copied.take() {
                    copied.wait()?;
                }
                staging.as_mut_slice()[..source.len()].copy_from_slice(source);
                &staging.as_slice()[..source.len()]
            }
            None => source,
        };
        // SAFETY: staging memory is filled again, and the file's pages are unlocked, after the
        // copy is done; pages that are not locked are copied before the call returns.
        unsafe { encoded.enqueue_copy(self.gpu, source) }?;
        lane.copied = Some(self.gpu.mark()?);
        let point_bytes = size_of::<C::Affine>();
        let out = self.out.slice(range.start / point_bytes..range.end / point_bytes);
        let first_bad = self.first_bad.slice(piece..piece + 1);
        kernels::decode_points::<C>(self.gpu, out, encoded, first_bad)
    }
}

/// Mapped memory whose pages are locked.
struct Registered<'a> {
    gpu: &'a Gpu,
    start: usize,
}

impl<'a> Registered<'a> {
    fn new(gpu: &'a Gpu, bytes: &[u8]) -> Result<Self, GpuError> {
        /// Only reads: the map cannot be written.
        const READ_ONLY: u32 = 8;
        let start = bytes.as_ptr() as usize / PAGE_BYTES * PAGE_BYTES;
        let end = (bytes.as_ptr() as usize + bytes.len()).next_multiple_of(PAGE_BYTES);
        gpu.bind()?;
        // SAFETY: the pages hold `bytes`, which outlive the registration.
        unsafe { sys::cuMemHostRegister_v2(start as *mut _, end - start, READ_ONLY) }
            .result()
            .map_err(GpuError::driver(format!("lock {} bytes of the file", end - start)))?;
        Ok(Self { gpu, start })
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        // SAFETY: registered by `new`; every copy was waited for. A failure here repeats an
        // earlier one, which the failing call reported.
        let _ = self
            .gpu
            .bind()
            .map(|()| unsafe { sys::cuMemHostUnregister(self.start as *mut std::ffi::c_void) });
    }
}
