//! Tells the binary its git revision and compiles the kernels of `gpu/`.

use std::path::Path;
use std::process::Command;

#[path = "gpu/build.rs"]
mod cuda;

fn main() {
    cuda::build();
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src");
    // Every commit and checkout appends to this log.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    if let Some(path) = log.filter(|path| Path::new(path).exists()) {
        println!("cargo:rerun-if-changed={path}");
    }
    let revision = git(&["rev-parse", "--short=12", "HEAD"]).map(|revision| {
        let changed = git(&["status", "--porcelain", "--untracked-files=no"])
            .is_some_and(|status| !status.is_empty());
        if changed { format!("{revision}+") } else { revision }
    });
    let revision = revision.as_deref().unwrap_or("unknown");
    println!("cargo:rustc-env=PROVE_GIT_REVISION={revision}");
}

/// What git answers, or nothing where there is no git or no repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").env("GIT_OPTIONAL_LOCKS", "0").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
