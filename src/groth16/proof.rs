//! The bytes of proofs: A (48), B (96) and C (48), compressed, partition after partition.

use bellperson::groth16;
use blstrs::{Bls12, G1Affine, G2Affine};
use group::prime::PrimeCurveAffine;
use thiserror::Error;

use crate::sector::{PROOF_BYTES, RegisteredProof};

/// The Groth16 proof of one partition.
pub type Proof = groth16::Proof<Bls12>;

const G1_BYTES: usize = 48;
const G2_BYTES: usize = 96;
const _: () = assert!(2 * G1_BYTES + G2_BYTES == PROOF_BYTES);

/// Bytes that are no proof, whatever they were meant to prove.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// Another length than the sector's partitions give.
    #[error("the proof is {got} bytes long, expected {expected} ({partitions} x 192 for {proof})")]
    Length {
        /// The right length.
        expected: usize,
        /// The length there is.
        got: usize,
        /// Partitions of the sector.
        partitions: usize,
        /// The sector's registered proof.
        proof: RegisteredProof,
    },
    /// An element is no point of the group.
    #[error("the proof of partition {partition} cannot be decoded: {element} is {fault}")]
    Element {
        /// The partition.
        partition: usize,
        /// `A`, `B` or `C`.
        element: char,
        /// What is wrong with it.
        fault: &'static str,
    },
}

/// The proofs of all partitions of a sector as bytes.
///
/// # Panics
/// When there is not one proof a partition: the orchestrator's invariant.
pub fn encode(proof: RegisteredProof, proofs: &[Proof]) -> Vec<u8> {
    assert_eq!(proofs.len(), proof.partitions(), "one proof a partition");
    let mut bytes = Vec::with_capacity(proof.proof_bytes());
    for Proof { a, b, c } in proofs {
        bytes.extend_from_slice(&a.to_compressed());
        bytes.extend_from_slice(&b.to_compressed());
        bytes.extend_from_slice(&c.to_compressed());
    }
    assert_eq!(bytes.len(), proof.proof_bytes(), "192 bytes a partition");
    bytes
}

/// The proofs of all partitions of a sector from their bytes. Every point is in its group and not
/// the identity.
///
/// # Errors
/// When the length is wrong or an element is no such point.
pub fn decode(proof: RegisteredProof, bytes: &[u8]) -> Result<Vec<Proof>, DecodeError> {
    if bytes.len() != proof.proof_bytes() {
        return Err(DecodeError::Length {
            expected: proof.proof_bytes(),
            got: bytes.len(),
            partitions: proof.partitions(),
            proof,
        });
    }
    let (chunks, _) = bytes.as_chunks::<PROOF_BYTES>();
    chunks.iter().enumerate().map(|(partition, chunk)| decode_one(partition, chunk)).collect()
}

fn decode_one(partition: usize, bytes: &[u8; PROOF_BYTES]) -> Result<Proof, DecodeError> {
    let fault = |element| move |fault| DecodeError::Element { partition, element, fault };
    let a = g1(&bytes[..G1_BYTES]).map_err(fault('A'))?;
    let b = g2(&bytes[G1_BYTES..][..G2_BYTES]).map_err(fault('B'))?;
    let c = g1(&bytes[G1_BYTES + G2_BYTES..]).map_err(fault('C'))?;
    Ok(Proof { a, b, c })
}

fn g1(bytes: &[u8]) -> Result<G1Affine, &'static str> {
    let bytes = bytes.first_chunk().expect("the caller slices 48 bytes");
    let point = Option::<G1Affine>::from(G1Affine::from_compressed(bytes));
    check(point, |point| point.is_identity().into())
}

fn g2(bytes: &[u8]) -> Result<G2Affine, &'static str> {
    let bytes = bytes.first_chunk().expect("the caller slices 96 bytes");
    let point = Option::<G2Affine>::from(G2Affine::from_compressed(bytes));
    check(point, |point| point.is_identity().into())
}

