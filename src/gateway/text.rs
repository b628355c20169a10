//! Texts from outside, made safe to keep and to show.

/// The longest text that is kept, in characters.
const LENGTH_MAX: usize = 512;

/// Returns the text without control and direction-changing characters, trimmed, at most [`LENGTH_MAX`] characters.
pub(super) fn clean(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() && !is_directional(*c))
        .take(LENGTH_MAX)
        .collect::<String>()
        .trim()
        .to_owned()
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
        assert_eq!(clean(" a\u{1b}[31mb\r\n\u{9b}c\u{202e} "), "a[31mbc");
        assert_eq!(clean(&"ü".repeat(9_999)).chars().count(), LENGTH_MAX);
    }
}
