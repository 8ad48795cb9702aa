//! Commit-Phase-1 output: what a sealer hands to the prover.
//!
//! In: the bytes of a JSON file in one of the shapes of the wild. Out: a [`Sector`], whose vanilla
//! proofs are plain data. The types mirror the reference's JSON field by field
//! (`storage-proofs-porep` 19.1 `stacked/vanilla/params.rs`), with 32-byte values kept as bytes.
//!
//! ```text
//! bytes ─ shape ─> Phase-1 output ─ json ─> wire types ─ check ─> Sector ─ graph, ids ─> Read
//!                                                                   └─ vanilla (on request)
//! ```
//!
//! What nothing binds, and so no check can find wrong: `ticket`, unless the file or the caller
//! gives the ids that `replica_id` hashes with it; `seed` of a non-interactive proof, whose
//! challenges do not use it; unknown keys (in S2 also `Ticket`, `Cids`, `seed` and the proof type
//! in `Sid`; in S4 `Snap`), the columns' `_h`, and white space.

mod check;
mod error;
mod graph;
mod guess;
mod hash;
mod ids;
mod json;
mod parallel;
mod path;
mod shape;
pub mod vanilla;

pub use error::C1Error;
pub use guess::guess_size;
pub use ids::{GivenIds, IdSource, Ids, prover_id};
pub use shape::{Shape, write_base64};

pub(crate) use json::Partitions;

use serde::{Deserialize, Serialize};

use path::{ColumnPlace, Path};

/// Longest input: the largest C1 (non-interactive, 64 GiB, S1) has about 660 MB.
pub const INPUT_BYTES_MAX: usize = 768 << 20;

/// What some editors and shells put before UTF-8 text. It is skipped, and offsets in errors count
/// from its end.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A 32-byte value as it stands in the file: little-endian; a label, a hash or a field element.
pub type Node = [u8; 32];

/// A checked PoRep sector: everything that its circuit proofs depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sector {
    /// Which of the 20 proofs the sector registered for.
    pub registered_proof: crate::sector::RegisteredProof,
    /// Commitment to the replica: H(comm_c, comm_r_last).
    pub comm_r: Node,
    /// Commitment to the data.
    pub comm_d: Node,
    /// Hash of prover id, sector number, ticket, comm_d and porep id.
    pub replica_id: Node,
    /// Interactive challenge seed.
    pub seed: Node,
    /// Sealing ticket.
    pub ticket: Node,
    /// The porep id that challenges and parents follow from.
    pub porep_id: Node,
    /// Per partition, its challenges' vanilla proofs.
    pub partitions: Vec<Vec<ChallengeProof>>,
}

/// A C1 file, read and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// What it holds.
    pub sector: Sector,
    /// The wrapper that it came in.
    pub shape: Shape,
    /// Whose sector it is, as far as is known.
    pub ids: Ids,
}

/// Reads a C1 file of any shape and checks everything that needs no hashing of proofs.
///
/// Afterwards sizes, counts and ranges are those of the registered proof, 32-byte values are
/// field elements where the circuit takes them as such, every path opens the node that the
/// protocol's graph asks for, and the ids that are known give `replica_id`.
///
/// # Errors
/// With the first fault found.
pub fn read(bytes: &[u8], given: &GivenIds) -> Result<Read, C1Error> {
    if bytes.len() > INPUT_BYTES_MAX {
        return Err(C1Error::TooLarge { bytes: bytes.len(), limit: INPUT_BYTES_MAX });
    }
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let opened = shape::Opened::new(bytes)?;
    let document = opened.document();
    let at = Path::root(document.prefix);
    let sector = check::sector(document.output()?, given.porep_id, &at)?;
    if let Some(got) = opened.sector_size
        && got != sector.registered_proof.size.bytes()
    {
        let expected = sector.registered_proof;
        return Err(C1Error::SectorSize { path: "SectorSize", expected, got });
    }
    graph::check(&sector, &at)?;
    let ids = ids::resolve(&sector, &opened.ids, given)?;
    Ok(Read { sector, shape: opened.shape, ids })
}

/// The vanilla proof of one challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChallengeProof {
    /// The challenged leaf of the data tree (binary, SHA-256).
    pub comm_d_proof: MerkleProof,
    /// The challenged leaf of the replica tree (Poseidon).
    pub comm_r_last_proof: MerkleProof,
    /// The challenged node's column.
    pub column: ColumnProof,
    /// The columns of the 6 DRG parents.
    pub drg_parents: Vec<ColumnProof>,
    /// The columns of the 8 expander parents.
    pub exp_parents: Vec<ColumnProof>,
    /// One per layer, from layer 1 up.
    pub labeling_proofs: Vec<LabelingProof>,
    /// The key that encodes the data leaf; same shape as the last layer's labeling proof.
    pub encoding_proof: LabelingProof,
}

/// A Merkle path, from the leaf up; base, sub and top trees joined into one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MerkleProof {
    /// The root that the path claims.
    pub root: Node,
    /// The leaf that the path opens.
    pub leaf: Node,
    /// One element per level.
    pub path: Vec<PathElement>,
}

impl ChallengeProof {
    /// The 15 columns, each with its place.
    fn columns(&self) -> impl Iterator<Item = (ColumnPlace, &ColumnProof)> {
        let drg = self.drg_parents.iter().enumerate();
        let exp = self.exp_parents.iter().enumerate();
        std::iter::once((ColumnPlace::Challenged, &self.column))
            .chain(drg.map(|(index, column)| (ColumnPlace::Drg(index), column)))
            .chain(exp.map(|(index, column)| (ColumnPlace::Exp(index), column)))
    }
}

impl MerkleProof {
    /// The number of the leaf that the path opens, from its positions and arities.
    fn leaf_index(&self) -> u64 {
        let (index, _) = self.path.iter().fold((0, 1), |(index, width), element| {
            (index + element.index as u64 * width, width * (element.hashes.len() as u64 + 1))
        });
        index
    }
}

/// One level of a Merkle path.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct PathElement {
    /// The siblings, left to right, without the node itself: arity - 1 of them.
    #[serde(deserialize_with = "json::nodes::<_, { json::SIBLINGS_MAX }>")]
    pub hashes: Vec<Node>,
    /// The node's position among its arity siblings.
    pub index: usize,
}

/// A column (one node's labels over all layers) and its path in the column tree (`comm_c`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnProof {
    /// The node's number.
    pub index: u32,
    /// Labels, layer 1 first.
    pub rows: Vec<Node>,
    /// Path of the column's hash.
    pub inclusion: MerkleProof,
}

/// What a label hashes: replica_id, layer, node and 37 parents.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LabelingProof {
    /// 37 parent labels (layer 1: the 6 DRG parents repeated; above: 14 repeated).
    #[serde(deserialize_with = "json::nodes::<_, { crate::sector::LABEL_PARENTS }>")]
    pub parents: Vec<Node>,
    /// The layer, counted from 1.
    pub layer_index: u32,
    /// The node's number.
    pub node: u64,
}

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "tests print their seeds and figures")]
mod tests;
