//! a = A·z and b = B·z from the compact assignment, any range of rows at a time.
//!
//! Most rows have one to three entries, all of them bits or ONE with coefficients 1, -1 or 2:
//! their value is a small integer and comes out of a table. The others add up as integers of
//! 320 bits, where a bit is a mask, and are reduced once.

use blstrs::Scalar as Fr;
use ff::Field;
use rayon::prelude::*;

use super::column::{Column, Kind};
use super::matrix::{Matrix, Piece};
use super::template::{Section, Template};
use crate::circuit::Coefficient;
use crate::limbs::{Limbs, Products, Sum, element, limbs};
use crate::witness::{Layout, Witness};

/// Entries of a row that may be a small integer.
const SHORT: usize = 3;
/// Largest absolute value of a small integer: `SHORT` entries of at most 2.
const SMALL: i32 = 2 * SHORT as i32;
/// Rows that a thread evaluates at a time: 2 MB of values.
const CHUNK_ROWS: usize = 1 << 15;

/// Evaluates the rows of one partition, those appended for its inputs included.
pub struct Evaluator<'e> {
    template: &'e Template,
    witness: &'e Witness,
    coefficients: Vec<Limbs>,
    /// The elements -`SMALL` to `SMALL`.
    small: [Fr; 2 * SMALL as usize + 1],
}

