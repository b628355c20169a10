//! What limits would keep from leaving, if a run began now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ceilings::{Ceilings, Limits};
use super::judge::{Row, Seen, Verdict, judge};
use super::names::recipient_of;
use super::period::Period;
use super::reason::Reason;
use super::told::Ceiling;
use crate::domain::{Currency, Day, Instruction, ServiceCode, Tally, Timestamp, Totals};

/// So many rows of each limit are named.
pub const LINES_SHOWN: usize = 5;

/// Rows that would wait for one limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Count and amounts.
    pub tally: Tally,
    /// When the first of them would be looked at again.
    pub until: Option<Timestamp>,
    /// The lines of the first.
    pub lines: Vec<u64>,
    /// The ceilings that they are above, each once.
    pub ceilings: Vec<Ceiling>,
}

/// How far a service's ceiling is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// The service.
    pub service: ServiceCode,
    /// What was paid before, in minor units.
    pub before: i128,
    /// The ceiling.
    pub ceiling: Ceiling,
}

/// Judges the rows of a batch one after the other, as a run would that lets nothing wait for what is under way.
#[derive(Clone, Debug)]
pub struct Ahead {
    limits: Limits,
    period: Period,
    now: Timestamp,
    /// Those whose past matters.
    asked: BTreeSet<String>,
    known: BTreeSet<String>,
    /// Of a day and of its month.
    by_recipient: BTreeMap<(String, Currency), (i128, i128)>,
    by_service: BTreeMap<(ServiceCode, Currency), (i128, i128)>,
    batch: Totals,
    waits: BTreeMap<Reason, Waits>,
    new: BTreeSet<String>,
    used: Vec<Used>,
}

impl Ahead {
    /// Begins for the rows of a batch that are to leave.
    #[must_use]
    pub fn new(limits: &Arc<Limits>, now: Timestamp) -> Self {
        let limits = Limits {
            exposure: Ceilings::new(),
            ..(**limits).clone()
        };
        Self {
            period: Period::of(now, &limits.zone),
            limits,
            now,
            asked: BTreeSet::new(),
            known: BTreeSet::new(),
            by_recipient: BTreeMap::new(),
            by_service: BTreeMap::new(),
            batch: Totals::default(),
            waits: BTreeMap::new(),
            new: BTreeSet::new(),
            used: Vec::new(),
        }
    }

    /// Returns whether what was paid before matters.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.limits.counts()
    }

    /// Notes that a row of this recipient will be judged.
    pub fn ask(&mut self, row: &Instruction) {
        self.asked.insert(recipient_of(row));
    }

    /// Takes in what was paid before, or may have been, by its last post; `None` when that is not known.
    pub fn paid(&mut self, row: &Instruction, posted_at: Option<Timestamp>, is_paid: bool) {
        let recipient = recipient_of(row);
        let is_asked = self.asked.contains(&recipient);
        if is_paid && is_asked {
            self.known.insert(recipient.clone());
        }
        let Some(day) = posted_at.map(|at| Day::of(at, &self.limits.zone)) else {
            return;
        };
        if !(self.period.month_from..=self.period.month_to).contains(&day) {
            return;
        }
        let is_today = day == self.period.day;
        let currency = row.money.currency;
        let minor = i128::from(row.money.amount.minor());
        let add = |sums: &mut (i128, i128)| {
            sums.0 += if is_today { minor } else { 0 };
            sums.1 += minor;
        };
        if is_asked {
            add(self.by_recipient.entry((recipient, currency)).or_default());
        }
        let service = (row.service.clone(), currency);
        add(self.by_service.entry(service).or_default());
    }

    /// Takes in what of the batch is paid already, or may be.
    pub fn of_batch(&mut self, totals: &Totals) {
        self.batch.add_all(totals);
    }

    /// Judges a row; the rows are told in their order.
    pub fn judge(&mut self, row: &Instruction, loaded_at: Timestamp) {
        let recipient = recipient_of(row);
        let currency = row.money.currency;
        let of_recipient = (recipient.clone(), currency);
        let of_service = (row.service.clone(), currency);
        self.note_use(&of_service);
        let (recipient_day, recipient_month) = self
            .by_recipient
            .get(&of_recipient)
            .copied()
            .unwrap_or_default();
        let (service_day, service_month) = self
            .by_service
            .get(&of_service)
            .copied()
            .unwrap_or_default();
        let is_known = self.known.contains(&recipient);
        if self.limits.new_recipient_wait.is_some() && !is_known {
            self.new.insert(recipient.clone());
        }
        let seen = Seen {
            recipient_day,
            recipient_month,
            service_day,
            service_month,
            batch: self.batch.minor(currency),
            exposure: 0,
            is_known,
        };
        let judged = Row {
            recipient: &recipient,
            phone: row.msisdn.as_str(),
            service: &row.service,
            money: row.money,
            loaded_at,
        };
        match judge(&self.limits, judged, &seen, &self.period, self.now) {
            Verdict::Leaves | Verdict::Full => {
                let minor = i128::from(row.money.amount.minor());
                for sums in [
                    self.by_recipient.entry(of_recipient).or_default(),
                    self.by_service.entry(of_service).or_default(),
                ] {
                    (sums.0, sums.1) = (sums.0 + minor, sums.1 + minor);
                }
                self.batch.add(row.money);
            }
            Verdict::Waits(reason, until) => {
                let waits = self.waits.entry(reason).or_default();
                waits.tally.add(row.money);
                waits.until = Some(waits.until.map_or(until, |at| at.min(until)));
                if waits.lines.len() < LINES_SHOWN {
                    waits.lines.push(row.line);
                }
                let ceiling = self.limits.ceiling(reason, &row.service, currency);
                let is_new = |of: &Ceiling| !waits.ceilings.contains(of);
                waits.ceilings.extend(ceiling.filter(is_new));
            }
        }
    }

    /// Notes how far the ceilings of a service are used before its first row.
    fn note_use(&mut self, of: &(ServiceCode, Currency)) {
        let (service, currency) = of;
        let is_noted =
            |used: &Used| used.service == *service && used.ceiling.money.currency == *currency;
        if self.used.iter().any(is_noted) {
            return;
        }
        let (on_day, in_month) = self.by_service.get(of).copied().unwrap_or_default();
        let told = [
            (Reason::ServiceDay, on_day),
            (Reason::ServiceMonth, in_month),
        ];
        for (reason, before) in told {
            let ceiling = self.limits.ceiling(reason, service, *currency);
            self.used.extend(ceiling.map(|ceiling| Used {
                service: service.clone(),
                before,
                ceiling,
            }));
        }
    }

    /// Returns what would wait, by the limit.
    #[must_use]
    pub fn waits(&self) -> &BTreeMap<Reason, Waits> {
        &self.waits
    }

    /// Returns how many recipients were never paid before, where that matters.
    #[must_use]
    pub fn new_recipients(&self) -> u64 {
        self.new.len() as u64
    }

    /// Returns how far the ceilings of the services of these rows were used before.
    #[must_use]
    pub fn used(&self) -> &[Used] {
        &self.used
    }
}
