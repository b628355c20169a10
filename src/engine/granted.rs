//! The rate of an account that runs on several hosts share: slots that the journal grants.

use std::num::NonZeroU32;

use super::Clock;
use crate::ledger::slots::{Granted, Paced, SlotRequest, SlotWait, Slots, StoreClock, Turns};

/// After so many grants in a row that were made far away the operator is told: one slow answer, as on a busy machine, is no distance.
const FAR_GRANTS: u8 = 10;

/// Lets requests pass in the slots that this run was granted, and says when to ask for more.
#[derive(Debug)]
pub(super) struct GrantedPacer {
    clock: Clock,
    store: Option<StoreClock>,
    posts: Turns,
    questions: Turns,
    /// How many grants in a row were made far away.
    far_grants: u8,
}

impl GrantedPacer {
    /// Begins without slots, for requests of up to `packets` payments.
    pub(super) fn new(
        clock: Clock,
        (posts, questions): (NonZeroU32, NonZeroU32),
        packets: usize,
    ) -> Self {
        let packets = u32::try_from(packets).unwrap_or(u32::MAX);
        let packets = NonZeroU32::new(packets).unwrap_or(NonZeroU32::MIN);
        Self {
            clock,
            store: None,
            posts: Turns::new(Paced::Posts, posts, packets),
            questions: Turns::new(Paced::Questions, questions, packets),
            far_grants: 0,
        }
    }

    fn turns(&mut self, of: Paced) -> &mut Turns {
        match of {
            Paced::Posts => &mut self.posts,
            Paced::Questions => &mut self.questions,
        }
    }

    /// Returns the most payments that the next request may carry.
    pub(super) fn packets(&self, of: Paced) -> usize {
        let turns = match of {
            Paced::Posts => &self.posts,
            Paced::Questions => &self.questions,
        };
        usize::try_from(turns.packets().get()).unwrap_or(usize::MAX)
    }

    /// Lets a request pass, or says how long to wait.
    ///
    /// # Errors
    /// The wait until its slot, or until there may be one.
    pub(super) fn pass(&mut self, of: Paced) -> Result<(), SlotWait> {
        let (now, store) = (self.clock.running(), self.store);
        self.turns(of).pass(store.as_ref(), now)
    }

    /// As [`Self::pass`], and nothing passes.
    ///
    /// # Errors
    /// As there.
    pub(super) fn next(&mut self, of: Paced) -> Result<(), SlotWait> {
        let (now, store) = (self.clock.running(), self.store);
        self.turns(of).next(store.as_ref(), now)
    }

    /// Returns what to ask the journal for while so many payments wait to leave; nothing is asked for twice.
    pub(super) fn request(&mut self, of: Paced, ready: usize) -> Option<SlotRequest> {
        let (now, store) = (self.clock.running(), self.store);
        self.turns(of).request(ready, store.as_ref(), now)
    }

    /// Takes in what was granted.
    pub(super) fn take(&mut self, granted: &Granted) {
        let now = self.clock.running();
        let (store, was_set) = match self.store {
            Some(known) => known.and(granted.sample),
            None => (StoreClock::of(granted.sample), false),
        };
        self.store = Some(store);
        if was_set {
            tracing::warn!(
                "the clock of the journal's server was set, or another server took over; nothing is sent for two \
                seconds"
            );
            self.begin_afresh();
        }
        self.turns(granted.of).take(granted, &store, now);
        self.tell_distance(granted);
    }

    /// Lets go of all slots, and has the journal begin anew: they are of a server that is no longer the one.
    pub(super) fn begin_afresh(&mut self) {
        let now = self.clock.running();
        self.posts.begin_afresh(now);
        self.questions.begin_afresh(now);
    }

    /// Tells the operator, once, that the rate is not reached because the journal is far away.
    fn tell_distance(&mut self, granted: &Granted) {
        let spread = granted.slots.as_ref().map(Slots::spread);
        let is_far = spread.is_some_and(|spread| !spread.beyond_standard().is_zero());
        if spread.is_none() && !granted.is_too_far {
            return;
        }
        self.far_grants = match is_far || granted.is_too_far {
            true => self.far_grants.saturating_add(1),
            false => 0,
        };
        match (spread, self.far_grants) {
            (None, 1) => tracing::warn!(
                "the journal's server takes a second to tell the time; nothing is sent until it answers faster"
            ),
            (Some(spread), FAR_GRANTS) => tracing::warn!(
                thousandths = spread.get().as_millis(),
                "the journal's server answers slowly: all runs together stay below the rate by this many thousandths"
            ),
            _ => {}
        }
    }
}
