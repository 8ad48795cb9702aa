//! The parameter file's points on the GPU, and their arrival.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};

use blstrs::{G1Affine, G2Affine};

use super::stream::Source;
use crate::gpu::upload::{Uploaded, Uploader};
use crate::gpu::{Curve, DeviceBuffer, DeviceSlice, G1, G2, Gpu, GpuError};
use crate::groth16::native::NativeError;
use crate::params::layout::{Counts, Query};
use crate::progress::{Device, Phase, Progress, Unit};

/// All five queries, decoded: 47.4 GB at 32 GiB.
pub(super) struct ResidentPoints<'p> {
    h: DeviceBuffer<'p, G1Affine>,
    l: DeviceBuffer<'p, G1Affine>,
    a: DeviceBuffer<'p, G1Affine>,
    b_g1: DeviceBuffer<'p, G1Affine>,
    b_g2: DeviceBuffer<'p, G2Affine>,
    arrivals: Arrivals,
}

impl<'p> ResidentPoints<'p> {
    /// Room for the points of `counts`; H gets one more, the identity, to fill the domain.
    pub(super) fn new(gpu: &'p Gpu, counts: &Counts) -> Result<Self, GpuError> {
        let count = |query| counts.query(query) as usize;
        let h = DeviceBuffer::new(gpu, count(Query::H) + 1)?;
        h.as_slice().slice(count(Query::H)..count(Query::H) + 1).fill(0)?;
        gpu.synchronize()?;
        Ok(Self {
            h,
            l: DeviceBuffer::new(gpu, count(Query::L))?,
            a: DeviceBuffer::new(gpu, count(Query::A))?,
            b_g1: DeviceBuffer::new(gpu, count(Query::BG1))?,
            b_g2: DeviceBuffer::new(gpu, count(Query::BG2))?,
            arrivals: Arrivals::default(),
        })
    }

    /// Bytes of device memory that [`ResidentPoints::new`] takes.
    pub(super) fn bytes(counts: &Counts) -> u64 {
        let of = |query: Query| u64::from(counts.query(query)) * query.point_bytes() as u64;
        Query::ALL.map(of).iter().sum::<u64>() + Query::H.point_bytes() as u64
    }

    /// Uploads the queries that are not there yet, in the file's order, which is that of their use.
    /// After an error there is no other try: those who wait must not see what an earlier one left.
    pub(super) fn load(
        &self,
        source: Source<'_>,
        cancelled: &AtomicBool,
    ) -> Result<(), NativeError> {
        let Source { gpu, parameters, pin, progress } = source;
        let missing = &Query::ALL[self.arrivals.count()..];
        if missing.is_empty() {
            return Ok(());
        }
        let failing = self.arrivals.failing()?;
        let gpu = gpu.with_urgent_stream()?;
        let mut uploader = Uploader::new(&gpu, pin)?;
        for &query in missing {
            let bytes = parameters.query(query);
            let uploaded = upload_phase(progress, bytes.len(), |advance| match query {
                Query::BG2 => {
                    uploader.points::<G2>(self.b_g2.as_slice(), bytes, cancelled, advance)
                }
                _ => uploader.points::<G1>(self.g1(query), bytes, cancelled, advance),
            });
            match uploaded.map_err(in_query(query))? {
                Uploaded::All => self.arrivals.add(),
                Uploaded::Cancelled => break,
            }
            parameters.unmap_query(query);
        }
        failing.defuse();
        Ok(())
    }

    /// Waits until `query` is there.
    pub(super) fn wait(&self, query: Query) -> Result<(), NativeError> {
        self.arrivals.wait(query as usize + 1)
    }

    /// The points of H and the identity after them.
    pub(super) fn h_domain(&self) -> DeviceSlice<'_, G1Affine> {
        self.h.as_slice()
    }

    fn g1(&self, query: Query) -> DeviceSlice<'_, G1Affine> {
        match query {
            Query::H => self.h.as_slice().slice(0..self.h.len() - 1),
            Query::L => self.l.as_slice(),
            Query::A => self.a.as_slice(),
            Query::BG1 => self.b_g1.as_slice(),
            Query::BG2 => unreachable!("its points are in G2"),
        }
    }
}

/// A curve whose points are held for some queries.
pub(super) trait Held: Curve {
    /// The points of a query of this curve.
    fn resident<'a>(points: &'a ResidentPoints<'_>, query: Query) -> DeviceSlice<'a, Self::Affine>;
}

impl Held for G1 {
    fn resident<'a>(points: &'a ResidentPoints<'_>, query: Query) -> DeviceSlice<'a, G1Affine> {
        points.g1(query)
    }
}

impl Held for G2 {
    fn resident<'a>(points: &'a ResidentPoints<'_>, query: Query) -> DeviceSlice<'a, G2Affine> {
        assert_eq!(query, Query::BG2, "the query in G2");
        points.b_g2.as_slice()
    }
}

