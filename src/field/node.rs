//! 32-byte nodes as elements of the scalar field of BLS12-381.

use blstrs::Scalar as Fr;
use ff::PrimeField;

use super::limbs::{FR_MODULUS, le_bytes};
use crate::c1::Node;

/// The field's modulus, little-endian.
const MODULUS: Node = le_bytes(FR_MODULUS);

/// Whether the little-endian `node` is below the modulus.
pub fn is_canonical(node: &Node) -> bool {
    node.iter().rev().lt(MODULUS.iter().rev())
}

/// The element that `node` encodes, or `None` when it is not below the modulus.
pub fn to_fr(node: &Node) -> Option<Fr> {
    Fr::from_repr_vartime(*node)
}

/// The little-endian bytes of an element.
pub fn to_node(element: &Fr) -> Node {
    element.to_repr()
}

#[cfg(test)]
mod tests {
    use ff::Field;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn canonical_is_what_the_field_library_accepts() {
        let mut below = MODULUS;
        below[0] = 0;
        let mut above_in_the_middle = MODULUS;
        above_in_the_middle[16] += 1;
        above_in_the_middle[0] = 0;
        for node in [[0; 32], [0xff; 32], MODULUS, below, above_in_the_middle] {
            assert_eq!(is_canonical(&node), to_fr(&node).is_some(), "{node:02x?}");
        }
        assert_eq!(to_fr(&below), Some(-Fr::ONE));
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..100 {
            let element = Fr::random(&mut rng);
            let node = to_node(&element);
            assert!(is_canonical(&node));
            assert_eq!(to_fr(&node), Some(element));
        }
    }
}
