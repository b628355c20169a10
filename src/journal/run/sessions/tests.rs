//! Two runs of one batch on one store.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::*;
use crate::domain::{BatchName, PaymentId, Tally};
use crate::journal::codec::values::NEVER;
use crate::journal::load::loading;
use crate::journal::run::due_questions::questions;
use crate::journal::run::gateway_moved::move_gateway;
use crate::journal::run::redirect::redirect;
use crate::journal::run::verbs::{abandon_own, acquire, claim};
use crate::journal::session::fence::assert_current;
use crate::journal::session::watched_clock::Turn;
use crate::journal::tests::{plan, row};
use crate::journal::{Claim, Closed, GatewayMoved, Home, LoadRow, Redirection, RunTerms};
use crate::ledger::confirmation::{Answer, Bound, Confirmation};
use crate::lifecycle::{Class, CodeMeaning};
use crate::store::memory::Memory;
use crate::store::tables::{claim as claims_of, claimed, life};

const T0: i64 = 1_795_824_000_000;

fn at(secs: u64) -> Timestamp {
    Timestamp::from_millis(T0).after(Duration::from_secs(secs))
}

/// A batch of so many payments on a store that several runs share, and its time.
struct Desk {
    c: WriteSession,
    clock: Arc<AtomicI64>,
    batch: BatchName,
    policy: Policy,
}

impl Desk {
    fn with(rows: u64) -> Self {
        let clock = Arc::new(AtomicI64::new(T0));
        let read = Arc::clone(&clock);
        let memory = Memory::shared(move || Timestamp::from_millis(read.load(Ordering::SeqCst)));
        crate::journal::codec::facts::note(&memory, "journal", &[7_u8; 16]).unwrap();
        let mut desk = Self {
            clock,
            c: WriteSession::new(crate::journal::session::keeper::Keeper::Memory(memory)),
            batch: plan().batch,
            policy: Policy {
                not_found_quarantine: Duration::from_secs(60),
                first_query_after: Duration::from_secs(5),
                ..Policy::default()
            },
        };
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut block: Vec<_> = (1..=rows).map(|n| LoadRow::Valid(row(n))).collect();
        block.push(LoadRow::EndOfFile);
        sender.send(block).unwrap();
        drop(sender);
        desk.act(0, |c, _| loading::load(c, &plan(), receiver))
            .unwrap();
        desk
    }

    /// Does something in a transaction at a time.
    fn act<T>(
        &mut self,
        secs: u64,
        work: impl FnOnce(&mut WriteSession, &Policy) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.set_clock(secs);
        Transact::begin(&*self.c)?;
        self.c.begin()?;
        match work(&mut self.c, &self.policy) {
            Ok(done) => {
                if self.c.is_open() {
                    self.c.save()?;
                    self.c.commit()?;
                }
                Ok(done)
            }
            Err(error) => {
                self.c.forget();
                self.c.rollback()?;
                Err(error)
            }
        }
    }

    fn set_clock(&self, secs: u64) {
        self.clock.store(at(secs).as_millis(), Ordering::SeqCst);
    }

    fn acquire(&mut self, secs: u64, name: &str) -> RunToken {
        self.take(secs, name).token
    }

    fn terms(&self, secs: u64, name: &str) -> RunTerms {
        RunTerms {
            home: Home {
                gateway: "gateway".into(),
                wire: "wire".into(),
                account: "acme".into(),
                reading: "document".into(),
                profile: "default".to_owned(),
                accepts_reading: false,
            },
            confirmation: Confirmation::of(Tally::default(), Bound::EVERYTHING, Answer::Flag),
            approval: None,
            longest_wait: Duration::from_secs(600),
            first_query_after: self.policy.first_query_after,
            calendar: Arc::default(),
            limits: None,
            runner: Runner {
                name: name.into(),
                ..Runner::default()
            },
            now: at(secs),
            shows: Some(at(secs)),
        }
    }

    fn take(&mut self, secs: u64, name: &str) -> crate::journal::Acquired {
        let (terms, batch) = (self.terms(secs, name), self.batch.clone());
        self.act(secs, |c, policy| acquire(c, &batch, &terms, policy))
            .unwrap()
    }

    fn claim(&mut self, secs: u64, token: RunToken, limit: usize) -> Vec<PaymentId> {
        self.try_claim(secs, token, limit).unwrap()
    }

