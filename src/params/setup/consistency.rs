//! Whether a made file is what its trapdoor says: a random linear check of sampled points.
//!
//! ```text
//! sum over samples i of w_i P_i  =  (sum of w_i s_i) G        for each array
//! ```
//!
//! The scalars s_i are computed again, from the template's rows rather than its columns; a wrong
//! point among the samples passes with a chance of 1 / r. Samples are the same aux variables in
//! every challenge, the prologue's, all inputs, and random points of `h`.

use std::collections::BTreeSet;

use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar as Fr};
use ff::Field;
use group::Group;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;

use super::columns::{Dimensions, Sums};
use super::lagrange::Lagrange;
use super::scalars::{Combination, Powers};
use super::trapdoor::Trapdoor;
use crate::circuit::Coefficient;
use crate::params::layout::{G1_BYTES, G2_BYTES, Query};
use crate::params::points::{self, Depth};
use crate::params::{Parameters, PointFault};
use crate::r1cs::{
    self, Column, Form, Kind, Matrices, Matrix, QueryMap, QueryPart, Section, Template,
};
use crate::sector::SectorSize;

/// A made file is not what its trapdoor says.
#[derive(Debug, thiserror::Error)]
pub enum Inconsistency {
    /// tau is a root of unity.
    #[error("tau lies in the evaluation domain")]
    Tau,
    /// A sampled point is not a point.
    #[error("point {index} of `{query}`: {fault}")]
    Point {
        /// The array.
        query: Query,
        /// The point's index in it.
        index: usize,
        /// What is wrong with it.
        fault: PointFault,
    },
    /// Some sampled point is not the multiple that it should be.
    #[error("the sampled points of `{query}` are not the trapdoor's multiples")]
    Multiples {
        /// The array.
        query: Query,
    },
    /// Some point of the verifying key's IC is not the multiple that it should be.
    #[error("the points of the inputs are not the trapdoor's multiples")]
    Inputs,
}

/// Checks `samples` points or more of every array but b's, and about a quarter of them there:
/// their encoding, curve, subgroup, and that they are the multiples that `trapdoor` gives. `seed`
/// chooses samples and weights. Returns how many points were checked.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(
    parameters: &Parameters,
    size: SectorSize,
    trapdoor: &Trapdoor,
    samples: usize,
    seed: u64,
) -> Result<usize, Inconsistency> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let log_n = Dimensions::of(size).log_n();
    let lagrange = Lagrange::new(&trapdoor.tau, log_n).ok_or(Inconsistency::Tau)?;
    let expected = Samples::new(size, samples, &mut rng).multiples(&lagrange, trapdoor);
    let powers = Powers::new(trapdoor, 1 << log_n);
    let h = (0..samples).map(|_| {
        let index = rng.gen_range(0..(1 << log_n) - 1_u64);
        (index as usize, powers.of(index..index + 1).next().expect("a range of one"))
    });
    let h: Vec<_> = h.collect();

    let ic: Vec<G1Projective> = parameters.vk().ic.iter().map(G1Projective::from).collect();
    if !agree(&ic, &expected.ic, G1Projective::multi_exp, &mut rng) {
        return Err(Inconsistency::Inputs);
    }
    for (query, list) in [
        (Query::H, &h),
        (Query::L, &expected.l),
        (Query::A, &expected.a),
        (Query::BG1, &expected.b),
    ] {
        let points = decode(parameters, query, list, g1)?;
        let scalars: Vec<Fr> = list.iter().map(|&(_, scalar)| scalar).collect();
        if !agree(&points, &scalars, G1Projective::multi_exp, &mut rng) {
            return Err(Inconsistency::Multiples { query });
        }
    }
    let points = decode(parameters, Query::BG2, &expected.b, g2)?;
    let scalars: Vec<Fr> = expected.b.iter().map(|&(_, scalar)| scalar).collect();
    if !agree(&points, &scalars, G2Projective::multi_exp, &mut rng) {
        return Err(Inconsistency::Multiples { query: Query::BG2 });
    }
    Ok(h.len() + expected.l.len() + expected.a.len() + 2 * expected.b.len() + ic.len())
}

fn g1(bytes: &[u8]) -> Result<G1Projective, PointFault> {
    let bytes: &[u8; G1_BYTES] = bytes.try_into().expect("a point's bytes");
    points::decode_g1(bytes, Depth::Subgroup).map(|point: G1Affine| point.into())
}

fn g2(bytes: &[u8]) -> Result<G2Projective, PointFault> {
    let bytes: &[u8; G2_BYTES] = bytes.try_into().expect("a point's bytes");
    points::decode_g2(bytes, Depth::Subgroup).map(|point: G2Affine| point.into())
}

