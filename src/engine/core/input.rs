//! What the core is told, and what it wants done.

use std::time::Duration;

use crate::domain::{Currency, LaneId, ServiceCode};
use crate::journal::{Claim, Due, Question, Standing, Transition};

/// What happened.
#[derive(Clone, Debug)]
pub enum EngineInput {
    /// The journal recorded these intents; what is due after them.
    Claimed(Vec<Claim>, Due),
    /// The journal gave these questions; what is due after them.
    Questions(Vec<Question>, Due),
    /// A post ended, with a usable reply or without.
    PostEnded(Health),
    /// A query about this many payments ended.
    QueryEnded(Health),
    /// Payments moved, by a reply, an answer or a callback.
    Transition(Vec<Transition>),
    /// A lane wants float.
    NoFloat(LaneId),
    /// The balance of a lane's float, in minor units; `None` when it could not be had.
    Balance(LaneId, Option<(Currency, i64)>),
    /// What the journal holds now; another process may have written.
    Standing(Box<Standing>, Due),
    /// The operator wants the run to end.
    Drain,
    /// The gateway's answer stops the run.
    Stop(String),
    /// Somebody has set the clock of the machine.
    ClockSet,
}

/// How the gateway answered a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// A usable reply.
    Healthy,
    /// Sent, and no usable reply.
    Lost,
    /// Nothing was sent: no connection.
    Unreachable(String),
    /// It asks for less.
    SlowDown(Duration),
}

/// What to do.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Claim up to this many payments.
    Claim(usize),
    /// Fetch up to this many questions.
    Fetch(usize),
    /// Record these claims as unsent: they will not be posted now.
    Release(Vec<Claim>),
    /// Hold a lane.
    HoldLane(LaneId),
    /// Open a held lane.
    ReopenLane(LaneId),
    /// Ask for the float balance of a held lane and its service.
    AskBalance(LaneId, ServiceCode),
    /// Read the standing of the batch again.
    Look,
    /// Put in doubt what is recorded as posting although nothing is under way.
    Abandon,
}
