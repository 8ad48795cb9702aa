//! supraseal-c2 behind bellperson's API, with the times that it does not return.
//!
//! Two of its steps have no end that a caller sees. Its constructor returns while threads still
//! decode points; the file's mapping goes when they are done. And one call both synthesizes and
//! proves; bellperson's log tells when one ends and the other begins.

use std::fs;
use std::io::{Write, stderr};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bellperson::Circuit;
use bellperson::groth16::{Proof, SuprasealParameters, create_random_proof_batch};
use blstrs::{Bls12, Scalar as Fr};
use log::{Level, LevelFilter, Log, Metadata, Record};
use rand::rngs::OsRng;

/// How often to look whether the points are decoded: they take seconds to minutes.
const LOAD_POLL: Duration = Duration::from_millis(1);

/// Where the time of one proof goes.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The circuit into assignments and rows, in bellperson.
    pub synthesis: Duration,
    /// Assignments and rows into a proof: supraseal's own part, CPU and GPU.
    pub prove: Duration,
    /// The whole call; freeing the assignments is the rest.
    pub total: Duration,
}

/// Opens the card, pins host memory for every point of the file at `path` and decodes them into it.
///
/// The time is that until the last point is decoded.
///
/// # Errors
/// When the file is not there or not a parameter file, or there is no usable card or memory.
pub fn load(path: &Path) -> Result<(SuprasealParameters<Bls12>, Duration)> {
    // The kernel names mappings so, and supraseal panics on names that are not Unicode.
    let resolved = fs::canonicalize(path)
        .with_context(|| format!("open the parameters `{}`", path.display()))?;
    let name = resolved.to_str().context("expected the parameters under a name in UTF-8")?;
    let start = Instant::now();
    let parameters = SuprasealParameters::new(resolved.clone())
        .with_context(|| format!("load the parameters `{name}` with supraseal"))?;
    while is_mapped(name)? {
        thread::sleep(LOAD_POLL);
    }
    Ok((parameters, start.elapsed()))
}

/// Whether this process maps the file of that resolved name.
fn is_mapped(name: &str) -> Result<bool> {
    let maps = fs::read_to_string("/proc/self/maps").context("read `/proc/self/maps`")?;
    Ok(maps.lines().any(|line| line.ends_with(name)))
}

/// Proves one circuit, r and s drawn from the operating system.
///
/// # Errors
/// When the circuit misses a value.
///
/// # Panics
/// When the card fails: supraseal-c2's binding to Rust panics with its message.
pub fn prove<C: Circuit<Fr> + Send>(
    circuit: C,
    parameters: &SuprasealParameters<Bls12>,
) -> Result<(Proof<Bls12>, Times)> {
    LOG.begin();
    let start = Instant::now();
    let proof = create_random_proof_batch(vec![circuit], parameters, &mut OsRng)
        .context("prove with supraseal")?
        .pop()
        .context("expected one proof of one circuit, got none")?;
    let total = start.elapsed();
    let times = Times {
        synthesis: LOG.time_of("synthesis time")? - start,
        prove: LOG.time_of("prover time")? - LOG.time_of("starting proof timer")?,
        total,
    };
    Ok((proof, times))
}

static LOG: ProverLog = ProverLog(Mutex::new(Vec::new()));

/// Keeps bellperson's messages and when they came; shows warnings of everyone.
struct ProverLog(Mutex<Vec<(String, Instant)>>);

impl ProverLog {
    /// Forgets what came before; listens from the first call on.
    fn begin(&'static self) {
        // Fails from the second call on, when this logger is set already.
        let _ = log::set_logger(self);
        log::set_max_level(LevelFilter::Info);
        self.messages().clear();
    }

    /// When the message beginning with `start` came.
    fn time_of(&self, start: &str) -> Result<Instant> {
        let messages = self.messages();
        let found = messages.iter().find(|(message, _)| message.starts_with(start));
        found
            .map(|&(_, time)| time)
            .with_context(|| format!("expected bellperson to log `{start}`, it did not"))
    }

    fn messages(&self) -> MutexGuard<'_, Vec<(String, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log for ProverLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Warn || metadata.target().starts_with("bellperson")
    }

    fn log(&self, record: &Record<'_>) {
        let now = Instant::now();
        if !self.enabled(record.metadata()) {
            return;
        }
        if record.level() <= Level::Warn {
            // Standard error may be closed; a warning must not end the run.
            let _ = writeln!(stderr(), "{}: {}", record.target(), record.args());
        } else {
            self.messages().push((record.args().to_string(), now));
        }
    }

    fn flush(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_is_seen_by_its_resolved_name() {
        let program = fs::canonicalize("/proc/self/exe").expect("a process has a program");
        assert!(is_mapped(program.to_str().expect("cargo's paths are Unicode")).expect("reads"));
        assert!(!is_mapped("/no/such/file").expect("reads"));
    }

    #[test]
    fn times_are_those_of_bellpersons_messages_only() {
        LOG.begin();
        let before = Instant::now();
        log::info!(target: "bellperson::groth16", "prover time: {:?}", Duration::ZERO);
        log::info!(target: "another", "synthesis time: {:?}", Duration::ZERO);
        let time = LOG.time_of("prover time").expect("it was logged");
        assert!(before <= time && time <= Instant::now());
        assert!(LOG.time_of("synthesis time").is_err());
        LOG.begin();
        assert!(LOG.time_of("prover time").is_err());
    }
}
