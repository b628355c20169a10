//! What is on record of a payment, in words.

use crate::cli::terminal::output;
use crate::domain::Electricity;
use crate::journal::HistoryEntry;
use crate::lifecycle::{CodeMeaning as Said, Event};
use crate::report::{StateName, meaning_behind};

/// One row, as it is explained to a person.
#[derive(Debug, Default)]
pub(in crate::cli) struct Explained {
    /// What it is.
    pub(in crate::cli) heading: String,
    /// Where it stands, and what is next: lines that begin with blanks, as they are printed.
    pub(in crate::cli) standing: Vec<String>,
    /// What happened, oldest first; such lines, too.
    pub(in crate::cli) history: Vec<String>,
}

impl Explained {
    /// Adds what a journal has to say of it that may have missed something.
    pub(in crate::cli) fn missed(mut self, state: StateName) -> Self {
        let text = meaning_behind(state).map(|text| format!("  {text}"));
        self.standing.extend(text);
        self
    }

    /// Prints it.
    pub(in crate::cli) fn print(&self) {
        output::line(&self.heading);
        let lines = self.standing.iter().chain(&self.history);
        lines.for_each(|line| output::line(line));
    }
}

/// Returns what was said under this name, hidden where it is, or holds, a bearer value.
pub(in crate::cli) fn text(name: &str, value: &str, reveal: bool) -> String {
    // A body that could not be read may hold one wherever it likes.
    let bearer =
        matches!(name, "receiver_narration" | "body") || Electricity::read(value).is_some();
    if bearer && !reveal && !value.is_empty() {
        HIDDEN.to_owned()
    } else {
        value.to_owned()
    }
}

/// Returns what an entry is to a person; programs have its name.
pub(in crate::cli) fn in_words(kind: &'static str) -> &'static str {
    match kind {
        // It is on disk before the first byte leaves: what came of that is said next, or is not known.
        "intent recorded" => "handed out for sending",
        "withdrawn" => "cancelled",
        kind => kind,
    }
}

pub(in crate::cli) fn sentence(entry: &HistoryEntry, reveal: bool) -> String {
    let mut text = in_words(entry.kind).to_owned();
    match entry.event {
        Some(
            Event::Reply(Said { code, .. })
            | Event::Answer(Said { code, .. })
            | Event::Callback(Said { code, .. }),
        ) => {
            text.push_str(&format!(": {code}"));
        }
        Some(Event::DecidedPaid) => text.push_str(": paid"),
        Some(Event::DecidedFailed) => text.push_str(": failed"),
        _ => {}
    }
    for (name, value) in visible(entry, reveal) {
        text.push_str(&format!(", {name} {value:?}"));
    }
    if let Some(anomaly) = &entry.anomaly {
        text.push_str(&format!("  ! {anomaly}"));
    }
    text
}

/// What was said.
pub(in crate::cli) fn visible(entry: &HistoryEntry, reveal: bool) -> Vec<(String, String)> {
    let detail = entry
        .detail
        .as_deref()
        .and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    let Some(serde_json::Value::Object(members)) = detail else {
        return Vec::new();
    };
    members
        .into_iter()
        .map(|(name, value)| {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let value = text(&name, &value, reveal);
            (name, value)
        })
        .collect()
}

/// Stands for what is not shown.
pub(in crate::cli) const HIDDEN: &str = "***";