/// The parts of the assignment that a challenge's rows read.
#[derive(Clone, Copy)]
struct View<'v> {
    inputs: [&'v [Fr]; 2],
    words: [&'v [u64]; 2],
    full: [&'v [Fr]; 2],
}

impl<'e> Evaluator<'e> {
    /// Rows of `template` for the assignment `witness`.
    ///
    /// # Panics
    /// When they belong to different sector sizes, or their variables are laid out differently.
    pub fn new(template: &'e Template, witness: &'e Witness) -> Self {
        check_layout(template, &witness.layout);
        let positive = std::iter::successors(Some(Fr::ZERO), |value| Some(value + Fr::ONE));
        let positive: Vec<Fr> = positive.take(SMALL as usize + 1).collect();
        let small = std::array::from_fn(|i| {
            let value = i as i32 - SMALL;
            let magnitude = positive[value.unsigned_abs() as usize];
            if value < 0 { -magnitude } else { magnitude }
        });
        let coefficients = template.coefficients.iter().map(limbs).collect();
        Self { template, witness, coefficients, small }
    }

    /// Rows of the partition, appended ones included.
    pub fn rows(&self) -> usize {
        self.template.rows() + self.template.inputs()
    }

    /// Writes a and b of the rows from `start` on, as many as the slices hold, on all threads.
    ///
    /// # Panics
    /// When the slices differ in length or reach beyond the last row.
    pub fn fill(&self, start: usize, a: &mut [Fr], b: &mut [Fr]) {
        assert_eq!(a.len(), b.len(), "one a and one b a row");
        assert!(start + a.len() <= self.rows(), "rows of the partition");
        a.par_chunks_mut(CHUNK_ROWS)
            .zip(b.par_chunks_mut(CHUNK_ROWS))
            .enumerate()
            .for_each(|(chunk, (a, b))| self.fill_chunk(start + chunk * CHUNK_ROWS, a, b));
    }

    /// Streams all rows in blocks of `block_rows` (the last may be shorter): number of the first
    /// row, a, b. Holds one block.
    ///
    /// # Panics
    /// When `block_rows` is zero.
    pub fn for_each_block(&self, block_rows: usize, mut visit: impl FnMut(usize, &[Fr], &[Fr])) {
        assert!(block_rows > 0, "a block has rows");
        let mut a = vec![Fr::ZERO; block_rows.min(self.rows())];
        let mut b = a.clone();
        for start in (0..self.rows()).step_by(block_rows) {
            let len = block_rows.min(self.rows() - start);
            self.fill(start, &mut a[..len], &mut b[..len]);
            visit(start, &a[..len], &b[..len]);
        }
    }

    /// Cuts a range of rows at the borders of sections.
    fn fill_chunk(&self, mut start: usize, mut a: &mut [Fr], mut b: &mut [Fr]) {
        let Template { prologue, challenge, .. } = self.template;
        while !a.is_empty() {
            let (row, section) = match start.checked_sub(prologue.rows()) {
                None => (start, Some((prologue, 0))),
                Some(rest) => {
                    let (number, row) = (rest / challenge.rows(), rest % challenge.rows());
                    match number < self.template.challenges() {
                        true => (row, Some((challenge, number))),
                        false => (start - self.template.rows(), None),
                    }
                }
            };
            let rows = section.map_or(self.template.inputs(), |(section, _)| section.rows());
            let len = a.len().min(rows - row);
            let (a_now, b_now);
            (a_now, a) = a.split_at_mut(len);
            (b_now, b) = b.split_at_mut(len);
            match section {
                Some((section, number)) => self.fill_section(section, number, row, a_now, b_now),
                None => {
                    a_now.copy_from_slice(&self.witness.inputs()[row..row + len]);
                    b_now.fill(Fr::ZERO);
                }
            }
            start += len;
        }
    }

    fn fill_section(
        &self,
        section: &Section,
        challenge: usize,
        row: usize,
        a: &mut [Fr],
        b: &mut [Fr],
    ) {
        let view = self.view(challenge);
        self.fill_matrix(&section.a, &view, row, a);
        self.fill_matrix(&section.b, &view, row, b);
    }

    fn view(&self, challenge: usize) -> View<'_> {
        let Witness { layout, words, .. } = self.witness;
        let (inputs, full) = (self.witness.inputs(), self.witness.full());
        View {
            inputs: [inputs, &inputs[layout.input_base(challenge)..]],
            words: [words, &words[layout.word_base(challenge)..]],
            full: [full, &full[layout.full_base(challenge)..]],
        }
    }

    fn fill_matrix(&self, matrix: &Matrix, view: &View<'_>, first: usize, values: &mut [Fr]) {
        for (start, piece) in matrix.placed_pieces() {
            let end = (first + values.len()).min(start + piece.rows());
            let rows = first.max(start)..end;
            if !rows.is_empty() {
                let values = &mut values[rows.start - first..rows.end - first];
                self.fill_piece(piece, view, rows.start - start, values);
            }
        }
    }

    fn fill_piece(&self, piece: &Piece, view: &View<'_>, first: usize, values: &mut [Fr]) {
        let ends = &piece.ends()[first..first + values.len()];
        let mut start = if first == 0 { 0 } else { piece.ends()[first - 1] as usize };
        for (value, &end) in values.iter_mut().zip(ends) {
            let end = end as usize;
            let columns = &piece.columns()[start..end];
            let coefficients = &piece.coefficients()[start..end];
            start = end;
            *value = match self.small_row(columns, coefficients, view) {
                Some(small) => self.small[(small + SMALL) as usize],
                None => self.row(columns, coefficients, view),
            };
        }
    }

    /// The value of a short row of bits and ONE, unless it is another row.
    #[inline]
    fn small_row(
        &self,
        columns: &[Column],
        coefficients: &[Coefficient],
        view: &View<'_>,
    ) -> Option<i32> {
        if columns.len() > SHORT {
            return None;
        }
        let mut sum = 0;
        for (&column, &coefficient) in columns.iter().zip(coefficients) {
            let factor = match coefficient {
                Coefficient::ONE => 1,
                Coefficient::TWO => 2,
                Coefficient::MINUS_ONE => -1,
                _ => return None,
            };
            let bit = match column.kind() {
                Kind::Bit => bit(view.words[1], column.index()),
                Kind::PrologueInput if column == Column::ONE => 1,
                Kind::PrologueBit => bit(view.words[0], column.index()),
                _ => return None,
            };
            sum += factor * bit as i32;
        }
        Some(sum)
    }

    /// The value of any row.
    fn row(&self, columns: &[Column], coefficients: &[Coefficient], view: &View<'_>) -> Fr {
        let mut sum = RowSum::default();
        for (&column, &coefficient) in columns.iter().zip(coefficients) {
            let index = column.index() as usize;
            let factor = &self.coefficients[usize::from(coefficient.0)];
            let mut add_bit = |bit: u64| sum.terms.add_masked(factor, bit.wrapping_neg());
            match column.kind() {
                Kind::Bit => add_bit(bit(view.words[1], column.index())),
                Kind::PrologueBit => add_bit(bit(view.words[0], column.index())),
                Kind::PrologueInput if column == Column::ONE => add_bit(1),
                Kind::Full => sum.add_full(&view.full[1][index], coefficient, factor),
                Kind::PrologueFull => sum.add_full(&view.full[0][index], coefficient, factor),
                Kind::PrologueInput => sum.add_full(&view.inputs[0][index], coefficient, factor),
                Kind::Input => sum.add_full(&view.inputs[1][index], coefficient, factor),
            }
        }
        sum.finish()
    }
}

/// A row's terms: those that are a bit's or have the coefficient 1 or -1, and the products.
#[derive(Default)]
struct RowSum {
    terms: Sum,
    products: Products,
    has_products: bool,
}

impl RowSum {
    #[inline]
    fn add_full(&mut self, value: &Fr, coefficient: Coefficient, factor: &Limbs) {
        match coefficient {
            Coefficient::ONE => self.terms.add(&limbs(value)),
            Coefficient::MINUS_ONE => self.terms.subtract(&limbs(value)),
            _ => {
                self.products.add(&limbs(value), factor);
                self.has_products = true;
            }
        }
    }

    fn finish(mut self) -> Fr {
        if self.has_products {
            self.terms.add(&self.products.reduce());
        }
        element(self.terms.reduce())
    }
}

#[inline]
fn bit(words: &[u64], index: u32) -> u64 {
    words[(index / 64) as usize] >> (index % 64) & 1
}

fn check_layout(template: &Template, layout: &Layout) {
    assert_eq!(template.size, layout.size, "witness and template of one size");
    for (section, counts) in
        [(&template.prologue, &layout.prologue), (&template.challenge, &layout.challenge)]
    {
        assert_eq!(section.inputs, counts.inputs, "inputs");
        assert_eq!(section.order.bits() as usize, counts.bits, "bits");
        assert_eq!(section.order.full() as usize, counts.full, "field elements");
    }
}
