//! What is said of a payment that has ended: what became of it, and what a person can do now.

use crate::cli::named;
use crate::cli::session::Commands;
use crate::cli::terminal::output;
use crate::cli::words::behind::recover_first;
use crate::domain::{BatchName, PaymentKind, Tally};
use crate::journal::{HistoryEntry, PaymentRecord};
use crate::ledger::decisions::ByCode;
use crate::lifecycle::{Event, State};
use crate::report::{Help, OF_FORGOTTEN, help};

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
        230 => "the float was too small",
        231 => "the amount is above what the service allows",
        232 => "the amount is below what the service allows",
        141 | 180 | 216 => "the gateway rejected it",
        _ => "the gateway gave only this code",
    }
}

/// Codes that are named one by one in what is said of the failed payments of a batch.
const CODES_NAMED: usize = 4;

/// Says what helps the failed payments of a batch, a hint for each step: rows that are wrong are corrected, the others are paid again as they are.
///
/// `file`: where the rows that failed stand; `None`: a report writes it.
pub(in crate::cli) fn ways_on(
    batch: &BatchName,
    failed: &ByCode,
    file: Option<&str>,
    sandbox: &str,
) -> Vec<String> {
    // Of several services at once: what is said of each kind stands in the file of failed rows.
    let helps = |code: i32| help(i64::from(code), None);
    let is_wrong =
        |code: Option<i32>| code.is_some_and(|code| matches!(helps(code), Help::Correct(_)));
    let (wrong, right): (Vec<_>, Vec<_>) = failed.iter().partition(|(code, _)| is_wrong(*code));
    let mut ways = asked_first(&right);
    if !wrong.is_empty() {
        ways.push(corrected(batch, &wrong, file, sandbox));
    }
    if !right.is_empty() {
        ways.push(match wrong.is_empty() {
            true => format!(
                "to pay them again: disburse retry {batch}, which first shows how many and how much, and asks"
            ),
            false => retried_as_they_are(batch, &right),
        });
    }
    ways.push(format!(
        "to close a payment that must not be paid: disburse cancel {batch} REFERENCE"
    ));
    ways
}

fn count(group: &[&(Option<i32>, Tally)]) -> u64 {
    group.iter().map(|(_, tally)| tally.count).sum()
}

/// Says how rows are corrected that are wrong.
fn corrected(
    batch: &BatchName,
    wrong: &[&(Option<i32>, Tally)],
    file: Option<&str>,
    sandbox: &str,
) -> String {
    let reasons: Vec<String> = wrong
        .iter()
        .take(CODES_NAMED)
        .filter_map(|(code, _)| code.map(|code| format!("{} ({code})", reason(code))))
        .collect();
    let more = if wrong.len() > CODES_NAMED {
        ", and others"
    } else {
        ""
    };
    let (rows, them) = match count(wrong) {
        1 => ("1 row is wrong, and would fail again".to_owned(), "it"),
        many => (
            format!(
                "{} are wrong, and would fail again",
                output::counted(many, "row")
            ),
            "them",
        ),
    };
    let (file, written) = match file {
        Some(file) => (file.to_owned(), ""),
        None => (
            format!("reports/{batch}/failed.csv"),
            ", which that report writes",
        ),
    };
    format!(
        "{rows}: {}{more}. Mend {them} in {file}{written}, remove the other rows, then: disburse load {file} --batch {batch} --amend{sandbox}",
        reasons.join(", ")
    )
}

/// Says what the gateway's people are asked before payments of these codes are corrected, or paid again as they are.
fn asked_first(failed: &[&(Option<i32>, Tally)]) -> Vec<String> {
    let asked = failed.iter().filter_map(|(code, _)| {
        let code = (*code)?;
        match help(i64::from(code), None) {
            Help::Ask { first, .. } => Some(format!(
                "before you pay a row again that failed with {code}: {first}; the row itself may be wrong"
            )),
            Help::Correct(_) | Help::PayAnew(_) => None,
        }
    });
    asked.take(CODES_NAMED).collect()
}

/// Says how the failed payments are paid again that need no change.
fn retried_as_they_are(batch: &BatchName, right: &[&(Option<i32>, Tally)]) -> String {
    let commands: Vec<String> = right
        .iter()
        .take(CODES_NAMED)
        .map(|(code, _)| match code {
            Some(code) => format!("disburse retry {batch} --code {code}"),
            None => {
                format!(
                    "disburse retry {batch} --id ID, for a payment that a person recorded as failed"
                )
            }
        })
        .collect();
    let more = if right.len() > CODES_NAMED {
        ", and so on for each code"
    } else {
        ""
    };
    let others = match count(right) {
        1 => "1 other row".to_owned(),
        many => format!("{} other rows", output::grouped(&many.to_string())),
    };
    format!(
        "{others} can be paid again without a change, once the reason is gone: {}{more}. Each command first shows how \
        many and how much, and asks",
        commands.join("; "),
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
        "Nothing is left to pay: an earlier payment of the same row is paid, and this retry {how}. Do not load the row \
        again"
    ))
}

