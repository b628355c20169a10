//! Who may sign: OpenSSH's file of allowed signers (ALLOWED SIGNERS in `man ssh-keygen`), read strictly.
//!
//! A line that OpenSSH would pass over silently is an error here, with its place: a signer who is left out by a slip of the pen
//! would be noticed when a batch waits, one who is let in would not.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};

use super::ssh::{self, NAMESPACE, PublicKey};
use crate::domain::Timestamp;

/// Bytes of a file, at most: it is kept with every batch that is loaded under it.
pub const FILE_MAX: usize = 64 * 1024;

/// Lines with signers, at most.
pub const SIGNERS_MAX: usize = 256;

/// A name, in bytes, at most.
pub const PRINCIPAL_MAX: usize = 128;

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Signer {
    principals: Vec<String>,
    key: PublicKey,
    /// First and last instant at which it may sign.
    valid: (Option<Timestamp>, Option<Timestamp>),
}

/// Everybody who may sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signers {
    text: String,
    signers: Vec<Signer>,
}

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Its line, from 1; 0: the file as a whole.
    pub line: usize,
    /// What is wrong with it, and what to do.
    pub what: String,
}

/// Why a key may not sign for somebody at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Nobody of that name is in the file.
    Nobody,
    /// The name is there, with other keys.
    OtherKey,
    /// Not yet valid then.
    NotYet(Timestamp),
    /// Not valid any more then.
    Expired(Timestamp),
}

impl Unfit {
    /// Says it of a person's key, at `when`.
    #[must_use]
    pub fn text(&self, by: &str) -> String {
        match self {
            Self::Nobody => format!("{by} is not among the allowed signers"),
            Self::OtherKey => format!("the allowed signers have another key for {by}"),
            Self::NotYet(from) => format!("the key of {by} is valid from {from} on"),
            Self::Expired(until) => format!("the key of {by} was valid until {until}"),
        }
    }
}

impl Signers {
    /// Reads a file.
    ///
    /// # Errors
    /// The first line that is wrong.
    pub fn parse(text: &str) -> Result<Self, Mistake> {
        let of_file = |what: String| Mistake { line: 0, what };
        if text.len() > FILE_MAX {
            return Err(of_file(format!(
                "the file is longer than {} KiB: it is kept with every batch",
                FILE_MAX / 1024
            )));
        }
        let mut signers = Vec::new();
        for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let signer = read_line(line).map_err(|what| Mistake {
                line: index + 1,
                what,
            })?;
            signers.extend(signer);
            if signers.len() > SIGNERS_MAX {
                return Err(of_file(format!(
                    "there are more than {SIGNERS_MAX} signers"
                )));
            }
        }
        if signers.is_empty() {
            return Err(of_file(
                "it names nobody who may sign; a line has a name and a public key, such as: alice@example.org \
                ssh-ed25519 AAAA..."
                    .to_owned(),
            ));
        }
        Ok(Self {
            text: text.to_owned(),
            signers,
        })
    }

    /// Returns the file as it was read.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the SHA-256 over the file.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }

    /// Returns how many people it names.
    #[must_use]
    pub fn people(&self) -> usize {
        let names = self.signers.iter().flat_map(|one| &one.principals);
        let names = names.map(|name| name.to_ascii_lowercase());
        names.collect::<BTreeSet<_>>().len()
    }

    /// Returns everybody with the last instant at which one of their keys may sign; `None`: no key of theirs ends.
    #[must_use]
    pub fn ends(&self) -> BTreeMap<String, Option<Timestamp>> {
        let mut ends: BTreeMap<String, Option<Timestamp>> = BTreeMap::new();
        for signer in &self.signers {
            let (_, until) = signer.valid;
            for name in &signer.principals {
                ends.entry(name.to_ascii_lowercase())
                    .and_modify(|end| *end = end.zip(until).map(|(one, other)| one.max(other)))
                    .or_insert(until);
            }
        }
        ends
    }

    /// Returns whether a key may sign for somebody at a time.
    ///
    /// # Errors
    /// Why not.
    pub fn may_sign(&self, by: &str, key: &PublicKey, at: Timestamp) -> Result<(), Unfit> {
        let mut found = Unfit::Nobody;
        for signer in &self.signers {
            if !signer.principals.iter().any(|name| name == by) {
                continue;
            }
            if signer.key != *key {
                if found == Unfit::Nobody {
                    found = Unfit::OtherKey;
                }
                continue;
            }
            match signer.valid {
                (Some(from), _) if at < from => found = Unfit::NotYet(from),
                (_, Some(until)) if at > until => found = Unfit::Expired(until),
                _ => return Ok(()),
            }
        }
        Err(found)
    }

    /// Returns whether somebody of this name signs.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        let mut principals = self.signers.iter().flat_map(|signer| &signer.principals);
        principals.any(|principal| principal == name)
    }

    /// Returns the names of everybody who signs.
    #[must_use]
    pub fn names(&self) -> BTreeSet<&str> {
        let principals = self.signers.iter().flat_map(|signer| &signer.principals);
        principals.map(String::as_str).collect()
    }

    /// Returns the names that a key may sign for, in the order of the file.
    #[must_use]
    pub fn names_of(&self, key: &PublicKey) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for signer in self.signers.iter().filter(|signer| signer.key == *key) {
            for name in &signer.principals {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
        }
        names
    }
}

