//! The value interpretation: writes one section's bits, field elements and inputs to their place
//! and compares what the circuit compares.

use blstrs::Scalar as Fr;

use super::layout::Counts;
use crate::circuit::{Coefficient, Equality, Interpretation, Public, Term};

/// Appends bits to a slice of words, lowest bit first.
#[derive(Debug)]
struct BitWriter<'w> {
    words: std::slice::IterMut<'w, u64>,
    /// Bits not yet stored, the `filled` low ones.
    pending: u64,
    filled: usize,
    count: usize,
}

impl<'w> BitWriter<'w> {
    fn new(words: &'w mut [u64]) -> Self {
        Self { words: words.iter_mut(), pending: 0, filled: 0, count: 0 }
    }

    #[inline]
    fn push(&mut self, values: u64, count: usize) {
        assert!(count == 64 || values >> count == 0, "a bit variable is given a bit");
        self.pending |= values << self.filled;
        self.count += count;
        let filled = self.filled + count;
        if filled < 64 {
            self.filled = filled;
            return;
        }
        self.store();
        self.filled = filled - 64;
        // Shifting by 64 (nothing was pending) leaves nothing.
        self.pending = values.checked_shr((count - self.filled) as u32).unwrap_or(0);
    }

    fn store(&mut self) {
        *self.words.next().expect("the layout counts every bit") = self.pending;
    }

    /// Stores the last, partly filled word; returns how many bits there were.
    fn finish(mut self) -> usize {
        if self.filled > 0 {
            self.store();
        }
        assert!(self.words.next().is_none(), "the circuit makes every bit of the layout");
        self.count
    }
}

/// The first comparison that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// An equality that the circuit enforces.
    Unequal { equality: Equality, expected: Fr, got: Fr },
    /// A public input that is not the one computed apart from the circuit.
    Input { public: Public, expected: Fr, got: Fr },
}

/// Where one section's values go.
pub(super) struct Target<'w> {
    pub(super) inputs: &'w mut [Fr],
    pub(super) words: &'w mut [u64],
    pub(super) full: &'w mut [Fr],
}

/// Writes a section.
#[derive(Debug)]
pub(super) struct Writer<'w> {
    bits: BitWriter<'w>,
    full: &'w mut [Fr],
    full_count: usize,
    inputs: &'w mut [Fr],
    input_count: usize,
    public: &'w [Fr],
    fault: Option<Fault>,
}

impl<'w> Writer<'w> {
    /// A writer into `target`, whose inputs must turn out as `public`.
    pub(super) fn new(target: Target<'w>, public: &'w [Fr]) -> Self {
        assert_eq!(target.inputs.len(), public.len(), "public inputs of the section");
        Self {
            bits: BitWriter::new(target.words),
            full: target.full,
            full_count: 0,
            inputs: target.inputs,
            input_count: 0,
            public,
            fault: None,
        }
    }

    /// Ends the section, which must have made `counts` variables (`inputs` as in the target).
    pub(super) fn finish(self, counts: &Counts) -> Result<(), Fault> {
        assert_eq!(self.bits.finish(), counts.bits, "bits of the section");
        assert_eq!(self.full_count, self.full.len(), "field elements of the section");
        assert_eq!(self.input_count, self.inputs.len(), "inputs of the section");
        self.fault.map_or(Ok(()), Err)
    }
}

impl Interpretation for Writer<'_> {
    type Var = ();
    type Packed = ();

    fn wants_rows(&self) -> bool {
        false
    }

    fn one(&self) {}

    #[inline]
    fn bits(&mut self, values: u64, count: usize) {
        self.bits.push(values, count);
    }

    fn full(&mut self, values: &[Fr]) {
        let end = self.full_count + values.len();
        self.full[self.full_count..end].copy_from_slice(values);
        self.full_count = end;
    }

    fn input(&mut self, public: Public, value: Fr) {
        self.inputs[self.input_count] = value;
        let expected = self.public[self.input_count];
        self.input_count += 1;
        if expected != value {
            self.fault.get_or_insert(Fault::Input { public, expected, got: value });
        }
    }

    fn coefficient(&mut self, _: Fr) -> Coefficient {
        Coefficient::ONE
    }

    fn row(&mut self, _: &[Term<()>], _: &[Term<()>], _: &[Term<()>]) {}

    fn pack(&mut self, (): &mut (), _: usize, _: &[Term<()>], _: &[Term<()>]) {}

    fn packed_row(&mut self, (): ()) {}

    fn equal(&mut self, equality: Equality, got: Fr, expected: Fr) {
        if got != expected {
            self.fault.get_or_insert(Fault::Unequal { equality, expected, got });
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn bits_stand_in_the_order_they_were_pushed() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let pieces: Vec<(u64, usize)> = (0..1000)
            .map(|_| {
                let count = rng.gen_range(0..=64);
                (rng.r#gen::<u64>().checked_shr(64 - count).unwrap_or(0), count as usize)
            })
            .collect();
        let total: usize = pieces.iter().map(|piece| piece.1).sum();
        let mut words = vec![!0; total.div_ceil(64)];
        let mut writer = BitWriter::new(&mut words);
        pieces.iter().for_each(|&(values, count)| writer.push(values, count));
        assert_eq!(writer.finish(), total);
        let mut place = 0;
        for (values, count) in pieces {
            for i in 0..count {
                assert_eq!(words[place / 64] >> (place % 64) & 1, values >> i & 1, "bit {place}");
                place += 1;
            }
        }
        let padding = words.len() * 64 - total;
        assert!(words.last().map_or(0, |word| word.leading_zeros() as usize) >= padding);
    }

    #[test]
    #[should_panic(expected = "a bit variable is given a bit")]
    fn a_value_that_is_no_bit_is_refused() {
        BitWriter::new(&mut [0]).push(2, 1);
    }
}
