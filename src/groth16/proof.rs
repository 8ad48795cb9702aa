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
    /// Text with another number of hexadecimal digits.
    #[error(
        "the proof is text of {got} hexadecimal digits, expected {expected} (or {} bytes)",
        expected / 2
    )]
    Digits {
        /// The right number, white space and `0x` not counted.
        expected: usize,
        /// The number there is.
        got: usize,
    },
    /// Text that is not hexadecimal.
    #[error(
        "the proof is text whose digit {position} is `{found}`, expected {expected} hexadecimal \
         digits (or {} bytes)",
        expected / 2
    )]
    Digit {
        /// The right number of digits.
        expected: usize,
        /// Which digit, from 1; white space and `0x` not counted.
        position: usize,
        /// What stands there.
        found: char,
    },
    /// More than any proof file holds; the rest was not read.
    #[error("the proof is more than {limit} bytes long, expected {expected} for {proof}")]
    TooLong {
        /// The right length.
        expected: usize,
        /// The most that is read.
        limit: usize,
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

/// Proof bytes from what a file holds: as they are, or as hexadecimal text with white space
/// anywhere and perhaps `0x` before it. No proof is text: its first byte has the highest bit set,
/// the flag of a compressed point.
///
/// # Errors
/// When text is not hexadecimal, or has another number of digits than the proof.
pub fn from_text(proof: RegisteredProof, content: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if content.is_empty() || !content.iter().all(is_text) {
        return Ok(content.to_vec());
    }
    let expected = 2 * proof.proof_bytes();
    let text: Vec<u8> =
        content.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(&text);
    if let Some(index) = digits.iter().position(|digit| !digit.is_ascii_hexdigit()) {
        let found = char::from(digits[index]);
        return Err(DecodeError::Digit { expected, position: index + 1, found });
    }
    if digits.len() != expected {
        return Err(DecodeError::Digits { expected, got: digits.len() });
    }
    Ok(hex::decode(digits).expect("an even number of hexadecimal digits"))
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
    fn hexadecimal_text_may_be_wrapped_and_prefixed() {
        let bytes = encode(sector(), &proofs());
        let digits = hex::encode(&bytes);
        let wrapped = digits.as_bytes().chunks(63).map(|line| [line, b"\r\n"].concat());
        let wrapped = String::from_utf8(wrapped.collect::<Vec<_>>().concat()).expect("ASCII");
        for text in [
            digits.clone(),
            format!("{digits}\n"),
            format!("0x{digits}"),
            format!(" 0X{}\n", digits.to_uppercase()),
            format!("0x{wrapped}"),
            wrapped,
        ] {
            assert_eq!(from_text(sector(), text.as_bytes()).expect("good"), bytes, "{text:.80}");
        }
        assert_eq!(from_text(sector(), &bytes).expect("bytes"), bytes);
        assert_eq!(from_text(sector(), &bytes[1..]).expect("too few bytes"), bytes[1..]);
        assert!(from_text(sector(), &[]).expect("no bytes").is_empty());
    }

    #[test]
    fn wrong_text_tells_the_digit_or_their_number() {
        let expected = 2 * 2496;
        let digits = "a5".repeat(2496);
        let told = |text: &str| from_text(sector(), text.as_bytes()).expect_err("not hexadecimal");
        for got in [expected - 1, expected - 2] {
            assert_eq!(told(&digits[..got]), DecodeError::Digits { expected, got });
        }
        let long = format!("0x{digits}\nab\n");
        assert_eq!(told(&long), DecodeError::Digits { expected, got: expected + 2 });
        let bad = format!("0x{}\n{}g{}", &digits[..64], &digits[64..99], &digits[100..]);
        let error = told(&bad);
        assert_eq!(error, DecodeError::Digit { expected, position: 100, found: 'g' });
        let message = error.to_string();
        assert!(message.contains("digit 100") && message.contains("4992 hexadecimal"), "{message}");
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
