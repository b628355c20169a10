use super::*;
use crate::domain::{Amount, Country, Currency, Day, Money, Msisdn, PaymentId};
use crate::lifecycle::State;

fn kes(minor: i64) -> Money {
    Money {
        amount: Amount::from_minor(minor).unwrap(),
        currency: Currency::from_code("KES").unwrap(),
    }
}

fn day(number: i32) -> Day {
    Day::from_number(number)
}

fn view(state: State) -> PaymentView<'static> {
    PaymentView {
        state,
        was_posted: true,
        money: kes(150_000),
        msisdn: Msisdn::from_digits("254712345678").unwrap(),
        account: "254712345678",
        country: Country::from_code("KE").unwrap(),
        from: day(99),
        to: day(105),
        last: day(100),
    }
}

fn line(minor: i64) -> StatementEntry {
    StatementEntry {
        place: "line 2".to_owned(),
        day: day(100),
        flow: Flow::Out,
        reversal: false,
        money: kes(minor),
        standing: Standing::Booked,
        references: Vec::new(),
        text: String::new(),
        recipient: String::new(),
        fee: None,
        is_charge: false,
        is_batch: false,
    }
}

fn reference(text: &str) -> Reference {
    Reference {
        field: "reference".into(),
        text: text.to_owned(),
        is_receipt: false,
    }
}

fn charge(minor: i64) -> StatementEntry {
    StatementEntry {
        is_charge: true,
        ..line(minor)
    }
}

#[test]
fn a_line_is_about_a_payment_with_its_amount_and_its_number_alone() {
    let to = |recipient: &str| StatementEntry {
        recipient: recipient.to_owned(),
        ..line(150_000)
    };
    let ugx = Money {
        amount: Amount::from_minor(150_000).unwrap(),
        currency: Currency::from_code("UGX").unwrap(),
    };
    let cases = [
        ("as ordered", line(150_000), Bearing::Paid),
        ("a cent less", line(149_999), Bearing::OtherAmount),
        ("ten times as much", line(1_500_000), Bearing::OtherAmount),
        (
            "another currency",
            StatementEntry {
                money: ugx,
                ..line(1)
            },
            Bearing::OtherAmount,
        ),
        ("our number", to("0712 345 678"), Bearing::Paid),
        ("our number, hidden", to("2547****5678"), Bearing::Paid),
        (
            "another number",
            to("254712345679"),
            Bearing::OtherRecipient,
        ),
        ("a name", to("JANE DOE"), Bearing::Paid),
        (
            "it came back",
            StatementEntry {
                flow: Flow::In,
                ..line(150_000)
            },
            Bearing::Returned,
        ),
        (
            "it came back less a charge",
            StatementEntry {
                flow: Flow::In,
                ..line(149_000)
            },
            Bearing::Returned,
        ),
        (
            "some of it came back, as a discount",
            StatementEntry {
                flow: Flow::In,
                ..line(75_000)
            },
            Bearing::OtherAmount,
        ),
        (
            "more than it came in",
            StatementEntry {
                flow: Flow::In,
                ..line(150_001)
            },
            Bearing::OtherAmount,
        ),
        (
            "as much came in, in another currency",
            StatementEntry {
                flow: Flow::In,
                money: ugx,
                ..line(1)
            },
            Bearing::OtherAmount,
        ),
        (
            "announced",
            StatementEntry {
                standing: Standing::Pending,
                ..line(150_000)
            },
            Bearing::Pending,
        ),
        (
            "announced to come back",
            StatementEntry {
                flow: Flow::In,
                standing: Standing::Pending,
                ..line(150_000)
            },
            Bearing::Pending,
        ),
        (
            "not executed",
            StatementEntry {
                standing: Standing::NotExecuted,
                ..line(150_000)
            },
            Bearing::NotExecuted,
        ),
        (
            "a credit taken back",
            StatementEntry {
                reversal: true,
                ..line(150_000)
            },
            Bearing::OtherKind,
        ),
        ("a charge", charge(150_000), Bearing::OtherKind),
        ("a charge for it", charge(2_300), Bearing::Charge),
        (
            "dated before it was there",
            StatementEntry {
                day: day(98),
                ..line(150_000)
            },
            Bearing::Earlier,
        ),
        (
            "dated long after it",
            StatementEntry {
                day: day(300),
                ..line(150_000)
            },
            Bearing::Paid,
        ),
    ];
    for (what, entry, expected) in cases {
        assert_eq!(bearing(&view(State::InDoubt), &entry), expected, "{what}");
    }
}

