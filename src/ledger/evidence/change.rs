//! What evidence makes of a payment: all that is to be written.

use super::words::Words;
use crate::ledger::HeldFor;
use crate::lifecycle::{Event, PaymentState};

/// Whether the words of the gateway are about the payment whose identifier they name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heard {
    /// There were no words.
    #[default]
    Nothing,
    /// They name neither an amount nor a number that can be read.
    Unnamed,
    /// They name our amount or number, and nothing that is not ours.
    Ours,
    /// They name another amount, currency or number: nothing was believed.
    Other,
    /// The gateway had the identifier before our first post.
    Taken,
}

/// What evidence makes of a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// Where it stands now.
    pub life: PaymentState,
    /// Whether that is to be written.
    pub is_written: bool,
    /// It has ended by this: the time is kept.
    pub ends: bool,
    /// It was acknowledged to its post: a run remembers by itself when to ask about it.
    pub waits_aside: bool,
    /// Words that are kept of it.
    pub told: Option<Told<'a>>,
    /// Whom the words are about.
    pub heard: Heard,
    /// Lanes that are held for this are opened.
    pub opens: Option<HeldFor>,
    /// What is recorded, in this order.
    pub rows: [Option<Row>; 3],
}

impl Change<'_> {
    /// Returns what the gateway named of the payment that is not ours, for people.
    #[must_use]
    pub fn named_otherwise(&self) -> Option<&str> {
        let mut rows = self.rows.iter().flatten();
        let other = rows.find(|row| matches!(row.kind, Kind::Other(_)))?;
        other.note.as_deref()
    }
}

/// Words that are kept of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told<'a> {
    /// What was said, without what stands for nothing.
    pub words: Words<'a>,
    /// They replace nothing.
    pub fill_gaps: bool,
    /// The receipt of a delivery to the bank, which replaces none.
    pub application_id: Option<&'a str>,
}

/// One row of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What is recorded.
    pub kind: Kind,
    /// What did not fit.
    pub note: Option<String>,
    /// It is what was heard itself: words, detail and digest stand with it.
    pub has_words: bool,
}

/// What a row of evidence records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An event.
    Event(Event),
    /// Words about another payment under this identifier.
    Other(Event),
    /// A genuine callback that nobody can read.
    Unread,
}

impl Kind {
    /// Returns whether the waits of a policy enter into what it makes of the payment.
    #[must_use]
    pub fn rests_on_policy(self) -> bool {
        !matches!(self, Self::Other(Event::Callback(_)) | Self::Unread)
    }
}
