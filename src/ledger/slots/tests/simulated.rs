//! Hosts that share one account, simulated: clocks that differ and drift, timers that are late, ways that take their time. What arrives
//! at the gateway is held to the rate, window by window.

use std::collections::BTreeMap;

use super::*;
use crate::ledger::slots::grant::spaced;

const SECOND: i64 = 1_000_000;

/// Numbers that look like chance.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn from(&mut self, least: i64, most: i64) -> i64 {
        let span = u64::try_from(most - least + 1).unwrap();
        least + i64::try_from(self.roll() % span).unwrap()
    }
}

/// What a host is like; times in microseconds.
#[derive(Clone, Copy)]
struct Kind {
    rate: u32,
    packets: u32,
    joins: i64,
    leaves: i64,
    /// One way to the store, at most.
    way: i64,
    /// Requests that wait to leave; `None`: as many as there may be.
    ready: usize,
}

const STEADY: Kind = Kind {
    rate: 100,
    packets: 1,
    joins: 0,
    leaves: i64::MAX,
    way: 300,
    ready: 5_000,
};

struct Host {
    kind: Kind,
    /// When its clock began.
    began: i64,
    /// Millionths by which it is too fast.
    drift: i64,
    turns: Turns,
    clock: Option<StoreClock>,
    /// It waits for its processor from then until then.
    stalls: (i64, i64),
    /// Of the wakes that were planned only the last one counts.
    wake: u64,
}

enum Event {
    Wake(usize, u64),
    Asked(usize, SlotRequest),
    Heard(usize, Granted),
}

struct World {
    hosts: Vec<Host>,
    dice: Dice,
    row: Option<SlotRow>,
    /// Transactions that write come one after the other.
    busy_until: i64,
    /// The store's clock is set by so much then.
    set: (i64, i64),
    allowance: fn(Spread) -> Duration,
    /// Whoever has to wait for the processor, about once in so long, waits for so long at most.
    stall: (i64, i64),
    events: BTreeMap<(i64, u64), Event>,
    planned: u64,
    /// Payments that arrive.
    arrivals: Vec<(i64, u32)>,
    grants: usize,
}

impl World {
    fn of(kinds: &[Kind], seed: u64) -> Self {
        let mut dice = Dice(seed);
        let hosts = kinds.iter().map(|kind| Host {
            kind: *kind,
            began: -dice.from(0, 5_000 * SECOND),
            drift: dice.from(-100, 100),
            turns: Turns::new(Paced::Posts, number(kind.rate), number(kind.packets)),
            clock: None,
            stalls: (0, 0),
            wake: 0,
        });
        let hosts: Vec<Host> = hosts.collect();
        let mut world = Self {
            hosts,
            dice,
            row: None,
            busy_until: 0,
            set: (i64::MAX, 0),
            allowance: Spread::get,
            stall: (10 * SECOND, 20_000),
            events: BTreeMap::new(),
            planned: 0,
            arrivals: Vec::new(),
            grants: 0,
        };
        for (at, kind) in kinds.iter().enumerate() {
            world.wake_at(at, kind.joins);
        }
        world
    }

    fn plan(&mut self, at: i64, event: Event) {
        self.planned += 1;
        self.events.insert((at, self.planned), event);
    }

    fn wake_at(&mut self, host: usize, at: i64) {
        self.hosts[host].wake += 1;
        self.plan(at, Event::Wake(host, self.hosts[host].wake));
    }

    fn of_runner(&self, host: usize, now: i64) -> RunnerTime {
        let host = &self.hosts[host];
        let passed = (now - host.began) * (1_000_000 + host.drift) / 1_000_000;
        RunnerTime::since_start(Duration::from_micros(passed.unsigned_abs()))
    }

    fn of_store(&self, now: i64) -> Timestamp {
        let set = if now >= self.set.0 { self.set.1 } else { 0 };
        Timestamp::from_millis(T0 + (now + set).div_euclid(1_000))
    }

    fn run(&mut self, until: i64) {
        while let Some(((now, _), event)) = self.events.pop_first() {
            if now > until {
                return;
            }
            match event {
                Event::Wake(host, number) if self.hosts[host].wake == number => {
                    self.wake(host, now);
                }
                Event::Wake(..) => {}
                Event::Asked(host, request) => self.ask(host, now, &request),
                Event::Heard(host, granted) => self.hear(host, now, &granted),
            }
        }
    }

