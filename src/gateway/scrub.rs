//! Our secrets, left out of what the other side says. Pure, but for the list that tokens are added to.
//!
//! A gateway may repeat what it was told, anywhere and in any form: as JSON, an address or a page writes it, in base 64 or
//! hexadecimal, in other letters or backwards, over several lines. Every text of a reply or a callback passes here before it is cut, kept or shown, so that no length
//! limit can leave half of a secret behind.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use data_encoding::{BASE64, HEXLOWER};
use secrecy::zeroize::Zeroizing;

/// Stands for a secret.
const HIDDEN: &str = "[hidden]";
/// A shorter secret is looked for as a whole word only.
const SHORT: usize = 8;
/// As many characters of a secret, and half of it, are hidden where a text breaks off in it.
const CUT_MIN: usize = 6;
/// Shorter parts of a text in base 64 are not told from other words.
const ENCODED_MIN: usize = 8;
/// Tokens that are remembered: the one in use, and those that it came after.
const TOKENS_MAX: usize = 8;
/// As many digits in groups may be a prepaid token.
const TOKEN_DIGITS: usize = 20;
/// The longest head and the longest claims of a token by its form.
const HEAD_MAX: usize = 512;
const CLAIMS_MAX: usize = 8 * 1024;
/// The longest escape of a page, in bytes.
const LONGEST_ENTITY: usize = 10;
/// Places that one comparison goes back to, at most.
const ALTERNATIVES_MAX: usize = 8;

/// The secrets of one deployment. Clones share them.
#[derive(Clone)]
pub struct Secrets(Arc<RwLock<Known>>);

struct Known {
    fixed: Vec<Arc<Needle>>,
    tokens: Vec<Vec<Arc<Needle>>>,
    scrub: Scrub,
}

impl Secrets {
    /// Knows nothing, and hides nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::holding(Vec::new())
    }

    /// Knows a password, also as the header of basic authentication and a token request write it.
    #[must_use]
    pub fn new(username: &str, password: &str) -> Self {
        let mut needles = needles_of(password);
        needles.extend(Needle::disguised(password));
        if !password.is_empty() {
            let pair = Zeroizing::new(format!("{username}:{password}"));
            needles.extend(Needle::base64(pair.as_bytes()));
        }
        Self::holding(needles.into_iter().map(Arc::new).collect())
    }

    /// Knows further secrets that stay the same, such as the keys of headers.
    #[must_use]
    pub fn and<'s>(self, others: impl Iterator<Item = &'s str>) -> Self {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut fixed = known.fixed.clone();
        for other in others {
            let needles = needles_of(other).into_iter();
            fixed.extend(needles.chain(Needle::disguised(other)).map(Arc::new));
        }
        drop(known);
        Self::holding(fixed)
    }

    fn holding(fixed: Vec<Arc<Needle>>) -> Self {
        let scrub = Scrub::of(fixed.clone());
        Self(Arc::new(RwLock::new(Known {
            fixed,
            tokens: Vec::new(),
            scrub,
        })))
    }

    /// Adds a token, which the other side may repeat too.
    pub(super) fn add(&self, token: &str) {
        // A token that is a word is none.
        if token.len() < SHORT {
            return;
        }
        let needles: Vec<Arc<Needle>> = needles_of(token).into_iter().map(Arc::new).collect();
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.tokens.len() >= TOKENS_MAX {
            known.tokens.remove(0);
        }
        known.tokens.push(needles);
        let all = known.fixed.iter().chain(known.tokens.iter().flatten());
        known.scrub = Scrub::of(all.cloned().collect());
    }

    /// Returns what is known by now, for one reply.
    #[must_use]
    pub fn scrub(&self) -> Scrub {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.scrub.clone()
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets([hidden])")
    }
}

/// Leaves secrets out of texts.
#[derive(Clone)]
pub struct Scrub(Arc<Needles>);

/// Forms of secrets, by the byte that they may begin with.
struct Needles([Vec<Arc<Needle>>; 256]);

impl fmt::Debug for Scrub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrub([hidden])")
    }
}

