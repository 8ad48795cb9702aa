//! Samples: Commit-Phase-1 outputs that verify although no sector was ever sealed.
//!
//! In: a registered proof, a seed and ids. Out: a [`Sector`] that the reference's vanilla
//! verification accepts, of any sector size, in seconds and some tens of megabytes.
//!
//! ```text
//! data/ ──> comm_d ──> replica_id ──> challenges, their parents ──> labels/ of the opened nodes
//!                                                     │                      │
//!         comm_r = H(comm_c, comm_r_last) <── replica/ columns and encoded leaves, tree/
//! ```
//!
//! A vanilla proof opens a few thousand of a sector's 2^30 nodes. What it lets a verifier recompute
//! is computed here in the same way; everything else, labels that are nobody's challenge and tree
//! nodes above none of the openings, is drawn from the seed. A sample therefore proves nothing,
//! but costs a prover what a sealed sector costs. It works because the challenges follow from
//! replica_id and the interactive seed alone; where they depend on comm_r (synthetic and
//! non-interactive proofs) there is no sample.

mod data;
mod labels;
mod random;
mod replica;
#[cfg(test)]
mod tests;
mod tree;

use blstrs::Scalar as Fr;
use filecoin_hashers::poseidon::PoseidonHasher;
use storage_proofs_porep::stacked::generate_replica_id;

use crate::c1::{Node, Sector};
use crate::progress::Progress;
use crate::reference::{self, OpeningInputs};
use crate::sector::{ProofKind, RegisteredProof};
use data::DataTree;
use labels::Labels;
use random::{Place, Source};
use replica::Replica;

/// What the sector's data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Data {
    /// All zeros: committed capacity. Many witness bits are then equal in all partitions.
    Zeros,
    /// Random leaves, drawn from an alphabet of 256 and tiled in random order at every level.
    Tiled,
}

/// Who seals the sector and what challenges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleIds {
    /// The miner's actor id as an unsigned varint, padded with zeros.
    pub prover_id: Node,
    /// The sector number.
    pub sector_num: u64,
    /// Sealing ticket.
    pub ticket: Node,
    /// Interactive challenge seed; not all zeros.
    pub seed: Node,
}

impl SampleIds {
    /// The ids of lotus-bench: miner t01000, sector 1, ticket and seed 32 x 0x01.
    pub const LOTUS_BENCH: Self = {
        let mut prover_id = [0; 32];
        // 1000 in groups of seven bits, the low one first.
        prover_id[0] = 0xe8;
        prover_id[1] = 0x07;
        Self { prover_id, sector_num: 1, ticket: [1; 32], seed: [1; 32] }
    };

    /// Those of lotus-bench for seed 0; for another seed, its ticket and challenge seed instead.
    ///
    /// Without that the samples of all seeds would have the same challenges.
    pub fn for_seed(seed: u64) -> Self {
        if seed == 0 {
            return Self::LOTUS_BENCH;
        }
        let source = Source::new(seed);
        Self {
            ticket: source.node(Place::Ticket),
            seed: source.node(Place::ChallengeSeed),
            ..Self::LOTUS_BENCH
        }
    }
}

/// Which sample to make. Equal options give equal samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleOptions {
    /// The proof to register for: V1 or V1_1.
    pub registered_proof: RegisteredProof,
    /// What the sector's data is.
    pub data: Data,
    /// Determines everything random.
    pub seed: u64,
    /// Who seals the sector and what challenges it.
    pub ids: SampleIds,
    /// The porep id, which the graph follows from.
    pub porep_id: Node,
}

impl SampleOptions {
    /// Zero data, the ids of the seed and the network's porep id.
    pub fn new(registered_proof: RegisteredProof, seed: u64) -> Self {
        Self {
            registered_proof,
            data: Data::Zeros,
            seed,
            ids: SampleIds::for_seed(seed),
            porep_id: registered_proof.default_porep_id(),
        }
    }
}

/// Why there is no sample.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// The challenges are not known before the replica is.
    #[error(
        "`{registered_proof}` has no samples: its challenges follow from comm_r, and in a sample \
         comm_r follows from the challenges\n\
         hint: `StackedDrg{}V1_1` and `StackedDrg{}V1` have samples",
        .registered_proof.size, .registered_proof.size
    )]
    ChallengesNeedReplica {
        /// The synthetic or non-interactive proof that was asked for.
        registered_proof: RegisteredProof,
    },
    /// The reference and its users refuse an interactive seed of zeros.
    #[error("the challenge seed is all zeros, which every prover refuses")]
    ZeroSeed,
    /// The reference gave no graph.
    #[error("cannot find the challenges of {registered_proof}")]
    Graph {
        /// The proof whose graph was asked for.
        registered_proof: RegisteredProof,
        /// What the reference says.
        #[source]
        source: anyhow::Error,
    },
}

/// Makes a sample.
///
/// # Errors
/// For a synthetic or non-interactive proof, and for a challenge seed of zeros.
pub fn generate(options: &SampleOptions, progress: &dyn Progress) -> Result<Sector, SampleError> {
    let SampleOptions { registered_proof, data, ids, porep_id, .. } = *options;
    if registered_proof.kind() != ProofKind::Interactive {
        return Err(SampleError::ChallengesNeedReplica { registered_proof });
    }
    if ids.seed == Node::default() {
        return Err(SampleError::ZeroSeed);
    }
    let size = registered_proof.size;
    let source = Source::new(options.seed);
    let data = DataTree::new(data, size.data_levels(), &source);
    let replica_id = generate_replica_id::<PoseidonHasher, _>(
        &ids.prover_id,
        ids.sector_num,
        &ids.ticket,
        data.root(),
        &porep_id,
    );
    let replica_id = Fr::from(replica_id).to_bytes_le();
    let openings = reference::openings(&OpeningInputs {
        proof: registered_proof,
        porep_id,
        replica_id,
        // It takes no part where the seed draws the challenges.
        comm_r: Node::default(),
        seed: ids.seed,
    })
    .map_err(|source| SampleError::Graph { registered_proof, source })?;
    let labels = Labels::new(openings.iter().flatten(), size.layers(), replica_id, &source);
    let replica = Replica::new(size, data, labels, &openings, &source, progress);
    Ok(Sector {
        registered_proof,
        comm_r: replica.comm_r(),
        comm_d: replica.comm_d(),
        replica_id,
        seed: ids.seed,
        ticket: ids.ticket,
        porep_id,
        partitions: replica.prove(&openings, progress),
    })
}
