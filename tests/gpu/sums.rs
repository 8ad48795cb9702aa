//! Sums over the witness: bits through query maps, and tails.

use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use ff::Field;
use group::prime::PrimeCurveAffine;
use group::{Curve as _, Group};
use prove::gpu::msm::{BitSums, TailSums};
use prove::gpu::{Curve, DeviceBuffer, DeviceSlice, G1, G2, Gpu, QueryBits, bench, points};
use prove::msm::{TailTerm, Window, WindowBits};
use prove::r1cs::{Matrices, Query, QueryMap, QueryPart, QueryRun, Template};
use prove::sector::SectorSize;
use prove::witness::{Counts, Layout};
use rand::Rng;
use rayon::prelude::*;

use super::rows::{random_witness, upload};
use super::{gpu, hostile_multiples, hostile_points, hostile_scalars, known_sum, median_ms, rng};

/// Which bit each base meets, and the same on the device.
struct Map<'g> {
    bits: Vec<Option<usize>>,
    device: QueryBits<'g>,
}

/// A query of `head` and `challenges` periods over bits that are padded to whole words, with gaps:
/// every fifth base meets none.
fn periodic_map(gpu: &Gpu, n: usize) -> Map<'_> {
    let part = |bases: u32, skipped: u32| {
        let bits: Vec<QueryRun> = (0..bases)
            .filter(|base| base % 5 != skipped)
            .map(|base| QueryRun { base, start: 2 * base + 1, len: 1 })
            .collect();
        QueryPart { bases, bits, full: Vec::new() }
    };
    let (challenges, input_bases) = (3, n % 4);
    let period = (n - input_bases) / 4;
    let head = n - input_bases - challenges * period;
    let map = QueryMap {
        input_bases,
        prologue: part(head as u32, 0),
        challenge: part(period as u32, 1),
        challenges,
    };
    let counts = |bases: usize| Counts { inputs: 1, bits: 2 * bases + 1, full: 1 };
    let layout = Layout {
        size: SectorSize::KiB2,
        prologue: counts(head),
        challenge: counts(period),
        challenges,
    };
    let mut bits = vec![None; n];
    let runs = |part: &QueryPart| part.bits.clone();
    for run in runs(&map.prologue) {
        bits[input_bases + run.base as usize] = Some(run.start as usize);
    }
    for k in 0..challenges {
        for run in runs(&map.challenge) {
            let bit = 64 * layout.word_base(k) + run.start as usize;
            bits[map.challenge_base(k) + run.base as usize] = Some(bit);
        }
    }
    Map { bits, device: QueryBits::new(gpu, &map, &layout).expect("memory") }
}

fn maps(gpu: &Gpu, n: usize) -> Vec<Map<'_>> {
    let every_other: Vec<Option<usize>> =
        (0..n).map(|i| (i % 7 != 3).then_some(2 * i + 1)).collect();
    let table: Vec<u32> =
        every_other.iter().map(|bit| bit.map_or(QueryBits::NONE, |bit| bit as u32)).collect();
    let mut maps = vec![
        Map {
            bits: (0..n).map(Some).collect(),
            device: QueryBits::identity(gpu, n).expect("memory"),
        },
        Map { bits: every_other, device: QueryBits::of_table(gpu, &table, 2 * n).expect("memory") },
    ];
    if n >= 8 {
        maps.push(periodic_map(gpu, n));
    }
    maps
}

/// Bit sums for several numbers of witnesses, through every map, whole and in chunks, against sums
/// over the set bits.
fn check_bit_sums<C: Curve>(gpu: &Gpu, affine: &[C::Affine], projective: &[C::Projective]) {
    let mut rng = rng(51);
    let n = affine.len();
    let bases = DeviceBuffer::from_host(gpu, affine).expect("memory");
    // Twice as many bits as bases, and room for padding.
    let words = n.div_ceil(16) + 10;
    let maps = maps(gpu, n);
    for (partitions, density) in [(1, 0.5), (1, 0.0), (1, 1.0), (2, 0.9), (7, 0.3), (10, 0.5)] {
        let bits: Vec<u32> = (0..words * partitions)
            .map(|_| (0..32).fold(0, |word, bit| word | u32::from(rng.gen_bool(density)) << bit))
            .collect();
        let device = DeviceBuffer::from_host(gpu, &bits).expect("memory");
        let sums = BitSums::<C>::new(gpu, n, partitions).expect("memory");
        for map in &maps {
            let set = |p: usize, i: usize| {
                map.bits[i].is_some_and(|j| bits[p * words + j / 32] >> (j % 32) & 1 == 1)
            };
            let expected: Vec<C::Projective> = (0..partitions)
                .map(|p| (0..n).filter(|&i| set(p, i)).map(|i| projective[i]).sum())
                .collect();
            let run = |range| sums.run(bases.as_slice(), range, &map.device, device.as_slice());
            let got = run(0..n).expect("run");
            assert!(got == expected, "{n} bases, {partitions} witnesses at {density}");
            check_chunks::<C>(gpu, affine, map, (&device, partitions), &expected);
        }
    }
}

