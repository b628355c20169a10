//! What is said of a payment that has ended: what became of it, and what a person can do now.

use crate::cli::named;
use crate::cli::session::Commands;
use crate::cli::terminal::output;
use crate::domain::{BatchName, Tally};
use crate::journal::{HistoryEntry, PaymentRecord};
use crate::ledger::decisions::ByCode;
use crate::lifecycle::{Event, State};

/// What helps against a failure.
enum Remedy {
    /// The row is wrong.
    Correct,
    /// The row is right: something else is put right first, and it is paid anew.
    PayAnew(&'static str),
}

/// Says why a payment with this code was not paid, and what helps.
fn failure(code: i32) -> (&'static str, Remedy) {
    use Remedy::{Correct, PayAnew};
    const ASK: Remedy = PayAnew("Ask the gateway's people why");
    match code {
        106 => (
            "the service is not active",
            PayAnew("Ask the gateway's people to open it"),
        ),
        109 => ("the number is missing", Correct),
        110 => ("the number is invalid", Correct),
        111 => ("the amount is not the invoice's", Correct),
        115 => ("the currency is not the service's", Correct),
        // Whether the file or the gateway's own register lacks it depends on the service; the file of failed rows says so.
        120 => (
            "the gateway knows no account of that number",
            PayAnew(
                "Ask the gateway's people which account it expects; where the row's is wrong, correct it as its report says",
            ),
        ),
        143 => (
            "the gateway does not have it",
            PayAnew("Nothing else is to be put right"),
        ),
        146 => ("the invoice does not exist", Correct),
        167 => (
            "the gateway does not know the service",
            PayAnew("Ask its people for the right code"),
        ),
        230 => ("the float did not suffice", PayAnew("Top it up")),
        231 => ("the amount is above what the service allows", Correct),
        232 => ("the amount is below what the service allows", Correct),
        141 | 180 | 216 => ("the gateway rejected it", ASK),
        _ => ("the gateway says so", ASK),
    }
}

/// Codes that are named one by one in what is said of the failed payments of a batch.
const CODES_NAMED: usize = 4;

/// Says what helps the failed payments of a batch: rows that are wrong are corrected, the others are paid again as they are.
///
/// `file`: where the rows that failed stand; `None`: a report writes it.
pub(in crate::cli) fn ways_on(
    batch: &BatchName,
    failed: &ByCode,
    file: Option<&str>,
    sandbox: &str,
) -> String {
    let is_wrong =
        |code: Option<i32>| code.is_some_and(|code| matches!(failure(code).1, Remedy::Correct));
    let (wrong, right): (Vec<_>, Vec<_>) = failed.iter().partition(|(code, _)| is_wrong(*code));
    let asks = "which says first how many and how much, and asks";
    if wrong.is_empty() {
        return format!(
            "to pay them again: disburse retry {batch}, {asks}; what shall not be paid: disburse cancel {batch} REFERENCE"
        );
    }
    let count = |group: &[&(Option<i32>, Tally)]| -> u64 {
        group.iter().map(|(_, tally)| tally.count).sum()
    };
    let reasons: Vec<String> = wrong
        .iter()
        .take(CODES_NAMED)
        .filter_map(|(code, _)| code.map(|code| format!("{} ({code})", failure(code).0)))
        .collect();
    let more = if wrong.len() > CODES_NAMED {
        "; and others"
    } else {
        ""
    };
    let whose = if count(&wrong) == 1 {
        "its row"
    } else {
        "their rows"
    };
    let mend = match file {
        Some(file) => format!(
            "mend {whose} in {file}, remove the others, then: disburse load {file} --batch {batch} --amend{sandbox}"
        ),
        None => format!(
            "disburse report {batch} --out reports/{batch} writes failed.csv; mend {whose} there, remove the others, then: \
             disburse load reports/{batch}/failed.csv --batch {batch} --amend{sandbox}"
        ),
    };
    let (rows, fail) = match count(&wrong) {
        1 => ("1 row is wrong and would fail again".to_owned(), "as it is"),
        many => (
            format!(
                "{} are wrong and would fail again",
                output::counted(many, "row")
            ),
            "as they are",
        ),
    };
    let mut text = format!("{rows} {fail}: {}{more}: {mend}", reasons.join(", "));
    if !right.is_empty() {
        text.push_str(&retried_as_they_are(batch, &right, asks));
    }
    text.push_str(&format!(
        "; what shall not be paid: disburse cancel {batch} REFERENCE"
    ));
    text
}

/// Says how the failed payments are paid again that need no change.
fn retried_as_they_are(batch: &BatchName, right: &[&(Option<i32>, Tally)], asks: &str) -> String {
    let commands: Vec<String> = right
        .iter()
        .take(CODES_NAMED)
        .map(|(code, _)| match code {
            Some(code) => format!("disburse retry {batch} --code {code}"),
            None => {
                format!("disburse retry {batch} --id ID, for what an operator recorded as failed")
            }
        })
        .collect();
    let more = if right.len() > CODES_NAMED {
        ", and so on for each code"
    } else {
        ""
    };
    let others = match right.iter().map(|(_, tally)| tally.count).sum::<u64>() {
        1 => "one".to_owned(),
        many => output::grouped(&many.to_string()),
    };
    format!(
        ". The other {others} can be paid again without a change, once the reason is gone: {}{more}; it {}",
        commands.join("; "),
        asks.trim_start_matches("which "),
    )
}

/// Says of a retry that it has ended because an earlier payment of its row is paid: nobody is to pay the row again.
pub(in crate::cli) fn superseded(record: &PaymentRecord, trail: &[HistoryEntry]) -> Option<String> {
    let by_the_earlier = trail
        .iter()
        .any(|entry| entry.event == Some(Event::Superseded));
    let how = match record.life.state {
        _ if !by_the_earlier => return None,
        State::Cancelled => "was cancelled before it was posted",
        State::Failed => "was not made: the gateway does not have it",
        _ => return None,
    };
    Some(format!(
        "Nothing is left to pay: an earlier payment of its row is paid, and this retry {how}. Do not load the row again"
    ))
}

/// Says what became of a payment that is not paid, or may be, and has ended; `None` of every other.
pub(in crate::cli) fn sentence(record: &PaymentRecord, commands: Commands<'_>) -> Option<String> {
    let (life, batch, id) = (&record.life, commands.batch, record.payment.id);
    let code = life
        .code
        .map(|code| format!(" ({code})"))
        .unwrap_or_default();
    Some(match (life.state, life.code) {
        (State::Failed, _) if record.replaced_by.is_some() => {
            let why = life
                .code
                .map_or_else(|| decision(record), |code| failure(code).0.to_owned());
            let now = match record.row_stands {
                Some(State::Paid) => "Its row is paid all the same, by a later payment",
                Some(State::Failed) => "It was retried, and the retry is not paid either",
                Some(State::Cancelled) => "Its retry was cancelled: the row is not paid",
                _ => "It is to be paid again: see its retry",
            };
            format!("Not paid: {why}{code}. {now}")
        }
        (State::Failed, None) => format!(
            "Not paid: {}. To pay it again: disburse retry {batch} {}, which asks the gateway about it first",
            decision(record),
            named::argument_of(&record.payment)
        ),
        (State::Failed, Some(number)) => match failure(number) {
            (why, Remedy::Correct) => {
                format!("Not paid: {why}{code}. Correct it and add the corrected row")
            }
            (why, Remedy::PayAnew(first)) => format!(
                "Not paid: {why}{code}. {first}; to pay it again: disburse retry {batch} {}",
                named::argument_of(&record.payment)
            ),
        },
        (State::Cancelled, _) => format!(
            "Cancelled: it is never paid under the batch name {batch}; to pay it after all, load its row under another one"
        ),
        (State::Conflict, _) if life.taken => return None,
        (State::Conflict, _) => format!(
            "Answers disagree: it may be paid, or not, as what was said of it contradicts itself. Pay it by no other way before that is decided. \
             Ask the gateway's people what became of it, then: {} --paid, or --failed",
            commands.resolve(id)
        ),
        _ => return None,
    })
}

fn decision(record: &PaymentRecord) -> String {
    let decision = record.decision.as_deref();
    decision.unwrap_or("recorded by an operator").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_wrong_are_corrected_and_never_paid_again_as_they_are() {
        let batch = BatchName::parse("b").unwrap();
        let tally = |count| Tally {
            count,
            ..Tally::default()
        };
        for (failed, expected) in [
            (
                vec![(Some(216), tally(2)), (None, tally(1))],
                "to pay them again: disburse retry b, which says first how many and how much, and asks; what shall not be paid: disburse cancel b REFERENCE",
            ),
            (
                vec![(Some(110), tally(1))],
                "1 row is wrong and would fail again as it is: the number is invalid (110): mend its row in r/failed.csv, remove the \
                 others, then: disburse load r/failed.csv --batch b --amend --sandbox; what shall not be paid: disburse cancel b REFERENCE",
            ),
            (
                vec![
                    (Some(110), tally(3)),
                    (Some(216), tally(1200)),
                    (Some(231), tally(1)),
                ],
                "4 rows are wrong and would fail again as they are: the number is invalid (110), the amount is above what the service allows \
                 (231): mend their rows in r/failed.csv, remove the others, then: disburse load r/failed.csv --batch b --amend --sandbox. The \
                 other 1,200 can be paid again without a change, once the reason is gone: disburse retry b --code 216; it says first how many \
                 and how much, and asks; what shall not be paid: disburse cancel b REFERENCE",
            ),
        ] {
            assert_eq!(
                ways_on(&batch, &failed, Some("r/failed.csv"), " --sandbox"),
                expected
            );
        }
    }
}
