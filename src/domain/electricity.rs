//! What a prepaid electricity purchase brought, read from `receiverNarration` (section 1).
//!
//! The form of that text is not shown, so it is read by what it must hold: tokens of twenty digits, whole or in groups, and
//! units. Whatever is unclear is left alone: the text itself is kept beside.

use std::collections::BTreeMap;
use std::fmt;

/// How many digits a token has.
const TOKEN_DIGITS: usize = 20;
/// The most tokens of one purchase: key changes bring two beside the token itself.
const TOKENS_MAX: usize = 10;
/// The most digits of a number of units, and of its decimals.
const UNIT_DIGITS_MAX: usize = 6;
/// A longer text is no narration.
const TEXT_MAX: usize = 4096;

/// Words that announce a token, and words that announce another number; parts of words do too.
const TOKEN_WORDS: [&str; 3] = ["token", "kct", "tkn"];
const OTHER_WORDS: [&str; 14] = [
    "receipt", "rcpt", "ref", "trans", "txn", "account", "acct", "meter", "mtr", "serial",
    "invoice", "order", "phone", "msisdn",
];

/// The tokens and units of a purchase. A token is money: whoever has it can use it.
#[derive(Clone, PartialEq, Eq)]
pub struct Electricity {
    tokens: Vec<String>,
    units: Vec<String>,
}

impl Electricity {
    /// Reads a narration; `None` when it holds no token for certain.
    #[must_use]
    pub fn read(narration: &str) -> Option<Self> {
        if narration.len() > TEXT_MAX {
            return None;
        }
        let pieces = pieces(narration);
        let tokens = tokens(&pieces)?;
        Some(Self {
            tokens,
            units: units(&pieces),
        })
    }

    /// Returns the tokens, twenty digits each, in the order of the text.
    #[must_use]
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// Returns the tokens in one text.
    #[must_use]
    pub fn token_text(&self) -> String {
        self.tokens.join(", ")
    }

    /// Returns the tokens in one text, in groups of four as they are typed in.
    #[must_use]
    pub fn grouped(&self) -> String {
        let group = |token: &String| {
            let groups: Vec<&str> = (0..token.len())
                .step_by(4)
                .map(|at| &token[at..at + 4])
                .collect();
            groups.join("-")
        };
        let tokens: Vec<String> = self.tokens.iter().map(group).collect();
        tokens.join(", ")
    }

    /// Returns the tokens in one text, all but the last four digits of each hidden.
    #[must_use]
    pub fn masked(&self) -> String {
        let masked: Vec<String> = self.tokens.iter().map(|token| mask(token)).collect();
        masked.join(", ")
    }

    /// Returns the units in one text, as they were written; empty when there are none.
    #[must_use]
    pub fn units_text(&self) -> String {
        self.units.join(", ")
    }
}

fn mask(token: &str) -> String {
    let hidden = token.len().saturating_sub(4);
    format!("{}{}", "*".repeat(hidden), &token[hidden..])
}

impl fmt::Debug for Electricity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Electricity")
            .field("tokens", &self.tokens.len())
            .field("units", &self.units)
            .finish()
    }
}

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    /// Letters, and what digits are glued to them.
    Word(&'a str),
    /// Digits alone.
    Digits(&'a str),
    /// Digits with a decimal point, or with thousands separators; as a plain decimal.
    Decimal(String),
    /// Whatever stands between.
    Gap(&'a str),
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let class = Class::of(first);
        let end = match class {
            Class::Digit => number_end(rest),
            Class::Letter | Class::Gap => {
                rest.find(|c| Class::of(c) != class).unwrap_or(rest.len())
            }
        };
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        match class {
            Class::Gap => pieces.push(Piece::Gap(piece)),
            Class::Letter => {
                // `KCT1` is a word; `kWh` behind a number is one too.
                let end = rest
                    .find(|c: char| !c.is_alphanumeric())
                    .unwrap_or(rest.len());
                let whole =
                    &text[text.len() - rest.len() - piece.len()..text.len() - rest.len() + end];
                rest = &rest[end..];
                pieces.push(Piece::Word(whole));
            }
            Class::Digit if piece.bytes().all(|byte| byte.is_ascii_digit()) => {
                pieces.push(Piece::Digits(piece))
            }
            Class::Digit => pieces.push(Piece::Decimal(piece.replace(',', ""))),
        }
    }
    pieces
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Digit,
    Letter,
    Gap,
}

impl Class {
    fn of(c: char) -> Self {
        if c.is_ascii_digit() {
            Self::Digit
        } else if c.is_alphanumeric() {
            Self::Letter
        } else {
            Self::Gap
        }
    }
}

/// Returns where a number ends: `1,234.50` is one, `12345,67890` are two.
fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from.min(bytes.len())..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let mut end = digits(0);
    if end <= 3 {
        while bytes.get(end) == Some(&b',') && digits(end + 1) == 3 {
            end += 4;
        }
    }
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    end
}

