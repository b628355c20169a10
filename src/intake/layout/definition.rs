//! What a layout says, and whether that can be carried out.

use super::super::columns::{COLUMNS, extra_name};
use super::super::encoding::Encoding;
use super::super::message_cells::{NAMES, OURS};
use super::super::names::{plain, same};
use super::super::sheet::Hiding;
use super::super::suggest::nearest;
use super::decimal::{Decimal, Numbers};

/// The most columns that a layout names, and values that it maps for each.
const COLUMNS_MAX: usize = 500;
const VALUES_MAX: usize = 10_000;
/// The last row in which a header may stand.
const HEADER_MAX: u32 = 1_000;
/// Columns of ours that no file of another program has.
const LINKS: [&str; 2] = ["rejected_row", "replaces"];

/// Where the names of the columns stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderAt {
    /// In this row, 1-based, empty ones counted.
    Row(u32),
    /// Nowhere: the first row is a payment.
    Nowhere,
}

/// A column of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// By its name.
    Name(String),
    /// By its position, 1-based.
    At(usize),
}

impl Place {
    /// Returns how a message names it.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Name(name) => format!("column {name:?}"),
            Self::At(at) => format!("column {at}"),
        }
    }
}

/// A column that holds one of some values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The column.
    pub column: Place,
    /// The values: `*` is any but an empty one, `*x*` any with an x in it, the empty text an empty one.
    pub values: Vec<String>,
}

/// What any value but an empty one is written as.
pub const ANY: &str = "*";

/// Returns whether a cell is the value that a layout names.
pub(super) fn is_value(cell: &str, value: &str) -> bool {
    let within = || value.strip_prefix('*')?.strip_suffix('*');
    cell == value
        || value == ANY && !cell.is_empty()
        || within().is_some_and(|part| !part.is_empty() && cell.contains(part))
}

/// Where the text of a column of ours comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// From columns, empty ones left out, with a text between them.
    From {
        /// The columns.
        columns: Vec<Place>,
        /// What stands between them.
        with: String,
    },
    /// It is always the same.
    Constant(String),
}

/// A column of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name in the contract, or `extra.NAME`.
    pub column: String,
    /// Where its text comes from.
    pub taken: Taken,
    /// What is said for what stands there. With none, the text is taken as it is.
    pub values: Vec<(String, String)>,
    /// The column is empty but where this holds.
    pub when: Option<Condition>,
    /// Files may lack its columns.
    pub optional: bool,
}

/// Rows that this gateway cannot pay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which.
    pub column: Place,
    /// What stands there, as in [`Condition`].
    pub value: String,
    /// Why they cannot.
    pub reason: String,
}

/// The row behind the payments that holds their sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Total {
    /// The column that shows it.
    pub column: Place,
    /// What stands there, in any letter case, with or without a colon.
    pub marker: String,
}

/// What kind of file a layout reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Rows with columns.
    Table,
    /// Credit transfers of ISO 20022: each of their elements that can be taken has a name of its own.
    Pain001,
}

impl FileKind {
    /// Returns its name in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Pain001 => "pain.001",
        }
    }
}

/// What amounts are multiplied by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Factor {
    /// Nothing.
    None,
    /// The same for every row.
    Given(Decimal),
    /// Another one for everybody who uses the layout, who has to say it.
    Open,
}

/// What a row without an amount is; one of zero is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyAmount {
    /// A mistake.
    Error,
    /// No payment.
    Skip,
}

/// How a file of another program is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Its name.
    pub name: String,
    /// What it was written from, in words.
    pub written_from: String,
    /// What kind of file it reads.
    pub kind: FileKind,
    /// Where the header stands.
    pub header: HeaderAt,
    /// What stands between cells; found out where nothing is said.
    pub delimiter: Option<u8>,
    /// The encoding, where it is not UTF-8.
    pub encoding: Option<Encoding>,
    /// The sheet of a workbook; otherwise the one that has data.
    pub sheet: Option<String>,
    /// What becomes of hidden rows and columns of a sheet.
    pub hidden: Hiding,
    /// Whether the results that were stored with formulas of a sheet are taken for recipients and amounts.
    pub stored_formulas: bool,
    /// How amounts are written.
    pub numbers: Numbers,
    /// Our columns, in the order in which they were said.
    pub columns: Vec<Source>,
    /// Columns of the file that are no part of a payment.
    pub ignore: Vec<Place>,
    /// All others are none either.
    pub ignores_others: bool,
    /// What amounts are multiplied by.
    pub factor: Factor,
    /// The column by whose number the amount of its row is multiplied, too.
    pub factor_column: Option<Place>,
    /// Signs of a currency that may stand beside an amount.
    pub amount_signs: Vec<String>,
    /// The row with the sum, where the file has one.
    pub total: Option<Total>,
    /// Rows that are no payments.
    pub skip: Vec<Condition>,
    /// Rows that cannot be paid.
    pub refuse: Vec<Refusal>,
    /// What a row without an amount is.
    pub empty_amount: EmptyAmount,
}

