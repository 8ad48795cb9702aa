//! Parameter files that are missing, cut, swapped or bent: exit code 4, with the C1 in order.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::case::Case;
use crate::common::draft::{Draft, INPUTS};
use crate::common::files::fixture;
use crate::common::insecure::insecure_2kib;
use crate::common::oracle::vk_name_2kib;
use crate::common::simulator::Trapdoor;

/// Offset of the gamma_g2 point in a verifying key.
const GAMMA_G2: usize = 2 * 96 + 192;
/// Offset of the count of IC points in a verifying key.
const IC_COUNT: usize = 3 * 96 + 3 * 192;
/// Offset of the first IC point.
const IC: usize = IC_COUNT + 4;

/// All of them.
pub fn cases() -> Vec<Case> {
    let mut cases = missing();
    cases.extend(wrong_params());
    cases.extend(wrong_vk());
    cases
}

fn case(name: &str, says: &str, prepare: fn(&Path)) -> Case {
    Case::new(name, "--params params in.json out.proof", 4, says)
        .file("in.json", fixture("c1-2KiB.json"))
        .prepare(prepare)
}

/// Writes a set that `change` has bent.
fn draft(folder: &Path, change: impl FnOnce(&mut Draft)) {
    let mut draft = Draft::new();
    change(&mut draft);
    draft.write(&folder.join("params"));
}

/// Bends the verifying key, in the `.vk` and in the `.params` file alike.
fn draft_vk(folder: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    draft(folder, |draft| {
        change(&mut draft.vk);
        draft.head = draft.vk.clone();
    });
}

/// Misstates the number of points of an array, in a file of the right length.
fn miscount(folder: &Path, array: usize, by: i32) {
    draft(folder, |draft| {
        draft.counts[array] = draft.counts[array].strict_add_signed(by);
        draft.excess = -i64::from(by) * if array == 4 { 192 } else { 96 };
    });
}

fn params(folder: &Path) -> std::path::PathBuf {
    folder.join("params").join(vk_name_2kib()).with_extension("params")
}

fn missing() -> Vec<Case> {
    const WORDS: &str = "in.json out.proof";
    let c1 = || fixture("c1-2KiB.json");
    vec![
        case("no folder", "params", |_| {}),
        case("an empty folder", ".params", |folder| {
            fs::create_dir(folder.join("params")).expect("ours");
        }),
        case("a file for a folder", "is not a folder", |folder| {
            fs::write(folder.join("params"), "").expect("ours");
        }),
        Case::new("a file listed", "params list --params in.json", 4, "is not a folder")
            .file("in.json", c1()),
        case("a link to itself", "params", |folder| {
            symlink("params", folder.join("params")).expect("ours");
        }),
        case("no .vk", ".vk", |folder| {
            draft(folder, |_| {});
            fs::remove_file(folder.join("params").join(vk_name_2kib())).expect("just written");
        }),
        case("no .params", ".params", |folder| {
            draft(folder, |_| {});
            fs::remove_file(params(folder)).expect("just written");
        }),
        case("no marker", "insecure", |folder| {
            fs::create_dir(folder.join("params")).expect("ours");
            let vk = insecure_2kib().join(vk_name_2kib());
            for file in [vk.with_extension("params"), vk] {
                let name = file.file_name().expect("a file");
                symlink(&file, folder.join("params").join(name)).expect("ours");
            }
        }),
        case("a folder for .params", ".params", |folder| {
            draft(folder, |_| {});
            fs::remove_file(params(folder)).expect("just written");
            fs::create_dir(params(folder)).expect("ours");
        }),
        case("a folder for .vk", ".vk", |folder| {
            draft(folder, |_| {});
            let vk = folder.join("params").join(vk_name_2kib());
            fs::remove_file(&vk).expect("just written");
            fs::create_dir(vk).expect("ours");
        }),
        Case::new("no folder, check", "params check --params params", 4, "params"),
        Case::new(
            "a 32 GiB set is not there",
            "params check --sector-size 32GiB --params .",
            4,
            "",
        ),
        Case::new("the variable's folder", WORDS, 4, "FIL_PROOFS_PARAMETER_CACHE")
            .env("FIL_PROOFS_PARAMETER_CACHE", "elsewhere")
            .file("in.json", c1()),
        Case::new("production forced on a test set", &format!("--params params {WORDS}"), 4, "")
            .env("FIL_PROOFS_VERIFY_PRODUCTION_PARAMS", "1")
            .file("in.json", c1())
            .prepare(|folder| draft(folder, |_| {})),
    ]
}

