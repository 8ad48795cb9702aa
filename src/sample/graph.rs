//! Which nodes a sample opens: the real challenges and their real parents.
//!
//! In: the sector's proof, porep id, replica id and interactive seed. Out: an [`Opening`] per
//! challenge. The wrapped reference draws both, so nothing here can disagree with a verifier.

use anyhow::{Context, Result};
use filecoin_hashers::poseidon::PoseidonDomain;
use filecoin_hashers::sha256::Sha256Domain;
use storage_proofs_core::drgraph::Graph;
use storage_proofs_core::merkle::MerkleTreeTrait;
use storage_proofs_porep::stacked;

use crate::c1::Node;
use crate::reference::public_params;
use crate::sector::{DRG_DEGREE, EXP_DEGREE, RegisteredProof};
use crate::with_tree;

/// A challenged node and the parents that its labels hash.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    /// The challenged node; never node 0.
    pub(super) node: u32,
    /// Parents in the same layer, all below `node`; they may repeat.
    pub(super) drg: [u32; DRG_DEGREE],
    /// Parents in the layer before, anywhere in it; they may repeat, and be `node` itself.
    pub(super) exp: [u32; EXP_DEGREE],
}

/// The openings of every partition.
///
/// # Errors
/// When the reference refuses the parameters, which would be a fault of ours.
pub(super) fn openings(
    proof: RegisteredProof,
    porep_id: Node,
    replica_id: PoseidonDomain,
    seed: Node,
) -> Result<Vec<Vec<Opening>>> {
    with_tree!(proof.size, openings_in(proof, porep_id, replica_id, seed))
}

fn openings_in<Tree: 'static + MerkleTreeTrait>(
    proof: RegisteredProof,
    porep_id: Node,
    replica_id: PoseidonDomain,
    seed: Node,
) -> Result<Vec<Vec<Opening>>> {
    let params = public_params::<Tree>(proof, porep_id)?;
    let inputs = stacked::PublicInputs::<PoseidonDomain, Sha256Domain> {
        replica_id,
        seed: Some(seed),
        tau: None,
        k: None,
    };
    let open = |challenge: usize| {
        let mut parents = [0; DRG_DEGREE + EXP_DEGREE];
        params
            .graph
            .parents(challenge, &mut parents)
            .with_context(|| format!("find the parents of node {challenge}"))?;
        let (drg, exp) = parents.split_at(DRG_DEGREE);
        Ok(Opening {
            node: challenge as u32,
            drg: drg.try_into().expect("the parents were split after the drg degree"),
            exp: exp.try_into().expect("the rest are the expander parents"),
        })
    };
    (0..proof.partitions())
        .map(|partition| {
            inputs
                .challenges(&params.challenges, params.graph.size(), Some(partition))
                .into_iter()
                .map(open)
                .collect()
        })
        .collect()
}
