//! The decisions of a run, pure: no tokio, no clock, no I/O.
//!
//! The shell tells the core what happened ([`EngineInput`]) and asks what to do ([`Core::poll`], [`Core::next_post`],
//! [`Core::next_query`]). The journal alone knows the payments; the core holds no more than a block of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::domain::{LaneId, Tally, Timestamp};
use crate::journal::{Claim, Due, Question, Standing, Transition};
use crate::lifecycle::{Action, PaymentState, State};

use super::{Awaited, Breaker, Gate};

mod claimed;
mod conclusion;
mod ending;
mod input;
mod lanes;
mod repeats;
mod rounds;
mod state;
#[cfg(test)]
mod tests;
mod words;

use claimed::Claimed;
pub use ending::Ending;
pub use input::{Effect, EngineInput, Health};
use rounds::Rounds;
pub use state::{Core, Limits};
use state::{earliest, is_due};
use words::Words;

/// "Not found" is worth something twice before the next post of a payment.
const DENIALS: u8 = 2;

/// A block holds what leaves in about a second: a crash leaves no more in doubt.
const BLOCK_MAX: usize = 2048;

impl Core {
    /// Begins a run that stands at `standing`.
    #[must_use]
    pub fn new(limits: Limits, standing: &Standing, now: Timestamp) -> Self {
        let breaker = Breaker::new(limits.breaker_losses, limits.breaker_pause);
        let mut core = Self {
            breaker,
            claimed: Claimed::default(),
            overtaken: BTreeSet::new(),
            questions: VecDeque::new(),
            closes: None,
            asked: BTreeSet::new(),
            posts_under_way: 0,
            queries_under_way: 0,
            claiming: false,
            fetching: false,
            looking: false,
            stale: true,
            due: Due {
                post: Some(now),
                ask: Some(now),
                ..Due::default()
            },
            rounds: Rounds::default(),
            held: BTreeMap::new(),
            states: BTreeMap::new(),
            waiting: BTreeMap::new(),
            not_before: None,
            last_move: now,
            denied: FxHashMap::default(),
            ever_reached: false,
            unreachable: None,
            words: Words::default(),
            ending: None,
            effects: Vec::new(),
            limits,
        };
        core.take_standing(standing, now);
        core
    }

    /// Takes in what happened.
    pub fn tell(&mut self, news: EngineInput, now: Timestamp) {
        self.stale |= !matches!(news, EngineInput::Standing(..));
        match news {
            EngineInput::Claimed(claims, due) => self.take_claims(claims, due),
            EngineInput::Questions(questions, due) => {
                self.fetching = false;
                self.due.ask = earliest(self.due.ask, due.ask);
                self.take_questions(questions);
            }
            EngineInput::PostEnded(health) => {
                self.posts_under_way -= 1;
                match &health {
                    Health::Healthy => self.breaker.succeeded(),
                    Health::Lost | Health::Unreachable(_) => self.breaker.failed(now),
                    Health::SlowDown(_) => self.breaker.postponed(now),
                }
                self.note_health(health, now);
                // A pause may be long, and an intent that is not sent soon would be in doubt after a crash.
                let paused = self.not_before.is_some_and(|at| at > now);
                if paused || self.breaker.gate(now) != Gate::Open {
                    let claims = self.claimed.take_all();
                    self.release(claims);
                }
            }
            EngineInput::QueryEnded(health) => {
                self.queries_under_way -= 1;
                self.note_health(health, now);
            }
            EngineInput::Transition(moves) => {
                moves.iter().for_each(|moved| self.take_move(moved, now))
            }
            EngineInput::NoFloat(lane) => self.hold(lane, now),
            EngineInput::Balance(lane, balance) => self.take_balance(lane, balance, now),
            EngineInput::Standing(standing, due) => {
                self.looking = false;
                self.due = if self.stale || !self.is_idle() {
                    Due {
                        post: earliest(self.due.post, due.post),
                        ask: earliest(self.due.ask, due.ask),
                        ..due
                    }
                } else {
                    // Nothing happened since: what was noted earlier, such as the lease of a question that is answered
                    // by now, is over.
                    due
                };
                self.take_standing(&standing, now);
                self.conclude(&standing);
            }
            EngineInput::Drain => self.end(Ending::Drained),
            EngineInput::Stop(why) => self.end(Ending::Stopped(why)),
            EngineInput::ClockSet => self.end(Ending::ClockSet),
        }
    }

    /// Returns whether dates or hours say when something leaves.
    #[must_use]
    pub fn keeps_time(&self) -> bool {
        self.closes.is_some() || self.due.scheduled.is_some()
    }

