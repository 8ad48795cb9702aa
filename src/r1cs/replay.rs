//! A partition's circuit for bellperson, replayed from the template and a compact assignment.

use bellperson::{
    Circuit, ConstraintSystem, Index as BellpersonIndex, LinearCombination, SynthesisError,
    Variable,
};
use blstrs::Scalar as Fr;

use super::expand::aux;
use super::rows::{Entries, Rows};
use super::template::Template;
use crate::circuit::linear::Index;
use crate::witness::Witness;

/// Allocates every variable with our value, then enforces every row of the template.
#[derive(Clone, Copy)]
pub struct Replay<'r> {
    template: &'r Template,
    witness: &'r Witness,
}

impl<'r> Replay<'r> {
    /// The circuit of `witness`'s partition.
    ///
    /// # Panics
    /// When the template has no C (bellperson evaluates it), or is of another sector size.
    pub fn new(template: &'r Template, witness: &'r Witness) -> Self {
        assert!(template.challenge.c.is_some(), "bellperson needs C");
        assert_eq!(template.size, witness.layout.size, "witness and template of one size");
        Self { template, witness }
    }
}

impl Circuit<Fr> for Replay<'_> {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        for &value in &self.witness.inputs()[1..] {
            cs.alloc_input(|| "input", || Ok(value))?;
        }
        for value in aux(self.template, self.witness) {
            cs.alloc(|| "aux", || Ok(value))?;
        }
        let rows = Rows::new(self.template);
        let mut entries = <[Entries; 3]>::default();
        for row in 0..rows.len() {
            rows.read(row, &mut entries);
            let [a, b, c] = &entries;
            cs.enforce(|| "row", |zero| add(zero, a), |zero| add(zero, b), |zero| add(zero, c));
        }
        Ok(())
    }
}

fn add(zero: LinearCombination<Fr>, entries: &Entries) -> LinearCombination<Fr> {
    entries.iter().fold(zero, |sum, &(index, coefficient)| {
        let variable = Variable(match index {
            Index::Input(i) => BellpersonIndex::Input(i),
            Index::Aux(i) => BellpersonIndex::Aux(i),
        });
        sum + (coefficient, variable)
    })
}
