//! Where `filecoin-proofs` keeps its files during our tests.
//!
//! Upstream reads its settings once, from `./rust-fil-proofs.config.toml` and then from
//! `FIL_PROOFS_*` variables. Its defaults lie in `/var/tmp`; tests must neither read nor fill that.

use std::path::Path;
use std::sync::OnceLock;

use storage_proofs_core::settings::SETTINGS;

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Points upstream at `parameters` for parameter files and at `target/tmp` for its caches.
///
/// Call it before anything of upstream, with one folder in a process. The working folder is
/// another for a moment, so paths in tests are absolute.
pub fn settle(parameters: &Path) {
    static READ: OnceLock<&str> = OnceLock::new();
    let read = READ.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let parents = target.join("filecoin-parents");
        let home = tempfile::tempdir_in(target).expect("target/tmp takes a folder");
        std::fs::write(
            home.path().join("rust-fil-proofs.config.toml"),
            format!("parent_cache = {parents:?}\nparameter_cache = {parameters:?}\n"),
        )
        .expect("the folder is ours");
        std::env::set_current_dir(home.path()).expect("the folder was just made");
        let read = SETTINGS.parameter_cache.as_str();
        std::env::set_current_dir(root()).expect("the repository's root exists");
        read
    });
    let help = "upstream reads parameters elsewhere; is FIL_PROOFS_PARAMETER_CACHE set?";
    assert_eq!(Path::new(read), parameters, "{help}");
}