    fn take_claims(&mut self, claims: Vec<Claim>, due: Due) {
        self.claiming = false;
        self.due.post = earliest(self.due.post, due.post);
        // What was to be posted may have to be asked about first.
        self.due.ask = earliest(self.due.ask, due.ask);
        for claim in &claims {
            self.shift(
                State::Ready,
                State::Posting,
                claim.payment.instruction.money,
            );
        }
        let overtaken = std::mem::take(&mut self.overtaken);
        let (dry, claims): (Vec<_>, Vec<_>) = claims
            .into_iter()
            .filter(|claim| !overtaken.contains(&claim.seq))
            .partition(|claim| self.held.contains_key(&claim.lane));
        self.claimed.extend(claims);
        self.closes = self.claimed.leave_by();
        self.release(dry);
        self.due.scheduled = due.scheduled;
        self.due.exposed = due.exposed;
    }

    fn take_questions(&mut self, questions: Vec<Question>) {
        for question in questions {
            // A lease that has run out meanwhile must not make two answers of one: "not found" counts twice.
            if self.asked.insert(question.seq) {
                self.questions.push_back(question);
                continue;
            }
            let mut waiting = self.questions.iter_mut();
            if let Some(known) = waiting.find(|known| known.seq == question.seq) {
                *known = question;
            }
        }
    }

    fn note_health(&mut self, health: Health, now: Timestamp) {
        match health {
            Health::Healthy | Health::Lost => {
                self.ever_reached = true;
                self.unreachable = None;
            }
            Health::Unreachable(why) => {
                let (since, tries) = self
                    .unreachable
                    .as_ref()
                    .map_or((now, 0), |(since, tries, _)| (*since, *tries));
                self.unreachable = Some((since, tries + 1, why));
            }
            Health::SlowDown(pause) => {
                self.ever_reached = true;
                self.not_before = Some(self.not_before.unwrap_or(now).max(now.after(pause)));
            }
        }
    }

    fn take_move(&mut self, moved: &Transition, now: Timestamp) {
        if let Some(ending) = self.words.note(moved) {
            self.end(ending);
        }
        self.shift(moved.from, moved.life.state, moved.money);
        self.note_room(moved, now);
        self.asked.remove(&moved.seq);
        let to = moved.life.state;
        let accepted = matches!(to, State::Acknowledged | State::Delivered);
        if self.is_nearer(moved) {
            self.last_move = now;
        }
        if moved.from != to && (accepted || to.is_finished()) {
            // A loss is no progress: else a gateway that loses every post would keep the run going for ever.
            self.last_move = now;
            // A callback about an earlier post may settle a payment whose repeat waits to leave: it must not leave.
            // No other news takes a claim back, as it may be older than the claim.
            self.claimed.forget(moved.seq);
            // The news of its claim may still be on the way.
            if self.claiming && moved.from == State::Posting {
                self.overtaken.insert(moved.seq);
            }
        }
        self.take_due(&moved.life, moved.lane, now);
    }

    /// Returns whether a payment in doubt has come nearer to its next post. That counts twice in a run: a gateway that loses every post,
    /// and knows of none, must not keep it going for ever; but where many are in doubt, asking about all of them takes long.
    fn is_nearer(&mut self, moved: &Transition) -> bool {
        let life = &moved.life;
        let is_denied = match life.state {
            State::InDoubt => life.not_found > 0,
            state => state == State::Ready,
        };
        if moved.from != State::InDoubt || !is_denied {
            return false;
        }
        let times = self.denied.entry(moved.seq).or_default();
        *times += u8::from(*times <= DENIALS);
        *times <= DENIALS
    }

    /// Looks at what waits until less is under way, once something has ended, or was not sent.
    fn note_room(&mut self, moved: &Transition, now: Timestamp) {
        let ends = moved.life.state.is_finished() || moved.life.state == State::Ready;
        if self.due.exposed && moved.from != moved.life.state && ends {
            self.due.post = earliest(self.due.post, Some(now));
        }
    }

    fn take_due(&mut self, life: &PaymentState, lane: LaneId, now: Timestamp) {
        match life.action() {
            Action::Post(at) if !self.held.contains_key(&lane) => {
                self.due.post = earliest(self.due.post, Some(at.unwrap_or(now)));
            }
            Action::Ask(at) => {
                self.due.ask = earliest(self.due.ask, Some(at));
                self.rounds.forget_before(now);
                self.rounds.note(at, life.queries);
            }
            Action::Post(_) | Action::Wait | Action::Nothing => {}
        }
    }

