//! `[status_codes]` and `[post_codes]`: what a deployment's own codes mean.

use toml::de::DeTable;

use super::document::Document;
use super::entry::{Entry, entry, in_order};
use super::source::Source;
use crate::cli::config::Error;
use crate::cli::config::value::kind::{Kind, quoted};
use crate::ledger::codes::{self, Heard};
use crate::lifecycle::Class;

/// Reads the table `name` into the document.
pub(in crate::cli::config) fn read(
    source: &Source<'_>,
    name: &str,
    table: &DeTable<'_>,
    document: &mut Document,
) -> Result<(), Error> {
    let heard = if name == "status_codes" {
        Heard::Status
    } else {
        Heard::Post
    };
    for (key, value) in in_order(table) {
        let full = format!("{name}.{}", key.get_ref());
        let code = code(key.get_ref()).ok_or_else(|| Error::Value {
            place: source.origin(&key.span()),
            key: name.to_owned(),
            expected: r#"a status code such as "140""#.to_owned(),
            found: quoted(key.get_ref()),
        })?;
        let found = entry(source, &full, Kind::Text, value)?;
        let class = class(heard, code, &full, &found)?;
        refuse_opposites(heard, (code, class), &full, &found, document)?;
        match heard {
            Heard::Status => document.status_codes.insert(code, class),
            Heard::Post => document.post_codes.insert(code, class),
        };
        document.others.push((full, found));
    }
    Ok(())
}

/// Returns the code that a key names, in the one way to write it: `140` and `"0140"` would be two entries for one code.
fn code(key: &str) -> Option<i32> {
    let code: i32 = key.parse().ok()?;
    (code.to_string() == key).then_some(code)
}

/// Refuses a class that is the opposite of what the other table says of the code.
fn refuse_opposites(
    heard: Heard,
    (code, class): (i32, Class),
    key: &str,
    found: &Entry,
    document: &Document,
) -> Result<(), Error> {
    let (table, other) = match heard {
        Heard::Post => ("status_codes", document.status_codes.get(&code)),
        Heard::Status => ("post_codes", document.post_codes.get(&code)),
    };
    let Some(&other) = other else {
        return Ok(());
    };
    let (post, status) = match heard {
        Heard::Post => (class, other),
        Heard::Status => (other, class),
    };
    if !codes::contradict(post, status) {
        return Ok(());
    }
    Err(Error::Value {
        place: found.origin.clone(),
        key: key.to_owned(),
        expected: format!(
            "the same end as {} of {table}.{code}, or in_doubt",
            other.name()
        ),
        found: quoted(&found.text),
    })
}

/// Reads the class that a code is given; refuses one that it may not have.
fn class(heard: Heard, code: i32, key: &str, found: &Entry) -> Result<Class, Error> {
    if let Ok(class) = found.text.parse()
        && codes::allows(heard, code, class)
    {
        return Ok(class);
    }
    let allowed: Vec<_> = Class::ALL
        .iter()
        .filter(|(class, _)| codes::allowed(heard, code).contains(class))
        .map(|(_, name)| *name)
        .collect();
    let allowed = match allowed.as_slice() {
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
        [] => String::new(),
    };
    Err(Error::Value {
        place: found.origin.clone(),
        key: key.to_owned(),
        expected: format!("{allowed} ({})", codes::reason(code)),
        found: quoted(&found.text),
    })
}
