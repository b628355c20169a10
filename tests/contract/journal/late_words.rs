//! What is said of a payment after it has ended unpaid: it is heard, whatever was said before, and asked about.

use disburse::domain::{BatchName, Member, PayerTransactionId, PaymentId};
use disburse::journal::{
    Decision, Doubt, Halt, IncomingCallback, LoadPlan, LoadRefusal, Loaded, Received, RepeatPlan,
    WaitsFor,
};
use disburse::lifecycle::{Class, Event, State};

use crate::support::*;

/// A payment that was posted, and lost.
struct Late {
    world: World,
    id: PayerTransactionId,
    seq: PaymentId,
}

impl Late {
    async fn lost() -> Self {
        let world = World::loaded(1).await;
        let id = world.identifiers()[0];
        let token = world.acquire(1).await.token;
        let seq = world.claim(token, 9, 1).await[0].seq;
        let late = Self { world, id, seq };
        late.hear(Event::Lost, 2).await;
        late
    }

    async fn failed() -> Self {
        let late = Self::lost().await;
        late.hear(answer(Class::Failed, 110), 4).await;
        late
    }

    async fn hear(&self, event: Event, secs: i64) {
        self.world
            .record(vec![finding(self.seq, event)], secs)
            .await;
    }

    fn unreadable(&self, digest: u8) -> IncomingCallback {
        IncomingCallback {
            event: None,
            body: Some("?".into()),
            ..note(self.id, Class::Paid, 140, digest)
        }
    }

    fn other(&self, digest: u8) -> IncomingCallback {
        IncomingCallback {
            said: naming(&[(Member::Amount, "90000.00")]),
            ..note(self.id, Class::Paid, 140, digest)
        }
    }

    async fn asked(&self, secs: i64) -> Vec<PayerTransactionId> {
        let token = self.world.acquire(secs).await.token;
        let asked = self
            .world
            .journal
            .questions(token, 9, at(secs), at(secs + 60));
        asked.await.unwrap().0.iter().map(|q| q.id).collect()
    }

    fn evidence(&self) -> i64 {
        let sql = "select count(*) from evidence where seq = ?1";
        let count = self
            .world
            .sql()
            .query_row(sql, [self.seq], |row| row.get(0));
        count.unwrap()
    }

    fn assert_proven(&self) {
        self.world.assert_adds_up();
        let reader = self.world.reader();
        let proof = reader.snapshot(&batch()).unwrap().prove(None).unwrap();
        assert!(proof.is_sound(), "{:#?}", proof.findings);
    }
}

