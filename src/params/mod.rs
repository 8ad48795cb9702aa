//! Groth16 parameter files: finding, checking, mapping and (insecurely) making them.
//!
//! In: a folder and a sector size. Out: [`mapped::Parameters`], whose verifying key and point
//! arrays have passed the cheap checks; or the errors of [`ParamsError`], each naming path,
//! offset, what was expected and what was found.
//!
//! ```text
//! v28-<identifier>.params     bellperson's format (layout)
//! v28-<identifier>.vk         the verifying key again, alone
//! v28-<identifier>.insecure   marker: someone knows the trapdoor (setup writes it)
//! v28-<identifier>.checked    what `params check` found, for this size, mtime and inode
//! ```

pub mod check;
mod error;
pub mod key;
pub mod layout;
pub mod list;
pub mod mapped;
mod output;
pub mod points;
pub mod setup;
pub mod vk;

use std::fmt;
use std::path::{Path, PathBuf};

use storage_proofs_core::parameter_cache::{PARAMETERS, parameter_id, verifying_key_id};

pub use self::error::{LengthClue, ParamsError, Part, PointFault, VkClue};
pub use self::key::Key;
pub use self::mapped::Parameters;
use crate::reference::parameter_identifier;
use crate::sector::SectorSize;

/// Where the network's tools keep parameter files unless told otherwise.
pub const DEFAULT_FOLDER: &str = "/var/tmp/filecoin-proof-parameters";

/// A folder of parameter files and what chose it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// The folder.
    pub path: PathBuf,
    /// Why this one.
    pub chosen_by: FolderChoice,
}

impl Folder {
    /// Checks that nothing but a folder has this path; a path that does not exist passes.
    ///
    /// # Errors
    /// When it is a file.
    pub fn check(&self) -> Result<(), ParamsError> {
        match std::fs::metadata(&self.path) {
            Ok(metadata) if !metadata.is_dir() => {
                let (path, chosen_by) = (self.path.clone(), self.chosen_by);
                Err(ParamsError::NotAFolder { path, chosen_by })
            }
            _ => Ok(()),
        }
    }
}

/// What chose the parameter folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderChoice {
    /// The flag `--params`.
    Flag,
    /// The variable `FIL_PROOFS_PARAMETER_CACHE`.
    Environment,
    /// Neither was given.
    Default,
}

impl fmt::Display for FolderChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag => "`--params`",
            Self::Environment => "`FIL_PROOFS_PARAMETER_CACHE`",
            Self::Default => "the default (neither `--params` nor `FIL_PROOFS_PARAMETER_CACHE`)",
        })
    }
}

/// The files of one sector size in one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterFiles {
    /// Verifying key and point arrays.
    pub params: PathBuf,
    /// The verifying key alone.
    pub vk: PathBuf,
    /// Present beside insecure parameters.
    pub marker: PathBuf,
    /// The remembered result of the full check.
    pub checked: PathBuf,
}

impl ParameterFiles {
    /// The files of `size` in `folder`, whether they exist or not.
    pub fn new(folder: &Path, size: SectorSize) -> Self {
        let identifier = identifier(size);
        let params = folder.join(parameter_id(&identifier));
        Self {
            vk: folder.join(verifying_key_id(&identifier)),
            marker: params.with_extension("insecure"),
            checked: params.with_extension("checked"),
            params,
        }
    }
}

/// BLAKE2b-512 digests (first 16 bytes, hex) of the files that the network uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductionDigests {
    /// Of the `.params` file.
    pub params: &'static str,
    /// Of the `.vk` file.
    pub vk: &'static str,
}

impl ProductionDigests {
    /// The digests for `size`, from the table that `storage-proofs-core` carries.
    pub fn of(size: SectorSize) -> Self {
        let identifier = identifier(size);
        let digest = |name: String| {
            let known = "the reference's table has the files of every registered size";
            PARAMETERS.get(&name).expect(known).digest.as_str()
        };
        Self {
            params: digest(parameter_id(&identifier)),
            vk: digest(verifying_key_id(&identifier)),
        }
    }
}

/// The name that the files of `size` share, without version and extension.
fn identifier(size: SectorSize) -> String {
    parameter_identifier(size).expect("the reference accepts every registered size")
}

/// The first 16 bytes of BLAKE2b-512 in hex: the digest that the network's tables use.
pub fn digest_of(hash: &blake2b_simd::Hash) -> String {
    hex::encode(&hash.as_bytes()[..16])
}

/// Who can have known the trapdoor of a set of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// The verifying key is the network's: made by its trusted setup.
    Production,
    /// Any other verifying key: proofs under it convince nobody.
    Insecure,
}

impl fmt::Display for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Production => "secure",
            Self::Insecure => "insecure",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_the_published_ones() {
        let published = [
            ("434fb1338ecfaf0f59256f30dde4968f", "dc1ade9929ade1708238f155343044ac"),
            ("09e612e4eeb7a0eb95679a88404f960c", "b687beb9adbd9dabe265a7e3620813e4"),
            ("6c77597eb91ab936c1cef4cf19eba1b3", "065179da19fbe515507267677f02823e"),
            ("6a388072a518cf46ebd661f5cc46900a", "0c7b4aac1c40fdb7eb82bc355b41addf"),
            ("1801f8a6e1b00bceb00cc27314bb5ce3", "a89884252c04c298d0b3c81bfd884164"),
        ];
        for (size, (params, vk)) in SectorSize::ALL.into_iter().zip(published) {
            assert_eq!(ProductionDigests::of(size), ProductionDigests { params, vk }, "{size}");
        }
    }

    #[test]
    fn names_share_the_identifier() {
        let files = ParameterFiles::new(Path::new("/some/folder"), SectorSize::KiB2);
        let stem = "/some/folder/v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-\
                    sha256_hasher-032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f";
        for (path, extension) in [
            (files.params, "params"),
            (files.vk, "vk"),
            (files.marker, "insecure"),
            (files.checked, "checked"),
        ] {
            assert_eq!(path, PathBuf::from(format!("{stem}.{extension}")));
        }
    }
}
