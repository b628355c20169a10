//! What the gateway says of a payment, and which of its words are kept.

use crate::domain::ResponseDetails;
use crate::lifecycle::{Class, Event, State};

/// What the gateway said of a payment. A text that is empty was not said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Words<'a> {
    /// `gatewayTransactionID`.
    pub gateway_transaction_id: Option<&'a str>,
    /// `receiptNumber`.
    pub receipt_number: Option<&'a str>,
    /// `receiverNarration`.
    pub receiver_narration: Option<&'a str>,
    /// `statusDescription`.
    pub description: Option<&'a str>,
}

impl<'a> Words<'a> {
    /// Returns the words of a reply.
    #[must_use]
    pub fn of(said: &'a ResponseDetails) -> Self {
        fn full(text: &str) -> Option<&str> {
            Some(text).filter(|text| !text.is_empty())
        }
        Self {
            gateway_transaction_id: said.gateway_transaction_id.as_ref().map(|id| id.as_str()),
            receipt_number: said.receipt_number.as_deref().and_then(full),
            receiver_narration: said.receiver_narration.as_deref().and_then(full),
            description: full(&said.description),
        }
    }

    /// Returns whether anything was said.
    #[must_use]
    pub fn are_some(self) -> bool {
        self.all().iter().any(Option::is_some)
    }

    /// In the order in which they are hashed.
    #[must_use]
    pub fn all(self) -> [Option<&'a str>; 4] {
        [
            self.gateway_transaction_id,
            self.receipt_number,
            self.receiver_narration,
            self.description,
        ]
    }
}

/// How the words are kept that came with an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keeping {
    /// The payment had ended before: they fill gaps, and replace nothing.
    // A reply of "pending" that its own callback overtook would else describe a payment that is paid.
    pub fills_gaps: bool,
    /// They tell of a delivery to the bank: their receipt is the application id, the first one for good.
    pub is_delivery: bool,
}

/// Returns how the words are kept that came with an event, which brought a payment from one state to another.
#[must_use]
pub fn keeping(event: Event, from: State, to: State) -> Keeping {
    Keeping {
        fills_gaps: from == to && from.is_finished(),
        is_delivery: matches!(
            event,
            Event::Reply(meaning) | Event::Answer(meaning) | Event::Callback(meaning)
                if meaning.class == Class::Delivered
        ),
    }
}
