//! Single flipped bits in a C1 file, at random places: exit code 3 under `--check-vanilla`.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::case::Case;
use crate::common::files::fixture;
use crate::common::insecure::insecure_2kib;

/// Flips in each file.
const FLIPS: usize = 25;

/// Flips in files that carry all ids, so that every byte of a value is bound by a check; in
/// between are keys and punctuation. Keys that nobody reads (`_h`, `Snap`) are spared.
pub fn cases() -> Vec<Case> {
    let seed = 3;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let words = format!("--check-vanilla --params {} in.json out.proof", insecure_2kib().display());
    let mut cases = vec![];
    for name in ["c1-2KiB.json", "c1-2KiB-s4.json", "c1-2KiB-s6.json"] {
        let file = fixture(name);
        let mut flips = 0;
        while flips < FLIPS {
            let (at, bit) = (rng.gen_range(0..file.len()), rng.gen_range(0..8));
            if is_unread(&file, at) {
                continue;
            }
            let mut file = file.clone();
            file[at] ^= 1 << bit;
            let name = format!("seed {seed}: {name}, bit {bit} of byte {at}");
            cases.push(Case::new(&name, &words, 3, "").file("in.json", file));
            flips += 1;
        }
    }
    cases
}

/// Whether a byte belongs to a key that readers pass over.
fn is_unread(file: &[u8], at: usize) -> bool {
    ["\"_h\":null", "\"Snap\":null"].iter().any(|text| {
        let from = at.saturating_sub(text.len() - 1);
        let until = (at + text.len()).min(file.len());
        file[from..until].windows(text.len()).any(|window| window == text.as_bytes())
    })
}
