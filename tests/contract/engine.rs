//! Whole runs against a gateway that counts what it executes, and has no protection against duplicates.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use disburse::domain::{PayerTransactionId, Pulse, Rate, ResponseDetails, Timestamp};
use disburse::engine::{self, Clock, Ending, Limits, Pacing, Plan, Progress, Run, Summary};
use disburse::gateway::{Gateway, Inquiry, Outcome, Outgoing, Reply, Signal, StopReason};
use disburse::journal::{Error, Journal, Location, Runner, Transition};
use disburse::lifecycle::{Class, Event, Policy, State};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::fold::assert_evidence_adds_up;
use crate::support::*;

/// What the gateway does with one copy of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Acknowledge,
    Pay,
    /// Executed after the pause, and no reply.
    Swallow(Duration),
    /// Not executed, and no reply.
    Drop,
    Unreachable,
    NoFloat,
    Unauthorised,
    Panic,
}

type Script = dyn Fn(&Outgoing, u32) -> Act + Send + Sync;

#[derive(Default)]
struct Ledger {
    copies: BTreeMap<PayerTransactionId, u32>,
    executed: BTreeMap<PayerTransactionId, u32>,
    panics_on_query: u32,
    /// When payments were posted or asked about.
    arrivals: Vec<Instant>,
}

struct Fake {
    ledger: Arc<Mutex<Ledger>>,
    latency: Duration,
    script: Box<Script>,
}

impl Fake {
    fn new(script: impl Fn(&Outgoing, u32) -> Act + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            ledger: Arc::default(),
            latency: Duration::from_millis(2),
            script: Box::new(script),
        })
    }

    fn executed(&self) -> BTreeMap<PayerTransactionId, u32> {
        self.ledger.lock().unwrap().executed.clone()
    }

    fn copies(&self) -> u32 {
        self.ledger.lock().unwrap().copies.values().sum()
    }

    fn act(&self, payment: &Outgoing) -> Act {
        let mut ledger = self.ledger.lock().unwrap();
        ledger.arrivals.push(Instant::now());
        let copy = ledger.copies.entry(payment.payment.id).or_default();
        *copy += 1;
        let act = (self.script)(payment, *copy);
        if matches!(act, Act::Acknowledge | Act::Pay) {
            *ledger.executed.entry(payment.payment.id).or_default() += 1;
        }
        act
    }
}

fn outcome(event: Event) -> Outcome {
    Outcome {
        event,
        said: ResponseDetails::default(),
    }
}

impl Gateway for Fake {
    async fn post(&self, payments: &[Outgoing]) -> Reply {
        tokio::time::sleep(self.latency).await;
        let mut signal = Signal::Healthy;
        let mut outcomes = Vec::new();
        for payment in payments {
            let (event, said) = match self.act(payment) {
                Act::Acknowledge => (reply(Class::Acknowledged, 139), None),
                Act::Pay => (reply(Class::Paid, 140), None),
                Act::Swallow(pause) => {
                    let (ledger, id) = (Arc::clone(&self.ledger), payment.payment.id);
                    tokio::spawn(async move {
                        tokio::time::sleep(pause).await;
                        *ledger.lock().unwrap().executed.entry(id).or_default() += 1;
                    });
                    (Event::Lost, Some(Signal::Lost("timed out".into())))
                }
                Act::Drop => (Event::Lost, Some(Signal::Lost("reset".into()))),
                Act::Unreachable => (Event::Unsent, Some(Signal::Unreachable("refused".into()))),
                Act::NoFloat => (reply(Class::NoFloat, 230), None),
                Act::Unauthorised => {
                    let stop = StopReason::Credentials("132".into());
                    (Event::Unauthorised, Some(Signal::Stop(stop)))
                }
                Act::Panic => panic!("a bug in the client"),
            };
            outcomes.push(outcome(event));
            signal = said.unwrap_or(signal);
        }
        Reply { outcomes, signal }
    }

