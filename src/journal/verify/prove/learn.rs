//! What one row of evidence adds to a payment.

use serde_json::Value;

use crate::domain::Timestamp;
use crate::journal::Error;
use crate::ledger::evidence::{Standing, WORDS};
use crate::lifecycle::{Policy, RecordedEvent};

/// Learns one more row of evidence, as it is stored.
pub(super) fn learn(
    standing: &mut Standing,
    fact: RecordedEvent,
    at: i64,
    detail: Option<&str>,
    words: [Option<String>; 4],
    policy: &Policy,
) -> Result<(), Error> {
    match fact {
        RecordedEvent::Stood(_) => *standing = Standing::of_detail(detail)?,
        fact => standing.learn(fact, Timestamp::from_millis(at), words, policy),
    }
    Ok(())
}

/// What the gateway said, in the order of [`WORDS`]: what the columns of evidence have, or its detail, where earlier versions kept it.
pub(super) fn said_in(words: [Option<String>; 4], detail: Option<&str>) -> [Option<String>; 4] {
    if words.iter().any(Option::is_some) {
        return words;
    }
    let detail: Value = detail
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    WORDS.map(|name| detail[name].as_str().map(str::to_owned))
}

pub(super) fn word(detail: Option<&str>, name: &str) -> Option<String> {
    let detail: Value = serde_json::from_str(detail?).ok()?;
    detail[name].as_str().map(str::to_owned)
}
