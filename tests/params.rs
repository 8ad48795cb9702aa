//! Parameter files that are damaged, incomplete, foreign or not files at all.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

use blake2b_simd::blake2b;
use blstrs::{Fp, G1Affine, Scalar};
use ff::Field;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use prove::params::check::{check, remembered, require_production};
use prove::params::layout::{Counts, Layout, Query, VK_HEAD_BYTES};
use prove::params::list::{DigestState, list, list_size};
use prove::params::setup::columns::{Columns, Dimensions};
use prove::params::setup::generate;
use prove::params::setup::trapdoor::Trapdoor;
use prove::params::{
    Folder, FolderChoice, LengthClue, ParameterFiles, Parameters, ParamsError, PointFault,
    Security, digest_of,
};
use prove::progress::Silent;
use prove::sector::SectorSize;
use tempfile::TempDir;

/// A small circuit's parameters under the 2 KiB names.
struct Set {
    folder: TempDir,
    counts: Counts,
}

impl Set {
    /// Rows of one variable each: every variable in A and C, every other one in B.
    fn new(seed: u64) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dimensions = Dimensions { inputs: 3, aux: 40, constraints: 43 };
        let rows = |columns: &mut Columns| {
            for variable in 0..dimensions.constraints {
                let term = (variable, Scalar::ONE);
                let b = (variable % 2 == 0).then_some(term);
                columns.row([term], b, [(variable, Scalar::from(7))]);
            }
            Ok(dimensions)
        };
        let files = ParameterFiles::new(folder.path(), SectorSize::KiB2);
        let set = generate(dimensions, rows, &Trapdoor::from_seed(seed), &files, &Silent)
            .expect("a set is made");
        let counts = set.counts;
        set.publish("INSECURE, of a test").expect("a set is published");
        Self { folder, counts }
    }

    fn files(&self) -> ParameterFiles {
        ParameterFiles::new(self.folder.path(), SectorSize::KiB2)
    }

    fn open(&self) -> Result<Parameters, ParamsError> {
        Parameters::open_circuit(self.files(), self.counts)
    }

    fn refused(&self) -> ParamsError {
        self.open().map(|_| ()).expect_err("the files are faulty")
    }

    fn layout(&self) -> Layout {
        Layout::new(self.counts)
    }
}

/// Changes the bytes of a file.
fn edit(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).expect("the file");
    change(&mut bytes);
    fs::write(path, bytes).expect("the file is written");
}

/// A folder without parameters, chosen by the flag.
fn flag(path: &Path) -> Folder {
    Folder { path: path.to_path_buf(), chosen_by: FolderChoice::Flag }
}

/// What opening 2 KiB parameters in `folder` answers.
fn refused_2kib(folder: &Path) -> ParamsError {
    Parameters::open(&flag(folder), SectorSize::KiB2).map(|_| ()).expect_err("faulty files")
}

#[test]
fn good_files_open_and_give_what_was_written() {
    let set = Set::new(1);
    let parameters = set.open().expect("good files");
    let file = fs::read(&set.files().params).expect("params");
    assert_eq!(counts_by_bellperson(&parameters, &file), [63, 40, 43, 22, 22]);
    assert_eq!(parameters.security(), Security::Insecure);
    assert_eq!(parameters.vk().ic.len(), 3);
    let warm = parameters.warm_fraction().expect("the kernel says");
    assert!((0.0..=1.0).contains(&warm), "{warm}");
    Query::ALL.iter().for_each(|&query| parameters.unmap_query(query));
    assert_eq!(counts_by_bellperson(&parameters, &file), [63, 40, 43, 22, 22], "mapped again");
}

/// Counts of the five arrays that bellperson reads from `file`, after comparing every point.
fn counts_by_bellperson(parameters: &Parameters, file: &[u8]) -> [usize; 5] {
    let theirs = bellperson::groth16::Parameters::<blstrs::Bls12>::read(file, true)
        .expect("bellperson reads our file");
    assert!(theirs.vk == *parameters.vk());
    let g1 = |points: &[G1Affine]| -> Vec<u8> {
        points.iter().flat_map(|point| point.to_uncompressed()).collect()
    };
    let g2: Vec<u8> = theirs.b_g2.iter().flat_map(|point| point.to_uncompressed()).collect();
    assert!(parameters.query(Query::H) == g1(&theirs.h));
    assert!(parameters.query(Query::L) == g1(&theirs.l));
    assert!(parameters.query(Query::A) == g1(&theirs.a));
    assert!(parameters.query(Query::BG1) == g1(&theirs.b_g1));
    assert!(parameters.query(Query::BG2) == g2);
    [theirs.h.len(), theirs.l.len(), theirs.a.len(), theirs.b_g1.len(), theirs.b_g2.len()]
}

