//! The minutes in which a service takes no payments.

use std::sync::Arc;

use crate::domain::{Timestamp, WireZone};
use crate::ledger::calendar::OpeningHours;

const MINUTE_MS: i64 = 60_000;

/// Minutes of every hour in which service B is closed: the first of them, and the one behind the last.
#[derive(Clone, Copy, Debug)]
pub(in crate::simulation) struct Closed {
    pub(in crate::simulation) from: i64,
    pub(in crate::simulation) until: i64,
}

impl Closed {
    /// Said from the clock alone, and not as the program says it.
    pub(in crate::simulation) fn at(self, now: Timestamp) -> bool {
        let minute = now.as_millis().div_euclid(MINUTE_MS).rem_euclid(60);
        self.from <= minute && minute < self.until
    }

    pub(in crate::simulation) fn hours(self) -> OpeningHours {
        let spans = (0..24).flat_map(|hour| {
            let morning = format!("Mon-Sun {hour:02}:00-{hour:02}:{:02}", self.from);
            let end = match hour {
                23 => "24:00".to_owned(),
                _ => format!("{:02}:00", hour + 1),
            };
            [
                morning,
                format!("Mon-Sun {hour:02}:{:02}-{end}", self.until),
            ]
        });
        let spans: Vec<String> = spans.collect();
        OpeningHours::parse(&spans.join(","), WireZone::utc(), Arc::default())
            .expect("they are hours")
    }
}
