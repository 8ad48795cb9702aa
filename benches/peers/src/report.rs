//! What a run measured: a table for people, JSON for programs.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use bellperson::BELLMAN_VERSION;
use serde::Serialize;

use crate::sector::RegisteredProof;
use crate::supraseal::Times;

/// The crate that Cargo.toml pins; it does not tell its version itself.
const SUPRASEAL_VERSION: &str = "0.1.2";

/// Everything that is told about a run; times under the names of `prove --json` where it has them.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The prover and its version.
    pub peer: String,
    /// Name of the registered proof.
    pub registered_proof: String,
    /// Sector size in bytes.
    pub sector_size: u64,
    /// The partition that was proved.
    pub partition: usize,
    /// The `.params` file.
    pub parameters: PathBuf,
    /// Opening the card, pinning memory and decoding every point, once.
    pub srs_load_ms: f64,
    /// One a proof, in order.
    pub iterations: Vec<Iteration>,
    /// Of each column by itself.
    pub median: Iteration,
    /// Every proof verified against the public inputs; a run with another outcome has no report.
    pub verified: bool,
}

/// Times of one proof.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Iteration {
    /// bellperson's synthesis.
    pub synthesis_ms: f64,
    /// supraseal's proof without synthesis.
    pub prove_ms: f64,
    /// Both, and freeing what synthesis made.
    pub total_ms: f64,
}

impl Report {
    /// Of a run whose proofs all verified; `runs` is not empty.
    pub fn new(
        proof: RegisteredProof,
        partition: usize,
        parameters: PathBuf,
        load_time: Duration,
        runs: Vec<Times>,
    ) -> Self {
        let iterations: Vec<Iteration> = runs
            .iter()
            .map(|times| Iteration {
                synthesis_ms: milliseconds(times.synthesis),
                prove_ms: milliseconds(times.prove),
                total_ms: milliseconds(times.total),
            })
            .collect();
        let median = |column: fn(&Iteration) -> f64| {
            let mut values: Vec<f64> = iterations.iter().map(column).collect();
            values.sort_by(f64::total_cmp);
            let middle = values.len() / 2;
            if values.len() % 2 == 1 {
                values[middle]
            } else {
                (values[middle - 1] + values[middle]) / 2.0
            }
        };
        Self {
            peer: format!("supraseal-c2 {SUPRASEAL_VERSION}, bellperson {BELLMAN_VERSION}"),
            registered_proof: proof.to_string(),
            sector_size: proof.size.bytes(),
            partition,
            parameters,
            srs_load_ms: milliseconds(load_time),
            median: Iteration {
                synthesis_ms: median(|iteration| iteration.synthesis_ms),
                prove_ms: median(|iteration| iteration.prove_ms),
                total_ms: median(|iteration| iteration.total_ms),
            },
            iterations,
            verified: true,
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}

impl fmt::Display for Report {
    /// The table, without a final newline.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "peer        {}", self.peer)?;
        writeln!(f, "sector      {}, partition {}", self.registered_proof, self.partition)?;
        writeln!(f, "parameters  {}", self.parameters.display())?;
        writeln!(f, "srs load    {:.3} s", self.srs_load_ms / 1000.0)?;
        writeln!(f, "verified    {}", self.verified)?;
        write!(f, "iteration   synthesis      prove      total")?;
        let numbered = self.iterations.iter().enumerate();
        let rows = numbered.map(|(index, iteration)| ((index + 1).to_string(), iteration));
        for (name, iteration) in rows.chain([("median".to_owned(), &self.median)]) {
            write!(f, "\n{name:<10}")?;
            for ms in [iteration.synthesis_ms, iteration.prove_ms, iteration.total_ms] {
                write!(f, "  {:>7.3} s", ms / 1000.0)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sector::{ProofVersion, SectorSize};

    fn report(provings: &[u64]) -> Report {
        let times = |&ms: &u64| Times {
            synthesis: Duration::from_millis(1),
            prove: Duration::from_millis(ms),
            total: Duration::from_millis(ms + 2),
        };
        let proof = RegisteredProof { size: SectorSize::GiB32, version: ProofVersion::V1_1 };
        let runs = provings.iter().map(times).collect();
        Report::new(proof, 3, "v28.params".into(), Duration::from_secs(9), runs)
    }

    #[test]
    fn medians_are_the_middle_or_the_mean_of_two() {
        assert_eq!(report(&[30, 10, 20]).median.prove_ms, 20.0);
        assert_eq!(report(&[30, 10]).median.prove_ms, 20.0);
        assert_eq!(report(&[30, 10]).median.total_ms, 22.0);
    }

    #[test]
    fn the_table_has_a_row_an_iteration_and_the_median() {
        let table = report(&[1500, 2500]).to_string();
        assert!(table.contains("sector      StackedDrg32GiBV1_1, partition 3"), "{table}");
        assert!(table.contains("srs load    9.000 s"), "{table}");
        let rows: Vec<&str> = table.lines().rev().take(3).collect();
        assert_eq!(rows[0], "median        0.001 s    2.000 s    2.002 s");
        assert_eq!(rows[2], "1             0.001 s    1.500 s    1.502 s");
    }
}
