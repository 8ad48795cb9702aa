//! The native prover against bellperson's `create_proof`, byte for byte, on a SHA-256 circuit:
//! its A-columns have equal and opposite twins, as those of the sector circuit have.

use bellperson::gadgets::boolean::{AllocatedBit, Boolean};
use bellperson::gadgets::{multipack, sha256::sha256};
use bellperson::groth16::{
    Parameters, create_proof, generate_random_parameters, prepare_verifying_key, verify_proof,
};
use bellperson::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Bls12;
use ff::Field;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::Blinding;
use super::cpu::{Cpu, Options, Queries};
use super::native::*;
use super::terms::{CircuitTerms, QueryTerms};
use crate::field::{Fr, Ifma};
use crate::msm::{Arithmetic, Bases, BitRun, G1, G2, TailTerm, Window, WindowBits};
use crate::progress::Silent;

const SEED: u64 = 0x5eed_0007;
/// Squarings after the hash: variables that are no bits.
const SQUARINGS: usize = 40;

/// The SHA-256 of a number, in two inputs, and the number squared many times, in one.
#[derive(Clone, Copy)]
struct Demo(u64);

impl Circuit<Fr> for Demo {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let bits: Vec<Boolean> = (0..64)
            .map(|i| {
                let value = self.0 >> i & 1 == 1;
                let bit = AllocatedBit::alloc(cs.namespace(|| format!("bit {i}")), Some(value))?;
                Ok(Boolean::from(bit))
            })
            .collect::<Result<_, SynthesisError>>()?;
        let digest = sha256(cs.namespace(|| "sha256"), &bits)?;
        multipack::pack_into_inputs(cs.namespace(|| "digest"), &digest)?;
        let mut value = Fr::from(self.0);
        let mut variable = cs.alloc(|| "base", || Ok(value))?;
        for i in 0..SQUARINGS {
            let square = value.square();
            let next = if i + 1 == SQUARINGS {
                cs.alloc_input(|| "power", || Ok(square))?
            } else {
                cs.alloc(|| format!("square {i}"), || Ok(square))?
            };
            cs.enforce(|| format!("row {i}"), |l| l + variable, |l| l + variable, |l| l + next);
            (value, variable) = (square, next);
        }
        Ok(())
    }
}

/// Records assignment, rows and densities.
#[derive(Default)]
struct Recorder {
    inputs: Vec<Fr>,
    aux: Vec<Fr>,
    a: Vec<Fr>,
    b: Vec<Fr>,
    a_aux: Vec<bool>,
    b_aux: Vec<bool>,
    b_inputs: Vec<bool>,
}

impl Recorder {
    fn record(circuit: Demo) -> Self {
        let mut recorder = Self { inputs: vec![Fr::ONE], ..Self::default() };
        recorder.b_inputs.push(false);
        circuit.synthesize(&mut recorder).expect("the circuit is complete");
        let inputs = recorder.inputs.clone();
        recorder.b.extend(inputs.iter().map(|_| Fr::ZERO));
        recorder.a.extend(inputs);
        recorder
    }

    fn value(&self, sum: &LinearCombination<Fr>) -> Fr {
        let of = |variable: Variable| match variable.0 {
            Index::Input(i) => self.inputs[i],
            Index::Aux(i) => self.aux[i],
        };
        sum.iter().map(|(variable, coefficient)| of(variable) * coefficient).sum()
    }
}

