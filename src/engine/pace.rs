//! What lets the requests of a run leave: a pacer of its own, or slots of a rate that it shares with others.

use std::time::Duration;

use super::granted::GrantedPacer;
use super::{Clock, Limits, Pacer};
use crate::journal::Journal;
use crate::ledger::slots::{Granted, Paced, SlotRequest, SlotWait};

/// Who keeps the rate of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// The run by itself: no other one sends to the account meanwhile.
    Local,
    /// The journal grants it, over all runs that use it at once.
    Granted,
}

impl Pacing {
    /// Returns who keeps the rate for the runs of a journal.
    #[must_use]
    pub fn of(journal: &Journal) -> Self {
        match journal.is_shared() {
            true => Self::Granted,
            false => Self::Local,
        }
    }
}

/// What a request waits for that may not leave yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// A turn that comes after this long, and then is there until it is taken.
    Turn(Duration),
    /// A slot that comes after this long, and passes.
    Slot(Duration),
    /// None is known: to be looked at again after this long, or once one is granted.
    Grant(Duration),
}

impl Pause {
    /// Returns how long to wait.
    pub(super) fn get(self) -> Duration {
        let (Self::Turn(pause) | Self::Slot(pause) | Self::Grant(pause)) = self;
        pause
    }
}

impl From<SlotWait> for Pause {
    fn from(wait: SlotWait) -> Self {
        match wait {
            SlotWait::Slot(wait) => Self::Slot(wait),
            SlotWait::Grant(wait) => Self::Grant(wait),
        }
    }
}

/// Lets posts and questions pass at their rates.
#[derive(Debug)]
pub(super) struct Pace {
    keeper: Keeper,
    /// Both count towards the rate of posts.
    is_one_rate: bool,
}

#[derive(Debug)]
enum Keeper {
    Local { posts: Pacer, questions: Pacer },
    Granted(Box<GrantedPacer>),
}

impl Pace {
    /// Begins at the limits of a run.
    pub(super) fn new(pacing: Pacing, limits: &Limits, clock: Clock) -> Self {
        let (posts, questions, packets) = (limits.rate, limits.query_rate, limits.packets);
        let keeper = match pacing {
            Pacing::Local => Keeper::Local {
                posts: Pacer::new(posts, packets),
                questions: Pacer::new(questions, packets),
            },
            Pacing::Granted => Keeper::Granted(Box::new(GrantedPacer::new(
                clock,
                (posts.nonzero(), questions.nonzero()),
                packets,
            ))),
        };
        Self {
            keeper,
            is_one_rate: limits.shared_rate,
        }
    }

    /// Returns by which rate these leave.
    fn rate_of(&self, of: Paced) -> Paced {
        match self.is_one_rate {
            true => Paced::Posts,
            false => of,
        }
    }

    /// Returns the most payments that the next request may carry.
    pub(super) fn packets(&self, of: Paced) -> usize {
        match (&self.keeper, self.rate_of(of)) {
            (Keeper::Local { posts, .. }, Paced::Posts) => posts.packets(),
            (Keeper::Local { questions, .. }, Paced::Questions) => questions.packets(),
            (Keeper::Granted(granted), of) => granted.packets(of),
        }
    }

    /// Lets a request pass, or says what it waits for.
    ///
    /// # Errors
    /// What it waits for.
    pub(super) fn pass(&mut self, of: Paced) -> Result<(), Pause> {
        match (self.rate_of(of), &mut self.keeper) {
            (Paced::Posts, Keeper::Local { posts, .. }) => posts.pass().map_err(Pause::Turn),
            (Paced::Questions, Keeper::Local { questions, .. }) => {
                questions.pass().map_err(Pause::Turn)
            }
            (of, Keeper::Granted(granted)) => granted.pass(of).map_err(Pause::from),
        }
    }

    /// Returns what to ask the journal for while so many posts and questions wait to leave.
    pub(super) fn requests(&mut self, (posts, questions): (usize, usize)) -> Vec<SlotRequest> {
        let Keeper::Granted(granted) = &mut self.keeper else {
            return Vec::new();
        };
        let ready = match self.is_one_rate {
            true => [
                (Paced::Posts, posts.saturating_add(questions)),
                (Paced::Questions, 0),
            ],
            false => [(Paced::Posts, posts), (Paced::Questions, questions)],
        };
        let asked = ready.map(|(of, ready)| granted.request(of, ready));
        asked.into_iter().flatten().collect()
    }

    /// Takes in what the journal granted; returns what the next post waits for, if anything.
    pub(super) fn take(&mut self, slots: &Granted) -> Option<Pause> {
        let Keeper::Granted(granted) = &mut self.keeper else {
            return None;
        };
        granted.take(slots);
        granted.next(Paced::Posts).err().map(Pause::from)
    }
}
