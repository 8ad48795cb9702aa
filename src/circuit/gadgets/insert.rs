//! Putting a node among its siblings at a secret position.
//!
//! Source: `storage-proofs-core` `gadgets/insertion.rs` (`insert_2`, `insert_8`, `pick`).

use crate::circuit::{Coefficient, Interpretation, Num};

use Coefficient as Co;

/// A bit with its variable.
#[derive(Clone, Copy, Debug)]
pub struct Bit<V> {
    /// Its value.
    pub value: bool,
    /// Its variable.
    pub var: V,
}

/// `node` inserted among `siblings` (1 or 7) so that it stands at position Σ 2^i bits_i.
///
/// # Panics
/// When there are neither 1 nor 7 siblings, or the bits do not fit them.
pub fn insert<I: Interpretation>(
    cs: &mut I,
    node: &Num<I::Var>,
    bits: &[Bit<I::Var>],
    siblings: &[Num<I::Var>],
) -> Vec<Num<I::Var>> {
    match (bits, siblings) {
        ([bit], [sibling]) => vec![pick(cs, bit, sibling, node), pick(cs, bit, node, sibling)],
        ([b0, b1, b2], [b, c, d, e, f, g, h]) => {
            insert8(cs, [node, b, c, d, e, f, g, h], [b0, b1, b2])
        }
        _ => panic!("trees have arity 2 or 8, got {} siblings", siblings.len()),
    }
}

/// Position:       0 1 2 3 4 5 6 7, first column the value of the bits, lowest first:
/// ```text
/// 000             a b c d e f g h
/// 100             b a c d e f g h
/// 010             b c a d e f g h
/// 110             b c d a e f g h
/// 001             b c d e a f g h
/// 101             b c d e f a g h
/// 011             b c d e f g a h
/// 111             b c d e f g h a
/// ```
/// Each output takes at most three picks, because most of its column is the same value.
fn insert8<I: Interpretation>(
    cs: &mut I,
    [a, b, c, d, e, f, g, h]: [&Num<I::Var>; 8],
    [b0, b1, b2]: [&Bit<I::Var>; 3],
) -> Vec<Num<I::Var>> {
    let neither = &nor(cs, b0, b1);
    let both = &and(cs, b0, b1);

    let low = pick(cs, neither, a, b);
    let p0 = pick(cs, b2, b, &low);

    let low = pick(cs, b0, a, b);
    let low = pick(cs, b1, c, &low);
    let p1 = pick(cs, b2, c, &low);

    let low = pick(cs, b0, d, a);
    let low = pick(cs, b1, &low, c);
    let p2 = pick(cs, b2, d, &low);

    let low = pick(cs, both, a, d);
    let p3 = pick(cs, b2, e, &low);

    let high = pick(cs, neither, a, f);
    let p4 = pick(cs, b2, &high, e);

    let high = pick(cs, b0, a, f);
    let high = pick(cs, b1, g, &high);
    let p5 = pick(cs, b2, &high, f);

    let high = pick(cs, b0, h, a);
    let high = pick(cs, b1, &high, g);
    let p6 = pick(cs, b2, &high, g);

    let high = pick(cs, both, a, h);
    let p7 = pick(cs, b2, &high, h);

    vec![p0, p1, p2, p3, p4, p5, p6, p7]
}

/// a ∧ b: the row a · b = result (`AllocatedBit::and`).
fn and<I: Interpretation>(cs: &mut I, a: &Bit<I::Var>, b: &Bit<I::Var>) -> Bit<I::Var> {
    let value = a.value & b.value;
    let result = Bit { value, var: cs.bits(u64::from(value), 1) };
    if cs.wants_rows() {
        cs.row(&[(a.var, Co::ONE)], &[(b.var, Co::ONE)], &[(result.var, Co::ONE)]);
    }
    result
}

/// ¬a ∧ ¬b: the row (1 - a) · (1 - b) = result (`AllocatedBit::nor`).
fn nor<I: Interpretation>(cs: &mut I, a: &Bit<I::Var>, b: &Bit<I::Var>) -> Bit<I::Var> {
    let value = !(a.value | b.value);
    let result = Bit { value, var: cs.bits(u64::from(value), 1) };
    if cs.wants_rows() {
        let one = (cs.one(), Co::ONE);
        cs.row(
            &[one, (a.var, Co::MINUS_ONE)],
            &[one, (b.var, Co::MINUS_ONE)],
            &[(result.var, Co::ONE)],
        );
    }
    result
}

/// `a` if `condition`, else `b`: a new variable r and the row (b - a) · condition = b - r.
fn pick<I: Interpretation>(
    cs: &mut I,
    condition: &Bit<I::Var>,
    a: &Num<I::Var>,
    b: &Num<I::Var>,
) -> Num<I::Var> {
    let result = Num::new(cs, if condition.value { a.value } else { b.value });
    if cs.wants_rows() {
        cs.row(
            &[(b.var, Co::ONE), (a.var, Co::MINUS_ONE)],
            &[(condition.var, Co::ONE)],
            &[(b.var, Co::ONE), (result.var, Co::MINUS_ONE)],
        );
    }
    result
}
