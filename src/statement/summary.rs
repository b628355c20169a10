//! What a statement was of, and whether it adds up.

use super::error::{Place, StatementError, shown};
use crate::domain::{Currency, Day, Totals};
use crate::ledger::reconciliation::{Period, Source, Standing, StatementEntry};

/// What a statement was of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Its format in words: `MT940`.
    pub format: &'static str,
    /// The account, as it names it.
    pub account: Option<String>,
    /// The currency of its balances.
    pub currency: Option<Currency>,
    /// The days that it shows; `None`: it has no lines and names none.
    pub period: Option<Period>,
    /// The period is what it says itself, and not only from its first line to its last.
    pub period_is_named: bool,
    /// The balance before its first line, in minor units.
    pub opening: Option<i128>,
    /// The balance after its last line.
    pub closing: Option<i128>,
    /// Its lines.
    pub entries: u64,
    /// What was charged, as far as it says.
    pub fees: Totals,
    /// The balances were compared with the lines, and agree.
    pub balanced: bool,
    /// What is worth telling about how it was read.
    pub notes: Vec<String>,
    /// Its headers, and which columns were read; empty where its format says that.
    pub(super) layout: String,
    /// How several statements of one file follow on one another.
    sequence: Option<Sequence>,
}

/// Statements of one file, oldest first or newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sequence {
    /// Opening and closing balance.
    first: (i128, i128),
    last: (i128, i128),
    falls: bool,
    rises: bool,
}

impl Summary {
    pub(super) fn of(format: &'static str) -> Self {
        Self {
            format,
            ..Self::default()
        }
    }

    /// Returns where it comes from: the family of its format, and the headers by which it is known.
    #[must_use]
    pub fn source(&self) -> Source {
        let family = match self.format {
            "CSV" | "XLSX" => "table",
            format if format.starts_with("camt") => "camt",
            format => format,
        };
        Source {
            kind: format!("{family} {}", self.layout).trim().to_owned(),
            account: self.account.clone(),
        }
    }

    /// Takes in the balances of one statement, which agree with its lines, and holds them against those of the one before it.
    pub(super) fn hold(
        &mut self,
        opening: i128,
        closing: i128,
        place: &Place,
    ) -> Result<(), StatementError> {
        let this = (opening, closing);
        let sequence = self.sequence.get_or_insert(Sequence {
            first: this,
            last: this,
            falls: true,
            rises: true,
        });
        if self.balanced {
            sequence.falls &= sequence.last.1 == opening;
            sequence.rises &= closing == sequence.last.0;
            sequence.last = this;
        }
        if !sequence.falls && !sequence.rises {
            return Err(StatementError::cut_off(
                place,
                "it does not begin with the balance that the statement before it in the file ends with: a statement is \
                missing, or is there twice",
            ));
        }
        let (oldest, newest) = match sequence.falls {
            true => (sequence.first, this),
            false => (this, sequence.first),
        };
        (self.opening, self.closing) = (Some(oldest.0), Some(newest.1));
        self.balanced = true;
        Ok(())
    }

    /// Takes a line in.
    pub(super) fn count(&mut self, entry: &StatementEntry) {
        self.entries += 1;
        if !self.period_is_named {
            self.reach(entry.day);
        }
        if let Some(fee) = entry.fee
            && entry.standing == Standing::Booked
        {
            self.fees.add_minor(entry.money.currency, i128::from(fee));
        }
        if entry.is_charge && entry.standing == Standing::Booked {
            self.fees.add_minor(entry.money.currency, -entry.signed());
        }
    }

    /// Lets the period reach to a day.
    pub(super) fn reach(&mut self, day: Day) {
        let period = self.period.get_or_insert(Period { from: day, to: day });
        period.from = period.from.min(day);
        period.to = period.to.max(day);
    }

    /// Compares the account with the one that is asked for, or that was met before.
    pub(super) fn is_of(
        &mut self,
        account: &str,
        wanted: Option<&str>,
        place: &Place,
    ) -> Result<bool, StatementError> {
        if let Some(wanted) = wanted {
            let same = bare(wanted) == bare(account);
            if same {
                self.account = Some(account.to_owned());
            }
            return Ok(same);
        }
        match &self.account {
            Some(known) if bare(known) != bare(account) => Err(StatementError::new(
                place,
                format!(
                    "the file has statements of several accounts, {} and {}",
                    shown(known),
                    shown(account)
                ),
                "say which one the batch was paid from: --account ACCOUNT",
            )),
            _ => {
                self.account = Some(account.to_owned());
                Ok(true)
            }
        }
    }

    /// Refuses a statement of another account than the one that is asked for.
    pub(super) fn assert_account(&self, wanted: Option<&str>) -> Result<(), StatementError> {
        match (wanted, &self.account) {
            (Some(wanted), None) => Err(StatementError::whole(
                format!("nothing in the statement is of account {}", shown(wanted)),
                "name the statement of that account; if the file names no account, leave --account out",
            )),
            _ => Ok(()),
        }
    }
}

/// Returns an account without blanks and dashes, in capitals.
fn bare(account: &str) -> String {
    let told = account.chars().filter(char::is_ascii_alphanumeric);
    told.map(|c| c.to_ascii_uppercase()).collect()
}

/// A balance that is held against the lines behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    currency: Currency,
    sum: i128,
}

impl Running {
    pub(super) fn of(currency: Currency, opening: i128) -> Self {
        Self {
            currency,
            sum: opening,
        }
    }

    pub(super) fn add(&mut self, minor: i128) {
        self.sum = self.sum.saturating_add(minor);
    }

    /// Compares the sum with a balance of the statement.
    pub(super) fn assert(&self, balance: i128, place: &Place) -> Result<(), StatementError> {
        if self.sum == balance {
            return Ok(());
        }
        let told = |minor: i128| {
            let mut totals = Totals::default();
            totals.add_minor(self.currency, minor.abs());
            format!("{}{totals}", if minor < 0 { "-" } else { "" })
        };
        Err(StatementError::new(
            place,
            format!(
                "the statement does not add up: its opening balance and its lines come to {}, its balance here is {}",
                told(self.sum),
                told(balance)
            ),
            "a line is missing, or was changed: fetch the statement again, whole",
        ))
    }
}
