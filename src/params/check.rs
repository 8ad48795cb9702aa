//! The full check: every point decoded, and the digest of the whole file; remembered beside it.
//!
//! Every point of every array must be finite, canonical and on its curve. The prime-order
//! subgroup is checked only where opening the file does (the verifying key and samples): it would
//! take hours at 32 GiB, and a production file's digest says more.
//!
//! One pass over the file: a block is hashed by one thread while the others decode it.
//! The result is kept in the `.checked` file, and counts as long as the parameter file's size,
//! modification time and inode stay what they were.

use std::fs::{self, Metadata};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use blake2b_simd::State;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::error::{ParamsError, Part};
use super::layout::Query;
use super::mapped::Parameters;
use super::output::{PendingFile, commit};
use super::points::{self, Depth};
use super::{ParameterFiles, ProductionDigests, Security, digest_of};
use crate::progress::{Phase, Progress, Unit};

/// Points hashed and decoded at a time: 25 MB in G1.
const BLOCK_POINTS: u64 = 1 << 18;
/// Points that one task decodes.
const TASK_POINTS: usize = 1 << 10;
/// Version of the remembered form and of what is checked.
const SCHEMA: u32 = 1;

/// What the full check found for one state of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checked {
    schema: u32,
    bytes: u64,
    modified_s: i64,
    modified_ns: i64,
    inode: u64,
    /// BLAKE2b-512 of the `.params` file, first 16 bytes, hex.
    pub digest: String,
}

impl Checked {
    fn new(metadata: &Metadata, digest: String) -> Self {
        Self {
            schema: SCHEMA,
            bytes: metadata.len(),
            modified_s: metadata.mtime(),
            modified_ns: metadata.mtime_nsec(),
            inode: metadata.ino(),
            digest,
        }
    }
}

/// The remembered result for the file in its present state, if there is one.
pub fn remembered(files: &ParameterFiles) -> Option<Checked> {
    let metadata = fs::metadata(&files.params).ok()?;
    let text = fs::read(&files.checked).ok()?;
    let found: Checked = serde_json::from_slice(&text).ok()?;
    let now = Checked::new(&metadata, found.digest.clone());
    (found == now).then_some(found)
}

/// Checks every point and the digest, and remembers the result; a folder that cannot be written
/// to gets a note instead.
///
/// # Errors
/// [`ParamsError::Point`] for the first bad point of an array; [`ParamsError::Digest`] when the
/// file is not the network's, but its verifying key is.
pub fn check(parameters: &Parameters, progress: &dyn Progress) -> Result<Checked, ParamsError> {
    let bytes = parameters.layout().bytes();
    let phase = Phase::new("params-check").total(bytes, Unit::Bytes);
    let digest = progress.run(phase, bytes, |id| {
        let mut hash = State::new();
        let mut hashed = 0;
        for block in blocks(parameters) {
            let Block { query, first, range } = block;
            let file = parameters.file();
            let gap = &file[hashed..range.start];
            let points = &file[range.clone()];
            let ((), decoded) = rayon::join(
                || {
                    hash.update(gap).update(points);
                },
                || decode_all(points, query, first, range.start, parameters.path()),
            );
            decoded?;
            progress.advance(id, (range.end - hashed) as u64);
            hashed = range.end;
        }
        assert_eq!(hashed as u64, bytes, "the last array ends the file");
        Ok(digest_of(&hash.finalize()))
    })?;
    require_own_digest(parameters, &digest)?;
    let checked = Checked::new(parameters.metadata(), digest);
    if let Err(reason) = remember(&checked, &parameters.files().checked) {
        progress.note(&format!("the result of the check is not remembered: {reason}"));
    }
    Ok(checked)
}

