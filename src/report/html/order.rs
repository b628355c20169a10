//! In which order the page tells of states.

use crate::report::rows::entry::StateName;

/// The order of states on the page: what ended well, what ended otherwise, what has not ended.
pub(super) const ON_PAGE: [StateName; StateName::ALL.len()] = [
    StateName::Paid,
    StateName::Failed,
    StateName::Rejected,
    StateName::Withdrawn,
    StateName::Cancelled,
    StateName::Conflict,
    StateName::InDoubt,
    StateName::Delivered,
    StateName::Acknowledged,
    StateName::Posting,
    StateName::Ready,
    StateName::Unpriced,
    StateName::Skipped,
];