#[tokio::test]
async fn what_came_before_a_failure_takes_no_room_of_what_takes_it_back() {
    type Say = fn(&Late, u8) -> IncomingCallback;
    // What fills the room before the failure, and what is said after it: of the same words, byte for byte, or of new ones.
    let junk: Say = |late, digest| late.unreadable(digest);
    let other: Say = |late, digest| late.other(digest);
    let pending: Say = |late, digest| note(late.id, Class::Acknowledged, 139, digest);
    let at_bank: Say = |late, digest| note(late.id, Class::Delivered, 148, digest);
    let vague: Say = |late, digest| note(late.id, Class::InDoubt, 229, digest);
    let not_found: Say = |late, digest| note(late.id, Class::NotFound, 143, digest);
    let other_failed: Say = |late, digest| IncomingCallback {
        said: naming(&[(Member::Amount, "5.00")]),
        ..note(late.id, Class::Failed, 141, digest)
    };
    for (before, count, after, digest) in [
        (junk, 8, junk, 99),
        (junk, 1, junk, 0),
        (junk, 12, junk, 3),
        (other, 8, junk, 99),
        (junk, 8, other, 99),
        (other, 8, other, 0),
        (pending, 60, pending, 99),
        (pending, 1, pending, 0),
        (pending, 60, at_bank, 99),
        // Words that prove nothing of a payment that is open; of one that failed they do.
        (vague, 1, vague, 0),
        (vague, 60, vague, 99),
        (pending, 1, not_found, 99),
        (junk, 8, other_failed, 99),
    ] {
        let late = Late::lost().await;
        for digest in 0..count {
            late.world.callback(before(&late, digest), 3).await;
        }
        late.hear(answer(Class::Failed, 110), 4).await;
        assert_eq!(late.world.count(State::Failed), 1);
        late.world
            .journal
            .retry(batch(), None, at(5))
            .await
            .unwrap();
        let said = late.world.callback(after(&late, digest), 6).await;
        assert!(matches!(said, Received::Stored(_)), "{said:?}");
        let token = late.world.acquire(7).await.token;
        assert!(late.world.claim(token, 9, 7).await.is_empty());
        assert_eq!(late.asked(8).await, [late.id]);
        // However many more move nothing, and take no room.
        let rows = late.evidence();
        for _ in 0..4 {
            for digest in [digest, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129] {
                late.world.callback(junk(&late, digest), 9).await;
                late.world.callback(other(&late, digest), 9).await;
            }
        }
        assert!(
            late.evidence() - rows <= 8,
            "{} more",
            late.evidence() - rows
        );
        late.hear(answer(Class::Failed, 110), 10).await;
        let token = late.world.acquire(11).await.token;
        assert_eq!(late.world.claim(token, 9, 11).await.len(), 1);
        // Once the gateway has said failed again, the same words are a doubt again.
        late.world.callback(after(&late, digest), 12).await;
        assert_eq!(late.asked(13).await, [late.id]);
        late.assert_proven();
    }
}

#[tokio::test]
async fn a_failure_that_is_taken_back_is_asked_about_although_nobody_retries_it() {
    let pending = |late: &Late| note(late.id, Class::Acknowledged, 139, 1);
    let vague = |late: &Late| note(late.id, Class::InDoubt, 999, 1);
    for (note, said) in [
        (pending(&Late::failed().await), Doubt::Code(139)),
        (Late::failed().await.other(1), Doubt::Otherwise(140)),
        (Late::failed().await.unreadable(1), Doubt::Unreadable),
        (vague(&Late::failed().await), Doubt::Code(999)),
    ] {
        let late = Late::failed().await;
        assert_eq!(late.asked(5).await, []);
        assert_eq!(late.world.standing().doubtful, 0);
        late.world.callback(note, 6).await;
        let waits = WaitsFor::Itself {
            code: Some(110),
            withdrawn: false,
            said,
        };
        let standing = late.world.standing();
        assert_eq!((standing.doubtful, standing.waiting_count), (1, 1));
        assert_eq!(standing.waiting[0].waits_for, waits);
        assert_eq!(late.world.find("EMP-1").waits_for, Some(waits));
        let listed = late.world.report_rows();
        assert!(format!("{listed:?}").contains("Itself"), "{listed:?}");
        assert_eq!(late.asked(10).await, [late.id]);
        // A few answers that settle nothing are enough, until the next run.
        let due = async |token, secs| late.world.journal.due(token, at(secs)).await.unwrap().ask;
        let token = late.world.acquire(20).await.token;
        for secs in [21, 22, 23] {
            assert!(due(token, secs).await.is_some(), "{secs}");
            late.hear(answer(Class::InDoubt, 104), secs).await;
        }
        assert_eq!(due(token, 24).await, None);
        assert_eq!(late.world.find("EMP-1").waits_for, Some(waits), "and why");
        assert_eq!(late.world.standing().doubtful, 1, "it stays named");
        assert_eq!(late.asked(30).await, [late.id]);
        late.hear(answer(Class::Failed, 110), 31).await;
        assert_eq!(late.world.standing().doubtful, 0);
        assert_eq!(late.asked(32).await, []);
        late.assert_proven();
    }
}

