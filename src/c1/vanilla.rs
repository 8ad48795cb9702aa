//! Verification of the vanilla proofs: everything that the circuit will enforce, by hashing.
//!
//! Written from the protocol on our own types. It goes beyond the reference's `Proof::verify`,
//! which never hashes the `comm_d` and `comm_r_last` paths; with [`super::read`], which compares
//! every index, a sector that passes here satisfies its circuit.

use rayon::prelude::*;

use super::check::equal;
use super::error::C1Error;
use super::path::{ColumnPlace, Path};
use super::{ChallengeProof, ColumnProof, Node, Sector, hash};
use crate::progress::{Device, Phase, Progress, Unit};

/// Verifies every vanilla proof of a sector that [`super::read`] returned.
///
/// Paths in errors start at `vanilla_proofs`, whatever the file's shape. About 1.7 core-seconds
/// for 32 GiB (28,800 Poseidon permutations of arity 8 and 2,700 of arity 11).
///
/// # Errors
/// [`C1Error::Vanilla`] with the first bad partition, challenge and check in file order.
pub fn check(sector: &Sector, progress: &dyn Progress) -> Result<(), C1Error> {
    let tag = sector.registered_proof.vanilla_tag();
    let top = Path::root("vanilla_proofs");
    let at = top.key(&tag);
    let challenges: Vec<_> = sector
        .partitions
        .iter()
        .enumerate()
        .flat_map(|(partition, proofs)| {
            proofs.iter().enumerate().map(move |(challenge, proof)| (partition, challenge, proof))
        })
        .collect();
    let phase = Phase::new("check-vanilla").total(challenges.len() as u64, Unit::Items);
    let id = progress.start(phase);
    let first_fault = challenges
        .par_iter()
        .map(|&(partition, challenge, proof)| {
            let result = challenge_proof(sector, proof, &at.index(partition).index(challenge));
            progress.advance(id, 1);
            result.map_err(|(check, fault)| C1Error::Vanilla {
                partition,
                challenge,
                check,
                fault: Box::new(fault),
            })
        })
        .find_first(Result::is_err);
    progress.finish(id, 0, Device::Cpu);
    first_fault.unwrap_or(Ok(()))
}

/// The name of a failed check, and its fault.
type Fault = (&'static str, C1Error);

fn challenge_proof(sector: &Sector, proof: &ChallengeProof, at: &Path<'_>) -> Result<(), Fault> {
    let named = |check: &'static str| move |fault: C1Error| (check, fault);
    let (data, replica) = (&proof.comm_d_proof, &proof.comm_r_last_proof);
    let (data_at, replica_at) = (at.key("comm_d_proofs"), at.key("comm_r_last_proof"));
    let comm_c = &proof.column.inclusion.root;
    equal(&hash::comm_r(comm_c, &replica.root), &sector.comm_r, "roots that hash to comm_r", at)
        .map_err(named("comm_r"))?;
    equal(&hash::sha256_root(data), &sector.comm_d, "a path to comm_d", &data_at)
        .map_err(named("the comm_d path"))?;
    for (place, column) in proof.columns() {
        column_proof(column, comm_c, &at.column(place))?;
    }
    let column_at = at.column(ColumnPlace::Challenged);
    let rows_at = column_at.key("column.rows");
    for (layer, (row, labels)) in proof.column.rows.iter().zip(&proof.labeling_proofs).enumerate() {
        let label = hash::label(&sector.replica_id, labels);
        equal(row, &label, "the label", &rows_at.index(layer)).map_err(named("the label"))?;
    }
    let key = hash::label(&sector.replica_id, &proof.encoding_proof);
    let encoded = hash::encode(&key, &data.leaf);
    equal(&replica.leaf, &encoded, "a leaf of data plus key", &replica_at)
        .map_err(named("the encoding"))?;
    equal(&hash::poseidon_root(replica), &replica.root, "a path to comm_r_last", &replica_at)
        .map_err(named("the comm_r_last path"))
}

fn column_proof(column: &ColumnProof, comm_c: &Node, at: &Path<'_>) -> Result<(), Fault> {
    let (inclusion, at) = (&column.inclusion, at.key("inclusion_proof"));
    equal(&inclusion.leaf, &hash::column(&column.rows), "the column's hash", &at)
        .map_err(|fault| ("the column's hash", fault))?;
    equal(&hash::poseidon_root(inclusion), comm_c, "a path to comm_c", &at)
        .map_err(|fault| ("the comm_c path", fault))
}
