//! Generations of a row: at most one of them is on its way or paid.

use disburse::domain::{PayerTransactionId, PaymentId};
use disburse::journal::{
    Claim, Clearance, Decision, PaymentRecord, Question, Transition, WaitsFor, WhyUnretried,
};
use disburse::lifecycle::{Class, Event, Policy, State};
use std::sync::Arc;

use crate::fold::assert_evidence_adds_up;
use crate::support::*;

/// A row `EMP-1` whose first generation was refused, and was retried.
pub(super) struct Row {
    pub(super) world: World,
    pub(super) first: PayerTransactionId,
}

impl Row {
    pub(super) async fn retried() -> Self {
        Self::of(World::loaded(1).await).await
    }

    pub(super) async fn of(world: World) -> Self {
        let first = world.identifiers()[0];
        let token = world.acquire(1).await.token;
        for claim in world.claim(token, 9, 2).await {
            world
                .record(vec![finding(claim.seq, reply(Class::Refused, 120))], 3)
                .await;
        }
        assert_eq!(world.journal.retry(batch(), None, at(4)).await.unwrap(), 1);
        Self { world, first }
    }

    /// The newest generation.
    pub(super) fn newest(&self) -> PaymentRecord {
        self.world.find("EMP-1")
    }

    /// What the report shows of the row.
    pub(super) fn shown(&self) -> PaymentRecord {
        self.world.payments().remove(0)
    }

    pub(super) fn states(&self) -> Vec<State> {
        let reader = self.world.reader();
        let snapshot = reader.snapshot(&batch()).unwrap();
        let mut found = snapshot.find("EMP-1").unwrap();
        found.reverse();
        found.iter().map(|record| record.life.state).collect()
    }

    pub(super) async fn claim(&self, secs: i64) -> Vec<Claim> {
        let token = self.world.acquire(secs).await.token;
        self.world.claim(token, 9, secs).await
    }

    pub(super) async fn told(&self, id: PayerTransactionId, class: Class, code: i32, secs: i64) {
        let digest = u8::try_from(secs % 250).unwrap();
        self.world
            .callback(note(id, class, code, digest), secs)
            .await;
    }

    pub(super) async fn decide(&self, id: PayerTransactionId, paid: bool, secs: i64) -> Transition {
        let decision = Decision {
            paid,
            reason: "bank statement".into(),
            evidence: "ticket 7".into(),
        };
        let id = id.to_string();
        let decided = self
            .world
            .journal
            .decide(batch(), id.into(), decision, moment(secs));
        decided.await.unwrap()
    }

    pub(super) async fn questions(&self, secs: i64) -> Vec<Question> {
        let token = self.world.acquire(secs).await.token;
        let journal = &self.world.journal;
        let asked = journal.questions(token, 9, at(secs), at(secs + 60)).await;
        asked.unwrap().0
    }

    pub(super) async fn hear(&self, seq: PaymentId, event: Event, secs: i64) {
        self.world.record(vec![finding(seq, event)], secs).await;
    }

    /// One bucket, sums that add up, and evidence that proves all of it.
    pub(super) fn assert_counted(&self, state: State) {
        assert_eq!(self.world.count(state), 1, "{:?}", self.states());
        assert_eq!(self.shown().life.state, state);
        self.world.assert_adds_up();
        assert_evidence_adds_up(&self.world.reader(), &batch(), &self.world.policy);
        let reader = self.world.reader();
        let proof = reader.snapshot(&batch()).unwrap().prove(None).unwrap();
        assert!(proof.is_sound(), "{:#?}", proof.findings);
    }
}

const NOT_FOUND: (Class, i32) = (Class::NotFound, 143);

#[tokio::test]
async fn a_retry_in_doubt_is_only_asked_about_once_an_earlier_generation_is_paid() {
    let row = Row::retried().await;
    let claim = row.claim(5).await.remove(0);
    row.hear(claim.seq, Event::Lost, 6).await;
    row.told(row.first, Class::Paid, 140, 7).await;
    row.decide(row.first, true, 8).await;
    row.assert_counted(State::InDoubt);
    row.hear(claim.seq, answer(NOT_FOUND.0, NOT_FOUND.1), 100)
        .await;
    row.hear(claim.seq, answer(NOT_FOUND.0, NOT_FOUND.1), 110)
        .await;
    assert_eq!(row.states(), [State::Paid, State::Failed]);
    assert_eq!(row.newest().life.code, Some(143));
    row.assert_counted(State::Paid);
    assert_eq!(row.shown().payment.id, row.first);
    assert!(row.claim(200).await.is_empty());
    assert!(row.world.standing().paid_twice.is_empty());
    // Nor is there a third one.
    assert_eq!(
        row.world
            .journal
            .retry(batch(), None, at(210))
            .await
            .unwrap(),
        0
    );
}