    fn query(&self, payments: &[Inquiry]) -> impl Future<Output = Reply> + Send {
        let mut ledger = self.ledger.lock().unwrap();
        let now = Instant::now();
        ledger.arrivals.extend(payments.iter().map(|_| now));
        let panics = ledger.panics_on_query > 0;
        ledger.panics_on_query = ledger.panics_on_query.saturating_sub(1);
        let outcomes = payments
            .iter()
            .map(|inquiry| {
                let known = ledger.executed.contains_key(&inquiry.id);
                outcome(if known {
                    answer(Class::Paid, 140)
                } else {
                    answer(Class::NotFound, 143)
                })
            })
            .collect();
        async move {
            assert!(!panics, "a bug in the client");
            Reply {
                outcomes,
                signal: Signal::Healthy,
            }
        }
    }
}

fn quick() -> Policy {
    Policy {
        first_query_after: Duration::from_millis(40),
        query_backoff_max: Duration::from_millis(80),
        callback_grace: Duration::from_millis(80),
        not_found_quarantine: Duration::from_millis(600),
        post_backoff: Duration::from_millis(10),
        exposures_max: 50,
        ..policy()
    }
}

fn limits() -> Limits {
    Limits {
        wait_for_window: false,
        rate: Rate::per_second(2000).unwrap(),
        query_rate: Rate::per_second(2000).unwrap(),
        shared_rate: false,
        concurrency: 16,
        packets: 1,
        breaker_losses: 1000,
        breaker_pause: Duration::from_millis(50),
        lane_retry_after: None,
        float_poll: None,
        max_wait: Duration::from_secs(20),
        no_wait: false,
        callbacks: false,
    }
}

/// A journal that was loaded just now, by the wall's clock.
async fn world(rows: u64) -> World {
    let world = World::with_policy(quick());
    world.load_new(plan(), crate::support::rows(1..=rows)).await;
    world
}

struct Started {
    drain: CancellationToken,
    callbacks: mpsc::Sender<Transition>,
    task: tokio::task::JoinHandle<Result<Summary, Error>>,
}

fn start(journal: Journal, gateway: &Arc<Fake>, limits: Limits) -> Started {
    start_at(Timestamp::now(), journal, gateway, limits)
}

fn start_at(wall: Timestamp, journal: Journal, gateway: &Arc<Fake>, limits: Limits) -> Started {
    start_with(Arc::new(Pulse::steady()), wall, journal, gateway, limits)
}

fn start_with(
    pulse: Arc<Pulse>,
    wall: Timestamp,
    journal: Journal,
    gateway: &Arc<Fake>,
    limits: Limits,
) -> Started {
    let plan = Plan {
        calendar: Arc::default(),
        journal,
        gateway: Arc::clone(gateway),
        batch: batch(),
        home: home(),
        confirmation: everything(),
        approval: None,
        policy: Arc::new(quick()),
        pacing: Pacing::Local,
        limits,
        ceilings: None,
        request_timeout: Duration::from_secs(5),
        addresses: None,
        clock: Clock::started_at(wall),
        runner: Runner::default(),
        pulse,
    };
    let drain = CancellationToken::new();
    let (callbacks, moved) = mpsc::channel(16);
    let run = Run {
        drain: drain.clone(),
        progress: watch::channel(Progress::default()).0,
        callbacks: moved,
    };
    Started {
        drain,
        callbacks,
        task: tokio::spawn(engine::run(plan, run)),
    }
}

async fn ended(started: Started) -> Result<Summary, Error> {
    drop(started.callbacks);
    let outcome = tokio::time::timeout(Duration::from_secs(30), started.task).await;
    outcome.expect("a run that does not end").unwrap()
}

fn assert_executed_once(gateway: &Fake, world: &World) {
    let executed = gateway.executed();
    for (id, times) in &executed {
        assert_eq!(*times, 1, "{id} was executed {times} times");
    }
    for record in world.payments() {
        let paid = record.life.state == State::Paid;
        assert_eq!(executed.contains_key(&record.payment.id), paid);
    }
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &quick());
}

#[tokio::test]
async fn a_healthy_gateway_executes_every_payment_once() {
    let world = world(300).await;
    let gateway = Fake::new(|_, _| Act::Acknowledge);
    let started = start(world.journal.clone(), &gateway, limits());
    let summary = ended(started).await.unwrap();
    assert_eq!(summary.ending, Ending::Finished);
    assert_eq!((summary.posted, gateway.copies()), (300, 300));
    assert_eq!(world.count(State::Paid), 300);
    assert_executed_once(&gateway, &world);
}