/// Reads a line; `None`: its key is for other namespaces.
fn read_line(line: &str) -> Result<Option<Signer>, String> {
    let (names, rest) = field(line)?;
    let principals = principals(names)?;
    let (second, after) = field(rest)?;
    let is_key = ssh::KINDS.contains(&second) || looks_like_a_kind(second);
    let (options, rest) = if is_key { ("", rest) } else { (second, after) };
    let (kind, rest) = field(rest)?;
    let (base64, _comment) = field(rest)?;
    if kind.is_empty() || base64.is_empty() {
        return Err("a line has a name, options if there are any, the kind of the key, and the key: the last of these is missing".to_owned());
    }
    let options = Options::read(options)?;
    if kind.contains("-cert-v01@openssh.com") {
        return Err(
            "certificates are not taken: write the key itself, from its .pub file".to_owned(),
        );
    }
    let key = PublicKey::of_fields(kind, base64).map_err(|error| error.to_string())?;
    if !options.is_ours {
        return Ok(None);
    }
    Ok(Some(Signer {
        principals,
        key,
        valid: (options.after, options.before),
    }))
}

fn looks_like_a_kind(text: &str) -> bool {
    ["ssh-", "sk-ssh-", "ecdsa-sha2-", "sk-ecdsa-sha2-"]
        .iter()
        .any(|start| text.starts_with(start))
}

/// Takes a field off a line: spaces within double quotes are a part of it.
fn field(line: &str) -> Result<(&str, &str), String> {
    let line = line.trim_start_matches([' ', '\t']);
    let mut is_quoted = false;
    for (at, letter) in line.char_indices() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ' ' | '\t' if !is_quoted => return Ok((&line[..at], &line[at..])),
            _ => {}
        }
    }
    match is_quoted {
        true => Err("a double quote is not closed".to_owned()),
        false => Ok((line, "")),
    }
}

/// Reads the names of a line.
// A pattern matches names that nobody has written down: whose signature it is could be chosen by whoever signs.
fn principals(field: &str) -> Result<Vec<String>, String> {
    let field = field
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(field);
    let mut names = Vec::new();
    for name in field.split(',') {
        if name.is_empty() || name.len() > PRINCIPAL_MAX {
            return Err(format!(
                "a name is empty or longer than {PRINCIPAL_MAX} bytes: names are separated by one comma, without spaces"
            ));
        }
        if name.contains(['*', '?', '!']) {
            return Err(format!(
                "{name:?} is a pattern, but a signer must be a person: write every name out"
            ));
        }
        if name
            .contains(|letter: char| letter.is_control() || letter.is_whitespace() || letter == '"')
        {
            return Err(format!(
                "{name:?} is no name of a signer: it has a space, a quote or a control character"
            ));
        }
        // Letters of other alphabets look like these.
        if !name.is_ascii() {
            return Err(format!(
                "{name:?} has a letter that is not ASCII: another one may look the same"
            ));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

struct Options {
    is_ours: bool,
    after: Option<Timestamp>,
    before: Option<Timestamp>,
}

impl Options {
    fn read(text: &str) -> Result<Self, String> {
        let mut options = Self {
            is_ours: true,
            after: None,
            before: None,
        };
        for option in split(text) {
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(unquoted(value))),
                None => (option, None),
            };
            match (name.to_ascii_lowercase().as_str(), value) {
                ("", None) => return Err("an option is empty".to_owned()),
                ("cert-authority", None) => {
                    return Err("cert-authority is not taken: certificates do not say who signed. Write a line for each person, with the person's own key".to_owned());
                }
                ("namespaces", Some(list)) => options.is_ours = matches_list(list),
                ("valid-after", Some(time)) => options.after = Some(instant(time, false)?),
                ("valid-before", Some(time)) => options.before = Some(instant(time, true)?),
                (name @ ("namespaces" | "valid-after" | "valid-before"), None) => {
                    return Err(format!("{name} has no value"));
                }
                (name, _) => {
                    return Err(format!(
                        "{name:?} is neither an option that is known here (namespaces, valid-after, valid-before) nor the kind of a key"
                    ));
                }
            }
        }
        if let (Some(after), Some(before)) = (options.after, options.before)
            && after > before
        {
            return Err(format!(
                "the key is valid at no time: valid-after is {after}, and valid-before {before}"
            ));
        }
        Ok(options)
    }
}

/// Splits options at commas that are not quoted.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    text.split(move |letter| {
        is_quoted ^= letter == '"';
        letter == ',' && !is_quoted
    })
    .filter(move |part| !(text.is_empty() && part.is_empty()))
}

