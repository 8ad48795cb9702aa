//! What this binary was built from.

/// Version, git revision and GPU support, as `--version` prints them.
pub const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (git ",
    env!("PROVE_GIT_REVISION"),
    ", ",
    env!("PROVE_GPU_SUPPORT"),
    ")"
);
/// The package's version.
pub const PACKAGE_VERSION: &str = env!("CARGO_PKG_VERSION");
/// The git revision, with `+` when the tree had changes, or `unknown`.
pub const GIT_REVISION: &str = env!("PROVE_GIT_REVISION");
