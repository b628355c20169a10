//! Rows under headers, of a CSV or a sheet: which column is which, and what a row says.

use std::collections::BTreeMap;

use super::balances::Balances;
use super::error::{Place, StatementError, shown};
use super::number::signed;
use super::row::{Cell, Row};
use super::summary::Summary;
use super::terms::{COLUMNS, Terms};
use super::total::Sums;
use crate::domain::{Amount, Currency, Day, Money};
use crate::intake::plain_name;
use crate::ledger::reconciliation::{Flow, Standing, StatementEntry};

/// Rows above the headers, at most.
const TITLES_MAX: u64 = 50;

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

/// Returns whether a spreadsheet has written a number in powers of ten, as in `2.54712E+11`: its last digits are gone.
fn is_rounded(cell: &str) -> bool {
    let Some((number, exponent)) = cell.trim().split_once("E+") else {
        return false;
    };
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = number.split_once(['.', ',']).unwrap_or((number, "0"));
    whole.len() == 1 && is_digits(whole) && is_digits(fraction) && is_digits(exponent)
}

/// Letters and digits of a header, in small letters, without accents: `Completion Time` is `completiontime`.
fn folded(text: &str) -> String {
    let mut plain = plain_name(text);
    plain.retain(char::is_alphanumeric);
    plain
}

/// The places of the columns in one file.
struct Headers {
    places: BTreeMap<&'static str, Vec<usize>>,
    count: usize,
}

/// A row that has some of the headers that are looked for.
struct Near {
    place: Place,
    found: usize,
    missing: Vec<String>,
    /// What stands there in place of headers, for a person.
    has: Vec<String>,
}

/// So many cells of a row are told.
const CELLS_TOLD_MAX: usize = 12;

impl Near {
    /// Returns whether it is more likely to be the row of headers than another one: it has more of them, or more cells.
    fn beats(&self, other: &Self) -> bool {
        (self.found, self.has.len()) > (other.found, other.has.len())
    }

    fn has(&self) -> String {
        let more = if self.has.len() > CELLS_TOLD_MAX {
            ", …"
        } else {
            ""
        };
        let told: Vec<String> = self
            .has
            .iter()
            .take(CELLS_TOLD_MAX)
            .map(|cell| shown(cell))
            .collect();
        format!("{} has {}{more}", self.place, told.join(", "))
    }
}

/// Returns whether a header is that of a status, as in `Transaction Status`.
fn is_status(folded: &str) -> bool {
    folded.ends_with("status") || matches!(folded, "state" | "transactionstate" | "result")
}

/// Returns the cells of a row that something stands in.
fn cells_of(row: &Row<'_>) -> Vec<String> {
    let texts = row.cells.iter().map(|cell| cell.text.trim());
    let texts = texts.filter(|text| !text.is_empty());
    // A header has no number: where there is one, the row may be about somebody.
    let told = |text: &str| match text.contains(char::is_numeric) {
        true => "…".to_owned(),
        false => text.trim_start_matches('\u{feff}').to_owned(),
    };
    texts.map(told).collect()
}

impl Headers {
    /// Finds the columns, or what this row lacks of them.
    fn of(row: &Row<'_>, terms: &Terms) -> Result<Result<Self, Near>, StatementError> {
        let cells: Vec<String> = row.cells.iter().map(|cell| folded(cell.text)).collect();
        let mut places = BTreeMap::new();
        let mut missing = Vec::new();
        let mut doubled = None;
        for name in COLUMNS {
            let said = terms.columns.get(name);
            let own = [name.to_owned()];
            let wanted = said.map_or(&own[..], Vec::as_slice);
            let mut found = Vec::new();
            for header in wanted {
                let folded = folded(header);
                let mut at = (0..cells.len()).filter(|at| cells[*at] == folded);
                match (at.next(), at.next()) {
                    (Some(first), second) => {
                        found.push(first);
                        doubled = doubled.or(second.map(|second| (second, header.clone())));
                    }
                    (None, _) if said.is_some() => missing.push(header.clone()),
                    (None, _) => {}
                }
            }
            if name == "status" && said.is_none() && found.is_empty() {
                // A status that is not read is a failure that counts as paid.
                let mut at = (0..cells.len()).filter(|at| is_status(&cells[*at]));
                found.extend(at.next());
                let second = at.next().map(|at| (at, row.cells[at].text.to_owned()));
                doubled = doubled.or(second);
            }
            if !found.is_empty() {
                places.insert(name, found);
            }
        }
        let names = |name: &str| places.contains_key(name) || terms.columns.contains_key(name);
        if !names("date") {
            missing.push("date".to_owned());
        }
        if !names("amount") && !names("paid_out") {
            missing.push("amount".to_owned());
        }
        match (missing.is_empty(), doubled) {
            (true, Some((second, header))) => Err(StatementError::new(
                &(row.at)(second),
                format!("two columns are called {}", shown(&header)),
                "remove one of them, or give it another name: it is not clear which one is meant",
            )),
            (true, None) => Ok(Ok(Self {
                places,
                count: cells.len(),
            })),
            (false, _) => Ok(Err(Near {
                place: row.place(),
                found: places.len(),
                missing,
                has: cells_of(row),
            })),
        }
    }

