//! The C1 files of `testdata/`: sealed again and compared with what is committed.
//!
//! `make testdata` writes them anew; plain `cargo test` only compares, so every fixture has a
//! known origin and a change of upstream's sealing or JSON shows at once.

mod common {
    pub mod sealer;
    pub mod shapes;
    pub mod upstream;
}

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use common::sealer::Recipe;
use common::shapes::Shape;
use common::upstream;
use filecoin_proofs_api::RegisteredSealProof::{self, *};
use sha2::{Digest, Sha256};

/// Set to anything, the files are written instead of compared.
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

| file | registered proof | shape | bytes | sha256 |
|---|---|---|---|---|
";

#[test]
fn committed_c1_files_are_what_the_sealer_gives() {
    upstream::settle();
    let folder = upstream::root().join("testdata");
    let mut files: Vec<(PathBuf, String)> = vec![];
    let mut readme = README_HEAD.to_owned();
    for (proof, outputs) in SECTORS {
        let recipe = Recipe::as_lotus_bench(proof);
        let c1 = recipe.seal().unwrap_or_else(|error| panic!("seal {proof:?}: {error:#}"));
        for &(name, shape) in outputs {
            let text = shape.write(&recipe, &c1).expect("a C1 output serialises");
            let digest = hex::encode(Sha256::digest(&text));
            let bytes = text.len();
            writeln!(readme, "| {name} | {proof:?} | {shape:?} | {bytes} | `{digest}` |")
                .expect("a String takes any text");
            files.push((folder.join(name), text));
        }
    }
    files.push((folder.join("README.md"), readme));
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
