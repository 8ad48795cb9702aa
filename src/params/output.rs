//! Files that appear complete or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::temporary::TemporaryFile;

/// A file under a temporary name beside its target; removed when dropped before [`commit`].
#[derive(Debug)]
pub struct PendingFile {
    file: File,
    temporary: TemporaryFile,
    target: PathBuf,
}

impl PendingFile {
    /// Opens a temporary file beside `target`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(target: &Path) -> io::Result<Self> {
        let temporary = TemporaryFile::beside(target);
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).open(temporary.path())?;
        Ok(Self { file, temporary, target: target.to_path_buf() })
    }

    /// Writes `bytes` at `offset`; from any thread, in any order.
    ///
    /// # Errors
    /// What the file system answers, such as a full disk.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    /// Makes the contents durable; the file keeps its temporary name.
    ///
    /// # Errors
    /// What the file system answers.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.sync_all()
    }

    /// The name that the file will have.
    pub fn target(&self) -> &Path {
        &self.target
    }
}

/// Syncs all `files`, then gives them their names, in order; on failure none of them stays.
///
/// # Errors
/// The path that failed and what the file system answered.
pub fn commit(mut files: Vec<PendingFile>) -> Result<(), (PathBuf, io::Error)> {
    for file in &mut files {
        file.sync().map_err(|error| (file.target.clone(), error))?;
    }
    let mut named: Vec<PathBuf> = Vec::new();
    for PendingFile { temporary, target, .. } in files {
        if let Err(error) = temporary.commit(&target) {
            for path in named {
                let _ = fs::remove_file(path);
            }
            return Err((target, error));
        }
        named.push(target);
    }
    match named.first().and_then(|target| target.parent()) {
        Some(folder) => sync_folder(folder).map_err(|error| (folder.to_path_buf(), error)),
        None => Ok(()),
    }
}

/// Makes new names in `folder` durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}
