//! The command line: what may be typed and what `--help` says. No I/O happens here.
//!
//! In: words. Out: [`Cli`], which [`crate::settings::Settings`] turns into checked settings.

mod bench;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::c1::Node;
use crate::device::{DeviceRequest, GpuSelector};
use crate::progress::Device;
use crate::sample::Data;
use crate::sector::{ProofVersion, RegisteredProof, SectorSize};
use crate::variant::{Job, VariantFlag, Variants, arms};

use self::bench::BENCH_AFTER_HELP;
pub use self::bench::{BenchCommand, Partitions, PrimeField, Repeat};

/// Filecoin PoRep Commit-Phase-2 proofs: turns a C1 output into the Groth16 proof for the chain
#[derive(Debug, Parser)]
#[command(
    name = "prove",
    version = crate::build::VERSION,
    after_long_help = AFTER_HELP,
    after_help = "`prove --help` also tells which tools write C1 files, and the exit codes",
    override_usage = "prove [OPTIONS] <C1> <OUT>\n       prove [OPTIONS] <COMMAND>",
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Cli {
    /// Commit-Phase-1 output; `-` is standard input
    #[arg(required = true, value_name = "C1")]
    pub c1: Option<PathBuf>,
    /// Where the proof goes (192 bytes a partition); `-` is standard output
    #[arg(required = true, value_name = "OUT")]
    pub out: Option<PathBuf>,
    /// What every command shares.
    #[command(flatten)]
    pub shared: Shared,
    /// Another job than proving.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Jobs besides proving.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Verify a proof against its C1's public values
    Verify {
        /// The C1 that the proof was made from; `-` is standard input
        #[arg(value_name = "C1")]
        c1: PathBuf,
        /// The proof, raw bytes or hexadecimal; `-` is standard input
        #[arg(value_name = "PROOF")]
        proof: PathBuf,
    },
    /// List, check or make parameter files
    #[command(subcommand, arg_required_else_help = false)]
    Params(ParamsCommand),
    /// Write a C1 that verifies although no sector was sealed: for tests and measurements
    #[command(after_help = SAMPLE_AFTER_HELP)]
    Sample(SampleArgs),
    /// Compare variants: the same work by several arms in turn, with time, memory and counters
    #[command(subcommand, arg_required_else_help = false, after_help = BENCH_AFTER_HELP)]
    Bench(BenchCommand),
    /// Show the machine, the parameters and the build; with a sector size, what a proof needs
    Info {
        /// Also show this size's circuit and the memory that a proof needs
        #[arg(long, value_name = "SIZE")]
        sector_size: Option<SectorSize>,
    },
    /// Write a completion script to standard output
    Completions {
        /// The shell to write for
        shell: Shell,
    },
    /// Write the manual page to standard output
    Man,
}

const SAMPLE_AFTER_HELP: &str = "\
Ids are lotus-bench's (miner t01000, sector 1) unless `--miner-id` or `--prover-id`, `--sector-num` \
and `--porep-id` give others. Synthetic and non-interactive proofs have no samples: their challenges \
follow from comm_r.";

/// Which sample to write.
#[derive(Debug, Args)]
pub struct SampleArgs {
    /// The sector size
    #[arg(long, value_name = "SIZE", required_unless_present = "registered_proof")]
    pub sector_size: Option<SectorSize>,
    /// A V1 or V1_1 proof of that size [default: `StackedDrg`, the size, `V1_1`]
    #[arg(long, value_name = "NAME")]
    pub registered_proof: Option<RegisteredProof>,
    /// Where the C1 goes; `-` is standard output
    #[arg(long, value_name = "C1")]
    pub out: PathBuf,
    /// Draws everything random; with 0 the ticket and challenge seed are lotus-bench's
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// The file's shape
    #[arg(long, value_enum, default_value_t = SampleShape::S1)]
    pub shape: SampleShape,
    /// What the sector holds
    #[arg(long, value_enum, default_value_t = Data::Zeros)]
    pub data: Data,
}

impl SampleArgs {
    /// The proof to register for, given or of the given size.
    pub fn registered_proof(&self) -> RegisteredProof {
        let version = ProofVersion::V1_1;
        self.registered_proof
            .or(self.sector_size.map(|size| RegisteredProof { size, version }))
            .expect("clap requires one of the two")
    }

    /// A proof given with its size must have it.
    fn check_size(&self) -> Result<(), clap::Error> {
        match (self.registered_proof, self.sector_size) {
            (Some(proof), Some(size)) if proof.size != size => Err(Cli::usage(
                ErrorKind::ArgumentConflict,
                &format!("`{proof}` is not a proof of {size} sectors"),
            )),
            _ => Ok(()),
        }
    }
}

/// Shapes that a sample is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SampleShape {
    /// The output in base64, with sector number and size (lotus-bench)
    #[value(name = "S1")]
    S1,
    /// The bare output (Lotus, Curio, Venus)
    #[value(name = "S3")]
    S3,
}

