//! The shape interpretation: writes template rows down.

use std::collections::HashMap;
use std::ops::Range;

use blst::blst_fr;
use blstrs::Scalar as Fr;
use ff::Field;

use super::column::{Column, Kind};
use super::matrix::Piece;
use super::order::{AuxOrder, Form};
use super::template::Matrices;
use crate::circuit::{Coefficient, Equality, Interpretation, Public, Term};

/// The values of coefficients, and where each is.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) values: Vec<Fr>,
    places: HashMap<[u64; 4], u16>,
    /// Sums of two fixed coefficients, `[left][right]`, once they are known: two sums in a row share
    /// most operands, so that a challenge has millions of such sums, of a few thousand kinds.
    pairs: Vec<Pair>,
}

/// What is known of the sum of two fixed coefficients.
#[derive(Clone, Copy, Debug)]
enum Pair {
    Unknown,
    Zero,
    Place(Coefficient),
}

impl Table {
    fn new() -> Self {
        let values = Coefficient::fixed_values();
        let places =
            values.iter().zip(0..).map(|(&value, place)| (blst_fr::from(value).l, place)).collect();
        let pairs = vec![Pair::Unknown; Coefficient::FIXED * Coefficient::FIXED];
        Self { values, places, pairs }
    }

    fn value(&self, coefficient: Coefficient) -> Fr {
        self.values[usize::from(coefficient.0)]
    }

    /// The place of `value`, unless it is zero.
    fn place_unless_zero(&mut self, value: Fr) -> Option<Coefficient> {
        (!value.is_zero_vartime()).then(|| self.place(value))
    }

    /// The sum of two coefficients, unless it is zero.
    fn add(&mut self, left: Coefficient, right: Coefficient) -> Option<Coefficient> {
        let [row, column] = [left, right].map(|coefficient| usize::from(coefficient.0));
        let are_fixed = row.max(column) < Coefficient::FIXED;
        let pair = are_fixed.then_some(row * Coefficient::FIXED + column);
        match pair.map(|pair| self.pairs[pair]) {
            Some(Pair::Zero) => None,
            Some(Pair::Place(sum)) => Some(sum),
            Some(Pair::Unknown) | None => {
                let sum = self.place_unless_zero(self.value(left) + self.value(right));
                if let Some(pair) = pair {
                    self.pairs[pair] = sum.map_or(Pair::Zero, Pair::Place);
                }
                sum
            }
        }
    }

    /// Adds the values that `other` found since it was a copy of this table, in their order; where
    /// all of its values are now, if that is elsewhere.
    pub(super) fn unite(&mut self, other: &Self) -> Option<Vec<Coefficient>> {
        let places: Vec<_> = other.values.iter().map(|&value| self.place(value)).collect();
        let moved = |(place, number): (&Coefficient, usize)| usize::from(place.0) != number;
        places.iter().zip(0..).any(moved).then_some(places)
    }

    fn place(&mut self, value: Fr) -> Coefficient {
        let next =
            u16::try_from(self.values.len()).expect("a circuit has about 2,500 coefficients");
        let place = *self.places.entry(blst_fr::from(value).l).or_insert(next);
        if place == next {
            self.values.push(value);
        }
        Coefficient(place)
    }
}

/// What was recorded of the prologue or of the challenge.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) order: AuxOrder,
    pub(super) inputs: u32,
    pub(super) a: Piece,
    pub(super) b: Piece,
    pub(super) c: Option<Piece>,
}

impl Recorded {
    /// Room for `rows` rows; A and C have about 2.4 entries a row.
    fn new(rows: usize, inputs: u32, matrices: Matrices) -> Self {
        let long = rows * 5 / 2;
        Self {
            order: AuxOrder::default(),
            inputs,
            a: Piece::with_capacity(rows, long),
            b: Piece::with_capacity(rows, rows + rows / 16),
            c: (matrices == Matrices::Abc).then(|| Piece::with_capacity(rows, long)),
        }
    }

    /// The matrices that there are.
    pub(super) fn pieces(&mut self) -> impl Iterator<Item = &mut Piece> {
        [Some(&mut self.a), Some(&mut self.b), self.c.as_mut()].into_iter().flatten()
    }
}

/// Records the section at hand: first the prologue, then one challenge, or a part of its rows.
#[derive(Debug)]
pub(super) struct Recorder {
    pub(super) table: Table,
    section: Recorded,
    /// Rows are written down from the first place between rows with that many aux variables on,
    /// to the first one with no fewer than the end.
    wanted: Range<u32>,
    wants_rows: bool,
    matrices: Matrices,
    input: Kind,
    bit: Kind,
    full: Kind,
}

impl Recorder {
    pub(super) fn new(matrices: Matrices) -> Self {
        Self {
            table: Table::new(),
            // Input 0 is ONE.
            section: Recorded::new(1 << 10, 1, matrices),
            wanted: 0..u32::MAX,
            wants_rows: true,
            matrices,
            input: Kind::PrologueInput,
            bit: Kind::PrologueBit,
            full: Kind::PrologueFull,
        }
    }

