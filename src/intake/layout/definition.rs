//! What a layout says.

use super::super::encoding::Encoding;
use super::super::message_cells::{NAMES, OURS};
use super::super::names::{plain, same};
use super::super::sheet::Hiding;
use super::decimal::{Decimal, Numbers};

/// The column of the service.
const SERVICE: &str = "service_code";

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
    /// The values, as `pattern.rs` tells them.
    pub values: Vec<String>,
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

/// Whether the period for which a file pays stands behind its references: files that name people have the same ones each time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Period {
    /// References are taken as they are.
    None,
    /// Another one for each file, which is to be said with each load.
    Open,
    /// This one, such as `2026-12`.
    Given(String),
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
    /// Phone numbers that have lost the zero in front of a national number are taken with it.
    pub restores_zero: bool,
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
    /// What stands behind each reference.
    pub period: Period,
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
            restores_zero: false,
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
            period: Period::None,
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

    /// Returns the column and the text for which a value was to be written, and is not yet.
    ///
    /// A service is never empty: rows with such a text would be paid by whatever service is the default.
    #[must_use]
    pub fn open_value(&self) -> Option<(&str, &str)> {
        let is_open = |(_, ours): &&(String, String)| ours.trim().is_empty();
        let source = self.source(SERVICE)?;
        let (theirs, _) = source.values.iter().find(is_open)?;
        Some((SERVICE, theirs))
    }

    /// Returns the same layout with only those values that are written.
    #[must_use]
    pub fn without_open_values(&self) -> Self {
        let mut layout = self.clone();
        for source in &mut layout.columns {
            if source.column == SERVICE {
                source.values.retain(|(_, ours)| !ours.trim().is_empty());
            }
        }
        layout
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
}

/// Returns what is compared of a marker, and of the cell in which it may stand.
pub(super) fn marked(text: &str) -> String {
    plain(text.trim().trim_end_matches(':'))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::intake::layout) fn from(column: &str, places: &[Place]) -> Source {
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

    pub(in crate::intake::layout) fn name(text: &str) -> Place {
        Place::Name(text.to_owned())
    }

    pub(in crate::intake::layout) fn sound() -> Layout {
        Layout {
            columns: vec![
                from("amount", &[name("Net Pay")]),
                from("customer_names", &[name("First"), name("Last")]),
            ],
            ..Layout::named("a")
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
        let changes: [fn(&mut Layout); 11] = [
            |l| l.amount_signs.push("KSh".to_owned()),
            |l| l.numbers.decimal = Some(','),
            |l| l.header = HeaderAt::Row(2),
            |l| l.columns[1].values.push(("a".to_owned(), "b".to_owned())),
            |l| l.ignores_others = true,
            |l| l.empty_amount = EmptyAmount::Skip,
            |l| l.factor = Factor::Open,
            |l| l.restores_zero = true,
            |l| l.period = Period::Open,
            |l| l.period = Period::Given("2026-12".to_owned()),
            // What earlier releases took for a text reads other rows since.
            |l| {
                l.skip.push(Condition {
                    column: name("First"),
                    values: vec!["Prepared by: *".to_owned()],
                });
            },
        ];
        for change in changes {
            let mut layout = sound();
            change(&mut layout);
            assert_ne!(layout.digest(), digest, "{layout:?}");
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
