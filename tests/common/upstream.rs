//! Where `filecoin-proofs` keeps its files during our tests.
//!
//! Upstream reads its settings once, from `./rust-fil-proofs.config.toml` and then from
//! `FIL_PROOFS_*` variables. Its defaults lie in `/var/tmp`; tests must neither read nor fill that.

use std::path::{Path, PathBuf};
use std::sync::Once;

use storage_proofs_core::settings::SETTINGS;

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder that upstream takes parameter files from, once [`settle`] was called.
pub fn parameter_folder() -> PathBuf {
    root().join("target/insecure-params")
}

/// Points upstream at folders inside `target/`; call it before anything of upstream.
///
/// Changes the working folder of the process, so paths in tests start from [`root`].
pub fn settle() {
    static SETTLED: Once = Once::new();
    SETTLED.call_once(|| {
        let home =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("upstream-{}", std::process::id()));
        std::fs::create_dir_all(&home).expect("a folder under target/tmp can be made");
        let parents = Path::new(env!("CARGO_TARGET_TMPDIR")).join("filecoin-parents");
        let parameters = parameter_folder();
        std::fs::write(
            home.join("rust-fil-proofs.config.toml"),
            format!("parent_cache = {parents:?}\nparameter_cache = {parameters:?}\n"),
        )
        .expect("a file under target/tmp can be written");
        std::env::set_current_dir(&home).expect("the folder was just made");
        assert_eq!(
            Path::new(&SETTINGS.parameter_cache),
            parameters,
            "unset FIL_PROOFS_PARAMETER_CACHE: upstream would not use the test parameters"
        );
        std::fs::remove_dir_all(&home).expect("the folder is ours");
        std::env::set_current_dir(root()).expect("the repository's root exists");
    });
}
