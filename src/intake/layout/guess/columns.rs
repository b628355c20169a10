//! What each column of a sample seems to be.

use super::super::super::columns::{COLUMNS, extra_name};
use super::super::super::names::{same, suggestion};
use super::super::super::sample::Sample;
use super::super::super::text::quoted;
use super::super::definition::Place;
use super::forms::{is_account, is_amount, is_phone, part_of_name, without_currency};

/// Rows in which a header is looked for.
const HEADER_ROWS: usize = 20;

/// What one column of a file seems to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnGuess {
    /// Its name, or its place.
    pub header: String,
    /// The column of ours; none where it seems to be no part of a payment.
    pub meaning: Option<String>,
    /// Why.
    pub why: String,
}

/// The columns of a sample.
pub(super) struct Columns<'a> {
    pub(super) names: Vec<String>,
    pub(super) body: &'a [(u64, Vec<String>)],
}

impl Columns<'_> {
    /// Returns the cells of a column that are not empty.
    pub(super) fn cells(&self, at: usize) -> impl Iterator<Item = &str> {
        let cells = self.body.iter().filter_map(move |(_, row)| row.get(at));
        cells.map(String::as_str).filter(|cell| !cell.is_empty())
    }

    /// Returns whether most cells are such, and there is one.
    fn mostly(&self, at: usize, is_such: impl Fn(&str) -> bool) -> bool {
        let (mut all, mut such) = (0, 0);
        for cell in self.cells(at) {
            all += 1;
            such += usize::from(is_such(cell));
        }
        such > 0 && such * 5 >= all * 4
    }

    /// Returns how a layout names a column.
    pub(super) fn place(&self, at: usize) -> Place {
        let name = self.names.get(at).map_or("", String::as_str);
        let is_one = |other: &&String| same(other, name);
        match name.is_empty() || self.names.iter().filter(is_one).count() > 1 {
            true => Place::At(at + 1),
            false => Place::Name(name.to_owned()),
        }
    }

    /// Says what each column seems to be.
    pub(super) fn meanings(&self) -> Vec<ColumnGuess> {
        let mut all: Vec<ColumnGuess> = Vec::new();
        for (at, name) in self.names.iter().enumerate() {
            let (meaning, why) = self.meaning(at, name);
            let taken = |meaning: &str| {
                let is_it = |known: &&ColumnGuess| known.meaning.as_deref() == Some(meaning);
                all.iter().find(is_it).map(|known| known.header.clone())
            };
            let header = match name.is_empty() {
                true => format!("column {}", at + 1),
                false => name.clone(),
            };
            let several = part_of_name(name).is_some();
            let other = meaning.as_deref().and_then(taken).filter(|_| !several);
            let (meaning, why) = match (meaning, other) {
                (Some(meaning), Some(other)) => (
                    None,
                    format!(
                        "{why}, but {} is taken for {meaning} already",
                        quoted(&other)
                    ),
                ),
                (meaning, _) => (meaning, why),
            };
            all.push(ColumnGuess {
                header,
                meaning,
                why,
            });
        }
        all
    }

    fn meaning(&self, at: usize, name: &str) -> (Option<String>, String) {
        let bare = without_currency(name).map_or(name, |(bare, _)| bare);
        let own = COLUMNS.iter().find(|column| same(column, bare));
        let extra = name
            .strip_prefix("extra.")
            .filter(|extra| extra_name(extra).is_ok());
        let is_empty = self.cells(at).next().is_none();
        let by_name = match (own, extra) {
            (Some(own), _) if !["rejected_row", "replaces"].contains(own) => {
                Some(((*own).to_owned(), "its header is that name".to_owned()))
            }
            (_, Some(_)) => Some((name.to_owned(), "its header is that name".to_owned())),
            _ if part_of_name(name).is_some() => Some((
                "customer_names".to_owned(),
                "its header means a part of a name".to_owned(),
            )),
            _ => suggestion(name, []).map(|column| {
                (
                    column.to_owned(),
                    format!("{name:?} is another word for it"),
                )
            }),
        };
        let fits = |column: &str| match column {
            "amount" => self.mostly(at, is_amount),
            "msisdn" => self.mostly(at, |cell| cell.chars().any(|c| c.is_ascii_digit())),
            _ => true,
        };
        match by_name {
            Some((column, why)) if is_empty || fits(&column) => (Some(column), why),
            Some((column, _)) => (
                None,
                format!("its header means {column}, but its cells do not look like it"),
            ),
            None if is_account(name) => (
                None,
                "its header is that of a bank account, which a payment to a phone does not need; in payments to a bank \
                it is bank_account_number".to_owned(),
            ),
            None if self.mostly(at, is_phone) => (
                Some("msisdn".to_owned()),
                "its cells look like phone numbers".to_owned(),
            ),
            None if name.is_empty() && self.mostly(at, is_amount) => (
                Some("amount".to_owned()),
                "its cells look like amounts".to_owned(),
            ),
            None => (
                None,
                "nothing shows that it belongs to a payment".to_owned(),
            ),
        }
    }
}

/// Returns the row that has the names of the columns: that of which most cells are names of columns.
pub(super) fn header_of(sample: &Sample) -> Option<usize> {
    let score = |row: &[String]| {
        let known = row.iter().filter(|cell| {
            let bare = without_currency(cell).map_or(cell.as_str(), |(bare, _)| bare);
            COLUMNS.iter().any(|column| same(column, bare))
                || part_of_name(cell).is_some()
                || suggestion(cell, []).is_some()
        });
        known.count()
    };
    let rows = sample.rows.iter().take(HEADER_ROWS).enumerate();
    let scores = rows.map(|(at, (_, row))| (score(row), at));
    let best = scores.max_by_key(|(score, at)| (*score, std::cmp::Reverse(*at)));
    match best {
        Some((score, at)) if score >= 2 => Some(at),
        // Where nothing looks like a payment in the first row, its cells are names that nobody knows.
        _ => {
            let (_, first) = sample.rows.first()?;
            let has_number = first.iter().any(|cell| is_amount(cell) || is_phone(cell));
            (!has_number).then_some(0)
        }
    }
}
