//! CSV of a gateway or a bank. Where things stand is said by a layout.

use std::collections::BTreeMap;
use std::io::BufRead;

use super::error::{StatementError, shown};
use super::layout::{COLUMNS, Layout};
use super::number::signed;
use super::summary::{Running, Summary};
use super::terms::Terms;
use crate::domain::{Amount, Currency, Day, Money};
use crate::ledger::reconciliation::{Flow, Standing, StatementEntry};

/// Rows above the headers, at most.
const TITLES_MAX: u64 = 50;
/// Cells of a row, and bytes of one, at most.
const CELLS_MAX: usize = 512;
const CELL_MAX: usize = 65_536;

const BOOKED: [&str; 8] = [
    "paid",
    "success",
    "successful",
    "completed",
    "complete",
    "settled",
    "booked",
    "posted",
];
const PENDING: [&str; 5] = [
    "pending",
    "processing",
    "in progress",
    "accepted",
    "authorised",
];
const NOT_EXECUTED: [&str; 7] = [
    "failed",
    "rejected",
    "declined",
    "cancelled",
    "canceled",
    "expired",
    "error",
];
const REVERSED: [&str; 3] = ["reversed", "returned", "refunded"];

/// Letters and digits of a header, in small letters: `Completion Time` is `completiontime`.
fn folded(text: &str) -> String {
    let told = text.chars().filter(|c| c.is_alphanumeric());
    told.flat_map(char::to_lowercase).collect()
}

/// The places of the columns in one file.
struct Headers {
    places: BTreeMap<&'static str, Vec<usize>>,
    count: usize,
}

impl Headers {
    /// Finds the columns; `None` when this row has not what a statement needs.
    fn of(record: &csv::StringRecord, layout: &Layout) -> Option<Self> {
        let cells: Vec<String> = record.iter().map(folded).collect();
        let mut places = BTreeMap::new();
        for name in COLUMNS {
            let headers = layout.columns.get(name);
            let wanted: Vec<String> = match headers {
                Some(headers) => headers.iter().map(|header| folded(header)).collect(),
                None => vec![folded(name)],
            };
            let mut found = Vec::new();
            for header in &wanted {
                match cells.iter().position(|cell| cell == header) {
                    Some(place) => found.push(place),
                    None if headers.is_some() => return None,
                    None => {}
                }
            }
            if !found.is_empty() {
                places.insert(name, found);
            }
        }
        let has = |name| places.contains_key(name);
        (has("date") && (has("amount") || has("paid_out"))).then_some(Self {
            places,
            count: cells.len(),
        })
    }

    fn all<'r>(&self, record: &'r csv::StringRecord, name: &str) -> Vec<&'r str> {
        let places = self.places.get(name).map(Vec::as_slice).unwrap_or_default();
        let cells = places.iter().filter_map(|place| record.get(*place));
        cells
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .collect()
    }

    fn first<'r>(&self, record: &'r csv::StringRecord, name: &str) -> &'r str {
        self.all(record, name).first().copied().unwrap_or_default()
    }
}

