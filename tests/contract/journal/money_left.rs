//! What statements show of payments whose outcome is open, against what the gateway says of them later.

use disburse::domain::{PaymentId, Totals};
use disburse::journal::{ShownPayment, StatementFacts, WaitsFor};
use disburse::lifecycle::{Class, Event, State};

use crate::fold::assert_evidence_adds_up;
use crate::support::*;

fn facts(source: &str) -> StatementFacts {
    StatementFacts {
        kind: String::new(),
        source: source.to_owned(),
        digest: "00".repeat(32),
        format: "CSV".into(),
        account: None,
        period: None,
        opening: None,
        closing: None,
        balanced: false,
        entries: 1,
        fees: Totals::default(),
    }
}

/// Returns how many payments a statement has brought into conflict that shows this one.
async fn show(world: &World, seq: PaymentId, secs: i64) -> u64 {
    let shown = ShownPayment {
        seq,
        line: format!("line {secs}"),
    };
    let shown = vec![shown];
    let noted = world
        .journal
        .note_shown(batch(), facts("s.csv"), shown, moment(secs));
    noted.await.unwrap()
}

async fn sent(rows: u64) -> (World, Vec<PaymentId>) {
    let world = World::loaded(rows).await;
    let seqs: Vec<PaymentId> = world.payments().iter().map(|record| record.seq).collect();
    for seq in &seqs {
        world
            .record(
                vec![finding(*seq, Event::Claimed), finding(*seq, Event::Lost)],
                5,
            )
            .await;
    }
    (world, seqs)
}

/// The first one fails, and the second one is not found beyond doubt.
async fn prove_unpaid(world: &World, seqs: &[PaymentId]) {
    world
        .record(vec![finding(seqs[0], answer(Class::Failed, 141))], 30)
        .await;
    for secs in [100, 120] {
        world
            .record(vec![finding(seqs[1], answer(Class::NotFound, 143))], secs)
            .await;
    }
}

#[tokio::test]
async fn what_has_left_by_a_statement_is_no_failure_and_is_not_posted_again() {
    let (world, seqs) = sent(4).await;
    for seq in &seqs[..3] {
        assert_eq!(show(&world, *seq, 20).await, 0);
    }
    // Another one that shows it says nothing new.
    let evidence = || format!("{:?}", world.standing().evidence);
    let before = evidence();
    assert_eq!(show(&world, seqs[0], 21).await, 0);
    assert_eq!(evidence(), before);
    prove_unpaid(&world, &seqs).await;
    world
        .record(vec![finding(seqs[2], answer(Class::Paid, 140))], 30)
        .await;
    world
        .record(vec![finding(seqs[3], answer(Class::Failed, 141))], 30)
        .await;
    let states = seqs.iter().map(|seq| {
        let all = world.payments();
        all.iter().find(|one| one.seq == *seq).unwrap().life.state
    });
    assert_eq!(
        states.collect::<Vec<_>>(),
        [State::Conflict, State::Conflict, State::Paid, State::Failed]
    );
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}

#[tokio::test]
async fn what_fails_while_a_statement_is_read_is_held_when_it_is_put_on_record() {
    let (world, seqs) = sent(2).await;
    prove_unpaid(&world, &seqs).await;
    for seq in &seqs {
        assert_eq!(show(&world, *seq, 130).await, 1);
        assert_eq!(show(&world, *seq, 131).await, 0);
    }
    assert_eq!(world.count(State::Conflict), 2);
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}

#[tokio::test]
async fn what_has_left_by_a_statement_is_not_released_where_nothing_is_said_to_have_run() {
    let world = World::loaded(2).await;
    let presumed = world.journal.presume_posted(batch(), false, at(5));
    assert_eq!(presumed.await.unwrap().payments, 2);
    let seqs: Vec<PaymentId> = world.payments().iter().map(|record| record.seq).collect();
    assert_eq!(show(&world, seqs[0], 20).await, 0);
    let released = world
        .journal
        .nothing_ran_since(None, "a new machine".into(), at(30));
    assert_eq!(released.await.unwrap(), 1);
    assert_eq!(
        (world.count(State::InDoubt), world.count(State::Ready)),
        (1, 1)
    );
    world.assert_adds_up();
}

/// Nothing holds back what has left: whoever looks at the batch must learn that its row may be paid twice.
#[tokio::test]
async fn a_payment_in_conflict_beside_a_retry_that_has_left_is_named() {
    let (world, seqs) = sent(2).await;
    for seq in &seqs {
        world
            .record(vec![finding(*seq, answer(Class::Failed, 141))], 30)
            .await;
    }
    let retried = world.journal.retry(batch(), None, at(31)).await.unwrap();
    assert_eq!(retried, 2);
    let token = world.acquire(40).await.token;
    let left = world.claim(token, 1, 40).await.remove(0);
    world
        .record(vec![finding(left.seq, reply(Class::Acknowledged, 139))], 41)
        .await;
    assert_eq!(world.standing().undecided_count, 0);
    for seq in &seqs {
        assert_eq!(show(&world, *seq, 50).await, 1);
    }
    let standing = world.standing();
    assert_eq!(standing.undecided_count, 1);
    let undecided = standing.undecided[0];
    assert_eq!(undecided.newest, left.payment.id);
    let stand = (undecided.state, undecided.newest_state);
    assert_eq!(stand, (State::Conflict, State::Acknowledged));
    // The other one has not left: it waits, and says so.
    let waiting = &standing.waiting[0];
    assert_eq!((standing.waiting.len(), standing.waiting_count), (1, 1));
    assert_ne!(waiting.id, left.payment.id);
    assert!(matches!(waiting.waits_for, WaitsFor::Decision(id) if id != undecided.id));
    world.assert_adds_up();
}
