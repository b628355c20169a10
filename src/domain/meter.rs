//! How long things take, counted while they happen: by atomics, so that nothing waits for whoever reads them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of the buckets, in microseconds; what is longer is in a last one.
const BOUNDS_MICROS: [u64; 16] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000,
];

/// Durations, counted in buckets.
#[derive(Debug, Default)]
pub struct DurationMeter {
    buckets: [AtomicU64; BOUNDS_MICROS.len() + 1],
    sum_micros: AtomicU64,
}

/// What a meter has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durations {
    /// Upper bounds, of the last one none, and how many are in each and in none before it.
    pub buckets: Vec<(Option<Duration>, u64)>,
    /// How many there are.
    pub count: u64,
    /// All of them together.
    pub sum: Duration,
}

impl DurationMeter {
    /// Counts one.
    pub fn add(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_MICROS.partition_point(|bound| *bound < micros);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Returns what was counted so far.
    #[must_use]
    pub fn read(&self) -> Durations {
        let bounds = BOUNDS_MICROS.iter().copied().map(Duration::from_micros);
        let buckets: Vec<(Option<Duration>, u64)> = bounds
            .map(Some)
            .chain([None])
            .zip(&self.buckets)
            .map(|(bound, count)| (bound, count.load(Ordering::Relaxed)))
            .collect();
        Durations {
            // Of these very buckets: the sum may be of one more or less, and nobody adds it to anything.
            count: buckets.iter().map(|(_, count)| count).sum(),
            sum: Duration::from_micros(self.sum_micros.load(Ordering::Relaxed)),
            buckets,
        }
    }
}

/// What is done together, and how long that takes: requests with their payments, commits with their verbs.
#[derive(Debug, Default)]
pub struct WorkMeter {
    /// How long each took.
    pub durations: DurationMeter,
    pieces: AtomicU64,
}

impl WorkMeter {
    /// Counts one that did so many pieces of work.
    pub fn add(&self, took: Duration, pieces: usize) {
        self.durations.add(took);
        let pieces = u64::try_from(pieces).unwrap_or(u64::MAX);
        self.pieces.fetch_add(pieces, Ordering::Relaxed);
    }

    /// Returns how many pieces of work there were.
    #[must_use]
    pub fn pieces(&self) -> u64 {
        self.pieces.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_counted_in_the_first_bucket_that_it_fits_in() {
        for (micros, bound) in [
            (0, Some(500)),
            (500, Some(500)),
            (501, Some(1_000)),
            (1_000_000, Some(1_000_000)),
            (60_000_000, Some(60_000_000)),
            (60_000_001, None),
        ] {
            let meter = DurationMeter::default();
            meter.add(Duration::from_micros(micros));
            let read = meter.read();
            let full: Vec<Option<Duration>> = read
                .buckets
                .iter()
                .filter(|(_, count)| *count > 0)
                .map(|(bound, _)| *bound)
                .collect();
            assert_eq!(full, [bound.map(Duration::from_micros)], "{micros}");
            assert_eq!(read.count, 1);
            assert_eq!(read.sum, Duration::from_micros(micros));
        }
    }

    #[test]
    fn the_longest_duration_there_is_breaks_nothing() {
        let meter = WorkMeter::default();
        meter.add(Duration::MAX, usize::MAX);
        meter.add(Duration::from_millis(1), 0);
        assert_eq!(meter.durations.read().count, 2);
    }
}
