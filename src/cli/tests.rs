use super::*;

fn parse(words: &str) -> Result<Cli, clap::Error> {
    Cli::parse_words(std::iter::once("prove").chain(words.split_whitespace()))
}

fn kind(words: &str) -> ErrorKind {
    parse(words).expect_err("a usage error").kind()
}

#[test]
fn clap_finds_no_fault_in_the_definition() {
    Cli::command().debug_assert();
}

#[test]
fn shared_options_stand_before_or_after_a_command() {
    for words in
        ["verify a b --quiet --params p", "--quiet --params p verify a b", "--quiet verify a b"]
    {
        let cli = parse(words).expect(words);
        assert!(cli.shared.quiet, "{words}");
        assert!(matches!(cli.command, Some(Command::Verify { .. })), "{words}");
    }
}

#[test]
fn a_c1_before_a_command_is_a_usage_error() {
    for words in ["a.json verify b c", "a.json info", "a.json b info"] {
        assert_eq!(kind(words), ErrorKind::ArgumentConflict, "{words}");
    }
}

#[test]
fn files_called_like_commands_have_a_way() {
    for (words, c1) in [("./verify out", "./verify"), ("-- verify out", "verify")] {
        let cli = parse(words).expect(words);
        assert_eq!(cli.c1, Some(PathBuf::from(c1)), "{words}");
        assert!(cli.command.is_none(), "{words}");
    }
    let cli = parse("a b --json info").expect("an option's value is no command");
    assert_eq!(cli.shared.json, Some(PathBuf::from("info")));
}

#[test]
fn both_files_are_needed_to_prove() {
    for words in ["", "a.json", "--quiet", "verify a", "params", "params setup --out d"] {
        let kind = kind(words);
        assert!(
            matches!(
                kind,
                ErrorKind::MissingRequiredArgument
                    | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                    | ErrorKind::MissingSubcommand
            ),
            "{words}: {kind:?}"
        );
    }
}

#[test]
fn proofs_of_a_batch_have_names_of_their_own() {
    let tasks = |words: &str| match parse(words).expect(words).command {
        Some(Command::Batch(args)) => args.tasks(),
        command => panic!("{command:?}"),
    };
    let proofs = |words: &str| {
        let proofs = tasks(words).into_iter().map(|(_, proof)| proof.display().to_string());
        proofs.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(proofs("batch --out-dir d x/a.json b"), "d/a.proof d/b.proof");
    let twice = "batch --out-dir d --count 2 a.json b.json";
    assert_eq!(proofs(twice), "d/a.1.proof d/b.1.proof d/a.2.proof d/b.2.proof");
    assert_eq!(kind("batch --out-dir d x/a.json y/a.json"), ErrorKind::ArgumentConflict);
    assert_eq!(kind("batch --out-dir d -"), ErrorKind::ValueValidation);
    assert_eq!(kind("batch a.json"), ErrorKind::MissingRequiredArgument);
    assert_eq!(kind("batch --out-dir d --jobs 0 a.json"), ErrorKind::ValueValidation);
}

#[test]
fn a_stream_is_given_away_once() {
    assert_eq!(kind("- - --json -"), ErrorKind::ArgumentConflict);
    assert_eq!(kind("verify - -"), ErrorKind::ArgumentConflict);
    assert_eq!(kind("a b --rss-log -"), ErrorKind::ValueValidation);
    assert_eq!(kind("a b --trace -"), ErrorKind::ValueValidation);
    assert!(parse("- out --json -").is_ok());
    assert!(parse("verify - proof --json -").is_ok());
}

#[test]
fn a_variant_without_effect_is_a_usage_error() {
    let words = "--variant prover=bellperson";
    assert_eq!(kind(&format!("verify a b {words}")), ErrorKind::ArgumentConflict);
    assert!(parse(&format!("a b {words}")).is_ok());
    assert!(parse(&format!("info {words}")).is_ok());
}

#[test]
fn options_of_a_gpu_contradict_the_cpu() {
    for option in ["--gpu 0", "--wait-gpu 1m", "--vram 8GiB"] {
        assert!(parse(&format!("a b {option}")).is_ok(), "{option}");
        let words = format!("a b --device cpu {option}");
        assert_eq!(kind(&words), ErrorKind::ArgumentConflict, "{option}");
    }
    let settled = |words| parse(words).expect(words).shared.settled_device();
    assert_eq!(settled("a b"), None);
    assert_eq!(settled("a b --gpu 1"), Some(Device::Gpu));
    assert_eq!(settled("a b --device cpu"), Some(Device::Cpu));
}

#[test]
fn variants_of_the_other_device_are_usage_errors() {
    for (words, is_good) in [
        ("a b --variant ntt=generated", true),
        ("a b --variant ntt=generated --device gpu", true),
        ("a b --variant ntt=generated --device cpu", false),
        ("a b --variant prover=bellperson --device gpu", false),
        ("a b --variant prover=bellperson --gpu 0", false),
        ("bench ntt --variant prover=native,bellperson --device gpu", false),
        ("bench msm --variant msm=pairs,generated --device gpu", true),
    ] {
        assert_eq!(parse(words).is_ok(), is_good, "{words}");
    }
}

#[test]
fn values_are_read_with_their_units() {
    let cli = parse("a b --ram 16GiB --timeout 2m --miner-id t01000 --threads 3").expect("ok");
    assert_eq!(cli.shared.ram, Some(16 << 30));
    assert_eq!(cli.shared.timeout, Some(Duration::from_secs(120)));
    assert_eq!((cli.shared.miner_id, cli.shared.threads), (Some(1000), Some(3)));
    assert_eq!(memory_size("1024"), Ok(1024));
    for bad in ["16 apples", "", "-1", "99999999999999TiB", "1.5GiB"] {
        assert!(memory_size(bad).is_err(), "{bad}");
    }
    assert!(thread_count("0").is_err());
    assert!(node("00").is_err());
    assert_eq!(node(&"0f".repeat(32)), Ok([15; 32]));
}

#[test]
fn unknown_values_are_usage_errors() {
    for words in [
        "a b --device tpu",
        "a b --variant prover=magic",
        "a b --variant colour=red",
        "a b --variant prover",
        "info --sector-size 3KiB",
        "a b --gpu -1",
        "a b --gpu first",
        "a b --wait-gpu soon",
        "a b --vram much",
        "bench synth a --partition every",
    ] {
        let kind = kind(words);
        assert!(
            matches!(
                kind,
                ErrorKind::ValueValidation | ErrorKind::InvalidValue | ErrorKind::UnknownArgument
            ),
            "{words}: {kind:?}"
        );
    }
}