    fn try_claim(
        &mut self,
        secs: u64,
        token: RunToken,
        limit: usize,
    ) -> Result<Vec<PaymentId>, Error> {
        let claims: Vec<Claim> = self.act(secs, |c, policy| {
            Ok(claim(c, token, limit, at(secs), policy)?.0)
        })?;
        Ok(claims.iter().map(|claim| claim.seq).collect())
    }

    fn renew(&mut self, secs: u64, token: RunToken) {
        self.act(secs, |c, _| renew(c, token)).unwrap();
    }

    /// Applies an event to a payment.
    fn tell(
        &mut self,
        secs: u64,
        token: RunToken,
        seq: PaymentId,
        event: Event,
    ) -> Result<(), Error> {
        self.act(secs, |c, policy| {
            assert_current(c, token)?;
            let finding = crate::journal::Finding {
                seq,
                event,
                said: ResponseDetails::default(),
                asked: None,
            };
            let moment = StepContext {
                now: at(secs),
                jitter: 0,
            };
            crate::journal::payments::record::record(c, &[finding], moment, policy)?;
            Ok(())
        })
    }

    fn state(&self, seq: PaymentId) -> State {
        let own = Scan::of(&life::TABLE).at(&seq);
        self.c.value(&own, life::state).unwrap().unwrap()
    }
}

fn accepted() -> Event {
    Event::Reply(CodeMeaning {
        class: Class::Acknowledged,
        code: 139,
    })
}

#[test]
fn runs_beside_one_another_claim_different_payments_and_fence_nobody() {
    let mut desk = Desk::with(10);
    let one = desk.acquire(0, "one");
    let first = desk.claim(1, one, 4);
    let other = desk.acquire(1, "other");
    let second = desk.claim(1, other, 4);
    let third = desk.claim(2, one, 4);
    let mut all = [first.clone(), second, third].concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 10);
    // What the first had under way when the other began is its own still.
    assert!(first.iter().all(|seq| desk.state(*seq) == State::Posting));
    desk.tell(3, one, first[0], accepted()).unwrap();
    assert_eq!(desk.state(first[0]), State::Acknowledged);
}

#[test]
fn a_run_that_is_not_heard_of_leaves_its_own_in_doubt_and_nothing_else() {
    let mut desk = Desk::with(10);
    let (dead, alive) = (desk.acquire(0, "dead"), desk.acquire(0, "alive"));
    let lost = desk.claim(0, dead, 3);
    desk.tell(1, dead, lost[0], accepted()).unwrap();
    let kept = desk.claim(5, alive, 3);
    desk.renew(9, alive);
    // Its lease is not over yet.
    assert_eq!(
        desk.act(10, |c, policy| close_expired(c, alive.batch_id, policy))
            .unwrap(),
        0
    );
    assert_eq!(
        desk.act(11, |c, policy| close_expired(c, alive.batch_id, policy))
            .unwrap(),
        2
    );
    assert_eq!(desk.state(lost[0]), State::Acknowledged);
    assert_eq!(desk.state(lost[1]), State::InDoubt);
    assert_eq!(desk.state(lost[2]), State::InDoubt);
    assert!(kept.iter().all(|seq| desk.state(*seq) == State::Posting));
    // The quarantine begins when the other learned of it, not when it was claimed.
    let own = Scan::of(&life::TABLE).at(&lost[1]);
    let from: Option<Timestamp> = desk.c.value(&own, life::quarantine_from).unwrap();
    assert_eq!(from, Some(at(11)));
    // Should it come back, it may do nothing more.
    for refused in [
        desk.try_claim(12, dead, 1).map(|_| ()),
        desk.tell(12, dead, lost[1], accepted()),
    ] {
        let closed = Error::SessionClosed {
            why: Closed::LeaseRanOut,
        };
        let said = refused.unwrap_err().to_string();
        assert_eq!(said, closed.to_string());
        assert!(said.contains("its lease ran out"), "{said}");
    }
    assert_eq!(desk.claim(12, alive, 1).len(), 1);
}

#[test]
fn what_another_run_has_claimed_again_is_its_own() {
    let mut desk = Desk::with(1);
    let (first, second) = (desk.acquire(0, "first"), desk.acquire(0, "second"));
    let [seq] = desk.claim(0, first, 1)[..] else {
        panic!("one payment");
    };
    // It was withheld before it was sent, and is ready again.
    desk.tell(1, first, seq, Event::Unsent).unwrap();
    assert_eq!(desk.claim(2, second, 1), [seq]);
    desk.renew(9, second);
    desk.act(11, |c, policy| close_expired(c, second.batch_id, policy))
        .unwrap();
    assert_eq!(desk.state(seq), State::Posting, "the second has it");
    desk.act(25, |c, policy| close_expired(c, second.batch_id, policy))
        .unwrap();
    assert_eq!(desk.state(seq), State::InDoubt);
}

