//! What stands before the payments: the batch, its totals and their comparison with the control totals.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::domain::{Currency, Tally, Totals};
use crate::ledger::Purpose;
use crate::ledger::generations::PaidTwice;
use crate::report::fold::difference::Difference;
use crate::report::fold::lane::Sum;
use crate::report::fold::reconciliation::Reconciliation;
use crate::report::rows::entry::{BatchHeader, StateName};
use crate::report::words::text;

/// Rises when a member changes its meaning; new members do not raise it.
const FORMAT: u32 = 1;

type Decimals = BTreeMap<&'static str, String>;

#[derive(Serialize)]
pub(super) struct Head<'a> {
    format: u32,
    batch: &'a str,
    originator: &'a str,
    /// The sandbox stands in for the gateway; null where nobody knows yet.
    rehearsal: Option<bool>,
    gateway: &'a str,
    account: Option<&'a str>,
    created_at: String,
    loads: Vec<LoadHead<'a>>,
    evidence: Evidence<'a>,
    /// Why the journal may know less than what became of the payments.
    #[serde(skip_serializing_if = "Option::is_none")]
    may_have_missed: Option<&'a str>,
    finished: bool,
    adds_up: bool,
    count: u64,
    amounts: Decimals,
    states: States,
    held_lanes: Vec<&'a str>,
    /// The first of them; `paid_twice_count` is how many there are.
    paid_twice: Vec<Twice<'a>>,
    paid_twice_count: u64,
    control: Control,
    difference: Control,
    differences: Vec<String>,
    services: Vec<Service<'a>>,
    exceptions: Vec<Exception<'a>>,
    period: Option<Period>,
    timeline: Timeline,
    people: Vec<Person<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    statements: Vec<StatementHead<'a>>,
}

/// A statement that was held against the batch.
#[derive(Serialize)]
struct StatementHead<'a> {
    at: String,
    #[serde(flatten)]
    summary: &'a serde_json::Value,
    findings: &'a [serde_json::Value],
}

/// Who did what.
#[derive(Serialize)]
struct Person<'a> {
    at: String,
    act: &'a str,
    about: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    user: &'a str,
    host: &'a str,
    sudo_of: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'a str>,
}

#[derive(Serialize)]
struct LoadHead<'a> {
    source: &'a str,
    digest: &'a str,
    loaded_at: String,
}

/// Kept elsewhere, it shows later that nothing was cut off from the journal.
#[derive(Serialize)]
struct Evidence<'a> {
    rows: u64,
    head: &'a str,
}

#[derive(Serialize)]
struct Counted {
    count: u64,
    amounts: Decimals,
}

#[derive(Serialize)]
struct Control {
    count: i128,
    amounts: Decimals,
    rejected_lines: i128,
}

#[derive(Serialize)]
struct Service<'a> {
    service_code: &'a str,
    currency_code: &'static str,
    control: One,
    found: One,
    difference: One,
    states: BTreeMap<&'static str, One>,
}

#[derive(Serialize)]
struct One {
    count: i128,
    amount: String,
}

#[derive(Serialize)]
struct Exception<'a> {
    state: &'static str,
    status_code: Option<i64>,
    status_description: &'a str,
    count: u64,
    amounts: Decimals,
}

/// A row that was paid more than once.
#[derive(Serialize)]
struct Twice<'a> {
    line: u64,
    reference: Option<&'a str>,
    payer_transaction_ids: Vec<&'a str>,
    amount: String,
    currency_code: &'static str,
    surplus: usize,
    certain: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    batches: &'a [String],
}

impl<'a> Twice<'a> {
    fn of(row: &'a PaidTwice) -> Self {
        Self {
            line: row.line,
            reference: row.reference.as_ref().map(|reference| reference.as_str()),
            payer_transaction_ids: row.ids.iter().map(|id| id.as_str()).collect(),
            amount: row.money.to_string(),
            currency_code: row.money.currency.code(),
            surplus: row.surplus(),
            certain: row.certain,
            batches: &row.batches,
        }
    }
}

#[derive(Serialize)]
struct Period {
    from: String,
    to: String,
}

#[derive(Serialize)]
struct Timeline {
    bucket_ms: i64,
    buckets: Vec<Bucket>,
}

#[derive(Serialize)]
struct Bucket {
    begins_at: String,
    posted: u64,
    settled: u64,
}

/// Every state by name, in the order a payment may pass through them.
struct States(Vec<(&'static str, Counted)>);

impl Serialize for States {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, counted)| (name, counted)))
    }
}

impl From<Tally> for Counted {
    fn from(tally: Tally) -> Self {
        Self {
            count: tally.count,
            amounts: tally.amounts.decimals(),
        }
    }
}

impl One {
    fn new(count: i128, minor: i128, currency: Currency) -> Self {
        let amount = text::decimal(minor, currency);
        Self { count, amount }
    }

    fn of(sum: Sum, currency: Currency) -> Self {
        Self::new(i128::from(sum.count), sum.minor, currency)
    }
}

