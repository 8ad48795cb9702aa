//! The machine code of the field products: the low and high halves of a partial product must be
//! one IMAD.WIDE. A literal Montgomery factor, a broken carry chain or a new compiler can split
//! them, which stays right and costs a third of the speed.
#![cfg(prove_cuda)]
#![expect(clippy::print_stdout, reason = "a skipped test says so")]

use std::collections::HashMap;
use std::process::Command;

/// Instructions of each function of the fatbin by opcode, or `None` without cuobjdump.
fn opcode_counts() -> Option<HashMap<String, HashMap<String, usize>>> {
    let local = concat!(env!("CARGO_MANIFEST_DIR"), "/.cuda/nvidia/cu13/bin/cuobjdump");
    let path = format!("{}/.cuda/nvidia/cu13/bin", env!("CARGO_MANIFEST_DIR"));
    let path = format!("{path}:{}", std::env::var("PATH").unwrap_or_default());
    let output = [local, "cuobjdump"].iter().find_map(|tool| {
        let mut command = Command::new(tool);
        command.env("PATH", &path).args(["--dump-sass", env!("PROVE_FATBIN")]);
        command.output().ok().filter(|output| output.status.success())
    })?;
    let mut counts: HashMap<String, HashMap<String, usize>> = HashMap::new();
    let mut function = String::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some((_, name)) = line.split_once("Function : ") {
            function = name.trim().to_owned();
        }
        let Some(code) = line.trim_start().strip_prefix("/*").and_then(|l| l.split_once("*/"))
        else {
            continue;
        };
        let mut words = code.1.split_whitespace();
        let Some(opcode) = words.find(|word| !word.starts_with('@')) else { continue };
        let opcode = opcode.trim_end_matches(';').to_owned();
        *counts.entry(function.clone()).or_default().entry(opcode).or_default() += 1;
    }
    Some(counts)
}

/// Checks that `function` has `wide` fused multiply-adds, give or take 4 %, and few halves.
fn check(counts: &HashMap<String, HashMap<String, usize>>, function: &str, wide: usize) {
    let opcodes = counts.get(function).unwrap_or_else(|| panic!("`{function}` in the fatbin"));
    let sum = |prefix: &str| -> usize {
        opcodes.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, count)| count).sum()
    };
    let (fused, high) = (sum("IMAD.WIDE"), sum("IMAD.HI"));
    assert!(fused.abs_diff(wide) * 25 <= wide, "{function}: {fused} IMAD.WIDE, expected {wide}");
    assert!(high * 16 <= wide, "{function}: {high} IMAD.HI beside {fused} IMAD.WIDE");
}

#[test]
fn field_products_are_fused() {
    let Some(counts) = opcode_counts() else {
        println!("skipped: no cuobjdump (`make cuda` fetches one)");
        return;
    };
    // A product has 11 * 24 + 12 fused ones, a square 78 + 144, a sum of two products 144 more.
    check(&counts, "field_check_fp", 276 + 222 + 420);
    // Two products of 64 + 8 * 6 less the first row's eight, which need no accumulator.
    check(&counts, "field_check_fr", 2 * 104);
}
