//! Sector sizes, registered proofs, and the numbers of the PoRep circuit that follow from them.
//!
//! Everything here is a protocol constant. Sources: `filecoin-proofs` 19.1 `constants.rs`
//! (partitions, challenges, layers, degrees), `filecoin-proofs-api` 19.1 `registry.rs` (names and
//! numbers of the registered proofs).

use std::fmt;
use std::str::FromStr;

/// Bytes of a node: a label, a hash or a field element.
pub const NODE_BYTES: usize = 32;
/// DRG parents of a node, in the same layer (`BASE_DEGREE`).
pub const DRG_DEGREE: usize = 6;
/// Expander parents of a node, in the previous layer (`EXP_DEGREE`).
pub const EXP_DEGREE: usize = 8;
/// Parents that a label hashes: the 6 (+ 8) parents, repeated (`TOTAL_PARENTS`).
pub const LABEL_PARENTS: usize = 37;
/// Bytes of one Groth16 proof: A (48) + B (96) + C (48), compressed.
pub const PROOF_BYTES: usize = 192;
/// Public inputs of one challenge: comm_d path, 14 parents, the challenge, comm_r_last, comm_c.
pub const INPUTS_PER_CHALLENGE: usize = 18;

/// The five sector sizes of the network, test sizes included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SectorSize {
    /// 2 KiB, test networks.
    KiB2,
    /// 8 MiB, test networks.
    MiB8,
    /// 512 MiB, test networks.
    MiB512,
    /// 32 GiB, production.
    GiB32,
    /// 64 GiB, production.
    GiB64,
}

impl SectorSize {
    /// All sizes, smallest first.
    pub const ALL: [Self; 5] = [Self::KiB2, Self::MiB8, Self::MiB512, Self::GiB32, Self::GiB64];

    /// Sector size in bytes (padded).
    pub const fn bytes(self) -> u64 {
        match self {
            Self::KiB2 => 2 << 10,
            Self::MiB8 => 8 << 20,
            Self::MiB512 => 512 << 20,
            Self::GiB32 => 32 << 30,
            Self::GiB64 => 64 << 30,
        }
    }

    /// The size as the network writes it: `2KiB`, `32GiB`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::KiB2 => "2KiB",
            Self::MiB8 => "8MiB",
            Self::MiB512 => "512MiB",
            Self::GiB32 => "32GiB",
            Self::GiB64 => "64GiB",
        }
    }

    /// 32-byte nodes in a sector.
    pub const fn nodes(self) -> u64 {
        self.bytes() / NODE_BYTES as u64
    }

    /// Layers of the stacked graph.
    pub const fn layers(self) -> usize {
        if self.is_production() { 11 } else { 2 }
    }

    /// Challenges in one partition: the circuit's only other dimension.
    pub const fn challenges_per_partition(self) -> usize {
        if self.is_production() { 18 } else { 2 }
    }

    /// Public inputs of one partition's circuit, ONE included.
    pub const fn inputs(self) -> usize {
        1 + 3 + self.challenges_per_partition() * INPUTS_PER_CHALLENGE
    }

    /// Whether the size is used on the main network (32 and 64 GiB).
    pub const fn is_production(self) -> bool {
        matches!(self, Self::GiB32 | Self::GiB64)
    }

    /// Arities of the replica and column trees (`comm_r_last`, `comm_c`), from the leaves up:
    /// one entry per level of a Merkle path.
    pub fn tree_arities(self) -> Vec<usize> {
        let (levels, sub, top): (usize, _, _) = match self {
            // 64 leaves.
            Self::KiB2 => (2, 0, 0),
            // 8^6 leaves.
            Self::MiB8 => (6, 0, 0),
            // 8^8 leaves.
            Self::MiB512 => (8, 0, 0),
            // Eight trees of 8^9 leaves.
            Self::GiB32 => (9, 8, 0),
            // Two groups of eight trees of 8^9 leaves.
            Self::GiB64 => (9, 8, 2),
        };
        let mut arities = vec![8; levels];
        arities.extend([sub, top].into_iter().filter(|&arity| arity > 0));
        arities
    }

    /// Trees stacked in a replica or column tree: base; base and sub; or base, sub and top.
    pub const fn replica_tree_parts(self) -> usize {
        match self {
            Self::KiB2 | Self::MiB8 | Self::MiB512 => 1,
            Self::GiB32 => 2,
            Self::GiB64 => 3,
        }
    }

    /// Levels of the binary data tree (`comm_d`).
    pub const fn data_levels(self) -> usize {
        self.nodes().trailing_zeros() as usize
    }

    /// Constraints, aux variables and dense queries of one partition's circuit.
    pub const fn circuit(self) -> CircuitNumbers {
        match self {
            Self::KiB2 => CircuitNumbers::new(2_687_921, 2_685_673, 2_674_908, 685_521, 22),
            Self::MiB8 => CircuitNumbers::new(3_844_929, 3_842_449, 3_814_996, 1_011_289, 22),
            Self::MiB512 => CircuitNumbers::new(4_423_433, 4_420_837, 4_385_040, 1_174_173, 23),
            Self::GiB32 => {
                CircuitNumbers::new(130_278_541, 130_169_893, 129_753_292, 33_112_281, 27)
            }
            Self::GiB64 => {
                CircuitNumbers::new(131_185_849, 131_076_643, 130_637_542, 33_386_943, 27)
            }
        }
    }
}

impl fmt::Display for SectorSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SectorSize {
    type Err = String;

    /// Accepts the name in any case (`32GiB`) or the number of bytes.
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|size| size.name().eq_ignore_ascii_case(text) || text.parse() == Ok(size.bytes()))
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::name).join(", ");
                format!("expected one of {names} or that many bytes, got `{text}`")
            })
    }
}

