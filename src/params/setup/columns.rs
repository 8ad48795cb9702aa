//! The QAP polynomials of every variable, evaluated at tau, for circuits of any kind.
//!
//! ```text
//! A_i(tau) = sum over rows j of a_ji L_j(tau)      (and so B_i, C_i)
//! ```
//!
//! Rows come one at a time and are forgotten at once: only three sums a variable are kept. The
//! PoRep circuit has too many variables for that; see [`super::sections`].

use blstrs::Scalar as Fr;
use ff::Field;

use super::lagrange::Lagrange;
use crate::sector::SectorSize;

/// Sizes of a circuit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dimensions {
    /// Public inputs, ONE included.
    pub inputs: usize,
    /// Private variables.
    pub aux: usize,
    /// Rows, without the one per input that Groth16 appends.
    pub constraints: usize,
}

impl Dimensions {
    /// Those of the circuit of a sector size.
    pub fn of(size: SectorSize) -> Self {
        let numbers = size.circuit();
        Self {
            inputs: size.inputs(),
            aux: numbers.aux as usize,
            constraints: numbers.constraints as usize,
        }
    }

    /// log2 of the evaluation domain: the rows and the input rows fit.
    pub const fn log_n(&self) -> u32 {
        (self.constraints + self.inputs).next_power_of_two().trailing_zeros()
    }
}

/// A_i, B_i and C_i at tau, for consecutive variables.
#[derive(Debug, PartialEq, Eq)]
pub struct Sums {
    /// A_i(tau).
    pub a: Vec<Fr>,
    /// B_i(tau).
    pub b: Vec<Fr>,
    /// C_i(tau).
    pub c: Vec<Fr>,
}

impl Sums {
    /// `variables` zeros.
    pub fn zeros(variables: usize) -> Self {
        let zeros = || vec![Fr::ZERO; variables];
        Self { a: zeros(), b: zeros(), c: zeros() }
    }

    /// Takes the variables from `at` on away.
    #[must_use]
    pub fn split_off(&mut self, at: usize) -> Self {
        Self { a: self.a.split_off(at), b: self.b.split_off(at), c: self.c.split_off(at) }
    }

    /// Adds those of the same variables in other rows.
    pub fn add(&mut self, other: &Self) {
        let Self { a, b, c } = self;
        for (sums, others) in [(a, &other.a), (b, &other.b), (c, &other.c)] {
            assert_eq!(sums.len(), others.len(), "sums of the same variables");
            sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
        }
    }

    /// Appends those of more variables.
    pub fn append(&mut self, mut other: Self) {
        self.a.append(&mut other.a);
        self.b.append(&mut other.b);
        self.c.append(&mut other.c);
    }
}

/// Sums of coefficient times Lagrange value, three a variable: inputs first, then aux.
pub struct Columns {
    dimensions: Dimensions,
    lagrange: Vec<Fr>,
    rows: usize,
    sums: Sums,
}

impl Columns {
    /// Empty sums for a circuit of these dimensions; `None` when tau is in the domain.
    ///
    /// Memory: 32 bytes a row and 96 a variable.
    pub fn new(dimensions: Dimensions, tau: &Fr) -> Option<Self> {
        let Dimensions { inputs, aux, constraints } = dimensions;
        let lagrange = Lagrange::new(tau, dimensions.log_n())?.values(0, constraints + inputs);
        Some(Self { dimensions, lagrange, rows: 0, sums: Sums::zeros(inputs + aux) })
    }

    /// Sizes that the sums were made for.
    pub const fn dimensions(&self) -> Dimensions {
        self.dimensions
    }

    /// Adds the next row: its terms in A, B and C as (variable, coefficient).
    ///
    /// A variable may occur more than once. Rows beyond the dimensions are only counted.
    ///
    /// # Panics
    /// When a variable lies beyond the dimensions.
    pub fn row(
        &mut self,
        a: impl IntoIterator<Item = (usize, Fr)>,
        b: impl IntoIterator<Item = (usize, Fr)>,
        c: impl IntoIterator<Item = (usize, Fr)>,
    ) {
        fn accumulate(sums: &mut [Fr], value: &Fr, terms: impl IntoIterator<Item = (usize, Fr)>) {
            for (variable, coefficient) in terms {
                sums[variable] += coefficient * value;
            }
        }
        if self.rows < self.dimensions.constraints {
            let value = self.lagrange[self.rows];
            accumulate(&mut self.sums.a, &value, a);
            accumulate(&mut self.sums.b, &value, b);
            accumulate(&mut self.sums.c, &value, c);
        }
        self.rows += 1;
    }

    /// Rows seen so far.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The sums, inputs first, with the input rows (A = the input, B = C = 0) behind the circuit's
    /// own.
    ///
    /// # Panics
    /// When the rows seen are not as many as the dimensions say.
    pub fn finish(mut self) -> Sums {
        let Dimensions { inputs, constraints, .. } = self.dimensions;
        assert_eq!(self.rows, constraints, "rows of the circuit");
        for (sum, value) in self.sums.a[..inputs].iter_mut().zip(&self.lagrange[constraints..]) {
            *sum += value;
        }
        self.sums
    }
}
