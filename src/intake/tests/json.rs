//! Shapes of JSON.

use super::*;

const ROW: &str = r#"{"service_code":"B2C_MPESA","msisdn":254712345678,"amount":1500.50}"#;

fn with(members: &str) -> String {
    ROW.replace('}', &format!(",{members}}}"))
}

#[test]
fn an_array_and_lines_give_the_same_rows() {
    let array = format!("\u{feff} [\n {ROW} ,\r\n\n{ROW}\n]\n ");
    let lines = format!("{ROW}\r\n\n  {ROW}  ");
    for (file, expected) in [(array, [2, 4]), (lines, [1, 3])] {
        let rows = read(file);
        let found: Vec<u64> = rows.iter().map(|row| good(row).line).collect();
        assert_eq!(found, expected);
        assert_eq!(good(&rows[0]).money.to_string(), "1500.50");
        assert_eq!(good(&rows[0]).msisdn.as_str(), "254712345678");
    }
}

#[test]
fn an_object_over_several_lines_is_one_row_of_an_array() {
    let rows = read(
        "[{\n\"service_code\": \"B2C_MPESA\",\n\"msisdn\": \"0712345678\",\n\"amount\": \"50\"},\n{\"amount\":1}]",
    );
    assert_eq!(good(&rows[0]).line, 1);
    assert!(errors(&rows)[0].starts_with("5: "));
}

#[test]
fn members_that_do_not_fit_are_named() {
    let long = format!("\"narration\":\"{}\"", "x".repeat(5000));
    for (members, expected) in [
        (
            r#""narration":true"#,
            r#"narration: expected a text or a number, found a boolean ("true")"#,
        ),
        (
            r#""narration":{"a":1}"#,
            "narration: expected a text or a number, found an object",
        ),
        (
            r#""narration":[]"#,
            "narration: expected a text or a number, found an array",
        ),
        (
            r#""narration":"\ud800""#,
            "narration: expected a text or a number, found half a character",
        ),
        (
            r#""narration":"a\u0007""#,
            "narration: must not contain the character U+0007",
        ),
        (
            r#""narration":"a","narration":"a""#,
            "narration: the member stands twice in the object",
        ),
        (
            r#""extra.a":"1","extra":{"a":"2"}"#,
            "extra.a: stands twice",
        ),
        (r#""extra":"a""#, "extra: expected an object of texts"),
        (
            r#""extra":{"a":[1]}"#,
            "extra.a: expected a text or a number, found an array",
        ),
        (
            r#""extra.callbackUrl":"x""#,
            "extra.callbackUrl: this member",
        ),
        (
            r#""naration":"x""#,
            r#"1: unknown member "naration" (did you mean "narration"?), found "x""#,
        ),
        (r#""":"x""#, "1: has a member without a name"),
        (
            &long,
            "narration: expected at most 4096 bytes in a cell, found 5000",
        ),
        // What this program writes beside a row that is to be mended; in a file of somebody else it may be why nobody is to be paid.
        (
            r#""reason":"resigned: do not pay""#,
            "unknown member \"reason\", found \"resigned: do not pay\"",
        ),
    ] {
        let found = errors(&read(with(members)));
        assert!(
            found.len() == 1 && found[0].contains(expected),
            "{members}: {found:?}"
        );
    }
    for (members, extra) in [
        (r#""narration":null"#, &[][..]),
        (r#""extra":{}"#, &[]),
        (
            r#""extra":{"a":"x","b":12.50,"c":null},"extra.d":"y""#,
            &[("a", "x"), ("b", "12.50"), ("d", "y")],
        ),
    ] {
        let rows = read(with(members));
        let found: Vec<(&str, &str)> = good(&rows[0])
            .extra
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect();
        assert_eq!(found, extra, "{members}");
    }
    let found = errors(&read(ROW.replace("1500.50", "1.5005e3")));
    assert!(
        found[0].contains("amount: is in scientific notation"),
        "{found:?}"
    );
}

#[test]
fn two_members_that_are_the_same_column_are_an_error() {
    let rows = read(with(r#""Narration":"a","NARRATION":"b""#));
    assert_eq!(
        errors(&rows),
        ["1: narration: the member stands twice in the object, here as \"NARRATION\""]
    );
}

#[test]
fn malformed_rows_are_errors_and_the_next_row_is_read() {
    for (row, expected) in [
        (
            "{\"msisdn\":1,}",
            "2: is not one valid JSON object: trailing comma, at line 2, column 13, found \"{\"msisdn\":1,}\"",
        ),
        (
            "{msisdn:1}",
            "2: is not one valid JSON object: key must be a string",
        ),
        (
            "{\"msisdn\":01}",
            "2: is not one valid JSON object: invalid number",
        ),
        ("{\"msisdn\":NaN}", "2: is not one valid JSON object"),
        (
            "[1]",
            "2: is not one valid JSON object: invalid type: sequence, expected an object",
        ),
        (
            "12",
            "2: is not one valid JSON object: invalid type: integer",
        ),
        (
            "\"a, b\"",
            "2: is not one valid JSON object: invalid type: string",
        ),
        (
            "null",
            "2: is not one valid JSON object: invalid type: null",
        ),
        ("{]", "2: is not one valid JSON object"),
    ] {
        for file in [
            format!("[{ROW},\n{row},\n{ROW}]"),
            format!("{ROW}\n{row}\n{ROW}"),
        ] {
            let rows = read(file);
            assert_eq!(rows.len(), 3);
            let found = errors(&rows);
            assert!(
                found.len() == 1 && found[0].starts_with(expected),
                "{row}: {found:?}"
            );
            assert_eq!(good(&rows[2]).line, 3);
        }
    }
}

#[test]
fn broken_files_are_refused_at_their_line() {
    for (file, expected) in [
        (
            format!("[{ROW}\n{ROW}]"),
            "2: is not valid JSON: expected a comma",
        ),
        (
            format!("[{ROW},\n]"),
            "2: is not valid JSON: expected an object",
        ),
        ("[,]".to_owned(), "1: is not valid JSON: expected an object"),
        (
            format!("[{ROW}\n"),
            "2: is not valid JSON: the array is not closed",
        ),
        (
            format!("[{ROW}]\nx"),
            "2: is not valid JSON: expected the end of the file",
        ),
        (
            format!("[{ROW},\n{{\"a\":1"),
            "2: is not valid JSON: the row that begins in this line is not closed",
        ),
        (
            format!("[{ROW},\n{{\"a\":\"b\n}}]"),
            "2: is not valid JSON: a text is not closed in its line",
        ),
        (
            format!("[{ROW}}}]"),
            "1: is not valid JSON: expected an object",
        ),
        (
            "{\n\"a\": 1}".to_owned(),
            "1: is not valid JSON: the first object does not end in its line",
        ),
        ("[]".to_owned(), "holds no payments"),
    ] {
        let found = refused(file);
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn a_long_row_is_an_error_of_its_row() {
    let long = with(&format!("\"narration\":\"{}\"", "é".repeat(5 << 20)));
    for file in [format!("[{long},\n{ROW}]"), format!("{long}\n{ROW}\n")] {
        let rows = read(file);
        assert!(
            errors(&rows)[0].starts_with("1: expected at most 65536 bytes in a row, found 104858")
        );
        good(&rows[1]);
    }
}
