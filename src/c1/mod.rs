//! Commit-Phase-1 output: what a sealer hands to the prover.
//!
//! In: a JSON file in one of the shapes of the wild (`c1-formats.md`). Out: a [`Sector`], whose
//! vanilla proofs are plain data. The types mirror the reference's JSON field by field
//! (`storage-proofs-porep` 19.1 `stacked/vanilla/params.rs`), with 32-byte values kept as bytes.

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

/// One level of a Merkle path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathElement {
    /// The siblings, left to right, without the node itself: arity - 1 of them.
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelingProof {
    /// 37 parent labels (layer 1: the 6 DRG parents repeated; above: 14 repeated).
    pub parents: Vec<Node>,
    /// The layer, counted from 1.
    pub layer_index: u32,
    /// The node's number.
    pub node: u64,
}
