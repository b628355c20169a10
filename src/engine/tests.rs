//! Runs whose rate the journal grants, in simulated time.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, ready};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::granted::GrantedPacer;
use super::*;
use crate::domain::{
    Amount, BatchName, Country, Currency, Instruction, Money, Msisdn, Originator,
    PayerTransactionId, Pulse, Rate, Reference, ResponseDetails, ServiceCode, Tally, Timestamp,
};
use crate::gateway::{Gateway, Inquiry, Outcome, Outgoing, Reply, Signal};
use crate::journal::simulated::{Disk, Process};
use crate::journal::weather::Path;
use crate::journal::{Home, Journal, LoadPlan, LoadRow, RunTerms, RunToken, Runner};
use crate::ledger::confirmation::{Answer, Bound, Confirmation};
use crate::ledger::slots::{Paced, SlotWait};
use crate::lifecycle::{Class, CodeMeaning, Event, Policy};

const WALL: i64 = 1_795_824_000_000;
const WINDOW: Duration = Duration::from_secs(1);

fn batch() -> BatchName {
    BatchName::parse("b").unwrap()
}

fn row(n: u64) -> Instruction {
    let msisdn = Msisdn::from_digits(&format!("2547{n:08}")).unwrap();
    Instruction {
        line: n + 1,
        reference: Some(Reference::parse(&format!("R{n}")).unwrap()),
        service: ServiceCode::parse("B2C").unwrap(),
        msisdn,
        account_number: msisdn.as_str().into(),
        money: Money {
            amount: Amount::from_minor(100).unwrap(),
            currency: Currency::from_code("KES").unwrap(),
        },
        country: Country::from_code("KE").unwrap(),
        narration: "".into(),
        customer_names: "".into(),
        invoice_number: "".into(),
        payment_mode: "".into(),
        hub_id: "".into(),
        extra: Vec::new(),
        document: None,
    }
}

fn load_plan() -> LoadPlan {
    LoadPlan {
        batch: batch(),
        originator: Originator::parse("acme").unwrap(),
        form: crate::domain::IdentifierForm::default(),
        source: "batch.csv".into(),
        layout: None,
        is_ours: false,
        now: Timestamp::from_millis(WALL),
        purpose: crate::ledger::Purpose::Gateway,
        amend: false,
        allow_equal_rows: false,
        repeats: None,
        skip_bad_rows: false,
        presume_posted: false,
        expect_count: None,
        expect_total: None,
        batch_ceilings: Default::default(),
        new_documents: false,
        destination: None,
        dates: crate::ledger::calendar::BatchDates::default(),
        approval: None,
        dry_run: false,
    }
}

fn home() -> Home {
    Home {
        gateway: "gateway".into(),
        wire: "wire".into(),
        account: "acme".into(),
        reading: "document".into(),
        profile: "default".to_owned(),
        accepts_reading: false,
    }
}

fn everything() -> Confirmation {
    Confirmation::of(Tally::default(), Bound::EVERYTHING, Answer::Flag)
}

fn policy() -> Arc<Policy> {
    Arc::new(Policy {
        first_query_after: Duration::from_millis(40),
        query_backoff_max: Duration::from_millis(80),
        not_found_quarantine: Duration::from_millis(200),
        post_backoff: Duration::from_millis(10),
        exposures_max: 50,
        ..Policy::default()
    })
}

/// A journal that several runs use at once, with the time of its own clock.
fn shared() -> Disk {
    let start = Instant::now();
    Disk::shared(&Arc::default(), move || {
        Timestamp::from_millis(WALL).after(start.elapsed())
    })
}

/// One process's way to it: verbs wait for up to so long.
fn open(disk: &Disk, longest: Duration) -> Journal {
    let mut chance = fastrand::Rng::with_seed(7);
    let most = u64::try_from(longest.as_millis()).unwrap();
    let latency = Box::new(move || Duration::from_millis(chance.u64(most / 2..=most)));
    crate::journal::simulated::set_clock(Timestamp::from_millis(WALL));
    let process = Process {
        fuse: None,
        latency,
        crash: CancellationToken::new(),
        watch: Box::new(|_| {}),
        path: Path {
            stands: Box::new(|| None),
            is_cut_off: Box::new(|| None),
            next: None,
            met: Box::new(|_| {}),
        },
    };
    Journal::simulated(disk.clone(), process)
}

