//! What a partition's proof states, and the reference's circuit that proves it.
//!
//! Public inputs follow from the sector's public values alone (replica_id, commitments, seed,
//! porep id): they are computed apart from any circuit and hold every prover to account.

use anyhow::{Context, Result, ensure};
use blstrs::Scalar as Fr;
use filecoin_hashers::{Domain, Hasher};
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_core::merkle::MerkleTreeTrait;
use storage_proofs_porep::stacked::{
    PublicInputs, StackedCircuit, StackedCompound, StackedDrg, Tau,
};

use super::{DataHasher, public_params, vanilla_proofs};
use crate::c1::{Node, Sector};
use crate::with_tree;

type TreeDomain<Tree> = <<Tree as MerkleTreeTrait>::Hasher as Hasher>::Domain;
type DataDomain = <DataHasher as Hasher>::Domain;
type Compound<Tree> = StackedCompound<Tree, DataHasher>;

/// The public inputs of one partition, ONE left out: [`crate::sector::SectorSize::inputs`] - 1 of
/// them. Takes 1.6 ms and 22 MB at 32 GiB.
///
/// # Errors
/// When a public value is not a field element.
pub fn public_inputs(sector: &Sector, partition: usize) -> Result<Vec<Fr>> {
    fn inputs<Tree: 'static + MerkleTreeTrait>(
        sector: &Sector,
        partition: usize,
    ) -> Result<Vec<Fr>> {
        let params = public_params::<Tree>(sector.registered_proof, sector.porep_id)?;
        let public = reference_inputs::<Tree>(sector, partition)?;
        <Compound<Tree> as CompoundProof<
            StackedDrg<'_, Tree, DataHasher>,
            StackedCircuit<Tree, DataHasher>,
        >>::generate_public_inputs(&public, &params, Some(partition))
        .with_context(|| format!("compute the public inputs of partition {partition}"))
    }
    let size = sector.registered_proof.size;
    let inputs = with_tree!(size, inputs(sector, partition))?;
    ensure!(
        inputs.len() + 1 == size.inputs(),
        "expected {} public inputs, got {}",
        size.inputs() - 1,
        inputs.len()
    );
    Ok(inputs)
}

/// The reference's circuit of one partition with its witness.
///
/// # Errors
/// When the sector's values do not fit the reference's types.
pub fn circuit<Tree: 'static + MerkleTreeTrait>(
    sector: &Sector,
    partition: usize,
) -> Result<StackedCircuit<Tree, DataHasher>> {
    let params = public_params::<Tree>(sector.registered_proof, sector.porep_id)?;
    let public = reference_inputs::<Tree>(sector, partition)?;
    let only = Sector { partitions: vec![sector.partitions[partition].clone()], ..sector.clone() };
    let proofs = vanilla_proofs::<Tree>(&only)?;
    let proofs = proofs.first().context("convert the partition's vanilla proofs")?;
    <Compound<Tree> as CompoundProof<
        StackedDrg<'_, Tree, DataHasher>,
        StackedCircuit<Tree, DataHasher>,
    >>::circuit(&public, (), proofs, &params, Some(partition))
    .with_context(|| format!("make the circuit of partition {partition}"))
}

fn reference_inputs<Tree: MerkleTreeTrait>(
    sector: &Sector,
    partition: usize,
) -> Result<PublicInputs<TreeDomain<Tree>, DataDomain>> {
    Ok(PublicInputs {
        replica_id: domain("replica_id", &sector.replica_id)?,
        seed: Some(sector.seed),
        tau: Some(Tau {
            comm_d: domain("comm_d", &sector.comm_d)?,
            comm_r: domain("comm_r", &sector.comm_r)?,
        }),
        k: Some(partition),
    })
}

fn domain<D: Domain>(name: &str, node: &Node) -> Result<D> {
    D::try_from_bytes(node).with_context(|| format!("read {name} as a field element"))
}