pub(super) fn read(
    mut input: impl BufRead,
    terms: &Terms,
    take: &mut dyn FnMut(StatementEntry) -> bool,
) -> Result<Summary, StatementError> {
    let layout = &terms.layout;
    let beginning = input
        .fill_buf()
        .map_err(|error| StatementError::io(&error))?;
    if beginning.contains(&0) {
        return Err(StatementError::new(
            "",
            "the file is not text: it may be a workbook, or UTF-16",
            "save it as CSV in UTF-8",
        ));
    }
    let delimiter = layout.delimiter.unwrap_or_else(|| delimiter_of(beginning));
    if beginning.starts_with(b"\xef\xbb\xbf") {
        input.consume(3);
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(input);
    let mut statement = Statement {
        terms,
        summary: Summary::of("CSV"),
        balances: Balances::default(),
    };
    let mut record = csv::StringRecord::new();
    let mut headers: Option<Headers> = None;
    let mut rows = 0_u64;
    while next(&mut reader, &mut record)? {
        rows += 1;
        let place = format!(
            "line {}",
            record.position().map_or(rows, csv::Position::line)
        );
        bounded(&record, &place)?;
        if record.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        let Some(headers) = &headers else {
            headers = Headers::of(&record, layout);
            if headers.is_none() && rows >= TITLES_MAX {
                break;
            }
            continue;
        };
        if record.len() != headers.count {
            return Err(StatementError::new(
                place,
                format!(
                    "the row has {} cells, the headers are {}",
                    record.len(),
                    headers.count
                ),
                "a row that is cut off, or a total: fetch the statement again, or take the row out",
            ));
        }
        for entry in statement.entries(headers, &record, &place)? {
            statement.summary.count(&entry);
            if !take(entry) {
                return Err(StatementError::stopped());
            }
        }
    }
    if headers.is_none() {
        return Err(no_headers(layout));
    }
    statement.finish()
}

/// Refuses a row that is longer than any statement has them.
fn bounded(record: &csv::StringRecord, place: &str) -> Result<(), StatementError> {
    match record.len() > CELLS_MAX || record.iter().any(|cell| cell.len() > CELL_MAX) {
        true => Err(StatementError::new(
            place,
            "the row is too long",
            "look at the file: a quote may be missing",
        )),
        false => Ok(()),
    }
}

fn no_headers(layout: &Layout) -> StatementError {
    let named = layout
        .columns
        .values()
        .flatten()
        .map(|header| shown(header));
    let wanted: Vec<String> = match layout.columns.is_empty() {
        true => vec!["date".to_owned(), "amount".to_owned()],
        false => named.collect(),
    };
    StatementError::new(
        "",
        format!("no row has the headers {}", wanted.join(", ")),
        "name the columns: --column 'date=Completion Time' --column 'amount=Amount'",
    )
}

fn next(
    reader: &mut csv::Reader<impl BufRead>,
    record: &mut csv::StringRecord,
) -> Result<bool, StatementError> {
    reader.read_record(record).map_err(|error| {
        let place = error
            .position()
            .map_or_else(String::new, |at| format!("line {}", at.line()));
        match error.kind() {
            csv::ErrorKind::Utf8 { .. } => StatementError::new(
                place,
                "the text is not UTF-8",
                "save the file as CSV in UTF-8",
            ),
            _ => StatementError::new(place, error.to_string(), "look at the file"),
        }
    })
}

/// Tells what stands between cells by the first lines.
fn delimiter_of(beginning: &[u8]) -> u8 {
    let line = beginning.split(|b| *b == b'\n').max_by_key(|line| {
        line.iter()
            .filter(|b| matches!(b, b',' | b';' | b'\t'))
            .count()
    });
    let count =
        |delimiter: u8| line.map_or(0, |line| line.iter().filter(|b| **b == delimiter).count());
    [b';', b'\t'].into_iter().fold(b',', |best, delimiter| {
        if count(delimiter) > count(best) {
            delimiter
        } else {
            best
        }
    })
}

/// Balances that stand beside the lines, in either order of time.
#[derive(Default)]
struct Balances {
    first: Option<(i128, i128)>,
    last: Option<(i128, i128)>,
    /// The line before fits this one: oldest first, newest first.
    falls: bool,
    rises: bool,
    breaks: Option<String>,
    currency: Option<Currency>,
    missing: bool,
}

impl Balances {
    fn add(&mut self, moved: i128, balance: i128, currency: Currency, place: &str) {
        if *self.currency.get_or_insert(currency) != currency {
            self.missing = true;
        }
        match self.last {
            None => (self.first, self.falls, self.rises) = (Some((moved, balance)), true, true),
            Some((moved_before, before)) => {
                self.falls &= before + moved == balance;
                self.rises &= balance + moved_before == before;
                if !self.falls && !self.rises && self.breaks.is_none() {
                    self.breaks = Some(place.to_owned());
                }
            }
        }
        self.last = Some((moved, balance));
    }
}

struct Statement<'a> {
    terms: &'a Terms,
    summary: Summary,
    balances: Balances,
}

