//! Many worlds at once: most of a run's time is waiting.

use std::sync::Mutex;
use std::time::Instant;

/// Worlds at a time. Each is idle for most of its life.
const LANES: usize = 8;

/// Carries out jobs, a few at a time, and returns what they came to. A job that fails is a test that fails.
pub fn all<J: Send, T: Send>(
    jobs: impl IntoIterator<Item = J>,
    work: impl Fn(J) -> T + Sync,
) -> Vec<T> {
    let waiting = Mutex::new(jobs.into_iter().collect::<Vec<_>>().into_iter());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap().next();
                    let Some(job) = next else { break };
                    let result = work(job);
                    done.lock().unwrap().push(result);
                }
            });
        }
    });
    done.into_inner().unwrap()
}

/// How many rounds a test goes through: `usual`, or what `TORTURE_ROUNDS` says.
pub fn rounds(usual: usize) -> usize {
    match std::env::var("TORTURE_ROUNDS") {
        Ok(text) => text.parse().expect("TORTURE_ROUNDS is a number"),
        Err(_) => usual,
    }
}

/// Whether the tests run for longer than a change waits for.
pub fn long() -> bool {
    std::env::var_os("TORTURE_ROUNDS").is_some()
}

/// Splits rounds into worlds of `most` rounds at most, each with a seed of its own.
pub fn worlds(rounds: usize, most: usize, seed: u64) -> Vec<(u64, usize)> {
    (0..rounds.div_ceil(most))
        .map(|index| {
            let count = most.min(rounds - index * most);
            (seed + index as u64, count)
        })
        .collect()
}

/// Prints what a test counted.
#[allow(clippy::print_stdout, reason = "shown by --nocapture")]
pub fn tell(test: &str, started: Instant, counted: &str) {
    let seconds = started.elapsed().as_secs_f64();
    println!("torture: {test}: {counted}, {seconds:.1} s");
}
