//! `peer-supraseal`: one partition of a C1 proved by supraseal-c2, timed and verified.
//!
//! A program of its own because bellperson's `cuda-supraseal` feature replaces its prover in
//! everything linked to it. It takes what `prove` takes: the same C1, the same parameter file, the
//! reference's circuit.
//!
//! ```text
//! c1 ──> statement (circuit, public inputs) ──> supraseal (load, prove) ──> verify ──> report
//! ```

mod c1;
mod report;
#[path = "../../../src/sector.rs"]
#[expect(dead_code, reason = "`prove` uses more of its own constants than this program")]
mod sector;
mod statement;
mod supraseal;

use std::fs::{self, File};
use std::io::{BufReader, Write, stderr, stdout};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use bellperson::groth16::{VerifyingKey, prepare_verifying_key, verify_proof};
use blstrs::Bls12;
use clap::Parser;
use storage_proofs_core::merkle::MerkleTreeTrait;
use storage_proofs_core::parameter_cache::{parameter_id, verifying_key_id};

use crate::c1::Sector;
use crate::report::Report;
use crate::sector::SectorSize;
use crate::statement::{Statement, TestTree, Tree32GiB, Tree64GiB};

/// Proves one partition of a C1 with supraseal-c2 through bellperson, verifies and times it
#[derive(Debug, Parser)]
#[command(version, name = "peer-supraseal")]
struct Cli {
    /// Commit-Phase-1 output in lotus-bench's shape, as `prove sample` writes it
    #[arg(value_name = "C1")]
    c1: PathBuf,
    /// Folder of the parameter files, as `prove --params` takes it
    #[arg(value_name = "PARAMS_DIR")]
    params: PathBuf,
    /// The partition to prove, counted from 0
    #[arg(long, value_name = "K", default_value_t = 0)]
    partition: usize,
    /// How often to synthesize and prove; parameters are loaded once
    #[arg(long, value_name = "N", default_value = "1")]
    iterations: NonZeroUsize,
    /// Also write the report as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard error may be closed; there is nowhere else to say so.
            let _ = writeln!(stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<()> {
    let sector = Sector::read(&cli.c1)?;
    let report = match sector.proof.size {
        SectorSize::KiB2 | SectorSize::MiB8 | SectorSize::MiB512 => measure::<TestTree>,
        SectorSize::GiB32 => measure::<Tree32GiB>,
        SectorSize::GiB64 => measure::<Tree64GiB>,
    }(cli, &sector)?;
    writeln!(stdout(), "{report}").context("write the report to standard output")?;
    if let Some(path) = &cli.json {
        let json = serde_json::to_vec_pretty(&report).context("convert the report to JSON")?;
        fs::write(path, json).with_context(|| format!("write `{}`", path.display()))?;
    }
    Ok(())
}

/// Loads the parameters once, then proves and verifies as often as asked.
fn measure<Tree: 'static + MerkleTreeTrait>(cli: &Cli, sector: &Sector) -> Result<Report> {
    let statement = Statement::<Tree>::new(sector, cli.partition)?;
    let identifier = statement.parameter_identifier();
    let file = |name| parameter_file(&cli.params, name, sector.proof.size);
    let path = file(parameter_id(&identifier))?;
    let key = prepare_verifying_key(&read_verifying_key(&file(verifying_key_id(&identifier))?)?);
    let inputs = statement.public_inputs()?;
    let circuit = statement.circuit()?;

    let (parameters, load_time) = supraseal::load(&path)?;
    let mut runs = Vec::new();
    for _ in 0..cli.iterations.get() {
        let (proof, times) = supraseal::prove(circuit.clone(), &parameters)?;
        let verified = verify_proof(&key, &proof, &inputs)
            .with_context(|| format!("verify partition {}", cli.partition))?;
        ensure!(verified, "the proof of partition {} does not verify", cli.partition);
        runs.push(times);
    }
    Ok(Report::new(sector.proof, cli.partition, path, load_time, runs))
}

/// The file of that name in `folder`, where supraseal would only say that it cannot open it.
fn parameter_file(folder: &Path, name: String, size: SectorSize) -> Result<PathBuf> {
    let path = folder.join(name);
    ensure!(
        path.is_file(),
        "no parameter file `{}`\nhint: `prove params setup --insecure --sector-size {size} --out \
         {}` makes one for tests",
        path.display(),
        folder.display()
    );
    Ok(path)
}

fn read_verifying_key(path: &Path) -> Result<VerifyingKey<Bls12>> {
    let file =
        File::open(path).with_context(|| format!("open the verifying key `{}`", path.display()))?;
    VerifyingKey::read(BufReader::new(file))
        .with_context(|| format!("read the verifying key `{}`", path.display()))
}
