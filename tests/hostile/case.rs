//! One hostile command line, and what must hold after it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::common::binary::{Prove, Run, tree};

/// Longest that a refusal may take.
const QUICK: Duration = Duration::from_secs(1);
/// When a run counts as hanging.
const LIMIT: Duration = Duration::from_secs(60);

/// A command line that must fail.
pub struct Case {
    name: String,
    code: i32,
    /// What the message must contain.
    says: String,
    arguments: Vec<String>,
    stdin: Vec<u8>,
    variables: Vec<(&'static str, &'static str)>,
    files: Vec<(String, Vec<u8>)>,
    prepare: Option<fn(&Path)>,
}

impl Case {
    /// `prove WORDS` (split at spaces) must exit with `code` and say `says`.
    pub fn new(name: &str, words: &str, code: i32, says: &str) -> Self {
        Self {
            name: name.to_owned(),
            code,
            says: says.to_owned(),
            arguments: words.split_whitespace().map(str::to_owned).collect(),
            stdin: vec![],
            variables: vec![],
            files: vec![],
            prepare: None,
        }
    }

    /// Puts a file into the run's folder first.
    pub fn file(mut self, name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.push((name.to_owned(), bytes.into()));
        self
    }

    /// Gives the run something to read on standard input.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Sets an environment variable; there is none otherwise.
    pub fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    /// Lets `prepare` change the run's folder, after the files were made.
    pub fn prepare(mut self, prepare: fn(&Path)) -> Self {
        self.prepare = Some(prepare);
        self
    }

    fn run(&self) -> Run {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("target/tmp exists");
        for (name, bytes) in &self.files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a file in the folder")).expect("ours");
            fs::write(path, bytes).expect("the folder is ours");
        }
        if let Some(prepare) = self.prepare {
            prepare(folder.path());
        }
        let before = tree(folder.path());
        let mut prove = Prove::new(folder.path(), &self.arguments).stdin(&self.stdin);
        for (name, value) in &self.variables {
            prove = prove.env(name, value);
        }
        let run = prove.run(LIMIT);
        assert!(tree(folder.path()) == before, "{}: files changed: {run:#?}", self.name);
        run
    }

    fn check(&self) -> Result<(), String> {
        let run = self.run();
        let fault = |what: &str| Err(format!("{}: {what}: {run:#?}", self.name));
        if run.code != self.code {
            return fault(&format!("expected exit code {}", self.code));
        }
        if !run.stdout.is_empty() {
            return fault("standard output is for data");
        }
        if run.error().is_empty() || !run.stderr.contains(&self.says) {
            return fault(&format!("expected a message with `{}`", self.says));
        }
        if run.is_slower_than(QUICK) {
            return fault("slow");
        }
        Ok(())
    }
}

/// Checks every case and reports all that fail.
pub fn check_all(cases: Vec<Case>) {
    let count = cases.len();
    let faults: Vec<String> = cases.iter().filter_map(|case| case.check().err()).collect();
    assert!(faults.is_empty(), "{} of {count}:\n{}", faults.len(), faults.join("\n"));
}