/// Runs `upload` as a phase of `bytes` bytes, of which those count that it says were read: fewer
/// when it is cancelled or fails.
pub(super) fn upload_phase(
    progress: &dyn Progress,
    bytes: usize,
    upload: impl FnOnce(&(dyn Fn(u64) + Sync)) -> Result<Uploaded, GpuError>,
) -> Result<Uploaded, GpuError> {
    let id = progress.start(Phase::new("upload").total(bytes as u64, Unit::Bytes));
    let read_bytes = AtomicU64::new(0);
    let uploaded = upload(&|bytes| {
        read_bytes.fetch_add(bytes, Ordering::Relaxed);
        progress.advance(id, bytes);
    });
    progress.finish(id, read_bytes.into_inner(), Device::Gpu);
    uploaded
}

/// Names the array in which a point is broken.
pub(super) fn in_query(query: Query) -> impl Fn(GpuError) -> NativeError {
    move |error| match error {
        GpuError::BadPoint { index } => NativeError::Point { query, index },
        error => NativeError::Gpu(error),
    }
}

/// How many queries are there. The count only grows and a failure stays, so that it does not
/// matter whether one waits before or after the loading begins.
#[derive(Default)]
struct Arrivals {
    state: Mutex<Arrived>,
    changed: Condvar,
}

#[derive(Default)]
struct Arrived {
    count: usize,
    failed: bool,
}

impl Arrivals {
    fn with<T>(&self, work: impl FnOnce(&mut Arrived) -> T) -> T {
        work(&mut self.state.lock().expect("nothing panics while it is held"))
    }

    fn count(&self) -> usize {
        self.with(|arrived| arrived.count)
    }

    fn add(&self) {
        self.with(|arrived| arrived.count += 1);
        self.changed.notify_all();
    }

    /// A guard that tells those who wait when it is dropped by an error or a panic; an error when
    /// an earlier one did.
    fn failing(&self) -> Result<Failing<'_>, NativeError> {
        if self.with(|arrived| arrived.failed) {
            return Err(NativeError::NotLoaded);
        }
        Ok(Failing { arrivals: self, armed: true })
    }

    fn wait(&self, count: usize) -> Result<(), NativeError> {
        let state = self.state.lock().expect("nothing panics while it is held");
        let waiting = |arrived: &mut Arrived| arrived.count < count && !arrived.failed;
        let state =
            self.changed.wait_while(state, waiting).expect("nothing panics while it is held");
        if state.count < count { Err(NativeError::NotLoaded) } else { Ok(()) }
    }
}

struct Failing<'a> {
    arrivals: &'a Arrivals,
    armed: bool,
}

impl Failing<'_> {
    fn defuse(mut self) {
        self.armed = false;
    }
}

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.arrivals.with(|arrived| arrived.failed = true);
            self.arrivals.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::progress::console::Console;
    use crate::settings::Verbosity;

    #[test]
    fn an_upload_counts_what_was_read() {
        let console = Console::new(Verbosity::Quiet, Instant::now());
        let uploaded = upload_phase(&console, 1000, |advance| {
            advance(300);
            advance(200);
            Ok(Uploaded::Cancelled)
        });
        assert!(matches!(uploaded, Ok(Uploaded::Cancelled)));
        let failed = upload_phase(&console, 1000, |advance| {
            advance(700);
            Err(GpuError::BadPoint { index: 7 })
        });
        assert!(matches!(failed, Err(GpuError::BadPoint { index: 7 })));
        let bytes: Vec<u64> = console.records().iter().map(|record| record.bytes).collect();
        assert_eq!(bytes, [500, 700]);
    }

    #[test]
    fn waiting_ends_with_the_arrival_or_the_failure() {
        let arrivals = Arrivals::default();
        std::thread::scope(|scope| {
            let first = scope.spawn(|| arrivals.wait(1));
            let second = scope.spawn(|| arrivals.wait(2));
            let failing = arrivals.failing().expect("nothing failed yet");
            arrivals.add();
            assert!(first.join().expect("no panic").is_ok());
            drop(failing);
            let error = second.join().expect("no panic").expect_err("it never came");
            assert!(matches!(error, NativeError::NotLoaded));
        });
        assert!(arrivals.wait(1).is_ok(), "what is there stays");
        assert!(arrivals.wait(2).is_err(), "before another try as after it");
        assert!(matches!(arrivals.failing(), Err(NativeError::NotLoaded)));
        assert!(arrivals.wait(2).is_err());
    }

    #[test]
    fn loading_goes_on_where_it_was_cancelled() {
        let arrivals = Arrivals::default();
        for count in 1..=2 {
            let failing = arrivals.failing().expect("being cancelled is no failure");
            arrivals.add();
            failing.defuse();
            assert!(arrivals.wait(count).is_ok());
        }
    }
}