/// Work on parameter files.
#[derive(Debug, Subcommand)]
pub enum ParamsCommand {
    /// Show the files of all five sizes: path, length, digest state, secure or insecure
    List,
    /// Decode every point and compute the digests; the result is remembered beside the file
    Check {
        /// Only this size; without it, every size that is present
        #[arg(long, value_name = "SIZE")]
        sector_size: Option<SectorSize>,
    },
    /// Make parameters whose trapdoor was known: for tests, never for a network
    Setup {
        /// Says that proofs under these parameters convince nobody
        #[arg(long, required = true)]
        insecure: bool,
        /// The circuit's sector size
        #[arg(long, value_name = "SIZE")]
        sector_size: SectorSize,
        /// Folder for the files; it is made if it is missing
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Draw the trapdoor from this number, so that every run makes the same bytes
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
    },
}

/// Options of every command, before or after its name.
#[derive(Debug, Args)]
#[command(next_help_heading = "Shared options")]
pub struct Shared {
    /// Folder of the parameter files [default: $FIL_PROOFS_PARAMETER_CACHE, or
    /// /var/tmp/filecoin-proof-parameters]
    #[arg(long, global = true, value_name = "DIR")]
    pub params: Option<PathBuf>,
    /// Where the work runs; `auto` takes a usable GPU, or the CPU for sectors up to 512 MiB
    #[arg(long, global = true, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceRequest,
    /// The GPU, by the driver's number or by UUID; a GPU then is a must [default: the usable one
    /// with most free memory]
    #[arg(long, global = true, value_name = "INDEX|UUID", allow_hyphen_values = true)]
    pub gpu: Option<GpuSelector>,
    /// Wait this long, as `10m`, for a GPU that another `prove` uses [default: not at all]
    #[arg(long, global = true, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub wait_gpu: Option<Duration>,
    /// Device memory that may be used, as `24GiB` [default: what is free on the card]
    #[arg(long, global = true, value_name = "SIZE", value_parser = memory_size)]
    pub vram: Option<u64>,
    /// Choose an implementation of a stage; once a stage, repeatable
    #[arg(long = "variant", global = true, value_name = "STAGE=NAME")]
    pub variants: Vec<VariantFlag>,
    /// Memory that may be used, as `16GiB` [default: what the machine and the control group have]
    #[arg(long, global = true, value_name = "SIZE", value_parser = memory_size)]
    pub ram: Option<u64>,
    /// Threads [default: $RAYON_NUM_THREADS, or one per core]
    #[arg(long, global = true, value_name = "N", value_parser = thread_count)]
    pub threads: Option<usize>,
    /// Give up after this time, as `90s` or `10m`
    #[arg(long, global = true, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub timeout: Option<Duration>,
    /// Write the report as JSON; `-` is standard output
    #[arg(long, global = true, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write time, phase and resident memory as CSV once a second
    #[arg(long, global = true, value_name = "FILE")]
    pub rss_log: Option<PathBuf>,
    /// Write the phases as Chrome trace events, for ui.perfetto.dev
    #[arg(long, global = true, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Only warnings and errors: no progress, no table
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// The miner's actor id (`1000`, `t01000`, `f01000`), checked against replica_id
    #[arg(long, global = true, value_name = "N", value_parser = miner_id)]
    pub miner_id: Option<u64>,
    /// The prover id as 64 hexadecimal digits, checked against replica_id
    #[arg(long, global = true, value_name = "HEX", value_parser = node, conflicts_with = "miner_id")]
    pub prover_id: Option<Node>,
    /// The sector number, checked against replica_id
    #[arg(long, global = true, value_name = "N")]
    pub sector_num: Option<u64>,
    /// The porep id as 64 hexadecimal digits [default: the registered proof's]
    #[arg(long, global = true, value_name = "HEX", value_parser = node)]
    pub porep_id: Option<Node>,
    /// Verify every vanilla proof of the C1 before anything expensive
    #[arg(long, global = true)]
    pub check_vanilla: bool,
    /// The proof as hexadecimal text and a newline, not raw bytes
    #[arg(long, global = true)]
    pub hex: bool,
}

impl Shared {
    /// The device, as far as the options settle it: naming a GPU demands one.
    pub fn settled_device(&self) -> Option<Device> {
        match self.device {
            DeviceRequest::Cpu => Some(Device::Cpu),
            DeviceRequest::Gpu => Some(Device::Gpu),
            DeviceRequest::Auto => self.gpu.is_some().then_some(Device::Gpu),
        }
    }
}

const AFTER_HELP: &str = "\
C1 files are written by lotus-bench (`--save-commit2-input`, `simple commit1`), Swan ubi-bench, \
`ffi.SealCommitPhase1` (Lotus, Curio, Venus), the Curio Snark Market and Damocles. The writer is \
recognised by content.

Exit codes:
  0        done
  1        other input or output error: OUT cannot be written, OUT is a folder, disk full
  2        usage
  3        the C1 is malformed, inconsistent, or its vanilla proofs are wrong
  4        parameters missing, damaged, not for this circuit, or insecure without their marker
  5        no usable GPU
  6        memory, of the machine or of the card: the plan does not fit
  7        GPU fault: a launch, a copy or the card itself failed
  8        a proof does not verify (`verify`: also bytes that are no proof)
  9        timeout
  130 143  interrupted, terminated (129: the terminal went away)