#[tokio::test]
async fn losses_of_every_kind_are_resolved_without_a_second_execution() {
    let world = world(120).await;
    let gateway = Fake::new(|payment, copy| match payment.payment.instruction.line % 6 {
        0 if copy == 1 => Act::Swallow(Duration::from_millis(50)),
        1 if copy == 1 => Act::Drop,
        2 if copy < 3 => Act::Unreachable,
        3 => Act::Pay,
        _ => Act::Acknowledge,
    });
    let started = start(world.journal.clone(), &gateway, limits());
    assert_eq!(ended(started).await.unwrap().ending, Ending::Finished);
    assert_eq!(world.count(State::Paid), 120);
    assert_executed_once(&gateway, &world);
}

#[tokio::test]
async fn a_request_that_panics_is_a_loss_and_the_run_goes_on() {
    let world = world(20).await;
    let gateway = Fake::new(|payment, copy| {
        if payment.payment.instruction.line % 5 == 0 && copy == 1 {
            Act::Panic
        } else {
            Act::Acknowledge
        }
    });
    gateway.ledger.lock().unwrap().panics_on_query = 2;
    let started = start(world.journal.clone(), &gateway, limits());
    assert_eq!(ended(started).await.unwrap().ending, Ending::Finished);
    assert_eq!(world.count(State::Paid), 20);
    assert_executed_once(&gateway, &world);
}

#[tokio::test]
async fn a_lane_without_float_holds_up_no_other() {
    let world = World::with_policy(quick());
    let lanes = ["DRY", "B2C"];
    let rows = (1..=60).map(|n| of_service(row(n), lanes[n as usize % 2]));
    world.load_new(plan(), rows.collect()).await;
    let gateway = Fake::new(|payment, _| {
        if payment.payment.instruction.service.as_str() == "DRY" {
            Act::NoFloat
        } else {
            Act::Acknowledge
        }
    });
    let started = start(world.journal.clone(), &gateway, limits());
    assert_eq!(ended(started).await.unwrap().ending, Ending::Held);
    let standing = world.standing();
    assert_eq!(standing.of(State::Paid).count, 30);
    assert_eq!(standing.of(State::Ready).count, 30);
    assert_eq!(standing.held[0].service.as_str(), "DRY");
    // No more than what was under way when the first 230 came.
    assert!(gateway.copies() <= 30 + 16, "{} copies", gateway.copies());
    assert_executed_once(&gateway, &world);
}

#[tokio::test]
async fn refused_credentials_stop_the_run_with_nothing_in_doubt() {
    let world = world(200).await;
    let gateway = Fake::new(|_, _| Act::Unauthorised);
    let started = start(world.journal.clone(), &gateway, limits());
    let summary = ended(started).await.unwrap();
    assert_eq!(summary.ending, Ending::Stopped("132".into()));
    assert_eq!(world.count(State::Ready), 200);
    assert!(gateway.copies() <= 16, "{} copies", gateway.copies());
    assert_executed_once(&gateway, &world);
}

#[tokio::test]
async fn the_rate_holds_over_a_restart_whatever_the_clock_shows() {
    let world = world(4).await;
    let shut = Fake::new(|_, _| Act::Unauthorised);
    ended(start(world.journal.clone(), &shut, limits()))
        .await
        .unwrap();
    let resumed = Instant::now();
    let later = Timestamp::now().after(Duration::from_secs(7_200));
    let open = Fake::new(|_, _| Act::Pay);
    let started = start_at(later, world.journal.clone(), &open, limits());
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert_eq!(open.copies(), 0, "after {:?}", resumed.elapsed());
    assert_eq!(ended(started).await.unwrap().ending, Ending::Finished);
    assert_executed_once(&open, &world);
}

