//! What reports and answers say of a row.

use crate::domain::Origin;
use crate::journal::RejectedRow;
use crate::ledger::set_aside::Withdrawal;
use crate::lifecycle::State;
use crate::report::StateName;

/// Says of a row that is not posted yet when it may be.
pub(in crate::cli) fn scheduled_note(state: State, not_before: Option<&str>) -> Option<String> {
    let not_before = not_before.filter(|text| state == State::Ready && !text.is_empty())?;
    Some(format!("not posted before {not_before}"))
}

/// Returns what the message called a rejected row that it came in.
pub(in crate::cli) fn rejected_origin(row: &RejectedRow) -> Option<Origin> {
    origin_in(&row.cells)
}

/// Returns the same out of the cells of such a row, a JSON object.
pub(in crate::cli) fn origin_in(cells: &str) -> Option<Origin> {
    let cells: serde_json::Value = serde_json::from_str(cells).ok()?;
    Origin::parse(cells["origin"].as_str()?)
}

/// Returns the state of a row that was set aside, by what was said of it since.
pub(in crate::cli) fn set_aside_name(withdrawal: Option<&Withdrawal>) -> StateName {
    match withdrawal {
        None => StateName::Rejected,
        Some(withdrawal) if withdrawal.by_layout => StateName::Skipped,
        Some(_) => StateName::Withdrawn,
    }
}

/// Returns the state of a payment as reports name it.
pub(in crate::cli) fn state_name(state: State) -> StateName {
    match state {
        State::Ready => StateName::Ready,
        State::Posting => StateName::Posting,
        State::InDoubt => StateName::InDoubt,
        State::Acknowledged => StateName::Acknowledged,
        State::Delivered => StateName::Delivered,
        State::Paid => StateName::Paid,
        State::Failed => StateName::Failed,
        State::Cancelled => StateName::Cancelled,
        State::Conflict => StateName::Conflict,
    }
}
