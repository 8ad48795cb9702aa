//! Sectors of random nodes in which every count, index, repetition and comm_r is right: they read,
//! and no other hash in them is right.

use blstrs::Scalar as Fr;
use ff::Field;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::c1::{
    ChallengeProof, ColumnProof, LabelingProof, MerkleProof, Node, PathElement, Sector, hash,
};
use crate::field::to_node;
use crate::reference::{Opening, OpeningInputs, openings};
use crate::sector::{DRG_DEGREE, LABEL_PARENTS, RegisteredProof};

/// A sector with the proof's own porep id; the same for every call.
pub(super) fn sector(proof: RegisteredProof) -> Sector {
    let mut maker = Maker { proof, rng: ChaCha8Rng::seed_from_u64(proof.number().into()) };
    let roots = Roots { comm_d: maker.node(), comm_c: maker.node(), comm_r_last: maker.node() };
    let mut sector = Sector {
        registered_proof: proof,
        comm_r: hash::comm_r(&roots.comm_c, &roots.comm_r_last),
        comm_d: roots.comm_d,
        replica_id: maker.node(),
        seed: maker.node(),
        ticket: maker.node(),
        porep_id: proof.default_porep_id(),
        partitions: vec![],
    };
    let openings = openings(&OpeningInputs {
        proof,
        porep_id: sector.porep_id,
        replica_id: sector.replica_id,
        comm_r: sector.comm_r,
        seed: sector.seed,
    })
    .expect("openings");
    let partition = |partition: &Vec<Opening>| {
        partition.iter().map(|opening| maker.challenge(&roots, opening)).collect()
    };
    sector.partitions = openings.iter().map(partition).collect();
    sector
}

struct Roots {
    comm_d: Node,
    comm_c: Node,
    comm_r_last: Node,
}

struct Maker {
    proof: RegisteredProof,
    rng: ChaCha8Rng,
}

impl Maker {
    fn node(&mut self) -> Node {
        to_node(&Fr::random(&mut self.rng))
    }

    fn merkle(&mut self, root: Node, arities: &[usize], leaf: u64) -> MerkleProof {
        let mut rest = leaf as usize;
        let level = |&arity: &usize| {
            let index = rest % arity;
            rest /= arity;
            PathElement { hashes: (1..arity).map(|_| self.node()).collect(), index }
        };
        let path = arities.iter().map(level).collect();
        MerkleProof { root, leaf: self.node(), path }
    }

    fn column(&mut self, comm_c: Node, index: u32) -> ColumnProof {
        let size = self.proof.size;
        let rows = (0..size.layers()).map(|_| self.node()).collect();
        let inclusion = self.merkle(comm_c, &size.tree_arities(), index.into());
        ColumnProof { index, rows, inclusion }
    }

    fn challenge(&mut self, roots: &Roots, opening: &Opening) -> ChallengeProof {
        let (size, node) = (self.proof.size, opening.challenge);
        let mut parents: Vec<_> =
            opening.parents.iter().map(|&parent| self.column(roots.comm_c, parent)).collect();
        let exp_parents = parents.split_off(DRG_DEGREE);
        let label = |layer: usize| {
            let drg = parents.iter().map(|column| column.rows[layer - 1]);
            let exp = exp_parents.iter().filter(|_| layer > 1).map(|column| column.rows[layer - 2]);
            let labels: Vec<Node> = drg.chain(exp).collect();
            let parents = labels.into_iter().cycle().take(LABEL_PARENTS).collect();
            LabelingProof { parents, layer_index: layer as u32, node }
        };
        let labeling_proofs = (1..=size.layers()).map(label).collect();
        let encoding_proof = label(size.layers());
        ChallengeProof {
            comm_d_proof: self.merkle(roots.comm_d, &vec![2; size.data_levels()], node),
            comm_r_last_proof: self.merkle(roots.comm_r_last, &size.tree_arities(), node),
            column: self.column(roots.comm_c, node as u32),
            drg_parents: parents,
            exp_parents,
            labeling_proofs,
            encoding_proof,
        }
    }
}
