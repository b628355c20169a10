//! `init`: a few answers become the first files of a deployment.
//!
//! `answers.rs` has the questions and what a good answer is, `asking.rs` asks them, this file writes what came of it.

mod answers;
mod asking;

use std::io::Cursor;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};

use self::answers::{Answers, NOTHING, PASSWORD, SIGNERS, Said, Wrong, told};
use crate::cli::Error;
use crate::cli::arguments::InitArguments;
use crate::cli::config::{Settings, Sources};
use crate::cli::exit::ExitStatus;
use crate::cli::files::all_or_none::{self, New};
use crate::cli::session::Session;
use crate::cli::terminal::ask;
use crate::cli::terminal::output;
use crate::domain::PaymentKind;
use crate::intake::template::{EXAMPLE, Template};

/// The configuration.
const CONFIGURATION: &str = "disburse.toml";
/// The batch name of the rehearsal that is proposed.
const REHEARSAL: &str = "rehearsal-1";
/// The system's tables of zones by country.
const ZONE_TABLES: [&str; 1] = ["/usr/share/zoneinfo/zone.tab"];

/// `disburse init`.
pub(in crate::cli) async fn init(
    session: &Session,
    arguments: InitArguments,
) -> Result<ExitStatus, Error> {
    if session.common.config.is_some() {
        return Err(Error::refused(format!(
            "init writes {CONFIGURATION} into its folder, and --config or DISBURSE_CONFIG names another file; {NOTHING}"
        ))
        .hint("leave --config out, and unset DISBURSE_CONFIG"));
    }
    // The commands that follow would look for it as well.
    let named = std::env::var("DISBURSE_PROFILE").ok();
    let named = session.common.profile.clone().or(named);
    let profile = named
        .as_deref()
        .filter(|name| !name.is_empty())
        .unwrap_or("production");
    let zones = ZONE_TABLES
        .iter()
        .find_map(|path| std::fs::read_to_string(path).ok());
    let zones = zones.as_deref();
    let attended = ask::is_attended() && !arguments.yes;
    let mut said = given(&arguments);
    let mut password = None;
    // Nobody answers a dozen questions to be told then that a file is in the way.
    refuse_what_is_there(&arguments.folder, &[CONFIGURATION, PASSWORD, SIGNERS])?;
    tell_unfinished(&arguments.folder);
    if attended {
        asking::ask_all(&mut said, zones).await?;
        password = asking::password().await?;
    }
    let answers = answers::complete(said, profile, zones).map_err(|wrong| refused(&wrong))?;
    let files = files(&answers, password.as_ref(), arguments.csv)?;
    let (folder, written) = match attended {
        false => {
            let written = write(&arguments.folder, profile, &files)?;
            (arguments.folder, written)
        }
        true => asked_and_written(arguments.folder, profile, &files).await?,
    };
    tell(
        session,
        &folder,
        &answers,
        &files,
        &written,
        password.is_some(),
    );
    Ok(ExitStatus::Done)
}

/// Asks whether to write the files, and where else when they cannot be there: all that was answered stays.
async fn asked_and_written(
    mut folder: PathBuf,
    profile: &str,
    files: &[New],
) -> Result<(PathBuf, Vec<PathBuf>), Error> {
    let mut tries = 1;
    loop {
        let written = match refuse_what_is_there(&folder, &names(files)) {
            Ok(()) => {
                asking::confirmed(&names(files).join(", "), &folder).await?;
                write(&folder, profile, files)
            }
            refused => refused.map(|()| Vec::new()),
        };
        match written {
            Ok(written) => return Ok((folder, written)),
            // What is refused, a person can mend.
            Err(error) if error.code() == 2 && tries < asking::TRIES => {
                output::note(&format!("  {}", output::shown(error.message())));
                folder = asking::another_folder(folder).await?;
            }
            Err(error) => return Err(error),
        }
        tries += 1;
    }
}

fn names(files: &[New]) -> Vec<&str> {
    files.iter().map(|file| file.name.as_str()).collect()
}

/// Says which files an earlier one that was killed has left.
fn tell_unfinished(folder: &Path) {
    let left = all_or_none::unfinished(folder);
    if !left.is_empty() {
        output::note(&format!(
            "an earlier init was cut off, and has left {} without the rest; nobody has touched that since, and it gives way to what is written now",
            listed(&left)
        ));
    }
}

fn listed(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths
        .iter()
        .map(|path| output::name(&path.display().to_string()))
        .collect();
    shown.join(", ")
}

/// What the flags say.
fn given(arguments: &InitArguments) -> Said {
    let flags = [
        ("country_code", &arguments.country),
        ("currency_code", &arguments.currency),
        ("base_url", &arguments.gateway),
        ("username", &arguments.username),
        ("originator", &arguments.originator),
        ("time_zone", &arguments.time_zone),
    ];
    Said {
        values: flags
            .into_iter()
            .filter_map(|(key, value)| Some((key, value.clone()?)))
            .collect(),
        services: arguments.pays.clone(),
        signers: arguments.signers.clone(),
        approvals: arguments.approvals.clone(),
        approve_above: arguments.approve_above.clone(),
    }
}

fn refused(wrong: &[Wrong]) -> Error {
    let texts: Vec<String> = wrong.iter().map(told).collect();
    let error = Error::refused(format!("{}; {NOTHING}", texts.join("\n")));
    match wrong
        .iter()
        .any(|wrong| matches!(wrong, Wrong::Missing { .. }))
    {
        true => error.hint(
            "disburse init --help says what each option is; at a terminal, disburse init asks",
        ),
        false => error,
    }
}

