//! Texts from outside, made fit for a terminal.

use crate::gateway::offline::{clean, printable};
use crate::intake::offline::quoted;

/// What is shown is one bounded line without control characters, and nothing else is lost.
pub fn terminal(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let cleaned = clean(&text);
    super::assert_shown(&cleaned, 512 * 4);
    assert!(cleaned.chars().count() <= 512);
    assert_eq!(clean(&cleaned), cleaned, "cleaned twice");
    let plain = |c: char| c == ' ' || c.is_ascii_graphic();
    if text.chars().all(plain) && text.len() <= 512 {
        assert_eq!(cleaned, text.trim());
    }
    for most in [0, 7, 64 * 1024] {
        let line = printable(&text, most);
        super::assert_shown(&line, most);
        assert!(
            most < text.len()
                || text.contains(line.split(' ').next().unwrap())
                || !text.chars().all(plain)
        );
    }
    // Sixty characters, each at most an escape such as \u{10ffff}.
    super::assert_shown(&quoted(&text), 60 * 10 + 5);
}
