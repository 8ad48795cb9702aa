//! The column sums of the PoRep circuit, a challenge at a time.
//!
//! ```text
//! rows         | prologue | challenge 0 | challenge 1 | ... | one per input
//! columns      | prologue's variables, ONE among them: sums over all rows
//!              |          | challenge k's own variables: sums over challenge k's rows
//! ```
//!
//! The matrices of the prologue and of one challenge are kept by column; challenge k meets other
//! Lagrange values and is otherwise the same. So the host holds one challenge, not the circuit.

use blstrs::Scalar as Fr;
use ff::Field;
use rayon::prelude::*;

use super::columns::Sums;
use super::lagrange::Lagrange;
use crate::circuit::Coefficient;
use crate::r1cs::{Column, Form, Kind, Matrix, Piece, Section, Template};

/// Columns of more entries are summed by several threads.
const LONG_COLUMN: usize = 1 << 14;
/// Variables that one task sums at least.
const TASK_VARIABLES: usize = 256;

/// One matrix of a section, by column.
struct ByColumn {
    /// Column i has the entries `starts[i]..starts[i + 1]`.
    starts: Vec<u32>,
    rows: Vec<u32>,
    coefficients: Vec<Coefficient>,
}

impl ByColumn {
    /// Transposes `matrix` of `variables` columns; `number` gives a column's.
    fn new(matrix: &Matrix, variables: usize, number: impl Fn(Column) -> usize) -> Self {
        let mut starts = vec![0_u32; variables + 1];
        for &column in matrix.pieces().flat_map(Piece::columns) {
            starts[number(column) + 1] += 1;
        }
        for variable in 0..variables {
            starts[variable + 1] += starts[variable];
        }
        let mut next = starts.clone();
        let mut rows = vec![0; matrix.entries()];
        let mut coefficients = vec![Coefficient::ONE; matrix.entries()];
        for row in 0..matrix.rows() {
            let (columns, values) = matrix.row(row);
            for (&column, &coefficient) in columns.iter().zip(values) {
                let place = &mut next[number(column)];
                rows[*place as usize] = row as u32;
                coefficients[*place as usize] = coefficient;
                *place += 1;
            }
        }
        Self { starts, rows, coefficients }
    }

    /// The sums of all columns; `lagrange[row]` is the value of a row.
    fn sums(&self, lagrange: &[Fr], coefficients: &[Fr]) -> Vec<Fr> {
        let ends = self.starts.par_windows(2).with_min_len(TASK_VARIABLES);
        ends.map(|ends| {
            let entries = ends[0] as usize..ends[1] as usize;
            let rows = &self.rows[entries.clone()];
            let values = &self.coefficients[entries];
            if rows.len() <= LONG_COLUMN {
                return sum(rows, values, lagrange, coefficients);
            }
            let parts = rows.par_chunks(LONG_COLUMN).zip(values.par_chunks(LONG_COLUMN));
            parts
                .map(|(rows, values)| sum(rows, values, lagrange, coefficients))
                .reduce(|| Fr::ZERO, |left, right| left + right)
        })
        .collect()
    }
}

/// The sum of coefficient times Lagrange value over some entries of a column.
fn sum(rows: &[u32], values: &[Coefficient], lagrange: &[Fr], coefficients: &[Fr]) -> Fr {
    let mut sum = Fr::ZERO;
    for (&row, &coefficient) in rows.iter().zip(values) {
        let value = &lagrange[row as usize];
        match coefficient {
            Coefficient::ONE => sum += value,
            Coefficient::MINUS_ONE => sum -= value,
            Coefficient(place) => sum += coefficients[usize::from(place)] * value,
        }
    }
    sum
}

/// The prologue's matrices or a challenge's: columns of its own aux variables, then of its own
/// inputs, then (a challenge's) of the prologue's aux variables and inputs.
struct SectionColumns {
    rows: usize,
    matrices: [ByColumn; 3],
}

