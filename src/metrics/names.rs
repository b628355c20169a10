//! The metrics: their names, units and what they say.

use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

/// One metric.
pub(super) struct Name {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) unit: Option<Unit>,
    pub(super) kind: MetricType,
}

const fn gauge(name: &'static str, help: &'static str) -> Name {
    Name {
        name,
        help,
        unit: None,
        kind: MetricType::Gauge,
    }
}

const fn counter(name: &'static str, help: &'static str) -> Name {
    Name {
        name,
        help,
        unit: None,
        kind: MetricType::Counter,
    }
}

const fn seconds(kind: MetricType, name: &'static str, help: &'static str) -> Name {
    Name {
        name,
        help,
        unit: Some(Unit::Seconds),
        kind,
    }
}

pub(super) static BUILD: Name = gauge(
    "disburse_build_info",
    "The program and the command that tells this. Always 1",
);
pub(super) static RUN: Name = gauge(
    "disburse_run_info",
    "The batch that is run here, and whether it is a rehearsal. Always 1",
);
pub(super) static PAYMENTS: Name = gauge(
    "disburse_payments",
    "Payments by service, state and currency",
);
pub(super) static AMOUNT: Name = gauge(
    "disburse_amount_minor_units",
    "Amounts by service, state and currency, in the minor unit of the currency",
);
pub(super) static UNFINISHED: Name = gauge(
    "disburse_unfinished_payments",
    "Payments that have not reached their end, rows without an amount included",
);
pub(super) static UNPRICED: Name = gauge(
    "disburse_unpriced_rows",
    "Rows that wait for the amount of their bill",
);
pub(super) static DOUBT: Name = seconds(
    MetricType::Gauge,
    "disburse_oldest_doubt_age",
    "Time since the post of the payment that is in doubt for the longest. 0: none is",
);
pub(super) static HELD: Name = gauge(
    "disburse_held_lanes",
    "Batches in which the service is paused, and nothing of it is posted",
);
pub(super) static EVIDENCE: Name = counter(
    "disburse_evidence_rows",
    "Rows of evidence. They grow whenever anything is learned",
);
pub(super) static NOTICES: Name = gauge(
    "disburse_notices_waiting",
    "Notices that were not delivered yet, of whichever batch",
);
pub(super) static READABLE: Name = gauge(
    "disburse_journal_readable",
    "Whether the journal could be read for this scrape: 1, or 0",
);
pub(super) static RUNS: Name = gauge(
    "disburse_run_in_progress",
    "Whether somebody runs a batch of this journal: 1, or 0",
);
pub(super) static COMMITS: Name = seconds(
    MetricType::Histogram,
    "disburse_journal_commit_duration",
    "How long commits of this process took",
);
pub(super) static VERBS: Name = counter(
    "disburse_journal_committed_verbs",
    "What commits of this process carried: verbs share a commit",
);
pub(super) static REQUESTS: Name = seconds(
    MetricType::Histogram,
    "disburse_request_duration",
    "How long requests to the gateway took, until their reply or their loss",
);
pub(super) static REQUESTED: Name = counter(
    "disburse_requested_payments",
    "Payments that requests to the gateway were about",
);
pub(super) static RATE: Name = gauge(
    "disburse_rate_limit_per_second",
    "Payments that may be posted, and asked about, in a second",
);
pub(super) static BREAKER: Name = gauge(
    "disburse_breaker_open",
    "Whether posts are paused after losses in a row: 1, or 0",
);
pub(super) static DRAINING: Name = gauge(
    "disburse_run_draining",
    "Whether the run takes no more payments and waits for what is under way: 1, or 0",
);
pub(super) static AWAITED: Name = gauge(
    "disburse_awaited_opening_timestamp_seconds",
    "The date, or the opening of a service, that is waited for, in seconds since 1970. 0: none",
);
pub(super) static CALLBACKS: Name = counter(
    "disburse_callbacks",
    "Callbacks, and other requests to the listener, by what became of them",
);
