//! What was asked, and what a reply as a whole says to it.

use std::time::Duration;

use crate::dialect::Replies;
use crate::gateway::scrub::Scrub;
use crate::lifecycle::{CodeMeaning, CodeTable, Event};

/// A reply, as far as it came.
pub(crate) struct Response<'a> {
    /// The HTTP status.
    pub status: u16,
    /// `Retry-After`.
    pub retry_after: Option<Duration>,
    /// The body, or why there is none.
    pub body: Result<&'a [u8], String>,
    /// Leaves our secrets out of what it says.
    pub scrub: &'a Scrub,
    /// What replies say in this dialect.
    pub replies: &'a Replies,
    /// Whether the dialect's own words for "not found" count: the gateway was seen to refuse an identifier that it has.
    pub not_found_words_count: bool,
}

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// A post.
    Post,
    /// A status query.
    Status,
}

impl Question {
    /// The evidence of nothing that counts.
    pub(super) fn nothing(self) -> Event {
        match self {
            Self::Post => Event::Lost,
            Self::Status => Event::NoAnswer,
        }
    }

    pub(super) fn said(self, code: i32, codes: &CodeTable) -> Event {
        match self {
            Self::Post => Event::Reply(CodeMeaning {
                class: codes.of_post(code),
                code,
            }),
            Self::Status => Event::Answer(CodeMeaning {
                class: codes.of_status(code),
                code,
            }),
        }
    }
}

/// What the envelope as a whole says.
pub(super) enum Word {
    /// An entry about at least one of the payments counts.
    Heard,
    /// Nothing was executed: the credentials are wrong.
    NotLetIn(String),
    /// Nothing that counts, and why.
    Nothing(String),
}
