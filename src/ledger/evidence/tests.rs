//! What evidence makes of a payment, one row per case.

use super::*;
use crate::domain::{GatewayTransactionId, ResponseDetails, Timestamp};
use crate::ledger::{HeldFor, Judgement};
use crate::lifecycle::{
    Class, CodeMeaning, Event, PaymentState, Policy, RecordedEvent, State, StepContext, fold,
    proven,
};
use crate::seeded_bugs::SeededBug;
use Class::{Acknowledged, Delivered, Duplicate, Failed, InDoubt, NotFound, Paid, Refused};

fn now() -> StepContext {
    StepContext {
        now: Timestamp::from_millis(1_000_000),
        jitter: 0,
    }
}

fn life(state: State) -> PaymentState {
    let was_posted = state != State::Ready;
    PaymentState {
        state,
        attempts: u32::from(was_posted),
        posted_at: was_posted.then(|| Timestamp::from_millis(900_000)),
        quarantine_from: was_posted.then(|| Timestamp::from_millis(900_000)),
        exposures: u32::from(!matches!(state, State::Ready | State::Posting)),
        due_at: state
            .is_asked_about()
            .then(|| Timestamp::from_millis(2_000_000)),
        ..PaymentState::NEW
    }
}

/// One whose identifier the gateway had before its first post.
fn taken() -> PaymentState {
    PaymentState {
        known: true,
        taken: true,
        code: Some(229),
        ..life(State::InDoubt)
    }
}

fn meaning(class: Class) -> CodeMeaning {
    let code = match class {
        Paid => 140,
        Failed => 110,
        Refused => 101,
        Acknowledged => 139,
        Delivered => 148,
        Class::NoFloat => 230,
        Duplicate => 229,
        NotFound => 143,
        InDoubt => 188,
    };
    CodeMeaning { class, code }
}

fn reply(class: Class) -> Option<Event> {
    Some(Event::Reply(meaning(class)))
}

fn answer(class: Class) -> Option<Event> {
    Some(Event::Answer(meaning(class)))
}

fn callback(class: Class) -> Option<Event> {
    Some(Event::Callback(meaning(class)))
}

/// What the words name.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Names {
    /// Nothing that can be compared.
    Nothing,
    /// Our amount.
    Amount,
    /// Our amount and our number.
    Ours,
    /// Another amount.
    Other,
    /// A number, and whom the payment is of was forgotten.
    Forgotten,
}

impl Names {
    const ALL: [Self; 5] = [
        Self::Nothing,
        Self::Amount,
        Self::Ours,
        Self::Other,
        Self::Forgotten,
    ];

    fn judgement(self) -> Judgement {
        Judgement {
            differs: (self == Self::Other).then(|| "the amount 2, ours is KES 1.00".to_owned()),
            is_ours: self == Self::Ours,
            agrees: matches!(self, Self::Ours | Self::Amount),
            uncompared: self == Self::Forgotten,
        }
    }
}

/// Tells a change in one line: where the payment stands, what else comes of it, and what is recorded.
fn told(before: &PaymentState, event: Option<Event>, names: Names, policy: &Policy) -> String {
    let (said, judgement) = (ResponseDetails::default(), names.judgement());
    let evidence = NewEvidence {
        event,
        said: &said,
        judgement: &judgement,
    };
    let change = apply(before, evidence, now(), policy);
    assert!(change.told.is_none(), "nothing was said");
    assert_eq!(change.is_written, change.life != *before);
    let mut told = vec![change.life.state.name()];
    told.extend(change.ends.then_some("ends"));
    told.extend((change.life.due_at == Some(now().now)).then_some("asked now"));
    told.extend(change.waits_aside.then_some("waits aside"));
    told.extend(change.opens.map(|why| match why {
        HeldFor::Taken => "opens taken",
        HeldFor::Misread => "opens misread",
        HeldFor::Float | HeldFor::Failures => "opens what it must not",
    }));
    told.extend(match change.heard {
        Heard::Nothing => None,
        Heard::Unnamed => Some("unnamed"),
        Heard::Ours => Some("ours"),
        Heard::Other => Some("other"),
        Heard::Taken => Some("taken"),
    });
    let rows = change.rows.iter().flatten().map(|row| {
        let kind = match row.kind {
            Kind::Event(Event::Recognised) => "recognised",
            Kind::Event(Event::NotOurs) => "not ours",
            Kind::Event(_) => "as heard",
            Kind::Other(_) => "of another",
            Kind::Unread => "unread",
        };
        row.note
            .as_ref()
            .map_or_else(|| kind.to_owned(), |note| format!("{kind} ({note})"))
    });
    let rows: Vec<String> = rows.collect();
    format!("{}: {}", told.join(", "), rows.join(" + "))
}

