//! The verifying key alone: all that `prove verify` needs, without the arrays of points.

use std::io::Read;
use std::path::PathBuf;

use bellperson::groth16::VerifyingKey;
use blake2b_simd::blake2b;
use blstrs::Bls12;

use super::layout::Layout;
use super::mapped::{not_found, open_file, read_error, security};
use super::{Folder, ParameterFiles, ParamsError, ProductionDigests, Security, digest_of, vk};
use crate::sector::SectorSize;

/// The verifying key of a sector size's circuit.
#[derive(Debug)]
pub struct Key {
    path: PathBuf,
    vk: VerifyingKey<Bls12>,
    security: Security,
}

impl Key {
    /// Opens the `.vk` file of `size` in `folder`; every point is checked, and its digest against
    /// the network's, or else the marker of test parameters must lie beside it.
    ///
    /// # Errors
    /// When the file is missing, damaged, another circuit's, or insecure without the marker.
    pub fn open(folder: &Folder, size: SectorSize) -> Result<Self, ParamsError> {
        folder.check()?;
        let files = ParameterFiles::new(&folder.path, size);
        let digests = ProductionDigests::of(size);
        let layout = Layout::of(size);
        let (file, _) = open_file(&files.vk, layout.vk_bytes(), false).map_err(|error| {
            if !not_found(&error) {
                return error;
            }
            ParamsError::Missing {
                path: files.vk.clone(),
                size,
                chosen_by: folder.chosen_by,
                bytes: layout.vk_bytes(),
                digest: digests.vk,
            }
        })?;
        let mut bytes = Vec::new();
        let length = layout.vk_bytes();
        file.take(length).read_to_end(&mut bytes).map_err(read_error(&files.vk))?;
        let vk = vk::decode(&bytes, layout.counts().inputs, &files.vk)?;
        let security = security(Some(digests), digest_of(&blake2b(&bytes)), &files)?;
        Ok(Self { path: files.vk, vk, security })
    }

    /// The key.
    pub const fn vk(&self) -> &VerifyingKey<Bls12> {
        &self.vk
    }

    /// Path of the `.vk` file.
    pub const fn path(&self) -> &PathBuf {
        &self.path
    }

    /// Whether the key is the network's.
    pub const fn security(&self) -> Security {
        self.security
    }
}
