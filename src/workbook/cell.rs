//! Cells and rows as the format has them.

use std::fmt::Write as _;

/// What a cell holds at most, in characters, as the format has it.
const CELL_MAX: usize = 32_767;
/// A spreadsheet keeps fifteen digits: an amount of more stays a text.
const DIGITS_MAX: usize = 15;
const LETTERS: usize = 26;

/// Styles, by their places in the part of styles.
const BOLD: u8 = 1;
const TEXT: u8 = 2;
const AMOUNT: u8 = 3;
/// Amounts of more decimals are shown with so many.
pub(super) const DECIMALS_MAX: u8 = 4;

/// What is put into a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// A text, whatever it looks like; none where it is empty.
    Text(&'a str),
    /// The same, as a heading.
    Heading(&'a str),
    /// An amount with so many decimals: a number, as long as it loses no digit.
    Amount(&'a str, u8),
    /// A number as a sheet has it already, whatever it has lost.
    Number(&'a str),
}

/// Replaces a text by a row of the format; rows count from 1.
pub fn render_row<'a>(line: &mut String, number: u32, cells: impl IntoIterator<Item = Cell<'a>>) {
    line.clear();
    write!(line, r#"<row r="{number}">"#).expect("writing to a String cannot fail");
    for (column, cell) in cells.into_iter().enumerate() {
        let place = (column, number);
        match cell {
            Cell::Text(text) => push_text(line, place, text, TEXT),
            Cell::Heading(text) => push_text(line, place, text, BOLD),
            Cell::Amount(digits, decimals) if is_number(digits) && is_exact(digits) => {
                push_number(line, place, digits, AMOUNT + decimals.min(DECIMALS_MAX));
            }
            Cell::Number(digits) if is_number(digits) => push_number(line, place, digits, 0),
            Cell::Amount(text, _) | Cell::Number(text) => push_text(line, place, text, TEXT),
        }
    }
    line.push_str("</row>\n");
}

/// Returns whether a text is digits with a sign and a point at most.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits(whole) && is_digits(part)
}

fn is_exact(digits: &str) -> bool {
    let counted = digits.bytes().filter(u8::is_ascii_digit);
    counted.skip_while(|byte| *byte == b'0').count() <= DIGITS_MAX
}

fn push_number(out: &mut String, place: (usize, u32), digits: &str, style: u8) {
    push_place(out, place);
    write!(out, r#" s="{style}"><v>{digits}</v></c>"#).expect("writing to a String cannot fail");
}

/// Appends the letters of a column, counted from 0.
pub(super) fn push_letters(out: &mut String, column: usize) {
    if let Some(first) = (column / LETTERS).checked_sub(1) {
        push_letters(out, first);
    }
    out.push(char::from(b'A' + (column % LETTERS) as u8));
}

/// Appends the beginning of a cell: its column, counted from 0, as letters, and its row.
fn push_place(out: &mut String, (column, row): (usize, u32)) {
    out.push_str("<c r=\"");
    push_letters(out, column);
    write!(out, "{row}\"").expect("writing to a String cannot fail");
}

/// Appends a cell that holds a text, where there is one.
fn push_text(out: &mut String, place: (usize, u32), text: &str, style: u8) {
    if text.is_empty() {
        return;
    }
    push_place(out, place);
    write!(
        out,
        r#" t="inlineStr" s="{style}"><is><t xml:space="preserve">"#
    )
    .expect("writing to a String cannot fail");
    push_escaped(out, text);
    out.push_str("</t></is></c>");
}

/// Appends a text as XML and a spreadsheet read it.
pub(super) fn push_escaped(out: &mut String, text: &str) {
    let is_plain =
        |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'&' | b'<' | b'>' | b'_' | b'"');
    if text.len() <= CELL_MAX && text.bytes().all(is_plain) {
        out.push_str(text);
        return;
    }
    for (at, c) in text.char_indices().take(CELL_MAX) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\r' => out.push_str("&#13;"),
            // The format reads _x0041_ as an A.
            '_' if text[at..].starts_with("_x") => out.push_str("_x005F_"),
            '\t' | '\n' => out.push(c),
            // What no XML may hold, and what steers a terminal or a reader's eye.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_numbers_as_long_as_no_digit_is_lost() {
        for (cell, expected) in [
            (
                Cell::Amount("1500.50", 2),
                r#"<c r="A7" s="5"><v>1500.50</v></c>"#,
            ),
            (
                Cell::Amount("-1500", 0),
                r#"<c r="A7" s="3"><v>-1500</v></c>"#,
            ),
            (Cell::Amount("999999999999999", 0), r#"s="3"><v>"#),
            (
                Cell::Amount("9999999999999999", 0),
                r#"t="inlineStr" s="2""#,
            ),
            (Cell::Amount("=1+1", 2), r#"t="inlineStr" s="2""#),
            (Cell::Amount("1e3", 2), r#"t="inlineStr" s="2""#),
            (
                Cell::Number("1234567890123460"),
                r#" s="0"><v>1234567890123460</v>"#,
            ),
            (Cell::Number("1e300"), r#"t="inlineStr""#),
            (Cell::Text("=1"), r#"preserve">=1</t>"#),
            (Cell::Text(""), r#"<row r="7"></row>"#),
            (Cell::Heading("a"), r#"s="1""#),
        ] {
            let mut line = String::new();
            render_row(&mut line, 7, [cell]);
            assert!(line.contains(expected), "{line}");
        }
    }

    #[test]
    fn columns_have_letters() {
        for (column, expected) in [
            (0, "A"),
            (25, "Z"),
            (26, "AA"),
            (27, "AB"),
            (701, "ZZ"),
            (702, "AAA"),
        ] {
            let mut letters = String::new();
            push_letters(&mut letters, column);
            assert_eq!(letters, expected);
        }
    }
}
