//! What a job that nobody watches lacks: it begins in another folder, with hardly a variable, and nobody answers it.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::finding::Finding;
use crate::cli::terminal::output;

/// Where cron looks for programs.
pub(super) const CRON_PATH: &str = "/usr/bin:/bin";

/// A program that the configuration starts.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// The key that names it.
    pub(super) key: &'static str,
    pub(super) name: String,
    /// Where it was found, with the path of this command and with that of a job.
    pub(super) here: bool,
    pub(super) in_a_job: bool,
}

/// What was seen.
#[derive(Clone, Debug)]
pub(super) struct JobFacts {
    /// The folder of this command.
    pub(super) folder: String,
    /// The configuration is the one of this folder, and nobody has named it.
    pub(super) config_is_of_folder: bool,
    /// A relative name of the configuration, or of the journal.
    pub(super) relative: Vec<&'static str>,
    /// Variables of ours that are set here.
    pub(super) variables: Vec<String>,
    /// The home of this user, where a variable says it.
    pub(super) has_home: bool,
    pub(super) programs: Vec<Program>,
}

/// Judges what a job would lack.
pub(super) fn judge(facts: &JobFacts) -> Vec<Finding> {
    let mut found = Vec::new();
    let folder = output::quoted(&facts.folder);
    let mut lacks = facts.relative.clone();
    if facts.config_is_of_folder {
        lacks.insert(0, "configuration");
    }
    if !lacks.is_empty() {
        found.push(
            Finding::note(
                "job: folder",
                format!(
                    "{} relative to this folder, but a job starts in another one",
                    match lacks.as_slice() {
                        [one] => format!("the path of the {one} is"),
                        several => format!("the paths of {} are", several.join(" and ")),
                    }
                ),
            )
            .advised(format!("begin its line with: cd {folder} &&")),
        );
    }
    if !facts.variables.is_empty() {
        found.push(
            Finding::warning(
                "job: variables",
                format!(
                    "{} set here, but a job does not have your variables",
                    match facts.variables.as_slice() {
                        [one] => format!("{one} is"),
                        several => format!("{} are", several.join(", ")),
                    }
                ),
            )
            .advised("write them into the configuration; a password into password_file"),
        );
    }
    if !facts.has_home {
        found.push(
            Finding::note(
                "job: home",
                "HOME is not set: a configuration in the user's folder is not found",
            )
            .advised("name it with --config FILE"),
        );
    }
    found.extend(facts.programs.iter().map(judge_program));
    if found.iter().all(|finding| finding.advice.is_none()) {
        found.push(Finding::ok(
            "job",
            "it would find the same files as here; --yes answers its questions",
        ));
    }
    found
}

fn judge_program(program: &Program) -> Finding {
    let key = program.key;
    let at = format!("job: {key}");
    let name = output::name(&program.name);
    match (program.here, program.in_a_job) {
        (false, false) => Finding::problem(
            at,
            format!("{name} is not here, or is no program that this user may start"),
        )
        .advised(format!(
            "install it, or name it with its whole path in {key}"
        )),
        (true, false) => Finding::warning(
            at,
            format!("{name} is found here, and not with the PATH of a job ({CRON_PATH})"),
        )
        .advised(format!("name it with its whole path in {key}")),
        (_, true) => Finding::ok(at, name),
    }
}

