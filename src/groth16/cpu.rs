//! `prover=native` on the CPU: synthesis, then [`Native`] on the mapped parameters.

use std::ops::Range;

use super::native::{
    CircuitTerms, G2Variant, Native, Options, PartitionAssignment, Queries, QueryTerms,
};
use super::synthesis::{Synthesized, Synthesizer};
use super::{Blinding, GROUP_PARTITIONS, Proof, ProveError, Prover};
use crate::c1::Sector;
use crate::field::Fr;
use crate::msm::plan::{self, SumsPlan};
use crate::msm::{Arithmetic, Bases, BitRun, TailTerm};
use crate::params::Parameters;
use crate::params::layout::{Counts, Query};
use crate::progress::Progress;
use crate::r1cs::{self, Matrices, QueryPart, Template};
use crate::sector::{RegisteredProof, SectorSize};
use crate::variant::{SynthVariant, Variants};
use crate::witness::Layout;

/// Our prover with a mapped parameter file.
pub struct Cpu<'p> {
    parameters: &'p Parameters,
    synthesizer: Synthesizer,
    terms: CircuitTerms,
    options: Options,
}

impl<'p> Cpu<'p> {
    /// Records the circuit of `size`, whose parameters these are.
    pub fn new(
        parameters: &'p Parameters,
        size: SectorSize,
        variants: Variants,
        progress: &dyn Progress,
    ) -> Self {
        let synthesizer = Synthesizer::new(size, Matrices::Ab, variants, progress);
        let terms = circuit_terms(synthesizer.template(), &Layout::new(size));
        let options = Options {
            arithmetic: Arithmetic::detect(),
            bits: variants.bits,
            g2: variants.g2,
            window_h: variants.window_h,
            window_tail: variants.window_tail,
        };
        Self { parameters, synthesizer, terms, options }
    }

    fn queries(&self) -> Result<Queries<'_>, ProveError> {
        let bytes = |query| self.parameters.query(query);
        Ok(Queries {
            h: Bases::new(bytes(Query::H))?,
            l: Bases::new(bytes(Query::L))?,
            a: Bases::new(bytes(Query::A))?,
            b_g1: Bases::new(bytes(Query::BG1))?,
            b_g2: Bases::new(bytes(Query::BG2))?,
        })
    }
}

impl Prover for Cpu<'_> {
    fn prove_group(
        &self,
        sector: &Sector,
        partitions: Range<usize>,
        blindings: &[Blinding],
        progress: &dyn Progress,
    ) -> Result<Vec<Proof>, ProveError> {
        let first = partitions.start;
        let template = self.synthesizer.template();
        let synthesized = self.synthesizer.synthesize(sector, partitions, progress)?;
        // The tails' scalars: inputs, then field elements.
        let scalars: Vec<Vec<Fr>> = synthesized
            .iter()
            .map(|Synthesized { witness, .. }| [&witness.inputs[..], &witness.full].concat())
            .collect();
        let evaluators: Vec<_> = synthesized
            .iter()
            .map(|partition| move |a: &mut [Fr], b: &mut [Fr]| partition.evaluate(template, a, b))
            .collect();
        let assignments: Vec<PartitionAssignment<'_>> = synthesized
            .iter()
            .zip(&scalars)
            .zip(&evaluators)
            .enumerate()
            .map(|(offset, ((partition, scalars), evaluate))| PartitionAssignment {
                partition: first + offset,
                words: &partition.witness.words,
                scalars,
                rows: template.rows() + template.inputs(),
                evaluate,
            })
            .collect();
        let native = Native {
            vk: self.parameters.vk(),
            queries: self.queries()?,
            terms: &self.terms,
            options: self.options,
        };
        native.prove(&assignments, blindings, progress).map_err(|source| ProveError::Native {
            path: self.parameters.path().to_owned(),
            source,
        })
    }
}

/// Which variables of a partition meet which bases.
fn circuit_terms(template: &Template, layout: &Layout) -> CircuitTerms {
    let terms = |query| query_terms(&template.query(query), layout);
    CircuitTerms { l: terms(r1cs::Query::L), a: terms(r1cs::Query::A), b: terms(r1cs::Query::B) }
}

