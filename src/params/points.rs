//! Strict decoding of uncompressed points, with a reason when it fails.
//!
//! Stricter than bellperson's reader, which takes a compressed point in the first half of an
//! uncompressed one's bytes.

use blstrs::{G1Affine, G2Affine};

use super::error::PointFault;
use super::layout::{G1_BYTES, G2_BYTES};

/// The flag bits of an encoded point's first byte: compressed, infinity, sign.
const FLAGS: u8 = 0b1110_0000;
/// The flag of infinity.
const INFINITY: u8 = 0b0100_0000;

/// What a decoded point has been checked for, beside being finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Canonical coordinates on the curve: a fraction of a microsecond.
    Curve,
    /// Also in the prime-order subgroup: some tens of microseconds.
    Subgroup,
}

/// Decodes a finite G1 point.
///
/// # Errors
/// The first fault found.
pub fn decode_g1(bytes: &[u8; G1_BYTES], depth: Depth) -> Result<G1Affine, PointFault> {
    check_flags(bytes)?;
    let point = Option::<G1Affine>::from(G1Affine::from_uncompressed_unchecked(bytes))
        .filter(|point| point.is_on_curve().into())
        .ok_or(PointFault::NotOnCurve)?;
    if depth == Depth::Subgroup && !bool::from(point.is_torsion_free()) {
        return Err(PointFault::NotInSubgroup);
    }
    Ok(point)
}

/// Decodes a finite G2 point.
///
/// # Errors
/// The first fault found.
pub fn decode_g2(bytes: &[u8; G2_BYTES], depth: Depth) -> Result<G2Affine, PointFault> {
    check_flags(bytes)?;
    let point = Option::<G2Affine>::from(G2Affine::from_uncompressed_unchecked(bytes))
        .filter(|point| point.is_on_curve().into())
        .ok_or(PointFault::NotOnCurve)?;
    if depth == Depth::Subgroup && !bool::from(point.is_torsion_free()) {
        return Err(PointFault::NotInSubgroup);
    }
    Ok(point)
}

/// Decodes the point of either group that `bytes` (96 or 192) hold, for its faults alone.
///
/// # Errors
/// The first fault found.
///
/// # Panics
/// When `bytes` is of another length.
pub fn check(bytes: &[u8], depth: Depth) -> Result<(), PointFault> {
    match (bytes.try_into(), bytes.try_into()) {
        (Ok(g1), _) => decode_g1(g1, depth).map(|_| ()),
        (_, Ok(g2)) => decode_g2(g2, depth).map(|_| ()),
        _ => panic!("a point has {G1_BYTES} or {G2_BYTES} bytes, not {}", bytes.len()),
    }
}

/// An uncompressed finite point has none of the flags.
fn check_flags(bytes: &[u8]) -> Result<(), PointFault> {
    match bytes[0] & FLAGS {
        0 => Ok(()),
        INFINITY => Err(PointFault::Infinity),
        _ => Err(PointFault::Flags),
    }
}

#[cfg(test)]
mod tests {
    use blstrs::{Fp, G1Projective, G2Projective, Scalar};
    use ff::Field;
    use group::prime::PrimeCurveAffine;
    use group::{Curve, Group};

    use super::*;

    fn g1(scalar: u64) -> G1Affine {
        (G1Projective::generator() * Scalar::from(scalar)).to_affine()
    }

    #[test]
    fn good_points_decode_to_themselves() {
        let point = g1(5);
        assert_eq!(decode_g1(&point.to_uncompressed(), Depth::Subgroup), Ok(point));
        let point = (G2Projective::generator() * Scalar::from(6)).to_affine();
        assert_eq!(decode_g2(&point.to_uncompressed(), Depth::Subgroup), Ok(point));
    }

    #[test]
    fn every_fault_is_named() {
        let good = g1(5).to_uncompressed();
        let decode = |bytes: &[u8]| check(bytes, Depth::Curve).expect_err("a bad point");
        assert_eq!(decode(&G1Affine::identity().to_uncompressed()), PointFault::Infinity);
        assert_eq!(decode(&G2Affine::identity().to_uncompressed()), PointFault::Infinity);
        let mut compressed = good;
        compressed[..48].copy_from_slice(&g1(5).to_compressed());
        assert_eq!(decode(&compressed), PointFault::Flags);
        let mut moved = good;
        moved[95] ^= 1;
        assert_eq!(decode(&moved), PointFault::NotOnCurve);
        let mut not_canonical = [0x1f; G1_BYTES];
        not_canonical[48..].copy_from_slice(&good[48..]);
        assert_eq!(decode(&not_canonical), PointFault::NotOnCurve);
        assert_eq!(decode(&[0; G1_BYTES]), PointFault::NotOnCurve);
        assert_eq!(decode(&[0; G2_BYTES]), PointFault::NotOnCurve);
    }

    #[test]
    fn a_point_outside_the_subgroup_is_found_by_the_deep_check_alone() {
        // y^2 = x^3 + 4; almost no point of the curve is in the subgroup.
        let point = (1_u64..)
            .find_map(|x| {
                let x = Fp::from(x);
                let y = Option::from((x.square() * x + Fp::from(4)).sqrt())?;
                Some(G1Affine::from_raw_unchecked(x, y, false))
            })
            .expect("every second x has a point");
        let bytes = point.to_uncompressed();
        assert_eq!(check(&bytes, Depth::Curve), Ok(()));
        assert_eq!(check(&bytes, Depth::Subgroup), Err(PointFault::NotInSubgroup));
    }
}
