//! `template`: an empty batch file of one kind of payment, to be filled in.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::cli::Error;
use crate::cli::arguments::TemplateArguments;
use crate::cli::exit::ExitStatus;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::domain::PaymentKind;
use crate::intake::template::{EXAMPLE, Template};

/// `disburse template`.
pub(in crate::cli) fn template(
    session: &Session,
    arguments: &TemplateArguments,
) -> Result<ExitStatus, Error> {
    let (kind, name) = kind_of(&arguments.kind)?;
    let settings = session.settings(arguments.sandbox, Vec::new())?;
    let services = settings.services.iter();
    let template = Template {
        kind,
        services: services
            .filter(|(_, service)| service.kind == kind)
            .map(|(code, service)| (code.clone(), service.currency))
            .collect(),
        country: settings.profile.country_code,
    };
    if template.services.is_empty() && !settings.services.is_empty() {
        let others = settings.services.values().map(|service| service.kind);
        return Err(Error::refused(format!(
            "no service of the configuration is of the kind {name}"
        ))
        .hint(format!("there are services of: {}", names(others))));
    }
    let ending = if arguments.xlsx { "xlsx" } else { "csv" };
    let path = arguments
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{name}.{ending}")));
    let shown = output::name(&path.display().to_string());
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Error::refused(format!("{shown}: exists already, and stays as it is"))
                .hint("name another file with --out")
        }
        _ => Error::refused(format!("{shown}: cannot be written: {error}")),
    };
    let file = create(&path).map_err(failed)?;
    let written = if arguments.xlsx {
        template.write_xlsx(&file)
    } else {
        let mut file = BufWriter::new(&file);
        template.write_csv(&mut file).and_then(|()| file.flush())
    };
    written.and_then(|()| file.sync_all()).map_err(|error| {
        // It was made here, and is no template.
        let _ = std::fs::remove_file(&path);
        failed(error)
    })?;
    match session.common.json {
        true => output::json(&serde_json::json!({ "file": shown, "kind": name })),
        false => output::line(&shown),
    }
    let file = output::quoted(&shown).into_owned();
    session.note(&format!(
        "remove the row {EXAMPLE:?}, and write one row for each payment, then: disburse check {file}{}",
        if arguments.sandbox { " --sandbox" } else { "" }
    ));
    Ok(ExitStatus::Done)
}

/// Makes a file that nobody has yet.
fn create(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Reads a kind by its name in the configuration, with hyphens or underscores.
fn kind_of(text: &str) -> Result<(PaymentKind, &'static str), Error> {
    let plain = text.to_ascii_lowercase().replace('-', "_");
    let known = PaymentKind::ALL.into_iter();
    known
        .clone()
        .find(|(_, name)| *name == plain)
        .ok_or_else(|| {
            Error::refused(format!("{}: is no kind of payment", output::name(text))).hint(format!(
                "name one of {}",
                names(known.map(|(kind, _)| kind))
            ))
        })
}

/// Names kinds, each once.
fn names(kinds: impl Iterator<Item = PaymentKind>) -> String {
    let kinds: Vec<PaymentKind> = kinds.collect();
    let named: Vec<&str> = PaymentKind::ALL
        .iter()
        .filter(|(kind, _)| kinds.contains(kind))
        .map(|(_, name)| *name)
        .collect();
    named.join(", ")
}
