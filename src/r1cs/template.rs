//! The circuit's matrices as a prologue and one challenge.

use std::thread;

use blstrs::Scalar as Fr;

use super::density::Density;
use super::matrix::{Matrix, Piece};
use super::order::AuxOrder;
use super::recorder::{Recorded, Recorder, Table};
use crate::circuit::{Commitments, Opening, Porep};
use crate::limbs::PRODUCTS_MAX;
use crate::sector::SectorSize;
use crate::threads::joined;

/// Threads that record at most: each goes through the whole challenge, a twentieth of the work.
const PARTS_MAX: usize = 4;

/// Which matrices a template holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matrices {
    /// A and B: enough to prove, because c = a ∘ b for a satisfied assignment.
    Ab,
    /// A, B and C: for a parameter setup, and to compare circuits.
    Abc,
}

/// The prologue, or the challenge that every challenge of a partition repeats.
#[derive(Debug)]
pub struct Section {
    /// Its variables in the reference's order.
    pub order: AuxOrder,
    /// Its inputs; the prologue's include ONE.
    pub inputs: usize,
    /// Rows of A.
    pub a: Matrix,
    /// Rows of B, as many as of A.
    pub b: Matrix,
    /// Rows of C, as many as of A, unless the template is [`Matrices::Ab`].
    pub c: Option<Matrix>,
}

impl Section {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.a.rows()
    }

    /// The rows of all `parts`, in their order; each went through the whole section.
    fn new(parts: Vec<Recorded>) -> Self {
        let (order, inputs) = (parts[0].order.clone(), parts[0].inputs as usize);
        let [mut a, mut b, mut c] = [const { Vec::new() }; 3];
        for mut part in parts {
            part.pieces().for_each(Piece::shrink);
            a.push(part.a);
            b.push(part.b);
            c.extend(part.c);
        }
        let c = (!c.is_empty()).then(|| Matrix::new(c));
        let (a, b) = (Matrix::new(a), Matrix::new(b));
        assert_eq!(a.rows(), b.rows());
        Self { order, inputs, a, b, c }
    }
}

/// The matrices of one partition's circuit.
///
/// Challenge k of a partition has the rows of [`Template::challenge`], with its own inputs, bits
/// and field elements in the place of the template's; nothing refers from one challenge into
/// another. After all rows come those that Groth16 appends, one per input in input order:
/// A = the input, B = C = 0.
#[derive(Debug)]
pub struct Template {
    /// The sector size whose circuit it is.
    pub size: SectorSize,
    /// Values of the coefficients that entries point at.
    pub coefficients: Vec<Fr>,
    /// The rows before the first challenge.
    pub prologue: Section,
    /// The rows of one challenge.
    pub challenge: Section,
    /// Variables with a base in the `a` query.
    pub a_density: Density,
    /// Variables with a base in the `b_g1` and `b_g2` queries.
    pub b_density: Density,
}

impl Template {
    /// Records the circuit of `size`, on a few threads.
    pub fn record(size: SectorSize, matrices: Matrices) -> Self {
        let parts = rayon::current_num_threads().min(PARTS_MAX);
        Self::record_in_parts(size, matrices, parts as u64)
    }