    fn all<'t>(&'t self, name: &str) -> &'t [usize] {
        self.places.get(name).map(Vec::as_slice).unwrap_or_default()
    }
}

/// A table as it is read.
pub(super) struct Table<'a> {
    terms: &'a Terms,
    summary: Summary,
    balances: Balances,
    headers: Option<Headers>,
    near: Option<Near>,
    sums: Sums,
    /// Rows above the headers.
    titles: u64,
}

impl<'a> Table<'a> {
    pub(super) fn of(format: &'static str, terms: &'a Terms) -> Self {
        Self {
            terms,
            summary: Summary::of(format),
            balances: Balances::default(),
            headers: None,
            near: None,
            sums: Sums::default(),
            titles: 0,
        }
    }

    /// Takes in a row that is not blank; returns the lines of the statement that it is.
    pub(super) fn take(&mut self, row: &Row<'_>) -> Result<Vec<StatementEntry>, StatementError> {
        let Some(headers) = self.headers.take() else {
            self.look_for_headers(row)?;
            return Ok(Vec::new());
        };
        let entries = self.entries(&headers, row);
        self.headers = Some(headers);
        let entries = entries?;
        for entry in &entries {
            self.summary.count(entry);
        }
        Ok(entries)
    }

    fn look_for_headers(&mut self, row: &Row<'_>) -> Result<(), StatementError> {
        if self.terms.header.is_some_and(|header| row.number < header) {
            return Ok(());
        }
        self.titles += 1;
        let is_the_one = self.terms.header == Some(row.number);
        match Headers::of(row, self.terms)? {
            Ok(headers) if is_the_one || self.terms.header.is_none() => {
                self.headers = Some(headers);
                return Ok(());
            }
            Ok(_) => {}
            Err(near) => {
                if self.near.as_ref().is_none_or(|best| near.beats(best)) {
                    self.near = Some(near);
                }
            }
        }
        match self.terms.header.is_some() || self.titles >= TITLES_MAX {
            true => Err(self.no_headers()),
            false => Ok(()),
        }
    }

    fn no_headers(&self) -> StatementError {
        let hint = "name the columns by the headers that stand above them, such as --column 'date=Completion Time' --column 'amount=Paid In', or in \
                    [statements.NAME.columns] of disburse.toml with --layout NAME; --delimiter says what stands between cells, where that was not seen";
        let listed = |names: &[String]| {
            let names: Vec<String> = names.iter().map(|name| shown(name)).collect();
            names.join(", ")
        };
        match &self.near {
            Some(near) if near.found > 0 || self.terms.header.is_some() => StatementError::new(
                &near.place,
                format!(
                    "these headers have no {}; {}",
                    listed(&near.missing).replace(", ", ", and no "),
                    near.has()
                ),
                hint,
            ),
            Some(near) => StatementError::whole(
                format!(
                    "no row has the headers {}; {}",
                    listed(&near.missing),
                    near.has()
                ),
                hint,
            ),
            None => StatementError::whole(
                "no row has the headers of a statement: the row where they should be is empty",
                hint,
            ),
        }
    }

