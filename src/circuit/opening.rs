//! The values that the circuit reads, as field elements of checked shape.

use blstrs::Scalar as Fr;
use ff::Field;
use thiserror::Error;

use super::Path;
use crate::c1::{ChallengeProof, ColumnProof, MerkleProof, Node};
use crate::field;
use crate::sector::{DRG_DEGREE, EXP_DEGREE, SectorSize};

/// The five values that all challenges of a partition share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commitments {
    /// The sector's replica id.
    pub replica_id: Fr,
    /// Root of the data tree.
    pub comm_d: Fr,
    /// H(comm_c, comm_r_last).
    pub comm_r: Fr,
    /// Root of the replica tree.
    pub comm_r_last: Fr,
    /// Root of the column tree.
    pub comm_c: Fr,
}

/// One level of a path: the siblings, left to right, and the node's position among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// arity - 1 siblings.
    pub siblings: Vec<Fr>,
    /// Position of the node, below the arity.
    pub index: usize,
}

/// A Merkle path, from the leaf up, without its leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathOpening(pub Vec<Level>);

/// A parent's labels, layer 1 first, and the path of their hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnOpening {
    /// One label per layer.
    pub labels: Vec<Fr>,
    /// Path in the column tree.
    pub path: PathOpening,
}

/// Everything that one challenge's circuit reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The challenged node's number.
    pub challenge: u64,
    /// The challenged leaf of the data.
    pub data_leaf: Fr,
    /// Its path in the data tree.
    pub data: PathOpening,
    /// Path of the encoded leaf in the replica tree.
    pub replica: PathOpening,
    /// Path of the challenged node's column in the column tree.
    pub column: PathOpening,
    /// The DRG parents' columns.
    pub drg_parents: Vec<ColumnOpening>,
    /// The expander parents' columns.
    pub exp_parents: Vec<ColumnOpening>,
}

/// A vanilla proof that does not have the circuit's shape, or holds what is no field element.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum OpeningError {
    /// A count differs from what the sector size prescribes.
    #[error("expected {expected} {what} in the {path}, got {got}")]
    Count {
        /// Where.
        path: Path,
        /// What was counted.
        what: &'static str,
        /// The sector size's count.
        expected: usize,
        /// The proof's count.
        got: usize,
    },
    /// The number of parents differs from the graph's degree.
    #[error("expected {expected} {kind} parents, got {got}")]
    Parents {
        /// `drg` or `expander`.
        kind: &'static str,
        /// The graph's degree.
        expected: usize,
        /// The proof's count.
        got: usize,
    },
    /// There is no labeling proof to take the challenged node from.
    #[error("expected a labeling proof, got none")]
    NoLabel,
    /// A position is not below the arity of its level.
    #[error("expected an index below {arity} at level {level} of the {path}, got {got}")]
    Index {
        /// Where.
        path: Path,
        /// Level, from the leaf up.
        level: usize,
        /// Children of a node at that level.
        arity: usize,
        /// The proof's index.
        got: usize,
    },
    /// A 32-byte value is not below the field's modulus.
    #[error("expected a field element as {what} of the {path}, got 0x{}", hex::encode(.got))]
    NotInField {
        /// Where.
        path: Path,
        /// Which value.
        what: &'static str,
        /// Its bytes, little-endian.
        got: Node,
    },
}

fn element(path: Path, what: &'static str, bytes: &Node) -> Result<Fr, OpeningError> {
    field::to_fr(bytes).ok_or(OpeningError::NotInField { path, what, got: *bytes })
}

fn count(path: Path, what: &'static str, expected: usize, got: usize) -> Result<(), OpeningError> {
    if expected == got { Ok(()) } else { Err(OpeningError::Count { path, what, expected, got }) }
}

impl PathOpening {
    fn blank(arities: &[usize]) -> Self {
        let level = |&arity| Level { siblings: vec![Fr::ZERO; arity - 1], index: 0 };
        Self(arities.iter().map(level).collect())
    }

    fn new(path: Path, arities: &[usize], proof: &MerkleProof) -> Result<Self, OpeningError> {
        count(path, "levels", arities.len(), proof.path.len())?;
        let levels =
            proof.path.iter().zip(arities).enumerate().map(|(level, (element, &arity))| {
                count(path, "siblings", arity - 1, element.hashes.len())?;
                if element.index >= arity {
                    return Err(OpeningError::Index { path, level, arity, got: element.index });
                }
                let sibling = |hash| self::element(path, "sibling", hash);
                let siblings = element.hashes.iter().map(sibling).collect::<Result<_, _>>()?;
                Ok(Level { siblings, index: element.index })
            });
        Ok(Self(levels.collect::<Result<_, _>>()?))
    }
}

impl ColumnOpening {
    fn new(path: Path, size: SectorSize, proof: &ColumnProof) -> Result<Self, OpeningError> {
        count(path, "labels", size.layers(), proof.rows.len())?;
        let label = |row| element(path, "label", row);
        Ok(Self {
            labels: proof.rows.iter().map(label).collect::<Result<_, _>>()?,
            path: PathOpening::new(path, &size.tree_arities(), &proof.inclusion)?,
        })
    }

    fn parents(
        kind: (&'static str, usize, fn(usize) -> Path),
        size: SectorSize,
        proofs: &[ColumnProof],
    ) -> Result<Vec<Self>, OpeningError> {
        let (kind, expected, path) = kind;
        if proofs.len() != expected {
            return Err(OpeningError::Parents { kind, expected, got: proofs.len() });
        }
        let column = |(parent, proof)| Self::new(path(parent), size, proof);
        proofs.iter().enumerate().map(column).collect()
    }
}

impl Opening {
    /// An opening of the size's shape with every value zero, for interpretations without values.
    pub fn blank(size: SectorSize) -> Self {
        let tree = PathOpening::blank(&size.tree_arities());
        let column = ColumnOpening { labels: vec![Fr::ZERO; size.layers()], path: tree.clone() };
        Self {
            challenge: 0,
            data_leaf: Fr::ZERO,
            data: PathOpening::blank(&vec![2; size.data_levels()]),
            replica: tree.clone(),
            column: tree,
            drg_parents: vec![column.clone(); DRG_DEGREE],
            exp_parents: vec![column; EXP_DEGREE],
        }
    }

    /// Takes what the circuit reads from a vanilla proof.
    ///
    /// # Errors
    /// When a count or an index does not fit the sector size, or a value is no field element.
    pub fn new(size: SectorSize, proof: &ChallengeProof) -> Result<Self, OpeningError> {
        let tree = size.tree_arities();
        let drg = ("drg", DRG_DEGREE, Path::DrgParent as fn(usize) -> Path);
        let exp = ("expander", EXP_DEGREE, Path::ExpParent as fn(usize) -> Path);
        let binary = vec![2; size.data_levels()];
        Ok(Self {
            challenge: proof.labeling_proofs.first().ok_or(OpeningError::NoLabel)?.node,
            data_leaf: element(Path::Data, "leaf", &proof.comm_d_proof.leaf)?,
            data: PathOpening::new(Path::Data, &binary, &proof.comm_d_proof)?,
            replica: PathOpening::new(Path::Replica, &tree, &proof.comm_r_last_proof)?,
            column: PathOpening::new(Path::Column, &tree, &proof.column.inclusion)?,
            drg_parents: ColumnOpening::parents(drg, size, &proof.drg_parents)?,
            exp_parents: ColumnOpening::parents(exp, size, &proof.exp_parents)?,
        })
    }
}
