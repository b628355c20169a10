//! What was confirmed is what is claimed: what came later waits for a word of its own.

use std::sync::Arc;

use disburse::domain::PaymentId;
use disburse::journal::{
    BillFinding, BillOutcome, Claim, LoadPlan, LoadRow, Loaded, RunTerms, Shown,
};
use disburse::ledger::confirmation::{Answer, Confirmation};
use disburse::lifecycle::{Class, State};

use crate::fold::assert_evidence_adds_up;
use crate::support::*;

impl World {
    async fn shown(&self) -> Shown {
        self.journal.shown(batch()).await.unwrap()
    }

    /// Takes the batch with the word about what was shown; returns what may be posted, and whether something is left for
    /// another word.
    async fn claim_confirmed(&self, shown: &Shown, secs: i64) -> (Vec<Claim>, bool) {
        let terms = RunTerms {
            confirmation: Confirmation::of(shown.open(), shown.bound, Answer::Asked),
            ..terms(secs)
        };
        let acquired = self
            .journal
            .acquire(batch(), terms, Arc::clone(&self.policy))
            .await
            .unwrap();
        let mut claims = Vec::new();
        // In more than one block: the cursor of the lane must not pass what waits.
        loop {
            let block = self.claim(acquired.token, 2, secs).await;
            if block.is_empty() {
                break;
            }
            claims.extend(block);
        }
        let due = self.journal.due(acquired.token, at(10)).await.unwrap();
        assert_eq!(due.post, None, "nothing that is confirmed is left");
        (claims, due.unconfirmed)
    }
}

fn amend() -> LoadPlan {
    LoadPlan {
        amend: true,
        now: at(3),
        ..plan()
    }
}

fn references(claims: &[Claim]) -> Vec<String> {
    claims
        .iter()
        .map(|claim| {
            let row = &claim.payment.instruction;
            row.reference.as_ref().unwrap().to_string()
        })
        .collect()
}

#[tokio::test]
async fn rows_that_are_added_after_the_figures_were_shown_wait_for_a_word_of_their_own() {
    let world = World::loaded(3).await;
    let shown = world.shown().await;
    assert_eq!(shown.open().count, 3);
    // While the question stands, and into a lane of their own as well.
    world
        .load_new(amend(), vec![row(4), of_service(row(5), "RTGS")])
        .await;
    let (claims, unconfirmed) = world.claim_confirmed(&shown, 10).await;
    assert_eq!(references(&claims), ["EMP-1", "EMP-2", "EMP-3"]);
    assert!(unconfirmed);
    let shown = world.shown().await;
    let (claims, unconfirmed) = world.claim_confirmed(&shown, 20).await;
    let mut rest = references(&claims);
    rest.sort();
    assert_eq!(rest, ["EMP-4", "EMP-5"]);
    assert!(!unconfirmed);
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
    let proof = crate::proof::prove(&world.path);
    assert!(proof.is_sound(), "{:#?}", proof.findings);
}

#[tokio::test]
async fn a_retry_that_is_ordered_meanwhile_waits_for_a_word_of_its_own() {
    let world = World::loaded(2).await;
    let shown = world.shown().await;
    let (claims, _) = world.claim_confirmed(&shown, 1).await;
    let failed = reply(Class::Refused, 110);
    world.record(vec![finding(claims[0].seq, failed)], 2).await;
    let shown = world.shown().await;
    let retried = world.journal.retry(batch(), None, at(3)).await.unwrap();
    assert_eq!(retried, 1);
    let (claims, unconfirmed) = world.claim_confirmed(&shown, 10).await;
    assert_eq!(references(&claims), Vec::<String>::new());
    assert!(unconfirmed);
    let shown = world.shown().await;
    let (claims, unconfirmed) = world.claim_confirmed(&shown, 20).await;
    assert_eq!(references(&claims), ["EMP-1"]);
    assert!(!unconfirmed);
}

#[tokio::test]
async fn an_amount_that_a_bill_tells_later_was_not_shown() {
    let world = World::new();
    let file = vec![
        LoadRow::Valid(row(1)),
        LoadRow::Unpriced(unpriced(2)),
        LoadRow::Unpriced(unpriced(3)),
        LoadRow::EndOfFile,
    ];
    let loaded = world.load_incoming(plan(), file).await;
    assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
    let price = async |seq| {
        let bill = BillFinding {
            seq: PaymentId::new(seq),
            outcome: BillOutcome::Taken,
            code: Some(308),
            due: Some(row(9).money),
            due_date: String::new(),
            customer_name: String::new(),
            description: String::new(),
        };
        world.journal.record_bills(vec![bill], at(5)).await.unwrap()
    };
    price(2).await;
    let shown = world.shown().await;
    price(3).await;
    let (claims, unconfirmed) = world.claim_confirmed(&shown, 10).await;
    let mut claimed = references(&claims);
    claimed.sort();
    assert_eq!(claimed, ["EMP-1", "EMP-2"]);
    assert!(unconfirmed);
    let shown = world.shown().await;
    let (claims, unconfirmed) = world.claim_confirmed(&shown, 20).await;
    assert_eq!(references(&claims), ["EMP-3"]);
    assert!(!unconfirmed);
    world.assert_adds_up();
}

#[tokio::test]
async fn what_was_confirmed_is_on_the_chain_once_there_was_something_to_confirm() {
    let world = World::loaded(2).await;
    let details = || -> Vec<String> {
        let c = world.sql();
        let mut statement = c
            .prepare("select detail from evidence where event = 62 order by evidence_id")
            .unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    let shown = world.shown().await;
    let (claims, _) = world.claim_confirmed(&shown, 1).await;
    assert_eq!(
        details(),
        [r#"{"amounts":{"KES":"3.00"},"by":"at the terminal","count":2,"up_to":2,"up_to_bill":0}"#]
    );
    for claim in claims {
        let paid = reply(Class::Paid, 140);
        world.record(vec![finding(claim.seq, paid)], 2).await;
    }
    assert_eq!(world.count(State::Paid), 2);
    // A finished batch that is run again stays as it is.
    let shown = world.shown().await;
    let before = shown.standing.evidence.clone();
    world.claim_confirmed(&shown, 3).await;
    assert_eq!(world.shown().await.standing.evidence, before);
    assert_eq!(details().len(), 1);
}