#[tokio::test]
async fn an_answer_or_a_reply_after_a_failure_that_proves_nothing_is_asked_about() {
    for (word, undone) in [
        // The question was on its way when it failed: the next answer makes up for it, whatever it is.
        (answer(Class::InDoubt, 999), &[(Class::NotFound, 143)][..]),
        (answer(Class::InDoubt, 229), &[(Class::Failed, 141)]),
        (reply(Class::Duplicate, 229), &[(Class::Failed, 141)]),
        (reply(Class::InDoubt, 174), &[(Class::Failed, 110)]),
        (reply(Class::Acknowledged, 139), &[(Class::Failed, 110)]),
    ] {
        let late = Late::failed().await;
        late.hear(word, 5).await;
        assert_eq!(late.world.standing().doubtful, 1, "{word:?}");
        assert_eq!(late.asked(6).await, [late.id], "{word:?}");
        let retried = late.world.journal.retry(batch(), None, at(7)).await;
        retried.unwrap();
        let token = late.world.acquire(8).await.token;
        assert!(late.world.claim(token, 9, 8).await.is_empty(), "{word:?}");
        for (class, code) in undone {
            late.hear(answer(*class, *code), 9).await;
        }
        let token = late.world.acquire(10).await.token;
        assert_eq!(late.world.claim(token, 9, 10).await.len(), 1, "{word:?}");
        late.assert_proven();
    }
}

#[tokio::test]
async fn a_failure_that_is_taken_back_and_paid_after_all_waits_for_a_person() {
    let late = Late::failed().await;
    late.world
        .callback(note(late.id, Class::Acknowledged, 139, 1), 6)
        .await;
    late.hear(answer(Class::Paid, 140), 7).await;
    assert_eq!(late.world.count(State::Conflict), 1);
    assert_eq!(late.world.standing().doubtful, 0);
    late.assert_proven();
}

#[tokio::test]
async fn a_retry_that_is_cancelled_leaves_the_doubt_about_what_it_was_to_replace() {
    let late = Late::failed().await;
    late.world
        .journal
        .retry(batch(), None, at(5))
        .await
        .unwrap();
    late.world
        .callback(note(late.id, Class::Acknowledged, 139, 1), 6)
        .await;
    let cancelled = late.world.journal.cancel(batch(), None, moment(7)).await;
    assert_eq!(cancelled.unwrap(), 1);
    assert_eq!(late.world.standing().doubtful, 1);
    assert_eq!(late.asked(8).await, [late.id]);
    late.hear(answer(Class::Failed, 110), 9).await;
    assert_eq!(late.world.standing().doubtful, 0);
    late.assert_proven();
}

#[tokio::test]
async fn what_was_cancelled_after_a_post_is_asked_about_once_somebody_speaks_of_it() {
    for (what, withdraws_later) in [
        ("unreadable", false),
        ("other", false),
        ("other", true),
        ("vague", false),
        ("vague", true),
    ] {
        let world = World::loaded(1).await;
        let id = world.identifiers()[0];
        let token = world.acquire(1).await.token;
        let seq = world.claim(token, 9, 1).await[0].seq;
        let late = Late { world, id, seq };
        late.hear(reply(Class::NoFloat, 230), 2).await;
        let said = match what {
            "other" => late.other(1),
            "vague" => note(late.id, Class::InDoubt, 229, 1),
            _ => late.unreadable(1),
        };
        let cancel = async || late.world.journal.cancel(batch(), None, moment(3)).await;
        if !withdraws_later {
            assert_eq!(cancel().await.unwrap(), 1);
        }
        late.world.callback(said.clone(), 4).await;
        if withdraws_later {
            assert_eq!(cancel().await.unwrap(), 1);
            // The same once more: now it counts for more.
            late.world.callback(said, 5).await;
        }
        assert_eq!(late.world.count(State::Cancelled), 1);
        assert_eq!(late.world.standing().doubtful, 1, "{what}");
        assert_eq!(late.asked(6).await, [late.id]);
        late.hear(answer(Class::NotFound, 143), 7).await;
        assert_eq!(late.world.standing().doubtful, 0, "{what}");
        assert_eq!(late.world.count(State::Cancelled), 1);
        late.assert_proven();
    }
}

