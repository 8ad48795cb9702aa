//! The verifying key's bytes, as the `.vk` file has them and the `.params` file begins.

use std::path::Path;

use bellperson::groth16::VerifyingKey;
use blstrs::{Bls12, G1Affine, G2Affine};

use super::error::{ParamsError, Part};
use super::layout::{COUNT_BYTES, G1_BYTES, G2_BYTES};
use super::points::{Depth, decode_g1, decode_g2};

/// Decodes a key with `inputs` IC points, every point finite and in its subgroup.
///
/// # Errors
/// [`ParamsError::Count`] and [`ParamsError::Point`], naming `path` and the offset.
///
/// # Panics
/// When `bytes` has not the length of such a key.
pub fn decode(bytes: &[u8], inputs: u32, path: &Path) -> Result<VerifyingKey<Bls12>, ParamsError> {
    let mut reader = Reader { bytes, offset: 0, path };
    let alpha_g1 = reader.g1("alpha_g1", None)?;
    let beta_g1 = reader.g1("beta_g1", None)?;
    let beta_g2 = reader.g2("beta_g2")?;
    let gamma_g2 = reader.g2("gamma_g2")?;
    let delta_g1 = reader.g1("delta_g1", None)?;
    let delta_g2 = reader.g2("delta_g2")?;
    let offset = reader.offset as u64;
    let got = u32::from_be_bytes(*reader.take::<COUNT_BYTES>());
    if got != inputs {
        let path = path.to_path_buf();
        return Err(ParamsError::Count { path, array: "ic", offset, expected: inputs, got });
    }
    let ic = (0..inputs)
        .map(|index| reader.g1("ic", Some(index.into())))
        .collect::<Result<_, ParamsError>>()?;
    assert_eq!(reader.offset, bytes.len(), "the key's length was checked");
    Ok(VerifyingKey { alpha_g1, beta_g1, beta_g2, gamma_g2, delta_g1, delta_g2, ic })
}

/// Takes points from the front of a key and knows where it is.
struct Reader<'r> {
    bytes: &'r [u8],
    offset: usize,
    path: &'r Path,
}

impl<'r> Reader<'r> {
    fn take<const N: usize>(&mut self) -> &'r [u8; N] {
        let chunk = self.bytes[self.offset..].first_chunk();
        self.offset += N;
        chunk.expect("the key's length was checked")
    }

    fn g1(&mut self, name: &'static str, index: Option<u64>) -> Result<G1Affine, ParamsError> {
        let offset = self.offset as u64;
        decode_g1(self.take::<G1_BYTES>(), Depth::Subgroup)
            .map_err(|fault| self.fault(Part { name, index }, offset, fault))
    }

    fn g2(&mut self, name: &'static str) -> Result<G2Affine, ParamsError> {
        let offset = self.offset as u64;
        decode_g2(self.take::<G2_BYTES>(), Depth::Subgroup)
            .map_err(|fault| self.fault(Part { name, index: None }, offset, fault))
    }

    fn fault(&self, part: Part, offset: u64, fault: super::error::PointFault) -> ParamsError {
        ParamsError::Point { path: self.path.to_path_buf(), part, offset, fault }
    }
}
