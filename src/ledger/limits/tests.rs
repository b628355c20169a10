//! The table of limits: what may leave, and what waits until when.

use std::sync::Arc;
use std::time::Duration;

use super::judge::{LOOK_AGAIN, Row, Seen, Verdict, judge};
use super::names::{NameList, digest_of};
use super::{Limits, OfService, Period, Reason};
use crate::domain::{Amount, Currency, Money, ServiceCode, Timestamp, WireZone};
use crate::ledger::limits::Ceilings;

fn kes(minor: i64) -> Ceilings {
    Ceilings::from([(currency("KES"), Amount::from_minor(minor).unwrap())])
}

fn currency(code: &str) -> Currency {
    Currency::from_code(code).unwrap()
}

fn service(code: &str) -> ServiceCode {
    ServiceCode::parse(code).unwrap()
}

fn limits() -> Limits {
    Limits::none(WireZone::from_name("Africa/Nairobi").unwrap())
}

fn list(recipient: &str) -> Option<Arc<NameList>> {
    Some(Arc::new(NameList::of(vec![digest_of(recipient)])))
}

const NOW: &str = "2026-11-25T10:00:00Z";

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn verdict(limits: &Limits, minor: i64, code: &str, seen: Seen) -> Verdict {
    let (now, service) = (at(NOW), service("A"));
    let row = Row {
        recipient: "254700000001",
        phone: "254700000009",
        service: &service,
        money: Money {
            amount: Amount::from_minor(minor).unwrap(),
            currency: currency(code),
        },
        loaded_at: at("2026-11-25T09:00:00Z"),
    };
    judge(limits, row, &seen, &Period::of(now, &limits.zone), now)
}

#[test]
fn what_would_go_over_a_ceiling_waits_until_the_next_day_or_month() {
    let tomorrow = at("2026-11-25T21:00:00Z");
    let december = at("2026-11-30T21:00:00Z");
    let day = |used| Seen {
        recipient_day: used,
        ..Seen::default()
    };
    let month = |used| Seen {
        recipient_month: used,
        ..Seen::default()
    };
    let recipient_day = Limits {
        recipient_day: kes(1_000),
        ..limits()
    };
    let recipient_month = Limits {
        recipient_month: kes(1_000),
        ..limits()
    };
    let waits = |reason, until| Verdict::Waits(reason, until);
    for (limits, minor, code, seen, expected) in [
        (&limits(), i64::MAX, "KES", day(i128::MAX), Verdict::Leaves),
        (&recipient_day, 1_000, "KES", day(0), Verdict::Leaves),
        (&recipient_day, 400, "KES", day(600), Verdict::Leaves),
        // In many small ones it comes to the same.
        (
            &recipient_day,
            1,
            "KES",
            day(1_000),
            waits(Reason::RecipientDay, tomorrow),
        ),
        (
            &recipient_day,
            401,
            "KES",
            day(600),
            waits(Reason::RecipientDay, tomorrow),
        ),
        (&recipient_day, 401, "KES", month(600), Verdict::Leaves),
        // What was paid before there was a ceiling counts; sums beyond all bounds do no harm.
        (
            &recipient_day,
            1,
            "KES",
            day(i128::MAX),
            waits(Reason::RecipientDay, tomorrow),
        ),
        // Another currency has no ceiling.
        (&recipient_day, 5_000, "UGX", day(0), Verdict::Leaves),
        (
            &recipient_month,
            401,
            "KES",
            month(600),
            waits(Reason::RecipientMonth, december),
        ),
        // No day will do for it.
        (
            &recipient_day,
            1_001,
            "KES",
            day(0),
            waits(Reason::Payment, at(NOW).after(LOOK_AGAIN)),
        ),
    ] {
        let found = verdict(limits, minor, code, seen);
        assert_eq!(found, expected, "{minor} {code} {seen:?}");
    }
}

#[test]
fn a_service_has_its_own_ceiling_or_that_of_all() {
    let tomorrow = at("2026-11-25T21:00:00Z");
    let of = |day| OfService {
        day,
        month: Ceilings::new(),
    };
    let seen = Seen {
        service_day: 600,
        ..Seen::default()
    };
    let all = Limits {
        each_service: of(kes(1_000)),
        ..limits()
    };
    let own = Limits {
        services: [(service("A"), of(kes(2_000)))].into(),
        ..all.clone()
    };
    let others = Limits {
        services: [(service("B"), of(kes(2_000)))].into(),
        ..all.clone()
    };
    let waits = Verdict::Waits(Reason::ServiceDay, tomorrow);
    for (limits, minor, expected) in [
        (&all, 400, Verdict::Leaves),
        (&all, 401, waits),
        (&own, 401, Verdict::Leaves),
        (&own, 1_401, waits),
        (&others, 401, waits),
    ] {
        assert_eq!(verdict(limits, minor, "KES", seen), expected, "{minor}");
    }
}

#[test]
fn nothing_more_leaves_while_too_much_is_under_way() {
    let limits = Limits {
        exposure: kes(1_000),
        ..limits()
    };
    let seen = |exposure| Seen {
        exposure,
        ..Seen::default()
    };
    for (minor, code, exposure, expected) in [
        (1_000, "KES", 0, Verdict::Leaves),
        (400, "KES", 600, Verdict::Leaves),
        (401, "KES", 600, Verdict::Full),
        (401, "UGX", 600, Verdict::Leaves),
        // It would never fit.
        (
            1_001,
            "KES",
            0,
            Verdict::Waits(Reason::Payment, at(NOW).after(LOOK_AGAIN)),
        ),
    ] {
        assert_eq!(
            verdict(&limits, minor, code, seen(exposure)),
            expected,
            "{minor} {exposure}"
        );
    }
}

