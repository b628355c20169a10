//! Kinds of evidence by their numbers.

use super::values::corrupt;
use crate::journal::Error;
use crate::ledger::evidence::{Kind, Standing};
use crate::lifecycle::{Class, CodeMeaning, Event, RecordedEvent};

/// Returns the number and the words of an event: `(number, class, code)`.
pub(in crate::journal) fn event_numbers(event: Event) -> (i64, Option<i64>, Option<i32>) {
    let said = |number, verdict: CodeMeaning| {
        (
            number,
            Some(class_number(verdict.class)),
            Some(verdict.code),
        )
    };
    match event {
        Event::Claimed => (0, None, None),
        Event::Unsent => (1, None, None),
        Event::Unauthorised => (2, None, None),
        Event::Lost => (3, None, None),
        Event::Abandoned => (4, None, None),
        Event::Reply(verdict) => said(5, verdict),
        Event::Answer(verdict) => said(6, verdict),
        Event::NoAnswer => (7, None, None),
        Event::Callback(verdict) => said(8, verdict),
        Event::DecidedPaid => (9, None, None),
        Event::DecidedFailed => (10, None, None),
        Event::Withdrawn => (11, None, None),
        Event::Recognised => (RECOGNISED, None, None),
        Event::NotOurs => (NOT_OURS, None, None),
        Event::Superseded => (SUPERSEDED, None, None),
        Event::Outdated => (OUTDATED, None, None),
        Event::Reopened => (REOPENED, None, None),
        Event::ShownPaid => (SHOWN_PAID, None, None),
    }
}

/// A callback that was stored and not applied.
pub(in crate::journal) const NOTED_CALLBACK: i64 = 20;

/// The payment was loaded in doubt: earlier posts may have left.
pub(in crate::journal) const PRESUMED_POSTED: i64 = 21;

/// A retry replaces the payment.
pub(in crate::journal) const REPLACED: i64 = 22;

/// The document of the payment was uploaded; the digest is that of its row in `upload`.
pub(in crate::journal) const UPLOADED: i64 = 23;

/// A bill said something of the row; the digest is that of its row in `bill`.
pub(in crate::journal) const BILLED: i64 = 24;

/// Instructions were loaded; the digest is that of a block of them.
pub(in crate::journal) const ROWS_LOADED: i64 = 25;

/// A file was loaded; the digest is that of its row in `load` and of the rows that it set aside.
pub(in crate::journal) const FILE_LOADED: i64 = 26;

/// The batch was tied to its gateway; the digest is that of its address and its wire settings.
pub(in crate::journal) const PINNED: i64 = 27;

/// The chain begins with evidence that was written without one.
pub(in crate::journal) const MIGRATED: i64 = 28;

/// The document of the payment was checked; the digest is that of its bytes. The newest one counts.
pub(in crate::journal) const DOCUMENT_CHECKED: i64 = 95;

/// The mended row of a rejected one was loaded; the detail names both.
pub(in crate::journal) const MENDED: i64 = 96;

/// Where the payment stood then.
pub(in crate::journal) const STOOD: i64 = 29;

/// First claims of several payments; the detail names them.
pub(in crate::journal) const CLAIMED_TOGETHER: i64 = 30;

/// An earlier generation of the row is paid; the detail names it.
pub(in crate::journal) const SUPERSEDED: i64 = 31;

/// Somebody gave a command; the detail says who, and what.
pub(in crate::journal) const ACTED: i64 = 40;

/// A reply to a post that names another amount, currency or number: its outcome is not known.
pub(in crate::journal) const OTHER_REPLY: i64 = 70;

/// A status reply of that kind, which answers nothing.
pub(in crate::journal) const OTHER_ANSWER: i64 = 71;

/// A callback of that kind, which is not applied.
pub(in crate::journal) const OTHER_CALLBACK: i64 = 72;

/// The gateway names our amount and number under an identifier that it had before our first post.
pub(in crate::journal) const RECOGNISED: i64 = 73;

/// Nothing more is to be heard of such an identifier.
pub(in crate::journal) const NOT_OURS: i64 = 74;

/// Returns the number and the words of what a row of evidence records.
pub(in crate::journal) fn kind_numbers(kind: Kind) -> (i64, Option<i64>, Option<i32>) {
    let (number, event) = match kind {
        Kind::Event(event) => return event_numbers(event),
        Kind::Unread => return (NOTED_CALLBACK, None, None),
        Kind::Other(event @ Event::Reply(_)) => (OTHER_REPLY, event),
        Kind::Other(event @ Event::Callback(_)) => (OTHER_CALLBACK, event),
        Kind::Other(event) => (OTHER_ANSWER, event),
    };
    let (_, class, code) = event_numbers(event);
    (number, class, code)
}

/// That it was not found was heard too long ago: it is asked about again.
pub(in crate::journal) const OUTDATED: i64 = 80;

