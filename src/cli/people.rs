//! Who loaded, ran and decided, beside what became of a payment.

use serde_json::{Value, json};

use super::explain::sentence;
use super::output;
use crate::domain::PayerTransactionId;
use crate::journal::{ActRecord, TrailEntry};

/// Acts upon the whole batch that are shown beside one payment, of the oldest and of the latest.
const SHOWN: usize = 20;

/// Returns what was done to the payment, and to the whole batch that it is in.
pub(super) fn about(acts: &[ActRecord], id: PayerTransactionId) -> Vec<&ActRecord> {
    let of_another = |act: &ActRecord| match (act.act.as_str(), &act.about) {
        ("resolve" | "cancel", Some(about)) => about != id.as_str(),
        _ => false,
    };
    acts.iter().filter(|act| !of_another(act)).collect()
}

/// Prints the trail of a payment with the acts at their times.
pub(super) fn print(acts: &[&ActRecord], trail: &[TrailEntry], reveal: bool) {
    let mut trail = trail.iter().peekable();
    let left_out = acts.len().saturating_sub(2 * SHOWN);
    for (index, act) in acts.iter().enumerate() {
        while let Some(entry) = trail.next_if(|entry| entry.at < act.at) {
            entry_line(entry, reveal);
        }
        if left_out > 0 && index == SHOWN {
            output::line(&format!(
                "  … and {}",
                output::counted(left_out as u64, "more order")
            ));
        }
        if left_out == 0 || index < SHOWN || index >= acts.len() - SHOWN {
            output::line(&format!("  {}  {}", act.at, text(act)));
        }
    }
    trail.for_each(|entry| entry_line(entry, reveal));
}

fn entry_line(entry: &TrailEntry, reveal: bool) {
    output::line(&format!("  {}  {}", entry.at, sentence(entry, reveal)));
}

/// Returns what somebody did, for a person.
fn text(act: &ActRecord) -> String {
    let said = match &act.about {
        Some(about) => format!("{} {about:?}: by {}", act.act, act.by),
        None => format!("{}: by {}", act.act, act.by),
    };
    match &act.reason {
        Some(reason) => format!("{said}, reason {reason:?}"),
        None => said,
    }
}

/// Returns who did what, for programs.
pub(super) fn to_json(acts: &[&ActRecord]) -> Vec<Value> {
    acts.iter()
        .map(|act| {
            json!({
                "at": act.at.to_string(),
                "act": act.act,
                "about": act.about,
                "reason": act.reason,
                "user": act.by.user(),
                "host": act.by.host(),
                "sudo_of": act.by.sudo_of(),
            })
        })
        .collect()
}