/// What `FIL_PROOFS_VERIFY_PRODUCTION_PARAMS=1` asks for: production parameters, with the network's
/// digest, checked now unless that is remembered.
///
/// # Errors
/// [`ParamsError::NotProduction`] for test parameters, and those of [`check`].
pub fn require_production(
    parameters: &Parameters,
    progress: &dyn Progress,
) -> Result<Checked, ParamsError> {
    if parameters.security() != Security::Production {
        return Err(ParamsError::NotProduction { path: parameters.path().to_path_buf() });
    }
    match remembered(parameters.files()) {
        Some(checked) => {
            require_own_digest(parameters, &checked.digest)?;
            Ok(checked)
        }
        None => check(parameters, progress),
    }
}

/// [`require_digest`] for open parameters.
fn require_own_digest(parameters: &Parameters, got: &str) -> Result<(), ParamsError> {
    require_digest(parameters.path(), parameters.security(), parameters.production(), got)
}

/// Compares a digest with the network's, for parameters that claim to be the network's.
fn require_digest(
    path: &Path,
    security: Security,
    production: Option<&ProductionDigests>,
    got: &str,
) -> Result<(), ParamsError> {
    match (security, production) {
        (Security::Production, Some(digests)) if digests.params != got => {
            let (path, expected) = (path.to_path_buf(), digests.params);
            Err(ParamsError::Digest { path, expected, got: got.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Some whole points of one array.
struct Block {
    query: Query,
    /// Index of the first point.
    first: u64,
    /// Their bytes in the file.
    range: Range<usize>,
}

/// All arrays in file order, cut into blocks.
fn blocks(parameters: &Parameters) -> impl Iterator<Item = Block> {
    let layout = *parameters.layout();
    Query::ALL.into_iter().flat_map(move |query| {
        let count = u64::from(layout.counts().query(query));
        let offset = move |index: u64| {
            (layout.query(query).start + index * query.point_bytes() as u64) as usize
        };
        // An empty array still has its count hashed, so it has one empty block.
        (0..count.div_ceil(BLOCK_POINTS).max(1)).map(move |block| {
            let first = block * BLOCK_POINTS;
            let end = count.min(first + BLOCK_POINTS);
            Block { query, first, range: offset(first)..offset(end) }
        })
    })
}

/// Decodes `points` of `query` on all threads; the error is the first bad one's.
fn decode_all(
    points: &[u8],
    query: Query,
    first: u64,
    offset: usize,
    path: &Path,
) -> Result<(), ParamsError> {
    let bytes = query.point_bytes();
    let bad =
        points.par_chunks(TASK_POINTS * bytes).enumerate().find_map_first(|(task, points)| {
            points.chunks_exact(bytes).enumerate().find_map(|(index, point)| {
                let index = task * TASK_POINTS + index;
                points::check(point, Depth::Curve).err().map(|fault| (index, fault))
            })
        });
    match bad {
        None => Ok(()),
        Some((index, fault)) => Err(ParamsError::Point {
            path: path.to_path_buf(),
            part: Part { name: query.name(), index: Some(first + index as u64) },
            offset: (offset + index * bytes) as u64,
            fault,
        }),
    }
}

/// Writes the result beside the file.
fn remember(checked: &Checked, path: &Path) -> Result<(), String> {
    let text = serde_json::to_vec_pretty(checked).map_err(|error| error.to_string())?;
    let pending = PendingFile::create(path)
        .and_then(|file| file.write_at(&text, 0).map(|()| file))
        .map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
    commit(vec![pending])
        .map_err(|(path, error)| format!("cannot write `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_production_parameters_need_the_networks_digest() {
        let path = Path::new("file.params");
        let production = ProductionDigests { params: "right", vk: "key" };
        let check = |security, got| require_digest(path, security, Some(&production), got);
        check(Security::Production, "right").expect("the network's file");
        check(Security::Insecure, "wrong").expect("test parameters");
        let error = check(Security::Production, "wrong").expect_err("a damaged file");
        assert!(error.to_string().starts_with("digest of `file.params` is wrong, expected right"));
    }
}
