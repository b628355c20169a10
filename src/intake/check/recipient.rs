//! Who is paid: phone number, account, bank, and further members of `extraData`.

use crate::domain::{
    ACCOUNT_CHARACTERS_MIN, Country, Line, Msisdn, MsisdnError, PaymentKind, Text,
};
use crate::ledger::forgetting::is_pseudonym;
use crate::ledger::likeness::folded;

use super::super::columns::{Column, ColumnMap, Field, extra_name};
use super::super::damage;
use super::super::json::{Value, members, value};
use super::super::record::Record;
use super::super::rules::Rules;
use super::super::text::{one_line, quoted, shown};
use super::bank;
use super::findings::Findings;
use super::service::Service;

/// From this many digits on, an account of a mobile service is taken for a phone number.
const PHONE_DIGITS_MIN: usize = 9;

/// From this many characters on, digits may begin with the code of another country.
const FOREIGN_DIGITS_MIN: usize = 11;

/// The columns that say who is paid.
pub(super) struct Recipient {
    pub msisdn: Option<Msisdn>,
    line: Option<Line>,
    pub account_number: Text,
    pub extra: Vec<(String, String)>,
}

/// Checks them.
pub(super) fn check(
    layout: &ColumnMap,
    record: &Record,
    service: Option<&Service>,
    country: Option<Country>,
    rules: &Rules,
    found: &mut Findings,
) -> Recipient {
    let kind = service.and_then(Service::kind);
    let written = layout.cell(record, Field::Msisdn);
    let bank_account = layout.cell(record, Field::BankAccountNumber);
    let parsed = match rules.bank_msisdn {
        // The interface wants a number, and the bank does not.
        Some(number) if written.is_empty() && pays_bank(kind, bank_account) => {
            Some((number, Line::Mobile))
        }
        None if written.is_empty() && pays_bank(kind, bank_account) => {
            found.missing_unless(
                Field::Msisdn,
                "a phone number with its country code",
                "; the interface wants one with a payment to a bank as well, and bank_msisdn in the profile gives one for all of them",
            );
            None
        }
        _ => msisdn(layout, written, country, found),
    };
    let (msisdn, line) = (
        parsed.map(|(msisdn, _)| msisdn),
        parsed.map(|(_, line)| line),
    );
    let mut extra = bank::check(
        layout,
        record,
        service,
        rules.banks.as_deref(),
        &rules.wire.optional_bank_members,
        found,
    );
    let account_number = account(layout, record, service, kind, country, msisdn, found);
    refuse_pseudonyms(layout, record, found);
    further(layout, record, &mut extra, found);
    Recipient {
        msisdn,
        line,
        account_number,
        extra,
    }
}

/// Nobody can be paid by what stands in the place of somebody who was forgotten.
fn refuse_pseudonyms(layout: &ColumnMap, record: &Record, found: &mut Findings) {
    for field in [Field::AccountNumber, Field::BankAccountNumber] {
        if is_pseudonym(layout.cell(record, field)) {
            let message =
                "is the pseudonym of an account that was forgotten: nobody knows any more whom it would pay"
                    .to_owned();
            found.add(field, message);
        }
    }
}

/// Returns whether a row pays to a bank account; of an unknown kind, whether it has one.
fn pays_bank(kind: Option<PaymentKind>, bank_account: &str) -> bool {
    matches!(kind, Some(PaymentKind::Bank | PaymentKind::Rtgs))
        || kind.is_none() && !bank_account.is_empty()
}

fn msisdn(
    layout: &ColumnMap,
    cell: &str,
    country: Option<Country>,
    found: &mut Findings,
) -> Option<(Msisdn, Line)> {
    if cell.is_empty() {
        found.missing(Field::Msisdn, "a phone number with its country code");
        return None;
    }
    // Without its country no number can be judged, and the country's own error says so.
    let parsed = country.map(|country| Msisdn::parse_line(cell, country));
    if let Some(Ok(number)) = parsed {
        return Some(number);
    }
    if let Some(restored) = restored(layout, cell, country, found) {
        return Some(restored);
    }
    if let Some(cause) = damage::of_digits(cell) {
        found.cell(Field::Msisdn, cause, cell);
    } else if let (Some(Err(error)), Some(country)) = (parsed, country) {
        found.cell(Field::Msisdn, foreign(cell, country).unwrap_or(error), cell);
    }
    None
}