/// The points at the places of `list`, each in its subgroup.
fn decode<G: Send>(
    parameters: &Parameters,
    query: Query,
    list: &[(usize, Fr)],
    decode_one: impl Fn(&[u8]) -> Result<G, PointFault> + Sync,
) -> Result<Vec<G>, Inconsistency> {
    let bytes = parameters.query(query);
    let size = query.point_bytes();
    list.par_iter()
        .map(|&(index, _)| {
            decode_one(&bytes[index * size..(index + 1) * size])
                .map_err(|fault| Inconsistency::Point { query, index, fault })
        })
        .collect()
}

/// Whether `points[i]` are `scalars[i]` times the generator, by random weights.
fn agree<G: Group<Scalar = Fr>>(
    points: &[G],
    scalars: &[Fr],
    multi_exp: impl Fn(&[G], &[Fr]) -> G,
    rng: &mut ChaCha20Rng,
) -> bool {
    assert_eq!(points.len(), scalars.len(), "a scalar a point");
    let weights: Vec<Fr> = scalars.iter().map(|_| Fr::random(&mut *rng)).collect();
    let sum: Fr = weights.iter().zip(scalars).map(|(weight, scalar)| *weight * scalar).sum();
    multi_exp(points, &weights) == G::generator() * sum
}

/// What sampled points should be: their index in the array, and the generator's multiple.
#[derive(Default)]
struct Expected {
    ic: Vec<Fr>,
    l: Vec<(usize, Fr)>,
    a: Vec<(usize, Fr)>,
    b: Vec<(usize, Fr)>,
}

/// An entry of a row in a sampled column.
struct Hit {
    row: u32,
    /// The variable's number among the sampled ones.
    slot: u32,
    coefficient: Coefficient,
}

/// The entries of A, B and C in the sampled columns.
type Hits = [Vec<Hit>; 3];

/// Sampled variables of a challenge, and their places. Slots: those of the challenge's aux
/// variables, of its inputs, of the prologue's aux variables, of the prologue's inputs.
struct Samples {
    template: Template,
    /// The challenge's aux variables.
    aux: Vec<u32>,
    prologue_hits: Hits,
    challenge_hits: Hits,
}

impl Samples {
    /// `samples` variables or more of a partition.
    fn new(size: SectorSize, samples: usize, rng: &mut ChaCha20Rng) -> Self {
        let template = Template::record(size, Matrices::Abc);
        let aux_count = template.challenge.order.aux();
        let per_challenge = samples.div_ceil(template.challenges()).min(aux_count as usize);
        let mut aux = BTreeSet::new();
        while aux.len() < per_challenge {
            aux.insert(rng.gen_range(0..aux_count));
        }
        let aux: Vec<u32> = aux.into_iter().collect();
        let slots = Slots::new(&template, &aux);
        let [prologue_hits, challenge_hits] =
            [&template.prologue, &template.challenge].map(|section| {
                let c = section.c.as_ref().expect("recorded with C");
                [&section.a, &section.b, c].map(|matrix| slots.hits(matrix))
            });
        Self { template, aux, prologue_hits, challenge_hits }
    }

    /// The scalars of all samples.
    fn multiples(&self, lagrange: &Lagrange, trapdoor: &Trapdoor) -> Expected {
        let Template { prologue, challenge, .. } = &self.template;
        let [l, a, b] = [r1cs::Query::L, r1cs::Query::A, r1cs::Query::B]
            .map(|query| Places::new(&self.template, self.template.query(query)));
        let combination = Combination::of_aux(trapdoor);
        let mut expected = Expected::default();
        let mut shared = self.sums(&self.prologue_hits, lagrange, 0, prologue);
        let mut shared = shared.split_off(self.aux.len() + challenge.inputs);
        let mut inputs = Sums::zeros(0);
        let push = |expected: &mut Expected, aux: u32, part, sums: &Sums, slot: usize| {
            let (sum_a, sum_b, sum_c) = (sums.a[slot], sums.b[slot], sums.c[slot]);
            let combined = combination.combine(&sum_a, &sum_b, &sum_c);
            expected.l.extend(l.place(part, aux).map(|place| (place, combined)));
            expected.a.extend(a.place(part, aux).map(|place| (place, sum_a)));
            expected.b.extend(b.place(part, aux).map(|place| (place, sum_b)));
        };
        for index in 0..self.template.challenges() {
            let first = prologue.rows() + index * challenge.rows();
            let mut sums = self.sums(&self.challenge_hits, lagrange, first, challenge);
            shared.add(&sums.split_off(self.aux.len() + challenge.inputs));
            inputs.append(sums.split_off(self.aux.len()));
            for (slot, &aux) in self.aux.iter().enumerate() {
                push(&mut expected, aux, Some(index), &sums, slot);
            }
        }
        let mut all_inputs = shared.split_off(prologue.order.aux() as usize);
        for aux in 0..prologue.order.aux() {
            push(&mut expected, aux, None, &shared, aux as usize);
        }
        all_inputs.append(inputs);
        self.push_inputs(all_inputs, lagrange, trapdoor, &mut expected);
        expected
    }

