//! `completions` and `man`.

use std::fs::{self, File};
use std::path::Path;

use clap::CommandFactory;

use crate::cli::Arguments;
use crate::cli::Error;
use crate::cli::arguments::ManArguments;
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
pub(in crate::cli) fn man(arguments: &ManArguments) -> Result<ExitStatus, Error> {
    if let Some(folder) = &arguments.out {
        return pages(folder);
    }
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

/// Writes a file for each page.
fn pages(folder: &Path) -> Result<ExitStatus, Error> {
    let failed = |path: &Path, error: &std::io::Error| {
        let name = output::name(&path.display().to_string());
        Error::refused(format!("{name}: cannot be written: {error}"))
            .hint("name a folder that is empty, or not there yet, with --out")
    };
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let mut waiting = vec![command];
    while let Some(command) = waiting.pop() {
        waiting.extend(
            command
                .get_subcommands()
                .filter(|sub| !sub.is_hide_set())
                .cloned(),
        );
        let page = clap_mangen::Man::new(command);
        let path = folder.join(page.get_filename());
        File::create_new(&path)
            .and_then(|mut file| page.render(&mut file))
            .map_err(|error| failed(&path, &error))?;
    }
    Ok(ExitStatus::Done)
}
