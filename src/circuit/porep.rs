//! The circuit itself: a prologue, then one sub-circuit per challenge.
//!
//! Source: `storage-proofs-porep` 19.1 `stacked/circuit/proof.rs` (`StackedCircuit::synthesize`)
//! and `params.rs` (`Proof::synthesize`).

use super::gadgets::bits::{Bits64, NodeBits};
use super::gadgets::insert::Bit;
use super::gadgets::label::label;
use super::gadgets::merkle::Trees;
use super::gadgets::poseidon::Poseidon;
use super::{
    Coefficient, ColumnOpening, Commitments, Equality, Interpretation, Num, Opening, Path, Public,
};
use crate::sector::SectorSize;

/// What the prologue leaves to every challenge.
#[derive(Clone, Debug)]
pub struct Shared<V> {
    comm_d: Num<V>,
    comm_c: Num<V>,
    comm_r_last: Num<V>,
    replica_id: NodeBits<V>,
}

/// The circuit of one sector size, ready for an interpretation.
pub struct Porep {
    layers: usize,
    trees: Trees,
    column: Poseidon,
}

impl Porep {
    /// The circuit of sectors of `size`; its coefficients go to `cs`'s table.
    pub fn new<I: Interpretation>(size: SectorSize, cs: &mut I) -> Self {
        let layers = size.layers();
        Self { layers, trees: Trees::new(cs), column: Poseidon::new(layers, cs) }
    }

    /// The prologue: public commitments, and comm_r = H(comm_c, comm_r_last).
    pub fn prologue<I: Interpretation>(
        &self,
        cs: &mut I,
        commitments: &Commitments,
    ) -> Shared<I::Var> {
        let replica_id = Num::new(cs, commitments.replica_id);
        replica_id.expose(cs, Public::ReplicaId);
        let replica_id = NodeBits::new(cs, &replica_id);
        let comm_d = Num::new(cs, commitments.comm_d);
        comm_d.expose(cs, Public::CommD);
        let comm_r = Num::new(cs, commitments.comm_r);
        comm_r.expose(cs, Public::CommR);
        let comm_r_last = Num::new(cs, commitments.comm_r_last);
        let comm_c = Num::new(cs, commitments.comm_c);
        let hash = self.trees.hash2(cs, [comm_c, comm_r_last]);
        comm_r.enforce_equal(cs, Equality::CommR, &hash);
        Shared { comm_d, comm_c, comm_r_last, replica_id }
    }

    /// One challenge: 17 paths, the labels of every layer, the encoding.
    pub fn challenge<I: Interpretation>(
        &self,
        cs: &mut I,
        shared: &Shared<I::Var>,
        opening: &Opening,
    ) {
        let data_leaf = Num::new(cs, opening.data_leaf);
        self.trees.include_data(cs, data_leaf, &opening.data, &shared.comm_d);

        let drg_parents = self.columns(cs, &opening.drg_parents, shared, Path::DrgParent);
        let exp_parents = self.columns(cs, &opening.exp_parents, shared, Path::ExpParent);

        let challenge = Bits64::new(cs, opening.challenge);
        challenge.expose(cs, Public::Challenge);

        let labels: Vec<_> = (1..=self.layers)
            .map(|layer| {
                // Layer 1 has DRG parents only; above, expander parents lie one layer below.
                let mut parents: Vec<Num<I::Var>> =
                    drg_parents.iter().map(|column| column[layer - 1]).collect();
                if layer > 1 {
                    parents.extend(exp_parents.iter().map(|column| column[layer - 2]));
                }
                label(cs, &shared.replica_id, &parents, layer as u32, &challenge)
            })
            .collect();

        let key = labels.last().expect("a graph has layers");
        let encoded = encode(cs, key, &data_leaf);
        self.trees.include(cs, encoded, &opening.replica, &shared.comm_r_last, Path::Replica);

        let column = self.column.hash(cs, &labels);
        self.trees.include(cs, column, &opening.column, &shared.comm_c, Path::Column);
    }

    /// Opens the parents' columns: their labels, each column included in the column tree
    /// (`column.rs`, `column_proof.rs`).
    fn columns<I: Interpretation>(
        &self,
        cs: &mut I,
        openings: &[ColumnOpening],
        shared: &Shared<I::Var>,
        path: fn(usize) -> Path,
    ) -> Vec<Vec<Num<I::Var>>> {
        let column = |(parent, opening): (usize, &ColumnOpening)| {
            let labels: Vec<_> = opening.labels.iter().map(|&label| Num::new(cs, label)).collect();
            let hash = self.column.hash(cs, &labels);
            self.trees.include(cs, hash, &opening.path, &shared.comm_c, path(parent));
            labels
        };
        openings.iter().enumerate().map(column).collect()
    }
}

/// encoded = key + data, one row (`storage-proofs-core` `gadgets/encode.rs`).
fn encode<I: Interpretation>(cs: &mut I, key: &Num<I::Var>, data: &Num<I::Var>) -> Num<I::Var> {
    let encoded = Num::new(cs, key.value + data.value);
    if cs.wants_rows() {
        let one = (cs.one(), Coefficient::ONE);
        let sum = [(key.var, Coefficient::ONE), (data.var, Coefficient::ONE)];
        cs.row(&sum, &[one], &[(encoded.var, Coefficient::ONE)]);
    }
    encoded
}

/// Exposes up to 64 bits, lowest first, as one input: the row Σ 2^i bit_i · 1 = input
/// (`bellpepper` `gadgets/multipack.rs`, `pack_into_inputs`).
pub(super) fn expose_bits<I: Interpretation>(cs: &mut I, public: Public, bits: &[Bit<I::Var>]) {
    let value = bits.iter().rev().fold(0u64, |value, bit| value << 1 | u64::from(bit.value));
    let input = cs.input(public, value.into());
    if cs.wants_rows() {
        let packed: Vec<_> =
            bits.iter().enumerate().map(|(i, bit)| (bit.var, Coefficient::power(i))).collect();
        let one = (cs.one(), Coefficient::ONE);
        cs.row(&packed, &[one], &[(input, Coefficient::ONE)]);
    }
}
