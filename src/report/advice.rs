//! What a state or a status code means for the reader, and what to do about it.

use super::help::{Help, help};
use super::rows::entry::{BatchHeader, StateName};
use crate::domain::{BatchName, PaymentKind};
use crate::ledger::Purpose;
use crate::ledger::schedule::Scheduled;
use crate::report::words::text;

/// Returns what a state means for the money. What the gateway ended has its code; `is_mixed`: so may these. `is_behind`: the journal
/// may know less than what became of them.
#[must_use]
pub fn meaning(
    state: StateName,
    code: Option<i64>,
    is_mixed: bool,
    is_behind: bool,
) -> &'static str {
    if let Some(text) = meaning_behind(state).filter(|_| is_behind) {
        return text;
    }
    match state {
        StateName::Failed if is_mixed => {
            "Not paid: by the gateway's word, or as an operator recorded it; each line says which."
        }
        StateName::Failed if code.is_none() => {
            "Recorded as failed by an operator, not by the gateway: each line says by whom, and why."
        }
        StateName::Unpriced => "Without an amount: it is taken from the bill. No money has moved.",
        StateName::Ready => "Not sent yet. No money has moved.",
        StateName::Posting => "Being sent. The outcome is not known yet.",
        StateName::InDoubt => "Sent, outcome unknown. The money may have moved.",
        StateName::Acknowledged => "Taken by the gateway. The final status has not arrived.",
        StateName::Delivered => "At the bank, not settled. Not final.",
        StateName::Paid => "Proven paid.",
        StateName::Failed => "Proven not paid.",
        StateName::Rejected => "The line did not pass validation and was never sent.",
        StateName::Withdrawn => {
            "The line did not pass validation, was never sent, and is not paid, as an operator decided."
        }
        StateName::Skipped => "No payment: the layout of the file says so.",
        StateName::Cancelled => {
            "Withdrawn by an operator: never sent, or not sent again after it had failed."
        }
        StateName::Conflict => {
            "Two final answers disagree, or the gateway had the identifier before us. The money may have moved."
        }
    }
}

/// What is said of a state by a journal that may have missed something: it proves of nobody that he was not paid.
#[must_use]
pub fn meaning_behind(state: StateName) -> Option<&'static str> {
    Some(match state {
        StateName::Unpriced => {
            "Without an amount: it is taken from the bill. This journal may have missed that it was paid: the money may have moved."
        }
        StateName::Ready => {
            "Not sent yet, as far as this journal knows. It may have missed that it was: the money may have moved."
        }
        StateName::Posting | StateName::InDoubt => {
            "It may have been sent, from here or from the journal before. The money may have moved."
        }
        StateName::Failed => {
            "Not paid, as far as this journal knows. It may have missed a later payment of the same row: the money may \
            have moved."
        }
        StateName::Rejected => {
            "The line did not pass validation. This journal may have missed that it was mended and paid since: the money may have moved."
        }
        StateName::Withdrawn => {
            "The line did not pass validation, and an operator decided that it is not paid. This journal may have missed what was decided since."
        }
        StateName::Cancelled => {
            "Withdrawn by an operator. This journal may have missed that it was sent after all: the money may have \
            moved."
        }
        StateName::Acknowledged
        | StateName::Delivered
        | StateName::Paid
        | StateName::Skipped
        | StateName::Conflict => return None,
    })
}

/// What comes before anything else with a row that has ended in a journal that may have missed something.
pub const RECOVER_FIRST: &str = "Pay nobody again yet: “disburse recover” says what this journal may have missed, and \
    lists each step.";

/// Says how many payments wait for the time that their rows name, and until when; `None` where none does.
fn scheduled_text(header: &BatchHeader) -> Option<String> {
    let Scheduled { count, span } = header.scheduled;
    let (first, last) = span.filter(|_| count > 0)?;
    let [from, to] = [first, last].map(|at| header.zone.format_named(at));
    let until = match first == last {
        true => from,
        false => format!("{from}, the last of them until {to}"),
    };
    Some(match count {
        1 => format!("1 payment waits for its time: until {until}."),
        _ => format!(
            "{} payments wait for their time: until {until}.",
            text::count(count)
        ),
    })
}

