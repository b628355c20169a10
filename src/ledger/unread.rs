//! Rejected rows that could not be read whole: their text is kept, and none of their cells. What was read before the break is no row: it may pass
//! as one, and pay another amount to somebody else.

/// Under this name the text of a row is kept that could not be read whole, in the place of its cells.
pub const UNREAD: &str = "raw";

/// Returns whether a rejected row could not be read whole, by its errors: earlier releases have kept what they had read before the break
/// as its cells.
#[must_use]
pub fn is_unread(errors: &str) -> bool {
    const SAID: [&str; 9] = [
        "is not one valid JSON object",
        " cells as in the header, found ",
        "text follows the closing quote",
        " bytes in a row, found ",
        " bytes in a cell, found ",
        "the member stands twice in the object",
        "unknown member ",
        "has a member without a name",
        "expected a text or a number, found ",
    ];
    SAID.into_iter().any(|said| errors.contains(said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_earlier_releases_say_of_such_rows_is_known() {
        for (errors, expected) in [
            ("expected 3 cells as in the header, found 4", true),
            (
                "is not one valid JSON object: expected `,` or `}`, at line 1, column 9, found \"{\"",
                true,
            ),
            (
                "text follows the closing quote in amount; a quote inside a quoted cell is written twice",
                true,
            ),
            ("expected at most 65536 bytes in a row, found 70000", true),
            (
                "narration: expected at most 4096 bytes in a cell, found 5000",
                true,
            ),
            ("amount: the member stands twice in the object", true),
            (
                "unknown member \"acount\", found \"1\"; amount: expected more than 0",
                true,
            ),
            (
                "msisdn: expected 12 digits for KE, found 6 (\"254712\")",
                false,
            ),
            (
                "amount: has thousands separators; write 1500 (\"1,500\")",
                false,
            ),
            ("", false),
        ] {
            assert_eq!(is_unread(errors), expected, "{errors}");
        }
    }
}
