//! Printing: data to standard output, everything else to standard error.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use comfy_table::{CellAlignment, Table, presets};

pub(in crate::cli) use crate::domain::grouped;

use super::screen;
use crate::journal::Location;

static LOST: OnceLock<String> = OnceLock::new();

/// Options of this command that every command has, as the next one needs them too.
static CARRIED: OnceLock<Carried> = OnceLock::new();

/// Options that are carried: of every command, and of those that read a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Carried {
    all: String,
    files: String,
}

/// Commands that read a batch file, and what of their options the next one needs too: a row without a service takes this one.
const FILE_COMMANDS: [&str; 3] = ["check", "load", "pay"];
const FILE_OPTIONS: [&str; 3] = ["--service", "--layout", "--period"];

/// What the next command needs as well, where this one was given it, and the variables that give it: whoever reads what a job has
/// written has none of them.
const CARRIED_OPTIONS: [(&str, &str); 3] = [
    ("--config", "DISBURSE_CONFIG"),
    ("--profile", "DISBURSE_PROFILE"),
    ("--journal", "DISBURSE_JOURNAL"),
];

/// Commands that a text may name.
const COMMANDS: [&str; 23] = [
    "account",
    "approve",
    "backup",
    "bill",
    "cancel",
    "check",
    "config",
    "doctor",
    "explain",
    "float",
    "layout",
    "listen",
    "load",
    "lookup",
    "pay",
    "recover",
    "report",
    "resolve",
    "resume-lane",
    "retry",
    "run",
    "status",
    "verify",
];

/// Has every command that is printed from now on carry the options of this one: typed as it stands, it is about the same journal and
/// the same gateway.
pub(in crate::cli) fn carry(arguments: impl Iterator<Item = String>) {
    let _ = CARRIED.set(carried_options(arguments, |name| std::env::var(name).ok()));
}

fn carried_options(
    arguments: impl Iterator<Item = String>,
    variable: impl Fn(&str) -> Option<String>,
) -> Carried {
    let (mut carried, mut given) = (Carried::default(), BTreeSet::new());
    let mut arguments = arguments.take_while(|argument| argument != "--");
    while let Some(argument) = arguments.next() {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (argument.as_str(), None),
        };
        let options = match name {
            name if FILE_OPTIONS.contains(&name) => &mut carried.files,
            name if CARRIED_OPTIONS.iter().any(|(option, _)| *option == name) => &mut carried.all,
            _ => continue,
        };
        if let Some(value) = value.or_else(|| arguments.next()) {
            given.insert(name.to_owned());
            push_option(options, name, &value);
        }
    }
    for (name, from) in CARRIED_OPTIONS {
        let value = variable(from).filter(|value| !value.is_empty() && !given.contains(name));
        if let Some(value) = value {
            push_option(&mut carried.all, name, &value);
        }
    }
    carried
}

fn push_option(options: &mut String, name: &str, value: &str) {
    // What is no journal's place may hold a password.
    let is_told = name != "--journal" || Location::parse(OsStr::new(value)).is_ok();
    if is_told {
        options.push_str(&format!(" {name} {}", quoted(value)));
    }
}

/// Returns an argument as a shell takes it.
pub(in crate::cli) fn quoted(argument: &str) -> Cow<'_, str> {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, '.' | '/' | '-' | '_' | ':' | ',' | '@' | '+');
    match !argument.is_empty() && argument.chars().all(is_plain) {
        true => Cow::Borrowed(argument),
        false => Cow::Owned(format!("'{}'", argument.replace('\'', "'\\''"))),
    }
}

/// Returns a text with the options behind the name of the program, wherever it names a command.
fn carrying<'t>(text: &'t str, options: &Carried) -> Cow<'t, str> {
    const PROGRAM: &str = "disburse ";
    if *options == Carried::default() || !text.contains(PROGRAM) {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split(PROGRAM);
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !(c.is_ascii_lowercase() || c == '-'));
        let (command, rest) = part.split_at(end.unwrap_or(part.len()));
        kept.push_str(PROGRAM.trim_end());
        if COMMANDS.contains(&command) {
            kept.push_str(&options.all);
        }
        kept.push(' ');
        kept.push_str(command);
        if FILE_COMMANDS.contains(&command) {
            kept.push_str(&options.files);
        }
        kept.push_str(rest);
    }
    Cow::Owned(kept)
}

