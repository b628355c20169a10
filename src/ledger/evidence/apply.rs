//! Evidence in, change out.

use super::change::{Change, Heard, Kind, Row, Told};
use super::words::{Words, keeping};
use crate::domain::ResponseDetails;
use crate::ledger::told_identifier::worth_keeping;
use crate::ledger::{HeldFor, Judgement, UNCOMPARED};
use crate::lifecycle::{
    Anomaly, Class, Event, PaymentState, Policy, State, Step, StepContext, step,
};

/// A new piece of evidence about a payment.
#[derive(Clone, Copy, Debug)]
pub struct NewEvidence<'a> {
    /// What happened; `None`: a genuine callback that nobody can read.
    pub event: Option<Event>,
    /// What was said with it.
    pub said: &'a ResponseDetails,
    /// What is named there, held against the instruction.
    pub judgement: &'a Judgement,
}

/// Returns what evidence makes of a payment that stands like this.
#[must_use]
pub fn apply<'a>(
    life: &PaymentState,
    evidence: NewEvidence<'a>,
    moment: StepContext,
    policy: &Policy,
) -> Change<'a> {
    match (evidence.event, &evidence.judgement.differs) {
        (Some(event), None) => believed(life, event, evidence, moment, policy),
        (Some(event @ Event::Callback(_)), Some(differs)) => {
            let row = of_another(event, differs);
            asked_soon(life, row, Heard::Other, moment, policy)
        }
        (Some(event), Some(differs)) => disbelieved(life, event, differs, moment, policy),
        (None, _) => {
            let why = evidence.said.anomaly.as_deref();
            let row = Row {
                kind: Kind::Unread,
                note: Some(
                    why.unwrap_or("not a callback about this payment")
                        .to_owned(),
                ),
                has_words: true,
            };
            asked_soon(life, row, Heard::Nothing, moment, policy)
        }
    }
}

/// What happened, or words that nothing speaks against.
fn believed<'a>(
    life: &PaymentState,
    event: Event,
    NewEvidence {
        said, judgement, ..
    }: NewEvidence<'a>,
    moment: StepContext,
    policy: &Policy,
) -> Change<'a> {
    let (before, recognised) = recognised(life, judgement, moment, policy);
    let Step {
        life: after,
        anomaly,
    } = step(&before, event, moment, policy);
    let words = Words::of(said);
    let keeping = keeping(event, before.state, after.state);
    let row = Row {
        kind: Kind::Event(event),
        note: note(anomaly, said, judgement),
        has_words: true,
    };
    let (stands, concluded) = concluded(after, nothing_is_to_come(&after), moment, policy);
    Change {
        life: stands,
        is_written: stands != *life || words.are_some(),
        ends: stands.state != before.state && stands.state.is_finished(),
        waits_aside: matches!(event, Event::Reply(_))
            && stands.state == State::Acknowledged
            && stands.due_at.is_some(),
        told: words.are_some().then(|| Told {
            words: Words {
                gateway_transaction_id: worth_keeping(words.gateway_transaction_id),
                ..words
            },
            fill_gaps: keeping.fills_gaps,
            application_id: words.receipt_number.filter(|_| keeping.is_delivery),
        }),
        heard: match event {
            _ if after.taken && !before.taken => Heard::Taken,
            Event::Reply(_) | Event::Answer(_) | Event::Callback(_) if judgement.agrees => {
                Heard::Ours
            }
            Event::Reply(_) | Event::Answer(_) | Event::Callback(_) => Heard::Unnamed,
            _ => Heard::Nothing,
        },
        opens: opens(life, event, judgement),
        rows: [recognised, planted!(ledger::recorded(Some(row))), concluded],
    }
}

/// Words of a post or a question that are about another payment: a post is lost, a question unanswered, whatever they say.
fn disbelieved<'a>(
    life: &PaymentState,
    event: Event,
    differs: &str,
    moment: StepContext,
    policy: &Policy,
) -> Change<'a> {
    let after = match event {
        // The gateway has the identifier, and answers: what it says of it when asked is all there is to wait for.
        Event::Reply(_) => {
            let lost = step(life, Event::Lost, moment, policy);
            hastened(lost.life, moment, policy)
        }
        _ => step(life, Event::NoAnswer, moment, policy).life,
    };
    let is_over = is_told_end(event) || nothing_is_to_come(&after);
    let (stands, concluded) = concluded(after, is_over, moment, policy);
    Change {
        life: stands,
        is_written: stands != *life,
        ends: concluded.is_some(),
        waits_aside: false,
        told: None,
        heard: Heard::Other,
        opens: None,
        rows: [None, Some(of_another(event, differs)), concluded],
    }
}

