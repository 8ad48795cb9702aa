//! Our circuit against `storage-proofs-porep`'s: every row, in order, entry by entry, and both
//! densities. The reference is synthesized blank into a constraint system that compares each
//! row as it comes and keeps nothing but two bit sets.
//!
//! The small sizes run in `cargo test`; `make parity-full` runs the others (about a minute each
//! for 32 and 64 GiB).

#![expect(clippy::print_stdout, reason = "a long comparison says what it has compared")]

use bellperson::{
    ConstraintSystem, Index as RefIndex, LinearCombination, SynthesisError, Variable,
};
use blstrs::Scalar as Fr;
use prove::r1cs::{Density, Entries, Form, Index, Matrices, Rows, Template};
use prove::reference::synthesize_blank;
use prove::sector::SectorSize;

/// Compares rows as the reference enforces them.
struct Comparer<'t> {
    rows: Rows<'t>,
    ours: [Entries; 3],
    theirs: Entries,
    row: usize,
    inputs: usize,
    aux: usize,
    entries: [usize; 3],
    dense: [Vec<bool>; 2],
    dense_inputs: Vec<bool>,
}

impl<'t> Comparer<'t> {
    fn new(template: &'t Template) -> Self {
        Self {
            rows: Rows::new(template),
            ours: Default::default(),
            theirs: Entries::new(),
            row: 0,
            inputs: 1,
            aux: 0,
            entries: [0; 3],
            dense: [vec![false; template.aux()], vec![false; template.aux()]],
            dense_inputs: vec![false; template.inputs()],
        }
    }

    fn compare(&mut self, matrix: usize, theirs: &LinearCombination<Fr>) {
        self.theirs.clear();
        self.theirs.extend(theirs.iter().map(|(Variable(index), &value)| match index {
            RefIndex::Input(i) => (Index::Input(i), value),
            RefIndex::Aux(i) => (Index::Aux(i), value),
        }));
        self.theirs.sort_by_key(|entry| entry.0);
        let ours = &mut self.ours[matrix];
        ours.sort_by_key(|entry| entry.0);
        let name = ["A", "B", "C"][matrix];
        assert_eq!(*ours, self.theirs, "row {} of {name}", self.row);
        self.entries[matrix] += ours.len();
        for (index, _) in ours {
            match (*index, matrix) {
                (Index::Aux(i), 0 | 1) => self.dense[matrix][i] = true,
                (Index::Input(i), 1) => self.dense_inputs[i] = true,
                _ => {}
            }
        }
    }
}

impl ConstraintSystem<Fr> for Comparer<'_> {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, _: F) -> Result<Variable, SynthesisError> {
        self.aux += 1;
        Ok(Variable(RefIndex::Aux(self.aux - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, _: F) -> Result<Variable, SynthesisError> {
        self.inputs += 1;
        Ok(Variable(RefIndex::Input(self.inputs - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        LA: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LB: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
        LC: FnOnce(LinearCombination<Fr>) -> LinearCombination<Fr>,
    {
        self.rows.read(self.row, &mut self.ours);
        self.compare(0, &a(LinearCombination::zero()));
        self.compare(1, &b(LinearCombination::zero()));
        self.compare(2, &c(LinearCombination::zero()));
        self.row += 1;
    }

    fn push_namespace<NR, N>(&mut self, _: N) {}

    fn pop_namespace(&mut self) {}

    fn get_root(&mut self) -> &mut Self::Root {
        self
    }
}

/// The dense aux variables of a partition, as a density template says.
fn expand(template: &Template, density: &Density) -> Vec<bool> {
    let mut dense = Vec::with_capacity(template.aux());
    let sections =
        std::iter::once((&template.prologue, &density.prologue_bits, &density.prologue_full))
            .chain(std::iter::repeat_n(
                (&template.challenge, &density.bits, &density.full),
                template.challenges(),
            ));
    for (section, bits, full) in sections {
        for run in section.order.runs() {
            let set = if run.form == Form::Bit { bits } else { full };
            let range = run.start as usize..(run.start + run.len) as usize;
            dense.extend(range.map(|i| set.contains(i)));
        }
    }
    dense
}

/// Compares a size; `entries` are the non-zeros of A, B and C to three digits (millions).
fn compare(size: SectorSize, entries: [f64; 3]) {
    let started = std::time::Instant::now();
    let template = Template::record(size, Matrices::Abc);
    println!(
        "{size}: {} rows a challenge, {} aux ({} bits), {} bytes, {} coefficients, recorded in {:.2?}",
        template.challenge.rows(),
        template.challenge.order.aux(),
        template.challenge.order.bits(),
        template.bytes(),
        template.coefficients.len(),
        started.elapsed(),
    );
    let planned_bytes = Template::planned_bytes(size, Matrices::Abc);
    assert!(template.bytes() as u64 <= planned_bytes, "the plan of {planned_bytes} bytes holds");
    let mut comparer = Comparer::new(&template);
    synthesize_blank(size, &mut comparer).expect("the reference synthesizes");

    assert_eq!(comparer.row, template.rows());
    assert_eq!(comparer.aux, template.aux());
    assert_eq!(comparer.inputs, template.inputs());
    assert_eq!(comparer.row as u64, size.circuit().constraints);
    for (got, expected) in comparer.entries.into_iter().zip(entries) {
        let millions = got as f64 / 1e6;
        assert!((millions - expected).abs() / expected < 5e-3, "{millions} for {expected}");
    }
    assert!(comparer.dense[0] == expand(&template, &template.a_density), "density of A");
    assert!(comparer.dense[1] == expand(&template, &template.b_density), "density of B");
    assert_eq!(comparer.dense_inputs.iter().filter(|&&dense| dense).count(), 1);
    assert!(comparer.dense_inputs[0], "B uses ONE");
    println!("{size}: {} rows equal, entries {:?}", comparer.row, comparer.entries);
}

#[test]
fn the_2_kib_circuit_is_the_reference_circuit() {
    compare(SectorSize::KiB2, [6.42, 2.69, 5.82]);
}

#[test]
fn the_8_mib_circuit_is_the_reference_circuit() {
    compare(SectorSize::MiB8, [9.39, 3.85, 8.23]);
}

#[test]
#[ignore = "long: run by `make parity-full`"]
fn the_512_mib_circuit_is_the_reference_circuit() {
    compare(SectorSize::MiB512, [10.9, 4.43, 9.44]);
}

#[test]
#[ignore = "long: run by `make parity-full`"]
fn the_32_gib_circuit_is_the_reference_circuit() {
    compare(SectorSize::GiB32, [309.4, 130.3, 282.7]);
}

#[test]
#[ignore = "long: run by `make parity-full`"]
fn the_64_gib_circuit_is_the_reference_circuit() {
    compare(SectorSize::GiB64, [311.9, 131.2, 284.5]);
}
