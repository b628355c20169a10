//! What the account numbers of a service look like, as its configuration says it: `"10-13n"`, `"2a 16n | 'A' 9c"`.
//!
//! The notation is that of bank account structures (ISO 13616): a count and a class. It always means the whole number, so that
//! nobody forgets an anchor, and it can be said in words, so that an error tells a person what was expected.

use std::fmt;

/// What has fewer characters is no account at a bank, a biller or a meter, but a number of a line, or what a spreadsheet left.
pub const ACCOUNT_CHARACTERS_MIN: usize = 5;

/// The longest format, and the longest account it can mean.
const CHARACTERS_MAX: usize = 200;

/// The forms that account numbers have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountFormat {
    /// Each is whole; one of them fits.
    alternatives: Vec<Vec<Part>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// These very characters.
    Literal(String),
    /// From `least` to `most` characters of a class.
    Run {
        least: usize,
        most: usize,
        class: Class,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Digits,
    Capitals,
    Alphanumeric,
}

impl Class {
    fn of(letter: char) -> Option<Self> {
        match letter {
            'n' => Some(Self::Digits),
            'a' => Some(Self::Capitals),
            'c' => Some(Self::Alphanumeric),
            _ => None,
        }
    }

    fn has(self, c: char) -> bool {
        match self {
            Self::Digits => c.is_ascii_digit(),
            Self::Capitals => c.is_ascii_uppercase(),
            Self::Alphanumeric => c.is_ascii_alphanumeric(),
        }
    }

    fn words(self, is_one: bool) -> &'static str {
        match (self, is_one) {
            (Self::Digits, true) => "digit",
            (Self::Digits, false) => "digits",
            (Self::Capitals, true) => "capital letter",
            (Self::Capitals, false) => "capital letters",
            (Self::Alphanumeric, true) => "letter or digit",
            (Self::Alphanumeric, false) => "letters or digits",
        }
    }
}

impl AccountFormat {
    /// Reads a format.
    ///
    /// # Errors
    /// What is wrong with it, in words that follow "expected".
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.chars().count() > CHARACTERS_MAX {
            return Err(format!("at most {CHARACTERS_MAX} characters"));
        }
        let alternatives = split(text)
            .into_iter()
            .map(|alternative| parts(alternative.trim()))
            .collect::<Result<Vec<_>, _>>()?;
        for alternative in &alternatives {
            let (least, most) = length(alternative);
            if least < ACCOUNT_CHARACTERS_MIN {
                return Err(format!(
                    "accounts of at least {ACCOUNT_CHARACTERS_MIN} characters, where this takes {least}"
                ));
            }
            if most > CHARACTERS_MAX {
                return Err(format!(
                    "accounts of at most {CHARACTERS_MAX} characters, where this takes {most}"
                ));
            }
        }
        Ok(Self { alternatives })
    }

    /// Returns whether an account number has one of the forms.
    #[must_use]
    pub fn fits(&self, account: &str) -> bool {
        let account: Vec<char> = account.chars().collect();
        let mut alternatives = self.alternatives.iter();
        alternatives.any(|parts| is_match(parts, &account))
    }
}

/// Splits at `|` outside of quotes.
fn split(text: &str) -> Vec<&str> {
    let mut is_quoted = false;
    text.split(|c| {
        is_quoted ^= c == '\'';
        c == '|' && !is_quoted
    })
    .collect()
}

fn parts(text: &str) -> Result<Vec<Part>, String> {
    const EXPECTED: &str = "counts with a class (n digits, a capital letters, c letters or digits) and texts in '', such as \"10-13n\" or \"'A' 9n | 2a16n\"";
    let expected = || EXPECTED.to_owned();
    let (mut parts, mut rest) = (Vec::new(), text.trim_start());
    while let Some(first) = rest.chars().next() {
        if let Some(inner) = rest.strip_prefix('\'') {
            let (literal, after) = inner.split_once('\'').ok_or_else(expected)?;
            let is_plain = |c: char| c.is_ascii_graphic() || c == ' ';
            if literal.is_empty() || !literal.chars().all(is_plain) {
                return Err(expected());
            }
            parts.push(Part::Literal(literal.to_owned()));
            rest = after.trim_start();
            continue;
        }
        if !first.is_ascii_digit() {
            return Err(expected());
        }
        let end = rest
            .find(|c: char| c.is_ascii_alphabetic())
            .ok_or_else(expected)?;
        let class = rest[end..].chars().next().and_then(Class::of);
        let class = class.ok_or_else(expected)?;
        let counts = rest[..end].trim_end();
        let (least, most) = counts.split_once('-').unwrap_or((counts, counts));
        let count = |text: &str| text.parse::<usize>().ok();
        match (count(least), count(most)) {
            (Some(least), Some(most)) if least <= most && (1..=CHARACTERS_MAX).contains(&most) => {
                parts.push(Part::Run { least, most, class });
            }
            _ => return Err(expected()),
        }
        rest = rest[end + 1..].trim_start();
    }
    if parts.is_empty() {
        return Err(expected());
    }
    Ok(parts)
}

