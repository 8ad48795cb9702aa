//! A label: SHA-256 of replica id, layer, node and 37 parents.
//!
//! Source: `storage-proofs-porep` `stacked/circuit/create_label.rs` and `params.rs`.

use super::bits::{Bits64, NodeBits, pack_digest};
use super::sha256::sha256;
use super::word::Word;
use crate::circuit::{Interpretation, Num};
use crate::sector::LABEL_PARENTS;

/// The label of `node` in `layer`, where its different `parents` are repeated up to 37:
/// replica_id (32 bytes) | layer (4) | node (8) | zeros (20) | parents (37 x 32).
pub fn label<I: Interpretation>(
    cs: &mut I,
    replica_id: &NodeBits<I::Var>,
    parents: &[Num<I::Var>],
    layer: u32,
    node: &Bits64<I::Var>,
) -> Num<I::Var> {
    let parents: Vec<_> = parents.iter().map(|parent| NodeBits::new(cs, parent)).collect();
    let one = cs.one();
    let mut message = Vec::with_capacity(8 * (2 + LABEL_PARENTS) + 8);
    message.extend(replica_id.0);
    message.push(Word::constant(layer, one));
    message.extend(node.words());
    message.extend([Word::constant(0, one); 5]);
    message.extend(parents.iter().cycle().take(LABEL_PARENTS).flat_map(|parent| parent.0));
    let digest = sha256(cs, &message);
    pack_digest(cs, &digest)
}
