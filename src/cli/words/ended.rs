//! What is said of a payment that has ended: what became of it, and what a person can do now.

use crate::cli::named;
use crate::cli::session::Commands;
use crate::cli::terminal::output;
use crate::domain::{BatchName, PaymentKind, Tally};
use crate::journal::{HistoryEntry, PaymentRecord};
use crate::ledger::decisions::ByCode;
use crate::lifecycle::{Event, State};
use crate::report::{Help, help};

/// Says why a payment with this code was not paid.
fn reason(code: i32) -> &'static str {
    match code {
        106 => "the service is not active",
        109 => "the number is missing",
        110 => "the number is invalid",
        111 => "the amount is not the invoice's",
        115 => "the currency is not the service's",
        // Whether the file or the gateway's own register lacks it depends on the service.
        120 => "the gateway knows no account of that number",
        143 => "the gateway does not have it",
        146 => "the invoice does not exist",
        167 => "the gateway does not know the service",
        230 => "the float did not suffice",
        231 => "the amount is above what the service allows",
        232 => "the amount is below what the service allows",
        141 | 180 | 216 => "the gateway rejected it",
        _ => "the gateway says so",
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
    // Of several services at once: what is said of each kind stands in the file of failed rows.
    let helps = |code: i32| help(i64::from(code), None);
    let is_wrong =
        |code: Option<i32>| code.is_some_and(|code| matches!(helps(code), Help::Correct(_)));
    let (wrong, right): (Vec<_>, Vec<_>) = failed.iter().partition(|(code, _)| is_wrong(*code));
    let asks = "which says first how many and how much, and asks";
    let ask = asked_first(&right);
    if wrong.is_empty() {
        return format!(
            "{ask}to pay them again: disburse retry {batch}, {asks}; what shall not be paid: disburse cancel {batch} REFERENCE"
        );
    }
    let count = |group: &[&(Option<i32>, Tally)]| -> u64 {
        group.iter().map(|(_, tally)| tally.count).sum()
    };
    let reasons: Vec<String> = wrong
        .iter()
        .take(CODES_NAMED)
        .filter_map(|(code, _)| code.map(|code| format!("{} ({code})", reason(code))))
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
    if !ask.is_empty() {
        text.push_str(". But first, ");
        text.push_str(ask.trim_end_matches([';', ' ']));
    }
    text.push_str(&format!(
        "; what shall not be paid: disburse cancel {batch} REFERENCE"
    ));
    text
}

/// Says what the gateway's people are asked before payments of these codes are corrected, or paid again as they are.
fn asked_first(failed: &[&(Option<i32>, Tally)]) -> String {
    let asked = failed.iter().filter_map(|(code, _)| {
        let code = (*code)?;
        match help(i64::from(code), None) {
            Help::Ask { first, .. } => Some(format!("{code}: {first}")),
            Help::Correct(_) | Help::PayAnew(_) => None,
        }
    });
    let asked: Vec<String> = asked.take(CODES_NAMED).collect();
    match asked.is_empty() {
        true => String::new(),
        false => format!("{}, as the row may be wrong; ", asked.join("; ")),
    }
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
pub(in crate::cli) fn sentence(
    record: &PaymentRecord,
    kind: Option<PaymentKind>,
    commands: Commands<'_>,
) -> Option<String> {
    let (life, batch, id) = (&record.life, commands.batch, record.payment.id);
    let code = life
        .code
        .map(|code| format!(" ({code})"))
        .unwrap_or_default();
    Some(match (life.state, life.code) {
        (State::Failed, _) if record.replaced_by.is_some() => {
            let why = life
                .code
                .map_or_else(|| decision(record), |code| reason(code).to_owned());
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
        (State::Failed, Some(number)) => {
            let why = reason(number);
            let retry = format!(
                "disburse retry {batch} {}",
                named::argument_of(&record.payment)
            );
            match help(i64::from(number), kind) {
                Help::Correct(what) => format!(
                    "Not paid: {why}{code}. Correct {} and add the corrected row",
                    what.trim_end_matches(',')
                ),
                Help::PayAnew(first) => {
                    format!("Not paid: {why}{code}. {first}; to pay it again: {retry}")
                }
                Help::Ask { first, correct } => format!(
                    "Not paid: {why}{code}. {first}. Where the row is wrong, {}; where the gateway was, once it is put right: {retry}",
                    match correct {
                        Some(what) => format!("correct {what} and add the corrected row"),
                        None => "load the corrected row as a new batch".to_owned(),
                    }
                ),
            }
        }
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
            // What the report and `explain` say of the same code.
            (
                vec![(Some(120), tally(1))],
                "120: Ask the gateway's people which account it expects, as the row may be wrong; to pay them again: disburse retry b, \
                 which says first how many and how much, and asks; what shall not be paid: disburse cancel b REFERENCE",
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