/// Sizes of one partition's circuit (`design.md` section 1; tests count the reference circuit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircuitNumbers {
    /// Rows, without the one row per input that Groth16 appends.
    pub constraints: u64,
    /// Private variables; also the length of the `l` query.
    pub aux: u64,
    /// Aux variables with a non-zero A polynomial.
    pub a_aux_dense: u64,
    /// Aux variables with a non-zero B polynomial.
    pub b_aux_dense: u64,
    /// log2 of the evaluation domain.
    pub log_n: u32,
}

impl CircuitNumbers {
    const fn new(constraints: u64, aux: u64, a: u64, b: u64, log_n: u32) -> Self {
        Self { constraints, aux, a_aux_dense: a, b_aux_dense: b, log_n }
    }
}

/// How challenges are drawn, and so which proofs of one size differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProofKind {
    /// Challenges from replica_id and the interactive seed.
    Interactive,
    /// Challenges chosen by the seed out of a set that comm_r fixes.
    Synthetic,
    /// Challenges from replica_id and comm_r; more partitions.
    NonInteractive,
}

/// One of the 20 registered seal proofs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegisteredProof {
    /// Sector size.
    pub size: SectorSize,
    /// Name suffix after the size; fixes API version and features.
    pub version: ProofVersion,
}

/// The version suffix of a registered proof's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProofVersion {
    /// `V1`: API 1.0.0, the original DRG sampling.
    V1,
    /// `V1_1`: API 1.1.0.
    V1_1,
    /// `V1_1_Feat_SyntheticPoRep`: API 1.2.0.
    Synthetic,
    /// `V1_2_Feat_NonInteractivePoRep`: API 1.2.0.
    NonInteractive,
}

impl ProofVersion {
    /// All versions in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::V1, Self::V1_1, Self::Synthetic, Self::NonInteractive];

    const fn suffix(self) -> &'static str {
        match self {
            Self::V1 => "V1",
            Self::V1_1 => "V1_1",
            Self::Synthetic => "V1_1_Feat_SyntheticPoRep",
            Self::NonInteractive => "V1_2_Feat_NonInteractivePoRep",
        }
    }
}

impl RegisteredProof {
    /// All 20 registered proofs, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        ProofVersion::ALL
            .into_iter()
            .flat_map(|version| SectorSize::ALL.into_iter().map(move |size| Self { size, version }))
    }

    /// The network's number (0 to 19); byte 0 of the default porep id.
    pub fn number(self) -> u8 {
        let index = Self::all().position(|proof| proof == self).expect("`all` lists every proof");
        index as u8
    }

    /// The porep id of production sectors: the number as u64 LE, nonce 0, rest 0.
    pub fn default_porep_id(self) -> [u8; NODE_BYTES] {
        let mut id = [0; NODE_BYTES];
        id[0] = self.number();
        id
    }

    /// How challenges are drawn.
    pub const fn kind(self) -> ProofKind {
        match self.version {
            ProofVersion::V1 | ProofVersion::V1_1 => ProofKind::Interactive,
            ProofVersion::Synthetic => ProofKind::Synthetic,
            ProofVersion::NonInteractive => ProofKind::NonInteractive,
        }
    }

    /// Partitions of a sector, each with a proof of its own.
    pub const fn partitions(self) -> usize {
        match (self.kind(), self.size.is_production()) {
            (ProofKind::NonInteractive, true) => 126,
            (ProofKind::NonInteractive, false) => 13,
            (_, true) => 10,
            (_, false) => 1,
        }
    }

    /// Bytes of a sector's proof file.
    pub const fn proof_bytes(self) -> usize {
        self.partitions() * PROOF_BYTES
    }

    /// The key of `vanilla_proofs` in a C1 file: it ends in `V1` for every version.
    pub fn vanilla_tag(self) -> String {
        format!("StackedDrg{}V1", self.size)
    }
}

impl fmt::Display for RegisteredProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StackedDrg{}{}", self.size, self.version.suffix())
    }
}

impl FromStr for RegisteredProof {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::all().find(|proof| proof.to_string() == text).ok_or_else(|| {
            let old = ["1KiB", "16MiB", "256MiB", "1GiB"]
                .iter()
                .any(|size| text.starts_with(&format!("StackedDrg{size}")));
            if old {
                format!("`{text}` is a pre-mainnet proof type that no network uses any more")
            } else {
                format!(
                    "expected StackedDrg{{2KiB,8MiB,512MiB,32GiB,64GiB}} followed by {}, got `{text}`",
                    ProofVersion::ALL.map(ProofVersion::suffix).join(", ")
                )
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_numbers_follow_the_registry() {
        for (index, proof) in RegisteredProof::all().enumerate() {
            assert_eq!(proof.to_string().parse(), Ok(proof));
            assert_eq!(usize::from(proof.number()), index);
        }
        let proof: RegisteredProof = "StackedDrg32GiBV1_1".parse().expect("a registered name");
        assert_eq!((proof.number(), proof.partitions(), proof.proof_bytes()), (8, 10, 1920));
    }

    #[test]
    fn tree_shapes_cover_every_node() {
        for size in SectorSize::ALL {
            let leaves: u64 = size.tree_arities().iter().map(|&arity| arity as u64).product();
            assert_eq!(leaves, size.nodes(), "{size}");
            assert_eq!(1 << size.data_levels(), size.nodes(), "{size}");
            let circuit = size.circuit();
            assert!(circuit.constraints + size.inputs() as u64 <= 1 << circuit.log_n);
        }
    }
}
