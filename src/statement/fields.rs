//! The cells of one row of a table: what they say.

use super::error::{Place, StatementError, shown};
use super::headers::{Headers, folded};
use super::number::signed;
use super::row::{Cell, Row};
use super::terms::Terms;
use crate::domain::{Amount, Currency, Day, Money};
use crate::ledger::reconciliation::{Flow, Reference, Standing, StatementEntry};

/// Returns whether a spreadsheet has written a number in powers of ten, as in `2.54712E+11`: its last digits are gone.
fn is_rounded(cell: &str) -> bool {
    let Some((number, exponent)) = cell.trim().split_once("E+") else {
        return false;
    };
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = number.split_once(['.', ',']).unwrap_or((number, "0"));
    whole.len() == 1 && is_digits(whole) && is_digits(fraction) && is_digits(exponent)
}

/// The cells of one row, by the names of the columns.
pub(super) struct Fields<'r> {
    pub(super) terms: &'r Terms,
    pub(super) headers: &'r Headers,
    pub(super) row: &'r Row<'r>,
    /// It is the row with the sum.
    pub(super) is_sum: bool,
}

impl<'r> Fields<'r> {
    /// Returns the cells of a column that hold something.
    fn cells(&self, name: &str) -> Result<Vec<(usize, Cell<'r>)>, StatementError> {
        let mut found = Vec::new();
        for at in self.headers.all(name) {
            let Some(cell) = self.row.cells.get(*at) else {
                continue;
            };
            self.assert_sound(name, *at, cell)?;
            if !cell.text.trim().is_empty() {
                found.push((*at, *cell));
            }
        }
        Ok(found)
    }

    /// Refuses a cell that may not hold what a person saw in it.
    pub(super) fn assert_sound(
        &self,
        name: &str,
        at: usize,
        cell: &Cell<'_>,
    ) -> Result<(), StatementError> {
        // For people alone: nothing is decided by it.
        let use_of_it = match name {
            "date" | "description" | "kind" => 1,
            _ if self.is_sum => 2,
            _ => 0,
        };
        match cell.problem[use_of_it] {
            None => Ok(()),
            Some(problem) => Err(StatementError::new(
                &(self.row.at)(at),
                format!("{name}: {problem}"),
                "mend it in a copy of the statement, or fetch the statement as CSV",
            )),
        }
    }

    /// Returns the lines of the statement that the row is.
    pub(super) fn entries(
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
        let mut references: Vec<Reference> = Vec::new();
        for name in ["reference", "receipt"] {
            references.extend(self.named_texts(name)?.map(|(at, text)| Reference {
                field: folded(self.headers.name(at)).into(),
                text: text.to_owned(),
                is_receipt: name == "receipt",
            }));
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

    pub(super) fn texts(&self, name: &str) -> Result<Vec<&'r str>, StatementError> {
        Ok(self.named_texts(name)?.map(|(_, text)| text).collect())
    }

    /// Returns the texts of a column, and where they stand.
    fn named_texts(
        &self,
        name: &str,
    ) -> Result<impl Iterator<Item = (usize, &'r str)> + use<'r>, StatementError> {
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
        Ok(cells.into_iter().map(|(at, cell)| (at, cell.text.trim())))
    }

    pub(super) fn text(&self, name: &str) -> Result<&'r str, StatementError> {
        Ok(self.texts(name)?.first().copied().unwrap_or_default())
    }

    /// Returns whether the terms say that it is a charge.
    pub(super) fn is_charge(&self) -> Result<bool, StatementError> {
        let kind = match self.headers.all("kind") {
            [] => self.texts("description")?.join(" "),
            _ => self.texts("kind")?.join(" "),
        };
        let kind = kind.to_lowercase();
        let mut words = self.terms.charges.iter();
        Ok(words.any(|word| kind.starts_with(&word.trim().to_lowercase())))
    }

    /// Returns whether nothing in the row says that it is a payment.
    pub(super) fn names_nobody(&self) -> Result<bool, StatementError> {
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

    pub(super) fn amounts(
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

    pub(super) fn amount(
        &self,
        name: &str,
        currency: Currency,
    ) -> Result<Option<i64>, StatementError> {
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
    pub(super) fn moved(
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
            [Some(minor), None, None] => match self.direction()? {
                Some(Flow::Out) => Ok(-minor.saturating_abs()),
                Some(Flow::In) if minor < 0 => Err(StatementError::new(
                    place,
                    "the amount is below zero, and the direction says that it came in",
                    "look at the row, and name the column that is right: --column paid_out=HEADER and --column paid_in=HEADER, or amount alone",
                )),
                Some(Flow::In) => Ok(minor),
                None if self.terms.paid_out == Some(true) => Ok(-minor),
                None => Ok(minor),
            },
            [None, _, Some(income)] if income < 0 => Err(StatementError::new(
                place,
                "an amount that was paid in is below zero",
                "look at the row: what was taken back belongs into the other column, or into a column of its own",
            )),
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

    /// Reads which way a row goes, where a column says that.
    fn direction(&self) -> Result<Option<Flow>, StatementError> {
        let Some(at) = self.headers.all("direction").first() else {
            return Ok(None);
        };
        let text = self.text("direction")?;
        match folded(text).as_str() {
            "d" | "dr" | "db" | "debit" | "out" | "outgoing" | "paidout" | "withdrawal" => {
                Ok(Some(Flow::Out))
            }
            "c" | "cr" | "credit" | "in" | "incoming" | "paidin" | "deposit" => Ok(Some(Flow::In)),
            _ => Err(StatementError::new(
                &(self.row.at)(*at),
                format!(
                    "{}: expected debit or credit, found {}",
                    self.headers.shown(*at),
                    shown(text)
                ),
                "name the column that says whether money left or came: --column direction=HEADER; or the columns of both: --column paid_out=HEADER and \
                --column paid_in=HEADER",
            )),
        }
    }

    pub(super) fn day(&self) -> Result<Day, StatementError> {
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

    pub(super) fn currency(&self, text: &str, place: &Place) -> Result<Currency, StatementError> {
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
}
