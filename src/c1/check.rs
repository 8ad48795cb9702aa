//! From parsed JSON to a [`Sector`]: sizes, counts, ranges and values that must agree.
//!
//! Everything here follows from `registered_proof` and from the file itself; what follows from
//! the protocol's graph is in `graph.rs`, and what needs hashing in `vanilla.rs`.

use super::error::C1Error;
use super::json::{Challenge, Column, Merkle, MerkleData, Phase1Output, VanillaProofs};
use super::path::Path;
use super::{ChallengeProof, ColumnProof, LabelingProof, MerkleProof, Node, PathElement, Sector};
use crate::field;
use crate::sector::{
    DRG_DEGREE, EXP_DEGREE, LABEL_PARENTS, ProofKind, RegisteredProof, SectorSize,
};

/// The shape that a tree's Merkle proofs must have.
struct Tree {
    /// Arities from the leaves up, for each path of the proof: base, sub, top.
    parts: Vec<Vec<usize>>,
}

impl Tree {
    fn data(size: SectorSize) -> Self {
        Self { parts: vec![vec![2; size.data_levels()]] }
    }

    fn replica(size: SectorSize) -> Self {
        let mut base = size.tree_arities();
        let upper = base.split_off(base.len() + 1 - size.replica_tree_parts());
        let parts = std::iter::once(base).chain(upper.into_iter().map(|arity| vec![arity]));
        Self { parts: parts.collect() }
    }

    /// The proof kind's name for a number of paths.
    const fn kind(parts: usize) -> &'static str {
        match parts {
            1 => "Single",
            2 => "Sub",
            _ => "Top",
        }
    }
}

/// Turns a parsed output into a checked sector; `at` is where the output stands.
pub(super) fn sector(
    output: Phase1Output<'_>,
    porep_id: Option<Node>,
    at: &Path<'_>,
) -> Result<Sector, C1Error> {
    let proof = registered_proof(&output.registered_proof, at)?;
    let vanilla_at = at.key("vanilla_proofs");
    let VanillaProofs { tag, partitions } = output.vanilla_proofs;
    if tag != proof.vanilla_tag() {
        let (path, expected) = (vanilla_at.to_string(), proof.vanilla_tag());
        return Err(C1Error::Tag { path, expected, proof, got: super::path::printable(&tag, 64) });
    }
    let is_empty = partitions.iter().all(|partition| partition.0.is_empty());
    if proof.kind() == ProofKind::Synthetic && output.seed == [0; 32] && is_empty {
        return Err(C1Error::SyntheticFirstStage { path: vanilla_at.to_string() });
    }
    for (key, value) in
        [("comm_r", &output.comm_r), ("comm_d", &output.comm_d), ("seed", &output.seed)]
    {
        if *value == [0; 32] {
            let what = if key == "seed" { "a challenge seed" } else { "a commitment" };
            return Err(C1Error::Zero { path: at.key(key).to_string(), what });
        }
    }
    for (key, value) in
        [("comm_r", &output.comm_r), ("comm_d", &output.comm_d), ("replica_id", &output.replica_id)]
    {
        canonical(value, &at.key(key))?;
    }
    let checker = Checker::new(proof);
    let tag_at = vanilla_at.key(&tag);
    checker.count(partitions.len(), proof.partitions(), "partitions", &tag_at)?;
    let partitions = partitions
        .into_iter()
        .enumerate()
        .map(|(index, partition)| checker.partition(partition.0, &tag_at.index(index)))
        .collect::<Result<_, _>>()?;
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
    roots(&sector, &tag_at)?;
    Ok(sector)
}

fn registered_proof(name: &str, at: &Path<'_>) -> Result<RegisteredProof, C1Error> {
    name.parse().map_err(|reason: String| C1Error::RegisteredProof {
        path: at.key("registered_proof").to_string(),
        reason: super::path::printable(&reason, 300),
    })
}

/// Checks the parts of a sector against its registered proof.
struct Checker {
    proof: RegisteredProof,
    data_tree: Tree,
    replica_tree: Tree,
}

impl Checker {
    fn new(proof: RegisteredProof) -> Self {
        Self { proof, data_tree: Tree::data(proof.size), replica_tree: Tree::replica(proof.size) }
    }

    fn count(
        &self,
        got: usize,
        expected: usize,
        what: &'static str,
        at: &Path<'_>,
    ) -> Result<(), C1Error> {
        if got == expected {
            return Ok(());
        }
        Err(C1Error::Count { path: at.to_string(), what, expected, got, proof: self.proof })
    }

    fn partition(
        &self,
        challenges: Vec<Challenge>,
        at: &Path<'_>,
    ) -> Result<Vec<ChallengeProof>, C1Error> {
        let expected = self.proof.size.challenges_per_partition();
        self.count(challenges.len(), expected, "challenges", at)?;
        let checked = challenges
            .into_iter()
            .enumerate()
            .map(|(index, challenge)| self.challenge(challenge, &at.index(index)));
        checked.collect()
    }

