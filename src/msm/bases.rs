//! Points where they lie: uncompressed, in the bytes of the mapped parameter file.

use std::ops::Range;

use rayon::prelude::*;
use thiserror::Error;

use super::engine::{Curve, Engine, Point};
use crate::field::{FP_MODULUS, Kernel, le_bytes};
use crate::pages::filled;

/// Points decoded by one task; a multiple of every engine's width.
const TASK: usize = 1024;
/// The first 64 bits of the modulus of Fp.
const MODULUS_TOP: u64 = FP_MODULUS[5];
/// The modulus of Fp, little-endian.
const MODULUS: [u8; 48] = le_bytes(FP_MODULUS);
/// The first byte of an uncompressed infinity; all others are zero.
const INFINITY_FLAG: u8 = 0x40;

/// A point whose bytes are not an uncompressed point's.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum BasesError {
    /// The length of an array is not a multiple of its points'.
    #[error("expected a multiple of {point_bytes} bytes of points, got {bytes}")]
    Length {
        /// Bytes given.
        bytes: usize,
        /// Bytes of one point.
        point_bytes: usize,
    },
    /// The flags are neither those of a finite point nor of infinity.
    #[error("point {index}: expected an uncompressed point, got flags 0x{flags:02x}")]
    Flags {
        /// Index of the point in its array.
        index: usize,
        /// The three flag bits in place.
        flags: u8,
    },
    /// A coordinate is not below the modulus.
    #[error("point {index}: expected coordinates below the field modulus")]
    Coordinate {
        /// Index of the point in its array.
        index: usize,
    },
}

/// An array of uncompressed points of the curve `C`.
///
/// Coordinates' range and the flags are checked when points are decoded; that they satisfy the
/// curve equation and lie in the subgroup is for the parameter file's own checks.
#[derive(Clone, Copy, Debug)]
pub struct Bases<'a, C> {
    bytes: &'a [u8],
    curve: std::marker::PhantomData<C>,
}

impl<'a, C: Curve> Bases<'a, C> {
    /// The points in `bytes`.
    ///
    /// # Errors
    /// When the length is not a multiple of a point's.
    pub fn new(bytes: &'a [u8]) -> Result<Self, BasesError> {
        if !bytes.len().is_multiple_of(C::POINT_BYTES) {
            let (bytes, point_bytes) = (bytes.len(), C::POINT_BYTES);
            return Err(BasesError::Length { bytes, point_bytes });
        }
        Ok(Self { bytes, curve: std::marker::PhantomData })
    }

    /// How many points there are.
    pub const fn len(&self) -> usize {
        self.bytes.len() / C::POINT_BYTES
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The points of a range.
    ///
    /// # Panics
    /// When the range is not inside the array.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let bytes = &self.bytes[range.start * C::POINT_BYTES..range.end * C::POINT_BYTES];
        Self { bytes, ..*self }
    }

    fn point(&self, index: usize) -> &'a [u8] {
        &self.bytes[index * C::POINT_BYTES..][..C::POINT_BYTES]
    }

    /// Decodes all points.
    ///
    /// # Errors
    /// The first point found that is not an uncompressed point's bytes.
    pub fn decode<E: Engine<Curve = C>>(
        &self,
        engine: E,
    ) -> Result<Vec<Point<E::Row>>, BasesError> {
        self.decode_with(engine, self.len(), |position| position)
    }

    /// Decodes the points with these indices, in their order.
    ///
    /// # Errors
    /// As [`Bases::decode`].
    ///
    /// # Panics
    /// When an index is outside the array.
    pub fn decode_selected<E: Engine<Curve = C>>(
        &self,
        engine: E,
        indices: &[u32],
    ) -> Result<Vec<Point<E::Row>>, BasesError> {
        self.decode_with(engine, indices.len(), |position| indices[position] as usize)
    }

    fn decode_with<E: Engine<Curve = C>>(
        &self,
        engine: E,
        count: usize,
        index: impl Fn(usize) -> usize + Sync,
    ) -> Result<Vec<Point<E::Row>>, BasesError> {
        let mut points = filled(E::INFINITY, count);
        points.par_chunks_mut(TASK).enumerate().try_for_each(|(task, out)| {
            let index = |position: usize| index(task * TASK + position);
            engine.enter(Decode { bases: *self, index, out })
        })?;
        Ok(points)
    }
}

/// Whether the bytes are a finite point (true) or infinity (false).
#[inline(always)]
fn is_finite(bytes: &[u8], index: usize) -> Result<bool, BasesError> {
    let top = |coordinate: &[u8]| {
        u64::from_be_bytes(coordinate[..8].try_into().expect("eight bytes of forty-eight"))
    };
    if bytes.chunks_exact(48).all(|coordinate| top(coordinate) < MODULUS_TOP) {
        return Ok(true);
    }
    let flags = bytes[0] & 0xe0;
    if flags == INFINITY_FLAG && bytes[0] == flags && bytes[1..].iter().all(|&byte| byte == 0) {
        return Ok(false);
    }
    if flags != 0 {
        return Err(BasesError::Flags { index, flags });
    }
    if bytes.chunks_exact(48).any(|coordinate| coordinate.iter().ge(MODULUS.iter().rev())) {
        return Err(BasesError::Coordinate { index });
    }
    Ok(true)
}

/// Decodes the points `index(0..out.len())` into `out`, which holds infinities.
struct Decode<'a, E: Engine, I> {
    bases: Bases<'a, E::Curve>,
    index: I,
    out: &'a mut [Point<E::Row>],
}

impl<E: Engine, I: Fn(usize) -> usize> Kernel<E> for Decode<'_, E, I> {
    type Output = Result<(), BasesError>;

    #[inline(always)]
    fn run(self, engine: E) -> Self::Output {
        let mut position = 0;
        for group in self.out.chunks_mut(E::WIDTH) {
            let mut bytes = [&[][..]; 8];
            let mut all_finite = true;
            for (bytes, lane) in bytes.iter_mut().zip(0..group.len()) {
                let index = (self.index)(position + lane);
                *bytes = self.bases.point(index);
                all_finite &= is_finite(bytes, index)?;
            }
            position += group.len();
            let bytes = &bytes[..group.len()];
            if all_finite {
                engine.decode(bytes, group);
                continue;
            }
            for (point, bytes) in group.iter_mut().zip(bytes) {
                if bytes[0] != INFINITY_FLAG {
                    engine.decode(&[bytes], std::slice::from_mut(point));
                }
            }
        }
        Ok(())
    }
}
