//! The shape interpretation: writes template rows down.

use std::collections::HashMap;

use blst::blst_fr;
use blstrs::Scalar as Fr;
use ff::Field;

use super::column::{Column, Kind};
use super::matrix::Matrix;
use super::order::{AuxOrder, Form};
use super::template::Matrices;
use crate::circuit::{Coefficient, Equality, Interpretation, Public, Term};

/// The values of coefficients, and where each is.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) values: Vec<Fr>,
    places: HashMap<[u64; 4], u16>,
}

impl Table {
    fn new() -> Self {
        let values = Coefficient::fixed_values();
        let places =
            values.iter().zip(0..).map(|(&value, place)| (blst_fr::from(value).l, place)).collect();
        Self { values, places }
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
    pub(super) a: Matrix,
    pub(super) b: Matrix,
    pub(super) c: Option<Matrix>,
}

impl Recorded {
    /// Room for `rows` rows; A and C have about 2.4 entries a row.
    fn new(rows: usize, inputs: u32, matrices: Matrices) -> Self {
        let long = rows * 5 / 2;
        Self {
            order: AuxOrder::default(),
            inputs,
            a: Matrix::with_capacity(rows, long),
            b: Matrix::with_capacity(rows, rows + rows / 16),
            c: (matrices == Matrices::Abc).then(|| Matrix::with_capacity(rows, long)),
        }
    }
}

/// Records the section at hand: first the prologue, then one challenge.
#[derive(Debug)]
pub(super) struct Recorder {
    pub(super) table: Table,
    pub(super) section: Recorded,
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
            matrices,
            input: Kind::PrologueInput,
            bit: Kind::PrologueBit,
            full: Kind::PrologueFull,
        }
    }

    /// Hands the prologue out and starts the challenge, of about `rows` rows.
    pub(super) fn start_challenge(&mut self, rows: usize) -> Recorded {
        (self.input, self.bit, self.full) = (Kind::Input, Kind::Bit, Kind::Full);
        std::mem::replace(&mut self.section, Recorded::new(rows, 0, self.matrices))
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
        if let [(_, only)] = terms {
            return Some(*only);
        }
        let value = |term: &Term<Column>| self.table.values[usize::from(term.1.0)];
        let sum: Fr = terms.iter().map(value).sum();
        (!sum.is_zero_vartime()).then(|| self.table.place(sum))
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
    const ROWS: bool = true;

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
        self.merge(&mut packed.operands);
        self.row(&packed.operands, &[(Column::ONE, Coefficient::ONE)], &packed.results);
    }

    fn equal(&mut self, _: Equality, _: Fr, _: Fr) {}
}
