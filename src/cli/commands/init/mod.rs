//! `init`: a few answers become the first files of a deployment.
//!
//! `answers.rs` has the questions and what a good answer is, this file asks them and writes what came of it.

mod answers;

use std::io::Cursor;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};

use self::answers::{Answers, PASSWORD, QUESTIONS, Question, SIGNERS, Said, Wrong, ZoneTable};
use crate::cli::Error;
use crate::cli::arguments::InitArguments;
use crate::cli::config::{Settings, Sources};
use crate::cli::exit::ExitStatus;
use crate::cli::files::all_or_none::{self, New};
use crate::cli::session::Session;
use crate::cli::terminal::ask::{self, Typed};
use crate::cli::terminal::output;
use crate::domain::{Currency, PaymentKind};
use crate::intake::template::{EXAMPLE, Template};

/// The configuration.
const CONFIGURATION: &str = "disburse.toml";
/// The batch name of the rehearsal that is proposed.
const REHEARSAL: &str = "rehearsal-1";
/// How often a question is asked.
const TRIES: usize = 5;
/// How many people are asked for at a terminal.
const PEOPLE_MAX: usize = 20;
/// What is so after every refusal.
const NOTHING: &str = "nothing was written";
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
    if attended {
        ask_all(&mut said, zones).await?;
        password = ask_password().await?;
    }
    let answers =
        answers::complete(said, profile, zones).map_err(|wrong| refused(&wrong, attended))?;
    let files = files(&answers, password.as_ref(), arguments.csv)?;
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    refuse_what_is_there(&arguments.folder, &names)?;
    if attended {
        let folder = output::name(&arguments.folder.display().to_string());
        let question = format!("Write {} into {folder}?", names.join(", "));
        ask::ask(&question, Typed::Yes, NOTHING).await?;
    }
    let written = write(&arguments.folder, profile, &files)?;
    tell(
        session,
        &arguments.folder,
        &answers,
        &files,
        &written,
        password.is_some(),
    );
    Ok(ExitStatus::Done)
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

