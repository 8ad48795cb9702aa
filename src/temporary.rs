//! Temporary files that do not outlive the process, however it ends short of a kill.
//!
//! They are registered while they exist; the registry is process-wide, as signals are. It also
//! settles who wins when a result is delivered just as a signal arrives.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static REGISTRY: Mutex<Registry> = Mutex::new(Registry::new());

/// How far the run's result is on its way to where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Nothing of it is there.
    Ahead,
    /// It is being put there: all of it may be there, or a part, or nothing.
    UnderWay,
    /// All of it is there.
    Done,
}

/// What exists under temporary names now, and how far the result is.
#[derive(Debug)]
pub struct Registry {
    paths: BTreeSet<PathBuf>,
    delivery: Delivery,
    /// Results that were delivered before the one that `delivery` is about.
    delivered: usize,
    /// Whether a delivery was already let go on once.
    spared: bool,
}

impl Registry {
    const fn new() -> Self {
        Self { paths: BTreeSet::new(), delivery: Delivery::Ahead, delivered: 0, spared: false }
    }

    /// How far the result is.
    pub const fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// Results that were delivered before that one.
    pub const fn delivered(&self) -> usize {
        self.delivered
    }

    /// Removes every temporary file; `false`, once, when a delivery has begun.
    fn abandon(&mut self) -> bool {
        if self.delivery != Delivery::Ahead && !std::mem::replace(&mut self.spared, true) {
            return false;
        }
        for path in &self.paths {
            // A file that cannot be removed cannot be helped.
            let _ = fs::remove_file(path);
        }
        true
    }
}

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts the run's result where it belongs with `write`: once that has begun, the run ends by
/// itself, very soon.
///
/// # Errors
/// Those of `write`.
pub fn deliver<T, E>(write: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    registry().delivery = Delivery::UnderWay;
    let written = write()?;
    registry().delivery = Delivery::Done;
    Ok(written)
}

/// How far the run's result is, now.
pub fn delivery() -> Delivery {
    registry().delivery
}

/// After a result was delivered, or could not be, another one is ahead; see
/// [`crate::stop::expect_another`].
pub(crate) fn expect_another() {
    let mut registry = registry();
    registry.delivered += usize::from(registry.delivery == Delivery::Done);
    registry.delivery = Delivery::Ahead;
    registry.spared = false;
}

/// Removes every temporary file, for a process that is about to end: while the answer is held, no
/// file is begun or committed and no delivery begins or ends. `None`, once, when a delivery has
/// begun: then the run should be let end by itself.
#[must_use = "files can be begun again as soon as this is dropped"]
pub fn abandon() -> Option<MutexGuard<'static, Registry>> {
    let mut registry = registry();
    registry.abandon().then_some(registry)
}

/// A file that is removed when this is dropped, or when the process is told to end, unless it was
/// renamed into place before.
#[derive(Debug)]
pub struct TemporaryFile {
    path: PathBuf,
}

impl TemporaryFile {
    /// Makes an empty file in the folder of `target`. Its name is short, as that of `target` may be
    /// the longest that the file system takes. Its permissions are those of `target`, if that
    /// exists. A signal comes either before or after, never between.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(target: &Path) -> io::Result<(File, Self)> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = target.with_file_name(format!(".prove.{}.{count}.tmp", std::process::id()));
        let replaced = fs::metadata(target).ok().map(|meta| meta.permissions());
        let mode = if replaced.is_some() { 0o600 } else { 0o666 };
        let mut registry = registry();
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(true).mode(mode).open(&path)?;
        registry.paths.insert(path.clone());
        drop(registry);
        let temporary = Self { path };
        if let Some(permissions) = replaced {
            file.set_permissions(permissions)?;
        }
        Ok((file, temporary))
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
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A temporary file that holds `content`.
    fn temporary(target: &Path, content: &str) -> TemporaryFile {
        let (mut file, temporary) = TemporaryFile::create(target).expect("made");
        file.write_all(content.as_bytes()).expect("written");
        temporary
    }

    #[test]
    fn a_temporary_file_lives_until_it_is_dropped_or_committed() {
        let folder = tempfile::tempdir().expect("folder");
        let target = folder.path().join("out");
        let file = temporary(&target, "half");
        let path = file.path.clone();
        assert!(path.exists() && registry().paths.contains(&path));
        drop(file);
        assert!(!path.exists() && !target.exists() && !registry().paths.contains(&path));

        let file = temporary(&target, "whole");
        let path = file.path.clone();
        file.commit(&target).expect("rename");
        assert!(!path.exists());
        assert_eq!(fs::read(&target).expect("read"), b"whole");

        let file = temporary(&target, "other");
        let path = file.path.clone();
        file.commit(&folder.path().join("no/folder")).expect_err("no such folder");
        assert!(!path.exists(), "a failed rename leaves nothing");
        assert_eq!(fs::read(&target).expect("read"), b"whole");
    }

    #[test]
    fn a_replaced_file_keeps_its_permissions() {
        let folder = tempfile::tempdir().expect("folder");
        let target = folder.path().join("out");
        fs::write(&target, "old").expect("written");
        for mode in [0o600, 0o640, 0o666, 0o400] {
            fs::set_permissions(&target, fs::Permissions::from_mode(mode)).expect("ours");
            temporary(&target, "new").commit(&target).expect("rename");
            let replaced = fs::metadata(&target).expect("there").permissions();
            assert_eq!(replaced.mode() & 0o7777, mode);
        }
    }

    #[test]
    fn a_file_that_cannot_be_made_is_not_registered() {
        let folder = tempfile::tempdir().expect("folder");
        let missing = folder.path().join("missing");
        TemporaryFile::create(&missing.join("out")).expect_err("no such folder");
        assert!(!registry().paths.iter().any(|path| path.starts_with(&missing)));
    }

    #[test]
    fn a_delivery_is_let_go_on_once_and_its_state_is_kept() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("temporary");
        for (delivery, spared_first) in
            [(Delivery::Ahead, false), (Delivery::UnderWay, true), (Delivery::Done, true)]
        {
            fs::write(&path, "half").expect("written");
            let mut registry = Registry { delivery, ..Registry::new() };
            registry.paths.insert(path.clone());
            assert_eq!(registry.abandon(), !spared_first, "{delivery:?}");
            assert_eq!(path.exists(), spared_first, "{delivery:?}");
            assert!(registry.abandon(), "{delivery:?}: the second time ends the run");
            assert!(!path.exists());
            assert_eq!(registry.delivery(), delivery);
        }
    }

    #[test]
    fn one_signal_is_spared_even_when_the_delivery_ends_in_between() {
        let mut registry = Registry { delivery: Delivery::UnderWay, ..Registry::new() };
        assert!(!registry.abandon());
        registry.delivery = Delivery::Done;
        assert!(registry.abandon());
        assert_eq!(registry.delivery(), Delivery::Done);
    }
}
