//! One limit over several runs: no second above it, and hardly any below.

use std::time::Duration;

use super::super::rows::Verdict;
use super::super::table;
use super::Section;
use super::works::Paced;

pub const NAME: &str = "postgres-rate";
/// The limit of all runs together, in payments for each second: two cores carry it for eight of them.
const RATE: usize = 400;
const SECONDS: usize = 15;
const ROUNDS: usize = 2;
/// So much may the mean lie below the limit.
const LAG_MAX: f64 = 0.015;

/// Runs at once, and the delay on each way to the server.
const CASES: [(usize, usize); 8] = [
    (1, 0),
    (2, 0),
    (4, 0),
    (8, 0),
    (1, 1),
    (4, 1),
    (1, 2),
    (4, 2),
];
pub const DELAYS: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(1),
    Duration::from_millis(5),
];

fn name(runners: usize, delay: usize) -> String {
    match delay {
        0 => format!("{NAME}-{runners}"),
        delay => format!("{NAME}-{runners}-{}ms", DELAYS[delay].as_millis()),
    }
}

/// Returns the names of all rows.
pub fn names() -> impl Iterator<Item = String> {
    CASES
        .into_iter()
        .map(|(runners, delay)| name(runners, delay))
}

impl Section<'_> {
    pub fn rates(&mut self) {
        for (runners, delay) in CASES {
            let name = name(runners, delay);
            if !self.wanted.has(&name) {
                continue;
            }
            let payments = self.works.bench.sizes.rows.min(RATE * SECONDS);
            let mut paced = Vec::new();
            for round in 1..=ROUNDS {
                eprintln!("{name}, {round} of {ROUNDS} ...");
                match self.works.rate(runners, (payments, RATE), DELAYS[delay]) {
                    Ok(one) => paced.push(one),
                    Err(error) => {
                        self.complete = false;
                        println!("{name:<21} failed: {error}");
                        break;
                    }
                }
            }
            if paced.len() == ROUNDS {
                println!("{}", line(&name, &paced));
            }
        }
    }
}

/// Says how the limit was kept: by the mean that is farthest from it, and the fullest second of all.
fn line(name: &str, paced: &[Paced]) -> String {
    let means = || paced.iter().map(|paced| paced.mean);
    let (least, most) = (
        means().fold(f64::INFINITY, f64::min),
        means().fold(0.0, f64::max),
    );
    let busiest = paced.iter().map(|paced| paced.busiest).max().unwrap_or(0);
    let limit = RATE as f64;
    let is_near = least >= limit * (1.0 - LAG_MAX) && most <= limit * (1.0 + LAG_MAX);
    let verdict = Verdict {
        ratio: Some(least / limit),
        reach: Some(("1.5 %".to_owned(), is_near)),
        aim: Some((format!("{busiest} <= {RATE}"), busiest <= RATE)),
    };
    let ours = format!("{least:.1} to {most:.1} payments/s");
    table::row(name, &format!("limit: {RATE} payments/s"), &ours, &verdict)
}
