//! A section's rows as gpu/rows.cu reads them.
//!
//! Small rows, nearly all, take 16 bytes: three entries of A and one of B, each a bit or ONE with
//! the coefficient 1, -1, 2 or -2. The others keep the template's columns and coefficients, A's
//! entries before B's, and are listed by length.

use rayon::prelude::*;

use crate::circuit::Coefficient;
use crate::r1cs::{Column, Kind, Matrix, Section};

/// Entries of A in a small row; B has one.
const SMALL_A: usize = 3;
const KIND_SHIFT: u32 = 30;
const BIT: u32 = 1 << KIND_SHIFT;
const PROLOGUE_BIT: u32 = 2 << KIND_SHIFT;
const ONE: u32 = 3 << KIND_SHIFT;
const TWICE: u32 = 1 << 29;
const MINUS: u32 = 1 << 28;
const MINUS_TWO: Coefficient = Coefficient::minus_power(1);
/// The row is not small.
const SKIP: [u32; 4] = [0, 0, 0, u32::MAX];
/// Entries from which a row is given to a whole warp.
const LONG_ENTRIES: u32 = 32;

/// The rows of a prologue or of a challenge.
#[derive(Debug)]
pub(super) struct PackedSection {
    /// A row each.
    pub(super) small: Vec<[u32; 4]>,
    /// Row, first entry of A, first entry of B, end of B's: the short ones first.
    pub(super) general: Vec<[u32; 4]>,
    /// How many of `general` are short.
    pub(super) short: usize,
    /// Entries of the general rows.
    pub(super) columns: Vec<u32>,
    /// Their coefficients.
    pub(super) coefficients: Vec<u16>,
}

impl PackedSection {
    pub(super) fn new(section: &Section) -> Self {
        let small: Vec<[u32; 4]> = (0..section.rows())
            .into_par_iter()
            .map(|row| small_row(section, row).unwrap_or(SKIP))
            .collect();
        let rows: Vec<usize> =
            (0..section.rows()).into_par_iter().filter(|&row| small[row] == SKIP).collect();
        // All entries of a row, A's before B's.
        let columns = |&row: &usize| {
            let columns = [section.a.row(row).0, section.b.row(row).0];
            columns.into_iter().flatten().map(|column| column.raw())
        };
        let coefficients = |&row: &usize| {
            let coefficients = [section.a.row(row).1, section.b.row(row).1];
            coefficients.into_iter().flatten().map(|coefficient| coefficient.0)
        };
        let (columns, coefficients) = rayon::join(
            || rows.par_iter().flat_map_iter(columns).collect(),
            || rows.par_iter().flat_map_iter(coefficients).collect(),
        );
        let (general, short) = listed(section, &rows);
        Self { small, general, short, columns, coefficients }
    }

    /// Bytes of the arrays for `section`, without making them.
    pub(super) fn bytes(section: &Section) -> u64 {
        let general = |row: usize| {
            let entries = section.a.row(row).0.len() + section.b.row(row).0.len();
            small_row(section, row).map_or(size_of::<[u32; 4]>() as u64 + 6 * entries as u64, |_| 0)
        };
        let rows = section.rows();
        (size_of::<[u32; 4]>() * rows) as u64 + (0..rows).into_par_iter().map(general).sum::<u64>()
    }
}

/// Where the entries of general rows are, the short rows first, and how many are short.
fn listed(section: &Section, rows: &[usize]) -> (Vec<[u32; 4]>, usize) {
    let mut first = 0;
    let mut places = |&row: &usize| {
        let middle = first + section.a.row(row).0.len();
        let end = middle + section.b.row(row).0.len();
        let places = [row, std::mem::replace(&mut first, end), middle, end];
        let fits = "a challenge has 17 million entries";
        places.map(|place| u32::try_from(place).expect(fits))
    };
    let mut general: Vec<[u32; 4]> = rows.iter().map(&mut places).collect();
    general.sort_by_key(|[_, start, _, end]| end - start >= LONG_ENTRIES);
    let short = general.partition_point(|[_, start, _, end]| end - start < LONG_ENTRIES);
    (general, short)
}

/// The packed row, unless it is not small.
fn small_row(section: &Section, row: usize) -> Option<[u32; 4]> {
    let mut packed = [0; 4];
    let (a, b) = packed.split_at_mut(SMALL_A);
    small_entries(&section.a, row, a)?;
    small_entries(&section.b, row, b)?;
    Some(packed)
}

