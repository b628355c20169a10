//! Corrected rows of failed payments: the next generations of their rows.

use disburse::domain::{BatchName, Instruction, PayerTransactionId};
use disburse::journal::{
    Clearance, LoadPlan, LoadRefusal, LoadRow, LoadSummary, Loaded, RepeatPlan,
};
use disburse::ledger::correction::Corrects;
use disburse::lifecycle::{Class, State};

use super::generations::Row;
use crate::fold::assert_evidence_adds_up;
use crate::support::*;

fn amending() -> LoadPlan {
    LoadPlan {
        amend: true,
        source: "failed.csv".into(),
        now: at(10),
        repeats: Some(RepeatPlan::default()),
        ..plan()
    }
}

async fn load(
    world: &World,
    plan: LoadPlan,
    rows: Vec<(PayerTransactionId, Instruction)>,
) -> Loaded {
    let mut incoming = Vec::new();
    for (id, row) in rows {
        incoming.push(LoadRow::Corrects(Corrects::Failed(id.to_string())));
        incoming.push(LoadRow::Valid(row));
    }
    incoming.push(LoadRow::EndOfFile);
    world.load_incoming(plan, incoming).await
}

async fn replaced(
    world: &World,
    id: PayerTransactionId,
    row: Instruction,
) -> Result<LoadSummary, String> {
    match load(world, amending(), vec![(id, row)]).await {
        Loaded::New(summary) => Ok(summary),
        Loaded::Refused(LoadRefusal::Corrections(errors)) => {
            assert_eq!((errors.len(), errors[0].column), (1, "replaces"));
            Err(errors[0].message.clone())
        }
        other => panic!("{other:?}"),
    }
}

/// Three rows, of which the first failed, and its identifier.
async fn with_one_failed() -> (World, PayerTransactionId) {
    let world = World::loaded(3).await;
    let first = world.identifiers()[0];
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 1, 2).await;
    world
        .record(vec![finding(claims[0].seq, reply(Class::Failed, 110))], 3)
        .await;
    (world, first)
}

/// The first row, to another number and of another amount.
fn corrected() -> Instruction {
    let mut row = with_amount(row(1), 4_200);
    row.msisdn = super::super::support::row(9).msisdn;
    row.account_number = row.msisdn.as_str().into();
    row
}

fn sound(world: &World) {
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}

#[tokio::test]
async fn a_corrected_row_is_paid_under_its_own_identifier_and_counted_once() {
    let (world, first) = with_one_failed().await;
    let summary = replaced(&world, first, corrected()).await.unwrap();
    assert_eq!((summary.replaced, summary.total().count), (1, 1));
    sound(&world);
    let standing = world.standing();
    assert_eq!(standing.total().count, 3, "the row is counted once");
    assert_eq!(standing.of(State::Failed).count, 0);
    assert_eq!(
        standing.total().amounts.minor(kes()),
        4_200 + 200 + 300,
        "with its new amount"
    );
    let newest = world.find("EMP-1");
    assert_eq!(newest.payment.generation, 1);
    assert_eq!(newest.payment.instruction.msisdn, corrected().msisdn);
    assert_eq!(newest.replaces, Some(first));
    // The same file again changes nothing, alone or beside more.
    let again = load(&world, amending(), vec![(first, corrected())]).await;
    assert!(matches!(again, Loaded::AlreadyLoaded(_)), "{again:?}");
    let mut incoming = vec![LoadRow::Valid(row(7))];
    incoming.push(LoadRow::Corrects(Corrects::Failed(first.to_string())));
    incoming.push(LoadRow::Valid(corrected()));
    incoming.push(LoadRow::EndOfFile);
    let Loaded::New(summary) = world.load_incoming(amending(), incoming).await else {
        panic!("a row is added");
    };
    assert_eq!(
        (summary.replaced, summary.total().count, summary.unchanged),
        (0, 1, 1)
    );
    sound(&world);
    // It is paid like any other.
    let token = world.acquire(20).await.token;
    for claim in world.claim(token, 9, 20).await {
        let (seqs, policy) = (vec![claim.seq], world.policy.clone());
        let cleared = world.journal.clearances(token, seqs, at(21), policy).await;
        assert_eq!(cleared.unwrap()[0].1, Clearance::Leaves);
        world
            .record(vec![finding(claim.seq, reply(Class::Paid, 140))], 21)
            .await;
    }
    assert_eq!(world.count(State::Paid), 4);
    sound(&world);
}

