//! Records phases as they start and end: the report is made from this.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::{Device, Phase, Span};

/// A phase that is over.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseRecord {
    /// The phase's name.
    pub name: &'static str,
    /// Its partition, when it was one partition's.
    pub partition: Option<usize>,
    /// Milliseconds from the start of the run to the start of the phase.
    pub start_ms: f64,
    /// How long it took, in milliseconds.
    pub ms: f64,
    /// Bytes that it moved; 0 when bytes mean nothing for it.
    pub bytes: u64,
    /// Where it ran.
    pub device: Device,
}

/// A phase that runs.
#[derive(Clone, Debug)]
pub struct Running {
    /// What it is.
    pub phase: Phase,
    /// When it started.
    pub started: Instant,
    /// Units done.
    pub done: u64,
    /// When it was last heard of.
    pub heard: Instant,
    /// Whether its silence was told already.
    pub silence_told: bool,
}

/// All phases of a run.
#[derive(Debug)]
pub struct Timeline {
    started: Instant,
    next_id: u64,
    running: Vec<(u64, Running)>,
    records: Vec<PhaseRecord>,
}

impl Timeline {
    /// An empty timeline that starts at `started`.
    pub const fn new(started: Instant) -> Self {
        Self { started, next_id: 0, running: Vec::new(), records: Vec::new() }
    }

    /// Since the start of the run.
    pub fn elapsed(&self, now: Instant) -> Duration {
        now.duration_since(self.started)
    }

    /// A phase starts; its id.
    pub fn start(&mut self, phase: Phase, now: Instant) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let running = Running { phase, started: now, done: 0, heard: now, silence_told: false };
        self.running.push((id, running));
        id
    }

    /// Units are done; the phase as it is now.
    pub fn advance(&mut self, id: u64, units: u64, now: Instant) -> Option<&Running> {
        let (_, running) = self.running.iter_mut().find(|(running_id, _)| *running_id == id)?;
        running.done += units;
        running.heard = now;
        Some(running)
    }

    /// A phase ends; its record.
    pub fn finish(
        &mut self,
        id: u64,
        bytes: u64,
        device: Device,
        now: Instant,
    ) -> Option<&PhaseRecord> {
        let position = self.running.iter().position(|(running_id, _)| *running_id == id)?;
        let (_, running) = self.running.remove(position);
        self.records.push(PhaseRecord {
            name: running.phase.name,
            partition: running.phase.partition,
            start_ms: milliseconds(running.started.duration_since(self.started)),
            ms: milliseconds(now.duration_since(running.started)),
            bytes,
            device,
        });
        self.records.last()
    }

    /// A phase is over that was timed elsewhere; its record.
    pub fn measured(
        &mut self,
        phase: Phase,
        span: Span,
        bytes: u64,
        device: Device,
    ) -> &PhaseRecord {
        let end_ms = milliseconds(span.ended.saturating_duration_since(self.started));
        self.records.push(PhaseRecord {
            name: phase.name,
            partition: phase.partition,
            start_ms: rounded_ms((end_ms - span.ms).max(0.0)),
            ms: rounded_ms(span.ms),
            bytes,
            device,
        });
        self.records.last().expect("one was just added")
    }

    /// The phases that run, the latest last.
    pub fn running(&self) -> &[(u64, Running)] {
        &self.running
    }

    /// Phases that were not heard of for `limit`, each told once.
    pub fn fallen_silent(&mut self, limit: Duration, now: Instant) -> Vec<Running> {
        let mut silent = Vec::new();
        for (_, running) in &mut self.running {
            if !running.silence_told && now.duration_since(running.heard) >= limit {
                running.silence_told = true;
                silent.push(running.clone());
            }
        }
        silent
    }

    /// What is over, in order of its end.
    pub fn records(&self) -> &[PhaseRecord] {
        &self.records
    }
}

/// A duration in milliseconds, to the microsecond.
pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1000.0
}

/// Milliseconds to the microsecond.
fn rounded_ms(ms: f64) -> f64 {
    (ms * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_phases_are_recorded_as_they_end() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut timeline = Timeline::new(start);
        let first = timeline.start(Phase::new("first").partition(0), at(10));
        let second = timeline.start(Phase::new("second"), at(20));
        assert_eq!(timeline.advance(second, 3, at(25)).map(|running| running.done), Some(3));
        timeline.finish(second, 5, Device::Cpu, at(30));
        timeline.finish(first, 0, Device::Gpu, at(50));
        let expected = [
            ("second", None, 20.0, 10.0, 5, Device::Cpu),
            ("first", Some(0), 10.0, 40.0, 0, Device::Gpu),
        ];
        for (record, (name, partition, start_ms, ms, bytes, device)) in
            timeline.records().iter().zip(expected)
        {
            let expected = PhaseRecord { name, partition, start_ms, ms, bytes, device };
            assert_eq!(record, &expected);
        }
        assert!(timeline.running().is_empty());
        assert_eq!(timeline.finish(first, 0, Device::Cpu, at(60)), None, "it is over already");
    }

    #[test]
    fn a_measured_phase_lies_before_its_end() {
        let start = Instant::now();
        let mut timeline = Timeline::new(start);
        let ended = start + Duration::from_millis(50);
        let phase = Phase::new("ntt").partition(1);
        let record = timeline.measured(phase, Span { ended, ms: 20.5 }, 7, Device::Gpu).clone();
        assert_eq!((record.start_ms, record.ms, record.bytes), (29.5, 20.5, 7));
        assert_eq!(timeline.records(), [record]);
    }

    #[test]
    fn silence_is_told_once_a_phase() {
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let limit = Duration::from_secs(30);
        let mut timeline = Timeline::new(start);
        let id = timeline.start(Phase::new("long"), start);
        assert!(timeline.fallen_silent(limit, at(29)).is_empty());
        timeline.advance(id, 1, at(29));
        assert!(timeline.fallen_silent(limit, at(58)).is_empty());
        assert_eq!(timeline.fallen_silent(limit, at(59)).len(), 1);
        assert!(timeline.fallen_silent(limit, at(100)).is_empty());
    }
}
