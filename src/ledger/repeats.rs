//! Whether a row pays once more what a row of another load pays, or has paid.
//!
//! A payment is made out of a debt, and nobody tells the program of debts. What it sees is a row: its reference, who receives,
//! how much, through which service. Two rows with one reference are one debt, whatever their amounts; so are two with the same
//! recipient, amount and service, where one of them has no reference to say otherwise. References and accounts are compared as
//! a person reads them ([`crate::ledger::likeness`]). An amount that waits for its bill may be any amount.

mod standing;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

pub use standing::{Generation, History, Standing, TakenBack, Told};

use super::likeness::{self, of_name};
use crate::domain::{AmountField, Instruction, ServiceCode};

/// What is configured about repeats, for one service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// For so long a load is looked at once all of it has ended: what is paid again later is another debt, unless it is of a failure.
    pub window: Duration,
    /// References begin anew: one alone says nothing.
    pub references_restart: bool,
}

impl Terms {
    /// Returns the terms for a row; `refused`: its batch has refused the same row as a repeat. Time makes no other debt of that
    /// one, so that it stays a repeat until a person allows it.
    #[must_use]
    pub fn for_row(self, refused: bool) -> Self {
        Self {
            window: if refused { Duration::MAX } else { self.window },
            ..self
        }
    }
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
    /// References name the period that is paid: the same one is the same debt however long ago it was paid.
    pub references_name_a_period: bool,
}

impl TermsByService {
    /// Returns the terms of a service.
    #[must_use]
    pub fn of(&self, service: &ServiceCode) -> Terms {
        self.services.get(service).copied().unwrap_or(self.default)
    }

    /// Returns the terms of two rows that are compared: the stricter ones. A file may name another service than yesterday's, and
    /// what one of them says of itself must not free the other one's debts.
    #[must_use]
    pub fn between(&self, a: &ServiceCode, b: &ServiceCode) -> Terms {
        let (a, b) = (self.of(a), self.of(b));
        let terms = Terms {
            window: a.window.max(b.window),
            references_restart: a.references_restart && b.references_restart,
        };
        planted!(ledger::terms_between(terms, a))
    }

    /// Returns whether references begin anew in some service.
    #[must_use]
    pub fn restart_somewhere(&self) -> bool {
        let mut all = self.services.values().chain([&self.default]);
        all.any(|terms| terms.references_restart)
    }

    /// Returns the terms between two rows whose references compare so.
    #[must_use]
    pub fn by_references(&self, terms: Terms, references: References) -> Terms {
        match self.references_name_a_period && references == References::Same {
            true => Terms {
                window: Duration::MAX,
                references_restart: false,
            },
            false => terms,
        }
    }

    /// Returns the longest window of all.
    #[must_use]
    pub fn longest(&self) -> Duration {
        let windows = self.services.values().map(|terms| terms.window);
        windows.fold(self.default.window, Duration::max)
    }
}

/// How the references of two rows compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum References {
    /// Both have the same one, as a person reads them.
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
            (Some(a), Some(b)) if reads_alike(a, b) => Self::Same,
            (Some(_), Some(_)) => Self::Differ,
            _ => Self::Missing,
        }
    }
}

/// Returns whether a person takes two references for one.
#[must_use]
pub fn reads_alike(a: &str, b: &str) -> bool {
    let reads_alike = a == b || likeness::of_reference(a) == likeness::of_reference(b);
    planted!(ledger::reads_alike(reads_alike, a, b))
}

/// What a row is to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// Another payment.
    None,
    /// The same recipient and amount, under another reference or through another service: a person should see it.
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

/// Returns what two rows are to each other that pay the same recipient the same amount, each through another service; `terms`:
/// those between the two services.
#[must_use]
pub fn likeness_across_services(references: References, terms: &Terms) -> Likeness {
    match references {
        References::Same if !terms.references_restart => Likeness::Repeat,
        References::Same | References::Missing | References::Differ => Likeness::Alike,
    }
}

/// Returns whether a row of another load counts that was loaded so long ago.
// A clock that was set back makes no load older.
#[must_use]
pub fn counts(standing: Standing, age: Duration, terms: &Terms) -> bool {
    let counts = match standing {
        Standing::Cancelled | Standing::Failed => false,
        Standing::Unfinished => true,
        Standing::Ended => age < terms.window,
    };
    planted!(ledger::counts(counts, standing))
}

/// Returns whether a row is what a person has withdrawn elsewhere, within the window, after a failure or before: perhaps it is not to be paid
/// here either. It is let in, and shown.
#[must_use]
pub fn is_of_withdrawn(
    likeness: Likeness,
    is_withdrawn: bool,
    age: Duration,
    terms: &Terms,
) -> bool {
    likeness == Likeness::Repeat && is_withdrawn && age < terms.window
}