fn unquoted(value: &str) -> &str {
    value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(value)
}

/// Returns whether a pattern-list has our namespace, as PATTERNS in `man ssh_config` has it.
fn matches_list(list: &str) -> bool {
    let mut found = false;
    for pattern in list.split(',') {
        match pattern.strip_prefix('!') {
            Some(not) if matches(not.as_bytes(), NAMESPACE.as_bytes()) => return false,
            Some(_) => {}
            None => found |= matches(pattern.as_bytes(), NAMESPACE.as_bytes()),
        }
    }
    found
}

fn matches(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        // Stars that follow one another are one.
        ([b'*', rest @ ..], _) if rest.first() == Some(&b'*') => matches(rest, text),
        ([b'*', rest @ ..], _) => (0..=text.len()).any(|at| matches(rest, &text[at..])),
        ([b'?', rest @ ..], [_, others @ ..]) => matches(rest, others),
        ([first, rest @ ..], [letter, others @ ..]) => first == letter && matches(rest, others),
        _ => false,
    }
}

/// Reads `YYYYMMDDZ`, `YYYYMMDDHHMMZ` or `YYYYMMDDHHMMSSZ`.
fn instant(text: &str, is_end: bool) -> Result<Timestamp, String> {
    let wrong = || {
        format!(
            "{text:?} is not a time: valid-after and valid-before take YYYYMMDDZ, YYYYMMDDHHMMZ or YYYYMMDDHHMMSSZ"
        )
    };
    let digits = match text.strip_suffix(['Z', 'z']) {
        Some(digits) => digits,
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            return Err(format!(
                "{text:?} has no time zone, and would depend on the machine: write it in universal time, with Z at its \
                end"
            ));
        }
        None => return Err(wrong()),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) || ![8, 12, 14].contains(&digits.len()) {
        return Err(wrong());
    }
    let number = |from: usize, to: usize| digits.get(from..to).unwrap_or("0").parse::<i8>().ok();
    let read = || {
        let year: i16 = digits[..4].parse().ok()?;
        let local = DateTime::new(
            year,
            number(4, 6)?,
            number(6, 8)?,
            number(8, 10)?,
            number(10, 12)?,
            number(12, 14)?,
            0,
        )
        .ok()?;
        let instant = local.to_zoned(TimeZone::UTC).ok()?.timestamp();
        Some(instant.as_millisecond())
    };
    let millis = read().ok_or_else(wrong)?;
    // To the end of the second that it names.
    Ok(Timestamp::from_millis(
        millis + if is_end { 999 } else { 0 },
    ))
}

#[cfg(test)]
mod tests {
    use super::super::ssh::made_up::public;
    use super::*;

