//! What one run cost: time, processor time, memory, page faults, hardware counters.

use std::fs;
use std::time::Instant;

use serde::Serialize;

use super::Work;
use super::counters::{Counters, Counts};
use crate::sys;

/// One run of one arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Wall time of the whole run in milliseconds.
    pub wall_ms: f64,
    /// Processor time of all threads in milliseconds.
    pub cpu_ms: f64,
    /// The highest resident memory during the run in bytes, mapped files included; 0 where the
    /// kernel does not let it be measured afresh.
    pub peak_rss_bytes: u64,
    /// Page faults served without a read from disk.
    pub minor_faults: u64,
    /// Page faults that read from disk.
    pub major_faults: u64,
    /// Hardware counts, where there are any.
    pub counts: Option<Counts>,
    /// What the body says of its run.
    pub work: Work,
}

impl Sample {
    /// The time that counts, in milliseconds: the body's own where it has one.
    pub fn time_ms(&self) -> f64 {
        self.work.ms.unwrap_or(self.wall_ms)
    }

    /// Units per second; 0 when nothing was counted.
    pub fn rate(&self) -> f64 {
        self.work.items as f64 / (self.time_ms() / 1e3)
    }

    /// The sample as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        #[derive(Serialize)]
        struct Row {
            ms: f64,
            wall_ms: f64,
            cpu_ms: f64,
            items: u64,
            items_per_second: f64,
            peak_rss_bytes: u64,
            minor_faults: u64,
            major_faults: u64,
            counters: Option<Counts>,
        }
        serde_json::json!(Row {
            ms: self.time_ms(),
            wall_ms: self.wall_ms,
            cpu_ms: self.cpu_ms,
            items: self.work.items,
            items_per_second: self.rate(),
            peak_rss_bytes: self.peak_rss_bytes,
            minor_faults: self.minor_faults,
            major_faults: self.major_faults,
            counters: self.counts,
        })
    }
}

/// Measures runs of this process.
pub struct Meter {
    counters: Result<Counters, String>,
}

impl Meter {
    /// Opens the hardware counters; make it before the thread pool.
    pub fn new() -> Self {
        Self { counters: Counters::open().map_err(|error| error.to_string()) }
    }

    /// Why there are no hardware counters, when there are none.
    pub fn counters_missing(&self) -> Option<String> {
        self.counters.as_ref().err().cloned()
    }

    /// Runs `body` and tells what it cost. Freed memory is given back to the kernel first, so that
    /// every run pays for its own pages.
    pub fn measure<T>(&mut self, body: impl FnOnce() -> T) -> (Sample, T) {
        sys::release_free_memory();
        // Makes the kernel forget the highest resident size (`man 5 proc`, clear_refs).
        let peak_is_fresh = fs::write("/proc/self/clear_refs", "5").is_ok();
        let usage = sys::usage();
        let counts = self.read_counters();
        let started = Instant::now();
        let value = body();
        let wall_ms = started.elapsed().as_secs_f64() * 1e3;
        let counts = counts.and_then(|before| Some(self.read_counters()?.since(before)));
        let used = sys::usage().zip(usage).map(|(after, before)| after.since(before));
        let used = used.unwrap_or_default();
        let sample = Sample {
            wall_ms,
            cpu_ms: used.cpu_ms,
            peak_rss_bytes: if peak_is_fresh { sys::peak_resident_bytes() } else { 0 },
            minor_faults: used.minor_faults,
            major_faults: used.major_faults,
            counts,
            work: Work::default(),
        };
        (sample, value)
    }

    fn read_counters(&mut self) -> Option<Counts> {
        self.counters.as_mut().ok()?.read().ok()
    }
}

impl Default for Meter {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_pays_for_the_pages_that_it_touches() {
        const BYTES: usize = 64 << 20;
        let mut meter = Meter::new();
        let (sample, sum) = meter.measure(|| {
            let block = std::hint::black_box(vec![1_u8; BYTES]);
            block.iter().map(|&byte| u64::from(byte)).sum::<u64>()
        });
        assert_eq!(sum, BYTES as u64);
        // Huge pages make fewer faults than 4 KiB ones, but never none.
        assert!(sample.minor_faults >= (BYTES >> 21) as u64, "{sample:?}");
        assert!(sample.peak_rss_bytes == 0 || sample.peak_rss_bytes > BYTES as u64, "{sample:?}");
        assert!(sample.wall_ms > 0.0 && sample.cpu_ms >= 0.0, "{sample:?}");
    }
}
