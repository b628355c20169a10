//! What is granted, one situation a row; whole hosts are simulated beside it.

use super::clock::*;
use super::grant::*;
use super::*;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::domain::Timestamp;

mod simulated;

/// The store's time at which everything here begins, in milliseconds.
const T0: i64 = 1_795_824_000_000;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn number(of: u32) -> NonZeroU32 {
    NonZeroU32::new(of).unwrap()
}

fn runner(millis: u64) -> RunnerTime {
    RunnerTime::since_start(ms(millis))
}

fn store(millis: i64) -> StoreTime {
    StoreTime::from_micros((T0 + millis) * 1_000)
}

/// A reading that took so long.
fn sample(took: u64, at: u64, told: i64) -> ClockSample {
    ClockSample {
        asked: runner(at),
        told: Timestamp::from_millis(T0 + told),
        heard: runner(at + took),
    }
}

fn row(next_at: i64, packets: u32) -> SlotRow {
    SlotRow {
        next_at: store(next_at),
        packets: number(packets),
        lateness: Lateness::default(),
    }
}

fn runners(count: u32, least: u32) -> Runners {
    Runners {
        count,
        least_rate: NonZeroU32::new(least),
    }
}

fn request(rate: u32, packets: u32, count: u32) -> SlotRequest {
    SlotRequest {
        of: Paced::Posts,
        rate: number(rate),
        packets: number(packets),
        count,
        lead: ms(20),
        clock: None,
        is_afresh: false,
    }
}

/// When slots are, in microseconds from now on.
fn times(granted: &Granted) -> Vec<i64> {
    let Some(mut slots) = granted.slots else {
        return Vec::new();
    };
    let clock = StoreClock::of(ClockSample {
        asked: runner(0),
        told: Timestamp::from_millis(T0 - 60_000),
        heard: runner(0),
    });
    let mut times = Vec::new();
    while slots.left() > 0 {
        let Turn::After(wait) = slots.turn(&clock, runner(0)) else {
            panic!("a minute before, each is to be waited for");
        };
        let ahead = clock.earliest(runner(0)).after(wait);
        times.push(ahead.as_micros() - T0 * 1_000);
        slots.pass();
    }
    times
}

#[test]
fn slots_begin_where_the_row_ends_and_never_in_the_past() {
    // A step of 1.010001 s / rate: a hundredth is left out.
    for (case, row, rate, packets, wanted, expected, next_at) in [
        (
            "no row: as soon as the answer is there",
            None,
            10,
            1,
            2,
            vec![20_000, 121_000],
            222_001,
        ),
        (
            "a row of long ago",
            Some(row(-5_000, 1)),
            10,
            1,
            2,
            vec![20_000, 121_000],
            222_001,
        ),
        (
            "behind what others have",
            Some(row(300, 1)),
            10,
            1,
            2,
            vec![300_000, 401_000],
            502_001,
        ),
        (
            "no further ahead than a second",
            Some(row(850, 1)),
            10,
            1,
            9,
            vec![850_000, 951_000],
            1_052_001,
        ),
        (
            "requests of ten payments",
            Some(row(0, 10)),
            40,
            10,
            2,
            vec![20_000, 272_500],
            525_001,
        ),
        (
            "behind requests of one: nine more have to gather",
            Some(row(100, 1)),
            40,
            10,
            1,
            vec![327_251],
            579_752,
        ),
        (
            "more payments a request than the rate",
            Some(row(100, 4)),
            4,
            10,
            1,
            vec![100_000],
            1_110_002,
        ),
    ] {
        let wanted = request(rate, packets, wanted);
        let granted = grant(row, runners(1, rate), sample(1, 5, 0), &wanted);
        assert_eq!(times(&granted), expected, "{case}");
        let next = granted.row.unwrap().next_at;
        assert_eq!(next.as_micros() - T0 * 1_000, next_at, "{case}");
        assert!(!granted.is_too_far && !granted.is_afresh, "{case}");
    }
}

#[test]
fn a_row_that_is_a_second_ahead_has_nothing_and_says_until_when() {
    let full = Some(row(1_001, 1));
    let granted = grant(full, runners(1, 10), sample(1, 5, 0), &request(10, 1, 3));
    assert_eq!((granted.slots, granted.row), (None, None));
    assert_eq!(granted.again_at, Some(store(1)));
    let room = Some(row(1_000, 1));
    let granted = grant(room, runners(1, 10), sample(1, 5, 0), &request(10, 1, 1));
    assert_eq!(times(&granted), [1_000_000]);
    assert_eq!(granted.again_at, None, "it has all that it asked for");
}