/// The same sums chunk by chunk, the last one shorter.
fn check_chunks<C: Curve>(
    gpu: &Gpu,
    affine: &[C::Affine],
    map: &Map<'_>,
    (bits, partitions): (&DeviceBuffer<'_, u32>, usize),
    expected: &[C::Projective],
) {
    let Some(&any) = affine.first() else { return };
    let chunk = affine.len().div_ceil(3) + 1;
    let sums = BitSums::<C>::new(gpu, chunk, partitions).expect("memory");
    let mut total = vec![C::Projective::identity(); partitions];
    for (number, points) in affine.chunks(chunk).enumerate() {
        // Points above the range must not be looked at.
        let padded: Vec<C::Affine> =
            points.iter().copied().chain(std::iter::repeat(any)).take(chunk).collect();
        let points_there = DeviceBuffer::from_host(gpu, &padded).expect("memory");
        let first = number * chunk;
        let range = first..first + points.len();
        let part = sums.run(points_there.as_slice(), range, &map.device, bits.as_slice());
        for (total, part) in total.iter_mut().zip(part.expect("run")) {
            *total += part;
        }
    }
    assert!(total == expected, "{} bases in chunks of {chunk}", affine.len());
}

/// Calls `$check` with hostile points of every size.
macro_rules! check_sizes {
    ($check:ident, $curve:ty, $affine:ty, $projective:ty, $sizes:expr) => {
        let gpu = gpu();
        for n in $sizes {
            let projective: Vec<$projective> = hostile_points(n);
            let mut affine = vec![<$affine>::identity(); n];
            <$projective>::batch_normalize(&projective, &mut affine);
            $check::<$curve>(&gpu, &affine, &projective);
        }
    };
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn small_bit_sums_agree_with_blst() {
    check_sizes!(check_bit_sums, G1, G1Affine, G1Projective, [0, 1, 31, 32, 33, 1025, 4096]);
    check_sizes!(check_bit_sums, G2, G2Affine, G2Projective, [0, 1, 33, 1023]);
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn large_bit_sums_agree_with_blst() {
    check_sizes!(check_bit_sums, G1, G1Affine, G1Projective, [(1 << 18) + 1]);
}

/// One sum over bits and one tail, small enough for racecheck.
#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn small_single_query_agrees_with_blst() {
    const N: usize = 65;
    let gpu = gpu();
    let (points, multiples) = hostile_multiples::<G1Projective>(N);
    let mut affine = vec![G1Affine::identity(); N];
    G1Projective::batch_normalize(&points, &mut affine);
    let bases = DeviceBuffer::from_host(&gpu, &affine).expect("memory");
    let bits = [0x9e37_79b9, 0x7f4a_7c15, 1, 0x85eb_ca6b, 0xc2b2_ae35, 0u32];
    let device = DeviceBuffer::from_host(&gpu, &bits).expect("memory");
    let map = QueryBits::identity(&gpu, N).expect("memory");
    let sums = BitSums::<G1>::new(&gpu, N, 2).expect("memory");
    let got = sums.run(bases.as_slice(), 0..N, &map, device.as_slice()).expect("run");
    for (got, bits) in got.iter().zip(bits.chunks(3)) {
        let bit = |i: usize| Scalar::from(u64::from(bits[i / 32] >> (i % 32) & 1));
        assert_eq!(*got, known_sum(&multiples, &(0..N).map(bit).collect::<Vec<_>>()));
    }
    let scalars: Vec<Scalar> = (0..N as u64).map(|i| Scalar::from(i * i)).collect();
    let terms: Vec<TailTerm> = (0..N as u32).map(|i| TailTerm { base: i, full: i }).collect();
    let tail = TailSums::<G1>::new(&gpu, &terms, 1, Window::Auto).expect("memory");
    tail.gather(bases.as_slice(), 0).expect("launch");
    let device = DeviceBuffer::from_host(&gpu, &scalars).expect("memory");
    let sums = tail.run(&[device.as_slice()]).expect("run");
    assert_eq!(sums, [known_sum::<G1Projective>(&multiples, &scalars)]);
}

/// Tails over every third base, gathered whole or from chunks, against blst.
fn check_tail<C: Curve>(gpu: &Gpu, affine: &[C::Affine], projective: &[C::Projective]) {
    let mut rng = rng(91);
    let scalars = hostile_scalars(affine.len() + 5, &mut rng);
    let terms: Vec<TailTerm> = (0..affine.len() as u32)
        .filter(|base| base % 3 != 1)
        .map(|base| TailTerm { base, full: rng.gen_range(0..scalars.len() as u32) })
        .rev()
        .collect();
    // A vector of scalars a partition.
    let partitions: Vec<Vec<Scalar>> = vec![
        scalars.clone(),
        scalars.iter().map(|scalar| -scalar).collect(),
        vec![Scalar::ZERO; scalars.len()],
        scalars.iter().rev().copied().collect(),
    ];
    let expected: Vec<C::Projective> = partitions
        .iter()
        .map(|scalars| {
            let product =
                |term: &TailTerm| projective[term.base as usize] * scalars[term.full as usize];
            terms.par_iter().map(product).sum()
        })
        .collect();
    let device: Vec<_> = partitions
        .iter()
        .map(|scalars| DeviceBuffer::from_host(gpu, scalars).expect("memory"))
        .collect();
    let device: Vec<_> = device.iter().map(DeviceBuffer::as_slice).collect();
    let n = affine.len();
    let nine = Window::Bits(WindowBits::new(9).expect("in range"));
    for (chunk, together, window) in [
        (n.max(1), 1, Window::Auto),
        (n / 3 + 1, 4, Window::Auto),
        (7.max(n / 50), 3, nine),
        (n.max(1), 10, Window::Auto),
        (n.max(1), 1, nine),
    ] {
        let tail = TailSums::<C>::new(gpu, &terms, together, window).expect("memory");
        for (number, points) in affine.chunks(chunk).enumerate() {
            let points = DeviceBuffer::from_host(gpu, points).expect("memory");
            tail.gather(points.as_slice(), number * chunk).expect("launch");
            gpu.synchronize().expect("the gather is done");
        }
        let sums = tail.run(&device).expect("run");
        assert!(sums == expected, "{n} bases in chunks of {chunk}, {together} together, {window}");
    }
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn small_tails_agree_with_blst() {
    check_sizes!(check_tail, G1, G1Affine, G1Projective, [0, 1, 2, 33, 1025]);
    check_sizes!(check_tail, G2, G2Affine, G2Projective, [1, 65]);
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn large_tails_agree_with_blst() {
    check_sizes!(check_tail, G1, G1Affine, G1Projective, [(1 << 17) + 1]);
    check_sizes!(check_tail, G2, G2Affine, G2Projective, [1 << 13]);
}

/// A query's bits and tail over the bases (i + 1) G add up to what the assignment says.
#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn large_query_sums_agree_with_the_assignment() {
    let gpu = gpu();
    let size = SectorSize::KiB2;
    let template = Template::record(size, Matrices::Ab);
    let layout = Layout::new(size);
    let witnesses: Vec<_> = (0..3).map(|i| random_witness(size, 95 + i)).collect();
    let device = upload(&gpu, &witnesses);
    for query in [Query::L, Query::A, Query::B] {
        let map = template.query(query);
        let terms = prove::groth16::terms::QueryTerms::new(&map, &layout);
        let n = map.bases();
        let bases = DeviceBuffer::new(&gpu, n).expect("memory");
        points::multiples(&gpu, bases.as_slice(), &G1Affine::generator(), 1).expect("launch");
        let bits = QueryBits::new(&gpu, &map, &layout).expect("memory");
        let sums = BitSums::<G1>::new(&gpu, n, witnesses.len()).expect("memory");
        let sums = sums.run(bases.as_slice(), 0..n, &bits, device.words()).expect("run");
        let tail = TailSums::<G1>::new(&gpu, &terms.tail, 2, Window::Auto).expect("memory");
        tail.gather(bases.as_slice(), 0).expect("launch");
        let tails = tail.run_group(&device, witnesses.len()).expect("run");
        for ((witness, sum), tail) in witnesses.iter().zip(sums).zip(tails) {
            let set = |bit: usize| witness.words[bit / 64] >> (bit % 64) & 1;
            let from_bits: u64 = terms
                .bits
                .par_iter()
                .map(|run| {
                    let weight = |i| (run.base_start + i) as u64 + 1;
                    (0..run.len).map(|i| weight(i) * set(run.bit_start + i)).sum::<u64>()
                })
                .sum();
            assert_eq!(sum, G1Projective::generator() * Scalar::from(from_bits), "{query:?} bits");
            let from_tail = terms
                .tail
                .par_iter()
                .map(|term| {
                    witness.scalars[term.full as usize] * Scalar::from(u64::from(term.base) + 1)
                })
                .reduce(|| Scalar::ZERO, |x, y| x + y);
            assert_eq!(tail, G1Projective::generator() * from_tail, "{query:?} tail");
        }
    }
}

/// Milliseconds a partition of ten tails over the bases whose multiples of the generator are given.
fn time_tail<C: Curve>(
    gpu: &Gpu,
    name: &str,
    bases: DeviceSlice<'_, C::Affine>,
    multiples: impl Iterator<Item = u64> + Clone + Sync,
) {
    let n = bases.len();
    let terms: Vec<TailTerm> =
        (0..n as u32).map(|i| TailTerm { base: i, full: n as u32 - 1 - i }).collect();
    let scalars: Vec<Vec<Scalar>> = (0..10).map(|p| bench::random_scalars(97 + p, n)).collect();
    let expected: Vec<C::Projective> = scalars
        .par_iter()
        .map(|scalars| {
            let products = scalars.iter().rev().zip(multiples.clone());
            let sum: Scalar = products.map(|(scalar, i)| scalar * Scalar::from(i)).sum();
            C::Projective::generator() * sum
        })
        .collect();
    let device: Vec<_> = scalars
        .iter()
        .map(|scalars| DeviceBuffer::from_host(gpu, scalars).expect("memory"))
        .collect();
    let device: Vec<_> = device.iter().map(DeviceBuffer::as_slice).collect();
    for together in [1, 5, 10] {
        let tail = TailSums::<C>::new(gpu, &terms, together, Window::Auto).expect("memory");
        tail.gather(bases, 0).expect("launch");
        let mut sums = Vec::new();
        let ms = median_ms(gpu, 1, || {
            sums = tail.run(&device)?;
            Ok(())
        });
        assert!(sums == expected, "{name}, {together} together");
        let bytes = TailSums::<C>::bytes(n, together, Window::Auto);
        println!(
            "tail {name}, {n} bases, {together} together: {:.2} ms a partition, {bytes} bytes",
            ms / 10.0
        );
    }
}

/// Tails of the sizes of a 32 GiB partition: L, A and B1 in G1, B2 in G2.
#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn time_tails() {
    let gpu = gpu();
    for (name, n) in [("l", 1_699_102), ("a", 1_288_589), ("b_g1", 1_229_275)] {
        let bases = DeviceBuffer::new(&gpu, n).expect("memory");
        points::multiples(&gpu, bases.as_slice(), &G1Affine::generator(), 1).expect("launch");
        time_tail::<G1>(&gpu, name, bases.as_slice(), 1..=n as u64);
    }
    // Few distinct points, repeated: the time does not depend on them.
    let distinct = 4096;
    let projective: Vec<G2Projective> = (1..=distinct)
        .into_par_iter()
        .map(|i| G2Projective::generator() * Scalar::from(i))
        .collect();
    let mut few = vec![G2Affine::identity(); projective.len()];
    G2Projective::batch_normalize(&projective, &mut few);
    let list: Vec<G2Affine> = few.iter().copied().cycle().take(1_229_275).collect();
    let bases = DeviceBuffer::from_host(&gpu, &list).expect("memory");
    time_tail::<G2>(&gpu, "b_g2", bases.as_slice(), (1..=distinct).cycle());
}
