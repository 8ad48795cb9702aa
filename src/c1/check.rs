//! From parsed JSON to a [`Sector`]: sizes, counts, ranges and values that must agree.
//!
//! Everything here follows from `registered_proof` and from the file itself; what follows from
//! the protocol's graph is in `graph.rs`, and what needs hashing in `vanilla.rs`.

use rayon::prelude::*;

use super::error::C1Error;
use super::json::{
    Bounded, Challenge, Column, InclusionPath, Merkle, MerkleData, Phase1Output, VanillaProofs,
};
use super::path::{Path, printable};
use super::{
    ChallengeProof, ColumnProof, LabelingProof, MerkleProof, Node, PathElement, Sector, hash,
};
use crate::field;
use crate::sector::{DRG_DEGREE, EXP_DEGREE, LABEL_PARENTS, ProofKind, RegisteredProof};

/// Characters of a value of the file that an error shows.
const SHOWN_CHARS_MAX: usize = 64;

/// Turns a parsed output into a checked sector; `at` is where the output stands.
pub(super) fn sector(
    output: Phase1Output,
    porep_id: Option<Node>,
    at: &Path<'_>,
) -> Result<Sector, C1Error> {
    let proof = registered_proof(&output, at)?;
    top_level(&output, proof, at)?;
    let VanillaProofs { tag, partitions: Bounded(partitions) } = output.vanilla_proofs;
    let vanilla_at = at.key("vanilla_proofs");
    let tag_at = vanilla_at.key(&tag);
    let checker = Checker::new(proof);
    checker.count(partitions.len(), proof.partitions(), "partitions", &tag_at)?;
    // All of them first, so that of several faults the first in the file is told.
    let checked: Vec<_> = partitions
        .into_par_iter()
        .enumerate()
        .map(|(index, partition)| checker.partition(partition.0, &tag_at.index(index)))
        .collect();
    let partitions = checked.into_iter().collect::<Result<_, _>>()?;
    let sector = Sector {
        registered_proof: proof,
        comm_r: output.comm_r,
        comm_d: output.comm_d,
        replica_id: output.replica_id,
        seed: output.seed,
        ticket: output.ticket,
        porep_id: porep_id.unwrap_or_else(|| proof.default_porep_id()),
        partitions,
    };
    roots(&sector, at, &tag_at)?;
    Ok(sector)
}

/// Reads `registered_proof` and compares the tag of the vanilla proofs with it.
fn registered_proof(output: &Phase1Output, at: &Path<'_>) -> Result<RegisteredProof, C1Error> {
    let name = printable(&output.registered_proof, SHOWN_CHARS_MAX);
    let proof: RegisteredProof = name.parse().map_err(|reason| C1Error::RegisteredProof {
        path: at.key("registered_proof").to_string(),
        reason,
    })?;
    let (tag, expected) = (&output.vanilla_proofs.tag, proof.vanilla_tag());
    if *tag != expected {
        let (path, got) = (at.key("vanilla_proofs").to_string(), printable(tag, SHOWN_CHARS_MAX));
        return Err(C1Error::Tag { path, expected, proof, got });
    }
    Ok(proof)
}

/// Checks the 32-byte values at the output's top level.
fn top_level(output: &Phase1Output, proof: RegisteredProof, at: &Path<'_>) -> Result<(), C1Error> {
    let Bounded(partitions) = &output.vanilla_proofs.partitions;
    let is_empty = partitions.iter().all(|partition| partition.0.is_empty());
    if proof.kind() == ProofKind::Synthetic && output.seed == [0; 32] && is_empty {
        let path = at.key("vanilla_proofs").to_string();
        return Err(C1Error::SyntheticFirstStage { path });
    }
    for (key, value, what) in [
        ("comm_r", &output.comm_r, "a commitment"),
        ("comm_d", &output.comm_d, "a commitment"),
        ("seed", &output.seed, "a challenge seed"),
    ] {
        if *value == [0; 32] {
            return Err(C1Error::Zero { path: at.key(key).to_string(), what });
        }
    }
    canonical(&output.comm_r, &at.key("comm_r"))?;
    canonical(&output.comm_d, &at.key("comm_d"))?;
    canonical(&output.replica_id, &at.key("replica_id"))
}

/// Checks the parts of a sector against its registered proof.
struct Checker {
    proof: RegisteredProof,
    data_tree: Tree,
    replica_tree: Tree,
}

impl Checker {
    fn new(proof: RegisteredProof) -> Self {
        Self { proof, data_tree: Tree::data(proof), replica_tree: Tree::replica(proof) }
    }

    fn count(
        &self,
        got: usize,
        expected: usize,
        what: &'static str,
        at: &Path<'_>,
    ) -> Result<(), C1Error> {
        count(self.proof, (got, expected), what, at)
    }

    fn partition(
        &self,
        challenges: Vec<Challenge>,
        at: &Path<'_>,
    ) -> Result<Vec<ChallengeProof>, C1Error> {
        let expected = self.proof.size.challenges_per_partition();
        self.count(challenges.len(), expected, "challenges", at)?;
        let numbered = challenges.into_iter().enumerate();
        numbered.map(|(index, proof)| self.challenge(proof, &at.index(index))).collect()
    }