#[test]
fn files_of_a_wrong_length_are_told_with_both_lengths() {
    for (extra, expected_clue) in [(-1, LengthClue::CutOff), (1, LengthClue::Trailing)] {
        for pick in [|files: ParameterFiles| files.params, |files: ParameterFiles| files.vk] {
            let set = Set::new(2);
            let path = pick(set.files());
            let whole = fs::metadata(&path).expect("the file").len();
            let length = whole.checked_add_signed(extra).expect("a length");
            File::options()
                .write(true)
                .open(&path)
                .expect("the file")
                .set_len(length)
                .expect("len");
            let error = set.refused();
            let ParamsError::Length { path: named, expected, got, clue } = &error else {
                panic!("{error}");
            };
            assert_eq!((named, *expected, *got, *clue), (&path, whole, length, expected_clue));
            assert!(error.to_string().contains(&format!("is {length}, expected {whole} bytes")));
        }
    }
}

#[test]
fn a_count_off_by_one_is_told_with_its_array_and_offset() {
    for (index, name) in ["ic", "h", "l", "a", "b_g1", "b_g2"].into_iter().enumerate() {
        for change in [1, -1] {
            let set = Set::new(3);
            let at = match index.checked_sub(1) {
                None => VK_HEAD_BYTES as u64,
                Some(query) => set.layout().count_offset(Query::ALL[query]),
            };
            let field = at as usize..at as usize + 4;
            let mut right = 0;
            edit(&set.files().params, |bytes| {
                right = u32::from_be_bytes(bytes[field.clone()].try_into().expect("four bytes"));
                let wrong = right.checked_add_signed(change).expect("a count");
                bytes[field.clone()].copy_from_slice(&wrong.to_be_bytes());
            });
            let error = set.refused();
            let ParamsError::Count { array, offset, expected, got, .. } = error else {
                panic!("{error}");
            };
            assert_eq!((array, offset, expected), (name, at, right));
            assert_eq!(got, right.checked_add_signed(change).expect("a count"));
        }
    }
}

#[test]
fn every_point_of_the_vk_is_decoded() {
    for (offset, name) in [
        (0, "alpha_g1"),
        (96, "beta_g1"),
        (192, "beta_g2"),
        (384, "gamma_g2"),
        (576, "delta_g1"),
        (672, "delta_g2"),
        (868, "ic[0]"),
        (868 + 96, "ic[1]"),
        (868 + 192, "ic[2]"),
    ] {
        let set = Set::new(4);
        let bytes = if name.ends_with("g2") { 192 } else { 96 };
        type Change = fn(&mut [u8]);
        let faults: [(Change, PointFault); 3] = [
            (|point| point[40] ^= 1, PointFault::NotOnCurve),
            (|point| point[0] = 0x40, PointFault::Infinity),
            (|point| point[0] |= 0x80, PointFault::Flags),
        ];
        for (change, wanted) in faults {
            let good = fs::read(set.files().vk).expect("the key");
            edit(&set.files().vk, |key| change(&mut key[offset..offset + bytes]));
            let error = set.refused();
            let ParamsError::Point { part, offset: at, fault, .. } = &error else {
                panic!("{error}");
            };
            assert_eq!((part.to_string().as_str(), *at, *fault), (name, offset as u64, wanted));
            fs::write(set.files().vk, good).expect("the key is restored");
        }
        set.open().expect("good again");
    }
}

#[test]
fn a_vk_point_outside_the_subgroup_is_refused() {
    // y^2 = x^3 + 4; almost no point of the curve is in the subgroup.
    let point = (1_u64..)
        .find_map(|x| {
            let x = Fp::from(x);
            let y = Option::from((x.square() * x + Fp::from(4)).sqrt())?;
            Some(G1Affine::from_raw_unchecked(x, y, false))
        })
        .expect("every second x has a point");
    let set = Set::new(5);
    edit(&set.files().vk, |key| key[..96].copy_from_slice(&point.to_uncompressed()));
    let error = set.refused();
    let ParamsError::Point { fault: PointFault::NotInSubgroup, .. } = error else {
        panic!("{error}");
    };
}

#[test]
fn another_sets_vk_is_refused() {
    let (set, other) = (Set::new(6), Set::new(7));
    fs::copy(other.files().vk, set.files().vk).expect("the key is copied");
    let error = set.refused();
    assert!(matches!(error, ParamsError::VkMismatch { offset: 0..96, .. }), "{error}");
}

