//! Why no parameters were made.

use std::io;
use std::path::PathBuf;

use super::columns::Dimensions;
use crate::gpu::GpuError;
use crate::memory::Bytes;
use crate::params::layout::Query;

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
    /// A sum that is not zero by the circuit's structure is zero by chance.
    #[error("expected {expected} points of `{query}`, got {got}\nhint: choose another seed")]
    Vanished {
        /// The array.
        query: Query,
        /// Points that some consecutive variables have in it.
        expected: usize,
        /// Those that are not infinity.
        got: usize,
    },
    /// A point of the file would be infinity.
    #[error("point {index} of `{query}` would be infinity\nhint: choose another seed")]
    Infinity {
        /// The array.
        query: Query,
        /// The point's index in it.
        index: u64,
    },
    /// The file system has no room.
    #[error(
        "not enough room: the parameters take {}, but `{}` has {} free\n\
         hint: free some, or choose another folder with `--out`",
        Bytes(*.needed_bytes), folder.display(), Bytes(*.free_bytes)
    )]
    NoRoom {
        /// Where the files go.
        folder: PathBuf,
        /// Bytes of all files.
        needed_bytes: u64,
        /// Bytes that may be written.
        free_bytes: u64,
    },
    /// The GPU failed.
    #[error("cannot multiply on the GPU")]
    Gpu(#[from] GpuError),
    /// Another thread has failed; its error is the one that is reported.
    #[error("the threads that write have stopped")]
    Stopped,
    /// tau is a root of unity; one trapdoor in 2^228.
    #[error("tau lies in the evaluation domain\nhint: choose another seed")]
    Tau,
}
