//! What a prepaid electricity purchase brought, read from `receiverNarration` (section 1).
//!
//! The form of that text is not shown, so it is read by what it must hold: tokens of twenty digits, whole or in groups, and
//! units. Whatever is unclear is left alone: the text itself is kept beside.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// How many digits a token has.
const TOKEN_DIGITS: usize = 20;
/// The most tokens of one purchase: key changes bring two beside the token itself.
const TOKENS_MAX: usize = 10;
/// The most digits of a number of units, and of its decimals.
const UNIT_DIGITS_MAX: usize = 6;
/// A longer text is no narration.
const TEXT_MAX: usize = 64 * 1024;
/// How often JSON may stand in a text of JSON.
const ESCAPES_MAX: usize = 4;
/// The most digits that stand together, in one line or several, and are looked at as a token.
const STRETCH_MAX: usize = TOKENS_MAX * TOKEN_DIGITS;

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
        let narration = unescaped(narration);
        let pieces = pieces(&narration);
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

/// Returns a text without the escapes of JSON, in whatever text of JSON it stood: a line break is one again, and separates.
fn unescaped(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..ESCAPES_MAX {
        if !text.contains('\\') {
            break;
        }
        text = Cow::Owned(once_unescaped(&text));
    }
    text
}

fn once_unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        let mut behind = rest[at + 1..].chars();
        let c = behind.next();
        rest = behind.as_str();
        match c {
            Some('n' | 'r' | 'b' | 'f') => plain.push('\n'),
            Some('t') => plain.push(' '),
            Some('u') => {
                let hex = rest
                    .get(..4)
                    .filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
                let c = hex.and_then(|hex| char::from_u32(u32::from_str_radix(hex, 16).ok()?));
                plain.push(c.unwrap_or(' '));
                rest = hex.map_or(rest, |hex| &rest[hex.len()..]);
            }
            Some(c @ ('"' | '/' | '\\')) => plain.push(c),
            // No escape: it stands between what is beside it.
            Some(c) => plain.extend(['\\', c]),
            None => {}
        }
    }
    plain.push_str(rest);
    plain
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
                let (lines, next) = stretch(pieces, at);
                let (whole, others) = split_lines(&lines, announced)?;
                let is_glued = glued(pieces, at) || glued(pieces, next);
                if planted!(domain::is_glued(is_glued)) && !whole.is_empty() {
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

/// Returns the lines of digits that stand together, and the place behind them.
fn stretch<'a>(pieces: &[Piece<'a>], from: usize) -> (Vec<Vec<&'a str>>, usize) {
    let (groups, mut next) = run(pieces, from);
    let mut lines = vec![groups];
    let breaks = |gap: &str| {
        let gap = gap.strip_prefix('-').unwrap_or(gap);
        gap.contains(['\n', '\r']) && gap.chars().all(char::is_whitespace)
    };
    while let (Some(Piece::Gap(gap)), Some(Piece::Digits(_))) =
        (pieces.get(next), pieces.get(next + 1))
        && breaks(gap)
    {
        let (groups, end) = run(pieces, next + 1);
        lines.push(groups);
        next = end;
    }
    (lines, next)
}

/// Returns the tokens in lines of digits, as [`split`] does for one.
///
/// A line break separates numbers. Lines without a token of their own that follow one another may be one that was broken:
/// when their groups are alike and make up tokens, or when a token was announced and they are as long as one.
fn split_lines(lines: &[Vec<&str>], announced: Announced) -> Option<(Vec<String>, bool)> {
    if let [line] = lines {
        return split(line);
    }
    let (mut tokens, mut others) = (Vec::new(), false);
    let mut open: Vec<&str> = Vec::new();
    for line in lines {
        match split(line) {
            Some((found, other)) if !found.is_empty() => {
                others |= other | joined(&mut open, announced, &mut tokens)?;
                tokens.extend(found);
            }
            // Alone it is no token, or it is unclear.
            _ => open.extend(line),
        }
    }
    others |= joined(&mut open, announced, &mut tokens)?;
    Some((tokens, others))
}

/// Takes what stood open; returns whether it holds other numbers than tokens, `None` when that is unclear.
fn joined(open: &mut Vec<&str>, announced: Announced, tokens: &mut Vec<String>) -> Option<bool> {
    let groups = std::mem::take(open);
    let digits: usize = groups.iter().map(|group| group.len()).sum();
    if digits > STRETCH_MAX {
        return Some(true);
    }
    let alike = groups.first().is_some_and(|first| {
        matches!(first.len(), 4 | 5) && groups.iter().all(|group| group.len() == first.len())
    });
    let whole = groups.concat();
    if digits == TOKEN_DIGITS && (alike || announced == Announced::Token) {
        tokens.push(whole);
        return Some(false);
    }
    if alike && digits > TOKEN_DIGITS {
        // An amount above a token looks like a group of it.
        if !digits.is_multiple_of(TOKEN_DIGITS) {
            return None;
        }
        tokens.extend(
            (0..digits / TOKEN_DIGITS)
                .map(|n| whole[n * TOKEN_DIGITS..(n + 1) * TOKEN_DIGITS].to_owned()),
        );
        return Some(false);
    }
    Some(!groups.is_empty())
}

/// Returns the groups of digits that stand together in a line, blanks and dashes between them, and the place behind them.
fn run<'a>(pieces: &[Piece<'a>], from: usize) -> (Vec<&'a str>, usize) {
    let (mut groups, mut at) = (Vec::new(), from);
    while let Some(Piece::Digits(group)) = pieces.get(at) {
        groups.push(*group);
        let joins = |gap: &str| gap == "-" || gap.chars().all(|c| " \t\u{a0}".contains(c));
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
                if !digits.is_multiple_of(TOKEN_DIGITS) {
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
mod tests;
