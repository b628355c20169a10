//! Replies around the payments: bills, accounts, floats, lookups, tokens, uploads.

use serde_json::Value;

use super::dialects::{Spoken, spoken};
use super::replies::{PASSWORD, assert_words, code, value};
use crate::domain::{Country, Msisdn, PayerTransactionId, ServiceCode};
use crate::gateway::{
    AccountAnswer, BillAnswer, BillInquiry, LookupInquiry, OperationError, offline,
};

const ACCOUNT: &str = "0099887766";
const OTHER: &str = "1122334455";

/// What is answered stands in the body, about what was asked; what is refused is told in one line without the password.
pub fn operation(bytes: &[u8]) {
    let (spoken, bytes) = spoken(bytes);
    let (head, body) = super::head(bytes);
    let status = head.number.unwrap_or(200);
    let service = ServiceCode::parse("WATER").unwrap();
    let failed = match head.word {
        "account" => account(&spoken, &service, status, body).err(),
        "float" => float(&spoken, &service, status, body).err(),
        "lookup" => lookup(status, body).err(),
        "token" => token(status, body).err(),
        "upload" => upload(&spoken, status, body).err(),
        _ => bill(&spoken, &service, status, body).err(),
    };
    if let Some(error) = failed {
        let text = error.to_string();
        super::assert_shown(&text, 8_192);
        // The lookup and the file service are not told the password.
        if !matches!(head.word, "lookup" | "upload") {
            assert_words(&text);
            assert!(!text.contains("hunter2%2Fgeheim"), "{text}");
        }
    } else {
        // That a token has expired, the body of a lookup says alone (131), whatever the status.
        let any = head.word == "lookup";
        assert!(
            any || matches!(status, 200..=299 | 400..=499),
            "HTTP {status}"
        );
    }
}

/// Returns the entries of a reply about accounts, whatever holds them.
fn entries<'v>(spoken: &Spoken, read: &'v Value) -> Vec<&'v Value> {
    let results = spoken.of(read, "results");
    let list = match read {
        Value::Array(_) => read,
        _ if !results.is_null() => results,
        _ => &read["data"],
    };
    match list {
        Value::Array(entries) => entries.iter().collect(),
        single => vec![single],
    }
}

fn says(spoken: &Spoken, entry: &Value, name: &str, text: &str) -> bool {
    match spoken.of(entry, name) {
        Value::String(found) => found
            .chars()
            .filter(|c| !c.is_control())
            .collect::<String>()
            .contains(text),
        _ => false,
    }
}

fn bill(
    spoken: &Spoken,
    service: &ServiceCode,
    status: u16,
    body: &[u8],
) -> Result<(), OperationError> {
    let inquiries = [ACCOUNT, OTHER].map(|account| BillInquiry {
        service: service.clone(),
        account_number: account.to_owned(),
        msisdn: Msisdn::from_digits("254712345678"),
        id: None,
        country: None,
    });
    let answers = offline::bills(spoken.dialect, &inquiries, status, body, PASSWORD)?;
    assert_eq!(answers.len(), inquiries.len());
    let read = value(body).expect("what was read is JSON");
    for (inquiry, answer) in inquiries.iter().zip(&answers) {
        let account = inquiry.account_number.as_str();
        let own = |expected: &[i32]| {
            entries(spoken, &read).into_iter().any(|entry| {
                let code = code(spoken.of(entry, "statusCode"));
                says(spoken, entry, "accountNumber", account)
                    && code.is_some_and(|code| expected.contains(&code))
            })
        };
        match answer {
            BillAnswer::Due(bill) => {
                assert!(
                    own(&spoken.dialect.replies.bill_found),
                    "nothing about {account} says that a bill was found"
                );
                assert!(bill.due.amount.minor() > 0);
                assert_words(&bill.due_date);
                assert_words(&bill.customer_name);
            }
            BillAnswer::None { code, description } => {
                assert!(own(&[*code]), "nothing about {account} says {code}");
                assert_words(description);
            }
            BillAnswer::Unknown(why) => assert_words(why),
        }
    }
    Ok(())
}

