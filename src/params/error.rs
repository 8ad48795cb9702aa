//! What can be wrong with parameter files. All of it is exit code 4.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::{FolderChoice, ProductionDigests};
use crate::sector::SectorSize;

/// Parameters that are missing, damaged, for another circuit, or insecure without their marker.
#[derive(Debug, thiserror::Error)]
pub enum ParamsError {
    /// A file is not in the folder.
    #[error(
        "no {size} parameters: `{}` does not exist (folder chosen by {chosen_by}); expected \
         {bytes} bytes with BLAKE2b digest {digest}\n\
         hint: choose the folder that has them with `--params DIR`; for tests make a set with \
         `prove params setup --insecure --sector-size {size} --out DIR`",
        path.display()
    )]
    Missing {
        /// The full path searched.
        path: PathBuf,
        /// The sector size.
        size: SectorSize,
        /// What chose the folder.
        chosen_by: FolderChoice,
        /// The file's length.
        bytes: u64,
        /// The production file's digest.
        digest: &'static str,
    },
    /// The parameter folder is a file.
    #[error(
        "`{}` is not a folder (chosen by {chosen_by})\n\
         hint: name the folder that has the parameter files with `--params DIR`",
        path.display()
    )]
    NotAFolder {
        /// The path.
        path: PathBuf,
        /// What chose it.
        chosen_by: FolderChoice,
    },
    /// A file cannot be opened, read or mapped.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system answered.
        #[source]
        source: io::Error,
    },
    /// A folder or device has a parameter file's name.
    #[error("`{}` is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A file is too short or too long for the circuit.
    #[error("length of `{}` is {got}, expected {expected} bytes{clue}", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Bytes that the circuit's file has.
        expected: u64,
        /// Bytes found.
        got: u64,
        /// What the file seems to be.
        clue: LengthClue,
    },
    /// An array's count is not the circuit's.
    #[error(
        "`{}` has {got} points in `{array}` (count at offset {offset}), expected {expected}\n\
         hint: the file is for another circuit, or damaged",
        path.display()
    )]
    Count {
        /// The file.
        path: PathBuf,
        /// The array: `ic` or a query.
        array: &'static str,
        /// Offset of the count.
        offset: u64,
        /// The circuit's count.
        expected: u32,
        /// The file's.
        got: u32,
    },
    /// A point does not decode, or must not stand where it does.
    #[error(
        "bad point `{part}` at offset {offset} of `{}`: {fault}\n\
         hint: the file is damaged; fetch or make it again",
        path.display()
    )]
    Point {
        /// The file.
        path: PathBuf,
        /// Which point.
        part: Part,
        /// Its offset in the file.
        offset: u64,
        /// What is wrong with it.
        fault: PointFault,
    },
    /// The `.vk` file is not the key at the head of the `.params` file.
    #[error(
        "`{}` is not the verifying key of `{}`: they differ at byte {offset}{clue}",
        vk.display(),
        params.display()
    )]
    VkMismatch {
        /// The key alone.
        vk: PathBuf,
        /// The parameters.
        params: PathBuf,
        /// First differing byte.
        offset: usize,
        /// Whose key it is, when known.
        clue: VkClue,
    },
    /// Not the production key, and nothing says that this is meant.
    #[error(
        "the parameters are insecure: digest of `{}` is {got}, expected {expected}; the marker \
         `{}` that test parameters need is missing\n\
         hint: proofs under this key are worth nothing on a network; fetch the production files, \
         or make marked test parameters with `prove params setup --insecure`",
        vk.display(),
        marker.display()
    )]
    Unmarked {
        /// The key.
        vk: PathBuf,
        /// The production key's digest.
        expected: &'static str,
        /// This key's digest.
        got: String,
        /// The marker that is not there.
        marker: PathBuf,
    },
    /// The production files were asked for, and these are marked test parameters.
    #[error(
        "`{}` belongs to insecure test parameters, which cannot pass the production check\n\
         hint: unset `FIL_PROOFS_VERIFY_PRODUCTION_PARAMS`, or choose another folder",
        path.display()
    )]
    NotProduction {
        /// The parameters.
        path: PathBuf,
    },
    /// The file's digest is not the production file's, though its verifying key is.
    #[error(
        "digest of `{}` is {got}, expected {expected}\n\
         hint: the file is damaged; fetch it again",
        path.display()
    )]
    Digest {
        /// The parameters.
        path: PathBuf,
        /// The production file's digest.
        expected: &'static str,
        /// What was computed.
        got: String,
    },
}

/// What is wrong with a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointFault {
    /// One of the three flag bits is set: not an uncompressed finite point.
    Flags,
    /// The point at infinity.
    Infinity,
    /// A coordinate is not canonical, or they are not on the curve.
    NotOnCurve,
    /// On the curve, in the wrong subgroup.
    NotInSubgroup,
}

impl fmt::Display for PointFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flags => "expected an uncompressed point, got other flag bits",
            Self::Infinity => "expected a finite point, got infinity",
            Self::NotOnCurve => "expected a point of the curve, got coordinates that are none",
            Self::NotInSubgroup => "expected a point of the prime-order subgroup, got another",
        })
    }
}

/// Which point of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// A single point's name, or an array's.
    pub name: &'static str,
    /// Position in the array.
    pub index: Option<u64>,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "{}[{index}]", self.name),
            None => f.write_str(self.name),
        }
    }
}

/// What a file of the wrong length seems to be; displayed as a hint line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthClue {
    /// Nothing in it.
    Empty,
    /// It begins with `<`.
    WebPage,
    /// Exactly the length of another size's file.
    OtherSize(SectorSize),
    /// Shorter than expected.
    CutOff,
    /// Longer than expected.
    Trailing,
}

impl fmt::Display for LengthClue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\nhint: ")?;
        match self {
            Self::Empty => f.write_str("the file is empty; fetch or make it again"),
            Self::WebPage => f.write_str(
                "the file begins like a web page: a download saved an error page; fetch it again",
            ),
            Self::OtherSize(size) => {
                write!(f, "this is the length of the {size} file under another name")
            }
            Self::CutOff => f.write_str("an interrupted download or copy; fetch it again"),
            Self::Trailing => f.write_str("something was appended, or it is another circuit's"),
        }
    }
}

/// Whose verifying key a `.vk` file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VkClue {
    /// The production key of this size.
    Production(SectorSize),
    /// Nobody's that we know.
    Unknown,
}

impl VkClue {
    /// Looks `digest` up among the production keys.
    pub fn find(digest: &str) -> Self {
        SectorSize::ALL
            .into_iter()
            .find(|&size| ProductionDigests::of(size).vk == digest)
            .map_or(Self::Unknown, Self::Production)
    }
}

impl fmt::Display for VkClue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Production(size) => write!(f, "\nhint: it is the production key for {size}"),
            Self::Unknown => f.write_str("\nhint: the two files come from different sets"),
        }
    }
}
