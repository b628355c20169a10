//! What an order comes to, as a person is told.

use crate::cli::commands::status;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::journal::Standing;
use crate::lifecycle::State;
use crate::report::StateName;

/// Returns `2 paid, 1 cancelled`.
pub(in crate::cli) fn states(standing: &Standing) -> String {
    let counted = State::ALL
        .into_iter()
        .map(|state| (status::words(state), standing.of(state).count));
    let parts: Vec<String> = counted
        .chain([
            (StateName::Rejected.in_words(), standing.rejected.count),
            (StateName::Withdrawn.in_words(), standing.withdrawn.count),
            (StateName::Skipped.in_words(), standing.skipped),
            (StateName::Unpriced.in_words(), standing.unpriced),
        ])
        .filter(|(_, count)| *count > 0)
        .map(|(state, count)| format!("{} {state}", output::grouped(&count.to_string())))
        .collect();
    parts.join(", ")
}

pub(in crate::cli) fn tell(session: &Session, value: serde_json::Value, text: &str) {
    if session.common.json {
        output::json(&value)
    } else {
        output::line(text)
    }
}
