//! Texts that look the same and are not: two references that a person cannot tell apart would be two payments of one debt.
//!
//! A reference is taken as it stands or refused, never rewritten: its identifier is made from it. So every reference must be
//! in the normal form, in which what looks the same is the same.

use std::borrow::Cow;
use std::fmt;

use unicode_normalization::UnicodeNormalization as _;

/// What keeps a text from being in the normal form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// A character that is not seen, or only moves others about.
    Invisible(char),
    /// A blank that is not the space.
    Blank(char),
    /// Letters with accents that are written in another way than most programs do.
    Composition,
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invisible(c) => {
                write!(f, "holds the invisible character U+{:04X}", u32::from(*c))
            }
            Self::Blank(c) => write!(f, "holds the special blank U+{:04X}", u32::from(*c)),
            Self::Composition => f.write_str("holds an accent as a character of its own"),
        }?;
        f.write_str(", so another reference may look the same; type it again")
    }
}

/// Returns what keeps a text from its normal form, the first that there is.
#[must_use]
pub fn oddity(text: &str) -> Option<Oddity> {
    if text.is_ascii() {
        return None;
    }
    let odd = text.chars().find_map(|c| {
        if is_invisible(c) {
            Some(Oddity::Invisible(c))
        } else if c.is_whitespace() && !c.is_ascii() {
            Some(Oddity::Blank(c))
        } else {
            None
        }
    });
    let odd = odd.or_else(|| (!text.chars().eq(text.nfc())).then_some(Oddity::Composition));
    planted!(ledger::oddity(odd))
}

/// Returns what a reader who does not care about letter case takes a name for.
#[must_use]
pub fn folded(name: &str) -> String {
    if name.is_ascii() {
        return name.trim().to_ascii_lowercase();
    }
    let seen: String = name.chars().filter(|c| !is_invisible(*c)).collect();
    // Through capitals, as readers compare: of U+017F and U+212A both small letters are the same, and the capitals not.
    let folded = seen
        .nfkc()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase);
    folded.collect::<String>().trim().to_owned()
}

/// Returns what a person takes a name for: its words in any order, without case, blanks, full stops, and apostrophes of any form.
#[must_use]
pub fn of_name(name: &str) -> String {
    let plain: String = folded(name)
        .chars()
        .filter(|c| {
            !matches!(
                c,
                '\'' | '`' | '\u{b4}' | '\u{2018}' | '\u{2019}' | '\u{2bc}'
            )
        })
        .collect();
    let mut words: Vec<&str> = plain
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.sort_unstable();
    words.join(" ")
}

/// Returns what a person takes a reference for: letter case, the form of letters and dashes, blanks that part no digits, and the
/// leading zeros of a number do not make another one, nor does what a spreadsheet or a program makes of it: `12.0` for `12`, an
/// apostrophe in front of a text. It is for comparing alone.
#[must_use]
pub fn of_reference(reference: &str) -> String {
    let has_blank = || reference.bytes().any(|byte| byte.is_ascii_whitespace());
    let text = match reference.is_ascii() && !has_blank() {
        true => reference.to_ascii_lowercase(),
        false => without_blanks(&folded(reference)),
    };
    let text = text.strip_prefix('\'').map_or(text.as_str(), |plain| plain);
    let text = without_fraction(text);
    match text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => without_zeros(Cow::Borrowed(text)).into_owned(),
        false => text.to_owned(),
    }
}

/// Drops the zeros behind the point of a whole number.
fn without_fraction(text: &str) -> &str {
    match text.split_once('.') {
        Some((whole, zeros))
            if !whole.is_empty()
                && !zeros.is_empty()
                && whole.bytes().all(|byte| byte.is_ascii_digit())
                && zeros.bytes().all(|byte| byte == b'0') =>
        {
            whole
        }
        _ => text,
    }
}

