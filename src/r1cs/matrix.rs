//! Sparse rows, one entry after the other.

use super::column::Column;
use crate::circuit::{Coefficient, Term};

/// The rows of A, B or C in one section of the template.
///
/// Row i has the entries `ends[i - 1]..ends[i]` (from 0 for the first row).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    ends: Vec<u32>,
    columns: Vec<Column>,
    coefficients: Vec<Coefficient>,
}

impl Matrix {
    pub(super) fn with_capacity(rows: usize, entries: usize) -> Self {
        Self {
            ends: Vec::with_capacity(rows),
            columns: Vec::with_capacity(entries),
            coefficients: Vec::with_capacity(entries),
        }
    }

    pub(super) fn push(&mut self, row: &[Term<Column>]) {
        self.columns.extend(row.iter().map(|term| term.0));
        self.coefficients.extend(row.iter().map(|term| term.1));
        let end = u32::try_from(self.columns.len()).expect("a challenge has 17 million entries");
        self.ends.push(end);
    }

    pub(super) fn shrink(&mut self) {
        self.ends.shrink_to_fit();
        self.columns.shrink_to_fit();
        self.coefficients.shrink_to_fit();
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// Number of entries of all rows.
    pub fn entries(&self) -> usize {
        self.columns.len()
    }

    /// One past the last entry of each row.
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// The columns of all entries.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The coefficients of all entries.
    pub fn coefficients(&self) -> &[Coefficient] {
        &self.coefficients
    }

    /// The entries of row `row`.
    pub fn row(&self, row: usize) -> (&[Column], &[Coefficient]) {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        let range = start..self.ends[row] as usize;
        (&self.columns[range.clone()], &self.coefficients[range])
    }

    /// Entries of the longest row.
    pub fn longest_row(&self) -> usize {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| (end - start) as usize).max().unwrap_or(0)
    }

    /// Heap bytes.
    pub fn bytes(&self) -> usize {
        4 * self.ends.capacity() + 4 * self.columns.capacity() + 2 * self.coefficients.capacity()
    }
}
