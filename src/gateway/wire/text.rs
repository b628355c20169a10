//! Texts from outside, made safe to keep and to show.

/// The longest text that is kept, in characters.
const LENGTH_MAX: usize = 512;

/// Returns the text without control and direction-changing characters, trimmed, at most [`LENGTH_MAX`] characters.
pub(in crate::gateway) fn clean(text: &str) -> String {
    // Almost every text is such a one.
    let printable = text.len() <= LENGTH_MAX && text.bytes().all(is_printable);
    if printable {
        return text.trim().to_owned();
    }
    text.chars()
        .filter(|c| is_harmless(*c))
        .take(LENGTH_MAX)
        .collect::<String>()
        .trim()
        .to_owned()
}

/// Returns a text as it came, at most `bytes_max` bytes: words stay apart, and nothing in it steers a screen.
pub(in crate::gateway) fn kept_whole(text: &str, bytes_max: usize) -> String {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    // Almost every text is such a one.
    if text.bytes().all(is_printable) {
        return text.to_owned();
    }
    // Line breaks are a part of it: they tell where one number ends and the next one begins.
    let apart = |c: char| match c {
        '\n' | '\r' | '\t' => c,
        c if is_harmless(c) => c,
        _ => ' ',
    };
    text.chars().map(apart).collect()
}

/// Returns a longer text on one line, with the same characters left out, at most `bytes_max` bytes.
pub(in crate::gateway) fn printable(text: &str, bytes_max: usize) -> String {
    let mut kept = String::with_capacity(text.len().min(bytes_max));
    let one_line = text.chars().map(|c| match c {
        '\n' | '\r' | '\t' => ' ',
        other => other,
    });
    for c in one_line.filter(|c| is_harmless(*c)) {
        if kept.len() + c.len_utf8() > bytes_max {
            break;
        }
        kept.push(c);
    }
    kept.trim().to_owned()
}

fn is_printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

fn is_harmless(c: char) -> bool {
    !c.is_control() && !is_directional(c)
}

// They reorder what follows them on a screen: digits of an amount, for example.
fn is_directional(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_bounded_and_cannot_steer_a_terminal() {
        assert_eq!(clean(" a b~ "), "a b~");
        assert_eq!(clean("a\u{7f}b"), "ab");
        assert_eq!(clean(&"a".repeat(9_999)).len(), LENGTH_MAX);
        assert_eq!(clean(" a\u{1b}[31mb\r\n\u{9b}c\u{202e} "), "a[31mbc");
        assert_eq!(clean(&"ü".repeat(9_999)).chars().count(), LENGTH_MAX);
        assert_eq!(
            printable("{\n\t\"a\": \u{1b}1\u{202e}}\r\n", 99),
            "{  \"a\": 1}"
        );
        assert_eq!(printable(&"ü".repeat(9), 7), "üüü");
        assert_eq!(
            kept_whole(" 12\r\n34\t\u{1b}56\u{202e}78 ", 99),
            " 12\r\n34\t 56 78 "
        );
        assert_eq!(kept_whole(&"ü".repeat(9), 7), "üüü");
    }
}