/// What is wrong with a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The key that is concerned, below the layout's table.
    pub key: String,
    /// What was expected.
    pub expected: String,
}

impl Layout {
    /// Returns a layout that says nothing yet.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            written_from: String::new(),
            kind: FileKind::Table,
            header: HeaderAt::Row(1),
            delimiter: None,
            encoding: None,
            sheet: None,
            hidden: Hiding::Refused,
            stored_formulas: false,
            numbers: Numbers::default(),
            columns: Vec::new(),
            ignore: Vec::new(),
            ignores_others: false,
            factor: Factor::None,
            factor_column: None,
            amount_signs: Vec::new(),
            total: None,
            skip: Vec::new(),
            refuse: Vec::new(),
            empty_amount: EmptyAmount::Error,
        }
    }

    /// Returns a layout of messages: their elements go into the columns that are theirs, until something else is said.
    #[must_use]
    pub fn of_messages(name: &str) -> Self {
        let columns = OURS.iter().zip(NAMES);
        Self {
            kind: FileKind::Pain001,
            columns: columns
                .map(|(ours, element)| Source {
                    column: (*ours).to_owned(),
                    taken: Taken::From {
                        columns: vec![Place::Name(element.to_owned())],
                        with: " ".to_owned(),
                    },
                    values: Vec::new(),
                    when: None,
                    optional: false,
                })
                .collect(),
            ignores_others: true,
            ..Self::named(name)
        }
    }

    /// Returns where a column of ours comes from.
    #[must_use]
    pub fn source(&self, column: &str) -> Option<&Source> {
        self.columns.iter().find(|source| source.column == column)
    }

    /// Returns every column of the file that it names, each once.
    #[must_use]
    pub fn places(&self) -> Vec<&Place> {
        let mut places: Vec<&Place> = Vec::new();
        for source in &self.columns {
            if let Taken::From { columns, .. } = &source.taken {
                places.extend(columns);
            }
            places.extend(source.when.as_ref().map(|when| &when.column));
        }
        places.extend(&self.factor_column);
        places.extend(self.total.as_ref().map(|total| &total.column));
        places.extend(self.skip.iter().map(|skip| &skip.column));
        places.extend(self.refuse.iter().map(|refuse| &refuse.column));
        let mut each: Vec<&Place> = Vec::new();
        for place in places {
            let is_same = |known: &&&Place| match (**known, place) {
                (Place::Name(one), Place::Name(other)) => same(one, other),
                (one, other) => one == other,
            };
            if !each.iter().any(|known| is_same(&known)) {
                each.push(place);
            }
        }
        each
    }

    /// Says what cannot be carried out.
    ///
    /// # Errors
    /// The first problem.
    pub fn check(&self) -> Result<(), Problem> {
        let problem = |key: &str, expected: &str| {
            Err(Problem {
                key: key.to_owned(),
                expected: expected.to_owned(),
            })
        };
        if self.kind == FileKind::Pain001 {
            self.check_message()?;
        }
        if let HeaderAt::Row(row) = self.header
            && !(1..=HEADER_MAX).contains(&row)
        {
            return problem("header", "a row from 1 to 1000, or \"none\"");
        }
        if self.numbers.group.is_some()
            && self.numbers.group == Some(self.numbers.decimal.unwrap_or('.'))
        {
            return problem("group", "another sign than that of the decimals");
        }
        if self.columns.is_empty() || self.source("amount").is_none() {
            return problem("columns", "at least amount");
        }
        if self.columns.len() > COLUMNS_MAX || self.ignore.len() > COLUMNS_MAX {
            return problem("columns", "at most 500 columns");
        }
        for source in &self.columns {
            self.check_source(source)?;
        }
        if let Factor::Given(factor) = &self.factor
            && !factor.is_positive()
        {
            return problem("amount_factor", "a number of more than 0, such as \"0.01\"");
        }
        let multiplies = self.factor != Factor::None || self.factor_column.is_some();
        if multiplies
            && matches!(
                self.source("amount"),
                Some(Source {
                    taken: Taken::Constant(_),
                    ..
                })
            )
        {
            return problem("amount_factor", "an amount that is taken from a column");
        }
        if self.total.is_some() && self.factor_column.is_some() {
            return problem(
                "total",
                "no amount_factor_column beside it: the sum of products is no product of sums",
            );
        }
        if let Some(total) = &self.total
            && marked(&total.marker).is_empty()
        {
            return problem(
                "total.marker",
                "the text that shows the row with the sum, such as \"TOTAL\"",
            );
        }
        for condition in &self.skip {
            if condition.values.is_empty() {
                return problem("skip", "at least one value for each column");
            }
        }
        self.check_places()
    }

    /// A message has no header and no delimiter, and its numbers are written in one way.
    fn check_message(&self) -> Result<(), Problem> {
        let plain = Self::of_messages(&self.name);
        let others = [
            ("header", self.header == plain.header),
            ("delimiter", self.delimiter.is_none()),
            ("encoding", self.encoding.is_none()),
            ("decimal", self.numbers == plain.numbers),
            ("amount_factor", self.factor == Factor::None),
            ("amount_factor_column", self.factor_column.is_none()),
            ("amount_signs", self.amount_signs.is_empty()),
            ("total", self.total.is_none()),
        ];
        if let Some((key, _)) = others.into_iter().find(|(_, is_plain)| !is_plain) {
            return Err(Problem {
                key: key.to_owned(),
                expected: "nothing: a pain.001 says it itself".to_owned(),
            });
        }
        let is_known = |place: &&Place| match place {
            Place::Name(name) => NAMES.iter().any(|known| same(known, name)),
            Place::At(_) => false,
        };
        match self.places().into_iter().find(|place| !is_known(place)) {
            None => Ok(()),
            Some(place) => Err(Problem {
                key: "columns".to_owned(),
                expected: format!(
                    "names of elements, {}, instead of {}",
                    NAMES.join(", "),
                    place.text()
                ),
            }),
        }
    }

    fn check_source(&self, source: &Source) -> Result<(), Problem> {
        let table = match source.taken {
            Taken::From { .. } => "columns",
            Taken::Constant(_) => "constants",
        };
        let name = &source.column;
        let problem = |key: String, expected: String| Err(Problem { key, expected });
        let key = || format!("{table}.{name}");
        match name.strip_prefix("extra.") {
            Some(extra) => {
                if let Err(reason) = extra_name(extra) {
                    return problem(key(), format!("a member that a file may set ({reason})"));
                }
            }
            None if LINKS.contains(&name.as_str()) => {
                return problem(
                    key(),
                    "a column of a payment: this one is written by disburse alone, and is taken where it stands".to_owned(),
                );
            }
            None if !COLUMNS.contains(&name.as_str()) => {
                let near = nearest(name, COLUMNS).map(|near| format!(", such as {near:?}"));
                return problem(
                    key(),
                    format!("a column of ours{}", near.unwrap_or_default()),
                );
            }
            None => {}
        }
        let is_named = |other: &&Source| plain(&other.column) == plain(name);
        if self.columns.iter().filter(is_named).count() > 1 {
            return problem(key(), "one source for each column".to_owned());
        }
        if let Taken::From { columns, .. } = &source.taken
            && (columns.is_empty() && self.kind == FileKind::Table || columns.len() > COLUMNS_MAX)
        {
            return problem(key(), "at least one column".to_owned());
        }
        if source.values.len() > VALUES_MAX {
            return problem(
                format!("values.{name}"),
                format!("at most {VALUES_MAX} values"),
            );
        }
        if let Some(when) = &source.when
            && when.values.is_empty()
        {
            return problem(key(), "at least one value in \"is\"".to_owned());
        }
        Ok(())
    }

    /// Without a header nothing has a name.
    fn check_places(&self) -> Result<(), Problem> {
        for place in self.places().into_iter().chain(&self.ignore) {
            let expected = match place {
                Place::At(0) => "positions from 1 on",
                Place::At(at) if *at > COLUMNS_MAX => "positions up to 500",
                Place::Name(name) if name.trim().is_empty() => "names that are not empty",
                Place::Name(_) if self.header == HeaderAt::Nowhere => {
                    "positions alone, as header is \"none\""
                }
                _ => continue,
            };
            return Err(Problem {
                key: "columns".to_owned(),
                expected: format!("{expected} ({})", place.text()),
            });
        }
        Ok(())
    }
}

