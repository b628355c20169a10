//! What a runner is granted, and where that leaves the row of its account.

use std::num::NonZeroU32;
use std::time::Duration;

use super::clock::{ClockSample, RunnerTime, StoreClock, StoreTime};
use super::lateness::Lateness;
use super::spread::{Spread, WINDOW};

/// Nobody is granted a slot that is further ahead: what is not used is lost with it.
const AHEAD_MAX: Duration = Duration::from_secs(1);
/// No grant leaves a row this far ahead: the store's clock was set back since.
const ROW_AHEAD_MAX: Duration = Duration::from_secs(8);

/// What leaves; each has a rate of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paced {
    /// Payments that are posted.
    Posts,
    /// Payments that are asked about.
    Questions,
}

/// What a runner asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRequest {
    /// For what.
    pub of: Paced,
    /// Its own limit, in payments a second.
    pub rate: NonZeroU32,
    /// The most payments that each of its requests carries.
    pub packets: NonZeroU32,
    /// So many requests wait to leave.
    pub count: u32,
    /// What it is granted reaches it after this long, counted from the store's time.
    pub lead: Duration,
    /// What it knows of the store's clock already.
    pub clock: Option<StoreClock>,
    /// Slots that were granted before may be of another clock: a server took over, or a clock was set.
    pub is_afresh: bool,
}

/// Those that may send to an account now.
///
/// Whoever joins them with a lower limit holds all to it from a second on: what was granted before is ahead by so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runners {
    /// How many there are.
    pub count: u32,
    /// The least of their limits; `None` where none of them names one.
    pub least_rate: Option<NonZeroU32>,
}

/// The row of an account of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRow {
    /// When the next request may leave.
    pub next_at: StoreTime,
    /// The most payments that each request of the last grant carries.
    pub packets: NonZeroU32,
    /// How late requests may arrive whose slots were granted before.
    pub lateness: Lateness,
}

/// Slots, one after the other at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    first: StoreTime,
    /// In nanoseconds: rounded to microseconds, the distances of a fast account would add up to another rate.
    step: u64,
    /// How many of them are over.
    passed: u32,
    count: u32,
    packets: NonZeroU32,
    spread: Spread,
}

/// What a runner may do with a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A request may leave.
    Now,
    /// One may leave after this long.
    After(Duration),
    /// The slot is void: what leaves now may arrive too late for it.
    Missed,
}

impl Slots {
    /// Returns how many are left.
    #[must_use]
    pub fn left(&self) -> u32 {
        self.count - self.passed
    }

    /// Returns the most payments that the request of each may carry.
    #[must_use]
    pub fn packets(&self) -> NonZeroU32 {
        self.packets
    }

    /// Returns the time within which each request arrives.
    #[must_use]
    pub fn spread(&self) -> Spread {
        self.spread
    }

    /// Returns when the last one is.
    #[must_use]
    pub fn last(&self) -> StoreTime {
        self.at(self.count.saturating_sub(1))
    }

    /// Takes the next one away.
    pub fn pass(&mut self) {
        self.passed = self.count.min(self.passed + 1);
    }

    /// Judges the next one: never before it, by whatever the store's clock may show, and never so late that the request arrives
    /// after its spread.
    #[must_use]
    pub fn turn(&self, clock: &StoreClock, now: RunnerTime) -> Turn {
        let slot = self.at(self.passed);
        let (earliest, latest) = (clock.earliest(now), clock.latest(now));
        if latest > slot.after(self.spread.leaves_within()) {
            Turn::Missed
        } else if earliest >= slot {
            Turn::Now
        } else {
            Turn::After(slot.since(earliest))
        }
    }

    fn at(&self, number: u32) -> StoreTime {
        let ahead = self.step.saturating_mul(u64::from(number));
        self.first.after(Duration::from_nanos(ahead))
    }
}

/// What comes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// For what.
    pub of: Paced,
    /// The slots; `None` where there are none so near.
    pub slots: Option<Slots>,
    /// The row from now on; `None` where it stays.
    pub row: Option<SlotRow>,
    /// There will be more from then on; `None` where there are more at once.
    pub again_at: Option<StoreTime>,
    /// The reading of the store's clock that it rests on.
    pub sample: ClockSample,
    /// What was granted before holds no longer.
    pub is_afresh: bool,
    /// The runner knows the time of the store too badly for any slot.
    pub is_too_far: bool,
}

/// Grants slots.
///
/// Where a request carries several payments, `rate / packets` leave in a second: were payments let pass one by one, a request would
/// have to wait until a whole one had gathered, and the sum of the two would be beyond the rate. Behind requests of another size
/// there is room for that wait.
#[must_use]
pub fn grant(
    row: Option<SlotRow>,
    runners: Runners,
    sample: ClockSample,
    request: &SlotRequest,
) -> Granted {
    spaced(row, runners, sample, request, Spread::get)
}

