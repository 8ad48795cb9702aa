//! Where results go: atomically into a file, or onto standard output.
//!
//! A file appears whole or not at all: a temporary name beside it, fsync, rename. Whether that can
//! work is tried before anything expensive.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::cli::is_dash;
use crate::temporary::TemporaryFile;

/// A result cannot be written.
#[derive(Debug, Error)]
pub enum OutputError {
    /// OUT is a folder.
    #[error("cannot write `{}`: it is a folder", .path.display())]
    IsFolder {
        /// The path.
        path: PathBuf,
    },
    /// OUT ends in a slash.
    #[error("cannot write `{}`: it names a folder", .path.display())]
    NamesFolder {
        /// The path.
        path: PathBuf,
    },
    /// The folder of OUT does not exist.
    #[error("cannot write `{}`: there is no folder `{}`", .path.display(), .folder.display())]
    NoFolder {
        /// The path.
        path: PathBuf,
        /// The missing folder.
        folder: PathBuf,
    },
    /// Anything else that the system says.
    #[error("cannot write `{}`", .path.display())]
    Io {
        /// The path, `-` for standard output.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

/// A place for a result, known to be writable when it was made.
#[derive(Debug)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// A file that will be replaced whole.
    File {
        /// As the person wrote it, for messages.
        shown: PathBuf,
        /// The file itself, symbolic links resolved.
        target: PathBuf,
    },
    /// A device or pipe, written in place.
    Device {
        /// Its path.
        path: PathBuf,
    },
}

impl Output {
    /// Takes `path` (`-`: standard output) and tries that `bytes` bytes can be written there.
    /// An existing file is not touched.
    ///
    /// # Errors
    /// When they cannot.
    pub fn prepare(path: &Path, bytes: usize) -> Result<Self, OutputError> {
        if is_dash(path) {
            return Ok(Self::Stdout);
        }
        let io_error = |source| OutputError::Io { path: path.to_owned(), source };
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => {
                return Err(OutputError::IsFolder { path: path.to_owned() });
            }
            Ok(meta) if is_device(&meta) => {
                // An empty write asks a device whether it takes data (`/dev/full` says no).
                if !meta.file_type().is_fifo() {
                    open_device(path).and_then(|mut file| file.write(&[])).map_err(io_error)?;
                }
                return Ok(Self::Device { path: path.to_owned() });
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_error(error)),
        }
        let target = fs::canonicalize(path).unwrap_or_else(|_| follow(path));
        if target.as_os_str().as_bytes().ends_with(b"/") {
            return Err(OutputError::NamesFolder { path: path.to_owned() });
        }
        let folder = folder_of(&target);
        if !folder.is_dir() {
            let folder = folder.to_owned();
            return Err(OutputError::NoFolder { path: path.to_owned(), folder });
        }
        // A trial: the same name, length and fsync as in the end.
        write_temporary(&target, &vec![0; bytes]).map_err(io_error)?;
        Ok(Self::File { shown: path.to_owned(), target })
    }

    /// Writes `bytes`: a file is replaced at once, after everything is on the disk.
    ///
    /// # Errors
    /// When that fails; an existing file is as before.
    pub fn write(&self, bytes: &[u8]) -> Result<(), OutputError> {
        let (path, result) = match self {
            Self::Stdout => (Path::new("-"), write_stdout(bytes)),
            Self::File { shown, target } => (shown.as_path(), replace(target, bytes)),
            Self::Device { path } => {
                (path.as_path(), open_device(path).and_then(|mut file| file.write_all(bytes)))
            }
        };
        result.map_err(|source| OutputError::Io { path: path.to_owned(), source })
    }
}

/// Writes to standard output; a reader that is gone is an error as any other.
fn write_stdout(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

fn replace(target: &Path, bytes: &[u8]) -> io::Result<()> {
    write_temporary(target, bytes)?.commit(target)?;
    // The rename itself reaches the disk with the folder; not every file system can do this.
    let _ = File::open(folder_of(target)).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Writes `bytes` under a temporary name beside `target`, down to the disk.
fn write_temporary(target: &Path, bytes: &[u8]) -> io::Result<TemporaryFile> {
    let (mut file, temporary) = TemporaryFile::create(target)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(temporary)
}

/// The folder that a path lies in; `.` for a bare name.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The name that `path` leads to, which may be free: symbolic links are followed, as many as the
/// system would follow.
fn follow(path: &Path) -> PathBuf {
    const LINKS_MAX: usize = 40;
    let mut target = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(link) = fs::read_link(&target) else { break };
        target = folder_of(&target).join(link);
    }
    target
}

fn is_device(meta: &fs::Metadata) -> bool {
    let kind = meta.file_type();
    kind.is_char_device() || kind.is_fifo() || kind.is_block_device() || kind.is_socket()
}

fn open_device(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new().write(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("folder");
        let name = |entry: io::Result<fs::DirEntry>| {
            entry.expect("entry").file_name().to_string_lossy().into_owned()
        };
        entries.map(name).collect()
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().expect("folder");
        let out = folder.path().join("out");
        fs::write(&out, "old").expect("write");
        let output = Output::prepare(&out, 192).expect("writable");
        assert_eq!(fs::read(&out).expect("read"), b"old", "the trial touches nothing");
        output.write(b"new").expect("written");
        assert_eq!(fs::read(&out).expect("read"), b"new");
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[test]
    fn a_symbolic_link_stays_one() {
        let folder = tempfile::tempdir().expect("folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").expect("write");
        std::os::unix::fs::symlink(&file, &link).expect("link");
        Output::prepare(&link, 3).expect("writable").write(b"new").expect("written");
        assert_eq!(fs::read(&file).expect("read"), b"new");
        assert!(fs::symlink_metadata(&link).expect("link").is_symlink());
    }

    #[test]
    fn a_link_that_leads_nowhere_yet_is_followed() {
        let folder = tempfile::tempdir().expect("folder");
        let path = |name: &str| folder.path().join(name);
        for (target, link) in
            [("file", "second"), ("second", "first"), ("missing/file", "lost"), ("new/", "slash")]
        {
            std::os::unix::fs::symlink(target, path(link)).expect("link");
        }
        let output = Output::prepare(&path("first"), 3).expect("writable");
        assert!(!path("file").exists(), "the trial leaves nothing");
        output.write(b"new").expect("written");
        assert_eq!(fs::read(path("file")).expect("read"), b"new");
        for link in ["first", "second"] {
            assert!(fs::symlink_metadata(path(link)).expect("link").is_symlink());
        }
        let lost = Output::prepare(&path("lost"), 3).expect_err("no folder");
        assert!(matches!(lost, OutputError::NoFolder { .. }), "{lost:?}");
        let slash = Output::prepare(&path("slash"), 3).expect_err("a folder's name");
        assert!(matches!(slash, OutputError::NamesFolder { .. }), "{slash:?}");
    }

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path();
        assert!(matches!(Output::prepare(path, 1), Err(OutputError::IsFolder { .. })));
        let slash = path.join("out/");
        assert!(matches!(Output::prepare(&slash, 1), Err(OutputError::NamesFolder { .. })));
        let missing = path.join("missing/out");
        assert!(matches!(Output::prepare(&missing, 1), Err(OutputError::NoFolder { .. })));
        let full = Output::prepare(Path::new("/dev/full"), 1).expect_err("full");
        assert!(matches!(full, OutputError::Io { .. }), "{full:?}");
        assert!(names(path).is_empty());
        Output::prepare(Path::new("/dev/null"), 1).expect("takes all").write(b"x").expect("gone");
        assert!(fs::metadata("/dev/null").expect("there").file_type().is_char_device());
    }
}
