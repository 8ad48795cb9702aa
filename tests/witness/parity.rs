//! Our assignments and rows against the reference's, on sealed sectors of every kind: every
//! variable, and a, b, c of every row by each of our ways to compute them.

use prove::c1::Sector;
use prove::reference::{TestTree, circuit};

use crate::sectors::{FIXTURES, fixture, public_inputs};
use bellperson::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar as Fr;
use ff::Field;
use prove::circuit::classic::{Presize, Synthesis, synthesize};
use prove::circuit::linear::{Entry, Storage};
use prove::r1cs::{Assignment, Evaluator, Matrices, Replay, Template, expand};
use prove::witness::{self, Witness};
use smallvec::SmallVec;

/// Evaluates rows as bellperson's prover does, with bellperson's linear combinations.
#[derive(PartialEq)]
struct Evaluated {
    assignment: Assignment,
    rows: [Vec<Fr>; 3],
}

impl Evaluated {
    fn new(circuit: impl Circuit<Fr>) -> Self {
        let assignment = Assignment { inputs: vec![Fr::ONE], aux: Vec::new() };
        let mut evaluated = Self { assignment, rows: Default::default() };
        circuit.synthesize(&mut evaluated).expect("a circuit with values synthesizes");
        let [a, b, c] = &mut evaluated.rows;
        for &input in &evaluated.assignment.inputs {
            a.push(input);
            b.push(Fr::ZERO);
            c.push(Fr::ZERO);
        }
        evaluated
    }
}

impl ConstraintSystem<Fr> for Evaluated {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
    {
        self.assignment.aux.push(value()?);
        Ok(Variable(Index::Aux(self.assignment.aux.len() - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
    {
        self.assignment.inputs.push(value()?);
        Ok(Variable(Index::Input(self.assignment.inputs.len() - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        LA: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LB: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LC: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
    {
        let zero = LinearCombination::zero;
        let Assignment { inputs, aux } = &self.assignment;
        let values = [a(zero()), b(zero()), c(zero())].map(|sum| sum.eval(inputs, aux));
        self.rows.iter_mut().zip(values).for_each(|(rows, value)| rows.push(value));
    }

    fn push_namespace<NR, N>(&mut self, _: N) {}

    fn pop_namespace(&mut self) {}

    fn get_root(&mut self) -> &mut Self::Root {
        self
    }
}

/// a and b of all rows, from the compact assignment, in blocks that do not divide the rows.
fn compact_rows(template: &Template, witness: &Witness) -> [Vec<Fr>; 2] {
    let evaluator = Evaluator::new(template, witness);
    let mut rows = [(); 2].map(|()| Vec::with_capacity(evaluator.rows()));
    evaluator.for_each_block(100_003, |start, a, b| {
        assert_eq!(start, rows[0].len());
        rows[0].extend_from_slice(a);
        rows[1].extend_from_slice(b);
    });
    rows
}

fn assert_equal(name: &str, ours: &[Fr], theirs: &[Fr]) {
    let differs = |(ours, theirs): (&Fr, &Fr)| ours != theirs;
    assert_eq!(ours.iter().zip(theirs).position(differs), None, "first difference in {name}");
    assert_eq!(ours.len(), theirs.len(), "length of {name}");
}

#[test]
fn sealed_sectors_have_the_reference_variables_and_rows() {
    for name in FIXTURES {
        let sector = fixture(name).expect("a fixture");
        let size = sector.registered_proof.size;
        let template = Template::record(size, Matrices::Ab);
        let public = public_inputs(&sector).expect("public inputs");
        let witnesses = witness::generate(&sector, 0..public.len(), &public)
            .expect("a sealed sector satisfies the circuit");
        assert_eq!(witnesses.len(), sector.registered_proof.partitions());
        // Of the 13 non-interactive partitions the first and the last.
        for (partition, witness) in witnesses.iter().enumerate().step_by(12) {
            println!("{name}, partition {partition}");
            let reference = circuit::<TestTree>(&sector, partition).expect("the reference circuit");
            let reference = Evaluated::new(reference);
            let ours = expand(&template, witness);
            assert_equal("inputs", &ours.inputs, &reference.assignment.inputs);
            assert_equal("aux", &ours.aux, &reference.assignment.aux);
            let [a, b] = compact_rows(&template, witness);
            assert_equal("a", &a, &reference.rows[0]);
            assert_equal("b", &b, &reference.rows[1]);
            let c: Vec<Fr> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
            assert_equal("c = a b", &c, &reference.rows[2]);
        }
    }
}

fn classic<S: Storage>(sector: &Sector, presize: Presize) -> Synthesis {
    let (commitments, openings) = witness::values(sector, 0).expect("values");
    synthesize::<S>(sector.registered_proof.size, &commitments, &openings, presize)
}

#[test]
fn classic_synthesis_is_the_reference_for_every_storage() {
    let sector = fixture("c1-2KiB.json").expect("a fixture");
    let reference = Evaluated::new(circuit::<TestTree>(&sector, 0).expect("the reference circuit"));
    let vec = classic::<Vec<Entry>>(&sector, Presize::Off);
    assert_equal("inputs", &vec.inputs, &reference.assignment.inputs);
    assert_equal("aux", &vec.aux, &reference.assignment.aux);
    for (name, ours, theirs) in [
        ("a", &vec.a, &reference.rows[0]),
        ("b", &vec.b, &reference.rows[1]),
        ("c", &vec.c, &reference.rows[2]),
    ] {
        assert_equal(name, ours, theirs);
    }
    let dense = |density: &[u64]| density.iter().map(|word| u64::from(word.count_ones())).sum();
    let numbers = sector.registered_proof.size.circuit();
    let counts: [u64; 2] = [dense(&vec.a_density), dense(&vec.b_density)];
    assert_eq!(counts, [numbers.a_aux_dense, numbers.b_aux_dense]);
    assert!(classic::<Vec<Entry>>(&sector, Presize::On) == vec, "presized");
    assert!(classic::<SmallVec<[Entry; 1]>>(&sector, Presize::Off) == vec, "smallvec1");
    assert!(classic::<SmallVec<[Entry; 2]>>(&sector, Presize::On) == vec, "smallvec2");
    assert!(classic::<SmallVec<[Entry; 4]>>(&sector, Presize::Off) == vec, "smallvec4");
}

#[test]
fn the_replay_circuit_is_the_reference_circuit() {
    let sector = fixture("c1-2KiB.json").expect("a fixture");
    let template = Template::record(sector.registered_proof.size, Matrices::Abc);
    let public = public_inputs(&sector).expect("public inputs");
    let witnesses = witness::generate(&sector, 0..1, &public).expect("a sealed sector");
    let replay = Evaluated::new(Replay::new(&template, &witnesses[0]));
    let reference = Evaluated::new(circuit::<TestTree>(&sector, 0).expect("the reference circuit"));
    assert!(replay == reference, "assignment and rows");
}