#[test]
fn without_the_marker_test_parameters_are_refused() {
    let set = Set::new(8);
    let files = set.files();
    fs::remove_file(&files.marker).expect("the marker is there");
    let error = set.refused();
    let ParamsError::Unmarked { vk, got, marker, .. } = error else { panic!("{error}") };
    assert_eq!((&vk, &marker), (&files.vk, &files.marker));
    assert_eq!(got, digest_of(&blake2b(&fs::read(&files.vk).expect("the key"))));
}

#[test]
fn sampled_points_are_checked_at_opening() {
    for query in Query::ALL {
        let set = Set::new(9);
        let points = set.layout().query(query);
        edit(&set.files().params, |file| file[points.end as usize - 1] ^= 1);
        let error = set.refused();
        let ParamsError::Point { part, offset, fault, .. } = error else { panic!("{error}") };
        assert_eq!((part.name, fault), (query.name(), PointFault::NotOnCurve));
        assert_eq!(part.index, Some(u64::from(set.counts.query(query)) - 1));
        assert_eq!(offset, points.end - query.point_bytes() as u64);
    }
}

#[test]
fn the_full_check_finds_what_samples_miss_and_remembers_what_is_good() {
    let set = Set::new(10);
    let files = set.files();
    assert_eq!(remembered(&files), None);
    let checked = check(&set.open().expect("good files"), &Silent).expect("good points");
    assert_eq!(checked.digest, digest_of(&blake2b(&fs::read(&files.params).expect("params"))));
    assert_eq!(remembered(&files), Some(checked));
    // The second point of `l`: h's samples and l's skip it.
    let at = set.layout().query(Query::L).start + 96;
    edit(&files.params, |file| file[at as usize + 95] ^= 1);
    File::options()
        .write(true)
        .open(&files.params)
        .and_then(|file| file.set_modified(std::time::SystemTime::UNIX_EPOCH))
        .expect("another time");
    assert_eq!(remembered(&files), None, "the file has changed");
    let error = check(&set.open().expect("samples miss it"), &Silent).expect_err("a bad point");
    let ParamsError::Point { part, offset, fault, .. } = error else { panic!("{error}") };
    assert_eq!((part.to_string().as_str(), offset), ("l[1]", at));
    assert_eq!(fault, PointFault::NotOnCurve);
    assert_eq!(remembered(&files), None, "a failure is not remembered");
}

#[test]
fn a_damaged_memory_is_ignored() {
    let set = Set::new(11);
    check(&set.open().expect("good files"), &Silent).expect("good points");
    for text in ["", "{}", "null", "{\"schema\":1}", "\u{0}"] {
        fs::write(set.files().checked, text).expect("written");
        assert_eq!(remembered(&set.files()), None, "{text}");
    }
}

#[test]
fn test_parameters_do_not_pass_for_production() {
    let set = Set::new(12);
    let parameters = set.open().expect("good files");
    let error = require_production(&parameters, &Silent).expect_err("insecure");
    assert!(matches!(error, ParamsError::NotProduction { .. }), "{error}");
}

#[test]
fn missing_files_are_told_with_everything_needed_to_get_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = ParameterFiles::new(folder.path(), SectorSize::KiB2);
    for path in [folder.path().to_path_buf(), folder.path().join("no such folder")] {
        let text = refused_2kib(&path).to_string();
        let name = files.params.file_name().expect("a name").to_string_lossy();
        for part in [
            path.to_str().expect("a plain path"),
            &name,
            "--params",
            "1114707768 bytes",
            "434fb1338ecfaf0f59256f30dde4968f",
            "hint: ",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
    sparse(&files.params, Layout::of(SectorSize::KiB2).bytes());
    let error = refused_2kib(folder.path());
    let ParamsError::Missing { path, bytes: 4708, digest, .. } = error else { panic!("{error}") };
    assert_eq!((path, digest), (files.vk, "dc1ade9929ade1708238f155343044ac"));
}

/// Makes a file of `bytes` zeros that takes no room.
fn sparse(path: &Path, bytes: u64) {
    File::create(path).and_then(|file| file.set_len(bytes)).expect("a sparse file");
}

#[test]
fn what_is_not_a_parameter_file_is_recognised() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = ParameterFiles::new(folder.path(), SectorSize::KiB2);
    let page = "<!DOCTYPE html><title>504 Gateway Time-out</title>";
    for path in [&files.params, &files.vk] {
        for (content, wanted) in [("", LengthClue::Empty), (page, LengthClue::WebPage)] {
            fs::write(path, content).expect("written");
            let error = refused_2kib(folder.path());
            let ParamsError::Length { clue, got, .. } = error else { panic!("{error}") };
            assert_eq!((clue, got), (wanted, content.len() as u64));
        }
        sparse(path, Layout::of(SectorSize::KiB2).bytes());
    }
    for other in [SectorSize::MiB8, SectorSize::GiB64] {
        sparse(&files.params, Layout::of(other).bytes());
        let text = refused_2kib(folder.path()).to_string();
        assert!(text.contains(&format!("the length of the {other} file")), "{text}");
    }
}