#[tokio::test]
async fn a_drain_waits_for_what_is_under_way_and_leaves_the_rest_ready() {
    let world = world(200).await;
    let gateway = Arc::new(Fake {
        latency: Duration::from_millis(300),
        ..Arc::into_inner(Fake::new(|_, _| Act::Pay)).unwrap()
    });
    let started = start(world.journal.clone(), &gateway, limits());
    eventually("posting", || world.count(State::Posting) > 0).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    started.drain.cancel();
    assert_eq!(ended(started).await.unwrap().ending, Ending::Drained);
    let copies = u64::from(gateway.copies());
    assert!(copies > 0 && copies <= 32, "{copies}");
    assert_eq!(world.count(State::Paid), copies);
    assert_eq!(world.count(State::Ready), 200 - copies);
    assert_executed_once(&gateway, &world);
}

#[tokio::test]
async fn a_fault_of_the_journal_ends_the_run_and_nothing_more_is_posted() {
    let world = world(400).await;
    let gateway = Fake::new(|_, _| Act::Acknowledge);
    let slow = Limits {
        rate: Rate::per_second(100).unwrap(),
        ..limits()
    };
    let started = start(world.journal.clone(), &gateway, slow);
    eventually("posts", || gateway.copies() > 5).await;
    world.sql().execute_batch("drop table evidence").unwrap();
    let error = ended(started).await.unwrap_err();
    assert!(matches!(error, Error::Storage { .. }), "{error}");
    let copies = gateway.copies();
    assert!(copies < 200, "{copies}");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(gateway.copies(), copies);
    for times in gateway.executed().values() {
        assert_eq!(*times, 1);
    }
}

#[tokio::test]
async fn what_another_process_settles_ends_the_run_without_a_word_to_it() {
    let world = world(5).await;
    let gateway = Fake::new(|_, _| Act::Acknowledge);
    let waiting = Limits {
        callbacks: true,
        ..limits()
    };
    let listener = Journal::open(&Location::from(&world.path)).unwrap();
    let policy = Policy {
        callback_grace: Duration::from_secs(60),
        ..quick()
    };
    let mut started = start(world.journal.clone(), &gateway, waiting);
    eventually("posted", || gateway.copies() == 5).await;
    for id in world.identifiers() {
        let note = note(id, Class::Paid, 140, 1);
        let policy = Arc::new(policy.clone());
        let now = disburse::lifecycle::StepContext {
            now: disburse::domain::Timestamp::now(),
            jitter: 0,
        };
        listener.callback(note, now, policy).await.unwrap();
    }
    // The channel of the listener in this process has closed meanwhile.
    let (closed, _) = mpsc::channel(1);
    started.callbacks = closed;
    assert_eq!(ended(started).await.unwrap().ending, Ending::Finished);
    assert_executed_once(&gateway, &world);
}

/// Processor time that this thread has used so far, in clock ticks (a hundredth of a second).
fn ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[tokio::test]
async fn a_run_sleeps_while_it_waits_for_a_journal_that_is_busy() {
    let world = world(5).await;
    let gateway = Fake::new(|_, _| Act::Drop);
    let started = start(world.journal.clone(), &gateway, limits());
    eventually("posted", || gateway.copies() >= 5).await;
    let other = world.sql();
    other.busy_timeout(Duration::from_secs(5)).unwrap();
    other.execute_batch("begin immediate").unwrap();
    // By now a look at the journal is overdue.
    tokio::time::sleep(Duration::from_millis(2200)).await;
    let before = ticks();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let used = ticks() - before;
    other.execute_batch("commit").unwrap();
    started.drain.cancel();
    ended(started).await.unwrap();
    assert!(used < 20, "{used} ticks in two seconds of waiting");
}

#[tokio::test]
async fn a_run_that_is_killed_again_and_again_executes_nothing_twice() {
    let world = world(250).await;
    let gateway = Arc::new(Fake {
        latency: Duration::from_millis(15),
        ..Arc::into_inner(Fake::new(|payment, copy| {
            // Late executions end well before the quarantine does.
            match (payment.payment.instruction.line + u64::from(copy)) % 4 {
                0 => Act::Swallow(Duration::from_millis(60)),
                1 => Act::Drop,
                2 => Act::Acknowledge,
                _ => Act::Pay,
            }
        }))
        .unwrap()
    });
    let began = Instant::now();
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..25 {
        // Each run is a process of its own to the journal; what it left under way goes on for a while.
        let journal = Journal::open(&Location::from(&world.path)).unwrap();
        let started = start(journal, &gateway, limits());
        tokio::time::sleep(Duration::from_millis(random.u64(5..160))).await;
        started.task.abort();
        let _ = started.task.await;
    }
    let journal = Journal::open(&Location::from(&world.path)).unwrap();
    let summary = ended(start(journal, &gateway, limits())).await.unwrap();
    assert_eq!(summary.ending, Ending::Finished);
    assert_eq!(world.count(State::Paid), 250);
    assert_executed_once(&gateway, &world);
    assert!(began.elapsed() < Duration::from_secs(40));
}