/// Returns a text whose commands carry the options of this one, for a file that somebody reads elsewhere.
pub(in crate::cli) fn carried(text: &str) -> Cow<'_, str> {
    match CARRIED.get() {
        Some(options) => carrying(text, options),
        None => Cow::Borrowed(text),
    }
}

/// Returns whether a character could steer a terminal, or show another text than the one that is there.
// Names of files and folders come from whoever made them, as do the texts of rows.
fn steers(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns a text for a person, with what could steer a terminal written out: `\u{1b}`.
fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len() + 32);
    for c in text.chars() {
        match steers(c) {
            true => kept.extend(c.escape_unicode()),
            false => kept.push(c),
        }
    }
    Cow::Owned(kept)
}

/// Returns a text as [`line`] prints it, for a page.
pub(in crate::cli) fn shown(text: &str) -> String {
    harmless(&carried(text)).into_owned()
}

/// Returns a name for a message, on one line.
pub(in crate::cli) fn name(text: &str) -> String {
    harmless(text).replace('\n', "\\n")
}

/// Prints data. A reader that went away is no error; any other failure is kept for [`lost`].
pub(in crate::cli) fn print(text: &str) {
    let mut out = io::stdout().lock();
    if let Err(error) = out
        .write_all(harmless(text).as_bytes())
        .and_then(|()| out.flush())
        && error.kind() != ErrorKind::BrokenPipe
    {
        let _ = LOST.set(error.to_string());
    }
}

/// Returns why data could not be printed: a disk that is full behind standard output, for one.
pub(in crate::cli) fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// Prints data, and ends the line.
pub(in crate::cli) fn line(text: &str) {
    print(&format!("{}\n", carried(text)));
}

/// Prints a line for a person, where data is not printed for a program.
pub(in crate::cli) fn line_unless(json: bool, text: &str) {
    if !json {
        line(text);
    }
}

/// Prints a JSON value on one line.
pub(in crate::cli) fn json(value: &serde_json::Value) {
    print(&format!("{}\n", json_text(value)));
}

/// Returns a JSON value as it is printed.
pub(in crate::cli) fn json_text(value: &serde_json::Value) -> String {
    // JSON itself escapes the first 32 characters only.
    let mut text = String::new();
    for c in value.to_string().chars() {
        match steers(c) {
            true => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => text.push(c),
        }
    }
    text
}

/// Says something to the person at the terminal.
pub(in crate::cli) fn note(text: &str) {
    say(&harmless(&carried(text)));
}

// Nobody may be there to hear it: `eprintln!` would end a run for that.
fn say(text: &str) {
    let _ = screen::suspended(|| {
        io::stderr()
            .lock()
            .write_all(format!("{text}\n").as_bytes())
    });
}

/// Prints a `label: text` line to standard error, the label in colour on a terminal.
pub(in crate::cli) fn complain(label: &str, text: &str) {
    // What follows a line break stands behind the first line: a name in the text cannot pass for a message of its own.
    let text = harmless(&carried(text))
        .replace('\n', "\n  ")
        .replace("\n    ", "\n  ");
    let colour = match label {
        "error" => "\x1b[1;31m",
        "warning" => "\x1b[1;33m",
        _ => "\x1b[1;36m",
    };
    if colours(&io::stderr()) {
        say(&format!("{colour}{label}:\x1b[0m {text}"));
    } else {
        say(&format!("{label}: {text}"));
    }
}

/// Returns whether a stream shows colours: a terminal, and `NO_COLOR` is not set.
pub(in crate::cli) fn colours(stream: &impl IsTerminal) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    stream.is_terminal() && !refused && !dumb
}

