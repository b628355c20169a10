//! Configuration files.

use std::collections::BTreeMap;

use super::assert_shown;
use crate::cli::config::Error;
use crate::cli::config::Origin;
use crate::cli::config::Settings;
use crate::cli::config::Sources;
use crate::cli::config::show;
use crate::cli::config::show_json;

/// What no output may show.
const SECRET: &str = "hunter2geheim";

/// Where a person may have put a secret, all of them by mistake but the first.
const PLACES: [(&str, &str); 8] = [
    ("variable", ""),
    ("password", "password = \"hunter2geheim\""),
    ("quoted", "\"Password\" = 'hunter2geheim'"),
    (
        "address",
        "base_url = \"https://acme:hunter2geheim@gateway.example\"",
    ),
    (
        "query",
        "auth_url = \"https://gateway.example/token?password=hunter2geheim\"",
    ),
    (
        "proxy",
        "proxy = \"http://acme:hunter2geheim@proxy.example:3128\"",
    ),
    ("open", "password = \"hunter2geheim"),
    ("bare", "password = hunter2geheim"),
];

thread_local! {
    static FOLDER: tempfile::TempDir = tempfile::tempdir().unwrap();
}

/// A file is taken or refused with its place, and nothing shows a password, wherever it was put.
pub fn configuration(bytes: &[u8]) {
    let (head, rest) = super::head(bytes);
    let text = String::from_utf8_lossy(rest).replace(SECRET, "");
    let place = PLACES.iter().find(|(name, _)| *name == head.word);
    let Some((_, line)) = place else {
        // Without a first line of ours it is all file.
        return load(&String::from_utf8_lossy(bytes).replace(SECRET, ""));
    };
    // In a text of several lines it would be part of that text.
    if text.contains("\"\"\"") || text.contains("'''") {
        return load(&text);
    }
    let at = usize::from(head.number.unwrap_or(0));
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.insert(at.min(lines.len()), line);
    load(&lines.join("\n"));
}

fn load(text: &str) {
    FOLDER.with(|folder| {
        let path = folder.path().join("disburse.toml");
        std::fs::write(&path, text).unwrap();
        let sources = Sources {
            config_path: Some(path.clone()),
            environment: BTreeMap::from([("DISBURSE_PASSWORD".to_owned(), SECRET.to_owned())]),
            ..Sources::default()
        };
        for settings in [Settings::load(&sources), Settings::sandbox(&sources)] {
            match settings {
                Ok(settings) => accepted(&settings),
                Err(error) => refused(&error, text),
            }
        }
    });
}

fn accepted(settings: &Settings) {
    for output in [
        format!("{settings:?}"),
        format!("{:?}", show(settings)),
        show_json(settings).to_string(),
        format!(
            "{:?}",
            settings.gateway().map_err(|error| error.to_string())
        ),
    ] {
        assert!(!output.contains(SECRET), "{output}");
    }
    if let Err(error) = settings.gateway() {
        refused(&error, "");
    }
}

fn refused(error: &Error, text: &str) {
    let hint = error.hint().unwrap_or_default();
    for output in [error.to_string(), hint.clone(), format!("{error:?}")] {
        assert!(!output.contains(SECRET), "{output}");
    }
    assert_shown(&error.to_string(), 4_096);
    assert_shown(&hint, 16 * 1024);
    let place = match error {
        Error::Syntax { place, .. }
        | Error::Unknown { place, .. }
        | Error::Value { place, .. }
        | Error::Incomplete { place, .. }
        | Error::Contradiction { place, .. }
        | Error::PasswordInTheOpen { place }
        | Error::UnknownProfile { place, .. } => place,
        _ => return,
    };
    if let Origin::File { line, column, .. } = place {
        let lines = text.split('\n').count();
        assert!(
            (1..=lines).contains(line) && *column >= 1,
            "{}",
            place.place()
        );
    }
}
