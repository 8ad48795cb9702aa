//! Where things are in a `.params` file: bellperson's format, big-endian throughout.
//!
//! ```text
//! vk   alpha_g1 96, beta_g1 96, beta_g2 192, gamma_g2 192, delta_g1 96, delta_g2 192,
//!      u32 count of inputs, IC points of 96
//! then h, l, a, b_g1 (points of 96) and b_g2 (192), each behind its u32 count
//! ```
//!
//! A [`Layout`] follows from the counts alone ([`Layout::new`]), so a file's head is compared
//! with what the circuit needs before anything else is believed. Source: bellperson 0.27
//! `groth16/params.rs`, `verifying_key.rs`.

use std::fmt;
use std::ops::Range;

use crate::sector::SectorSize;

/// Bytes of an uncompressed G1 point.
pub const G1_BYTES: usize = 96;
/// Bytes of an uncompressed G2 point.
pub const G2_BYTES: usize = 192;
/// Bytes of a count.
pub const COUNT_BYTES: usize = 4;
/// Bytes of the verifying key before the count of inputs: three G1 and three G2 points.
pub const VK_HEAD_BYTES: usize = 3 * G1_BYTES + 3 * G2_BYTES;

/// One of the five arrays of points, in file order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Query {
    /// tau^i t(tau) / delta, i below domain - 1.
    H,
    /// (beta A_i + alpha B_i + C_i) / delta for every aux variable.
    L,
    /// A_i(tau): all inputs, then the aux variables where it is not zero.
    A,
    /// B_i(tau) in G1: input 0, then the aux variables where it is not zero.
    BG1,
    /// The same in G2.
    BG2,
}

impl Query {
    /// All five, in file order.
    pub const ALL: [Self; 5] = [Self::H, Self::L, Self::A, Self::BG1, Self::BG2];

    /// The field's usual name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::H => "h",
            Self::L => "l",
            Self::A => "a",
            Self::BG1 => "b_g1",
            Self::BG2 => "b_g2",
        }
    }

    /// Bytes of one point.
    pub const fn point_bytes(self) -> usize {
        match self {
            Self::BG2 => G2_BYTES,
            _ => G1_BYTES,
        }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How many points the verifying key's IC and each query have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// IC points: the public inputs, ONE included.
    pub inputs: u32,
    /// Points of each query, in the order of [`Query::ALL`].
    pub queries: [u32; 5],
}

impl Counts {
    /// The counts of a sector size's circuit.
    pub fn of(size: SectorSize) -> Self {
        let circuit = size.circuit();
        let inputs = size.inputs() as u32;
        let narrow = |count: u64| u32::try_from(count).expect("the circuits have under 2^32 rows");
        let b = narrow(1 + circuit.b_aux_dense);
        Self {
            inputs,
            queries: [
                narrow((1 << circuit.log_n) - 1),
                narrow(circuit.aux),
                inputs + narrow(circuit.a_aux_dense),
                b,
                b,
            ],
        }
    }

    /// Points of `query`.
    pub const fn query(&self, query: Query) -> u32 {
        self.queries[query as usize]
    }
}

/// Byte offsets in a `.params` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    counts: Counts,
    /// Offset of each query's first point.
    starts: [u64; 5],
    bytes: u64,
}

/// A head that cannot be a parameter file's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// The file ends before a count or array does.
    #[error("the file ends at byte {bytes}, before the {part} at offset {offset} is complete")]
    Short {
        /// What is cut off.
        part: &'static str,
        /// Where it starts.
        offset: u64,
        /// The file's length.
        bytes: u64,
    },
    /// Something follows the last array.
    #[error("the arrays end at byte {expected}, expected the file to end there too, got {bytes}")]
    Long {
        /// Where the last array ends.
        expected: u64,
        /// The file's length.
        bytes: u64,
    },
}

impl Layout {
    /// The layout of a file with these counts; no counts overflow (5 x 2^32 x 192 < 2^64).
    pub fn new(counts: Counts) -> Self {
        let mut offset = vk_bytes(counts.inputs);
        let starts = Query::ALL.map(|query| {
            let start = offset + COUNT_BYTES as u64;
            offset = start + u64::from(counts.query(query)) * query.point_bytes() as u64;
            start
        });
        Self { counts, starts, bytes: offset }
    }

    /// The layout of a sector size's file.
    pub fn of(size: SectorSize) -> Self {
        Self::new(Counts::of(size))
    }

    /// Reads the layout that the counts in `file` claim; allocates nothing.
    ///
    /// # Errors
    /// When the arrays do not end exactly where `file` does.
    pub fn read(file: &[u8]) -> Result<Self, LayoutError> {
        let bytes = file.len() as u64;
        let count = |part, offset: u64| {
            let field = usize::try_from(offset)
                .ok()
                .and_then(|offset| file.get(offset..)?.first_chunk::<COUNT_BYTES>());
            field.map(|field| u32::from_be_bytes(*field)).ok_or(LayoutError::Short {
                part,
                offset,
                bytes,
            })
        };
        let inputs = count("count of inputs", VK_HEAD_BYTES as u64)?;
        let mut counts = Counts { inputs, queries: [0; 5] };
        for query in Query::ALL {
            let start = Self::new(counts).starts[query as usize];
            counts.queries[query as usize] = count(query.name(), start - COUNT_BYTES as u64)?;
        }
        let layout = Self::new(counts);
        if layout.bytes > bytes {
            let query = Query::BG2;
            return Err(LayoutError::Short {
                part: query.name(),
                offset: layout.starts[query as usize],
                bytes,
            });
        }
        if layout.bytes < bytes {
            return Err(LayoutError::Long { expected: layout.bytes, bytes });
        }
        Ok(layout)
    }

    /// The counts that the layout was made from.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Length of the whole file.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Length of the verifying key: at the head of the file, and the `.vk` file whole.
    pub fn vk_bytes(&self) -> u64 {
        vk_bytes(self.counts.inputs)
    }

    /// Offset of the count before `query`.
    pub const fn count_offset(&self, query: Query) -> u64 {
        self.starts[query as usize] - COUNT_BYTES as u64
    }

    /// Byte range of the points of `query`.
    pub const fn query(&self, query: Query) -> Range<u64> {
        let start = self.starts[query as usize];
        start..start + self.counts.query(query) as u64 * query.point_bytes() as u64
    }
}

/// Length of a verifying key with `inputs` IC points.
fn vk_bytes(inputs: u32) -> u64 {
    (VK_HEAD_BYTES + COUNT_BYTES) as u64 + u64::from(inputs) * G1_BYTES as u64
}
