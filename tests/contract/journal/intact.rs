//! What is posted is what was loaded: a journal that was changed from outside is not posted from.

use std::sync::Arc;

use disburse::domain::{DocumentPath, PaymentId};
use disburse::journal::{
    BillFinding, BillOutcome, Claim, Decision, Error, Halt, Home, LoadRow, Loaded, RunTerms,
    RunToken, Upload,
};
use disburse::ledger::confirmation::{Answer, Confirmation};
use disburse::lifecycle::{Class, Event, State};

use crate::support::*;

/// Changes the file as somebody does who has `sqlite3` and knows of the guards.
fn tamper(world: &World, sql: &str) {
    let c = world.sql();
    let triggers: Vec<String> = c
        .prepare("select name from sqlite_schema where type = 'trigger'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for trigger in triggers {
        c.execute_batch(&format!("drop trigger {trigger}")).unwrap();
    }
    c.execute_batch(sql).unwrap();
}

impl World {
    async fn claim_or_refusal(&self, token: RunToken, secs: i64) -> (Vec<Claim>, Option<String>) {
        let policy = Arc::clone(&self.policy);
        let claimed = self.journal.claim(token, 100, at(secs), policy).await;
        let (claims, _, altered) = claimed.unwrap();
        let altered = altered.map(|halt| match halt {
            Halt::Altered(what) => what,
            Halt::PaidElsewhere(found) => panic!("{found:?}"),
        });
        (claims, altered)
    }
}

/// `EMP-1` was paid, `EMP-2` was withdrawn, `EMP-3` was found not to have left, and `EMP-4` failed and was retried; `EMP-5`
/// took its amount from a bill, `EMP-6` has a document, and nothing is known of `EMP-7`.
async fn eventful() -> World {
    let world = World::new();
    let mut file: Vec<LoadRow> = rows(1..=4).into_iter().map(LoadRow::Valid).collect();
    file.push(LoadRow::Unpriced(unpriced(5)));
    let mut with_document = row(6);
    with_document.document = Some(DocumentPath {
        digest: None,
        written: "6.pdf".into(),
        folder: "/".into(),
    });
    file.extend([with_document, row(7)].map(LoadRow::Valid));
    file.push(LoadRow::EndOfFile);
    let loaded = world.load_incoming(plan(), file).await;
    assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
    let token = world.acquire(1).await.token;
    let (journal, id) = (&world.journal, "EMP-2".into());
    journal.cancel(batch(), Some(id), moment(1)).await.unwrap();
    let claims = world.claim(token, 3, 2).await;
    let seqs: Vec<PaymentId> = claims.iter().map(|claim| claim.seq).collect();
    assert_eq!(seqs, [1, 3, 4].map(PaymentId::new));
    let events = [
        reply(Class::Paid, 140),
        Event::Unsent,
        reply(Class::Refused, 110),
    ];
    let findings = seqs.iter().zip(events);
    let findings = findings.map(|(seq, event)| finding(*seq, event)).collect();
    world.record(findings, 3).await;
    assert_eq!(journal.retry(batch(), None, at(4)).await.unwrap(), 1);
    let bill = BillFinding {
        seq: PaymentId::new(5),
        outcome: BillOutcome::Taken,
        code: Some(308),
        due: Some(row(9).money),
        due_date: String::new(),
        customer_name: String::new(),
        description: String::new(),
    };
    journal.record_bills(vec![bill], at(5)).await.unwrap();
    let upload = Upload {
        at: at(6),
        digest: [7; 32],
        bytes: 1,
        reference: "DOC-1".into(),
        reply: String::new(),
    };
    journal
        .record_upload(PaymentId::new(6), upload)
        .await
        .unwrap();
    world
}

#[tokio::test]
async fn a_journal_that_nobody_changed_is_posted_from() {
    let world = eventful().await;
    let token = world.acquire(100).await.token;
    let (claims, altered) = world.claim_or_refusal(token, 100).await;
    assert_eq!(altered, None);
    let mut seqs: Vec<PaymentId> = claims.iter().map(|claim| claim.seq).collect();
    seqs.sort_unstable();
    assert_eq!(
        seqs,
        [3, 5, 6, 7, 8].map(PaymentId::new),
        "the retry is the eighth"
    );
}

