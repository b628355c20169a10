//! `layout`: how the columns of other programs' files are read; which layouts there are, and one for a file that has none yet.

use std::path::Path;

use crate::cli::Error;
use crate::cli::arguments::{FileArguments, GuessArguments, LayoutCommand};
use crate::cli::exit::ExitStatus;
use crate::cli::files::input::Input;
use crate::cli::files::layouts;
use crate::cli::files::open::open;
use crate::cli::files::plain::{Plain, plain_name};
use crate::cli::files::sheets::sheet_options;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::intake::layout::{Given, Guess, Layout};
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
    let said_of_sheets = [&arguments.sheet, &arguments.hidden, &arguments.formulas];
    let sheet = sheet_options(&said_of_sheets.map(Option::as_deref), None)?;
    let sample = |encoding| {
        let input = plain.reader()?;
        let read = match is_workbook {
            true => intake::sample_workbook(input, &sheet),
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
    let given = Given {
        encoding,
        sheet: match is_workbook {
            true => sheet.clone(),
            false => SheetOptions::default(),
        },
        service: arguments.service.clone(),
        services: settings
            .services
            .keys()
            .map(|service| service.as_str().to_owned())
            .collect(),
        country: settings.profile.country_code,
    };
    let guess = Guess::of(&name, &sample, &given).map_err(|error| Error::of_file(&file, &error))?;
    for note in &plain.notes {
        session.note(&format!("{file}: {note}"));
    }
    let rows = rows(arguments, &settings, (&guess, plain), encoding)?;
    if session.common.json {
        output::json(&serde_json::json!({
            "file": file,
            "columns": guess.columns.iter().map(|column| serde_json::json!({
                "header": column.header, "column": column.meaning, "why": column.why,
            })).collect::<Vec<_>>(),
            "notes": guess.notes,
            "rows": rows,
            "toml": guess.to_toml(),
        }));
        return Ok(ExitStatus::Done);
    }
    tell(session, arguments, &guess, &rows);
    Ok(ExitStatus::Done)
}

/// Shows a proposal to a person.
fn tell(session: &Session, arguments: &GuessArguments, guess: &Guess, rows: &[String]) {
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
    output::print(&guess.to_toml());
    session.note(&format!(
        "next: look at each line of it, keep it, then: {}",
        check_of(arguments, &guess.layout.name)
    ));
}

/// Returns the command that checks the file by the layout, once that is kept; what this one said of the file stands in it, too.
fn check_of(arguments: &GuessArguments, layout: &str) -> String {
    let file = output::name(&arguments.file.display().to_string());
    let mut command = format!(
        "disburse check {} --layout {}",
        output::quoted(&file),
        output::quoted(layout)
    );
    let said = [
        ("--encoding", &arguments.encoding),
        ("--sheet", &arguments.sheet),
        ("--hidden", &arguments.hidden),
        ("--formulas", &arguments.formulas),
    ];
    for (option, value) in said {
        if let Some(value) = value {
            command.push_str(&format!(" {option} {}", output::quoted(value)));
        }
    }
    if arguments.sandbox {
        command.push_str(" --sandbox");
    }
    command
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
    (guess, plain): (&Guess, Plain),
    encoding: Encoding,
) -> Result<Vec<String>, Error> {
    let file = FileArguments {
        sheet: arguments.sheet.clone(),
        hidden: arguments.hidden.clone(),
        formulas: arguments.formulas.clone(),
        file: arguments.file.clone(),
        format: None,
        encoding: Some(encoding.name().to_owned()),
        layout: None,
        period: None,
        service: None,
        allow_equal_rows: false,
        expect_count: None,
        expect_total: None,
        corrections: None,
    };
    let layout = guess.layout.without_open_values();
    let reader = match Input::by_layout(&file, settings, layout, plain) {
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
