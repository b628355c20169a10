//! What was asked, and what a reply as a whole says to it.

use crate::lifecycle::{CodeMeaning, CodeTable, Event};

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
