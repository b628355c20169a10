//! How the run went over time, in a bounded number of buckets.

use std::collections::BTreeMap;

use crate::domain::Timestamp;

/// At most this many buckets are kept.
pub(in crate::report) const BUCKETS_MAX: i64 = 120;

// Each width divides the next, so that widening only ever merges whole buckets; all are times a person would choose.
const WIDTHS_MS: [i64; 17] = [
    100,
    200,
    1_000,
    2_000,
    10_000,
    30_000,
    60_000,
    300_000,
    600_000,
    1_800_000,
    3_600_000,
    10_800_000,
    21_600_000,
    43_200_000,
    86_400_000,
    604_800_000,
    2_419_200_000,
];

/// What happened within one bucket of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// Payments first posted.
    pub posted: u64,
    /// Payments brought to their end.
    pub settled: u64,
}

/// Posts and settlements per bucket of time. The buckets widen as the span of time grows; the order of arrival does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    width_ms: i64,
    // Keyed by the multiple of the width at which the bucket begins.
    buckets: BTreeMap<i64, Bucket>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            width_ms: WIDTHS_MS[0],
            buckets: BTreeMap::new(),
        }
    }
}

impl Timeline {
    /// Counts a first post.
    pub fn posted(&mut self, at: Timestamp) {
        self.bucket(at).posted += 1;
    }

    /// Counts a payment that reached its end.
    pub fn settled(&mut self, at: Timestamp) {
        self.bucket(at).settled += 1;
    }

    fn bucket(&mut self, at: Timestamp) -> &mut Bucket {
        let millis = at.as_millis();
        while !self.fits(millis.div_euclid(self.width_ms)) {
            self.widen();
        }
        let key = millis.div_euclid(self.width_ms);
        self.buckets.entry(key).or_default()
    }

    fn fits(&self, key: i64) -> bool {
        let (Some((first, _)), Some((last, _))) = (
            self.buckets.first_key_value(),
            self.buckets.last_key_value(),
        ) else {
            return true;
        };
        key.max(*last).saturating_sub(key.min(*first)) < BUCKETS_MAX
    }

    fn widen(&mut self) {
        let next = WIDTHS_MS.iter().find(|width| **width > self.width_ms);
        // Past the table the width doubles; 64 doublings span every instant there is.
        let wider = next.copied().unwrap_or(self.width_ms.saturating_mul(2));
        let mut merged = BTreeMap::<i64, Bucket>::new();
        for (key, bucket) in &self.buckets {
            let begins = key.saturating_mul(self.width_ms);
            let target = merged.entry(begins.div_euclid(wider)).or_default();
            target.posted += bucket.posted;
            target.settled += bucket.settled;
        }
        self.width_ms = wider;
        self.buckets = merged;
    }

    /// Returns the width of a bucket in milliseconds.
    #[must_use]
    pub fn width_ms(&self) -> i64 {
        self.width_ms
    }

    /// Iterates over the buckets in which something happened, with the instant each begins at.
    pub fn iter(&self) -> impl Iterator<Item = (Timestamp, Bucket)> + '_ {
        self.buckets.iter().map(|(key, bucket)| {
            let begins = key.saturating_mul(self.width_ms);
            (Timestamp::from_millis(begins), *bucket)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn timeline(instants: &[i64]) -> Timeline {
        let mut timeline = Timeline::default();
        for at in instants {
            timeline.posted(Timestamp::from_millis(*at));
        }
        timeline
    }

    #[test]
    fn the_width_follows_the_span() {
        for (span_ms, width_ms) in [
            (0, 100),
            (5_000, 100),
            (20_000, 200),
            (90_000, 1_000),
            (600_000, 10_000),
            (86_400_000, 1_800_000),
            (29 * 86_400_000, 21_600_000),
        ] {
            assert_eq!(timeline(&[0, span_ms]).width_ms(), width_ms, "{span_ms}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_the_order_does_not_matter(mut instants in prop::collection::vec(any::<i64>(), 0..50), days in prop::collection::vec(0_i64..9_000_000, 0..200)) {
            instants.extend(days);
            let forward = timeline(&instants);
            instants.reverse();
            prop_assert_eq!(&forward, &timeline(&instants));
            let sum: u64 = forward.iter().map(|(_, bucket)| bucket.posted).sum();
            prop_assert_eq!(sum, instants.len() as u64);
            prop_assert!(forward.buckets.len() as i64 <= BUCKETS_MAX);
        }
    }
}
