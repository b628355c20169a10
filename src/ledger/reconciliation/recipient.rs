//! Numbers and accounts, reduced to what two ways of writing them have in common.

/// The last digits of a phone number, which every way of writing it has.
const TELLING: usize = 9;

/// Shorter ones tell nobody apart.
const LEAST: usize = 6;

/// Returns what lines and payments to the same recipient share: the last nine digits of a number, or the account in capitals;
/// `None` where the text names nobody. Whoever finds two alike compares them in full.
#[must_use]
pub fn recipient_key(text: &str) -> Option<String> {
    let is_filler = |c: char| c.is_whitespace() || matches!(c, '+' | '-' | '(' | ')' | '.');
    let text = text.trim();
    if text.chars().all(|c| c.is_ascii_digit() || is_filler(c)) {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        return of_word(&digits);
    }
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let told = |word: &&str| word.len() >= LEAST && word.bytes().any(|b| b.is_ascii_digit());
    let longest = words.filter(told).max_by_key(|word| word.len())?;
    of_word(longest)
}

fn of_word(word: &str) -> Option<String> {
    if word.len() < LEAST {
        return None;
    }
    let from = match word.bytes().all(|b| b.is_ascii_digit()) {
        true => word.len().saturating_sub(TELLING),
        false => 0,
    };
    Some(word[from..].to_ascii_uppercase())
}
