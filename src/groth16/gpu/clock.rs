//! Phases timed by the device.

use std::time::Instant;

use crate::gpu::{Gpu, GpuError, Mark};
use crate::progress::{Device, Phase, Progress, Span};

/// Reports phases of one stream.
#[derive(Clone, Copy)]
pub(super) struct Clock<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) progress: &'a dyn Progress,
}

/// A phase that was enqueued between two marks.
pub(super) struct Timed {
    phase: Phase,
    bytes: u64,
    start: Mark,
    end: Mark,
}

impl Clock<'_> {
    /// Enqueues `work` as a phase that moves `bytes` bytes, to be told by [`Clock::tell`].
    pub(super) fn enqueue<T>(
        &self,
        phase: Phase,
        bytes: u64,
        work: impl FnOnce() -> Result<T, GpuError>,
    ) -> Result<(T, Timed), GpuError> {
        let start = self.gpu.mark()?;
        let result = work()?;
        Ok((result, Timed { phase, bytes, start, end: self.gpu.mark()? }))
    }

    /// A phase between two marks of the stream.
    pub(super) fn between(phase: Phase, bytes: u64, [start, end]: [Mark; 2]) -> Timed {
        Timed { phase, bytes, start, end }
    }

    /// Waits for phases that follow one another without a gap, and tells them.
    pub(super) fn tell(&self, phases: Vec<Timed>) -> Result<(), GpuError> {
        let Some(last) = phases.last() else { return Ok(()) };
        last.end.wait()?;
        let now = Instant::now();
        for Timed { phase, bytes, start, end } in &phases {
            let after_ms = last.end.ms_since(end)?;
            let after = std::time::Duration::from_secs_f64(after_ms.max(0.0) / 1000.0);
            let ended = now.checked_sub(after).unwrap_or(now);
            let span = Span { ended, ms: end.ms_since(start)? };
            self.progress.measured(phase.clone(), span, *bytes, Device::Gpu);
        }
        Ok(())
    }

    /// Runs `work`, which waits for its result, and tells it at once.
    pub(super) fn run<T>(
        &self,
        phase: Phase,
        bytes: u64,
        work: impl FnOnce() -> Result<T, GpuError>,
    ) -> Result<T, GpuError> {
        let (result, timed) = self.enqueue(phase, bytes, work)?;
        self.tell(vec![timed])?;
        Ok(result)
    }
}