/// A callback that is kept and not applied: whoever called had something to say, and the gateway is asked soon.
fn asked_soon<'a>(
    life: &PaymentState,
    row: Row,
    heard: Heard,
    moment: StepContext,
    policy: &Policy,
) -> Change<'a> {
    let stands = hastened(*life, moment, policy);
    Change {
        life: stands,
        is_written: stands != *life,
        ends: false,
        waits_aside: false,
        told: None,
        heard,
        opens: None,
        rows: [None, Some(row), None],
    }
}

/// Notes, before words are applied, that they name our amount and our number.
fn recognised(
    life: &PaymentState,
    judgement: &Judgement,
    moment: StepContext,
    policy: &Policy,
) -> (PaymentState, Option<Row>) {
    match judgement.is_ours && may_be_a_strangers(life) {
        true => noted(life, Event::Recognised, moment, policy),
        false => (*life, None),
    }
}

/// Leaves a payment to a person whose identifier the gateway had before our first post, once nothing more is to be heard of it.
fn concluded(
    life: PaymentState,
    is_over: bool,
    moment: StepContext,
    policy: &Policy,
) -> (PaymentState, Option<Row>) {
    match is_over && may_be_a_strangers(&life) {
        true => noted(&life, Event::NotOurs, moment, policy),
        false => (life, None),
    }
}

fn noted(
    life: &PaymentState,
    event: Event,
    moment: StepContext,
    policy: &Policy,
) -> (PaymentState, Option<Row>) {
    let Step { life, anomaly } = step(life, event, moment, policy);
    let row = Row {
        kind: Kind::Event(event),
        note: anomaly.map(|anomaly| anomaly.to_string()),
        has_words: false,
    };
    (life, Some(row))
}

/// Returns whether what the gateway has under the identifier may be somebody else's.
fn may_be_a_strangers(life: &PaymentState) -> bool {
    life.taken && life.state == State::InDoubt
}

fn nothing_is_to_come(life: &PaymentState) -> bool {
    life.due_at.is_none()
}

/// Returns whether an answer tells an end. About another amount or number, it is the end of somebody else's payment.
fn is_told_end(event: Event) -> bool {
    match event {
        Event::Answer(meaning) => {
            matches!(meaning.class, Class::Paid | Class::Failed | Class::Refused)
        }
        _ => false,
    }
}

/// An answer that names what is ours: whatever the posts were stopped for has an end.
fn opens(life: &PaymentState, event: Event, judgement: &Judgement) -> Option<HeldFor> {
    let is_answer = matches!(event, Event::Reply(_) | Event::Answer(_));
    (is_answer && judgement.is_ours).then_some(match life.taken {
        true => HeldFor::Taken,
        false => HeldFor::Misread,
    })
}

/// Makes the next question about a payment due now, if there is one.
fn hastened(life: PaymentState, moment: StepContext, policy: &Policy) -> PaymentState {
    if !life.state.is_asked_about() || !policy.status_query {
        return life;
    }
    let due_at = life.due_at.map_or(moment.now, |at| at.min(moment.now));
    PaymentState {
        due_at: Some(due_at),
        ..life
    }
}

/// Words about another payment, as they are recorded.
fn of_another(event: Event, differs: &str) -> Row {
    let code = match event {
        Event::Reply(meaning) | Event::Answer(meaning) | Event::Callback(meaning) => {
            format!("{}, ", meaning.code)
        }
        _ => String::new(),
    };
    Row {
        kind: Kind::Other(event),
        note: Some(format!("not believed: {code}it names {differs}")),
        has_words: true,
    }
}

/// What did not fit, and what could not be compared.
fn note(anomaly: Option<Anomaly>, said: &ResponseDetails, judgement: &Judgement) -> Option<String> {
    let uncompared = || format!("it names {UNCOMPARED}");
    let notes = [
        anomaly.map(|anomaly| anomaly.to_string()),
        said.anomaly.clone(),
        judgement.uncompared.then(uncompared),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}
