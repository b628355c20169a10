//! What the core of a run knows, and the few things that all of its decisions do with it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::claimed::Claimed;
use super::ending::Ending;
use super::input::Effect;
use super::rounds::Rounds;
use super::words::Words;

use crate::domain::{LaneId, PaymentId, Rate, ServiceCode, Tally, Timestamp, Totals};
use crate::engine::breaker::Breaker;
use crate::journal::{Claim, Due, Question};
use crate::lifecycle::State;

/// The bounds of a run.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Payments posted per second.
    pub rate: Rate,
    /// Payments asked about per second.
    pub query_rate: Rate,
    /// Posts and queries count towards `rate` together: the gateway has one limit for both.
    pub shared_rate: bool,
    /// Requests under way at once, posts and queries each.
    pub concurrency: usize,
    /// Payments per request.
    pub packets: usize,
    /// Losses in a row that pause the posts.
    pub breaker_losses: u32,
    /// The first pause.
    pub breaker_pause: Duration,
    /// A lane held for want of float opens again after this long; `None`: the operator opens it.
    pub lane_retry_after: Option<Duration>,
    /// How often the balance of a held lane is asked for; one that covers what waits in it opens it. `None`: never.
    pub float_poll: Option<Duration>,
    /// How long the run goes on while no payment moves.
    pub max_wait: Duration,
    /// End once everything is posted.
    pub no_wait: bool,
    /// Wait for the time of rows that are not due, and for services to open.
    pub wait_for_window: bool,
    /// Payments may settle by a callback even when nothing is left to ask.
    pub callbacks: bool,
}

/// A lane that wants float.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) reopens_at: Option<Timestamp>,
    /// When its balance is asked for next; `None`: never, or the question is under way.
    pub(super) asks_at: Option<Timestamp>,
    /// Its name, once the journal has told it.
    pub(super) service: Option<ServiceCode>,
    /// Float is what it waits for; otherwise nothing that this run asks opens it.
    pub(super) for_float: bool,
}

/// The state of a run.
#[derive(Debug)]
pub struct Core {
    pub(super) limits: Limits,
    pub(super) breaker: Breaker,
    /// Intents on disk, not yet sent.
    pub(super) claimed: Claimed,
    /// When the first of them no longer may leave.
    pub(super) closes: Option<Timestamp>,
    /// Payments that were settled or accepted while a claim was under way: their posts are over, or must not leave.
    pub(super) overtaken: BTreeSet<PaymentId>,
    pub(super) questions: VecDeque<Question>,
    /// Payments whose question waits, is under way, or has an answer that is not recorded yet.
    pub(super) asked: BTreeSet<PaymentId>,
    pub(super) posts_under_way: usize,
    pub(super) queries_under_way: usize,
    pub(super) claiming: bool,
    pub(super) fetching: bool,
    pub(super) looking: bool,
    /// Something happened since the journal was last looked at.
    pub(super) stale: bool,
    pub(super) due: Due,
    pub(super) rounds: Rounds,
    /// Held lanes, and when they open by themselves.
    pub(super) held: BTreeMap<LaneId, Held>,
    pub(super) states: BTreeMap<State, Tally>,
    /// What each service has yet to post, as the journal last showed it.
    pub(super) waiting: BTreeMap<ServiceCode, Totals>,
    pub(super) not_before: Option<Timestamp>,
    pub(super) last_move: Timestamp,
    /// How often the gateway has proved in this run that it does not have a payment, as far as that counts as a move.
    pub(super) denied: FxHashMap<PaymentId, u8>,
    /// A request may have left in this run, answered or not.
    pub(super) ever_reached: bool,
    pub(super) unreachable: Option<(Timestamp, u32, String)>,
    pub(super) words: Words,
    pub(super) ending: Option<Ending>,
    pub(super) effects: Vec<Effect>,
}

impl Core {
    pub(super) fn release(&mut self, claims: Vec<Claim>) {
        if !claims.is_empty() {
            self.effects.push(Effect::Release(claims));
        }
    }

    pub(super) fn end(&mut self, ending: Ending) {
        if self.ending.is_none() {
            self.ending = Some(ending);
            self.questions.clear();
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.nothing_under_way() && self.claimed.is_empty() && self.questions.is_empty()
    }

    /// Returns whether no request and no claim is under way.
    #[must_use]
    pub fn nothing_under_way(&self) -> bool {
        self.posts_under_way == 0 && self.queries_under_way == 0 && !self.claiming && !self.fetching
    }
}

pub(super) fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    [a, b].into_iter().flatten().min()
}

pub(super) fn is_due(at: Option<Timestamp>, now: Timestamp) -> bool {
    at.is_some_and(|at| at <= now)
}
