//! How gateways write amounts, currencies and numbers, and what each of them proves.

use super::Agreement::{self, Agrees, Differs, Unreadable};
use super::*;
use crate::domain::Amount;
use crate::domain::{Country, Msisdn};

fn money(code: &str, text: &str) -> Money {
    let currency = Currency::from_code(code).unwrap();
    Money {
        amount: Amount::parse(text, currency).unwrap(),
        currency,
    }
}

fn kenya() -> Country {
    Country::from_code("KE").unwrap()
}

fn recipient(account: &str) -> Recipient<'_> {
    Recipient {
        msisdn: Msisdn::from_digits("254712345678").unwrap(),
        account,
        country: kenya(),
    }
}

fn ours(account: &str) -> Ours<'_> {
    Ours {
        money: money("KES", "1500"),
        recipient: Some(recipient(account)),
    }
}

fn named(member: Member, text: &str) -> Named {
    Named {
        member,
        text: text.to_owned(),
        is_number: false,
    }
}

fn assert_table(table: &[(&str, Agreement)], what: impl Fn(&str) -> Agreement) {
    for (text, expected) in table {
        assert_eq!(what(text), *expected, "{text:?}");
    }
}

#[test]
fn texts_of_amounts_are_read_as_people_write_them() {
    let of = |code: &'static str, amount: &'static str| {
        move |text: &str| amount::compare(text, false, money(code, amount))
    };
    assert_table(
        &[
            ("1500", Agrees),
            ("1500.00", Agrees),
            ("1500.0000", Agrees),
            ("1500.", Agrees),
            ("001500", Agrees),
            (" 1500 ", Agrees),
            ("+1500", Agrees),
            ("1,500", Agrees),
            ("1,500.00", Agrees),
            ("1 500.00", Agrees),
            ("1\u{202f}500,00", Agrees),
            ("1'500.00", Agrees),
            ("1.500,00", Agrees),
            ("1500,00", Agrees),
            ("1.5E3", Agrees),
            ("1.5e+3", Agrees),
            ("KES 1500", Agrees),
            ("1,500.00KES", Agrees),
            ("kes1500", Agrees),
            ("1,500/=", Agrees),
            // A thousand and a half, or one and a half: nobody knows.
            ("1.500", Unreadable),
            // One way only to read it, and another amount.
            ("1.00", Differs),
            ("1", Differs),
            ("1.500,50", Differs),
            ("1,501", Differs),
            ("15,00", Differs),
            ("150000", Differs),
            ("1500.01", Differs),
            ("1500.004", Differs),
            ("15.00", Differs),
            ("1.5E4", Differs),
            ("0", Differs),
            ("0.00", Differs),
            ("-1500", Differs),
            ("- 1500.00", Differs),
            ("KES 1.00", Differs),
            ("UGX 1500", Differs),
            ("1500 USD", Differs),
            ("99999999999999999999999999999999", Differs),
            ("", Unreadable),
            ("   ", Unreadable),
            ("-", Unreadable),
            (".", Unreadable),
            ("****", Unreadable),
            ("1***", Unreadable),
            ("XXXX", Unreadable),
            ("null", Unreadable),
            ("N/A", Unreadable),
            ("KSh 1,500.00", Agrees),
            ("Ksh. 1500", Agrees),
            ("1,500 shs", Agrees),
            ("Ksh 1.00", Differs),
            ("KSh90,000.00", Differs),
            ("Ksh.1500", Unreadable),
            ("Kshs ****", Unreadable),
            ("fifteen hundred", Unreadable),
            ("1500 to 1600", Unreadable),
            ("1,50,0", Unreadable),
            ("1 2 3", Unreadable),
            ("1.2.3,4,5", Unreadable),
            ("1500,00.00", Unreadable),
            ("1e999999999999", Unreadable),
            ("1e999", Unreadable),
            ("١٥٠٠", Unreadable),
        ],
        of("KES", "1500"),
    );
    assert_table(
        &[
            ("100", Agrees),
            ("100.00", Agrees),
            ("100.000", Agrees),
            ("100,000", Unreadable),
            ("10000", Differs),
            ("1000", Differs),
            ("100.5", Differs),
        ],
        of("KES", "100"),
    );
    assert_table(
        &[
            ("0.50", Agrees),
            (".5", Agrees),
            ("0,5", Agrees),
            ("5e-1", Agrees),
            ("50", Differs),
        ],
        of("KES", "0.50"),
    );
    assert_table(
        &[
            ("90,000.00", Agrees),
            ("90.000", Unreadable),
            ("90,00,000.00", Differs),
            ("1.00", Differs),
        ],
        of("KES", "90000"),
    );
    assert_table(
        &[
            ("12345678", Agrees),
            ("1,23,45,678", Agrees),
            ("1.2345678E7", Agrees),
        ],
        of("UGX", "12345678"),
    );
    assert_table(
        &[("1.234", Agrees), ("1,234", Unreadable), ("1234", Differs)],
        of("BHD", "1.234"),
    );
}

