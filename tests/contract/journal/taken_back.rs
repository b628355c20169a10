//! Retries of what the gateway called failed, and speaks of otherwise afterwards; and states that were edited in the file.

use std::sync::Arc;

use disburse::domain::{Member, PaymentId};
use disburse::journal::{Clearance, Error, Finding, Halt, IncomingCallback, WaitsFor};
use disburse::ledger::decisions::{Asked, Heard, Refusal};
use disburse::lifecycle::{Class, Event, Policy, State};

use super::generations::Row;
use crate::support::*;

/// Ways in which a failure is taken back.
#[derive(Clone, Copy, Debug)]
enum Word {
    Callback(Class, i32),
    Reply(Class, i32),
    Answer(Class, i32),
    OtherCallback,
    OtherAnswer,
    Unreadable,
}

const WORDS: [Word; 12] = [
    Word::Callback(Class::Acknowledged, 139),
    Word::Callback(Class::Delivered, 148),
    Word::Callback(Class::InDoubt, 229),
    Word::Callback(Class::InDoubt, 999),
    Word::Callback(Class::NotFound, 143),
    Word::Reply(Class::Acknowledged, 139),
    Word::Reply(Class::Duplicate, 229),
    Word::Answer(Class::Acknowledged, 139),
    Word::Answer(Class::Delivered, 148),
    Word::OtherCallback,
    Word::OtherAnswer,
    Word::Unreadable,
];

impl Row {
    fn seq_of_first(&self) -> PaymentId {
        self.world.find(self.first.as_str()).seq
    }

    async fn says(&self, word: Word, secs: i64) {
        let seq = self.seq_of_first();
        let another = || naming(&[(Member::Amount, "90000.00")]);
        let digest = u8::try_from(secs % 250).unwrap();
        match word {
            Word::Callback(class, code) => self.told(self.first, class, code, secs).await,
            Word::Reply(class, code) => self.hear(seq, reply(class, code), secs).await,
            Word::Answer(class, code) => self.hear(seq, answer(class, code), secs).await,
            Word::OtherCallback => {
                let said = another();
                let note = IncomingCallback {
                    said,
                    ..note(self.first, Class::Paid, 140, digest)
                };
                self.world.callback(note, secs).await;
            }
            Word::OtherAnswer => {
                let (event, said) = (answer(Class::Paid, 140), another());
                self.world
                    .record(
                        vec![Finding {
                            seq,
                            event,
                            said,
                            asked: None,
                        }],
                        secs,
                    )
                    .await;
            }
            Word::Unreadable => {
                let note = IncomingCallback {
                    event: None,
                    body: Some("paid!".into()),
                    ..note(self.first, Class::Paid, 140, digest)
                };
                self.world.callback(note, secs).await;
            }
        }
    }

    pub(super) async fn fails_expressly(
        &self,
        heard: Option<Heard>,
        although: bool,
    ) -> Result<(), Refusal> {
        let journal = &self.world.journal;
        let looked = journal.look(batch(), self.first.to_string().into()).await;
        let looked = looked.unwrap();
        let asked = Asked {
            heard,
            learned: false,
            said_paid: false,
            shown_paid: false,
            although,
        };
        let decision = disburse::journal::Decision {
            paid: false,
            reason: "the bank".into(),
            evidence: "ticket 9".into(),
        };
        let decided = journal.decide_failed(
            looked.seq,
            looked.seen,
            asked,
            decision,
            moment(200_000),
            policy(),
        );
        decided.await.unwrap().map(|_| ())
    }
}

#[tokio::test]
async fn a_failure_that_is_taken_back_holds_its_retry_until_the_gateway_says_failed_again() {
    for word in WORDS {
        let row = Row::retried().await;
        row.says(word, 7).await;
        assert!(row.claim(8).await.is_empty(), "{word:?}");
        assert_eq!(row.newest().waits_for, Some(WaitsFor::Again(row.first)));
        let standing = row.world.standing();
        let waiting = standing.waiting[0];
        assert_eq!(standing.waiting_count, 1, "{word:?}");
        assert_eq!(
            (waiting.id, waiting.waits_for),
            (row.newest().payment.id, WaitsFor::Again(row.first))
        );
        let asked: Vec<_> = row.questions(10).await.iter().map(|q| q.id).collect();
        assert_eq!(asked, [row.first], "{word:?}");
        let seq = row.seq_of_first();
        for (class, code) in [
            (Class::Acknowledged, 139),
            (Class::NotFound, 143),
            (Class::InDoubt, 104),
        ] {
            row.hear(seq, answer(class, code), 20).await;
            assert!(row.claim(21).await.is_empty(), "{word:?}, then {code}");
        }
        row.hear(seq, answer(Class::Failed, 141), 30).await;
        assert_eq!(row.claim(31).await.len(), 1, "{word:?}");
        assert!(row.world.standing().waiting.is_empty());
        row.assert_counted(State::Posting);
    }
}

