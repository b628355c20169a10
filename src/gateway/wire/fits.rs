//! Whether a row can be said in a dialect exactly. The load refuses rows that cannot; a batch may have been loaded before its
//! dialect was chosen.

use crate::dialect::{Dialect, ExtraType, OWN_EXTRA};
use crate::domain::{BANK_MEMBERS, Instruction, Payment, sent_name};

/// Returns whether the interface document, or what a deployment makes of it without another dialect, can carry a row with this identifier
/// and these members of `extra`: nothing else of a row decides that.
#[must_use]
pub fn fits_the_document(identifier: &str, extra: &[(String, String)], dialect: &Dialect) -> bool {
    dialect.is_the_document()
        && dialect.identifiers.has(identifier)
        && lacking_bank_member(extra, dialect).is_none()
}

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
    if let Some(member) = lacking_bank_member(&row.extra, dialect) {
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
fn lacking_bank_member<'d>(extra: &[(String, String)], dialect: &'d Dialect) -> Option<&'d str> {
    let has = |member: &str| {
        let mut sent = extra.iter().filter_map(|(name, _)| sent_name(name));
        sent.any(|name| name == member)
    };
    // Whatever pays to a bank names the account there.
    if !has(BANK_MEMBERS[3].1) {
        return None;
    }
    let required = dialect.required_bank_members.iter();
    required.map(String::as_str).find(|member| !has(member))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::build;
    use crate::domain::{
        Amount, Country, Currency, Money, Msisdn, PayerTransactionId, ServiceCode, Timestamp,
    };
    use std::collections::BTreeMap;
    use std::path::Path;

    fn payment(identifier: &str, extra: &[(&str, &str)]) -> Payment {
        let msisdn = Msisdn::from_digits("254712345678").unwrap();
        let extra = extra
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Payment {
            id: PayerTransactionId::parse(identifier).unwrap(),
            generation: 0,
            received_at: Timestamp::from_millis(0),
            instruction: Instruction {
                line: 1,
                reference: None,
                service: ServiceCode::parse("B2C").unwrap(),
                msisdn,
                account_number: msisdn.as_str().into(),
                money: Money {
                    amount: Amount::from_minor(100).unwrap(),
                    currency: Currency::from_code("KES").unwrap(),
                },
                country: Country::from_code("KE").unwrap(),
                narration: "".into(),
                customer_names: "".into(),
                invoice_number: "".into(),
                payment_mode: "".into(),
                hub_id: "".into(),
                extra: extra.collect(),
                document: None,
            },
        }
    }

    #[test]
    fn what_decides_for_the_document_is_all_that_does() {
        let ours = "0123456789ABCDEFGHJKMNPQR1";
        let bank: Vec<(&str, &str)> = BANK_MEMBERS.map(|(_, sent)| (sent, "x")).to_vec();
        let document = Dialect::default();
        for (identifier, extra) in [
            (ours, vec![]),
            ("PAY-0123456789ABCDEFGHJKMNPQR", vec![]),
            (ours, vec![("remark", "x")]),
            (ours, bank.clone()),
            (ours, bank[1..].to_vec()),
            (ours, bank[3..4].to_vec()),
            (ours, vec![("\tremark", "x")]),
        ] {
            let payment = payment(identifier, &extra);
            let row = &payment.instruction;
            assert_eq!(
                fits_the_document(identifier, &row.extra, &document),
                misfit(&payment, &document).is_none(),
                "{identifier} {extra:?}"
            );
        }
    }

    #[test]
    fn rows_are_read_whole_for_every_other_dialect() {
        let values = BTreeMap::from([("types.decimals.B2C".to_owned(), vec!["0".to_owned()])]);
        let Ok(other) = build(&values, Path::new("")) else {
            panic!("the key is none");
        };
        assert!(!fits_the_document(
            "0123456789ABCDEFGHJKMNPQR1",
            &[],
            &other
        ));
    }
}
