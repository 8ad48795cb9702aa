//! Window sizes of dense sums.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The narrowest window.
const BITS_MIN: usize = 2;
/// The widest window: 2^23 buckets a window are 1 GiB of points of G1.
const BITS_MAX: usize = 24;
/// Additions that a bucket costs at the end, against one for a digit: a row's and a column's.
const BUCKET_COST: usize = 2;

/// How wide the windows of a dense sum are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Window {
    /// The width with the fewest additions for the number of points.
    #[default]
    Auto,
    /// A fixed width.
    Bits(WindowBits),
}

impl Window {
    /// The narrowest.
    pub const BITS_MIN: usize = BITS_MIN;
    /// The widest.
    pub const BITS_MAX: usize = BITS_MAX;

    /// The width for `points` points.
    pub fn bits(self, points: usize) -> WindowBits {
        match self {
            Self::Bits(bits) => bits,
            Self::Auto => (BITS_MIN..=BITS_MAX)
                .map(WindowBits)
                .min_by_key(|bits| bits.count() * (points + BUCKET_COST * bits.buckets()))
                .expect("the range of widths is not empty"),
        }
    }
}

/// A window's width, 2 to 24 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowBits(usize);

/// A window's width out of range.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected `auto` or a window of {BITS_MIN} to {BITS_MAX} bits, got `{0}`")]
pub struct WindowError(String);

impl WindowBits {
    /// A width of `bits` bits.
    ///
    /// # Errors
    /// When it is not in 2..=24.
    pub fn new(bits: usize) -> Result<Self, WindowError> {
        if (BITS_MIN..=BITS_MAX).contains(&bits) {
            Ok(Self(bits))
        } else {
            Err(WindowError(bits.to_string()))
        }
    }

    /// Bits of a window.
    pub const fn get(self) -> usize {
        self.0
    }

    /// Windows that hold a scalar below 2^254 and its carry.
    pub const fn count(self) -> usize {
        255usize.div_ceil(self.0)
    }

    /// Buckets of a window: digits from 1 to 2^(bits - 1).
    pub const fn buckets(self) -> usize {
        1 << (self.0 - 1)
    }

    /// `sum_{i < count - 1} 2^(bits i + bits - 1)`, least significant word first.
    pub(super) fn bias(self) -> [u64; 4] {
        let mut bias = [0; 4];
        for window in 0..self.count() - 1 {
            let bit = window * self.0 + self.0 - 1;
            bias[bit / 64] |= 1 << (bit % 64);
        }
        bias
    }
}

impl FromStr for Window {
    type Err = WindowError;

    fn from_str(text: &str) -> Result<Self, WindowError> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let bits = text.parse().map_err(|_| WindowError(text.to_owned()))?;
        WindowBits::new(bits).map(Self::Bits).map_err(|_| WindowError(text.to_owned()))
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Bits(bits) => write!(f, "{}", bits.0),
        }
    }
}
