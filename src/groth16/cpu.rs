//! The sums on the CPU, from the points where they lie in the mapped file.

use std::sync::OnceLock;

use blstrs::G1Projective;
use ff::Field;

use super::GROUP_PARTITIONS;
use super::native::{
    BitsVariant, G2Variant, NativeError, PartitionAssignment, PartitionSums, RowSource, Sums,
};
use super::quotient::quotient;
use super::terms::{CircuitTerms, QueryTerms};
use crate::field::Fr;
use crate::msm::bits::GROUP_MAX;
use crate::msm::plan::{self, SumsPlan};
use crate::msm::{Arithmetic, Bases, BasesError, G1, G2, Group, Window};
use crate::ntt::Evals;
use crate::ntt::cpu::Domain;
use crate::pages::filled;
use crate::params::Parameters;
use crate::params::layout::{Counts, Query};
use crate::progress::{Phase, Progress, Unit};
use crate::r1cs::{Matrices, Template};
use crate::sector::RegisteredProof;
use crate::variant::{SynthVariant, Variants};
use crate::witness::Layout;

/// The five point arrays of a parameter file.
#[derive(Clone, Copy, Debug)]
pub struct Queries<'a> {
    /// For the quotient: one less than the domain has points.
    pub h: Bases<'a, G1>,
    /// One per aux variable.
    pub l: Bases<'a, G1>,
    /// All inputs, then the aux variables that A uses.
    pub a: Bases<'a, G1>,
    /// ONE, then the aux variables that B uses.
    pub b_g1: Bases<'a, G1>,
    /// The same in G2.
    pub b_g2: Bases<'a, G2>,
}

impl<'a> Queries<'a> {
    /// The arrays of a parameter file.
    ///
    /// # Errors
    /// When an array is not whole points.
    pub fn new(parameters: &'a Parameters) -> Result<Self, BasesError> {
        let bytes = |query| parameters.query(query);
        Ok(Self {
            h: Bases::new(bytes(Query::H))?,
            l: Bases::new(bytes(Query::L))?,
            a: Bases::new(bytes(Query::A))?,
            b_g1: Bases::new(bytes(Query::BG1))?,
            b_g2: Bases::new(bytes(Query::BG2))?,
        })
    }
}

/// How the prover computes; no choice changes a byte of a proof.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Which engine.
    pub arithmetic: Arithmetic,
    /// How bits are summed.
    pub bits: BitsVariant,
    /// When G2 is summed.
    pub g2: G2Variant,
    /// Windows of the sum over H.
    pub window_h: Window,
    /// Windows of the tails.
    pub window_tail: Window,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            arithmetic: Arithmetic::detect(),
            bits: BitsVariant::default(),
            g2: G2Variant::default(),
            window_h: Window::Auto,
            window_tail: Window::Auto,
        }
    }
}

impl From<Variants> for Options {
    fn from(variants: Variants) -> Self {
        Self {
            arithmetic: Arithmetic::detect(),
            bits: variants.bits,
            g2: variants.g2,
            window_h: variants.window_h,
            window_tail: variants.window_tail,
        }
    }
}

/// Sums on this machine's processors.
pub struct Cpu<'a> {
    queries: Queries<'a>,
    /// Of the circuit, once it is known.
    terms: OnceLock<CircuitTerms>,
    options: Options,
}

impl<'a> Cpu<'a> {
    /// Sums over the points of `queries`.
    pub fn new(queries: Queries<'a>, options: Options) -> Self {
        Self { queries, terms: OnceLock::new(), options }
    }

    /// The same for a circuit that is no template: these are its terms.
    pub fn with_terms(queries: Queries<'a>, terms: CircuitTerms, options: Options) -> Self {
        Self { terms: terms.into(), ..Self::new(queries, options) }
    }

    fn terms(&self) -> &CircuitTerms {
        self.terms.get().expect("prepared first")
    }

    /// `sum h_i H_i`.
    fn h_sum(
        &self,
        partition: &PartitionAssignment<'_>,
        progress: &dyn Progress,
    ) -> Result<G1Projective, NativeError> {
        let n = self.queries.h.len() + 1;
        assert!(n.is_power_of_two() && partition.rows <= n, "the rows fit the domain");
        let bytes = size_of::<Fr>() as u64 * n as u64;
        let [mut a, mut b] = [(); 2].map(|()| filled(Fr::ZERO, n));
        let phase = Phase::new("rows")
            .partition(partition.partition)
            .total(partition.rows as u64, Unit::Items);
        progress.run(phase, 2 * bytes, |_| {
            let (a, b) = (&mut a[..partition.rows], &mut b[..partition.rows]);
            match partition.source {
                RowSource::Template(evaluate) => evaluate(a, b),
                RowSource::Given(rows) => {
                    a.copy_from_slice(rows[0]);
                    b.copy_from_slice(rows[1]);
                }
            }
        });
        let phase =
            Phase::new("quotient").partition(partition.partition).total(n as u64, Unit::Items);
        let h = progress.run(phase, 6 * bytes, |_| {
            // Here, so that its spare array is gone before the sum.
            let domain = Domain::new(self.options.arithmetic, n.trailing_zeros());
            quotient(&domain, Evals(a), Evals(b))
        });
        let phase =
            Phase::new("h").partition(partition.partition).total(h.len() as u64, Unit::Items);
        let window = self.options.window_h;
        progress
            .run(phase, 96 * h.len() as u64, |_| {
                self.options.arithmetic.dense_sum(self.queries.h, &h, window)
            })
            .map_err(in_query("h"))
    }