/// Returns what is compared of a marker, and of the cell in which it may stand.
pub(super) fn marked(text: &str) -> String {
    plain(text.trim().trim_end_matches(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(column: &str, places: &[Place]) -> Source {
        Source {
            column: column.to_owned(),
            taken: Taken::From {
                columns: places.to_vec(),
                with: " ".to_owned(),
            },
            values: Vec::new(),
            when: None,
            optional: false,
        }
    }

    fn name(text: &str) -> Place {
        Place::Name(text.to_owned())
    }

    fn sound() -> Layout {
        Layout {
            columns: vec![
                from("amount", &[name("Net Pay")]),
                from("customer_names", &[name("First"), name("Last")]),
            ],
            ..Layout::named("a")
        }
    }

    #[test]
    fn what_cannot_be_carried_out_is_said_with_its_key() {
        assert_eq!(sound().check(), Ok(()));
        type Case = (&'static str, &'static str, fn(&mut Layout));
        let table: [Case; 14] = [
            ("header", "a row", |l| l.header = HeaderAt::Row(0)),
            ("columns", "amount", |l| drop(l.columns.remove(0))),
            ("columns.amuont", "\"amount\"", |l| {
                l.columns.push(from("amuont", &[name("x")]))
            }),
            ("columns.replaces", "by disburse alone", |l| {
                l.columns.push(from("replaces", &[name("x")]))
            }),
            ("columns.amount", "one source", |l| {
                l.columns.push(from("amount", &[name("x")]))
            }),
            ("columns.extra.callbackUrl", "set by the program", |l| {
                l.columns.push(from("extra.callbackUrl", &[name("x")]))
            }),
            ("columns.narration", "at least one column", |l| {
                l.columns.push(from("narration", &[]))
            }),
            ("group", "another sign", |l| l.numbers.group = Some('.')),
            ("amount_factor", "more than 0", |l| {
                l.factor = Factor::Given(Decimal::ZERO)
            }),
            ("total", "no amount_factor_column", |l| {
                l.factor_column = Some(name("Rate"));
                l.total = Some(Total {
                    column: name("First"),
                    marker: "Total".to_owned(),
                });
            }),
            ("total.marker", "the text", |l| {
                l.total = Some(Total {
                    column: name("First"),
                    marker: " : ".to_owned(),
                });
            }),
            ("skip", "at least one value", |l| {
                l.skip.push(Condition {
                    column: name("x"),
                    values: vec![],
                })
            }),
            ("columns", "positions alone", |l| {
                l.header = HeaderAt::Nowhere
            }),
            ("columns", "from 1 on", |l| {
                l.columns.push(from("narration", &[Place::At(0)]))
            }),
        ];
        for (key, expected, spoil) in table {
            let mut layout = sound();
            spoil(&mut layout);
            let problem = layout.check().expect_err(key);
            assert_eq!(problem.key, key);
            assert!(problem.expected.contains(expected), "{key}: {problem:?}");
        }
    }

    #[test]
    fn a_digest_tells_how_files_are_read_and_nothing_else() {
        let digest = sound().digest();
        let other = Layout {
            written_from: "memory".to_owned(),
            name: "b".to_owned(),
            ..sound()
        };
        assert_eq!(other.digest(), digest);
        let changes: [fn(&mut Layout); 7] = [
            |l| l.amount_signs.push("KSh".to_owned()),
            |l| l.numbers.decimal = Some(','),
            |l| l.header = HeaderAt::Row(2),
            |l| l.columns[1].values.push(("a".to_owned(), "b".to_owned())),
            |l| l.ignores_others = true,
            |l| l.empty_amount = EmptyAmount::Skip,
            |l| l.factor = Factor::Open,
        ];
        for change in changes {
            let mut layout = sound();
            change(&mut layout);
            assert_ne!(layout.digest(), digest, "{layout:?}");
        }
    }

    #[test]
    fn values_are_told_as_they_are_written() {
        for (cell, value, expected) in [
            ("a", "a", true),
            ("A", "a", false),
            ("a", "*", true),
            ("", "*", false),
            ("", "", true),
            ("a", "", false),
            ("a@b", "*@*", true),
            ("ab", "*@*", false),
            ("ab", "**", false),
        ] {
            assert_eq!(is_value(cell, value), expected, "{cell:?} {value:?}");
        }
    }

    #[test]
    fn columns_are_named_once() {
        let mut layout = sound();
        layout.skip.push(Condition {
            column: name("NET_PAY"),
            values: vec![String::new()],
        });
        assert_eq!(
            layout.places(),
            [&name("Net Pay"), &name("First"), &name("Last")]
        );
    }
}