/// As [`grant()`], with what is allowed for lateness given: tests leave it out.
pub(super) fn spaced(
    row: Option<SlotRow>,
    runners: Runners,
    sample: ClockSample,
    request: &SlotRequest,
    allowance: fn(Spread) -> Duration,
) -> Granted {
    let now = StoreTime::from(sample.told);
    let (clock, was_set) = match request.clock {
        Some(known) => known.and(sample),
        None => (StoreClock::of(sample), false),
    };
    let nothing = Granted {
        of: request.of,
        slots: None,
        row: None,
        again_at: Some(now.after(AHEAD_MAX)),
        sample,
        is_afresh: false,
        is_too_far: true,
    };
    // As badly as it will be known when the last of them comes.
    let Some(spread) = Spread::of(clock.width(sample.heard.after(AHEAD_MAX))) else {
        return nothing;
    };
    let is_afresh = request.is_afresh || was_set;
    let found = row;
    let row = found.clone().map(|row| began(row, now, is_afresh, spread));
    // Whoever knows the time of the store less well may be late beside what is granted now.
    let earliest = now.after(request.lead);
    let kept = row
        .as_ref()
        .and_then(|row| row.lateness.at(row.next_at.max(earliest)));
    let kept = kept.map_or(spread, |kept| kept.max(spread));
    let pitch = Pitch::of(runners, request, allowance(kept));
    let behind = row
        .as_ref()
        .map_or(now, |row| row.next_at.after(pitch.gathers_behind(row)));
    let first = behind.max(earliest);
    let room = now.after(AHEAD_MAX).since(first);
    let fits = match first > now.after(AHEAD_MAX) {
        true => 0,
        false => room.as_nanos() / u128::from(pitch.step) + 1,
    };
    let wanted = request.count.min(pitch.share(runners));
    let count = wanted.min(u32::try_from(fits).unwrap_or(u32::MAX));
    let slots = (count > 0).then_some(Slots {
        first,
        step: pitch.step,
        passed: 0,
        count,
        packets: pitch.packets,
        spread,
    });
    let after = slots.map(|slots| SlotRow {
        // The first one that is free, rounded up.
        next_at: slots.at(count).after(Duration::from_micros(1)),
        packets: pitch.packets,
        lateness: row
            .as_ref()
            .map_or_else(Lateness::default, |row| row.lateness.clone())
            .with(spread, (first, slots.last())),
    });
    let free = after.as_ref().map_or(behind, |after| after.next_at);
    Granted {
        // What began anew is kept: it would begin anew for whoever asks next, and never come.
        row: planted!(ledger::slots_kept(
            after.or(row).filter(|row| found.as_ref() != Some(row))
        )),
        slots,
        again_at: (count < wanted).then(|| free.before(AHEAD_MAX)),
        is_afresh,
        is_too_far: false,
        ..nothing
    }
}

/// Returns the row as it is to be taken: what a clock that was set says of it is worth nothing.
// Slots that are out leave within what they are ahead and their spread, by whatever clock; a window later nothing of them arrives.
fn began(row: SlotRow, now: StoreTime, is_afresh: bool, spread: Spread) -> SlotRow {
    let is_of_other_clock = row.next_at > now.after(ROW_AHEAD_MAX);
    let late = row.lateness.at(now).map_or(spread, |late| late.max(spread));
    let quiet = now.after(AHEAD_MAX + WINDOW + late.get());
    match (is_of_other_clock, is_afresh) {
        (true, _) => SlotRow {
            next_at: quiet,
            // Until times of the other clock.
            lateness: Lateness::default(),
            ..row
        },
        (false, true) => SlotRow {
            next_at: row.next_at.max(quiet),
            ..row
        },
        (false, false) => row,
    }
}

/// How far apart requests leave.
struct Pitch {
    packets: NonZeroU32,
    rate: NonZeroU32,
    /// Requests in a window.
    requests: u32,
    /// The window and what is allowed for lateness, in nanoseconds.
    window: u64,
    /// From one request to the next, in nanoseconds.
    step: u64,
}

impl Pitch {
    fn of(runners: Runners, request: &SlotRequest, allowance: Duration) -> Self {
        let least = runners.least_rate.unwrap_or(request.rate);
        let rate = least.min(request.rate);
        let packets = request.packets.min(rate);
        let requests = rate.get() / packets;
        // A microsecond more: each slot is cut to a whole one.
        let window = (WINDOW + allowance + Duration::from_micros(1)).as_nanos();
        let window = u64::try_from(window).unwrap_or(u64::MAX);
        Self {
            packets,
            rate,
            requests,
            window,
            step: window.div_ceil(u64::from(requests.max(1))),
        }
    }

    /// Returns how long a request waits behind the last grant for its payments to gather, where that was for others.
    fn gathers_behind(&self, row: &SlotRow) -> Duration {
        if row.packets == self.packets {
            return Duration::ZERO;
        }
        let others = u64::from(self.packets.get() - 1);
        let each = self.window.div_ceil(u64::from(self.rate.get()));
        Duration::from_nanos(others.saturating_mul(each)) + Duration::from_micros(1)
    }

    /// Returns how many requests a runner is granted at once, so that the others have theirs.
    fn share(&self, runners: Runners) -> u32 {
        self.requests.div_ceil(runners.count.max(1))
    }
}
