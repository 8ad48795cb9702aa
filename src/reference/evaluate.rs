//! The reference circuit evaluated row by row, as bellperson's prover does it.
//!
//! Source: `bellperson` 0.27 `groth16/prover/mod.rs` (`ProvingAssignment`), which is private.

use bellperson::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar as Fr;
use ff::Field;

use crate::circuit::classic::Synthesis;

/// Assignment, rows and densities of `circuit`, the rows appended for inputs last.
///
/// # Errors
/// When the circuit misses a value.
pub fn evaluate(circuit: impl Circuit<Fr>) -> Result<Synthesis, SynthesisError> {
    let mut evaluated = Evaluated(Synthesis { inputs: vec![Fr::ONE], ..Synthesis::default() });
    circuit.synthesize(&mut evaluated)?;
    let Synthesis { a, b, c, inputs, .. } = &mut evaluated.0;
    a.extend_from_slice(inputs);
    b.resize(a.len(), Fr::ZERO);
    c.resize(a.len(), Fr::ZERO);
    Ok(evaluated.0)
}

struct Evaluated(Synthesis);

impl ConstraintSystem<Fr> for Evaluated {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
    {
        let Synthesis { aux, a_density, b_density, .. } = &mut self.0;
        if aux.len().is_multiple_of(64) {
            a_density.push(0);
            b_density.push(0);
        }
        aux.push(value()?);
        Ok(Variable(Index::Aux(aux.len() - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
    {
        self.0.inputs.push(value()?);
        Ok(Variable(Index::Input(self.0.inputs.len() - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        LA: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LB: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LC: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
    {
        let zero = LinearCombination::zero;
        let (a, b, c) = (a(zero()), b(zero()), c(zero()));
        let synthesis = &mut self.0;
        mark(&a, &mut synthesis.a_density);
        mark(&b, &mut synthesis.b_density);
        let Synthesis { inputs, aux, .. } = synthesis;
        let [a, b, c] = [a, b, c].map(|sum| sum.eval(inputs, aux));
        synthesis.a.push(a);
        synthesis.b.push(b);
        synthesis.c.push(c);
    }

    fn push_namespace<NR, N>(&mut self, _: N) {}

    fn pop_namespace(&mut self) {}

    fn get_root(&mut self) -> &mut Self::Root {
        self
    }
}

/// Marks the aux variables that a row uses, but for those with coefficient zero.
fn mark(row: &LinearCombination<Fr>, density: &mut [u64]) {
    for (variable, coefficient) in row.iter() {
        if let Index::Aux(i) = variable.0
            && !bool::from(coefficient.is_zero())
        {
            density[i / 64] |= 1 << (i % 64);
        }
    }
}