/// Says what waits for its time, for the dates of the batch, or for its service to open; `None` where nothing does.
pub(super) fn waits_text(header: &BatchHeader) -> Option<String> {
    let of_calendar = header.waits.texts.iter().map(|text| format!("{text}."));
    let texts: Vec<String> = of_calendar.chain(scheduled_text(header)).collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

/// Says what is done about services that are paused for want of float, in the order in which it has to be done.
pub(super) fn held_text(header: &BatchHeader) -> Option<String> {
    let (first, others) = header.held_lanes.split_first()?;
    let batch = &header.name;
    let mut lanes = first.to_string();
    let mut resume = format!("“disburse resume-lane {batch} {first}”");
    for lane in others {
        lanes.push_str(&format!(", {lane}"));
        resume.push_str(&format!(", “disburse resume-lane {batch} {lane}”"));
    }
    Some(format!(
        "{lanes}: paused, because the float is too small. First top it up, next {resume}, then “{}”.",
        run_command(header)
    ))
}

/// Returns the command that runs the batch.
pub(super) fn run_command(header: &BatchHeader) -> String {
    format!(
        "disburse run {}{}",
        header.name,
        sandbox_flag(header.purpose)
    )
}

fn sandbox_flag(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Rehearsal => " --sandbox",
        Purpose::Gateway | Purpose::Unknown => "",
    }
}

/// Returns what to do about the payments of one state and status code.
///
/// `example`: the identifier of a payment of theirs, so that the commands can be typed as they stand.
#[must_use]
pub fn remedy(
    state: StateName,
    code: Option<i64>,
    header: &BatchHeader,
    example: Option<&str>,
) -> String {
    let batch = &header.name;
    let id = example.map_or_else(|| "ID".to_owned(), |id| format!("--id {id}"));
    let run = run_command(header);
    let is_behind = header.behind.is_some();
    let remedy = match (state, code) {
        (StateName::Conflict, Some(229)) => format!(
            "Do not pay again. The gateway had the identifier before this journal posted it. If an earlier journal \
             posted this batch, “disburse recover {batch} --presume-posted” and “{run}” ask for the outcome. If not, \
             it is somebody else's payment: make sure with the gateway's people that yours was not made, record that \
             with “disburse resolve {batch} {id} --failed”, and pay it under another batch name."
        ),
        (StateName::Conflict, _) => format!(
            "Do not pay again. See both answers with “disburse explain {batch} {id}”, ask the gateway's people which \
             one is right, and record it with “disburse resolve {batch} {id}”, --paid or --failed, --reason and --evidence. Do the same for \
             each payment."
        ),
        (StateName::Failed, code) => {
            let way = Way {
                batch,
                file: &header.failed_rows,
                purpose: header.purpose,
                kind: None,
                example,
                row: None,
            };
            let ways = remedy_of_failure(code, way);
            format!("{ways} To cancel what must not be paid: “disburse cancel {batch} REFERENCE”.")
        }
        (StateName::Rejected, _) => {
            let file = &header.failed_rows;
            let sandbox = sandbox_flag(header.purpose);
            format!(
                "Mend them in {file}, as its column “reason” says, remove the other rows, then “disburse load {file} \
                 --batch {batch} --amend{sandbox}”. To withdraw what must not be paid: “disburse cancel {batch} \
                 --rejected LINE --reason TEXT”."
            )
        }
        (StateName::Unpriced, _) => format!(
            "“{run} --pay-due” asks for the bills, and pays what is due. A line whose bill is refused is \
             withdrawn with “disburse cancel {batch} {id}”."
        ),
        (
            StateName::Ready
            | StateName::Posting
            | StateName::InDoubt
            | StateName::Acknowledged
            | StateName::Delivered,
            _,
        ) => remedy_of_open((state, code), header, &id),
        (StateName::Paid | StateName::Withdrawn | StateName::Skipped | StateName::Cancelled, _) => {
            "Nothing.".to_owned()
        }
    };
    match state {
        StateName::Withdrawn | StateName::Cancelled if is_behind => RECOVER_FIRST.to_owned(),
        StateName::Failed | StateName::Rejected if is_behind => {
            format!("{RECOVER_FIRST} When that is done: {remedy}")
        }
        // The next run asks about what is not finished before it posts any of it.
        _ => remedy,
    }
}

