//! Command lines that cannot be meant: exit code 2, before any file is opened.

use super::case::Case;

/// All of them. None of the files exists, so a fault that is found late shows as code 1 or 3.
pub fn cases() -> Vec<Case> {
    let case = |words: &str, says: &str| Case::new(&format!("`{words}`"), words, 2, says);
    vec![
        case("", "<C1>"),
        case("c1.json", "<OUT>"),
        case("c1.json out.proof more", "more"),
        case("--no-such-option c1.json out.proof", "--no-such-option"),
        case("c1.json verify c1.json out.proof", "./"),
        case("verify c1.json", "<PROOF>"),
        case("verify - -", "standard input"),
        case("params", "setup"),
        case("params forge", "forge"),
        case("params setup --sector-size 2KiB --out params", "--insecure"),
        case("params setup --insecure --sector-size 2KiB", "--out"),
        case("params setup --insecure --sector-size 3KiB --out params", "2KiB"),
        case("params setup --insecure --sector-size 2KiB --out params --seed many", "many"),
        case("params check --sector-size 0", "2KiB"),
        case("info --sector-size 32", "32GiB"),
        case("completions no-such-shell", "bash"),
        case("c1.json out.proof --variant prover", "prover"),
        case("c1.json out.proof --variant colour=red", "colour"),
        case("c1.json out.proof --variant prover=magic", "bellperson"),
        case("c1.json out.proof --variant window=30", "2 to 24"),
        case("bench msm --log-n 10 --variant window=5,5", "twice"),
        case("c1.json out.proof --device tpu", "auto"),
        case("c1.json out.proof --ram 16apples", "16apples"),
        case("c1.json out.proof --ram -1", "-1"),
        case("c1.json out.proof --threads 0", "threads"),
        case("c1.json out.proof --timeout soon", "soon"),
        case("c1.json out.proof --miner-id eve", "eve"),
        case("c1.json out.proof --miner-id -1", "-1"),
        case("c1.json out.proof --prover-id 00", "64"),
        case("c1.json out.proof --porep-id xyz", "64"),
        case("c1.json out.proof --sector-num 18446744073709551616", "18446744073709551616"),
        case("c1.json - --json -", "standard output"),
        case("c1.json out.proof --params", "--params"),
    ]
}
