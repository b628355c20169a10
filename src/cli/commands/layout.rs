//! `layout`: how the columns of other programs' files are read; which layouts there are, and one for a file that has none yet.

use std::path::Path;

use crate::cli::Error;
use crate::cli::arguments::{FileArguments, GuessArguments, LayoutCommand};
use crate::cli::exit::ExitStatus;
use crate::cli::files::input::Input;
use crate::cli::files::layouts;
use crate::cli::files::open::open;
use crate::cli::files::plain::{Plain, plain_name};
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::intake::layout::{Guess, Layout};
use crate::intake::{self, Encoding, Row, SheetOptions};

/// Rows that are shown as they would be paid.
const SHOWN: usize = 5;

/// `disburse layout`.
pub(in crate::cli) fn run(session: &Session, command: &LayoutCommand) -> Result<ExitStatus, Error> {
    match command {
        LayoutCommand::List => list(session),
        LayoutCommand::Show { name } => show(session, name),
        LayoutCommand::Guess(arguments) => guess(session, arguments),
    }
}

fn list(session: &Session) -> Result<ExitStatus, Error> {
    let settings = session.settings(true, Vec::new())?;
    let known = layouts::names(&settings)
        .into_iter()
        .map(|name| layouts::named(&name, &settings))
        .collect::<Result<Vec<Layout>, _>>()?;
    let own = settings.layouts.len();
    let comes_from = |at: usize| {
        if at < own {
            "configuration"
        } else {
            "disburse"
        }
    };
    if session.common.json {
        let known: Vec<_> = known
            .iter()
            .enumerate()
            .map(|(at, layout)| {
                serde_json::json!({
                    "name": layout.name, "from": comes_from(at), "written_from": layout.written_from, "digest": layout.digest(),
                })
            })
            .collect();
        output::json(&serde_json::json!({ "layouts": known }));
        return Ok(ExitStatus::Done);
    }
    let rows = known
        .into_iter()
        .enumerate()
        .map(|(at, layout)| vec![layout.name, comes_from(at).to_owned(), layout.written_from])
        .collect();
    output::print(&output::table(
        &["layout", "from", "written from"],
        rows,
        &[],
    ));
    Ok(ExitStatus::Done)
}

fn show(session: &Session, name: &str) -> Result<ExitStatus, Error> {
    let settings = session.settings(true, Vec::new())?;
    let layout = layouts::named(name, &settings)?;
    if session.common.json {
        output::json(&serde_json::json!({
            "name": layout.name, "digest": layout.digest(), "written_from": layout.written_from, "toml": layout.to_toml(),
        }));
        return Ok(ExitStatus::Done);
    }
    output::print(&layout.to_toml());
    output::line(&format!("# digest {}", layout.digest()));
    Ok(ExitStatus::Done)
}

fn guess(session: &Session, arguments: &GuessArguments) -> Result<ExitStatus, Error> {
    let overrides = vec![("service_code", arguments.service.clone())];
    let settings = session.settings(arguments.sandbox, overrides)?;
    let file = output::name(&arguments.file.display().to_string());
    let said = match &arguments.encoding {
        Some(name) => Some(Encoding::from_name(name).ok_or_else(|| {
            Error::refused(format!(
                "--encoding {name}: expected utf-8, utf-16, windows-1252 or iso-8859-1"
            ))
        })?),
        None => None,
    };
    let plain = Plain::of(
        &file,
        &arguments.file,
        open(&arguments.file)?,
        &settings.files,
    )?;
    let is_workbook = intake::is_workbook(plain.reader()?);
    let sample = |encoding| {
        let input = plain.reader()?;
        let read = match is_workbook {
            true => intake::sample_workbook(
                input,
                &SheetOptions {
                    sheet: arguments.sheet.clone(),
                    ..SheetOptions::default()
                },
            ),
            false => intake::sample(input, encoding),
        };
        read.map_err(|error| Error::of_file(&file, &error))
    };
    let (encoding, sample) = match (said, sample(said.unwrap_or_default())) {
        (None, Err(_)) if !is_workbook => (Encoding::Windows1252, sample(Encoding::Windows1252)?),
        (said, read) => (said.unwrap_or_default(), read?),
    };
    let name = arguments
        .name
        .clone()
        .unwrap_or_else(|| name_of(&arguments.file));
    let guess = Guess::of(&name, &sample, encoding);
    for note in &plain.notes {
        session.note(&format!("{file}: {note}"));
    }
    let rows = rows(arguments, &settings, (&guess.layout, plain), encoding)?;
    if session.common.json {
        output::json(&serde_json::json!({
            "file": file,
            "columns": guess.columns.iter().map(|column| serde_json::json!({
                "header": column.header, "column": column.meaning, "why": column.why,
            })).collect::<Vec<_>>(),
            "notes": guess.notes,
            "rows": rows,
            "toml": guess.layout.to_toml(),
        }));
        return Ok(ExitStatus::Done);
    }
    tell(session, &guess, &rows, &file);
    Ok(ExitStatus::Done)
}

