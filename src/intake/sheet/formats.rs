//! Formats of cells that show more than the cell holds: `00000000` shows 11000003 as it is, and 1003 as 00001003; a line goes through
//! what is struck out.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};

use quick_xml::events::{BytesStart, Event};
use zip::ZipArchive;

use super::super::Error;
use super::admission::{self, Go, attribute};

/// Formats of cells, at most: Excel has 65,490.
const STYLES_MAX: usize = 70_000;

/// What a format puts beside what a cell holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Added {
    /// At least so many digits are shown in front of the point.
    digits: usize,
    /// Letters or digits stand beside the number.
    text: bool,
    /// Another number is shown: in hundredths, in thousands, or nothing of it.
    other: bool,
    /// A line goes through it.
    struck: bool,
}

impl Added {
    /// Reads the section of a format that is for numbers above zero.
    fn of(code: &str) -> Self {
        let mut found = Self::default();
        let (mut is_behind_point, mut is_shown) = (false, code.is_empty());
        let mut comma_before = false;
        let mut chars = code.chars();
        while let Some(c) = chars.next() {
            let is_digit = matches!(c, '0' | '#' | '?');
            is_shown |= is_digit || matches!(c, '@' | 'G' | 'g');
            // A comma parts groups between digits, and takes a group away behind them.
            found.other |=
                std::mem::replace(&mut comma_before, c == ',') && !is_digit && is_shown && c != ',';
            match c {
                ';' => break,
                '%' => found.other = true,
                '"' => {
                    // All of it, so that the closing quote is passed, too.
                    let quoted: String = chars.by_ref().take_while(|c| *c != '"').collect();
                    found.text |= quoted.contains(char::is_alphanumeric);
                }
                '\\' => found.text |= chars.next().is_some_and(char::is_alphanumeric),
                // A blank of the width of the next character, and one that fills the cell.
                '_' | '*' => drop(chars.next()),
                // A colour, a condition, a currency.
                '[' => drop(chars.by_ref().find(|c| *c == ']')),
                '.' => is_behind_point = true,
                '0' if !is_behind_point => found.digits += 1,
                _ => {}
            }
        }
        found.other |= comma_before || !is_shown;
        found
    }

    /// Returns whether another number is shown than the cell holds.
    pub(super) fn shows_another(self) -> bool {
        self.other
    }

    /// Returns whether a number is shown with more than it holds.
    pub(super) fn shows_more_of(self, number: &str) -> bool {
        let whole = number.trim_start_matches('-').split('.').next();
        self.text || whole.is_some_and(|whole| whole.len() < self.digits)
    }

    /// Returns whether a line goes through the cell.
    pub(super) fn is_struck(self) -> bool {
        self.struck
    }

    fn is_plain(self) -> bool {
        self.digits <= 1 && !self.text && !self.other && !self.struck
    }
}

/// The formats of a workbook that show more than their cell holds, by the number of the style.
#[derive(Debug, Default)]
pub(super) struct Formats(BTreeMap<u32, Added>);

impl Formats {
    /// Reads the styles of a workbook.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) fn read<R: Read + Seek>(archive: &mut ZipArchive<R>) -> Result<Self, Error> {
        const PART: &str = "xl/styles.xml";
        let mut styles = Styles::default();
        if archive.index_for_name(PART).is_some() {
            admission::walk(archive, PART, |event| {
                styles.take(event);
                Ok(Go::On)
            })?;
        }
        Ok(Self(styles.found))
    }

    /// Returns what a style adds, if anything.
    pub(super) fn of(&self, style: u32) -> Option<Added> {
        self.0.get(&style).copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[derive(Default)]
struct Styles {
    codes: BTreeMap<String, Added>,
    in_fonts: bool,
    /// How many fonts there are so far, and which of them strike out.
    fonts: usize,
    struck: BTreeSet<usize>,
    in_cells: bool,
    styles: u32,
    found: BTreeMap<u32, Added>,
}

impl Styles {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(start) | Event::Empty(start) => self.start(start),
            Event::End(end) => match end.local_name().as_ref() {
                "fonts" => self.in_fonts = false,
                "cellXfs" => self.in_cells = false,
                _ => {}
            },
            _ => {}
        }
    }

    fn start(&mut self, start: &BytesStart<'_>) {
        match start.local_name().as_ref() {
            "numFmt" if self.codes.len() < STYLES_MAX => {
                let code = attribute(start, "formatCode").unwrap_or_default();
                let added = Added::of(&code);
                if let Some(id) = attribute(start, "numFmtId").filter(|_| !added.is_plain()) {
                    self.codes.insert(id, added);
                }
            }
            "fonts" => self.in_fonts = true,
            "font" if self.in_fonts => self.fonts += 1,
            "strike" if self.in_fonts && self.struck.len() < STYLES_MAX => {
                let value = attribute(start, "val");
                if !matches!(value.as_deref().map(str::trim), Some("0" | "false" | "off")) {
                    self.struck.insert(self.fonts.saturating_sub(1));
                }
            }
            "cellXfs" => self.in_cells = true,
            "xf" if self.in_cells => {
                // Those that every program knows by their number alone add nothing, but for hundredths.
                let hundredths = Added {
                    other: true,
                    ..Added::default()
                };
                let code = attribute(start, "numFmtId").and_then(|id| match id.as_str() {
                    "9" | "10" => Some(hundredths),
                    id => self.codes.get(id).copied(),
                });
                let font = attribute(start, "fontId").and_then(|id| id.trim().parse().ok());
                let added = Added {
                    struck: font.is_some_and(|font: usize| self.struck.contains(&font)),
                    ..code.unwrap_or_default()
                };
                if !added.is_plain() {
                    self.found.insert(self.styles, added);
                }
                self.styles += 1;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_that_shows_another_number_is_known() {
        for (code, expected) in [
            ("General", false),
            ("@", false),
            ("0", false),
            ("#,##0.00", false),
            ("#,##0;(#,##0)", false),
            ("_-* #,##0.00_-;-* #,##0_-", false),
            ("[$KES-441] #,##0", false),
            ("\"Sh, \"0", false),
            ("0%", true),
            ("0.00 %", true),
            ("\"50%\" 0", false),
            ("#,##0,", true),
            ("0.00,", true),
            ("0,.0", true),
            ("#,##0,,\"M\"", true),
            (";;;", true),
            ("\"\"", true),
            ("0;0%", false),
        ] {
            assert_eq!(Added::of(code).shows_another(), expected, "{code}");
        }
    }

    #[test]
    fn a_format_adds_zeros_and_letters_and_nothing_else_counts() {
        for (code, number, expected) in [
            ("General", "11000003", false),
            ("0", "5", false),
            ("0.00", "5", false),
            ("#,##0.00", "1500", false),
            ("0000000000", "11000003", true),
            ("0000000000", "1234567890", false),
            ("000", "1", true),
            ("000", "-1", true),
            ("000", "1.5", true),
            ("00.00", "7.5", true),
            ("\"EMP-\"000", "123", true),
            ("\\K0", "1", true),
            ("000\\-000", "123456", false),
            ("000-000", "12345", true),
            ("_-* #,##0.00_-;-* #,##0_-", "5", false),
            ("[$KES-441] #,##0", "5", false),
            ("\"-\"0", "5", false),
            ("0;\"x\"000", "5", false),
        ] {
            assert_eq!(
                Added::of(code).shows_more_of(number),
                expected,
                "{code} {number}"
            );
        }
    }
}