    /// The sums of bits and tails over L, A, B1 and B2; `h` are those over H.
    fn witness_sums(
        &self,
        partitions: &[PartitionAssignment<'_>],
        h: Vec<G1Projective>,
        progress: &dyn Progress,
    ) -> Result<Vec<PartitionSums>, NativeError> {
        let Queries { l, a, b_g1, b_g2, .. } = self.queries;
        let CircuitTerms { l: l_terms, a: a_terms, b: b_terms } = self.terms();
        let in_g1 = || {
            let bytes = 96 * (l.len() + a.len() + b_g1.len()) as u64;
            progress.run(Phase::new("sums-g1"), bytes, |_| {
                Ok::<_, NativeError>([
                    self.query_sums(l, l_terms, partitions).map_err(in_query("l"))?,
                    self.query_sums(a, a_terms, partitions).map_err(in_query("a"))?,
                    self.query_sums(b_g1, b_terms, partitions).map_err(in_query("b_g1"))?,
                ])
            })
        };
        let in_g2 = || {
            progress.run(Phase::new("sums-g2"), 192 * b_g2.len() as u64, |_| {
                self.query_sums(b_g2, b_terms, partitions).map_err(in_query("b_g2"))
            })
        };
        let (g1, g2) = match self.options.g2 {
            G2Variant::Parallel => rayon::join(in_g1, in_g2),
            G2Variant::Serial => (in_g1(), in_g2()),
        };
        let ([l, a, b_g1], b_g2) = (g1?, g2?);
        let sums = h.into_iter().zip(l).zip(a).zip(b_g1).zip(b_g2);
        let sums = sums.map(|((((h, l), a), b_g1), b_g2)| PartitionSums { h, l, a, b_g1, b_g2 });
        Ok(sums.collect())
    }

    /// Per partition, the sum of one query's bases times their variables.
    fn query_sums<C: Group>(
        &self,
        bases: Bases<'_, C>,
        terms: &QueryTerms,
        partitions: &[PartitionAssignment<'_>],
    ) -> Result<Vec<C::Projective>, BasesError> {
        let Options { arithmetic, bits, window_tail, .. } = self.options;
        let words: Vec<&[u64]> = partitions.iter().map(|partition| partition.words).collect();
        let scalars: Vec<&[Fr]> = partitions.iter().map(|partition| partition.scalars).collect();
        let group = match bits {
            BitsVariant::Pattern => GROUP_MAX,
            BitsVariant::Each => 1,
        };
        let mut sums = Vec::with_capacity(partitions.len());
        for words in words.chunks(group) {
            sums.extend(arithmetic.bit_sums(bases, &terms.bits, words)?);
        }
        let tails = arithmetic.tail_sums(bases, &terms.tail, &scalars, window_tail)?;
        for (sum, tail) in sums.iter_mut().zip(tails) {
            *sum += tail;
        }
        Ok(sums)
    }
}

impl Sums for Cpu<'_> {
    fn prepare<'t>(
        &self,
        template: &(dyn Fn() -> &'t Template + Sync),
        _: &dyn Progress,
    ) -> Result<(), NativeError> {
        let template = template();
        let layout = Layout::new(template.size);
        self.terms.get_or_init(|| CircuitTerms::new(template, &layout));
        Ok(())
    }

    fn of_group(
        &self,
        partitions: &[PartitionAssignment<'_>],
        progress: &dyn Progress,
    ) -> Result<Vec<PartitionSums>, NativeError> {
        let h: Vec<G1Projective> = partitions
            .iter()
            .map(|partition| self.h_sum(partition, progress))
            .collect::<Result<_, _>>()?;
        self.witness_sums(partitions, h, progress)
    }
}

/// Names the array in which a point is broken.
fn in_query(query: &'static str) -> impl Fn(BasesError) -> NativeError {
    move |source| NativeError::Bases { query, source }
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
    let assignments = group * layout.bytes() as u64;
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
    use crate::progress::Device;
    use crate::sector::{ProofVersion, SectorSize};
    use crate::variant::{Job, VariantFlag};

    fn planned(flags: &[&str]) -> u64 {
        let flags: Vec<VariantFlag> =
            flags.iter().map(|flag| flag.parse().expect("a variant")).collect();
        let variants =
            Variants::resolve(Job::Prove, Some(Device::Cpu), &flags).expect("good variants");
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
