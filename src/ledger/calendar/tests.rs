use super::*;

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap_or_else(|| panic!("{text}"))
}

fn hours(text: &str, zone: &str, free: &[&str]) -> OpeningHours {
    let free = free.iter().map(|day| day.parse().unwrap()).collect();
    let zone = WireZone::from_name(zone).unwrap();
    OpeningHours::parse(text, zone, Arc::new(free)).unwrap()
}

#[test]
fn a_batch_leaves_between_its_dates() {
    let millis = Timestamp::from_millis;
    for (from, until, now, expected) in [
        (None, None, 5, Gate::Open(None)),
        (Some(5), None, 4, Gate::Shut(millis(5))),
        (Some(5), None, 5, Gate::Open(None)),
        (None, Some(5), 4, Gate::Open(Some(millis(5)))),
        (None, Some(5), 5, Gate::Over),
        (Some(5), Some(9), 4, Gate::Shut(millis(5))),
        (Some(5), Some(9), 8, Gate::Open(Some(millis(9)))),
        (Some(5), Some(9), 9, Gate::Over),
    ] {
        let dates = BatchDates {
            not_before: from.map(millis),
            not_after: until.map(millis),
        };
        assert_eq!(
            dates.gate(millis(now)),
            expected,
            "{from:?} {until:?} {now}"
        );
    }
    for (from, until, possible) in [
        (None, None, true),
        (Some(5), None, true),
        (Some(5), Some(6), true),
        (Some(5), Some(5), false),
        (Some(6), Some(5), false),
    ] {
        let dates = BatchDates {
            not_before: from.map(millis),
            not_after: until.map(millis),
        };
        assert_eq!(dates.are_possible(), possible, "{from:?} {until:?}");
    }
}

#[test]
fn where_both_have_to_be_open_the_stricter_one_holds() {
    let millis = Timestamp::from_millis;
    let (open, until, shut) = (
        Gate::Open(None),
        |at| Gate::Open(Some(millis(at))),
        |at| Gate::Shut(millis(at)),
    );
    for (one, other, expected) in [
        (open, open, open),
        (open, until(3), until(3)),
        (until(2), until(3), until(2)),
        (until(2), shut(3), shut(3)),
        (shut(2), shut(3), shut(3)),
        (shut(2), Gate::Over, Gate::Over),
        (open, Gate::Over, Gate::Over),
    ] {
        assert_eq!(one.and(other), expected, "{one:?} {other:?}");
        assert_eq!(other.and(one), expected, "{other:?} {one:?}");
    }
}

#[test]
fn a_service_opens_and_closes_by_its_clock() {
    let nairobi = hours(
        "Mon-Fri 08:00-16:30, Sat 09:00-12:00",
        "Africa/Nairobi",
        &["2026-12-25", "2026-12-26"],
    );
    for (now, expected) in [
        // A Wednesday.
        (
            "2026-11-25T07:59:59.999+03:00",
            Gate::Shut(at("2026-11-25T08:00:00+03:00")),
        ),
        (
            "2026-11-25T08:00:00+03:00",
            Gate::Open(Some(at("2026-11-25T16:30:00+03:00"))),
        ),
        (
            "2026-11-25T16:29:59.999+03:00",
            Gate::Open(Some(at("2026-11-25T16:30:00+03:00"))),
        ),
        (
            "2026-11-25T16:30:00+03:00",
            Gate::Shut(at("2026-11-26T08:00:00+03:00")),
        ),
        // A Friday evening, and a Saturday.
        (
            "2026-11-27T20:00:00+03:00",
            Gate::Shut(at("2026-11-28T09:00:00+03:00")),
        ),
        (
            "2026-11-28T12:00:00+03:00",
            Gate::Shut(at("2026-11-30T08:00:00+03:00")),
        ),
        // Christmas is a Friday, and the Saturday behind it is free as well.
        (
            "2026-12-24T16:30:00+03:00",
            Gate::Shut(at("2026-12-28T08:00:00+03:00")),
        ),
        (
            "2026-12-25T10:00:00+03:00",
            Gate::Shut(at("2026-12-28T08:00:00+03:00")),
        ),
    ] {
        assert_eq!(nairobi.gate(at(now)), expected, "{now}");
    }
}

