//! The QAP polynomials of every variable, evaluated at tau.
//!
//! ```text
//! A_i(tau) = sum over rows j of a_ji L_j(tau)      (and so B_i, C_i)
//! L_j(tau) = (tau^n - 1) / n  *  omega^j / (tau - omega^j)
//! ```
//!
//! Rows stream in, one at a time, from any source ([`Columns::row`]; a bellperson circuit through
//! [`synthesize`]), and are forgotten at once: only three sums a variable are kept.

use bellperson::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar as Fr;
use ff::{BatchInvert, Field, PrimeField};
use rayon::prelude::*;

use crate::sector::SectorSize;

/// Lagrange values that one task computes.
const LAGRANGE_CHUNK: usize = 1 << 12;

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

/// Sums of coefficient times Lagrange value, three a variable: inputs first, then aux.
pub struct Columns {
    dimensions: Dimensions,
    lagrange: Vec<Fr>,
    rows: usize,
    a: Vec<Fr>,
    b: Vec<Fr>,
    c: Vec<Fr>,
}

/// Finished sums: entry `i` belongs to input `i`, entry `inputs + i` to aux `i`.
pub struct Sums {
    /// A_i(tau).
    pub a: Vec<Fr>,
    /// B_i(tau).
    pub b: Vec<Fr>,
    /// C_i(tau).
    pub c: Vec<Fr>,
}

impl Columns {
    /// Empty sums for a circuit of these dimensions; `None` when tau is in the domain.
    ///
    /// Memory: [`Self::planned_bytes`].
    pub fn new(dimensions: Dimensions, tau: &Fr) -> Option<Self> {
        let variables = dimensions.inputs + dimensions.aux;
        let sums = || vec![Fr::ZERO; variables];
        let lagrange = lagrange(tau, dimensions.log_n())?;
        Some(Self { dimensions, lagrange, rows: 0, a: sums(), b: sums(), c: sums() })
    }

    /// Bytes of the columns of a circuit: 32 a domain element and 96 a variable.
    pub const fn planned_bytes(dimensions: Dimensions) -> usize {
        let sums = 3 * (dimensions.inputs + dimensions.aux);
        ((1 << dimensions.log_n()) + sums) * size_of::<Fr>()
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
                // Most coefficients of the circuit are one.
                sums[variable] += if coefficient == Fr::ONE { *value } else { coefficient * value };
            }
        }
        if self.rows < self.dimensions.constraints {
            let value = self.lagrange[self.rows];
            accumulate(&mut self.a, &value, a);
            accumulate(&mut self.b, &value, b);
            accumulate(&mut self.c, &value, c);
        }
        self.rows += 1;
    }

    /// Rows seen so far.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The sums, with the input rows (A = the input, B = C = 0) behind the circuit's own.
    ///
    /// # Panics
    /// When the rows seen are not as many as the dimensions say.
    pub fn finish(mut self) -> Sums {
        let Dimensions { inputs, constraints, .. } = self.dimensions;
        assert_eq!(self.rows, constraints, "rows of the circuit");
        for (sum, value) in self.a[..inputs].iter_mut().zip(&self.lagrange[constraints..]) {
            *sum += value;
        }
        Sums { a: self.a, b: self.b, c: self.c }
    }
}

/// L_j(tau) for every j of the domain of 2^log_n; `None` when tau is in the domain.
fn lagrange(tau: &Fr, log_n: u32) -> Option<Vec<Fr>> {
    let n = 1_usize << log_n;
    let omega = (log_n..Fr::S).fold(Fr::ROOT_OF_UNITY, |omega, _| omega.square());
    let z = tau.pow_vartime([n as u64]) - Fr::ONE;
    if z == Fr::ZERO {
        return None;
    }
    let n_inverse = Option::<Fr>::from(Fr::from(n as u64).invert()).expect("r is odd");
    let scale = z * n_inverse;
    let mut values = vec![Fr::ZERO; n];
    values.par_chunks_mut(LAGRANGE_CHUNK).enumerate().for_each(|(index, chunk)| {
        let first = omega.pow_vartime([(index * LAGRANGE_CHUNK) as u64]);
        let powers = || std::iter::successors(Some(first), |power| Some(*power * omega));
        for (value, power) in chunk.iter_mut().zip(powers()) {
            *value = *tau - power;
        }
        chunk.iter_mut().batch_invert();
        for (value, power) in chunk.iter_mut().zip(powers()) {
            *value *= power * scale;
        }
    });
    Some(values)
}

/// Streams the rows of a bellperson circuit into `columns`; returns its actual dimensions.
///
/// # Errors
/// What the circuit's own synthesis answers, and `AssignmentMissing` when it makes more variables
/// than `columns` has.
pub fn synthesize<C: Circuit<Fr>>(
    circuit: C,
    columns: &mut Columns,
) -> Result<Dimensions, SynthesisError> {
    let mut system = RowStream::new(columns);
    circuit.synthesize(&mut system)?;
    Ok(system.dimensions())
}

/// A bellperson constraint system that hands every row on and keeps nothing.
pub struct RowStream<'c> {
    columns: &'c mut Columns,
    inputs: usize,
    aux: usize,
}

impl<'c> RowStream<'c> {
    /// A stream into `columns`, with ONE already allocated.
    pub fn new(columns: &'c mut Columns) -> Self {
        Self { columns, inputs: 1, aux: 0 }
    }

    /// What has been made so far.
    pub fn dimensions(&self) -> Dimensions {
        Dimensions { inputs: self.inputs, aux: self.aux, constraints: self.columns.rows() }
    }
}

/// The terms of `combination`, with variables numbered inputs first.
fn terms(
    combination: &LinearCombination<Fr>,
    inputs: usize,
) -> impl Iterator<Item = (usize, Fr)> + '_ {
    let of_inputs = combination.iter_inputs().map(|(&index, value)| (index, *value));
    of_inputs.chain(combination.iter_aux().map(move |(&index, value)| (inputs + index, *value)))
}

/// The index of a new variable, unless there are `limit` already.
fn allocate(count: &mut usize, limit: usize) -> Result<usize, SynthesisError> {
    let index = *count;
    if index == limit {
        return Err(SynthesisError::AssignmentMissing);
    }
    *count += 1;
    Ok(index)
}

impl ConstraintSystem<Fr> for RowStream<'_> {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, _: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        let index = allocate(&mut self.aux, self.columns.dimensions.aux)?;
        Ok(Variable::new_unchecked(Index::Aux(index)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, _: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        let index = allocate(&mut self.inputs, self.columns.dimensions.inputs)?;
        Ok(Variable::new_unchecked(Index::Input(index)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LB: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LC: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
    {
        let inputs = self.columns.dimensions.inputs;
        let a = a(LinearCombination::zero());
        let b = b(LinearCombination::zero());
        let c = c(LinearCombination::zero());
        self.columns.row(terms(&a, inputs), terms(&b, inputs), terms(&c, inputs));
    }

    fn push_namespace<NR, N>(&mut self, _: N)
    where
        NR: Into<String>,
        N: FnOnce() -> NR,
    {
    }

    fn pop_namespace(&mut self) {}

    fn get_root(&mut self) -> &mut Self {
        self
    }
}