impl Scrub {
    /// Hides nothing but what is a token by its form.
    #[must_use]
    pub fn nothing() -> Self {
        Self::of(Vec::new())
    }

    fn of(needles: Vec<Arc<Needle>>) -> Self {
        let mut begun = std::array::from_fn(|_| Vec::new());
        for needle in needles {
            let begins = begun.iter_mut().zip(&needle.first);
            for (begun, _) in begins.filter(|(_, begins)| **begins) {
                begun.push(Arc::clone(&needle));
            }
        }
        Self(Arc::new(Needles(begun)))
    }

    /// Returns the text without any secret.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut kept = String::new();
        let (mut from, mut at) = (0, 0);
        while let Some(next) = self.candidate(text, at) {
            match self.end_of_secret(text, next) {
                Some(end) => {
                    kept.push_str(&text[from..next]);
                    kept.push_str(HIDDEN);
                    (from, at) = (end, end);
                }
                None => at = next + text[next..].chars().next().map_or(1, char::len_utf8),
            }
        }
        if from == 0 && kept.is_empty() {
            return Cow::Borrowed(text);
        }
        kept.push_str(&text[from..]);
        Cow::Owned(kept)
    }

    /// Leaves secrets out of a text that is there already.
    pub fn hide(&self, text: &mut String) {
        if let Cow::Owned(kept) = self.text(text) {
            *text = kept;
        }
    }

    /// Returns the next place where a secret may begin.
    fn candidate(&self, text: &str, from: usize) -> Option<usize> {
        let Needles(begun) = &*self.0;
        let rest = text.as_bytes().get(from..)?;
        let at = rest.iter().enumerate().position(|(at, byte)| {
            // A token by its form begins with a brace in base 64.
            !begun[usize::from(*byte)].is_empty() || *byte == b'e' && rest[at..].starts_with(JWT)
        })?;
        Some(from + at)
    }

    fn end_of_secret(&self, text: &str, at: usize) -> Option<usize> {
        let Needles(begun) = &*self.0;
        let byte = usize::from(*text.as_bytes().get(at)?);
        let known = begun[byte].iter().filter_map(|needle| needle.end(text, at));
        known.max().or_else(|| end_of_jwt(text, at))
    }
}

/// The first bytes of every JSON Web Token.
const JWT: &[u8] = b"eyJ";

/// Returns where a JSON Web Token ends that begins here: whose it is, nobody needs to read.
fn end_of_jwt(text: &str, at: usize) -> Option<usize> {
    let rest = &text.as_bytes()[at..];
    if !rest.starts_with(JWT) {
        return None;
    }
    // Head and claims, each closed by a point, and whatever follows.
    let head = part_of_jwt(rest, HEAD_MAX)?;
    let claims = part_of_jwt(&rest[head..], CLAIMS_MAX)?;
    let signature = &rest[head + claims..];
    let is_part = |byte: &&u8| is_base64(**byte) || **byte == b'.';
    let end = at + head + claims + signature.iter().take_while(is_part).count();
    planted!(gateway::end_of_token(Some(end)))
}

