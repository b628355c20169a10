//! Whether a row pays once more what a row of another load pays, or has paid.
//!
//! A payment is made out of a debt, and nobody tells the program of debts. What it sees is a row: its reference, who receives,
//! how much, through which service. Two rows with one reference are one debt, whatever their amounts; so are two with the same
//! recipient, amount and service, where one of them has no reference to say otherwise.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::{Instruction, ServiceCode, Written};
use crate::lifecycle::State;

/// What is configured about repeats, for one service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// For so long a load is looked at once all of it has ended: what is paid again later is another debt.
    pub window: Duration,
    /// References begin anew: one alone says nothing.
    pub references_restart: bool,
}

impl Default for Terms {
    /// 20 days: a monthly payroll passes, yesterday's file does not.
    fn default() -> Self {
        Self {
            window: Duration::from_secs(20 * 24 * 60 * 60),
            references_restart: false,
        }
    }
}

/// The same for every service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TermsByService {
    /// Of services that say nothing else.
    pub default: Terms,
    /// Of those that do.
    pub services: BTreeMap<ServiceCode, Terms>,
}

impl TermsByService {
    /// Returns the terms of a service.
    #[must_use]
    pub fn of(&self, service: &ServiceCode) -> Terms {
        self.services.get(service).copied().unwrap_or(self.default)
    }

    /// Returns the longest window of all.
    #[must_use]
    pub fn longest(&self) -> Duration {
        let windows = self.services.values().map(|terms| terms.window);
        windows.fold(self.default.window, Duration::max)
    }
}

/// Where the other row stands, over all its generations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Withdrawn before it was ever posted.
    Cancelled,
    /// Not paid, proven by the gateway.
    Failed,
    /// Paid; or failed by the word of a person, which proves nothing.
    Ended,
    /// It may be paid yet.
    Unfinished,
}

impl Standing {
    /// Returns where one payment stands; `has_code`: what ended it was the gateway's word.
    #[must_use]
    pub fn of(state: State, has_code: bool) -> Self {
        match state {
            State::Cancelled => Self::Cancelled,
            State::Failed if has_code => Self::Failed,
            State::Failed | State::Paid => Self::Ended,
            State::Ready
            | State::Posting
            | State::InDoubt
            | State::Acknowledged
            | State::Delivered
            | State::Conflict => Self::Unfinished,
        }
    }

    /// Returns where a row stands whose generations stand there.
    #[must_use]
    pub fn of_row(generations: impl IntoIterator<Item = Self>) -> Self {
        generations.into_iter().max().unwrap_or(Self::Unfinished)
    }
}

/// How the references of two rows compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum References {
    /// Both have the same one.
    Same,
    /// Both have one, and these differ.
    Differ,
    /// One of them has none.
    Missing,
}

impl References {
    /// Compares two.
    #[must_use]
    pub fn of(a: Option<&str>, b: Option<&str>) -> Self {
        match (a, b) {
            (Some(a), Some(b)) if a == b => Self::Same,
            (Some(_), Some(_)) => Self::Differ,
            _ => Self::Missing,
        }
    }
}

/// What a row is to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// Another payment.
    None,
    /// The same recipient, amount and service under another reference: a person should see it.
    Alike,
    /// The same debt.
    Repeat,
}

/// Returns what two rows are to each other; `same_payment`: they have recipient, amount and service in common.
#[must_use]
pub fn likeness(references: References, same_payment: bool, terms: &Terms) -> Likeness {
    match (references, same_payment) {
        (References::Same, false) if terms.references_restart => Likeness::None,
        (References::Same, _) | (References::Missing, true) => Likeness::Repeat,
        (References::Differ, true) => Likeness::Alike,
        (References::Differ | References::Missing, false) => Likeness::None,
    }
}

/// Returns whether a row of another load counts that was loaded so long ago.
// A clock that was set back makes no load older.
#[must_use]
pub fn counts(standing: Standing, age: Duration, terms: &Terms) -> bool {
    match standing {
        Standing::Cancelled | Standing::Failed => false,
        Standing::Unfinished => true,
        Standing::Ended => age < terms.window,
    }
}

/// Judges a row by one of another load.
#[must_use]
pub fn judge(
    references: References,
    same_payment: bool,
    standing: Standing,
    age: Duration,
    terms: &Terms,
) -> Likeness {
    match counts(standing, age, terms) {
        true => likeness(references, same_payment, terms),
        false => Likeness::None,
    }
}

/// Returns whether a row that is let in is to be judged once more when it leaves: what failed for now may prove paid until then.
#[must_use]
pub fn is_watched(likeness: Likeness, standing: Standing) -> bool {
    likeness == Likeness::Repeat && standing == Standing::Failed
}

/// The member of `extraData` that names the bank of an account.
const BANK: &str = "destinationBankCode";

/// Who receives a payment: the account (a wallet, a meter, an account of a bank), and the bank's code if there is one.
#[must_use]
pub fn recipient<M>(row: &Instruction<M>) -> (&str, &str) {
    let account = match row.account_number.as_str() {
        "" => row.msisdn.as_str(),
        account => account,
    };
    let bank = row.extra_members().find(|(name, _)| *name == BANK);
    (account, bank.map_or("", |(_, code)| code))
}

/// Returns whether two rows have recipient, amount and service in common. An amount that is left to the bill is one, too.
#[must_use]
pub fn is_same_payment<M: Written, N: Written>(a: &Instruction<M>, b: &Instruction<N>) -> bool {
    recipient(a) == recipient(b)
        && a.service == b.service
        && a.money.currency() == b.money.currency()
        && a.money.digits() == b.money.digits()
}

#[cfg(test)]
mod tests;
