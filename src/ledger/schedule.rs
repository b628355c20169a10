//! When a row may be posted that names a time.

use std::collections::BTreeMap;

use crate::domain::Timestamp;

/// Returns whether a row that is not to be posted before a time may leave.
#[must_use]
pub fn may_leave(not_before: Option<Timestamp>, now: Timestamp) -> bool {
    planted!(ledger::may_leave(not_before.is_none_or(|at| at <= now)))
}

/// Parts rows that may leave from those that wait, each of these with its time, the earliest first.
pub fn part<T>(
    rows: Vec<T>,
    not_before: impl Fn(&T) -> Option<Timestamp>,
    now: Timestamp,
) -> (Vec<T>, BTreeMap<Timestamp, Vec<T>>) {
    let mut waiting: BTreeMap<Timestamp, Vec<T>> = BTreeMap::new();
    let mut leaving = Vec::with_capacity(rows.len());
    for row in rows {
        match not_before(&row).filter(|at| !may_leave(Some(*at), now)) {
            Some(at) => waiting.entry(at).or_default().push(row),
            None => leaving.push(row),
        }
    }
    (leaving, waiting)
}

/// Rows that wait for their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduled {
    /// How many there are.
    pub count: u64,
    /// When the first of them may leave, and the last.
    pub span: Option<(Timestamp, Timestamp)>,
}

impl Scheduled {
    /// Counts one more row, if its time is later than `now`; returns whether it is.
    pub fn add(&mut self, not_before: Option<Timestamp>, now: Timestamp) -> bool {
        let Some(at) = not_before.filter(|at| !may_leave(Some(*at), now)) else {
            return false;
        };
        self.count += 1;
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_leaves_at_its_time_and_not_before() {
        let at = Timestamp::from_millis;
        for (not_before, now, expected) in [
            (None, 0, true),
            (Some(1_000), 999, false),
            (Some(1_000), 1_000, true),
            (Some(1_000), 1_001, true),
            (Some(i64::MAX), i64::MAX - 1, false),
            (Some(-1), 0, true),
        ] {
            assert_eq!(
                may_leave(not_before.map(at), at(now)),
                expected,
                "{not_before:?} {now}"
            );
        }
    }

    #[test]
    fn rows_that_wait_are_told_by_their_times() {
        let at = Timestamp::from_millis;
        let rows = vec![
            (1, None),
            (2, Some(9)),
            (3, Some(5)),
            (4, Some(7)),
            (5, Some(9)),
        ];
        let (leaving, waiting) = part(rows, |(_, time)| time.map(at), at(5));
        let number = |rows: &[(i32, Option<i64>)]| rows.iter().map(|row| row.0).collect::<Vec<_>>();
        assert_eq!(number(&leaving), [1, 3]);
        let waiting: Vec<_> = waiting
            .iter()
            .map(|(time, rows)| (time.as_millis(), number(rows)))
            .collect();
        assert_eq!(waiting, [(7, vec![4]), (9, vec![2, 5])]);
    }

    #[test]
    fn those_that_wait_are_counted_with_the_first_and_the_last_time() {
        let at = |millis| Some(Timestamp::from_millis(millis));
        let mut found = Scheduled::default();
        let waits = [None, at(5), at(9), at(7), at(4)].map(|time| found.add(time, at(5).unwrap()));
        assert_eq!(waits, [false, false, true, true, false]);
        assert_eq!((found.count, found.span), (2, at(7).zip(at(9))));
    }
}