#[test]
fn a_run_that_ends_leaves_no_session_and_no_claims() {
    let mut desk = Desk::with(4);
    let token = desk.acquire(0, "one");
    let seqs = desk.claim(0, token, 4);
    for seq in &seqs[..3] {
        desk.tell(1, token, *seq, accepted()).unwrap();
    }
    let own = desk
        .act(2, |c, policy| abandon_own(c, token, at(2), policy))
        .unwrap();
    assert_eq!(own, 1);
    assert_eq!(desk.act(3, |c, policy| leave(c, token, policy)).unwrap(), 0);
    assert!(!desk.c.any(&Scan::of(&claims_of::TABLE)).unwrap());
    assert!(!desk.c.any(&Scan::of(&claimed::TABLE)).unwrap());
    assert!(runners(&*desk.c, token.batch_id).unwrap().is_empty());
    let refused = desk.try_claim(4, token, 1);
    assert!(matches!(
        refused,
        Err(Error::SessionClosed {
            why: Closed::ServerChanged
        })
    ));
    // The number of a session is never given again.
    assert_ne!(desk.acquire(5, "two").epoch, token.epoch);
}

#[test]
fn ranges_whose_payments_all_have_an_outcome_are_forgotten() {
    let mut desk = Desk::with(40);
    let token = desk.acquire(0, "one");
    for secs in 1..=20 {
        for seq in desk.claim(secs, token, 2) {
            desk.tell(secs, token, seq, accepted()).unwrap();
        }
        desk.renew(secs, token);
        let kept = desk.c.count(&Scan::of(&claims_of::TABLE)).unwrap();
        assert!(kept <= 2, "{kept} at {secs}");
    }
}

#[test]
fn a_question_is_asked_by_one_run() {
    let mut desk = Desk::with(3);
    let (one, other) = (desk.acquire(0, "one"), desk.acquire(0, "other"));
    for seq in desk.claim(0, one, 3) {
        desk.tell(1, one, seq, Event::Lost).unwrap();
    }
    let (now, lease) = (at(200), at(220));
    desk.renew(9, one);
    let ask = |token| move |c: &mut WriteSession, _: &Policy| questions(c, token, 10, now, lease);
    let first = desk.act(9, ask(one)).unwrap();
    let second = desk.act(9, ask(other)).unwrap();
    assert_eq!((first.len(), second.len()), (3, 0));
}

#[test]
fn the_first_of_all_runs_begins_the_waits_anew_and_the_next_leaves_them() {
    let mut desk = Desk::with(2);
    let one = desk.acquire(0, "one");
    let seqs = desk.claim(0, one, 2);
    desk.tell(1, one, seqs[0], Event::Lost).unwrap();
    let from = |desk: &Desk| -> Option<Timestamp> {
        let own = Scan::of(&life::TABLE).at(&seqs[0]);
        desk.c.value(&own, life::quarantine_from).unwrap()
    };
    assert_eq!(from(&desk), Some(at(1)));
    assert_eq!(desk.take(5, "second").abandoned, 0);
    assert_eq!(from(&desk), Some(at(1)), "the first is under way still");
    assert_eq!(desk.take(60, "third").abandoned, 1, "both are gone");
    assert_eq!(from(&desk), Some(at(60)));
}

#[test]
fn a_clock_that_is_set_ends_no_quarantine_and_the_session_of_whoever_counts_from_another_time() {
    for set_to in [704, 100] {
        let mut desk = Desk::with(3);
        let one = desk.acquire(400, "one");
        let counted = desk.c.counted();
        let seqs = desk.claim(400, one, 2);
        desk.tell(401, one, seqs[0], Event::Lost).unwrap();
        let from = |desk: &Desk, seq| -> Option<Timestamp> {
            let own = Scan::of(&life::TABLE).at(seq);
            desk.c.value(&own, life::quarantine_from).unwrap()
        };
        let look = |desk: &mut Desk, shown, secs| {
            let counted = counted + Duration::from_secs(secs);
            let turn = Turn {
                asked: counted,
                had: counted,
            };
            let looked = desk.act(shown, |c, _| clock_was_set(c, one, turn));
            looked.unwrap()
        };
        assert!(!look(&mut desk, 403, 3));
        assert!(!look(&mut desk, 416, 4), "a little");
        assert_eq!(from(&desk, &seqs[0]), Some(at(401)));
        assert!(look(&mut desk, set_to, 5));
        assert!(look(&mut desk, set_to + 1, 6), "and its next verb");
        // What it had under way is in doubt.
        for seq in &seqs {
            assert_eq!(desk.state(*seq), State::InDoubt);
            assert_eq!(from(&desk, seq), Some(at(set_to)));
        }
        let refused = desk.act(set_to + 2, |c, _| assert_current(c, one));
        let why = Closed::ClockSet;
        assert_eq!(
            refused.unwrap_err().to_string(),
            Error::SessionClosed { why }.to_string()
        );
    }
}