/// A failure that the gateway has taken back is decided by a person.
pub(in crate::journal) const REOPENED: i64 = 81;

/// A finding of a reconciliation with a statement; the detail names it.
pub(in crate::journal) const STATEMENT_FINDING: i64 = 110;

/// The batch was reconciled with a statement; the digest is that of the findings before it that it kept.
pub(in crate::journal) const RECONCILED: i64 = 111;

/// A statement shows a payment paid that is not paid here; the detail names statement and line.
pub(in crate::journal) const SHOWN_PAID: i64 = 112;

/// A statement shows that the money of a payment left whose outcome is open here; the detail names statement and line.
pub(in crate::journal) const MONEY_LEFT: i64 = 113;

/// Lines of a statement about payments, with what they say of them, before the row of the reconciliation; its digest covers them.
pub(in crate::journal) const STATEMENT_LINES: i64 = 114;

/// A person's word from which account of which gateway an earlier journal may have posted the batch; the detail names both.
pub(in crate::journal) const PAYER_CONFIRMED: i64 = 82;

/// By a person's order the payment is withdrawn, if the gateway does not know it.
pub(in crate::journal) const WITHDRAWAL_ORDERED: i64 = 83;

/// Rows of the payment's debt had failed when it was loaded or ordered; the detail names them, each with whether a person's word alone
/// said so.
pub(in crate::journal) const WATCHED: i64 = 87;

/// A rejected row is not paid, by a person's decision; the detail names the row, who decided it, and why.
pub(in crate::journal) const ROW_WITHDRAWN: i64 = 86;

/// The batch was moved to another address of its gateway by order; the detail names both, the payment that showed it, and the reason.
pub(in crate::journal) const GATEWAY_MOVED: i64 = 85;

/// Replies of the batch are read by this dialect; the detail names its digest.
pub(in crate::journal) const READING_TAKEN: i64 = 120;

/// They are read by another one from now on, by order; the detail names both digests.
pub(in crate::journal) const READING_ACCEPTED: i64 = 121;

/// The one payment of the batch is posted a second time, on purpose, to see whether the gateway refuses it; the detail names the
/// gateway, the account and the form of the requests by a digest.
pub(in crate::journal) const PROBE_POSTED: i64 = 130;

/// The batch has these dates from now on; the detail names them.
pub(in crate::journal) const SCHEDULED: i64 = 180;

/// What the gateway made of it.
pub(in crate::journal) const PROBE_ANSWERED: i64 = 131;

/// The rule of approval that a load was made under; the detail has all of it.
pub(in crate::journal) const RULE_PINNED: i64 = 140;

/// Somebody signed to have loaded the batch; the detail has the text and the signature.
pub(in crate::journal) const LOAD_SIGNED: i64 = 141;

/// Somebody approved the batch; the detail has the text and the signature.
pub(in crate::journal) const APPROVED: i64 = 142;

/// Somebody signed for an order; the detail has the text and the signature.
pub(in crate::journal) const ORDER_SIGNED: i64 = 143;

/// An order was carried out that was signed for; the detail has its digest, how many acts it was, and who had signed.
pub(in crate::journal) const ORDER_CARRIED_OUT: i64 = 144;

/// The kinds that are about approval.
const ABOUT_APPROVAL: std::ops::RangeInclusive<i64> = 140..=159;
/// The limits that a run came with; the detail names them.
pub(in crate::journal) const LIMITS_TAKEN: i64 = 160;

/// A lane was stopped because too many of its payments had failed; the detail has the lane and how many.
pub(in crate::journal) const LANE_STOPPED: i64 = 161;

/// The kinds that limits write.
const ABOUT_LIMITS: std::ops::RangeInclusive<i64> = 160..=179;

/// Persons of the batch were forgotten; the detail says of how many rows, and why.
pub(in crate::journal) const FORGOTTEN: i64 = 200;

/// Returns whether a row of evidence holds what was heard of a post, an answer or a callback: texts of others, which may name a person.
/// What such a row adds to its payment is in its numbers, never in its detail.
pub(in crate::journal) fn is_heard(number: i64) -> bool {
    matches!(number, 1..=8 | NOTED_CALLBACK) || is_about_another(number)
}

/// Returns whether a row of evidence says that a post came to nothing: it never left, or the account was not let in.
pub(in crate::journal) fn is_of_nothing(number: i64) -> bool {
    [Event::Unsent, Event::Unauthorised]
        .map(|event| event_numbers(event).0)
        .contains(&number)
}

/// Returns whether a row of evidence is a reply to a post, whatever its code was read to mean.
pub(in crate::journal) fn is_reply(number: i64) -> bool {
    matches!(number, 5 | OTHER_REPLY)
}