fn small_entries(matrix: &Matrix, row: usize, packed: &mut [u32]) -> Option<()> {
    let (columns, coefficients) = matrix.row(row);
    if columns.len() > packed.len() {
        return None;
    }
    for ((packed, &column), &coefficient) in packed.iter_mut().zip(columns).zip(coefficients) {
        *packed = small_column(column)? | small_factor(coefficient)?;
    }
    Some(())
}

fn small_column(column: Column) -> Option<u32> {
    let kind = match column.kind() {
        Kind::Bit => BIT,
        Kind::PrologueBit => PROLOGUE_BIT,
        Kind::PrologueInput if column == Column::ONE => ONE,
        _ => return None,
    };
    // All ones below the kind would make `SKIP` of a B entry.
    (column.index() < MINUS - 1).then(|| kind | column.index())
}

fn small_factor(coefficient: Coefficient) -> Option<u32> {
    match coefficient {
        Coefficient::ONE => Some(0),
        Coefficient::MINUS_ONE => Some(MINUS),
        Coefficient::TWO => Some(TWICE),
        MINUS_TWO => Some(TWICE | MINUS),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::r1cs::{Matrices, Template};
    use crate::sector::SectorSize;

    /// An entry of a small row as the kernel reads it, in the template's terms.
    fn unpacked(entry: u32) -> Option<(Column, Coefficient)> {
        let index = entry & (MINUS - 1);
        let column = match entry & ONE {
            BIT => Column::new(Kind::Bit, index),
            PROLOGUE_BIT => Column::new(Kind::PrologueBit, index),
            ONE => Column::ONE,
            _ => return None,
        };
        let factors = [
            Coefficient::ONE,
            Coefficient::MINUS_ONE,
            Coefficient::TWO,
            Coefficient::minus_power(1),
        ];
        Some((column, factors[(entry / MINUS) as usize % 4]))
    }

    fn pairs((columns, coefficients): (&[Column], &[Coefficient])) -> Vec<(Column, Coefficient)> {
        columns.iter().copied().zip(coefficients.iter().copied()).collect()
    }

    #[test]
    fn packed_rows_are_the_templates() {
        let template = Template::record(SectorSize::KiB2, Matrices::Ab);
        for section in [&template.prologue, &template.challenge] {
            let packed = PackedSection::new(section);
            let mut general = packed.general.clone();
            general.sort_by_key(|[row, ..]| *row);
            let mut general = general.into_iter().peekable();
            for row in 0..section.rows() {
                let expected = [pairs(section.a.row(row)), pairs(section.b.row(row))];
                let small = packed.small[row];
                if small != SKIP {
                    let entries = |part: &[u32]| -> Vec<_> {
                        part.iter().filter_map(|&entry| unpacked(entry)).collect()
                    };
                    assert_eq!([entries(&small[..3]), entries(&small[3..])], expected, "row {row}");
                    continue;
                }
                let [listed, start, middle, end] =
                    general.next().expect("each row is packed").map(|place| place as usize);
                assert_eq!(listed, row);
                let entries = |range: std::ops::Range<usize>| -> Vec<_> {
                    let columns = packed.columns[range.clone()].iter().copied();
                    columns.zip(packed.coefficients[range].iter().copied()).collect()
                };
                let raw = expected.map(|row| -> Vec<(u32, u16)> {
                    row.into_iter().map(|(column, of)| (column.raw(), of.0)).collect()
                });
                assert_eq!([entries(start..middle), entries(middle..end)], raw, "row {row}");
            }
            assert!(general.next().is_none(), "no row twice");
            let long = |[_, start, _, end]: &[u32; 4]| end - start >= LONG_ENTRIES;
            assert!(!packed.general[..packed.short].iter().any(long), "short rows first");
            assert!(packed.general[packed.short..].iter().all(long), "then long ones");
            let bytes = 16 * (packed.small.len() + packed.general.len()) + 6 * packed.columns.len();
            assert_eq!(PackedSection::bytes(section), bytes as u64);
        }
    }

    #[test]
    fn most_rows_are_small() {
        let template = Template::record(SectorSize::KiB2, Matrices::Ab);
        let packed = PackedSection::new(&template.challenge);
        let general = packed.general.len();
        assert!(general * 10 < packed.small.len(), "{general} rows of {}", packed.small.len());
    }
}