/// A run stands still in the middle of a block, for a minute or for ever, and another one takes over: what it had claimed
/// stays.
#[tokio::test]
async fn a_run_that_stood_still_posts_nothing_more_once_another_one_has_taken_over() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let world = world(60).await;
    let gateway = Fake::new(|_, _| Act::Pay);
    let machine = Arc::new(AtomicU64::new(5_000));
    let reading = Arc::clone(&machine);
    let longest = disburse::ledger::standstill::SILENCE_MAX;
    let pulse = Pulse::by(move || reading.load(Ordering::SeqCst), longest);
    let limits = Limits {
        // All of the block is claimed at once, and leaves within a second.
        rate: Rate::per_second(60).unwrap(),
        concurrency: 1,
        ..limits()
    };
    let journal = world.journal.clone();
    let started = start_with(Arc::new(pulse), Timestamp::now(), journal, &gateway, limits);
    while gateway.executed().len() < 10 {
        tokio::task::yield_now().await;
    }
    // Nothing else happens between the two, as nothing happens in a program that is stopped.
    let another = world.journal.acquire(
        batch(),
        disburse::journal::RunTerms {
            now: Timestamp::now(),
            ..terms(0)
        },
        Arc::clone(&world.policy),
    );
    machine.fetch_add(60_000, Ordering::SeqCst);
    let executed = gateway.executed().len();
    another.await.unwrap();
    let error = ended(started).await.unwrap_err();
    assert!(matches!(error, Error::Fenced), "{error}");
    // One was under way.
    assert!(gateway.executed().len() <= executed + 1, "{executed}");
}

#[tokio::test]
async fn a_run_that_stood_still_goes_on_when_nobody_has_taken_over() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let world = world(30).await;
    let gateway = Fake::new(|_, _| Act::Pay);
    let readings = AtomicU64::new(0);
    // It stands still every 40 readings.
    let clock = move || readings.fetch_add(1, Ordering::SeqCst) / 40 * 10_000;
    let pulse = Pulse::by(clock, disburse::ledger::standstill::SILENCE_MAX);
    let journal = world.journal.clone();
    let started = start_with(
        Arc::new(pulse),
        Timestamp::now(),
        journal,
        &gateway,
        limits(),
    );
    let summary = ended(started).await.unwrap();
    assert_eq!(summary.ending, Ending::Finished);
    assert_executed_once(&gateway, &world);
}

#[tokio::test]
async fn posts_and_questions_keep_to_one_limit_where_the_gateway_counts_both() {
    const RATE: usize = 40;
    let world = world(60).await;
    let gateway = Fake::new(|_, _| Act::Acknowledge);
    let limits = Limits {
        rate: Rate::per_second(40).unwrap(),
        shared_rate: true,
        ..limits()
    };
    let started = start(world.journal.clone(), &gateway, limits);
    let summary = ended(started).await.unwrap();
    assert_eq!(summary.ending, Ending::Finished);
    assert_executed_once(&gateway, &world);
    let mut arrivals = gateway.ledger.lock().unwrap().arrivals.clone();
    arrivals.sort_unstable();
    // As many as there are posts and answers; a limit for each of the two would let twice as many through.
    assert!(arrivals.len() >= 120, "{}", arrivals.len());
    let most = arrivals
        .iter()
        .map(|from| {
            let until = *from + Duration::from_secs(1);
            arrivals
                .iter()
                .filter(|at| **at >= *from && **at < until)
                .count()
        })
        .max();
    // A tenth more for how late a busy machine lets a request be seen.
    assert!(most <= Some(RATE + RATE / 10), "{most:?}");
}
