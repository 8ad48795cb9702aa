//! What one partition's proof states, and the reference's circuit that proves it.
//!
//! As `prove`'s `reference` module has it, from the same `storage-proofs-porep` 19.1, so that both
//! programs prove the same statement with the same parameter file.

use anyhow::{Context, Result, ensure};
use blstrs::Scalar as Fr;
use filecoin_hashers::poseidon::PoseidonHasher;
use filecoin_hashers::sha256::Sha256Hasher;
use filecoin_hashers::{Domain, Hasher};
use storage_proofs_core::api_version::{ApiFeature, ApiVersion};
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_core::merkle::{LCTree, MerkleTreeTrait};
use storage_proofs_core::parameter_cache::CacheableParameters;
use storage_proofs_core::proof::ProofScheme;
use storage_proofs_porep::stacked::{
    Challenges, Proof, PublicInputs, PublicParams, SetupParams, StackedCircuit, StackedCompound,
    StackedDrg, Tau,
};
use typenum::{U0, U2, U8};

use crate::c1::{Node, Sector};
use crate::sector::{DRG_DEGREE, EXP_DEGREE, ProofKind, ProofVersion, RegisteredProof};

/// Replica tree of the test sizes (8-0-0).
pub type TestTree = LCTree<PoseidonHasher, U8, U0, U0>;
/// Replica tree of 32 GiB sectors (8-8-0).
pub type Tree32GiB = LCTree<PoseidonHasher, U8, U8, U0>;
/// Replica tree of 64 GiB sectors (8-8-2).
pub type Tree64GiB = LCTree<PoseidonHasher, U8, U8, U2>;

type TreeDomain<Tree> = <<Tree as MerkleTreeTrait>::Hasher as Hasher>::Domain;
type DataDomain = <Sha256Hasher as Hasher>::Domain;
type Circuit<Tree> = StackedCircuit<Tree, Sha256Hasher>;
type Compound<Tree> = StackedCompound<Tree, Sha256Hasher>;

/// One partition of a sector in the reference's types.
pub struct Statement<Tree: 'static + MerkleTreeTrait> {
    params: PublicParams<Tree>,
    public: PublicInputs<TreeDomain<Tree>, DataDomain>,
    proofs: Vec<Proof<Tree, Sha256Hasher>>,
    partition: usize,
}

impl<Tree: 'static + MerkleTreeTrait> Statement<Tree> {
    /// Takes the porep id to be the registered proof's own, as it is outside of some test networks.
    ///
    /// # Errors
    /// When the sector has no such partition, or its values do not fit the reference's types.
    pub fn new(sector: &Sector, partition: usize) -> Result<Self> {
        let count = sector.partitions.len();
        ensure!(partition < count, "expected a partition below {count}, got {partition}");
        let proofs = serde_json::from_str(sector.partitions[partition].get())
            .with_context(|| format!("read the vanilla proofs of partition {partition}"))?;
        let public = PublicInputs {
            replica_id: domain("replica_id", &sector.replica_id)?,
            seed: Some(sector.seed),
            tau: Some(Tau {
                comm_d: domain("comm_d", &sector.comm_d)?,
                comm_r: domain("comm_r", &sector.comm_r)?,
            }),
            k: Some(partition),
        };
        Ok(Self { params: public_params(sector.proof)?, public, proofs, partition })
    }

    /// The parameter files' identifier: `stacked-proof-of-replication-...`.
    pub fn parameter_identifier(&self) -> String {
        <Compound<Tree> as CacheableParameters<Circuit<Tree>, _>>::cache_identifier(&self.params)
    }

    /// The public inputs, ONE left out, from the public values alone.
    ///
    /// # Errors
    /// When the reference refuses the public values.
    pub fn public_inputs(&self) -> Result<Vec<Fr>> {
        let Self { params, public, partition, .. } = self;
        <Compound<Tree> as CompoundProof<StackedDrg<'_, Tree, _>, Circuit<Tree>>>::
            generate_public_inputs(public, params, Some(*partition))
        .with_context(|| format!("compute the public inputs of partition {partition}"))
    }

    /// The circuit with its witness.
    ///
    /// # Errors
    /// When the partition has no vanilla proofs or they disagree on a root.
    pub fn circuit(&self) -> Result<Circuit<Tree>> {
        let Self { params, public, proofs, partition } = self;
        <Compound<Tree> as CompoundProof<StackedDrg<'_, Tree, _>, Circuit<Tree>>>::circuit(
            public,
            (),
            proofs,
            params,
            Some(*partition),
        )
        .with_context(|| format!("make the circuit of partition {partition}"))
    }
}

fn public_params<Tree: 'static + MerkleTreeTrait>(
    proof: RegisteredProof,
) -> Result<PublicParams<Tree>> {
    let per_partition = proof.size.challenges_per_partition();
    let (challenges, api_features) = match proof.kind() {
        ProofKind::Interactive => (Challenges::new_interactive(per_partition), vec![]),
        ProofKind::Synthetic => {
            (Challenges::new_synthetic(per_partition), vec![ApiFeature::SyntheticPoRep])
        }
        ProofKind::NonInteractive => {
            (Challenges::new_non_interactive(per_partition), vec![ApiFeature::NonInteractivePoRep])
        }
    };
    let api_version = match proof.version {
        ProofVersion::V1 => ApiVersion::V1_0_0,
        ProofVersion::V1_1 => ApiVersion::V1_1_0,
        ProofVersion::Synthetic | ProofVersion::NonInteractive => ApiVersion::V1_2_0,
    };
    StackedDrg::<Tree, Sha256Hasher>::setup(&SetupParams {
        nodes: proof.size.nodes() as usize,
        degree: DRG_DEGREE,
        expansion_degree: EXP_DEGREE,
        porep_id: proof.default_porep_id(),
        challenges,
        num_layers: proof.size.layers(),
        api_version,
        api_features,
    })
    .with_context(|| format!("set up the graph of {proof}"))
}

fn domain<D: Domain>(name: &str, node: &Node) -> Result<D> {
    D::try_from_bytes(node).with_context(|| format!("read {name} as a field element"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn samples_give_the_published_identifiers_and_all_inputs() {
        for (name, digest) in [
            ("2KiB", "032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f"),
            ("8MiB", "ecd683648512ab1765faa2a5f14bab48f676e633467f0aa8aad4b55dcb0652bb"),
        ] {
            let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
            let sector = Sector::read(&testdata.join(format!("c1-{name}.json"))).expect("reads");
            let statement = Statement::<TestTree>::new(&sector, 0).expect("has a partition");
            assert_eq!(
                statement.parameter_identifier(),
                format!(
                    "stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-\
                     {digest}"
                )
            );
            let inputs = statement.public_inputs().expect("the public values are in range");
            assert_eq!(inputs.len() + 1, sector.proof.size.inputs(), "{name}");
            statement.circuit().expect("the vanilla proofs agree");
            let error = Statement::<TestTree>::new(&sector, 1).err().expect("has no second one");
            assert_eq!(error.to_string(), "expected a partition below 1, got 1");
        }
    }
}