    fn shift(&mut self, from: State, to: State, money: crate::domain::Money) {
        if from == to {
            return;
        }
        let (currency, minor) = (money.currency, i128::from(money.amount.minor()));
        // The last look at the journal may have seen it move already, or another process has moved it meanwhile: the next look sets the
        // counts right, and until then each payment counts once.
        let Some(old) = self.states.get_mut(&from).filter(|old| old.count > 0) else {
            return;
        };
        old.count -= 1;
        old.amounts.add_minor(currency, -minor);
        self.states.entry(to).or_default().add(money);
    }

    fn take_standing(&mut self, standing: &Standing, now: Timestamp) {
        let before = self.finished();
        self.states.clear();
        self.waiting.clear();
        for row in &standing.rows {
            if matches!(row.state, State::Ready | State::Posting) && row.tally.count > 0 {
                self.waiting
                    .entry(row.service.clone())
                    .or_default()
                    .add_all(&row.tally.amounts);
            }
            self.states
                .entry(row.state)
                .or_default()
                .add_all(&row.tally);
        }
        if self.finished() != before {
            self.last_move = now;
        }
        self.take_held(&standing.held, now);
    }

    /// Returns what the shell is to do now, besides posting and asking.
    pub fn poll(&mut self, now: Timestamp) -> Vec<Effect> {
        self.note_time(now);
        if self.ending.is_some() {
            let claims = self.claimed.take_all();
            self.release(claims);
            return std::mem::take(&mut self.effects);
        }
        if is_due(self.closes, now) {
            let late = self.claimed.take_late(now);
            self.closes = self.claimed.leave_by();
            self.release(late);
        }
        if is_due(self.due.scheduled, now) {
            self.due.scheduled = None;
            self.due.post = earliest(self.due.post, Some(now));
        }
        self.reopen_lanes(now);
        self.ask_balances(now);
        let block = self.block(now);
        if !self.claiming
            && block > 0
            && self.claimed.len() <= block / 2
            && is_due(self.due.post, now)
        {
            self.claiming = true;
            self.due.post = None;
            self.effects.push(Effect::Claim(block));
        }
        let batch = (self.limits.query_rate.get() as usize).clamp(self.limits.packets, BLOCK_MAX);
        if !self.fetching && self.questions.len() <= batch / 2 && is_due(self.due.ask, now) {
            self.fetching = true;
            self.due.ask = None;
            self.effects.push(Effect::Fetch(batch));
        }
        // Counts kept here are for the screen; only the journal tells that a batch has ended.
        if self.stale && self.is_idle() && self.start_look() {
            self.effects.push(Effect::Look);
        }
        std::mem::take(&mut self.effects)
    }

    /// Notes that the journal is being looked at; `false` when that is so already.
    pub fn start_look(&mut self) -> bool {
        let starts = !self.looking;
        if starts {
            self.looking = true;
            self.stale = false;
        }
        starts
    }

    /// Returns whether the journal is being looked at.
    #[must_use]
    pub fn is_looking(&self) -> bool {
        self.looking
    }

    fn block(&self, now: Timestamp) -> usize {
        let packets = self.limits.packets;
        match self.breaker.gate(now) {
            Gate::Open if self.not_before.is_none_or(|at| at <= now) => {
                (self.limits.rate.get() as usize).clamp(packets, BLOCK_MAX)
            }
            Gate::Probe => packets,
            Gate::Open | Gate::Waiting | Gate::ShutUntil(_) => 0,
        }
    }

    /// Returns how many payments wait to be posted, and how many to be asked about, that may be as soon as there is a turn and room
    /// for them.
    #[must_use]
    pub fn ready(&self, now: Timestamp) -> (usize, usize) {
        if self.ending.is_some() || self.not_before.is_some_and(|at| at > now) {
            return (0, 0);
        }
        let posts = match self.breaker.gate(now) {
            Gate::Open | Gate::Probe => self.claimed.len(),
            Gate::Waiting | Gate::ShutUntil(_) => 0,
        };
        (posts, self.questions.len())
    }

    /// Returns how many payments the next post carries; 0 when none may go now.
    #[must_use]
    pub fn next_post(&self, now: Timestamp) -> usize {
        let waits = self.ending.is_some()
            || self.posts_under_way >= self.limits.concurrency
            || self.not_before.is_some_and(|at| at > now)
            || !matches!(self.breaker.gate(now), Gate::Open | Gate::Probe);
        if waits {
            0
        } else {
            let countries = self.claimed.iter().take(self.limits.packets);
            alike(countries.map(|claim| claim.payment.instruction.country))
        }
    }

