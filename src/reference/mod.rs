//! The implementation that nobody here wrote: `storage-proofs-porep` 19.1, wrapped.
//!
//! It gives the parameter identifiers, the public inputs, challenges and parents of a sector, and
//! its circuit and vanilla verification are the oracles of ours. The reference is generic over
//! the replica tree's shape; [`with_tree`] picks the type for a sector size.

mod evaluate;
mod openings;
mod statement;
mod vanilla;

pub use evaluate::evaluate;
pub use openings::{Opening, OpeningInputs, Parents, openings, parents};
pub use statement::{circuit, public_inputs};
pub use vanilla::vanilla_proofs;

use anyhow::{Context, Result};
use bellperson::{Circuit, ConstraintSystem};
use blstrs::Scalar;
use filecoin_hashers::poseidon::PoseidonHasher;
use filecoin_hashers::sha256::Sha256Hasher;
use storage_proofs_core::api_version::{ApiFeature, ApiVersion};
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_core::merkle::{LCTree, MerkleTreeTrait};
use storage_proofs_core::parameter_cache::CacheableParameters;
use storage_proofs_core::proof::ProofScheme;
use storage_proofs_porep::stacked::{
    self, Challenges, StackedCircuit, StackedCompound, StackedDrg,
};
use typenum::{U0, U2, U8};

use crate::c1::Node;
use crate::sector::{DRG_DEGREE, EXP_DEGREE, ProofKind, ProofVersion, RegisteredProof, SectorSize};

/// The hasher of `comm_d`.
pub type DataHasher = Sha256Hasher;
/// Replica tree of the test sizes: octree of one level of trees (8-0-0).
pub type TestTree = LCTree<PoseidonHasher, U8, U0, U0>;
/// Replica tree of 32 GiB sectors (8-8-0).
pub type Tree32GiB = LCTree<PoseidonHasher, U8, U8, U0>;
/// Replica tree of 64 GiB sectors (8-8-2).
pub type Tree64GiB = LCTree<PoseidonHasher, U8, U8, U2>;

/// Calls the generic function `$f::<Tree>($args)` with the replica tree type of `$size`.
#[macro_export]
macro_rules! with_tree {
    ($size:expr, $f:ident ( $($arg:expr),* $(,)? )) => {
        match $size {
            $crate::sector::SectorSize::KiB2
            | $crate::sector::SectorSize::MiB8
            | $crate::sector::SectorSize::MiB512 => $f::<$crate::reference::TestTree>($($arg),*),
            $crate::sector::SectorSize::GiB32 => $f::<$crate::reference::Tree32GiB>($($arg),*),
            $crate::sector::SectorSize::GiB64 => $f::<$crate::reference::Tree64GiB>($($arg),*),
        }
    };
}

/// The reference's public parameters (graph, layers, challenges) for a proof and porep id.
///
/// # Errors
/// When the reference refuses the parameters, which would be a fault of ours.
pub fn public_params<Tree: 'static + MerkleTreeTrait>(
    proof: RegisteredProof,
    porep_id: Node,
) -> Result<stacked::PublicParams<Tree>> {
    let per_partition = proof.size.challenges_per_partition();
    let (challenges, features) = match proof.kind() {
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
    StackedDrg::<Tree, DataHasher>::setup(&stacked::SetupParams {
        nodes: proof.size.nodes() as usize,
        degree: DRG_DEGREE,
        expansion_degree: EXP_DEGREE,
        porep_id,
        challenges,
        num_layers: proof.size.layers(),
        api_version,
        api_features: features,
    })
    .with_context(|| format!("set up the graph of {proof}"))
}

/// The parameter files' identifier for a sector size: `stacked-proof-of-replication-...`.
///
/// It depends on the circuit alone, so every proof of one size has the same.
///
/// # Errors
/// As [`public_params`].
pub fn parameter_identifier(size: SectorSize) -> Result<String> {
    fn identifier<Tree: 'static + MerkleTreeTrait>(size: SectorSize) -> Result<String> {
        let proof = RegisteredProof { size, version: ProofVersion::V1_1 };
        let params = public_params::<Tree>(proof, proof.default_porep_id())?;
        Ok(<StackedCompound<Tree, DataHasher> as CacheableParameters<
            StackedCircuit<Tree, DataHasher>,
            _,
        >>::cache_identifier(&params))
    }
    with_tree!(size, identifier(size))
}

/// Synthesizes the reference's circuit of one partition, without a witness, into `system`.
///
/// ONE is taken to be allocated already, as bellperson's own systems have it.
///
/// # Errors
/// As [`public_params`], and what `system` answers.
pub fn synthesize_blank<CS: ConstraintSystem<Scalar>>(
    size: SectorSize,
    system: &mut CS,
) -> Result<()> {
    fn synthesize<Tree: 'static + MerkleTreeTrait, CS: ConstraintSystem<Scalar>>(
        size: SectorSize,
        system: &mut CS,
    ) -> Result<()> {
        let proof = RegisteredProof { size, version: ProofVersion::V1_1 };
        let params = public_params::<Tree>(proof, proof.default_porep_id())?;
        let circuit = <StackedCompound<Tree, DataHasher> as CompoundProof<
            StackedDrg<'_, Tree, DataHasher>,
            StackedCircuit<Tree, DataHasher>,
        >>::blank_circuit(&params);
        circuit.synthesize(system).with_context(|| format!("synthesize the {size} circuit"))
    }
    match size {
        SectorSize::KiB2 | SectorSize::MiB8 | SectorSize::MiB512 => {
            synthesize::<TestTree, CS>(size, system)
        }
        SectorSize::GiB32 => synthesize::<Tree32GiB, CS>(size, system),
        SectorSize::GiB64 => synthesize::<Tree64GiB, CS>(size, system),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_those_of_the_published_parameter_files() {
        for (size, end) in [
            (
                SectorSize::KiB2,
                "8-0-0-sha256_hasher-032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f",
            ),
            (
                SectorSize::MiB8,
                "8-0-0-sha256_hasher-ecd683648512ab1765faa2a5f14bab48f676e633467f0aa8aad4b55dcb0652bb",
            ),
            (
                SectorSize::MiB512,
                "8-0-0-sha256_hasher-6babf46ce344ae495d558e7770a585b2382d54f225af8ed0397b8be7c3fcd472",
            ),
            (
                SectorSize::GiB32,
                "8-8-0-sha256_hasher-82a357d2f2ca81dc61bb45f4a762807aedee1b0a53fd6c4e77b46a01bfef7820",
            ),
            (
                SectorSize::GiB64,
                "8-8-2-sha256_hasher-96f1b4a04c5c51e4759bbf224bbc2ef5a42c7100f16ec0637123f16a845ddfb2",
            ),
        ] {
            let prefix = "stacked-proof-of-replication-merkletree-poseidon_hasher-";
            assert_eq!(parameter_identifier(size).expect("identifier"), format!("{prefix}{end}"));
        }
    }
}
