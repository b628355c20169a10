//! How a statement is to be read: the one definition of what options of the command and `[statements.NAME]` of the configuration say.

use std::collections::BTreeMap;

use crate::domain::{Currency, Day};
use crate::intake::{Encoding, Hiding, SheetOptions};

/// What a column of a statement may be.
pub const COLUMNS: [&str; 15] = [
    "date",
    "amount",
    "paid_out",
    "paid_in",
    "direction",
    "currency",
    "reference",
    "receipt",
    "description",
    "recipient",
    "fee",
    "balance",
    "status",
    "kind",
    "account",
];

/// The format of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Rows under headers.
    Csv,
    /// A sheet of a workbook.
    Xlsx,
    /// SWIFT MT940.
    Mt940,
    /// ISO 20022 camt.053 and camt.054.
    Camt,
}

impl Format {
    /// Finds it by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "csv" => Some(Self::Csv),
            "xlsx" => Some(Self::Xlsx),
            "mt940" => Some(Self::Mt940),
            "camt" => Some(Self::Camt),
            _ => None,
        }
    }

    /// Tells the format of a text by how it begins.
    #[must_use]
    pub fn of(beginning: &[u8]) -> Self {
        let text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
        let text = text.trim_ascii_start();
        if text.starts_with(b"<") {
            Self::Camt
        } else if [&b"{1:"[..], b":20:", b":25:"]
            .iter()
            .any(|tag| text.starts_with(tag))
        {
            Self::Mt940
        } else {
            Self::Csv
        }
    }
}

/// What a key of the terms takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// A text.
    Text,
    /// True or false.
    Flag,
    /// A number from 1.
    Number,
    /// One text or several.
    Words,
    /// Columns of ours, each with a header of theirs or several.
    Columns,
}

/// A value that is said of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A text.
    Text(String),
    /// True or false.
    Flag(bool),
    /// A number.
    Number(u64),
    /// One text or several.
    Words(Vec<String>),
    /// A column of ours, and the headers of theirs.
    Column(String, Vec<String>),
}

/// What is said where nobody says otherwise, and the terms that are said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Its format; `None`: as the file begins.
    pub format: Option<Format>,
    /// The account that it must be of.
    pub account: Option<String>,
    /// What stands under which headers, by [`COLUMNS`]; a column that is not named is looked for under its own name.
    pub columns: BTreeMap<String, Vec<String>>,
    /// The row with the headers, from 1; `None`: the first that has them.
    pub header: Option<u64>,
    /// The currency of all lines, where no column says it.
    pub currency: Option<Currency>,
    /// The pattern of its dates; `None`: `2026-11-28`, and whatever stands behind it.
    pub date_format: Option<String>,
    /// Between cells; `None`: as the headers show.
    pub delimiter: Option<u8>,
    /// The decimal sign; `None`: a point.
    pub decimal: Option<char>,
    /// Of a text; `None`: UTF-8, or as it says itself.
    pub encoding: Option<Encoding>,
    /// Amounts above zero left the account: it is a list of payments. Else those below zero did.
    pub paid_out: Option<bool>,
    /// Words of the status of what has moved; empty: those that are built in.
    pub booked: Vec<String>,
    /// Words of what is only announced, beside those that are built in.
    pub pending: Vec<String>,
    /// Words of what was tried and did not move, beside those that are built in.
    pub not_executed: Vec<String>,
    /// Words of what moved and came back, beside those that are built in.
    pub reversed: Vec<String>,
    /// How the kind of a row begins, or where no column says it its description, that is a charge and no payment.
    pub charges: Vec<String>,
    /// The sheet of a workbook; `None`: the one that has data.
    pub sheet: Option<String>,
    /// What becomes of hidden rows and columns of a sheet; `None`: they refuse it.
    pub hidden: Option<Hiding>,
    /// Whether results that were stored with formulas are taken.
    pub stored_formulas: Option<bool>,
}