/// What the words before a number announce.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Announced {
    Nothing,
    Token,
    Other,
}

/// Returns the tokens; `None` when there are none, or when it is not clear which numbers they are.
fn tokens(pieces: &[Piece<'_>]) -> Option<Vec<String>> {
    let mut announced = Announced::Nothing;
    // What was announced before another number was: that holds again behind that number.
    let mut before = Announced::Nothing;
    let mut found: Vec<(Announced, String)> = Vec::new();
    let mut at = 0;
    while at < pieces.len() {
        match &pieces[at] {
            Piece::Word(word) => {
                let word = word.to_lowercase();
                let holds = |part: &&str| word.contains(*part);
                if OTHER_WORDS.iter().any(holds) && !word.contains("token") {
                    if announced != Announced::Other {
                        before = announced;
                    }
                    announced = Announced::Other;
                } else if TOKEN_WORDS.iter().any(holds) {
                    announced = Announced::Token;
                }
            }
            Piece::Digits(_) => {
                let (groups, next) = run(pieces, at);
                let (whole, others) = split(&groups)?;
                let is_glued = glued(pieces, at) || glued(pieces, next);
                if is_glued && !whole.is_empty() {
                    return None;
                }
                found.extend(whole.into_iter().map(|token| (announced, token)));
                if others && announced == Announced::Other {
                    announced = before;
                }
                at = next;
                continue;
            }
            Piece::Decimal(_) | Piece::Gap(_) => {}
        }
        at += 1;
    }
    let any = |kind| found.iter().any(|(announced, _)| *announced == kind);
    let kind = if any(Announced::Token) {
        Announced::Token
    } else {
        Announced::Nothing
    };
    let mut tokens: Vec<String> = Vec::new();
    for (announced, token) in found {
        // The same token may be said twice.
        if announced == kind && !tokens.contains(&token) {
            tokens.push(token);
        }
    }
    (!tokens.is_empty() && tokens.len() <= TOKENS_MAX).then_some(tokens)
}

/// Returns the groups of digits that stand together, blanks and dashes between them, and the place behind them.
fn run<'a>(pieces: &[Piece<'a>], from: usize) -> (Vec<&'a str>, usize) {
    let (mut groups, mut at) = (Vec::new(), from);
    while let Some(Piece::Digits(group)) = pieces.get(at) {
        groups.push(*group);
        let joins = |gap: &str| gap == "-" || gap.chars().all(|c| c == ' ');
        match (pieces.get(at + 1), pieces.get(at + 2)) {
            (Some(Piece::Gap(gap)), Some(Piece::Digits(_))) if joins(gap) => at += 2,
            _ => return (groups, at + 1),
        }
    }
    (groups, at)
}

