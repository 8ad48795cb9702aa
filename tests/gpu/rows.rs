//! Rows on the device against the evaluator on the CPU.

use blstrs::Scalar;
use ff::Field;
use prove::c1::{self, GivenIds};
use prove::gpu::{DeviceBuffer, DeviceWitnesses, Gpu, RowEvaluator, bench};
use prove::groth16::synthesis::compact_assignments;
use prove::r1cs::{Evaluator, Matrices, Template};
use prove::sector::SectorSize;
use prove::witness::{Layout, Witness};
use rand::RngCore;

use super::{gpu, median_ms, rng};

/// An assignment that satisfies nothing: random bits and elements, ends of the field among them.
pub fn random_witness(size: SectorSize, seed: u64) -> Witness {
    let layout = Layout::new(size);
    let mut rng = rng(seed);
    let words = (0..layout.words()).map(|_| rng.next_u64()).collect();
    let mut scalars = bench::random_scalars(seed, layout.scalars());
    scalars[0] = Scalar::ONE;
    let hostile = [Scalar::ZERO, -Scalar::ONE, Scalar::ONE, -Scalar::from(2)];
    for (i, value) in scalars[layout.inputs()..].iter_mut().enumerate().filter(|(i, _)| i % 5 == 0)
    {
        *value = hostile[i / 5 % hostile.len()];
    }
    Witness { layout, words, scalars }
}

/// The assignments of a sealed sector.
pub fn real_witnesses(c1: &[u8]) -> Vec<Witness> {
    let sector = c1::read(c1, &GivenIds::default()).expect("a fixture").sector;
    let partitions = sector.partitions.len();
    compact_assignments(&sector, 0..partitions).expect("a good sector")
}

/// The assignments on the device, one a place.
pub fn upload<'g>(gpu: &'g Gpu, witnesses: &[Witness]) -> DeviceWitnesses<'g> {
    let device = DeviceWitnesses::new(gpu, witnesses[0].layout, witnesses.len()).expect("memory");
    for (slot, witness) in witnesses.iter().enumerate() {
        device.upload(slot, &witness.words, &witness.scalars).expect("copy");
    }
    device
}

/// The representatives in [0, r) of values in [0, 2r).
fn canonical(values: &[Scalar]) -> Vec<Scalar> {
    values.iter().map(|value| value + Scalar::ZERO).collect()
}

/// a, b and c of every row of every witness; arrays of `len` elements hold zeros above the rows.
fn check_rows(gpu: &Gpu, template: &Template, witnesses: &[Witness], len: usize) {
    let evaluator = RowEvaluator::new(gpu, template).expect("memory");
    let device = upload(gpu, witnesses);
    let [a, b, c] = [(); 3].map(|()| DeviceBuffer::new(gpu, len).expect("memory"));
    for (slot, witness) in witnesses.iter().enumerate() {
        for buffer in [&a, &b, &c] {
            buffer.as_slice().fill(0x5a).expect("launch");
        }
        evaluator.run(a.as_slice(), b.as_slice(), &device, slot).expect("launch");
        evaluator.run_product(c.as_slice(), &device, slot).expect("launch");
        let on_cpu = Evaluator::new(template, witness);
        assert_eq!(on_cpu.rows(), evaluator.rows());
        let mut expected = [(); 2].map(|()| vec![Scalar::ZERO; len]);
        let [expected_a, expected_b] = &mut expected;
        let rows = 0..on_cpu.rows();
        on_cpu.fill(0, &mut expected_a[rows.clone()], &mut expected_b[rows]);
        let product: Vec<Scalar> =
            expected[0].iter().zip(&expected[1]).map(|(a, b)| a * b).collect();
        for (name, got, expected) in
            [("a", &a, &expected[0]), ("b", &b, &expected[1]), ("c", &c, &product)]
        {
            let got = canonical(&got.to_host().expect("copy"));
            let wrong = got.iter().zip(expected).position(|(got, expected)| got != expected);
            assert_eq!(wrong, None, "{name} of {} in place {slot}, {len} rows", template.size);
        }
    }
}

/// Rows of a sealed sector, of random values, and of ones, over the domain and arrays that the rows
/// just fit.
fn check_size(size: SectorSize, c1: &[u8]) {
    let gpu = gpu();
    let template = Template::record(size, Matrices::Ab);
    let mut witnesses = real_witnesses(c1);
    witnesses.push(random_witness(size, 71));
    let mut ones = random_witness(size, 73);
    ones.words.fill(u64::MAX);
    witnesses.push(ones);
    let rows = template.rows() + template.inputs();
    check_rows(&gpu, &template, &witnesses, 1 << size.circuit().log_n);
    check_rows(&gpu, &template, &witnesses[..1], rows);
    check_rows(&gpu, &template, &witnesses[1..2], rows + 1);
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn small_rows_agree_with_the_evaluator() {
    check_size(SectorSize::KiB2, include_bytes!("../../testdata/c1-2KiB.json"));
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn large_rows_agree_with_the_evaluator() {
    check_size(SectorSize::MiB8, include_bytes!("../../testdata/c1-8MiB.json"));
}

/// The rows of a 32 GiB partition, some of them compared.
#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn time_rows() {
    let gpu = gpu();
    let size = SectorSize::GiB32;
    let template = Template::record(size, Matrices::Ab);
    let witness = random_witness(size, 81);
    let start = std::time::Instant::now();
    let evaluator = RowEvaluator::new(&gpu, &template).expect("memory");
    println!(
        "rows of {size}: {} bytes on the device, made in {:?}",
        RowEvaluator::bytes(&template),
        start.elapsed()
    );
    let device = upload(&gpu, std::slice::from_ref(&witness));
    let n = 1 << size.circuit().log_n;
    let [a, b] = [(); 2].map(|()| DeviceBuffer::new(&gpu, n).expect("memory"));
    let both_ms = median_ms(&gpu, 5, || evaluator.run(a.as_slice(), b.as_slice(), &device, 0));
    let on_cpu = Evaluator::new(&template, &witness);
    let block = 1 << 20;
    for start in [0, 7_237_665 * 9, on_cpu.rows() - block] {
        let mut expected = [(); 2].map(|()| vec![Scalar::ZERO; block]);
        let [expected_a, expected_b] = &mut expected;
        on_cpu.fill(start, expected_a, expected_b);
        for (name, buffer, expected) in [("a", &a, &expected[0]), ("b", &b, &expected[1])] {
            let got = buffer.as_slice().slice(start..start + block).to_host().expect("copy");
            assert!(canonical(&got) == *expected, "{name} from row {start}");
        }
    }
    let product_ms = median_ms(&gpu, 5, || evaluator.run_product(a.as_slice(), &device, 0));
    println!("rows of {size}: a and b {both_ms:.2} ms, c {product_ms:.2} ms");
}
