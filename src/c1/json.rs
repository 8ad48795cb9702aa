//! The JSON of a Phase-1 output, read and written.
//!
//! The wire types follow `SealCommitPhase1Output` of `filecoin-proofs-api` 19.1 field by field.
//! Every array has an upper bound while it is read, so that a file cannot ask for much more
//! memory than its own length; exact lengths are for `check.rs`, which knows the sector size.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::C1Error;
use super::parallel;
use super::path::{self, at_offset};
use super::{ChallengeProof, ColumnProof, LabelingProof, MerkleProof, Node, PathElement, Sector};
use crate::sector::{DRG_DEGREE, EXP_DEGREE, NODE_BYTES};

/// Most partitions that a proof has (non-interactive, 32 and 64 GiB).
pub(super) const PARTITIONS_MAX: usize = 126;
/// Most challenges in a partition.
const CHALLENGES_MAX: usize = 18;
/// Most layers.
const LAYERS_MAX: usize = 11;
/// Longest Merkle path: the data tree of 64 GiB.
const LEVELS_MAX: usize = 31;
/// Most siblings of a node in a tree.
pub(super) const SIBLINGS_MAX: usize = 7;
/// Characters of a parser's message that are shown.
const MESSAGE_CHARS_MAX: usize = 200;

/// A text to parse and how its places are named.
pub(super) struct Document<'a> {
    /// The JSON.
    pub(super) text: &'a [u8],
    /// What goes before its paths.
    pub(super) prefix: &'static str,
    /// The text that offsets count in.
    pub(super) name: &'static str,
    /// Where in that text `text` begins.
    pub(super) start: usize,
}

impl<'a> Document<'a> {
    /// Parses the text as a Phase-1 output.
    pub(super) fn output(&self) -> Result<Phase1Output, C1Error> {
        parallel::output(self.text).map_or_else(|| self.parse(), Ok)
    }

    /// Parses the text as one JSON value with nothing after it.
    pub(super) fn parse<T: Deserialize<'a>>(&self) -> Result<T, C1Error> {
        serde_json::from_slice(self.text).map_err(|error| self.located(&error))
    }

    /// Gives a parser's error its JSON path and byte offset.
    fn located(&self, error: &serde_json::Error) -> C1Error {
        let offset = byte_offset(self.text, error.line(), error.column());
        let path = at_offset(self.prefix, self.text, offset);
        let (offset, document) = (self.start + offset, self.name);
        if error.is_eof() {
            return C1Error::Truncated { path, offset, document };
        }
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(&*message, |(reason, _)| reason);
        C1Error::Json {
            path,
            message: path::printable(message, MESSAGE_CHARS_MAX),
            offset,
            document,
        }
    }
}

/// Bytes before a line and column as `serde_json` counts them (line from 1, column in bytes).
fn byte_offset(text: &[u8], line: usize, column: usize) -> usize {
    let line_start = text
        .split_inclusive(|&byte| byte == b'\n')
        .take(line.saturating_sub(1))
        .map(<[u8]>::len)
        .sum::<usize>();
    text.len().min(line_start + column)
}

/// `SealCommitPhase1Output`.
#[derive(Deserialize)]
pub(super) struct Phase1Output<P = Bounded<Partition, PARTITIONS_MAX>> {
    pub(super) registered_proof: String,
    pub(super) vanilla_proofs: VanillaProofs<P>,
    #[serde(deserialize_with = "node")]
    pub(super) comm_r: Node,
    #[serde(deserialize_with = "node")]
    pub(super) comm_d: Node,
    #[serde(deserialize_with = "node")]
    pub(super) replica_id: Node,
    #[serde(deserialize_with = "node")]
    pub(super) seed: Node,
    #[serde(deserialize_with = "node")]
    pub(super) ticket: Node,
}

/// `VanillaSealProof`: an object whose one key tells the sector size.
pub(super) struct VanillaProofs<P> {
    pub(super) tag: String,
    pub(super) partitions: P,
}

/// One partition's challenges.
pub(super) type Partition = Bounded<Challenge, CHALLENGES_MAX>;

/// One challenge of `stacked::Proof`.
#[derive(Deserialize, Serialize)]
pub(super) struct Challenge {
    pub(super) comm_d_proofs: Merkle,
    pub(super) comm_r_last_proof: Merkle,
    pub(super) replica_column_proofs: ReplicaColumns,
    #[serde(deserialize_with = "bounded::<_, _, LAYERS_MAX>")]
    pub(super) labeling_proofs: Vec<LabelingProof>,
    pub(super) encoding_proof: LabelingProof,
}