/// Returns where the part of a token ends with its point.
fn part_of_jwt(text: &[u8], longest: usize) -> Option<usize> {
    let word = text
        .iter()
        .take(longest)
        .take_while(|byte| is_base64(**byte));
    let length = word.count();
    (length >= ENCODED_MIN && text.get(length) == Some(&b'.')).then_some(length + 1)
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// A form of a secret that is looked for.
struct Needle {
    /// Its characters, and whether a blank stands before each.
    chars: Zeroizing<Vec<(char, bool)>>,
    /// It may be broken over lines; otherwise it counts as a whole word only.
    broken: bool,
    /// It has digits alone.
    digits: bool,
    /// Large and small letters are alike.
    any_case: bool,
    /// Bytes that it may begin with, as it is written or escaped.
    first: [bool; 256],
}

/// Returns the forms of a secret that are looked for beside one another.
fn needles_of(secret: &str) -> Vec<Needle> {
    if secret.is_empty() {
        return Vec::new();
    }
    let digits = secret.chars().all(|c| c.is_ascii_digit());
    let needle = Needle::plain(secret, digits);
    let mut needles = vec![needle];
    if secret.chars().count() < SHORT {
        let encoded = Zeroizing::new(BASE64.encode(secret.as_bytes()));
        needles.push(Needle::plain(encoded.trim_end_matches('='), false));
    }
    needles.extend(Needle::base64(secret.as_bytes()));
    for needle in &needles {
        super::resident::stay(&needle.chars);
    }
    needles
}

impl Needle {
    fn plain(secret: &str, digits: bool) -> Self {
        let long = secret.chars().count() >= SHORT && !digits;
        let mut chars = Zeroizing::new(Vec::with_capacity(secret.len()));
        let mut gap = false;
        for c in secret.chars() {
            // Whoever writes the secret down may break it there, and escape it as often as he likes.
            if long && (is_blank(c) || c == '\\') {
                gap = true;
            } else {
                chars.push((c, gap));
                gap = false;
            }
        }
        if chars.is_empty() {
            chars.extend(secret.chars().map(|c| (c, false)));
        }
        Self {
            broken: long && chars.len() >= CUT_MIN,
            first: first_bytes(&chars, false),
            chars,
            digits,
            any_case: false,
        }
    }

    /// Returns forms of a password from which it can be had back at a glance: in other letters, backwards, in hexadecimal.
    fn disguised(password: &str) -> Vec<Self> {
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let hex = Zeroizing::new(HEXLOWER.encode(password.as_bytes()));
        let mut texts = vec![hex];
        // A short one is too much like other words, and digits are alike in all of this.
        if password.chars().count() >= SHORT && !is_digits(password) {
            texts.push(Zeroizing::new(password.to_owned()));
            texts.push(Zeroizing::new(password.chars().rev().collect()));
        }
        let texts = texts.iter().filter(|text| text.len() >= SHORT);
        let needle = |text: &Zeroizing<String>| {
            let plain = Self::plain(text, is_digits(text));
            Self {
                any_case: true,
                first: first_bytes(&plain.chars, true),
                ..plain
            }
        };
        texts.map(needle).collect()
    }

    fn is(&self, found: char, wanted: char) -> bool {
        found == wanted
            || self.any_case
                && match found.is_ascii() && wanted.is_ascii() {
                    true => found.eq_ignore_ascii_case(&wanted),
                    false => found.to_lowercase().eq(wanted.to_lowercase()),
                }
    }

    /// Returns the parts of a text in base 64 that show some bytes, wherever they stand in what was encoded.
    fn base64(bytes: &[u8]) -> Vec<Self> {
        let mut needles = Vec::new();
        for shift in 0..3 {
            let mut shifted = Zeroizing::new(vec![0; shift]);
            shifted.extend_from_slice(bytes);
            let encoded = Zeroizing::new(BASE64.encode(&shifted));
            // The characters at both ends hold bits of what stands beside.
            let from = [0, 2, 3][shift];
            let until = shifted.len() * 8 / 6;
            if until < from + ENCODED_MIN {
                continue;
            }
            let part = &encoded[from..until];
            needles.push(Self::plain(part, false));
            if part.contains(['+', '/']) {
                let other = Zeroizing::new(part.replace('+', "-").replace('/', "_"));
                needles.push(Self::plain(&other, false));
            }
        }
        needles
    }

    /// Returns where the secret ends that begins at this place; `None` when it does not begin here.
    fn end(&self, text: &str, at: usize) -> Option<usize> {
        if self.differs_at_once(&text.as_bytes()[at..]) {
            return None;
        }
        let mut alternatives = Vec::new();
        let mut tried = 0;
        let (mut at_now, mut matched) = (at, 0);
        loop {
            let found = self.follow(text, &mut at_now, &mut matched, &mut alternatives);
            if let Some(end) = found.filter(|end| self.counts(text, at, *end)) {
                return Some(end);
            }
            tried += 1;
            match alternatives.pop() {
                Some(place) if tried <= ALTERNATIVES_MAX => (at_now, matched) = place,
                _ => return None,
            }
        }
    }

    /// Returns whether the second character is another one: nearly always it tells that a word is not the secret.
    // Neither character is an escape, and the second one is no break that would be passed over.
    fn differs_at_once(&self, rest: &[u8]) -> bool {
        let [first, second, ..] = rest else {
            return false;
        };
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric();
        match self.chars.get(1) {
            Some((wanted, _)) if is_plain(first) && is_plain(second) => {
                !self.is(char::from(*second), *wanted)
            }
            _ => false,
        }
    }

    /// Compares on from a place; what could be read in two ways is noted as an alternative.
    fn follow(
        &self,
        text: &str,
        at: &mut usize,
        matched: &mut usize,
        alternatives: &mut Vec<(usize, usize)>,
    ) -> Option<usize> {
        while let Some((wanted, gap)) = self.chars.get(*matched) {
            let rest = &text[*at..];
            let Some(raw) = rest.chars().next() else {
                // The text breaks off in the middle.
                let cut = self.broken && *matched >= CUT_MIN.max(self.chars.len().div_ceil(2));
                return cut.then_some(*at);
            };
            let passable = |c: char| {
                *matched > 0 && self.broken && (is_blank(c) || c == '\\' || *gap && c == '+')
            };
            let [deep, shallow] = written(rest, raw);
            // Backslashes are passed over one by one: the last of them may begin an escape.
            let one_by_one = self.broken && rest.starts_with("\\\\");
            let shallow = shallow.filter(|_| !one_by_one);
            let readings = [deep, shallow, Some((raw, raw.len_utf8()))];
            let readings = || readings.into_iter().flatten();
            let matching = readings().filter(|(c, _)| self.is(*c, *wanted));
            let passing = readings().filter(|(c, _)| !self.is(*c, *wanted) && passable(*c));
            let next = |found: usize| move |(_, length): (char, usize)| (length, found);
            let mut ways = matching.map(next(1)).chain(passing.map(next(0)));
            let (length, found) = ways.next()?;
            let here = (*at, *matched);
            // Where a line break is passed over, its letter may be the one that is wanted.
            let is_wanted = found == 0 && rest[raw.len_utf8()..].starts_with(*wanted);
            alternatives.extend(
                ways.filter(|(_, found)| *found == 1 || is_wanted)
                    .map(|(length, found)| (here.0 + length, here.1 + found)),
            );
            *at += length;
            *matched += found;
        }
        Some(*at)
    }

    /// Returns whether what was found is the secret, and not a part of another word.
    fn counts(&self, text: &str, from: usize, end: usize) -> bool {
        if self.broken {
            return true;
        }
        let after = text[end..].chars().next();
        let whole = !ends_in_word(&text[..from]) && !after.is_some_and(char::is_alphanumeric);
        whole && !(self.digits && is_group_of_token(text, from, end))
    }
}

/// Returns the bytes that a secret may begin with: those of its first character, and those of an escape.
fn first_bytes(chars: &[(char, bool)], any_case: bool) -> [bool; 256] {
    let mut first = [false; 256];
    let mut bytes = [0; 4];
    let Some((c, _)) = chars.first() else {
        return first;
    };
    let cases = c.to_lowercase().chain(c.to_uppercase());
    let begins = std::iter::once(*c).chain(cases.filter(|_| any_case));
    for c in begins.chain(['%', '\\', '&']) {
        first[usize::from(c.encode_utf8(&mut bytes).as_bytes()[0])] = true;
    }
    first
}

/// Whether a text may be broken at it without becoming another one.
fn is_blank(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}'
        )
}

