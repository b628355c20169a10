//! Texts that look the same and are not: two references that a person cannot tell apart would be two payments of one debt.
//!
//! A reference is taken as it stands or refused, never rewritten: its identifier is made from it. So every reference must be
//! in the normal form, in which what looks the same is the same.

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
        f.write_str(", so that another reference may look the same; type it anew")
    }
}

/// Returns what keeps a text from its normal form, the first that there is.
#[must_use]
pub fn oddity(text: &str) -> Option<Oddity> {
    if text.is_ascii() {
        return None;
    }
    #[cfg(test)]
    if crate::canary::Canary::LookAlikesDiffer.sings() {
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
    odd.or_else(|| (!text.chars().eq(text.nfc())).then_some(Oddity::Composition))
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
    use crate::canary::Canary;

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
        let _awake = Canary::LookAlikesDiffer.wake();
        assert!(ALIKE.iter().any(|(text, odd)| oddity(text) != Some(*odd)));
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
