use super::*;
use crate::domain::{Amount, Country, Currency, Money, Msisdn};
use crate::lifecycle::State;
use crate::seeded_bugs::SeededBug;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

const RESTART: Terms = Terms {
    window: Duration::from_secs(20 * 24 * 60 * 60),
    references_restart: true,
};

#[test]
fn what_two_rows_are_to_each_other() {
    use Likeness::{Alike, None, Repeat};
    let plain = Terms::default();
    // References, recipient with amount and service, what it is, and what it is where references begin anew.
    let table = [
        (References::Same, true, Repeat, Repeat),
        (References::Same, false, Repeat, None),
        (References::Differ, true, Alike, Alike),
        (References::Differ, false, None, None),
        (References::Missing, true, Repeat, Repeat),
        (References::Missing, false, None, None),
    ];
    for (references, same, expected, restarting) in table {
        assert_eq!(
            likeness(references, same, &plain),
            expected,
            "{references:?} {same}"
        );
        assert_eq!(
            likeness(references, same, &RESTART),
            restarting,
            "{references:?} {same}"
        );
    }
}

#[test]
fn which_rows_of_other_loads_count() {
    let days = |days| Terms {
        window: DAY * days,
        ..Terms::default()
    };
    // Standing, days since its load, the window in days, whether it counts.
    let table = [
        (Standing::Cancelled, 0, 20, false),
        (Standing::Cancelled, 30, 20, false),
        (Standing::Failed, 0, 20, false),
        (Standing::Failed, 30, 20, false),
        (Standing::Unfinished, 0, 20, true),
        (Standing::Unfinished, 400, 20, true),
        (Standing::Unfinished, 1, 0, true),
        (Standing::Ended, 0, 20, true),
        (Standing::Ended, 1, 20, true),
        (Standing::Ended, 19, 20, true),
        (Standing::Ended, 20, 20, false),
        (Standing::Ended, 28, 20, false),
        (Standing::Ended, 28, 35, true),
        (Standing::Ended, 1, 1, false),
        (Standing::Ended, 0, 0, false),
    ];
    for (standing, age, window, expected) in table {
        let found = counts(standing, DAY * age, &days(window));
        assert_eq!(found, expected, "{standing:?}, {age} days, window {window}");
    }
}

#[test]
fn what_a_person_has_withdrawn_within_the_window_is_shown() {
    let standings = [
        Standing::Cancelled,
        Standing::Failed,
        Standing::Ended,
        Standing::Unfinished,
    ];
    for likeness in [Likeness::None, Likeness::Alike, Likeness::Repeat] {
        for standing in standings {
            for age in [0, 19, 20, 400] {
                let is_withdrawn = standing == Standing::Cancelled;
                let found = is_of_withdrawn(likeness, is_withdrawn, DAY * age, &Terms::default());
                let expected = likeness == Likeness::Repeat && is_withdrawn && age < 20;
                assert_eq!(found, expected, "{likeness:?} {standing:?} {age}");
            }
        }
    }
}