#[test]
fn a_batch_is_paid_up_to_its_ceiling() {
    let limits = Limits {
        batch: kes(1_000),
        ..limits()
    };
    for (minor, code, batch, waits) in [
        (400, "KES", 600, false),
        (401, "KES", 600, true),
        (401, "UGX", 600, false),
    ] {
        let seen = Seen {
            batch,
            ..Seen::default()
        };
        let found = verdict(&limits, minor, code, seen);
        let expected = match waits {
            true => Verdict::Waits(Reason::Batch, at(NOW).after(LOOK_AGAIN)),
            false => Verdict::Leaves,
        };
        assert_eq!(found, expected, "{minor} {code}");
    }
}

#[test]
fn lists_say_who_is_paid_and_who_is_not() {
    let again = at(NOW).after(LOOK_AGAIN);
    let (payee, phone) = ("254700000001", "254700000009");
    for (allow, deny, expected) in [
        (None, None, None),
        (list(payee), None, None),
        // The number that goes with an account does not make it one that is allowed.
        (list(phone), None, Some(Reason::NotAllowed)),
        (Some(Arc::default()), None, Some(Reason::NotAllowed)),
        (None, list(payee), Some(Reason::Denied)),
        (None, list(phone), Some(Reason::Denied)),
        (list(payee), list(payee), Some(Reason::Denied)),
        (None, Some(Arc::default()), None),
    ] {
        let limits = Limits {
            allow,
            deny,
            ..limits()
        };
        let found = verdict(&limits, 1, "KES", Seen::default());
        let expected = expected.map_or(Verdict::Leaves, |why| Verdict::Waits(why, again));
        assert_eq!(found, expected);
    }
}

#[test]
fn a_new_recipient_waits_after_its_load() {
    let hour = Duration::from_secs(3_600);
    let loaded = at("2026-11-25T09:00:00Z");
    for (wait, is_known, expected) in [
        (None, false, None),
        (Some(hour), false, None),
        (Some(hour * 2), true, None),
        (Some(hour * 2), false, Some(loaded.after(hour * 2))),
    ] {
        let limits = Limits {
            new_recipient_wait: wait,
            ..limits()
        };
        let seen = Seen {
            is_known,
            ..Seen::default()
        };
        let found = verdict(&limits, 1, "KES", seen);
        let expected = expected.map_or(Verdict::Leaves, |until| {
            Verdict::Waits(Reason::NewRecipient, until)
        });
        assert_eq!(found, expected, "{wait:?} {is_known}");
    }
}

#[test]
fn ceilings_that_contradict_one_another_are_told() {
    let of_day = |minor| OfService {
        day: kes(minor),
        month: Ceilings::new(),
    };
    let both = |day, month| OfService {
        day: kes(day),
        month: kes(month),
    };
    for (limits, expected) in [
        (limits(), None),
        (
            Limits {
                payment: kes(2),
                recipient_day: kes(1),
                ..limits()
            },
            Some(("limits.payment", "limits.recipient_day")),
        ),
        (
            Limits {
                payment: kes(1),
                recipient_day: kes(1),
                ..limits()
            },
            None,
        ),
        (
            Limits {
                payment: kes(2),
                recipient_month: kes(1),
                ..limits()
            },
            Some(("limits.payment", "limits.recipient_month")),
        ),
        (
            Limits {
                recipient_day: kes(2),
                recipient_month: kes(1),
                ..limits()
            },
            Some(("limits.recipient_day", "limits.recipient_month")),
        ),
        (
            Limits {
                payment: kes(2),
                batch: kes(1),
                ..limits()
            },
            Some(("limits.payment", "limits.batch")),
        ),
        (
            Limits {
                payment: kes(2),
                exposure: kes(1),
                ..limits()
            },
            Some(("limits.payment", "limits.exposure")),
        ),
        (
            Limits {
                each_service: both(2, 1),
                ..limits()
            },
            Some(("limits.service_day", "limits.service_month")),
        ),
        (
            Limits {
                payment: kes(2),
                services: [(service("A"), of_day(1))].into(),
                ..limits()
            },
            Some(("limits.payment", "limits.services.A.day")),
        ),
        (
            Limits {
                each_service: both(1, 3),
                services: [(service("A"), of_day(4))].into(),
                ..limits()
            },
            Some(("limits.services.A.day", "limits.services.A.month")),
        ),
        // Each of its own currency.
        (
            Limits {
                payment: kes(2),
                batch: Ceilings::from([(currency("UGX"), Amount::from_minor(1).unwrap())]),
                ..limits()
            },
            None,
        ),
    ] {
        let found = limits.contradiction();
        match expected {
            None => assert_eq!(found, None),
            Some((low, high)) => {
                let found = found.unwrap();
                assert!(found.contains(&format!("{low} KES")), "{found}");
                assert!(found.contains(&format!("{high} KES")), "{found}");
            }
        }
    }
}

#[test]
fn reasons_are_kept_by_their_names() {
    for (reason, name) in Reason::ALL {
        assert_eq!(Reason::of_name(name), Some(reason));
        assert_eq!(reason.name(), name);
    }
    assert_eq!(Reason::of_name("moon"), None);
}