/// Returns a number with the zero that it has lost, where the layout of the file lets it be put back.
fn restored(
    layout: &ColumnMap,
    cell: &str,
    country: Option<Country>,
    found: &mut Findings,
) -> Option<(Msisdn, Line)> {
    let number = country
        .filter(|_| layout.restores_zero)
        .and_then(|country| Msisdn::restore_line(cell, country))?;
    found.has_restored_zero = true;
    Some(number)
}

/// Tells a number of another country that is written without its plus.
fn foreign(cell: &str, country: Country) -> Option<MsisdnError> {
    if cell.len() < FOREIGN_DIGITS_MIN || cell.starts_with(['0', '+']) {
        return None;
    }
    match Msisdn::parse(&format!("+{cell}"), country) {
        Err(error @ MsisdnError::OtherCountry { .. }) => Some(error),
        _ => None,
    }
}

fn account(
    layout: &ColumnMap,
    record: &Record,
    service: Option<&Service>,
    kind: Option<PaymentKind>,
    country: Option<Country>,
    msisdn: Option<Msisdn>,
    found: &mut Findings,
) -> Text {
    let field = Field::AccountNumber;
    let account = found.digits(layout, record, field);
    let bank_account = layout.cell(record, Field::BankAccountNumber);
    if pays_bank(kind, bank_account) {
        if !account.is_empty() && !bank_account.is_empty() && account != bank_account {
            let message = format!(
                "expected the bank_account_number or nothing ({})",
                quoted(&account)
            );
            found.add(field, message);
        }
        return bank_account.into();
    }
    if account.is_empty() {
        // What kind an unknown service is cannot be told; its own error comes first.
        if kind.is_none_or(PaymentKind::account_defaults_to_msisdn) {
            return msisdn.map_or_else(Text::default, |msisdn| msisdn.as_str().into());
        }
        if let (Some(service), Some(kind)) = (service, kind) {
            let expected = format!("the account that {} pays to ({kind})", service.code);
            found.missing(field, &expected);
        }
        return account;
    }
    if kind.is_some_and(PaymentKind::account_defaults_to_msisdn) {
        return phone_account(layout, account, country, msisdn, found);
    }
    account
}

/// Returns the column in which the account of a bank, a biller or a meter does not look like one of the service, and what is expected.
pub(super) fn oddity_of_account(
    service: Option<&Service>,
    account: &str,
) -> Option<(Field, String)> {
    let service = service?;
    let rule = service.rule.as_ref()?;
    let field = match rule.kind {
        PaymentKind::Bank | PaymentKind::Rtgs => Field::BankAccountNumber,
        PaymentKind::BillPrepaid | PaymentKind::BillPostpaid => Field::AccountNumber,
        PaymentKind::MobileMoney | PaymentKind::Airtime => return None,
    };
    let characters = account.chars().count();
    if characters == 0 {
        return None;
    }
    let cause = match &rule.account_format {
        Some(format) if format.fits(account) => return None,
        Some(format) => format!(
            "expected an account of {}: {format}; found {characters} characters",
            service.code
        ),
        None if characters >= ACCOUNT_CHARACTERS_MIN => return None,
        None => format!(
            "expected an account of at least {ACCOUNT_CHARACTERS_MIN} characters, found {characters}"
        ),
    };
    Some((field, cause))
}

