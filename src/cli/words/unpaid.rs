//! How many rows of a batch are not paid, wherever it is said how far the batch is.

use super::super::terminal::output;
use crate::journal::Standing;
use crate::lifecycle::State;
use crate::report::StateName;

/// Returns what is not paid and will not be by itself, each kind with its count; nothing where there is none.
pub(in crate::cli) fn unpaid(standing: &Standing) -> Vec<String> {
    let kinds = [
        (standing.of(State::Failed).count, "failed"),
        (standing.rejected.count, "rejected"),
        (standing.withdrawn.count, StateName::Withdrawn.in_words()),
        (standing.of(State::Cancelled).count, "cancelled"),
        (standing.of(State::Conflict).count, "in conflict"),
    ];
    let some = kinds.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, kind)| format!("{} {kind}", output::grouped(&count.to_string())))
        .collect()
}

/// Says the same in a line of a list, with what is left to a person.
pub(in crate::cli) fn unpaid_notes(standing: &Standing) -> Vec<String> {
    let mut notes = unpaid(standing);
    if standing.of(State::Conflict).count > 0
        && let Some(last) = notes.last_mut()
    {
        last.push_str(": a person decides");
    }
    if standing.doubtful > 0 {
        notes.push(format!(
            "{} to be asked about again",
            output::grouped(&standing.doubtful.to_string())
        ));
    }
    match notes.is_empty() {
        true => notes,
        false => vec![notes.join(", ")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Currency, ServiceCode, Tally};
    use crate::journal::StandingRow;

    #[test]
    fn whoever_sees_a_batch_sees_how_many_are_not_paid() {
        let currency = Currency::from_code("KES").unwrap();
        let tally = |count| {
            let mut tally = Tally::default();
            tally.add_many(count, currency, 100);
            tally
        };
        for (states, rejected, doubtful, expected) in [
            (&[(State::Paid, 993)][..], 0, 0, vec![]),
            (
                &[(State::Paid, 993), (State::Failed, 7)],
                0,
                0,
                vec!["7 failed"],
            ),
            (
                &[(State::Conflict, 1), (State::Cancelled, 1200)],
                2,
                3,
                vec![
                    "2 rejected, 1,200 cancelled, 1 in conflict: a person decides, 3 to be asked about again",
                ],
            ),
        ] {
            let rows = states.iter().map(|(state, count)| StandingRow {
                service: ServiceCode::parse("S").unwrap(),
                state: *state,
                currency,
                tally: tally(*count),
            });
            let standing = Standing {
                rows: rows.collect(),
                rejected: tally(rejected),
                doubtful,
                ..Standing::default()
            };
            assert_eq!(unpaid_notes(&standing), expected);
        }
    }
}