/// Returns whether a row of evidence says that a post was answered by not letting the account in.
pub(in crate::journal) fn is_not_let_in(number: i64) -> bool {
    number == event_numbers(Event::Unauthorised).0
}

/// Returns whether what the gateway said with a row of evidence is about another payment.
pub(in crate::journal) fn is_about_another(number: i64) -> bool {
    (OTHER_REPLY..=OTHER_CALLBACK).contains(&number)
}

/// The batch took the account that a run came with; the detail names it.
pub(in crate::journal) const ACCOUNT_TAKEN: i64 = 60;

/// The batch was moved to another account by order; the detail names both, the payment that showed it, and the reason.
pub(in crate::journal) const ACCOUNT_MOVED: i64 = 61;

/// The batch is to go to this gateway and account; the detail names both and the profile, and the reason of a person's order.
pub(in crate::journal) const DESTINED: i64 = 63;

/// What was confirmed for a run; the detail names its figures, how far it reaches, and who said yes.
pub(in crate::journal) const CONFIRMED: i64 = 62;

/// The kinds that say what people confirmed, and where a batch belongs.
pub(in crate::journal) const ABOUT_RUNS: std::ops::RangeInclusive<i64> = 60..=69;

/// It was noticed that the journal may have missed something.
pub(in crate::journal) const RECOVERY_BEGAN: i64 = 50;

/// A person declared that everything the journal has missed is made up for.
pub(in crate::journal) const RECOVERY_DONE: i64 = 51;

/// A person's word that the orders which an older journal did not know were given again; the detail has the reason.
pub(in crate::journal) const ORDERS_GIVEN_AGAIN: i64 = 84;

/// A person's word that nothing has run since made a payment ready again that was presumed posted.
pub(in crate::journal) const RELEASED: i64 = 52;

/// Returns what a row of evidence means to the life of its payment.
pub(in crate::journal) fn fact_of(
    number: i64,
    class: Option<i64>,
    code: Option<i32>,
    detail: Option<&str>,
) -> Result<RecordedEvent, Error> {
    Ok(match number {
        PRESUMED_POSTED => RecordedEvent::PresumedPosted,
        STOOD => RecordedEvent::Stood(Standing::of_detail(detail)?.life),
        NOTED_CALLBACK..=MIGRATED
        | CLAIMED_TOGETHER
        | ACTED
        | DOCUMENT_CHECKED
        | MENDED
        | FORGOTTEN => RecordedEvent::Note,
        number
            if ABOUT_RUNS.contains(&number)
                || ABOUT_APPROVAL.contains(&number)
                || ABOUT_LIMITS.contains(&number) =>
        {
            RecordedEvent::Note
        }
        RELEASED => RecordedEvent::Released,
        RECOVERY_BEGAN | RECOVERY_DONE | ORDERS_GIVEN_AGAIN => RecordedEvent::Note,
        PAYER_CONFIRMED | WITHDRAWAL_ORDERED | GATEWAY_MOVED | ROW_WITHDRAWN | WATCHED => {
            RecordedEvent::Note
        }
        _ => event_of(number, class, code)?.map_or(RecordedEvent::Note, RecordedEvent::Event),
    })
}

/// Reads an event back; `None` for the notes that are not lifecycle events.
pub(in crate::journal) fn event_of(
    number: i64,
    class: Option<i64>,
    code: Option<i32>,
) -> Result<Option<Event>, Error> {
    let verdict = || -> Result<CodeMeaning, Error> {
        let (Some(class), Some(code)) = (class, code) else {
            return Err(corrupt("evidence without its code"));
        };
        Ok(CodeMeaning {
            class: class_of(class)?,
            code,
        })
    };
    Ok(Some(match number {
        0 => Event::Claimed,
        1 => Event::Unsent,
        2 => Event::Unauthorised,
        3 => Event::Lost,
        4 => Event::Abandoned,
        5 => Event::Reply(verdict()?),
        6 => Event::Answer(verdict()?),
        7 => Event::NoAnswer,
        8 => Event::Callback(verdict()?),
        9 => Event::DecidedPaid,
        10 => Event::DecidedFailed,
        11 => Event::Withdrawn,
        SUPERSEDED => Event::Superseded,
        OUTDATED => Event::Outdated,
        REOPENED => Event::Reopened,
        SHOWN_PAID => Event::ShownPaid,
        STATEMENT_FINDING | STATEMENT_LINES | RECONCILED | MONEY_LEFT => return Ok(None),
        NOTED_CALLBACK..=CLAIMED_TOGETHER | ACTED | DOCUMENT_CHECKED | MENDED => return Ok(None),
        number
            if ABOUT_RUNS.contains(&number)
                || ABOUT_APPROVAL.contains(&number)
                || ABOUT_LIMITS.contains(&number) =>
        {
            return Ok(None);
        }
        OTHER_REPLY => Event::Lost,
        OTHER_ANSWER => Event::NoAnswer,
        RECOGNISED => Event::Recognised,
        NOT_OURS => Event::NotOurs,
        OTHER_CALLBACK => return Ok(None),
        RECOVERY_BEGAN..=RELEASED | ORDERS_GIVEN_AGAIN => return Ok(None),
        PAYER_CONFIRMED | WITHDRAWAL_ORDERED | GATEWAY_MOVED | ROW_WITHDRAWN | WATCHED => {
            return Ok(None);
        }
        other => return Err(corrupt(format!("evidence of the unknown kind {other}"))),
    }))
}

