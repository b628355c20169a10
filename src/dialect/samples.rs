//! The dialects that come along, for tests that may not read files as the program does.

use std::path::Path;

use super::{Dialect, Values, build};

/// Their names and files.
pub(crate) const SAMPLES: [(&str, &str); 4] = [
    (
        "document",
        include_str!("../../samples/dialects/document.toml"),
    ),
    ("beep", include_str!("../../samples/dialects/beep.toml")),
    ("paths", include_str!("../../samples/dialects/paths.toml")),
    ("signed", include_str!("../../samples/dialects/signed.toml")),
];

/// Reads the lines of a dialect file.
pub(crate) fn of_text(text: &str) -> Dialect {
    let mut values = Values::new();
    flatten("", text.parse().unwrap(), &mut values);
    build(&values, Path::new("")).unwrap()
}

fn flatten(under: &str, table: toml::Table, values: &mut Values) {
    for (key, value) in table {
        let name = format!("{under}{key}");
        let texts = match value {
            toml::Value::Table(table) => {
                flatten(&format!("{name}."), table, values);
                continue;
            }
            toml::Value::Array(items) => items.iter().map(plain).collect(),
            other => vec![plain(&other)],
        };
        values.insert(name, texts);
    }
}

fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
