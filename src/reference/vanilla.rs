//! A sector's vanilla proofs in the reference's types.

use anyhow::{Context, Result};
use storage_proofs_core::merkle::MerkleTreeTrait;
use storage_proofs_porep::stacked::Proof;

use super::DataHasher;
use crate::c1::{Partitions, Sector};

/// Converts a sector's vanilla proofs by writing and reading their JSON, the one form that the
/// reference opens to others.
///
/// # Errors
/// When `Tree` is not the tree of the sector's size.
pub fn vanilla_proofs<Tree: 'static + MerkleTreeTrait>(
    sector: &Sector,
) -> Result<Vec<Vec<Proof<Tree, DataHasher>>>> {
    let json = serde_json::to_vec(&Partitions(sector)).context("write the vanilla proofs")?;
    serde_json::from_slice(&json).context("read the vanilla proofs into the reference's types")
}
