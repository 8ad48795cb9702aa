//! Sectors of `testdata/` as upstream understands them: no code of ours reads them here.

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use blstrs::Scalar;
use filecoin_hashers::poseidon::{PoseidonDomain, PoseidonHasher};
use filecoin_hashers::sha256::Sha256Domain;
use filecoin_proofs::constants::DefaultPieceHasher;
use filecoin_proofs::parameters::setup_params;
use filecoin_proofs::with_shape;
use filecoin_proofs_api::RegisteredSealProof;
use filecoin_proofs_api::seal::{SealCommitPhase1Output, get_seal_inputs};
use serde_json::Value;
use storage_proofs_core::compound_proof::{CompoundProof, PublicParams, SetupParams};
use storage_proofs_core::merkle::MerkleTreeTrait;
use storage_proofs_core::parameter_cache::verifying_key_id;
use storage_proofs_porep::stacked::{
    PublicInputs, StackedCompound, StackedDrg, Tau, generate_replica_id,
};

use super::files::fixture;

/// Trees of a sector size, of those that `with_shape!` knows.
pub trait Shape: 'static + MerkleTreeTrait<Hasher = PoseidonHasher> {}
impl<Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>> Shape for Tree {}

/// Upstream's whole proof: circuit, prover and verifier.
pub type Compound<Tree> = StackedCompound<Tree, DefaultPieceHasher>;
type Drg<Tree> = StackedDrg<'static, Tree, DefaultPieceHasher>;
type Inputs = PublicInputs<PoseidonDomain, Sha256Domain>;

/// Prover id of miner t01000, which sealed every fixture.
pub const PROVER_ID: [u8; 32] = {
    let mut id = [0; 32];
    [id[0], id[1]] = [0xe8, 0x07];
    id
};
/// Sector number of every fixture.
pub const SECTOR: u64 = 1;

/// A sector in shape S1 or S3, of any size.
pub struct Sector(pub SealCommitPhase1Output);

impl Sector {
    /// Reads `testdata/NAME`.
    pub fn fixture(name: &str) -> Result<Self> {
        Self::from_json(&fixture(name))
    }

    /// Reads the text of a C1 file.
    pub fn from_json(text: &[u8]) -> Result<Self> {
        let value: Value = serde_json::from_slice(text)?;
        let c1 = match value["Phase1Out"].as_str() {
            Some(base64) => serde_json::from_slice(&STANDARD.decode(base64)?)?,
            None => serde_json::from_slice(text)?,
        };
        Ok(Self(c1))
    }

    /// The size as `with_shape!` takes it.
    pub fn size_bytes(&self) -> u64 {
        self.0.registered_proof.sector_size().into()
    }

    /// Whether it is sector [`SECTOR`] of [`PROVER_ID`], as its replica id tells.
    pub fn is_of_the_usual_miner(&self) -> bool {
        let Self(c1) = self;
        let porep_id = c1.registered_proof.as_v1_config().porep_id;
        let comm_d = Sha256Domain::from(c1.comm_d);
        generate_replica_id::<PoseidonHasher, _>(&PROVER_ID, SECTOR, &c1.ticket, comm_d, &porep_id)
            == c1.replica_id
    }

    /// Public inputs of every partition, without ONE.
    pub fn public_inputs(&self) -> Result<Vec<Vec<Scalar>>> {
        let Self(c1) = self;
        get_seal_inputs(
            c1.registered_proof,
            c1.comm_r,
            c1.comm_d,
            PROVER_ID,
            SECTOR.into(),
            c1.ticket,
            c1.seed,
        )
    }

    /// What upstream's prover and verifier are told of the sector.
    pub fn statement<Tree: Shape>(&self) -> Result<(PublicParams<'static, Drg<Tree>>, Inputs)> {
        let Self(c1) = self;
        let config = c1.registered_proof.as_v1_config();
        let params = <Compound<Tree> as CompoundProof<Drg<Tree>, _>>::setup(&SetupParams {
            vanilla_params: setup_params(&config)?,
            partitions: Some(usize::from(config.partitions)),
            priority: false,
        })?;
        let inputs = PublicInputs {
            replica_id: c1.replica_id,
            tau: Some(Tau { comm_d: c1.comm_d.into(), comm_r: c1.comm_r.into() }),
            k: None,
            seed: Some(c1.seed),
        };
        Ok((params, inputs))
    }
}

/// The name of a size's verifying key, as upstream computes it.
pub fn vk_name(proof: RegisteredSealProof) -> String {
    fn identifier<Tree: Shape>(proof: RegisteredSealProof) -> Result<String> {
        proof.as_v1_config().get_cache_identifier::<Tree>()
    }
    let identifier = with_shape!(u64::from(proof.sector_size()), identifier, proof,);
    verifying_key_id(&identifier.expect("a known size"))
}

/// The name of the 2 KiB verifying key.
pub fn vk_name_2kib() -> String {
    vk_name(RegisteredSealProof::StackedDrg2KiBV1_1)
}
