//! `prover=native` on the CPU: synthesis, then [`Native`] on the mapped parameters.

use std::ops::Range;

use super::native::{CircuitTerms, Native, Options, PartitionAssignment, Queries, QueryTerms};
use super::synthesis::{Synthesized, Synthesizer};
use super::{Blinding, GROUP_PARTITIONS, Proof, ProveError, Prover};
use crate::c1::Sector;
use crate::field::Fr;
use crate::msm::{Arithmetic, Bases, BitRun, TailTerm};
use crate::params::Parameters;
use crate::params::layout::Query;
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
        Ok(native.prove(&assignments, blindings, progress)?)
    }
}

/// Which variables of a partition meet which bases.
fn circuit_terms(template: &Template, layout: &Layout) -> CircuitTerms {
    let terms = |query| query_terms(&template.query(query), layout);
    CircuitTerms { l: terms(r1cs::Query::L), a: terms(r1cs::Query::A), b: terms(r1cs::Query::B) }
}

fn query_terms(map: &r1cs::QueryMap, layout: &Layout) -> QueryTerms {
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

/// Peak host memory: the quotient's four arrays, or h beside a chunk of points and all buckets,
/// over the assignments of a group and what does not change with them. The mapped file is not
/// counted: the kernel takes its pages back when it needs them.
pub fn memory_bytes(variants: Variants, proof: RegisteredProof) -> u64 {
    /// The process, the hashers' constants, scratch of the threads.
    const BASE_BYTES: u64 = 192 << 20;
    /// A chunk's 2^20 points (128 bytes) and scalars (32), and one window's entries and new sums.
    const CHUNK_BYTES: u64 = 192 << 20;
    /// Entries and ends of a template row, of A and B: 6.1 entries of 6 bytes at the most.
    const ROW_BYTES: u64 = 40;
    /// What a row by row synthesis holds: a, b, c and the assignment, as elements.
    const ROW_BY_ROW_BYTES: u64 = 4 * 32;
    let size = proof.size;
    let numbers = size.circuit();
    let n = 1_u64 << numbers.log_n;
    let window = variants.window_h.bits(n as usize);
    let buckets = 128 * (window.count() * window.buckets()) as u64;
    let group = proof.partitions().min(GROUP_PARTITIONS) as u64;
    let assignments = group * 2 * Layout::new(size).bytes() as u64;
    let template = ROW_BYTES * numbers.constraints / size.challenges_per_partition() as u64;
    let synthesis = match variants.synth {
        SynthVariant::Compact => 0,
        // a and b of the whole group stay until they are proved.
        _ => (group + 1) * ROW_BY_ROW_BYTES * numbers.constraints,
    };
    let proving = (128 * n).max(32 * n + buckets + CHUNK_BYTES);
    proving + assignments + template + synthesis + BASE_BYTES
}