/// Shows a proposal to a person.
fn tell(session: &Session, guess: &Guess, rows: &[String], file: &str) {
    let columns = guess.columns.iter().map(|column| {
        let meaning = column
            .meaning
            .clone()
            .unwrap_or_else(|| "(ignored)".to_owned());
        vec![column.header.clone(), meaning, column.why.clone()]
    });
    output::print(&output::table(
        &["column of the file", "seems to be", "why"],
        columns.collect(),
        &[],
    ));
    for note in &guess.notes {
        session.note(note);
    }
    output::line("The first rows, as they would be paid:");
    for row in rows {
        output::line(&format!("  {row}"));
    }
    output::line("To keep in disburse.toml, once it is right:");
    output::line("");
    output::print(&guess.layout.to_toml());
    session.note(&format!(
        "next: look at each line of it, keep it, then: disburse check {file} --layout {}",
        guess.layout.name
    ));
}

/// Makes a layout's name of a file's.
fn name_of(file: &Path) -> String {
    let stem = plain_name(file)
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let plain: String = stem
        .unwrap_or_default()
        .chars()
        .map(|c| match c.is_ascii_alphanumeric() {
            true => c.to_ascii_lowercase(),
            false => '-',
        })
        .take(40)
        .collect();
    let plain = plain.trim_matches('-');
    format!("{}-1", if plain.is_empty() { "file" } else { plain })
}

/// Reads the first rows by the layout, as a load would.
fn rows(
    arguments: &GuessArguments,
    settings: &crate::cli::config::Settings,
    (layout, plain): (&Layout, Plain),
    encoding: Encoding,
) -> Result<Vec<String>, Error> {
    let file = FileArguments {
        sheet: arguments.sheet.clone(),
        hidden: None,
        formulas: Some("stored".to_owned()),
        file: arguments.file.clone(),
        format: None,
        encoding: Some(encoding.name().to_owned()),
        layout: None,
        service: None,
        allow_equal_rows: false,
        expect_count: None,
        expect_total: None,
        corrections: None,
    };
    let reader = match Input::by_layout(&file, settings, layout.clone(), plain) {
        Ok(input) => input.reader()?,
        // What is missing is said in its place.
        Err(error) => return Ok(vec![error.message().to_owned()]),
    };
    let mut rows = Vec::new();
    for row in reader.take(SHOWN) {
        rows.push(match row {
            Ok(Row::Good(row)) => format!(
                "line {}: {} {} to {}{} through {}{}",
                row.line,
                row.money.currency,
                output::grouped(&row.money.to_string()),
                row.msisdn.masked(),
                named(&row.customer_names),
                row.service,
                row.reference
                    .as_ref()
                    .map_or_else(String::new, |reference| format!(
                        ", reference {}",
                        reference.as_str()
                    )),
            ),
            Ok(Row::Unpriced(row)) => format!("line {}: what its bill says", row.line),
            Ok(Row::Bad(row)) => format!("line {}: {}", row.line, row.told_text()),
            Ok(Row::Skipped(row)) => format!("line {}: {}", row.line, row.told_text()),
            Err(error) => error.to_string(),
        });
    }
    Ok(rows)
}

fn named(name: &str) -> String {
    match name {
        "" => String::new(),
        name => format!(" ({name})"),
    }
}
