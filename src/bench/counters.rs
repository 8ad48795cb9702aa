//! Hardware counters of this process, where the kernel and the machine give them.
//!
//! Virtual machines often hide them, and `perf_event_paranoid` may forbid them: then the reason is
//! kept for the report, and nothing else changes.

use std::io;

use perf_event::events::Hardware;
use perf_event::{Builder, Counter};
use serde::Serialize;

/// Events counted between two readings, all threads of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Processor cycles.
    pub cycles: u64,
    /// Instructions retired.
    pub instructions: u64,
    /// Last-level cache misses.
    pub cache_misses: u64,
    /// Mispredicted branches.
    pub branch_misses: u64,
}

/// Open counters.
pub struct Counters {
    open: [Counter; 4],
}

impl Counters {
    /// Opens the counters for this thread and every thread that it starts from now on: call it
    /// before the thread pool exists.
    ///
    /// # Errors
    /// The kernel's answer when it does not give them.
    pub fn open() -> io::Result<Self> {
        let events = [
            Hardware::CPU_CYCLES,
            Hardware::INSTRUCTIONS,
            Hardware::CACHE_MISSES,
            Hardware::BRANCH_MISSES,
        ];
        let mut open = Vec::with_capacity(events.len());
        for event in events {
            let mut counter = Builder::new(event).inherit(true).build()?;
            counter.enable()?;
            open.push(counter);
        }
        let open = open.try_into().map_err(|_| io::Error::other("one counter per event"))?;
        let mut counters = Self { open };
        // Some virtual machines open the counters and never move them.
        if counters.read()?.instructions == 0 {
            return Err(io::Error::other("the machine's counters do not count"));
        }
        Ok(counters)
    }

    /// The counts since the counters were opened.
    ///
    /// # Errors
    /// When the kernel fails to read them.
    pub fn read(&mut self) -> io::Result<Counts> {
        let [cycles, instructions, cache_misses, branch_misses] = &mut self.open;
        Ok(Counts {
            cycles: cycles.read()?,
            instructions: instructions.read()?,
            cache_misses: cache_misses.read()?,
            branch_misses: branch_misses.read()?,
        })
    }
}

impl Counts {
    /// The counts from `earlier` to `self`.
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            cycles: self.cycles - earlier.cycles,
            instructions: self.instructions - earlier.instructions,
            cache_misses: self.cache_misses - earlier.cache_misses,
            branch_misses: self.branch_misses - earlier.branch_misses,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_count_or_say_why_not() {
        match Counters::open() {
            Ok(mut counters) => {
                let before = counters.read().expect("open counters are read");
                let sum = (0..1_000_000_u64).fold(0, |sum, i| std::hint::black_box(sum ^ i));
                let counts = counters.read().expect("open counters are read").since(before);
                assert!(counts.instructions > 1_000_000, "{counts:?} for {sum}");
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