#[tokio::test]
async fn a_retry_that_is_claimed_stays_when_the_failure_is_taken_back_before_it_leaves() {
    for word in WORDS {
        let row = Row::retried().await;
        let token = row.world.acquire(5).await.token;
        let claim = row.world.claim(token, 9, 5).await.remove(0);
        row.says(word, 6).await;
        let policy = Arc::clone(&row.world.policy);
        let looked = row
            .world
            .journal
            .clearances(token, vec![claim.seq], at(7), policy);
        assert_eq!(looked.await.unwrap()[0].1, Clearance::Withheld, "{word:?}");
        row.hear(claim.seq, Event::Unsent, 8).await;
        assert!(row.world.claim(token, 9, 100).await.is_empty());
        row.assert_counted(State::Ready);
    }
}

#[tokio::test]
async fn a_failure_that_was_taken_back_before_its_retry_was_ordered_holds_it_as_well() {
    let world = World::loaded(1).await;
    let first = world.identifiers()[0];
    let token = world.acquire(1).await.token;
    let claim = world.claim(token, 9, 2).await.remove(0);
    world
        .record(vec![finding(claim.seq, reply(Class::Refused, 120))], 3)
        .await;
    let row = Row { world, first };
    row.says(Word::Callback(Class::Acknowledged, 139), 4).await;
    row.world.journal.retry(batch(), None, at(5)).await.unwrap();
    assert!(row.claim(6).await.is_empty());
    row.hear(claim.seq, answer(Class::Failed, 120), 7).await;
    assert_eq!(row.claim(8).await.len(), 1);
}

#[tokio::test]
async fn a_gateway_that_never_says_failed_again_is_asked_for_a_while_and_leaves_it_to_a_person() {
    let row = Row::retried().await;
    row.says(Word::Callback(Class::Acknowledged, 139), 7).await;
    let token = row.world.acquire(8).await.token;
    let longest = row.world.policy.give_up_after.as_secs().cast_signed();
    let seq = row.seq_of_first();
    row.hear(seq, answer(Class::Acknowledged, 139), 20).await;
    let due = async |secs| row.world.journal.due(token, at(secs)).await.unwrap().ask;
    assert!(due(21).await.is_some());
    row.hear(seq, answer(Class::Acknowledged, 139), 8 + longest)
        .await;
    assert_eq!(due(9 + longest).await, None, "not in this run");
    assert_eq!(row.newest().waits_for, Some(WaitsFor::Again(row.first)));
    // The next run asks again.
    assert_eq!(row.questions(10 + longest).await.len(), 1);
}

#[tokio::test]
async fn a_person_ends_what_the_gateway_never_says_again() {
    // Paid: the retry never leaves.
    let row = Row::retried().await;
    row.says(Word::Answer(Class::Delivered, 148), 7).await;
    row.decide(row.first, true, 9).await;
    assert_eq!(row.states(), [State::Paid, State::Cancelled]);
    row.assert_counted(State::Paid);
    assert!(row.claim(10).await.is_empty());
    // Failed: nothing is decided unasked, nor without the second word, and then it leaves without a further question.
    let row = Row::retried().await;
    row.says(Word::Callback(Class::Acknowledged, 139), 7).await;
    let nobody = row.fails_expressly(None, true).await;
    assert_eq!(nobody, Err(Refusal::LearnedMeanwhile));
    for heard in [Heard::Acknowledged, Heard::NotFound, Heard::Nothing] {
        let refused = row.fails_expressly(Some(heard), false).await;
        assert_eq!(refused, Err(Refusal::TakesASecondWord(heard)));
    }
    assert!(row.claim(200_001).await.is_empty());
    let done = row.fails_expressly(Some(Heard::Acknowledged), true).await;
    assert_eq!(done, Ok(()));
    assert_eq!(row.states(), [State::Failed, State::Ready]);
    assert_eq!(row.claim(200_002).await.len(), 1);
    row.assert_counted(State::Posting);
    // But not once it is taken back again.
    let row = Row::retried().await;
    row.says(Word::Callback(Class::Acknowledged, 139), 7).await;
    let done = row.fails_expressly(Some(Heard::Acknowledged), true).await;
    assert_eq!(done, Ok(()));
    row.says(Word::Callback(Class::Delivered, 148), 9).await;
    assert!(row.claim(200_003).await.is_empty());
}

#[tokio::test]
async fn what_the_gateway_never_answers_about_an_operators_failure_can_be_said_again() {
    let world = World::loaded(1).await;
    let first = world.identifiers()[0];
    let token = world.acquire(1).await.token;
    let claim = world.claim(token, 9, 1).await.remove(0);
    let row = Row { world, first };
    row.hear(claim.seq, Event::Lost, 2).await;
    row.decide(first, false, 4).await;
    row.world.journal.retry(batch(), None, at(5)).await.unwrap();
    assert!(row.claim(6).await.is_empty());
    row.hear(claim.seq, answer(Class::InDoubt, 104), 200_000)
        .await;
    assert!(row.claim(200_001).await.is_empty());
    assert_eq!(row.newest().waits_for, Some(WaitsFor::Answer(first)));
    let once = row.fails_expressly(Some(Heard::Nothing), false).await;
    assert_eq!(once, Err(Refusal::TakesASecondWord(Heard::Nothing)));
    let done = row.fails_expressly(Some(Heard::Nothing), true).await;
    assert_eq!(done, Ok(()));
    assert_eq!(row.claim(200_002).await.len(), 1);
    row.assert_counted(State::Posting);
}