#[test]
fn whoever_begins_after_the_clock_was_set_and_before_anybody_has_looked_ends_no_quarantine() {
    for (set_to, since) in [(4, 1), (15, 15), (90, 90)] {
        let mut desk = Desk::with(2);
        let one = desk.acquire(0, "one");
        let seqs = desk.claim(0, one, 1);
        desk.tell(1, one, seqs[0], Event::Lost).unwrap();
        desk.acquire(set_to, "two");
        let own = Scan::of(&life::TABLE).at(&seqs[0]);
        let from: Option<Timestamp> = desk.c.value(&own, life::quarantine_from).unwrap();
        assert_eq!(from, Some(at(since)), "{set_to}");
    }
}

#[test]
fn a_run_whose_clock_began_before_that_of_the_server_was_set_takes_no_batch() {
    for (shows, taken) in [
        (100, true),
        (119, true),
        (81, true),
        (121, false),
        (79, false),
    ] {
        let mut desk = Desk::with(2);
        let terms = RunTerms {
            shows: Some(at(shows)),
            ..desk.terms(100, "one")
        };
        let batch = desk.batch.clone();
        let found = desk.act(100, |c, policy| acquire(c, &batch, &terms, policy));
        match found {
            Ok(_) => assert!(taken, "{shows}"),
            Err(error) => {
                let why = Closed::ClockSet;
                assert_eq!(error.to_string(), Error::SessionClosed { why }.to_string());
                assert!(!taken, "{shows}");
            }
        }
    }
}

#[test]
fn whoever_begins_after_the_clock_was_set_back_beside_a_run_that_is_gone_asks_by_the_clock_as_it_goes_now()
 {
    let mut desk = Desk::with(2);
    let gone = desk.acquire(7_000, "gone");
    let seqs = desk.claim(7_000, gone, 1);
    desk.tell(7_000, gone, seqs[0], Event::Lost).unwrap();
    desk.acquire(3, "other");
    let own = Scan::of(&life::TABLE).at(&seqs[0]);
    let from: Option<Timestamp> = desk.c.value(&own, life::quarantine_from).unwrap();
    let due: Option<Timestamp> = desk.c.value(&own, life::due_at).unwrap();
    assert_eq!((from, due), (Some(at(3)), Some(at(3))));
}

#[test]
fn a_clock_that_is_set_back_keeps_nobody_waiting() {
    let mut desk = Desk::with(2);
    let gone = desk.acquire(900, "gone");
    let seqs = desk.claim(900, gone, 2);
    let other = desk.acquire(1, "other");
    assert_eq!(desk.state(seqs[0]), State::Posting);
    let close = |c: &mut WriteSession, policy: &Policy| close_expired(c, other.batch_id, policy);
    desk.renew(10, other);
    assert_eq!(desk.act(10, close).unwrap(), 0, "its lease goes on");
    desk.renew(19, other);
    desk.renew(28, other);
    assert_eq!(desk.act(32, close).unwrap(), 2);
}

#[test]
fn runs_that_wait_otherwise_for_not_found_are_not_at_work_together() {
    let mut desk = Desk::with(2);
    desk.acquire(0, "one");
    let batch = desk.batch.clone();
    let shorter = Policy {
        not_found_quarantine: Duration::from_secs(5),
        ..desk.policy.clone()
    };
    let mut take = |secs| {
        let terms = desk.terms(secs, "other");
        desk.act(secs, |c, _| acquire(c, &batch, &terms, &shorter))
            .map(drop)
    };
    let told = take(1).unwrap_err().to_string();
    assert!(told.contains("= 60s, and this one has 5s"), "{told}");
    take(60).expect("the first one is gone");
}

