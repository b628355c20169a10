//! Which of the gateway's identifiers of a payment is kept: a text that stands for nothing replaces none.
//!
//! A status reply or a callback may leave `gatewayTransactionID` empty, or fill it with a word for nothing. The questions that
//! follow name the identifier that is kept, and a person asks the gateway's operator about it: it must not be lost to such a
//! word. One that is really another is taken from later words while the payment is open, as a second post may have a
//! transaction of its own; after the end, words only fill gaps. The evidence keeps every one of them.

/// Words that systems write where there is nothing.
const NOTHING: [&str; 9] = [
    "null",
    "nil",
    "none",
    "undefined",
    "n/a",
    "na",
    "nan",
    "false",
    "unknown",
];

/// Returns what is to be kept of a `gatewayTransactionID` that was just told; `None` where it stands for nothing.
#[must_use]
pub fn worth_keeping(told: Option<&str>) -> Option<&str> {
    told.filter(|text| !stands_for_nothing(text))
}

fn stands_for_nothing(text: &str) -> bool {
    let text = text.trim();
    // 0, 000, 0.0, -, --, and nothing at all; -1 is what databases write for "none".
    text.chars()
        .all(|c| matches!(c, '0' | '.' | '-' | '_' | '?'))
        || text == "-1"
        || NOTHING.iter().any(|word| text.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_nothing_is_not_kept() {
        for told in [
            "",
            " ",
            "0",
            " 0 ",
            "000",
            "0.0",
            "-",
            "--",
            "-1",
            "null",
            "NULL",
            "Nil",
            "none",
            "undefined",
            "N/A",
            "na",
            "NaN",
            "false",
            "Unknown",
            "00000000-0000-0000-0000-000000000000",
        ] {
            assert_eq!(worth_keeping(Some(told)), None, "{told:?}");
        }
        assert_eq!(worth_keeping(None), None);
    }

    #[test]
    fn what_names_a_transaction_is_kept_as_it_is() {
        for told in [
            "1",
            "10",
            "-10",
            "001",
            "0x0",
            "1.0",
            "nullable",
            "NONE-1",
            "N/A 7",
            "9007199254740993",
            "T0",
        ] {
            assert_eq!(worth_keeping(Some(told)), Some(told));
        }
    }
}
