//! The slots that a runner holds: it asks for them ahead, as many as it can use, and lets a request pass in each.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use super::clock::{RunnerTime, StoreClock};
use super::grant::{Granted, Paced, SlotRequest, Slots, Turn};

/// More are asked for when the last one is less ahead than this, or than it takes to have them.
const ASKS_AHEAD: Duration = Duration::from_millis(300);
/// Whoever was granted less than it asked for waits for so long at least.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a grant takes until one has been seen.
const LEAD_FIRST: Duration = Duration::from_millis(20);
/// It is never taken to be shorter, or longer, than this.
const LEAD: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(500));
/// Whoever misses slots asks for so many at least all the same.
const REACH_LEAST: u32 = 8;

/// What is waited for before a request may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotWait {
    /// A slot that comes after this long, and passes.
    Slot(Duration),
    /// None is held: there may be some after this long, or sooner.
    Grant(Duration),
}

/// The slots of one kind that a runner holds.
#[derive(Debug)]
pub struct Turns {
    of: Paced,
    rate: NonZeroU32,
    packets: NonZeroU32,
    /// The next one first. No more than leave in a second: more are not granted.
    held: VecDeque<Slots>,
    is_asking: bool,
    /// Before, there are none.
    asks_from: Option<RunnerTime>,
    /// How long it takes from the store's time to having the slots.
    lead: Duration,
    /// So many are asked for at most: whoever cannot use them leaves them to others.
    reach: u32,
    used: u32,
    missed: u32,
    /// The next request says that nothing holds that was granted before.
    is_afresh: bool,
    /// What was granted before is void.
    void_before: Option<RunnerTime>,
}

impl Turns {
    /// Begins without slots, for requests of up to `packets` payments; more than the rate are taken as the rate.
    #[must_use]
    pub fn new(of: Paced, rate: NonZeroU32, packets: NonZeroU32) -> Self {
        Self {
            of,
            rate,
            packets: packets.min(rate),
            held: VecDeque::new(),
            is_asking: false,
            asks_from: None,
            lead: LEAD_FIRST,
            reach: u32::MAX,
            used: 0,
            missed: 0,
            is_afresh: false,
            void_before: None,
        }
    }

    /// Returns the most payments that the next request may carry.
    #[must_use]
    pub fn packets(&self) -> NonZeroU32 {
        let next = self.held.front();
        next.map_or(self.packets, Slots::packets)
    }

    /// Lets a request pass, or says how long to wait.
    ///
    /// # Errors
    /// The wait until it may pass.
    pub fn pass(&mut self, clock: Option<&StoreClock>, now: RunnerTime) -> Result<(), SlotWait> {
        self.next(clock, now)?;
        self.used = self.used.saturating_add(1);
        self.drop_next();
        Ok(())
    }

    /// As [`Self::pass`], and nothing passes.
    ///
    /// # Errors
    /// As there.
    pub fn next(&mut self, clock: Option<&StoreClock>, now: RunnerTime) -> Result<(), SlotWait> {
        while let (Some(next), Some(clock)) = (self.held.front(), clock) {
            match next.turn(clock, now) {
                Turn::Now => return Ok(()),
                Turn::After(wait) => return Err(SlotWait::Slot(wait)),
                Turn::Missed => {
                    self.missed = self.missed.saturating_add(1);
                    self.drop_next();
                }
            }
        }
        let pause = self.asks_from.map_or(PAUSE, |from| from.since(now));
        Err(SlotWait::Grant(pause.max(PAUSE)))
    }

    /// Returns what to ask for while so many payments wait to leave; `None` where there is nothing to ask.
    pub fn request(
        &mut self,
        ready: usize,
        clock: Option<&StoreClock>,
        now: RunnerTime,
    ) -> Option<SlotRequest> {
        if ready == 0 || self.is_asking || self.asks_from.is_some_and(|from| now < from) {
            return None;
        }
        // What was missed is held no longer.
        let _ = self.next(clock, now);
        let held: u32 = self.held.iter().map(Slots::left).sum();
        let requests = ready.div_ceil(usize::try_from(self.packets.get()).unwrap_or(usize::MAX));
        let reach = self.reach_now();
        let wanted = u32::try_from(requests).unwrap_or(u32::MAX).min(reach);
        let ahead = clock.zip(self.held.back()).map(|(clock, last)| {
            let last = last.last();
            last.since(clock.earliest(now))
        });
        let asks_ahead = ASKS_AHEAD.max(self.lead * 2);
        if wanted <= held || ahead.is_some_and(|ahead| ahead >= asks_ahead) {
            return None;
        }
        (self.reach, self.used, self.missed) = (reach, 0, 0);
        self.is_asking = true;
        self.asks_from = None;
        Some(SlotRequest {
            of: self.of,
            rate: self.rate,
            packets: self.packets,
            count: wanted - held,
            lead: self.lead,
            clock: clock.copied(),
            is_afresh: std::mem::take(&mut self.is_afresh),
        })
    }

    /// Takes in what was granted, with what is known of the store's clock by now.
    pub fn take(&mut self, granted: &Granted, clock: &StoreClock, now: RunnerTime) {
        self.is_asking = false;
        self.is_afresh &= !granted.is_afresh;
        // Longer at once, shorter by and by.
        let took = now.since(granted.sample.heard) + Duration::from_millis(1);
        self.lead = took.max(self.lead * 7 / 8).clamp(LEAD.0, LEAD.1);
        let is_void = |before: RunnerTime| granted.sample.heard <= before;
        if !self.void_before.is_some_and(is_void) {
            self.held.extend(granted.slots);
        }
        self.asks_from = granted
            .again_at
            .map(|again| clock.surely(again).max(now.after(PAUSE)));
    }

    /// Lets go of all slots: they are of another clock, or of a server that is no longer the one.
    pub fn begin_afresh(&mut self, now: RunnerTime) {
        self.held.clear();
        self.is_afresh = true;
        self.void_before = Some(now);
    }

    fn drop_next(&mut self) {
        if let Some(next) = self.held.front_mut() {
            next.pass();
            if next.left() == 0 {
                self.held.pop_front();
            }
        }
    }

    /// Returns how many to ask for at most: less where a fifth was missed since the last question, and more again where it was not.
    fn reach_now(&self) -> u32 {
        match self.missed > self.used / 4 {
            true => (self.used + self.used / 4 + 1).max(REACH_LEAST),
            false => self.reach.saturating_mul(2),
        }
    }
}
