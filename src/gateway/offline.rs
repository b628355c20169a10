//! The reading of replies without a connection: the bytes come from a test or from a fuzzer.

use std::time::Duration;

use super::classify;
use super::operations::{
    AccountAnswer, BillAnswer, BillInquiry, FloatBalance, NetworkOf, OperationError, Uploaded,
};
use super::payments::{accounts, float};
use super::port::Reply;
use super::scrub::{Scrub, Secrets};
use super::services::token::Bearer;
use super::services::{documents, lookup, token};
use super::transport::channel::Answer;
use super::transport::endpoint::body;
use super::wire::{decimal, in_our_words, read_lookup, text};
use crate::dialect::Dialect;
use crate::domain::{Currency, PayerTransactionId, ServiceCode};
use crate::lifecycle::CodeTable;

pub(crate) use super::classify::Question;

fn scrub(password: &str) -> Scrub {
    Secrets::new("acme", password).scrub()
}

fn answer(status: u16, bytes: &[u8]) -> Answer {
    Answer {
        status,
        retry_after: Some(Duration::from_secs(9)),
        body: Ok(bytes.to_vec()),
    }
}

/// The same on the payment path, in the document's words.
fn answer_in(dialect: &Dialect, status: u16, bytes: &[u8]) -> Answer {
    answer(status, &in_our_words(bytes, &dialect.names))
}

/// Reads the reply to a post or to a status query, the password left out of its texts.
pub(crate) fn reply(
    dialect: &Dialect,
    not_found_words_count: bool,
    question: Question,
    ids: &[PayerTransactionId],
    status: u16,
    bytes: &[u8],
    password: &str,
) -> Reply {
    let response = classify::Response {
        status,
        retry_after: Some(Duration::from_secs(9)),
        body: Ok(&in_our_words(bytes, &dialect.names)),
        scrub: &scrub(password),
        replies: &dialect.replies,
        not_found_words_count,
    };
    classify::classify(question, ids, &response, &CodeTable::default())
}

/// Reads the reply to a question about bills.
pub(crate) fn bills(
    dialect: &Dialect,
    inquiries: &[BillInquiry],
    status: u16,
    bytes: &[u8],
    password: &str,
) -> Result<Vec<BillAnswer>, OperationError> {
    let replies = &dialect.replies;
    let entries = accounts::judged(
        &answer_in(dialect, status, bytes),
        &scrub(password),
        replies,
        accounts::read,
    )?;
    let answers = inquiries
        .iter()
        .map(|inquiry| accounts::answer(inquiry, inquiries, &entries, replies));
    Ok(answers.collect())
}

/// Reads the reply to a question about an account.
pub(crate) fn account(
    dialect: &Dialect,
    service: &ServiceCode,
    number: &str,
    status: u16,
    bytes: &[u8],
    password: &str,
) -> Result<AccountAnswer, OperationError> {
    let replies = &dialect.replies;
    let entries = accounts::judged(
        &answer_in(dialect, status, bytes),
        &scrub(password),
        replies,
        accounts::read,
    )?;
    accounts::validated(service, number, &entries, replies)
}

/// Reads the reply to a question about a float.
pub(crate) fn float(
    dialect: &Dialect,
    service: &ServiceCode,
    status: u16,
    bytes: &[u8],
    password: &str,
) -> Result<Option<FloatBalance>, OperationError> {
    let replies = &dialect.replies;
    let entries = accounts::judged(
        &answer_in(dialect, status, bytes),
        &scrub(password),
        replies,
        float::read,
    )?;
    Ok(float::balance(service, &entries))
}

/// Reads the reply of the network lookup; `None` when the token has expired.
pub(crate) fn lookup(
    status: u16,
    bytes: &[u8],
    password: &str,
) -> Result<Option<NetworkOf>, OperationError> {
    let answer = answer(status, bytes);
    let found = lookup::judged(&answer, read_lookup(body(&answer), &scrub(password)))?;
    Ok(match found {
        lookup::Found::Network(network) => Some(network),
        lookup::Found::Expired(_) => None,
    })
}

/// Reads the reply of the token endpoint.
pub(crate) fn token(status: u16, bytes: &[u8], password: &str) -> Result<Bearer, OperationError> {
    token::read(&answer(status, bytes), password)
}

/// Reads the reply of the file service.
pub(crate) fn upload(
    dialect: &Dialect,
    id: &PayerTransactionId,
    status: u16,
    bytes: &[u8],
    password: &str,
) -> Result<Uploaded, OperationError> {
    let replies = &dialect.replies;
    documents::judged(id, &answer(status, bytes), &scrub(password), replies)
}

/// Reads an amount of a reply.
pub(crate) fn minor_units(digits: &str, currency: Currency) -> Option<i64> {
    decimal::minor_units(digits, currency)
}

/// Makes a text of the gateway's fit to keep and to show.
pub(crate) fn clean(words: &str) -> String {
    text::clean(words)
}

/// The same for a longer text.
pub(crate) fn printable(words: &str, bytes_max: usize) -> String {
    text::printable(words, bytes_max)
}
