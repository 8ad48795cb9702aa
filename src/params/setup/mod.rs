//! Insecure parameters for tests: Groth16's setup with a trapdoor that this process knows.
//!
//! ```text
//! h_i = tau^i t(tau) / delta,  a_i = A_i,  b_i = B_i (in G1 and in G2)
//! ic_i = (beta A_i + alpha B_i + C_i) / gamma (inputs),  l_i the same by delta (aux)
//! ```
//!
//! each times the generator; `A_i`, `B_i`, `C_i` stand for their values at tau, and zeros are left
//! out of `a` and `b`. The file is the one that bellperson 0.27's `generate_parameters` makes from
//! the same trapdoor and the standard generators, byte for byte.
//!
//! ```text
//! template ─ sections ──> column sums of one challenge ─ scalars ─┐
//! powers of tau (h) ──────────────────────────────────────────────┴─ writer ──> file
//!                                          multiples: fixed_base (CPU) or gpu ──┘
//! ```

pub mod columns;
pub mod consistency;
mod error;
pub mod fixed_base;
mod gpu;
mod lagrange;
mod multiples;
mod porep;
mod scalars;
mod sections;
pub mod trapdoor;
mod writer;

use std::io;
use std::path::Path;
use std::sync::Arc;

use blstrs::{G1Projective, G2Projective, Scalar as Fr};
use group::{Curve as _, Group as _};
use rayon::prelude::*;

use self::columns::{Columns, Dimensions};
pub use self::error::SetupError;
use self::gpu::GpuMultiples;
use self::multiples::{CpuMultiples, Multiples};
use self::scalars::{Combination, Powers};
use self::trapdoor::Trapdoor;
use self::writer::Writer;
use super::layout::{COUNT_BYTES, Counts, G1_BYTES, Layout, Query, VK_HEAD_BYTES};
use super::output::{self, PendingFile};
use super::{ParameterFiles, ProductionDigests};
use crate::gpu::Gpu;
use crate::progress::{Phase, Progress, Unit};
use crate::sector::SectorSize;
use crate::{sys, temporary};

/// Makes an insecure set for `size` in the folder `out`, which is made when it is missing; on
/// `gpu`, or else on the CPU.
///
/// The trapdoor comes from the operating system, or from `seed`: then the bytes are always the
/// same, whatever the device. Memory: [`memory_bytes`].
///
/// # Errors
/// As [`check_target`], and when a file cannot be written or the GPU fails; then none is left
/// behind.
pub fn insecure(
    size: SectorSize,
    out: &Path,
    seed: Option<u64>,
    gpu: Option<&Gpu>,
    progress: &dyn Progress,
) -> Result<ParameterFiles, SetupError> {
    check_target(size, out)?;
    std::fs::create_dir_all(out).map_err(io_error(out))?;
    let files = ParameterFiles::new(out, size);
    let trapdoor = seed.map_or_else(Trapdoor::random, Trapdoor::from_seed);
    let counts = Counts::of(size);
    let set = PendingSet::create(&files, counts)?;
    let multiples = progress.run(Phase::new("setup-tables"), 0, |_| {
        Ok::<Box<dyn Multiples>, SetupError>(match gpu {
            Some(gpu) => Box::new(GpuMultiples::new(gpu)?),
            None => Box::new(CpuMultiples::new(point_counts(&counts))),
        })
    })?;
    let mut writer = Writer::new(&set.params, Layout::new(counts), multiples.as_ref(), progress)?;
    let ic = porep::write(size, &trapdoor, &mut writer, progress)?;
    drop(writer);
    set.write_vk(&trapdoor, &ic)?;
    set.publish(&marker_text(size, seed))?;
    Ok(files)
}

/// Checks, without making anything, that a set for `size` can go to the folder `out`.
///
/// # Errors
/// When one of its files exists, `out` cannot be a folder, or its file system has no room.
pub fn check_target(size: SectorSize, out: &Path) -> Result<(), SetupError> {
    require_absent(&ParameterFiles::new(out, size))?;
    let there = out.ancestors().map(here).find(|path| path.exists());
    let folder = there.unwrap_or_else(|| here(Path::new("")));
    if !folder.is_dir() {
        return Err(io_error(folder)(io::ErrorKind::NotADirectory.into()));
    }
    require_room(folder, &Layout::of(size))
}

/// `path`, or the folder that an empty one stands for.
fn here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

