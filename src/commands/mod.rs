//! The commands: what each subcommand does, with context for its errors.
//!
//! [`main`] is the whole program but for the process: words in, exit code out.

mod batch;
mod bench;
mod early;
mod ending;
mod files;
mod info;
mod params;
mod prove;
mod sample;
mod scripts;
mod verify;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;

use crate::bench::sample::Meter;
use crate::cli::{BenchCommand, Cli, Command, ParamsCommand, is_dash};
use crate::exit::{Code, code_of, render};
use crate::monitor::Monitor;
use crate::output::Output;
use crate::params::Security;
use crate::progress::console::Console;
use crate::progress::timeline::milliseconds;
use crate::progress::{Device, Phase, Progress};
use crate::report::{ParametersInfo, Report, SCHEMA};
use crate::sector::SectorSize;
use crate::settings::{Settings, Verbosity};
use crate::{build, c1, device, stop, sys, trace};

/// Runs `words`, the program name first; the clock of the report starts at `started`.
pub fn main(words: impl IntoIterator<Item = OsString>, started: Instant) -> Code {
    let cli = match Cli::parse_words(words) {
        Ok(cli) => cli,
        Err(error) => {
            // Help goes to standard output, a usage error to standard error; both may be closed.
            let _ = error.print();
            return if error.use_stderr() { Code::Usage } else { Code::Done };
        }
    };
    let variants = cli.variants().expect("parsing checked them");
    let settings = match Settings::resolve(&cli.shared, variants, &|name| std::env::var_os(name)) {
        Ok(settings) => settings,
        Err(error) => return fail(&error.into()),
    };
    sys::return_large_blocks();
    // Before any thread starts.
    if settings.threads.is_some_and(|threads| !sys::set_bellperson_threads(threads)) {
        return fail(&anyhow!("cannot set the number of threads: some run already"));
    }
    match run(&cli, settings, started) {
        Ok(()) => Code::Done,
        Err(error) => fail(&error),
    }
}

/// Tells an error; its code.
fn fail(error: &anyhow::Error) -> Code {
    // Standard error may be closed; the code says the same.
    let _ = writeln!(io::stderr(), "{}", render(error));
    code_of(error)
}

fn run(cli: &Cli, settings: Settings, started: Instant) -> Result<()> {
    stop::install(settings.timeout).context("watch for signals")?;
    match &cli.command {
        Some(Command::Completions { shell }) => return scripts::completions(*shell),
        Some(Command::Man) => return scripts::man(),
        _ => {}
    }
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("off")).init();
    // Before the threads whose work it counts.
    let meter = matches!(cli.command, Some(Command::Bench(_))).then(Meter::new);
    rayon::ThreadPoolBuilder::new()
        .num_threads(settings.threads.unwrap_or(0))
        .build_global()
        .context("start the worker threads")?;
    files::check_distinct(cli)?;
    let session = Arc::new(Session::start(settings, command_name(cli), started)?);
    ending::watch(&session, |report| report);
    let result = match (&cli.command, &cli.c1, &cli.out) {
        (Some(Command::Verify { c1, proof }), ..) => verify::run(&session, c1, proof),
        (Some(Command::Params(command)), ..) => params::run(&session, command),
        (Some(Command::Sample(args)), ..) => sample::run(&session, args),
        (Some(Command::Batch(args)), ..) => batch::run(&session, args),
        (Some(Command::Bench(command)), ..) => {
            let mut meter = meter.expect("a bench has a meter");
            bench::run(&session, command, &mut meter)
        }
        (Some(Command::Info { sector_size }), ..) => info::run(&session, *sector_size),
        (None, Some(c1), Some(out)) => prove::run(&session, c1, out),
        _ => unreachable!("clap requires C1 and OUT where there is no command"),
    };
    session.console.close();
    // What is being told of an early end must not outlive the run, half written.
    stop::leave_silently();
    // Also of a run that failed: it shows how far it came.
    let traced = session.write_trace();
    result.and(traced)
}

/// The command's name in reports.
const fn command_name(cli: &Cli) -> &'static str {
    match &cli.command {
        None => "prove",
        Some(Command::Verify { .. }) => "verify",
        Some(Command::Params(ParamsCommand::List)) => "params list",
        Some(Command::Params(ParamsCommand::Check { .. })) => "params check",
        Some(Command::Params(ParamsCommand::Setup { .. })) => "params setup",
        Some(Command::Sample(_)) => "sample",
        Some(Command::Batch(_)) => "batch",
        Some(Command::Bench(command)) => match command {
            BenchCommand::Synth { .. } => "bench synth",
            BenchCommand::Rows { .. } => "bench rows",
            BenchCommand::Ntt { .. } => "bench ntt",
            BenchCommand::Msm { .. } => "bench msm",
            BenchCommand::Field { .. } => "bench field",
            BenchCommand::Prove { .. } => "bench prove",
        },
        Some(Command::Info { .. }) => "info",
        Some(Command::Completions { .. }) => "completions",
        Some(Command::Man) => "man",
    }
}

/// What every command works with.
struct Session {
    settings: Settings,
    /// The command's name in reports.
    command: &'static str,
    started: Instant,
    console: Arc<Console>,
    monitor: Monitor,
    json: Option<Output>,
    trace: Option<Output>,
}

