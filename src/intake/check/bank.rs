//! The bank that is paid to, and the account there (section 2.3).

use std::collections::BTreeSet;

use crate::domain::{Instruction, Money, PaymentKind};

use super::super::banks::BankDirectory;
use super::super::columns::{ColumnMap, Field};
use super::super::record::Record;
use super::super::text::quoted;
use super::findings::Findings;
use super::service::Service;

/// The bank columns and the members of `extraData` they become (section 2.3), in the order they are sent.
const BANK: [(Field, &str); 4] = [
    (Field::BankCode, "destinationBankCode"),
    (Field::BankName, "destinationBankName"),
    (Field::BankAccountName, "destinationAccountName"),
    (Field::BankAccountNumber, "destinationAccountNo"),
];

/// Returns the members of `extraData` that the bank columns become.
pub(super) fn check(
    layout: &ColumnMap,
    record: &Record,
    service: Option<&Service>,
    banks: Option<&BankDirectory>,
    optional: &BTreeSet<String>,
    found: &mut Findings,
) -> Vec<(String, String)> {
    let pays_to_bank = service.is_some_and(is_bank);
    if BANK
        .iter()
        .all(|(field, _)| layout.position(*field).is_none())
        && !pays_to_bank
    {
        return Vec::new();
    }
    let known = banks.and_then(|banks| directory(layout, record, banks, service, found));
    let mut extra = Vec::new();
    for (field, member) in BANK {
        let mut name = member.to_owned();
        let text = match field {
            Field::BankAccountNumber | Field::BankCode => found.digits(layout, record, field),
            Field::BankName => {
                let written = found.text(layout, record, field);
                match known {
                    Some(listed) if written.is_empty() => {
                        name = Instruction::<Money>::supplied(member);
                        listed.into()
                    }
                    _ => written,
                }
            }
            _ => found.text(layout, record, field),
        };
        match service {
            // The directory would have named it, had the code been right.
            Some(service)
                if is_bank(service)
                    && field == Field::BankName
                    && text.is_empty()
                    && banks.is_some()
                    && found.has(Field::BankCode) => {}
            Some(service) if is_bank(service) && text.is_empty() && !optional.contains(member) => {
                let expected = format!("a value, which {} needs (section 2.3)", service.code);
                found.missing(field, &expected);
            }
            Some(Service {
                code,
                rule: Some(rule),
            }) if !text.is_empty() && !is_bank_kind(rule.kind) => {
                let message = format!(
                    "expected nothing, {code} pays to no bank ({}; section 2.3), found {}",
                    rule.kind,
                    quoted(&text)
                );
                found.add(field, message);
            }
            _ if text.is_empty() => {}
            _ => extra.push((name, text.into())),
        }
    }
    extra
}

/// Looks the bank up, and returns its name when code and name agree with the directory.
fn directory<'a>(
    layout: &ColumnMap,
    record: &Record,
    banks: &'a BankDirectory,
    service: Option<&Service>,
    found: &mut Findings,
) -> Option<&'a str> {
    let code = layout.cell(record, Field::BankCode);
    let name = layout.cell(record, Field::BankName);
    // A service that pays to no bank has an error of its own.
    if code.is_empty() || !service.is_none_or(|service| service.kind().is_none_or(is_bank_kind)) {
        return None;
    }
    let Some(listed) = banks.name_of(code) else {
        let near = banks
            .with_zeros(code)
            .map(|near| format!("; did you mean {near:?}?"))
            .unwrap_or_default();
        let message = format!(
            "expected a code of the bank directory (section 2.3), found {}{near}",
            quoted(code)
        );
        found.add(Field::BankCode, message);
        return None;
    };
    if !name.is_empty() && !BankDirectory::is_same_name(listed, name) {
        let message = format!(
            "expected {}, which the bank directory has for the code {} (section 2.3), found {}",
            quoted(listed),
            quoted(code),
            quoted(name)
        );
        found.add(Field::BankName, message);
    }
    Some(listed)
}

fn is_bank(service: &Service) -> bool {
    service.kind().is_some_and(is_bank_kind)
}

fn is_bank_kind(kind: PaymentKind) -> bool {
    matches!(kind, PaymentKind::Bank | PaymentKind::Rtgs)
}