/// Returns what is expected of who receives from a mobile service: a payout to a wallet names the number of the wallet (section 1), so
/// that another account is a piece of another cell, and a landline has no wallet.
pub(super) fn oddity_of_phone(
    service: Option<&Service>,
    country: Option<Country>,
    recipient: &Recipient,
) -> Option<(Field, String)> {
    let (service, country) = (service?, country?);
    let rule = service.rule.as_ref()?;
    if !rule.kind.account_defaults_to_msisdn() {
        return None;
    }
    let account = recipient.account_number.as_str();
    let own = recipient.msisdn.as_ref();
    let (field, line) = match account {
        "" => (Field::Msisdn, recipient.line),
        _ if own.is_some_and(|own| own.as_str() == account) => (Field::Msisdn, recipient.line),
        _ => match Msisdn::parse_line(account, country) {
            Ok((_, line)) => (Field::AccountNumber, Some(line)),
            Err(_) => {
                let cause = format!(
                    "expected the phone number of the recipient, or nothing: {} pays to phone numbers",
                    service.code
                );
                return Some((Field::AccountNumber, cause));
            }
        },
    };
    (line == Some(Line::Landline) && !rule.takes_landlines).then(|| {
        let cause = format!(
            "expected a mobile number, as {} pays to ({}); the numbering plan of {country} has this one as a landline or a service number",
            service.code, rule.kind
        );
        (field, cause)
    })
}

/// Brings the account of a mobile service into the wire's form when it is a phone number (section 2.3).
fn phone_account(
    layout: &ColumnMap,
    account: Text,
    country: Option<Country>,
    msisdn: Option<Msisdn>,
    found: &mut Findings,
) -> Text {
    if msisdn.is_some_and(|msisdn| msisdn.as_str() == account) {
        return account;
    }
    let Some(country) = country else {
        return account;
    };
    match Msisdn::parse(&account, country) {
        Ok(number) => number.as_str().into(),
        Err(error) => {
            if let Some((number, _)) = restored(layout, &account, Some(country), found) {
                return number.as_str().into();
            }
            let digits = account.bytes().filter(u8::is_ascii_digit).count();
            let is_phone = !matches!(error, MsisdnError::NotANumber) && digits >= PHONE_DIGITS_MIN;
            if is_phone {
                found.cell(Field::AccountNumber, error, &account);
            }
            account
        }
    }
}

/// Adds the columns `extra.NAME` and `extra`.
fn further(
    layout: &ColumnMap,
    record: &Record,
    extra: &mut Vec<(String, String)>,
    found: &mut Findings,
) {
    for (index, column) in layout.columns.iter().enumerate() {
        let cell = match column {
            Column::Extra(_) | Column::ExtraObject => record.cell(index).trim(),
            _ => continue,
        };
        match column {
            _ if cell.is_empty() => {}
            Column::Extra(name) => add(extra, name, cell, found),
            _ => object(extra, cell, found),
        }
    }
}

fn object(extra: &mut Vec<(String, String)>, cell: &str, found: &mut Findings) {
    let outcome = members(
        cell,
        &mut |name, raw| match (extra_name(name), value(raw)) {
            (Err(reason), _) => {
                found.push(Some(shown(&format!("extra.{name}"))), reason.to_owned())
            }
            // As in a column of its own.
            (Ok(()), Value::Text(text)) if !text.trim().is_empty() => {
                add(extra, name, text.trim(), found);
            }
            (Ok(()), Value::Text(_) | Value::Absent) => {}
            (Ok(()), Value::Unfit(kind)) => found.push(
                Some(format!("extra.{name}")),
                format!(
                    "expected a text or a number, found {kind} ({})",
                    quoted(raw)
                ),
            ),
        },
    );
    if outcome.is_err() {
        found.push(
            Some("extra".to_owned()),
            format!("expected a JSON object of texts, found {}", quoted(cell)),
        );
    }
}

fn add(extra: &mut Vec<(String, String)>, name: &str, cell: &str, found: &mut Findings) {
    let column = format!("extra.{name}");
    let own = folded(name);
    if extra.iter().any(|(present, _)| folded(present) == own) {
        found.push(
            Some(column),
            format!("stands twice in the row ({})", quoted(cell)),
        );
        return;
    }
    let text = one_line(cell);
    found.printable(&column, &text);
    extra.push((name.to_owned(), text.into_owned()));
}
