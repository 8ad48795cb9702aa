//! The classic interpretation: rows are linear combinations, built and evaluated one by one, with
//! one field element per variable, as bellperson synthesizes. It is the plain version that the
//! others are checked against, and the subject of the storage and presizing experiments.
//!
//! Source: `bellperson` 0.27 `groth16/prover/mod.rs` (`ProvingAssignment`); `bellpepper`
//! `gadgets/multieq.rs`, whose row under construction is cloned for every sum added.

use std::collections::HashMap;

use blst::blst_fr;
use blstrs::Scalar as Fr;
use ff::Field;

use super::linear::{Index, LinearCombination, Storage};
use super::{
    Coefficient, Commitments, Equality, Interpretation, Opening, Porep, Public, Term, Variable,
};
use crate::sector::SectorSize;

impl Variable for Index {
    #[inline]
    fn nth(self, offset: usize) -> Self {
        match self {
            Self::Input(i) => Self::Input(i + offset),
            Self::Aux(i) => Self::Aux(i + offset),
        }
    }
}

/// Whether the large arrays get their size before they are filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presize {
    /// They grow as bellperson's do.
    #[default]
    Off,
    /// They are allocated once, at the circuit's known size.
    On,
}

/// Everything that synthesis gives to a prover.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synthesis {
    /// a = A·z, one per row, the rows appended for inputs last.
    pub a: Vec<Fr>,
    /// b = B·z.
    pub b: Vec<Fr>,
    /// c = C·z.
    pub c: Vec<Fr>,
    /// Public inputs, ONE first.
    pub inputs: Vec<Fr>,
    /// Private variables.
    pub aux: Vec<Fr>,
    /// Aux variables that A uses, one bit each.
    pub a_density: Vec<u64>,
    /// Aux variables that B uses, one bit each.
    pub b_density: Vec<u64>,
}

/// Synthesizes one partition: 16.7 GB at 32 GiB.
pub fn synthesize<S: Storage>(
    size: SectorSize,
    commitments: &Commitments,
    openings: &[Opening],
    presize: Presize,
) -> Synthesis {
    let mut classic = Classic::<S>::new(size, presize);
    let porep = Porep::new(size, &mut classic);
    let shared = porep.prologue(&mut classic, commitments);
    for opening in openings {
        porep.challenge(&mut classic, &shared, opening);
    }
    classic.finish()
}

/// A linear combination's two sides under construction.
#[derive(Default)]
struct Packed<S> {
    operands: LinearCombination<S>,
    results: LinearCombination<S>,
}

struct Classic<S> {
    synthesis: Synthesis,
    coefficients: Vec<Fr>,
    places: HashMap<[u64; 4], u16>,
    storage: std::marker::PhantomData<S>,
}

impl<S: Storage> Classic<S> {
    fn new(size: SectorSize, presize: Presize) -> Self {
        let numbers = size.circuit();
        let (rows, aux) = match presize {
            Presize::Off => (0, 0),
            Presize::On => (numbers.constraints as usize + size.inputs(), numbers.aux as usize),
        };
        let coefficients = Coefficient::fixed_values();
        let synthesis = Synthesis {
            a: Vec::with_capacity(rows),
            b: Vec::with_capacity(rows),
            c: Vec::with_capacity(rows),
            inputs: vec![Fr::ONE],
            aux: Vec::with_capacity(aux),
            a_density: Vec::with_capacity(aux.div_ceil(64)),
            b_density: Vec::with_capacity(aux.div_ceil(64)),
        };
        let storage = std::marker::PhantomData;
        Self { synthesis, coefficients, places: HashMap::new(), storage }
    }

    fn value(&self, coefficient: Coefficient) -> Fr {
        self.coefficients[usize::from(coefficient.0)]
    }

    /// A row's combination, term by term.
    fn combination(&self, terms: &[Term<Index>]) -> LinearCombination<S> {
        terms.iter().fold(LinearCombination::default(), |sum, &(index, coefficient)| {
            sum.plus((index, self.value(coefficient)))
        })
    }