/// A character, and how long its escape is.
type Escaped = Option<(char, usize)>;

/// Returns the character that an escape stands for, of JSON, of an address or of a page: where it was escaped twice, and
/// where it was once.
fn written(rest: &str, raw: char) -> [Escaped; 2] {
    let (twice, once) = match raw {
        '%' => (twice_percent(rest), percent(rest)),
        '&' => (twice_entity(rest), entity(rest)),
        // However often it is escaped: backslashes are passed over.
        '\\' => (None, backslash(rest)),
        _ => (None, None),
    };
    [twice, once]
}

/// `%2522` for `%22`.
fn twice_percent(rest: &str) -> Escaped {
    let (mut once, mut rest) = (String::new(), rest);
    while once.len() < 12
        && let Some(hex) = rest.strip_prefix("%25").and_then(|behind| behind.get(..2))
    {
        once.push('%');
        once.push_str(hex);
        rest = &rest[5..];
    }
    let (c, length) = percent(&once)?;
    Some((c, length / 3 * 5))
}

/// `&amp;quot;` for `&quot;`.
fn twice_entity(rest: &str) -> Escaped {
    const AMP: &str = "&amp;";
    let inner: String = rest
        .strip_prefix(AMP)?
        .chars()
        .take(LONGEST_ENTITY)
        .collect();
    let (c, length) = entity(&format!("&{inner}"))?;
    Some((c, AMP.len() + length - 1))
}