/// Says what became of a payment that is not paid, or may be, and has ended; `None` of every other. `is_behind`: the journal may have
/// missed that it was paid since, so that no way to pay it is told.
pub(in crate::cli) fn sentence(
    record: &PaymentRecord,
    kind: Option<PaymentKind>,
    commands: Commands<'_>,
    is_behind: bool,
) -> Option<String> {
    if is_behind && let Some(ended) = ended_as_known(record, commands.batch) {
        return Some(format!("{ended}. {}", recover_first()));
    }
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
                Some(State::Paid) => "Its row is paid after all, by a later payment",
                Some(State::Failed) => "It was retried, and the retry is not paid either",
                Some(State::Cancelled) => "Its retry was cancelled: the row is not paid",
                _ => "It is to be paid again: see its retry",
            };
            format!("Not paid: {why}{code}. {now}")
        }
        (State::Failed, number) if record.payment.instruction.msisdn.is_forgotten() => {
            let why = number.map_or_else(|| decision(record), |number| reason(number).to_owned());
            format!("Not paid: {why}{code}. {OF_FORGOTTEN}")
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
                    "Not paid: {why}{code}. {first}. If the row is wrong, {}; if the gateway was wrong, once it is \
                    mended: {retry}",
                    match correct {
                        Some(what) => format!("correct {what} and add the corrected row"),
                        None => "load the corrected row as a new batch".to_owned(),
                    }
                ),
            }
        }
        (State::Cancelled, _) => format!(
            "Cancelled: batch {batch} never pays it. To pay it after all, load its row under another batch name"
        ),
        (State::Conflict, _) if life.taken => return None,
        (State::Conflict, _) => format!(
            "Answers disagree: one says paid, another says not paid. Do not pay it in another way until a person has \
             decided. Ask the gateway's people which answer is right, then: {} --paid, or --failed, with --reason TEXT --evidence TEXT",
            commands.resolve(id)
        ),
        _ => return None,
    })
}

/// Says how a payment has ended that nothing has taken the place of, as far as the journal knows.
fn ended_as_known(record: &PaymentRecord, batch: &BatchName) -> Option<String> {
    match (record.life.state, record.life.code) {
        (State::Failed, _) if record.replaced_by.is_some() => None,
        (State::Failed, Some(code)) => Some(format!("Failed: {} ({code})", reason(code))),
        (State::Failed, None) => Some(format!("Failed: {}", decision(record))),
        (State::Cancelled, _) => Some(format!("Cancelled: batch {batch} never pays it")),
        _ => None,
    }
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
        let again = "to pay them again: disburse retry b, which first shows how many and how much, and asks";
        let close = "to close a payment that must not be paid: disburse cancel b REFERENCE";
        for (failed, expected) in [
            (
                vec![(Some(216), tally(2)), (None, tally(1))],
                vec![again, close],
            ),
            // What the report and `explain` say of the same code.
            (
                vec![(Some(120), tally(1))],
                vec![
                    "before you pay a row again that failed with 120: Ask the gateway's people which account it expects; the row itself may be wrong",
                    again,
                    close,
                ],
            ),
            (
                vec![(Some(110), tally(1))],
                vec![
                    "1 row is wrong, and would fail again: the number is invalid (110). Mend it in r/failed.csv, remove the other rows, then: \
                     disburse load r/failed.csv --batch b --amend --sandbox",
                    close,
                ],
            ),
            (
                vec![
                    (Some(110), tally(3)),
                    (Some(216), tally(1200)),
                    (Some(231), tally(1)),
                ],
                vec![
                    "4 rows are wrong, and would fail again: the number is invalid (110), the amount is above what the service allows (231). Mend \
                     them in r/failed.csv, remove the other rows, then: disburse load r/failed.csv --batch b --amend --sandbox",
                    "1,200 other rows can be paid again without a change, once the reason is gone: disburse retry b --code 216. Each command first shows \
                     how many and how much, and asks",
                    close,
                ],
            ),
        ] {
            assert_eq!(
                ways_on(&batch, &failed, Some("r/failed.csv"), " --sandbox"),
                expected
            );
        }
    }
}