#[test]
fn the_least_limit_holds_and_each_runner_has_its_share() {
    for (own, least, count, wanted, expected) in [
        (100, 100, 1, 500, 98),
        (100, 10, 1, 500, 10),
        (10, 100, 1, 500, 10),
        (10, 0, 1, 500, 10),
        (100, 100, 4, 500, 25),
        (100, 100, 8, 500, 13),
        (100, 100, 8, 3, 3),
        (2, 2, 8, 3, 1),
    ] {
        let among = runners(count, least);
        let granted = grant(None, among, sample(1, 5, 0), &request(own, 1, wanted));
        let found = granted.slots.map_or(0, |slots| slots.left());
        assert_eq!(found, expected, "{own} {least} {count} {wanted}");
    }
}

#[test]
fn whoever_knows_the_time_badly_lowers_the_rate() {
    for (took, spread, step) in [(0, 10, 101_000), (2, 10, 101_000), (20, 27, 102_750)] {
        let granted = grant(None, runners(1, 10), sample(took, 5, 0), &request(10, 1, 2));
        let slots = granted.slots.unwrap();
        // What the clocks may drift, and a millisecond that is not told, come on top.
        let found = slots.spread().get();
        assert!(
            found >= ms(spread) && found < ms(spread + 1),
            "{took}: {found:?}"
        );
        let times = times(&granted);
        let apart = times[1] - times[0];
        assert!(apart >= step && apart < step + 100, "{took}: {apart}");
        let row = granted.row.unwrap();
        let behind = row.next_at.as_micros() - T0 * 1_000 - times[1] - apart;
        assert!(behind.abs() <= 2, "{took}: {behind}");
        let until = slots.last().after(ms(1_000) + slots.spread().get());
        let just = until.before(Duration::from_micros(1));
        let is_more = !slots.spread().beyond_standard().is_zero();
        assert_eq!(row.lateness.at(just), is_more.then(|| slots.spread()));
        assert_eq!(row.lateness.at(until), None);
    }
    let far = grant(
        None,
        runners(1, 10),
        sample(1_000, 5, 0),
        &request(10, 1, 2),
    );
    assert!(far.is_too_far && far.slots.is_none() && far.again_at.is_some());
}

#[test]
fn whoever_knows_the_time_better_allows_for_those_before_as_long_as_one_may_arrive_beside_it() {
    // Readings that take 40 ms, 20 ms and 1 ms, one after the other. The slots of the second lie under the lateness of the first, which
    // ends before its own: the third allows for that.
    let of = |row: Option<SlotRow>, took: u64, count: u32| {
        let among = runners(3, 100);
        grant(row, among, sample(took, 5, 0), &request(100, 1, count))
    };
    let step = |granted: &Granted| {
        let times = times(granted);
        times[1] - times[0]
    };
    let first = of(None, 40, 2);
    let second = of(first.row.clone(), 20, 30);
    let (worst, bad) = (step(&first), step(&of(None, 20, 2)));
    assert_eq!(step(&second), worst);
    let row = second.row.unwrap();
    for (case, next_at, expected) in [
        ("beside both", 400, worst),
        ("behind the first", 1_100, bad),
        ("behind both", 1_500, 10_100),
    ] {
        let at = SlotRow {
            next_at: store(next_at),
            ..row.clone()
        };
        let told = next_at - 100;
        let sample = sample(1, u64::try_from(told).unwrap(), told);
        let granted = grant(Some(at), runners(3, 100), sample, &request(100, 1, 2));
        let found = step(&granted);
        assert!((found - expected).abs() < 5, "{case}: {found} {expected}");
    }
}

#[test]
fn lateness_is_read_as_it_was_written_and_never_less_is_allowed_for() {
    let spread = |millis| Spread::of(ms(millis)).unwrap();
    let granted = |late: &Lateness, millis, at| late.with(spread(millis), (store(0), store(at)));
    let mut late = Lateness::default();
    assert_eq!(Lateness::parse(&late.to_text()), Some(late.clone()));
    late = granted(&late, 2, 100);
    assert_eq!(late, Lateness::default(), "it is always allowed for");
    // Each is less, and later, than the one before: more than are told apart.
    for place in 0..20 {
        late = granted(&late, 400 - 10 * place, 100 * i64::try_from(place).unwrap());
        assert_eq!(Lateness::parse(&late.to_text()), Some(late.clone()));
        for earlier in 0..=place {
            let of = spread(400 - 10 * earlier);
            let last = store(100 * i64::try_from(earlier).unwrap());
            let just = last.after(ms(1_000) + of.get()).before(ms(1));
            assert!(late.at(just) >= Some(of), "{place} {earlier}: {late:?}");
        }
    }
    for text in ["x", "1", "1:", ":1", "1:2,,x:1", "-1:5"] {
        assert_eq!(Lateness::parse(text), None, "{text}");
    }
}

