//! How many callbacks came, by what became of them.

use std::sync::atomic::{AtomicU64, Ordering};

use hyper::StatusCode;

use crate::server::Reply;

/// What became of a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackOutcome {
    /// It moved a payment.
    Moved,
    /// It is stored, and moved nothing.
    Stored,
    /// It was stored before.
    Repeat,
    /// It changes nothing, and there are too many like it to keep another one.
    TooMany,
    /// Its address is of no payment of this journal.
    Unknown,
    /// It lacks the secret or the signature.
    Unproven,
    /// It could not be read: too long, too slow, or broken off.
    Unread,
    /// It could not be stored; the gateway is to send it again.
    Refused,
}

impl CallbackOutcome {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Moved,
        Self::Stored,
        Self::Repeat,
        Self::TooMany,
        Self::Unknown,
        Self::Unproven,
        Self::Unread,
        Self::Refused,
    ];

    /// Returns its name, as metrics have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::Stored => "stored",
            Self::Repeat => "repeat",
            Self::TooMany => "too_many",
            Self::Unknown => "unknown",
            Self::Unproven => "unproven",
            Self::Unread => "unread",
            Self::Refused => "refused",
        }
    }

    /// Returns what an answer says; what was stored says so itself.
    fn of(reply: &Reply) -> Self {
        match reply.status() {
            StatusCode::NOT_FOUND => Self::Unknown,
            StatusCode::UNAUTHORIZED => Self::Unproven,
            // That it came is kept, too; nothing of it was read.
            StatusCode::PAYLOAD_TOO_LARGE
            | StatusCode::BAD_REQUEST
            | StatusCode::REQUEST_TIMEOUT => Self::Unread,
            StatusCode::SERVICE_UNAVAILABLE => Self::Refused,
            _ => reply.extensions().get().copied().unwrap_or(Self::Stored),
        }
    }
}

/// How many there were of each.
#[derive(Debug, Default)]
pub struct Counts([AtomicU64; CallbackOutcome::ALL.len()]);

impl Counts {
    /// Counts an answer.
    pub(super) fn answered(&self, reply: &Reply) {
        self.0[CallbackOutcome::of(reply) as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many came to this.
    #[must_use]
    pub fn of(&self, outcome: CallbackOutcome) -> u64 {
        self.0[outcome as usize].load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::empty;

    #[test]
    fn an_answer_says_what_became_of_the_callback() {
        use CallbackOutcome::{Moved, Refused, Stored, Unknown, Unproven, Unread};
        let counts = Counts::default();
        for (status, told, expected) in [
            (200, Some(Moved), Moved),
            (200, None, Stored),
            (404, None, Unknown),
            (401, None, Unproven),
            // That it came is stored, and the gateway must not take it for acknowledged.
            (413, Some(Stored), Unread),
            (400, None, Unread),
            (408, None, Unread),
            (503, None, Refused),
        ] {
            let mut reply = empty(StatusCode::from_u16(status).unwrap());
            if let Some(told) = told {
                reply.extensions_mut().insert(told);
            }
            let before = counts.of(expected);
            counts.answered(&reply);
            assert_eq!(counts.of(expected), before + 1, "{status}");
        }
        let names: std::collections::BTreeSet<_> = CallbackOutcome::ALL
            .iter()
            .map(|each| each.name())
            .collect();
        assert_eq!(names.len(), CallbackOutcome::ALL.len());
    }
}
