//! The sector size that a C1 seems to have, before it is read: so that what depends on the size
//! alone can be begun at once. Nothing relies on it being right.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::sector::SectorSize;

/// Where the registered proof's name stands, if it stands where all known writers put it.
const LOOK_BYTES: usize = 4096;

/// The size in the first registered proof's name near the start of `file`.
pub fn guess_size(file: &[u8]) -> Option<SectorSize> {
    let start = &file[..file.len().min(LOOK_BYTES)];
    size_in(start).or_else(|| size_in(&decoded(start)?))
}

fn size_in(text: &[u8]) -> Option<SectorSize> {
    SectorSize::ALL.into_iter().find(|size| find(text, &format!("\"StackedDrg{size}V")).is_some())
}

/// The start of the output under `Phase1Out`.
fn decoded(start: &[u8]) -> Option<Vec<u8>> {
    let rest = &start[find(start, "\"Phase1Out\"")? + "\"Phase1Out\"".len()..];
    let text = &rest[find(rest, "\"")? + 1..];
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    let length = text.iter().take_while(|byte| is_base64(byte)).count();
    STANDARD.decode(&text[..length / 4 * 4]).ok()
}

fn find(text: &[u8], part: &str) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c1::{GivenIds, read};

    #[test]
    fn every_fixture_is_guessed_right() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata");
        let mut fixtures = 0;
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let file = std::fs::read(&path).expect("a fixture");
                let sector = read(&file, &GivenIds::default()).expect("a good C1").sector;
                let size = sector.registered_proof.size;
                assert_eq!(guess_size(&file), Some(size), "{}", path.display());
                fixtures += 1;
            }
        }
        assert!(fixtures > 5, "there are fixtures of every shape");
    }

    #[test]
    fn anything_else_has_no_size() {
        for file in ["", "{", "{\"Phase1Out\"", "{\"Phase1Out\":\"!\"}", "{\"Phase1Out\":\"e30=\"}"]
        {
            assert_eq!(guess_size(file.as_bytes()), None, "{file}");
        }
        assert_eq!(guess_size("\"StackedDrg32GiBV1\"".as_bytes()), Some(SectorSize::GiB32));
    }
}