#[test]
fn every_combination_of_likeness_and_standing_is_judged_by_both() {
    let references = [References::Same, References::Differ, References::Missing];
    let standings = [
        Standing::Cancelled,
        Standing::Failed,
        Standing::Ended,
        Standing::Unfinished,
    ];
    for terms in [Terms::default(), RESTART] {
        for references in references {
            for same in [true, false] {
                for standing in standings {
                    for age in [0, 1, 19, 20, 400] {
                        let age = DAY * age;
                        let found = judge(references, same, standing, age, &terms);
                        let gone = match standing {
                            Standing::Cancelled | Standing::Failed => true,
                            Standing::Ended => age >= terms.window,
                            Standing::Unfinished => false,
                        };
                        let expected = match gone {
                            true => Likeness::None,
                            false => likeness(references, same, &terms),
                        };
                        assert_eq!(
                            found, expected,
                            "{references:?} {same} {standing:?} {age:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_payment_is_proven_not_paid_by_the_gateway_and_by_nobody_else() {
    let table = [
        (State::Ready, false, Standing::Unfinished),
        (State::Posting, false, Standing::Unfinished),
        (State::InDoubt, false, Standing::Unfinished),
        (State::Acknowledged, true, Standing::Unfinished),
        (State::Delivered, true, Standing::Unfinished),
        (State::Conflict, true, Standing::Unfinished),
        (State::Paid, true, Standing::Ended),
        (State::Paid, false, Standing::Ended),
        (State::Failed, true, Standing::Failed),
        // Decided by a person.
        (State::Failed, false, Standing::Ended),
        (State::Cancelled, false, Standing::Cancelled),
    ];
    for (state, has_code, expected) in table {
        assert_eq!(
            Standing::of(state, has_code),
            expected,
            "{state:?} {has_code}"
        );
    }
}

#[test]
fn of_all_generations_of_a_row_the_one_that_may_have_paid_counts() {
    use Standing::{Cancelled, Ended, Failed, Unfinished};
    for (row, expected) in [
        (&[Failed][..], Failed),
        (&[Failed, Failed], Failed),
        (&[Failed, Cancelled], Failed),
        (&[Failed, Ended], Ended),
        (&[Ended, Failed], Ended),
        (&[Failed, Unfinished], Unfinished),
        (&[Ended, Unfinished], Unfinished),
        (&[Cancelled], Cancelled),
        // Nothing is known of it.
        (&[], Unfinished),
    ] {
        assert_eq!(Standing::of_row(row.iter().copied()), expected, "{row:?}");
    }
}

#[test]
fn what_failed_may_come_back_and_is_watched() {
    let table = [
        (Likeness::Repeat, Standing::Failed, true),
        (Likeness::Repeat, Standing::Cancelled, true),
        (Likeness::Repeat, Standing::Ended, false),
        (Likeness::Alike, Standing::Failed, false),
        (Likeness::None, Standing::Failed, false),
    ];
    for (likeness, standing, expected) in table {
        assert_eq!(
            is_watched(likeness, standing),
            expected,
            "{likeness:?} {standing:?}"
        );
    }
}

fn row() -> Instruction {
    Instruction {
        line: 2,
        reference: None,
        service: ServiceCode::parse("B2C").unwrap(),
        msisdn: Msisdn::from_digits("254700000001").unwrap(),
        account_number: "254700000001".into(),
        money: Money {
            amount: Amount::from_minor(100).unwrap(),
            currency: Currency::from_code("KES").unwrap(),
        },
        country: Country::from_code("KE").unwrap(),
        narration: "".into(),
        customer_names: "".into(),
        invoice_number: "".into(),
        payment_mode: "".into(),
        hub_id: "".into(),
        extra: Vec::new(),
        document: None,
    }
}

#[test]
fn recipient_amount_and_service_make_the_same_payment() {
    let bank = |code: &str| vec![(BANK.to_owned(), code.to_owned())];
    let of_bank = || Instruction {
        account_number: "0110".into(),
        extra: bank("01"),
        ..row()
    };
    let table: [(&str, Instruction, Instruction, bool); 10] = [
        ("equal", row(), row(), true),
        (
            "other narration and name",
            row(),
            Instruction {
                narration: "x".into(),
                customer_names: "y".into(),
                ..row()
            },
            true,
        ),
        (
            "no account of its own",
            row(),
            Instruction {
                account_number: "".into(),
                ..row()
            },
            true,
        ),
        (
            "other account",
            row(),
            Instruction {
                account_number: "254700000002".into(),
                ..row()
            },
            false,
        ),
        (
            "other phone, the same account",
            row(),
            Instruction {
                msisdn: Msisdn::from_digits("254700000002").unwrap(),
                ..row()
            },
            true,
        ),
        (
            "the account in another manner",
            of_bank(),
            Instruction {
                account_number: "00 01-10".into(),
                extra: bank("1"),
                ..row()
            },
            true,
        ),
        (
            "other amount",
            row(),
            Instruction {
                money: Money {
                    amount: Amount::from_minor(101).unwrap(),
                    ..row().money
                },
                ..row()
            },
            false,
        ),
        (
            "other service",
            row(),
            Instruction {
                service: ServiceCode::parse("B2B").unwrap(),
                ..row()
            },
            false,
        ),
        ("the same bank and account", of_bank(), of_bank(), true),
        (
            "another bank",
            of_bank(),
            Instruction {
                extra: bank("02"),
                ..of_bank()
            },
            false,
        ),
    ];
    for (name, a, b, expected) in table {
        assert_eq!(is_same_payment(&a, &b), expected, "{name}");
        assert_eq!(is_same_payment(&b, &a), expected, "{name}");
    }
    let open = row().with_money(Currency::from_code("KES").unwrap());
    assert!(is_same_payment(&open, &open));
    assert!(is_same_payment(&open, &row()) && is_same_payment(&row(), &open));
    let elsewhere = Instruction {
        account_number: "254700000002".into(),
        ..row()
    };
    assert!(!is_same_payment(&open, &elsewhere));
    let _awake = SeededBug::OpenAmountIsAnother.wake();
    assert!(!is_same_payment(&open, &row()), "the table finds it");
}

#[test]
fn a_row_of_another_service_may_stand_for_a_failed_one_where_no_references_tell_them_apart() {
    let failed = row();
    let with = |change: fn(&mut Instruction)| {
        let mut row = row();
        change(&mut row);
        row
    };
    let service = with(|row| row.service = ServiceCode::parse("OTHER").unwrap());
    let amount = with(|row| {
        row.service = ServiceCode::parse("OTHER").unwrap();
        row.money.amount = Amount::from_minor(7).unwrap();
    });
    use References::{Differ, Missing, Same};
    for (references, row, expected) in [
        (Missing, &failed, true),
        (Differ, &failed, true),
        (Missing, &service, true),
        (Differ, &service, false),
        (Same, &service, false),
        (Missing, &amount, false),
    ] {
        assert_eq!(
            may_stand_for(references, &failed, row),
            expected,
            "{references:?} {row:?}"
        );
    }
}

#[test]
fn what_was_refused_as_a_repeat_stays_one() {
    let year = DAY * 365;
    for (refused, standing, expected) in [
        (false, Standing::Ended, false),
        (true, Standing::Ended, true),
        (true, Standing::Unfinished, true),
        // What it repeated has failed since, and is paid by nobody.
        (true, Standing::Failed, false),
        (true, Standing::Cancelled, false),
    ] {
        let terms = RESTART.for_row(refused);
        assert!(terms.references_restart);
        assert_eq!(counts(standing, year, &terms), expected, "{standing:?}");
    }
}

#[test]
fn references_are_compared_as_a_person_reads_them() {
    let table = [
        (Some("INV-1"), Some("INV-1"), References::Same),
        (Some("INV-1"), Some("inv\u{2011}1"), References::Same),
        (Some("0012"), Some("12"), References::Same),
        (Some("INV-1"), Some("INV-2"), References::Differ),
        (Some("INV-1"), None, References::Missing),
        (None, None, References::Missing),
    ];
    for (a, b, expected) in table {
        assert_eq!(References::of(a, b), expected, "{a:?} {b:?}");
        assert_eq!(References::of(b, a), expected, "{a:?} {b:?}");
    }
    let _awake = SeededBug::ReferencesAsWritten.wake();
    assert!(
        table
            .iter()
            .any(|(a, b, expected)| References::of(*a, *b) != *expected)
    );
}

#[test]
fn an_amount_may_have_been_changed_where_no_references_tell_rows_apart() {
    let other = Instruction {
        money: Money {
            amount: Amount::from_minor(101).unwrap(),
            ..row().money
        },
        ..row()
    };
    let elsewhere = Instruction {
        account_number: "0110".into(),
        ..other.clone()
    };
    for (references, row, expected) in [
        (References::Missing, &other, true),
        (References::Missing, &self::row(), false),
        (References::Missing, &elsewhere, false),
        (References::Same, &other, false),
        (References::Differ, &other, false),
    ] {
        let found = may_have_other_amount(references, &self::row(), row);
        assert_eq!(found, expected, "{references:?} {row:?}");
    }
}

#[test]
fn amounts_are_near_where_one_may_be_the_other_rounded() {
    let of = |minor| Instruction {
        money: Money {
            amount: Amount::from_minor(minor).unwrap(),
            ..row().money
        },
        ..row()
    };
    for (one, other, expected) in [
        (1_825_049, 1_825_000, true),
        (2_210_075, 2_210_100, true),
        (50_000, 50_100, true),
        (50_000, 50_500, true),
        (50_000, 50_600, false),
        (100, 200, true),
        (100, 201, false),
        (50_000, 50_000, false),
    ] {
        for (a, b) in [(one, other), (other, one)] {
            assert_eq!(has_near_amount(&of(a), &of(b)), expected, "{a} {b}");
        }
    }
    let elsewhere = Instruction {
        account_number: "0110".into(),
        ..of(50_100)
    };
    assert!(!has_near_amount(&of(50_000), &elsewhere));
    for (one, other, expected) in [
        (100_000, 101_100, true),
        (100_000, 98_000, true),
        (100_000, 97_900, false),
        (0, 0, true),
    ] {
        assert_eq!(is_near_total(one, other), expected, "{one} {other}");
    }
    for (alike, rows, expected) in [(2, 2, false), (3, 3, true), (3, 6, true), (3, 7, false)] {
        assert_eq!(is_near_copy(alike, rows), expected, "{alike} of {rows}");
    }
}

#[test]
fn a_bill_is_asked_for_once_whatever_else_pays_the_account_has_ended() {
    use Standing::{Cancelled, Ended, Failed, Unfinished};
    // Standing, in the same batch, above, waits for its bill itself, whether it holds the bill.
    let table = [
        (Failed, true, true, false, false),
        (Failed, false, false, false, false),
        (Cancelled, true, true, true, false),
        (Unfinished, true, true, false, true),
        (Unfinished, true, false, false, true),
        (Unfinished, false, false, false, true),
        (Unfinished, true, true, true, true),
        (Unfinished, true, false, true, false),
        (Unfinished, false, false, true, false),
        (Ended, true, false, false, true),
        (Ended, false, false, false, false),
    ];
    for (standing, same_batch, above, waits, expected) in table {
        assert_eq!(
            holds_bill(standing, same_batch, above, waits),
            expected,
            "{standing:?} {same_batch} {above} {waits}"
        );
    }
}

#[test]
fn a_service_may_have_terms_of_its_own() {
    let salaries = ServiceCode::parse("SALARY").unwrap();
    let terms = TermsByService {
        default: Terms::default(),
        services: [(
            salaries.clone(),
            Terms {
                window: DAY * 25,
                ..RESTART
            },
        )]
        .into(),
        ..TermsByService::default()
    };
    assert_eq!(terms.of(&salaries).window, DAY * 25);
    assert!(terms.of(&salaries).references_restart);
    assert_eq!(
        terms.of(&ServiceCode::parse("B2C").unwrap()),
        Terms::default()
    );
    assert_eq!(terms.longest(), DAY * 25);
}

#[test]
fn what_is_of_the_debt_of_a_failure() {
    // References, the same payment, the same person, what it is, and what it is where references begin anew.
    let table = [
        (References::Same, true, true, true, true),
        (References::Same, false, true, true, true),
        (References::Same, false, false, true, false),
        (References::Missing, true, true, true, true),
        (References::Missing, false, true, false, false),
        (References::Missing, false, false, false, false),
        (References::Differ, true, true, false, false),
        (References::Differ, false, false, false, false),
    ];
    for (references, payment, person, expected, restarting) in table {
        let of = |terms: Terms| is_of_failure(references, payment, person, &terms);
        assert_eq!(of(Terms::default()), expected, "{references:?} {payment}");
        assert_eq!(of(RESTART), restarting, "{references:?} {payment}");
    }
    for (standing, expected) in [
        (Standing::Cancelled, false),
        (Standing::Failed, false),
        (Standing::Ended, true),
        (Standing::Unfinished, true),
    ] {
        assert_eq!(pays_failure(standing), expected, "{standing:?}");
    }
}

#[test]
fn of_two_services_the_stricter_terms_count() {
    let [daily, monthly, other] = ["DAILY", "MONTHLY", "OTHER"].map(|code| {
        let code = ServiceCode::parse(code);
        code.unwrap()
    });
    let hour = Terms {
        window: Duration::from_secs(60 * 60),
        references_restart: true,
    };
    let terms = TermsByService {
        default: Terms::default(),
        services: [(daily.clone(), hour), (monthly.clone(), RESTART)].into(),
        ..TermsByService::default()
    };
    let table = [
        (&daily, &daily, DAY / 24, true),
        (&daily, &monthly, DAY * 20, true),
        (&daily, &other, DAY * 20, false),
        (&monthly, &other, DAY * 20, false),
        (&other, &other, DAY * 20, false),
    ];
    let holds = |(a, b, window, references_restart): &(&_, &_, _, _)| {
        let expected = Terms {
            window: *window,
            references_restart: *references_restart,
        };
        terms.between(a, b) == expected && terms.between(b, a) == expected
    };
    for (case, row) in table.iter().enumerate() {
        assert!(holds(row), "case {case}");
    }
    assert!(terms.restart_somewhere());
    assert!(!TermsByService::default().restart_somewhere());
    let _awake = SeededBug::TermsOfOneService.wake();
    assert!(!table.iter().all(holds), "the table finds it");
}

#[test]
fn what_two_rows_are_to_each_other_that_are_paid_through_different_services() {
    use Likeness::{Alike, Repeat};
    for (references, expected, restarting) in [
        (References::Same, Repeat, Alike),
        (References::Missing, Alike, Alike),
        (References::Differ, Alike, Alike),
    ] {
        let plain = likeness_across_services(references, &Terms::default());
        assert_eq!(plain, expected, "{references:?}");
        let found = likeness_across_services(references, &RESTART);
        assert_eq!(found, restarting, "{references:?}");
    }
    let other = |change: fn(&mut Instruction)| {
        let mut other = row();
        other.service = ServiceCode::parse("OTHER").unwrap();
        change(&mut other);
        other
    };
    for (name, other, expected) in [
        ("another service", other(|_| ()), true),
        (
            "another recipient",
            other(|row| row.account_number = "254700000002".into()),
            false,
        ),
        (
            "another amount",
            other(|row| row.money.amount = Amount::from_minor(7).unwrap()),
            false,
        ),
        ("the same service", row(), false),
    ] {
        let found = is_same_through_another_service(&row(), &other);
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_failure_whose_payment_came_later_under_another_reference_is_shown() {
    use References::{Differ, Missing, Same};
    let table = [
        (Differ, true, Standing::Ended, true),
        (Differ, true, Standing::Unfinished, true),
        (Differ, true, Standing::Failed, false),
        (Differ, true, Standing::Cancelled, false),
        (Differ, false, Standing::Ended, false),
        (Missing, true, Standing::Ended, true),
        (Missing, false, Standing::Ended, false),
        // It is the same debt, and has no retry at all.
        (Same, true, Standing::Ended, false),
    ];
    for (references, same_payment, standing, expected) in table {
        assert_eq!(
            may_be_paid_since(references, same_payment, standing),
            expected,
            "{references:?} {same_payment} {standing:?}"
        );
    }
}

/// A reference with a month in it does not come again in the next one.
#[test]
fn a_reference_that_names_its_period_is_the_same_debt_for_ever() {
    for (names_a_period, references, for_ever) in [
        (false, References::Same, false),
        (false, References::Differ, false),
        (true, References::Same, true),
        (true, References::Differ, false),
        (true, References::Missing, false),
    ] {
        let all = TermsByService {
            references_name_a_period: names_a_period,
            ..TermsByService::default()
        };
        let terms = all.by_references(Terms::default(), references);
        let paid = |days| counts(Standing::Ended, DAY * days, &terms);
        assert!(paid(19));
        assert_eq!(paid(400), for_ever, "{names_a_period} {references:?}");
        // What has failed, or was withdrawn, is paid by whoever has it now.
        assert!(!counts(Standing::Failed, DAY, &terms));
        // It does not start again either.
        let terms = all.by_references(RESTART, references);
        assert_eq!(terms.references_restart, !for_ever);
    }
}