#[tokio::test]
async fn the_identifier_of_a_corrected_row_comes_from_its_predecessor_and_its_content() {
    let mut ids = Vec::new();
    for minor in [4_200, 4_200, 4_300] {
        let (world, first) = with_one_failed().await;
        replaced(&world, first, with_amount(corrected(), minor))
            .await
            .unwrap();
        ids.push(world.find("EMP-1").payment.id);
    }
    assert_eq!(ids[0], ids[1], "in every journal the same");
    assert_ne!(ids[0], ids[2], "another content is another payment");
}

#[tokio::test]
async fn what_is_not_proven_to_have_failed_is_not_replaced() {
    let (world, first) = with_one_failed().await;
    let ids = world.identifiers();
    let why = |result: Result<LoadSummary, String>| result.unwrap_err();
    let before = world.contents();
    let unknown = PayerTransactionId::parse("0123456789ABCDEFGHJKMNPQR1").unwrap();
    assert!(why(replaced(&world, unknown, corrected()).await).contains("names no payment"));
    assert!(why(replaced(&world, ids[1], row(2)).await).contains("is ready"));
    assert!(why(replaced(&world, first, row(1)).await).contains("nothing in the row was mended"));
    assert!(
        why(replaced(&world, first, of_service(corrected(), "BANK")).await)
            .contains("another service")
    );
    let other_reference = Instruction {
        reference: row(8).reference,
        ..corrected()
    };
    assert!(why(replaced(&world, first, other_reference).await).contains("another reference"));
    // Without --amend, and under another name.
    let not_added = LoadPlan {
        amend: false,
        ..amending()
    };
    let elsewhere = LoadPlan {
        batch: BatchName::parse("elsewhere").unwrap(),
        ..amending()
    };
    for (plan, expected) in [(not_added, "add --amend"), (elsewhere, "of batch")] {
        let loaded = load(&world, plan, vec![(first, corrected())]).await;
        let Loaded::Refused(LoadRefusal::Corrections(errors)) = loaded else {
            panic!("{loaded:?}");
        };
        assert!(errors[0].message.contains(expected), "{errors:?}");
    }
    let twice = vec![
        (first, corrected()),
        (first, with_amount(corrected(), 4_300)),
    ];
    let loaded = load(&world, amending(), twice).await;
    assert!(
        matches!(&loaded, Loaded::Refused(LoadRefusal::Corrections(errors)) if errors[0].message.contains("another row of the file")),
        "{loaded:?}"
    );
    assert_eq!(world.contents(), before, "nothing was loaded");
    replaced(&world, first, corrected()).await.unwrap();
    let again = with_amount(corrected(), 4_300);
    assert!(why(replaced(&world, first, again).await).contains("already replaced by"));
    sound(&world);
}

#[tokio::test]
async fn a_corrected_row_waits_and_is_withdrawn_where_the_first_one_proves_paid() {
    let (world, first) = with_one_failed().await;
    replaced(&world, first, corrected()).await.unwrap();
    world.callback(note(first, Class::Paid, 140, 1), 11).await;
    sound(&world);
    let token = world.acquire(12).await.token;
    let claims = world.claim(token, 9, 12).await;
    assert_eq!(claims.len(), 2, "the corrected row stays");
    let row = Row { world, first };
    row.decide(first, true, 13).await;
    assert_eq!(row.states(), [State::Paid, State::Cancelled]);
    let standing = row.world.standing();
    assert_eq!(
        standing.total().amounts.minor(kes()),
        100 + 200 + 300,
        "the row counts with what was paid"
    );
    sound(&row.world);
}

