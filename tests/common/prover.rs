//! Upstream's prover: bellperson under `storage-proofs-core`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use bellperson::groth16::Parameters;
use blstrs::Bls12;
use filecoin_proofs::constants::SectorShape2KiB;
use filecoin_proofs_api::seal::VanillaSealProof;
use storage_proofs_core::compound_proof::CompoundProof;

use super::oracle::{Compound, Sector};

/// Upstream's proofs of a 2 KiB sector's partitions, 192 bytes each, made with a `.params` file.
///
/// About a minute a partition on two cores.
pub fn compound_prove(sector: &Sector, params: PathBuf) -> Result<Vec<u8>> {
    let VanillaSealProof::StackedDrg2KiBV1(vanilla_proofs) = sector.0.vanilla_proofs.clone() else {
        bail!("not a 2 KiB sector");
    };
    let groth_params = Parameters::<Bls12>::build_mapped_parameters(params, false)?;
    let (params, inputs) = sector.statement::<SectorShape2KiB>()?;
    let proofs = Compound::<SectorShape2KiB>::circuit_proofs(
        &inputs,
        vanilla_proofs,
        &params.vanilla_params,
        &groth_params,
        params.priority,
    )?;
    let mut bytes = vec![];
    for proof in proofs {
        proof.write(&mut bytes)?;
    }
    Ok(bytes)
}