#[tokio::test]
async fn whatever_is_changed_in_the_file_is_not_claimed() {
    let ready = "update life set state = 0, due_at = 0, code = null, settled_at = null";
    for (sql, part) in [
        // What was loaded.
        ("update instruction set amount = 70000 where seq = 7".to_owned(), "not as it was loaded"),
        ("update instruction set msisdn = '254799999999' where seq = 7".into(), "not as it was loaded"),
        ("update instruction set amount = 1 where seq = 3".into(), "not as it was loaded"),
        (
            "update instruction set identifier = 'X' where seq = 1;
             update instruction set identifier = (select identifier from instruction where seq = 7) where seq = 3;
             update instruction set identifier = (select identifier from identifier where seq = 3) where seq = 7"
                .into(),
            "not as it was loaded",
        ),
        ("update service set code = 'RTGS' where code = 'B2C'".into(), "not as it was loaded"),
        ("delete from instruction where seq = 1".into(), "not as it was loaded"),
        // A row that nobody loaded.
        (
            "insert into instruction (seq, batch_id, load_id, line, identifier, generation, received_at, service_id, msisdn,
                 amount, currency, country)
             select 99, batch_id, load_id, 99, '0123456789ABCDEFGHJKMNPQR1', 0, received_at, service_id, msisdn, 1, currency, country
             from instruction where seq = 7;
             insert into identifier values ('0123456789ABCDEFGHJKMNPQR1', 99)"
                .into(),
            "nothing on the chain of evidence says that it was loaded",
        ),
        // A retry, a bill, a document.
        ("update instruction set amount = 70000 where seq = 8".into(), "not as it was loaded"),
        ("update instruction set amount = 70000 where seq = 5".into(), "not that of its bill"),
        (
            "update instruction set amount = 70000 where seq = 5; update bill set due = 70000 where seq = 5".into(),
            "the bill is not as it was recorded",
        ),
        ("update upload set reference = 'DOC-2' where seq = 6".into(), "its uploaded document"),
        // States.
        (format!("{ready} where seq = 1"), "adds up to paid"),
        (format!("{ready} where seq = 2"), "adds up to cancelled"),
        (format!("{ready}, replaced_by = null where seq = 4"), "adds up to failed"),
        ("update life set attempts = 0 where seq = 3".into(), "of its attempts"),
        ("update life set known = 1, exposures = 1 where seq = 3".into(), "of its attempts"),
        // Payments that stand as if nothing had ever been known of them.
        ("delete from life where seq = 1; update lane set fresh_from = 1".into(), "there is evidence about it"),
        ("delete from life where seq = 2; update lane set fresh_from = 1".into(), "there is evidence about it"),
    ] {
        let world = eventful().await;
        tamper(&world, &sql);
        let token = world.acquire(100).await.token;
        let mut claimed = Vec::new();
        let altered = loop {
            let (claims, altered) = world.claim_or_refusal(token, 100).await;
            claimed.extend(claims.iter().map(|claim| claim.seq.get()));
            if altered.is_some() || claims.is_empty() {
                break altered;
            }
        };
        let altered = altered.unwrap_or_else(|| panic!("{sql}: {claimed:?}"));
        assert!(altered.contains(part), "{sql}: {altered}");
        // The shares of two lanes are claimed one after the other: what stands in a lane that was sound may be claimed.
        assert!(!claimed.contains(&1) && !claimed.contains(&2), "{sql}");
        assert_eq!(world.count(State::Posting), claimed.len() as u64, "{sql}");
    }
}

#[tokio::test]
async fn what_is_changed_while_a_run_goes_on_is_not_claimed_either() {
    let world = World::loaded(5).await;
    let token = world.acquire(1).await.token;
    assert_eq!(world.claim(token, 2, 2).await.len(), 2);
    tamper(
        &world,
        "update instruction set amount = 70000 where seq = 4",
    );
    let (claims, altered) = world.claim_or_refusal(token, 3).await;
    assert!(claims.is_empty());
    let altered = altered.unwrap();
    assert!(altered.contains("lines 2 to 6 of payroll.csv"), "{altered}");
    // Put right, it goes on.
    tamper(&world, "update instruction set amount = 400 where seq = 4");
    let (claims, altered) = world.claim_or_refusal(token, 4).await;
    assert_eq!((claims.len(), altered), (3, None));
}