/// Returns whether a row may be another one whose amount was changed: of the same recipient and service, and no references tell
/// them apart. It is a sign of that only where other rows of its file repeat rows of that load.
#[must_use]
pub fn may_have_other_amount<M: AmountField, N: AmountField>(
    references: References,
    a: &Instruction<M>,
    b: &Instruction<N>,
) -> bool {
    references == References::Missing && is_same_account(a, b) && !may_be_same_amount(a, b)
}

/// Returns whether a row pays the recipient of another one nearly the same: not the same amount, and no more than one unit of the currency
/// or one in a hundred apart. Where that is so of most rows, the amounts of a file that is known may have been rounded.
#[must_use]
pub fn has_near_amount<M: AmountField, N: AmountField>(
    a: &Instruction<M>,
    b: &Instruction<N>,
) -> bool {
    let (Some(one), Some(other)) = (a.money.known(), b.money.known()) else {
        return false;
    };
    let (one, other) = (one.minor(), other.minor());
    let unit = 10_i64.pow(u32::from(a.money.currency().exponent()));
    let apart = one.abs_diff(other);
    is_same_account(a, b) && apart > 0 && apart <= (one.max(other) / 100).max(unit).unsigned_abs()
}

/// Returns whether the amounts of rows add up to nearly what as many rows on record add up to, of the same recipients: two in a hundred apart
/// at most. Whatever was changed in the single rows, it may be the same money.
#[must_use]
pub fn is_near_total(one: i128, other: i128) -> bool {
    one.abs_diff(other) * 50 <= one.max(other).unsigned_abs()
}

/// Returns whether so many of the rows of a file make it likely that it is another one changed: at least half, and not of a file of one or two.
#[must_use]
pub fn is_near_copy(alike: u64, rows: u64) -> bool {
    alike >= 3 && alike * 2 >= rows
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

/// Returns whether two rows with one reference may pay one person: number or name are the same, or where a name is missing, the
/// amount may be.
#[must_use]
pub fn may_be_same_person<M: AmountField, N: AmountField>(
    a: &Instruction<M>,
    b: &Instruction<N>,
) -> bool {
    if recipient(a) == recipient(b) || a.msisdn == b.msisdn {
        return true;
    }
    let (name, other) = (of_name(&a.customer_names), of_name(&b.customer_names));
    match name.is_empty() || other.is_empty() {
        true => may_be_same_amount(a, b),
        false => name == other,
    }
}

/// Returns whether a row that came later is of the debt of one that failed, however long ago that was.
///
/// A failed row that is loaded anew keeps its reference, whatever else is mended of it: number, amount or service. Where
/// references begin anew, one that comes again is another debt only if it is another person's.
#[must_use]
pub fn is_of_failure(
    references: References,
    same_payment: bool,
    same_person: bool,
    terms: &Terms,
) -> bool {
    match references {
        References::Same => same_payment || same_person || !terms.references_restart,
        References::Missing => same_payment,
        References::Differ => false,
    }
}

/// Returns whether the debt of a failed row is paid by a later one, or may be, which stands there.
#[must_use]
pub fn pays_failure(standing: Standing) -> bool {
    match standing {
        Standing::Ended | Standing::Unfinished => true,
        Standing::Cancelled | Standing::Failed => false,
    }
}

/// Returns whether a later row, which stands there, may have been loaded in the place of one that failed, although no reference
/// says so: a number or a service that was wrong is another one now. Whoever pays a failure anew may not know of it, so that
/// it is shown. `same_amount`: recipient or name and the amount are the same.
#[must_use]
pub fn may_be_paid_since(references: References, same_amount: bool, standing: Standing) -> bool {
    references != References::Same && same_amount && pays_failure(standing)
}

/// Returns whether two rows pay the same recipient, or somebody of the same name, the same amount.
#[must_use]
pub fn is_same_amount_to_person<M: AmountField, N: AmountField>(
    a: &Instruction<M>,
    b: &Instruction<N>,
) -> bool {
    let has_same_name = || {
        let theirs: Vec<String> = names(b).collect();
        names(a).any(|name| theirs.contains(&name))
    };
    a.money.currency() == b.money.currency()
        && may_be_same_amount(a, b)
        && (recipient(a) == recipient(b) || has_same_name())
}

/// Returns whether a row that is let in is to be judged once more when it leaves: what had failed may prove paid until then, and
/// so may what was cancelled, if another journal was in the place of this one.
#[must_use]
pub fn is_watched(likeness: Likeness, standing: Standing) -> bool {
    let ended_unpaid = matches!(standing, Standing::Failed | Standing::Cancelled);
    likeness == Likeness::Repeat && ended_unpaid
}

/// The member of `extraData` that names the bank of an account.
const BANK: &str = "destinationBankCode";
/// The member of `extraData` that names whose account it is.
pub const HOLDER: &str = "destinationAccountName";

/// Returns the names of whom a row pays, each as it is compared: the customer's, and the holder's of the account.
pub fn names<M>(row: &Instruction<M>) -> impl Iterator<Item = String> {
    let extra = row.extra_members();
    named(&row.customer_names, extra)
}

/// The same of a row as it is stored.
pub fn named<'a>(
    customer: &'a str,
    extra: impl Iterator<Item = (&'a str, &'a str)>,
) -> impl Iterator<Item = String> {
    let holder = extra
        .filter(|(name, _)| *name == HOLDER)
        .map(|(_, text)| text);
    let names = std::iter::once(customer).chain(holder).map(of_name);
    names.filter(|name| !name.is_empty())
}