impl SectionColumns {
    /// The columns of `section`, which begins the circuit or follows `prologue`.
    fn new(section: &Section, prologue: Option<&Section>) -> Self {
        let numbers =
            |section: &Section| [Form::Bit, Form::Full].map(|form| section.order.aux_numbers(form));
        let variables = |section: &Section| section.order.aux() as usize + section.inputs;
        let own = numbers(section);
        let own_aux = section.order.aux() as usize;
        let (shared, shared_first, shared_aux) = match prologue {
            None => (own.clone(), 0, own_aux),
            Some(prologue) => {
                (numbers(prologue), variables(section), prologue.order.aux() as usize)
            }
        };
        let number = |column: Column| {
            let index = column.index() as usize;
            match column.kind() {
                Kind::Bit => own[0][index] as usize,
                Kind::Full => own[1][index] as usize,
                Kind::Input => own_aux + index,
                Kind::PrologueBit => shared_first + shared[0][index] as usize,
                Kind::PrologueFull => shared_first + shared[1][index] as usize,
                Kind::PrologueInput => shared_first + shared_aux + index,
            }
        };
        let count = variables(section) + prologue.map_or(0, variables);
        let by_column = |matrix: &Matrix| ByColumn::new(matrix, count, number);
        let c = section.c.as_ref().expect("a setup records C");
        let (a, (b, c)) = rayon::join(
            || by_column(&section.a),
            || rayon::join(|| by_column(&section.b), || by_column(c)),
        );
        Self { rows: section.rows(), matrices: [a, b, c] }
    }

    /// The sums of all columns, when the section's first row is row `first` of the circuit.
    fn sums(&self, lagrange: &Lagrange, first: usize, coefficients: &[Fr]) -> Sums {
        let values = lagrange.values(first, self.rows);
        let [a, b, c] = self.matrices.each_ref().map(|matrix| matrix.sums(&values, coefficients));
        Sums { a, b, c }
    }
}

/// Aux variables whose sums are handed out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The prologue's.
    Prologue,
    /// Those of one challenge.
    Challenge(usize),
}

/// The PoRep circuit by column.
pub struct CircuitColumns {
    coefficients: Vec<Fr>,
    prologue: SectionColumns,
    challenge: SectionColumns,
    challenges: usize,
    /// Aux variables of a challenge.
    aux: usize,
    /// Inputs of a challenge.
    inputs: usize,
    /// Aux variables of the prologue.
    prologue_aux: usize,
}

impl CircuitColumns {
    /// Heap bytes, given those of the template ([`Template::planned_bytes`]): an entry takes as
    /// much room as there, and every variable a start in each matrix.
    pub const fn planned_bytes(template_bytes: u64, variables: u64) -> u64 {
        template_bytes + 4 * 3 * variables
    }

    /// Transposes the matrices of `template`, which holds C.
    ///
    /// # Panics
    /// When it does not.
    pub fn new(template: &Template) -> Self {
        let Template { prologue, challenge, coefficients, .. } = template;
        Self {
            coefficients: coefficients.clone(),
            prologue: SectionColumns::new(prologue, None),
            challenge: SectionColumns::new(challenge, Some(prologue)),
            challenges: template.challenges(),
            aux: challenge.order.aux() as usize,
            inputs: challenge.inputs,
            prologue_aux: prologue.order.aux() as usize,
        }
    }

    /// Hands the sums of all aux variables to `take`, the challenges' in order and then the
    /// prologue's, and returns those of the inputs, the input rows (A = the input) among them.
    ///
    /// Memory: 32 bytes a row and 96 a variable of a challenge, beside what `take` keeps.
    ///
    /// # Errors
    /// The first error of `take`.
    pub fn sums<E>(
        &self,
        lagrange: &Lagrange,
        mut take: impl FnMut(Part, Sums) -> Result<(), E>,
    ) -> Result<Sums, E> {
        let mut shared = self.prologue.sums(lagrange, 0, &self.coefficients);
        let mut own_inputs = Sums::zeros(0);
        let mut row = self.prologue.rows;
        for challenge in 0..self.challenges {
            let mut sums = self.challenge.sums(lagrange, row, &self.coefficients);
            shared.add(&sums.split_off(self.aux + self.inputs));
            own_inputs.append(sums.split_off(self.aux));
            take(Part::Challenge(challenge), sums)?;
            row += self.challenge.rows;
        }
        let mut inputs = shared.split_off(self.prologue_aux);
        take(Part::Prologue, shared)?;
        inputs.append(own_inputs);
        let input_rows = lagrange.values(row, inputs.a.len());
        inputs.a.iter_mut().zip(input_rows).for_each(|(sum, value)| *sum += value);
        Ok(inputs)
    }
}
