//! `prove batch`: many sectors in one process.
//!
//! Sectors of one size that follow each other share a prover, so that parameters stay open (on the
//! card). One thread reads and checks the C1s and makes the next sectors' witnesses, `--jobs` of
//! them ahead, while this one proves. A proof is written as soon as it verifies. A C1 that fails
//! fails alone; what would fail the others of its size too, as a lost card or broken parameters,
//! ends the batch.

use std::fmt;
use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::early::{Circumstances, Early, Ready};
use super::prove::{backend, deliver};
use super::{Session, ending, shown};
use crate::c1::Sector;
use crate::cli::BatchArgs;
use crate::exit::{Code, SomeFailed, code_of, render};
use crate::groth16::prove::Prepared;
use crate::groth16::verify::Verifier;
use crate::groth16::{self, Prover};
use crate::output::Output;
use crate::progress::timeline::milliseconds;
use crate::report::Report;
use crate::sector::{PROOF_BYTES, RegisteredProof, SectorSize};
use crate::stop;
use crate::threads::joined;

pub(super) fn run(session: &Arc<Session>, args: &BatchArgs) -> Result<()> {
    let folder = &args.out_dir;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    let jobs = args.jobs as usize;
    let tasks = args.tasks();
    let total = tasks.len();
    let mut batch = Batch { session, jobs, total, rows: Rows::default(), last: None };
    let rows = batch.rows.clone();
    ending::watch(session, move |run| BatchReport::new(run, rows.all(), total));
    let proved = batch.prove_all(tasks.into_iter());
    batch.tell(proved)
}

/// A C1 and where its proof goes.
type Task = (PathBuf, PathBuf);

/// A task whose C1 is read and checked.
struct Read {
    task: Task,
    sector: Sector,
}

/// What the preparing thread hands over.
enum Handed {
    /// Ready to be proved since then.
    Ready { read: Box<Read>, prepared: Prepared, since: Instant },
    /// Cannot be proved.
    Failed { task: Task, error: anyhow::Error },
}

/// One sector of the batch, for table and JSON.
#[derive(Clone, Serialize)]
struct Row {
    c1: PathBuf,
    out: PathBuf,
    registered_proof: Option<String>,
    /// Between the end of its preparation and the start of its proving.
    queue_ms: f64,
    prove_ms: f64,
    /// Since the start of the run.
    cumulative_ms: f64,
    exit_code: u8,
    error: Option<String>,
    proof_sha256: Option<String>,
}

/// The rows so far; whoever ends the run early tells them too.
#[derive(Clone, Default)]
struct Rows(Arc<Mutex<Vec<Row>>>);

impl Rows {
    fn all(&self) -> Vec<Row> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn push(&self, row: Row) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(row);
    }
}

/// The report of a batch: that of the run, and a row a sector.
#[derive(Serialize)]
struct BatchReport<R> {
    #[serde(flatten)]
    run: R,
    proofs: Vec<Row>,
    failed: usize,
    /// Tasks without a row: the batch ended before them.
    not_tried: usize,
    /// The run up to the last row, by proofs made; null without any.
    seconds_per_proof: Option<f64>,
}

impl<R> BatchReport<R> {
    fn new(run: R, proofs: Vec<Row>, total: usize) -> Self {
        let failed = proofs.iter().filter(|row| row.error.is_some()).count();
        let made = proofs.len() - failed;
        let whole_ms = proofs.last().map_or(0.0, |row| row.cumulative_ms);
        let seconds_per_proof = (made > 0).then(|| whole_ms / 1000.0 / made as f64);
        let not_tried = total - proofs.len();
        Self { run, proofs, failed, not_tried, seconds_per_proof }
    }
}

struct Batch<'s> {
    session: &'s Session,
    jobs: usize,
    /// Tasks of the batch.
    total: usize,
    rows: Rows,
    /// How the last proofs were made.
    last: Option<(RegisteredProof, Circumstances)>,
}

