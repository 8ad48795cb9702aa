//! One file named for two things, of which one would be written: exit code 2, nothing touched.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::case::Case;
use crate::common::files::fixture;

/// All of them; the last two name nothing twice that could be lost and fail later.
pub fn cases() -> Vec<Case> {
    let case = |words: &str, code: i32, says: &str| {
        Case::new(&format!("`{words}`"), words, code, says)
            .file("in.json", fixture("c1-2KiB.json"))
            .file("old.proof", "an older proof")
            .prepare(links)
    };
    let same = |words: &str, says: &str| case(words, 2, &format!("{says} are the same file"));
    vec![
        same("in.json in.json", "C1 and OUT"),
        same("in.json ./in.json", "C1 and OUT"),
        same("in.json soft", "C1 and OUT"),
        same("soft in.json", "C1 and OUT"),
        same("in.json hard", "C1 and OUT"),
        same("in.json folder/../in.json", "C1 and OUT"),
        same("in.json out.proof --json in.json", "C1 and --json"),
        same("in.json out.proof --rss-log in.json", "C1 and --rss-log"),
        same("in.json out.proof --rss-log soft", "C1 and --rss-log"),
        same("in.json out.proof --trace in.json", "C1 and --trace"),
        same("in.json out.proof --json t --trace t", "--json and --trace"),
        same("in.json out.proof --rss-log hard", "C1 and --rss-log"),
        same("--rss-log folder/../in.json in.json -", "C1 and --rss-log"),
        same("in.json out.proof --json out.proof", "OUT and --json"),
        same("in.json out.proof --rss-log ./out.proof", "OUT and --rss-log"),
        same("in.json out.proof --rss-log dangling", "OUT and --rss-log"),
        same("in.json old.proof --rss-log old.proof", "OUT and --rss-log"),
        same("in.json out.proof --json log --rss-log folder/../log", "--json and --rss-log"),
        same("- old.proof --json old.proof", "OUT and --json"),
        same("verify in.json old.proof --json old.proof", "PROOF and --json"),
        same("verify in.json old.proof --rss-log old.proof", "PROOF and --rss-log"),
        same("verify in.json - --rss-log in.json", "C1 and --rss-log"),
        same("sample --sector-size 2KiB --out new.json --json new.json", "OUT and --json"),
        same("sample --sector-size 2KiB --out old.proof --rss-log old.proof", "OUT and --rss-log"),
        same("bench prove in.json --rss-log in.json", "C1 and --rss-log"),
        same("bench synth in.json --json in.json", "C1 and --json"),
        same("bench rows in.json --json soft", "C1 and --json"),
        same("params list --json log --rss-log log", "--json and --rss-log"),
        case("no.json /dev/null --json /dev/null --rss-log /dev/null", 1, "no.json"),
        case("verify in.json in.json", 8, "in.json"),
    ]
}

fn links(folder: &Path) {
    fs::create_dir(folder.join("folder")).expect("the run's folder is ours");
    symlink("in.json", folder.join("soft")).expect("the run's folder is ours");
    symlink("out.proof", folder.join("dangling")).expect("the run's folder is ours");
    fs::hard_link(folder.join("in.json"), folder.join("hard")).expect("the run's folder is ours");
}
