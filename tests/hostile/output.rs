//! Places where OUT cannot be written: exit code 1, found before the proof is made.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use super::case::Case;
use crate::common::files::fixture;
use crate::common::insecure::insecure_2kib;

/// All of them, with good parameters and a good C1.
pub fn cases() -> Vec<Case> {
    let params = insecure_2kib();
    let case = |name: &str, words: &str, says: &str| {
        let words = format!("--params {} {words}", params.display());
        Case::new(name, &words, 1, says).file("in.json", fixture("c1-2KiB.json"))
    };
    vec![
        case("OUT is a folder", "in.json folder", "folder").prepare(a_folder),
        case("OUT ends in a slash", "in.json out.proof/", "out.proof"),
        case("OUT's folder is missing", "in.json missing/out.proof", "missing"),
        case("OUT's folder is a file", "in.json in.json/out.proof", "in.json"),
        case("OUT's folder takes no files", "in.json /proc/self/out.proof", "out.proof"),
        case("OUT is a device", "in.json /dev/full", "/dev/full"),
        case("OUT is a socket", "in.json socket", "socket").prepare(|folder| {
            UnixListener::bind(folder.join("socket")).expect("the folder is ours");
        }),
        case("OUT is a link to itself", "in.json loop", "loop").prepare(|folder| {
            symlink("loop", folder.join("loop")).expect("the folder is ours");
        }),
        case("OUT is a link into a missing folder", "in.json lost", "missing").prepare(|folder| {
            symlink("missing/out.proof", folder.join("lost")).expect("the folder is ours");
        }),
        case("OUT's name is too long", &format!("in.json {}", "x".repeat(300)), "xxx"),
        case("--json is a folder", "--json folder in.json out.proof", "folder").prepare(a_folder),
        case("--json's folder is missing", "--json no/r.json in.json out.proof", "no/r.json"),
        case("--rss-log is a folder", "--rss-log folder in.json out.proof", "folder")
            .prepare(a_folder),
        case("--rss-log's folder is missing", "--rss-log no/r.csv in.json out.proof", "no/r.csv"),
        case("the C1 is missing", "missing.json out.proof", "missing.json"),
        case("the C1 is a folder", "folder out.proof", "folder").prepare(a_folder),
        case("the proof to verify is missing", "verify in.json missing.proof", "missing.proof"),
        case("the proof to verify is a folder", "verify in.json folder", "folder")
            .prepare(a_folder),
    ]
}

fn a_folder(folder: &Path) {
    fs::create_dir(folder.join("folder")).expect("the run's folder is ours");
}
