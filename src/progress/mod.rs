//! How stages tell what they are doing: they see only `&dyn Progress` and never print.

pub mod console;
pub mod timeline;

use std::fmt;
use std::time::Instant;

use serde::Serialize;

/// What a phase counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes moved or written.
    Bytes,
    /// Anything else: points, rows, proofs.
    Items,
}

/// A phase about to start.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Stable lower-case name; also the name in `--json`.
    pub name: &'static str,
    /// The partition that the phase works on, when it is one partition's.
    pub partition: Option<usize>,
    /// How many units there will be, when known.
    pub total: Option<u64>,
    /// What is counted.
    pub unit: Unit,
}

impl Phase {
    /// A phase of the whole run with nothing to count.
    pub const fn new(name: &'static str) -> Self {
        Self { name, partition: None, total: None, unit: Unit::Items }
    }

    /// The same phase for one partition.
    pub const fn partition(self, index: usize) -> Self {
        Self { partition: Some(index), ..self }
    }

    /// The same phase with `total` units of `unit` to do.
    pub const fn total(self, total: u64, unit: Unit) -> Self {
        Self { total: Some(total), unit, ..self }
    }
}

/// Where a phase ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// This machine's processors.
    Cpu,
    /// A graphics card.
    Gpu,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
        })
    }
}

/// Handle of a started phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PhaseId(pub u64);

/// When a phase ran that is told afterwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Its end.
    pub ended: Instant,
    /// How long it took, in milliseconds.
    pub ms: f64,
}

/// Receives phases, units done and lines for the person who waits.
///
/// Phases may overlap and may be reported from any thread.
pub trait Progress: Send + Sync {
    /// A phase starts now.
    fn start(&self, phase: Phase) -> PhaseId;
    /// `units` more are done.
    fn advance(&self, id: PhaseId, units: u64);
    /// The phase ends now, having moved `bytes` bytes on `device`.
    fn finish(&self, id: PhaseId, bytes: u64, device: Device);
    /// A phase is over that a device timed itself.
    fn measured(&self, phase: Phase, span: Span, bytes: u64, device: Device);
    /// One line that the person should see: a fact found.
    fn note(&self, line: &str);
    /// One line that the person must see, also in the report: something is not as it should be.
    fn warn(&self, line: &str) {
        self.note(line);
    }
}

impl dyn Progress + '_ {
    /// Runs `work` as a CPU phase that moves `bytes` bytes.
    pub fn run<T>(&self, phase: Phase, bytes: u64, work: impl FnOnce(PhaseId) -> T) -> T {
        let id = self.start(phase);
        let result = work(id);
        self.finish(id, bytes, Device::Cpu);
        result
    }
}

/// Hears nothing: for tests and library callers.
pub struct Silent;

impl Progress for Silent {
    fn start(&self, _: Phase) -> PhaseId {
        PhaseId(0)
    }
    fn advance(&self, _: PhaseId, _: u64) {}
    fn finish(&self, _: PhaseId, _: u64, _: Device) {}
    fn measured(&self, _: Phase, _: Span, _: u64, _: Device) {}
    fn note(&self, _: &str) {}
}
