//! How a layout names values of a column: one language for `skip`, `refuse`, `values` and `is`.
//!
//! ```text
//! "On hold"         that text
//! ""                an empty cell
//! "*"               any text, and not an empty cell
//! "Prepared by: *"  a text that begins so; "*@*" one with an @; "* Ltd" one that ends so
//! ```

/// What any value but an empty one is written as.
pub(super) const ANY: &str = "*";

/// Returns whether a cell, without blanks around it, is the value that a layout names.
pub(super) fn is_value(cell: &str, value: &str) -> bool {
    cell == value
        || match value {
            ANY => !cell.is_empty(),
            _ if only_stars(value) => false,
            _ => is_like(cell, value),
        }
}

/// Returns whether a cell says what a layout does not pay, as a person reads both.
pub(super) fn is_said(cell: &str, value: &str) -> bool {
    is_value(cell, value) || !value.is_empty() && is_value(&folded(cell), &folded(value))
}

/// Returns a text as a person reads it: letter case, the number of blanks and an apostrophe in front make no other word. Whoever is on hold
/// is not paid because somebody wrote ON HOLD.
fn folded(text: &str) -> String {
    let text = text.strip_prefix('\'').unwrap_or(text).to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a cell is like a text in which each star stands for any characters, or none.
fn is_like(cell: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return false;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let within = cell
        .strip_prefix(first)
        .and_then(|left| left.strip_suffix(last));
    let Some(mut left) = within else {
        return false;
    };
    for part in middle.split('*') {
        match left.split_once(part) {
            Some((_, behind)) => left = behind,
            None => return false,
        }
    }
    true
}

fn only_stars(value: &str) -> bool {
    value.len() > 1 && value.bytes().all(|byte| byte == b'*')
}

/// Returns what is expected instead of a value that no cell can ever have.
pub(super) fn problem_of(value: &str) -> Option<String> {
    if only_stars(value) {
        return Some(format!(
            "\"*\" for any text, instead of {value:?}, which no cell has"
        ));
    }
    (value.trim() != value).then(|| {
        format!(
            "{:?} without spaces around it, as cells are compared without them",
            value.trim()
        )
    })
}

/// Returns whether it says what earlier releases took for a text as it stands: a layout with it reads files otherwise since.
pub(super) fn is_newer(value: &str) -> bool {
    let within = value
        .strip_prefix('*')
        .and_then(|rest| rest.strip_suffix('*'));
    let was_known = value == ANY || within.is_some_and(|part| !part.contains('*'));
    value.contains('*') && !was_known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_as_they_are_written() {
        for (cell, value, expected) in [
            ("a", "a", true),
            ("A", "a", false),
            ("a", "*", true),
            ("", "*", false),
            ("", "", true),
            ("a", "", false),
            ("a@b", "*@*", true),
            ("@", "*@*", true),
            ("ab", "*@*", false),
            ("ab", "**", false),
            ("Prepared by: J. Mwangi", "Prepared by: *", true),
            ("Prepared by:", "Prepared by:*", true),
            ("Not prepared by: me", "Prepared by: *", false),
            ("Prepared by: *", "Prepared by: *", true),
            ("Umoja Tea Ltd", "* Ltd", true),
            ("Ltd", "* Ltd", false),
            ("Umoja Tea Ltd.", "* Ltd", false),
            ("aba", "ab*ba", false),
            ("abba", "ab*ba", true),
            ("a-b-c", "a*b*c", true),
            ("a-c-b", "a*b*c", false),
            ("xaxbx", "*a*b*", true),
            ("xbxax", "*a*b*", false),
        ] {
            assert_eq!(is_value(cell, value), expected, "{cell:?} {value:?}");
        }
    }

    #[test]
    fn what_no_cell_can_be_is_told_with_what_was_meant() {
        for (value, expected) in [
            ("", None),
            ("*", None),
            ("On hold", None),
            ("Prepared by: *", None),
            ("**", Some("\"*\" for any text")),
            ("***", Some("\"*\" for any text")),
            (" On hold", Some("\"On hold\" without spaces")),
            ("On hold\u{a0}", Some("\"On hold\" without spaces")),
            (" ", Some("\"\" without spaces")),
        ] {
            let found = problem_of(value);
            match expected {
                None => assert_eq!(found, None, "{value:?}"),
                Some(part) => {
                    assert!(
                        found.as_ref().is_some_and(|found| found.contains(part)),
                        "{value:?}: {found:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn only_what_reads_otherwise_since_is_newer() {
        for (value, expected) in [
            ("", false),
            ("a", false),
            ("*", false),
            ("*@*", false),
            ("a*", true),
            ("*a", true),
            ("a*b", true),
            ("*a*b*", true),
        ] {
            assert_eq!(is_newer(value), expected, "{value:?}");
        }
    }

    #[test]
    fn who_is_not_paid_is_told_as_a_person_reads_it() {
        for (cell, value, expected) in [
            ("On hold", "On hold", true),
            ("ON  HOLD", "On hold", true),
            ("'On hold", "On hold", true),
            ("On\u{a0}hold", "On hold", true),
            ("Not on hold", "On hold", false),
            ("VENMO", "venmo", true),
            ("TRUE", "true", true),
            ("PREPARED BY: J.", "Prepared by: *", true),
            ("", "*", false),
            ("'", "", false),
            ("x", "", false),
        ] {
            assert_eq!(is_said(cell, value), expected, "{cell:?} {value:?}");
        }
    }
}