    fn entries(
        &mut self,
        headers: &Headers,
        row: &Row<'_>,
    ) -> Result<Vec<StatementEntry>, StatementError> {
        let place = row.place();
        let fields = Fields {
            terms: self.terms,
            headers,
            row,
            is_sum: false,
        };
        self.assert_in_place(headers, row, &place)?;
        let account = fields.text("account")?;
        let currency_text = fields.text("currency")?;
        let date = fields.text("date")?;
        if Sums::is_marked(row) && (date.is_empty() || Sums::is_mark(date)) {
            let currency = fields.currency(currency_text, &place).ok();
            let fields = Fields {
                is_sum: true,
                ..fields
            };
            let amounts = fields.amounts(currency.or(self.sums.currency()), &place)?;
            return self.sums.compare(amounts, row).map(|()| Vec::new());
        }
        if !account.is_empty()
            && !self
                .summary
                .is_of(account, self.terms.account.as_deref(), &place)?
        {
            return Ok(Vec::new());
        }
        let currency = fields.currency(currency_text, &place)?;
        let amounts = fields.amounts(Some(currency), &place)?;
        let (balance, fee) = (
            fields.amount("balance", currency)?,
            fields.amount("fee", currency)?,
        );
        let is_carried = balance.is_some() && fields.names_nobody()?;
        let moved = fields.moved(amounts, is_carried, &place)?;
        let day = fields.day()?;
        let (standing, came_back) = fields.standing()?;
        self.sums
            .add(amounts, currency, standing == Standing::Booked);
        let fee = fee.map(i64::abs).filter(|fee| *fee > 0);
        match balance {
            // What came back has moved the balance once, twice or not at all.
            _ if came_back => self.balances.skip(),
            Some(balance) => {
                let booked = standing == Standing::Booked;
                let step = if booked {
                    (moved, fee.unwrap_or(0))
                } else {
                    (0, 0)
                };
                self.balances.add(step, balance, currency, &place);
            }
            None => self.balances.skip(),
        }
        fields.entries((moved, currency), day, (standing, came_back), fee)
    }

    /// Refuses a row that is not as its headers are, and one below the sum.
    fn assert_in_place(
        &self,
        headers: &Headers,
        row: &Row<'_>,
        place: &Place,
    ) -> Result<(), StatementError> {
        if row.cells.len() != headers.count && !row.is_ragged {
            return Err(StatementError::new(
                place,
                format!(
                    "the row has {} cells, the headers are {}",
                    row.cells.len(),
                    headers.count
                ),
                "the row is cut off, or is a total: fetch the statement again, or remove the row",
            ));
        }
        if let Some(above) = &self.sums.found {
            return Err(StatementError::new(
                place,
                format!("a row stands below the one with the sum, which is {above}"),
                "subtotals are not read: remove them, or fetch the statement without them",
            ));
        }
        Ok(())
    }

    /// Notes something that is worth telling.
    pub(super) fn note(&mut self, note: String) {
        self.summary.notes.push(note);
    }

    /// Ends the table.
    pub(super) fn finish(mut self) -> Result<Summary, StatementError> {
        if self.headers.is_none() {
            return Err(self.no_headers());
        }
        if let Some(held) = self.balances.finish()? {
            self.summary.currency = Some(held.currency);
            self.summary.opening = Some(held.opening);
            self.summary.closing = Some(held.closing);
            self.summary.balanced = held.is_proof;
        }
        self.summary.assert_account(self.terms.account.as_deref())?;
        Ok(self.summary)
    }
}

/// The cells of one row, by the names of the columns.
struct Fields<'r> {
    terms: &'r Terms,
    headers: &'r Headers,
    row: &'r Row<'r>,
    /// It is the row with the sum.
    is_sum: bool,
}