fn percent(rest: &str) -> Option<(char, usize)> {
    let bytes = rest.as_bytes();
    let mut decoded = [0; 4];
    for (at, chunk) in bytes.chunks(3).take(4).enumerate() {
        let ([b'%', hex @ ..], true) = (chunk, chunk.len() == 3) else {
            break;
        };
        let Some(byte) = str::from_utf8(hex)
            .ok()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok())
        else {
            break;
        };
        decoded[at] = byte;
        if let Ok(text) = str::from_utf8(&decoded[..=at]) {
            return text.chars().next().map(|c| (c, (at + 1) * 3));
        }
    }
    None
}

fn backslash(rest: &str) -> Option<(char, usize)> {
    let escaped = rest[1..].chars().next()?;
    let plain = match escaped {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'b' => '\u{8}',
        'f' => '\u{c}',
        '"' | '/' | '\\' | '\'' => escaped,
        'u' => return unicode(rest),
        _ => return None,
    };
    Some((plain, 2))
}

fn unicode(rest: &str) -> Option<(char, usize)> {
    let unit = |at: usize| -> Option<u16> {
        let hex = rest.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(hex, 16).ok()
    };
    let first = unit(0)?;
    let units = [first, unit(6).unwrap_or(0)];
    let c = char::decode_utf16(units).next()?.ok()?;
    Some((c, 6 * c.len_utf16()))
}

fn entity(rest: &str) -> Option<(char, usize)> {
    let end = rest
        .bytes()
        .take(LONGEST_ENTITY)
        .position(|byte| byte == b';')?;
    let name = &rest[1..end];
    let c = match name {
        "quot" => '"',
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    };
    Some((c, end + 1))
}

/// Returns whether a word goes on beyond the end of this text.
fn ends_in_word(before: &str) -> bool {
    let mut last = before.chars().rev();
    let Some(c) = last.next() else { return false };
    if !c.is_alphanumeric() {
        return false;
    }
    // An escape is no part of the word behind it.
    let escape = |length: usize| {
        let from = before.len().checked_sub(length)?;
        let [_, once] = written(before.get(from..)?, before[from..].chars().next()?);
        once.filter(|(_, found)| *found == length)
    };
    let escaped = [2, 3, 6].into_iter().filter_map(escape).next();
    escaped.is_none_or(|(c, _)| c.is_alphanumeric())
}

/// Returns whether digits are one of several groups that stand together, as those of a prepaid token: it is money, and
/// keeps its digits.
fn is_group_of_token(text: &str, from: usize, end: usize) -> bool {
    let joins = |c: &char| c.is_ascii_digit() || *c == '-' || c.is_whitespace();
    let count = |digits: usize, c: char| digits + usize::from(c.is_ascii_digit());
    let before = text[..from].chars().rev().take_while(joins).fold(0, count);
    let behind = text[end..].chars().take_while(joins).fold(0, count);
    let own = text[from..end].chars().fold(0, count);
    (before > 0 || behind > 0) && before + own + behind >= TOKEN_DIGITS
}

#[cfg(test)]
mod tests;
