//! 32-bit words: a value, which bits are constant, which are negated, and the variables.
//!
//! The reference's `UInt32` and `Boolean` (`bellpepper` `gadgets/uint32.rs`, `bellpepper-core`
//! `gadgets/boolean.rs`) fold constants: an operation with a constant operand makes no variable,
//! and a negation is a flag on a bit. Here the same folding is done on 32 bits at once.

use crate::circuit::{Coefficient, Interpretation, Variable};

use Coefficient as Co;

/// A word. Bit i of `value` is the variable `vars[i]`, or its complement where bit i of
/// `negated` is set, or a constant where bit i of `constant` is set.
#[derive(Clone, Copy, Debug)]
pub struct Word<V> {
    /// The word's value.
    pub value: u32,
    /// Bits that are constants; they have no variable.
    pub constant: u32,
    /// Bits that are the complement of their variable; never a constant bit.
    pub negated: u32,
    /// The variables, lowest bit first; meaningless at constant bits.
    pub vars: [V; 32],
}

impl<V: Variable> Word<V> {
    /// A constant. `filler` stands where variables would.
    #[inline]
    pub fn constant(value: u32, filler: V) -> Self {
        Self { value, constant: !0, negated: 0, vars: [filler; 32] }
    }

    /// A word of 32 consecutive variables.
    #[inline]
    pub fn allocated(value: u32, first: V) -> Self {
        Self { value, constant: 0, negated: 0, vars: std::array::from_fn(|i| first.nth(i)) }
    }

    /// Whether every bit is a constant.
    pub fn is_constant(&self) -> bool {
        self.constant == !0
    }

    /// Whether no bit is a constant or negated.
    pub fn is_variable(&self) -> bool {
        self.constant | self.negated == 0
    }

    /// Right rotation by `by` bits.
    #[must_use]
    pub fn rotate(&self, by: u32) -> Self {
        let mut vars = self.vars;
        vars.rotate_left(by as usize);
        Self {
            value: self.value.rotate_right(by),
            constant: self.constant.rotate_right(by),
            negated: self.negated.rotate_right(by),
            vars,
        }
    }

    /// Right shift by `by` bits, at least one; constant zeros come in.
    #[must_use]
    pub fn shift(&self, by: u32) -> Self {
        let shifted = self.rotate(by);
        let kept = !0 >> by;
        Self {
            value: shifted.value & kept,
            constant: shifted.constant | !kept,
            negated: shifted.negated & kept,
            vars: shifted.vars,
        }
    }

    /// Exclusive or. Where both bits are variables, a new variable r and the row
    /// 2a · b = a + b - r; elsewhere the other bit, or its complement (`Boolean::xor`).
    ///
    /// # Panics
    /// When an operand has a negated bit: in SHA-256 negations reach additions only.
    #[must_use]
    pub fn xor<I: Interpretation<Var = V>>(&self, cs: &mut I, other: &Self) -> Self {
        assert_eq!(self.negated | other.negated, 0, "negations reach additions only");
        let constant = self.constant & other.constant;
        let fresh = !(self.constant | other.constant);
        let ones = (self.value & self.constant) ^ (other.value & other.constant);
        let negated = ones & !constant;
        let value = self.value ^ other.value;
        let first =
            cs.bits(u64::from(extract(value ^ negated, fresh)), fresh.count_ones() as usize);
        let mut word = Self { value, constant, negated, vars: self.vars };
        if cs.wants_rows() {
            let mut made = 0;
            for i in 0..32 {
                if fresh >> i & 1 == 1 {
                    let (a, b, r) = (self.vars[i], other.vars[i], first.nth(made));
                    made += 1;
                    word.vars[i] = r;
                    cs.row(
                        &[(a, Co::TWO)],
                        &[(b, Co::ONE)],
                        &[(a, Co::ONE), (b, Co::ONE), (r, Co::MINUS_ONE)],
                    );
                } else if self.constant >> i & 1 == 1 {
                    word.vars[i] = other.vars[i];
                }
            }
        }
        word
    }

    /// Choice, (a ∧ b) ⊕ (¬a ∧ c) (`Boolean::sha256_ch`).
    ///
    /// State words are constant or variable as a whole, and become variable in the order a, b, c:
    /// - one variable: a where b = 1, c = 0; ¬a where b = 0, c = 1; else a constant;
    /// - two: a ∧ b where c = 0, ¬(a ∧ ¬b) where c = 1;
    /// - three: the row (b - c) · a = r - c.
    ///
    /// # Panics
    /// When the operands are not such state words.
    pub fn choose<I: Interpretation<Var = V>>(cs: &mut I, a: &Self, b: &Self, c: &Self) -> Self {
        let value = (a.value & b.value) ^ (!a.value & c.value);
        match Self::variables(a, b, c) {
            0 => Self::constant(value, cs.one()),
            1 => Self {
                value,
                constant: !(b.value ^ c.value),
                negated: !b.value & c.value,
                vars: a.vars,
            },
            2 => {
                let negated = c.value;
                let first = cs.bits(u64::from(value ^ negated), 32);
                let word = Self { negated, ..Self::allocated(value, first) };
                word.and_rows(cs, a, b, [0, negated]);
                word
            }
            _ => {
                let word = Self::allocated(value, cs.bits(u64::from(value), 32));
                if cs.wants_rows() {
                    for i in 0..32 {
                        let (r, c) = (word.vars[i], c.vars[i]);
                        cs.row(
                            &[(b.vars[i], Co::ONE), (c, Co::MINUS_ONE)],
                            &[(a.vars[i], Co::ONE)],
                            &[(r, Co::ONE), (c, Co::MINUS_ONE)],
                        );
                    }
                }
                word
            }
        }
    }

