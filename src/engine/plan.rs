//! What a run is given, and what it gives back.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{Clock, Ending, Limits, Pacing, Progress};
use crate::callback::Addresses;
use crate::domain::{BatchName, Pulse};
use crate::journal::{Home, Journal, Runner, Transition};
use crate::ledger::approval::rule::Rule;
use crate::ledger::calendar::Calendar;
use crate::ledger::confirmation::Confirmation;
use crate::lifecycle::Policy;

/// What a run is made of.
#[derive(Debug)]
pub struct Plan<G> {
    /// The journal.
    pub journal: Journal,
    /// The gateway.
    pub gateway: Arc<G>,
    /// The batch.
    pub batch: BatchName,
    /// Where the batch belongs.
    pub home: Home,
    /// What was confirmed; no more than that is posted.
    pub confirmation: Confirmation,
    /// The rule of approval of now.
    pub approval: Option<Rule>,
    /// The waits.
    pub policy: Arc<Policy>,
    /// Who keeps the rates of these bounds.
    pub pacing: Pacing,
    /// The bounds.
    pub limits: Limits,
    /// When services are open.
    pub calendar: Arc<Calendar>,
    /// How much may be paid, to whom, and when.
    pub ceilings: Option<Arc<crate::ledger::limits::Limits>>,
    /// How long a request may take at most: a question is not asked twice within.
    pub request_timeout: Duration,
    /// Where callbacks are to go; `None`: no callbacks.
    pub addresses: Option<Addresses>,
    /// Who runs it.
    pub runner: Runner,
    /// The clock, shared with the listener.
    pub clock: Clock,
    /// The pulse, shared with the gateway: what stood still looks at its epoch before anything more leaves.
    pub pulse: Arc<Pulse>,
}

/// Handles on a run from outside.
#[derive(Debug)]
pub struct Run {
    /// Cancelled: the run takes no more payments, and ends when nothing is under way.
    pub drain: CancellationToken,
    /// Where the run stands.
    pub progress: watch::Sender<Progress>,
    /// Payments that a callback moved.
    pub callbacks: mpsc::Receiver<Transition>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Why it ended.
    pub ending: Ending,
    /// Payments handed to the gateway.
    pub posted: u64,
    /// Questions asked.
    pub asked: u64,
    /// Intents of an earlier run that were found without an outcome.
    pub abandoned: u64,
}