    fn challenge(&self, challenge: Challenge, at: &Path<'_>) -> Result<ChallengeProof, C1Error> {
        let columns_at = at.key("replica_column_proofs");
        let columns = challenge.replica_column_proofs;
        let proof = ChallengeProof {
            comm_d_proof: merkle(
                challenge.comm_d_proofs,
                &self.data_tree,
                self.proof,
                &at.key("comm_d_proofs"),
            )?,
            comm_r_last_proof: merkle(
                challenge.comm_r_last_proof,
                &self.replica_tree,
                self.proof,
                &at.key("comm_r_last_proof"),
            )?,
            column: self.column(columns.c_x, &columns_at.key("c_x"))?,
            drg_parents: self.parents(
                columns.drg_parents,
                DRG_DEGREE,
                &columns_at.key("drg_parents"),
            )?,
            exp_parents: self.parents(
                columns.exp_parents,
                EXP_DEGREE,
                &columns_at.key("exp_parents"),
            )?,
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
        let checked = columns
            .into_iter()
            .enumerate()
            .map(|(index, column)| self.column(column, &at.index(index)));
        checked.collect()
    }

    fn column(&self, column: Column, at: &Path<'_>) -> Result<ColumnProof, C1Error> {
        let column_at = at.key("column");
        let rows_at = column_at.key("rows");
        let (index, rows) = (column.column.index, column.column.rows);
        self.count(rows.len(), self.proof.size.layers(), "rows", &rows_at)?;
        all_canonical(&rows, &rows_at)?;
        let inclusion_at = at.key("inclusion_proof");
        let inclusion =
            merkle(column.inclusion_proof, &self.replica_tree, self.proof, &inclusion_at)?;
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
            let path = at.key("layer_index").to_string();
            return Err(C1Error::Number {
                path,
                expected: format!("layer {layer}"),
                got: label.layer_index.into(),
            });
        }
        let parents_at = at.key("parents");
        self.count(label.parents.len(), LABEL_PARENTS, "parents", &parents_at)?;
        let expected = label_parents(proof, layer);
        for (index, (got, expected)) in
            label.parents.iter().zip(expected.iter().cycle()).enumerate()
        {
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

/// Checks a Merkle proof's kind, levels, arities, index ranges and field elements, and joins its
/// paths.
fn merkle(
    proof: Merkle,
    tree: &Tree,
    registered: RegisteredProof,
    at: &Path<'_>,
) -> Result<MerkleProof, C1Error> {
    let data_at = at.key("data");
    let (root, leaf, paths) = match proof.data {
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
    };
    let (expected, got) = (Tree::kind(tree.parts.len()), Tree::kind(paths.len()));
    if expected != got {
        let (path, size) = (data_at.to_string(), registered.size);
        return Err(C1Error::TreeKind { path, expected, got, size });
    }
    let at = data_at.key(got);
    canonical(&root, &at.key("root"))?;
    canonical(&leaf, &at.key("leaf"))?;
    let mut joined = Vec::with_capacity(tree.parts.iter().map(Vec::len).sum());
    for ((key, part), arities) in paths.into_iter().zip(&tree.parts) {
        let part_at = at.key(key);
        let levels_at = part_at.key("path");
        if part.path.len() != arities.len() {
            return Err(C1Error::Count {
                path: levels_at.to_string(),
                what: "levels",
                expected: arities.len(),
                got: part.path.len(),
                proof: registered,
            });
        }
        for (level, (element, &arity)) in part.path.iter().zip(arities).enumerate() {
            path_element(element, arity, registered, &levels_at.index(level))?;
        }
        joined.extend(part.path);
    }
    Ok(MerkleProof { root, leaf, path: joined })
}

fn path_element(
    element: &PathElement,
    arity: usize,
    proof: RegisteredProof,
    at: &Path<'_>,
) -> Result<(), C1Error> {
    let hashes_at = at.key("hashes");
    let (got, expected) = (element.hashes.len(), arity - 1);
    if got != expected {
        return Err(C1Error::Count {
            path: hashes_at.to_string(),
            what: "siblings",
            expected,
            got,
            proof,
        });
    }
    if element.index >= arity {
        let path = at.key("index").to_string();
        let expected = format!("a position below {arity}");
        return Err(C1Error::Number { path, expected, got: element.index as u64 });
    }
    all_canonical(&element.hashes, &hashes_at)
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

/// Checks that all proofs of a tree claim one root, and the data tree's is `comm_d`.
fn roots(sector: &Sector, at: &Path<'_>) -> Result<(), C1Error> {
    let first = &sector.partitions[0][0];
    let (comm_r_last, comm_c) = (first.comm_r_last_proof.root, first.column.inclusion.root);
    for (partition, proofs) in sector.partitions.iter().enumerate() {
        let at = at.index(partition);
        for (index, proof) in proofs.iter().enumerate() {
            let at = at.index(index);
            equal(
                &proof.comm_d_proof.root,
                &sector.comm_d,
                "the root comm_d",
                &at.key("comm_d_proofs"),
            )?;
            let replica_at = at.key("comm_r_last_proof");
            equal(
                &proof.comm_r_last_proof.root,
                &comm_r_last,
                "the first challenge's root",
                &replica_at,
            )?;
            for (place, column) in proof.columns() {
                let root = &column.inclusion.root;
                equal(root, &comm_c, "the first column's root", &at.column(place))?;
            }
        }
    }
    Ok(())
}