    fn record_in_parts(size: SectorSize, matrices: Matrices, parts: u64) -> Self {
        let mut recorder = Recorder::new(matrices);
        let porep = Porep::new(size, &mut recorder);
        let shared = porep.prologue(&mut recorder, &Commitments::default());
        let of_part = |count: u64| count / (size.challenges_per_partition() as u64 * parts);
        let (rows, aux) = (of_part(size.circuit().constraints), of_part(size.circuit().aux));
        let blank = Opening::blank(size);
        let record = &|part: u64| {
            let end = if part + 1 == parts { u32::MAX } else { ((part + 1) * aux) as u32 };
            let mut recorder = recorder.of_challenge((part * aux) as u32..end, rows as usize);
            porep.challenge(&mut recorder, &shared, &blank);
            recorder.finish()
        };
        // Threads of their own: the pool may be at the witnesses, and the circuit is waited for.
        let challenge = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..parts).map(|part| scope.spawn(move || record(part))).collect();
            threads.into_iter().map(|thread| joined(thread.join())).collect()
        });
        let (mut table, prologue) = recorder.finish();
        let prologue = Section::new(vec![prologue]);
        let challenge = Section::new(united(&mut table, challenge));
        let lengths = |section: &Section| (section.order.bits(), section.order.full());
        let density = |matrices| Density::new(matrices, lengths(&prologue), lengths(&challenge));
        let a_density = density([&prologue.a, &challenge.a]);
        let b_density = density([&prologue.b, &challenge.b]);
        let coefficients = table.values;
        let template = Self { size, coefficients, prologue, challenge, a_density, b_density };
        template.check();
        template
    }

    /// The recorded circuit has the size's known counts.
    fn check(&self) {
        let numbers = self.size.circuit();
        assert_eq!(self.rows() as u64, numbers.constraints, "rows of {}", self.size);
        assert_eq!(self.aux() as u64, numbers.aux, "aux variables of {}", self.size);
        assert_eq!(self.inputs(), self.size.inputs(), "inputs of {}", self.size);
        let challenges = self.challenges();
        let dense = [&self.a_density, &self.b_density].map(|of| of.aux_count(challenges) as u64);
        assert_eq!(dense, [numbers.a_aux_dense, numbers.b_aux_dense], "density of {}", self.size);
        assert!(self.b_density.one && !self.b_density.inputs, "B uses no input but ONE");
        let longest = |section: &Section| section.a.longest_row().max(section.b.longest_row());
        let longest = longest(&self.prologue).max(longest(&self.challenge));
        assert!(longest <= PRODUCTS_MAX, "a row's products add up without reduction");
    }

    /// Challenges of a partition.
    pub fn challenges(&self) -> usize {
        self.size.challenges_per_partition()
    }

    /// Rows of a partition, without those appended for inputs.
    pub fn rows(&self) -> usize {
        self.prologue.rows() + self.challenges() * self.challenge.rows()
    }

    /// Aux variables of a partition.
    pub fn aux(&self) -> usize {
        (self.prologue.order.aux() as usize)
            + self.challenges() * self.challenge.order.aux() as usize
    }

    /// Inputs of a partition, ONE included.
    pub fn inputs(&self) -> usize {
        self.prologue.inputs + self.challenges() * self.challenge.inputs
    }

    /// Heap bytes of the matrices of `size`, at most, known before they are recorded.
    pub fn planned_bytes(size: SectorSize, matrices: Matrices) -> u64 {
        // Entries of 6 bytes and ends of 4 a row and matrix.
        let row_bytes = match matrices {
            Matrices::Ab => 40,
            Matrices::Abc => 65,
        };
        row_bytes * size.circuit().constraints / size.challenges_per_partition() as u64
    }

    /// Heap bytes of the matrices.
    pub fn bytes(&self) -> usize {
        let section = |section: &Section| {
            section.a.bytes() + section.b.bytes() + section.c.as_ref().map_or(0, Matrix::bytes)
        };
        section(&self.prologue) + section(&self.challenge)
    }
}

/// What parts of a section recorded, with the coefficients of `table`, which gets those that it
/// lacks: in the order of the rows, so that their numbers do not depend on the parts.
fn united(table: &mut Table, parts: Vec<(Table, Recorded)>) -> Vec<Recorded> {
    let known = table.values.len();
    let unite = |(of_part, part)| (part, table.unite(&of_part));
    let mut parts: Vec<_> = parts.into_iter().map(unite).collect();
    thread::scope(|scope| {
        for (part, places) in &mut parts {
            if let Some(places) = places {
                let pieces = part.pieces();
                scope.spawn(move || {
                    pieces.for_each(|piece| piece.move_coefficients(known, places));
                });
            }
        }
    });
    parts.into_iter().map(|(part, _)| part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_the_same_however_many_threads_record_it() {
        let record = |parts| Template::record_in_parts(SectorSize::KiB2, Matrices::Abc, parts);
        let whole = record(1);
        // More parts than there are places between rows leave some empty.
        for parts in [2, 3, 7, 100] {
            let template = record(parts);
            let pieces = template.challenge.a.pieces().filter(|piece| piece.rows() > 0).count();
            assert!(pieces > 1, "{parts}");
            assert_eq!(template.coefficients, whole.coefficients, "{parts}");
            assert_eq!(template.challenge.order, whole.challenge.order, "{parts}");
            assert_eq!(template.challenge.inputs, whole.challenge.inputs, "{parts}");
            assert_eq!(template.challenge.rows(), whole.challenge.rows(), "{parts}");
            let matrices = |of: &'_ Template| {
                let Section { a, b, c, .. } = &of.challenge;
                [a.clone(), b.clone(), c.clone().expect("all three")]
            };
            for (matrix, whole) in matrices(&template).iter().zip(&matrices(&whole)) {
                for row in 0..whole.rows() {
                    assert_eq!(matrix.row(row), whole.row(row), "{parts}: row {row}");
                }
            }
        }
    }
}