#[test]
fn a_bank_payment_is_known_by_its_account_and_not_by_the_number_beside_it() {
    let bank = PaymentView {
        account: "0011223344556",
        ..view(State::Paid)
    };
    for (recipient, expected) in [
        ("0011223344556", true),
        ("ACC 0011223344556 JANE DOE", true),
        ("254712345678", false),
        ("0011223344557", false),
        ("", false),
    ] {
        assert_eq!(is_to(&bank, recipient), expected, "{recipient:?}");
    }
    let wallet = view(State::Paid);
    for (recipient, expected) in [
        ("254712345678 - JANE DOE", true),
        ("+254712345678", true),
        ("0712345678", true),
        ("0712345679", false),
        ("JANE DOE", false),
    ] {
        assert_eq!(is_to(&wallet, recipient), expected, "{recipient:?}");
    }
}

#[test]
fn what_lines_add_up_to() {
    use Bearing as B;
    use FindingKind as K;
    use State as S;
    let cases: &[(State, &[Bearing], FindingKind, bool, Settle)] = &[
        (S::Paid, &[B::Paid], K::Agreed, false, Settle::No),
        (S::Paid, &[], K::MissingThere, false, Settle::No),
        (
            S::Paid,
            &[B::NotExecuted],
            K::MissingThere,
            false,
            Settle::No,
        ),
        (S::Paid, &[B::Pending], K::PendingThere, false, Settle::No),
        (
            S::Paid,
            &[B::Pending, B::Paid],
            K::Agreed,
            false,
            Settle::No,
        ),
        (
            S::Paid,
            &[B::Paid, B::Paid],
            K::TwiceThere,
            false,
            Settle::No,
        ),
        (
            S::Paid,
            &[B::Paid, B::Returned],
            K::Returned,
            false,
            Settle::No,
        ),
        (S::Paid, &[B::Returned], K::Returned, false, Settle::No),
        (
            S::Paid,
            &[B::OtherAmount],
            K::AmountDiffers,
            false,
            Settle::No,
        ),
        (
            S::Paid,
            &[B::Paid, B::OtherAmount],
            K::AmountDiffers,
            false,
            Settle::No,
        ),
        (
            S::Paid,
            &[B::OtherRecipient],
            K::NamesOther,
            false,
            Settle::No,
        ),
        (S::Failed, &[], K::Unpaid, false, Settle::No),
        (S::Failed, &[B::Paid], K::PaidThereOnly, true, Settle::No),
        (
            S::Failed,
            &[B::Paid, B::Paid],
            K::PaidThereOnly,
            true,
            Settle::No,
        ),
        (
            S::Failed,
            &[B::Paid, B::Returned],
            K::Returned,
            false,
            Settle::No,
        ),
        (
            S::Failed,
            &[B::Paid, B::Paid, B::Returned],
            K::PaidThereOnly,
            true,
            Settle::No,
        ),
        (
            S::Failed,
            &[B::OtherAmount],
            K::AmountDiffers,
            false,
            Settle::No,
        ),
        (S::Failed, &[B::Earlier], K::NamesOther, false, Settle::No),
        (S::Cancelled, &[B::Paid], K::PaidThereOnly, true, Settle::No),
        (S::Ready, &[B::Paid], K::PaidThereOnly, true, Settle::No),
        (S::Ready, &[], K::Unpaid, false, Settle::No),
        (
            S::InDoubt,
            &[B::Paid],
            K::OpenPaidThere,
            false,
            Settle::Proven,
        ),
        (
            S::Acknowledged,
            &[B::Paid],
            K::OpenPaidThere,
            false,
            Settle::Proven,
        ),
        (
            S::Delivered,
            &[B::Paid],
            K::OpenPaidThere,
            false,
            Settle::Proven,
        ),
        (S::InDoubt, &[], K::OpenMissing, false, Settle::No),
        (
            S::InDoubt,
            &[B::NotExecuted],
            K::OpenMissing,
            false,
            Settle::No,
        ),
        (
            S::InDoubt,
            &[B::Paid, B::Returned],
            K::Returned,
            false,
            Settle::No,
        ),
        (
            S::InDoubt,
            &[B::Paid, B::Paid],
            K::TwiceThere,
            false,
            Settle::No,
        ),
        (
            S::InDoubt,
            &[B::Paid, B::OtherRecipient],
            K::NamesOther,
            false,
            Settle::No,
        ),
        (
            S::InDoubt,
            &[B::OtherAmount],
            K::AmountDiffers,
            false,
            Settle::No,
        ),
        (
            S::InDoubt,
            &[B::Pending],
            K::PendingThere,
            false,
            Settle::No,
        ),
        (S::Posting, &[B::Paid], K::OpenPaidThere, false, Settle::No),
        (S::Conflict, &[B::Paid], K::OpenPaidThere, false, Settle::No),
        (S::Conflict, &[], K::OpenMissing, false, Settle::No),
    ];
    for (state, bearings, expected, held, settled) in cases {
        let mut shown = Shown::default();
        for (number, bearing) in bearings.iter().enumerate() {
            shown.add(
                *bearing,
                MatchedBy::Identifier,
                i64::try_from(number).unwrap(),
            );
        }
        assert_eq!(
            kind(*state, true, &shown, true),
            *expected,
            "{state:?} {bearings:?}"
        );
        let holds = stands_unpaid(*state) && shown.is_out();
        assert_eq!(holds, *held, "{state:?} {bearings:?}");
        assert_eq!(settle(*state, &shown), *settled, "{state:?} {bearings:?}");
    }
}

