//! What the program promises whatever the bytes: one function for each fuzz target, run over the committed corpora by the
//! tests too.
//!
//! A function panics when a promise is broken. Compiled for tests and with the feature `fuzzing` only.

// A broken promise is a panic.
#![allow(clippy::unwrap_used)]

mod amount;
mod around;
mod callback;
mod configuration;
mod dialects;
mod file;
mod identifiers;
mod pdf;
mod reference;
mod replies;
mod report;
mod rows;
mod signature;
mod statement;
#[cfg(test)]
mod tests;
mod text;
mod workbook;

pub use amount::amount;
pub use around::operation;
pub use callback::callback;
pub use configuration::configuration;
pub use identifiers::{identifiers, narration};
pub use pdf::{expect_panics_of_the_reader, pdf};
pub use replies::reply;
pub use report::report;
pub use rows::{csv, json, pain001};
pub use signature::signature;
pub use statement::{camt, mt940, statement};
pub use text::terminal;
pub use workbook::workbook;

/// Takes bytes, and panics where a promise is broken.
pub type Target = fn(&[u8]);

/// Every target by its name, which is that of its folder of the corpus.
pub const TARGETS: [(&str, Target); 18] = [
    ("amount", amount),
    ("callback", callback),
    ("camt", camt),
    ("configuration", configuration),
    ("csv", csv),
    ("identifiers", identifiers),
    ("json", json),
    ("mt940", mt940),
    ("narration", narration),
    ("operation", operation),
    ("pain001", pain001),
    ("pdf", pdf),
    ("reply", reply),
    ("report", report),
    ("signature", signature),
    ("statement", statement),
    ("terminal", terminal),
    ("workbook", workbook),
];

/// The first line of an input that has parameters: a word and a number, each where there is one.
struct Head<'a> {
    word: &'a str,
    number: Option<u16>,
}

/// Takes the first line off an input.
fn head(bytes: &[u8]) -> (Head<'_>, &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (line, rest) = match end {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[][..]),
    };
    let mut words = std::str::from_utf8(line)
        .unwrap_or_default()
        .split_ascii_whitespace();
    let head = Head {
        word: words.next().unwrap_or_default(),
        number: words.next().and_then(|number| number.parse().ok()),
    };
    (head, rest)
}

/// Holds what is shown to a person to one bounded line that cannot steer a terminal.
#[track_caller]
fn assert_shown(text: &str, bytes_max: usize) {
    assert!(
        text.len() <= bytes_max,
        "{} bytes: {text:.200?}",
        text.len()
    );
    let steers =
        |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let found = text.chars().find(|c| steers(*c));
    assert_eq!(found, None, "in {text:?}");
}