impl Session {
    fn start(settings: Settings, command: &'static str, started: Instant) -> Result<Self> {
        let console = Arc::new(Console::new(settings.verbosity, started));
        for warning in &settings.warnings {
            console.warn(warning);
        }
        let prepare = |path: &Option<PathBuf>| {
            path.as_deref().map(|path| Output::prepare(path, 0)).transpose()
        };
        let (json, trace) = (prepare(&settings.json)?, prepare(&settings.trace)?);
        let rss_log = settings.rss_log.as_deref();
        let monitor = Monitor::start(Arc::clone(&console), rss_log, started).with_context(
            || match rss_log {
                Some(path) => format!("write the memory log `{}`", path.display()),
                None => "watch the memory".to_owned(),
            },
        )?;
        Ok(Self { settings, command, started, console, monitor, json, trace })
    }

    fn progress(&self) -> &dyn Progress {
        &*self.console
    }

    /// The report of the command so far.
    fn report(&self) -> Report {
        Report {
            schema: SCHEMA,
            version: build::PACKAGE_VERSION,
            git: build::GIT_REVISION,
            command: self.command,
            sector_size: None,
            registered_proof: None,
            partitions: None,
            device: device::cpu_info(),
            variants: BTreeMap::new(),
            environment: self.settings.environment.clone(),
            parameters: None,
            phases: Vec::new(),
            queue_wait_ms: 0.0,
            srs_load_ms: 0.0,
            synthesis_ms: 0.0,
            gpu_compute_ms: 0.0,
            verify_ms: 0.0,
            total_ms: milliseconds(self.started.elapsed()),
            peak_rss_anon_bytes: self.monitor.peak_rss_anon_bytes(),
            peak_vram_bytes: 0,
            proof_bytes: None,
            proof_sha256: None,
            warnings: self.console.warnings(),
        }
        .with_phases(self.console.records())
    }

    /// Writes `value` as JSON where `--json` says, if it does. It is the last word: an end that
    /// comes later writes no other.
    fn write_json(&self, value: &impl Serialize) -> Result<()> {
        stop::leave_silently();
        let Some(json) = &self.json else { return Ok(()) };
        Ok(json.write(&json_text(value)?)?)
    }

    /// Writes the phases where `--trace` says, if it does.
    fn write_trace(&self) -> Result<()> {
        let Some(output) = &self.trace else { return Ok(()) };
        let text = serde_json::to_vec(&trace::trace(&self.console.records()))
            .context("write the trace as JSON")?;
        Ok(output.write(&text)?)
    }

    /// Answers on standard output, as JSON where that is wanted instead.
    fn answer(&self, answer: &(impl Serialize + Display)) -> Result<()> {
        self.console.close();
        if self.json.is_none() {
            print_answer(&format!("{answer}\n"))
        } else {
            self.write_json(answer)
        }
    }

    /// Shows the table and writes the JSON, as far as they are wanted.
    fn tell(&self, report: &Report) -> Result<()> {
        self.tell_as(&report.to_string(), report)
    }

    /// Shows `text` and writes `value` as JSON, as far as they are wanted.
    fn tell_as(&self, text: &str, value: &impl Serialize) -> Result<()> {
        self.console.close();
        if self.settings.verbosity != Verbosity::Quiet {
            self.console.print(text);
        }
        self.write_json(value)
    }

    /// As [`Self::tell`], when `out` is delivered: an error says that it stays.
    fn tell_delivered(&self, report: &Report, out: &Path) -> Result<()> {
        self.tell(report).with_context(|| {
            let out = if is_dash(out) { "standard output".into() } else { shown(out) };
            format!("the output `{out}` is complete, but its report is not")
        })
    }

    /// Reads and checks a C1, with `--check-vanilla` also its vanilla proofs.
    fn read_c1(&self, path: &Path) -> Result<c1::Read> {
        self.read_c1_expecting(path, |_| Ok(()))
    }

    /// The same; before that, tells `expect` the sector size that it seems to have.
    fn read_c1_expecting(
        &self,
        path: &Path,
        expect: impl FnOnce(SectorSize) -> Result<()>,
    ) -> Result<c1::Read> {
        let id = self.console.start(Phase::new("read-c1"));
        let bytes = read_input(path, c1::INPUT_BYTES_MAX + 1)?;
        c1::guess_size(&bytes).map_or(Ok(()), expect)?;
        let read = c1::read(&bytes, &self.settings.identity)
            .with_context(|| format!("C1 `{}`", shown(path)))?;
        self.console.finish(id, bytes.len() as u64, Device::Cpu);
        if self.settings.check_vanilla {
            c1::vanilla::check(&read.sector, self.progress())
                .with_context(|| format!("C1 `{}`", shown(path)))?;
        }
        Ok(read)
    }
}

/// A report as it is written.
fn json_text(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value).context("write the report as JSON")?;
    text.push(b'\n');
    Ok(text)
}

/// Parameters, for the report.
fn parameters_info(path: &Path, security: Security, warm_fraction: Option<f64>) -> ParametersInfo {
    ParametersInfo {
        path: path.to_owned(),
        secure: security == Security::Production,
        warm_fraction,
    }
}

/// A path for messages.
fn shown(path: &Path) -> String {
    if is_dash(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// The content of a file, or of standard input; no more than `limit` bytes of it.
fn read_input(path: &Path, limit: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = if is_dash(path) {
        io::stdin().lock().take(limit as u64).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| {
            // A hint only: pipes have no length.
            let length = file.metadata().map_or(0, |meta| meta.len());
            bytes.reserve(usize::try_from(length).unwrap_or(limit).min(limit));
            file.take(limit as u64).read_to_end(&mut bytes)
        })
    };
    read.with_context(|| format!("cannot read `{}`", shown(path)))?;
    Ok(bytes)
}

/// Writes a command's answer to standard output.
fn print_answer(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .context("cannot write standard output")
}
