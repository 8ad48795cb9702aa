//! The reference's circuit as a check: evaluates every row on the values that it allocates.

use anyhow::{Result, bail, ensure};
use bellperson::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar as Fr;
use ff::Field;

/// Values of a circuit's variables, and the first row that they do not satisfy.
struct Rows {
    inputs: Vec<Fr>,
    aux: Vec<Fr>,
    rows: usize,
    violated: Option<usize>,
}

impl ConstraintSystem<Fr> for Rows {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.aux.push(value()?);
        Ok(Variable::new_unchecked(Index::Aux(self.aux.len() - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.inputs.push(value()?);
        Ok(Variable::new_unchecked(Index::Input(self.inputs.len() - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LB: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LC: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
    {
        let value = |row: LinearCombination<Fr>| row.eval(&self.inputs, &self.aux);
        let zero = LinearCombination::zero;
        if value(a(zero())) * value(b(zero())) != value(c(zero())) {
            self.violated.get_or_insert(self.rows);
        }
        self.rows += 1;
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

/// Checks that `circuit` is satisfied and has `rows` rows and these inputs, ONE left out.
pub(super) fn satisfied(circuit: impl Circuit<Fr>, inputs: &[Fr], rows: u64) -> Result<()> {
    let mut system = Rows { inputs: vec![Fr::ONE], aux: vec![], rows: 0, violated: None };
    circuit.synthesize(&mut system)?;
    ensure!(system.rows as u64 == rows, "expected {rows} rows, got {}", system.rows);
    ensure!(system.inputs[1..] == *inputs, "public inputs");
    match system.violated {
        Some(row) => bail!("row {row} is violated"),
        None => Ok(()),
    }
}
