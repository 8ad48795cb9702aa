//! Sparse rows, one entry after the other.

use super::column::Column;
use crate::circuit::{Coefficient, Term};

/// The rows of A, B or C in one section of the template, in the pieces that threads recorded.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Number of the first row, and the rows.
    pieces: Vec<(usize, Piece)>,
}

impl Matrix {
    /// The rows of all `pieces`, in their order.
    pub(super) fn new(pieces: Vec<Piece>) -> Self {
        let mut rows = 0;
        let placed = |piece: Piece| {
            let start = rows;
            rows += piece.rows();
            (start, piece)
        };
        Self { pieces: pieces.into_iter().map(placed).collect() }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.pieces().map(Piece::rows).sum()
    }

    /// Number of entries of all rows.
    pub fn entries(&self) -> usize {
        self.pieces().map(|piece| piece.columns.len()).sum()
    }

    /// The pieces, in their order.
    pub fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.pieces.iter().map(|(_, piece)| piece)
    }

    /// The pieces with the numbers of their first rows.
    pub fn placed_pieces(&self) -> impl Iterator<Item = (usize, &Piece)> {
        self.pieces.iter().map(|(start, piece)| (*start, piece))
    }

    /// The entries of row `row`.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(&self, row: usize) -> (&[Column], &[Coefficient]) {
        let piece = self.pieces.partition_point(|&(start, _)| start <= row) - 1;
        let (start, piece) = &self.pieces[piece];
        piece.row(row - start)
    }

    /// Entries of the longest row.
    pub fn longest_row(&self) -> usize {
        self.pieces().map(Piece::longest_row).max().unwrap_or(0)
    }

    /// Heap bytes.
    pub fn bytes(&self) -> usize {
        self.pieces().map(Piece::bytes).sum()
    }
}

/// Consecutive rows of a matrix.
///
/// Row i has the entries `ends[i - 1]..ends[i]` (from 0 for the first row).
#[derive(Clone, Debug)]
pub struct Piece {
    ends: Vec<u32>,
    columns: Vec<Column>,
    coefficients: Vec<Coefficient>,
}

impl Piece {
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

    /// Puts `places[c]` in the place of every coefficient c from number `first` on.
    pub(super) fn move_coefficients(&mut self, first: usize, places: &[Coefficient]) {
        for coefficient in &mut self.coefficients {
            if usize::from(coefficient.0) >= first {
                *coefficient = places[usize::from(coefficient.0)];
            }
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.ends.len()
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

    fn row(&self, row: usize) -> (&[Column], &[Coefficient]) {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        let range = start..self.ends[row] as usize;
        (&self.columns[range.clone()], &self.coefficients[range])
    }

    fn longest_row(&self) -> usize {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| (end - start) as usize).max().unwrap_or(0)
    }

    fn bytes(&self) -> usize {
        4 * self.ends.capacity() + 4 * self.columns.capacity() + 2 * self.coefficients.capacity()
    }
}