#[tokio::test]
async fn a_row_that_may_be_paid_is_told_where_it_is_loaded_again_however_late() {
    let withdrawn = async || {
        let world = World::loaded(1).await;
        let id = world.identifiers()[0];
        let token = world.acquire(1).await.token;
        let seq = world.claim(token, 9, 1).await[0].seq;
        let late = Late { world, id, seq };
        late.hear(reply(Class::NoFloat, 230), 2).await;
        let cancelled = late.world.journal.cancel(batch(), None, moment(3)).await;
        assert_eq!(cancelled.unwrap(), 1);
        late.world.callback(late.unreadable(1), 4).await;
        late
    };
    let taken_back = async || {
        let late = Late::failed().await;
        let pending = note(late.id, Class::Acknowledged, 139, 1);
        late.world.callback(pending, 6).await;
        late
    };
    let decided = async || {
        let late = Late::lost().await;
        let decision = Decision {
            paid: false,
            reason: "the bank".into(),
            evidence: "ticket 9".into(),
        };
        let id = late.id.to_string();
        let decided = late
            .world
            .journal
            .decide(batch(), id.into(), decision, moment(4));
        decided.await.unwrap();
        late
    };
    let spoken_of = "the gateway has spoken of it since it ended";
    for (late, day, told) in [
        (withdrawn().await, 1, spoken_of),
        (withdrawn().await, 90, spoken_of),
        (taken_back().await, 1, spoken_of),
        (taken_back().await, 90, spoken_of),
        (decided().await, 1, "by the word of a person"),
    ] {
        let again = LoadPlan {
            batch: BatchName::parse("again").unwrap(),
            source: "again.csv".into(),
            now: at(day * 24 * 60 * 60),
            repeats: Some(RepeatPlan::default()),
            ..plan()
        };
        let loaded = format!("{:?}", late.world.load(again, rows(1..=1)).await);
        assert!(loaded.contains("Refused"), "{day}: {loaded}");
        assert!(loaded.contains(told), "{day}, {told}: {loaded}");
    }
}

#[tokio::test]
async fn a_row_that_was_allowed_beside_a_persons_word_stays_once_the_other_one_proves_paid() {
    for proves_paid in [false, true] {
        let late = Late::lost().await;
        let again = BatchName::parse("again").unwrap();
        let allowing = |digest: Option<&str>| LoadPlan {
            batch: again.clone(),
            source: "again.csv".into(),
            now: at(100),
            repeats: Some(RepeatPlan {
                allowed: digest.map(str::to_owned),
                ..RepeatPlan::default()
            }),
            ..plan()
        };
        let digest = async |allowed: Option<&str>| match late
            .world
            .load(allowing(allowed), rows(1..=1))
            .await
        {
            Loaded::Refused(LoadRefusal::BadRows {
                repeats: Some(repeats),
                ..
            }) => repeats.digest,
            other => panic!("{other:?}"),
        };
        let while_open = digest(None).await;
        let decision = Decision {
            paid: false,
            reason: "the bank".into(),
            evidence: "ticket 9".into(),
        };
        let id = late.id.to_string();
        let decided = late
            .world
            .journal
            .decide(batch(), id.into(), decision, moment(4));
        decided.await.unwrap();
        let decided = digest(Some(&while_open)).await;
        assert_ne!(decided, while_open);
        late.world
            .load_new(allowing(Some(&decided)), rows(1..=1))
            .await;
        if proves_paid {
            let paid = note(late.id, Class::Paid, 140, 1);
            late.world.callback(paid, 101).await;
        }
        let policy = std::sync::Arc::clone(&late.world.policy);
        let journal = &late.world.journal;
        let acquired = journal.acquire(again.clone(), terms(102), policy.clone());
        let token = acquired.await.unwrap().token;
        let (claims, _, halt) = journal.claim(token, 9, at(103), policy).await.unwrap();
        assert_eq!(claims.len(), usize::from(!proves_paid));
        assert_eq!(matches!(halt, Some(Halt::PaidElsewhere(_))), proves_paid);
    }
}
