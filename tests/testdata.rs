//! The C1 files of `testdata/`: sealed again and compared with what is committed.
//!
//! `make testdata` writes them anew; plain `cargo test` only compares, so every fixture has a
//! known origin and a change of upstream's sealing or JSON shows at once.

mod common;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use common::sealer::Recipe;
use common::shapes::Shape;
use common::upstream::{self, root};
use filecoin_proofs_api::RegisteredSealProof::{self, *};
use sha2::{Digest, Sha256};

/// Set to anything, the C1 files and the README are written instead of compared.
const UPDATE: &str = "UPDATE_TESTDATA";

/// One sector each, and the files that its C1 output is kept in.
const SECTORS: [(RegisteredSealProof, &[(&str, Shape)]); 5] = [
    (
        StackedDrg2KiBV1_1,
        &[
            ("c1-2KiB.json", Shape::S1),
            ("c1-2KiB-s2.json", Shape::S2),
            ("c1-2KiB-s3.json", Shape::S3),
            ("c1-2KiB-s4.json", Shape::S4),
            ("c1-2KiB-s6.json", Shape::S6),
        ],
    ),
    (StackedDrg2KiBV1, &[("c1-2KiB-v1.json", Shape::S3)]),
    (StackedDrg2KiBV1_1_Feat_SyntheticPoRep, &[("c1-2KiB-synthetic.json", Shape::S1)]),
    (StackedDrg2KiBV1_2_Feat_NonInteractivePoRep, &[("c1-2KiB-ni.json", Shape::S3)]),
    (StackedDrg8MiBV1_1, &[("c1-8MiB.json", Shape::S1)]),
];

const README_HEAD: &str = "\
# Test data

Commit-phase-1 outputs of real sectors, sealed by `filecoin-proofs-api` 19.1 on this project's
machines (`tests/common/sealer.rs`). `make testdata` makes every C1 file and this page again, byte
for byte; `make test` seals the sectors anew and compares.

All sectors: miner t01000 (prover id `e807`, zero-padded), sector number 1, ticket and seed 32 bytes
of `01`, as lotus-bench writes; the default porep id of the registered proof; data from ChaCha8 with
seed 1. Shapes S1 to S6 are those of lotus-bench (S1), Swan ubi-bench (S2), Lotus and Curio's
`ffi.SealCommitPhase1` (S3), Curio Snark Market (S4) and Damocles (S6).

`upstream/` has proofs that upstream's prover (bellperson 0.27) made of them, and the verifying key
that they verify under: that of `prove params setup --insecure --sector-size 2KiB --seed 1`.
`make testdata-proof NAME=c1-2KiB` makes one again; proofs are random, so it differs every time.

| file | registered proof | shape | bytes | sha256 |
|---|---|---|---|---|
";

#[test]
fn committed_c1_files_are_what_the_sealer_gives() {
    let folder = root().join("testdata");
    upstream::settle(&folder.join("upstream"));
    let mut files: Vec<(PathBuf, String)> = vec![];
    let mut rows = vec![];
    for (proof, outputs) in SECTORS {
        let recipe = Recipe::as_lotus_bench(proof);
        let c1 = recipe.seal().unwrap_or_else(|error| panic!("seal {proof:?}: {error:#}"));
        for &(name, shape) in outputs {
            let text = shape.write(&recipe, &c1).expect("a C1 output serialises");
            rows.push((name.to_owned(), format!("{proof:?} | {shape:?}"), text.clone().into()));
            files.push((folder.join(name), text));
        }
    }
    rows.extend(upstream_rows(&folder.join("upstream")));
    files.push((folder.join("README.md"), readme(&rows)));
    for (path, text) in files {
        if std::env::var_os(UPDATE).is_some() {
            fs::write(&path, text).expect("testdata/ can be written");
            continue;
        }
        let committed =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        // No assert_eq: it would print megabytes.
        assert!(committed == text, "{} differs: see `make testdata`", path.display());
    }
}

/// The proofs that upstream made, and their verifying key.
fn upstream_rows(folder: &Path) -> Vec<(String, String, Vec<u8>)> {
    let names = fs::read_dir(folder).expect("a folder of the repository");
    let mut rows: Vec<_> = names
        .map(|entry| {
            let path = entry.expect("a folder of the repository").path();
            let name = path.strip_prefix(root().join("testdata")).expect("inside").display();
            (name.to_string(), " | ".to_owned(), fs::read(&path).expect("a file of ours"))
        })
        .collect();
    rows.sort();
    rows
}

fn readme(rows: &[(String, String, Vec<u8>)]) -> String {
    let mut page = README_HEAD.to_owned();
    for (name, kind, bytes) in rows {
        let digest = hex::encode(Sha256::digest(bytes));
        writeln!(page, "| {name} | {kind} | {} | `{digest}` |", bytes.len())
            .expect("a String takes any text");
    }
    page
}