    /// A recorder of about `rows` rows of the challenge, those among its `wanted` aux variables,
    /// with the coefficients met so far. It goes through the whole challenge, for the numbers of
    /// its variables.
    pub(super) fn of_challenge(&self, wanted: Range<u32>, rows: usize) -> Self {
        Self {
            table: self.table.clone(),
            section: Recorded::new(rows, 0, self.matrices),
            wants_rows: wanted.start == 0,
            wanted,
            matrices: self.matrices,
            input: Kind::Input,
            bit: Kind::Bit,
            full: Kind::Full,
        }
    }

    /// What was recorded.
    pub(super) fn finish(self) -> (Table, Recorded) {
        (self.table, self.section)
    }

    /// Brings `row` into column order with every variable once, and without zeros.
    fn merge(&mut self, row: &mut Vec<Term<Column>>) {
        row.sort_unstable_by_key(|term| term.0);
        let mut kept = 0;
        let mut start = 0;
        while start < row.len() {
            let column = row[start].0;
            let same = row[start..].iter().take_while(|term| term.0 == column).count();
            let merged = self.sum(&row[start..start + same]);
            if let Some(coefficient) = merged {
                row[kept] = (column, coefficient);
                kept += 1;
            }
            start += same;
        }
        row.truncate(kept);
    }

    /// The sum of the coefficients of one variable, unless it is zero.
    fn sum(&mut self, terms: &[Term<Column>]) -> Option<Coefficient> {
        match *terms {
            [(_, only)] => Some(only),
            [(_, left), (_, right)] => self.table.add(left, right),
            _ => {
                let sum = terms.iter().map(|term| self.table.value(term.1)).sum();
                self.table.place_unless_zero(sum)
            }
        }
    }
}

/// Both sides of a row under construction.
#[derive(Debug, Default)]
pub(super) struct Packed {
    operands: Vec<Term<Column>>,
    results: Vec<Term<Column>>,
}

impl Interpretation for Recorder {
    type Var = Column;
    type Packed = Packed;

    fn wants_rows(&self) -> bool {
        self.wants_rows
    }

    fn between_rows(&mut self) {
        self.wants_rows = self.wanted.contains(&self.section.order.aux());
    }

    fn one(&self) -> Column {
        Column::ONE
    }

    fn bits(&mut self, _: u64, count: usize) -> Column {
        let first = Column::new(self.bit, self.section.order.bits());
        self.section.order.push(Form::Bit, count as u32);
        first
    }

    fn full(&mut self, values: &[Fr]) -> Column {
        let first = Column::new(self.full, self.section.order.full());
        self.section.order.push(Form::Full, values.len() as u32);
        first
    }

    fn input(&mut self, _: Public, _: Fr) -> Column {
        let input = Column::new(self.input, self.section.inputs);
        self.section.inputs += 1;
        input
    }

    fn coefficient(&mut self, value: Fr) -> Coefficient {
        self.table.place(value)
    }

    fn row(&mut self, a: &[Term<Column>], b: &[Term<Column>], c: &[Term<Column>]) {
        self.section.a.push(a);
        self.section.b.push(b);
        if let Some(matrix) = &mut self.section.c {
            matrix.push(c);
        }
    }

    fn pack(
        &mut self,
        packed: &mut Packed,
        shift: usize,
        operands: &[Term<Column>],
        results: &[Term<Column>],
    ) {
        let shifted = |&(column, coefficient): &Term<Column>| (column, coefficient.shifted(shift));
        packed.operands.extend(operands.iter().map(shifted));
        packed.results.extend(results.iter().map(shifted));
    }

    fn packed_row(&mut self, mut packed: Packed) {
        if self.wants_rows {
            self.merge(&mut packed.operands);
            self.row(&packed.operands, &[(Column::ONE, Coefficient::ONE)], &packed.results);
        }
    }

    fn equal(&mut self, _: Equality, _: Fr, _: Fr) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_two_coefficients_are_the_fields_the_second_time_too() {
        let mut table = Table::new();
        let other = table.place(Fr::from(3));
        let powers = [0, 1, 100, 253, 254].map(Coefficient::power);
        let minus = [0, 1, 100, 253, 254].map(Coefficient::minus_power);
        let all = [&powers[..], &minus, &[other]].concat();
        for _ in 0..2 {
            for &left in &all {
                for &right in &all {
                    let expected = table.value(left) + table.value(right);
                    let sum = table.add(left, right);
                    assert_eq!(sum.is_none(), expected.is_zero_vartime(), "{left:?} {right:?}");
                    let sum = sum.map_or(Fr::ZERO, |sum| table.value(sum));
                    assert_eq!(sum, expected, "{left:?} {right:?}");
                }
            }
        }
        let values: std::collections::HashSet<_> =
            table.values.iter().map(|&value| blst_fr::from(value).l).collect();
        assert_eq!(values.len(), table.values.len(), "every value has one place");
    }
}