A C1 called like a command is written `./verify`, or after `--`.";

impl Cli {
    /// Parses `words`, the program name first.
    ///
    /// # Errors
    /// A usage error, or the request for help or version, ready to print.
    pub fn parse_words<I, T>(words: I) -> Result<Self, clap::Error>
    where
        I: IntoIterator<Item = T>,
        T: Into<OsString> + Clone,
    {
        let cli = Self::try_parse_from(words)?;
        // clap's own setting for this would also forbid shared options before a command.
        if let (Some(_), Some(c1)) = (&cli.command, &cli.c1) {
            return Err(Self::usage(
                ErrorKind::ArgumentConflict,
                &format!(
                    "`{}` stands before a command; a file called like a command is written \
                     `./NAME` or after `--`",
                    c1.display()
                ),
            ));
        }
        if let Some(Command::Sample(args)) = &cli.command {
            args.check_size()?;
        }
        cli.check_streams()?;
        cli.check_device()?;
        cli.variants()?;
        Ok(cli)
    }

    /// A usage error of our own in clap's form.
    pub fn usage(kind: ErrorKind, message: &str) -> clap::Error {
        Self::command().error(kind, message)
    }

    /// Options of a GPU make no sense on the CPU.
    fn check_device(&self) -> Result<(), clap::Error> {
        let Shared { device, gpu, wait_gpu, vram, .. } = &self.shared;
        let given = [
            ("--gpu", gpu.is_some()),
            ("--wait-gpu", wait_gpu.is_some()),
            ("--vram", vram.is_some()),
        ];
        match given.into_iter().find(|&(_, is_given)| is_given) {
            Some((option, _)) if *device == DeviceRequest::Cpu => {
                let message = format!("{option} has no effect with `--device cpu`");
                Err(Self::usage(ErrorKind::ArgumentConflict, &message))
            }
            _ => Ok(()),
        }
    }

    /// The variants of this run; the defaults for a bench, whose arms have their own.
    ///
    /// # Errors
    /// A usage error when a variant has no effect or contradicts another.
    pub fn variants(&self) -> Result<Variants, clap::Error> {
        let (flags, device) = (&self.shared.variants, self.shared.settled_device());
        let variants = match &self.command {
            None | Some(Command::Info { .. }) => Variants::resolve(Job::Prove, device, flags),
            Some(Command::Bench(command)) => {
                arms(command.job(), device, flags).map(|_| Variants::default())
            }
            Some(_) => Variants::resolve(Job::Other, device, flags),
        };
        variants.map_err(|message| Self::usage(ErrorKind::ArgumentConflict, &message))
    }

    /// Standard input and standard output can be given away once each.
    fn check_streams(&self) -> Result<(), clap::Error> {
        let stdin_twice = match &self.command {
            Some(Command::Verify { c1, proof }) => is_dash(c1) && is_dash(proof),
            _ => false,
        };
        if stdin_twice {
            let message = "C1 and PROOF cannot both be standard input";
            return Err(Self::usage(ErrorKind::ArgumentConflict, message));
        }
        for (option, path) in [("--rss-log", &self.shared.rss_log), ("--trace", &self.shared.trace)]
        {
            if path.as_deref().is_some_and(is_dash) {
                let message = format!("{option} needs a file: standard output is for results");
                return Err(Self::usage(ErrorKind::ValueValidation, &message));
            }
        }
        let out = match &self.command {
            Some(Command::Sample(args)) => Some(&args.out),
            _ => self.out.as_ref(),
        };
        let out_is_stdout = out.is_some_and(|path| is_dash(path));
        if out_is_stdout && self.shared.json.as_deref().is_some_and(is_dash) {
            let message = "OUT and --json cannot both be standard output";
            return Err(Self::usage(ErrorKind::ArgumentConflict, message));
        }
        Ok(())
    }
}

/// Whether a path stands for standard input or output.
pub fn is_dash(path: &std::path::Path) -> bool {
    path.as_os_str() == "-"
}

/// `16GiB`, `512MiB`, or a number of bytes.
fn memory_size(text: &str) -> Result<u64, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
    let (digits, shift) = units
        .into_iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)))
        .unwrap_or((text, 0));
    digits
        .trim_end()
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| format!("expected a size like `16GiB` or a number of bytes, got `{text}`"))
}

fn thread_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=4096) => Ok(count),
        _ => Err(format!("expected a number from 1 to 4096, got `{text}`")),
    }
}

/// An actor id, with or without the `t0` or `f0` of an address.
fn miner_id(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("t0").or_else(|| text.strip_prefix("f0")).unwrap_or(text);
    digits
        .parse()
        .map_err(|_| format!("expected an actor id like `t01000` or `1000`, got `{text}`"))
}

/// 32 bytes in hexadecimal.
fn node(text: &str) -> Result<Node, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let mut bytes = [0; 32];
    hex::decode_to_slice(digits, &mut bytes)
        .map_err(|_| format!("expected 64 hexadecimal digits, got `{text}`"))?;
    Ok(bytes)
}