    /// Majority, (a ∧ b) ⊕ (a ∧ c) ⊕ (b ∧ c) (`Boolean::sha256_maj`), of state words as in
    /// [`Word::choose`]:
    /// - one variable: a where b ≠ c; else a constant;
    /// - two: a ∧ b where c = 0, ¬(¬a ∧ ¬b) where c = 1;
    /// - three: per bit two variables, r then s, and two rows, b · c = s then
    ///   (2s - b - c) · a = s - r.
    ///
    /// # Panics
    /// When the operands are not such state words.
    pub fn majority<I: Interpretation<Var = V>>(cs: &mut I, a: &Self, b: &Self, c: &Self) -> Self {
        let value = (a.value & b.value) ^ (a.value & c.value) ^ (b.value & c.value);
        match Self::variables(a, b, c) {
            0 => Self::constant(value, cs.one()),
            1 => Self { value, constant: !(b.value ^ c.value), negated: 0, vars: a.vars },
            2 => {
                let negated = c.value;
                let first = cs.bits(u64::from(value ^ negated), 32);
                let word = Self { negated, ..Self::allocated(value, first) };
                word.and_rows(cs, a, b, [negated, negated]);
                word
            }
            _ => {
                let first = cs.bits(interleave(value, b.value & c.value), 64);
                let vars = std::array::from_fn(|i| first.nth(2 * i));
                if cs.wants_rows() {
                    for i in 0..32 {
                        let (r, s) = (first.nth(2 * i), first.nth(2 * i + 1));
                        let (b, c) = (b.vars[i], c.vars[i]);
                        cs.row(&[(b, Co::ONE)], &[(c, Co::ONE)], &[(s, Co::ONE)]);
                        cs.row(
                            &[(s, Co::TWO), (b, Co::MINUS_ONE), (c, Co::MINUS_ONE)],
                            &[(a.vars[i], Co::ONE)],
                            &[(s, Co::ONE), (r, Co::MINUS_ONE)],
                        );
                    }
                }
                Self { value, constant: 0, negated: 0, vars }
            }
        }
    }

    /// How many of three state words are variable.
    fn variables(a: &Self, b: &Self, c: &Self) -> usize {
        let count = [a, b, c].iter().take_while(|word| word.is_variable()).count();
        let constant = [a, b, c].iter().rev().take_while(|word| word.is_constant()).count();
        assert_eq!(count + constant, 3, "state words become variable in order, as a whole");
        count
    }

    /// The rows a' · b' = r, where a' is 1 - a at the bits set in `complement[0]` and b' is
    /// 1 - b at those in `complement[1]` (`AllocatedBit::and`, `and_not`, `nor`).
    fn and_rows<I: Interpretation<Var = V>>(
        &self,
        cs: &mut I,
        a: &Self,
        b: &Self,
        complement: [u32; 2],
    ) {
        if !cs.wants_rows() {
            return;
        }
        let one = cs.one();
        for i in 0..32 {
            let factor = |var: V, complement: u32| {
                let complemented = complement >> i & 1 == 1;
                let terms = [(one, Co::ONE), (var, Co::MINUS_ONE)];
                if complemented { (terms, 0) } else { ([(one, Co::ONE), (var, Co::ONE)], 1) }
            };
            let (a, a_start) = factor(a.vars[i], complement[0]);
            let (b, b_start) = factor(b.vars[i], complement[1]);
            cs.row(&a[a_start..], &b[b_start..], &[(self.vars[i], Co::ONE)]);
        }
    }
}

/// The bits of `value` under `mask`, moved together at the low end.
#[inline]
fn extract(value: u32, mask: u32) -> u32 {
    if mask & mask.wrapping_add(1) == 0 {
        return value & mask;
    }
    let places = (0..32).filter(|place| mask >> place & 1 == 1);
    places.enumerate().fold(0, |bits, (i, place)| bits | (value >> place & 1) << i)
}

/// Bits of `even` at even places, bits of `odd` at odd places.
#[inline]
fn interleave(even: u32, odd: u32) -> u64 {
    spread(even) | spread(odd) << 1
}

/// Moves bit i to bit 2i.
#[inline]
fn spread(bits: u32) -> u64 {
    let mut bits = u64::from(bits);
    for (shift, mask) in [
        (16, 0x0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    ] {
        bits = (bits | bits << shift) & mask;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extract_and_interleave_agree_with_bit_by_bit_moves() {
        for (value, mask) in [(0xdead_beef, 0xf0f0_1234), (!0, 1 << 7), (5, !0), (7, 0), (!0, 0xff)]
        {
            let mut expected = 0;
            let mut count = 0;
            for i in 0..32 {
                if mask >> i & 1 == 1 {
                    expected |= (value >> i & 1) << count;
                    count += 1;
                }
            }
            assert_eq!(extract(value, mask), expected, "{value:#x} under {mask:#x}");
        }
        let (even, odd) = (0x1234_5678_u32, 0x9abc_def0_u32);
        let mixed = interleave(even, odd);
        for i in 0..32 {
            assert_eq!(mixed >> (2 * i) & 1, u64::from(even >> i & 1));
            assert_eq!(mixed >> (2 * i + 1) & 1, u64::from(odd >> i & 1));
        }
    }
}
