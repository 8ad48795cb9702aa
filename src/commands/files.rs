//! The files that a command line names: none that is written may be another one too.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::cli::{BenchCommand, Cli, Command, is_dash};
use crate::exit::SameFile;
use crate::output::folder_of;

/// What a path on the command line is for.
struct Named {
    role: &'static str,
    path: PathBuf,
    written: bool,
}

/// Where a path leads.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// To a file, whatever it is called: links of both kinds are seen through.
    File { device: u64, inode: u64 },
    /// To a name that is free, in a folder with all links resolved.
    Free(PathBuf),
}

/// Refuses a command line that names one file twice, unless both are only read. Standard streams,
/// devices and pipes may be named as often as wanted.
///
/// # Errors
/// The first two things that are one file.
pub(super) fn check_distinct(cli: &Cli) -> Result<(), SameFile> {
    // A batch may name a hundred thousand.
    let mut seen: BTreeMap<Place, Named> = BTreeMap::new();
    for named in named_files(cli) {
        let Some(place) = place(&named.path) else { continue };
        match seen.entry(place) {
            Entry::Vacant(free) => {
                free.insert(named);
            }
            Entry::Occupied(taken) => {
                let other = taken.get();
                if other.written || named.written {
                    return Err(SameFile { roles: [other.role, named.role], path: named.path });
                }
            }
        }
    }
    Ok(())
}

fn named_files(cli: &Cli) -> impl Iterator<Item = Named> {
    let (c1, proof, out) = match &cli.command {
        None => (cli.c1.as_ref(), None, cli.out.as_ref()),
        Some(Command::Verify { c1, proof }) => (Some(c1), Some(proof), None),
        Some(Command::Sample(args)) => (None, None, Some(&args.out)),
        Some(Command::Bench(
            BenchCommand::Synth { c1, .. }
            | BenchCommand::Rows { c1, .. }
            | BenchCommand::Prove { c1, .. },
        )) => (Some(c1), None, None),
        Some(_) => (None, None, None),
    };
    let batch = match &cli.command {
        Some(Command::Batch(args)) => args.tasks(),
        _ => Vec::new(),
    };
    let batch = batch.into_iter().flat_map(|(c1, proof)| {
        [
            Named { role: "C1", path: c1, written: false },
            Named { role: "OUT", path: proof, written: true },
        ]
    });
    [
        ("C1", c1, false),
        ("PROOF", proof, false),
        ("OUT", out, true),
        ("--json", cli.shared.json.as_ref(), true),
        ("--rss-log", cli.shared.rss_log.as_ref(), true),
        ("--trace", cli.shared.trace.as_ref(), true),
    ]
    .into_iter()
    .filter_map(|(role, path, written)| {
        path.map(|path| Named { role, path: path.clone(), written })
    })
    .chain(batch)
}

/// Where `path` leads; nothing for streams, devices, folders, and what cannot be reached: those
/// are judged where they are opened.
fn place(path: &Path) -> Option<Place> {
    if is_dash(path) {
        return None;
    }
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() => Some(Place::File { device: meta.dev(), inode: meta.ino() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = folder_of(path);
            match fs::read_link(path) {
                // The link is no part of a loop: that would be another error.
                Ok(target) => place(&folder.join(target)),
                Err(_) => {
                    let folder = fs::canonicalize(folder).ok()?;
                    Some(Place::Free(folder.join(path.file_name()?)))
                }
            }
        }
        _ => None,
    }
}
