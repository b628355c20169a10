//! Bills and accounts, asked for on the payment path (sections 1 and 4.2).

use super::http::{EXPIRED_AGAIN, ExchangeError, HttpGateway};
use crate::dialect::{Operation, Replies};
use crate::domain::{Amount, Currency, Money, ServiceCode};
use crate::gateway::operations::{AccountAnswer, Bill, BillAnswer, BillInquiry, OperationError};
use crate::gateway::scrub::Scrub;
use crate::gateway::transport::channel::Answer;
use crate::gateway::transport::endpoint::{Place, body};
use crate::gateway::transport::failure::Failure;
use crate::gateway::wire::decimal::minor_units;
use crate::gateway::wire::text::clean;
use crate::gateway::wire::{AccountEntry, AccountReply, Body, Status, Unreadable, read_accounts};

const PLACE: Place = Place {
    name: "the payment gateway",
    key: "base_url and payment_path",
    section: "4.2",
};

impl HttpGateway {
    /// Asks for bills in one request (`GATEWAY.queryBill`). The answers come in the order of the inquiries.
    ///
    /// # Errors
    /// No answer about any of the bills. What is wrong with one of them alone is its [`BillAnswer`].
    pub async fn bills(
        &self,
        inquiries: &[BillInquiry],
    ) -> Result<Vec<BillAnswer>, OperationError> {
        if inquiries.is_empty() {
            return Ok(Vec::new());
        }
        self.offered(Operation::Bill)?;
        let entries = self
            .operate(|| self.requests.bills(inquiries), read)
            .await?;
        let answers = inquiries
            .iter()
            .map(|inquiry| answer(inquiry, inquiries, &entries, &self.dialect.replies));
        Ok(answers.collect())
    }

    /// Asks whether an account exists (`GATEWAY.validateAccount`).
    ///
    /// # Errors
    /// No answer, or one that says neither yes nor no.
    pub async fn account(
        &self,
        service: &ServiceCode,
        account_number: &str,
    ) -> Result<AccountAnswer, OperationError> {
        self.offered(Operation::Account)?;
        let entries = self
            .operate(|| self.requests.account(service, account_number), read)
            .await?;
        validated(service, account_number, &entries, &self.dialect.replies)
    }

    /// Refuses a question that this gateway has no operation for.
    pub(in crate::gateway) fn offered(&self, operation: Operation) -> Result<(), OperationError> {
        match self.dialect.lacks(operation) {
            Some(name) => Err(OperationError::NotOffered(name)),
            None => Ok(()),
        }
    }

    /// Asks a question on the payment path, and reads its reply.
    pub(in crate::gateway) async fn operate<T>(
        &self,
        request: impl Fn() -> Body,
        read: impl FnOnce(&[u8], &Scrub) -> Result<(Option<Status>, T), Unreadable>,
    ) -> Result<T, OperationError> {
        let answer = self.inquire(request).await;
        let scrub = self.secrets().scrub();
        let answer = match answer {
            Ok(answer) => answer,
            Err(ExchangeError::NoToken(error)) => return Err(error),
            Err(ExchangeError::Failed(failure)) => return Err(PLACE.failed(failure, &scrub)),
            Err(ExchangeError::Expired {
                renewable: true, ..
            }) => {
                let failure = Failure::Lost("the token had expired".to_owned());
                return Err(PLACE.failed(failure, &scrub));
            }
            Err(ExchangeError::Expired { .. }) => {
                return Err(OperationError::Credentials {
                    section: "7.4",
                    what: EXPIRED_AGAIN.to_owned(),
                });
            }
        };
        tracing::debug!(status = answer.status, "asked the gateway beside a payment");
        judged(&answer, &scrub, &self.dialect.replies, read)
    }
}

/// Reads the entries about accounts.
pub(in crate::gateway) fn read(
    body: &[u8],
    scrub: &Scrub,
) -> Result<(Option<Status>, Vec<AccountEntry>), Unreadable> {
    let AccountReply { auth, entries } = read_accounts(body, scrub)?;
    Ok((auth, entries))
}

/// Finds what a reply says of the one account that was asked about.
pub(in crate::gateway) fn validated(
    service: &ServiceCode,
    account_number: &str,
    entries: &[AccountEntry],
    replies: &Replies,
) -> Result<AccountAnswer, OperationError> {
    // One account was asked about: an entry that names none, or no service, speaks of it all the same.
    let own: Vec<&AccountEntry> = entries
        .iter()
        .filter(|entry| {
            entry
                .account
                .as_deref()
                .is_none_or(|a| a == account_number.trim())
        })
        .filter(|entry| {
            entry
                .service
                .as_deref()
                .is_none_or(|s| s == service.as_str())
        })
        .collect();
    let entry = single(&own).map_err(|what| OperationError::Unreadable {
        section: PLACE.section,
        what: format!("{what} in the reply to GATEWAY.validateAccount"),
    })?;
    let description = entry.status.description.clone();
    match entry.status.code {
        Some(code) if replies.account_valid.contains(&code) => Ok(AccountAnswer::Valid {
            customer_name: entry.customer_name.clone(),
            description,
        }),
        Some(code) if replies.account_invalid.contains(&code) => {
            Ok(AccountAnswer::Invalid { description })
        }
        Some(code) if replies.account_unavailable.contains(&code) => {
            Ok(AccountAnswer::Unavailable { description })
        }
        _ => Err(OperationError::Refused {
            section: PLACE.section,
            what: format!("the account cannot be validated: {}", told(&entry.status)),
        }),
    }
}

