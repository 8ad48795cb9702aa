//! Merkle paths: the binary SHA-256 tree of the data, and the Poseidon trees of arity 8 (with
//! levels of arity 8 and 2 on top in 32 and 64 GiB sectors).
//!
//! Source: `storage-proofs-core` `gadgets/por.rs`; `filecoin-hashers` `sha256.rs` and
//! `poseidon.rs` (`hash_multi_leaf_circuit`).

use super::bits::{NodeBits, pack_digest};
use super::insert::{Bit, insert};
use super::poseidon::Poseidon;
use super::sha256::sha256;
use super::sum::boolean_rows;
use crate::circuit::porep::expose_bits;
use crate::circuit::{Equality, Interpretation, Num, Path, PathOpening, Public, Variable};

/// The hash functions of the trees.
pub struct Trees {
    binary: Poseidon,
    oct: Poseidon,
}

impl Trees {
    /// The trees' hash functions, their coefficients in `cs`'s table.
    pub fn new<I: Interpretation>(cs: &mut I) -> Self {
        Self { binary: Poseidon::new(2, cs), oct: Poseidon::new(8, cs) }
    }

    /// Poseidon of two numbers.
    pub fn hash2<I: Interpretation>(&self, cs: &mut I, pair: [Num<I::Var>; 2]) -> Num<I::Var> {
        self.binary.hash(cs, &pair)
    }

    /// Enforces that `leaf` is in the Poseidon tree under `root`.
    pub fn include<I: Interpretation>(
        &self,
        cs: &mut I,
        leaf: Num<I::Var>,
        opening: &PathOpening,
        root: &Num<I::Var>,
        path: Path,
    ) {
        climb(cs, leaf, opening, (root, path), |cs, children| match children.len() {
            2 => self.binary.hash(cs, children),
            _ => self.oct.hash(cs, children),
        });
    }

    /// Enforces that `leaf` is in the data tree under `root`.
    pub fn include_data<I: Interpretation>(
        &self,
        cs: &mut I,
        leaf: Num<I::Var>,
        opening: &PathOpening,
        root: &Num<I::Var>,
    ) {
        climb(cs, leaf, opening, (root, Path::Data), |cs, children| {
            let message: Vec<_> =
                children.iter().flat_map(|child| NodeBits::new(cs, child).0).collect();
            let digest = sha256(cs, &message);
            pack_digest(cs, &digest)
        });
    }
}

/// From the leaf to the root: at each level position bits, siblings, insertion, hash; then the
/// leaf's number as a public input, and the root.
fn climb<I: Interpretation>(
    cs: &mut I,
    leaf: Num<I::Var>,
    opening: &PathOpening,
    (root, path): (&Num<I::Var>, Path),
    hash: impl Fn(&mut I, &[Num<I::Var>]) -> Num<I::Var>,
) {
    let mut node = leaf;
    let mut position = Vec::with_capacity(64);
    for level in &opening.0 {
        let count = (level.siblings.len() + 1).trailing_zeros() as usize;
        let first = cs.bits(level.index as u64, count);
        if cs.wants_rows() {
            boolean_rows(cs, first, count);
        }
        let bit = |i| Bit { value: level.index >> i & 1 == 1, var: first.nth(i) };
        let bits: Vec<_> = (0..count).map(bit).collect();
        let siblings: Vec<_> =
            level.siblings.iter().map(|&sibling| Num::new(cs, sibling)).collect();
        let children = insert(cs, &node, &bits, &siblings);
        node = hash(cs, &children);
        position.extend(bits);
    }
    expose_bits(cs, Public::PathIndex(path), &position);
    node.enforce_equal(cs, Equality::Root(path), root);
}