    fn key(number: u8) -> PublicKey {
        PublicKey::of_line(&public(number)).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn who_is_written_down_may_sign_with_the_own_key_while_it_is_valid() {
        let text = format!(
            "\u{feff}# people\n\nalice {one} a comment of hers\r\nbob,\tcarol {two}\n",
            one = public(1),
            two = public(2)
        );
        // The name after a comma and a tab is a field of its own.
        assert_eq!(Signers::parse(&text).unwrap_err().line, 4);
        let text = format!(
            "# people\n  alice {one} a comment\nbob,carol \t{two}\n\"dora\" namespaces=\"git,disb*\",valid-after=20260101Z,valid-before=\"202612312359Z\" {three}\n\
             eve namespaces=\"git\" {four}\nfred VALID-AFTER=20260101000001Z {five}\nalice {two}\ngil namespaces=\"*,!disburse\" {five}\n",
            one = public(1),
            two = public(2),
            three = public(3),
            four = public(4),
            five = public(5),
        );
        let signers = Signers::parse(&text).unwrap();
        let from = at("2026-01-01T00:00:00Z");
        let until = at("2026-12-31T23:59:00.999Z");
        for (by, number, time, expected) in [
            ("alice", 1, "2020-01-01T00:00:00Z", Ok(())),
            ("alice", 2, "2020-01-01T00:00:00Z", Ok(())),
            ("alice", 3, "2020-01-01T00:00:00Z", Err(Unfit::OtherKey)),
            ("Alice", 1, "2020-01-01T00:00:00Z", Err(Unfit::Nobody)),
            ("carol", 2, "2020-01-01T00:00:00Z", Ok(())),
            ("bob,carol", 2, "2020-01-01T00:00:00Z", Err(Unfit::Nobody)),
            (
                "dora",
                3,
                "2025-12-31T23:59:59.999Z",
                Err(Unfit::NotYet(from)),
            ),
            ("dora", 3, "2026-01-01T00:00:00Z", Ok(())),
            ("dora", 3, "2026-12-31T23:59:00Z", Ok(())),
            (
                "dora",
                3,
                "2026-12-31T23:59:01Z",
                Err(Unfit::Expired(until)),
            ),
            ("eve", 4, "2026-06-01T00:00:00Z", Err(Unfit::Nobody)),
            ("gil", 5, "2026-06-01T00:00:00Z", Err(Unfit::Nobody)),
            ("fred", 5, "2026-01-01T00:00:01Z", Ok(())),
        ] {
            let found = signers.may_sign(by, &key(number), at(time));
            assert_eq!(found, expected, "{by} {number} {time}");
        }
        assert_eq!(signers.names_of(&key(2)), ["bob", "carol", "alice"]);
        assert!(signers.names_of(&key(4)).is_empty());
    }

    #[test]
    fn a_broken_line_is_refused_with_its_place() {
        let key = public(1);
        for (line, what) in [
            ("alice".to_owned(), "is missing"),
            ("alice ssh-ed25519".to_owned(), "is missing"),
            ("alice ssh-ed25519 !!".to_owned(), "not base64"),
            (format!("* {key}"), "is a pattern"),
            (format!("*@example.org {key}"), "is a pattern"),
            (format!("!bob {key}"), "is a pattern"),
            (format!("alic\u{435}@example.org {key}"), "is not ASCII"),
            (format!("a,,b {key}"), "a name is empty"),
            (format!("\"a b\" {key}"), "no name of a signer"),
            (format!("\"a {key}"), "a double quote is not closed"),
            (format!("{} {key}", "a".repeat(129)), "longer than 128"),
            (
                format!("alice cert-authority {key}"),
                "cert-authority is not taken",
            ),
            (
                format!("alice verify-required {key}"),
                "\"verify-required\" is neither",
            ),
            (format!("alice namespaces {key}"), "namespaces has no value"),
            (
                format!("alice valid-after=20260101Z,, {key}"),
                "an option is empty",
            ),
            (
                format!("alice valid-after=20260101 {key}"),
                "with Z at its end",
            ),
            (
                format!("alice valid-after=20260230Z {key}"),
                "is not a time",
            ),
            (format!("alice valid-after=202601Z {key}"), "is not a time"),
            (
                format!("alice valid-after=tomorrowZ {key}"),
                "is not a time",
            ),
            (
                format!("alice valid-after=20260102Z,valid-before=20260101Z {key}"),
                "valid at no time",
            ),
            (
                "alice ssh-ed25519-cert-v01@openssh.com AAAA".to_owned(),
                "certificates are not taken",
            ),
            ("alice ssh-dss AAAAB3NzaC1kc3M=".to_owned(), "not supported"),
            (
                "alice ecdsa-sha2-nistp521 AAAAE2VjZHNhLXNoYTItbmlzdHA1MjE=".to_owned(),
                "not supported",
            ),
        ] {
            let mistake = Signers::parse(&format!("# made up\n{line}\n")).unwrap_err();
            assert_eq!(mistake.line, 2, "{line}: {}", mistake.what);
            assert!(mistake.what.contains(what), "{line}: {}", mistake.what);
        }
        for (text, what) in [
            (String::new(), "it names nobody"),
            ("# only a comment\n".to_owned(), "it names nobody"),
            (format!("a namespaces=\"git\" {key}\n"), "it names nobody"),
            ("#".repeat(FILE_MAX + 1), "longer than 64 KiB"),
            (
                format!("a {key}\n").repeat(SIGNERS_MAX + 1),
                "more than 256",
            ),
        ] {
            let mistake = Signers::parse(&text).unwrap_err();
            assert_eq!(mistake.line, 0);
            assert!(mistake.what.contains(what), "{}", mistake.what);
        }
    }
}
