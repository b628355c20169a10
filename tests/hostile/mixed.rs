//! Everything at once, by seed, with and without kills.
//!
//! `HOSTILE_SEEDS=700..720` runs other seeds than the usual ones.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

use super::gateway::Gateway;
use super::office::{BATCH, Office, Setup};
use super::oracle::{check, payments};
use super::script::{Mixed, dice};
use super::tongue::OTHERS;

/// Runs until a batch has to be finished. On a machine that has other work, most of a run is waiting; what never ends needs more than any.
const ROUNDS: u32 = 100;
/// Scenarios that wait more than they work run side by side.
const SIDE_BY_SIDE: usize = 4;

fn seeds(usual: Range<u64>) -> Range<u64> {
    match std::env::var("HOSTILE_SEEDS") {
        Ok(text) => {
            let (first, end) = text.split_once("..").expect("FIRST..END");
            first.parse().unwrap()..end.parse().unwrap()
        }
        Err(_) => usual,
    }
}

/// Runs every seed; a failure names its own.
fn each(seeds: Range<u64>, scenario: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(seeds.start);
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= seeds.end {
                        return;
                    }
                    scenario(seed);
                }
            });
        }
    });
}

/// Chooses script and set-up by seed, so that the combinations vary as well.
fn variant(seed: u64) -> (Mixed, Setup) {
    let mut rng = dice(seed, "variant", "", 0);
    let mut some = |percent: u8| rng.u8(..100) < percent;
    let mut script = Mixed::new(seed);
    script.duplicate_check = some(30);
    let setup = Setup {
        rows: 36,
        services: 3,
        callbacks: some(75),
        confirmed: some(30),
        packets: if some(35) { 4 } else { 1 },
        lane_retry: some(40).then_some("300ms"),
        breaker_losses: if some(50) { 5 } else { 30 },
        rate: if some(50) { "50/s" } else { "2000/s" },
        concurrency: if some(30) { 3 } else { 32 },
        first_query: if some(30) { "0ms" } else { "60ms" },
        ..Setup::default()
    };
    script.stops = if some(30) { 4 } else { 0 };
    script.dry = if setup.lane_retry.is_some() { 4 } else { 0 };
    script.contradictions = if some(30) && setup.callbacks { 10 } else { 0 };
    (script, setup)
}

#[test]
fn every_misbehaviour_at_once_pays_nothing_twice() {
    each(seeds(0..10), |seed| {
        let (script, setup) = variant(seed);
        let name = format!("seed {seed}: {script:?} {setup:?}");
        let gateway = Gateway::start(script);
        let office = Office::open(&gateway, setup);
        let code = office.pay_to_the_end(ROUNDS);
        check(&name, &gateway, &office, Some(code));
    });
}

#[test]
fn killed_at_random_moments_every_row_still_ends_once() {
    let kills = AtomicU32::new(0);
    each(seeds(100..108), |seed| {
        let (script, setup) = variant(seed);
        let name = format!("seed {seed}: {script:?} {setup:?}");
        let gateway = Gateway::start(script);
        let office = Office::open(&gateway, setup);
        let mut rng = dice(seed, "kills", "", 0);
        for nth in 0..9 {
            let killed = match nth {
                // Where a journal is made and a file is loaded.
                0..2 => office.kill_after(rng.u64(2..120)),
                2..7 => office.kill_after_posts(&gateway, rng.u32(1..8), rng.u64(..25)),
                _ => office.kill_after(rng.u64(100..1500)),
            };
            kills.fetch_add(u32::from(killed), Ordering::SeqCst);
        }
        let code = office.pay_to_the_end(ROUNDS);
        check(&name, &gateway, &office, Some(code));
    });
    let kills = kills.into_inner();
    assert!(kills >= 40, "only {kills} runs were killed");
}

/// Pays as far as the gateway's words go: where none of them proves that a payment is not there, some stay for a person. Those
/// have not been executed, or were contradicted.
fn pay_as_far_as_words_go(gateway: &Gateway, office: &Office) -> i32 {
    if gateway.tongue.proves_absence() {
        return office.pay_to_the_end(ROUNDS);
    }
    let mut code = office.pay().code.unwrap();
    for _ in 0..2 {
        if matches!(code, 0 | 3) {
            return code;
        }
        code = office.pay().code.unwrap();
    }
    assert_eq!(
        office.call(&["report", BATCH, "--out", "report"]).code,
        Some(0)
    );
    let books = gateway.ledger.books();
    for (reference, row) in payments(office) {
        let deal = books.deals.get(&row.id).cloned().unwrap_or_default();
        let is_known = deal.executions > 0 && !deal.contradicted && deal.visible_at.is_some();
        assert!(
            !is_known || row.state == "paid",
            "{reference} is {}, and {deal:?}",
            row.state
        );
    }
    code
}

/// The same by the dialects that come along, one after another.
fn in_another(seed: u64) -> (Gateway, Office, String) {
    let dialect = OTHERS[usize::try_from(seed).unwrap() % OTHERS.len()];
    let (mut script, setup) = variant(seed);
    let setup = Setup {
        rows: 24,
        max_wait: if dialect == "beep" {
            "3s"
        } else {
            setup.max_wait
        },
        ..setup
    };
    // Whoever stays for a person would hold a lane that has run dry for ever.
    if dialect == "beep" {
        script.dry = 0;
    }
    let name = format!("{dialect}, seed {seed}: {script:?} {setup:?}");
    let gateway = Gateway::start_in(dialect, script);
    let office = Office::open(&gateway, setup);
    (gateway, office, name)
}

#[test]
fn every_misbehaviour_at_once_pays_nothing_twice_in_any_dialect() {
    each(seeds(201..210), |seed| {
        let (gateway, office, name) = in_another(seed);
        let code = pay_as_far_as_words_go(&gateway, &office);
        check(&name, &gateway, &office, Some(code));
    });
}

#[test]
fn killed_at_random_moments_every_row_still_ends_once_in_any_dialect() {
    let kills = AtomicU32::new(0);
    each(seeds(300..306), |seed| {
        let (gateway, office, name) = in_another(seed);
        let mut rng = dice(seed, "kills", "", 0);
        for nth in 0..5 {
            let killed = match nth {
                0 => office.kill_after(rng.u64(2..120)),
                _ => office.kill_after_posts(&gateway, rng.u32(1..6), rng.u64(..25)),
            };
            kills.fetch_add(u32::from(killed), Ordering::SeqCst);
        }
        let code = pay_as_far_as_words_go(&gateway, &office);
        check(&name, &gateway, &office, Some(code));
    });
    let kills = kills.into_inner();
    assert!(kills >= 15, "only {kills} runs were killed");
}
