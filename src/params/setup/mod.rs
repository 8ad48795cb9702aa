//! Insecure parameters for tests: Groth16's setup with a trapdoor that this process knows.
//!
//! ```text
//! h_i = tau^i t(tau) / delta,  a_i = A_i,  b_i = B_i (in G1 and in G2)
//! ic_i = (beta A_i + alpha B_i + C_i) / gamma (inputs),  l_i the same by delta (aux)
//! ```
//!
//! each times the generator; `A_i`, `B_i`, `C_i` stand for their values at tau, and zeros are left
//! out of `a` and `b`. The file is the one that bellperson 0.27's `generate_parameters` makes from
//! the same trapdoor and the standard generators, byte for byte. It is written as a stream: `h`
//! needs nothing of the circuit and is made while the rows stream in.

pub mod affine;
pub mod columns;
pub mod fixed_base;
pub mod trapdoor;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use blstrs::{G1Projective, G2Projective, Scalar as Fr};
use ff::Field;
use group::{Curve as _, Group};
use rayon::prelude::*;

use self::affine::{Curve, G1, G2};
use self::columns::{Columns, Dimensions, RowStream, Sums};
use self::fixed_base::{BATCH, Scratch, Table, window_bits};
use self::trapdoor::Trapdoor;
use super::layout::{COUNT_BYTES, Counts, Layout, Query, VK_HEAD_BYTES};
use super::output::{self, PendingFile};
use super::{ParameterFiles, ProductionDigests};
use crate::progress::{Phase, Progress, Unit};
use crate::reference::synthesize_blank;
use crate::sector::SectorSize;
use crate::temporary;

/// Why no parameters were made; nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A file of that name is there; it might be worth more than the new one.
    #[error(
        "`{}` exists already\nhint: remove it, or choose another folder with `--out`",
        path.display()
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file system refused.
    #[error("cannot write `{}`", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it answered.
        #[source]
        source: io::Error,
    },
    /// The circuit's source failed.
    #[error("cannot synthesize the circuit")]
    Circuit {
        /// What it answered.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The circuit is not the one announced.
    #[error("expected a circuit of {expected:?}, got {got:?}")]
    Dimensions {
        /// What was announced.
        expected: Dimensions,
        /// What came.
        got: Dimensions,
    },
    /// A variable that occurs in no constraint: its `ic` or `l` point would be infinity.
    #[error("variable {variable} is in no constraint (inputs are counted first)")]
    Unconstrained {
        /// Its number, inputs first.
        variable: usize,
    },
    /// The circuit's queries have other lengths than the sector size's file.
    #[error("expected point counts {expected:?}, got {got:?}")]
    Counts {
        /// Those of the file.
        expected: Counts,
        /// Those of the circuit.
        got: Counts,
    },
    /// tau is a root of unity; one trapdoor in 2^228.
    #[error("tau lies in the evaluation domain\nhint: choose another seed")]
    Tau,
}

/// Makes an insecure set for `size` in the folder `out`, which is made when it is missing.
///
/// The trapdoor comes from the operating system, or from `seed`: then the bytes are always the
/// same. Memory: [`memory_bytes`].
///
/// # Errors
/// When one of the files exists, or cannot be written.
pub fn insecure(
    size: SectorSize,
    out: &Path,
    seed: Option<u64>,
    progress: &dyn Progress,
) -> Result<ParameterFiles, SetupError> {
    std::fs::create_dir_all(out).map_err(io_error(out))?;
    let files = ParameterFiles::new(out, size);
    let trapdoor = seed.map_or_else(Trapdoor::random, Trapdoor::from_seed);
    let dimensions = Dimensions::of(size);
    let circuit = |columns: &mut Columns| {
        let mut system = RowStream::new(columns);
        synthesize_blank(size, &mut system)
            .map_err(|error| SetupError::Circuit { source: error.into() })?;
        Ok(system.dimensions())
    };
    let set = generate(dimensions, circuit, &trapdoor, &files, progress)?;
    let expected = Counts::of(size);
    if set.counts != expected {
        return Err(SetupError::Counts { expected, got: set.counts });
    }
    set.publish(&marker_text(size, seed))?;
    Ok(files)
}