/// `ReplicaColumnProof`.
#[derive(Deserialize, Serialize)]
pub(super) struct ReplicaColumns {
    pub(super) c_x: Column,
    #[serde(deserialize_with = "bounded::<_, _, DRG_DEGREE>")]
    pub(super) drg_parents: Vec<Column>,
    #[serde(deserialize_with = "bounded::<_, _, EXP_DEGREE>")]
    pub(super) exp_parents: Vec<Column>,
}

/// `ColumnProof`.
#[derive(Deserialize, Serialize)]
pub(super) struct Column {
    pub(super) column: ColumnRows,
    pub(super) inclusion_proof: Merkle,
}

/// `Column`, with its marker `_h`, which is written as null and not read.
#[derive(Deserialize, Serialize)]
pub(super) struct ColumnRows {
    pub(super) index: u32,
    #[serde(deserialize_with = "nodes::<_, LAYERS_MAX>")]
    pub(super) rows: Vec<Node>,
    #[serde(rename = "_h", skip_deserializing)]
    marker: (),
}

/// `MerkleProof`.
#[derive(Deserialize, Serialize)]
pub(super) struct Merkle {
    pub(super) data: MerkleData,
}

/// `ProofData`: one tree, trees under a tree, or trees under trees under a tree.
#[derive(Deserialize, Serialize)]
pub(super) enum MerkleData {
    Single(SingleProof),
    Sub(SubProof),
    Top(TopProof),
}

#[derive(Deserialize, Serialize)]
pub(super) struct SingleProof {
    #[serde(deserialize_with = "node")]
    pub(super) root: Node,
    #[serde(deserialize_with = "node")]
    pub(super) leaf: Node,
    pub(super) path: InclusionPath,
}

#[derive(Deserialize, Serialize)]
pub(super) struct SubProof {
    pub(super) base_proof: InclusionPath,
    pub(super) sub_proof: InclusionPath,
    #[serde(deserialize_with = "node")]
    pub(super) root: Node,
    #[serde(deserialize_with = "node")]
    pub(super) leaf: Node,
}

#[derive(Deserialize, Serialize)]
pub(super) struct TopProof {
    pub(super) base_proof: InclusionPath,
    pub(super) sub_proof: InclusionPath,
    pub(super) top_proof: InclusionPath,
    #[serde(deserialize_with = "node")]
    pub(super) root: Node,
    #[serde(deserialize_with = "node")]
    pub(super) leaf: Node,
}

/// `InclusionPath`.
#[derive(Deserialize, Serialize)]
pub(super) struct InclusionPath {
    #[serde(deserialize_with = "bounded::<_, _, LEVELS_MAX>")]
    pub(super) path: Vec<PathElement>,
}

/// An array of at most `MAX` elements.
pub(super) struct Bounded<T, const MAX: usize>(pub(super) Vec<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Bounded<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        bounded::<_, _, MAX>(deserializer).map(Self)
    }
}

/// Reads an array of at most `MAX` elements.
pub(super) fn bounded<'de, D, T, const MAX: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_seq(Elements::<_, MAX>(PhantomData::<T>))
}

/// Reads an array of at most `MAX` nodes.
pub(super) fn nodes<'de, D, const MAX: usize>(deserializer: D) -> Result<Vec<Node>, D::Error>
where
    D: Deserializer<'de>,
{
    deserializer.deserialize_seq(Elements::<_, MAX>(NodeReader))
}

/// Reads an array of exactly 32 bytes.
pub(super) fn node<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
    NodeReader.deserialize(deserializer)
}

/// Visits an array of at most `MAX` elements, each read by a copy of the seed.
struct Elements<S, const MAX: usize>(S);

impl<'de, S, const MAX: usize> Visitor<'de> for Elements<S, MAX>
where
    S: DeserializeSeed<'de> + Copy,
{
    type Value = Vec<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of at most {MAX} elements")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element_seed(self.0)? {
            if elements.len() == MAX {
                return Err(A::Error::invalid_length(MAX + 1, &self));
            }
            elements.push(element);
        }
        Ok(elements)
    }
}

/// Reads a node: an array of 32 integers below 256.
#[derive(Clone, Copy)]
struct NodeReader;

