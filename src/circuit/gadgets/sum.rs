//! Sums of words modulo 2^32, several sums to a row.
//!
//! A sum's bits, carries included, are new variables, each with the row (1 - b) · b = 0. That the
//! operands add up to them is Σ 2^i operand bits = Σ 2^i result bits; sums of n bits in all below
//! 254 share one row, the later ones scaled by 2^(bits so far).
//!
//! Source: `bellpepper` `gadgets/uint32.rs` (`addmany`), `gadgets/multieq.rs`.

use super::word::Word;
use crate::circuit::{Coefficient, Interpretation, Term, Variable};

/// Bits that a row can hold: `Fr::CAPACITY`.
const CAPACITY: usize = 254;

/// Sums that wait for their row; none at first.
#[derive(Default)]
pub struct Sums<P> {
    packed: P,
    bits: usize,
}

impl<P: Default> Sums<P> {
    /// The sum of `operands` modulo 2^32: a constant when all of them are.
    pub fn add<I: Interpretation<Packed = P>>(
        &mut self,
        cs: &mut I,
        operands: &[&Word<I::Var>],
    ) -> Word<I::Var> {
        let sum: u64 = operands.iter().map(|word| u64::from(word.value)).sum();
        if operands.iter().all(|word| word.is_constant()) {
            return Word::constant(sum as u32, cs.one());
        }
        let largest = operands.len() as u64 * u64::from(u32::MAX);
        let bits = (u64::BITS - largest.leading_zeros()) as usize;
        let first = cs.bits(sum, bits);
        if cs.wants_rows() {
            boolean_rows(cs, first, bits);
        }
        // The row of earlier sums follows the bits of the sum that does not fit into it.
        if self.bits + bits >= CAPACITY {
            self.flush(cs);
        }
        if cs.wants_rows() {
            let result = |i| (first.nth(i), Coefficient::power(i));
            let results: Vec<_> = (0..bits).map(result).collect();
            cs.pack(&mut self.packed, self.bits, &terms(cs.one(), operands), &results);
        }
        self.bits += bits;
        Word::allocated(sum as u32, first)
    }

    /// Adds the row of the sums that still wait.
    pub fn finish<I: Interpretation<Packed = P>>(mut self, cs: &mut I) {
        if self.bits > 0 {
            self.flush(cs);
        }
    }

    fn flush<I: Interpretation<Packed = P>>(&mut self, cs: &mut I) {
        cs.packed_row(std::mem::take(&mut self.packed));
        self.bits = 0;
    }
}

/// Σ 2^i bit_i over all words; a negated bit is 1 - variable.
fn terms<V: Variable>(one: V, words: &[&Word<V>]) -> Vec<Term<V>> {
    let mut terms = Vec::with_capacity(40 * words.len());
    for word in words {
        for i in 0..32 {
            let (var, power) = (word.vars[i], Coefficient::power(i));
            if word.constant >> i & 1 == 1 {
                if word.value >> i & 1 == 1 {
                    terms.push((one, power));
                }
            } else if word.negated >> i & 1 == 1 {
                terms.extend([(one, power), (var, Coefficient::minus_power(i))]);
            } else {
                terms.push((var, power));
            }
        }
    }
    terms
}

/// The rows (1 - b) · b = 0 of `count` bits (`AllocatedBit::alloc`).
pub fn boolean_rows<I: Interpretation>(cs: &mut I, first: I::Var, count: usize) {
    let one = cs.one();
    for i in 0..count {
        let bit = first.nth(i);
        let complement = [(one, Coefficient::ONE), (bit, Coefficient::MINUS_ONE)];
        cs.row(&complement, &[(bit, Coefficient::ONE)], &[]);
    }
}
