//! Sectors of `testdata/` as upstream understands them: no code of ours reads them here.

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use blstrs::Scalar;
use filecoin_hashers::poseidon::PoseidonDomain;
use filecoin_hashers::sha256::Sha256Domain;
use filecoin_proofs::constants::{DefaultOctLCTree, DefaultPieceHasher};
use filecoin_proofs::parameters::setup_params;
use filecoin_proofs_api::RegisteredSealProof;
use filecoin_proofs_api::seal::{SealCommitPhase1Output, get_seal_inputs};
use serde_json::Value;
use storage_proofs_core::compound_proof::{CompoundProof, PublicParams, SetupParams};
use storage_proofs_core::parameter_cache::verifying_key_id;
use storage_proofs_porep::stacked::{PublicInputs, StackedCompound, StackedDrg, Tau};

use super::files::fixture;

/// Upstream's whole proof: circuit, prover and verifier.
pub type Compound = StackedCompound<DefaultOctLCTree, DefaultPieceHasher>;
type Drg = StackedDrg<'static, DefaultOctLCTree, DefaultPieceHasher>;
type Inputs = PublicInputs<PoseidonDomain, Sha256Domain>;

/// Prover id of miner t01000, which sealed every fixture.
pub const PROVER_ID: [u8; 32] = {
    let mut id = [0; 32];
    [id[0], id[1]] = [0xe8, 0x07];
    id
};
/// Sector number of every fixture.
pub const SECTOR: u64 = 1;

/// A fixture in shape S1 or S3, of a test size.
pub struct Sector(pub SealCommitPhase1Output);

impl Sector {
    /// Reads `testdata/NAME`.
    pub fn fixture(name: &str) -> Result<Self> {
        let text = fixture(name);
        let value: Value = serde_json::from_slice(&text)?;
        let c1 = match value["Phase1Out"].as_str() {
            Some(base64) => serde_json::from_slice(&STANDARD.decode(base64)?)?,
            None => serde_json::from_slice(&text)?,
        };
        Ok(Self(c1))
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
    pub fn statement(&self) -> Result<(PublicParams<'static, Drg>, Inputs)> {
        let Self(c1) = self;
        let config = c1.registered_proof.as_v1_config();
        let params = <Compound as CompoundProof<Drg, _>>::setup(&SetupParams {
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

/// The name of a test size's verifying key, as upstream computes it.
pub fn vk_name(proof: RegisteredSealProof) -> String {
    let config = proof.as_v1_config();
    let identifier = config.get_cache_identifier::<DefaultOctLCTree>().expect("a known size");
    verifying_key_id(&identifier)
}

/// The name of the 2 KiB verifying key.
pub fn vk_name_2kib() -> String {
    vk_name(RegisteredSealProof::StackedDrg2KiBV1_1)
}