/// Lays out a table; the columns named in `right` are aligned to the right.
pub(in crate::cli) fn table(header: &[&str], rows: Vec<Vec<String>>, right: &[usize]) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(header.to_vec());
    for row in rows {
        table.add_row(row);
    }
    for index in right {
        if let Some(column) = table.column_mut(*index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = String::new();
    for line in table.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns amounts per currency for reading: `KES 1,234.00, UGX 5,000`.
pub(in crate::cli) fn amounts(totals: &crate::domain::Totals) -> String {
    let parts: Vec<String> = totals
        .decimals()
        .into_iter()
        .filter(|(_, decimal)| decimal.bytes().any(|b| b.is_ascii_digit() && b != b'0'))
        .map(|(code, decimal)| format!("{code} {}", grouped(&decimal)))
        .collect();
    if parts.is_empty() {
        "0".to_owned()
    } else {
        parts.join(", ")
    }
}

/// Returns `1 payment`, `2 payments`.
pub(in crate::cli) fn counted(count: u64, what: &str) -> String {
    let number = grouped(&count.to_string());
    if count == 1 {
        format!("{number} {what}")
    } else {
        format!("{number} {what}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_a_terminal() {
        for (text, shown) in [
            ("as it is, ü\n\tindented", "as it is, ü\n\tindented"),
            ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
            ("a\u{9b}1Ab\r", "a\\u{9b}1Ab\\u{d}"),
            ("a\u{202e}b", "a\\u{202e}b"),
        ] {
            assert_eq!(harmless(text), shown);
        }
        assert_eq!(name("two\nlines"), "two\\nlines");
    }
}

#[cfg(test)]
mod carried_tests {
    use super::*;

    #[test]
    fn a_command_that_is_printed_carries_the_options_of_this_one() {
        let of = |line: &str| carried_options(line.split(' ').map(str::to_owned), |_| None);
        let given = |line: &str| of(line).all;
        for (line, expected) in [
            ("disburse run b --yes", ""),
            ("disburse --profile test load x.csv", " --profile test"),
            ("disburse run b --journal=b.db --yes", " --journal b.db"),
            (
                "disburse --config c.toml run --profile p b",
                " --config c.toml --profile p",
            ),
            ("disburse run -- --profile p", ""),
            ("disburse run b --profile", ""),
            (
                "disburse run b --journal postgres://pay@db/j?sslmode=require",
                " --journal 'postgres://pay@db/j?sslmode=require'",
            ),
            // It is refused, and said nowhere.
            ("disburse run b --journal postgres://pay:x@db/j", ""),
        ] {
            assert_eq!(given(line), expected, "{line}");
        }
        let options = of("load x.csv --profile test --service A");
        for (text, expected) in [
            (
                "next: disburse run b",
                "next: disburse --profile test run b",
            ),
            (
                "disburse explain b X; then disburse resolve b X",
                "disburse --profile test explain b X; then disburse --profile test resolve b X",
            ),
            (
                "`disburse status` lists",
                "`disburse --profile test status` lists",
            ),
            ("disburse is done", "disburse is done"),
            ("not a journal of disburse", "not a journal of disburse"),
        ] {
            assert_eq!(carrying(text, &options), expected);
            assert_eq!(carrying(text, &Carried::default()), text);
        }
        for (argument, expected) in [
            ("a/b.csv", "a/b.csv"),
            ("bad y.csv", "'bad y.csv'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(argument), expected);
        }
    }

    #[test]
    fn a_command_that_is_printed_carries_what_variables_say_unless_an_option_says_it() {
        let variable = |name: &str| match name {
            "DISBURSE_CONFIG" => Some("/etc/d.toml".to_owned()),
            "DISBURSE_JOURNAL" => Some("/srv/j.db".to_owned()),
            "DISBURSE_PROFILE" => Some(String::new()),
            _ => None,
        };
        for (line, expected) in [
            ("run b", " --config /etc/d.toml --journal /srv/j.db"),
            (
                "run b --journal other.db",
                " --journal other.db --config /etc/d.toml",
            ),
            (
                "--journal=a.db --config c.toml run b",
                " --journal a.db --config c.toml",
            ),
        ] {
            let found = carried_options(line.split(' ').map(str::to_owned), variable);
            assert_eq!(found.all, expected, "{line}");
        }
    }
}
