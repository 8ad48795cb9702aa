//! Do the proofs open the nodes that replica_id, seed and porep id ask for?
//!
//! Challenges follow from `replica_id` and, by kind, the seed and `comm_r`; parents follow from
//! the porep id and the version of the graph. Both come from the reference.

use super::error::C1Error;
use super::path::{ColumnPlace, Path};
use super::{ChallengeProof, Sector};
use crate::reference::{self, Opening, OpeningInputs};
use crate::sector::{ProofKind, ProofVersion, RegisteredProof};

/// Compares every path's index, column index and label's node with the protocol's graph.
pub(super) fn check(sector: &Sector, at: &Path<'_>) -> Result<(), C1Error> {
    let proof = sector.registered_proof;
    let expected = reference::openings(&OpeningInputs {
        proof,
        porep_id: sector.porep_id,
        replica_id: sector.replica_id,
        comm_r: sector.comm_r,
        seed: sector.seed,
    })
    .map_err(refused)?;
    let at = at.key("vanilla_proofs");
    let tag = proof.vanilla_tag();
    let at = at.key(&tag);
    for (partition, (proofs, openings)) in sector.partitions.iter().zip(&expected).enumerate() {
        let at = at.index(partition);
        if let Some(got) = misplaced(proofs, partition, &expected) {
            return Err(C1Error::PartitionOrder { path: at.to_string(), expected: partition, got });
        }
        for (index, (proof, opening)) in proofs.iter().zip(openings).enumerate() {
            challenged_node(sector, proof, opening.challenge, &at.index(index))?;
            parents(sector, proof, opening, &at.index(index))?;
        }
    }
    Ok(())
}

fn refused(error: anyhow::Error) -> C1Error {
    C1Error::Graph { reason: format!("{error:#}") }
}

/// The other partition whose challenges `proofs` open, if they open one's.
fn misplaced(
    proofs: &[ChallengeProof],
    partition: usize,
    expected: &[Vec<Opening>],
) -> Option<usize> {
    let opens = |openings: &Vec<Opening>| {
        let pairs = proofs.iter().zip(openings);
        pairs
            .into_iter()
            .all(|(proof, opening)| proof.comm_d_proof.leaf_index() == opening.challenge)
    };
    if opens(&expected[partition]) { None } else { expected.iter().position(opens) }
}

/// Checks everything that must be about the challenged node.
fn challenged_node(
    sector: &Sector,
    proof: &ChallengeProof,
    challenge: u64,
    at: &Path<'_>,
) -> Result<(), C1Error> {
    let column_at = at.column(ColumnPlace::Challenged);
    let paths = [
        (proof.comm_d_proof.leaf_index(), at.key("comm_d_proofs")),
        (proof.comm_r_last_proof.leaf_index(), at.key("comm_r_last_proof")),
        (proof.column.inclusion.leaf_index(), column_at.key("inclusion_proof")),
    ];
    for (got, path) in paths {
        if got != challenge {
            return Err(C1Error::Challenge {
                path: path.to_string(),
                expected: challenge,
                got,
                fixed_by: match sector.registered_proof.kind() {
                    ProofKind::Interactive => "replica_id and seed",
                    ProofKind::Synthetic => "replica_id, comm_r and seed",
                    ProofKind::NonInteractive => "replica_id and comm_r",
                },
            });
        }
    }
    let number = |got: u64, path: &Path<'_>| {
        if got == challenge {
            return Ok(());
        }
        let expected = format!("the challenged node {challenge}");
        Err(C1Error::Number { path: path.to_string(), expected, got })
    };
    number(proof.column.index.into(), &column_at.key("column").key("index"))?;
    let labels_at = at.key("labeling_proofs");
    for (index, label) in proof.labeling_proofs.iter().enumerate() {
        number(label.node, &labels_at.index(index).key("node"))?;
    }
    number(proof.encoding_proof.node, &at.key("encoding_proof").key("node"))
}

/// Checks that the 14 parent columns are those of the challenge's parents, in order.
fn parents(
    sector: &Sector,
    proof: &ChallengeProof,
    opening: &Opening,
    at: &Path<'_>,
) -> Result<(), C1Error> {
    for ((place, column), &parent) in proof.columns().skip(1).zip(&opening.parents) {
        let expected = u64::from(parent);
        let column_at = at.column(place);
        let got = column.inclusion.leaf_index();
        if got != expected {
            return Err(C1Error::Parent {
                path: column_at.key("inclusion_proof").to_string(),
                expected,
                got,
                proof: sector.registered_proof,
                porep_id: hex::encode(sector.porep_id),
                fits: fitting_graph(sector)?,
            });
        }
        if u64::from(column.index) != expected {
            let path = column_at.key("column").key("index").to_string();
            let expected = format!("the parent {expected}");
            return Err(C1Error::Number { path, expected, got: column.index.into() });
        }
    }
    Ok(())
}

/// Says which version of the proof, with its own porep id, has the parents in the file.
fn fitting_graph(sector: &Sector) -> Result<String, C1Error> {
    let challenges = sector.partitions[0].iter();
    let nodes: Vec<u64> = challenges.map(|proof| proof.comm_d_proof.leaf_index()).collect();
    for version in ProofVersion::ALL {
        let other = RegisteredProof { version, ..sector.registered_proof };
        let porep_id = other.default_porep_id();
        if porep_id == sector.porep_id && version == sector.registered_proof.version {
            continue;
        }
        let parents = reference::parents(other, porep_id, &nodes).map_err(refused)?;
        let fits = sector.partitions[0].iter().zip(&parents).all(|(proof, parents)| {
            let columns = proof.columns().skip(1);
            columns.zip(parents).all(|((_, column), &parent)| column.index == parent)
        });
        if fits {
            let porep_id = hex::encode(porep_id);
            return Ok(format!("these are the parents of {other} and porep id 0x{porep_id}"));
        }
    }
    Ok("if the sector was sealed under another porep id, give it with --porep-id".to_owned())
}