impl<'a> Head<'a> {
    pub(super) fn new(header: &'a BatchHeader, reconciliation: &'a Reconciliation) -> Self {
        let total = reconciliation.total();
        let states = StateName::ALL
            .map(|state| (state.as_str(), reconciliation.state(state).into()))
            .into();
        let differences = reconciliation.differences();
        Self {
            format: FORMAT,
            batch: header.name.as_str(),
            originator: header.originator.as_str(),
            rehearsal: match header.purpose {
                Purpose::Unknown => None,
                known => Some(known == Purpose::Rehearsal),
            },
            gateway: &header.gateway,
            account: Some(header.account.as_str()).filter(|account| !account.is_empty()),
            created_at: header.created_at.to_string(),
            loads: loads(header),
            evidence: Evidence {
                rows: header.evidence_rows,
                head: &header.evidence_head,
            },
            may_have_missed: header.behind.as_deref(),
            finished: reconciliation.finished(),
            adds_up: differences.is_empty(),
            count: total.count,
            amounts: total.amounts.decimals(),
            states: States(states),
            held_lanes: header.held_lanes.iter().map(|lane| lane.as_str()).collect(),
            paid_twice: header.paid_twice.iter().map(Twice::of).collect(),
            paid_twice_count: header.paid_twice_count,
            control: control(reconciliation),
            difference: difference(reconciliation),
            differences: differences.iter().map(Difference::to_string).collect(),
            services: services(reconciliation),
            exceptions: exceptions(reconciliation),
            period: reconciliation.period().map(|(from, to)| Period {
                from: from.to_string(),
                to: to.to_string(),
            }),
            timeline: timeline(reconciliation),
            people: people(header),
            statements: statements(header),
        }
    }
}

fn statements(header: &BatchHeader) -> Vec<StatementHead<'_>> {
    let statements = header.statements.iter().map(|stated| StatementHead {
        at: stated.at.to_string(),
        summary: &stated.summary,
        findings: &stated.findings,
    });
    statements.collect()
}

fn people(header: &BatchHeader) -> Vec<Person<'_>> {
    let people = header.people.iter().map(|deed| Person {
        at: deed.at.to_string(),
        act: &deed.act,
        about: deed.about.as_deref(),
        reason: deed.reason.as_deref(),
        user: deed.by.user(),
        host: deed.by.host(),
        sudo_of: deed.by.sudo_of(),
        role: deed.by.role(),
    });
    people.collect()
}

fn loads(header: &BatchHeader) -> Vec<LoadHead<'_>> {
    header
        .loads
        .iter()
        .map(|load| LoadHead {
            source: load.file_name(),
            digest: &load.digest,
            loaded_at: load.loaded_at.to_string(),
        })
        .collect()
}

fn control(reconciliation: &Reconciliation) -> Control {
    let control = reconciliation.control();
    Control {
        count: i128::from(control.count),
        amounts: control.amounts.decimals(),
        rejected_lines: i128::from(reconciliation.rejected_control()),
    }
}

/// Returns what was found less what was recorded: nothing but zeros in a report that is right.
fn difference(reconciliation: &Reconciliation) -> Control {
    let mut count = 0;
    let mut minor = Totals::default();
    for (_, currency, lane) in reconciliation.lanes() {
        let found = lane.found();
        count += i128::from(found.count) - i128::from(lane.control.count);
        minor.add_minor(currency, found.minor - lane.control.minor);
    }
    let rejected = reconciliation.set_aside().count;
    Control {
        count,
        amounts: minor
            .iter()
            .map(|(currency, minor)| (currency.code(), text::decimal(minor, currency)))
            .collect(),
        rejected_lines: i128::from(rejected) - i128::from(reconciliation.rejected_control()),
    }
}

fn services(reconciliation: &Reconciliation) -> Vec<Service<'_>> {
    reconciliation
        .lanes()
        .map(|(service_code, currency, lane)| {
            let found = lane.found();
            let states = StateName::ALL
                .into_iter()
                .map(|state| (state, lane.state(state)))
                .filter(|(_, sum)| sum.count > 0)
                .map(|(state, sum)| (state.as_str(), One::of(sum, currency)))
                .collect();
            Service {
                service_code,
                currency_code: currency.code(),
                control: One::of(lane.control, currency),
                found: One::of(found, currency),
                difference: One::new(
                    i128::from(found.count) - i128::from(lane.control.count),
                    found.minor - lane.control.minor,
                    currency,
                ),
                states,
            }
        })
        .collect()
}

fn exceptions(reconciliation: &Reconciliation) -> Vec<Exception<'_>> {
    reconciliation
        .exceptions()
        .map(|(state, status_code, group)| Exception {
            state: state.as_str(),
            status_code,
            status_description: &group.description,
            count: group.count,
            amounts: group.amounts.decimals(),
        })
        .collect()
}

fn timeline(reconciliation: &Reconciliation) -> Timeline {
    let timeline = reconciliation.timeline();
    Timeline {
        bucket_ms: timeline.width_ms(),
        buckets: timeline
            .iter()
            .map(|(begins_at, bucket)| Bucket {
                begins_at: begins_at.to_string(),
                posted: bucket.posted,
                settled: bucket.settled,
            })
            .collect(),
    }
}
