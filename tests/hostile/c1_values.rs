//! The demo sector's C1 with one value changed: exit code 3, and a message that names the place.

use serde_json::{Value, json};

use super::case::Case;
use super::edit::Edit::{self, *};
use crate::common::files::fixture;
use crate::common::insecure::insecure_2kib;

/// Name, what the message must contain, place, change.
type Row = (&'static str, &'static str, &'static str, Edit);

/// All of them.
pub fn cases() -> Vec<Case> {
    let quick = "--params none in.json out.proof";
    let params = insecure_2kib();
    let hashing = format!("--check-vanilla --params {} in.json out.proof", params.display());
    let challenge = "/vanilla_proofs/StackedDrg2KiBV1/0/1";
    let mut cases: Vec<Case> =
        of_the_sector().into_iter().map(|row| case(quick, "", row)).collect();
    cases.extend(of_a_challenge().into_iter().map(|row| case(quick, challenge, row)));
    cases.extend(of_a_hash().into_iter().map(|row| case(&hashing, challenge, row)));
    cases.push(case(&hashing, "", ("another comm_r", "comm_r", "/comm_r/0", Flip)));
    cases
}

fn case(words: &str, folder: &str, (name, says, place, edit): Row) -> Case {
    let mut c1: Value = serde_json::from_slice(&fixture("c1-2KiB-s3.json")).expect("JSON");
    edit.apply(&mut c1, &format!("{folder}{place}"));
    Case::new(name, words, 3, says).file("in.json", c1.to_string())
}

/// Values of the whole sector.
fn of_the_sector() -> Vec<Row> {
    const PROOF: &str = "/registered_proof";
    const TAG: &str = "/vanilla_proofs/StackedDrg2KiBV1";
    const PARTITION: &str = "/vanilla_proofs/StackedDrg2KiBV1/0";
    let zeros = || Set(json!(vec![0; 32]));
    let synthetic = "StackedDrg2KiBV1_1_Feat_SyntheticPoRep";
    let non_interactive = "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep";
    vec![
        ("8 MiB proof, 2 KiB tag", "StackedDrg8MiB", PROOF, Set(json!("StackedDrg8MiBV1_1"))),
        ("32 GiB proof", "StackedDrg32GiB", PROOF, Set(json!("StackedDrg32GiBV1_1"))),
        ("unknown proof", "StackedDrg3KiBV1", PROOF, Set(json!("StackedDrg3KiBV1"))),
        ("pre-mainnet proof", "pre-mainnet", PROOF, Set(json!("StackedDrg1KiBV1"))),
        ("proof as a number", "registered_proof", PROOF, Set(json!(5))),
        ("V1 proof of a V1_1 sector", "parent", PROOF, Set(json!("StackedDrg2KiBV1"))),
        ("synthetic proof of a V1_1 sector", "challenge", PROOF, Set(json!(synthetic))),
        ("non-interactive proof of it", "partitions", PROOF, Set(json!(non_interactive))),
        ("no proof", "registered_proof", PROOF, Remove),
        ("no vanilla proofs", "vanilla_proofs", "/vanilla_proofs", Remove),
        ("no comm_r", "comm_r", "/comm_r", Remove),
        ("no comm_d", "comm_d", "/comm_d", Remove),
        ("no replica_id", "replica_id", "/replica_id", Remove),
        ("no seed", "seed", "/seed", Remove),
        ("no ticket", "ticket", "/ticket", Remove),
        ("zero seed", "seed", "/seed", zeros()),
        ("another seed", "seed", "/seed/31", Flip),
        ("zero comm_r", "comm_r", "/comm_r", zeros()),
        ("zero comm_d", "comm_d", "/comm_d", zeros()),
        ("another comm_d", "comm_d", "/comm_d/0", Flip),
        ("another replica_id", "challenge", "/replica_id/0", Flip),
        ("comm_r not below the modulus", "comm_r", "/comm_r", Modulus),
        ("comm_d not below the modulus", "comm_d", "/comm_d", Modulus),
        ("replica_id not below the modulus", "replica_id", "/replica_id", Modulus),
        ("31 bytes", "comm_r", "/comm_r", Pop),
        ("33 bytes", "comm_d", "/comm_d", Repeat),
        ("a byte of 256", "ticket", "/ticket/3", Set(json!(256))),
        ("a negative byte", "ticket", "/ticket/3", Set(json!(-1))),
        ("a fraction", "seed", "/seed/3", Set(json!(1.5))),
        ("a huge number", "seed", "/seed/3", Set(json!(1e300))),
        ("text for a byte", "seed", "/seed/3", Set(json!("1"))),
        ("text for bytes", "replica_id", "/replica_id", Set(json!("00".repeat(32)))),
        ("null for bytes", "comm_r", "/comm_r", Set(Value::Null)),
        ("a tag with the version", "StackedDrg2KiBV1_1", TAG, Rename("StackedDrg2KiBV1_1")),
        ("the tag of 8 MiB", "StackedDrg8MiBV1", TAG, Rename("StackedDrg8MiBV1")),
        ("no tag", "vanilla_proofs", TAG, Remove),
        ("no partitions", "partition", TAG, Set(json!([]))),
        ("two partitions", "partition", TAG, Repeat),
        ("an empty partition", "challenge", PARTITION, Set(json!([]))),
        ("one challenge", "challenge", PARTITION, Pop),
        ("three challenges", "challenge", PARTITION, Repeat),
        ("swapped challenges", "challenge", PARTITION, Swap),
    ]
}

/// Shapes, ranges and indices in the sector's second challenge.
fn of_a_challenge() -> Vec<Row> {
    let long = || Set(json!(1e30));
    let mut rows = of_its_merkle_proofs();
    rows.extend([
        ("column of another node", "c_x", "/replica_column_proofs/c_x/column/index", Flip),
        ("column with one row", "c_x", "/replica_column_proofs/c_x/column/rows", Pop),
        ("row not below the modulus", "c_x", "/replica_column_proofs/c_x/column/rows/0", Modulus),
        ("no columns", "replica_column_proofs", "/replica_column_proofs", Remove),
        ("no challenged column", "c_x", "/replica_column_proofs/c_x", Remove),
        ("five DRG parents", "drg_parents", "/replica_column_proofs/drg_parents", Pop),
        ("nine expander parents", "exp_parents", "/replica_column_proofs/exp_parents", Repeat),
        ("swapped parents", "parents", "/replica_column_proofs/drg_parents", Swap),
        (
            "another DRG parent",
            "drg_parents",
            "/replica_column_proofs/drg_parents/2/column/index",
            Flip,
        ),
        (
            "path of another expander parent",
            "exp_parents",
            "/replica_column_proofs/exp_parents/7/inclusion_proof/data/Single/path/path/0/index",
            Flip,
        ),
        ("one layer", "labeling_proofs", "/labeling_proofs", Pop),
        ("three layers", "labeling_proofs", "/labeling_proofs", Repeat),
        ("swapped layers", "layer_index", "/labeling_proofs", Swap),
        ("36 parents", "labeling_proofs", "/labeling_proofs/0/parents", Pop),
        ("layer 2 for 1", "layer_index", "/labeling_proofs/0/layer_index", Set(json!(2))),
        ("layer 0", "layer_index", "/encoding_proof/layer_index", Set(json!(0))),
        ("label of another node", "node", "/labeling_proofs/1/node", Flip),
        ("node beyond 64 bits", "node", "/encoding_proof/node", long()),
        ("another parent of layer 1", "parents", "/labeling_proofs/0/parents/36/0", Flip),
        ("another parent of layer 2", "parents", "/labeling_proofs/1/parents/0/0", Flip),
        ("another parent of the key", "parents", "/encoding_proof/parents/14/0", Flip),
        (
            "another row of a parent",
            "parents",
            "/replica_column_proofs/drg_parents/5/column/rows/0/9",
            Flip,
        ),
        ("parent not below the modulus", "parents", "/encoding_proof/parents/36", Modulus),
        ("no encoding key", "encoding_proof", "/encoding_proof", Remove),
        ("null for a challenge", "StackedDrg2KiBV1[0][1]", "", Set(Value::Null)),
    ]);
    rows
}

/// Shapes, ranges and indices in the Merkle proofs of the sector's second challenge.
fn of_its_merkle_proofs() -> Vec<Row> {
    const DATA_PATH: &str = "/comm_d_proofs/data/Single/path/path";
    const INDEX: &str = "/comm_r_last_proof/data/Single/path/path/0/index";
    const SIBLINGS: &str = "/comm_r_last_proof/data/Single/path/path/0/hashes";
    let long = || Set(json!(1e30));
    let [data, replica] = ["comm_d_proofs", "comm_r_last_proof"];
    vec![
        ("data path too short", data, DATA_PATH, Pop),
        ("data path too long", data, DATA_PATH, Repeat),
        ("data path of another tree kind", data, "/comm_d_proofs/data/Single", Rename("Sub")),
        ("data path of no tree kind", data, "/comm_d_proofs/data/Single", Rename("Double")),
        ("data path to another node", data, "/comm_d_proofs/data/Single/path/path/0/index", Flip),
        ("data root is not comm_d", "comm_d", "/comm_d_proofs/data/Single/root/0", Flip),
        ("data leaf not below the modulus", data, "/comm_d_proofs/data/Single/leaf", Modulus),
        ("no replica path", replica, "/comm_r_last_proof", Remove),
        ("replica path to another node", replica, INDEX, Flip),
        ("index beyond the arity", replica, INDEX, Set(json!(8))),
        ("index beyond any integer", replica, INDEX, long()),
        ("six siblings of an octree node", replica, SIBLINGS, Pop),
        ("eight siblings", replica, SIBLINGS, Repeat),
        (
            "sibling not below the modulus",
            replica,
            "/comm_r_last_proof/data/Single/path/path/0/hashes/6",
            Modulus,
        ),
        ("another replica root", "comm_r", "/comm_r_last_proof/data/Single/root/0", Flip),
    ]
}

/// Values of the sector's second challenge that only hashing finds wrong.
fn of_a_hash() -> Vec<Row> {
    let says = "partition 0, challenge 1";
    let columns = [
        "/replica_column_proofs/c_x/column/rows/1/0",
        "/replica_column_proofs/c_x/inclusion_proof/data/Single/leaf/0",
        "/replica_column_proofs/drg_parents/5/inclusion_proof/data/Single/leaf/31",
        "/replica_column_proofs/exp_parents/0/inclusion_proof/data/Single/path/path/0/hashes/0/0",
    ];
    let merkle_proofs = [
        "/comm_d_proofs/data/Single/path/path/3/hashes/0/7",
        "/comm_d_proofs/data/Single/leaf/0",
        "/comm_r_last_proof/data/Single/path/path/1/hashes/6/30",
        "/comm_r_last_proof/data/Single/leaf/0",
    ];
    columns.into_iter().chain(merkle_proofs).map(|place| (place, says, place, Flip)).collect()
}
