//! All rows of a partition, over the reference's variables.

use blstrs::Scalar as Fr;

use super::column::{Column, Kind};
use super::matrix::Matrix;
use super::order::Form;
use super::template::{Section, Template};
use crate::circuit::linear::Index;

/// Entries of one row of one matrix, each variable once.
pub type Entries = Vec<(Index, Fr)>;

/// Hands out a partition's rows in order, the appended input rows not among them.
///
/// The template's challenge is numbered once; challenge k differs by constants.
pub struct Rows<'t> {
    template: &'t Template,
    /// Aux numbers of the prologue's bits and field elements, and of a challenge's.
    prologue: [Vec<u32>; 2],
    challenge: [Vec<u32>; 2],
}

impl<'t> Rows<'t> {
    /// The rows of `template`, which must hold C.
    ///
    /// # Panics
    /// When the template was recorded without C.
    pub fn new(template: &'t Template) -> Self {
        assert!(template.challenge.c.is_some(), "rows need a template with C");
        let forms = [Form::Bit, Form::Full];
        let numbers = |section: &Section| forms.map(|form| section.order.aux_numbers(form));
        let (prologue, challenge) = (numbers(&template.prologue), numbers(&template.challenge));
        Self { template, prologue, challenge }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.template.rows()
    }

    /// Whether there are no rows; a circuit always has some.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes row `row` of A, B and C into `out`; each entry's variable occurs once.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn read(&self, row: usize, out: &mut [Entries; 3]) {
        let prologue = &self.template.prologue;
        let (section, row, challenge) = match row.checked_sub(prologue.rows()) {
            None => (prologue, row, 0),
            Some(row) => {
                let section = &self.template.challenge;
                (section, row % section.rows(), row / section.rows())
            }
        };
        assert!(challenge < self.template.challenges(), "no such row");
        let matrices = [Some(&section.a), Some(&section.b), section.c.as_ref()];
        for (entries, matrix) in out.iter_mut().zip(matrices) {
            entries.clear();
            if let Some(matrix) = matrix {
                self.read_matrix(matrix, row, challenge, entries);
            }
        }
    }

    fn read_matrix(&self, matrix: &Matrix, row: usize, challenge: usize, entries: &mut Entries) {
        let (columns, coefficients) = matrix.row(row);
        entries.extend(columns.iter().zip(coefficients).map(|(&column, coefficient)| {
            let value = self.template.coefficients[usize::from(coefficient.0)];
            (self.index(column, challenge), value)
        }));
    }

    /// The reference's number of a column in challenge `challenge`.
    fn index(&self, column: Column, challenge: usize) -> Index {
        let index = column.index() as usize;
        let Template { prologue, challenge: section, .. } = self.template;
        let base = prologue.order.aux() as usize + challenge * section.order.aux() as usize;
        match column.kind() {
            Kind::PrologueInput => Index::Input(index),
            Kind::Input => Index::Input(prologue.inputs + challenge * section.inputs + index),
            Kind::PrologueBit => Index::Aux(self.prologue[0][index] as usize),
            Kind::PrologueFull => Index::Aux(self.prologue[1][index] as usize),
            Kind::Bit => Index::Aux(base + self.challenge[0][index] as usize),
            Kind::Full => Index::Aux(base + self.challenge[1][index] as usize),
        }
    }
}