#[test]
fn after_a_clock_was_set_nothing_leaves_for_two_seconds() {
    let known = Some(StoreClock::of(sample(1, 5, 0)));
    for (case, told, next_at, is_afresh, expected) in [
        ("nothing happened", 100, 150, false, None),
        ("set ahead", 700, 150, false, Some(2_710)),
        ("set back", -500, 150, false, Some(1_510)),
        ("another server, as it is said", 100, 150, true, Some(2_110)),
        (
            "what is out already is longer than that",
            100,
            4_000,
            true,
            Some(4_000),
        ),
        (
            "the row is of another clock",
            100,
            3_600_000,
            false,
            Some(2_110),
        ),
    ] {
        let asked = SlotRequest {
            clock: known,
            is_afresh,
            ..request(10, 1, 1)
        };
        let granted = grant(
            Some(row(next_at, 1)),
            runners(1, 10),
            sample(1, 105, told),
            &asked,
        );
        assert_eq!(granted.slots.is_none(), expected.is_some(), "{case}");
        if let Some(expected) = expected {
            let next = granted.row.map(|row| row.next_at);
            let is_as_before = next_at == expected;
            assert_eq!(next, (!is_as_before).then(|| store(expected)), "{case}");
            let again = granted.again_at.unwrap();
            assert_eq!(again, store(expected - 1_000), "{case}");
        }
    }
}

#[test]
fn a_row_of_a_clock_that_was_set_back_is_quiet_once_whoever_asks() {
    let late = Lateness::parse("400000:1795827600000000").unwrap();
    let mut row = SlotRow {
        lateness: late,
        ..row(3_600_000, 1)
    };
    // Each asks for the first time, and knows nothing of a clock that was set.
    for at in [100_i64, 1_600, 2_000] {
        let granted = grant(
            Some(row.clone()),
            runners(2, 10),
            sample(1, at.unsigned_abs(), at),
            &request(10, 1, 1),
        );
        assert!(!granted.is_afresh);
        if let Some(slots) = granted.slots {
            assert!(slots.last() >= store(2_500), "what was granted has arrived");
            assert_eq!(granted.row.unwrap().lateness, Lateness::default());
            assert!(at > 100);
            return;
        }
        row = granted.row.unwrap_or(row);
    }
    panic!("it never comes: {row:?}");
}

#[test]
fn the_time_of_the_store_lies_between_what_all_readings_allow() {
    let clock = StoreClock::of(sample(4, 1_000, 0));
    assert_eq!(clock.width(runner(1_004)).as_micros(), 5_001);
    assert_eq!(
        clock.width(runner(3_004)).as_micros(),
        6_001,
        "and they drift"
    );
    assert_eq!(clock.earliest(runner(1_004)).as_micros(), T0 * 1_000 - 1);
    // A reading that was heard sooner says more, and one that took long says nothing new.
    let (better, was_set) = clock.and(sample(1, 1_010, 8));
    assert_eq!(
        (better.width(runner(1_011)).as_micros(), was_set),
        (2_001, false)
    );
    let (same, was_set) = better.and(sample(900, 1_100, 500));
    assert!(!was_set && same.width(runner(2_000)).as_micros() < 2_800);
    // One that contradicts it by little is believed alone.
    let (slewed, was_set) = better.and(sample(0, 1_100, 101));
    assert_eq!(
        (slewed.width(runner(1_100)).as_micros(), was_set),
        (1_001, false)
    );
    for told in [-400, 106, 600] {
        let (set, was_set) = better.and(sample(0, 1_100, told));
        assert!(was_set, "{told}");
        assert_eq!(set.width(runner(1_100)).as_micros(), 1_001, "{told}");
    }
    let time = store(5_000);
    let at = better.surely(time);
    assert!(better.earliest(at.after(ms(2))) >= time && better.latest(at) >= time);
}

fn in_millis(wait: SlotWait) -> SlotWait {
    let whole = |wait: Duration| Duration::from_millis(u64::try_from(wait.as_millis()).unwrap());
    match wait {
        SlotWait::Slot(wait) => SlotWait::Slot(whole(wait)),
        SlotWait::Grant(wait) => SlotWait::Grant(whole(wait)),
    }
}

#[test]
fn a_slot_is_waited_for_and_void_once_what_leaves_may_arrive_too_late() {
    let granted = grant(None, runners(1, 10), sample(1, 0, 0), &request(10, 1, 1));
    let mut turns = Turns::new(Paced::Posts, number(10), number(1));
    let clock = StoreClock::of(granted.sample);
    turns.take(&granted, &clock, runner(2));
    // The store may be two milliseconds ahead of what is certain.
    for (at, expected) in [(2, Some(19)), (20, Some(1)), (22, None), (26, None)] {
        let found = turns.next(Some(&clock), runner(at));
        let expected = expected.map_or(Ok(()), |wait| Err(SlotWait::Slot(ms(wait))));
        assert_eq!(found.map_err(in_millis), expected, "{at}");
    }
    assert_eq!(
        turns.next(Some(&clock), runner(27)),
        Err(SlotWait::Grant(ms(100))),
        "it is missed"
    );
}