#[tokio::test]
async fn a_batch_that_could_be_asked_is_not_retried_unasked_because_nobody_asks_any_more() {
    let world = World::loaded(1).await;
    let first = world.identifiers()[0];
    let token = world.acquire(1).await.token;
    let claim = world.claim(token, 9, 1).await.remove(0);
    let mut row = Row { world, first };
    row.hear(claim.seq, Event::Lost, 2).await;
    row.decide(first, false, 4).await;
    row.world.journal.retry(batch(), None, at(5)).await.unwrap();
    let asks = Arc::clone(&row.world.policy);
    row.world.policy = Arc::new(Policy {
        status_query: false,
        ..policy()
    });
    assert!(row.claim(6).await.is_empty());
    assert_eq!(row.newest().waits_for, Some(WaitsFor::Answer(first)));
    // The person says so expressly, or the question is asked after all.
    row.world.policy = asks;
    row.hear(claim.seq, answer(Class::Failed, 141), 7).await;
    assert_eq!(row.claim(8).await.len(), 1);
}

#[tokio::test]
async fn a_decision_that_was_paid_rests_on_what_was_seen() {
    let world = World::loaded(1).await;
    let id = world.identifiers()[0];
    let token = world.acquire(1).await.token;
    let claim = world.claim(token, 9, 1).await.remove(0);
    world.record(vec![finding(claim.seq, Event::Lost)], 2).await;
    let look = async || world.journal.look(batch(), id.to_string().into()).await;
    let before = look().await.unwrap();
    let decision = disburse::journal::Decision {
        paid: true,
        reason: "seen".into(),
        evidence: "line 1".into(),
    };
    world
        .callback(note(id, Class::Acknowledged, 139, 1), 3)
        .await;
    let decide = async |seen| {
        let decided = world
            .journal
            .decide_paid(claim.seq, seen, decision.clone(), moment(4));
        decided.await.unwrap()
    };
    let refused = decide(before.seen).await;
    assert_eq!(refused.unwrap_err(), Refusal::LearnedMeanwhile);
    assert_eq!(world.count(State::Acknowledged), 1);
    let seen = look().await.unwrap().seen;
    assert_eq!(decide(seen).await.unwrap().life.state, State::Paid);
    world.assert_adds_up();
}

#[tokio::test]
async fn what_failed_on_evidence_is_not_decided_otherwise() {
    let row = Row::retried().await;
    for paid in [true, false] {
        let decision = disburse::journal::Decision {
            paid,
            reason: "a".into(),
            evidence: "b".into(),
        };
        let id = row.first.to_string();
        let decided = row
            .world
            .journal
            .decide(batch(), id.into(), decision, moment(9));
        let error = decided.await.unwrap_err();
        assert!(matches!(error, Error::NotAllowed { .. }), "{error}");
    }
    row.assert_counted(State::Ready);
}

#[tokio::test]
async fn a_retry_does_not_rest_on_a_state_that_was_edited() {
    const FAILED: &str = "update life set state = 6, code = 110 where seq = 1";
    // Ordered after the edit.
    let world = World::loaded(1).await;
    let token = world.acquire(1).await.token;
    for claim in world.claim(token, 9, 2).await {
        world
            .record(vec![finding(claim.seq, reply(Class::Paid, 140))], 3)
            .await;
    }
    world.sql().execute_batch(FAILED).unwrap();
    let error = world.journal.retry(batch(), None, at(4)).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::AlteredRow { .. }), "{text}");
    assert!(
        text.contains("stored as failed, but its evidence adds up to paid"),
        "{text}"
    );
    assert_eq!(
        world.payments()[0].payment.generation,
        0,
        "nothing was ordered"
    );
    // Edited after the order.
    let row = Row::retried().await;
    row.world.sql().execute_batch(FAILED).unwrap();
    let token = row.world.acquire(6).await.token;
    let policy = Arc::clone(&row.world.policy);
    let claimed = row.world.journal.claim(token, 9, at(7), policy).await;
    let (claims, _, altered) = claimed.unwrap();
    assert!(claims.is_empty());
    let Some(Halt::Altered(altered)) = altered else {
        panic!("{altered:?}")
    };
    assert!(
        altered.contains("not what its evidence adds up to"),
        "{altered}"
    );
    // An earlier payment that is not there any more.
    let row = Row::retried().await;
    let claim = row.claim(5).await.remove(0);
    row.hear(claim.seq, reply(Class::Refused, 110), 6).await;
    row.world
        .sql()
        .execute_batch("update life set replaced_by = null where seq = 1")
        .unwrap();
    let error = row.world.journal.retry(batch(), Some(110), at(7)).await;
    let text = error.unwrap_err().to_string();
    assert!(text.contains("not those that it replaced"), "{text}");
}
