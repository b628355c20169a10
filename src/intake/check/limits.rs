//! What a row may pay by itself, and whom.

use crate::domain::{Money, PaymentKind};
use crate::ledger::likeness::of_account;
use crate::ledger::limits::Reason;
use crate::ledger::limits::judge::listed_out;

use super::super::columns::Field;
use super::super::rules::Rules;
use super::findings::Findings;
use super::recipient::Recipient;
use super::service::Service;

/// Refuses a row that could never leave. What an earlier journal may have posted is loaded all the same: it waits where it would
/// be posted.
pub(super) fn check(
    rules: &Rules,
    service: Option<&Service>,
    money: Option<Money>,
    recipient: &Recipient,
    found: &mut Findings,
) {
    let (Some(limits), Some(service)) = (&rules.limits, service) else {
        return;
    };
    if rules.presumes_posted {
        return;
    }
    if let Some(Money { amount, currency }) = money
        && let Some(most) = limits.ceiling(Reason::Payment, &service.code, currency)
        && amount > most.money.amount
    {
        let key = most.key;
        let most = most.money;
        let money = Money { amount, currency };
        found.add(
            Field::Amount,
            format!("expected at most {most} {currency} ({key}), found {money}"),
        );
    }
    let Some(msisdn) = recipient.msisdn else {
        return;
    };
    let account = match recipient.account_number.as_str() {
        "" => msisdn.as_str(),
        account => account,
    };
    let payee = of_account(account);
    let field = match service.kind() {
        Some(PaymentKind::Bank | PaymentKind::Rtgs) => Field::BankAccountNumber,
        _ if account == msisdn.as_str() => Field::Msisdn,
        _ => Field::AccountNumber,
    };
    match listed_out(limits, &payee, msisdn.as_str()) {
        Some(Reason::Denied) => {
            let named = limits.deny.as_ref().is_some_and(|list| list.has(&payee));
            let field = if named { field } else { Field::Msisdn };
            let message = "the list limits.deny says that this recipient is not paid";
            found.add(field, message.to_owned());
        }
        Some(_) => {
            let message = "the list limits.allow does not name this recipient";
            found.add(field, message.to_owned());
        }
        None => {}
    }
}
