//! Which nodes a sector's proofs must open: the protocol's challenges and their parents.

use anyhow::Result;
use filecoin_hashers::{Domain, Hasher};
use storage_proofs_core::drgraph::Graph;
use storage_proofs_core::merkle::MerkleTreeTrait;
use storage_proofs_porep::stacked::{PublicInputs, PublicParams, Tau};

use super::{DataHasher, public_params};
use crate::c1::Node;
use crate::sector::{DRG_DEGREE, EXP_DEGREE, RegisteredProof};
use crate::with_tree;

/// The DRG parents of a node, then its expander parents.
pub type Parents = [u32; DRG_DEGREE + EXP_DEGREE];

/// A challenged node and its parents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The challenged node.
    pub challenge: u64,
    /// Its parents.
    pub parents: Parents,
}

/// What challenges and parents follow from.
#[derive(Clone, Copy, Debug)]
pub struct OpeningInputs {
    /// Gives sizes, how challenges are drawn, and the graph's version.
    pub proof: RegisteredProof,
    /// Seeds the graph.
    pub porep_id: Node,
    /// A canonical field element.
    pub replica_id: Node,
    /// A canonical field element.
    pub comm_r: Node,
    /// The interactive seed.
    pub seed: Node,
}

/// The nodes to open, per partition and challenge.
///
/// # Errors
/// When the reference refuses its own parameters, which would be a fault of ours.
pub fn openings(inputs: &OpeningInputs) -> Result<Vec<Vec<Opening>>> {
    with_tree!(inputs.proof.size, openings_in(inputs))
}

fn openings_in<Tree: 'static + MerkleTreeTrait>(
    inputs: &OpeningInputs,
) -> Result<Vec<Vec<Opening>>> {
    let params = public_params::<Tree>(inputs.proof, inputs.porep_id)?;
    type DomainOf<H> = <H as Hasher>::Domain;
    let domain = |node: &Node| DomainOf::<Tree::Hasher>::try_from_bytes(node);
    let public = PublicInputs::<_, DomainOf<DataHasher>> {
        replica_id: domain(&inputs.replica_id)?,
        seed: Some(inputs.seed),
        tau: Some(Tau { comm_d: Default::default(), comm_r: domain(&inputs.comm_r)? }),
        k: None,
    };
    let opening = |challenge: usize| {
        Ok(Opening { challenge: challenge as u64, parents: parents_of(&params, challenge)? })
    };
    let partition = |k| {
        let nodes = params.graph.size();
        public.challenges(&params.challenges, nodes, Some(k)).into_iter().map(opening).collect()
    };
    (0..inputs.proof.partitions()).map(partition).collect()
}

/// The DRG parents, then the expander parents, of each of `nodes`.
///
/// # Errors
/// As [`openings`].
pub fn parents(proof: RegisteredProof, porep_id: Node, nodes: &[u64]) -> Result<Vec<Parents>> {
    fn parents_in<Tree: 'static + MerkleTreeTrait>(
        proof: RegisteredProof,
        porep_id: Node,
        nodes: &[u64],
    ) -> Result<Vec<Parents>> {
        let params = public_params::<Tree>(proof, porep_id)?;
        nodes.iter().map(|&node| parents_of(&params, node as usize)).collect()
    }
    with_tree!(proof.size, parents_in(proof, porep_id, nodes))
}

fn parents_of<Tree: 'static + MerkleTreeTrait>(
    params: &PublicParams<Tree>,
    node: usize,
) -> Result<Parents> {
    let mut parents = [0; DRG_DEGREE + EXP_DEGREE];
    params.graph.parents(node, &mut parents)?;
    Ok(parents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sector::{ProofVersion, SectorSize};

    #[test]
    fn counts_and_ranges_are_those_of_the_proof() {
        for proof in RegisteredProof::all() {
            let porep_id = proof.default_porep_id();
            let inputs = OpeningInputs {
                proof,
                porep_id,
                replica_id: [1; 32],
                comm_r: [2; 32],
                seed: [3; 32],
            };
            let openings = openings(&inputs).expect("openings");
            assert_eq!(openings.len(), proof.partitions(), "{proof}");
            for opening in openings.iter().flatten() {
                assert!((1..proof.size.nodes()).contains(&opening.challenge));
                let drg = &opening.parents[..DRG_DEGREE];
                assert!(drg.iter().all(|&parent| u64::from(parent) < opening.challenge));
                // The predecessor is the last DRG parent in V1 and the first since V1_1.
                let at = if proof.version == ProofVersion::V1 { DRG_DEGREE - 1 } else { 0 };
                assert_eq!(u64::from(drg[at]), opening.challenge - 1, "{proof}");
            }
            let per_partition = proof.size.challenges_per_partition();
            assert!(openings.iter().all(|partition| partition.len() == per_partition));
        }
        assert_eq!(SectorSize::ALL.len() * ProofVersion::ALL.len(), RegisteredProof::all().count());
    }
}
