//! Files that appear complete or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::output::folder_of;
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
        let (file, temporary) = TemporaryFile::create(target)?;
        Ok(Self { file, temporary, target: target.to_path_buf() })
    }

    /// Writes `bytes` at `offset`; from any thread, in any order.
    ///
    /// # Errors
    /// What the file system answers, such as a full disk.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    /// Makes the file `bytes` long; what is not written reads as zeros.
    ///
    /// # Errors
    /// What the file system answers.
    pub fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
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
    sync(&mut files)?;
    rename(files)
}

/// Makes the contents of all `files` durable.
///
/// # Errors
/// The path that failed and what the file system answered.
pub fn sync(files: &mut [PendingFile]) -> Result<(), (PathBuf, io::Error)> {
    files.iter_mut().try_for_each(|file| file.sync().map_err(|error| (file.target.clone(), error)))
}

/// Gives synced `files` their names, in order; on failure none of them stays.
///
/// # Errors
/// The path that failed and what the file system answered.
pub fn rename(files: Vec<PendingFile>) -> Result<(), (PathBuf, io::Error)> {
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
    if let Some(target) = named.first() {
        // The new names reach the disk with the folder; not every file system can do this.
        let _ = File::open(folder_of(target)).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_cannot_be_given_takes_the_others_with_it() {
        let folder = tempfile::tempdir().expect("folder");
        let taken = folder.path().join("taken");
        fs::create_dir(&taken).expect("the folder is ours");
        let files = [folder.path().join("first"), taken.clone(), folder.path().join("last")]
            .map(|target| PendingFile::create(&target).expect("made"));
        let (path, _) = commit(files.into()).expect_err("a folder has that name");
        assert_eq!(path, taken);
        let left: Vec<_> = fs::read_dir(folder.path())
            .expect("folder")
            .map(|entry| entry.expect("entry").path())
            .collect();
        assert_eq!(left, [taken]);
    }
}