impl Batch<'_> {
    /// Proves what can be proved.
    ///
    /// # Errors
    /// That which ends the batch.
    fn prove_all(&mut self, mut tasks: impl Iterator<Item = Task> + Send) -> Result<()> {
        let mut next = self.read_next(&mut tasks)?;
        while let Some(first) = next {
            next = self.prove_size(first, &mut tasks)?;
        }
        Ok(())
    }

    /// The next C1 that can be read; those before it that cannot get their rows.
    fn read_next(&mut self, tasks: &mut impl Iterator<Item = Task>) -> Result<Option<Read>> {
        for task in tasks {
            match read(self.session, task) {
                Ok(read) => return Ok(Some(read)),
                Err((task, error)) => self.fail(task, error)?,
            }
        }
        Ok(None)
    }

    /// Proves `first` and the tasks after it, as long as they are of its size; the first that is
    /// not is handed back.
    fn prove_size(
        &mut self,
        first: Read,
        tasks: &mut (impl Iterator<Item = Task> + Send),
    ) -> Result<Option<Read>> {
        let (session, proof) = (self.session, first.sector.registered_proof);
        let ahead = self.jobs as u64;
        match Early::start(session).and_then(|early| early.finish(proof, ahead)) {
            Ok(ready) => self.prove_with(ready, first, tasks),
            Err(error) => Err(self.end(first.task, error)),
        }
    }

    fn prove_with(
        &mut self,
        ready: Ready,
        first: Read,
        tasks: &mut (impl Iterator<Item = Task> + Send),
    ) -> Result<Option<Read>> {
        let (session, proof) = (self.session, first.sector.registered_proof);
        let Ready { device, variants, parameters, circuit } = ready;
        let backend = backend(&device, session.settings.device.vram_bytes);
        let prover = groth16::prover(variants, backend, &parameters.parameters, proof, circuit);
        let prover = match prover {
            Ok(prover) => prover,
            Err(error) => return Err(self.end(first.task, error.into())),
        };
        let (sender, receiver) = sync_channel(self.jobs - 1);
        let next = thread::scope(|scope| {
            let prover = &*prover;
            let preparing = scope.spawn(move || prepare(session, prover, first, tasks, &sender));
            // Moved here, so that the thread above ends when this one ends the batch.
            let proved = receiver.into_iter().try_for_each(|handed| match handed {
                Handed::Ready { read, prepared, since } => {
                    self.prove(prover, &parameters.verifier, *read, prepared, since)
                }
                Handed::Failed { task, error } => self.fail(task, error),
            });
            let next = joined(preparing.join());
            proved.map(|()| next)
        });
        self.last = Some((proof, Circumstances::of(&device, variants, &parameters)));
        next
    }

    /// Proves, verifies and writes one sector.
    fn prove(
        &mut self,
        prover: &dyn Prover,
        verifier: &Verifier,
        read: Read,
        prepared: Prepared,
        since: Instant,
    ) -> Result<()> {
        let Read { task, sector } = read;
        let (session, started) = (self.session, Instant::now());
        let progress = session.progress();
        let proved = || -> Result<String> {
            let output = Output::prepare(&task.1, PROOF_BYTES)?;
            let proofs =
                groth16::prove::prove_prepared(&sector, prepared, prover, verifier, progress)?;
            let bytes = groth16::proof::encode(sector.registered_proof, &proofs);
            deliver(session, &output, &bytes)?;
            Ok(hex::encode(Sha256::digest(&bytes)))
        };
        let proved = match proved() {
            Ok(sha256) => {
                self.push(Row {
                    c1: task.0,
                    out: task.1,
                    registered_proof: Some(sector.registered_proof.to_string()),
                    queue_ms: milliseconds(started.duration_since(since)),
                    prove_ms: milliseconds(started.elapsed()),
                    cumulative_ms: milliseconds(session.started.elapsed()),
                    exit_code: Code::Done as u8,
                    error: None,
                    proof_sha256: Some(sha256),
                });
                Ok(())
            }
            Err(error) => self.fail(task, error),
        };
        stop::expect_another();
        proved
    }

    /// Tells why a task failed, and goes on.
    ///
    /// # Errors
    /// The same error, when it ends the batch.
    fn fail(&mut self, task: Task, error: anyhow::Error) -> Result<()> {
        if is_common(code_of(&error)) {
            return Err(self.end(task, error));
        }
        self.session.console.print(&render(&error));
        self.push_failed(task, &error);
        Ok(())
    }

    /// The error that ends the batch at `task`, with what there is until then.
    fn end(&mut self, task: Task, error: anyhow::Error) -> anyhow::Error {
        let rows = self.rows.all();
        let written: Vec<&Row> = rows.iter().filter(|row| row.error.is_none()).collect();
        let written = match written.last() {
            None => "no proof was written".to_owned(),
            Some(last) => {
                let (count, last) = (written.len(), last.out.display());
                format!("{count} of {} proofs were written, the last `{last}`", self.total)
            }
        };
        let ends = format!("the batch ends at `{}`, {written}", shown(&task.0));
        self.push_failed(task, &error);
        error.context(ends)
    }

    /// The row of a task that failed.
    fn push_failed(&mut self, task: Task, error: &anyhow::Error) {
        self.push(Row {
            c1: task.0,
            out: task.1,
            registered_proof: None,
            queue_ms: 0.0,
            prove_ms: 0.0,
            cumulative_ms: milliseconds(self.session.started.elapsed()),
            exit_code: code_of(error) as u8,
            error: Some(render(error)),
            proof_sha256: None,
        });
    }

    fn push(&mut self, row: Row) {
        self.session.progress().note(&row.to_string());
        self.rows.push(row);
    }

    /// The report; then the error of `proved`, or one when a proof is missing.
    fn tell(self, proved: Result<()>) -> Result<()> {
        let run = self.session.report();
        let run = match self.last {
            Some((proof, circumstances)) => circumstances.told_in(run.with_proof(proof)),
            None => run,
        };
        let total = self.total;
        let report = BatchReport::new(run, self.rows.all(), total);
        let failed = report.failed;
        let told = self.session.tell_as(&report.to_string(), &report);
        if let (Err(_), Err(error)) = (&proved, &told) {
            self.session.progress().warn(&format!("no report of the batch: {error:#}"));
        }
        proved.and(told)?;
        if failed == 0 { Ok(()) } else { Err(SomeFailed { failed, total }.into()) }
    }
}

