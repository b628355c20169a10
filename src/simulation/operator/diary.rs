//! A service with opening hours, and whether its batch gets dates.

use std::cell::RefCell;
use std::sync::Arc;

use fastrand::Rng;

use crate::domain::{ServiceCode, Timestamp};
use crate::ledger::calendar::{BatchDates, Calendar, Gate};
use crate::simulation::outside::closed::Closed;

/// One seed in so many plays it.
const EVERY: u64 = 4;
/// The calendar of a scene, with a generator of its own.
pub(in crate::simulation) struct Diary {
    pub(in crate::simulation) rng: RefCell<Rng>,
    pub(in crate::simulation) is_on: bool,
    pub(in crate::simulation) closed: Option<Closed>,
    pub(in crate::simulation) calendar: Arc<Calendar>,
    service: ServiceCode,
}

impl Diary {
    pub(in crate::simulation) fn of(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0xCA1E);
        let is_on = seed % EVERY == 3;
        let from = rng.i64(1..12);
        let closed = Closed {
            from,
            until: from + rng.i64(1..=6),
        };
        let closed = is_on.then_some(closed);
        let service = ServiceCode::parse("B").expect("a letter is a code");
        let hours = closed.map(|closed| (service.clone(), closed.hours()));
        Self {
            rng: RefCell::new(rng),
            is_on,
            closed,
            calendar: Arc::new(Calendar::new(hours.into_iter().collect())),
            service,
        }
    }
}

impl Diary {
    /// Judges whether a batch with these dates may leave through the service that is closed at times.
    pub(in crate::simulation) fn gate(&self, dates: BatchDates, now: Timestamp) -> Gate {
        self.calendar.gate(dates, &self.service, now)
    }

    /// Whether a run waits for its time; once all is well it does.
    pub(in crate::simulation) fn waits(&self, healthy: bool) -> bool {
        self.is_on && (healthy || self.rng.borrow_mut().bool())
    }
}