/// The run that posted is gone, and what it posted is not shown by the gateway yet.
#[test]
fn a_run_does_not_wait_less_than_the_one_that_posted_what_is_in_doubt() {
    let mut desk = Desk::with(3);
    let one = desk.acquire(0, "one");
    let batch = desk.batch.clone();
    let waiting = |secs| Policy {
        not_found_quarantine: Duration::from_secs(secs),
        ..desk.policy.clone()
    };
    let policies = [5, 59, 60, 90].map(waiting);
    let [shorter, little_shorter, same, longer] = &policies;
    let posted = desk.claim(1, one, 2);
    let take = |desk: &mut Desk, secs, policy: &Policy| {
        let terms = desk.terms(secs, "other");
        let taken = desk.act(secs, |c, _| acquire(c, &batch, &terms, policy));
        taken.map(|acquired| acquired.token)
    };
    for (secs, policy) in [(20, shorter), (60, shorter), (60, little_shorter)] {
        let refused = take(&mut desk, secs, policy);
        let told = refused.unwrap_err().to_string();
        let says = [
            "with resolution.not_found_quarantine = 60s",
            "Set 60s at least",
        ];
        assert!(says.iter().all(|words| told.contains(words)), "{told}");
        assert_eq!(desk.state(posted[0]), State::Posting, "nothing was changed");
    }
    let later = take(&mut desk, 61, longer).unwrap();
    assert_eq!(desk.state(posted[0]), State::InDoubt);
    // Whoever waits longest of all that were here decides, also for those that waited no less than the first.
    desk.act(62, |c, policy| leave(c, later, policy)).unwrap();
    let told = take(&mut desk, 63, same).unwrap_err().to_string();
    assert!(told.contains("= 90s"), "{told}");
    // Beside one at work, what was before it does not count.
    for run in [(); 2].map(|()| take(&mut desk, 63, longer).unwrap()) {
        desk.act(63, |c, policy| leave(c, run, policy)).unwrap();
    }
    // Once nothing is in doubt any more, nobody waits for it.
    let last = take(&mut desk, 64, longer).unwrap();
    for seq in posted {
        desk.tell(65, last, seq, accepted()).unwrap();
    }
    desk.act(66, |c, policy| leave(c, last, policy)).unwrap();
    take(&mut desk, 67, shorter).unwrap();
}

#[test]
fn whoever_comes_beside_another_one_asks_about_what_nobody_asks_about_any_more() {
    let mut desk = Desk::with(2);
    let one = desk.acquire(0, "one");
    let seqs = desk.claim(0, one, 2);
    for seq in &seqs {
        desk.tell(1, one, *seq, Event::Lost).unwrap();
    }
    let own = |seq| Scan::of(&life::TABLE).at(seq);
    desk.c.set(&own(&seqs[0]), life::due_at, &NEVER).unwrap();
    let of = |desk: &Desk, seq| -> (Option<i64>, Option<Timestamp>) {
        let due_at = desk.c.value(&own(seq), life::due_at).unwrap();
        let from = desk.c.value(&own(seq), life::quarantine_from).unwrap();
        (due_at, from.flatten())
    };
    let others = of(&desk, &seqs[1]);
    desk.acquire(5, "two");
    let (due_at, from) = of(&desk, &seqs[0]);
    assert!(due_at.is_some_and(|at| at < NEVER), "{due_at:?}");
    assert_eq!(from, Some(at(1)), "its quarantine goes on");
    assert_eq!(
        of(&desk, &seqs[1]),
        others,
        "what is asked about is another one's"
    );
}

#[test]
fn those_who_run_a_batch_are_shown() {
    let mut desk = Desk::with(5);
    assert!(!is_any_at_work(&*desk.c).unwrap());
    let token = desk.acquire(0, "one");
    desk.claim(0, token, 3);
    desk.acquire(8, "two");
    let shown = runners(&*desk.c, token.batch_id).unwrap();
    let told: Vec<_> = shown
        .iter()
        .map(|shown| {
            (
                shown.runner.name.as_str(),
                shown.under_way,
                shown.is_expired,
            )
        })
        .collect();
    assert_eq!(told, [("one", 3, false), ("two", 0, false)]);
    desk.set_clock(15);
    let shown = runners(&*desk.c, token.batch_id).unwrap();
    assert!(shown[0].is_expired && !shown[1].is_expired);
    assert!(is_any_at_work(&*desk.c).unwrap());
    desk.set_clock(19);
    assert!(!is_any_at_work(&*desk.c).unwrap());
}