impl ConstraintSystem<Fr> for Recorder {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, f: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.aux.push(f()?);
        self.a_aux.push(false);
        self.b_aux.push(false);
        Ok(Variable(Index::Aux(self.aux.len() - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, f: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Fr, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.inputs.push(f()?);
        self.b_inputs.push(false);
        Ok(Variable(Index::Input(self.inputs.len() - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, _: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LB: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LC: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
    {
        let (a, b) = (a(LinearCombination::zero()), b(LinearCombination::zero()));
        self.a.push(self.value(&a));
        self.b.push(self.value(&b));
        for (variable, _) in a.iter() {
            if let Index::Aux(i) = variable.0 {
                self.a_aux[i] = true;
            }
        }
        for (variable, _) in b.iter() {
            match variable.0 {
                Index::Aux(i) => self.b_aux[i] = true,
                Index::Input(i) => self.b_inputs[i] = true,
            }
        }
    }

    fn push_namespace<NR: Into<String>, N: FnOnce() -> NR>(&mut self, _: N) {}
    fn pop_namespace(&mut self) {}
    fn get_root(&mut self) -> &mut Self {
        self
    }
}

/// Where each aux variable lies: among the bits, or among the full scalars.
struct Split {
    is_bit: Vec<bool>,
    place: Vec<usize>,
}

impl Split {
    /// Variables that are 0 or 1 in every assignment become bits.
    fn new(recorders: &[Recorder]) -> Self {
        let is_bit: Vec<bool> = (0..recorders[0].aux.len())
            .map(|i| recorders.iter().all(|r| r.aux[i] == Fr::ZERO || r.aux[i] == Fr::ONE))
            .collect();
        let (mut bits, mut full) = (0, recorders[0].inputs.len());
        let place = is_bit.iter().map(|&is_bit| {
            let next = if is_bit { &mut bits } else { &mut full };
            *next += 1;
            *next - 1
        });
        Self { place: place.collect(), is_bit }
    }

    fn words(&self, recorder: &Recorder) -> Vec<u64> {
        let mut words = vec![0; recorder.aux.len().div_ceil(64)];
        for (i, value) in recorder.aux.iter().enumerate() {
            if self.is_bit[i] && *value == Fr::ONE {
                words[self.place[i] / 64] |= 1 << (self.place[i] % 64);
            }
        }
        words
    }

    fn scalars(&self, recorder: &Recorder) -> Vec<Fr> {
        let full = recorder.aux.iter().zip(&self.is_bit).filter(|(_, is_bit)| !**is_bit);
        recorder.inputs.iter().chain(full.map(|(value, _)| value)).copied().collect()
    }

    /// A query's terms: the bases of `inputs`, then of the variables in `dense`.
    fn terms(&self, inputs: &[bool], dense: &[bool]) -> QueryTerms {
        let mut terms = QueryTerms::default();
        let mut base = 0;
        for input in (0..inputs.len()).filter(|&input| inputs[input]) {
            terms.tail.push(TailTerm { base, full: input as u32 });
            base += 1;
        }
        for aux in (0..dense.len()).filter(|&aux| dense[aux]) {
            let place = self.place[aux];
            if self.is_bit[aux] {
                let len = 1;
                terms.bits.push(BitRun { base_start: base as usize, bit_start: place, len });
            } else {
                terms.tail.push(TailTerm { base, full: place as u32 });
            }
            base += 1;
        }
        terms
    }
}

/// The point arrays as they lie in a parameter file.
struct Arrays([Vec<u8>; 4], Vec<u8>);

impl Arrays {
    fn new(params: &Parameters<Bls12>) -> Self {
        let g1 = [&params.h, &params.l, &params.a, &params.b_g1];
        Self(
            g1.map(|points| points.iter().flat_map(|point| point.to_uncompressed()).collect()),
            params.b_g2.iter().flat_map(|point| point.to_uncompressed()).collect(),
        )
    }

    fn queries(&self) -> Queries<'_> {
        let [h, l, a, b_g1] =
            self.0.each_ref().map(|bytes| Bases::<G1>::new(bytes).expect("whole points"));
        Queries { h, l, a, b_g1, b_g2: Bases::<G2>::new(&self.1).expect("whole points") }
    }
}

fn bytes(proof: &bellperson::groth16::Proof<Bls12>) -> Vec<u8> {
    let mut bytes = Vec::new();
    proof.write(&mut bytes).expect("writing to memory");
    bytes
}

#[test]
fn proofs_are_bellpersons_byte_for_byte_in_every_variant() {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let circuits = [Demo(0), Demo(u64::MAX), Demo(0x0123_4567_89ab_cdef)];
    let params = generate_random_parameters::<Bls12, _, _>(Demo(1), &mut rng).expect("a setup");
    let blindings: Vec<Blinding> = circuits
        .iter()
        .map(|_| Blinding { r: Fr::random(&mut rng), s: Fr::random(&mut rng) })
        .collect();
    let expected: Vec<Vec<u8>> = circuits
        .iter()
        .zip(&blindings)
        .map(|(&circuit, blinding)| {
            bytes(&create_proof(circuit, &params, blinding.r, blinding.s).expect("a proof"))
        })
        .collect();

    let recorders = circuits.map(Recorder::record);
    let split = Split::new(&recorders);
    let shape = &recorders[0];
    let all = |len: usize| vec![true; len];
    let terms = CircuitTerms {
        l: split.terms(&[], &all(shape.aux.len())),
        a: split.terms(&all(shape.inputs.len()), &shape.a_aux),
        b: split.terms(&shape.b_inputs, &shape.b_aux),
    };
    let words = recorders.each_ref().map(|recorder| split.words(recorder));
    let scalars = recorders.each_ref().map(|recorder| split.scalars(recorder));
    let partitions: Vec<PartitionAssignment<'_>> = (0..circuits.len())
        .map(|i| PartitionAssignment {
            partition: i,
            words: &words[i],
            scalars: &scalars[i],
            rows: recorders[i].a.len(),
            source: RowSource::Given([&recorders[i].a, &recorders[i].b]),
        })
        .collect();

    let arrays = Arrays::new(&params);
    let narrow = Window::Bits(WindowBits::new(7).expect("in range"));
    let fast = Options::default();
    let mut variants = vec![
        fast,
        Options { bits: BitsVariant::Each, ..fast },
        Options { g2: G2Variant::Serial, window_h: narrow, window_tail: narrow, ..fast },
        Options { arithmetic: Arithmetic::Portable, ..fast },
    ];
    variants.extend(
        Ifma::detect().map(|ifma| Options { arithmetic: Arithmetic::Vector(ifma), ..fast }),
    );
    for options in variants {
        let cpu = Cpu::with_terms(arrays.queries(), terms.clone(), options);
        let sums = cpu.of_group(&partitions, &Silent).expect("sound parameters");
        let proofs = proofs(&params.vk, &sums, &blindings).expect("a sound key");
        let ours: Vec<Vec<u8>> = proofs.iter().map(bytes).collect();
        assert_eq!(ours, expected, "{options:?}");
        let key = prepare_verifying_key(&params.vk);
        for (proof, recorder) in proofs.iter().zip(&recorders) {
            let valid = verify_proof(&key, proof, &recorder.inputs[1..]).expect("a sound key");
            assert!(valid, "{options:?}");
        }
    }
}