impl<'de> DeserializeSeed<'de> for NodeReader {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for NodeReader {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of 32 bytes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut node = [0; NODE_BYTES];
        for (index, byte) in node.iter_mut().enumerate() {
            *byte = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(index, &self))?;
        }
        match seq.next_element::<IgnoredAny>()? {
            None => Ok(node),
            Some(_) => Err(A::Error::invalid_length(NODE_BYTES + 1, &self)),
        }
    }
}

impl<'de, P: Deserialize<'de>> Deserialize<'de> for VanillaProofs<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneKey<P>(PhantomData<P>);

        impl<'de, P: Deserialize<'de>> Visitor<'de> for OneKey<P> {
            type Value = VanillaProofs<P>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with one key")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let tag = map.next_key()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
                let partitions = map.next_value()?;
                match map.next_key::<IgnoredAny>()? {
                    None => Ok(VanillaProofs { tag, partitions }),
                    Some(_) => Err(A::Error::invalid_length(2, &self)),
                }
            }
        }

        deserializer.deserialize_map(OneKey(PhantomData))
    }
}

impl Serialize for Sector {
    /// Writes the bare Phase-1 output (shape S3), byte for byte as the reference does.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(7))?;
        map.serialize_entry("registered_proof", &self.registered_proof.to_string())?;
        map.serialize_entry("vanilla_proofs", &TaggedProofs(self))?;
        map.serialize_entry("comm_r", &self.comm_r)?;
        map.serialize_entry("comm_d", &self.comm_d)?;
        map.serialize_entry("replica_id", &self.replica_id)?;
        map.serialize_entry("seed", &self.seed)?;
        map.serialize_entry("ticket", &self.ticket)?;
        map.end()
    }
}

struct TaggedProofs<'a>(&'a Sector);

impl Serialize for TaggedProofs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(&self.0.registered_proof.vanilla_tag(), &Partitions(self.0))?;
        map.end()
    }
}

/// Partitions as the reference's vanilla proofs; one challenge at a time is converted.
pub(crate) struct Partitions<'a>(pub(crate) &'a Sector);

impl Serialize for Partitions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = self.0.registered_proof.size.replica_tree_parts();
        serializer.collect_seq(
            self.0.partitions.iter().map(|challenges| Challenges { challenges, parts }),
        )
    }
}

struct Challenges<'a> {
    challenges: &'a [ChallengeProof],
    parts: usize,
}

impl Serialize for Challenges<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_seq(self.challenges.iter().map(|proof| Challenge::new(proof, self.parts)))
    }
}

impl Challenge {
    /// The wire form; replica trees consist of `parts` paths (1 to 3).
    fn new(proof: &ChallengeProof, parts: usize) -> Self {
        let columns = |columns: &[ColumnProof]| -> Vec<Column> {
            columns.iter().map(|column| Column::new(column, parts)).collect()
        };
        Self {
            comm_d_proofs: Merkle::new(&proof.comm_d_proof, 1),
            comm_r_last_proof: Merkle::new(&proof.comm_r_last_proof, parts),
            replica_column_proofs: ReplicaColumns {
                c_x: Column::new(&proof.column, parts),
                drg_parents: columns(&proof.drg_parents),
                exp_parents: columns(&proof.exp_parents),
            },
            labeling_proofs: proof.labeling_proofs.clone(),
            encoding_proof: proof.encoding_proof.clone(),
        }
    }
}

impl Column {
    fn new(column: &ColumnProof, parts: usize) -> Self {
        Self {
            column: ColumnRows { index: column.index, rows: column.rows.clone(), marker: () },
            inclusion_proof: Merkle::new(&column.inclusion, parts),
        }
    }
}

impl Merkle {
    fn new(proof: &MerkleProof, parts: usize) -> Self {
        let (root, leaf) = (proof.root, proof.leaf);
        let base_levels = proof.path.len() + 1 - parts;
        let part = |levels: &[PathElement]| InclusionPath { path: levels.to_vec() };
        let base_proof = part(&proof.path[..base_levels]);
        let data = match parts {
            1 => MerkleData::Single(SingleProof { root, leaf, path: base_proof }),
            2 => {
                let sub_proof = part(&proof.path[base_levels..]);
                MerkleData::Sub(SubProof { base_proof, sub_proof, root, leaf })
            }
            _ => {
                let sub_proof = part(&proof.path[base_levels..=base_levels]);
                let top_proof = part(&proof.path[base_levels + 1..]);
                MerkleData::Top(TopProof { base_proof, sub_proof, top_proof, root, leaf })
            }
        };
        Self { data }
    }
}
