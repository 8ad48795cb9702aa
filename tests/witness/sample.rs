//! The last partition of a sample of production size against the reference, value by value as the
//! reference makes them, so that the 4 GB of an expanded assignment are never held.

use anyhow::Result;
use bellperson::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar as Fr;
use ff::Field;
use prove::c1::Sector;
use prove::r1cs::{Evaluator, Form, Matrices, Section, Template};
use prove::reference::circuit;
use prove::sector::SectorSize;
use prove::with_tree;
use prove::witness::{self, Witness};
use storage_proofs_core::merkle::MerkleTreeTrait;

use crate::sectors::{public_inputs, sample};

/// Rows of ours held at a time.
const BLOCK_ROWS: usize = 1 << 20;

/// Where an aux variable of a section is: bits as their number, field elements after all bits.
fn places(section: &Section) -> Vec<u32> {
    let runs = section.order.runs().iter();
    runs.flat_map(|run| {
        let first = run.start + if run.form == Form::Bit { 0 } else { section.order.bits() };
        first..first + run.len
    })
    .collect()
}

struct Comparer<'c> {
    template: &'c Template,
    witness: &'c Witness,
    evaluator: Evaluator<'c>,
    places: [Vec<u32>; 2],
    inputs: usize,
    aux: usize,
    row: usize,
    block: [Vec<Fr>; 2],
}

impl<'c> Comparer<'c> {
    fn new(template: &'c Template, witness: &'c Witness) -> Self {
        Self {
            template,
            witness,
            evaluator: Evaluator::new(template, witness),
            places: [places(&template.prologue), places(&template.challenge)],
            inputs: 1,
            aux: 0,
            row: 0,
            block: Default::default(),
        }
    }

    /// Our value of an aux variable.
    fn aux_value(&self, aux: usize) -> Fr {
        let (Witness { layout, words, .. }, full) = (self.witness, self.witness.full());
        let prologue = self.template.prologue.order.aux() as usize;
        let (place, counts, words, full) = match aux.checked_sub(prologue) {
            None => (self.places[0][aux], layout.prologue, &words[..], full),
            Some(aux) => {
                let section = self.template.challenge.order.aux() as usize;
                let (challenge, aux) = (aux / section, aux % section);
                let words = &words[layout.word_base(challenge)..];
                let full = &full[layout.full_base(challenge)..];
                (self.places[1][aux], layout.challenge, words, full)
            }
        };
        match (place as usize).checked_sub(counts.bits) {
            Some(place) => full[place],
            None => Fr::from(words[place as usize / 64] >> (place % 64) & 1),
        }
    }

    fn value(&self, combination: &LinearCombination<Fr>) -> Fr {
        let value = |(Variable(index), coefficient): (Variable, &Fr)| {
            let value = match index {
                Index::Input(i) => self.witness.inputs()[i],
                Index::Aux(i) => self.aux_value(i),
            };
            value * coefficient
        };
        combination.iter().map(value).sum()
    }

    fn compare_row(&mut self, theirs: [Fr; 3]) {
        let at = self.row % BLOCK_ROWS;
        if at == 0 {
            let len = BLOCK_ROWS.min(self.evaluator.rows() - self.row);
            self.block.iter_mut().for_each(|rows| rows.resize(len, Fr::ZERO));
            let [a, b] = &mut self.block;
            self.evaluator.fill(self.row, a, b);
        }
        let [a, b] = [self.block[0][at], self.block[1][at]];
        assert_eq!([a, b, a * b], theirs, "a, b, c of row {}", self.row);
        self.row += 1;
    }
}

impl ConstraintSystem<Fr> for Comparer<'_> {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
    {
        assert_eq!(self.aux_value(self.aux), value()?, "aux {}", self.aux);
        self.aux += 1;
        Ok(Variable(Index::Aux(self.aux - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
    {
        assert_eq!(self.witness.inputs()[self.inputs], value()?, "input {}", self.inputs);
        self.inputs += 1;
        Ok(Variable(Index::Input(self.inputs - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        LA: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LB: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LC: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
    {
        let zero = LinearCombination::zero;
        let theirs = [a(zero()), b(zero()), c(zero())].map(|sum| self.value(&sum));
        self.compare_row(theirs);
    }

    fn push_namespace<NR, N>(&mut self, _: N) {}

    fn pop_namespace(&mut self) {}

    fn get_root(&mut self) -> &mut Self::Root {
        self
    }
}

fn synthesize<Tree: 'static + MerkleTreeTrait>(
    sector: &Sector,
    partition: usize,
    comparer: &mut Comparer<'_>,
) -> Result<()> {
    Ok(circuit::<Tree>(sector, partition)?.synthesize(comparer)?)
}

fn compare(size: SectorSize) {
    let sector = sample(size).expect("a sample");
    let public = public_inputs(&sector).expect("public inputs");
    let last = public.len() - 1;
    let witnesses = witness::generate(&sector, last..last + 1, &public[last..])
        .expect("a sample satisfies the circuit");
    let template = Template::record(size, Matrices::Ab);
    let mut comparer = Comparer::new(&template, &witnesses[0]);
    with_tree!(size, synthesize(&sector, last, &mut comparer)).expect("the reference synthesizes");
    assert_eq!(comparer.inputs, template.inputs());
    assert_eq!(comparer.aux, template.aux());
    assert_eq!(comparer.row, template.rows());
    println!("{size}: {} variables and {} rows equal", comparer.aux, comparer.row);
}

#[test]
#[ignore = "long: run by `make parity-full`"]
fn a_partition_of_a_512_mib_sample_has_the_reference_values() {
    compare(SectorSize::MiB512);
}

#[test]
#[ignore = "long: run by `make parity-full`"]
fn a_partition_of_a_32_gib_sample_has_the_reference_values() {
    compare(SectorSize::GiB32);
}

#[test]
#[ignore = "long: run by `make parity-full`"]
fn a_partition_of_a_64_gib_sample_has_the_reference_values() {
    compare(SectorSize::GiB64);
}
