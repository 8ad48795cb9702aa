//! The two curves as the kernels see them.

use blstrs::{Fp, Fp2, G1Affine, G1Projective, G2Affine, G2Projective};
use ff::Field;
use group::Group;

use super::DeviceData;
use super::kernels::Kernel;

/// A point (X, Y, ZZ, ZZZ): x = X / ZZ, y = Y / ZZZ, ZZ^3 = ZZZ^2; the identity has ZZ = 0.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Xyzz<F> {
    /// X
    pub x: F,
    /// Y
    pub y: F,
    /// ZZ
    pub zz: F,
    /// ZZZ
    pub zzz: F,
}

impl<F: Field> Xyzz<F> {
    /// Jacobian coordinates (X ZZ^2, Y ZZZ^2, ZZZ): with Z = ZZZ, Z^2 = ZZ^3 and so X ZZ^2 / Z^2 =
    /// X / ZZ, Y ZZZ^2 / Z^3 = Y / ZZZ.
    fn jacobian(&self) -> (F, F, F) {
        (self.x * self.zz.square(), self.y * self.zzz.square(), self.zzz)
    }
}

/// G1 or G2: types and kernels.
pub trait Curve: Copy {
    /// The coordinates' field.
    type Field: DeviceData + Field;
    /// Points as the kernels read them.
    type Affine: DeviceData + Send + Sync;
    /// Points as the host adds them.
    type Projective: Group<Scalar = blstrs::Scalar>;
    /// `points_decode_*`
    const DECODE: Kernel;
    /// `fixed_base_encode_*`
    const FIXED_BASE: Kernel;
    /// `msm_accumulate_*`
    const ACCUMULATE: Kernel;
    /// `msm_fold_carries_*`
    const FOLD_CARRIES: Kernel;
    /// `msm_reduce_*`
    const REDUCE: Kernel;
    /// `msm_canonical_*`
    const CANONICAL: Kernel;
    /// The host's form of a sum.
    fn to_projective(sum: &Xyzz<Self::Field>) -> Self::Projective;
}

/// The curve over Fp.
#[derive(Clone, Copy, Debug)]
pub struct G1;

/// The twist over Fp2.
#[derive(Clone, Copy, Debug)]
pub struct G2;

impl Curve for G1 {
    type Field = Fp;
    type Affine = G1Affine;
    type Projective = G1Projective;
    const DECODE: Kernel = Kernel::PointsDecodeG1;
    const FIXED_BASE: Kernel = Kernel::FixedBaseEncodeG1;
    const ACCUMULATE: Kernel = Kernel::MsmAccumulateG1;
    const FOLD_CARRIES: Kernel = Kernel::MsmFoldCarriesG1;
    const REDUCE: Kernel = Kernel::MsmReduceG1;
    const CANONICAL: Kernel = Kernel::MsmCanonicalG1;

    fn to_projective(sum: &Xyzz<Fp>) -> G1Projective {
        let (x, y, z) = sum.jacobian();
        G1Projective::from_raw_unchecked(x, y, z)
    }
}

impl Curve for G2 {
    type Field = Fp2;
    type Affine = G2Affine;
    type Projective = G2Projective;
    const DECODE: Kernel = Kernel::PointsDecodeG2;
    const FIXED_BASE: Kernel = Kernel::FixedBaseEncodeG2;
    const ACCUMULATE: Kernel = Kernel::MsmAccumulateG2;
    const FOLD_CARRIES: Kernel = Kernel::MsmFoldCarriesG2;
    const REDUCE: Kernel = Kernel::MsmReduceG2;
    const CANONICAL: Kernel = Kernel::MsmCanonicalG2;

    fn to_projective(sum: &Xyzz<Fp2>) -> G2Projective {
        let (x, y, z) = sum.jacobian();
        G2Projective::from_raw_unchecked(x, y, z)
    }
}