fn wrong_params() -> Vec<Case> {
    let bend = |name: &str, says: &str, prepare: fn(&Path)| case(name, says, prepare);
    vec![
        bend("one byte short", "length", |folder| draft(folder, |draft| draft.excess = -1)),
        bend("one byte long", "length", |folder| draft(folder, |draft| draft.excess = 1)),
        bend("one point less of l", "length", |folder| draft(folder, |draft| draft.counts[1] -= 1)),
        bend("one point less stated of h", "`h`", |folder| miscount(folder, 0, -1)),
        bend("one point more stated of h", "`h`", |folder| miscount(folder, 0, 1)),
        bend("one point less stated of l", "`l`", |folder| miscount(folder, 1, -1)),
        bend("one point more stated of a", "`a`", |folder| miscount(folder, 2, 1)),
        bend("one point less stated of b_g1", "`b_g1`", |folder| miscount(folder, 3, -1)),
        bend("one point more stated of b_g2", "`b_g2`", |folder| miscount(folder, 4, 1)),
        bend("b_g1 and b_g2 disagree", "b_g", |folder| {
            draft(folder, |draft| {
                draft.counts[3] += 2;
                draft.counts[4] -= 1;
            });
        }),
        bend("a count of 2^32 - 1, cut", "h", |folder| {
            draft(folder, |draft| draft.counts[0] = u32::MAX);
            fs::File::options()
                .write(true)
                .open(params(folder))
                .and_then(|file| file.set_len(10_000))
                .expect("just written");
        }),
        bend("the counts of 8 MiB", "expected", |folder| {
            let b = 1 + 1_011_289;
            draft(folder, |draft| {
                draft.counts = [(1 << 22) - 1, 3_842_449, 40 + 3_814_996, b, b];
            });
        }),
        bend("holes for points", "point", |folder| draft(folder, |_| {})),
        bend("an empty .params", "expected", |folder| {
            draft(folder, |_| {});
            fs::write(params(folder), "").expect("just written");
        }),
        bend("an HTML page for .params", "expected", |folder| {
            draft(folder, |_| {});
            fs::write(params(folder), "<!DOCTYPE html><html>504 Gateway Time-out</html>")
                .expect("just written");
        }),
        bend("only a verifying key", "expected", |folder| {
            draft(folder, |_| {});
            fs::write(params(folder), Draft::new().vk).expect("just written");
        }),
        bend("the heads disagree", ".vk", |folder| {
            draft(folder, |draft| draft.head = Trapdoor::new(8, INPUTS).verifying_key());
        }),
    ]
}

fn wrong_vk() -> Vec<Case> {
    vec![
        case("an empty .vk", ".vk", |folder| draft(folder, |draft| draft.vk.clear())),
        case("an HTML page for .vk", ".vk", |folder| {
            draft(folder, |draft| draft.vk = b"<!DOCTYPE html><html>404</html>".to_vec());
        }),
        case(".vk one byte short", ".vk", |folder| {
            draft(folder, |draft| {
                draft.vk.pop();
            });
        }),
        case(".vk one byte long", ".vk", |folder| draft(folder, |draft| draft.vk.push(0))),
        case("the .vk of 32 GiB", "length", |folder| {
            draft(folder, |draft| draft.vk = Trapdoor::new(7, 328).verifying_key());
        }),
        case("the .vk of another setup", ".vk", |folder| {
            draft(folder, |draft| draft.vk = Trapdoor::new(9, INPUTS).verifying_key());
        }),
        case("39 IC points", "length", |folder| {
            draft_vk(folder, |vk| *vk = Trapdoor::new(7, INPUTS - 1).verifying_key());
        }),
        case("a count of 41 over 40 IC points", "41", |folder| {
            draft_vk(folder, |vk| vk[IC_COUNT + 3] += 1);
        }),
        case("a count of 2^32 - 1 IC points", "4294967295", |folder| {
            draft_vk(folder, |vk| vk[IC_COUNT..IC].fill(0xff));
        }),
        case("alpha_g1 off the curve", "alpha_g1", |folder| draft_vk(folder, |vk| vk[95] ^= 1)),
        case("gamma_g2 off the curve", "gamma_g2", |folder| {
            draft_vk(folder, |vk| vk[GAMMA_G2 + 191] ^= 1);
        }),
        case("an IC point off the curve", "ic", |folder| {
            draft_vk(folder, |vk| vk[IC + 17 * 96 + 50] ^= 1);
        }),
        case("an IC point at infinity", "ic", |folder| {
            draft_vk(folder, |vk| {
                vk[IC..IC + 96].fill(0);
                vk[IC] = 0x40;
            });
        }),
        case("delta_g1 with the flag of a compressed point", "delta_g1", |folder| {
            draft_vk(folder, |vk| vk[GAMMA_G2 + 192] |= 0x80);
        }),
        case("an IC point outside the subgroup", "ic", |folder| {
            draft_vk(folder, |vk| vk[IC..IC + 96].copy_from_slice(&outside_the_subgroup()));
        }),
        case("beta_g1 not below the modulus", "beta_g1", |folder| {
            draft_vk(folder, |vk| {
                vk[96..144].fill(0xff);
                vk[96] = 0x1f;
            });
        }),
    ]
}

/// A point of the curve y^2 = x^3 + 4 that is not in the subgroup of prime order.
fn outside_the_subgroup() -> [u8; 96] {
    use blstrs::G1Affine;
    (0..=u8::MAX)
        .find_map(|x| {
            let mut bytes = [0; 48];
            [bytes[0], bytes[47]] = [0x80, x];
            let point = Option::<G1Affine>::from(G1Affine::from_compressed_unchecked(&bytes))?;
            let inside = bool::from(point.is_torsion_free());
            (!inside).then(|| point.to_uncompressed())
        })
        .expect("one point in 2^125 of the curve is in the subgroup")
}
