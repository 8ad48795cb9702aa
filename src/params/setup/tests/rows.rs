//! The rows of a bellperson circuit, the PoRep circuit of the reference among them.

use bellperson::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar as Fr;

use crate::params::setup::columns::{Columns, Dimensions};

/// Streams the rows of a bellperson circuit into `columns`; returns its actual dimensions.
///
/// `AssignmentMissing` is also answered when it makes more variables than `columns` has.
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
        let index = allocate(&mut self.aux, self.columns.dimensions().aux)?;
        Ok(Variable::new_unchecked(Index::Aux(index)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, _: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        let index = allocate(&mut self.inputs, self.columns.dimensions().inputs)?;
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
        let inputs = self.columns.dimensions().inputs;
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
