//! Points that pass through the GPU in chunks, where they do not fit all at once.

use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Scope, ScopedJoinHandle};

use blstrs::G1Affine;

use super::points::{in_query, upload_phase};
use super::query::ChunkWork;
use crate::gpu::upload::{PinVariant, Uploaded, Uploader};
use crate::gpu::{Curve, DeviceBuffer, DeviceSlice, G1, G2, Gpu, GpuError};
use crate::groth16::native::NativeError;
use crate::params::Parameters;
use crate::params::layout::{Counts, Query};
use crate::progress::Progress;

/// Chunks on the device: one is summed while the next arrives.
const CHUNKS: usize = 2;

/// The memory that points pass through.
pub(super) struct ChunkBuffers<'p> {
    buffers: Vec<DeviceBuffer<'p, G1Affine>>,
}

impl<'p> ChunkBuffers<'p> {
    /// For chunks of 2^`chunk_log` points in G1, half as many in G2.
    pub(super) fn new(gpu: &'p Gpu, chunk_log: u32) -> Result<Self, GpuError> {
        let buffer = |_| DeviceBuffer::new(gpu, 1 << chunk_log);
        Ok(Self { buffers: (0..CHUNKS).map(buffer).collect::<Result<_, _>>()? })
    }

    /// Bytes of device memory that [`ChunkBuffers::new`] takes.
    pub(super) fn bytes(chunk_log: u32) -> u64 {
        (CHUNKS * size_of::<G1Affine>()) as u64 * (1 << chunk_log)
    }

    fn chunk<C: Curve>(&self, index: usize) -> DeviceSlice<'_, C::Affine> {
        self.buffers[index].as_slice().cast()
    }

    /// Points of a chunk of `query`.
    fn points(&self, query: Query) -> usize {
        self.buffers[0].len() * size_of::<G1Affine>() / query.point_bytes()
    }
}

/// A chunk that has arrived.
struct Chunk {
    query: Query,
    range: Range<usize>,
    buffer: usize,
}

/// The receiving end of points in the order of a schedule.
pub(super) struct Stream<'a> {
    buffers: &'a ChunkBuffers<'a>,
    counts: &'a Counts,
    chunks: Receiver<Chunk>,
    free: Sender<usize>,
}

/// Where points come from and how.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) parameters: &'a Parameters,
    pub(super) pin: PinVariant,
    pub(super) progress: &'a dyn Progress,
}

impl<'a> Stream<'a> {
    /// Starts to upload the queries of `schedule` one after another, as chunks become free. The
    /// thread ends after the last, on an error, or when the stream is dropped.
    pub(super) fn start<'s>(
        scope: &'s Scope<'s, '_>,
        source: Source<'s>,
        buffers: &'s ChunkBuffers<'s>,
        schedule: Vec<Query>,
    ) -> (Stream<'s>, ScopedJoinHandle<'s, Result<(), NativeError>>) {
        let (sender, chunks) = mpsc::channel();
        let (free, freed) = mpsc::channel();
        for index in 0..buffers.buffers.len() {
            free.send(index).expect("the other end is here");
        }
        let counts = source.parameters.layout().counts();
        let thread = scope.spawn(move || upload(source, buffers, &schedule, (freed, sender)));
        (Stream { buffers, counts, chunks, free }, thread)
    }

    /// Calls `work` with every chunk of `query`, the next of the schedule, and where it starts;
    /// the chunk is a whole buffer, of which the last may be filled in part.
    pub(super) fn each<C: Curve>(
        &mut self,
        query: Query,
        work: &mut ChunkWork<'_, C>,
    ) -> Result<(), NativeError> {
        let mut next = 0;
        while next < self.counts.query(query) as usize {
            let chunk = self.chunks.recv().map_err(|_| NativeError::NotLoaded)?;
            assert!(chunk.query == query && chunk.range.start == next, "the schedule's order");
            next = chunk.range.end;
            work(self.buffers.chunk::<C>(chunk.buffer), chunk.range)?;
            // The thread may have nothing left to upload.
            let _ = self.free.send(chunk.buffer);
        }
        Ok(())
    }
}

/// Uploads chunk after chunk.
fn upload(
    source: Source<'_>,
    buffers: &ChunkBuffers<'_>,
    schedule: &[Query],
    (freed, sender): (Receiver<usize>, Sender<Chunk>),
) -> Result<(), NativeError> {
    let Source { parameters, pin, progress, .. } = source;
    let gpu = source.gpu.with_urgent_stream()?;
    let mut uploader = Uploader::new(&gpu, pin)?;
    let never = AtomicBool::new(false);
    for &query in schedule {
        let (bytes, point_bytes) = (parameters.query(query), query.point_bytes());
        let count = bytes.len() / point_bytes;
        for start in (0..count).step_by(buffers.points(query)) {
            let range = start..(start + buffers.points(query)).min(count);
            let Ok(buffer) = freed.recv() else { return Ok(()) };
            let bytes = &bytes[range.start * point_bytes..range.end * point_bytes];
            let uploaded = upload_phase(progress, bytes.len(), |advance| match query {
                Query::BG2 => {
                    let target = buffers.chunk::<G2>(buffer).slice(0..range.len());
                    uploader.points::<G2>(target, bytes, &never, advance)
                }
                _ => {
                    let target = buffers.chunk::<G1>(buffer).slice(0..range.len());
                    uploader.points::<G1>(target, bytes, &never, advance)
                }
            });
            let uploaded = uploaded.map_err(|error| match in_query(query)(error) {
                NativeError::Point { query, index } => {
                    NativeError::Point { query, index: range.start + index }
                }
                error => error,
            });
            assert_eq!(uploaded?, Uploaded::All, "nothing cancels it");
            if sender.send(Chunk { query, range, buffer }).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}