    fn wake(&mut self, host: usize, now: i64) {
        if now >= self.hosts[host].kind.leaves {
            return;
        }
        let time = self.of_runner(host, now);
        let wait = loop {
            let it = &mut self.hosts[host];
            let packets = it.turns.packets().get();
            match it.turns.pass(it.clock.as_ref(), time) {
                Ok(()) => {
                    let path = 500 + self.dice.from(0, 1_500);
                    self.arrivals.push((now + path, packets));
                }
                Err(SlotWait::Slot(wait) | SlotWait::Grant(wait)) => break wait,
            }
        };
        let it = &mut self.hosts[host];
        let ready = it.kind.ready;
        if let Some(request) = it.turns.request(ready, it.clock.as_ref(), time) {
            self.plan(now + 50, Event::Asked(host, request));
        }
        let wait = i64::try_from(wait.as_micros()).unwrap();
        let late = self.dice.from(0, 1_200);
        let woken = self.stalled(host, now + wait + late);
        self.wake_at(host, woken);
    }

    /// Returns when a host really does what it would do at a time.
    fn stalled(&mut self, host: usize, at: i64) -> i64 {
        let (every, longest) = self.stall;
        while self.hosts[host].stalls.1 < at {
            let from = self.hosts[host].stalls.1 + self.dice.from(0, 2 * every);
            self.hosts[host].stalls = (from, from + self.dice.from(0, longest));
        }
        let (from, until) = self.hosts[host].stalls;
        if from <= at { until } else { at }
    }

    /// Carries out the transaction of a request, when its turn comes.
    fn ask(&mut self, host: usize, now: i64, request: &SlotRequest) {
        self.grants += 1;
        let way = self.hosts[host].kind.way;
        let asked = now.max(self.busy_until) + self.dice.from(way / 2, way);
        let read = asked + self.dice.from(way / 2, way);
        let heard = read + self.dice.from(way / 2, way);
        let committed = heard + self.dice.from(300, 8_000) + way;
        self.busy_until = committed;
        let there = |kind: &&Kind| kind.joins <= asked && asked < kind.leaves;
        let kinds: Vec<Kind> = self.hosts.iter().map(|host| host.kind).collect();
        let kinds: Vec<&Kind> = kinds.iter().filter(there).collect();
        let sharing = Runners {
            count: u32::try_from(kinds.len()).unwrap(),
            least_rate: kinds.iter().map(|kind| number(kind.rate)).min(),
        };
        let sample = ClockSample {
            asked: self.of_runner(host, asked),
            told: self.of_store(read),
            heard: self.of_runner(host, heard),
        };
        let granted = spaced(self.row.clone(), sharing, sample, request, self.allowance);
        if let Some(row) = &granted.row {
            self.row = Some(row.clone());
        }
        self.plan(committed + way, Event::Heard(host, granted));
    }

    fn hear(&mut self, host: usize, now: i64, granted: &Granted) {
        let time = self.of_runner(host, now);
        let it = &mut self.hosts[host];
        let (clock, was_set) = match it.clock {
            Some(clock) => clock.and(granted.sample),
            None => (StoreClock::of(granted.sample), false),
        };
        it.clock = Some(clock);
        if was_set {
            it.turns.begin_afresh(time);
        }
        it.turns.take(granted, &clock, time);
        self.wake(host, now);
    }

    /// The least of the limits of those that were there at some time.
    fn limit(&self, at: i64) -> Option<u32> {
        let there = self.hosts.iter().map(|host| host.kind);
        let there = there.filter(|kind| kind.joins <= at && at < kind.leaves);
        there.map(|kind| kind.rate).min()
    }

    /// The greatest limit that may hold in a window: slots are ahead by a second.
    fn limit_around(&self, at: i64) -> u32 {
        let times = (at - 2 * SECOND..=at + SECOND).step_by(50_000);
        times.filter_map(|at| self.limit(at)).max().unwrap()
    }

    /// Returns the first window that holds too much: when, how much, and the limit.
    fn broken(&mut self) -> Option<(i64, u32, u32)> {
        self.arrivals.sort_unstable();
        for (index, (from, _)) in self.arrivals.iter().enumerate() {
            let within = self.arrivals[index..]
                .iter()
                .take_while(|(at, _)| *at < from + SECOND);
            let payments: u32 = within.map(|(_, payments)| payments).sum();
            let limit = self.limit_around(*from);
            if payments > limit {
                return Some((*from, payments, limit));
            }
        }
        None
    }

