//! Scalars in, the file's points out: threads that multiply and write blocks side by side.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::{ops::Range, thread};

use blstrs::Scalar as Fr;
use ff::Field;

use super::SetupError;
use super::multiples::{Group, Lane, Multiples};
use super::scalars::Powers;
use crate::params::layout::{Layout, Query};
use crate::params::output::PendingFile;
use crate::progress::{Phase, PhaseId, Progress};

/// Writes points to their places in a parameter file.
pub struct Writer<'w> {
    file: &'w PendingFile,
    layout: Layout,
    multiples: &'w dyn Multiples,
    lanes: Vec<Box<dyn Lane + 'w>>,
    progress: &'w dyn Progress,
}

impl<'w> Writer<'w> {
    /// A writer of `file` with a thread for every one of rayon's.
    ///
    /// # Errors
    /// When the file cannot be given its length, or the device has no memory for the threads.
    pub fn new(
        file: &'w PendingFile,
        layout: Layout,
        multiples: &'w dyn Multiples,
        progress: &'w dyn Progress,
    ) -> Result<Self, SetupError> {
        file.set_len(layout.bytes()).map_err(super::io_error(file.target()))?;
        for query in Query::ALL {
            let count = layout.counts().query(query).to_be_bytes();
            let offset = layout.count_offset(query);
            file.write_at(&count, offset).map_err(super::io_error(file.target()))?;
        }
        let lanes = (0..rayon::current_num_threads()).map(|_| multiples.lane());
        Ok(Self { file, layout, multiples, lanes: lanes.collect::<Result<_, _>>()?, progress })
    }

    /// Runs `produce` as a phase that writes some bytes, and whose blocks are multiplied and
    /// written meanwhile; returns when all are.
    ///
    /// At most two blocks a thread are in flight.
    ///
    /// # Errors
    /// The first error of a thread, or that of `produce`.
    pub fn run<T>(
        &mut self,
        (phase, bytes): (Phase, u64),
        produce: impl FnOnce(&Queue) -> Result<T, SetupError>,
    ) -> Result<T, SetupError> {
        let id = self.progress.start(phase);
        let (sender, receiver) = sync_channel(self.lanes.len());
        let receiver = Arc::new(Mutex::new(receiver));
        let failure = Mutex::new(None);
        let blocks = [Group::G1, Group::G2].map(|group| self.multiples.block(group));
        let queue = Queue { sender, failure: &failure, blocks };
        let target = Target { file: self.file, layout: &self.layout, progress: self.progress, id };
        let produced = thread::scope(|scope| {
            for lane in &mut self.lanes {
                // Only the threads hold the receiver: should all of them die, sending fails.
                let receiver = Arc::clone(&receiver);
                let (target, failure) = (&target, &failure);
                scope.spawn(move || work(&receiver, lane.as_mut(), target, failure));
            }
            drop(receiver);
            let produced = produce(&queue);
            drop(queue);
            produced
        });
        self.progress.finish(id, bytes, self.multiples.device());
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => produced,
        }
    }
}

/// The way to a writer's threads.
pub struct Queue<'q> {
    sender: SyncSender<Job>,
    failure: &'q Mutex<Option<SetupError>>,
    /// Scalars of a block in G1 and in G2.
    blocks: [usize; 2],
}

/// One block of one array.
struct Job {
    query: Query,
    /// Index of the first point in its array.
    first: u64,
    scalars: Source,
}

/// Where a block's scalars are.
enum Source {
    /// Powers of tau, not yet made.
    Powers(Powers, Range<u64>),
    /// A part of a list.
    List(Arc<Vec<Fr>>, Range<usize>),
}

impl Queue<'_> {
    /// Hands over all of `h`, `count` points.
    ///
    /// # Errors
    /// [`SetupError::Stopped`] once a thread has failed.
    pub fn powers(&self, powers: Powers, count: u64) -> Result<(), SetupError> {
        let block = self.blocks[0] as u64;
        (0..count).step_by(self.blocks[0]).try_for_each(|first| {
            let range = first..count.min(first + block);
            self.send(Job { query: Query::H, first, scalars: Source::Powers(powers, range) })
        })
    }

    /// Hands over the points of `query` from point `first` on.
    ///
    /// # Errors
    /// [`SetupError::Stopped`] once a thread has failed.
    pub fn list(&self, query: Query, first: usize, list: &Arc<Vec<Fr>>) -> Result<(), SetupError> {
        let block = self.blocks[Group::of(query) as usize];
        (0..list.len()).step_by(block).try_for_each(|start| {
            let range = start..list.len().min(start + block);
            let scalars = Source::List(Arc::clone(list), range);
            self.send(Job { query, first: (first + start) as u64, scalars })
        })
    }

    /// Hands over the points of `b_g1` and `b_g2` from point `first` on.
    ///
    /// # Errors
    /// [`SetupError::Stopped`] once a thread has failed.
    pub fn list_b(&self, first: usize, list: Vec<Fr>) -> Result<(), SetupError> {
        let list = Arc::new(list);
        [Query::BG1, Query::BG2].into_iter().try_for_each(|query| self.list(query, first, &list))
    }

    fn send(&self, job: Job) -> Result<(), SetupError> {
        let failed = self.failure.lock().is_ok_and(|failure| failure.is_some());
        if failed || self.sender.send(job).is_err() {
            return Err(SetupError::Stopped);
        }
        Ok(())
    }
}

/// Where the points go.
struct Target<'t> {
    file: &'t PendingFile,
    layout: &'t Layout,
    progress: &'t dyn Progress,
    id: PhaseId,
}

/// Multiplies and writes blocks until there are no more; after a failure, takes them and does
/// nothing.
fn work(
    jobs: &Mutex<Receiver<Job>>,
    lane: &mut dyn Lane,
    target: &Target<'_>,
    failure: &Mutex<Option<SetupError>>,
) {
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
    while let Some(job) = next() {
        let failure = || failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure().is_some() {
            continue;
        }
        if let Err(error) = write(job, lane, target) {
            failure().get_or_insert(error);
        }
    }
}

fn write(job: Job, lane: &mut dyn Lane, target: &Target<'_>) -> Result<(), SetupError> {
    let Job { query, first, scalars } = job;
    let block = match scalars {
        Source::Powers(powers, range) => {
            let block = lane.scalars((range.end - range.start) as usize);
            block.iter_mut().zip(powers.of(range)).for_each(|(scalar, power)| *scalar = power);
            block
        }
        Source::List(list, range) => {
            let block = lane.scalars(range.len());
            block.copy_from_slice(&list[range]);
            block
        }
    };
    if let Some(index) = block.iter().position(|scalar| *scalar == Fr::ZERO) {
        return Err(SetupError::Infinity { query, index: first + index as u64 });
    }
    let count = block.len() as u64;
    let bytes = lane.multiply(Group::of(query))?;
    let offset = target.layout.query(query).start + first * query.point_bytes() as u64;
    target.file.write_at(bytes, offset).map_err(super::io_error(target.file.target()))?;
    target.progress.advance(target.id, count);
    Ok(())
}