/// Whatever a line that names a payment says otherwise: somebody has the money, and the payment must not leave once more unseen.
#[test]
fn what_left_under_the_name_of_a_payment_is_out_in_whatever_amount() {
    let payment = view(State::Failed);
    let out = |minor| line(minor);
    let back = |minor| StatementEntry {
        flow: Flow::In,
        ..line(minor)
    };
    let ugx = StatementEntry {
        money: Money {
            amount: Amount::from_minor(3).unwrap(),
            currency: Currency::from_code("UGX").unwrap(),
        },
        ..line(1)
    };
    let cases: [(&str, &[StatementEntry], bool); 18] = [
        ("nothing", &[], false),
        ("the amount", &[out(150_000)], true),
        ("a cent less", &[out(149_999)], true),
        ("more", &[out(1_500_000)], true),
        ("two halves", &[out(75_000), out(75_000)], true),
        ("half of it", &[out(75_000)], true),
        ("a part that may be a charge", &[out(74_999)], false),
        ("another currency", std::slice::from_ref(&ugx), true),
        (
            "to somebody else",
            &[StatementEntry {
                recipient: "254712345679".to_owned(),
                ..line(150_000)
            }],
            true,
        ),
        (
            "before it was there",
            &[StatementEntry {
                day: day(90),
                ..line(150_000)
            }],
            true,
        ),
        ("out, and back", &[out(153_000), back(153_000)], false),
        ("the fee stays away", &[out(153_000), back(150_000)], false),
        (
            "the amount, and a discount",
            &[out(150_000), back(20_000)],
            true,
        ),
        (
            "out, and back, and out",
            &[out(150_000), back(150_000), out(149_999)],
            true,
        ),
        (
            "the amount as a charge: the words for charges may be wrong",
            &[charge(150_000)],
            true,
        ),
        ("a charge", &[charge(74_999)], false),
        (
            "tried",
            &[StatementEntry {
                standing: Standing::NotExecuted,
                ..line(149_999)
            }],
            false,
        ),
        (
            "announced",
            &[StatementEntry {
                standing: Standing::Pending,
                ..line(150_000)
            }],
            true,
        ),
    ];
    for (what, lines, expected) in cases {
        let mut shown = Shown::about(&payment);
        for (number, line) in (1..).zip(lines) {
            shown.take(&payment, line, MatchedBy::Identifier, number);
        }
        assert_eq!(shown.contradicts(State::Failed), expected, "{what}");
        // What is only announced may still fail where it is open here.
        assert!(!shown.contradicts(State::Acknowledged), "{what}");
        assert_eq!(shown.is_out(), expected && what != "announced", "{what}");
        let found = kind(State::Failed, true, &shown, true);
        assert_eq!(found == FindingKind::PaidThereOnly, expected, "{what}");
        let read_again = Shown::of(
            shown.counts(),
            (shown.otherwise, shown.amount),
            shown.by,
            shown.entry,
        );
        assert_eq!(read_again.contradicts(State::Failed), expected, "{what}");
    }
}