impl Terms {
    /// Every key with what it takes.
    pub const KEYS: [(&'static str, Takes); 18] = [
        ("format", Takes::Text),
        ("account", Takes::Text),
        ("columns", Takes::Columns),
        ("header", Takes::Number),
        ("currency", Takes::Text),
        ("date_format", Takes::Text),
        ("delimiter", Takes::Text),
        ("decimal", Takes::Text),
        ("encoding", Takes::Text),
        ("paid_out", Takes::Flag),
        ("booked", Takes::Words),
        ("pending", Takes::Words),
        ("not_executed", Takes::Words),
        ("reversed", Takes::Words),
        ("charges", Takes::Words),
        ("sheet", Takes::Text),
        ("hidden", Takes::Text),
        ("formulas", Takes::Text),
    ];

    /// Keys about rows and columns, which MT940 and camt do not have.
    const OF_TABLES: [&'static str; 14] = [
        "columns",
        "header",
        "currency",
        "date_format",
        "delimiter",
        "decimal",
        "paid_out",
        "booked",
        "pending",
        "not_executed",
        "reversed",
        "charges",
        "sheet",
        "hidden",
    ];

    /// Takes in what is said of a key.
    ///
    /// # Errors
    /// What was expected instead; also where there is no such key, or it takes another kind of value.
    pub fn say(&mut self, key: &str, said: Said) -> Result<(), String> {
        match (key, said) {
            ("header", Said::Number(row @ 1..=HEADER_MAX)) => self.header = Some(row),
            ("header", _) => return Err(format!("a row from 1 to {HEADER_MAX}")),
            ("paid_out", Said::Flag(flag)) => self.paid_out = Some(flag),
            ("paid_out", _) => return Err("true or false".to_owned()),
            ("columns", Said::Column(column, headers)) => return self.place(column, headers),
            ("booked", Said::Words(words)) => self.booked = non_empty(words)?,
            ("pending", Said::Words(words)) => self.pending = non_empty(words)?,
            ("not_executed", Said::Words(words)) => self.not_executed = non_empty(words)?,
            ("reversed", Said::Words(words)) => self.reversed = non_empty(words)?,
            ("charges", Said::Words(words)) => self.charges = non_empty(words)?,
            (_, Said::Text(text)) => return self.say_text(key, text),
            _ => return Err("a value of another kind".to_owned()),
        }
        Ok(())
    }

    fn say_text(&mut self, key: &str, text: String) -> Result<(), String> {
        let sign = |known: &[char]| {
            let mut signs = text.chars();
            signs
                .next()
                .filter(|sign| known.contains(sign) && signs.next().is_none())
        };
        match key {
            "format" => {
                self.format = Some(Format::from_name(&text).ok_or("csv, xlsx, mt940 or camt")?);
            }
            "account" if text.chars().any(|c| c.is_ascii_alphanumeric()) => {
                self.account = Some(text);
            }
            "account" => return Err("the account as the statement names it".to_owned()),
            "currency" => {
                let read = Currency::from_code(&text.to_ascii_uppercase());
                self.currency = Some(read.ok_or("a code such as KES")?);
            }
            "date_format" => match Day::is_pattern(&text) {
                true => self.date_format = Some(text),
                false => {
                    return Err(
                        "a pattern of day, month and year such as %d/%m/%Y or %d/%m/%Y %H:%M:%S"
                            .to_owned(),
                    );
                }
            },
            "delimiter" => {
                let named = sign(&[',', ';', '|', '\t']).or((text == "tab").then_some('\t'));
                let read = named.and_then(|sign| u8::try_from(sign).ok());
                self.delimiter = Some(read.ok_or("one of , ; | and tab")?);
            }
            "decimal" => self.decimal = Some(sign(&['.', ',']).ok_or(". or ,")?),
            "encoding" => {
                let read = Encoding::from_name(&text);
                self.encoding = Some(read.ok_or("utf-8, utf-16, windows-1252 or iso-8859-1")?);
            }
            "sheet" if text.trim().is_empty() => return Err("the name of a sheet".to_owned()),
            "sheet" => self.sheet = Some(text),
            "hidden" => {
                self.hidden = Some(match text.as_str() {
                    "refuse" => Hiding::Refused,
                    "include" => Hiding::Included,
                    "skip" => Hiding::Skipped,
                    _ => return Err("refuse, include or skip".to_owned()),
                });
            }
            "formulas" => {
                self.stored_formulas = Some(match text.as_str() {
                    "refuse" => false,
                    "stored" => true,
                    _ => return Err("stored or refuse".to_owned()),
                });
            }
            _ => return Err("a value of another kind".to_owned()),
        }
        Ok(())
    }

    fn place(&mut self, column: String, headers: Vec<String>) -> Result<(), String> {
        if !COLUMNS.contains(&column.as_str()) {
            return Err(format!("one of {}", COLUMNS.join(", ")));
        }
        if headers.is_empty() || headers.iter().any(|header| header.trim().is_empty()) {
            return Err("the header that stands above it".to_owned());
        }
        self.columns.insert(column, headers);
        Ok(())
    }

    /// Lays these terms over others: what is said here comes first, column by column.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        let words = |own: Vec<String>, other: Vec<String>| match own.is_empty() {
            true => other,
            false => own,
        };
        let mut columns = below.columns;
        columns.extend(self.columns);
        Self {
            format: self.format.or(below.format),
            account: self.account.or(below.account),
            columns,
            header: self.header.or(below.header),
            currency: self.currency.or(below.currency),
            date_format: self.date_format.or(below.date_format),
            delimiter: self.delimiter.or(below.delimiter),
            decimal: self.decimal.or(below.decimal),
            encoding: self.encoding.or(below.encoding),
            paid_out: self.paid_out.or(below.paid_out),
            booked: words(self.booked, below.booked),
            pending: words(self.pending, below.pending),
            not_executed: words(self.not_executed, below.not_executed),
            reversed: words(self.reversed, below.reversed),
            charges: words(self.charges, below.charges),
            sheet: self.sheet.or(below.sheet),
            hidden: self.hidden.or(below.hidden),
            stored_formulas: self.stored_formulas.or(below.stored_formulas),
        }
    }

    /// Looks whether what is said goes together.
    ///
    /// # Errors
    /// The key that does not, and why.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if matches!(self.format, Some(Format::Mt940 | Format::Camt))
            && let Some(key) = Self::OF_TABLES.into_iter().find(|key| self.says(key))
        {
            return Err((
                key,
                "nothing: it is about the rows of a CSV or a sheet, which this format does not have"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    fn says(&self, key: &str) -> bool {
        match key {
            "columns" => !self.columns.is_empty(),
            "header" => self.header.is_some(),
            "currency" => self.currency.is_some(),
            "date_format" => self.date_format.is_some(),
            "delimiter" => self.delimiter.is_some(),
            "decimal" => self.decimal.is_some(),
            "paid_out" => self.paid_out.is_some(),
            "booked" => !self.booked.is_empty(),
            "pending" => !self.pending.is_empty(),
            "not_executed" => !self.not_executed.is_empty(),
            "reversed" => !self.reversed.is_empty(),
            "charges" => !self.charges.is_empty(),
            "sheet" => self.sheet.is_some(),
            "hidden" => self.hidden.is_some(),
            _ => false,
        }
    }

    /// Returns how a workbook is opened.
    #[must_use]
    pub(super) fn sheet_options(&self) -> SheetOptions {
        SheetOptions {
            sheet: self.sheet.clone(),
            hidden: self.hidden.unwrap_or_default(),
            stored_formulas: self.stored_formulas.unwrap_or_default(),
        }
    }
}

/// The row of the headers, at most.
const HEADER_MAX: u64 = 1_000;

fn non_empty(words: Vec<String>) -> Result<Vec<String>, String> {
    match words.is_empty() || words.iter().any(|word| word.trim().is_empty()) {
        true => Err("words of the statement, each in quotes".to_owned()),
        false => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Said {
        Said::Text(text.to_owned())
    }

    #[test]
    fn every_key_takes_what_it_says_and_nothing_else() {
        let words = || Said::Words(vec!["Done".to_owned()]);
        let column = |name: &str| Said::Column(name.to_owned(), vec!["H".to_owned()]);
        for (key, good, bad) in [
            ("format", text("xlsx"), text("pdf")),
            ("account", text("KE1"), text(" - ")),
            ("columns", column("date"), column("day")),
            ("header", Said::Number(3), Said::Number(0)),
            ("currency", text("kes"), text("Shilling")),
            ("date_format", text("%d/%m/%Y"), text("%d/%m")),
            ("delimiter", text("tab"), text("x")),
            ("decimal", text(","), text("'")),
            ("encoding", text("latin1"), text("utf-7")),
            ("paid_out", Said::Flag(true), text("yes")),
            ("booked", words(), Said::Words(Vec::new())),
            ("pending", words(), text("a")),
            ("not_executed", words(), Said::Words(vec![" ".to_owned()])),
            ("reversed", words(), Said::Flag(true)),
            ("charges", words(), Said::Words(vec![String::new()])),
            ("sheet", text("June"), text(" ")),
            ("hidden", text("skip"), text("yes")),
            ("formulas", text("stored"), text("yes")),
        ] {
            let mut terms = Terms::default();
            assert!(terms.say(key, bad).is_err(), "{key}");
            assert_eq!(terms, Terms::default(), "{key}");
            assert_eq!(terms.say(key, good), Ok(()), "{key}");
            assert_ne!(terms, Terms::default(), "{key}");
            // What is said comes before what is said elsewhere, and what is not said leaves it.
            assert_eq!(terms.clone().over(Terms::default()), terms, "{key}");
            assert_eq!(Terms::default().over(terms.clone()), terms, "{key}");
            assert!(Terms::KEYS.iter().any(|(known, _)| *known == key), "{key}");
        }
        assert!(Terms::default().say("colour", text("red")).is_err());
    }

    #[test]
    fn what_is_said_nearer_comes_first_column_by_column() {
        let said = |pairs: &[(&str, Said)]| {
            let mut terms = Terms::default();
            for (key, said) in pairs {
                terms.say(key, said.clone()).unwrap();
            }
            terms
        };
        let column = |ours: &str, theirs: &str| {
            (
                "columns",
                Said::Column(ours.to_owned(), vec![theirs.to_owned()]),
            )
        };
        let near = said(&[
            column("date", "Value date"),
            ("decimal", text(",")),
            ("paid_out", Said::Flag(false)),
        ]);
        let far = said(&[
            column("date", "Date"),
            column("amount", "Sum"),
            ("decimal", text(".")),
            ("paid_out", Said::Flag(true)),
            ("currency", text("KES")),
        ]);
        let both = near.over(far);
        assert_eq!(both.columns["date"], ["Value date"]);
        assert_eq!(both.columns["amount"], ["Sum"]);
        assert_eq!((both.decimal, both.paid_out), (Some(','), Some(false)));
        assert_eq!(both.currency, Currency::from_code("KES"));
    }

    #[test]
    fn what_is_about_rows_does_not_go_with_formats_that_have_none() {
        for (key, takes) in Terms::KEYS {
            let said = match (key, takes) {
                ("format", _) => continue,
                ("decimal" | "delimiter", _) => text(","),
                ("currency", _) => text("KES"),
                ("date_format", _) => text("%Y%m%d"),
                ("encoding", _) => text("utf-16"),
                ("hidden", _) => text("skip"),
                ("formulas", _) => text("stored"),
                (_, Takes::Text) => text("June"),
                (_, Takes::Flag) => Said::Flag(true),
                (_, Takes::Number) => Said::Number(2),
                (_, Takes::Words) => Said::Words(vec!["Done".to_owned()]),
                (_, Takes::Columns) => Said::Column("date".to_owned(), vec!["Day".to_owned()]),
            };
            let mut terms = Terms::default();
            terms.say(key, said).unwrap();
            assert_eq!(terms.check(), Ok(()));
            terms.format = Some(Format::Camt);
            let refused = !matches!(key, "account" | "encoding" | "formulas");
            assert_eq!(terms.check().is_err(), refused, "{key}");
        }
    }
}
