//! One limit over several runs: no second above it, and hardly any below.

use std::time::Duration;

use super::super::rows::Verdict;
use super::super::table;
use super::Section;
use super::works::Paced;

pub const NAME: &str = "postgres-rate";
/// The limit of all runs together, in payments for each second: two cores carry it for eight of them.
const RATE: usize = 400;
const SECONDS: usize = 40;
/// So much may the mean lie below the limit.
const LAG_MAX: f64 = 0.015;

/// Runs at once.
const RUNNERS: [usize; 4] = [1, 2, 4, 8];
/// How much longer a round trip takes by a wire between them and the server, in milliseconds: half of it in each direction.
const DELAYS: [u64; 4] = [0, 1, 5, 10];

fn cases() -> impl Iterator<Item = (usize, u64)> {
    let of_delay = |delay| RUNNERS.into_iter().map(move |runners| (runners, delay));
    DELAYS.into_iter().flat_map(of_delay)
}

fn name((runners, delay): (usize, u64)) -> String {
    match delay {
        0 => format!("{NAME}-{runners}"),
        delay => format!("{NAME}-{runners}-{delay}ms"),
    }
}

/// Returns the delay in each direction.
pub fn each_way(round_trip: u64) -> Duration {
    Duration::from_millis(round_trip) / 2
}

/// Returns the names of all rows.
pub fn names() -> impl Iterator<Item = String> {
    cases().map(name)
}

impl Section<'_> {
    pub fn rates(&mut self) {
        for (runners, delay) in cases() {
            let name = name((runners, delay));
            if !self.wanted.has(&name) {
                continue;
            }
            let payments = self.works.bench.sizes.rows.min(RATE * SECONDS);
            eprintln!("{name} ...");
            match self.works.rate(runners, (payments, RATE), each_way(delay)) {
                Ok(paced) => println!("{}", line(&name, paced)),
                Err(error) => {
                    self.complete = false;
                    println!("{name:<21} failed: {error}");
                }
            }
        }
    }
}

/// Says how the limit was kept: by the mean, and the fullest second of all.
fn line(name: &str, Paced { mean, busiest }: Paced) -> String {
    let limit = RATE as f64;
    let is_near = mean >= limit * (1.0 - LAG_MAX) && mean <= limit * (1.0 + LAG_MAX);
    let verdict = Verdict {
        ratio: Some(mean / limit),
        reach: Some(("1.5 %".to_owned(), is_near)),
        aim: Some((format!("{busiest} <= {RATE}"), busiest <= RATE)),
    };
    let ours = format!("{mean:.1} payments/s");
    table::row(name, &format!("limit: {RATE} payments/s"), &ours, &verdict)
}
