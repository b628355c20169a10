//! The pure fold of entries into counts and amounts, and their comparison with the control totals.

use std::collections::BTreeMap;

use super::difference::Difference;
use super::exceptions::{ExceptionGroup, Exceptions};
use super::lane::{Lane, Sum};
use super::timeline::Timeline;
use crate::domain::{Currency, Tally, Timestamp};
use crate::report::rows::entry::{BatchHeader, Entry, StateName};

/// At most this many lanes without a control total are told apart; the rest is counted together.
const STRAY_LANES_MAX: usize = 1_000;

/// The lane of what came after that. Parentheses cannot occur in a service code.
const OTHER_LANES: &str = "(other services)";

/// What a batch adds up to, in memory that does not grow with its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciliation {
    lanes: BTreeMap<Currency, BTreeMap<String, Lane>>,
    stray_lanes: usize,
    rejected_control: u64,
    rejected: Tally,
    withdrawn: Tally,
    without_amount: [u64; StateName::ALL.len()],
    repeated: u64,
    last_id: String,
    exceptions: Exceptions,
    timeline: Timeline,
    period: Option<(Timestamp, Timestamp)>,
}

impl Reconciliation {
    /// Starts from what was recorded when the batch was loaded.
    #[must_use]
    pub fn new(header: &BatchHeader) -> Self {
        let mut this = Self {
            rejected_control: header.rejected_lines,
            ..Self::default()
        };
        for (service, currency, tally) in header.control.iter() {
            let lanes = this.lanes.entry(currency).or_default();
            lanes
                .entry(service.as_str().to_owned())
                .or_default()
                .control = Sum {
                count: tally.count,
                minor: tally.amounts.minor(currency),
            };
        }
        this
    }

    /// Counts one entry. Every entry falls into exactly one bucket.
    pub fn add(&mut self, entry: &Entry<'_>) {
        if !entry.id.is_empty() && entry.id == self.last_id {
            self.repeated += 1;
        }
        self.last_id.clear();
        self.last_id.push_str(entry.id);

        match (entry.state, entry.money) {
            (StateName::Rejected, Some(money)) => self.rejected.add(money),
            (StateName::Withdrawn, Some(money)) => self.withdrawn.add(money),
            // Whatever stands in its place for amounts: it is no payment.
            (StateName::Skipped, _) => self.without_amount[StateName::Skipped.index()] += 1,
            (state @ (StateName::Unpriced | StateName::Cancelled), None) => {
                self.add_without_amount(entry, state);
            }
            (state, None) => self.without_amount[state.index()] += 1,
            (state, Some(money)) => {
                let minor = money.amount.minor();
                self.lane(entry.service_code, money.currency)
                    .add(state, minor);
            }
        }
        if entry.state != StateName::Paid {
            self.exceptions.add(entry);
        }
        if let Some(at) = entry.posted_at {
            self.timeline.posted(at);
            self.extend_period(at);
        }
        if let Some(at) = entry.settled_at {
            self.timeline.settled(at);
            self.extend_period(at);
        }
    }

    /// Counts a line that leaves its amount to a bill which never told it: it is in its lane, with nothing to pay.
    fn add_without_amount(&mut self, entry: &Entry<'_>, state: StateName) {
        match Currency::from_code(entry.currency_text) {
            Some(currency) => self.lane(entry.service_code, currency).add(state, 0),
            None => self.without_amount[state.index()] += 1,
        }
    }

    fn lane(&mut self, service: &str, currency: Currency) -> &mut Lane {
        let lanes = self.lanes.entry(currency).or_default();
        // Looked up by reference first: a name is copied once for each lane, not for each payment.
        let known = lanes.contains_key(service);
        let name = if known || self.stray_lanes < STRAY_LANES_MAX {
            service
        } else {
            OTHER_LANES
        };
        if !known {
            self.stray_lanes += usize::from(!lanes.contains_key(name));
            lanes.entry(name.to_owned()).or_default();
        }
        lanes.get_mut(name).expect("the lane was put there above")
    }

