//! What can be wrong with a C1 file.

use crate::sector::{RegisteredProof, SectorSize};

/// A fault of a C1 file. `path` is the JSON path of the value, from the top of the file; values
/// inside a base64 string are named as if it were their parent object.
#[derive(Debug, thiserror::Error)]
pub enum C1Error {
    /// No bytes at all.
    #[error("expected a C1 file, got an empty input")]
    Empty,
    /// More bytes than any C1 has.
    #[error("expected at most {limit} bytes, got {bytes}")]
    TooLarge {
        /// Length of the input.
        bytes: usize,
        /// [`super::INPUT_BYTES_MAX`].
        limit: usize,
    },
    /// An HTML or XML page.
    #[error(
        "expected JSON, got an HTML or XML page\n\
         hint: a download may have been answered with an error page"
    )]
    Markup,
    /// Something else than a JSON object.
    #[error("expected a JSON object, got something that starts with `{start}`")]
    NotAnObject {
        /// The first bytes, escaped.
        start: String,
    },
    /// The JSON ends too early.
    #[error(
        "{path}: the JSON ends in the middle of this value, at byte {offset} of {document}\n\
         hint: the file is truncated; copy it again"
    )]
    Truncated {
        /// Where.
        path: String,
        /// Bytes there were.
        offset: usize,
        /// Which text the offset counts in.
        document: &'static str,
    },
    /// Not JSON, or a value of the wrong type or length.
    #[error("{path}: {message}, at byte {offset} of {document}")]
    Json {
        /// Where.
        path: String,
        /// What the parser says.
        message: String,
        /// Byte offset of the fault.
        offset: usize,
        /// Which text the offset counts in.
        document: &'static str,
    },
    /// None of the shapes that are known.
    #[error(
        "expected a C1 file, got a JSON object with none of the keys `Phase1Out`, `PoRep`, \
         `c1out`, `vanilla_proofs`{note}"
    )]
    UnknownShape {
        /// What the object looks like instead, or empty.
        note: &'static str,
    },
    /// The keys of several shapes at once.
    #[error("expected one C1 in the file, got both `{first}` and `{second}`")]
    AmbiguousShape {
        /// A key of one shape.
        first: &'static str,
        /// A key of another.
        second: &'static str,
    },
    /// A key that the shape must have is absent.
    #[error("expected the key `{path}` beside `{beside}`, got none")]
    MissingKey {
        /// The absent key.
        path: &'static str,
        /// The key that told the shape.
        beside: &'static str,
    },
    /// The base64 text does not decode.
    #[error("{path}: expected base64")]
    Base64 {
        /// Where.
        path: &'static str,
        /// The decoder's reason.
        source: base64::DecodeError,
    },
    /// `registered_proof` is none of the 20 names.
    #[error("{path}: {reason}")]
    RegisteredProof {
        /// Where.
        path: String,
        /// What was expected.
        reason: String,
    },
    /// The tag of `vanilla_proofs` is not the one for the sector size.
    #[error("{path}: expected the key `{expected}` for {proof}, got `{got}`")]
    Tag {
        /// Where.
        path: String,
        /// The tag that `proof` has.
        expected: String,
        /// The registered proof that the file states.
        proof: RegisteredProof,
        /// The tag in the file.
        got: String,
    },
    /// `SectorSize` disagrees with `registered_proof`.
    #[error("{path}: expected {} bytes for {expected}, got {got}", expected.size.bytes())]
    SectorSize {
        /// Where.
        path: &'static str,
        /// The registered proof that the file states.
        expected: RegisteredProof,
        /// The size in the file, in bytes.
        got: u64,
    },
    /// The output of the first stage of a synthetic PoRep.
    #[error(
        "{path}: the partitions are empty and the seed is zero: this is the first stage of a \
         synthetic PoRep, which has no challenges yet\n\
         hint: run commit phase 1 again with the chain's seed and prove its output"
    )]
    SyntheticFirstStage {
        /// Where.
        path: String,
    },
    /// 32 zero bytes where the protocol refuses them.
    #[error("{path}: expected {what}, got 32 zero bytes")]
    Zero {
        /// Where.
        path: String,
        /// What should be there.
        what: &'static str,
    },
    /// An array of the wrong length.
    #[error("{path}: expected {expected} {what} for {proof}, got {got}")]
    Count {
        /// Where.
        path: String,
        /// What is counted.
        what: &'static str,
        /// How many there must be.
        expected: usize,
        /// How many there are.
        got: usize,
        /// The registered proof that the file states.
        proof: RegisteredProof,
    },
    /// A Merkle proof of another tree shape.
    #[error("{path}: expected a `{expected}` proof for {size}, got `{got}`")]
    TreeKind {
        /// Where.
        path: String,
        /// `Single`, `Sub` or `Top`.
        expected: &'static str,
        /// The one in the file.
        got: &'static str,
        /// The sector size.
        size: SectorSize,
    },
    /// A number that is fixed by its place in the file, or out of range.
    #[error("{path}: expected {expected}, got {got}")]
    Number {
        /// Where.
        path: String,
        /// The number or range.
        expected: String,
        /// The number in the file.
        got: u64,
    },
    /// 32 bytes that are not below the field's modulus.
    #[error("{path}: expected a field element, got 0x{got} (little-endian), not below the modulus")]
    NotCanonical {
        /// Where.
        path: String,
        /// The bytes in hex.
        got: String,
    },
    /// Two values that must be equal are not.
    #[error("{path}: expected {what} 0x{expected}, got 0x{got}")]
    Mismatch {
        /// Where.
        path: String,
        /// What is expected.
        what: &'static str,
        /// The bytes expected, in hex.
        expected: String,
        /// The bytes in the file, in hex.
        got: String,
    },
    /// A partition that stands in another's place.
    #[error("{path}: expected the challenges of partition {expected}, got those of {got}")]
    PartitionOrder {
        /// Where.
        path: String,
        /// The partition that belongs here.
        expected: usize,
        /// The partition that stands here.
        got: usize,
    },
    /// A path that opens another node than the challenge.
    #[error(
        "{path}: expected the path of challenged node {expected}, got that of {got}\n\
         hint: {fixed_by} fix the challenges; one of them is not of this proof"
    )]
    Challenge {
        /// Where.
        path: String,
        /// The challenge.
        expected: u64,
        /// The node that the path opens.
        got: u64,
        /// What the challenges follow from.
        fixed_by: &'static str,
    },
    /// Parents that another porep id or proof version gives.
    #[error(
        "{path}: expected the column of parent {expected}, got that of {got}\n\
         hint: {proof} and porep id 0x{porep_id} fix the parents; {fits}"
    )]
    Parent {
        /// Where.
        path: String,
        /// The parent's node.
        expected: u64,
        /// The node in the file.
        got: u64,
        /// The registered proof that the file states.
        proof: RegisteredProof,
        /// The porep id in use, in hex.
        porep_id: String,
        /// What would fit instead.
        fits: String,
    },
    /// The reference refused to make a graph.
    #[error("cannot derive challenges and parents: {reason}")]
    Graph {
        /// The reference's reason.
        reason: String,
    },
    /// Two sources of one id disagree.
    #[error("{first} says {first_id}, but {second} says {second_id}")]
    IdConflict {
        /// One source.
        first: &'static str,
        /// Its id.
        first_id: String,
        /// Another source.
        second: &'static str,
        /// Its id.
        second_id: String,
    },
    /// The ids do not give `replica_id`.
    #[error(
        "replica_id is not the one of miner {miner}, sector {sector}, the ticket, comm_d and \
         porep id 0x{porep_id}\nhint: {fits}"
    )]
    ReplicaId {
        /// The miner's actor id, or the prover id in hex.
        miner: String,
        /// The sector number.
        sector: u64,
        /// The porep id in use, in hex.
        porep_id: String,
        /// What would fit instead.
        fits: String,
    },
    /// No id below the search's end gives `replica_id`.
    #[error(
        "no {what} below {limit} gives the replica_id together with {known}, the ticket, comm_d \
         and porep id 0x{porep_id}\n\
         hint: one of these is wrong, or the {what} is larger: give it with {option}"
    )]
    NotFound {
        /// What was searched.
        what: &'static str,
        /// The search's end.
        limit: u64,
        /// The other id.
        known: String,
        /// The porep id in use, in hex.
        porep_id: String,
        /// The option that states the id.
        option: &'static str,
    },
    /// A vanilla proof does not verify.
    #[error("partition {partition}, challenge {challenge}: {check} is wrong")]
    Vanilla {
        /// Partition, from 0.
        partition: usize,
        /// Challenge in the partition, from 0.
        challenge: usize,
        /// Which check failed.
        check: &'static str,
        /// The value and what it should be.
        #[source]
        fault: Box<C1Error>,
    },
}