#[tokio::test]
async fn a_corrected_row_that_fails_is_corrected_again_or_retried_as_it_is() {
    let (world, first) = with_one_failed().await;
    replaced(&world, first, corrected()).await.unwrap();
    let mut predecessor = first;
    for (round, again) in [(1_i64, true), (2, false), (3, true)] {
        let newest = world.find("EMP-1");
        assert_eq!(newest.payment.generation, u32::try_from(round).unwrap());
        assert_eq!(newest.replaces, Some(predecessor));
        predecessor = newest.payment.id;
        let token = world.acquire(100 * round).await.token;
        for claim in world.claim(token, 9, 100 * round).await {
            world
                .record(
                    vec![finding(claim.seq, reply(Class::Failed, 110))],
                    100 * round + 1,
                )
                .await;
        }
        match again {
            true => {
                let row = with_amount(corrected(), 5_000 + round);
                replaced(&world, predecessor, row).await.unwrap();
            }
            false => {
                let row = world.journal.retry(batch(), Some(110), at(100 * round + 2));
                assert!(row.await.unwrap() >= 1);
            }
        }
        sound(&world);
    }
    assert_eq!(world.find("EMP-1").payment.generation, 4);
    assert_eq!(world.standing().total().count, 3);
}

#[tokio::test]
async fn a_corrected_row_is_compared_with_everything_but_what_it_replaces() {
    let (world, first) = with_one_failed().await;
    let other = LoadPlan {
        batch: BatchName::parse("other").unwrap(),
        repeats: Some(RepeatPlan::default()),
        now: at(5),
        ..plan()
    };
    let mut paid = nameless(1, 2);
    paid.msisdn = corrected().msisdn;
    paid.account_number = corrected().account_number;
    let paid = with_amount(paid, 4_200);
    world.load_new(other.clone(), vec![paid.clone()]).await;
    let refused = replaced(&world, first, corrected()).await.unwrap_err();
    assert!(
        refused.contains("loaded again into batch other"),
        "{refused}"
    );
    // Of another amount it is none; from then on others repeat it.
    let row = with_amount(corrected(), 4_300);
    replaced(&world, first, row.clone()).await.unwrap();
    let third = LoadPlan {
        batch: BatchName::parse("third").unwrap(),
        now: at(11),
        ..other
    };
    let loaded = world.load(third, vec![with_amount(paid, 4_300)]).await;
    assert!(
        matches!(
            &loaded,
            Loaded::Refused(LoadRefusal::BadRows {
                repeats: Some(_),
                ..
            })
        ),
        "{loaded:?}"
    );
    sound(&world);
}

#[tokio::test]
async fn what_was_loaded_anew_as_the_row_was_at_first_holds_a_second_correction_and_a_retry() {
    let (world, first) = with_one_failed().await;
    replaced(&world, first, corrected()).await.unwrap();
    let second = world.find("EMP-1").payment.id;
    let token = world.acquire(20).await.token;
    for claim in world.claim(token, 9, 20).await {
        let failed = finding(claim.seq, reply(Class::Failed, 110));
        world.record(vec![failed], 21).await;
    }
    // Without its reference, and as it was before it was corrected.
    let anew = nameless(1, 2);
    let other = LoadPlan {
        batch: BatchName::parse("other").unwrap(),
        repeats: Some(RepeatPlan::default()),
        now: at(30),
        ..plan()
    };
    world.load_new(other, vec![anew]).await;
    let again = with_amount(corrected(), 4_500);
    let refused = replaced(&world, second, again).await.unwrap_err();
    assert!(
        refused.contains("loaded again into batch other"),
        "{refused}"
    );
    let judged = Some((RepeatPlan::default(), at(31)));
    let shown = world.journal.to_retry(batch(), None, judged).await.unwrap();
    let shown: u64 = shown.by_code.iter().map(|(_, tally)| tally.count).sum();
    assert_eq!(shown, 2, "the others of the batch alone");
    sound(&world);
}

#[tokio::test]
async fn an_edited_corrected_row_is_found_and_not_claimed() {
    let (world, first) = with_one_failed().await;
    replaced(&world, first, corrected()).await.unwrap();
    world
        .sql()
        .execute_batch(
            "drop trigger instruction_is_never_changed;
             update instruction set amount = 990000 where generation = 1;
             update tally set amount = amount + 985800 where state = 0",
        )
        .unwrap();
    let reader = world.reader();
    let proof = reader.snapshot(&batch()).unwrap().prove(None).unwrap();
    assert!(
        proof
            .findings
            .iter()
            .any(|finding| finding.contains("the retry")),
        "{:?}",
        proof.findings
    );
}