/// Judges a reply by its status and its authentication.
pub(in crate::gateway) fn judged<T>(
    answer: &Answer,
    scrub: &Scrub,
    replies: &Replies,
    read: impl FnOnce(&[u8], &Scrub) -> Result<(Option<Status>, T), Unreadable>,
) -> Result<T, OperationError> {
    if !matches!(answer.status, 200..=299 | 400..=499) || matches!(answer.status, 408 | 429) {
        return Err(PLACE.unusable(answer, ""));
    }
    let (auth, content) = match read(body(answer), scrub) {
        Ok(read) => read,
        Err(_) if answer.status >= 400 => return Err(PLACE.unusable(answer, "")),
        Err(error) => {
            let cause = match &answer.body {
                Err(broken) => broken.to_string(),
                Ok(_) => error.to_string(),
            };
            return Err(PLACE.unusable(answer, &cause));
        }
    };
    let Some(auth) = auth else {
        return match answer.status {
            401 | 403 | 404 | 405 => Err(PLACE.unusable(answer, "")),
            _ => Ok(content),
        };
    };
    let said = |code| match auth.description.as_str() {
        "" => format!("authStatusCode {code}"),
        description => format!("authStatusCode {code}: {description}"),
    };
    match auth.code {
        Some(code) if replies.authenticated.contains(&code) => Ok(content),
        Some(code) if replies.not_authenticated.contains(&code) => {
            Err(OperationError::Credentials {
                section: "5",
                what: format!(
                    "{}; check username and password before another attempt",
                    said(code)
                ),
            })
        }
        Some(code) => Err(OperationError::Refused {
            section: "5",
            what: said(code),
        }),
        None => Err(OperationError::Unreadable {
            section: "2.4",
            what: "a reply without a readable authStatusCode".to_owned(),
        }),
    }
}

/// Finds the entry about one bill by its account, and by its service when the entry names it; never by position.
pub(in crate::gateway) fn answer(
    inquiry: &BillInquiry,
    all: &[BillInquiry],
    entries: &[AccountEntry],
    replies: &Replies,
) -> BillAnswer {
    let account = inquiry.account_number.trim();
    // An entry without a service is about this bill only if no other service was asked for the same account.
    let alone = all
        .iter()
        .filter(|other| other.account_number.trim() == account)
        .all(|other| other.service == inquiry.service);
    let mut own = Vec::new();
    for entry in entries {
        if entry.account.as_deref() != Some(account) {
            continue;
        }
        match entry.service.as_deref() {
            Some(service) if service == inquiry.service.as_str() => own.push(entry),
            Some(_) => {}
            None if alone => own.push(entry),
            None => {
                return BillAnswer::Unknown(
                    "an entry about this account number does not say of which service".to_owned(),
                );
            }
        }
    }
    match single(&own) {
        Ok(entry) => judge(entry, replies),
        Err(what) => BillAnswer::Unknown(format!("{what} about this account")),
    }
}

/// Returns the one thing that all entries say.
fn single<'a>(entries: &[&'a AccountEntry]) -> Result<&'a AccountEntry, &'static str> {
    match entries {
        [] => Err("no entry"),
        [first, others @ ..] if others.iter().all(|other| other == first) => Ok(*first),
        _ => Err("entries that differ"),
    }
}

fn judge(entry: &AccountEntry, replies: &Replies) -> BillAnswer {
    let description = &entry.status.description;
    match entry.status.code {
        Some(code) if replies.bill_found.contains(&code) => found(entry, code),
        Some(code) if replies.no_bill.contains(&code) => BillAnswer::None {
            code,
            description: description.clone(),
        },
        _ => BillAnswer::Unknown(told(&entry.status)),
    }
}

fn found(entry: &AccountEntry, code_of_bill: i32) -> BillAnswer {
    let unknown = |what: String| BillAnswer::Unknown(format!("a bill ({code_of_bill}) {what}"));
    let code = entry.currency.as_deref().unwrap_or("");
    let Some(currency) = Currency::from_code(&code.to_ascii_uppercase()) else {
        return unknown(match code {
            "" => "without a currency".to_owned(),
            code => format!("whose currency is {:?}", clean(code)),
        });
    };
    let Some(text) = entry.due.as_deref() else {
        return unknown("without a dueAmount".to_owned());
    };
    let Some(minor) = minor_units(text, currency) else {
        return unknown(format!(
            "whose dueAmount is no amount of {currency}: {text:?}"
        ));
    };
    match Amount::from_minor(minor) {
        Some(amount) => BillAnswer::Due(Bill {
            due: Money { amount, currency },
            due_date: entry.due_date.clone(),
            customer_name: entry.customer_name.clone(),
        }),
        None => BillAnswer::None {
            code: code_of_bill,
            description: format!("nothing is due: dueAmount {text}"),
        },
    }
}

fn told(status: &Status) -> String {
    match (status.code, status.description.as_str()) {
        (None, _) => "an entry without a readable statusCode".to_owned(),
        (Some(code), description) => {
            let means = meaning(code).map_or_else(String::new, |means| format!(", {means}"));
            match description {
                "" => format!("statusCode {code}{means}"),
                description => format!("statusCode {code}{means}: {description}"),
            }
        }
    }
}

/// Returns what a code that is no answer about an account means (section 7.2).
fn meaning(code: i32) -> Option<&'static str> {
    match code {
        104 | 174 => Some("the gateway failed to answer; ask again later"),
        106 => Some("the service is inactive"),
        167 => Some("the gateway does not know the service"),
        _ => None,
    }
}
