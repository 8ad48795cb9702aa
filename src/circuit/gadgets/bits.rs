//! Bits of numbers and numbers of bits.
//!
//! A 32-byte node enters SHA-256 as its little-endian bytes, each byte's highest bit first: word
//! j is bytes 4j to 4j + 3, read big-endian. A field element has 255 bits, so the highest bit of
//! byte 31 is a constant zero. A digest becomes a field element by dropping its two highest bits.

use blstrs::Scalar as Fr;

use super::insert::Bit;
use super::sum::boolean_rows;
use super::word::Word;
use crate::circuit::porep::expose_bits;
use crate::circuit::{Coefficient, Interpretation, Num, Public, Variable};

/// Bits of a field element (`Fr::NUM_BITS`).
const FIELD_BITS: usize = 255;
/// Bits that any field element can hold (`Fr::CAPACITY`).
const CAPACITY: usize = 254;

/// A node's bits as the eight words that SHA-256 reads.
#[derive(Clone, Copy, Debug)]
pub struct NodeBits<V>(pub [Word<V>; 8]);

/// The node bit at bit `place` of word `word`.
const fn node_bit(word: usize, place: usize) -> usize {
    8 * (4 * word + 3 - place / 8) + place % 8
}

impl<V: Variable> NodeBits<V> {
    /// Decomposes a number: 255 bits, and the row 0 · 0 = Σ 2^i bit_i - number
    /// (`AllocatedNum::to_bits_le`; any representation below 2^255 satisfies the rows, ours is
    /// the canonical one).
    pub fn new<I: Interpretation<Var = V>>(cs: &mut I, number: &Num<V>) -> Self {
        let bytes = number.value.to_bytes_le();
        let (limbs, _) = bytes.as_chunks::<8>();
        let limb = |i: usize| u64::from_le_bytes(limbs[i]);
        let first = cs.bits(limb(0), 64);
        for i in 1..4 {
            cs.bits(limb(i), if i < 3 { 64 } else { 63 });
        }
        if cs.wants_rows() {
            boolean_rows(cs, first, FIELD_BITS);
            let bit = |i| (first.nth(i), Coefficient::power(i));
            let mut difference: Vec<_> = (0..FIELD_BITS).map(bit).collect();
            difference.push((number.var, Coefficient::MINUS_ONE));
            cs.row(&[], &[], &difference);
        }
        let (words, _) = bytes.as_chunks::<4>();
        Self(std::array::from_fn(|j| Word {
            value: u32::from_be_bytes(words[j]),
            // Node bit 255 does not exist: bit 7 of the last byte, which ends the last word.
            constant: if j == 7 { 1 << 7 } else { 0 },
            negated: 0,
            vars: std::array::from_fn(|place| first.nth(node_bit(j, place).min(FIELD_BITS - 1))),
        }))
    }
}

/// The field element of a digest: a new variable and the row Σ 2^i bit_i · 1 = number over the
/// low 254 bits (`bellpepper` `gadgets/multipack.rs`, `pack_bits`).
pub fn pack_digest<I: Interpretation>(cs: &mut I, digest: &[Word<I::Var>; 8]) -> Num<I::Var> {
    let mut bytes = [0; 32];
    for (slot, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(digest) {
        *slot = word.value.to_be_bytes();
    }
    bytes[31] &= 0x3f;
    let value: Option<Fr> = Fr::from_bytes_le(&bytes).into();
    let number = Num::new(cs, value.expect("254 bits are below the modulus"));
    if cs.wants_rows() {
        let mut packed = [(number.var, Coefficient::ONE); 256];
        for (j, word) in digest.iter().enumerate() {
            assert!(word.is_variable(), "a digest of variables has no constant bit");
            for place in 0..32 {
                let bit = node_bit(j, place);
                if bit < CAPACITY {
                    packed[bit] = (word.vars[place], Coefficient::power(bit));
                }
            }
        }
        let one = (cs.one(), Coefficient::ONE);
        cs.row(&packed[..CAPACITY], &[one], &[(number.var, Coefficient::ONE)]);
    }
    number
}

/// A 64-bit number of bit variables (`storage-proofs-core` `gadgets/uint64.rs`).
#[derive(Clone, Copy, Debug)]
pub struct Bits64<V> {
    value: u64,
    first: V,
}

impl<V: Variable> Bits64<V> {
    /// Makes 64 bits with their boolean rows.
    pub fn new<I: Interpretation<Var = V>>(cs: &mut I, value: u64) -> Self {
        let first = cs.bits(value, 64);
        if cs.wants_rows() {
            boolean_rows(cs, first, 64);
        }
        Self { value, first }
    }

    /// The number as a public input.
    pub fn expose<I: Interpretation<Var = V>>(&self, cs: &mut I, public: Public) {
        let bit = |i| Bit { value: self.value >> i & 1 == 1, var: self.first.nth(i) };
        expose_bits(cs, public, &std::array::from_fn::<_, 64, _>(bit));
    }

    /// The high and the low word.
    pub fn words(&self) -> [Word<V>; 2] {
        let high = Word::allocated((self.value >> 32) as u32, self.first.nth(32));
        [high, Word::allocated(self.value as u32, self.first)]
    }
}
