//! Whether a row can be said in a dialect exactly. The load refuses rows that cannot; a batch may have been loaded before its
//! dialect was chosen.

use crate::dialect::{Dialect, ExtraType, OWN_EXTRA};
use crate::domain::{BANK_MEMBERS, Instruction, Payment};

/// Says why a row cannot be said in the dialect; `None` where it can.
#[must_use]
pub fn misfit(payment: &Payment, dialect: &Dialect) -> Option<String> {
    if !dialect.identifiers.has(payment.id.as_str()) {
        return Some(format!(
            "its identifier {} does not have the form {} of the dialect: it was loaded with another dialect",
            payment.id, dialect.identifiers
        ));
    }
    let row = &payment.instruction;
    if let Some(member) = lacking_bank_member(row, dialect) {
        return Some(format!(
            "{member} is missing, which this gateway needs of a payment to a bank"
        ));
    }
    if dialect.is_the_document() {
        return None;
    }
    if let Some(member) = lost_member(row, dialect) {
        return Some(format!(
            "it has {member}, which this gateway does not take: the row would be paid without it"
        ));
    }
    let decimals = dialect.decimals.get(row.service.as_str());
    if let Some(decimals) = decimals
        && !row.money.fits_decimals(*decimals)
    {
        return Some(format!(
            "the amount {} has more than {decimals} decimals, and this gateway takes no more for {}",
            row.money, row.service
        ));
    }
    row.extra_members().find_map(|(name, value)| {
        // What a column of ours became has the name that the dialect gives it.
        let is_own = OWN_EXTRA.contains(&name);
        let is_taken = OWN_EXTRA
            .iter()
            .any(|own| dialect.names.theirs(own).eq_ignore_ascii_case(name));
        if is_taken && !is_own {
            return Some(format!(
                "extra.{name} has the name of a member that is written for this gateway"
            ));
        }
        match dialect.extra_types.get(name) {
            Some(of) if *of != ExtraType::Text && !of.allows(value) => {
                Some(format!("extra.{name} is not {}", of.expected()))
            }
            _ => None,
        }
    })
}

/// Returns the member that a row fills in and posts leave out.
fn lost_member(row: &Instruction, dialect: &Dialect) -> Option<&'static str> {
    let filled = [
        ("invoiceNumber", !row.invoice_number.is_empty()),
        ("datePaymentReceived", row.date_received().is_some()),
        ("hubID", !row.hub_id.is_empty()),
        ("paymentMode", !row.payment_mode.is_empty()),
    ];
    let lost = |(member, is_filled): &(&str, bool)| *is_filled && !dialect.writes(member);
    filled.into_iter().find(lost).map(|(member, _)| member)
}

/// Returns the first member that a payment to a bank must have and lacks.
fn lacking_bank_member<'d>(row: &Instruction, dialect: &'d Dialect) -> Option<&'d str> {
    let has = |member: &str| row.extra_members().any(|(name, _)| name == member);
    // Whatever pays to a bank names the account there.
    if row.extra.is_empty() || !has(BANK_MEMBERS[3].1) {
        return None;
    }
    let required = dialect.required_bank_members.iter();
    required.map(String::as_str).find(|member| !has(member))
}
