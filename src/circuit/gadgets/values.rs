//! An interpretation that keeps nothing, for tests of values.

use blstrs::Scalar as Fr;

use crate::circuit::{Coefficient, Equality, Interpretation, Public, Term};

/// Keeps nothing.
pub struct Values;

impl Interpretation for Values {
    type Var = ();
    type Packed = ();

    fn wants_rows(&self) -> bool {
        false
    }

    fn one(&self) {}

    fn bits(&mut self, values: u64, count: usize) {
        assert!(count == 64 || values >> count == 0, "bits are bits");
    }

    fn full(&mut self, _: &[Fr]) {}

    fn input(&mut self, _: Public, _: Fr) {}

    fn coefficient(&mut self, _: Fr) -> Coefficient {
        Coefficient::ONE
    }

    fn row(&mut self, _: &[Term<()>], _: &[Term<()>], _: &[Term<()>]) {}

    fn pack(&mut self, (): &mut (), _: usize, _: &[Term<()>], _: &[Term<()>]) {}

    fn packed_row(&mut self, (): ()) {}

    fn equal(&mut self, _: Equality, _: Fr, _: Fr) {}
}