#[test]
fn a_folder_a_pipe_or_a_broken_link_is_no_parameter_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = ParameterFiles::new(folder.path(), SectorSize::KiB2);
    fs::create_dir(&files.params).expect("a folder");
    let error = refused_2kib(folder.path());
    assert!(matches!(error, ParamsError::NotAFile { .. }), "{error}");
    fs::remove_dir(&files.params).expect("removed");
    let status = std::process::Command::new("mkfifo").arg(&files.params).status();
    assert!(status.expect("mkfifo runs").success());
    let error = refused_2kib(folder.path());
    assert!(matches!(error, ParamsError::NotAFile { .. }), "{error}");
    fs::remove_file(&files.params).expect("removed");
    symlink(&files.params, &files.params).expect("a link to itself");
    let error = refused_2kib(folder.path());
    let ParamsError::Read { path, .. } = error else { panic!("{error}") };
    assert_eq!(path, files.params);
}

#[test]
fn a_listing_shows_all_sizes_as_they_are() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = ParameterFiles::new(folder.path(), SectorSize::MiB8);
    fs::write(&files.vk, "short").expect("written");
    let listings = list(&flag(folder.path()));
    assert_eq!(listings.iter().map(|listing| listing.size).collect::<Vec<_>>(), SectorSize::ALL);
    assert!(listings[0].opened.is_none() && listings[0].params.got.is_none());
    let listing = &listings[1];
    assert_eq!((listing.vk.got, listing.vk.expected), (Some(5), 4708));
    assert!(matches!(listing.opened, Some(Err(ParamsError::Missing { .. }))));
    assert_eq!(listing.digest, DigestState::NotChecked);
    let set = Set::new(13);
    check(&set.open().expect("good files"), &Silent).expect("good points");
    let listing = list_size(&flag(set.folder.path()), SectorSize::KiB2);
    assert!(listing.marked && matches!(listing.digest, DigestState::Other(_)));
    assert!(matches!(listing.opened, Some(Err(ParamsError::Length { .. }))));
}

/// What a careless copy or a failing disk does to a file.
#[derive(Clone, Debug)]
enum Damage {
    Flip { at: prop::sample::Index, bit: u8 },
    Overwrite { at: prop::sample::Index, with: Vec<u8> },
    Cut { to: prop::sample::Index },
    Append { bytes: Vec<u8> },
}

fn damage() -> impl Strategy<Value = Damage> {
    let bytes = || prop::collection::vec(any::<u8>(), 1..300);
    prop_oneof![
        (any::<prop::sample::Index>(), 0_u8..8).prop_map(|(at, bit)| Damage::Flip { at, bit }),
        (any::<prop::sample::Index>(), bytes())
            .prop_map(|(at, with)| Damage::Overwrite { at, with }),
        any::<prop::sample::Index>().prop_map(|to| Damage::Cut { to }),
        bytes().prop_map(|bytes| Damage::Append { bytes }),
    ]
}

impl Damage {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::Flip { at, bit } => {
                let index = at.index(file.len());
                file[index] ^= 1 << bit;
            }
            Self::Overwrite { at, with } => {
                let start = at.index(file.len());
                let end = file.len().min(start + with.len());
                file[start..end].copy_from_slice(&with[..end - start]);
            }
            Self::Cut { to } => file.truncate(to.index(file.len())),
            Self::Append { bytes } => file.extend_from_slice(bytes),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        rng_seed: RngSeed::Fixed(15),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// No damage makes the reader panic, and what opening lets through the full check finds.
    #[test]
    fn damage_is_found(key in any::<bool>(), damage in damage()) {
        thread_local!(static SET: (Set, Vec<u8>, Vec<u8>) = {
            let set = Set::new(14);
            let params = fs::read(set.files().params).expect("params");
            let vk = fs::read(set.files().vk).expect("vk");
            (set, params, vk)
        });
        SET.with(|(set, params, vk)| {
            let files = set.files();
            let (path, good) = if key { (&files.vk, vk) } else { (&files.params, params) };
            let mut bad = good.clone();
            damage.apply(&mut bad);
            fs::write(path, &bad).expect("damaged");
            let result = set.open().and_then(|parameters| check(&parameters, &Silent));
            fs::write(path, good).expect("restored");
            prop_assert_eq!(result.is_ok(), bad == *good);
            Ok(())
        })?;
    }
}
