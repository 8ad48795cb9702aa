//! What a sector is told when its proofs, its values or its public inputs are not right: which
//! partition, which challenge, which path.

use crate::sectors::{fixture, public_inputs};
use blstrs::Scalar as Fr;
use ff::Field;
use prove::c1::{ChallengeProof, Node, Sector};
use prove::circuit::{Equality, OpeningError, Path, Public};
use prove::witness::{self, WitnessError};

/// The non-interactive fixture has 13 partitions of 2 challenges.
const PARTITION: usize = 7;
const CHALLENGE: usize = 1;

/// Where an error points.
#[derive(Debug, PartialEq)]
enum Told {
    Unequal(Equality),
    Input(Public),
}

fn flip(node: &mut Node) {
    node[5] ^= 0x10;
}

fn fault(sector: &Sector, public: &[Vec<Fr>]) -> WitnessError {
    let range = PARTITION - 1..PARTITION + 2;
    witness::generate(sector, range.clone(), &public[range]).expect_err("the sector was changed")
}

/// The place that a changed challenge is blamed on, after its partition and challenge are checked.
fn told(sealed: &Sector, public: &[Vec<Fr>], change: impl Fn(&mut ChallengeProof)) -> Told {
    let mut sector = sealed.clone();
    change(&mut sector.partitions[PARTITION][CHALLENGE]);
    assert!(sector != *sealed, "the change changes something");
    let error = fault(&sector, public);
    let place = format!("partition {PARTITION}, challenge {CHALLENGE}: ");
    assert!(error.to_string().starts_with(&place), "{error}");
    match error {
        WitnessError::Unequal { partition: PARTITION, challenge, equality, .. } => {
            assert_eq!(challenge, Some(CHALLENGE));
            Told::Unequal(equality)
        }
        WitnessError::Input { partition: PARTITION, challenge, public, .. } => {
            assert_eq!(challenge, Some(CHALLENGE));
            Told::Input(public)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn every_value_that_the_circuit_reads_is_held_to_its_root() {
    let sealed = fixture("c1-2KiB-ni.json").expect("a fixture");
    let public = public_inputs(&sealed).expect("public inputs");
    let root = |path| Told::Unequal(Equality::Root(path));
    let index = |path| Told::Input(Public::PathIndex(path));
    let told = |change: &dyn Fn(&mut ChallengeProof)| told(&sealed, &public, change);

    assert_eq!(told(&|proof| flip(&mut proof.comm_d_proof.leaf)), root(Path::Data));
    for level in 0..6 {
        let change = |proof: &mut ChallengeProof| {
            flip(&mut proof.comm_d_proof.path[level].hashes[0]);
        };
        assert_eq!(told(&change), root(Path::Data), "level {level}");
        let change = |proof: &mut ChallengeProof| proof.comm_d_proof.path[level].index ^= 1;
        assert_eq!(told(&change), index(Path::Data), "level {level}");
    }
    for level in 0..2 {
        for sibling in 0..7 {
            let change = |proof: &mut ChallengeProof| {
                flip(&mut proof.comm_r_last_proof.path[level].hashes[sibling]);
            };
            assert_eq!(told(&change), root(Path::Replica));
            let change = |proof: &mut ChallengeProof| {
                flip(&mut proof.column.inclusion.path[level].hashes[sibling]);
            };
            assert_eq!(told(&change), root(Path::Column));
        }
        let change = |proof: &mut ChallengeProof| proof.comm_r_last_proof.path[level].index ^= 4;
        assert_eq!(told(&change), index(Path::Replica));
        let change = |proof: &mut ChallengeProof| proof.column.inclusion.path[level].index ^= 2;
        assert_eq!(told(&change), index(Path::Column));
    }
    for parent in 0..14 {
        let path = if parent < 6 { Path::DrgParent(parent) } else { Path::ExpParent(parent - 6) };
        let column = |proof: &mut ChallengeProof, change: &dyn Fn(&mut prove::c1::ColumnProof)| {
            let (drg, exp) = (&mut proof.drg_parents, &mut proof.exp_parents);
            change(if parent < 6 { &mut drg[parent] } else { &mut exp[parent - 6] });
        };
        for layer in 0..2 {
            let change = |proof: &mut ChallengeProof| {
                column(proof, &|column| flip(&mut column.rows[layer]));
            };
            assert_eq!(told(&change), root(path));
        }
        let change = |proof: &mut ChallengeProof| {
            column(proof, &|column| flip(&mut column.inclusion.path[1].hashes[6]));
        };
        assert_eq!(told(&change), root(path));
        let change = |proof: &mut ChallengeProof| {
            column(proof, &|column| column.inclusion.path[0].index ^= 1);
        };
        assert_eq!(told(&change), index(path));
    }
    let change = |proof: &mut ChallengeProof| proof.labeling_proofs[0].node ^= 1;
    assert_eq!(told(&change), Told::Input(Public::Challenge));
}

#[test]
fn values_of_the_whole_sector_are_held_to_each_other() {
    let sealed = fixture("c1-2KiB-ni.json").expect("a fixture");
    let public = public_inputs(&sealed).expect("public inputs");
    let first = PARTITION - 1;

    let mut sector = sealed.clone();
    flip(&mut sector.comm_r);
    let error = fault(&sector, &public);
    let expected = Public::CommR;
    assert!(
        matches!(error, WitnessError::Input { challenge: None, public, .. } if public == expected),
        "{error}"
    );
    // With the public input changed too, the hash tells.
    let mut changed = public.clone();
    let value: Option<Fr> = Fr::from_bytes_le(&sector.comm_r).into();
    changed.iter_mut().for_each(|inputs| inputs[2] = value.expect("a field element"));
    let error = fault(&sector, &changed);
    assert!(
        matches!(error, WitnessError::Unequal { equality: Equality::CommR, challenge: None, .. }),
        "{error}"
    );
    assert!(error.to_string().starts_with(&format!("partition {first}: comm_r = H(")), "{error}");

    let mut sector = sealed.clone();
    for proof in sector.partitions.iter_mut().flatten() {
        flip(&mut proof.comm_r_last_proof.root);
    }
    let error = fault(&sector, &public);
    assert!(matches!(error, WitnessError::Unequal { equality: Equality::CommR, .. }), "{error}");

    for (name, at) in [("replica_id", 0), ("comm_d", 1)] {
        let mut sector = sealed.clone();
        flip([&mut sector.replica_id, &mut sector.comm_d][at]);
        let error = fault(&sector, &public);
        assert!(error.to_string().starts_with(&format!("partition {first}: {name}: ")), "{error}");
    }
}

#[test]
fn a_path_that_claims_another_root_is_named() {
    let sealed = fixture("c1-2KiB-ni.json").expect("a fixture");
    let public = public_inputs(&sealed).expect("public inputs");
    type NodeOf = fn(&mut ChallengeProof) -> &mut Node;
    let changes: [(Path, NodeOf); 5] = [
        (Path::Data, |proof| &mut proof.comm_d_proof.root),
        (Path::Replica, |proof| &mut proof.comm_r_last_proof.root),
        (Path::DrgParent(5), |proof| &mut proof.drg_parents[5].inclusion.root),
        (Path::ExpParent(0), |proof| &mut proof.exp_parents[0].inclusion.root),
        (Path::Column, |proof| &mut proof.column.inclusion.root),
    ];
    for (expected, node) in changes {
        let mut sector = sealed.clone();
        flip(node(&mut sector.partitions[PARTITION][CHALLENGE]));
        let error = fault(&sector, &public);
        let WitnessError::ClaimedRoot { partition, challenge, path, .. } = error else {
            panic!("{error}");
        };
        assert_eq!((partition, challenge, path), (PARTITION, CHALLENGE, expected));
    }
}

#[test]
fn every_public_input_is_compared() {
    let sealed = fixture("c1-2KiB.json").expect("a fixture");
    let public = public_inputs(&sealed).expect("public inputs");
    for input in 0..public[0].len() {
        let mut changed = public.clone();
        changed[0][input] += Fr::ONE;
        let error = witness::generate(&sealed, 0..1, &changed).expect_err("changed input");
        let place = input.checked_sub(3).map(|input| input / 18);
        assert!(
            matches!(error, WitnessError::Input { challenge, .. } if challenge == place),
            "input {input}: {error}"
        );
    }
}

#[test]
fn misshapen_proofs_are_errors_and_never_panics() {
    let sealed = fixture("c1-2KiB.json").expect("a fixture");
    let public = public_inputs(&sealed).expect("public inputs");
    let error = |change: &dyn Fn(&mut ChallengeProof)| {
        let mut sector = sealed.clone();
        change(&mut sector.partitions[0][1]);
        let error = witness::generate(&sector, 0..1, &public).expect_err("a misshapen proof");
        match error {
            WitnessError::Opening { partition: 0, challenge: 1, source } => source,
            other => panic!("{other}"),
        }
    };
    assert!(matches!(
        error(&|proof| proof.comm_d_proof.path.truncate(5)),
        OpeningError::Count { path: Path::Data, what: "levels", expected: 6, got: 5 }
    ));
    assert!(matches!(
        error(&|proof| proof.exp_parents[2].inclusion.path[1].hashes.push([0; 32])),
        OpeningError::Count { path: Path::ExpParent(2), what: "siblings", expected: 7, got: 8 }
    ));
    assert!(matches!(
        error(&|proof| proof.drg_parents[3].rows.clear()),
        OpeningError::Count { path: Path::DrgParent(3), what: "labels", expected: 2, got: 0 }
    ));
    assert!(matches!(
        error(&|proof| proof.column.inclusion.path[0].index = 8),
        OpeningError::Index { path: Path::Column, level: 0, arity: 8, got: 8 }
    ));
    assert!(matches!(
        error(&|proof| proof.drg_parents.truncate(5)),
        OpeningError::Parents { kind: "drg", expected: 6, got: 5 }
    ));
    assert!(matches!(error(&|proof| proof.labeling_proofs.clear()), OpeningError::NoLabel));
    assert!(matches!(
        error(&|proof| proof.comm_r_last_proof.path[0].hashes[0] = [0xff; 32]),
        OpeningError::NotInField { path: Path::Replica, what: "sibling", .. }
    ));
    let mut sector = sealed.clone();
    sector.partitions[0].clear();
    assert!(matches!(
        witness::generate(&sector, 0..1, &public),
        Err(WitnessError::Count { what: "challenges in a partition", expected: 2, got: 0 })
    ));
    sector.partitions.clear();
    assert!(matches!(
        witness::generate(&sector, 0..1, &public),
        Err(WitnessError::Count { what: "partitions", expected: 1, got: 0 })
    ));
}