    fn extend_period(&mut self, at: Timestamp) {
        let (first, last) = self.period.unwrap_or((at, at));
        self.period = Some((first.min(at), last.max(at)));
    }

    /// Iterates over the lanes in the order of currency and service.
    pub fn lanes(&self) -> impl Iterator<Item = (&str, Currency, &Lane)> {
        self.lanes.iter().flat_map(|(currency, lanes)| {
            lanes
                .iter()
                .map(|(service, lane)| (service.as_str(), *currency, lane))
        })
    }

    /// Returns what is in one state, over all lanes.
    #[must_use]
    pub fn state(&self, state: StateName) -> Tally {
        let mut tally = Tally::default();
        for (_, currency, lane) in self.lanes() {
            let sum = lane.state(state);
            if sum.count > 0 {
                tally.add_many(sum.count, currency, sum.minor);
            }
        }
        match state {
            StateName::Rejected => tally.add_all(&self.rejected),
            StateName::Withdrawn => tally.add_all(&self.withdrawn),
            _ => {}
        }
        tally.count += self.without_amount[state.index()];
        tally
    }

    /// Returns how many entries there are, and all amounts that are known, those of rejected lines included.
    #[must_use]
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        for state in StateName::ALL {
            total.add_all(&self.state(state));
        }
        total
    }

    /// Returns the sum of the control totals; rejected lines are not among them.
    #[must_use]
    pub fn control(&self) -> Tally {
        let mut total = Tally::default();
        for (_, currency, lane) in self.lanes() {
            total.add_many(lane.control.count, currency, lane.control.minor);
        }
        total
    }

    /// Returns the lines that are no payments: those that may be mended, those that were withdrawn, and those that the layout skips.
    #[must_use]
    pub fn set_aside(&self) -> Tally {
        let mut tally = self.state(StateName::Rejected);
        tally.add_all(&self.state(StateName::Withdrawn));
        tally.count += self.state(StateName::Skipped).count;
        tally
    }

    /// Returns how many rejected lines were recorded when the batch was loaded.
    #[must_use]
    pub fn rejected_control(&self) -> u64 {
        self.rejected_control
    }

    /// Returns everything that does not add up; nothing when the report is right.
    #[must_use]
    pub fn differences(&self) -> Vec<Difference> {
        let mut differences: Vec<_> = self
            .lanes()
            .filter(|(_, _, lane)| lane.control != lane.found())
            .map(|(service, currency, lane)| Difference::Lane {
                service: service.to_owned(),
                currency,
                control: lane.control,
                found: lane.found(),
            })
            .collect();
        let (control, found) = (self.rejected_control, self.set_aside().count);
        if control != found {
            differences.push(Difference::Rejected { control, found });
        }
        let count = StateName::ALL
            .into_iter()
            .filter(|state| !state.is_set_aside())
            .map(|state| self.without_amount[state.index()])
            .sum();
        if count > 0 {
            differences.push(Difference::WithoutAmount { count });
        }
        if self.repeated > 0 {
            let count = self.repeated;
            differences.push(Difference::Repeated { count });
        }
        differences
    }

    /// Returns whether every loaded line is in exactly one bucket, in counts and amounts, per service and currency.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        self.differences().is_empty()
    }

    /// Returns how many payments the program has something left to do for.
    #[must_use]
    pub fn open(&self) -> Tally {
        let mut open = Tally::default();
        for state in StateName::ALL.into_iter().filter(|state| state.is_open()) {
            open.add_all(&self.state(state));
        }
        open
    }

    /// Returns whether no payment is open.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.open().count == 0
    }

    /// Iterates over what is not paid by state and status code, the state that needs a person most first.
    pub fn exceptions(&self) -> impl Iterator<Item = (StateName, Option<i64>, &ExceptionGroup)> {
        self.exceptions.iter()
    }

    /// Returns the run over time.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Returns the first and the last instant at which a payment was posted or reached its end.
    #[must_use]
    pub fn period(&self) -> Option<(Timestamp, Timestamp)> {
        self.period
    }
}
