//! `prove completions` and `prove man`: both made from the same definition as `--help`.

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;

use super::print_answer;
use crate::cli::Cli;

pub(super) fn completions(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "prove", &mut script);
    print_answer(&String::from_utf8(script).context("make the completion script")?)
}

pub(super) fn man() -> Result<()> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page).context("make the manual page")?;
    print_answer(&String::from_utf8(page).context("make the manual page")?)
}
