//! SHA-256 over words (FIPS 180-4), with the variables and rows of the reference.
//!
//! The next `a` and `e` of a round are sums that are made only where they are needed: at the
//! start of the next round, or, after the last round, with the chaining value as one more
//! operand. Source: `bellpepper` `gadgets/sha256.rs`.

use super::sum::Sums;
use super::word::Word;
use crate::circuit::{Interpretation, Variable};

/// Round constants: the first 32 bits of the fractional parts of the cube roots of primes.
const K: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// Initial chaining value: the same of the square roots of the first eight primes.
const IV: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// SHA-256 of whole words, padded as the standard says.
pub fn sha256<I: Interpretation>(cs: &mut I, message: &[Word<I::Var>]) -> [Word<I::Var>; 8] {
    let one = cs.one();
    let bits = 32 * message.len() as u64;
    let mut padded = message.to_vec();
    padded.push(Word::constant(1 << 31, one));
    while padded.len() % 16 != 14 {
        padded.push(Word::constant(0, one));
    }
    padded.extend([(bits >> 32) as u32, bits as u32].map(|word| Word::constant(word, one)));
    let (blocks, rest) = padded.as_chunks::<16>();
    debug_assert!(rest.is_empty());
    let start = IV.map(|word| Word::constant(word, one));
    blocks.iter().fold(start, |chaining, block| compress(cs, block, &chaining))
}

/// A round's next `a` or `e`: the operands of a sum not yet made, or the word itself.
enum Next<V> {
    Sum([Word<V>; 7], usize),
    Word(Word<V>),
}

impl<V: Variable> Next<V> {
    /// The word, with `other` as one more operand of a waiting sum.
    fn make<I: Interpretation<Var = V>>(
        self,
        cs: &mut I,
        sums: &mut Sums<I::Packed>,
        other: Option<&Word<V>>,
    ) -> Word<V> {
        match self {
            Self::Word(word) => word,
            Self::Sum(operands, count) => {
                let mut all = [&operands[0]; 8];
                all.iter_mut().zip(&operands[..count]).for_each(|(slot, word)| *slot = word);
                if let Some(other) = other {
                    all[count] = other;
                }
                sums.add(cs, &all[..count + usize::from(other.is_some())])
            }
        }
    }
}

/// The compression function of one block.
fn compress<I: Interpretation>(
    cs: &mut I,
    block: &[Word<I::Var>; 16],
    chaining: &[Word<I::Var>; 8],
) -> [Word<I::Var>; 8] {
    cs.between_rows();
    let mut sums = Sums::default();
    let schedule = expand(cs, &mut sums, block);

    let [a, mut b, mut c, mut d, e, mut f, mut g, mut h] = *chaining;
    let (mut a, mut e) = (Next::Word(a), Next::Word(e));
    for (&k, w) in K.iter().zip(&schedule) {
        let e_now = e.make(cs, &mut sums, None);
        let s1 = xor3(cs, [e_now.rotate(6), e_now.rotate(11), e_now.rotate(25)]);
        let choice = Word::choose(cs, &e_now, &f, &g);
        let k = Word::constant(k, cs.one());

        let a_now = a.make(cs, &mut sums, None);
        let s0 = xor3(cs, [a_now.rotate(2), a_now.rotate(13), a_now.rotate(22)]);
        let majority = Word::majority(cs, &a_now, &b, &c);

        e = Next::Sum([h, s1, choice, k, *w, d, d], 6);
        a = Next::Sum([h, s1, choice, k, *w, s0, majority], 7);
        (h, g, f) = (g, f, e_now);
        (d, c, b) = (c, b, a_now);
    }

    let h0 = a.make(cs, &mut sums, Some(&chaining[0]));
    let [h1, h2, h3] =
        [(1, b), (2, c), (3, d)].map(|(i, word)| sums.add(cs, &[&chaining[i], &word]));
    let h4 = e.make(cs, &mut sums, Some(&chaining[4]));
    let [h5, h6, h7] =
        [(5, f), (6, g), (7, h)].map(|(i, word)| sums.add(cs, &[&chaining[i], &word]));
    sums.finish(cs);
    [h0, h1, h2, h3, h4, h5, h6, h7]
}

/// The message schedule: w[i] = w[i-16] + s0(w[i-15]) + w[i-7] + s1(w[i-2]).
fn expand<I: Interpretation>(
    cs: &mut I,
    sums: &mut Sums<I::Packed>,
    block: &[Word<I::Var>; 16],
) -> [Word<I::Var>; 64] {
    let mut w = [block[0]; 64];
    w[..16].copy_from_slice(block);
    for i in 16..64 {
        let (early, late) = (w[i - 15], w[i - 2]);
        let s0 = xor3(cs, [early.rotate(7), early.rotate(18), early.shift(3)]);
        let s1 = xor3(cs, [late.rotate(17), late.rotate(19), late.shift(10)]);
        w[i] = sums.add(cs, &[&w[i - 16], &s0, &w[i - 7], &s1]);
    }
    w
}

fn xor3<I: Interpretation>(cs: &mut I, [x, y, z]: [Word<I::Var>; 3]) -> Word<I::Var> {
    x.xor(cs, &y).xor(cs, &z)
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::circuit::gadgets::values::Values;

    #[test]
    fn digests_are_those_of_sha2_with_constant_words_anywhere() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        for words in 0..70 {
            let message: Vec<u32> = (0..words).map(|_| rng.r#gen()).collect();
            let gadget: Vec<Word<()>> = message
                .iter()
                .map(|&word| match rng.gen_range(0..3) {
                    0 => Word::constant(word, ()),
                    // A node's last word has one constant zero bit.
                    1 if word >> 7 & 1 == 0 => {
                        Word { constant: 1 << 7, ..Word::allocated(word, ()) }
                    }
                    _ => Word::allocated(word, ()),
                })
                .collect();
            let digest = sha256(&mut Values, &gadget).map(|word| word.value);
            let bytes: Vec<u8> = message.iter().flat_map(|word| word.to_be_bytes()).collect();
            let expected = Sha256::digest(&bytes);
            let ours: Vec<u8> = digest.iter().flat_map(|word| word.to_be_bytes()).collect();
            assert_eq!(ours, expected.as_slice(), "{words} words");
        }
    }
}