/// Returns what a number of a wallet, a meter or an account comes to, however it is written: separators do not count, nor do
/// the leading zeros where it holds digits alone.
#[must_use]
pub fn of_account(account: &str) -> Cow<'_, str> {
    if account.bytes().all(|byte| byte.is_ascii_digit()) {
        return without_zeros(Cow::Borrowed(account));
    }
    let mut text = folded(account);
    text.retain(|c| !is_separator(c));
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => without_zeros(Cow::Owned(text)),
        false => Cow::Owned(text),
    }
}

/// Returns an account as its holder knows it: without separators, and with every zero in front, which at some bank makes another
/// account.
#[must_use]
pub fn of_account_in_full(account: &str) -> String {
    let mut text = folded(account);
    text.retain(|c| !is_separator(c));
    text
}

fn is_separator(c: char) -> bool {
    is_dash(c) || c.is_whitespace() || matches!(c, '.' | '/' | '_' | '+')
}

/// Drops blanks, but for one between two digits: `1 12` is not `11 2`. Every dash is the plain one.
fn without_blanks(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut after_blank = false;
    for c in text.chars() {
        if c.is_whitespace() {
            after_blank = true;
            continue;
        }
        let parts_digits = c.is_ascii_digit() && kept.ends_with(|last: char| last.is_ascii_digit());
        if std::mem::take(&mut after_blank) && parts_digits {
            kept.push(' ');
        }
        kept.push(if is_dash(c) { '-' } else { c });
    }
    kept
}