/// Returns the files in the order in which they appear: the configuration last, as nothing is in force without it.
fn files(answers: &Answers, password: Option<&SecretString>, csv: bool) -> Result<Vec<New>, Error> {
    let mut files = vec![New {
        name: PASSWORD.to_owned(),
        bytes: password.map_or_else(Vec::new, |password| {
            format!("{}\n", password.expose_secret()).into_bytes()
        }),
    }];
    files.extend(answers.signers.iter().map(|text| New {
        name: SIGNERS.to_owned(),
        bytes: text.clone().into_bytes(),
    }));
    for (kind, name) in PaymentKind::ALL {
        let services = answers.written.services.iter();
        let services: Vec<_> = services
            .filter(|(_, of, _)| *of == kind)
            .map(|(code, _, currency)| (code.clone(), *currency))
            .collect();
        if services.is_empty() {
            continue;
        }
        let template = Template {
            kind,
            services,
            country: Some(answers.country),
        };
        let (mut bytes, ending) = (Cursor::new(Vec::new()), if csv { "csv" } else { "xlsx" });
        match csv {
            true => template.write_csv(&mut bytes),
            false => template.write_xlsx(&mut bytes),
        }
        .map_err(Error::unexpected)?;
        files.push(New {
            name: format!("{name}.{ending}"),
            bytes: bytes.into_inner(),
        });
    }
    files.push(New {
        name: CONFIGURATION.to_owned(),
        bytes: answers.written.text().into_bytes(),
    });
    Ok(files)
}

fn refuse_what_is_there(folder: &Path, names: &[&str]) -> Result<(), Error> {
    let there = all_or_none::in_the_way(folder, names);
    if there.is_empty() {
        return Ok(());
    }
    let (are, stay) = match there.len() {
        1 => ("exists already, and stays", "as it is"),
        _ => ("exist already, and stay", "as they are"),
    };
    let shown = listed(&there);
    Err(Error::refused(format!("{shown} {are} {stay}; {NOTHING}"))
        .hint("name another folder, as in: disburse init FOLDER"))
}

/// Writes everything aside, reads it back as a run would, and then lets it appear.
fn write(folder: &Path, profile: &str, files: &[New]) -> Result<Vec<PathBuf>, Error> {
    let shown = |path: &Path| output::name(&path.display().to_string());
    let failed = |path: &Path, error: &std::io::Error| {
        Error::refused(format!(
            "{}: cannot be written: {error}; {NOTHING}",
            shown(path)
        ))
        .hint("name a folder that this user may write to; the one above it must be there")
    };
    refuse_what_is_there(folder, &names(files))?;
    let aside = all_or_none::write_aside(folder, files).map_err(|error| failed(folder, &error))?;
    read_back(aside.folder(), profile)?;
    aside.appear().map_err(|(path, error)| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Error::refused(format!(
            "{} was made by somebody else meanwhile, and stays as it is; {NOTHING}",
            shown(&path)
        )),
        _ => failed(&path, &error),
    })
}

/// Reads the configuration with the reader of every run, for the gateway and for a rehearsal.
fn read_back(folder: &Path, profile: &str) -> Result<(), Error> {
    let sources = Sources {
        config_path: Some(folder.join(CONFIGURATION)),
        profile: Some(profile.to_owned()),
        ..Sources::default()
    };
    for settings in [Settings::load(&sources), Settings::sandbox(&sources)] {
        let settings = settings.map_err(|error| {
            // Every answer was judged before: this is a mistake of the program, and no file of it stays.
            Error::unexpected(format!(
                "what was to be written cannot be read: {error}; {NOTHING}"
            ))
        })?;
        settings.originator()?;
        settings.payment_limits()?;
        settings.approval_of_load()?;
    }
    Ok(())
}

/// Says what is there now, and what to say next.
fn tell(
    session: &Session,
    folder: &Path,
    answers: &Answers,
    files: &[New],
    written: &[PathBuf],
    has_password: bool,
) {
    let shown: Vec<String> = written
        .iter()
        .map(|path| output::name(&path.display().to_string()))
        .collect();
    let template = files
        .iter()
        .map(|file| file.name.as_str())
        .find(|name| name.ends_with(".csv") || name.ends_with(".xlsx"))
        .unwrap_or_default();
    let rehearsal = match answers.signers.is_some() {
        // A run waits for signatures, and only they know their keys; the load says how.
        true => format!("disburse load {template} --batch {REHEARSAL} --sandbox"),
        false => format!("disburse pay {template} --batch {REHEARSAL} --sandbox"),
    };
    let next = [
        format!("disburse check {template}"),
        rehearsal,
        "disburse doctor".to_owned(),
    ];
    if session.common.json {
        output::json(&serde_json::json!({ "files": shown, "next": next }));
        return;
    }
    for file in &shown {
        output::line(file);
    }
    let mut text = String::new();
    if !has_password {
        text.push_str(&format!(
            "Write the password of the account at the gateway into the first line of {PASSWORD}; a rehearsal needs none.\n"
        ));
    }
    text.push_str(&format!(
        "Open {template}, remove the row {EXAMPLE:?}, and write one row for each payment. Then{}:\n  {}    every error of every line; nothing is loaded\n  {}    a rehearsal: no money moves\n  {}    a check of this machine, before the first payment",
        match folder == Path::new(".") {
            true => String::new(),
            false => format!(", in the folder {}", output::quoted(&folder.display().to_string())),
        },
        next[0], next[1], next[2],
    ));
    session.note(&text);
}
