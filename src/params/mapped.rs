#![expect(unsafe_code, reason = "mapping a file, and what the kernel holds of it")]
//! A parameter file, mapped: checked cheaply when it is opened, never read whole.
//!
//! **The file must not change while it is mapped.** Bytes that change under a map give wrong
//! points (found when the proof is verified); a file that is cut short raises SIGBUS, which
//! [`crate::stop`] turns into an error. Nothing in `prove` writes to a parameter file that exists.
//!
//! Checked by [`Parameters::open`], in milliseconds: both files' lengths; the `.vk` file's points,
//! every one in its subgroup; the counts of all arrays against the circuit; the key at the head of
//! `.params` against the `.vk`; eight points of every array; the digest of the `.vk` against
//! production's, or else the marker of test parameters.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bellperson::groth16::VerifyingKey;
use blake2b_simd::blake2b;
use blstrs::Bls12;
use memmap2::{Mmap, UncheckedAdvice};

use super::error::{LengthClue, ParamsError, Part, VkClue};
use super::layout::{COUNT_BYTES, Counts, Layout, Query, VK_HEAD_BYTES};
use super::points::{self, Depth};
use super::{Folder, FolderChoice, ParameterFiles, ProductionDigests, Security, digest_of, vk};
use crate::sector::SectorSize;

/// Points of each array that are decoded when a file is opened: the ends and six between.
const SAMPLES: u64 = 8;
/// Bytes that one `mincore` call asks about.
const RESIDENCY_STEP: usize = 4 << 20;
/// Every how many steps one is asked about at most: all of 47 GB took 0.4 s of a start.
const RESIDENCY_STRIDE_MAX: usize = 16;

/// Mapped parameters of one circuit.
pub struct Parameters {
    files: ParameterFiles,
    production: Option<ProductionDigests>,
    security: Security,
    layout: Layout,
    map: Mmap,
    metadata: Metadata,
    vk: VerifyingKey<Bls12>,
}

/// Whose parameters are wanted.
#[derive(Clone, Copy)]
enum Wanted {
    /// A sector size's, in a folder that something chose.
    Sector(SectorSize, FolderChoice),
    /// Those of a circuit that no network uses.
    Circuit(Counts),
}

impl Wanted {
    fn counts(self) -> Counts {
        match self {
            Self::Sector(size, _) => Counts::of(size),
            Self::Circuit(counts) => counts,
        }
    }

    fn production(self) -> Option<ProductionDigests> {
        match self {
            Self::Sector(size, _) => Some(ProductionDigests::of(size)),
            Self::Circuit(_) => None,
        }
    }
}

impl Parameters {
    /// Opens and checks the parameters of `size` in `folder`.
    ///
    /// # Errors
    /// Any fault that the cheap checks find.
    pub fn open(folder: &Folder, size: SectorSize) -> Result<Self, ParamsError> {
        folder.check()?;
        let files = ParameterFiles::new(&folder.path, size);
        Self::open_wanted(files, Wanted::Sector(size, folder.chosen_by))
    }

    /// Opens and checks parameters of a circuit with `counts`: insecure ones, so marked.
    ///
    /// # Errors
    /// Any fault that the cheap checks find.
    pub fn open_circuit(files: ParameterFiles, counts: Counts) -> Result<Self, ParamsError> {
        Self::open_wanted(files, Wanted::Circuit(counts))
    }