type Case = (PaymentState, Option<Event>, Names, &'static str);

fn table() -> Vec<Case> {
    use Names::{Amount, Forgotten, Nothing, Other, Ours};
    let of = life;
    vec![
        // An end is an end, and its contradiction is a person's.
        (
            of(State::Acknowledged),
            callback(Paid),
            Nothing,
            "paid, ends, unnamed: as heard",
        ),
        (
            of(State::Acknowledged),
            callback(Failed),
            Amount,
            "failed, ends, ours: as heard",
        ),
        (
            of(State::Failed),
            callback(Failed),
            Nothing,
            "failed, unnamed: as heard",
        ),
        (
            of(State::Failed),
            callback(Acknowledged),
            Nothing,
            "failed, unnamed: as heard",
        ),
        (
            of(State::Failed),
            callback(Paid),
            Nothing,
            "conflict, ends, unnamed: as heard (final evidence contradicts earlier final evidence)",
        ),
        (
            of(State::Paid),
            answer(Failed),
            Ours,
            "conflict, ends, opens misread, ours: as heard (final evidence contradicts earlier final evidence)",
        ),
        (
            of(State::Conflict),
            callback(Paid),
            Nothing,
            "conflict, unnamed: as heard",
        ),
        // Acknowledged to its post, the run remembers when to ask; to a question, the queue does.
        (
            of(State::Posting),
            reply(Acknowledged),
            Nothing,
            "acknowledged, waits aside, unnamed: as heard",
        ),
        (
            of(State::InDoubt),
            answer(Acknowledged),
            Nothing,
            "acknowledged, unnamed: as heard",
        ),
        (
            of(State::Posting),
            callback(Acknowledged),
            Nothing,
            "acknowledged, unnamed: as heard",
        ),
        (
            of(State::Posting),
            Some(Event::Lost),
            Nothing,
            "in_doubt: as heard",
        ),
        // Words about another amount are not believed: a post is lost, a question unanswered, a callback set aside.
        (
            of(State::Posting),
            reply(Paid),
            Other,
            "in_doubt, asked now, other: of another (not believed: 140, it names the amount 2, ours is KES 1.00)",
        ),
        (
            of(State::InDoubt),
            answer(Paid),
            Other,
            "in_doubt, other: of another (not believed: 140, it names the amount 2, ours is KES 1.00)",
        ),
        (
            of(State::Acknowledged),
            callback(Failed),
            Other,
            "acknowledged, asked now, other: of another (not believed: 110, it names the amount 2, ours is KES 1.00)",
        ),
        (
            of(State::Failed),
            callback(Paid),
            Other,
            "failed, other: of another (not believed: 140, it names the amount 2, ours is KES 1.00)",
        ),
        // Nobody can read it: the gateway is asked, where there is something to ask.
        (
            of(State::Acknowledged),
            None,
            Nothing,
            "acknowledged, asked now: unread (not a callback about this payment)",
        ),
        (
            of(State::Acknowledged),
            None,
            Other,
            "acknowledged, asked now: unread (not a callback about this payment)",
        ),
        (
            of(State::Failed),
            None,
            Nothing,
            "failed: unread (not a callback about this payment)",
        ),
        (
            of(State::Posting),
            None,
            Nothing,
            "posting: unread (not a callback about this payment)",
        ),
        // An answer that names what is ours lets posts go on; a callback does not.
        (
            of(State::InDoubt),
            answer(Paid),
            Ours,
            "paid, ends, opens misread, ours: as heard",
        ),
        (
            of(State::InDoubt),
            callback(Paid),
            Ours,
            "paid, ends, ours: as heard",
        ),
        (
            of(State::InDoubt),
            answer(Paid),
            Amount,
            "paid, ends, ours: as heard",
        ),
        // The gateway had the identifier before our first post: no end of it is ours, unless it names ours.
        (
            of(State::Posting),
            reply(Duplicate),
            Nothing,
            "in_doubt, asked now, taken: as heard (the gateway had this identifier before our first post: it may be somebody else's payment)",
        ),
        (
            taken(),
            answer(Paid),
            Ours,
            "paid, ends, opens taken, ours: recognised + as heard",
        ),
        (
            taken(),
            callback(Failed),
            Ours,
            "failed, ends, ours: recognised + as heard",
        ),
        (
            taken(),
            answer(Acknowledged),
            Nothing,
            "in_doubt, unnamed: as heard",
        ),
        (
            taken(),
            callback(Paid),
            Nothing,
            "in_doubt, asked now, unnamed: as heard",
        ),
        (
            taken(),
            answer(Paid),
            Amount,
            "conflict, ends, ours: as heard (the gateway had this identifier before our first post: it may be somebody else's payment)",
        ),
        (
            taken(),
            answer(Paid),
            Other,
            "conflict, ends, other: of another (not believed: 140, it names the amount 2, ours is KES 1.00) + not ours (the gateway had this identifier before our first post: it may be somebody else's payment)",
        ),
        (
            taken(),
            answer(Acknowledged),
            Other,
            "in_doubt, other: of another (not believed: 139, it names the amount 2, ours is KES 1.00)",
        ),
        // Whom it was of was forgotten.
        (
            of(State::Acknowledged),
            callback(Paid),
            Forgotten,
            "paid, ends, unnamed: as heard (it names a number that was not compared: whom the payment is of was forgotten)",
        ),
    ]
}

fn wrong() -> Vec<String> {
    let policy = Policy::default();
    let mut wrong = Vec::new();
    for (before, event, names, expected) in table() {
        let found = told(&before, event, names, &policy);
        if found != expected {
            wrong.push(format!(
                "{} {event:?} {names:?}: {found}",
                before.state.name()
            ));
        }
    }
    wrong
}

#[test]
fn evidence_moves_a_payment_and_nothing_else_does() {
    assert_eq!(wrong(), Vec::<String>::new());
    let _awake = SeededBug::FinalOverwritten.wake();
    assert_eq!(wrong().len(), 2, "the planted mistake is found");
}

#[test]
fn where_nobody_can_be_asked_what_may_be_a_strangers_is_left_to_a_person_at_once() {
    let policy = Policy {
        status_query: false,
        ..Policy::default()
    };
    const TAKEN: &str =
        "the gateway had this identifier before our first post: it may be somebody else's payment";
    for (before, event, names, expected) in [
        (
            life(State::Posting),
            reply(Duplicate),
            Names::Nothing,
            format!("conflict, ends, taken: as heard ({TAKEN}) + not ours ({TAKEN})"),
        ),
        (
            taken(),
            callback(Paid),
            Names::Nothing,
            format!("conflict, ends, unnamed: as heard + not ours ({TAKEN})"),
        ),
        // Set aside, it hastens no question, as there is none.
        (
            life(State::Acknowledged),
            None,
            Names::Nothing,
            "acknowledged: unread (not a callback about this payment)".to_owned(),
        ),
    ] {
        let found = told(&before, event, names, &policy);
        assert_eq!(found, expected, "{before:?} {event:?}");
    }
}

/// Words with everything that is kept of them.
fn full(id: &str) -> ResponseDetails {
    ResponseDetails {
        description: "success".to_owned(),
        gateway_transaction_id: Some(GatewayTransactionId::parse(id).unwrap()),
        receipt_number: Some("R1".to_owned()),
        receiver_narration: Some(String::new()),
        ..ResponseDetails::default()
    }
}

#[test]
fn words_are_kept_and_after_an_end_they_fill_gaps_alone() {
    // Before, then the event, then whether words replace earlier ones, and whether the receipt is that of a delivery.
    for (before, event, replaces, is_delivery) in [
        (State::Posting, reply(Acknowledged), true, false),
        (State::Posting, reply(Delivered), true, true),
        (State::Acknowledged, callback(Acknowledged), true, false),
        (State::Acknowledged, callback(Paid), true, false),
        (State::Paid, reply(Acknowledged), false, false),
        (State::Paid, callback(Delivered), false, true),
        (State::Failed, answer(NotFound), false, false),
        (State::Failed, callback(Paid), true, false),
        (State::Conflict, callback(Paid), false, false),
        (State::Cancelled, reply(Refused), false, false),
    ] {
        let (said, judgement) = (full("T1"), Judgement::default());
        let evidence = NewEvidence {
            event,
            said: &said,
            judgement: &judgement,
        };
        let change = apply(&life(before), evidence, now(), &Policy::default());
        assert!(change.is_written, "words alone are written");
        let expected = Told {
            words: Words {
                gateway_transaction_id: Some("T1"),
                receipt_number: Some("R1"),
                receiver_narration: None,
                description: Some("success"),
            },
            fill_gaps: !replaces,
            application_id: is_delivery.then_some("R1"),
        };
        assert_eq!(change.told, Some(expected), "{before:?} {event:?}");
    }
}

#[test]
fn words_that_are_not_believed_are_recorded_and_not_kept() {
    for event in [reply(Paid), answer(Paid), callback(Paid), None] {
        let (said, judgement) = (full("T1"), Names::Other.judgement());
        let evidence = NewEvidence {
            event,
            said: &said,
            judgement: &judgement,
        };
        let change = apply(&life(State::Paid), evidence, now(), &Policy::default());
        assert_eq!((change.told, change.is_written), (None, false), "{event:?}");
        let rows: Vec<&Row> = change.rows.iter().flatten().collect();
        assert!(rows.len() == 1 && rows[0].has_words, "{event:?}");
        let named = change.named_otherwise();
        assert_eq!(named.is_some(), event.is_some(), "{event:?}");
        // What was asked for, or posted, is judged by its waits; whoever calls is not waited for.
        let is_called = matches!(event, Some(Event::Callback(_)) | None);
        assert_eq!(rows[0].kind.rests_on_policy(), !is_called, "{event:?}");
    }
}

#[test]
fn an_identifier_that_stands_for_nothing_is_not_kept() {
    let (said, judgement) = (full("N/A"), Judgement::default());
    let evidence = NewEvidence {
        event: callback(Paid),
        said: &said,
        judgement: &judgement,
    };
    let change = apply(
        &life(State::Acknowledged),
        evidence,
        now(),
        &Policy::default(),
    );
    let words = change.told.unwrap().words;
    assert_eq!(words.gateway_transaction_id, None);
    assert_eq!(words.receipt_number, Some("R1"), "the others are");
}

#[test]
fn what_did_not_fit_is_recorded_with_what_was_heard() {
    let said = ResponseDetails {
        anomaly: Some("cut".to_owned()),
        ..ResponseDetails::default()
    };
    let judgement = Names::Forgotten.judgement();
    let note = |event| {
        let evidence = NewEvidence {
            event,
            said: &said,
            judgement: &judgement,
        };
        let change = apply(&life(State::Failed), evidence, now(), &Policy::default());
        change.rows[1].as_ref().and_then(|row| row.note.clone())
    };
    assert_eq!(
        note(callback(Paid)).unwrap(),
        "final evidence contradicts earlier final evidence; cut; it names a number that was not compared: whom the payment is of was forgotten"
    );
    assert_eq!(note(None).unwrap(), "cut");
}

/// What a row of evidence means to whoever replays it.
fn recorded(kind: Kind) -> RecordedEvent {
    match kind {
        Kind::Event(event) => RecordedEvent::Event(event),
        Kind::Other(Event::Reply(_)) => RecordedEvent::Event(Event::Lost),
        Kind::Other(Event::Answer(_)) => RecordedEvent::Event(Event::NoAnswer),
        Kind::Other(_) | Kind::Unread => RecordedEvent::Note,
    }
}

#[test]
fn what_is_recorded_adds_up_to_where_the_payment_stands() {
    let words = Class::ALL
        .into_iter()
        .flat_map(|(class, _)| [reply(class), answer(class), callback(class)]);
    let others = [
        Event::Unsent,
        Event::Unauthorised,
        Event::Lost,
        Event::Abandoned,
        Event::NoAnswer,
        Event::Outdated,
        Event::Superseded,
        Event::Withdrawn,
    ];
    let events: Vec<Option<Event>> = words.chain(others.map(Some)).chain([None]).collect();
    let lives: Vec<PaymentState> = State::ALL.map(life).into_iter().chain([taken()]).collect();
    for status_query in [true, false] {
        let policy = Policy {
            status_query,
            ..Policy::default()
        };
        for before in &lives {
            for (event, names) in events
                .iter()
                .flat_map(|event| Names::ALL.map(|names| (*event, names)))
            {
                let is_words = !matches!(event, Some(event) if others.contains(&event));
                if !is_words && names != Names::Nothing {
                    continue;
                }
                let (said, judgement) = (ResponseDetails::default(), names.judgement());
                let evidence = NewEvidence {
                    event,
                    said: &said,
                    judgement: &judgement,
                };
                let change = apply(before, evidence, now(), &policy);
                let rows = change.rows.iter().flatten();
                let replayed = rows.fold(*before, |life, row| {
                    fold(&life, recorded(row.kind), now().now, &policy)
                });
                assert_eq!(
                    proven(replayed),
                    proven(change.life),
                    "{before:?} {event:?} {names:?}"
                );
                let has_moved = change.life.state != before.state;
                assert_eq!(
                    change.ends,
                    has_moved && change.life.state.is_finished(),
                    "{before:?} {event:?} {names:?}"
                );
            }
        }
    }
}

/// Keeps words as a store does.
fn kept(before: &Standing, change: &Change<'_>) -> Standing {
    let mut stands = before.clone();
    stands.life = change.life;
    if change.ends {
        stands.settled_at = Some(now().now.as_millis());
    }
    let Some(told) = &change.told else {
        return stands;
    };
    for (known, said) in stands.words.iter_mut().zip(told.words.all()) {
        if said.is_some() && !(told.fill_gaps && known.is_some()) {
            *known = said.map(str::to_owned);
        }
    }
    let application_id = told.application_id.map(str::to_owned);
    stands.application_id = stands.application_id.or(application_id);
    stands
}

#[test]
fn whoever_replays_evidence_finds_the_words_that_were_kept() {
    let policy = Policy::default();
    let told = [full("T1"), full("000"), ResponseDetails::default()];
    let known = [
        [None, None, None, None],
        ["T0", "R0", "N0", "D0"].map(|word| Some(word.to_owned())),
    ];
    for before in State::ALL.map(life) {
        for (said, words) in told
            .iter()
            .flat_map(|said| known.iter().map(move |known| (said, known)))
        {
            for event in Class::ALL
                .iter()
                .flat_map(|(class, _)| [reply(*class), answer(*class), callback(*class)])
            {
                let before = Standing {
                    life: before,
                    words: words.clone(),
                    ..Standing::NEW
                };
                let judgement = Judgement::default();
                let evidence = NewEvidence {
                    event,
                    said,
                    judgement: &judgement,
                };
                let change = apply(&before.life, evidence, now(), &policy);
                let stored = kept(&before, &change);
                let mut replayed = before;
                for row in change.rows.iter().flatten() {
                    let words = if row.has_words {
                        Words::of(said)
                    } else {
                        Words::default()
                    };
                    let words = words.all().map(|word| word.map(str::to_owned));
                    replayed.learn(recorded(row.kind), now().now, words, &policy);
                }
                let differences = stored.differences(&replayed);
                assert!(
                    differences.is_empty(),
                    "{event:?} {stored:?}: {differences:?}"
                );
            }
        }
    }
}
