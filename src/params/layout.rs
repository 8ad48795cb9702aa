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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_files_have_these_lengths() {
        // 32 GiB: `ls -l` of the network's file; the others follow from the counts of `sector.rs`.
        assert_eq!(Layout::of(SectorSize::GiB32).bytes(), 47_373_928_632);
        for size in SectorSize::ALL {
            let layout = Layout::of(size);
            let numbers = size.circuit();
            let inputs = size.inputs() as u64;
            let g1 = (1 << numbers.log_n) - 1
                + numbers.aux
                + inputs * 2
                + numbers.a_aux_dense
                + 1
                + numbers.b_aux_dense
                + 3;
            let g2 = 1 + numbers.b_aux_dense + 3;
            assert_eq!(layout.bytes(), g1 * 96 + g2 * 192 + 6 * 4, "{size}");
            assert_eq!(layout.vk_bytes(), 868 + inputs * 96, "{size}");
            let ends = Query::ALL.map(|query| layout.query(query).end);
            let starts = Query::ALL.map(|query| layout.query(query).start);
            assert_eq!(starts[0], layout.vk_bytes() + 4);
            assert!(ends.iter().zip(&starts[1..]).all(|(end, start)| end + 4 == *start));
            assert_eq!(ends[4], layout.bytes());
        }
    }

    #[test]
    fn the_largest_counts_do_not_overflow() {
        let layout = Layout::new(Counts { inputs: u32::MAX, queries: [u32::MAX; 5] });
        assert_eq!(layout.bytes(), 864 + 4 + 20 + u64::from(u32::MAX) * (5 * 96 + 192));
    }
}
