//! Temporary files that do not outlive the process, however it ends short of a kill.
//!
//! They are registered while they exist; the registry is process-wide, as signals are. It also
//! settles who wins when a result is delivered just as a signal arrives.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { paths: BTreeSet::new(), delivering: false });

/// What exists under temporary names now.
#[derive(Debug)]
pub struct Registry {
    paths: BTreeSet<PathBuf>,
    delivering: bool,
}

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says that the run's result is being delivered: from now on it ends by itself, very soon.
pub fn begin_delivery() {
    registry().delivering = true;
}

/// Removes every temporary file, for a process that is about to end: while the answer is held, no
/// file is begun or committed and no delivery begins. `None`, once, when a delivery has begun: then
/// the run should be let end by itself.
#[must_use = "files can be begun again as soon as this is dropped"]
pub fn abandon() -> Option<MutexGuard<'static, Registry>> {
    let mut registry = registry();
    if std::mem::take(&mut registry.delivering) {
        return None;
    }
    for path in &registry.paths {
        // A file that cannot be removed cannot be helped.
        let _ = fs::remove_file(path);
    }
    Some(registry)
}

/// A file that is removed when this is dropped, or when the process is told to end, unless it was
/// renamed into place before.
#[derive(Debug)]
pub struct TemporaryFile {
    path: PathBuf,
}

impl TemporaryFile {
    /// Registers a temporary name in the folder of `target`, before the file is made. The name is
    /// short, as that of `target` may be the longest that the file system takes.
    pub fn beside(target: &Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = target.with_file_name(format!(".prove.{}.{count}.tmp", std::process::id()));
        registry().paths.insert(path.clone());
        Self { path }
    }

    /// Where the file lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the file to `target`. A signal comes either before or after, never between.
    ///
    /// # Errors
    /// When the rename fails; the temporary file is removed then.
    pub fn commit(self, target: &Path) -> io::Result<()> {
        let mut registry = registry();
        fs::rename(&self.path, target)?;
        registry.paths.remove(&self.path);
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if registry().paths.remove(&self.path) {
            // Nothing depends on it any more, and there is no one to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_file_lives_until_it_is_dropped_or_committed() {
        let folder = tempfile::tempdir().expect("folder");
        let target = folder.path().join("out");
        let file = TemporaryFile::beside(&target);
        let temporary = file.path().to_owned();
        fs::write(&temporary, "half").expect("write");
        drop(file);
        assert!(!temporary.exists() && !target.exists());

        let file = TemporaryFile::beside(&target);
        fs::write(file.path(), "whole").expect("write");
        file.commit(&target).expect("rename");
        assert!(!temporary.exists());
        assert_eq!(fs::read(&target).expect("read"), b"whole");

        let file = TemporaryFile::beside(&target);
        fs::write(file.path(), "other").expect("write");
        file.commit(&folder.path().join("no/folder")).expect_err("no such folder");
        assert!(!temporary.exists(), "a failed rename leaves nothing");
        assert_eq!(fs::read(&target).expect("read"), b"whole");
    }
}