    fn open_wanted(files: ParameterFiles, wanted: Wanted) -> Result<Self, ParamsError> {
        let layout = Layout::new(wanted.counts());
        let production = wanted.production();
        let digest = |file: fn(&ProductionDigests) -> &'static str| production.as_ref().map(file);
        let missing = |path: &Path, bytes, digest: Option<&'static str>| match (wanted, digest) {
            (Wanted::Sector(size, chosen_by), Some(digest)) => {
                ParamsError::Missing { path: path.into(), size, chosen_by, bytes, digest }
            }
            _ => read_error(path)(io::ErrorKind::NotFound.into()),
        };
        let open = |path: &Path, bytes, digest| {
            open_file(path, bytes, path == files.params).map_err(|error| {
                if not_found(&error) { missing(path, bytes, digest) } else { error }
            })
        };
        let (params, metadata) = open(&files.params, layout.bytes(), digest(|of| of.params))?;
        let (mut vk_file, _) = open(&files.vk, layout.vk_bytes(), digest(|of| of.vk))?;
        let mut vk_bytes = vec![0; layout.vk_bytes() as usize];
        vk_file.read_exact(&mut vk_bytes).map_err(read_error(&files.vk))?;
        let vk = vk::decode(&vk_bytes, layout.counts().inputs, &files.vk)?;
        // SAFETY: the map is read-only and shared; that the file keeps its bytes and length while
        // it is mapped is this module's stated requirement on whoever runs the process.
        let map = unsafe { Mmap::map(&params) }.map_err(read_error(&files.params))?;
        if map.len() as u64 != layout.bytes() {
            // Changed since its length was looked at.
            return Err(read_error(&files.params)(io::ErrorKind::UnexpectedEof.into()));
        }
        check_counts(&map, &layout, &files.params)?;
        let vk_digest = digest_of(&blake2b(&vk_bytes));
        check_vk(&map, &vk_bytes, &vk_digest, &files)?;
        check_samples(&map, &layout, &files.params)?;
        let security = security(production, vk_digest, &files)?;
        Ok(Self { files, production, security, layout, map, metadata, vk })
    }

    /// The verifying key.
    pub const fn vk(&self) -> &VerifyingKey<Bls12> {
        &self.vk
    }

    /// The points of `query` as they stand in the file: uncompressed, big-endian.
    pub fn query(&self, query: Query) -> &[u8] {
        let range = self.layout.query(query);
        &self.map[range.start as usize..range.end as usize]
    }

    /// Takes the pages of `query` out of the process; the kernel's cache keeps them, and a later
    /// read maps them again. Else the exit does it, one thread for 0.2 s at 32 GiB.
    pub fn unmap_query(&self, query: Query) {
        let range = self.layout.query(query);
        let (start, bytes) = (range.start as usize, (range.end - range.start) as usize);
        // SAFETY: the map is shared and read-only, so a page that is read again has the file's
        // bytes, as before. A refusal leaves the pages where they are, for the exit to unmap.
        let _ = unsafe { self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, bytes) };
    }

    /// The whole file.
    pub fn file(&self) -> &[u8] {
        &self.map
    }

    /// Where everything is in it.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Path of the `.params` file.
    pub fn path(&self) -> &Path {
        &self.files.params
    }

    /// Paths of the file and its companions.
    pub const fn files(&self) -> &ParameterFiles {
        &self.files
    }

    /// Length, times and inode of the file as it was opened.
    pub const fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Digests of the network's files for this sector size; none for circuits of tests.
    pub const fn production(&self) -> Option<&ProductionDigests> {
        self.production.as_ref()
    }

    /// Whether the verifying key is the network's.
    pub const fn security(&self) -> Security {
        self.security
    }

    /// Which part of the file is in memory: 0 (cold) to 1 (warm); of one of many GiB by an even
    /// sample of a sixteenth.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn warm_fraction(&self) -> io::Result<f64> {
        // SAFETY: sysconf only reads a constant of the system.
        let page_bytes = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) })
            .ok()
            .filter(|&bytes| bytes > 0)
            .ok_or_else(io::Error::last_os_error)?;
        let mut pages = vec![0_u8; RESIDENCY_STEP.div_ceil(page_bytes)];
        let (mut warm, mut total) = (0, 0);
        let stride = (self.map.len() >> 30).clamp(1, RESIDENCY_STRIDE_MAX);
        for part in self.map.chunks(RESIDENCY_STEP).step_by(stride) {
            let count = part.len().div_ceil(page_bytes);
            // SAFETY: `part` lies in the live map and starts at a multiple of the page size (the
            // step is one), and `pages` has a byte for each of its `count` pages.
            let status = unsafe {
                libc::mincore(part.as_ptr().cast_mut().cast(), part.len(), pages.as_mut_ptr())
            };
            if status != 0 {
                return Err(io::Error::last_os_error());
            }
            warm += pages[..count].iter().filter(|&&page| page & 1 == 1).count();
            total += count;
        }
        Ok(warm as f64 / total as f64)
    }
}

/// Wraps what the system answered about `path`.
pub(super) fn read_error(path: &Path) -> impl Fn(io::Error) -> ParamsError + '_ {
    move |source| ParamsError::Read { path: path.to_path_buf(), source }
}

