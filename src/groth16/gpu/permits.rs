//! Which assignments may be uploaded now: so many partitions are in flight at most, and no copy
//! gets into the way of launches.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

/// Gives a permit for each upload.
///
/// A copy of the host's ordinary memory keeps kernels from being launched: so all but the first
/// permit wait until a partition's quotient is enqueued whole.
pub(super) struct Permits {
    given: Sender<()>,
    /// Partitions in flight at most.
    most: usize,
    kept: usize,
}

impl Permits {
    /// Permits for at most `most` partitions at a time, the first of them given, and where they
    /// arrive. They end when this is dropped.
    ///
    /// # Panics
    /// When `most` is zero.
    pub(super) fn new(most: usize) -> (Self, Receiver<()>) {
        let (given, receiver) = mpsc::channel();
        let mut permits = Self { given, most, kept: most };
        permits.give(1);
        (permits, receiver)
    }

    /// The quotient of a partition is enqueued.
    pub(super) fn enqueued(&mut self) {
        self.give(self.kept);
    }

    /// A partition has its sum.
    pub(super) fn left(&mut self) {
        self.kept += 1;
        if self.kept == self.most {
            // None is in flight whose quotient could be waited for.
            self.give(self.kept);
        }
    }

    fn give(&mut self, count: usize) {
        self.kept = self.kept.checked_sub(count).expect("permits that were not given yet");
        for _ in 0..count {
            // There may be nothing left to upload.
            let _ = self.given.send(());
        }
    }
}

/// Counts the partitions between the start of their upload and their sum over H.
#[derive(Default)]
pub(super) struct InFlight(AtomicUsize);

impl InFlight {
    pub(super) fn enter(&self, partition: usize) {
        let count = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        log::debug!("partition {partition} enters, {count} in flight");
    }

    pub(super) fn leave(&self, partition: usize) {
        let count = self.0.fetch_sub(1, Ordering::Relaxed) - 1;
        log::debug!("partition {partition} leaves, {count} in flight");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_partition_gets_its_permit_and_no_more_are_in_flight_than_may_be() {
        for most in 1..=4 {
            for partitions in 1..=6 {
                let (mut permits, receiver) = Permits::new(most);
                let mut uploaded = receiver.try_iter().count();
                assert_eq!(uploaded, 1, "the first alone");
                for partition in 0..partitions {
                    assert!(uploaded > partition, "{most}: partition {partition} is not there");
                    permits.enqueued();
                    uploaded += receiver.try_iter().count();
                    assert_eq!(uploaded, partition + most, "as many as may be");
                    permits.left();
                    uploaded += receiver.try_iter().count();
                    assert!(uploaded <= partition + 1 + most, "{most}: too many");
                }
                drop(permits);
                assert!(receiver.recv().is_err(), "they end");
            }
        }
    }
}