/// Names a kind of evidence for a person.
pub(in crate::journal) fn event_name(number: i64) -> &'static str {
    match number {
        0 => "intent recorded",
        1 => "not sent",
        2 => "not authenticated",
        3 => "outcome unknown",
        4 => "without an outcome when a new run began",
        5 => "reply",
        6 => "status reply",
        7 => "status query without answer",
        8 => "callback",
        9 | 10 => "operator's decision",
        11 => "withdrawn",
        NOTED_CALLBACK => "callback, not applied",
        PRESUMED_POSTED => "presumed to have been posted before",
        REPLACED => "replaced by a retry",
        UPLOADED => "document uploaded",
        DOCUMENT_CHECKED => "document checked",
        MENDED => "rejected row mended",
        BILLED => "bill",
        ROWS_LOADED => "rows loaded",
        FILE_LOADED => "file loaded",
        PINNED => "tied to its gateway",
        MIGRATED => "journal of an earlier release",
        STOOD => "state when its evidence was sealed",
        CLAIMED_TOGETHER => "intents recorded",
        ACTED => "ordered by a person",
        ACCOUNT_TAKEN => "tied to its account",
        SCHEDULED => "dates of the batch",
        DESTINED => "destined for a gateway and an account",
        READING_TAKEN => "tied to how replies are read",
        PROBE_POSTED => "posted a second time on purpose, to see whether the gateway refuses it",
        PROBE_ANSWERED => "answer to the second post",
        READING_ACCEPTED => "by order, replies are read in another way",
        CONFIRMED => "confirmed for a run",
        LIMITS_TAKEN => "limits of a run",
        LANE_STOPPED => "service stopped: too many of its payments failed",
        RULE_PINNED => "loaded under a rule of approval",
        LOAD_SIGNED => "signed by whoever loaded it",
        APPROVED => "approved",
        ORDER_SIGNED => "order signed",
        ORDER_CARRIED_OUT => "signed order carried out",
        ACCOUNT_MOVED => "moved to another account by order",
        OTHER_REPLY => "reply about another payment",
        OTHER_ANSWER => "status reply about another payment",
        OTHER_CALLBACK => "callback about another payment, not applied",
        RECOVERY_BEGAN => "the journal may have missed something",
        RECOVERY_DONE => "the recovery is declared done",
        ORDERS_GIVEN_AGAIN => "an operator confirmed that the lost orders were given again",
        RELEASED => "ready again: an operator confirmed that nothing has run since",
        RECOGNISED => "recognised as ours by its amount and number",
        NOT_OURS => "not known to be ours, left to a person",
        SUPERSEDED => "not paid a second time",
        OUTDATED => {
            "\"not found\" was too long ago, or said before a move: to be asked about again"
        }
        PAYER_CONFIRMED => "an operator confirmed: if it was posted, this account posted it",
        WITHDRAWAL_ORDERED => "to be withdrawn unless the gateway knows it",
        ROW_WITHDRAWN => "rejected row withdrawn",
        WATCHED => "to be compared with failed rows of the same debt before it leaves",
        GATEWAY_MOVED => "moved to another address of its gateway by order",
        STATEMENT_FINDING => "found in a reconciliation",
        STATEMENT_LINES => "lines of a statement about payments",
        RECONCILED => "reconciled with a statement",
        SHOWN_PAID => "paid in a statement, but not here",
        MONEY_LEFT => "its money has left by a statement",
        REOPENED => "called failed, and something else since then: a person can decide",
        _ => "unknown",
    }
}

pub(in crate::journal) fn class_number(class: Class) -> i64 {
    match class {
        Class::Paid => 0,
        Class::Failed => 1,
        Class::Refused => 2,
        Class::Acknowledged => 3,
        Class::Delivered => 4,
        Class::NoFloat => 5,
        Class::Duplicate => 6,
        Class::NotFound => 7,
        Class::InDoubt => 8,
    }
}

pub(in crate::journal) fn class_of(number: i64) -> Result<Class, Error> {
    Class::ALL
        .into_iter()
        .map(|(class, _)| class)
        .find(|class| class_number(*class) == number)
        .ok_or_else(|| corrupt(format!("the unknown class {number}")))
}
