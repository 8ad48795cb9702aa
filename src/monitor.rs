//! A thread that watches the run: peak memory, the memory log, and silence.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::memory::Bytes;
use crate::progress::Progress;
use crate::progress::console::{Console, describe};
use crate::sys;

/// How often memory is sampled.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);
/// How often the memory log gets a row.
const ROW_EVERY: Duration = Duration::from_secs(1);
/// A phase that says nothing for this long is spoken of.
const SILENCE: Duration = Duration::from_secs(30);

/// The watching thread; ends when dropped.
pub struct Monitor {
    peak_rss_anon_bytes: Arc<AtomicU64>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Monitor {
    /// Starts watching; with a path, also writes the memory log there.
    ///
    /// # Errors
    /// When the log cannot be made or the thread not started.
    pub fn start(
        console: Arc<Console>,
        rss_log: Option<&Path>,
        started: Instant,
    ) -> io::Result<Self> {
        let log = rss_log.map(|path| RssLog::create(path, started)).transpose()?;
        let peak = Arc::new(AtomicU64::new(0));
        let (stop, stopped) = mpsc::channel();
        let mut watch = Watch { console, log, peak: Arc::clone(&peak) };
        let thread = thread::Builder::new().name("monitor".into()).spawn(move || {
            watch.sample(true);
            let mut next_row = started + ROW_EVERY;
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(SAMPLE_EVERY) {
                let row = Instant::now() >= next_row;
                watch.sample(row);
                while next_row <= Instant::now() {
                    next_row += ROW_EVERY;
                }
                watch.speak_of_silence();
            }
            watch.sample(true);
        })?;
        Ok(Self { peak_rss_anon_bytes: peak, stop: Some(stop), thread: Some(thread) })
    }

    /// The highest resident anonymous memory sampled so far.
    pub fn peak_rss_anon_bytes(&self) -> u64 {
        let now = sys::resident().anon_bytes;
        self.peak_rss_anon_bytes.fetch_max(now, Ordering::Relaxed).max(now)
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed already and concerns no result.
            let _ = thread.join();
        }
    }
}

struct Watch {
    console: Arc<Console>,
    log: Option<RssLog>,
    peak: Arc<AtomicU64>,
}

impl Watch {
    fn sample(&mut self, row: bool) {
        let resident = sys::resident();
        self.peak.fetch_max(resident.anon_bytes, Ordering::Relaxed);
        self.console.tick(resident.anon_bytes);
        if row
            && let Some(log) = &mut self.log
            && let Err(error) = log.row(self.console.current_phase(), resident)
        {
            self.log = None;
            self.console.warn(&format!("the memory log ends here: {error}"));
        }
    }

    /// One line for each phase that fell silent, with what the processors do meanwhile.
    fn speak_of_silence(&mut self) {
        for running in self.console.fallen_silent(SILENCE) {
            let what = describe(running.phase.name, running.phase.partition);
            let seconds = running.started.elapsed().as_secs_f64();
            let cores = cores_busy().unwrap_or(f64::NAN);
            let memory = Bytes(sys::resident().anon_bytes);
            self.console.note(&format!(
                "still in {what} after {seconds:.0} s ({cores:.1} cores busy, memory {memory})"
            ));
        }
    }
}

/// Cores that this process keeps busy, from a short look: tells work from waiting.
fn cores_busy() -> Option<f64> {
    let (started, before) = (Instant::now(), sys::usage()?);
    thread::sleep(5 * SAMPLE_EVERY);
    let used = sys::usage()?.since(before);
    Some(used.cpu_ms / 1e3 / started.elapsed().as_secs_f64())
}

/// The memory log: one flushed CSV row at a time.
struct RssLog {
    file: File,
    started: Instant,
}

impl RssLog {
    fn create(path: &Path, started: Instant) -> io::Result<Self> {
        let mut file = File::create(path)?;
        file.write_all(
            b"seconds,phase,rss_anon_bytes,rss_file_bytes,rss_shmem_bytes,vram_bytes\n",
        )?;
        Ok(Self { file, started })
    }

    fn row(&mut self, phase: &str, resident: sys::Resident) -> io::Result<()> {
        let seconds = self.started.elapsed().as_secs_f64();
        let sys::Resident { anon_bytes, file_bytes, shmem_bytes } = resident;
        // One write a row: a run that is killed leaves whole rows.
        let row = format!("{seconds:.3},{phase},{anon_bytes},{file_bytes},{shmem_bytes},0\n");
        self.file.write_all(row.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Phase;
    use crate::settings::Verbosity;

    #[test]
    fn the_log_has_a_first_row_a_row_a_second_and_a_last_row() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("rss.csv");
        let started = Instant::now();
        let console = Arc::new(Console::new(Verbosity::Quiet, started));
        let monitor = Monitor::start(Arc::clone(&console), Some(&path), started).expect("started");
        let id = console.start(Phase::new("work"));
        thread::sleep(Duration::from_millis(1300));
        console.finish(id, 0, crate::progress::Device::Cpu);
        assert!(monitor.peak_rss_anon_bytes() > 0);
        drop(monitor);
        let log = std::fs::read_to_string(&path).expect("log");
        let rows: Vec<&str> = log.lines().skip(1).collect();
        // A busy machine may add rows.
        assert!(rows.len() >= 3, "{log}");
        assert!(rows.iter().any(|row| row.contains(",work,")), "{log}");
        for row in rows {
            assert_eq!(row.split(',').count(), 6, "{row}");
        }
    }
}