#[test]
fn a_number_of_json_has_a_decimal_point() {
    assert_table(
        &[
            ("1500", Agrees),
            ("1500.0", Agrees),
            ("1.5E3", Agrees),
            ("15e2", Agrees),
            ("150000e-2", Agrees),
            ("1.500", Differs),
            ("150000", Differs),
            ("-1500", Differs),
            ("0", Differs),
        ],
        |text| amount::compare(text, true, money("KES", "1500")),
    );
}

#[test]
fn currencies_are_codes_or_say_nothing() {
    assert_table(
        &[
            ("KES", Agrees),
            (" kes ", Agrees),
            ("UGX", Differs),
            ("usd", Differs),
            ("", Unreadable),
            ("KE", Unreadable),
            ("Ksh", Unreadable),
            ("404", Unreadable),
            ("***", Unreadable),
            ("Kenya shilling", Unreadable),
        ],
        |text| currency(text, Currency::from_code("KES").unwrap()),
    );
}

#[test]
fn numbers_may_be_local_and_may_be_hidden() {
    assert_table(
        &[
            ("254712345678", Agrees),
            ("+254712345678", Agrees),
            ("00254712345678", Agrees),
            ("+254 712 345 678", Agrees),
            ("+254-712-345-678", Agrees),
            ("(+254) 712 345678", Unreadable),
            ("0712345678", Agrees),
            ("0712 345 678", Agrees),
            ("712345678", Agrees),
            ("", Unreadable),
            ("0", Unreadable),
            ("000000000000", Unreadable),
            ("null", Unreadable),
            ("N/A", Unreadable),
            ("2547****5678", Unreadable),
            ("2547XXXX5678", Unreadable),
            ("2547....5678", Unreadable),
            ("2547----5678", Unreadable),
            ("07****5678", Unreadable),
            ("+2547***78", Unreadable),
            ("********5678", Unreadable),
            ("***678", Unreadable),
            ("****", Unreadable),
            ("2547*2345678", Unreadable),
            ("5678", Unreadable),
            ("345678", Unreadable),
            ("254712345678@bank", Unreadable),
            // What is seen of them is not ours.
            ("2547****5679", Differs),
            ("2567****5678", Differs),
            ("****1234", Differs),
            ("07****5679", Differs),
            ("2547*9345678", Differs),
            ("254712345679", Differs),
            ("0712345679", Differs),
            ("256712345678", Differs),
            ("25471234567", Differs),
            ("2547123456780", Differs),
            ("1234", Differs),
        ],
        |text| number::compare(text, Msisdn::from_digits("254712345678").unwrap(), kenya()),
    );
}

#[test]
fn accounts_are_numbers_of_phones_of_banks_or_of_meters() {
    assert_table(
        &[
            ("254712345678", Agrees),
            ("0712345678", Agrees),
            ("254700000001", Differs),
            ("2547****5678", Unreadable),
            ("", Unreadable),
        ],
        |text| number::compare_account(text, &recipient("254712345678")),
    );
    assert_table(
        &[
            ("254798765432", Agrees),
            ("0798765432", Agrees),
            ("254712345678", Differs),
        ],
        |text| number::compare_account(text, &recipient("254798765432")),
    );
    assert_table(
        &[
            ("0012345678901", Agrees),
            ("0012-3456-78901", Agrees),
            ("12345678901", Agrees),
            ("999/0012345678901", Unreadable),
            ("********8901", Unreadable),
            ("XXXXXXXXX8901", Unreadable),
            ("8901", Unreadable),
            ("0", Unreadable),
            ("", Unreadable),
            ("N/A", Unreadable),
            ("account", Unreadable),
            ("********8902", Differs),
            ("0012345678902", Differs),
            ("254712345678", Differs),
            ("7", Differs),
        ],
        |text| number::compare_account(text, &recipient("0012345678901")),
    );
    assert_table(
        &[
            ("AB-X12", Agrees),
            ("abx12", Agrees),
            ("AB-X13", Differs),
            ("words", Unreadable),
        ],
        |text| number::compare_account(text, &recipient("ABX12")),
    );
}