async fn load(journal: &Journal, rows: u64) {
    let (sender, receiver) = channel();
    let mut block: Vec<_> = (1..=rows).map(|n| LoadRow::Valid(row(n))).collect();
    block.push(LoadRow::EndOfFile);
    sender.send(block).unwrap();
    drop(sender);
    journal.load(load_plan(), receiver).await.unwrap();
}

/// Pays what arrives, but for some whose first copy is lost.
#[derive(Default)]
struct Fake {
    loses: usize,
    arrivals: Mutex<Vec<Instant>>,
    copies: Mutex<BTreeMap<PayerTransactionId, u32>>,
    paid: Mutex<BTreeSet<PayerTransactionId>>,
}

impl Gateway for Fake {
    fn post(&self, payments: &[Outgoing]) -> impl Future<Output = Reply> + Send {
        let (mut signal, mut outcomes) = (Signal::Healthy, Vec::new());
        for payment in payments {
            self.arrivals.lock().unwrap().push(Instant::now());
            let id = payment.payment.id;
            let mut copies = self.copies.lock().unwrap();
            let known = copies.len();
            let copy = copies.entry(id).or_default();
            *copy += 1;
            let event = if *copy == 1 && known < self.loses {
                signal = Signal::Lost("reset".into());
                Event::Lost
            } else {
                self.paid.lock().unwrap().insert(id);
                Event::Reply(meaning(Class::Paid, 140))
            };
            outcomes.push(outcome(event));
        }
        ready(Reply { outcomes, signal })
    }

    fn query(&self, payments: &[Inquiry]) -> impl Future<Output = Reply> + Send {
        let paid = self.paid.lock().unwrap();
        let answered = payments.iter().map(|asked| {
            outcome(Event::Answer(match paid.contains(&asked.id) {
                true => meaning(Class::Paid, 140),
                false => meaning(Class::NotFound, 143),
            }))
        });
        ready(Reply {
            outcomes: answered.collect(),
            signal: Signal::Healthy,
        })
    }
}

fn meaning(class: Class, code: i32) -> CodeMeaning {
    CodeMeaning { class, code }
}

fn outcome(event: Event) -> Outcome {
    Outcome {
        event,
        said: ResponseDetails::default(),
    }
}

async fn run_of(journal: Journal, gateway: &Arc<Fake>, rate: u32) -> Summary {
    let rate = Rate::per_second(rate).unwrap();
    let plan = Plan {
        pacing: Pacing::of(&journal),
        journal,
        gateway: Arc::clone(gateway),
        batch: batch(),
        home: home(),
        confirmation: everything(),
        approval: None,
        policy: policy(),
        limits: Limits {
            rate,
            query_rate: rate,
            shared_rate: false,
            concurrency: 16,
            packets: 1,
            breaker_losses: 1_000,
            breaker_pause: Duration::from_millis(50),
            lane_retry_after: None,
            float_poll: None,
            max_wait: Duration::from_secs(60),
            no_wait: false,
            wait_for_window: false,
            callbacks: false,
        },
        calendar: Arc::default(),
        ceilings: None,
        request_timeout: Duration::from_secs(5),
        addresses: None,
        runner: Runner::default(),
        clock: Clock::started_at(Timestamp::from_millis(WALL)),
        pulse: Arc::new(Pulse::steady()),
    };
    assert_eq!(plan.pacing, Pacing::Granted);
    let (_callbacks, moved) = mpsc::channel(16);
    let run = Run {
        drain: CancellationToken::new(),
        progress: watch::channel(Progress::default()).0,
        callbacks: moved,
    };
    run::run(plan, run).await.unwrap()
}