/// Whether what has this code would fail a batch's other proofs of the same size too. Batches of
/// several sizes are rare, and who makes one wants to hear of what is missing at once.
const fn is_common(code: Code) -> bool {
    matches!(code, Code::Usage | Code::Parameters | Code::NoGpu | Code::Memory | Code::GpuFault)
}

/// Reads and prepares tasks until one is of another size; that one is returned.
fn prepare(
    session: &Session,
    prover: &dyn Prover,
    first: Read,
    tasks: &mut impl Iterator<Item = Task>,
    ready: &SyncSender<Handed>,
) -> Option<Read> {
    let size: SectorSize = first.sector.registered_proof.size;
    let mut next = Some(Ok(first));
    while let Some(result) = next {
        let handed = match result {
            Ok(read) if read.sector.registered_proof.size != size => return Some(read),
            Ok(read) => match groth16::prove::prepare(&read.sector, prover, session.progress()) {
                Ok(prepared) => {
                    Handed::Ready { read: Box::new(read), prepared, since: Instant::now() }
                }
                Err(error) => Handed::Failed { task: read.task, error: error.into() },
            },
            Err((task, error)) => Handed::Failed { task, error },
        };
        // The receiver goes when the batch ends.
        ready.send(handed).ok()?;
        next = tasks.next().map(|task| read(session, task));
    }
    None
}

/// Reads and checks a task's C1.
fn read(session: &Session, task: Task) -> Result<Read, (Task, anyhow::Error)> {
    match session.read_c1(&task.0) {
        Ok(read) => Ok(Read { task, sector: read.sector }),
        Err(error) => Err((task, error)),
    }
}

impl fmt::Display for Row {
    /// `in.json -> out.proof: queue 0.01 s, prove 9.12 s, cumulative 21.40 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}: ", shown(&self.c1), self.out.display())?;
        let seconds = |ms: f64| ms / 1000.0;
        match &self.error {
            None => write!(
                f,
                "queue {:.2} s, prove {:.2} s, cumulative {:.2} s",
                seconds(self.queue_ms),
                seconds(self.prove_ms),
                seconds(self.cumulative_ms)
            ),
            Some(_) => write!(
                f,
                "failed with code {}, cumulative {:.2} s",
                self.exit_code,
                seconds(self.cumulative_ms)
            ),
        }
    }
}

impl fmt::Display for BatchReport<Report> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.run)?;
        for row in &self.proofs {
            write!(f, "\n{row}")?;
        }
        let tried = self.proofs.len();
        write!(f, "\nproofs       {} of {}", tried - self.failed, tried + self.not_tried)?;
        self.seconds_per_proof.map_or(Ok(()), |seconds| write!(f, ", {seconds:.2} s each"))
    }
}
