//! `completions` and `man`.

use clap::CommandFactory;

use crate::cli::Arguments;
use crate::cli::Error;
use crate::cli::exit::ExitStatus;
use crate::cli::terminal::output;

/// `disburse completions`.
pub(in crate::cli) fn completions(shell: clap_complete::Shell) -> Result<ExitStatus, Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "disburse", &mut script);
    output::print(&String::from_utf8_lossy(&script));
    Ok(ExitStatus::Done)
}

/// `disburse man`: the program's page, and one for every command.
pub(in crate::cli) fn man() -> Result<ExitStatus, Error> {
    let mut page = Vec::new();
    let command = Arguments::command();
    let render = |command: clap::Command, page: &mut Vec<u8>| {
        clap_mangen::Man::new(command)
            .render(page)
            .map_err(Error::unexpected)
    };
    render(command.clone(), &mut page)?;
    for sub in command.get_subcommands() {
        let name: &'static str = format!("disburse-{}", sub.get_name()).leak();
        render(sub.clone().name(name), &mut page)?;
    }
    output::print(&String::from_utf8_lossy(&page));
    Ok(ExitStatus::Done)
}
