//! What a parameter folder holds, for `params list` and `info`.

use std::fs;
use std::path::Path;

use super::check::remembered;
use super::layout::Layout;
use super::mapped::Parameters;
use super::{Folder, ParameterFiles, ParamsError, ProductionDigests, Security};
use crate::sector::SectorSize;

/// The files of one sector size, as they are.
#[derive(Debug)]
pub struct Listing {
    /// The sector size.
    pub size: SectorSize,
    /// Where the files are, or would be.
    pub files: ParameterFiles,
    /// Digests of the network's files.
    pub production: ProductionDigests,
    /// The `.params` file's length.
    pub params: Length,
    /// The `.vk` file's length.
    pub vk: Length,
    /// Whether the marker of test parameters is there.
    pub marked: bool,
    /// What the full check remembers.
    pub digest: DigestState,
    /// What the cheap checks say; `None` when both files are missing.
    pub opened: Option<Result<Security, ParamsError>>,
}

/// A file's length beside the one that its circuit asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// Bytes found; `None` when there is no file.
    pub got: Option<u64>,
    /// Bytes of the circuit's file.
    pub expected: u64,
}

/// What is known of a `.params` file's digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DigestState {
    /// The full check has not seen the file in its present state.
    NotChecked,
    /// It is the network's.
    Production,
    /// It is this other one.
    Other(String),
}

impl Length {
    fn of(path: &Path, expected: u64) -> Self {
        let got = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|data| data.len());
        Self { got, expected }
    }
}

/// Looks at every sector size's files in `folder`; opens those that exist.
pub fn list(folder: &Folder) -> Vec<Listing> {
    SectorSize::ALL.into_iter().map(|size| list_size(folder, size)).collect()
}

/// Looks at the files of `size` in `folder`.
pub fn list_size(folder: &Folder, size: SectorSize) -> Listing {
    let files = ParameterFiles::new(&folder.path, size);
    let production = ProductionDigests::of(size);
    let layout = Layout::of(size);
    let digest = match remembered(&files) {
        None => DigestState::NotChecked,
        Some(checked) if checked.digest == production.params => DigestState::Production,
        Some(checked) => DigestState::Other(checked.digest),
    };
    // Not the lengths: a folder under a file's name is there, and a fault.
    let present = files.params.exists() || files.vk.exists();
    let opened = present.then(|| Parameters::open(folder, size).map(|opened| opened.security()));
    Listing {
        size,
        production,
        params: Length::of(&files.params, layout.bytes()),
        vk: Length::of(&files.vk, layout.vk_bytes()),
        marked: files.marker.is_file(),
        digest,
        opened,
        files,
    }
}