fn require_absent(files: &ParameterFiles) -> Result<(), SetupError> {
    let mut paths = [&files.params, &files.vk, &files.marker].into_iter();
    paths
        .find(|path| path.exists())
        .map_or(Ok(()), |path| Err(SetupError::Exists { path: path.clone() }))
}

/// Peak host memory of [`insecure`] for `size`, on a GPU or on the CPU.
pub fn memory_bytes(size: SectorSize, on_gpu: bool) -> u64 {
    /// The process, the hashers' constants.
    const BASE_BYTES: u64 = 96 << 20;
    let (tables, lane) = if on_gpu {
        (GpuMultiples::TABLE_BYTES, GpuMultiples::LANE_BYTES)
    } else {
        let counts = point_counts(&Counts::of(size));
        (CpuMultiples::planned_bytes(counts), CpuMultiples::LANE_BYTES)
    };
    let lanes = rayon::current_num_threads() as u64 * lane;
    BASE_BYTES + tables + lanes + porep::planned_bytes(size)
}

/// Minutes that [`insecure`] takes on this many processors, roughly.
pub fn cpu_minutes(size: SectorSize) -> u64 {
    /// A point in G1 and in G2, both threads of a two-core Xeon at work (2026-11).
    const POINT_US: [u64; 2] = [6, 18];
    let us: u64 = point_counts(&Counts::of(size)).iter().zip(POINT_US).map(|(n, us)| n * us).sum();
    us.div_ceil(60_000_000 * rayon::current_num_threads() as u64)
}

/// Points in G1 and in G2.
fn point_counts(counts: &Counts) -> [u64; 2] {
    let b_g2 = u64::from(counts.query(Query::BG2));
    let all: u64 = counts.queries.iter().copied().map(u64::from).sum();
    [all - b_g2, b_g2]
}

/// Checks that the file system of `folder` has room for the parameters.
fn require_room(folder: &Path, layout: &Layout) -> Result<(), SetupError> {
    let needed_bytes = layout.bytes() + layout.vk_bytes();
    let free_bytes = sys::free_disk_bytes(folder).map_err(io_error(folder))?;
    if free_bytes < needed_bytes {
        return Err(SetupError::NoRoom { folder: folder.to_path_buf(), needed_bytes, free_bytes });
    }
    Ok(())
}

/// What the marker beside insecure parameters says.
fn marker_text(size: SectorSize, seed: Option<u64>) -> String {
    let origin = seed.map_or_else(
        || "a random trapdoor, not kept".to_owned(),
        |seed| format!("the trapdoor of seed {seed}, which anyone can draw again"),
    );
    format!(
        "INSECURE {size} parameters, made by `prove params setup --insecure` from {origin}.\n\
         Proofs made with them are for tests: no network accepts them.\n\
         The network's verifying key has the digest {}.\n\
         `prove` uses these files only while this one lies beside them.\n",
        ProductionDigests::of(size).vk,
    )
}

/// A set under temporary names; dropped, it is gone.
#[derive(Debug)]
pub struct PendingSet {
    /// Points in each array.
    pub counts: Counts,
    params: PendingFile,
    vk: PendingFile,
    marker: PendingFile,
}

impl PendingSet {
    /// Empty files beside `files`, none of which exists.
    fn create(files: &ParameterFiles, counts: Counts) -> Result<Self, SetupError> {
        require_absent(files)?;
        let [params, vk, marker] = [&files.params, &files.vk, &files.marker]
            .map(|path| PendingFile::create(path).map_err(io_error(path)));
        Ok(Self { counts, params: params?, vk: vk?, marker: marker? })
    }

    /// Writes the verifying key, alone and at the head of the parameters.
    fn write_vk(&self, trapdoor: &Trapdoor, ic: &[Fr]) -> Result<(), SetupError> {
        let head = encode_vk(trapdoor, ic);
        [&self.vk, &self.params]
            .iter()
            .try_for_each(|file| file.write_at(&head, 0).map_err(io_error(file.target())))
    }

    /// Syncs the files and gives them their names, the marker (saying `marker`) first, so that
    /// the parameters are never without it. A signal waits until all three have them.
    ///
    /// # Errors
    /// [`SetupError::Io`]; then none of the files stays.
    pub fn publish(self, marker: &str) -> Result<(), SetupError> {
        let Self { params, vk, marker: marker_file, .. } = self;
        marker_file.write_at(marker.as_bytes(), 0).map_err(io_error(marker_file.target()))?;
        let mut files = vec![marker_file, vk, params];
        output::sync(&mut files)
            .and_then(|()| temporary::deliver(|| output::rename(files)))
            .map_err(|(path, source)| SetupError::Io { path, source })
    }
}