#[test]
fn a_runner_asks_ahead_and_for_no_more_than_it_has_ready() {
    let mut turns = Turns::new(Paced::Posts, number(10), number(2));
    assert_eq!(turns.request(0, None, runner(0)), None, "nothing is ready");
    let asked = turns.request(7, None, runner(0)).unwrap();
    assert_eq!(
        (asked.count, asked.packets.get(), asked.rate.get()),
        (4, 2, 10)
    );
    assert_eq!(
        turns.request(9, None, runner(1)),
        None,
        "one question at a time"
    );
    let granted = grant(None, runners(1, 10), sample(1, 0, 0), &asked);
    let clock = StoreClock::of(granted.sample);
    turns.take(&granted, &clock, runner(2));
    // Four slots: at 20, 222, 424 and 626.
    assert_eq!(
        turns.request(20, Some(&clock), runner(3)),
        None,
        "enough for now"
    );
    for at in [22, 224] {
        assert_eq!(turns.pass(Some(&clock), runner(at)), Ok(()));
    }
    assert_eq!(
        turns.request(4, Some(&clock), runner(360)),
        None,
        "no more is ready"
    );
    assert_eq!(turns.pass(Some(&clock), runner(426)), Ok(()));
    let asked = turns.request(20, Some(&clock), runner(430)).unwrap();
    assert_eq!((asked.count, asked.clock), (9, Some(clock)));
    // Little is left within the second: more is asked for when there is more, and not at once.
    let granted = grant(granted.row, runners(1, 10), sample(1, 430, 430), &asked);
    assert_eq!(granted.slots.unwrap().left(), 3);
    turns.take(&granted, &clock, runner(432));
    assert_eq!(turns.pass(Some(&clock), runner(628)), Ok(()));
    for at in [831, 1_033, 1_235] {
        assert_eq!(turns.pass(Some(&clock), runner(at)), Ok(()));
    }
    assert!(turns.request(20, Some(&clock), runner(1_240)).is_some());
}

#[test]
fn whoever_cannot_use_its_slots_asks_for_fewer() {
    let mut turns = Turns::new(Paced::Posts, number(100), number(1));
    let asked = turns.request(400, None, runner(0)).unwrap();
    assert_eq!(asked.count, 400);
    let granted = grant(None, runners(1, 100), sample(0, 0, 0), &asked);
    let clock = StoreClock::of(granted.sample);
    turns.take(&granted, &clock, runner(1));
    // Only the first twenty were of use.
    for slot in 0..20_u64 {
        let at = RunnerTime::since_start(Duration::from_micros(22_000 + slot * 10_101));
        assert_eq!(turns.pass(Some(&clock), at), Ok(()));
    }
    let asked = turns.request(400, Some(&clock), runner(1_100)).unwrap();
    assert_eq!(asked.count, 26);
    let granted = grant(
        granted.row,
        runners(1, 100),
        sample(0, 1_100, 1_100),
        &asked,
    );
    turns.take(&granted, &clock, runner(1_101));
    for slot in 0..26_u64 {
        let at = RunnerTime::since_start(Duration::from_micros(1_123_000 + slot * 10_101));
        assert_eq!(turns.pass(Some(&clock), at), Ok(()));
    }
    let asked = turns.request(400, Some(&clock), runner(1_400)).unwrap();
    assert_eq!(asked.count, 52, "and for more again");
}

#[test]
fn slots_of_another_clock_are_let_go_and_said_to_be_void() {
    let mut turns = Turns::new(Paced::Questions, number(10), number(1));
    let asked = turns.request(9, None, runner(0)).unwrap();
    let granted = grant(None, runners(1, 10), sample(1, 0, 0), &asked);
    let clock = StoreClock::of(granted.sample);
    turns.begin_afresh(runner(2));
    turns.take(&granted, &clock, runner(3));
    assert_eq!(
        turns.pass(Some(&clock), runner(21)),
        Err(SlotWait::Grant(ms(100)))
    );
    let asked = turns.request(9, Some(&clock), runner(22)).unwrap();
    assert!(asked.is_afresh);
    let granted = grant(granted.row, runners(1, 10), sample(1, 22, 22), &asked);
    assert!(granted.is_afresh && granted.slots.is_none());
    turns.take(&granted, &clock, runner(24));
    assert_eq!(
        turns.request(9, Some(&clock), runner(500)),
        None,
        "it is quiet"
    );
    let asked = turns.request(9, Some(&clock), runner(1_100)).unwrap();
    assert!(!asked.is_afresh, "it is said once");
}
