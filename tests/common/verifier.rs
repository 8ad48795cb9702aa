//! Upstream's opinion of a proof, from two of its doors.

use std::fs::File;
use std::path::Path;

use anyhow::{Result, ensure};
use bellperson::groth16::{VerifyingKey, prepare_verifying_key};
use blstrs::Bls12;
use filecoin_proofs::with_shape;
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_core::multi_proof::MultiProof;
use storage_proofs_porep::stacked::ChallengeRequirements;

use super::oracle::{Compound, PROVER_ID, SECTOR, Sector, Shape};
use super::upstream;

/// What `StackedCompound::verify` says of proof bytes under a `.vk` file.
///
/// Works for every size and kind of proof, the parts of a non-interactive one included.
pub fn compound_verify(sector: &Sector, vk: &Path, proof: &[u8]) -> Result<bool> {
    with_shape!(sector.size_bytes(), verify_of, sector, vk, proof,)
}

fn verify_of<Tree: Shape>(sector: &Sector, vk: &Path, proof: &[u8]) -> Result<bool> {
    let config = sector.0.registered_proof.as_v1_config();
    let partitions = usize::from(config.partitions);
    // Upstream reads the proofs that it wants and never looks at what follows.
    ensure!(proof.len() == 192 * partitions, "{} bytes", proof.len());
    let (params, inputs) = sector.statement::<Tree>()?;
    let key = prepare_verifying_key(&VerifyingKey::<Bls12>::read(File::open(vk)?)?);
    let proofs = MultiProof::new_from_bytes(Some(partitions), proof, &key)?;
    let requirements = ChallengeRequirements { minimum_challenges: config.minimum_challenges() };
    Compound::<Tree>::verify(&params, &inputs, &proofs, &requirements)
}

/// What miners and the chain ask: `filecoin_proofs_api::seal::verify_seal`, with the `.vk` of the
/// sector's size in `folder`, which must be the only one of the process ([`upstream::settle`]).
///
/// The sector must be the usual miner's. Not for the parts of a non-interactive proof: there it expects an aggregate.
pub fn verify_seal(sector: &Sector, folder: &Path, proof: &[u8]) -> Result<bool> {
    upstream::settle(folder);
    let Sector(c1) = sector;
    filecoin_proofs_api::seal::verify_seal(
        c1.registered_proof,
        c1.comm_r,
        c1.comm_d,
        PROVER_ID,
        SECTOR.into(),
        c1.ticket,
        c1.seed,
        proof,
    )
}
