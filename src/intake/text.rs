//! How a cell is shown in an error, and which characters a text may hold.

use std::borrow::Cow;

use crate::ledger::likeness;

/// The most characters of a cell that an error repeats.
const SHOWN_MAX: usize = 60;
/// Longer names than this are shown like cells. The longest column is shorter.
const NAME_MAX: usize = 70;

/// Returns the cell in quotes, safe to print: control characters escaped, long texts cut.
pub(super) fn quoted(cell: &str) -> String {
    let mut text = String::from("\"");
    let mut chars = cell.chars();
    for c in chars.by_ref().take(SHOWN_MAX) {
        match c {
            '"' => text.push('"'),
            // Direction marks could make a terminal show another text than the one found.
            c if c.is_control()
                || likeness::is_invisible(c)
                || c.is_whitespace() && !c.is_ascii() =>
            {
                text.extend(c.escape_unicode())
            }
            c => text.push(c),
        }
    }
    if chars.next().is_some() {
        text.push('…');
    }
    text.push('"');
    text
}

/// Returns a name as an error shows it: as it is, or in quotes where that is not safe to print.
pub(super) fn shown(name: &str) -> String {
    if forbidden(name).is_some() || name.chars().count() > NAME_MAX {
        quoted(name)
    } else {
        name.to_owned()
    }
}

/// Returns the first character that no text field may hold.
pub(super) fn forbidden(text: &str) -> Option<char> {
    if text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return None;
    }
    text.chars().find(|c| c.is_control() || is_invisible(*c))
}

/// Zero-width and direction marks: two texts that look the same must be the same.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
}

/// Puts a text on one line: each line break becomes one blank.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(['\n', '\r']) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = text
        .split(['\n', '\r'])
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    Cow::Owned(lines.join(" "))
}

/// Returns the longest prefix of at most `max` bytes that ends between two characters.
pub(super) fn cut(text: &[u8], max: usize) -> &[u8] {
    if text.len() <= max {
        return text;
    }
    let mut end = max;
    while end > 0 && text[end] & 0xC0 == 0x80 {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_shown_safely() {
        assert_eq!(quoted("a\u{1b}[31m"), "\"a\\u{1b}[31m\"");
        assert_eq!(quoted("ab\u{202e}c"), "\"ab\\u{202e}c\"");
        assert_eq!(quoted(&"é".repeat(61)), format!("\"{}…\"", "é".repeat(60)));
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("aé".as_bytes(), 2), b"a");
        assert_eq!(cut("aé".as_bytes(), 3), "aé".as_bytes());
        assert_eq!(cut("é".as_bytes(), 1), b"");
    }

    #[test]
    fn line_breaks_become_blanks() {
        assert_eq!(
            one_line("Salary\r\nNovember\n2026 \n"),
            "Salary November 2026"
        );
        assert_eq!(one_line("as it is"), "as it is");
    }

    #[test]
    fn forbidden_characters_are_found() {
        for (text, expected) in [
            ("Wanjikũ Njoroge", None),
            ("a\tb", Some('\t')),
            ("a\u{7f}", Some('\u{7f}')),
            ("a\u{85}", Some('\u{85}')),
            ("\u{feff}a", Some('\u{feff}')),
        ] {
            assert_eq!(forbidden(text), expected, "{text:?}");
        }
    }
}