#[test]
fn hours_that_follow_one_another_are_one() {
    let night = hours("Mon 20:00-24:00, Tue 00:00-04:00", "Europe/Berlin", &[]);
    assert_eq!(
        night.gate(at("2026-11-23T21:00:00+01:00")),
        Gate::Open(Some(at("2026-11-24T04:00:00+01:00")))
    );
    let always = hours("Mon-Sun 00:00-24:00", "UTC", &[]);
    let now = at("2026-11-23T21:00:00Z");
    assert!(
        matches!(always.gate(now), Gate::Open(Some(until)) if until > now.after(std::time::Duration::from_secs(7 * 86_400)))
    );
    // What is never open in more than a year does not open.
    let days: Vec<String> = (0..500)
        .map(|days| (Date::constant(2026, 11, 1) + jiff::ToSpan::days(days)).to_string())
        .collect();
    let free: Vec<&str> = days.iter().map(String::as_str).collect();
    assert_eq!(
        hours("Mon-Fri 08:00-16:30", "UTC", &free).gate(now),
        Gate::Over
    );
}

#[test]
fn where_the_clock_is_put_forward_or_back_it_is_shut_rather_than_open() {
    // In Berlin, 2026-03-29: the clock goes from 02:00 to 03:00. 2026-10-25: it goes from 03:00 back to 02:00.
    for (text, open, shut) in [
        // The spring: from two o'clock on there is none, it opens at three.
        (
            "Sun 02:00-04:00",
            "2026-03-29T03:00:00+02:00",
            "2026-03-29T01:59:59+01:00",
        ),
        // It closes at half past two, which never comes: before the gap.
        (
            "Sun 01:00-02:30",
            "2026-03-29T01:29:59+01:00",
            "2026-03-29T01:30:00+01:00",
        ),
        // The autumn: half past two comes twice. It opens at the second one.
        (
            "Sun 02:30-04:00",
            "2026-10-25T02:30:00+01:00",
            "2026-10-25T02:30:00+02:00",
        ),
        // And closes at the first one.
        (
            "Sun 01:00-02:30",
            "2026-10-25T02:29:59+02:00",
            "2026-10-25T02:30:00+02:00",
        ),
        (
            "Sun 01:00-02:30",
            "2026-10-25T01:00:00+02:00",
            "2026-10-25T02:29:59+01:00",
        ),
    ] {
        let berlin = hours(text, "Europe/Berlin", &[]);
        assert!(
            matches!(berlin.gate(at(open)), Gate::Open(_)),
            "{text} {open}"
        );
        assert!(
            matches!(berlin.gate(at(shut)), Gate::Shut(_)),
            "{text} {shut}"
        );
    }
    // An hour that the clock leaves out is no hour at all.
    let gone = hours("Sun 02:10-02:50", "Europe/Berlin", &[]);
    let found = gone.gate(at("2026-03-29T00:00:00+01:00"));
    assert_eq!(found, Gate::Shut(at("2026-04-05T02:10:00+02:00")));
    // A day that a zone left out altogether: Samoa had no 30 December 2011, a Friday.
    let apia = hours("Fri 08:00-16:00", "Pacific/Apia", &[]);
    let found = apia.gate(at("2011-12-29T20:00:00-10:00"));
    assert!(
        matches!(found, Gate::Shut(opens) if opens >= at("2012-01-06T08:00:00+14:00")),
        "{found:?}"
    );
}

#[test]
fn every_moment_is_open_or_says_when_it_will_be() {
    for zone in [
        "Africa/Nairobi",
        "Europe/Berlin",
        "America/Havana",
        "Australia/Lord_Howe",
        "Asia/Beirut",
    ] {
        let hours = hours(
            "Mon-Fri 00:00-02:30, Tue-Sun 02:00-23:15, Fri 23:30-24:00",
            zone,
            &["2026-06-01"],
        );
        // Steps of 20 hours and some, so that every hour and minute comes.
        for step in 0..430_i64 {
            let now = Timestamp::from_millis(1_770_000_000_000 + step * 74_141_593);
            match hours.gate(now) {
                Gate::Open(Some(until)) => {
                    assert!(until > now, "{zone} {now}");
                    let last = Timestamp::from_millis(until.as_millis() - 1);
                    assert!(
                        matches!(hours.gate(last), Gate::Open(_)),
                        "{zone} {now} {last}"
                    );
                    assert!(
                        matches!(hours.gate(until), Gate::Shut(_)),
                        "{zone} {now} {until}"
                    );
                }
                Gate::Shut(opens) => {
                    assert!(opens > now, "{zone} {now}");
                    let before = Timestamp::from_millis(opens.as_millis() - 1);
                    assert!(
                        matches!(hours.gate(opens), Gate::Open(_)),
                        "{zone} {now} {opens}"
                    );
                    assert!(
                        matches!(hours.gate(before), Gate::Shut(_)),
                        "{zone} {now} {before}"
                    );
                }
                other => panic!("{zone} {now} {other:?}"),
            }
        }
    }
}