impl<'r> Fields<'r> {
    /// Returns the cells of a column that hold something.
    fn cells(&self, name: &str) -> Result<Vec<(usize, Cell<'r>)>, StatementError> {
        let mut found = Vec::new();
        for at in self.headers.all(name) {
            let Some(cell) = self.row.cells.get(*at) else {
                continue;
            };
            // For people alone: nothing is decided by it.
            let use_of_it = match name {
                "date" | "description" | "kind" => 1,
                _ if self.is_sum => 2,
                _ => 0,
            };
            if let Some(problem) = cell.problem[use_of_it] {
                return Err(StatementError::new(
                    &(self.row.at)(*at),
                    format!("{name}: {problem}"),
                    "mend it in a copy of the statement, or fetch the statement as CSV",
                ));
            }
            if !cell.text.trim().is_empty() {
                found.push((*at, *cell));
            }
        }
        Ok(found)
    }

    /// Returns the lines of the statement that the row is.
    fn entries(
        &self,
        (moved, currency): (i64, Currency),
        day: Day,
        (standing, came_back): (Standing, bool),
        fee: Option<i64>,
    ) -> Result<Vec<StatementEntry>, StatementError> {
        let Some(money) =
            Amount::from_minor(moved.saturating_abs()).map(|amount| Money { amount, currency })
        else {
            return Ok(Vec::new());
        };
        let flow = if moved < 0 { Flow::Out } else { Flow::In };
        let mut references: Vec<String> = Vec::new();
        for name in ["reference", "receipt"] {
            references.extend(self.texts(name)?.into_iter().map(str::to_owned));
        }
        let entry = StatementEntry {
            place: self.row.named.clone(),
            day,
            flow,
            reversal: false,
            money,
            standing,
            references,
            text: self.texts("description")?.join(" "),
            recipient: self.text("recipient")?.to_owned(),
            fee,
            is_charge: flow == Flow::Out && self.is_charge()?,
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

    fn texts(&self, name: &str) -> Result<Vec<&'r str>, StatementError> {
        let cells = self.cells(name)?;
        let is_name = matches!(name, "reference" | "receipt" | "recipient");
        let rounded = cells
            .iter()
            .find(|(_, cell)| is_name && is_rounded(cell.text));
        if let Some((at, cell)) = rounded {
            return Err(StatementError::new(
                &(self.row.at)(*at),
                format!(
                    "{name}: a spreadsheet has taken it for a number and rounded it, found {}",
                    shown(cell.text.trim())
                ),
                "fetch the statement again, and do not save it in a spreadsheet: nobody can tell what the number was",
            ));
        }
        Ok(cells
            .into_iter()
            .map(|(_, cell)| cell.text.trim())
            .collect())
    }

    fn text(&self, name: &str) -> Result<&'r str, StatementError> {
        Ok(self.texts(name)?.first().copied().unwrap_or_default())
    }

    /// Returns whether the terms say that it is a charge.
    fn is_charge(&self) -> Result<bool, StatementError> {
        let kind = match self.headers.all("kind") {
            [] => self.texts("description")?.join(" "),
            _ => self.texts("kind")?.join(" "),
        };
        let kind = kind.to_lowercase();
        let mut words = self.terms.charges.iter();
        Ok(words.any(|word| kind.starts_with(&word.trim().to_lowercase())))
    }

