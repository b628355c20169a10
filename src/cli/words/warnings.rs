//! What a person must look at in a batch, beside the table of its states: rows that may be paid twice, payments that the gateway
//! named otherwise.

use serde_json::{Value, json};

use crate::cli::session::Commands;
use crate::cli::terminal::output;
use crate::domain::{BatchName, PayerTransactionId};
use crate::journal::{Standing, Undecided};
use crate::ledger::generations::PaidTwice;
use crate::lifecycle::State;

/// Returns a row that is paid twice, for programs.
pub(in crate::cli) fn paid_twice_json(row: &PaidTwice) -> Value {
    let mut value = json!({
        "line": row.line,
        "reference": row.reference.as_ref().map(|reference| reference.as_str()),
        "payer_transaction_ids": row.ids.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
        "amount": row.money.to_string(),
        "currency_code": row.money.currency.code(),
        "surplus": row.surplus(),
        "certain": row.certain,
    });
    if !row.batches.is_empty() {
        value["batches"] = json!(row.batches);
    }
    value
}

/// Returns a payment that may be paid twice, for programs.
pub(in crate::cli) fn undecided_json(one: &Undecided) -> Value {
    json!({
        "payer_transaction_id": one.id.as_str(),
        "state": one.state.name(),
        "newest": one.newest.as_str(),
        "newest_state": one.newest_state.name(),
    })
}

/// Tells of rows of which nobody knows yet whether they are paid twice.
pub(in crate::cli) fn undecided_texts(commands: Commands<'_>, standing: &Standing) -> Vec<String> {
    let named = standing.undecided.iter().map(|one| {
        let later = format!(
            "{}, a later payment of the same row, is {}",
            one.newest,
            one.newest_state.in_words()
        );
        match one.state {
            State::Paid => format!(
                "payment {} is paid, and {later}: it may be paid as well. Ask the gateway's people to stop it",
                one.id
            ),
            _ => format!(
                "payment {} is in conflict: it may have been paid, and {later}. Do not pay the row in any other way until it is decided: {} \
                 --paid, or --failed, with --reason TEXT --evidence TEXT",
                one.id,
                commands.resolve(one.id)
            ),
        }
    });
    let mut texts: Vec<String> = named.collect();
    let more = standing.undecided_count.saturating_sub(texts.len() as u64);
    if more > 0 {
        texts.push(format!(
            "{} more like these: disburse report {batch} --out reports/{batch} lists them all",
            output::counted(more, "payment"),
            batch = commands.batch
        ));
    }
    texts
}

/// Tells of how many payments the gateway named what is not ours.
pub(in crate::cli) fn named_otherwise_text(
    batch: &BatchName,
    standing: &Standing,
    first: Option<PayerTransactionId>,
) -> String {
    let count = output::counted(standing.named_otherwise, "payment");
    let example = match first {
        Some(id) if standing.named_otherwise > 1 => {
            format!(", the first of them: disburse explain {batch} --id {id}")
        }
        Some(id) => format!(": disburse explain {batch} --id {id}"),
        None => String::new(),
    };
    format!(
        "{count} for which the gateway named another amount, currency, number or payment; its answer was not believed{example}"
    )
}
