use super::*;

fn flags(texts: &[&str]) -> Vec<VariantFlag> {
    texts.iter().map(|text| text.parse().expect(text)).collect()
}

#[test]
fn every_listed_variant_can_be_chosen_and_the_first_is_the_default() {
    for stage in STAGES {
        assert_eq!((stage.get)(&Variants::default()), stage.names[0], "{}", stage.name);
        for name in stage.names {
            let name = if *name == "N" { "12" } else { name };
            let flag = format!("{}={name}", stage.name);
            let mut chosen = flags(&[&flag]);
            if ["lc", "presize"].contains(&stage.name) {
                chosen.extend(flags(&["synth=classic"]));
            }
            if flag == "synth=classic" {
                chosen.extend(flags(&["prover=native"]));
            }
            let variants = Variants::resolve(Job::Prove, None, &chosen).expect(&flag);
            assert_eq!((stage.get)(&variants), name, "{flag}");
        }
    }
}

#[test]
fn a_general_window_yields_to_a_particular_one_in_any_order() {
    for order in [["window=12", "window.h=15"], ["window.h=15", "window=12"]] {
        let names = Variants::resolve(Job::Prove, None, &flags(&order)).expect("good");
        let names = names.names(Job::Prove, Device::Cpu);
        assert!(names.contains(&("window.h", "15".to_owned())), "{names:?}");
        assert!(names.contains(&("window.tail", "12".to_owned())), "{names:?}");
    }
}

#[test]
fn unknown_names_list_what_there_is() {
    const PROVERS: &str = "prover=native|bellperson";
    const WINDOWS: &str = "window=auto|N (N from 2 to 24)";
    for (text, listed, is_whole) in [
        ("prover", PROVERS, false),
        ("prover=", PROVERS, false),
        ("prover=magic", PROVERS, false),
        ("lc=vec,", "lc=vec|smallvec1|", false),
        ("window=1", WINDOWS, false),
        ("window=5,25", WINDOWS, false),
        ("window.h=25", "window.h=auto|N (N from 2 to 24)", false),
        ("colour=red", PROVERS, true),
        ("=native", WINDOWS, true),
    ] {
        let message = text.parse::<VariantFlag>().expect_err(text);
        assert!(message.contains(listed), "{message}");
        assert_eq!(message.contains("g2=parallel|serial"), is_whole, "{message}");
    }
}

#[test]
fn a_name_is_not_compared_with_itself() {
    for text in ["window=5,5", "window=5,auto,05", "lc=vec,vec"] {
        let message = text.parse::<VariantFlag>().expect_err(text);
        assert!(message.contains("twice"), "{message}");
    }
    assert_eq!(flags(&["window=05"]), flags(&["window=5"]));
}

#[test]
fn choices_without_effect_are_refused() {
    for (job, texts, part) in [
        (Job::Prove, &["prover=native", "prover=native"][..], "twice"),
        (Job::Prove, &["lc=vec"], "synth=classic"),
        (Job::Prove, &["lc=vec,smallvec1", "synth=classic"], "only `bench`"),
        (Job::Prove, &["prover=bellperson", "bits=each"], "prover=native"),
        (Job::Prove, &["prover=bellperson", "synth=classic"], "synth=reference"),
        (Job::Synth, &["g2=serial"], "prover=native"),
        (Job::Synth, &["synth=compact", "lc=vec"], "synth=classic"),
        (Job::Other, &["prover=native"], "no effect"),
    ] {
        let message = Variants::resolve(job, None, &flags(texts)).expect_err(part);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_stage_acts_on_its_device_only() {
    let (cpu, gpu) = (Some(Device::Cpu), Some(Device::Gpu));
    for (job, device, text, hint) in [
        (Job::Prove, None, "ntt=generated", None),
        (Job::Prove, gpu, "ntt=generated", None),
        (Job::Prove, cpu, "ntt=generated", Some("on a GPU only")),
        (Job::Prove, cpu, "pin=off", Some("on a GPU only")),
        (Job::Prove, gpu, "window.h=12", None),
        (Job::Msm, gpu, "window=12", None),
        (Job::Msm, gpu, "window.tail=12", Some("whole proofs")),
        (Job::Msm, gpu, "prover=bellperson", Some("on the CPU only")),
        (Job::Prove, gpu, "prover=bellperson", Some("runs on the CPU")),
        (Job::Ntt, gpu, "prover=bellperson", Some("on the CPU only")),
        (Job::Ntt, gpu, "msm=generated", Some("whole proofs")),
        (Job::Field, gpu, "field=generated", None),
        (Job::Field, cpu, "field=generated", Some("on a GPU only")),
        (Job::Rows, gpu, "inflight=2", Some("whole proofs")),
        (Job::Other, None, "inflight=2", Some("no effect in this command")),
    ] {
        let result = Variants::resolve(job, device, &flags(&[text]));
        match hint {
            None => assert!(result.is_ok(), "{text}: {result:?}"),
            Some(hint) => {
                let message = result.expect_err(text);
                assert!(message.contains(hint), "{message}");
            }
        }
    }
    let names = |device| Variants::default().names(Job::Prove, device);
    assert!(names(Device::Cpu).iter().all(|(stage, _)| *stage != "pin"));
    assert!(names(Device::Gpu).contains(&("pin", "staged".to_owned())));
}

#[test]
fn windows_are_those_that_the_device_and_the_sums_take() {
    let (cpu, gpu) = (Some(Device::Cpu), Some(Device::Gpu));
    for (job, device, texts, refusal) in [
        (Job::Prove, gpu, &["window=23"][..], None),
        (Job::Prove, gpu, &["window=2"], None),
        (Job::Prove, cpu, &["window=24"], None),
        (Job::Prove, None, &["window=24"], None),
        (Job::Prove, gpu, &["window=24"], Some("window of 2 to 23 bits on a GPU, got 24")),
        (Job::Prove, gpu, &["window.tail=24"], Some("`--variant window.tail=24`")),
        (Job::Msm, gpu, &["window.h=24"], Some("`--variant window.h=24`")),
        (Job::Prove, gpu, &["msm=generated", "window.tail=9"], None),
        (Job::Prove, gpu, &["msm=generated", "window=9"], None),
        (Job::Prove, gpu, &["msm=generated", "window.h=9"], Some("chooses its windows itself")),
        (Job::Msm, gpu, &["msm=generated", "window=9"], Some("chooses its windows itself")),
    ] {
        let result = Variants::resolve(job, device, &flags(texts)).map(|_| ());
        match refusal {
            None => assert_eq!(result, Ok(()), "{texts:?}"),
            Some(part) => {
                let message = result.expect_err(part);
                assert!(message.contains(part), "{message}");
            }
        }
    }
}

#[test]
fn lists_make_arms_in_the_order_typed() {
    let flags = flags(&["lc=vec,smallvec1", "presize=off,on"]);
    let arms = arms(Job::Synth, None, &flags).expect("good");
    let labels: Vec<&str> = arms.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "lc=vec presize=off",
            "lc=vec presize=on",
            "lc=smallvec1 presize=off",
            "lc=smallvec1 presize=on"
        ]
    );
    assert!(arms.iter().all(|(_, variants)| variants.synth == SynthVariant::Classic));
    assert_eq!(arms[3].1.lc, LcVariant::SmallVec1);
}