/// Each changes what every run of the batch goes by.
type Change = fn(&WriteSession, &BatchName, RunTerms, &Policy) -> Result<(), Error>;

#[test]
fn what_all_runs_go_by_is_not_changed_while_another_one_is_at_work() {
    let changes: [(&str, Change); 4] = [
        ("another dialect", |c, batch, terms, policy| {
            let mut terms = terms;
            (terms.home.reading, terms.home.accepts_reading) = ("other".into(), true);
            acquire(c, batch, &terms, policy).map(drop)
        }),
        ("another account", |c, batch, terms, _| {
            let mut home = terms.home;
            home.account = "other".into();
            let order = Redirection {
                home,
                gateway: false,
                account: true,
                reason: "sold".into(),
            };
            redirect(c, batch, &order, terms.now).map(drop)
        }),
        ("another form of the requests", |c, batch, terms, policy| {
            let mut terms = terms;
            terms.home.wire = "other".into();
            acquire(c, batch, &terms, policy).map(drop)
        }),
        ("another address", |c, batch, terms, _| {
            let order = GatewayMoved {
                from: "gateway".into(),
                to: "elsewhere".into(),
                witness: None,
                profile: "default".into(),
                reason: "it moved".into(),
            };
            move_gateway(c, batch, &order, terms.now)
        }),
    ];
    for (what, change) in changes {
        let mut desk = Desk::with(3);
        let batch = desk.batch.clone();
        let old = desk.acquire(0, "old");
        // Its lease is over at 10; for as long again it may be heard of.
        for secs in [1, 9, 11, 19] {
            let terms = desk.terms(secs, "new");
            let told = desk.act(secs, |c, policy| change(c, &batch, terms, policy));
            assert!(
                matches!(&told, Err(Error::Held { holder }) if holder.contains("the run old on")),
                "{what} at {secs}: {told:?}"
            );
            desk.act(secs, |c, _| assert_current(c, old)).unwrap();
        }
        // As it is, others may join.
        desk.acquire(19, "like it");
        let terms = desk.terms(45, "new");
        desk.act(45, |c, policy| change(c, &batch, terms, policy))
            .unwrap();
        let over = desk.act(45, |c, _| assert_current(c, old));
        assert!(over.is_err(), "{what}: it would go on as before");
    }
}

/// Together they would send twice what the gateway allows.
#[test]
fn a_run_that_asks_within_the_limit_of_posts_and_one_that_does_not_are_not_at_work_together() {
    let mut desk = Desk::with(4);
    let batch = desk.batch.clone();
    let mut first = desk.terms(0, "first");
    first.runner.query_rate = 10;
    let taken = desk.act(0, |c, policy| acquire(c, &batch, &first, policy));
    assert!(taken.is_ok(), "{taken:?}");
    let terms = desk.terms(1, "second");
    let other = terms.clone();
    let refused = desk.act(1, |c, policy| acquire(c, &batch, &other, policy));
    assert!(
        matches!(
            &refused,
            Err(Error::OtherSharing {
                is_shared_there: false,
                ..
            })
        ),
        "{refused:?}"
    );
    // The first one is not heard from any more.
    let later = RunTerms {
        now: at(60),
        shows: Some(at(60)),
        ..terms
    };
    let taken = desk.act(60, |c, policy| acquire(c, &batch, &later, policy));
    assert!(taken.is_ok(), "{taken:?}");
}

/// It was passed over while it stood still, and goes on beside what it would not have been let in with.
#[test]
fn a_run_that_wakes_up_beside_one_of_another_sharing_ends() {
    let mut desk = Desk::with(4);
    let batch = desk.batch.clone();
    let mut first = desk.terms(0, "first");
    first.runner.query_rate = 10;
    let taken = desk.act(0, |c, policy| acquire(c, &batch, &first, policy));
    let token = taken.unwrap().token;
    let second = desk.terms(0, "second").runner;
    let beside = (token.batch_id, Epoch::new(token.epoch.get() + 1));
    let begin_at =
        |secs, desk: &mut Desk| desk.act(secs, |c, policy| begin(c, beside, &second, policy));
    assert!(matches!(
        begin_at(19, &mut desk),
        Err(Error::OtherSharing { .. })
    ));
    begin_at(21, &mut desk).unwrap();
    let woken = desk.act(22, |c, _| renew(c, token));
    assert!(
        matches!(
            &woken,
            Err(Error::OtherSharing {
                is_shared_there: true,
                ..
            })
        ),
        "{woken:?}"
    );
}