/// Peak host memory of [`insecure`] for `size`: the tables, beside the Lagrange values and the
/// column sums while the rows stream in. Later the copy of `l` takes the place of the former.
pub fn memory_bytes(size: SectorSize) -> u64 {
    /// The process, the hashers' constants, what the circuit holds at a time.
    const BASE_BYTES: u64 = 128 << 20;
    /// A batch in either group: [`Scratch`], scalars and encoded points.
    const THREAD_BYTES: u64 = 1 << 20;
    let dimensions = Dimensions::of(size);
    let tables = Tables::planned_bytes(dimensions) as u64;
    let columns = Columns::planned_bytes(dimensions) as u64;
    tables + columns + rayon::current_num_threads() as u64 * THREAD_BYTES + BASE_BYTES
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

/// A complete set under temporary names; dropped, it is gone.
#[derive(Debug)]
pub struct PendingSet {
    /// Points in each array.
    pub counts: Counts,
    params: PendingFile,
    vk: PendingFile,
    marker: PendingFile,
}

impl PendingSet {
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

/// Groth16's setup for any circuit: `circuit` streams its rows into the columns and answers the
/// dimensions that it turned out to have.
///
/// # Errors
/// When a file exists or cannot be written, the circuit fails or is not of `dimensions`, or a
/// variable is unconstrained.
pub fn generate(
    dimensions: Dimensions,
    circuit: impl FnOnce(&mut Columns) -> Result<Dimensions, SetupError> + Send,
    trapdoor: &Trapdoor,
    files: &ParameterFiles,
    progress: &dyn Progress,
) -> Result<PendingSet, SetupError> {
    let [params, vk, marker] = [&files.params, &files.vk, &files.marker].map(|path| {
        if path.exists() {
            return Err(SetupError::Exists { path: path.clone() });
        }
        PendingFile::create(path).map_err(io_error(path))
    });
    let (params, vk, marker) = (params?, vk?, marker?);
    let n = 1 << dimensions.log_n();
    let tables = progress.run(Phase::new("setup-tables"), 0, |_| Tables::new(dimensions));
    let mut columns = Columns::new(dimensions, &trapdoor.tau).ok_or(SetupError::Tau)?;
    let mut counts = Counts { inputs: dimensions.inputs as u32, queries: [n - 1, 0, 0, 0, 0] };
    let (sums, h) = rayon::join(
        || {
            let got = progress.run(Phase::new("setup-rows"), 0, |_| circuit(&mut columns))?;
            if got != dimensions {
                return Err(SetupError::Dimensions { expected: dimensions, got });
            }
            Ok(columns.finish())
        },
        || {
            let start = Layout::new(counts).query(Query::H).start;
            let section = Section { file: &params, start, name: "setup-h", progress };
            section.write(&tables.g1, n as usize - 1, h_scalars(trapdoor, n))
        },
    );
    h?;
    let scalars = Scalars::new(sums?, dimensions.inputs, trapdoor)?;
    counts.queries[1..].copy_from_slice(&scalars.counts());
    let head = encode_vk(trapdoor, &tables.g1, &scalars.ic);
    for file in [&vk, &params] {
        file.write_at(&head, 0).map_err(io_error(file.target()))?;
    }
    write_queries(&params, &Layout::new(counts), &scalars, &tables, progress)?;
    Ok(PendingSet { counts, params, vk, marker })
}

/// The generators' multiples.
struct Tables {
    g1: Table<G1>,
    g2: Table<G2>,
}

impl Tables {
    fn new(dimensions: Dimensions) -> Self {
        let (g1, g2) = Self::window_bits(dimensions);
        Self { g1: Table::of_generator(g1), g2: Table::of_generator(g2) }
    }

    /// Bytes of both tables.
    fn planned_bytes(dimensions: Dimensions) -> usize {
        let (g1, g2) = Self::window_bits(dimensions);
        Table::<G1>::planned_bytes(g1) + Table::<G2>::planned_bytes(g2)
    }

    /// The windows that suit about as many points as the circuit has, in G1 and in G2.
    fn window_bits(dimensions: Dimensions) -> (usize, usize) {
        let n = 1_usize << dimensions.log_n();
        (window_bits(n + 2 * dimensions.aux), window_bits(dimensions.aux / 4))
    }
}

/// Writes all counts, and the points of every query but `h`.
fn write_queries(
    file: &PendingFile,
    layout: &Layout,
    scalars: &Scalars,
    tables: &Tables,
    progress: &dyn Progress,
) -> Result<(), SetupError> {
    for query in Query::ALL {
        let count = layout.counts().query(query).to_be_bytes();
        file.write_at(&count, layout.count_offset(query)).map_err(io_error(file.target()))?;
    }
    let Scalars { l, a, b, .. } = scalars;
    for (query, name, values) in [
        (Query::L, "setup-l", l),
        (Query::A, "setup-a", a),
        (Query::BG1, "setup-b_g1", b),
        (Query::BG2, "setup-b_g2", b),
    ] {
        let section = Section { file, start: layout.query(query).start, name, progress };
        let copy = |range: Range<usize>, batch: &mut Vec<Fr>| {
            batch.extend_from_slice(&values[range]);
        };
        match query {
            Query::BG2 => section.write(&tables.g2, values.len(), copy)?,
            _ => section.write(&tables.g1, values.len(), copy)?,
        }
    }
    Ok(())
}

/// The scalars of `h`: appends tau^i t(tau) / delta for i in a range to a batch.
fn h_scalars(trapdoor: &Trapdoor, n: u32) -> impl Fn(Range<usize>, &mut Vec<Fr>) + Sync {
    let tau = trapdoor.tau;
    let z = tau.pow_vartime([u64::from(n)]) - Fr::ONE;
    let scale = z * invert(&trapdoor.delta);
    move |range, batch| {
        let first = tau.pow_vartime([range.start as u64]) * scale;
        let powers = std::iter::successors(Some(first), |power| Some(*power * tau));
        batch.extend(powers.take(range.len()));
    }
}

/// The inverse of a part of the trapdoor.
fn invert(value: &Fr) -> Fr {
    Option::from(value.invert()).expect("no part of a trapdoor is zero")
}

/// The scalars of every array but `h`, zeros left out where the file leaves them out.
struct Scalars {
    ic: Vec<Fr>,
    l: Vec<Fr>,
    a: Vec<Fr>,
    b: Vec<Fr>,
}

impl Scalars {
    fn new(sums: Sums, inputs: usize, trapdoor: &Trapdoor) -> Result<Self, SetupError> {
        let Trapdoor { alpha, beta, gamma, delta, .. } = trapdoor;
        let Sums { mut a, mut b, c: mut combined } = sums;
        let (by_gamma, by_delta) = (invert(gamma), invert(delta));
        combined.par_iter_mut().zip(&a).zip(&b).enumerate().for_each(|(index, ((sum, a), b))| {
            let scale = if index < inputs { by_gamma } else { by_delta };
            *sum = (*beta * a + *alpha * b + *sum) * scale;
        });
        if let Some(variable) = combined.iter().position(|sum| *sum == Fr::ZERO) {
            return Err(SetupError::Unconstrained { variable });
        }
        let l = combined.split_off(inputs);
        for sums in [&mut a, &mut b] {
            sums.retain(|sum| *sum != Fr::ZERO);
        }
        Ok(Self { ic: combined, l, a, b })
    }

    /// Lengths of `l`, `a`, `b_g1`, `b_g2`.
    fn counts(&self) -> [u32; 4] {
        [&self.l, &self.a, &self.b, &self.b].map(|scalars| {
            u32::try_from(scalars.len()).expect("the format counts points in 32 bits")
        })
    }
}

/// The verifying key as both files begin.
fn encode_vk(trapdoor: &Trapdoor, g1: &Table<G1>, ic: &[Fr]) -> Vec<u8> {
    let Trapdoor { alpha, beta, gamma, delta, .. } = trapdoor;
    let in_g1 = |scalar: &Fr| (G1Projective::generator() * scalar).to_affine().to_uncompressed();
    let in_g2 = |scalar: &Fr| (G2Projective::generator() * scalar).to_affine().to_uncompressed();
    let mut bytes = Vec::with_capacity(VK_HEAD_BYTES + COUNT_BYTES + ic.len() * G1::BYTES);
    bytes.extend_from_slice(&in_g1(alpha));
    bytes.extend_from_slice(&in_g1(beta));
    bytes.extend_from_slice(&in_g2(beta));
    bytes.extend_from_slice(&in_g2(gamma));
    bytes.extend_from_slice(&in_g1(delta));
    bytes.extend_from_slice(&in_g2(delta));
    bytes.extend_from_slice(&(ic.len() as u32).to_be_bytes());
    let mut scratch = Scratch::default();
    for batch in ic.chunks(BATCH) {
        append_points(g1, batch, &mut scratch, &mut bytes);
    }
    bytes
}

/// Appends the encoded multiples `scalars[i] G` to `bytes`.
fn append_points<C: Curve>(
    table: &Table<C>,
    scalars: &[Fr],
    scratch: &mut Scratch<C>,
    bytes: &mut Vec<u8>,
) {
    let start = bytes.len();
    bytes.resize(start + scalars.len() * C::BYTES, 0);
    let encoded = bytes[start..].chunks_exact_mut(C::BYTES);
    for (point, out) in table.multiply(scalars, scratch).iter().zip(encoded) {
        C::encode(point, out);
    }
}

/// One array of the file being written.
struct Section<'s> {
    file: &'s PendingFile,
    start: u64,
    name: &'static str,
    progress: &'s dyn Progress,
}

impl Section<'_> {
    /// Multiplies the generator by `count` scalars and writes the points, batch by batch, on all
    /// threads. `scalars` appends those of a range to an empty batch.
    fn write<C: Curve>(
        &self,
        table: &Table<C>,
        count: usize,
        scalars: impl Fn(Range<usize>, &mut Vec<Fr>) + Sync,
    ) -> Result<(), SetupError> {
        let phase = Phase::new(self.name).total(count as u64, Unit::Items);
        self.progress.run(phase, (count * C::BYTES) as u64, |id| {
            (0..count.div_ceil(BATCH)).into_par_iter().try_for_each_init(
                || (Scratch::default(), Vec::with_capacity(BATCH), Vec::new()),
                |(scratch, batch, bytes), index| {
                    let range = index * BATCH..count.min((index + 1) * BATCH);
                    let offset = self.start + (range.start * C::BYTES) as u64;
                    batch.clear();
                    bytes.clear();
                    scalars(range, batch);
                    append_points(table, batch, scratch, bytes);
                    self.progress.advance(id, batch.len() as u64);
                    self.file.write_at(bytes, offset).map_err(io_error(self.file.target()))
                },
            )
        })
    }
}

/// Wraps what the file system answered about `path`.
fn io_error(path: &Path) -> impl Fn(io::Error) -> SetupError + '_ {
    move |source| SetupError::Io { path: path.to_path_buf(), source }
}

#[cfg(test)]
mod tests;