    /// Returns whether nothing in the row says that it is a payment.
    fn names_nobody(&self) -> Result<bool, StatementError> {
        for name in ["reference", "receipt", "recipient", "fee"] {
            if !self.text(name)?.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn place(&self, name: &str) -> Place {
        let at = self.headers.all(name).first().copied();
        (self.row.at)(at.unwrap_or(0))
    }

    fn amounts(
        &self,
        currency: Option<Currency>,
        place: &Place,
    ) -> Result<[Option<i64>; 3], StatementError> {
        let currency = match currency {
            Some(currency) => currency,
            None => self.currency("", place)?,
        };
        Ok([
            self.amount("amount", currency)?,
            self.amount("paid_out", currency)?,
            self.amount("paid_in", currency)?,
        ])
    }

    fn amount(&self, name: &str, currency: Currency) -> Result<Option<i64>, StatementError> {
        let Some((at, cell)) = self.cells(name)?.first().copied() else {
            return Ok(None);
        };
        let decimal = self
            .terms
            .decimal
            .filter(|_| !cell.is_number)
            .unwrap_or('.');
        let read = signed(cell.text.trim(), decimal, currency);
        read.map(Some).map_err(|why| {
            StatementError::new(
                &(self.row.at)(at),
                format!("{name}: {why}, found {}", shown(cell.text.trim())),
                "say how amounts are written: --decimal , if a comma stands before the cents",
            )
        })
    }

    /// Returns what a row adds to the balance.
    fn moved(
        &self,
        amounts: [Option<i64>; 3],
        is_carried: bool,
        place: &Place,
    ) -> Result<i64, StatementError> {
        match amounts {
            // A balance that is carried forward; it is held against the rows beside it.
            [None, None, None] if is_carried => Ok(0),
            [None, None, None] => Err(StatementError::new(
                place,
                "the row has no amount",
                "the row is cut off, or is a total: fetch the statement again, or remove the row",
            )),
            [Some(minor), None, None] if self.terms.paid_out == Some(true) => Ok(-minor),
            [Some(minor), None, None] => Ok(minor),
            [None, Some(out), Some(income)] if out != 0 && income != 0 => Err(StatementError::new(
                place,
                "the row has an amount that was paid out, and one that was paid in",
                "look at the row: a line is one of both",
            )),
            // Some write what left with a minus, some without.
            [None, out, income] => Ok(income
                .unwrap_or(0)
                .saturating_sub(out.unwrap_or(0).saturating_abs())),
            _ => Err(StatementError::new(
                place,
                "the row has an amount, and also one that was paid in or out",
                "name either the one column or the other two",
            )),
        }
    }

    fn day(&self) -> Result<Day, StatementError> {
        let cell = self.cells("date")?.first().map(|(_, cell)| *cell);
        let cell = cell.unwrap_or_default();
        let text = cell.text.trim();
        let day = match &self.terms.date_format {
            // What the sheet knows to be a date stands as one, whatever it looks like there.
            Some(pattern) if !cell.is_date => Day::parse_by(pattern, text),
            _ => text.get(..10).and_then(Day::parse),
        };
        day.ok_or_else(|| {
            StatementError::new(
                &self.place("date"),
                format!("date: expected a date, found {}", shown(text)),
                "say how dates are written: --date-format '%d/%m/%Y', or '%d/%m/%Y %H:%M:%S' with a time",
            )
        })
    }

    fn currency(&self, text: &str, place: &Place) -> Result<Currency, StatementError> {
        let found = match text {
            "" => self.terms.currency,
            code => Currency::from_code(&code.to_ascii_uppercase()),
        };
        found.ok_or_else(|| match text {
            "" => StatementError::new(
                place,
                "nothing says the currency of the row",
                "name it: --currency KES, or its column: --column 'currency=Ccy'",
            ),
            code => StatementError::new(
                &self.place("currency"),
                format!(
                    "currency: expected a code such as KES, found {}",
                    shown(code)
                ),
                "look at the column of the currency",
            ),
        })
    }

    /// Reads a status; the second one: it came back.
    fn standing(&self) -> Result<(Standing, bool), StatementError> {
        let (terms, text) = (self.terms, self.text("status")?);
        let word = text.to_lowercase();
        let among = |words: &[String]| {
            words
                .iter()
                .any(|known| known.trim().to_lowercase() == word)
        };
        let built_in = |words: &[&str]| words.contains(&word.as_str());
        if word.is_empty() || among(&terms.booked) {
            return Ok((Standing::Booked, false));
        }
        if among(&terms.pending) {
            return Ok((Standing::Pending, false));
        }
        if among(&terms.not_executed) {
            return Ok((Standing::NotExecuted, false));
        }
        if among(&terms.reversed) {
            return Ok((Standing::Booked, true));
        }
        if built_in(&PENDING) {
            return Ok((Standing::Pending, false));
        }
        if built_in(&NOT_EXECUTED) {
            return Ok((Standing::NotExecuted, false));
        }
        if built_in(&REVERSED) {
            return Ok((Standing::Booked, true));
        }
        // Once the words for it are named, no other one means it.
        if terms.booked.is_empty() && built_in(&BOOKED) {
            return Ok((Standing::Booked, false));
        }
        Err(StatementError::new(
            &self.place("status"),
            format!("status: nothing says what {} means", shown(text)),
            "say what the words mean: --booked WORD for paid, and --pending, --not-executed and --reversed for the \
            others",
        ))
    }
}