/// Returns what to do about payments that go on with the next run, or with the one that is at work.
fn remedy_of_open(
    (state, code): (StateName, Option<i64>),
    header: &BatchHeader,
    id: &str,
) -> String {
    let batch = &header.name;
    // What goes on by itself nobody is told to say again.
    let (run, next) = match &header.at_work {
        None => (format!("“{}”", run_command(header)), String::new()),
        Some(at_work) => {
            let at = at_work.asks_at.as_deref();
            let at = at.map_or_else(String::new, |at| format!(" at {at}"));
            (
                "the run that is at work".to_owned(),
                format!("{at}, by itself"),
            )
        }
    };
    match (state, code) {
        (StateName::InDoubt, _) => format!(
            "Do not pay in any other way: {run} asks the gateway again{next}. If the gateway cannot tell, ask its \
             people, and record the answer with “disburse resolve {batch} {id}”, --paid or --failed, --reason and --evidence. Do the same \
             for each payment."
        ),
        (StateName::Ready, Some(230)) => held_text(header)
            .unwrap_or_else(|| format!("The float was short. Top it up; then {run} sends them.")),
        (StateName::Ready, _) => {
            let sends = match waits_text(header) {
                None if header.behind.is_some() => {
                    format!("{run} asks the gateway about them before it sends any.")
                }
                None => format!("{run} sends them."),
                Some(text) => format!(
                    "{text} Then {run} sends them; it sends those that do not wait at once."
                ),
            };
            match held_text(header) {
                Some(held) => format!("{held} The payments of other services: {sends}"),
                None => sends,
            }
        }
        _ => format!("Wait: {run} asks the gateway{next}, until the status is final."),
    }
}

/// The batch of a failed payment, and the way on which its row comes back to it.
#[derive(Clone, Copy, Debug)]
pub struct Way<'a> {
    /// The batch.
    pub batch: &'a BatchName,
    /// The file of failed rows, as a person types its name.
    pub file: &'a str,
    /// What the batch is for: a rehearsal takes `--sandbox`.
    pub purpose: Purpose,
    /// What its service sells, if that is known.
    pub kind: Option<PaymentKind>,
    /// The identifier of a payment that failed so.
    pub example: Option<&'a str>,
    /// How a person names the one payment that is meant; `None`: all that failed so are.
    pub row: Option<&'a str>,
}

/// What to do about a failed payment whose person was forgotten: nobody knows any more whom it would pay.
pub const OF_FORGOTTEN: &str = "It cannot be retried, because its person was forgotten. If it is to be paid after all, load a new row in a new batch";