#[tokio::test]
async fn a_retry_that_vanished_before_an_earlier_generation_is_paid_is_not_posted_again() {
    let row = Row::retried().await;
    let claim = row.claim(5).await.remove(0);
    row.hear(claim.seq, Event::Lost, 6).await;
    row.hear(claim.seq, answer(NOT_FOUND.0, NOT_FOUND.1), 100)
        .await;
    row.hear(claim.seq, answer(NOT_FOUND.0, NOT_FOUND.1), 110)
        .await;
    assert_eq!(row.states(), [State::Failed, State::Ready]);
    row.told(row.first, Class::Paid, 140, 111).await;
    assert!(row.claim(120).await.is_empty(), "nobody has decided");
    row.decide(row.first, true, 130).await;
    assert_eq!(row.states(), [State::Paid, State::Failed]);
    row.assert_counted(State::Paid);
}

#[tokio::test]
async fn a_retry_that_waits_for_float_is_withdrawn_once_an_earlier_generation_is_paid() {
    let row = Row::retried().await;
    let claim = row.claim(5).await.remove(0);
    row.hear(claim.seq, reply(Class::NoFloat, 230), 6).await;
    row.told(row.first, Class::Paid, 140, 7).await;
    assert_eq!(row.newest().waits_for, Some(WaitsFor::Decision(row.first)));
    assert!(row.claim(10).await.is_empty());
    row.decide(row.first, true, 20).await;
    assert_eq!(row.states(), [State::Paid, State::Cancelled]);
    row.assert_counted(State::Paid);
    let reader = row.world.reader();
    let snapshot = reader.snapshot(&batch()).unwrap();
    let trail = snapshot.trail(row.newest().seq).unwrap();
    let last = trail.last().unwrap();
    assert_eq!(last.event, Some(Event::Superseded));
    assert!(last.detail.as_ref().unwrap().contains(row.first.as_str()));
}

#[tokio::test]
async fn a_retry_that_is_claimed_does_not_leave_once_an_earlier_generation_may_be_paid() {
    for decided_first in [false, true] {
        let row = Row::retried().await;
        let token = row.world.acquire(5).await.token;
        let claim = row.world.claim(token, 9, 5).await.remove(0);
        assert!(claim.looked_at_last);
        let look = async |secs: i64| {
            let policy = Arc::clone(&row.world.policy);
            let seqs = vec![claim.seq];
            let looked = row.world.journal.clearances(token, seqs, at(secs), policy);
            looked.await.unwrap()[0].1
        };
        assert_eq!(look(6).await, Clearance::Leaves);
        row.told(row.first, Class::Paid, 140, 7).await;
        assert_eq!(look(8).await, Clearance::Withheld);
        if decided_first {
            row.decide(row.first, true, 9).await;
            assert_eq!(look(10).await, Clearance::Withheld);
        }
        // The run says that it did not leave.
        row.hear(claim.seq, Event::Unsent, 11).await;
        assert_eq!(look(12).await, Clearance::Settled);
        assert!(row.world.claim(token, 9, 100).await.is_empty());
        if !decided_first {
            row.assert_counted(State::Ready);
            row.decide(row.first, true, 13).await;
        }
        assert_eq!(row.states(), [State::Paid, State::Cancelled]);
        row.assert_counted(State::Paid);
    }
}

#[tokio::test]
async fn a_retry_under_way_when_an_earlier_generation_is_paid_is_asked_about_and_not_repeated() {
    let row = Row::retried().await;
    let claim = row.claim(5).await.remove(0);
    row.told(row.first, Class::Paid, 140, 6).await;
    row.decide(row.first, true, 7).await;
    // The run dies with it on the wire.
    let questions = row.questions(100).await;
    assert!(questions.is_empty(), "not at once");
    let token = row.world.acquire(110).await.token;
    assert!(row.world.claim(token, 9, 110).await.is_empty());
    row.hear(claim.seq, answer(NOT_FOUND.0, NOT_FOUND.1), 300)
        .await;
    row.hear(claim.seq, answer(NOT_FOUND.0, NOT_FOUND.1), 310)
        .await;
    assert_eq!(row.states(), [State::Paid, State::Failed]);
    row.assert_counted(State::Paid);
}

