//! A C1 file in lotus-bench's shape: what `prove sample` writes.
//!
//! In: `{"SectorNum", "Phase1Out", "SectorSize"}`, where `Phase1Out` is the base64 of
//! `SealCommitPhase1Output` as JSON. Out: the public values, and each partition's vanilla proofs as
//! JSON, because their type depends on the sector size.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::sector::RegisteredProof;

/// A label, a hash or a field element, as its little-endian bytes.
pub type Node = [u8; 32];

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct LotusBenchFile {
    phase1_out: String,
    sector_size: u64,
}

#[derive(Deserialize)]
struct Phase1Output {
    registered_proof: String,
    vanilla_proofs: BTreeMap<String, Vec<Box<RawValue>>>,
    comm_r: Node,
    comm_d: Node,
    replica_id: Node,
    seed: Node,
}

/// What a sector's proofs are about, and the witness that C1 left.
#[derive(Debug)]
pub struct Sector {
    /// Fixes the circuit and how challenges are drawn.
    pub proof: RegisteredProof,
    /// Binds the sector's owner, number, ticket and data.
    pub replica_id: Node,
    /// Root of the data.
    pub comm_d: Node,
    /// Root of the replica and its columns.
    pub comm_r: Node,
    /// The interactive challenge seed.
    pub seed: Node,
    /// Vanilla proofs of each partition, one a challenge, as a JSON array.
    pub partitions: Vec<Box<RawValue>>,
}

impl Sector {
    /// Reads a C1 file; `prove` checks more of it than this does.
    ///
    /// # Errors
    /// When the file cannot be read, has another shape, or contradicts itself.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).with_context(|| format!("read the C1 `{}`", path.display()))?;
        Self::parse(&text).with_context(|| format!("parse the C1 `{}`", path.display()))
    }

    fn parse(text: &[u8]) -> Result<Self> {
        let file: LotusBenchFile = serde_json::from_slice(text).context(
            "expected an object with `SectorNum`, `Phase1Out` and `SectorSize`, as `prove sample` \
             writes it",
        )?;
        let json = STANDARD.decode(&file.phase1_out).context("decode `Phase1Out`")?;
        let output: Phase1Output = serde_json::from_slice(&json).context("parse `Phase1Out`")?;
        let proof: RegisteredProof = output.registered_proof.parse().map_err(anyhow::Error::msg)?;
        ensure!(
            proof.size.bytes() == file.sector_size,
            "expected `SectorSize` {} for {proof}, got {}",
            proof.size.bytes(),
            file.sector_size
        );
        let tag = proof.vanilla_tag();
        let mut vanilla_proofs = output.vanilla_proofs;
        let partitions = vanilla_proofs
            .remove(&tag)
            .with_context(|| format!("expected `vanilla_proofs` to hold `{tag}`"))?;
        ensure!(
            partitions.len() == proof.partitions(),
            "expected {} partitions for {proof}, got {}",
            proof.partitions(),
            partitions.len()
        );
        let Phase1Output { comm_r, comm_d, replica_id, seed, .. } = output;
        Ok(Self { proof, replica_id, comm_d, comm_r, seed, partitions })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const SAMPLE: &str = include_str!("../../../testdata/c1-2KiB.json");

    /// The sample with `change` made to its object and to the object in `Phase1Out`.
    fn parse_changed(change: impl Fn(&mut Value, &mut Value)) -> Result<Sector> {
        let mut file: Value = serde_json::from_str(SAMPLE)?;
        let encoded = file["Phase1Out"].as_str().context("a string")?;
        let mut output: Value = serde_json::from_slice(&STANDARD.decode(encoded)?)?;
        change(&mut file, &mut output);
        if file["Phase1Out"].is_string() {
            file["Phase1Out"] = STANDARD.encode(serde_json::to_vec(&output)?).into();
        }
        Sector::parse(&serde_json::to_vec(&file)?)
    }

    #[test]
    fn contradictions_are_refused() {
        let sector = parse_changed(|_, _| ()).expect("the sample is right");
        assert_eq!(sector.proof.to_string(), "StackedDrg2KiBV1_1");
        type Change = fn(&mut Value, &mut Value);
        let cases: [(&str, Change); 6] = [
            ("expected `SectorSize` 2048", |file, _| file["SectorSize"] = 8388608.into()),
            ("SectorNum", |file, _| file["Phase1Out"] = Value::Null),
            ("StackedDrg", |_, output| output["registered_proof"] = "StackedDrg3KiBV1".into()),
            ("expected `vanilla_proofs` to hold", |file, output| {
                file["SectorSize"] = 8388608.into();
                output["registered_proof"] = "StackedDrg8MiBV1_1".into();
            }),
            ("expected 1 partitions", |_, output| {
                output["vanilla_proofs"]["StackedDrg2KiBV1"] = Value::Array(vec![]);
            }),
            ("parse `Phase1Out`", |_, output| output["comm_r"] = Value::Array(vec![])),
        ];
        for (expected, change) in cases {
            let error = parse_changed(change).expect_err(expected);
            assert!(format!("{error:#}").contains(expected), "expected {expected}, got {error:#}");
        }
    }
}
