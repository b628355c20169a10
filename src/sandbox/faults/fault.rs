//! The ways to misbehave, by their names, and which of them exclude one another.

/// One way to misbehave.
///
/// The faults of one group exclude one another for one attempt; faults of different groups meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A 5xx reply to a post that did nothing.
    ErrorBefore,
    /// A 5xx reply to a post that was judged as usual.
    ErrorAfter,
    /// The connection closes without a reply; nothing was done.
    DropBefore,
    /// The connection closes without a reply; the post was judged as usual.
    DropAfter,
    /// The reply takes long.
    SlowReply,
    /// A 504 reply; the post is judged only some time later.
    LateExecution,
    /// The reply breaks off in the middle.
    TruncatedReply,
    /// The reply has no entry.
    MissingEntry,
    /// The reply has an entry for an identifier that nobody posted, and none of ours.
    ForeignEntry,
    /// A 200 reply with an HTML page.
    GarbageReply,
    /// A 429 reply to a post that did nothing.
    Throttle,
    /// The accepted payment settles as 141.
    Reject,
    /// A valid post is refused at once.
    Refuse,
    /// The callback is never sent.
    CallbackLost,
    /// The callback is sent again after it was acknowledged.
    CallbackDoubled,
    /// The callback comes before the reply to the post.
    CallbackEarly,
    /// The callback comes late.
    CallbackLate,
    /// A 5xx reply to a status query.
    QueryError,
    /// The first status query soon after the post says 143 about a payment that was accepted.
    QueryLiesNotFound,
}

/// How many faults there are.
pub(super) const COUNT: usize = 19;

impl Fault {
    /// Every fault with its name, in the order of the groups.
    pub const ALL: [(Self, &'static str); COUNT] = [
        (Self::ErrorBefore, "error_before"),
        (Self::ErrorAfter, "error_after"),
        (Self::DropBefore, "drop_before"),
        (Self::DropAfter, "drop_after"),
        (Self::SlowReply, "slow_reply"),
        (Self::LateExecution, "late_execution"),
        (Self::TruncatedReply, "truncated_reply"),
        (Self::MissingEntry, "missing_entry"),
        (Self::ForeignEntry, "foreign_entry"),
        (Self::GarbageReply, "garbage_reply"),
        (Self::Throttle, "throttle"),
        (Self::Reject, "reject"),
        (Self::Refuse, "refuse"),
        (Self::CallbackLost, "callback_lost"),
        (Self::CallbackDoubled, "callback_doubled"),
        (Self::CallbackEarly, "callback_early"),
        (Self::CallbackLate, "callback_late"),
        (Self::QueryError, "query_error"),
        (Self::QueryLiesNotFound, "query_lies_not_found"),
    ];
}

/// Faults of which at most one is drawn for an attempt.
#[derive(Clone, Copy)]
pub(super) enum Group {
    Reply,
    Outcome,
    Callback,
    Query,
}

impl Group {
    pub(super) const ALL: [Self; 4] = [Self::Reply, Self::Outcome, Self::Callback, Self::Query];

    /// The group's part of [`Fault::ALL`].
    pub(super) fn range(self) -> std::ops::Range<usize> {
        match self {
            Self::Reply => 0..11,
            Self::Outcome => 11..13,
            Self::Callback => 13..17,
            Self::Query => 17..COUNT,
        }
    }
}