#[test]
fn silence_is_said_only_of_the_days_that_the_statement_shows() {
    let silent = Shown::default();
    for (state, posted, covered, expected) in [
        (State::Paid, true, true, FindingKind::MissingThere),
        (State::Paid, true, false, FindingKind::NotCovered),
        (State::InDoubt, true, false, FindingKind::NotCovered),
        (State::Conflict, false, true, FindingKind::NotCovered),
        (State::Failed, true, false, FindingKind::Unpaid),
    ] {
        assert_eq!(kind(state, posted, &silent, covered), expected, "{state:?}");
    }
}

#[test]
fn what_a_retry_replaced_is_not_unpaid_any_more_and_all_else_is_said_as_before() {
    for kind in FindingKind::ALL {
        let expected = match kind {
            FindingKind::Unpaid => FindingKind::Replaced,
            other => other,
        };
        assert_eq!(kind.where_replaced(true), expected);
        assert_eq!(kind.where_replaced(false), kind);
    }
}

#[test]
fn amount_and_recipient_alone_ask_a_person() {
    let mut shown = Shown::default();
    shown.add(Bearing::Paid, MatchedBy::AmountAndRecipient, 1);
    assert_eq!(settle(State::InDoubt, &shown), Settle::Ask);
    for by in MatchedBy::ALL {
        assert_eq!(by.is_proof(), by != MatchedBy::AmountAndRecipient);
    }
}

#[test]
fn one_line_settles_one_payment_and_what_is_paid_comes_first() {
    let payment = |seq, state, from, to| Candidate {
        seq: PaymentId::new(seq),
        state,
        from: day(from),
        to: day(to),
    };
    let at = |number, on| Line {
        number,
        day: day(on),
    };
    type Case<'a> = (&'a str, &'a [Candidate], &'a [Line], &'a [(i64, i64)]);
    let cases: &[Case] = &[
        (
            "one line is about the paid one of two",
            &[
                payment(1, State::InDoubt, 10, 15),
                payment(2, State::Paid, 10, 15),
            ],
            &[at(7, 11)],
            &[(2, 7)],
        ),
        (
            "two lines, two payments",
            &[
                payment(1, State::InDoubt, 10, 15),
                payment(2, State::Paid, 10, 15),
            ],
            &[at(7, 11), at(8, 11)],
            &[(2, 7), (1, 8)],
        ),
        (
            "one payment takes one line",
            &[payment(1, State::Paid, 10, 15)],
            &[at(7, 11), at(8, 11)],
            &[(1, 7)],
        ),
        (
            "no line outside the days of a payment",
            &[payment(1, State::InDoubt, 10, 15)],
            &[at(7, 9), at(8, 16)],
            &[],
        ),
        (
            "each in its days",
            &[
                payment(1, State::InDoubt, 10, 15),
                payment(2, State::InDoubt, 12, 17),
            ],
            &[at(7, 10), at(8, 16)],
            &[(1, 7), (2, 8)],
        ),
        (
            "what has failed takes what is left",
            &[
                payment(1, State::Failed, 10, 15),
                payment(2, State::InDoubt, 10, 15),
            ],
            &[at(7, 11)],
            &[(2, 7)],
        ),
    ];
    for (what, payments, lines, expected) in cases {
        let pairs = pair(payments, lines).into_iter();
        let found: Vec<(i64, i64)> = pairs.map(|pair| (pair.seq.get(), pair.number)).collect();
        assert_eq!(&found, expected, "{what}");
    }
}

