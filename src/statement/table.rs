//! Rows under headers, of a CSV or a sheet: what a row says.

use super::balances::Balances;
use super::error::{Place, StatementError, shown};
use super::fields::Fields;
use super::headers::{Headers, Near};
use super::row::Row;
use super::summary::Summary;
use super::terms::Terms;
use super::total::Sums;
use crate::ledger::reconciliation::{Standing, StatementEntry};

/// Rows above the headers, at most.
const TITLES_MAX: u64 = 50;

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
    /// What was paid out stands there with a minus.
    is_below: Option<bool>,
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
            is_below: None,
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
        self.assert_signs(amounts, &place)?;
        let moved = fields.moved(amounts, is_carried, &place)?;
        let day = fields.day()?;
        let (standing, came_back) = fields.standing()?;
        let is_out = moved < 0 && standing == Standing::Booked && !came_back;
        let is_unclear = is_out && !fields.is_charge()? && fields.doubted()?;
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
        let standing = match is_unclear {
            true => Standing::Unclear,
            false => standing,
        };
        fields.entries((moved, currency), day, (standing, came_back), fee)
    }

    /// Refuses amounts of both signs in the column of what was paid out: some write a minus there, and nobody does now and then.
    fn assert_signs(
        &mut self,
        [_, out, _]: [Option<i64>; 3],
        place: &Place,
    ) -> Result<(), StatementError> {
        let Some(is_below) = out.filter(|out| *out != 0).map(|out| out < 0) else {
            return Ok(());
        };
        match *self.is_below.get_or_insert(is_below) == is_below {
            true => Ok(()),
            false => Err(StatementError::new(
                place,
                "an amount that was paid out has another sign than those above it: it may have been taken back",
                "look at the row: what came back belongs into the column of what was paid in",
            )),
        }
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
        let Some(headers) = &self.headers else {
            return Err(self.no_headers());
        };
        let unread: Vec<String> = headers.unread().into_iter().map(shown).collect();
        if !unread.is_empty() {
            let mut note = format!("columns that are not read: {}", unread.join(", "));
            if headers.all("reference").is_empty()
                && headers.all("receipt").is_empty()
                && headers.all("description").is_empty()
            {
                note.push_str(
                    "; so no line names a payment. Say which of them has references, receipts or a text: \
                     --column reference=HEADER, --column receipt=HEADER, --column description=HEADER",
                );
            }
            self.summary.notes.push(note);
        }
        self.summary.layout = headers.layout();
        if self.terms.paid_out == Some(true) {
            self.summary.layout.push_str(" amount_above_zero=paid_out");
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
