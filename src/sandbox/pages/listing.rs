//! `GET /sandbox/ledger`: the books as JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::sandbox::books::documents::Document;
use crate::sandbox::gateway::Gateway;

#[derive(Serialize)]
struct Listing<'a> {
    identity: &'a str,
    executed_once: u64,
    executed_more: u64,
    never_executed: u64,
    pending: u64,
    altered: u64,
    posts: u64,
    amounts: BTreeMap<&'static str, String>,
    services: BTreeMap<String, Float>,
    document_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<BTreeMap<Arc<str>, Document>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    identifiers: Option<BTreeMap<Arc<str>, Row>>,
}

#[derive(Serialize)]
struct Float {
    currency: &'static str,
    /// What is in the account.
    float: String,
    /// How much of it is promised to accepted payments.
    reserved: String,
    /// What is left for further payments.
    available: String,
    accepted: u64,
    short: bool,
}

#[derive(Serialize)]
struct Row {
    executions: u32,
    status: &'static str,
    status_code: u16,
    amount: Option<String>,
    currency: Option<&'static str>,
    service_code: Option<Arc<str>>,
    posts: u32,
    altered: bool,
}

/// Renders the books; the identifiers are left out of a summary.
pub(in crate::sandbox) fn render(gateway: &Gateway, summary: bool) -> String {
    let (verdict, floats, executions, document_count, documents) = {
        let ledger = &gateway.book().ledger;
        let documents = || {
            let documents = ledger.documents.iter();
            documents.map(|(id, document)| (id.clone(), document.clone()))
        };
        (
            ledger.verdict(),
            ledger.floats(),
            (!summary).then(|| ledger.executions()),
            ledger.documents.count(),
            (!summary).then(|| documents().collect()),
        )
    };
    let listing = Listing {
        identity: &gateway.identity,
        executed_once: verdict.executed_once,
        executed_more: verdict.executed_more,
        never_executed: verdict.never_executed,
        pending: verdict.pending,
        altered: verdict.altered,
        posts: verdict.posts,
        amounts: verdict.amounts.decimals(),
        services: floats
            .into_iter()
            .map(|account| {
                let float = Float {
                    currency: account.currency.code(),
                    float: account.balance,
                    reserved: account.reserved,
                    available: account.available,
                    accepted: account.accepted,
                    short: account.short,
                };
                (account.service, float)
            })
            .collect(),
        document_count,
        documents,
        identifiers: executions.map(|rows| {
            rows.into_iter()
                .map(|row| {
                    let rendered = Row {
                        executions: row.executions,
                        status: row.standing.name(),
                        status_code: row.standing.code(),
                        amount: row.money.map(|money| money.to_string()),
                        currency: row.money.map(|money| money.currency.code()),
                        service_code: row.service,
                        posts: row.posts,
                        altered: row.altered,
                    };
                    (row.id, rendered)
                })
                .collect()
        }),
    };
    serde_json::to_string(&listing).expect("texts and numbers always have a JSON form")
}