fn refused(wrong: &[Wrong], attended: bool) -> Error {
    let told = |flag: &str| match attended {
        true => flag.to_owned(),
        false => format!("{flag} is missing"),
    };
    let texts: Vec<String> = wrong
        .iter()
        .map(|wrong| match wrong {
            Wrong::Missing { flag } => told(flag),
            Wrong::Bad {
                flag,
                found,
                expected,
            } => format!(
                "{flag}: expected {expected}, found {:?}",
                output::name(found)
            ),
        })
        .collect();
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

async fn ask_all(said: &mut Said, zones: ZoneTable<'_>) -> Result<(), Error> {
    for question in &QUESTIONS {
        if !said.values.contains_key(question.key) {
            let suggestion = answers::suggested(question, said, zones);
            let text = ask_one(question, suggestion).await?;
            said.values.insert(question.key, text);
        }
    }
    if said.services.is_empty() {
        ask_services(said).await?;
    }
    if said.signers.is_empty() {
        ask_signers(said).await?;
    }
    Ok(())
}

/// Asks until the answer does, a few times.
async fn insist<T>(question: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<T, Error> {
    for _ in 0..TRIES {
        let answer = ask::heard(question).await?;
        if !answer.ends_with('\n') {
            return Err(Error::refused(format!("not answered; {NOTHING}")));
        }
        match read(answer.trim()) {
            Ok(read) => return Ok(read),
            Err(expected) => output::note(&format!("  expected {expected}")),
        }
    }
    Err(
        Error::refused(format!("{TRIES} answers did not do; {NOTHING}")).hint(
            "disburse init --help says what each option is; docs/configuration.md what each key is",
        ),
    )
}

async fn ask_one(question: &Question, suggestion: Option<String>) -> Result<String, Error> {
    let shown = match &suggestion {
        Some(text) => format!("{} [{text}]: ", question.asked),
        None => format!("{}: ", question.asked),
    };
    insist(&shown, |answer| {
        let text = match (answer, &suggestion) {
            ("", Some(suggestion)) => suggestion.clone(),
            _ => answer.to_owned(),
        };
        answers::check(question, &text).map(|()| text)
    })
    .await
}

async fn ask_services(said: &mut Said) -> Result<(), Error> {
    output::note(
        "What do you pay? Of each kind name the codes of its services as the gateway gave them to you, blanks between; empty: nothing of the kind.",
    );
    while said.services.is_empty() {
        for (_, name) in PaymentKind::ALL {
            let codes = insist(&format!("  {name}: "), |answer| {
                let texts = answer.split_whitespace();
                let texts: Vec<String> = texts.map(|code| format!("{code}={name}")).collect();
                let all: Vec<String> = said.services.iter().chain(&texts).cloned().collect();
                answers::services_differ(&all).map(|()| texts)
            })
            .await?;
            said.services.extend(codes);
        }
        if said.services.is_empty() {
            output::note("  at least one service is needed");
        }
    }
    Ok(())
}

async fn ask_signers(said: &mut Said) -> Result<(), Error> {
    output::note(
        "Who signs? With two pairs of eyes a batch is paid once somebody else than its loader has signed for it. Name whoever loads and whoever approves: a name and a public SSH key on one line, such as: alice@example.org ssh-ed25519 AAAA...",
    );
    while said.signers.len() < PEOPLE_MAX {
        let count = said.signers.len();
        let question = match count {
            0 => "  who signs (empty: batches need no approval): ",
            1 => "  who else: ",
            _ => "  who else (empty: nobody): ",
        };
        let line = insist(question, |answer| match answer {
            "" if count == 1 => {
                Err("somebody else: whoever loads a batch cannot approve it".to_owned())
            }
            "" => Ok(None),
            line => answers::signer(line).map(|()| Some(line.to_owned())),
        })
        .await?;
        match line {
            Some(line) => said.signers.push(line),
            None => break,
        }
    }
    let currency = said.values.get("currency_code").cloned();
    let currency = currency.and_then(|code| Currency::from_code(&code));
    if let Some(currency) =
        currency.filter(|_| !said.signers.is_empty() && said.approve_above.is_none())
    {
        said.approve_above = insist(
            "  up to which amount does a batch need no approval (empty: every batch needs it): ",
            |answer| match answer {
                "" => Ok(None),
                amount => answers::amount(amount, currency).map(|()| Some(amount.to_owned())),
            },
        )
        .await?;
    }
    Ok(())
}

async fn ask_password() -> Result<Option<SecretString>, Error> {
    let answer = ask::unseen(
        "Password of the account at the gateway (it is not shown; empty: it is filled in later): ",
    )
    .await?;
    let text = answer.expose_secret();
    if !text.ends_with('\n') {
        return Err(Error::refused(format!("not answered; {NOTHING}")));
    }
    let text = text.trim_end_matches(['\n', '\r']);
    Ok((!text.is_empty()).then(|| SecretString::from(text)))
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
    let shown: Vec<String> = there
        .iter()
        .map(|path| output::name(&path.display().to_string()))
        .collect();
    let (are, stay) = match shown.len() {
        1 => ("is there already, and stays", "as it is"),
        _ => ("are there already, and stay", "as they are"),
    };
    Err(
        Error::refused(format!("{} {are} {stay}; {NOTHING}", shown.join(", ")))
            .hint("name another folder, as in: disburse init FOLDER"),
    )
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
        "Replace the row {EXAMPLE:?} of {template} by yours, a row for each payment. Then{}:\n  {}    every error of every line; nothing is loaded\n  {}    a rehearsal: no money moves\n  {}    what is wrong here, before the first payment",
        match folder == Path::new(".") {
            true => String::new(),
            false => format!(", after cd {}", output::quoted(&folder.display().to_string())),
        },
        next[0], next[1], next[2],
    ));
    session.note(&text);
}