/// Looks at what this command has that a job has not.
pub(super) fn look(
    environment: &BTreeMap<String, String>,
    config: Option<&Path>,
    named: bool,
    journal: Option<&Path>,
    commands: &[(&'static str, Option<&String>)],
) -> JobFacts {
    let mut relative = Vec::new();
    if named && config.is_some_and(Path::is_relative) {
        relative.push("configuration");
    }
    if journal.is_some_and(Path::is_relative) {
        relative.push("journal");
    }
    let path = environment.get("PATH").map_or("", String::as_str);
    let programs = commands.iter().filter_map(|(key, name)| {
        let name = (*name)?;
        Some(Program {
            key,
            name: name.clone(),
            here: is_found(name, path),
            in_a_job: is_found(name, CRON_PATH),
        })
    });
    JobFacts {
        folder: std::env::current_dir()
            .map_or_else(|_| ".".to_owned(), |folder| folder.display().to_string()),
        config_is_of_folder: !named && config.is_some_and(Path::is_relative),
        relative,
        variables: environment
            .iter()
            .filter(|(name, value)| name.starts_with("DISBURSE_") && !value.is_empty())
            .map(|(name, _)| name.clone())
            .collect(),
        has_home: environment.get("HOME").is_some_and(|home| !home.is_empty()),
        programs: programs.collect(),
    }
}

/// Returns whether a program is found, as the system looks for it.
fn is_found(name: &str, path: &str) -> bool {
    let is_program = |file: PathBuf| {
        file.metadata()
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    match name.contains('/') {
        // A relative one starts at the folder of the command, which a job has not.
        true => is_program(PathBuf::from(name)),
        false => std::env::split_paths(path).any(|folder| is_program(folder.join(name))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level::{self, Note, Ok as Fine, Problem, Warning};
    use super::*;

    fn good() -> JobFacts {
        JobFacts {
            folder: "/srv/my pay".to_owned(),
            config_is_of_folder: false,
            relative: Vec::new(),
            variables: Vec::new(),
            has_home: true,
            programs: Vec::new(),
        }
    }

    #[test]
    fn what_a_job_lacks_is_told() {
        let program = |here, in_a_job| Program {
            key: "files.decrypt",
            name: "age".to_owned(),
            here,
            in_a_job,
        };
        for (facts, expected, part) in [
            (good(), &[Fine][..], "--yes"),
            (
                JobFacts {
                    config_is_of_folder: true,
                    relative: vec!["journal"],
                    ..good()
                },
                &[Note],
                "cd '/srv/my pay' &&",
            ),
            (
                JobFacts {
                    variables: vec!["DISBURSE_PASSWORD".to_owned()],
                    ..good()
                },
                &[Warning],
                "DISBURSE_PASSWORD is",
            ),
            (
                JobFacts {
                    has_home: false,
                    ..good()
                },
                &[Note],
                "--config",
            ),
            (
                JobFacts {
                    programs: vec![program(false, false)],
                    ..good()
                },
                &[Problem],
                "not here",
            ),
            (
                JobFacts {
                    programs: vec![program(true, false)],
                    ..good()
                },
                &[Warning],
                "whole path",
            ),
            (
                JobFacts {
                    programs: vec![program(true, true)],
                    ..good()
                },
                &[Fine, Fine],
                "age",
            ),
        ] {
            let found = judge(&facts);
            let levels: Vec<Level> = found.iter().map(|finding| finding.level).collect();
            assert_eq!(levels, expected, "{found:?}");
            assert!(format!("{found:?}").contains(part), "{part}: {found:?}");
        }
    }

    #[test]
    fn programs_are_found_as_the_system_finds_them() {
        assert!(is_found("sh", CRON_PATH));
        assert!(is_found("/bin/sh", ""));
        assert!(!is_found("sh", "/nowhere"));
        assert!(!is_found("/etc/passwd", CRON_PATH), "it may not be started");
    }

    #[test]
    fn names_and_variables_are_compared_with_those_of_a_job() {
        let environment = [
            ("PATH", "/bin"),
            ("DISBURSE_RATE", "1/s"),
            ("HOME", "/root"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let sh = "sh".to_owned();
        let facts = look(
            &environment.into(),
            Some(Path::new("disburse.toml")),
            false,
            Some(Path::new("disburse.db")),
            &[("files.decrypt", Some(&sh)), ("evidence.command", None)],
        );
        assert!(facts.config_is_of_folder && facts.has_home);
        assert_eq!(facts.relative, ["journal"]);
        assert_eq!(facts.variables, ["DISBURSE_RATE"]);
        assert_eq!(facts.programs.len(), 1);
    }
}
