//! Operands and reference values that the host and the device tests of the kernels share.
#![allow(dead_code, reason = "each test target uses its own part")]
#![allow(clippy::print_stdout, reason = "tests print their seeds")]

use blstrs::{Fp, Fp2, Scalar};
use ff::Field;
use prove::gpu::{DeviceData, FieldOperation};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The generator of every test, from a seed that a failure prints.
pub fn rng(seed: u64) -> ChaCha8Rng {
    println!("seed {seed}");
    ChaCha8Rng::seed_from_u64(seed)
}

/// Adds little-endian integers of one length; the sum fits.
fn add_bytes(value: &[u8], addend: &[u8]) -> Vec<u8> {
    let mut carry = 0;
    let digits = value.iter().zip(addend).map(|(x, y)| {
        carry = (carry >> 8) + u16::from(*x) + u16::from(*y);
        carry as u8
    });
    digits.collect()
}

/// The representative of `value` that is larger by the modulus, of which `minus_one` is one less.
fn plus_modulus<T: DeviceData>(value: T, minus_one: &[u8]) -> T {
    let mut one = vec![0; minus_one.len()];
    one[0] = 1;
    T::from_bytes(&add_bytes(&add_bytes(value.to_bytes(), minus_one), &one))
}

/// A field of the kernels: its lazy representatives and the reference of each operation.
pub trait KernelField: Field {
    /// Operations that the kernels have for the field.
    const OPERATIONS: &'static [FieldOperation];

    /// The other representative of the same value below twice the modulus.
    fn lazy(self) -> Self;

    /// What `operation` gives for a row of operands, by blst.
    fn reference(operation: FieldOperation, row: &[Self; 4]) -> Self {
        match operation {
            FieldOperation::Add => row[0] + row[1],
            FieldOperation::Sub => row[0] - row[1],
            FieldOperation::Mul => row[0] * row[1],
            FieldOperation::SquareOrInteger => row[0].square(),
            FieldOperation::NegOrHalve => -row[0],
            FieldOperation::MulAdd => row[0] * row[1] + row[2] * row[3],
        }
    }
}

const ALL: &[FieldOperation] = &[
    FieldOperation::Add,
    FieldOperation::Sub,
    FieldOperation::Mul,
    FieldOperation::SquareOrInteger,
    FieldOperation::NegOrHalve,
    FieldOperation::MulAdd,
];

impl KernelField for Scalar {
    const OPERATIONS: &'static [FieldOperation] = ALL.split_at(5).0;

    fn lazy(self) -> Self {
        plus_modulus(self, &(-Scalar::ONE).to_bytes_le())
    }

    fn reference(operation: FieldOperation, row: &[Self; 4]) -> Self {
        match operation {
            FieldOperation::Add => row[0] + row[1],
            FieldOperation::Sub => row[0] - row[1],
            FieldOperation::Mul => row[0] * row[1],
            FieldOperation::SquareOrInteger => Scalar::from_bytes(&row[0].to_bytes_le()),
            FieldOperation::NegOrHalve => {
                row[0] * Scalar::from(2).invert().expect("two is not zero")
            }
            FieldOperation::MulAdd => unreachable!("not an operation of Fr"),
        }
    }
}

impl KernelField for Fp {
    const OPERATIONS: &'static [FieldOperation] = ALL;

    fn lazy(self) -> Self {
        plus_modulus(self, &(-Fp::ONE).to_bytes_le())
    }
}

impl KernelField for Fp2 {
    const OPERATIONS: &'static [FieldOperation] = ALL;

    fn lazy(self) -> Self {
        Fp2::new(self.c0().lazy(), self.c1().lazy())
    }
}

/// Rows of operands: all quadruples of hostile values, then `random` random rows; each operand in
/// one of its two representatives. Reference rows are the same values reduced.
pub fn operand_rows<F: KernelField>(seed: u64, random: usize) -> (Vec<[F; 4]>, Vec<[F; 4]>) {
    let mut rng = rng(seed);
    let two = F::ONE.double();
    let hostile =
        [F::ZERO, F::ONE, -F::ONE, two, -two, two.invert().unwrap_or(F::ONE), F::random(&mut rng)];
    let mut reference = Vec::new();
    let pick = |code: usize, place: u32| hostile[code / hostile.len().pow(place) % hostile.len()];
    for code in 0..hostile.len().pow(4) {
        reference.push([pick(code, 0), pick(code, 1), pick(code, 2), pick(code, 3)]);
    }
    for _ in 0..random {
        reference.push(std::array::from_fn(|_| F::random(&mut rng)));
    }
    let given = reference
        .iter()
        .map(|row| row.map(|value| if rng.r#gen() { value.lazy() } else { value }))
        .collect();
    (given, reference)
}

/// Scalars at the edges of 16-bit windows, around powers of two, and random ones: 0, 1 and -1
/// first.
pub fn hostile_scalars(seed: u64) -> Vec<Scalar> {
    let mut rng = rng(seed);
    let power = |bits: usize| Scalar::from(2).pow_vartime([bits as u64]);
    let mut scalars = vec![Scalar::ZERO, Scalar::ONE, -Scalar::ONE];
    for bit in 0..255 {
        scalars.extend([power(bit), power(bit) - Scalar::ONE, power(bit) + Scalar::ONE]);
    }
    for window in 0..16 {
        let edges = [0x7fff, 0x8000, 0x8001, 0xffff].map(Scalar::from);
        scalars.extend(edges.map(|edge| edge * power(16 * window)));
    }
    // The sum of the lower windows is the top window's multiple: a doubling.
    scalars.extend((1..64).map(|digit| (power(240) * Scalar::from(digit)).double()));
    scalars.extend((0..100).map(|_| Scalar::random(&mut rng)));
    scalars
}
