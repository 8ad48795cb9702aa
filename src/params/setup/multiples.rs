//! Encoded multiples of the generators: what the setup asks of a device, and the CPU's answer.

use blstrs::{G1Affine, G2Affine, Scalar as Fr};
use ff::Field;

use super::SetupError;
use super::fixed_base::{self, FixedBase, window_bits};
use crate::msm::{G1, G2};
use crate::params::layout::{G1_BYTES, G2_BYTES, Query};
use crate::progress::Device;

/// Which generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// That of G1: 96 bytes a point.
    G1,
    /// That of G2: 192 bytes.
    G2,
}

impl Group {
    /// Bytes of an uncompressed point.
    pub const fn point_bytes(self) -> usize {
        match self {
            Self::G1 => G1_BYTES,
            Self::G2 => G2_BYTES,
        }
    }

    /// The group of a query's points.
    pub const fn of(query: Query) -> Self {
        match query {
            Query::BG2 => Self::G2,
            _ => Self::G1,
        }
    }
}

/// A device that multiplies the generators; any number of threads may use it at a time.
pub trait Multiples: Sync {
    /// What it is, for reports.
    fn device(&self) -> Device;
    /// How many scalars a [`Lane`] takes at a time.
    fn block(&self, group: Group) -> usize;
    /// The memory of one more thread.
    ///
    /// # Errors
    /// When there is none.
    fn lane(&self) -> Result<Box<dyn Lane + '_>, SetupError>;
}

/// One thread's access to a device.
pub trait Lane: Send {
    /// Where the next `count` scalars go.
    fn scalars(&mut self, count: usize) -> &mut [Fr];
    /// The encoded multiples by those scalars; zero gives encoded infinity.
    ///
    /// # Errors
    /// When the device fails.
    fn multiply(&mut self, group: Group) -> Result<&[u8], SetupError>;
}

/// Tables in host memory, used by all threads.
pub struct CpuMultiples {
    g1: Box<dyn FixedBase<Affine = G1Affine>>,
    g2: Box<dyn FixedBase<Affine = G2Affine>>,
}

impl CpuMultiples {
    /// Scalars that a lane takes at a time: files are written in pieces of 1.6 or 3.1 MB.
    const BLOCK: usize = 1 << 14;
    /// Bytes of a thread at most: scalars, the 16 entries of each, sums and encoded points in G2,
    /// and the scratch of an engine in either group.
    pub const LANE_BYTES: u64 = (Self::BLOCK * (32 + 16 * 4 + 256 + G2_BYTES) + (6 << 20)) as u64;

    /// Builds the tables for these numbers of multiples in G1 and in G2.
    pub fn new(counts: [u64; 2]) -> Self {
        let [g1, g2] = counts.map(window_bits);
        Self { g1: fixed_base::generator::<G1>(g1), g2: fixed_base::generator::<G2>(g2) }
    }

    /// Bytes of the tables.
    pub fn planned_bytes(counts: [u64; 2]) -> u64 {
        let [g1, g2] = counts.map(window_bits);
        fixed_base::planned_bytes::<G1>(g1) + fixed_base::planned_bytes::<G2>(g2)
    }
}

impl Multiples for CpuMultiples {
    fn device(&self) -> Device {
        Device::Cpu
    }

    fn block(&self, _: Group) -> usize {
        Self::BLOCK
    }

    fn lane(&self) -> Result<Box<dyn Lane + '_>, SetupError> {
        Ok(Box::new(CpuLane { tables: self, scalars: Vec::new(), bytes: Vec::new() }))
    }
}

struct CpuLane<'t> {
    tables: &'t CpuMultiples,
    scalars: Vec<Fr>,
    bytes: Vec<u8>,
}

impl Lane for CpuLane<'_> {
    fn scalars(&mut self, count: usize) -> &mut [Fr] {
        self.scalars.resize(count, Fr::ZERO);
        &mut self.scalars
    }

    fn multiply(&mut self, group: Group) -> Result<&[u8], SetupError> {
        let Self { tables, scalars, bytes } = self;
        bytes.resize(scalars.len() * group.point_bytes(), 0);
        match group {
            Group::G1 => tables.g1.encode(scalars, bytes),
            Group::G2 => tables.g2.encode(scalars, bytes),
        }
        Ok(bytes)
    }
}
