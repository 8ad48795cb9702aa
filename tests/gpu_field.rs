//! The kernels' field and curve functions, compiled for the host, against blst.
#![expect(unsafe_code, reason = "the functions are C")]

mod kernels;

use blstrs::{Fp, Fp2, G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use ff::Field;
use group::{Curve as _, Group, prime::PrimeCurveAffine};
use kernels::{KernelField, hostile_scalars, operand_rows, rng};
use prove::gpu::fixed_base::WINDOW_BITS;
use prove::gpu::{Curve, DeviceData, G1, G2, Xyzz};
use prove::msm;
use prove::params::setup::fixed_base::generator;

unsafe extern "C" {
    fn prove_host_fr(out: *mut Scalar, row: *const Scalar, operation: u32);
    fn prove_host_fp(out: *mut Fp, row: *const Fp, operation: u32);
    fn prove_host_fp2(out: *mut Fp2, row: *const Fp2, operation: u32);
    fn prove_host_g1(acc: *mut Xyzz<Fp>, point: *const G1Affine, operation: u32);
    fn prove_host_g2(acc: *mut Xyzz<Fp2>, point: *const G2Affine, operation: u32);
    fn prove_host_multiples_g1(
        out: *mut u8,
        table: *const G1Affine,
        scalars: *const Scalar,
        n: u32,
    );
    fn prove_host_multiples_g2(
        out: *mut u8,
        table: *const G2Affine,
        scalars: *const Scalar,
        n: u32,
    );
}

fn check_field<F: KernelField + DeviceData>(
    seed: u64,
    function: unsafe extern "C" fn(*mut F, *const F, u32),
) {
    let (given, reference) = operand_rows::<F>(seed, 20_000);
    for &operation in F::OPERATIONS {
        for (row, expected) in given.iter().zip(&reference) {
            let mut out = F::ZERO;
            // SAFETY: `row` has four elements of the function's type.
            unsafe { function(&mut out, row.as_ptr(), operation as u32) };
            let expected = F::reference(operation, expected);
            assert_eq!(out.to_bytes(), expected.to_bytes(), "{operation:?} of {row:?}");
        }
    }
}

#[test]
fn fr_agrees_with_blst_on_lazy_operands() {
    check_field::<Scalar>(1, prove_host_fr);
}

#[test]
fn fp_agrees_with_blst_on_lazy_operands() {
    check_field::<Fp>(2, prove_host_fp);
}

#[test]
fn fp2_agrees_with_blst_on_lazy_operands() {
    check_field::<Fp2>(3, prove_host_fp2);
}

/// A representative of `point` with a random Z, or the identity.
fn scaled<F: Field>(x: F, y: F, identity: bool, z: F) -> Xyzz<F> {
    if identity {
        return Xyzz { x: F::ZERO, y: F::ZERO, zz: F::ZERO, zzz: F::ZERO };
    }
    let (zz, zzz) = (z.square(), z.square() * z);
    Xyzz { x: x * zz, y: y * zzz, zz, zzz }
}

macro_rules! check_curve {
    ($test:ident, $curve:ty, $affine:ty, $projective:ty, $function:ident, $seed:literal) => {
        #[test]
        fn $test() {
            let mut rng = rng($seed);
            let p = <$projective>::random(&mut rng);
            let mut points = vec![<$projective>::identity(), p, -p, p.double(), -p.double()];
            points.extend((0..40).map(|_| <$projective>::random(&mut rng)));
            for left in &points {
                for right in &points {
                    let (l, r): ($affine, $affine) = (left.to_affine(), right.to_affine());
                    for operation in 0..3 {
                        let z = <$curve as Curve>::Field::random(&mut rng);
                        let mut acc = scaled(l.x(), l.y(), bool::from(l.is_identity()), z);
                        if operation != 2 && bool::from(!l.is_identity()) {
                            acc = Xyzz { x: acc.x.lazy(), y: acc.y.lazy(), ..acc };
                        }
                        // SAFETY: both pointers are to live values of the function's types.
                        unsafe { $function(&mut acc, &r, operation) };
                        let expected = if operation == 2 { left.double() } else { left + right };
                        let sum = <$curve>::to_projective(&acc);
                        assert_eq!(sum, expected, "operation {operation} of {l:?} and {r:?}");
                    }
                }
            }
        }
    };
}

check_curve!(g1_additions_are_complete, G1, G1Affine, G1Projective, prove_host_g1, 4);
check_curve!(g2_additions_are_complete, G2, G2Affine, G2Projective, prove_host_g2, 5);

#[test]
fn multiples_of_the_generators_are_those_of_blst() {
    let scalars = hostile_scalars(6);
    let g1 = generator::<msm::G1>(WINDOW_BITS).multiples();
    let g2 = generator::<msm::G2>(WINDOW_BITS).multiples();
    // Every thread has eight points; not all have all of them.
    for n in [0, 1, 7, 8, 9, scalars.len()] {
        let given = &scalars[..n];
        let (mut out_g1, mut out_g2) = (vec![[1; 96]; n], vec![[1; 192]; n]);
        // SAFETY: the tables are whole, and the others have `n` elements.
        unsafe {
            let (out, scalars) = (out_g1.as_mut_ptr().cast(), given.as_ptr());
            prove_host_multiples_g1(out, g1.as_ptr(), scalars, n as u32);
            prove_host_multiples_g2(out_g2.as_mut_ptr().cast(), g2.as_ptr(), scalars, n as u32);
        }
        for (i, scalar) in given.iter().enumerate() {
            let expected = (G1Projective::generator() * scalar).to_affine();
            assert!(out_g1[i] == expected.to_uncompressed(), "G1, {i} of {n}: {scalar:?}");
            let expected = (G2Projective::generator() * scalar).to_affine();
            assert!(out_g2[i] == expected.to_uncompressed(), "G2, {i} of {n}: {scalar:?}");
        }
    }
}