fn account(
    spoken: &Spoken,
    service: &ServiceCode,
    status: u16,
    body: &[u8],
) -> Result<(), OperationError> {
    let answer = offline::account(spoken.dialect, service, ACCOUNT, status, body, PASSWORD)?;
    let read = value(body).expect("what was read is JSON");
    let said = |expected: &[i32]| {
        entries(spoken, &read).into_iter().any(|entry| {
            let code = code(spoken.of(entry, "statusCode"));
            code.is_some_and(|code| expected.contains(&code))
        })
    };
    let replies = &spoken.dialect.replies;
    let (expected, texts) = match &answer {
        AccountAnswer::Valid {
            customer_name,
            description,
        } => (
            &replies.account_valid,
            [customer_name.as_str(), description],
        ),
        AccountAnswer::Invalid { description } => (&replies.account_invalid, ["", description]),
        AccountAnswer::Unavailable { description } => {
            (&replies.account_unavailable, ["", description])
        }
    };
    assert!(said(expected), "nothing says one of {expected:?}");
    texts.into_iter().for_each(assert_words);
    Ok(())
}

fn float(
    spoken: &Spoken,
    service: &ServiceCode,
    status: u16,
    body: &[u8],
) -> Result<(), OperationError> {
    let Some(balance) = offline::float(spoken.dialect, service, status, body, PASSWORD)? else {
        return Ok(());
    };
    assert_words(&balance.account_name);
    let read = value(body).expect("what was read is JSON");
    let digits = balance.minor.unsigned_abs().to_string();
    let written = |entry: &&Value| {
        let text = spoken.of(entry, "balance").as_str().unwrap_or_default();
        let found: String = text.chars().filter(char::is_ascii_digit).collect();
        found.trim_matches('0') == digits.trim_matches('0')
    };
    assert!(
        entries(spoken, &read).iter().any(written),
        "{} is no balance of the reply",
        balance.minor
    );
    Ok(())
}

fn lookup(status: u16, body: &[u8]) -> Result<(), OperationError> {
    let inquiry = LookupInquiry {
        country: Country::from_code("KE").unwrap(),
        number: Msisdn::from_digits("254712345678").unwrap(),
    };
    if let Some(network) = offline::lookup(status, body, PASSWORD)? {
        assert!(matches!(status, 200..=299), "HTTP {status}");
        let read = value(body).expect("what was read is JSON");
        assert!(!read["carrier"].is_null() && read["errorCode"].is_null());
        assert!(!network.carrier.is_empty());
        super::assert_shown(&network.carrier, 2_048);
        super::assert_shown(&network.time_zone, 2_048);
        assert!(!format!("{inquiry:?}").contains("254712345678"));
    }
    Ok(())
}

fn token(status: u16, body: &[u8]) -> Result<(), OperationError> {
    let bearer = offline::token(status, body, PASSWORD)?;
    assert!(matches!(status, 200..=299), "HTTP {status}");
    let read = value(body).expect("what was read is JSON");
    let text = read["access_token"].as_str().expect("a token is a text");
    assert!(!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()));
    assert_eq!(format!("{bearer:?}"), "Bearer([hidden])");
    Ok(())
}

fn upload(spoken: &Spoken, status: u16, body: &[u8]) -> Result<(), OperationError> {
    let id = PayerTransactionId::parse(super::replies::IDS[0]).unwrap();
    let uploaded = offline::upload(spoken.dialect, &id, status, body, PASSWORD)?;
    assert!(matches!(status, 200..=299), "HTTP {status}");
    super::assert_shown(&uploaded.reference, 2_048);
    super::assert_shown(&uploaded.reply, 64 * 1024);
    assert!(!uploaded.reference.is_empty());
    let own = uploaded.reference == id.as_str();
    let text = || {
        let is_it = |value: &Value| match value {
            Value::String(text) => text.trim() == uploaded.reference,
            _ => false,
        };
        // An array of one stands for its object.
        let one = |value: &Value| value.get(0).unwrap_or(value).clone();
        value(body).is_some_and(|read| {
            let read = one(&read);
            let data = one(&read["data"]);
            [&read, &data].into_iter().any(|level| {
                let named = spoken.dialect.replies.document_reference.iter();
                named
                    .map(String::as_str)
                    .chain(["reference", "documentReference", "id"])
                    .any(|name| is_it(&level[name]))
            }) || is_it(&read["data"])
        })
    };
    assert!(
        own || text(),
        "{:?} is not in the reply",
        uploaded.reference
    );
    Ok(())
}
