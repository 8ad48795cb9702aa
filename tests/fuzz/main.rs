//! Random damage to C1 files and parameter files, for as long as is wanted.
//!
//! Whatever the bytes, our readers must answer: no panic, no allocation above 1 GiB, and nothing
//! accepted that is not what the file was before. `cargo test` searches for a few seconds,
//! `make fuzz` for two minutes. An input that fails is kept in `target/tmp/`.

#[path = "../common/files.rs"]
mod files;

mod allocation;
mod c1_files;
mod damage;
mod parameter_files;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Names the variable with the seconds that each search takes.
const SECONDS: &str = "FUZZ_SECONDS";
/// The most that may be allocated at one time.
const BYTES_MAX: usize = 1 << 30;

/// Draws input after input and tests it, until the time is over.
fn search(name: &str, draw: impl Fn(&mut ChaCha8Rng) -> Vec<u8>, test: impl Fn(&[u8])) {
    let seconds = std::env::var(SECONDS).map_or(5, |text| text.parse().expect("whole seconds"));
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut seed = 0;
    while Instant::now() < end {
        let input = draw(&mut ChaCha8Rng::seed_from_u64(seed));
        allocation::reset();
        let outcome = catch_unwind(AssertUnwindSafe(|| test(&input)));
        let bytes = allocation::peak_bytes();
        if outcome.is_err() || bytes > BYTES_MAX {
            let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{seed}"));
            std::fs::write(&kept, &input).expect("target/tmp can be written");
            panic!("seed {seed}, {bytes} bytes allocated: see {}", kept.display());
        }
        seed += 1;
    }
    assert!(seed > 10, "{seed} inputs in {seconds} s are no search");
}

// One test, so that the allocations of one search are not counted against the other.
#[test]
fn readers_answer_whatever_the_bytes() {
    c1_files::search();
    parameter_files::search();
}
