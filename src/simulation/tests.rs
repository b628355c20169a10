//! Seeds by the thousand.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use super::Outcome;
use crate::domain::PayerTransactionId;
use crate::seeded_bugs::SeededBug;

/// The seeds of every `cargo test`.
const SEEDS: u64 = 6_000;
/// The seeds within which every planted mistake must be found.
const CANARY_SEEDS: u64 = 6_000;
/// Seeds that are run twice.
const TWICE: u64 = 200;
/// Progress is told after so many.
const TELL_EVERY: u64 = 10_000;
/// Failing seeds that are told, at most.
const FAILURES_MAX: usize = 5;

/// A seed takes some ten milliseconds; one that takes longer than this never ends.
const SEED_MAX: Duration = Duration::from_secs(120);

/// Four runs at once, each a future of many layers, take more of a debug build than a thread has.
const STACK: usize = 16 * 1024 * 1024;

/// The seed that each thread is at, and since when.
static UNDER_WAY: LazyLock<Mutex<HashMap<ThreadId, (u64, Instant)>>> = LazyLock::new(|| {
    std::thread::spawn(end_what_hangs);
    Mutex::default()
});

/// A seed that hangs cannot be interrupted: it is named, and the whole process ends.
fn end_what_hangs() {
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let under_way = UNDER_WAY.lock().expect("nobody panics with it");
        if let Some((seed, _)) = under_way.values().find(|(_, at)| at.elapsed() > SEED_MAX) {
            eprintln!("seed {seed} has not ended within {} s", SEED_MAX.as_secs());
            std::process::abort();
        }
    }
}

/// Simulates one seed, which must end.
fn simulate(seed: u64, traced: bool) -> Outcome {
    let me = std::thread::current().id();
    let note = |at: Option<(u64, Instant)>| {
        let mut under_way = UNDER_WAY.lock().expect("nobody panics with it");
        match at {
            Some(at) => under_way.insert(me, at),
            None => under_way.remove(&me),
        };
    };
    note(Some((seed, Instant::now())));
    let outcome = super::simulate(seed, traced);
    note(None);
    outcome
}

/// Works on a thread whose stack is large enough for a seed.
fn with_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK);
        let worked = builder.spawn_scoped(scope, work);
        let worked = worked.expect("a thread starts").join();
        worked.unwrap_or_else(|cause| std::panic::resume_unwind(cause))
    })
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Works on numbers from `first` on, on every core, until so many found something.
fn search<T: Send>(
    first: u64,
    count: u64,
    most: usize,
    work: impl Fn(u64) -> Option<T> + Sync,
) -> Vec<(u64, T)> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, enough) = (AtomicU64::new(first), AtomicBool::new(false));
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let builder = std::thread::Builder::new().stack_size(STACK);
            let worked = builder.spawn_scoped(scope, || {
                while !enough.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= first + count {
                        break;
                    }
                    if let Some(what) = work(number) {
                        let mut found = found.lock().expect("nobody panics with it");
                        found.push((number, what));
                        enough.store(found.len() >= most, Ordering::Relaxed);
                    }
                }
            });
            worked.expect("a thread starts");
        }
    });
    let mut found = found.into_inner().expect("nobody panics with it");
    found.sort_by_key(|(number, _)| *number);
    found
}

/// What a person needs of a seed that failed: what is wrong, what happened, and how to see it alone.
fn told(seed: u64, violations: &[String]) -> String {
    let mut text = format!(
        "seed {seed}:\n  {}\n\nSIMULATION_SEED={seed} cargo test --lib simulation::tests::replay -- --exact --nocapture\n",
        violations.join("\n  ")
    );
    for line in with_stack(|| simulate(seed, true)).trace {
        let _ = writeln!(text, "{line}");
    }
    text
}

fn assert_sound(first: u64, count: u64) {
    let (started, done, slowest) = (Instant::now(), AtomicU64::new(0), AtomicU64::new(0));
    let failures = search(first, count, FAILURES_MAX, |seed| {
        let outcome = simulate(seed, false);
        slowest.fetch_max(outcome.healing_ms, Ordering::Relaxed);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(TELL_EVERY) {
            let speed = done as f64 / started.elapsed().as_secs_f64();
            println!("{done} seeds, {speed:.0} seeds/s");
        }
        (!outcome.violations.is_empty()).then_some(outcome.violations)
    });
    println!(
        "{} seeds in {:.1} s; the slowest batch took {} s of its own time to finish once the gateway was healthy",
        done.into_inner(),
        started.elapsed().as_secs_f64(),
        slowest.into_inner() / 1000
    );
    if let Some((seed, violations)) = failures.first() {
        let others: Vec<_> = failures.iter().map(|(seed, _)| seed).collect();
        panic!("seeds that failed: {others:?}\n{}", told(*seed, violations));
    }
}

#[test]
fn no_seed_moves_money_twice_or_loses_a_row() {
    assert_sound(0, SEEDS);
}

/// Seeds beyond those of every test run, which failed once.
const FAILED_ONCE: [u64; 11] = [
    86_569, 199_148, 228_108, 235_468, 247_388, 283_328, 333_932, 343_478, 367_503, 448_591,
    470_752,
];