/// Returns the tokens among groups that stand together, and whether there are other numbers; `None` when that is unclear.
fn split(groups: &[&str]) -> Option<(Vec<String>, bool)> {
    let (mut tokens, mut others) = (Vec::new(), false);
    for part in groups.chunk_by(|one, other| one.len() == other.len()) {
        let size = part[0].len();
        let digits = size * part.len();
        match size {
            TOKEN_DIGITS => tokens.extend(part.iter().map(|group| (*group).to_owned())),
            4 | 5 if digits >= TOKEN_DIGITS => {
                // An amount in front of a token looks like a group of it.
                if digits % TOKEN_DIGITS != 0 {
                    return None;
                }
                tokens.extend(part.chunks(TOKEN_DIGITS / size).map(<[&str]>::concat));
            }
            _ => others = true,
        }
    }
    // Groups of unequal sizes that add up to a token may be one.
    let all: usize = groups.iter().map(|group| group.len()).sum();
    if tokens.is_empty() && groups.len() > 1 && all == TOKEN_DIGITS {
        return None;
    }
    Some((tokens, others))
}

/// Returns whether a word stands at this place without a gap to the digits beside it.
fn glued(pieces: &[Piece<'_>], at: usize) -> bool {
    matches!(pieces.get(at), Some(Piece::Word(_)))
}

/// Returns the numbers that are said to be units: `Units: 32.5`, `32.5 kWh`, `units 32.5`.
fn units(pieces: &[Piece<'_>]) -> Vec<String> {
    // By its place: `Units: 32.5kWh` says it twice of one number.
    let mut units = BTreeMap::new();
    for (at, piece) in pieces.iter().enumerate() {
        let Piece::Word(word) = piece else { continue };
        if !["unit", "units", "kwh", "kwhs"].contains(&word.to_lowercase().as_str()) {
            continue;
        }
        let gap = match pieces.get(at + 1) {
            Some(Piece::Gap(gap)) => *gap,
            _ => "",
        };
        let behind = || count(pieces, at + 2);
        let found = if gap.contains([':', '=']) {
            behind()
        } else {
            before(pieces, at).or_else(behind)
        };
        units.extend(found);
    }
    units.into_values().take(TOKENS_MAX).collect()
}

/// Returns the number right before a place, nothing but blanks between.
fn before(pieces: &[Piece<'_>], at: usize) -> Option<(usize, String)> {
    let at = at.checked_sub(1)?;
    match &pieces[at] {
        Piece::Gap(gap) if gap.chars().all(|c| c == ' ') => count(pieces, at.checked_sub(1)?),
        Piece::Gap(_) => None,
        _ => count(pieces, at),
    }
}

/// Returns the number at a place, unless it is one of several groups.
fn count(pieces: &[Piece<'_>], at: usize) -> Option<(usize, String)> {
    let is_group =
        |at: Option<usize>| matches!(at.and_then(|at| pieces.get(at)), Some(Piece::Digits(_)));
    match pieces.get(at)? {
        // Units are shown where tokens are not: more digits may be a token that a point was glued to.
        Piece::Decimal(text) if text.len() <= 2 * UNIT_DIGITS_MAX => Some((at, text.clone())),
        Piece::Digits(text) if text.len() <= UNIT_DIGITS_MAX && !is_group(at.checked_sub(2)) => {
            Some((at, (*text).to_owned()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: &str = "12345678901234567890";
    const B: &str = "09876543210987654321";

    #[test]
    fn tokens_and_units_are_read_from_every_known_form() {
        for (text, tokens, units) in [
            (A, A, ""),
            ("1234 5678 9012 3456 7890", A, ""),
            ("1234-5678-9012-3456-7890", A, ""),
            ("12345 67890 12345 67890", A, ""),
            ("Token: 1234 5678 9012 3456 7890 Units: 32.5", A, "32.5"),
            ("Token:12345678901234567890,Units:32.50kWh", A, "32.50"),
            (
                "Token 1234-5678-9012-3456-7890, 1,234.5 kWh, KES 30,000.00",
                A,
                "1234.5",
            ),
            ("Units=18 Token=12345678901234567890", A, "18"),
            (
                "Your token is 12345678901234567890. You bought 12.4 units. Thank you.",
                A,
                "12.4",
            ),
            (
                "Token for meter 54161234567 is 1234 5678 9012 3456 7890",
                A,
                "",
            ),
            (
                "Receipt: 11112222333344445555 Token: 12345678901234567890",
                A,
                "",
            ),
            (
                "Token: 12345678901234567890 Receipt: 11112222333344445555",
                A,
                "",
            ),
            ("12345678901234567890, 32.5", A, ""),
            ("12345678901234567890, 32.5 kWh", A, "32.5"),
            (
                "Token: 12345678901234567890 Units: 2.512345678901234567890",
                A,
                "",
            ),
            (
                "12345678901234567890, 09876543210987654321",
                "12345678901234567890, 09876543210987654321",
                "",
            ),
            (
                "Token 1: 1234 5678 9012 3456 7890, Token 2: 0987 6543 2109 8765 4321, Units: 10.0, Units: 5.5",
                "12345678901234567890, 09876543210987654321",
                "10.0, 5.5",
            ),
            (
                "KCT1: 12345678901234567890 KCT2: 09876543210987654321",
                "12345678901234567890, 09876543210987654321",
                "",
            ),
            (
                r#"{"token":"1234-5678-9012-3456-7890","units":"32.5","receiptNo":"11112222333344445555"}"#,
                A,
                "32.5",
            ),
            (
                r#"{"stsToken": 12345678901234567890, "units": 7, "meterNumber": "54161234567"}"#,
                A,
                "7",
            ),
            (
                r#"{"tokens":["12345678901234567890","09876543210987654321"],"kwh":3.25}"#,
                "12345678901234567890, 09876543210987654321",
                "3.25",
            ),
            (
                "Token: 12345678901234567890 (repeat: 12345678901234567890)",
                A,
                "",
            ),
        ] {
            let read = Electricity::read(text).unwrap_or_else(|| panic!("nothing in {text}"));
            assert_eq!(
                (read.token_text().as_str(), read.units_text().as_str()),
                (tokens, units),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_unclear_is_left_alone() {
        for text in [
            "",
            "Paid",
            "Units: 32.5",
            "1234567890123456789",
            "123456789012345678901",
            "A12345678901234567890",
            "12345678901234567890X",
            "KES 1000 1234 5678 9012 3456 7890",
            "123 4567 8901 2345 67890",
            "Receipt: 12345678901234567890",
            "transactionId 12345678901234567890",
            "Token: pending",
            "1.2345678901234567890",
        ] {
            assert_eq!(Electricity::read(text), None, "{text}");
        }
        assert_eq!(
            Electricity::read(&format!("{A}{}", " ".repeat(TEXT_MAX))),
            None
        );
        let many: Vec<String> = (0..11).map(|n| format!("{n:020}")).collect();
        assert_eq!(Electricity::read(&many.join(", ")), None);
    }

    #[test]
    fn a_token_is_not_shown_unasked() {
        let read = Electricity::read(&format!("Token: {A}, {B} Units: 3")).unwrap();
        assert_eq!(read.masked(), "****************7890, ****************4321");
        let debug = format!("{read:?}");
        assert!(!debug.contains("7890"), "{debug}");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r"(\PC|[0-9]{1,21}|token|units|kWh|[ ,.\-:{}\x22]){0,40}") {
            if let Some(read) = Electricity::read(&text) {
                for token in read.tokens() {
                    prop_assert!(token.len() == TOKEN_DIGITS && token.bytes().all(|byte| byte.is_ascii_digit()));
                }
            }
        }

        #[test]
        fn a_token_is_found_however_it_is_grouped(digits in "[0-9]{20}", size in prop::sample::select(vec![4_usize, 5, 20]), dash in any::<bool>()) {
            let groups: Vec<&str> = (0..20).step_by(size).map(|at| &digits[at..at + size]).collect();
            let text = format!("Token: {}", groups.join(if dash { "-" } else { " " }));
            prop_assert_eq!(Electricity::read(&text).map(|read| read.token_text()), Some(digits));
        }
    }
}
