use proptest::prelude::*;

use super::*;

const A: &str = "12345678901234567890";
const B: &str = "09876543210987654321";

#[test]
fn tokens_and_units_are_read_from_every_known_form() {
    for (text, tokens, units) in [
        (A, A, ""),
        ("1234 5678 9012 3456 7890", A, ""),
        ("1234-5678-9012-3456-7890", A, ""),
        ("12345 67890 12345 67890", A, ""),
        ("Token: 1234 5678 9012 3456 7890 Units: 32.5", A, "32.5"),
        ("Token:12345678901234567890,Units:32.50kWh", A, "32.50"),
        (
            "Token 1234-5678-9012-3456-7890, 1,234.5 kWh, KES 30,000.00",
            A,
            "1234.5",
        ),
        ("Units=18 Token=12345678901234567890", A, "18"),
        (
            "Your token is 12345678901234567890. You bought 12.4 units. Thank you.",
            A,
            "12.4",
        ),
        (
            "Token for meter 54161234567 is 1234 5678 9012 3456 7890",
            A,
            "",
        ),
        (
            "Receipt: 11112222333344445555 Token: 12345678901234567890",
            A,
            "",
        ),
        (
            "Token: 12345678901234567890 Receipt: 11112222333344445555",
            A,
            "",
        ),
        ("12345678901234567890, 32.5", A, ""),
        ("12345678901234567890, 32.5 kWh", A, "32.5"),
        (
            "Token: 12345678901234567890 Units: 2.512345678901234567890",
            A,
            "",
        ),
        (
            "12345678901234567890, 09876543210987654321",
            "12345678901234567890, 09876543210987654321",
            "",
        ),
        (
            "Token 1: 1234 5678 9012 3456 7890, Token 2: 0987 6543 2109 8765 4321, Units: 10.0, Units: 5.5",
            "12345678901234567890, 09876543210987654321",
            "10.0, 5.5",
        ),
        (
            "KCT1: 12345678901234567890 KCT2: 09876543210987654321",
            "12345678901234567890, 09876543210987654321",
            "",
        ),
        (
            r#"{"token":"1234-5678-9012-3456-7890","units":"32.5","receiptNo":"11112222333344445555"}"#,
            A,
            "32.5",
        ),
        (
            r#"{"stsToken": 12345678901234567890, "units": 7, "meterNumber": "54161234567"}"#,
            A,
            "7",
        ),
        (
            r#"{"tokens":["12345678901234567890","09876543210987654321"],"kwh":3.25}"#,
            "12345678901234567890, 09876543210987654321",
            "3.25",
        ),
        (
            "Token: 12345678901234567890 (repeat: 12345678901234567890)",
            A,
            "",
        ),
        // Lines: a break ends a number, and a token may be broken.
        ("12345678901234567890\nUnits: 32.5", A, "32.5"),
        (
            "Token\r\n1234 5678 9012\r\n3456 7890\r\nUnits 32.5",
            A,
            "32.5",
        ),
        ("Token: 1234-5678-9012-\n3456-7890\n", A, ""),
        ("Token: 1234567890\n1234567890", A, ""),
        ("1234\n5678\n9012\n3456\n7890", A, ""),
        ("1234\t5678\u{a0}9012 3456 7890", A, ""),
        ("1000\n12345678901234567890\n254712345678", A, ""),
        ("Amount 1000\n1234 5678 9012 3456 7890\n2026", A, ""),
        (
            "12345678901234567890\n09876543210987654321",
            "12345678901234567890, 09876543210987654321",
            "",
        ),
        // JSON, in a text, in a text.
        (
            r#"{"text":"Token:\n1234 5678 9012\n3456 7890\r\nUnits: 32.5\n"}"#,
            A,
            "32.5",
        ),
        (
            r#"{"data":"{\"token\":\"1234-5678-9012-3456-7890\",\"units\":\"32.5\"}"}"#,
            A,
            "32.5",
        ),
        (
            r#"["{\"lines\":[\"Token: \\n12345678901234567890\\nUnits: 7\"]}"]"#,
            A,
            "7",
        ),
        (r#"{"a":[{"stsToken":12345678901234567890},null]}"#, A, ""),
        (r#""\u0031\u0032345678901234567890""#, A, ""),
    ] {
        let read = Electricity::read(text).unwrap_or_else(|| panic!("nothing in {text}"));
        assert_eq!(
            (read.token_text().as_str(), read.units_text().as_str()),
            (tokens, units),
            "{text}"
        );
    }
}

#[test]
fn what_is_unclear_is_left_alone() {
    for text in [
        "",
        "Paid",
        "Units: 32.5",
        "1234567890123456789",
        "123456789012345678901",
        "A12345678901234567890",
        "12345678901234567890X",
        "KES 1000 1234 5678 9012 3456 7890",
        "123 4567 8901 2345 67890",
        "Receipt: 12345678901234567890",
        "transactionId 12345678901234567890",
        "Token: pending",
        "1.2345678901234567890",
        "1000\n1234567890123456",
        "1000\n1234 5678 9012 3456 789",
        "1000\n1234 5678 9012 3456\n7890",
        "123456789012345678\n90",
        "Token: 1234567890\n12345678901",
        r"1234567890\1234567890",
    ] {
        assert_eq!(Electricity::read(text), None, "{text}");
    }
    assert_eq!(
        Electricity::read(&format!("{A}{}", " ".repeat(TEXT_MAX))),
        None
    );
    let many: Vec<String> = (0..11).map(|n| format!("{n:020}")).collect();
    assert_eq!(Electricity::read(&many.join(", ")), None);
    let _awake = crate::seeded_bugs::SeededBug::GluedDigitsAreToken.wake();
    let read = Electricity::read("12345678901234567890X");
    assert!(read.is_some(), "the table finds it");
}

#[test]
fn a_token_is_not_shown_unasked() {
    let read = Electricity::read(&format!("Token: {A}, {B} Units: 3")).unwrap();
    assert_eq!(read.masked(), "****************7890, ****************4321");
    let debug = format!("{read:?}");
    assert!(!debug.contains("7890"), "{debug}");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in r"(\PC|[0-9]{1,21}|token|units|kWh|[ ,.\-:{}\x22]){0,40}") {
        if let Some(read) = Electricity::read(&text) {
            for token in read.tokens() {
                prop_assert!(token.len() == TOKEN_DIGITS && token.bytes().all(|byte| byte.is_ascii_digit()));
            }
        }
    }

    #[test]
    fn a_token_is_found_however_it_is_broken_over_lines(
        digits in "[0-9]{20}",
        size in prop::sample::select(vec![4_usize, 5]),
        breaks in proptest::collection::vec(prop::sample::select(vec![" ", "-", "\n", "\r\n", " \n "]), 4),
    ) {
        let mut text = String::from("Token: ");
        for (n, at) in (0..20).step_by(size).enumerate() {
            let gap = if n == 0 { "" } else { breaks[n - 1] };
            text.push_str(gap);
            text.push_str(&digits[at..at + size]);
        }
        let read = |text: &str| Electricity::read(text).map(|read| read.token_text());
        prop_assert_eq!(read(&text), Some(digits.clone()));
        let json = serde_json::json!({"narration": text, "code": 0}).to_string();
        prop_assert_eq!(read(&json), Some(digits.clone()));
        let twice = serde_json::json!([json]).to_string();
        prop_assert_eq!(read(&twice), Some(digits));
    }

    #[test]
    fn numbers_in_lines_of_their_own_are_not_joined(
        token in "[0-9]{20}",
        above in "[0-9]{1,16}",
        below in "[0-9]{1,16}",
    ) {
        let read = Electricity::read(&format!("{above}\n{token}\n{below}"));
        prop_assert_eq!(read.map(|read| read.token_text()), Some(token));
    }

    #[test]
    fn a_token_is_found_however_it_is_grouped(digits in "[0-9]{20}", size in prop::sample::select(vec![4_usize, 5, 20]), dash in any::<bool>()) {
        let groups: Vec<&str> = (0..20).step_by(size).map(|at| &digits[at..at + size]).collect();
        let text = format!("Token: {}", groups.join(if dash { "-" } else { " " }));
        prop_assert_eq!(Electricity::read(&text).map(|read| read.token_text()), Some(digits));
    }
}