    fn challenge(&self, challenge: Challenge, at: &Path<'_>) -> Result<ChallengeProof, C1Error> {
        let Challenge { comm_d_proofs, comm_r_last_proof, replica_column_proofs: columns, .. } =
            challenge;
        let columns_at = at.key("replica_column_proofs");
        let (drg_at, exp_at) = (columns_at.key("drg_parents"), columns_at.key("exp_parents"));
        let replica_at = at.key("comm_r_last_proof");
        let proof = ChallengeProof {
            comm_d_proof: self.data_tree.path(comm_d_proofs, &at.key("comm_d_proofs"))?,
            comm_r_last_proof: self.replica_tree.path(comm_r_last_proof, &replica_at)?,
            column: self.column(columns.c_x, &columns_at.key("c_x"))?,
            drg_parents: self.parents(columns.drg_parents, DRG_DEGREE, &drg_at)?,
            exp_parents: self.parents(columns.exp_parents, EXP_DEGREE, &exp_at)?,
            labeling_proofs: challenge.labeling_proofs,
            encoding_proof: challenge.encoding_proof,
        };
        self.labels(&proof, at)?;
        Ok(proof)
    }

    fn parents(
        &self,
        columns: Vec<Column>,
        degree: usize,
        at: &Path<'_>,
    ) -> Result<Vec<ColumnProof>, C1Error> {
        self.count(columns.len(), degree, "columns", at)?;
        let numbered = columns.into_iter().enumerate();
        numbered.map(|(index, column)| self.column(column, &at.index(index))).collect()
    }

    fn column(&self, column: Column, at: &Path<'_>) -> Result<ColumnProof, C1Error> {
        let column_at = at.key("column");
        let rows_at = column_at.key("rows");
        let (index, rows) = (column.column.index, column.column.rows);
        self.count(rows.len(), self.proof.size.layers(), "rows", &rows_at)?;
        all_canonical(&rows, &rows_at)?;
        let inclusion =
            self.replica_tree.path(column.inclusion_proof, &at.key("inclusion_proof"))?;
        Ok(ColumnProof { index, rows, inclusion })
    }

    /// Checks the labeling proofs and the encoding proof against the columns they are made of.
    fn labels(&self, proof: &ChallengeProof, at: &Path<'_>) -> Result<(), C1Error> {
        let labels_at = at.key("labeling_proofs");
        let layers = self.proof.size.layers();
        self.count(proof.labeling_proofs.len(), layers, "labeling proofs", &labels_at)?;
        for (index, label) in proof.labeling_proofs.iter().enumerate() {
            self.label(label, index + 1, proof, &labels_at.index(index))?;
        }
        self.label(&proof.encoding_proof, layers, proof, &at.key("encoding_proof"))
    }

    fn label(
        &self,
        label: &LabelingProof,
        layer: usize,
        proof: &ChallengeProof,
        at: &Path<'_>,
    ) -> Result<(), C1Error> {
        if label.layer_index as usize != layer {
            let (path, expected) = (at.key("layer_index").to_string(), format!("layer {layer}"));
            return Err(C1Error::Number { path, expected, got: label.layer_index.into() });
        }
        let parents_at = at.key("parents");
        self.count(label.parents.len(), LABEL_PARENTS, "parents", &parents_at)?;
        let expected = label_parents(proof, layer);
        let pairs = label.parents.iter().zip(expected.iter().cycle());
        for (index, (got, expected)) in pairs.enumerate() {
            equal(got, expected, "the parent column's label", &parents_at.index(index))?;
        }
        Ok(())
    }
}

/// The distinct parents that the label of a layer hashes: the 6 DRG parents' labels in that layer
/// and, above layer 1, the 8 expander parents' labels in the layer below.
fn label_parents(proof: &ChallengeProof, layer: usize) -> Vec<Node> {
    let drg = proof.drg_parents.iter().map(|column| column.rows[layer - 1]);
    if layer == 1 {
        return drg.collect();
    }
    drg.chain(proof.exp_parents.iter().map(|column| column.rows[layer - 2])).collect()
}

/// The shape that a tree's Merkle proofs must have.
struct Tree {
    proof: RegisteredProof,
    /// Arities from the leaves up, for each path of the proof: base, sub, top.
    parts: Vec<Vec<usize>>,
}

impl Tree {
    fn data(proof: RegisteredProof) -> Self {
        Self { proof, parts: vec![vec![2; proof.size.data_levels()]] }
    }

    fn replica(proof: RegisteredProof) -> Self {
        let mut base = proof.size.tree_arities();
        let upper = base.split_off(base.len() + 1 - proof.size.replica_tree_parts());
        let parts = std::iter::once(base).chain(upper.into_iter().map(|arity| vec![arity]));
        Self { proof, parts: parts.collect() }
    }

