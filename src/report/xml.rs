//! Elements of ISO 20022 messages.

use std::io::{self, Write};

use quick_xml::escape::escape;

/// Returns as much of a text as a field holds, with blanks for what XML does not take.
pub(in crate::report) fn fitted(text: &str, max: usize) -> String {
    let is_taken = |c: &char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    let shown: String = text
        .chars()
        .map(|c| if is_taken(&c) { c } else { ' ' })
        .take(max)
        .collect();
    shown.trim_end().to_owned()
}

/// Writes an element.
pub(in crate::report) fn element(
    output: &mut impl Write,
    name: &str,
    text: &str,
) -> io::Result<()> {
    writeln!(output, "<{name}>{}</{name}>", escape(text))
}

/// Writes an element whose text may be missing.
pub(in crate::report) fn optional(
    output: &mut impl Write,
    name: &str,
    text: &str,
    max: usize,
) -> io::Result<()> {
    match fitted(text, max).as_str() {
        "" => Ok(()),
        text => element(output, name, text),
    }
}
