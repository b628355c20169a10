//! The schema of an SQLite journal, held against that of a new one.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rusqlite::Connection;

use super::Error;

/// Tables, indexes and triggers by name, with their statements: without comments and white space, which differ between a new
/// journal and one that was brought up.
pub(crate) type Schema = BTreeMap<String, String>;

/// What a new journal is made by.
pub(crate) const NEW: &str = include_str!("../../schema.sql");

/// Reads the schema of a journal.
pub(crate) fn schema_of(c: &Connection) -> Result<Schema, Error> {
    let mut statement = c.prepare(
        "select type || ' ' || name, tbl_name || ': ' || coalesce(sql, '') from sqlite_schema where name not like 'sqlite!_%' escape '!'",
    )?;
    let objects = statement
        .query_map([], |row| {
            let (name, said): (String, String) = (row.get(0)?, row.get(1)?);
            let code = said
                .lines()
                .map(|line| line.split("--").next().unwrap_or_default());
            let code: String = code.flat_map(str::split_whitespace).collect();
            Ok((name, in_order(&code)))
        })?
        .collect::<Result<_, _>>()?;
    Ok(objects)
}

/// Returns what makes a table with its columns and constraints in the order of their letters: those of earlier versions stand in the order
/// in which they came, and nothing looks at it. What makes anything else stays as it is.
fn in_order(code: &str) -> String {
    let is_table = code.contains(":CREATETABLE");
    let (Some(from), Some(to), true) = (code.find('('), code.rfind(')'), is_table) else {
        return code.to_owned();
    };
    let (mut parts, mut depth, mut begun) = (Vec::new(), 0_usize, from + 1);
    for (at, c) in code[from + 1..to].char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&code[begun..from + 1 + at]);
                begun = from + 1 + at + 1;
            }
            _ => {}
        }
    }
    parts.push(&code[begun..to]);
    parts.sort_unstable();
    format!("{}{}{}", &code[..=from], parts.join(","), &code[to..])
}

/// Compares tables, indexes and the triggers that guard them with those of a new journal.
pub(super) fn misfits(c: &Connection) -> Result<Vec<String>, Error> {
    static SOUND: OnceLock<Schema> = OnceLock::new();
    let sound = match SOUND.get() {
        Some(sound) => sound,
        None => {
            let new = Connection::open_in_memory()?;
            new.execute_batch(NEW)?;
            let made = schema_of(&new)?;
            SOUND.get_or_init(|| made)
        }
    };
    let found = schema_of(c)?;
    let mut misfits = Vec::new();
    for (name, sql) in sound {
        match found.get(name) {
            None => misfits.push(format!("schema: {name} is missing")),
            Some(other) if other != sql => misfits.push(format!("schema: {name} was changed")),
            Some(_) => {}
        }
    }
    let added = found.keys().filter(|name| !sound.contains_key(*name));
    misfits.extend(added.map(|name| format!("schema: {name} was added")));
    Ok(misfits)
}
