//! Whether one payment may leave now.

use std::time::Duration;

use super::ceilings::{Ceilings, Limits};
use super::names::NameList;
use super::period::Period;
use super::reason::Reason;
use crate::domain::{Amount, Money, ServiceCode, Timestamp};

/// What passes with no time is looked at again after this.
pub const LOOK_AGAIN: Duration = Duration::from_secs(24 * 60 * 60);

/// A payment that is to leave.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Its recipient, as it is counted.
    pub recipient: &'a str,
    /// The phone number that goes with it, in the same form.
    pub phone: &'a str,
    /// Its service.
    pub service: &'a ServiceCode,
    /// Its amount.
    pub money: Money,
    /// When it was loaded.
    pub loaded_at: Timestamp,
}

/// What was paid before, in the currency of the payment, and without itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// To its recipient, today.
    pub recipient_day: i128,
    /// To its recipient, this month.
    pub recipient_month: i128,
    /// By its service, today.
    pub service_day: i128,
    /// By its service, this month.
    pub service_month: i128,
    /// Of its batch, whatever was not proven unpaid.
    pub batch: i128,
    /// What is under way, in doubt or in conflict.
    pub exposure: i128,
    /// Its recipient was paid before.
    pub is_known: bool,
}

/// Whether a payment may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Leaves,
    /// It waits until then; others may leave. Where no time helps, it is looked at again then.
    Waits(Reason, Timestamp),
    /// Too much is under way: it waits, and so does what comes behind it, until something has ended.
    Full,
}

/// Judges whether a payment may leave now.
#[must_use]
pub fn judge(
    limits: &Limits,
    row: Row<'_>,
    seen: &Seen,
    period: &Period,
    now: Timestamp,
) -> Verdict {
    let again = now.after(LOOK_AGAIN);
    if let Some(reason) = listed_out(limits, row.recipient, row.phone) {
        return Verdict::Waits(reason, again);
    }
    let Money { amount, currency } = row.money;
    let most = limits.of_payment(row.service, currency);
    if most.is_some_and(|(most, _)| amount > most) {
        return Verdict::Waits(Reason::Payment, again);
    }
    if is_over(limits.batch.get(&currency).copied(), seen.batch, amount) {
        return Verdict::Waits(Reason::Batch, again);
    }
    if let Some(wait) = limits.new_recipient_wait.filter(|_| !seen.is_known) {
        let until = row.loaded_at.after(wait);
        if until > now {
            return Verdict::Waits(Reason::NewRecipient, until);
        }
    }
    let (service_day, service_month) = limits.of_service(row.service, currency);
    let of = |ceilings: &Ceilings| ceilings.get(&currency).copied();
    for (ceiling, used, reason, until) in [
        (
            of(&limits.recipient_month),
            seen.recipient_month,
            Reason::RecipientMonth,
            period.next_month,
        ),
        (
            service_month,
            seen.service_month,
            Reason::ServiceMonth,
            period.next_month,
        ),
        (
            of(&limits.recipient_day),
            seen.recipient_day,
            Reason::RecipientDay,
            period.next_day,
        ),
        (
            service_day,
            seen.service_day,
            Reason::ServiceDay,
            period.next_day,
        ),
    ] {
        if planted!(ledger::is_over(is_over(ceiling, used, amount), reason)) {
            return Verdict::Waits(reason, until);
        }
    }
    let is_exposed = is_over(of(&limits.exposure), seen.exposure, amount);
    match planted!(ledger::is_exposed(is_exposed)) {
        true => Verdict::Full,
        false => Verdict::Leaves,
    }
}

/// Returns whether a payment would take what was paid over a ceiling.
#[must_use]
pub fn is_over(ceiling: Option<Amount>, used: i128, amount: Amount) -> bool {
    let after = used.saturating_add(i128::from(amount.minor()));
    ceiling.is_some_and(|ceiling| after > i128::from(ceiling.minor()))
}

/// Returns which list keeps a payment from leaving: the phone number that goes with an account counts where it is denied, and the
/// account alone where it is allowed.
#[must_use]
pub fn listed_out(limits: &Limits, recipient: &str, phone: &str) -> Option<Reason> {
    planted_instead!(ledger::listed_out());
    let denies = |list: &NameList| list.has(recipient) || list.has(phone);
    if limits.deny.as_deref().is_some_and(denies) {
        return Some(Reason::Denied);
    }
    let allows = |list: &NameList| list.has(recipient);
    (!limits.allow.as_deref().is_none_or(allows)).then_some(Reason::NotAllowed)
}