/// Asserts that no window of a second holds more than the rate, and that the mean is within 1.5 % of it.
fn assert_paced(arrivals: &mut [Instant], rate: usize) {
    arrivals.sort_unstable();
    for (index, first) in arrivals.iter().enumerate() {
        let within = arrivals[index..]
            .iter()
            .take_while(|at| **at < *first + WINDOW);
        assert!(within.count() <= rate, "from the {index}. on");
    }
    let took = *arrivals.last().unwrap() - arrivals[0];
    // The first and the last one stand for one interval less.
    let least = (arrivals.len() - 1) * 1_000;
    assert!(
        took.as_millis() * 985 * (rate as u128) <= least as u128 * 1_000,
        "{} in {took:?}",
        arrivals.len()
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_posts_in_the_slots_that_it_is_granted() {
    let disk = shared();
    let journal = open(&disk, Duration::from_millis(4));
    load(&journal, 300).await;
    let gateway = Arc::new(Fake::default());
    let summary = run_of(journal, &gateway, 50).await;
    assert_eq!((summary.ending, summary.posted), (Ending::Finished, 300));
    assert_paced(&mut gateway.arrivals.lock().unwrap(), 50);
}

// The journal takes far longer to say that a repeat may leave than a slot waits.
#[tokio::test(start_paused = true)]
async fn what_is_posted_again_leaves_in_a_slot_although_the_journal_is_asked_before() {
    let disk = shared();
    let journal = open(&disk, Duration::from_millis(60));
    load(&journal, 6).await;
    let gateway = Arc::new(Fake {
        loses: 2,
        ..Fake::default()
    });
    let summary = run_of(journal, &gateway, 2).await;
    assert_eq!((summary.ending, summary.posted), (Ending::Finished, 8));
    assert_eq!(gateway.paid.lock().unwrap().len(), 6);
    let arrivals = gateway.arrivals.lock().unwrap();
    for pair in arrivals.windows(3) {
        assert!(pair[2] - pair[0] >= WINDOW);
    }
}

/// Sends as fast as it may until a time; returns when.
async fn sends(disk: Disk, token: RunToken, rate: u32, until: Instant) -> Vec<Instant> {
    let journal = open(&disk, Duration::from_millis(6));
    let clock = Clock::started_at(Timestamp::from_millis(WALL - i64::from(rate)));
    let rate = Rate::per_second(rate).unwrap().nonzero();
    let mut pacer = GrantedPacer::new(clock, (rate, rate), 1);
    let mut sent = Vec::new();
    while Instant::now() < until {
        let wait = match pacer.pass(Paced::Posts) {
            Ok(()) => {
                sent.push(Instant::now());
                continue;
            }
            Err(SlotWait::Slot(wait) | SlotWait::Grant(wait)) => wait,
        };
        if let Some(request) = pacer.request(Paced::Posts, 1_000) {
            let reads = move || clock.running();
            let granted = journal.slots(token, request, reads).await.unwrap();
            pacer.take(&granted);
            continue;
        }
        tokio::time::sleep(wait).await;
    }
    sent
}

#[tokio::test(start_paused = true)]
async fn runs_that_share_a_journal_keep_to_one_rate() {
    for count in [1, 2, 4, 8] {
        let disk = shared();
        let journal = open(&disk, Duration::ZERO);
        load(&journal, 1).await;
        let terms = RunTerms {
            home: home(),
            confirmation: everything(),
            approval: None,
            longest_wait: Duration::from_secs(600),
            first_query_after: Duration::from_secs(10),
            calendar: Arc::default(),
            limits: None,
            runner: Runner::default(),
            now: Timestamp::from_millis(WALL),
            shows: Some(Timestamp::from_millis(WALL)),
        };
        let acquired = journal.acquire(batch(), terms, policy()).await.unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        let runs: Vec<_> = (0..count)
            .map(|_| tokio::spawn(sends(disk.clone(), acquired.token, 100, until)))
            .collect();
        let mut sent = Vec::new();
        for run in runs {
            sent.extend(run.await.unwrap());
        }
        assert_paced(&mut sent, 100);
    }
}