    /// Checks a Merkle proof's kind, levels, arities, index ranges and field elements, and joins
    /// its paths into one.
    fn path(&self, merkle: Merkle, at: &Path<'_>) -> Result<MerkleProof, C1Error> {
        let (root, leaf, paths) = opened(merkle.data);
        let data_at = at.key("data");
        let (expected, got) = (kind(self.parts.len()), kind(paths.len()));
        if expected != got {
            let (path, size) = (data_at.to_string(), self.proof.size);
            return Err(C1Error::TreeKind { path, expected, got, size });
        }
        let at = data_at.key(got);
        canonical(&root, &at.key("root"))?;
        canonical(&leaf, &at.key("leaf"))?;
        let mut path = Vec::with_capacity(self.parts.iter().map(Vec::len).sum());
        for ((key, part), arities) in paths.into_iter().zip(&self.parts) {
            let part_at = at.key(key);
            let levels_at = part_at.key("path");
            count(self.proof, (part.path.len(), arities.len()), "levels", &levels_at)?;
            for (level, (element, &arity)) in part.path.iter().zip(arities).enumerate() {
                self.level(element, arity, &levels_at.index(level))?;
            }
            path.extend(part.path);
        }
        Ok(MerkleProof { root, leaf, path })
    }

    fn level(&self, element: &PathElement, arity: usize, at: &Path<'_>) -> Result<(), C1Error> {
        let hashes_at = at.key("hashes");
        count(self.proof, (element.hashes.len(), arity - 1), "siblings", &hashes_at)?;
        if element.index >= arity {
            let (path, got) = (at.key("index").to_string(), element.index as u64);
            return Err(C1Error::Number { path, expected: format!("a number below {arity}"), got });
        }
        all_canonical(&element.hashes, &hashes_at)
    }
}

/// Root, leaf and named paths of a Merkle proof.
fn opened(data: MerkleData) -> (Node, Node, Vec<(&'static str, InclusionPath)>) {
    match data {
        MerkleData::Single(single) => (single.root, single.leaf, vec![("path", single.path)]),
        MerkleData::Sub(sub) => {
            let paths = vec![("base_proof", sub.base_proof), ("sub_proof", sub.sub_proof)];
            (sub.root, sub.leaf, paths)
        }
        MerkleData::Top(top) => {
            let base = ("base_proof", top.base_proof);
            let paths = vec![base, ("sub_proof", top.sub_proof), ("top_proof", top.top_proof)];
            (top.root, top.leaf, paths)
        }
    }
}

/// The name of the proof kind that has `parts` paths.
const fn kind(parts: usize) -> &'static str {
    match parts {
        1 => "Single",
        2 => "Sub",
        _ => "Top",
    }
}

/// Checks a count, given as (got, expected).
fn count(
    proof: RegisteredProof,
    (got, expected): (usize, usize),
    what: &'static str,
    at: &Path<'_>,
) -> Result<(), C1Error> {
    if got == expected {
        return Ok(());
    }
    Err(C1Error::Count { path: at.to_string(), what, expected, got, proof })
}

fn all_canonical(nodes: &[Node], at: &Path<'_>) -> Result<(), C1Error> {
    nodes.iter().enumerate().try_for_each(|(index, node)| canonical(node, &at.index(index)))
}

fn canonical(node: &Node, at: &Path<'_>) -> Result<(), C1Error> {
    if field::is_canonical(node) {
        return Ok(());
    }
    Err(C1Error::NotCanonical { path: at.to_string(), got: hex::encode(node) })
}

/// Checks that `got` is `expected`.
pub(super) fn equal(
    got: &Node,
    expected: &Node,
    what: &'static str,
    at: &Path<'_>,
) -> Result<(), C1Error> {
    if got == expected {
        return Ok(());
    }
    let (expected, got) = (hex::encode(expected), hex::encode(got));
    Err(C1Error::Mismatch { path: at.to_string(), what, expected, got })
}

/// Checks that all proofs of a tree claim one root, and that the roots give `comm_d` and `comm_r`.
fn roots(sector: &Sector, at: &Path<'_>, tag_at: &Path<'_>) -> Result<(), C1Error> {
    let first = &sector.partitions[0][0];
    let (comm_r_last, comm_c) = (first.comm_r_last_proof.root, first.column.inclusion.root);
    for (partition, proofs) in sector.partitions.iter().enumerate() {
        let partition_at = tag_at.index(partition);
        for (index, proof) in proofs.iter().enumerate() {
            let at = partition_at.index(index);
            let (data, replica) = (&proof.comm_d_proof.root, &proof.comm_r_last_proof.root);
            equal(data, &sector.comm_d, "the root comm_d", &at.key("comm_d_proofs"))?;
            let replica_at = at.key("comm_r_last_proof");
            equal(replica, &comm_r_last, "the first challenge's root", &replica_at)?;
            for (place, column) in proof.columns() {
                let root = &column.inclusion.root;
                equal(root, &comm_c, "the first column's root", &at.column(place))?;
            }
        }
    }
    let comm_r = hash::comm_r(&comm_c, &comm_r_last);
    equal(&sector.comm_r, &comm_r, "the hash of comm_c and comm_r_last", &at.key("comm_r"))
}