/// Which variables of a partition meet the bases of one query.
pub fn query_terms(map: &r1cs::QueryMap, layout: &Layout) -> QueryTerms {
    let inputs = (0..map.input_bases as u32).map(|i| TailTerm { base: i, full: i });
    let mut terms = QueryTerms { bits: Vec::new(), tail: inputs.collect() };
    let prologue = (&map.prologue, map.prologue_base(), 0, 0);
    let challenges = (0..map.challenges).map(|k| {
        let bit_base = 64 * layout.word_base(k);
        (&map.challenge, map.challenge_base(k), bit_base, layout.full_base(k))
    });
    for (part, base, bit_base, full_base) in std::iter::once(prologue).chain(challenges) {
        let QueryPart { bits, full, .. } = part;
        terms.bits.extend(bits.iter().map(|run| BitRun {
            base_start: base + run.base as usize,
            bit_start: bit_base + run.start as usize,
            len: run.len as usize,
        }));
        let full_base = layout.inputs() + full_base;
        terms.tail.extend(full.iter().flat_map(|run| {
            (0..run.len).map(move |i| TailTerm {
                base: base as u32 + run.base + i,
                full: full_base as u32 + run.start + i,
            })
        }));
    }
    terms
}

/// Peak host memory: the largest of the quotient's four arrays, the sum over H beside h, and the
/// sums over L, A, B1 and B2, over the assignments of a group and what does not change with them.
/// The mapped file is not counted: the kernel takes its pages back when it needs them.
pub fn memory_bytes(variants: Variants, proof: RegisteredProof) -> u64 {
    /// The process, the hashers' constants, scratch of the threads.
    const BASE_BYTES: u64 = 192 << 20;
    /// What a row by row synthesis holds: a, b, c and the assignment, as elements.
    const ROW_BY_ROW_BYTES: u64 = 4 * 32;
    let size = proof.size;
    let numbers = size.circuit();
    let n = 1_u64 << numbers.log_n;
    let layout = Layout::new(size);
    let group = proof.partitions().min(GROUP_PARTITIONS) as u64;
    let assignments = group * 2 * layout.bytes() as u64;
    let synthesis = match variants.synth {
        SynthVariant::Compact => 0,
        // a and b of the whole group stay until they are proved.
        _ => (group + 1) * ROW_BY_ROW_BYTES * numbers.constraints,
    };
    let quotient = 128 * n;
    let h_sum = 32 * n + SumsPlan::of_h(n, variants.window_h).bytes();
    let proving = quotient.max(h_sum).max(witness_sums_bytes(variants, &layout, group));
    proving + assignments + Template::planned_bytes(size, Matrices::Ab) + synthesis + BASE_BYTES
}

/// The sums over L, A and B1, which follow one another, and those over B2.
fn witness_sums_bytes(variants: Variants, layout: &Layout, group: u64) -> u64 {
    let counts = Counts::of(layout.size);
    let points = |query| u64::from(counts.query(query));
    let in_g1 = SumsPlan {
        point_bytes: plan::G1_POINT_BYTES,
        points: points(Query::L).max(points(Query::A)),
        // At most: no query uses every input and field element.
        dense: (layout.inputs() + layout.full()) as u64,
        sums: group,
        window: variants.window_tail,
        threads: rayon::current_num_threads() as u64,
    };
    let in_g2 = SumsPlan { point_bytes: plan::G2_POINT_BYTES, points: points(Query::BG2), ..in_g1 };
    match variants.g2 {
        G2Variant::Parallel => in_g1.bytes() + in_g2.bytes(),
        G2Variant::Serial => in_g1.bytes().max(in_g2.bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sector::ProofVersion;
    use crate::variant::{Job, VariantFlag};

    fn planned(flags: &[&str]) -> u64 {
        let flags: Vec<VariantFlag> =
            flags.iter().map(|flag| flag.parse().expect("a variant")).collect();
        let variants = Variants::resolve(Job::Prove, &flags).expect("good variants");
        let proof = RegisteredProof { size: SectorSize::KiB2, version: ProofVersion::V1_1 };
        let two_threads = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
        two_threads.install(|| memory_bytes(variants, proof))
    }

    #[test]
    fn the_plan_of_a_test_sector_is_near_what_was_measured() {
        // Measured peak RssAnon of whole proofs: 564 to 755 MiB.
        let default = planned(&[]);
        assert!((600 << 20..1200 << 20).contains(&default), "{default}");
    }

    #[test]
    fn wide_windows_are_in_the_plan() {
        for flags in [&["window.tail=24"][..], &["window.tail=24", "g2=serial"], &["window.h=24"]] {
            assert!(planned(flags) > 8 << 30, "{flags:?}: {}", planned(flags));
        }
        assert!(planned(&["window.tail=24"]) > planned(&["window.tail=24", "g2=serial"]));
    }
}
