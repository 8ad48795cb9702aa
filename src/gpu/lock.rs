//! One process a GPU: an advisory lock on a file that all users share.
//!
//! In: a folder, the device's UUID. Out: a [`GpuLock`], or who holds it. The lock is `flock`'s, so
//! the kernel releases it when the process ends, however it ends; the file stays, with the id of
//! its last holder in it. Locks of other provers (`BELLMAN_GPU_LOCK`, `/tmp/bellman.*.lock`) are
//! not looked at.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The folder of the lock files: every user may write to it.
pub const LOCK_FOLDER: &str = "/tmp";

/// Every user may take the lock.
const MODE: u32 = 0o666;

/// A GPU that belongs to this process until this is dropped.
#[derive(Debug)]
pub struct GpuLock {
    /// Holds the lock while it is open.
    _file: File,
}

/// A lock was not taken.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another process has it.
    #[error("in use by {}", holder_text(*.holder))]
    Held {
        /// The id of the process, when its file says so.
        holder: Option<u32>,
    },
    /// The lock file cannot be used.
    #[error("cannot lock `{}`\nhint: the file must be a plain one that every user may write", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

fn holder_text(holder: Option<u32>) -> String {
    holder.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"))
}

impl GpuLock {
    /// Takes the lock of the GPU called `uuid`, if nobody has it.
    ///
    /// # Errors
    /// When another process has it, or its file in `folder` cannot be used.
    pub fn try_acquire(folder: &Path, uuid: &str) -> Result<Self, LockError> {
        let path = folder.join(format!("prove-gpu-{uuid}.lock"));
        let failed = |source| LockError::File { path: path.clone(), source };
        loop {
            let mut file = open(&path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(LockError::Held { holder: read_holder(&mut file) });
                }
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
            // Someone may have removed the file between `open` and the lock: then another process
            // locks another file of this name.
            if is_still_named(&file, &path) {
                write_holder(&mut file).map_err(failed)?;
                return Ok(Self { _file: file });
            }
        }
    }
}

/// Opens the lock file, or makes it. Neither follows a symbolic link nor waits for a pipe.
///
/// An existing file is opened without `O_CREAT`: in a sticky folder the kernel may refuse that for
/// files of other users (`fs.protected_regular`).
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = loop {
        match options.open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            opened => break opened?,
        }
        match options.clone().create_new(true).mode(MODE).open(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => {
                // The process's mask may have narrowed it.
                file.set_permissions(Permissions::from_mode(MODE))?;
                break file;
            }
        }
    };
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(ErrorKind::InvalidInput, "not a plain file"))
    }
}

fn is_still_named(file: &File, path: &Path) -> bool {
    let identity = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    let named = std::fs::symlink_metadata(path).map(identity);
    matches!((named, file.metadata().map(identity)), (Ok(named), Ok(locked)) if named == locked)
}

fn write_holder(file: &mut File) -> io::Result<()> {
    file.rewind()?;
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())
}

/// The process that the file names; nothing when its holder has not written yet.
fn read_holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::{Child, Command, Stdio};

    use super::*;

    const UUID: &str = "GPU-00000000-test";

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a temporary folder")
    }

    fn path(folder: &Path) -> PathBuf {
        folder.join(format!("prove-gpu-{UUID}.lock"))
    }

    /// Another process that holds the lock, as this program would, until it is killed.
    fn other_holder(folder: &Path) -> Child {
        let script = "flock -x 9; echo $$ >&9; echo locked; exec sleep 600";
        let mut child = Command::new("bash")
            .args(["-c", &format!("exec 9<>{}; {script}", path(folder).display())])
            .stdout(Stdio::piped())
            .spawn()
            .expect("bash and util-linux are there");
        let mut said = [0; 7];
        child.stdout.as_mut().expect("piped").read_exact(&mut said).expect("it says that it locks");
        assert_eq!(&said, b"locked\n");
        child
    }

    #[test]
    fn one_process_has_a_gpu_and_its_id_is_told() {
        let folder = folder();
        let held = GpuLock::try_acquire(folder.path(), UUID).expect("free");
        match GpuLock::try_acquire(folder.path(), UUID) {
            Err(LockError::Held { holder }) => assert_eq!(holder, Some(std::process::id())),
            other => panic!("{other:?}"),
        }
        GpuLock::try_acquire(folder.path(), "GPU-another").expect("another GPU is free");
        drop(held);
        GpuLock::try_acquire(folder.path(), UUID).expect("free again");
        let mode = fs::metadata(path(folder.path())).expect("the file stays").mode();
        assert_eq!(mode & 0o777, MODE);
    }

    #[test]
    fn the_lock_of_a_killed_process_is_free() {
        let folder = folder();
        let mut child = other_holder(folder.path());
        let error = GpuLock::try_acquire(folder.path(), UUID).expect_err("held");
        assert_eq!(error.to_string(), format!("in use by process {}", child.id()));
        // SIGKILL.
        child.kill().expect("ours");
        child.wait().expect("ours");
        GpuLock::try_acquire(folder.path(), UUID).expect("the kernel released it");
        let holder = fs::read_to_string(path(folder.path())).expect("readable");
        assert_eq!(holder, format!("{}\n", std::process::id()));
    }

    #[test]
    fn links_pipes_and_folders_are_refused() {
        let folder = folder();
        let target = folder.path().join("precious");
        fs::write(&target, "data").expect("ours");
        let path = path(folder.path());
        let refused = |name: &str| {
            let result = GpuLock::try_acquire(folder.path(), UUID);
            assert!(matches!(result, Err(LockError::File { .. })), "{name}: {result:?}");
        };
        std::os::unix::fs::symlink(&target, &path).expect("ours");
        refused("a link");
        fs::remove_file(&path).expect("ours");
        fs::create_dir(&path).expect("ours");
        refused("a folder");
        fs::remove_dir(&path).expect("ours");
        assert!(Command::new("mkfifo").arg(&path).status().expect("coreutils").success());
        refused("a pipe");
        assert_eq!(fs::read_to_string(&target).expect("ours"), "data");
    }

    #[test]
    fn a_holder_that_wrote_nothing_yet_is_another_process() {
        let folder = folder();
        let file = File::create(path(folder.path())).expect("ours");
        file.lock().expect("free");
        let error = GpuLock::try_acquire(folder.path(), UUID).expect_err("held");
        assert_eq!(error.to_string(), "in use by another process");
    }
}
