//! `prove batch`: what may be typed after it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::error::ErrorKind;

use super::{Cli, is_dash};

pub(super) const BATCH_AFTER_HELP: &str = "\
Proofs are called like their C1s, `s-1.json` gives `s-1.proof`; with `--count` they are numbered, \
`s-1.1.proof`. A C1 that cannot be proved fails alone: the others are proved, and the exit code is \
10. What would fail the others of its size too (parameters, memory, the GPU) ends the batch with \
its own exit code.";

/// Which sectors to prove.
#[derive(Debug, Args)]
pub struct BatchArgs {
    /// The C1s, in the order of their proofs
    #[arg(required = true, value_name = "C1")]
    pub c1s: Vec<PathBuf>,
    /// Folder for the proofs; it is made if it is missing
    #[arg(long, value_name = "DIR")]
    pub out_dir: PathBuf,
    /// Prove every C1 this often
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub count: u32,
    /// Sectors that are read and synthesized ahead of the one that is proved
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub jobs: u32,
}

impl BatchArgs {
    /// Every C1 with the path of its proof, in order.
    pub fn tasks(&self) -> Vec<(PathBuf, PathBuf)> {
        let task =
            |number: u32| self.c1s.iter().map(move |c1| (c1.clone(), self.proof_path(c1, number)));
        (1..=self.count).flat_map(task).collect()
    }

    fn proof_path(&self, c1: &Path, number: u32) -> PathBuf {
        let stem = c1.file_stem().unwrap_or(c1.as_os_str()).to_owned();
        let mut name = stem;
        if self.count > 1 {
            name.push(format!(".{number}"));
        }
        name.push(".proof");
        self.out_dir.join(name)
    }

    /// Every C1 is a file, and no two proofs have one name.
    pub(super) fn check(&self) -> Result<(), clap::Error> {
        if self.c1s.iter().any(|c1| is_dash(c1)) {
            let message = "batch reads files: standard input has no name for its proof";
            return Err(Cli::usage(ErrorKind::ValueValidation, message));
        }
        let mut names = BTreeSet::new();
        match self.tasks().into_iter().find(|(_, proof)| !names.insert(proof.clone())) {
            None => Ok(()),
            Some((c1, proof)) => Err(Cli::usage(
                ErrorKind::ArgumentConflict,
                &format!(
                    "two C1s would give `{}`; the second is `{}`",
                    proof.display(),
                    c1.display()
                ),
            )),
        }
    }
}
