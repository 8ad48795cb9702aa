//! Ways to damage bytes: some blind, some that know JSON.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Text that stands where it should not.
const TOKENS: [&str; 20] = [
    "-1",
    "256",
    "1.5",
    "1e999",
    "4294967296",
    "18446744073709551616",
    "null",
    "true",
    "\"\"",
    "[]",
    "{}",
    "[[]]",
    "{\"a\":1}",
    ",",
    ":",
    "\"",
    "}",
    "]",
    "\\u0000",
    "\u{feff}",
];

/// Damages `bytes` in one of nine ways, at a random place.
pub fn damage(rng: &mut ChaCha8Rng, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
    if bytes.is_empty() {
        bytes.extend(b"{}");
    }
    let at = rng.gen_range(0..bytes.len());
    let end = (at + rng.gen_range(1..64)).min(bytes.len());
    match rng.gen_range(0..9) {
        0 => bytes[at] ^= 1 << rng.gen_range(0..8),
        1 => bytes[at] = rng.r#gen(),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let copy = bytes[at..end].repeat(rng.gen_range(1..50));
            bytes.splice(at..at, copy);
        }
        5 => {
            let other = &others[rng.gen_range(0..others.len())];
            let from = rng.gen_range(0..other.len());
            let until = (from + rng.gen_range(1..4096)).min(other.len());
            bytes.splice(at..end, other[from..until].iter().copied());
        }
        6 => {
            let depth = rng.gen_range(1..10_000);
            let bracket = [b'[', b'{'][rng.gen_range(0..2)];
            bytes.splice(at..at, std::iter::repeat_n(bracket, depth));
        }
        7 => number(rng, bytes, at),
        _ => {
            let token = TOKENS[rng.gen_range(0..TOKENS.len())];
            bytes.splice(at..at, token.bytes());
        }
    }
}

/// Replaces the number at or after a place with another, or with something else.
fn number(rng: &mut ChaCha8Rng, bytes: &mut Vec<u8>, at: usize) {
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit) else { return };
    let start = at + start;
    let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = if rng.r#gen() {
        rng.gen_range(0..300).to_string()
    } else {
        TOKENS[rng.gen_range(0..TOKENS.len())].to_owned()
    };
    bytes.splice(start..start + length, text.bytes());
}