/// Groth16's setup on the CPU for any circuit: `circuit` streams its rows into the columns and
/// answers the dimensions that it turned out to have.
///
/// # Errors
/// When a file exists or cannot be written, the circuit fails or is not of `dimensions`, or a
/// variable is unconstrained.
pub fn generate(
    dimensions: Dimensions,
    circuit: impl FnOnce(&mut Columns) -> Result<Dimensions, SetupError>,
    trapdoor: &Trapdoor,
    files: &ParameterFiles,
    progress: &dyn Progress,
) -> Result<PendingSet, SetupError> {
    let counts = Counts { inputs: dimensions.inputs as u32, queries: [0; 5] };
    let mut set = PendingSet::create(files, counts)?;
    let mut columns = Columns::new(dimensions, &trapdoor.tau).ok_or(SetupError::Tau)?;
    let got = circuit(&mut columns)?;
    if got != dimensions {
        return Err(SetupError::Dimensions { expected: dimensions, got });
    }
    let mut sums = columns.finish();
    let aux_sums = sums.split_off(dimensions.inputs);
    let inputs = Combination::of_inputs(trapdoor).scalars(sums, 0)?;
    let aux = Combination::of_aux(trapdoor).scalars(aux_sums, dimensions.inputs)?;

    let n = 1_u64 << dimensions.log_n();
    let firsts = [inputs.a.len(), inputs.b.len()];
    let narrow = |count: usize| u32::try_from(count).expect("the format counts in 32 bits");
    let [a, b] = [firsts[0] + aux.a.len(), firsts[1] + aux.b.len()].map(narrow);
    set.counts.queries = [(n - 1) as u32, narrow(aux.combined.len()), a, b, b];
    let multiples = CpuMultiples::new(point_counts(&set.counts));
    let mut writer = Writer::new(&set.params, Layout::new(set.counts), &multiples, progress)?;
    writer.run(phase_of("setup-points", &set.counts, &Query::ALL), |queue| {
        queue.powers(Powers::new(trapdoor, n), n - 1)?;
        queue.list(Query::L, 0, &Arc::new(aux.combined))?;
        for (query, first, list) in [(Query::A, 0, inputs.a), (Query::A, firsts[0], aux.a)] {
            queue.list(query, first, &Arc::new(list))?;
        }
        for (first, list) in [(0, inputs.b), (firsts[1], aux.b)] {
            queue.list_b(first, list)?;
        }
        Ok(())
    })?;
    drop(writer);
    set.write_vk(trapdoor, &inputs.combined)?;
    Ok(set)
}

/// The verifying key as both files begin.
fn encode_vk(trapdoor: &Trapdoor, ic: &[Fr]) -> Vec<u8> {
    let Trapdoor { alpha, beta, gamma, delta, .. } = trapdoor;
    let in_g1 = |scalar: &Fr| (G1Projective::generator() * scalar).to_affine().to_uncompressed();
    let in_g2 = |scalar: &Fr| (G2Projective::generator() * scalar).to_affine().to_uncompressed();
    let mut bytes = Vec::with_capacity(VK_HEAD_BYTES + COUNT_BYTES + ic.len() * G1_BYTES);
    bytes.extend_from_slice(&in_g1(alpha));
    bytes.extend_from_slice(&in_g1(beta));
    bytes.extend_from_slice(&in_g2(beta));
    bytes.extend_from_slice(&in_g2(gamma));
    bytes.extend_from_slice(&in_g1(delta));
    bytes.extend_from_slice(&in_g2(delta));
    bytes.extend_from_slice(&(ic.len() as u32).to_be_bytes());
    let points: Vec<_> = ic.par_iter().map(in_g1).collect();
    bytes.extend_from_slice(points.as_flattened());
    bytes
}

/// Wraps what the file system answered about `path`.
fn io_error(path: &Path) -> impl Fn(io::Error) -> SetupError + '_ {
    move |source| SetupError::Io { path: path.to_path_buf(), source }
}

/// A phase that counts points, and the bytes that these take.
fn phase_of(name: &'static str, counts: &Counts, queries: &[Query]) -> (Phase, u64) {
    let points = queries.iter().map(|&query| u64::from(counts.query(query)));
    let bytes = queries
        .iter()
        .map(|&query| u64::from(counts.query(query)) * query.point_bytes() as u64)
        .sum();
    (Phase::new(name).total(points.sum(), Unit::Items), bytes)
}

#[cfg(test)]
mod tests;
