//! Seeds by the thousand.

use super::simulate;
use crate::canary::Canary;

fn seeds(first: u64, count: u64) -> Vec<String> {
    let mut failures = Vec::new();
    for seed in first..first + count {
        let outcome = simulate(seed, false);
        if !outcome.violations.is_empty() {
            failures.push(format!("seed {seed}: {}", outcome.violations.join("; ")));
        }
    }
    failures
}

#[test]
fn no_seed_moves_money_twice_or_loses_a_row() {
    let count = std::env::var("SIMULATION_SEEDS")
        .ok()
        .and_then(|n| n.parse().ok());
    let started = std::time::Instant::now();
    let failures = seeds(0, count.unwrap_or(200));
    println!("took {:?}", started.elapsed());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in 0..20 {
        let (first, second) = (simulate(seed, true), simulate(seed, true));
        assert_eq!(first.trace, second.trace, "seed {seed}");
    }
}

/// `SIMULATION_SEED=17 cargo test --lib replay -- --nocapture` shows what happened.
#[test]
fn replay() {
    let seed = std::env::var("SIMULATION_SEED")
        .ok()
        .and_then(|n| n.parse().ok());
    let Some(seed) = seed else { return };
    let outcome = simulate(seed, true);
    for line in &outcome.trace {
        println!("{line}");
    }
    assert!(
        outcome.violations.is_empty(),
        "{}",
        outcome.violations.join("\n")
    );
}

/// The seeds within which every planted mistake must be found.
const CANARY_SEEDS: u64 = 5_000;

#[test]
fn every_planted_mistake_is_found() {
    let mut survivors = Vec::new();
    let only = std::env::var("SIMULATION_CANARY").ok();
    for canary in Canary::ALL {
        if only
            .as_ref()
            .is_some_and(|only| *only != format!("{canary:?}"))
        {
            continue;
        }
        let _awake = canary.wake();
        let found = (0..CANARY_SEEDS).find_map(|seed| {
            let violation = simulate(seed, false).violations.into_iter().next()?;
            Some((seed, violation))
        });
        match found {
            Some((seed, violation)) => println!("| {canary:?} | {} | {violation} |", seed + 1),
            None => survivors.push(canary),
        }
    }
    assert_eq!(survivors, [], "mistakes that the simulation does not find");
}