#[test]
fn hours_are_days_and_times() {
    for text in [
        "Mon-Fri 08:00-16:30",
        "mon-fri 08:00-16:30",
        "Monday 08:00-16:30, Sunday 00:00-24:00",
        "Fri-Mon 08:00-16:30",
    ] {
        let found = OpeningHours::parse(text, WireZone::utc(), Arc::default());
        assert!(found.is_ok(), "{text} {found:?}");
    }
    for text in [
        "",
        "Mon-Fri",
        "08:00-16:30",
        "Mon-Fri 8:00-16:30",
        "Mon-Fri 08:00",
        "Mon-Fri 08:00-24:30",
        "Mon-Fri 08:60-16:30",
        "Mon,Tue 08:00-16:30",
        "Mo-Fr 08:00-16:30",
        "Mon-Fri 08:00-16:30,",
        "Mon-Fri 08:00 - 16:30",
        "Mon-Fri +8:00-16:30",
    ] {
        let found = OpeningHours::parse(text, WireZone::utc(), Arc::default());
        assert!(
            matches!(found, Err(HoursError::NotHours(_))),
            "{text} {found:?}"
        );
    }
    for text in ["Mon-Fri 16:30-08:00", "Mon 08:00-08:00", "Mon 22:00-00:00"] {
        let found = OpeningHours::parse(text, WireZone::utc(), Arc::default());
        assert!(
            matches!(found, Err(HoursError::Backwards(_))),
            "{text} {found:?}"
        );
    }
}

#[test]
fn holidays_are_days_one_a_line() {
    let text = "\u{feff}# Kenya\n2026-12-25 Christmas\n\n2026-12-26\t# Boxing Day\r\n";
    let found = holidays(text).unwrap();
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["2026-12-25", "2026-12-26"]);
    for (text, line) in [
        ("25/12/2026", 1),
        ("2026-12-25\n2026-02-30", 2),
        ("2026-1-1", 1),
        ("Christmas", 1),
        ("2026-12-25,Christmas", 1),
    ] {
        assert_eq!(holidays(text).unwrap_err().0, line, "{text}");
    }
}

#[test]
fn dates_and_hours_are_looked_at_together() {
    let mornings = hours("Mon 08:00-12:00", "UTC", &["2026-11-30"]);
    let dates = |from: Option<&str>, until: Option<&str>| BatchDates {
        not_before: from.map(at),
        not_after: until.map(at),
    };
    let thursday = at("2026-11-26T10:00:00Z");
    let (free, next) = ("2026-11-30T08:00:00Z", "2026-12-07T08:00:00Z");
    for (from, until, expected) in [
        // That Monday is a holiday.
        (None, None, Gate::Shut(at(next))),
        (Some(free), None, Gate::Shut(at(next))),
        // It begins in the afternoon of the next one.
        (
            Some("2026-12-07T13:00:00Z"),
            None,
            Gate::Shut(at("2026-12-14T08:00:00Z")),
        ),
        (
            Some("2026-12-07T09:00:00Z"),
            None,
            Gate::Shut(at("2026-12-07T09:00:00Z")),
        ),
        // It is over before the service opens.
        (None, Some("2026-12-07T08:00:00Z"), Gate::Over),
        (None, Some("2026-12-07T08:00:01Z"), Gate::Shut(at(next))),
        (
            Some("2026-12-07T13:00:00Z"),
            Some("2026-12-14T08:00:00Z"),
            Gate::Over,
        ),
    ] {
        let found = gate(dates(from, until), Some(&mornings), thursday);
        assert_eq!(found, expected, "{from:?} {until:?}");
    }
    assert_eq!(gate(dates(None, None), None, thursday), Gate::Open(None));
}

#[test]
fn a_clock_that_was_set_is_more_than_a_minute_away() {
    let millis = Timestamp::from_millis;
    for (of_run, of_machine, expected) in [
        (100_000, 100_000, false),
        (100_000, 160_000, false),
        (100_000, 160_001, true),
        (160_000, 100_000, false),
        (160_001, 100_000, true),
    ] {
        let found = clock_was_set(millis(of_run), millis(of_machine));
        assert_eq!(found, expected, "{of_run} {of_machine}");
    }
}