fn without_zeros(digits: Cow<'_, str>) -> Cow<'_, str> {
    match digits.bytes().take_while(|byte| *byte == b'0').count() {
        0 => digits,
        zeros => {
            // Of nothing but zeros one stays.
            let from = zeros.min(digits.len().saturating_sub(1));
            match digits {
                Cow::Borrowed(digits) => Cow::Borrowed(&digits[from..]),
                Cow::Owned(digits) => Cow::Owned(digits[from..].to_owned()),
            }
        }
    }
}

fn is_dash(c: char) -> bool {
    matches!(
        c,
        '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{FE58}' | '\u{FE63}' | '\u{FF0D}'
    )
}

/// Zero-width and direction marks, soft hyphens, fillers, variation selectors and tags.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{2800}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
        | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded_bugs::SeededBug;

    /// Texts that look like `INV-É 1`, and why each is refused.
    const ALIKE: [(&str, Oddity); 14] = [
        ("INV-\u{200B}É 1", Oddity::Invisible('\u{200B}')),
        ("INV-\u{200C}É 1", Oddity::Invisible('\u{200C}')),
        ("INV-\u{200D}É 1", Oddity::Invisible('\u{200D}')),
        ("INV-É\u{FEFF} 1", Oddity::Invisible('\u{FEFF}')),
        ("INV-É\u{AD} 1", Oddity::Invisible('\u{AD}')),
        ("INV-É \u{202E}1", Oddity::Invisible('\u{202E}')),
        ("INV-É \u{2066}1\u{2069}", Oddity::Invisible('\u{2066}')),
        ("\u{61C}INV-É 1", Oddity::Invisible('\u{61C}')),
        ("INV-É 1\u{FE0F}", Oddity::Invisible('\u{FE0F}')),
        ("INV-É 1\u{E0041}", Oddity::Invisible('\u{E0041}')),
        ("INV-É\u{A0}1", Oddity::Blank('\u{A0}')),
        ("INV-É\u{202F}1", Oddity::Blank('\u{202F}')),
        ("INV-É\u{3000}1", Oddity::Blank('\u{3000}')),
        ("INV-E\u{301} 1", Oddity::Composition),
    ];

    #[test]
    fn a_name_is_its_words() {
        for (name, expected) in [
            ("Bob B", "b bob"),
            ("Bob  B.", "b bob"),
            ("B, Bob", "b bob"),
            ("NDUNG\u{2019}U Ann", "ann ndungu"),
            ("Ndung'u-Ann", "ann ndungu"),
            ("Ünal Ö", "ö ünal"),
            (" . ", ""),
        ] {
            assert_eq!(of_name(name), expected, "{name}");
        }
        assert_ne!(of_name("Ann A"), of_name("Ann B"));
    }

    #[test]
    fn what_looks_the_same_is_refused_but_for_its_normal_form() {
        for text in [
            "INV-É 1",
            "EMP/00017",
            "Wanjikũ",
            "支払-1",
            "Счёт-7",
            "café 😀",
        ] {
            assert_eq!(oddity(text), None, "{text:?}");
        }
        for (text, expected) in ALIKE {
            assert_eq!(oddity(text), Some(expected), "{text:?}");
        }
    }

    #[test]
    fn a_rule_that_lets_them_differ_is_found() {
        let _awake = SeededBug::LookAlikesDiffer.wake();
        assert!(ALIKE.iter().any(|(text, odd)| oddity(text) != Some(*odd)));
    }

    #[test]
    fn references_that_a_person_takes_for_one_are_compared_as_one() {
        for (a, b) in [
            ("inv-1", "INV-1"),
            ("INV-1", "INV\u{2010}1"),
            ("INV-1", "INV\u{2011}1"),
            ("INV-1", "INV\u{2013}1"),
            ("INV-1", "INV\u{2015}1"),
            ("INV-1", "INV\u{2212}1"),
            ("INV-1", "INV\u{FE63}1"),
            ("INV-1", "INV\u{FF0D}1"),
            ("INV-1", "ＩＮＶ-１"),
            ("INV-1", "INV - 1"),
            ("INV 1", "INV1"),
            ("Inv 20 1", "INV  20   1"),
            ("0012", "12"),
            ("０012", "12"),
            ("000", "0"),
            ("0012", "12.0"),
            ("12", "12.00"),
            ("EMP-0012", "'EMP-0012"),
            ("12", "'0012"),
            ("straße", "STRASSE"),
        ] {
            assert_eq!(of_reference(a), of_reference(b), "{a:?} {b:?}");
        }
        for (a, b) in [
            ("INV-1", "INV1"),
            ("INV-01", "INV-1"),
            ("1 12", "11 2"),
            ("1 12", "112"),
            ("120", "12"),
            ("12.5", "12"),
            ("12.50", "12.5"),
            ("1.2.0", "1.2"),
            ("A12.0", "A12"),
            (".0", "0"),
            ("12.", "12"),
            ("0", "1"),
            ("EMP-00001", "EMP-00010"),
            ("A1", "B1"),
        ] {
            assert_ne!(of_reference(a), of_reference(b), "{a:?} {b:?}");
        }
    }

    #[test]
    fn an_account_is_its_digits_however_it_is_written() {
        for text in [
            "0012345678",
            "12345678",
            "0012 345 678",
            "0012-345-678",
            "0012\u{2013}345\u{2013}678",
            "00.12345678",
            "００１２３４５６７８",
            "+12345678",
        ] {
            assert_eq!(of_account(text), "12345678", "{text:?}");
        }
        assert_eq!(of_account("gb 29-nwbk"), of_account("GB29NWBK"));
        for (a, b) in [
            ("123456780", "12345678"),
            ("0A1", "A1"),
            ("ABX12", "ABX120"),
            ("", "0"),
        ] {
            assert_ne!(of_account(a), of_account(b), "{a:?} {b:?}");
        }
    }

    #[test]
    fn names_are_folded_as_the_laxest_reader_folds_them() {
        for name in [
            "destinationBankName",
            "DestinationBankName",
            "DESTINATIONBANKNAME",
            " destinationbankname ",
            "destinationBan\u{212A}Name",
            "de\u{17F}tinationBankName",
            "destination\u{200C}BankName",
            "ｄestinationBankName",
        ] {
            assert_eq!(folded(name), "destinationbankname", "{name:?}");
        }
        assert_ne!(folded("destinationBankNames"), "destinationbankname");
    }
}
