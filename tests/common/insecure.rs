//! The real insecure parameters that whole runs need.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::binary::Prove;
use super::oracle::vk_name_2kib;

/// `target/insecure-params` with a 2 KiB set, made by `prove params setup` when it is missing.
///
/// The seed is that of `make demo` and of `testdata/upstream`: all three share one trapdoor.
/// Test binaries may ask at once: a lock on a file beside the folder lets one of them work.
pub fn insecure_2kib() -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("target");
    let folder = target.join("insecure-params");
    let lock = File::create(target.join("insecure-params.lock")).expect("target/ can be written");
    lock.lock().expect("target/ is on a file system with locks");
    if !folder.join(vk_name_2kib()).with_extension("params").exists() {
        let out = folder.to_str().expect("the repository's path is UTF-8");
        let setup = "params setup --insecure --sector-size 2KiB --seed 1 --out";
        let setup = setup.split(' ').chain([out]);
        let run = Prove::new(&target, setup).run(Duration::from_secs(600));
        assert_eq!(run.code, 0, "{run:#?}");
    }
    folder
}