impl Statement<'_> {
    fn entries(
        &mut self,
        headers: &Headers,
        record: &csv::StringRecord,
        place: &str,
    ) -> Result<Vec<StatementEntry>, StatementError> {
        let account = headers.first(record, "account");
        if !account.is_empty()
            && !self
                .summary
                .is_of(account, self.terms.account.as_deref(), place)?
        {
            return Ok(Vec::new());
        }
        let currency = self.currency(headers.first(record, "currency"), place)?;
        let amount = |name: &str| self.amount(headers.first(record, name), name, currency, place);
        let moved = self.moved(
            [amount("amount")?, amount("paid_out")?, amount("paid_in")?],
            place,
        )?;
        let (balance, fee) = (amount("balance")?, amount("fee")?);
        let day = self.day(headers.first(record, "date"), place)?;
        match balance {
            Some(balance) => self
                .balances
                .add(moved.into(), balance.into(), currency, place),
            None => self.balances.missing = true,
        }
        let fee = fee.map(i64::abs).filter(|fee| *fee > 0);
        let Some(money) =
            Amount::from_minor(moved.saturating_abs()).map(|amount| Money { amount, currency })
        else {
            return Ok(Vec::new());
        };
        let (standing, came_back) = self.standing(headers.first(record, "status"), place)?;
        let flow = if moved < 0 { Flow::Out } else { Flow::In };
        let mut references: Vec<String> = Vec::new();
        for name in ["reference", "receipt"] {
            references.extend(headers.all(record, name).into_iter().map(str::to_owned));
        }
        let entry = StatementEntry {
            place: place.to_owned(),
            day,
            flow,
            reversal: false,
            money,
            standing,
            references,
            text: headers.all(record, "description").join(" "),
            recipient: headers.first(record, "recipient").to_owned(),
            fee,
            is_charge: false,
            is_batch: false,
        };
        // A list of payments says in one row that it left and that it came back.
        let back = (came_back && flow == Flow::Out).then(|| StatementEntry {
            flow: Flow::In,
            reversal: true,
            fee: None,
            ..entry.clone()
        });
        Ok([Some(entry), back].into_iter().flatten().collect())
    }

    fn amount(
        &self,
        text: &str,
        name: &str,
        currency: Currency,
        place: &str,
    ) -> Result<Option<i64>, StatementError> {
        if text.is_empty() {
            return Ok(None);
        }
        let read = signed(text, self.terms.layout.decimal, currency);
        read.map(Some).map_err(|why| {
            StatementError::new(
                place,
                format!("{name}: {why}, found {}", shown(text)),
                "say how amounts are written: --decimal , where a comma stands before the cents",
            )
        })
    }

    /// Returns what a row adds to the balance.
    fn moved(&self, amounts: [Option<i64>; 3], place: &str) -> Result<i64, StatementError> {
        match amounts {
            [None, None, None] => Err(StatementError::new(
                place,
                "the row has no amount",
                "a row that is cut off, or a total: fetch the statement again, or take the row out",
            )),
            [Some(minor), None, None] if self.terms.layout.positive_is_out => Ok(-minor),
            [Some(minor), None, None] => Ok(minor),
            // Some write what left with a minus, some without.
            [None, out, income] => Ok(income
                .unwrap_or(0)
                .saturating_sub(out.unwrap_or(0).saturating_abs())),
            _ => Err(StatementError::new(
                place,
                "the row has an amount, and one that was paid in or out",
                "name either the one column or the other two",
            )),
        }
    }

    fn day(&self, date: &str, place: &str) -> Result<Day, StatementError> {
        let day = match &self.terms.layout.date_format {
            Some(pattern) => Day::parse_by(pattern, date),
            None => date.get(..10).and_then(Day::parse),
        };
        day.ok_or_else(|| {
            StatementError::new(
                place,
                format!("date: expected a date, found {}", shown(date)),
                "say how dates are written: --date-format '%d/%m/%Y', or '%d/%m/%Y %H:%M:%S' with a time",
            )
        })
    }

    fn currency(&self, text: &str, place: &str) -> Result<Currency, StatementError> {
        let found = match text {
            "" => self.terms.layout.currency,
            code => Currency::from_code(&code.to_ascii_uppercase()),
        };
        found.ok_or_else(|| match text {
            "" => StatementError::new(
                place,
                "nothing says the currency of the row",
                "name it: --currency KES, or its column: --column 'currency=Ccy'",
            ),
            code => StatementError::new(
                place,
                format!(
                    "currency: expected a code such as KES, found {}",
                    shown(code)
                ),
                "look at the column of the currency",
            ),
        })
    }

    /// Reads a status; the second one: it came back.
    fn standing(&self, text: &str, place: &str) -> Result<(Standing, bool), StatementError> {
        let layout = &self.terms.layout;
        let word = text.trim().to_lowercase();
        let among = |words: &[String]| {
            words
                .iter()
                .any(|known| known.trim().to_lowercase() == word)
        };
        let built_in = |words: &[&str]| words.contains(&word.as_str());
        if word.is_empty() || among(&layout.booked) {
            return Ok((Standing::Booked, false));
        }
        if among(&layout.pending) || built_in(&PENDING) {
            return Ok((Standing::Pending, false));
        }
        if built_in(&NOT_EXECUTED) {
            return Ok((Standing::NotExecuted, false));
        }
        if built_in(&REVERSED) {
            return Ok((Standing::Booked, true));
        }
        // Once the words for it are named, no other one means it.
        if layout.booked.is_empty() && built_in(&BOOKED) {
            return Ok((Standing::Booked, false));
        }
        Err(StatementError::new(
            place,
            format!("status: nothing says what {} means", shown(text)),
            "name the words for what has been paid, and for what is pending: --booked WORD, --pending WORD",
        ))
    }

    fn finish(mut self) -> Result<Summary, StatementError> {
        let balances = &self.balances;
        if !balances.missing
            && let (Some(first), Some(last), Some(currency)) =
                (balances.first, balances.last, balances.currency)
        {
            if let Some(place) = &balances.breaks {
                return Err(StatementError::new(
                    place.as_str(),
                    "the statement does not add up: its balance is not the one of the line before and the amount",
                    "a line is missing, or was changed: fetch the statement again, whole",
                ));
            }
            let (oldest, newest) = if balances.falls {
                (first, last)
            } else {
                (last, first)
            };
            self.summary.currency = Some(currency);
            self.summary.opening = Some(oldest.1 - oldest.0);
            self.summary.closing = Some(newest.1);
            self.summary.balanced = self.summary.entries > 1;
            let mut running = Running::of(currency, oldest.1 - oldest.0);
            running.add(oldest.0);
            running.assert(oldest.1, "")?;
        }
        self.summary.assert_account(self.terms.account.as_deref())?;
        Ok(self.summary)
    }
}