pub(super) fn not_found(error: &ParamsError) -> bool {
    matches!(error, ParamsError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

/// Opens a regular file of exactly `expected` bytes; `.params` files of other sizes are recognised
/// by their length.
pub(super) fn open_file(
    path: &Path,
    expected: u64,
    is_params: bool,
) -> Result<(File, Metadata), ParamsError> {
    let error = read_error(path);
    // Before opening: opening a FIFO would wait for its writer.
    if !fs::metadata(path).map_err(&error)?.is_file() {
        return Err(ParamsError::NotAFile { path: path.to_path_buf() });
    }
    let mut file = File::open(path).map_err(&error)?;
    let metadata = file.metadata().map_err(&error)?;
    let got = metadata.len();
    if got == expected {
        return Ok((file, metadata));
    }
    let mut first = [0];
    let is_text = file.read(&mut first).map_err(&error)? == 1 && first[0] == b'<';
    let other = SectorSize::ALL
        .into_iter()
        .find(|&size| is_params && Layout::of(size).bytes() == got)
        .map(LengthClue::OtherSize);
    let clue = match got {
        0 => LengthClue::Empty,
        _ if is_text => LengthClue::WebPage,
        _ if got < expected => other.unwrap_or(LengthClue::CutOff),
        _ => other.unwrap_or(LengthClue::Trailing),
    };
    Err(ParamsError::Length { path: path.to_path_buf(), expected, got, clue })
}

/// Compares every count in the file with the circuit's, in file order.
fn check_counts(file: &[u8], layout: &Layout, path: &Path) -> Result<(), ParamsError> {
    let inputs = ("ic", VK_HEAD_BYTES as u64, layout.counts().inputs);
    let queries = Query::ALL
        .map(|query| (query.name(), layout.count_offset(query), layout.counts().query(query)));
    for (array, offset, expected) in std::iter::once(inputs).chain(queries) {
        let field = file[offset as usize..].first_chunk::<COUNT_BYTES>();
        let got = u32::from_be_bytes(*field.expect("the file has the layout's length"));
        if got != expected {
            let path = path.to_path_buf();
            return Err(ParamsError::Count { path, array, offset, expected, got });
        }
    }
    Ok(())
}

/// Compares the `.vk` file with the head of the `.params` file.
fn check_vk(
    file: &[u8],
    vk_bytes: &[u8],
    digest: &str,
    files: &ParameterFiles,
) -> Result<(), ParamsError> {
    match file.iter().zip(vk_bytes).position(|(left, right)| left != right) {
        None => Ok(()),
        Some(offset) => Err(ParamsError::VkMismatch {
            vk: files.vk.clone(),
            params: files.params.clone(),
            offset,
            clue: VkClue::find(digest),
        }),
    }
}

/// Decodes some points of every array, spread evenly.
fn check_samples(file: &[u8], layout: &Layout, path: &Path) -> Result<(), ParamsError> {
    for query in Query::ALL {
        let count = u64::from(layout.counts().query(query));
        let bytes = query.point_bytes();
        for sample in 0..SAMPLES.min(count) {
            let index = sample * (count - 1) / (SAMPLES.min(count) - 1).max(1);
            let offset = layout.query(query).start + index * bytes as u64;
            let point = &file[offset as usize..offset as usize + bytes];
            points::check(point, Depth::Subgroup).map_err(|fault| ParamsError::Point {
                path: path.to_path_buf(),
                part: Part { name: query.name(), index: Some(index) },
                offset,
                fault,
            })?;
        }
    }
    Ok(())
}

/// Production when the key's digest says so; otherwise the marker must be there.
pub(super) fn security(
    production: Option<ProductionDigests>,
    digest: String,
    files: &ParameterFiles,
) -> Result<Security, ParamsError> {
    let expected = production.map_or("none (no network has this circuit)", |digests| digests.vk);
    if digest == expected {
        return Ok(Security::Production);
    }
    if files.marker.is_file() {
        return Ok(Security::Insecure);
    }
    let (vk, marker): (PathBuf, PathBuf) = (files.vk.clone(), files.marker.clone());
    Err(ParamsError::Unmarked { vk, expected, got: digest, marker })
}
