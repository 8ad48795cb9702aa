//! `prove bench`: what may be typed after it.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};

use crate::variant::Job;

pub(super) const BENCH_AFTER_HELP: &str = "\
Every `--variant STAGE=NAME,NAME` makes one arm a name, several lists their cross product. Arms run \
in turn, A B A B; the first is the baseline of every ratio.";

/// What to measure.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Assignment and rows of one partition (`synth`, `lc`, `presize`), or the compact
    /// assignments of all partitions
    Synth {
        /// The C1 whose partition is synthesized; `-` is standard input
        #[arg(value_name = "C1")]
        c1: PathBuf,
        /// The partition; `all` times the assignments of the whole sector, without rows, in groups
        /// as a proof makes them (`synth=compact`)
        #[arg(long, value_name = "K|all", default_value = "0")]
        partition: Partitions,
        /// How often.
        #[command(flatten)]
        repeat: Repeat,
    },
    /// Rows a and b of one partition, evaluated from its compact assignment
    Rows {
        /// The C1 whose partition is evaluated; `-` is standard input
        #[arg(value_name = "C1")]
        c1: PathBuf,
        /// The partition
        #[arg(long, value_name = "K", default_value_t = 0)]
        partition: usize,
        /// How often.
        #[command(flatten)]
        repeat: Repeat,
    },
    /// The quotient's transforms of 2^N random elements: ours and bellperson's; on a GPU the
    /// forward transform, ours and ec-gpu-gen's
    Ntt {
        /// log2 of the domain
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=27))]
        log_n: u32,
        /// How often.
        #[command(flatten)]
        repeat: Repeat,
    },
    /// A sum of 2^N points of G1 times random scalars: ours and bellperson's, or on a GPU
    /// ec-gpu-gen's
    Msm {
        /// log2 of the number of points
        #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=27))]
        log_n: u32,
        /// How often.
        #[command(flatten)]
        repeat: Repeat,
    },
    /// 2^N products in Fr or Fp on a GPU: `field`
    Field {
        /// Which field
        #[arg(value_enum, value_name = "fr|fp")]
        of: PrimeField,
        /// log2 of the products of each field
        #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(20..=36))]
        log_n: u32,
        /// How often.
        #[command(flatten)]
        repeat: Repeat,
    },
    /// Whole proofs of a sector, verified
    Prove {
        /// The C1 to prove; `-` is standard input
        #[arg(value_name = "C1")]
        c1: PathBuf,
        /// How often.
        #[command(flatten)]
        repeat: Repeat,
    },
}

impl BenchCommand {
    /// Which stages take part.
    pub const fn job(&self) -> Job {
        match self {
            Self::Synth { .. } => Job::Synth,
            Self::Rows { .. } => Job::Rows,
            Self::Field { .. } => Job::Field,
            Self::Ntt { .. } => Job::Ntt,
            Self::Msm { .. } => Job::Msm,
            Self::Prove { .. } => Job::Prove,
        }
    }
}

/// Which partitions are synthesized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partitions {
    /// One.
    One(usize),
    /// Those of the whole sector.
    All,
}

impl FromStr for Partitions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(partition) => Ok(Self::One(partition)),
            Err(_) if text == "all" => Ok(Self::All),
            Err(_) => Err(format!("expected a number or `all`, got `{text}`")),
        }
    }
}

/// A field of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PrimeField {
    /// The scalars'.
    Fr,
    /// The coordinates'.
    Fp,
}

/// How often each arm runs.
#[derive(Clone, Copy, Debug, Args)]
pub struct Repeat {
    /// Counted runs of each arm
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = iterations)]
    pub iterations: usize,
    /// Leave out the uncounted first run of each arm
    #[arg(long)]
    pub no_warm_up: bool,
}

fn iterations(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=1000) => Ok(count),
        _ => Err(format!("expected a number from 1 to 1000, got `{text}`")),
    }
}