    /// Adds the inputs: all of `ic`, the head of `a`, and ONE of b.
    fn push_inputs(
        &self,
        sums: Sums,
        lagrange: &Lagrange,
        trapdoor: &Trapdoor,
        expected: &mut Expected,
    ) {
        let Sums { mut a, b, c } = sums;
        let rows = lagrange.values(self.template.rows(), a.len());
        a.iter_mut().zip(rows).for_each(|(sum, value)| *sum += value);
        let combination = Combination::of_inputs(trapdoor);
        expected.ic = (0..a.len()).map(|i| combination.combine(&a[i], &b[i], &c[i])).collect();
        expected.a.extend(a.into_iter().enumerate());
        expected.b.push((0, b[0]));
    }

    /// The sums of all slots over the rows of `section`, which are those from `first` on.
    fn sums(&self, hits: &Hits, lagrange: &Lagrange, first: usize, section: &Section) -> Sums {
        let values = lagrange.values(first, section.rows());
        let Template { prologue, challenge, .. } = &self.template;
        let slots =
            self.aux.len() + challenge.inputs + prologue.order.aux() as usize + prologue.inputs;
        let sums = |hits: &[Hit]| {
            let mut sums = vec![Fr::ZERO; slots];
            for Hit { row, slot, coefficient } in hits {
                let coefficient = self.template.coefficients[usize::from(coefficient.0)];
                sums[*slot as usize] += coefficient * values[*row as usize];
            }
            sums
        };
        let [a, b, c] = hits;
        let (a, (b, c)) = rayon::join(|| sums(a), || rayon::join(|| sums(b), || sums(c)));
        Sums { a, b, c }
    }
}

/// The slots of the template's columns.
struct Slots {
    /// Slots of a challenge's bits and field elements, where they are sampled.
    own: [Vec<Option<u32>>; 2],
    /// Slots of the prologue's.
    prologue: [Vec<Option<u32>>; 2],
    own_inputs: u32,
    prologue_inputs: u32,
}

impl Slots {
    fn new(template: &Template, aux: &[u32]) -> Self {
        let Template { prologue, challenge, .. } = template;
        let own_inputs = aux.len() as u32;
        let prologue_aux = own_inputs + challenge.inputs as u32;
        let slots = |section: &Section, slot: &dyn Fn(u32) -> Option<u32>| {
            [Form::Bit, Form::Full].map(|form| {
                section.order.aux_numbers(form).into_iter().map(slot).collect::<Vec<_>>()
            })
        };
        let sampled = |number: u32| aux.binary_search(&number).ok().map(|slot| slot as u32);
        Self {
            own: slots(challenge, &sampled),
            prologue: slots(prologue, &|number| Some(prologue_aux + number)),
            own_inputs,
            prologue_inputs: prologue_aux + prologue.order.aux(),
        }
    }

    fn of(&self, column: Column) -> Option<u32> {
        let index = column.index() as usize;
        match column.kind() {
            Kind::Bit => self.own[0][index],
            Kind::Full => self.own[1][index],
            Kind::Input => Some(self.own_inputs + column.index()),
            Kind::PrologueBit => self.prologue[0][index],
            Kind::PrologueFull => self.prologue[1][index],
            Kind::PrologueInput => Some(self.prologue_inputs + column.index()),
        }
    }

    /// The entries of `matrix` in sampled columns.
    fn hits(&self, matrix: &Matrix) -> Vec<Hit> {
        let rows = (0..matrix.rows()).into_par_iter();
        rows.flat_map_iter(|row| {
            let (columns, coefficients) = matrix.row(row);
            columns.iter().zip(coefficients).filter_map(move |(&column, &coefficient)| {
                self.of(column).map(|slot| Hit { row: row as u32, slot, coefficient })
            })
        })
        .collect()
    }
}

/// Where the aux variables have their points in one array.
struct Places {
    map: QueryMap,
    /// Bases of the prologue's aux variables and of a challenge's, from the part's first.
    prologue: Vec<Option<u32>>,
    challenge: Vec<Option<u32>>,
}

impl Places {
    fn new(template: &Template, map: QueryMap) -> Self {
        let bases = |section: &Section, part: &QueryPart| {
            let mut bases = vec![None; section.order.aux() as usize];
            for (form, runs) in [(Form::Bit, &part.bits), (Form::Full, &part.full)] {
                let numbers = section.order.aux_numbers(form);
                for run in runs {
                    for i in 0..run.len {
                        bases[numbers[(run.start + i) as usize] as usize] = Some(run.base + i);
                    }
                }
            }
            bases
        };
        let prologue = bases(&template.prologue, &map.prologue);
        let challenge = bases(&template.challenge, &map.challenge);
        Self { map, prologue, challenge }
    }

    /// The index of aux variable `aux` of a challenge, or of the prologue, if it has a point.
    fn place(&self, challenge: Option<usize>, aux: u32) -> Option<usize> {
        let (first, bases) = match challenge {
            None => (self.map.prologue_base(), &self.prologue),
            Some(index) => (self.map.challenge_base(index), &self.challenge),
        };
        bases[aux as usize].map(|base| first + base as usize)
    }
}