/// Who receives a payment: the account (a wallet, a meter, an account of a bank), and the bank's code if there is one, each as
/// it is compared.
#[must_use]
pub fn recipient<M>(row: &Instruction<M>) -> (Cow<'_, str>, Cow<'_, str>) {
    let account = match row.account_number.as_str() {
        "" => row.msisdn.as_str(),
        account => account,
    };
    let bank = row.extra_members().find(|(name, _)| *name == BANK);
    let bank = bank.map_or(Cow::Borrowed(""), |(_, code)| likeness::of_account(code));
    (likeness::of_account(account), bank)
}

/// Returns whether two rows have recipient and service in common.
#[must_use]
pub fn is_same_account<M: AmountField, N: AmountField>(
    a: &Instruction<M>,
    b: &Instruction<N>,
) -> bool {
    a.service == b.service && is_same_recipient(a, b)
}

/// Returns whether two rows have recipient and amount in common, each through another service. An amount that waits for its bill
/// may be any.
#[must_use]
pub fn is_same_through_another_service<M: AmountField, N: AmountField>(
    a: &Instruction<M>,
    b: &Instruction<N>,
) -> bool {
    a.service != b.service && may_be_same_amount(a, b) && is_same_recipient(a, b)
}

fn is_same_recipient<M: AmountField, N: AmountField>(
    a: &Instruction<M>,
    b: &Instruction<N>,
) -> bool {
    a.money.currency() == b.money.currency() && recipient(a) == recipient(b)
}

/// Returns whether two rows have recipient, amount and service in common. An amount that waits for its bill may be any.
#[must_use]
pub fn is_same_payment<M: AmountField, N: AmountField>(
    a: &Instruction<M>,
    b: &Instruction<N>,
) -> bool {
    may_be_same_amount(a, b) && is_same_account(a, b)
}

fn may_be_same_amount<M: AmountField, N: AmountField>(
    a: &Instruction<M>,
    b: &Instruction<N>,
) -> bool {
    let (a, b) = (a.money.known(), b.money.known());
    let may_be = Option::zip(a, b).is_none_or(|(a, b)| a == b);
    planted!(ledger::may_be_same_amount(may_be, a, b))
}

/// Returns whether a row may have been loaded to be paid in the place of one that failed: as the same payment, or, where no two
/// references tell them apart, through another service.
#[must_use]
pub fn may_stand_for<M: AmountField, N: AmountField>(
    references: References,
    failed: &Instruction<M>,
    row: &Instruction<N>,
) -> bool {
    let same_service = failed.service == row.service || references == References::Missing;
    same_service && may_be_same_amount(failed, row) && is_same_recipient(failed, row)
}

/// Returns whether an amount must not be taken from a bill yet, because of another row of the same recipient and service. A
/// bill is due until what pays it has settled: asked for before, it would be paid twice. `same_batch`: that row is in the batch
/// of the one that asks; `above`: it stands above it there. `waits`: it waits for its bill itself, and the first that asks has it.
#[must_use]
pub fn holds_bill(standing: Standing, same_batch: bool, above: bool, waits: bool) -> bool {
    match (standing, same_batch) {
        (Standing::Cancelled | Standing::Failed, _) => false,
        (Standing::Unfinished, false) => !waits,
        (Standing::Unfinished | Standing::Ended, true) => !waits || above,
        (Standing::Ended, false) => false,
    }
}

#[cfg(test)]
mod tests;