    /// A packed part, each bit a combination of its own first, as `Boolean::lc` makes it.
    fn bits_combination(&self, terms: &[Term<Index>]) -> LinearCombination<S> {
        terms.iter().fold(LinearCombination::default(), |sum, &(index, coefficient)| {
            let bit = LinearCombination::<S>::default().plus((index, self.value(coefficient)));
            sum.plus_scaled(Fr::ONE, &bit)
        })
    }

    fn enforce(
        &mut self,
        a: &LinearCombination<S>,
        b: &LinearCombination<S>,
        c: &LinearCombination<S>,
    ) {
        let Synthesis { inputs, aux, a_density, b_density, .. } = &mut self.synthesis;
        let a = a.value(inputs, aux, |index| set(a_density, index));
        let b = b.value(inputs, aux, |index| set(b_density, index));
        let c = c.value(inputs, aux, |_| {});
        self.synthesis.a.push(a);
        self.synthesis.b.push(b);
        self.synthesis.c.push(c);
    }

    fn push_aux(&mut self, value: Fr) {
        if self.synthesis.aux.len().is_multiple_of(64) {
            self.synthesis.a_density.push(0);
            self.synthesis.b_density.push(0);
        }
        self.synthesis.aux.push(value);
    }

    /// Appends the rows of the inputs.
    fn finish(mut self) -> Synthesis {
        for input in 0..self.synthesis.inputs.len() {
            let a = self.combination(&[(Index::Input(input), Coefficient::ONE)]);
            self.enforce(&a, &LinearCombination::default(), &LinearCombination::default());
        }
        self.synthesis
    }
}

fn set(density: &mut [u64], index: Index) {
    if let Index::Aux(i) = index {
        density[i / 64] |= 1 << (i % 64);
    }
}

impl<S: Storage> Interpretation for Classic<S> {
    type Var = Index;
    type Packed = Packed<S>;

    fn wants_rows(&self) -> bool {
        true
    }

    fn one(&self) -> Index {
        Index::Input(0)
    }

    fn bits(&mut self, values: u64, count: usize) -> Index {
        let first = self.synthesis.aux.len();
        for i in 0..count {
            self.push_aux(if values >> i & 1 == 1 { Fr::ONE } else { Fr::ZERO });
        }
        Index::Aux(first)
    }

    fn full(&mut self, values: &[Fr]) -> Index {
        let first = self.synthesis.aux.len();
        values.iter().for_each(|&value| self.push_aux(value));
        Index::Aux(first)
    }

    fn input(&mut self, _: Public, value: Fr) -> Index {
        self.synthesis.inputs.push(value);
        Index::Input(self.synthesis.inputs.len() - 1)
    }

    fn coefficient(&mut self, value: Fr) -> Coefficient {
        let next = u16::try_from(self.coefficients.len()).expect("about 2,000 coefficients");
        let place = *self.places.entry(blst_fr::from(value).l).or_insert(next);
        if place == next {
            self.coefficients.push(value);
        }
        Coefficient(place)
    }

    fn row(&mut self, a: &[Term<Index>], b: &[Term<Index>], c: &[Term<Index>]) {
        let [a, b, c] = [a, b, c].map(|terms| self.combination(terms));
        self.enforce(&a, &b, &c);
    }

    fn pack(
        &mut self,
        packed: &mut Packed<S>,
        shift: usize,
        operands: &[Term<Index>],
        results: &[Term<Index>],
    ) {
        let factor = self.value(Coefficient::power(shift));
        let operands = self.bits_combination(operands);
        packed.operands = packed.operands.clone().plus_scaled(factor, &operands);
        let results = self.combination(results);
        packed.results = packed.results.clone().plus_scaled(factor, &results);
    }

    fn packed_row(&mut self, packed: Packed<S>) {
        let one = self.combination(&[(Index::Input(0), Coefficient::ONE)]);
        self.enforce(&packed.operands, &one, &packed.results);
    }

    fn equal(&mut self, _: Equality, _: Fr, _: Fr) {}
}