#[tokio::test]
async fn there_is_no_retry_over_an_undecided_conflict_or_a_paid_ancestor() {
    for paid in [true, false] {
        let row = Row::retried().await;
        let claim = row.claim(5).await.remove(0);
        row.hear(claim.seq, reply(Class::Refused, 110), 6).await;
        row.told(row.first, Class::Paid, 140, 7).await;
        assert_eq!(row.states(), [State::Conflict, State::Failed]);
        row.assert_counted(State::Conflict);
        let retry = async |secs| {
            row.world
                .journal
                .retry(batch(), None, at(secs))
                .await
                .unwrap()
        };
        assert_eq!(retry(8).await, 0);
        let left = row
            .world
            .journal
            .unretried(batch(), None, None)
            .await
            .unwrap();
        assert_eq!(left[0].why, WhyUnretried::EarlierMayBePaid);
        row.decide(row.first, paid, 9).await;
        row.assert_counted(if paid { State::Paid } else { State::Failed });
        assert_eq!(retry(10).await, u64::from(!paid));
        assert_eq!(row.claim(11).await.len(), 0, "decided paid: {paid}");
    }
}

#[tokio::test]
async fn the_decision_about_one_ancestor_does_not_release_a_retry_of_another_in_conflict() {
    let row = Row::retried().await;
    let second = row.newest().payment.id;
    let claim = row.claim(5).await.remove(0);
    row.hear(claim.seq, reply(Class::Refused, 110), 6).await;
    assert_eq!(
        row.world.journal.retry(batch(), None, at(7)).await.unwrap(),
        1
    );
    row.told(row.first, Class::Paid, 140, 8).await;
    row.told(second, Class::Paid, 140, 9).await;
    assert_eq!(
        row.states(),
        [State::Conflict, State::Conflict, State::Ready]
    );
    let twice = &row.world.standing().paid_twice[0];
    assert_eq!(
        (twice.ids.as_slice(), twice.certain),
        (&[row.first, second][..], false)
    );
    row.decide(second, false, 10).await;
    assert!(row.claim(11).await.is_empty());
    row.decide(row.first, true, 12).await;
    assert_eq!(row.states(), [State::Paid, State::Failed, State::Cancelled]);
    row.assert_counted(State::Paid);
    assert!(row.world.standing().paid_twice.is_empty());
}