/// An order would put its seal on the edit: a payment that may be on its way would stand as withdrawn, or as decided.
#[tokio::test]
async fn no_order_is_taken_about_what_was_changed_in_the_file() {
    let world = World::loaded(2).await;
    let token = world.acquire(1).await.token;
    world.claim(token, 9, 2).await;
    world.acquire(3).await;
    assert_eq!(world.count(State::InDoubt), 2);
    tamper(
        &world,
        "update life set state = 0, exposures = 0, attempts = 0 where seq = 1",
    );
    let error = world
        .journal
        .cancel(batch(), Some("EMP-1".into()), moment(4))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::AlteredRow { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("its evidence adds up to in_doubt"),
        "{error}"
    );
    assert_eq!(world.count(State::Cancelled), 0);
    // Of the other one an order is taken as ever.
    let decision = Decision {
        paid: true,
        reason: "seen".into(),
        evidence: "statement".into(),
    };
    let decide = |name: &str| {
        let decision = decision.clone();
        world
            .journal
            .decide(batch(), name.into(), decision, moment(5))
    };
    let refused = decide("EMP-1").await;
    assert!(
        matches!(refused, Err(Error::AlteredRow { .. })),
        "{refused:?}"
    );
    decide("EMP-2").await.unwrap();
    assert_eq!(world.count(State::Paid), 1);
}

#[tokio::test]
async fn no_more_leaves_than_the_figures_that_were_shown() {
    let world = World::loaded(3).await;
    // Somebody lowers what a person is shown.
    tamper(&world, "update tally set amount = 100");
    let shown = world.journal.shown(batch()).await.unwrap();
    let terms = RunTerms {
        confirmation: Confirmation::of(shown.open(), shown.bound, Answer::Asked),
        ..terms(1)
    };
    let acquired = world
        .journal
        .acquire(batch(), terms, Arc::clone(&world.policy));
    let token = acquired.await.unwrap().token;
    let (claims, altered) = world.claim_or_refusal(token, 2).await;
    assert!(claims.is_empty());
    let altered = altered.unwrap();
    assert!(
        altered.contains("more would be posted than was shown"),
        "{altered}"
    );
}

/// Whether a batch may go to another account rests on what was posted of it: who can write the file could hide that.
#[tokio::test]
async fn no_batch_goes_to_another_account_once_what_was_posted_of_it_was_edited_away() {
    for edit in [
        None,
        Some("update life set state = 0, due_at = 0, exposures = 0"),
        Some(
            "update life set state = 0, due_at = 0, exposures = 0, attempts = 0, posted_at = null",
        ),
        Some(
            "update life set state = 6, code = 110, exposures = 0, due_at = 9223372036854775807, settled_at = 3",
        ),
        Some(
            "update life set state = 7, exposures = 0, due_at = 9223372036854775807, settled_at = 3",
        ),
    ] {
        let world = World::loaded(2).await;
        let acquire = |account: &str, secs| {
            let terms = RunTerms {
                home: Home {
                    account: account.into(),
                    ..home()
                },
                ..terms(secs)
            };
            world
                .journal
                .acquire(batch(), terms, Arc::clone(&world.policy))
        };
        let token = acquire("acme", 1).await.unwrap().token;
        let seq = world.claim(token, 1, 2).await[0].seq;
        world.record(vec![finding(seq, Event::Lost)], 3).await;
        if let Some(edit) = edit {
            tamper(&world, &format!("{edit} where seq = {seq}"));
        }
        let refused = acquire("globex", 4).await.unwrap_err();
        match (edit, refused) {
            (None, Error::OtherAccount { pinned, .. }) => assert_eq!(pinned, "acme"),
            (Some(_), Error::Altered { what, .. }) => {
                assert!(what.contains("its evidence adds up to in_doubt"), "{what}");
            }
            (edit, other) => panic!("{edit:?}: {other}"),
        }
    }
    // What was refused, as with a mistyped user, binds to nothing, and the batch goes freely.
    let world = World::loaded(2).await;
    let seq = {
        let token = world.acquire(1).await.token;
        world.claim(token, 1, 2).await[0].seq
    };
    world
        .record(vec![finding(seq, Event::Unauthorised)], 3)
        .await;
    let terms = RunTerms {
        home: Home {
            account: "globex".into(),
            ..home()
        },
        ..terms(4)
    };
    let taken = world
        .journal
        .acquire(batch(), terms, Arc::clone(&world.policy));
    taken.await.unwrap();
}
