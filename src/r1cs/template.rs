//! The circuit's matrices as a prologue and one challenge.

use blstrs::Scalar as Fr;

use super::density::Density;
use super::matrix::Matrix;
use super::order::AuxOrder;
use super::recorder::{Recorded, Recorder};
use crate::circuit::{Commitments, Opening, Porep};
use crate::limbs::PRODUCTS_MAX;
use crate::sector::SectorSize;

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

    fn new(recorded: Recorded) -> Self {
        let Recorded { order, inputs, mut a, mut b, mut c } = recorded;
        [Some(&mut a), Some(&mut b), c.as_mut()].into_iter().flatten().for_each(Matrix::shrink);
        assert_eq!(a.rows(), b.rows());
        Self { order, inputs: inputs as usize, a, b, c }
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
    /// Records the circuit of `size`.
    pub fn record(size: SectorSize, matrices: Matrices) -> Self {
        let mut recorder = Recorder::new(matrices);
        let porep = Porep::new(size, &mut recorder);
        let shared = porep.prologue(&mut recorder, &Commitments::default());
        let rows = size.circuit().constraints as usize / size.challenges_per_partition();
        let prologue = recorder.start_challenge(rows);
        porep.challenge(&mut recorder, &shared, &Opening::blank(size));

        let prologue = Section::new(prologue);
        let challenge = Section::new(recorder.section);
        let lengths = |section: &Section| (section.order.bits(), section.order.full());
        let density = |matrices| Density::new(matrices, lengths(&prologue), lengths(&challenge));
        let a_density = density([&prologue.a, &challenge.a]);
        let b_density = density([&prologue.b, &challenge.b]);
        let coefficients = recorder.table.values;
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