fn check<P>(point: Option<P>, is_identity: impl Fn(&P) -> bool) -> Result<P, &'static str> {
    let point = point.ok_or("not a compressed point of the group")?;
    if is_identity(&point) { Err("the point at infinity") } else { Ok(point) }
}

/// Proof bytes from what a file holds: as they are, or as hexadecimal text of the right length.
pub fn from_text(proof: RegisteredProof, content: &[u8]) -> Vec<u8> {
    let text = content.trim_ascii();
    if text.len() == 2 * proof.proof_bytes()
        && let Ok(bytes) = hex::decode(text)
    {
        return bytes;
    }
    content.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use blstrs::{G1Projective, G2Projective, Scalar};
    use ff::Field;
    use group::{Curve, Group};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn sector() -> RegisteredProof {
        "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep".parse().expect("a registered proof")
    }

    /// Arbitrary proofs of the 13 partitions.
    fn proofs() -> Vec<Proof> {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut scalar = || Scalar::random(&mut rng);
        (0..sector().partitions())
            .map(|_| Proof {
                a: (G1Projective::generator() * scalar()).to_affine(),
                b: (G2Projective::generator() * scalar()).to_affine(),
                c: (G1Projective::generator() * scalar()).to_affine(),
            })
            .collect()
    }

    #[test]
    fn bytes_are_bellpersons() {
        let bytes = encode(sector(), &proofs());
        assert_eq!(bytes.len(), 2496);
        let mut theirs = Vec::new();
        for proof in proofs() {
            proof.write(&mut theirs).expect("a vector takes all");
        }
        assert_eq!(bytes, theirs);
        assert!(decode(sector(), &bytes).expect("valid") == proofs());
    }

    #[test]
    fn hexadecimal_text_is_recognised_by_its_length() {
        let bytes = encode(sector(), &proofs());
        let text = format!("{}\n", hex::encode(&bytes));
        assert_eq!(from_text(sector(), text.as_bytes()), bytes);
        assert_eq!(from_text(sector(), &bytes), bytes);
    }

    #[test]
    fn faults_name_partition_and_element() {
        let good = encode(sector(), &proofs());
        let fault = |offset: usize, with: &[u8]| {
            let mut bytes = good.clone();
            bytes[offset..offset + with.len()].copy_from_slice(with);
            decode(sector(), &bytes).expect_err("a fault")
        };
        let mut infinity = [0; G2_BYTES];
        infinity[0] = 0xc0;
        for (offset, with, partition, element) in [
            (0, &[0x00][..], 0, 'A'),
            (192 * 3 + 48, &infinity[..], 3, 'B'),
            (192 * 12 + 144, &[0xff; 48][..], 12, 'C'),
            (192 * 12 + 144, &infinity[..48], 12, 'C'),
        ] {
            let error = fault(offset, with);
            let DecodeError::Element { partition: p, element: e, .. } = error else {
                panic!("{error}")
            };
            assert_eq!((p, e), (partition, element));
        }
        for length in [0, 191, 192, good.len() - 1] {
            let error = decode(sector(), &good[..length]).expect_err("too short");
            assert!(error.to_string().contains("expected 2496"), "{error}");
        }
        let too_long = [&good[..], &[0]].concat();
        assert!(matches!(decode(sector(), &too_long), Err(DecodeError::Length { .. })));
    }

    /// A point on the curve but outside the prime-order group must not pass.
    #[test]
    fn the_subgroup_is_checked() {
        let mut found = 0;
        for x in 1..100_u8 {
            let mut bytes = [0; G1_BYTES];
            bytes[0] = 0x80;
            bytes[G1_BYTES - 1] = x;
            if Option::<G1Affine>::from(G1Affine::from_compressed_unchecked(&bytes)).is_some() {
                found += 1;
                assert!(g1(&bytes).is_err(), "x = {x}");
            }
        }
        assert!(found > 20, "about half of all x are on the curve, got {found}");
    }
}