fn length(parts: &[Part]) -> (usize, usize) {
    parts.iter().fold((0, 0), |(least, most), part| match part {
        Part::Literal(text) => (least + text.len(), most + text.len()),
        Part::Run {
            least: few,
            most: many,
            ..
        } => (least + few, most + many),
    })
}

/// Keeps every place up to which the parts so far may reach: no form makes this slow.
fn is_match(parts: &[Part], account: &[char]) -> bool {
    let mut reached = vec![false; account.len() + 1];
    reached[0] = true;
    for part in parts {
        let mut next = vec![false; account.len() + 1];
        for start in (0..=account.len()).filter(|at| reached[*at]) {
            let rest = &account[start..];
            match part {
                Part::Literal(text) => {
                    let is_there = rest.iter().copied().take(text.len()).eq(text.chars());
                    if is_there {
                        next[start + text.len()] = true;
                    }
                }
                Part::Run { least, most, class } => {
                    let run = rest.iter().take_while(|c| class.has(**c)).count();
                    for taken in *least..=run.min(*most) {
                        next[start + taken] = true;
                    }
                }
            }
        }
        reached = next;
    }
    reached[account.len()]
}

impl fmt::Display for AccountFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, parts) in self.alternatives.iter().enumerate() {
            if index > 0 {
                f.write_str(", or ")?;
            }
            for (place, part) in parts.iter().enumerate() {
                if place > 0 {
                    f.write_str(" and then ")?;
                }
                match part {
                    Part::Literal(text) => write!(f, "{text:?}")?,
                    Part::Run { least, most, class } => {
                        if least == most {
                            write!(f, "{most} {}", class.words(*most == 1))?;
                        } else {
                            write!(f, "{least} to {most} {}", class.words(false))?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_account_has_one_of_the_forms_or_none() {
        let table = [
            ("13n", "0099427588438", true),
            // What a spreadsheet left of it.
            ("13n", "99427588438", false),
            ("13n", "00994275884380", false),
            ("13n", "009942758843X", false),
            ("10-13n", "1234567890", true),
            ("10-13n", "1234567890123", true),
            ("10-13n", "123456789", false),
            ("'AC' 6n", "AC123456", true),
            ("'AC' 6n", "ac123456", false),
            ("'AC' 6n", "AC12345", false),
            ("2a16n", "KE1234567890123456", true),
            ("2a 16n", "ke1234567890123456", false),
            ("8n|'M-' 5c", "M-12ab3", true),
            ("8n | 'M-' 5c", "12345678", true),
            ("8n | 'M-' 5c", "M-1234", false),
            // A class that could swallow what follows gives it back.
            ("3-9n '00' 1n", "12345001", true),
            ("1-9n 1-9n 3n", "12345", true),
            ("1-9n 1-9n 3n", "1234", false),
            ("'a|b' 5n", "a|b12345", true),
            ("0-1a 5n", "12345", true),
            ("0-1a 5n", "A12345", true),
            // Only these digits are digits.
            ("5n", "\u{661}\u{662}\u{663}\u{664}\u{665}", false),
        ];
        for (format, account, expected) in table {
            let format = AccountFormat::parse(format).unwrap();
            assert_eq!(format.fits(account), expected, "{format} {account}");
        }
    }

    #[test]
    fn what_is_no_format_is_refused_in_words() {
        for (text, expected) in [
            ("", "counts with a class"),
            ("13", "counts with a class"),
            ("n", "counts with a class"),
            ("13x", "counts with a class"),
            ("13-10n", "counts with a class"),
            ("10-n", "counts with a class"),
            ("-13n", "counts with a class"),
            ("0n", "counts with a class"),
            ("+8n", "counts with a class"),
            ("'AC 6n", "counts with a class"),
            ("'' 6n", "counts with a class"),
            ("8n |", "counts with a class"),
            ("\\d{13}", "counts with a class"),
            ("99999999999999999999n", "counts with a class"),
            (
                "2n",
                "accounts of at least 5 characters, where this takes 2",
            ),
            (
                "13n | 0-13n",
                "accounts of at least 5 characters, where this takes 0",
            ),
            (
                "150n 150n",
                "accounts of at most 200 characters, where this takes 300",
            ),
        ] {
            let error = AccountFormat::parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_format_is_said_in_words() {
        for (text, words) in [
            ("13n", "13 digits"),
            ("10-13n", "10 to 13 digits"),
            (
                "'AC' 1a4n|9c",
                "\"AC\" and then 1 capital letter and then 4 digits, or 9 letters or digits",
            ),
        ] {
            assert_eq!(AccountFormat::parse(text).unwrap().to_string(), words);
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd_to_be_read(format in "[0-9nac'| -]{0,24}", account in "\\PC{0,24}") {
            if let Ok(format) = AccountFormat::parse(&format) {
                prop_assert!(!format.fits(&account) || account.len() >= ACCOUNT_CHARACTERS_MIN);
            }
        }
    }
}