#[test]
fn one_value_that_differs_is_enough_and_two_that_agree_are_needed() {
    use Member::{Account, Amount, Currency, Msisdn};
    let judged = |values: &[(Member, &str)]| {
        let values: Vec<Named> = values.iter().map(|(m, text)| named(*m, text)).collect();
        judge(&values, &ours("254712345678"))
    };
    let ours_is = |values: &[(Member, &str)]| {
        let judgement = judged(values);
        assert_eq!(judgement.differs, None, "{values:?}");
        judgement.is_ours
    };
    assert!(!ours_is(&[]));
    assert!(!ours_is(&[(Amount, "1500")]));
    assert!(!ours_is(&[(Msisdn, "0712345678")]));
    assert!(!ours_is(&[(Amount, "1500"), (Currency, "KES")]));
    assert!(!ours_is(&[(Amount, "1500"), (Msisdn, "2547****5678")]));
    assert!(!ours_is(&[(Amount, "1.500"), (Msisdn, "0712345678")]));
    assert!(ours_is(&[(Amount, "1500"), (Msisdn, "0712345678")]));
    assert!(ours_is(&[(Account, "254712345678"), (Amount, "1,500")]));
    assert!(ours_is(&[
        (Amount, "1500"),
        (Msisdn, "2547****5678"),
        (Account, "0712345678"),
        (Currency, "KES"),
    ]));
    for (values, words) in [
        (
            &[(Amount, "1.00"), (Msisdn, "254712345678")][..],
            "the amount 1.00, ours is KES 1500.00",
        ),
        (
            &[(Amount, "1500"), (Currency, "UGX")],
            "the currency UGX, ours is KES",
        ),
        (
            &[(Amount, "1500"), (Amount, "1")],
            "the amount 1, ours is KES 1500.00",
        ),
        (
            &[(Msisdn, "254700000001")],
            "the number ********0001, ours is ********5678",
        ),
        (
            &[(Account, "77-1234")],
            "the account ***1234, ours is ********5678",
        ),
    ] {
        let judgement = judged(values);
        assert_eq!(judgement.differs.as_deref(), Some(words));
        assert!(!judgement.is_ours);
    }
}

#[test]
fn no_text_makes_it_fail() {
    for text in [
        "\u{feff}", "é", "…", "1é", "*é*", "+", "e", "1e", "e1", "-e-", "/=", "KES", "xx", "--",
        "+*",
    ] {
        for member in [
            Member::Amount,
            Member::Currency,
            Member::Msisdn,
            Member::Account,
        ] {
            for is_number in [false, true] {
                let named = Named {
                    is_number,
                    ..named(member, text)
                };
                let judgement = judge(&[named], &ours("ACC-1"));
                assert!(!judgement.is_ours, "{text:?}");
            }
        }
    }
}

#[test]
fn whom_a_forgotten_payment_is_of_is_known_by_its_pseudonym_or_not_at_all() {
    use Member::{Account, Amount, Msisdn};
    // As good as a pseudonym: it is compared, and never read.
    let is_ours = |text: &str| text == "254712345678";
    type Case<'c> = (&'c [(Member, &'c str)], (bool, bool, bool));
    let table: [Case<'_>; 11] = [
        // What is named, and whether it is ours, agrees, and cannot be compared.
        (&[], (false, false, false)),
        (&[(Amount, "1500")], (false, true, false)),
        (&[(Msisdn, "254712345678")], (false, true, false)),
        (
            &[(Amount, "1500"), (Msisdn, "0712 345 678")],
            (true, true, false),
        ),
        (
            &[(Amount, "1500"), (Account, "+254712345678")],
            (true, true, false),
        ),
        // One that is hidden in part says nothing beside one that is whole.
        (
            &[(Msisdn, "254712345678"), (Account, "****5678")],
            (false, true, false),
        ),
        (
            &[(Amount, "1500"), (Msisdn, "254700000001")],
            (false, false, true),
        ),
        (
            &[(Amount, "1500"), (Msisdn, "2547****5678")],
            (false, false, true),
        ),
        (&[(Account, "ACC-1")], (false, false, true)),
        // What stands for nothing.
        (&[(Amount, "1500"), (Msisdn, "000")], (false, true, false)),
        (&[(Amount, "1500"), (Msisdn, " ")], (false, true, false)),
    ];
    for (values, expected) in table {
        let values: Vec<_> = values.iter().map(|(m, text)| named(*m, text)).collect();
        let found = judge_forgotten(&values, (money("KES", "1500"), kenya()), is_ours);
        let told = (found.is_ours, found.agrees, found.uncompared);
        assert_eq!(told, expected, "{values:?}");
        assert_eq!(found.disbelieved(false), None, "{values:?}");
        let held = found.disbelieved(true).is_some();
        assert_eq!(held, found.uncompared, "{values:?}");
    }
    // Another amount is another payment, whoever it is of.
    let values = [named(Amount, "1"), named(Msisdn, "254712345678")];
    let found = judge_forgotten(&values, (money("KES", "1500"), kenya()), is_ours);
    assert!(found.disbelieved(false).is_some());
}
