//! Which bit of an assignment meets which base of a query, on the device.
//!
//! In: a query's map of the prologue and one challenge ([`QueryMap`]). Out: the table that bit sums
//! look bases up in: 4 bytes a base of one challenge (29 MB for L at 32 GiB, where a table of the
//! partition would take 0.5 GB); challenge k is the same moved by constants.

use super::kernels::{BitPlaces, NO_BIT};
use super::{DeviceBuffer, Gpu, GpuError};
use crate::r1cs::{QueryMap, QueryPart};
use crate::witness::Layout;

/// Which bit of an assignment each base of a query meets, if any.
pub struct QueryBits<'g> {
    table: DeviceBuffer<'g, u32>,
    /// Bases before the first challenge's.
    head: usize,
    /// Bases of a challenge.
    period: usize,
    /// Place of the first challenge's first bit, and how far the next challenge's is.
    bit_start: usize,
    bit_stride: usize,
    bases: usize,
    /// Bits of an assignment.
    bits: usize,
}

impl<'g> QueryBits<'g> {
    /// The bits that meet the bases of `map`, for assignments of `layout`.
    ///
    /// # Errors
    /// When device memory is short.
    ///
    /// # Panics
    /// When the two belong to different sector sizes.
    pub fn new(gpu: &'g Gpu, map: &QueryMap, layout: &Layout) -> Result<Self, GpuError> {
        assert_eq!(map.challenges, layout.challenges, "map and layout of one size");
        Ok(Self {
            table: DeviceBuffer::from_host(gpu, &table(map))?,
            head: map.challenge_base(0),
            period: map.challenge.bases as usize,
            bit_start: 64 * layout.word_base(0),
            bit_stride: 64 * layout.challenge.words(),
            bases: map.bases(),
            bits: 64 * layout.words(),
        })
    }

    /// Base i meets bit `table[i]` of assignments of `bits` bits; [`QueryBits::NONE`] is no bit.
    ///
    /// # Errors
    /// When device memory is short.
    ///
    /// # Panics
    /// When an entry is neither a bit nor [`QueryBits::NONE`].
    pub fn of_table(gpu: &'g Gpu, table: &[u32], bits: usize) -> Result<Self, GpuError> {
        let inside = |&bit: &u32| bit == NO_BIT || (bit as usize) < bits;
        assert!(table.iter().all(inside), "bits of the assignment");
        let (table, head) = (DeviceBuffer::from_host(gpu, table)?, table.len());
        Ok(Self { table, head, period: 1, bit_start: 0, bit_stride: 0, bases: head, bits })
    }

    /// Base i meets bit i, for `bases` bases.
    ///
    /// # Errors
    /// When device memory is short.
    pub fn identity(gpu: &'g Gpu, bases: usize) -> Result<Self, GpuError> {
        let table = DeviceBuffer::from_host(gpu, &[0])?;
        Ok(Self { table, head: 0, period: 1, bit_start: 0, bit_stride: 1, bases, bits: bases })
    }

    /// In a table: a base that meets no bit.
    pub const NONE: u32 = NO_BIT;

    /// Bytes of device memory that [`QueryBits::new`] takes.
    pub fn bytes(map: &QueryMap) -> u64 {
        (size_of::<u32>() * (map.challenge_base(0) + map.challenge.bases as usize)) as u64
    }

    /// Bases of the query.
    pub fn len(&self) -> usize {
        self.bases
    }

    /// Whether the query has no bases.
    pub fn is_empty(&self) -> bool {
        self.bases == 0
    }

    /// As the kernel reads it.
    pub(super) fn places(&self) -> BitPlaces<'_> {
        BitPlaces {
            table: self.table.as_slice(),
            head: self.head,
            period: self.period,
            bit_start: self.bit_start,
            bit_stride: self.bit_stride,
            bits: self.bits,
        }
    }
}

/// The bits of the inputs' bases (none), of the prologue's, and of one challenge's, the last
/// counted from the challenge's first bit.
fn table(map: &QueryMap) -> Vec<u32> {
    let mut table = vec![NO_BIT; map.challenge_base(0) + map.challenge.bases as usize];
    let mut fill = |first: usize, part: &QueryPart| {
        for run in &part.bits {
            let start = first + run.base as usize;
            table[start..start + run.len as usize]
                .iter_mut()
                .zip(run.start..)
                .for_each(|(place, bit)| *place = bit);
        }
    };
    fill(map.prologue_base(), &map.prologue);
    fill(map.challenge_base(0), &map.challenge);
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::r1cs::{Matrices, Query, Template};
    use crate::sector::SectorSize;

    /// Each base's bit, base after base, from the map's runs.
    fn naive(map: &QueryMap, layout: &Layout) -> Vec<Option<usize>> {
        let mut bits = vec![None; map.bases()];
        let mut add = |part: &QueryPart, first: usize, first_bit: usize| {
            for run in &part.bits {
                for i in 0..run.len as usize {
                    bits[first + run.base as usize + i] = Some(first_bit + run.start as usize + i);
                }
            }
        };
        add(&map.prologue, map.prologue_base(), 0);
        for k in 0..map.challenges {
            add(&map.challenge, map.challenge_base(k), 64 * layout.word_base(k));
        }
        bits
    }

    #[test]
    fn periodic_tables_name_the_bits_of_all_bases() {
        let template = Template::record(SectorSize::KiB2, Matrices::Ab);
        let layout = Layout::new(SectorSize::KiB2);
        for query in [Query::L, Query::A, Query::B] {
            let map = template.query(query);
            let table = table(&map);
            let (head, period) = (map.challenge_base(0), map.challenge.bases as usize);
            for (base, expected) in naive(&map, &layout).into_iter().enumerate() {
                let (entry, moved) = match base.checked_sub(head) {
                    None => (table[base], 0),
                    Some(rest) => {
                        (table[head + rest % period], 64 * layout.word_base(rest / period))
                    }
                };
                let bit = (entry != NO_BIT).then(|| entry as usize + moved);
                assert_eq!(bit, expected, "{query:?} base {base}");
            }
        }
    }
}