    /// Takes the payments of the next post; the shell sends them at once.
    pub fn take_post(&mut self, count: usize) -> Vec<Claim> {
        self.posts_under_way += 1;
        self.breaker.sent();
        self.claimed.take(count)
    }

    /// Returns how many payments the next query asks about; 0 when none may go now.
    #[must_use]
    pub fn next_query(&self, now: Timestamp) -> usize {
        let waits = self.ending.is_some()
            || self.queries_under_way >= self.limits.concurrency
            || self.not_before.is_some_and(|at| at > now);
        if waits {
            0
        } else {
            let questions = self.questions.iter().take(self.limits.packets);
            alike(questions.map(|question| question.country))
        }
    }

    /// Takes the payments of the next query.
    pub fn take_query(&mut self, count: usize) -> Vec<Question> {
        self.queries_under_way += 1;
        self.questions.drain(..count).collect()
    }

    /// Returns whether a post is under way.
    #[must_use]
    pub fn is_posting(&self) -> bool {
        self.posts_under_way > 0
    }

    /// Returns how the run ended, once nothing is under way any more.
    #[must_use]
    pub fn ended(&self) -> Option<&Ending> {
        self.ending.as_ref().filter(|_| {
            self.nothing_under_way() && self.claimed.is_empty() && self.effects.is_empty()
        })
    }

    /// Returns whether the run takes no more payments.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.ending.is_some()
    }

    /// Returns when the core wants to be asked again, at the latest.
    #[must_use]
    pub fn wake_at(&self, now: Timestamp) -> Timestamp {
        if self.ending.is_some() {
            // Only what is under way is waited for, and that makes itself heard.
            return now.after(self.limits.max_wait.max(Duration::from_secs(60)));
        }
        let breaker = match self.breaker.gate(now) {
            Gate::ShutUntil(until) => Some(until),
            Gate::Open | Gate::Probe | Gate::Waiting => None,
        };
        let lanes = self
            .held
            .values()
            .flat_map(|held| [held.reopens_at, held.asks_at])
            .flatten()
            .filter(|at| *at > now)
            .min();
        let deadline = self.last_move.after(self.limits.max_wait);
        let unreachable = self
            .unreachable
            .as_ref()
            .map(|(since, _, _)| since.after(conclusion::UNREACHABLE_AFTER));
        [
            self.due.post,
            self.due.ask,
            self.due.scheduled,
            self.closes,
            breaker,
            lanes,
            self.not_before,
            unreachable,
            Some(deadline),
        ]
        .into_iter()
        .flatten()
        .filter(|at| *at > now)
        .min()
        .unwrap_or(deadline)
    }

    /// Returns when the gateway is asked next, when posts that losses paused are tried again, and when a held lane is looked at.
    #[must_use]
    pub fn awaits(&self, now: Timestamp) -> Awaited {
        let later = |at: &Timestamp| *at > now;
        let lanes = self.held.values();
        let ask = self.due.ask.filter(later);
        Awaited {
            ask,
            nth: ask.and_then(|at| self.rounds.nth(at)),
            posts: match self.breaker.gate(now) {
                Gate::ShutUntil(until) => Some(until),
                Gate::Open | Gate::Probe | Gate::Waiting => None,
            },
            window: self
                .due
                .scheduled
                .filter(|at| self.limits.wait_for_window && later(at)),
            lane: lanes
                .flat_map(|held| [held.reopens_at, held.asks_at])
                .flatten()
                .filter(later)
                .min(),
        }
    }

    /// Returns count and amounts per state, and whether the circuit is open.
    #[must_use]
    pub fn view(&self) -> (&BTreeMap<State, Tally>, bool) {
        (&self.states, self.breaker.is_tripped())
    }

    /// Waits no longer for the journal, which has failed.
    pub fn forget_journal(&mut self) {
        (self.claiming, self.fetching, self.looking) = (false, false, false);
        self.claimed = Claimed::default();
        self.effects.clear();
    }

    fn finished(&self) -> u64 {
        self.states
            .iter()
            .filter(|(state, _)| state.is_finished())
            .map(|(_, tally)| tally.count)
            .sum()
    }
}

/// Returns how many of the first are equal: a request names one country.
fn alike<T: PartialEq>(mut values: impl Iterator<Item = T>) -> usize {
    let Some(first) = values.next() else { return 0 };
    1 + values.take_while(|value| *value == first).count()
}
