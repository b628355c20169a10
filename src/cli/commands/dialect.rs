//! `dialect`: what differs from the interface document, and where each value comes from.

use std::path::Path;

use crate::cli::Error;
use crate::cli::arguments::DialectCommand;
use crate::cli::config::{self, BUILT_IN_DIALECTS, DialectSettings, Origin};
use crate::cli::exit::ExitStatus;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::dialect::{self, Dialect, Kind};

/// `disburse dialect`.
pub(in crate::cli) fn run(
    session: &Session,
    command: &DialectCommand,
) -> Result<ExitStatus, Error> {
    match command {
        DialectCommand::List => list(session),
        DialectCommand::Show(arguments) => {
            let chosen = match &arguments.dialect {
                Some(named) => config::read_dialect(named, &Origin::Flag, true)?,
                None => session.settings(arguments.sandbox, Vec::new())?.dialect,
            };
            show(session, &chosen, arguments.all);
            Ok(ExitStatus::Done)
        }
        DialectCommand::Check { file } => check(session, file),
    }
}

fn list(session: &Session) -> Result<ExitStatus, Error> {
    let known = BUILT_IN_DIALECTS.map(|(name, _)| {
        let read = config::read_dialect(name, &Origin::Default, true);
        read.map(|read| (name, read.dialect.written_from.clone()))
    });
    let known = known.into_iter().collect::<Result<Vec<_>, _>>()?;
    if session.common.json {
        let known: Vec<_> = known
            .iter()
            .map(|(name, from)| serde_json::json!({"name": name, "written_from": from}))
            .collect();
        output::json(&serde_json::json!({ "dialects": known }));
        return Ok(ExitStatus::Done);
    }
    let rows = known
        .into_iter()
        .map(|(name, from)| vec![name.to_owned(), from])
        .collect();
    output::print(&output::table(&["dialect", "written from"], rows, &[]));
    Ok(ExitStatus::Done)
}

/// One key as it is shown.
struct Row {
    key: String,
    value: String,
    origin: String,
    differs: bool,
}

fn rows(chosen: &DialectSettings) -> Vec<Row> {
    let document = |key: &dialect::Key| Row {
        key: key.name.clone(),
        value: written(key.kind, &key.default),
        origin: "document".to_owned(),
        differs: false,
    };
    let mut rows: Vec<Row> = dialect::keys()
        .iter()
        .map(|key| match chosen.set.get(&key.name) {
            None => document(key),
            Some((values, origin)) => Row {
                value: written(key.kind, values),
                origin: origin.to_string(),
                differs: *values != key.default,
                ..document(key)
            },
        })
        .collect();
    // The user's own names.
    let known = |name: &String| dialect::keys().iter().any(|key| key.name == *name);
    let own = chosen.set.iter().filter(|(name, _)| !known(name));
    rows.extend(own.map(|(name, (values, origin))| Row {
        key: name.clone(),
        value: written(
            dialect::find(name).map_or(Kind::Text, |key| key.kind),
            values,
        ),
        origin: origin.to_string(),
        differs: true,
    }));
    rows
}

/// Writes a value as the file has it.
fn written(kind: Kind, values: &[String]) -> String {
    match (kind, values) {
        (Kind::Codes, values) => format!("[{}]", values.join(", ")),
        (Kind::Texts, values) => format!("{values:?}"),
        (Kind::Flag | Kind::Number { .. }, [value]) => value.clone(),
        (_, [value]) => format!("{value:?}"),
        _ => "-".to_owned(),
    }
}

fn show(session: &Session, chosen: &DialectSettings, all: bool) {
    let dialect = &chosen.dialect;
    let rows = rows(chosen);
    if session.common.json {
        let values: Vec<_> = rows
            .iter()
            .map(|row| {
                serde_json::json!({
                    "key": row.key, "value": row.value, "origin": row.origin, "differs": row.differs,
                })
            })
            .collect();
        output::json(&serde_json::json!({
            "dialect": chosen.name,
            "written_from": dialect.written_from,
            "requests": dialect.request_digest(),
            "reading": dialect.reading_digest(),
            "values": values,
        }));
        return;
    }
    output::line(&format!(
        "dialect {}, written from {}",
        chosen.name, dialect.written_from
    ));
    let shown: Vec<Vec<String>> = rows
        .into_iter()
        .filter(|row| all || row.differs)
        .map(|row| vec![row.key, row.value, row.origin])
        .collect();
    match shown.is_empty() {
        true => {
            output::line("It is the interface document: nothing differs. --all lists every key")
        }
        false => output::print(&output::table(&["key", "value", "from"], shown, &[])),
    }
    let digest = |digest: Option<String>| digest.unwrap_or_else(|| "as the document".to_owned());
    output::line(&format!(
        "requests: {}; reading: {}",
        digest(dialect.request_digest()),
        digest(dialect.reading_digest())
    ));
}

fn check(session: &Session, file: &Path) -> Result<ExitStatus, Error> {
    let text = file.display().to_string();
    // The name of a built-in dialect is not meant, even where a file is called so.
    let named = match text.contains('/') {
        true => text,
        false => format!("./{text}"),
    };
    let read = config::read_dialect(&named, &Origin::Flag, false)?;
    let differs = read.dialect.differing().count();
    let files: Vec<_> = key_files(&read.dialect)
        .into_iter()
        .map(|(key, path)| (key, path, config::read_key(path).err()))
        .collect();
    if session.common.json {
        let files: Vec<_> = files
            .iter()
            .map(|(key, path, problem)| {
                serde_json::json!({
                    "key": key, "file": path, "problem": problem.as_ref().map(ToString::to_string),
                })
            })
            .collect();
        output::json(&serde_json::json!({
            "dialect": read.name,
            "differs": read.dialect.differing().collect::<Vec<_>>(),
            "key_files": files,
        }));
        return Ok(ExitStatus::Done);
    }
    output::line(&format!(
        "{}: no contradictions; {differs} value{} differ{} from the interface document",
        file.display(),
        if differs == 1 { "" } else { "s" },
        if differs == 1 { "s" } else { "" },
    ));
    let callbacks = &read.dialect.callbacks;
    if !callbacks.address_per_payment && callbacks.secret.is_none() && callbacks.signing.is_none() {
        output::note(
            "callbacks.address = \"fixed\": without a signature or a secret header a profile takes it only with callback.settle_on = \"confirmed\"",
        );
    }
    for (key, _, problem) in files {
        if let Some(problem) = problem {
            output::note(&format!(
                "{key}: {problem}. A run needs the file; a rehearsal needs it only if it holds an RSA key"
            ));
        }
    }
    Ok(ExitStatus::Done)
}

/// The files of keys and secrets that a dialect names, each with the key that names it.
pub(in crate::cli) fn key_files(dialect: &Dialect) -> Vec<(String, &Path)> {
    let headers = dialect
        .header_files
        .iter()
        .map(|(name, path)| (format!("header_files.{name}"), path));
    let callbacks = &dialect.callbacks;
    let signing = [
        ("signing.key_file", &dialect.signing),
        ("callbacks.signing.key_file", &callbacks.signing),
    ];
    let signing = signing
        .into_iter()
        .filter_map(|(key, signing)| Some((key.to_owned(), &signing.as_ref()?.key_file)));
    let secret = callbacks.secret.as_ref();
    let secret = secret.map(|(_, path)| ("callbacks.secret_file".to_owned(), path));
    let all = headers.chain(signing).chain(secret);
    all.map(|(key, path)| (key, path.as_path())).collect()
}