/// Returns what to do about a payment that failed with this code; none: an operator recorded it.
#[must_use]
pub fn remedy_of_failure(code: Option<i64>, way: Way<'_>) -> String {
    let Way {
        batch,
        file,
        purpose,
        kind,
        example,
        row,
    } = way;
    let Some(code) = code else {
        let id = example.map_or_else(|| "ID".to_owned(), |id| format!("--id {id}"));
        let (which, of_each) = match row {
            Some(row) => (format!(" {row}"), ""),
            None => (String::new(), " of each"),
        };
        return format!(
            "See the evidence{of_each} with “disburse explain {batch} {id}”. If it is to be paid after all, “disburse retry {batch}{which}”: \
             the gateway is asked once more before it is paid."
        );
    };
    let retry = match row {
        Some(row) => format!("“disburse retry {batch} {row}”"),
        None => format!("“disburse retry {batch} --code {code}”"),
    };
    let sandbox = sandbox_flag(purpose);
    let correct = |what: &str| {
        format!(
            "Correct {what} in {file}, remove the other rows, then “disburse load {file} --batch {batch} --amend{sandbox}”."
        )
    };
    match help(code, kind) {
        Help::Correct(what) => correct(what),
        Help::PayAnew(first) => format!("{first}, then {retry}."),
        Help::Ask {
            first,
            correct: Some(what),
        } => format!(
            "{first}. If the row is wrong: {} If the gateway was wrong, once it is mended: {retry}.",
            correct(what)
        ),
        Help::Ask {
            first,
            correct: None,
        } => format!(
            "{first}. If the file is wrong, load the corrected rows as a new batch; if the gateway was wrong, once it \
            is mended: {retry}."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::AtWork;

    #[test]
    fn what_is_to_be_corrected_depends_on_what_the_service_pays() {
        use PaymentKind::{Bank, BillPostpaid, MobileMoney};
        let batch = BatchName::parse("b").unwrap();
        let told = |code, kind, purpose| {
            let way = Way {
                batch: &batch,
                file: "out/failed.csv",
                purpose,
                kind,
                example: None,
                row: None,
            };
            remedy_of_failure(Some(code), way)
        };
        let add = "remove the other rows, then “disburse load out/failed.csv --batch b --amend”.";
        for (code, kind, expected) in [
            (110, Some(Bank), "Correct the msisdn in out/failed.csv, "),
            (120, Some(Bank), "Correct the bank_account_number in "),
            (
                120,
                Some(MobileMoney),
                "Ask the gateway's people which account it expects. If the row is wrong: Correct the account_number in ",
            ),
            (
                120,
                None,
                "Ask the gateway's people which account it expects. If the row is wrong: Correct the account_number (at a bank, the bank_account_number) in ",
            ),
            (
                146,
                Some(BillPostpaid),
                "Correct the account_number or the invoice_number in ",
            ),
            (
                111,
                Some(BillPostpaid),
                "Correct the amount, as the bill says it, in ",
            ),
            (
                231,
                Some(MobileMoney),
                "Correct the amount, within the limits of the service, in ",
            ),
        ] {
            let text = told(code, kind, Purpose::Gateway);
            assert!(text.starts_with(expected) && text.contains(add), "{text}");
            let row = Way {
                batch: &batch,
                file: "f",
                purpose: Purpose::Gateway,
                kind: None,
                example: None,
                row: Some("EMP-7"),
            };
            let text = remedy_of_failure(Some(180), row);
            assert!(text.contains("“disburse retry b EMP-7”"), "{text}");
            let rehearsed = told(code, kind, Purpose::Rehearsal);
            assert!(rehearsed.contains("--amend --sandbox”"), "{rehearsed}");
        }
    }

    #[test]
    fn a_journal_that_may_have_missed_something_proves_of_nobody_that_he_was_not_paid() {
        for state in StateName::ALL {
            let text = meaning(state, Some(110), false, true);
            for promise in ["No money", "Proven not", "never sent", "not paid, as an"] {
                assert!(!text.contains(promise), "{state:?}: {text}");
            }
            let mut header = crate::report::tests::batch::header(&[]);
            header.behind = Some("it is a copy".to_owned());
            let text = remedy(state, Some(110), &header, None);
            let has_ended = matches!(
                state,
                StateName::Failed
                    | StateName::Rejected
                    | StateName::Withdrawn
                    | StateName::Cancelled
            );
            assert_eq!(
                text.starts_with(RECOVER_FIRST),
                has_ended,
                "{state:?}: {text}"
            );
        }
    }

    #[test]
    fn what_a_run_does_that_is_at_work_nobody_is_told_to_say_again() {
        let mut header = crate::report::tests::batch::header(&[]);
        let open = [
            StateName::Ready,
            StateName::Posting,
            StateName::InDoubt,
            StateName::Acknowledged,
        ];
        for state in open {
            header.at_work = None;
            let text = remedy(state, None, &header, None);
            assert!(text.contains("“disburse run payroll-2026-11”"), "{text}");
            header.at_work = Some(AtWork {
                asks_at: Some("12:05:19 EAT".to_owned()),
            });
            let text = remedy(state, None, &header, None);
            assert!(!text.contains("disburse run"), "{text}");
            let asks = state == StateName::Ready || text.contains(" at 12:05:19 EAT, by itself");
            assert!(text.contains("the run that is at work") && asks, "{text}");
        }
    }

    #[test]
    fn a_paused_service_is_topped_up_opened_and_run_in_this_order() {
        let mut header = crate::report::tests::batch::header(&[]);
        header.held_lanes = vec![crate::domain::ServiceCode::parse("B2C").unwrap()];
        for code in [None, Some(230)] {
            let text = remedy(StateName::Ready, code, &header, None);
            let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word}: {text}"));
            assert!(
                at("top it up") < at("disburse resume-lane payroll-2026-11 B2C"),
                "{text}"
            );
            assert!(at("disburse resume-lane") < at("disburse run"), "{text}");
        }
    }
}