#[test]
fn no_seed_fails_that_failed_once() {
    for seed in FAILED_ONCE {
        let violations = with_stack(|| simulate(seed, false)).violations;
        assert!(violations.is_empty(), "{}", told(seed, &violations));
    }
}

/// `SIMULATION_SEEDS=2000000 cargo test --lib simulation::tests::a_night -- --exact --ignored --nocapture`, from
/// `SIMULATION_FROM` on.
#[test]
#[ignore = "takes a night"]
fn a_night() {
    assert_sound(
        number("SIMULATION_FROM").unwrap_or(SEEDS),
        number("SIMULATION_SEEDS").unwrap_or(2_000_000),
    );
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let differing = search(0, TWICE, FAILURES_MAX, |seed| {
        let (first, second) = (simulate(seed, true), simulate(seed, true));
        let at = first
            .trace
            .iter()
            .zip(&second.trace)
            .position(|(a, b)| a != b);
        let at = at.or((first.trace.len() != second.trace.len()).then_some(0))?;
        Some((first.trace[at].clone(), second.trace[at].clone()))
    });
    assert!(differing.is_empty(), "{differing:#?}");
}

/// `SIMULATION_SEED=17 cargo test --lib simulation::tests::replay -- --exact --nocapture` shows what happened;
/// `SIMULATION_CANARY` makes a planted mistake.
#[test]
fn replay() {
    let Some(seed) = number("SIMULATION_SEED") else {
        return;
    };
    let canary = std::env::var("SIMULATION_CANARY").ok();
    let canary = SeededBug::ALL
        .into_iter()
        .find(|known| canary.as_ref().is_some_and(|names| is_named(*known, names)));
    let outcome = with_stack(|| {
        let _awake = canary.map(SeededBug::wake);
        simulate(seed, true)
    });
    for line in &outcome.trace {
        println!("{line}");
    }
    let violations = outcome.violations;
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// A violation as a cell of a table: identifiers say nothing, and what stands in the journal is long.
fn shortened(violation: &str) -> String {
    let line = violation.lines().next().unwrap_or_default();
    let (head, rest) = match line.split_once(" is Life {") {
        Some((head, _)) => (head, " is not what its evidence adds up to"),
        None => (line.split(": Tally {").next().unwrap_or(line), ""),
    };
    let words = head.split(' ').map(|word| {
        let bare = word.strip_suffix(',').unwrap_or(word);
        match PayerTransactionId::parse(bare) {
            Some(_) => word.replace(bare, "a payment"),
            None => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ") + rest
}

/// Whether a planted mistake is named by `SIMULATION_CANARY`, which may name several.
fn is_named(canary: SeededBug, names: &str) -> bool {
    names.split(',').any(|name| name == format!("{canary:?}"))
}

/// The table of planted mistakes, with the seed that found each of them last.
const TABLE: &str = include_str!("../../docs/reliability.md");

/// Returns the seed that found a planted mistake last. It is tried first: the search from the beginning takes most of the time.
fn known_seed(canary: SeededBug) -> Option<u64> {
    let begin = format!("| `{canary:?}` | ");
    let row = TABLE.lines().find_map(|line| line.strip_prefix(&begin))?;
    let (number, _) = row.split_once(' ')?;
    number.replace(',', "").parse::<u64>().ok()?.checked_sub(1)
}

/// `SIMULATION_CANARY` looks for those alone, from the first seed on, `SIMULATION_SEEDS` so far.
#[test]
fn every_planted_mistake_is_found() {
    let names = std::env::var("SIMULATION_CANARY").ok();
    let wanted = |canary| names.as_ref().is_none_or(|names| is_named(canary, names));
    let found = search(0, SeededBug::ALL.len() as u64, usize::MAX, |place| {
        let canary = SeededBug::ALL[usize::try_from(place).ok()?];
        if !wanted(canary) {
            return None;
        }
        let _awake = canary.wake();
        let known = known_seed(canary).filter(|_| names.is_none());
        let seeds = 0..number("SIMULATION_SEEDS").unwrap_or(CANARY_SEEDS);
        known.into_iter().chain(seeds).find_map(|seed| {
            let violation = simulate(seed, false).violations.into_iter().next()?;
            Some((seed, violation))
        })
    });
    let mut moved = Vec::new();
    for (place, (seed, violation)) in &found {
        let canary = SeededBug::ALL[usize::try_from(*place).expect("it was one")];
        let row = format!("| `{canary:?}` | {} | {} |", seed + 1, shortened(violation));
        println!("{row}");
        if known_seed(canary) != Some(*seed) {
            moved.push(row);
        }
    }
    let places: Vec<_> = found.iter().map(|(place, _)| *place).collect();
    let survivors: Vec<_> = (0..)
        .zip(SeededBug::ALL)
        .filter(|(place, canary)| !places.contains(place) && wanted(*canary))
        .collect();
    assert!(
        survivors.is_empty(),
        "mistakes that the simulation does not find: {survivors:?}"
    );
    // A search from the first seed on takes so long that it must not come back unseen.
    assert!(
        moved.is_empty() || names.is_some(),
        "docs/reliability.md names other seeds than those that find these mistakes; its rows are now:\n{}",
        moved.join("\n")
    );
}