#[tokio::test]
async fn the_gateway_is_asked_about_an_operators_failure_before_a_retry_of_it_leaves() {
    let policy = Arc::new(policy());
    let waits = policy.give_up_after.as_secs().cast_signed();
    let cases = [
        (Class::NotFound, 143, 50, true, State::Failed),
        (Class::Failed, 141, 50, true, State::Failed),
        (Class::Acknowledged, 139, 50, false, State::Failed),
        // The person was not told that the gateway holds it: that takes a second word.
        (Class::Acknowledged, 139, waits + 50, false, State::Failed),
        (Class::InDoubt, 104, waits + 50, false, State::Failed),
        (Class::Paid, 140, 50, false, State::Conflict),
    ];
    for (class, code, secs, leaves, first) in cases {
        let world = World::loaded(1).await;
        let id = world.identifiers()[0];
        let token = world.acquire(1).await.token;
        let claim = world.claim(token, 9, 1).await.remove(0);
        let row = Row { world, first: id };
        row.hear(claim.seq, Event::Lost, 2).await;
        // What was said before the retry was ordered does not count.
        row.hear(claim.seq, answer(Class::NotFound, 143), 3).await;
        row.decide(id, false, 4).await;
        assert_eq!(
            row.world.journal.retry(batch(), None, at(5)).await.unwrap(),
            1
        );
        assert!(row.claim(6).await.is_empty());
        assert_eq!(row.newest().waits_for, Some(WaitsFor::Answer(id)));
        let asked: Vec<_> = row.questions(secs).await.iter().map(|q| q.id).collect();
        assert_eq!(asked, [id], "{code}");
        row.hear(claim.seq, Event::NoAnswer, secs).await;
        assert!(row.claim(secs + 1).await.is_empty(), "silence says nothing");
        row.hear(claim.seq, answer(class, code), secs + 2).await;
        let claimed = row.claim(secs + 3).await;
        assert_eq!(claimed.len(), usize::from(leaves), "{code} after {secs} s");
        assert_eq!(row.states()[0], first);
        row.assert_counted(if leaves { State::Posting } else { State::Ready });
        // It is asked about until it is known.
        let pending = !leaves && first == State::Failed;
        let asked = row.questions(secs + 10_000).await;
        let again = asked.iter().any(|question| question.id == id);
        assert_eq!(again, pending, "{code}");
    }
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_operators_word_lets_a_retry_leave() {
    let world = World::with_policy(Policy {
        status_query: false,
        ..policy()
    });
    world.load_new(plan(), rows(1..=1)).await;
    let id = world.identifiers()[0];
    let token = world.acquire(1).await.token;
    let claim = world.claim(token, 9, 1).await.remove(0);
    let row = Row { world, first: id };
    row.hear(claim.seq, Event::Lost, 2).await;
    row.decide(id, false, 4).await;
    row.world.journal.retry(batch(), None, at(5)).await.unwrap();
    assert_eq!(row.claim(6).await.len(), 1);
    assert!(
        row.questions(1000)
            .await
            .iter()
            .all(|question| question.id != id)
    );
}

#[tokio::test]
async fn a_cancelled_retry_leaves_the_row_to_its_earlier_generation() {
    for paid in [true, false] {
        let row = Row::retried().await;
        row.told(row.first, Class::Paid, 140, 7).await;
        let id = row.newest().payment.id.to_string();
        assert_eq!(
            row.world
                .journal
                .cancel(batch(), Some(id.into()), moment(8))
                .await
                .unwrap(),
            1
        );
        row.assert_counted(State::Conflict);
        row.decide(row.first, paid, 9).await;
        row.assert_counted(if paid { State::Paid } else { State::Cancelled });
    }
}

#[tokio::test]
async fn a_retry_that_is_presumed_posted_is_not_posted_over_a_paid_ancestor() {
    let world = World::new();
    let presumed = disburse::journal::LoadPlan {
        presume_posted: true,
        ..plan()
    };
    world.load_new(presumed, rows(1..=1)).await;
    let first = world.identifiers()[0];
    let seq = world.payments()[0].seq;
    let row = Row { world, first };
    row.hear(seq, answer(Class::Failed, 141), 10).await;
    row.world
        .journal
        .retry(batch(), None, at(11))
        .await
        .unwrap();
    let second = row.newest().seq;
    row.told(first, Class::Paid, 140, 12).await;
    row.decide(first, true, 13).await;
    assert_eq!(row.states(), [State::Paid, State::InDoubt]);
    row.hear(second, answer(NOT_FOUND.0, NOT_FOUND.1), 100)
        .await;
    row.hear(second, answer(NOT_FOUND.0, NOT_FOUND.1), 110)
        .await;
    assert_eq!(row.states(), [State::Paid, State::Failed]);
    row.assert_counted(State::Paid);
}

#[tokio::test]
async fn what_the_gateway_pays_against_its_own_word_is_told() {
    let row = Row::retried().await;
    let second = row.newest().payment.id;
    let claim = row.claim(5).await.remove(0);
    row.hear(claim.seq, reply(Class::Paid, 140), 6).await;
    assert!(row.world.standing().paid_twice.is_empty());
    row.told(row.first, Class::Paid, 140, 7).await;
    let twice = |row: &Row| row.world.standing().paid_twice.remove(0);
    assert_eq!(twice(&row).ids, [row.first, second]);
    assert_eq!((twice(&row).line, twice(&row).certain), (2, false));
    row.assert_counted(State::Paid);
    row.decide(row.first, true, 8).await;
    assert!(twice(&row).certain);
    assert_eq!(twice(&row).money.amount.minor(), 100);
    assert_eq!(row.world.standing().paid_twice_count, 1);
    row.assert_counted(State::Paid);
}

#[tokio::test]
async fn nothing_that_is_stored_lets_a_retry_past_the_rule() {
    let row = Row::retried().await;
    row.told(row.first, Class::Paid, 140, 7).await;
    // As an earlier release may have left it: due, and held by nothing.
    row.world
        .sql()
        .execute("update life set due_at = 0 where state = 0", [])
        .unwrap();
    let token = row.world.acquire(10).await.token;
    row.world
        .sql()
        .execute("update life set due_at = 0 where state = 0", [])
        .unwrap();
    assert!(row.world.claim(token, 9, 10).await.is_empty());
    assert_eq!(
        row.world.journal.due(token, at(10)).await.unwrap().post,
        None
    );
    // A decision that an earlier release took without withdrawing the retry.
    row.world
        .sql()
        .execute(
            "update life set state = 5, code = 140 where replaced_by is not null",
            [],
        )
        .unwrap();
    assert!(row.claim(20).await.is_empty());
    assert_eq!(row.states(), [State::Paid, State::Cancelled]);
}

#[tokio::test]
async fn a_row_that_names_the_document_of_its_identifier_is_not_retried() {
    let world = World::new();
    let mut with_document = row(1);
    with_document.extra = vec![("supportDocument".into(), "D-1".into())];
    world.load_new(plan(), vec![with_document, row(2)]).await;
    let token = world.acquire(1).await.token;
    let refused = world.claim(token, 9, 2).await;
    let refused = refused
        .iter()
        .map(|claim| finding(claim.seq, reply(Class::Refused, 106)));
    world.record(refused.collect(), 3).await;
    let first = world.identifiers()[0];
    assert_eq!(world.journal.retry(batch(), None, at(4)).await.unwrap(), 1);
    let left = world.journal.unretried(batch(), None, None).await.unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(
        (left[0].id, left[0].line, &left[0].why),
        (first, 2, &WhyUnretried::NamesADocument)
    );
    assert_eq!(world.find("EMP-1").payment.generation, 0);
    assert_eq!(world.find("EMP-2").payment.generation, 1);
    world.assert_adds_up();
}
