//! Hostile parameter folders: small, quick to make, and wrong.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::oracle::vk_name_2kib;
use super::simulator::Trapdoor;

/// Points of the h, l, a, b_g1 and b_g2 arrays at 2 KiB: domain - 1, aux variables, inputs and
/// dense aux variables, and twice ONE and dense aux variables.
const COUNTS: [u32; 5] = [(1 << 22) - 1, 2_685_673, 40 + 2_674_908, 1 + 685_521, 1 + 685_521];
/// Bytes of a point of each array.
const POINT_BYTES: [u64; 5] = [96, 96, 96, 96, 192];
/// Public inputs of a test-size circuit, ONE included.
pub const INPUTS: usize = 40;

/// A 2 KiB set with a sound verifying key and holes in the place of the arrays' points.
///
/// It takes no room and no time, and passes exactly the checks that look at no point.
pub struct Draft {
    /// The `.vk` file.
    pub vk: Vec<u8>,
    /// The verifying key at the head of the `.params` file.
    pub head: Vec<u8>,
    /// Number of points stated for each array.
    pub counts: [u32; 5],
    /// Bytes that the file is longer than its counts say.
    pub excess: i64,
}

impl Draft {
    /// A set with nothing wrong but its points.
    pub fn new() -> Self {
        let vk = Trapdoor::new(7, INPUTS).verifying_key();
        Self { head: vk.clone(), vk, counts: COUNTS, excess: 0 }
    }

    /// Writes the set into `folder`, which is made; returns the path of its `.params` file.
    pub fn write(&self, folder: &Path) -> PathBuf {
        let vk = folder.join(vk_name_2kib());
        let params = vk.with_extension("params");
        fs::create_dir_all(folder).expect("a folder of the test");
        fs::write(&vk, &self.vk).expect("a folder of the test");
        fs::write(vk.with_extension("insecure"), "made by a test\n").expect("as above");
        let file = File::create(&params).expect("a folder of the test");
        file.write_all_at(&self.head, 0).expect("a file of the test");
        let mut offset = self.head.len() as u64;
        for (count, point_bytes) in self.counts.into_iter().zip(POINT_BYTES) {
            file.write_all_at(&count.to_be_bytes(), offset).expect("a file of the test");
            offset += 4 + u64::from(count) * point_bytes;
        }
        let length = offset.checked_add_signed(self.excess).expect("files are longer than cuts");
        file.set_len(length).expect("a file of the test");
        params
    }
}
