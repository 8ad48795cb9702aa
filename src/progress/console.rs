//! Progress for people on standard error: bars on a terminal, flushed lines elsewhere.
//!
//! Also keeps the [`Timeline`] and the warnings, from which the report is made.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::timeline::{PhaseRecord, Running, Timeline, milliseconds};
use super::{Device, Phase, PhaseId, Progress, Span, Unit};
use crate::memory::Bytes;
use crate::settings::Verbosity;
use crate::sys;

/// A counted phase tells how far it is this often where there are no bars.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Where progress is shown and recorded.
pub struct Console {
    state: Mutex<State>,
    bars: Option<MultiProgress>,
    quiet: bool,
}

struct State {
    timeline: Timeline,
    warnings: Vec<String>,
    bars: Vec<(u64, ProgressBar)>,
    last_line: Instant,
}

impl Console {
    /// A console whose clock starts at `started`.
    pub fn new(verbosity: Verbosity, started: Instant) -> Self {
        let rich = verbosity == Verbosity::Rich && io::stderr().is_terminal();
        Self {
            state: Mutex::new(State {
                timeline: Timeline::new(started),
                warnings: Vec::new(),
                bars: Vec::new(),
                last_line: started,
            }),
            bars: rich.then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr())),
            quiet: verbosity == Verbosity::Quiet,
        }
    }

    /// What is over, in order of its end.
    pub fn records(&self) -> Vec<PhaseRecord> {
        self.state().timeline.records().to_vec()
    }

    /// The warnings so far.
    pub fn warnings(&self) -> Vec<String> {
        self.state().warnings.clone()
    }

    /// The name of the phase that started last among those that run.
    pub fn current_phase(&self) -> &'static str {
        self.state().timeline.running().last().map_or("", |(_, running)| running.phase.name)
    }

    /// Refreshes the bars with the time and the memory now in use.
    pub fn tick(&self, rss_anon_bytes: u64) {
        for (_, bar) in &self.state().bars {
            bar.set_message(Bytes(rss_anon_bytes).to_string());
            bar.tick();
        }
    }

    /// Phases that were silent for `limit`, each told once.
    pub fn fallen_silent(&self, limit: Duration) -> Vec<Running> {
        self.state().timeline.fallen_silent(limit, Instant::now())
    }

    /// Takes the bars away, also of phases that never ended.
    pub fn close(&self) {
        for (_, bar) in self.state().bars.drain(..) {
            bar.finish_and_clear();
        }
    }

    /// Prints `text` on standard error, above the bars.
    pub fn print(&self, text: &str) {
        let print = || {
            // Standard error may be closed; then there is no one to tell.
            let _ = io::stderr().lock().write_all(format!("{text}\n").as_bytes());
        };
        match &self.bars {
            Some(bars) => bars.suspend(print),
            None => print(),
        }
    }

    /// A line of progress, where there are no bars to show it.
    fn line(&self, state: &mut State, text: &str) {
        if !self.quiet && self.bars.is_none() {
            let now = Instant::now();
            state.last_line = now;
            self.print(&format!("{:9.2} s  {text}", state.timeline.elapsed(now).as_secs_f64()));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Console {
    fn start(&self, phase: Phase) -> PhaseId {
        let bar = self.bars.as_ref().map(|bars| bars.add(bar(&phase)));
        let mut state = self.state();
        let id = state.timeline.start(phase, Instant::now());
        state.bars.extend(bar.map(|bar| (id, bar)));
        PhaseId(id)
    }

    fn advance(&self, PhaseId(id): PhaseId, units: u64) {
        let now = Instant::now();
        let mut state = self.state();
        let due = now.duration_since(state.last_line) >= LINE_EVERY;
        let Some(running) = state.timeline.advance(id, units, now) else { return };
        let text = due.then(|| describe_running(running)).flatten();
        if let Some((_, bar)) = state.bars.iter().find(|(bar_id, _)| *bar_id == id) {
            bar.inc(units);
        }
        if let Some(text) = text {
            self.line(&mut state, &text);
        }
    }

    fn finish(&self, PhaseId(id): PhaseId, bytes: u64, device: Device) {
        let mut state = self.state();
        if let Some(position) = state.bars.iter().position(|(bar_id, _)| *bar_id == id) {
            let (_, bar) = state.bars.remove(position);
            bar.finish_and_clear();
        }
        let memory = Bytes(sys::resident().anon_bytes);
        let record = state.timeline.finish(id, bytes, device, Instant::now());
        let text = record.map(|record| {
            let what = describe(record.name, record.partition);
            format!("{what}: {:.2} s, memory {memory}", record.ms / 1000.0)
        });
        if let Some(text) = text {
            self.line(&mut state, &text);
        }
    }

    fn measured(&self, phase: Phase, span: Span, bytes: u64, device: Device) {
        let mut state = self.state();
        let record = state.timeline.measured(phase, span, bytes, device);
        let text = format!(
            "{} on the {device}: {:.3} s",
            describe(record.name, record.partition),
            record.ms / 1000.0
        );
        self.line(&mut state, &text);
    }

    fn note(&self, line: &str) {
        if !self.quiet {
            self.print(line);
        }
    }

    fn warn(&self, line: &str) {
        self.state().warnings.push(line.to_owned());
        self.print(&format!("warning: {line}"));
    }
}

/// `synthesis, partition 3`.
pub fn describe(name: &str, partition: Option<usize>) -> String {
    match partition {
        Some(partition) => format!("{name}, partition {partition}"),
        None => name.to_owned(),
    }
}

/// How far a counted phase is.
fn describe_running(running: &Running) -> Option<String> {
    let total = running.phase.total.filter(|&total| total > 0)?;
    let percent = 100.0 * running.done as f64 / total as f64;
    let seconds = milliseconds(running.started.elapsed()) / 1000.0;
    let what = describe(running.phase.name, running.phase.partition);
    Some(format!("{what}: {percent:.0} % after {seconds:.0} s"))
}

/// The bar, or spinner, of a phase.
fn bar(phase: &Phase) -> ProgressBar {
    let (bar, template) = match (phase.total, phase.unit) {
        (Some(total), Unit::Bytes) => (
            ProgressBar::new(total),
            "{prefix:32} {bar:24} {percent:>3} % {bytes_per_sec:>12}  {elapsed} left {eta}  {msg}",
        ),
        (Some(total), Unit::Items) => (
            ProgressBar::new(total),
            "{prefix:32} {bar:24} {percent:>3} %  {elapsed} left {eta}  {msg}",
        ),
        (None, _) => (ProgressBar::new_spinner(), "{prefix:32} {spinner} {elapsed}  {msg}"),
    };
    let style = ProgressStyle::with_template(template).expect("the templates are well-formed");
    bar.with_style(style).with_prefix(describe(phase.name, phase.partition))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_and_warnings_are_kept_also_when_quiet() {
        let console = Console::new(Verbosity::Quiet, Instant::now());
        let progress: &dyn Progress = &console;
        progress.run(Phase::new("work").partition(2).total(4, Unit::Items), 7, |id| {
            progress.advance(id, 4);
            assert_eq!(console.current_phase(), "work");
        });
        let records = console.records();
        assert_eq!((records.len(), records[0].partition, records[0].bytes), (1, Some(2), 7));
        assert_eq!(console.current_phase(), "");
        progress.warn("this is a test");
        assert_eq!(console.warnings(), ["this is a test"]);
    }

    #[test]
    fn every_kind_of_phase_has_a_bar() {
        let counted = Phase::new("x").total(1, Unit::Items);
        for phase in [Phase::new("x"), counted.clone(), counted.total(1, Unit::Bytes)] {
            bar(&phase).tick();
        }
    }
}