    /// Payments that arrive in a second, in thousandths.
    fn mean(&self, from: i64, until: i64) -> i64 {
        let within = self
            .arrivals
            .iter()
            .filter(|(at, _)| (from..until).contains(at));
        let payments: u32 = within.map(|(_, payments)| payments).sum();
        i64::from(payments) * 1_000 * SECOND / (until - from)
    }
}

#[test]
fn no_window_of_a_second_holds_more_than_the_rate_and_the_mean_is_near_it() {
    for hosts in [1, 2, 4, 8] {
        for (rate, packets, seconds) in [(10, 1, 60), (100, 1, 20), (1_000, 1, 10), (200, 20, 60)] {
            for seed in 1..=2 {
                let kind = Kind {
                    rate,
                    packets,
                    ..STEADY
                };
                let mut world = World::of(&vec![kind; hosts], seed);
                world.run((seconds + 3) * SECOND);
                let case = format!("{hosts} hosts, {rate}/s by {packets}, seed {seed}");
                assert_eq!(world.broken(), None, "{case}");
                let mean = world.mean(SECOND, (seconds + 1) * SECOND);
                let rate = i64::from(rate);
                assert!(mean >= rate * 985 && mean <= rate * 1_000, "{case}: {mean}");
                let each = world.grants / (hosts * usize::try_from(seconds).unwrap());
                assert!(each <= 5, "{case}: {} grants", world.grants);
            }
        }
    }
}

#[test]
fn without_what_is_allowed_for_lateness_windows_hold_too_much() {
    for hosts in [1, 2, 4, 8] {
        let mut world = World::of(&vec![STEADY; hosts], 1);
        world.allowance = |_| Duration::ZERO;
        world.run(20 * SECOND);
        assert!(world.broken().is_some(), "{hosts} hosts");
    }
}

#[test]
fn runners_that_come_and_go_with_limits_of_their_own_keep_to_the_least() {
    for seed in 1..=40 {
        let mut dice = Dice(seed * 77);
        let kinds: Vec<Kind> = (0..8)
            .map(|host| {
                let joins = dice.from(0, 15 * SECOND);
                Kind {
                    rate: u32::try_from(dice.from(20, 200)).unwrap(),
                    packets: [1, 1, 7, 20][usize::try_from(dice.from(0, 3)).unwrap()],
                    joins: if host == 0 { 0 } else { joins },
                    leaves: match host {
                        0 => i64::MAX,
                        _ => joins + dice.from(SECOND / 10, 10 * SECOND),
                    },
                    way: [100, 300, 2_000, 9_000, 60_000, 200_000]
                        [usize::try_from(dice.from(0, 5)).unwrap()],
                    ready: [1, 3, 50, 5_000][usize::try_from(dice.from(0, 3)).unwrap()],
                }
            })
            .collect();
        let mut world = World::of(&kinds, seed);
        world.stall = (SECOND, 400_000);
        world.run(30 * SECOND);
        assert!(world.arrivals.len() > 20, "seed {seed}");
        assert_eq!(world.broken(), None, "seed {seed}");
    }
}

#[test]
fn a_store_that_is_far_away_lowers_the_rate_and_breaks_no_window() {
    for (way, least, most) in [(2_000, 982, 992), (5_000, 976, 990), (40_000, 930, 960)] {
        let far = Kind { way, ..STEADY };
        let mut world = World::of(&[far, far, STEADY], 3);
        world.run(30 * SECOND);
        assert_eq!(world.broken(), None, "{way}");
        let mean = world.mean(2 * SECOND, 29 * SECOND);
        let (least, most) = (100 * least, 100 * most);
        assert!(mean >= least && mean <= most, "{way}: {mean}");
    }
}

#[test]
fn a_clock_of_the_store_that_is_set_breaks_no_window() {
    for seed in 1..=10 {
        for by in [
            -3_600 * SECOND,
            -700_000,
            -30_000,
            30_000,
            700_000,
            3_600 * SECOND,
        ] {
            let mut world = World::of(&[STEADY; 4], seed);
            world.set = (10 * SECOND + 137, by);
            world.run(20 * SECOND);
            assert_eq!(world.broken(), None, "{by}, seed {seed}");
            let mean = world.mean(16 * SECOND, 19 * SECOND);
            assert!(mean > 97_000, "{by}, seed {seed}: it goes on, {mean}");
        }
    }
}