#[test]
fn many_lines_of_one_person_are_paired_in_no_time() {
    let payments: Vec<Candidate> = (0..50_000)
        .map(|seq| Candidate {
            seq: PaymentId::new(seq),
            state: State::Paid,
            from: day(10),
            to: day(15),
        })
        .collect();
    let lines: Vec<Line> = (0..50_000)
        .map(|number| Line {
            number,
            day: day(12),
        })
        .collect();
    assert_eq!(pair(&payments, &lines).len(), 50_000);
}

#[test]
fn recipients_are_reduced_to_what_two_ways_of_writing_share() {
    for (text, expected) in [
        ("254712345678", Some("712345678")),
        ("+254 712 345 678", Some("712345678")),
        ("0712345678", Some("712345678")),
        ("0712345678 - JANE DOE", Some("712345678")),
        ("KE12ABCD0000", Some("KE12ABCD0000")),
        ("JANE DOE", None),
        ("12345", None),
        ("", None),
    ] {
        assert_eq!(recipient_key(text).as_deref(), expected, "{text:?}");
    }
}

#[test]
fn names_are_whole_fields_and_long_words() {
    let entry = StatementEntry {
        references: vec![reference("R-17/A")],
        text: "PAY 0123456789ABCDEFGHJKMNPQRS to JANE".to_owned(),
        ..line(1)
    };
    assert_eq!(
        entry.names(),
        [
            "R-17/A",
            "0123456789ABCDEFGHJKMNPQRS",
            "PAY0123456789ABCDEFGHJKMNPQRS",
            "0123456789ABCDEFGHJKMNPQRSto",
            "PAY0123456789ABCDEFGHJKMNPQRStoJANE",
        ]
    );
    for text in [
        "0123456789ABC\nDEFGHJKMNPQRS",
        "0123 4567 89AB CDEF GHJK MNPQ RS",
    ] {
        let broken = StatementEntry {
            references: vec![reference(text)],
            ..line(1)
        };
        let names = broken.names();
        assert!(
            names
                .iter()
                .any(|name| name == "0123456789ABCDEFGHJKMNPQRS"),
            "{names:?}"
        );
    }
    for (recipient, text, expected) in [
        ("254712345678", "to 254712345679", "254712345678"),
        ("", "Salary to 254712345679 - JANE", "254712345679"),
        ("", "invoice 12345678", ""),
    ] {
        let entry = StatementEntry {
            recipient: recipient.to_owned(),
            text: text.to_owned(),
            ..line(1)
        };
        assert_eq!(entry.named_recipient(), expected);
    }
    let long = StatementEntry {
        text: "12345678 ".to_owned() + &(0..1000).map(|n| format!("{n:08} ")).collect::<String>(),
        ..line(1)
    };
    assert_eq!(long.names().len(), entry::NAMES_MAX);
}

#[test]
fn every_kind_is_found_by_its_name_and_the_worst_comes_first() {
    for kind in FindingKind::ALL {
        assert_eq!(FindingKind::from_name(kind.name()), Some(kind));
    }
    assert_eq!(FindingKind::ALL[0], FindingKind::PaidThereOnly);
    assert!(FindingKind::ALL.is_sorted());
}
