//! What values a key takes, and how each is read from text.

use std::ffi::OsStr;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;

use super::typed::{Value, digits, duration};
use crate::domain::{Country, Currency, Originator, Rate, ServiceCode, WireZone};
use crate::journal::Location;

/// The kind of value a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One line of text.
    Text,
    /// A path in the file system.
    Path,
    /// An address without credentials, query or fragment; plain http for loopback only.
    Url,
    /// A path below an address.
    UrlPath,
    /// Payments per second.
    Rate,
    /// A span of time.
    Duration {
        /// The shortest that makes sense.
        least: Duration,
    },
    /// A whole number from 1.
    Count {
        /// The largest allowed.
        most: u32,
    },
    /// `true` or `false`.
    Flag,
    /// An IP address and a port.
    Address,
    /// An IANA time zone.
    Zone,
    /// A two-letter country code.
    Country,
    /// A three-letter currency code.
    Currency,
    /// The paying organisation's name.
    Originator,
    /// A service code.
    ServiceCode,
    /// The name of a dialect, or the path of its file.
    Dialect,
    /// The path of a journal, or its address on a server.
    Journal,
    /// One of some words.
    Word(&'static [&'static str]),
}

/// The longest span of time a key takes.
const LONGEST: Duration = crate::ledger::due::LONGEST_WAIT;

impl Kind {
    /// Checks a text against the kind and its limits.
    ///
    /// # Errors
    /// Says what was expected.
    pub(in crate::cli::config) fn check(self, text: &str) -> Result<(), String> {
        match self {
            Self::Text => String::read(text).map(drop),
            Self::Path | Self::Dialect => PathBuf::read(text).map(drop),
            Self::Url => Url::read(text).map(drop),
            Self::Journal => Location::read(text).map(drop),
            Self::UrlPath => url_path(text),
            Self::Rate => Rate::read(text).map(drop),
            Self::Duration { least } => match Duration::read(text)? {
                found if found < least => {
                    Err(format!("a duration of at least {} ms", least.as_millis()))
                }
                found if found > LONGEST => Err("a duration of at most 366d".to_owned()),
                _ => Ok(()),
            },
            Self::Count { most } => match NonZeroU32::read(text) {
                Ok(found) if found.get() <= most => Ok(()),
                _ => Err(format!("a whole number from 1 to {most}")),
            },
            Self::Flag => bool::read(text).map(drop),
            Self::Address => SocketAddr::read(text).map(drop),
            Self::Zone => WireZone::read(text).map(drop),
            Self::Country => Country::read(text).map(drop),
            Self::Currency => Currency::read(text).map(drop),
            Self::Originator => Originator::read(text).map(drop),
            Self::ServiceCode => ServiceCode::read(text).map(drop),
            Self::Word(words) if words.contains(&text) => Ok(()),
            Self::Word(words) => Err(format!("one of {}", words.join(", "))),
        }
    }

    /// Returns what the file must hold for this kind.
    pub(in crate::cli::config) fn expected(self) -> String {
        match self {
            Self::Rate => r#"a rate such as "50/s""#.to_owned(),
            Self::Duration { .. } => r#"a duration in quotes, such as "40s""#.to_owned(),
            Self::Count { most } => format!("a whole number from 1 to {most}, without quotes"),
            Self::Flag => "true or false, without quotes".to_owned(),
            Self::Word(words) => format!("one of {}, in quotes", words.join(", ")),
            _ => "a text in quotes".to_owned(),
        }
    }

    /// Returns the text as it may be shown in an error.
    pub(in crate::cli::config) fn shown(self, text: &str) -> String {
        let visible = match self {
            Self::Url => address_shown(text),
            Self::Journal => journal_shown(text),
            _ => text.to_owned(),
        };
        quoted(&visible)
    }
}

/// Quotes a text for an error, on one line and no longer than a line.
pub(in crate::cli::config) fn quoted(text: &str) -> String {
    const LENGTH_MAX: usize = 80;
    let mut short: String = text.chars().take(LENGTH_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

/// Returns a name of the file's as it may be shown: as it is, or in quotes where that is not safe to print.
pub(in crate::cli::config) fn named(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    if !name.is_empty() && name.len() <= 80 && name.chars().all(plain) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

/// Returns a text with each address in it cut after its host: its path, query and credentials may be what lets a message in.
#[must_use]
pub(in crate::cli) fn only_hosts(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, behind) = rest.split_at(at + 3);
        shown.push_str(before);
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`');
        let (address, behind) = behind.split_at(behind.find(ends).unwrap_or(behind.len()));
        shown.push_str(&host_of(address));
        rest = behind;
    }
    shown + rest
}

/// Returns the host of an address without its scheme, with `…` for all that follows it.
fn host_of(address: &str) -> String {
    // Credentials may hold any sign: they end at the last @.
    let (hidden, rest) = address
        .rsplit_once('@')
        .map_or(("", address), |(_, host)| ("***@", host));
    let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
    let more = if rest[end..].len() > 1 { "/…" } else { "" };
    format!("{hidden}{}{more}", &rest[..end])
}

/// Returns what was given as an address as it may be shown.
fn address_shown(text: &str) -> String {
    match text.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{}", host_of(rest)),
        None => host_of(text),
    }
}

/// Returns what was given as a journal as it may be shown: of an address that cannot be read, any part may be a password.
fn journal_shown(text: &str) -> String {
    match Location::parse(OsStr::new(text)) {
        Ok(found) => found.to_string(),
        Err(_) => match text.split_once(':') {
            Some((scheme, _)) => format!("{scheme}:…"),
            None => text.to_owned(),
        },
    }
}

/// Returns a text of any kind as it may be shown: it may be an address.
pub(in crate::cli::config) fn any_shown(text: &str) -> String {
    let is_address = text.contains("://") || text.contains('@');
    let end = text.find(['?', '#']).unwrap_or(text.len());
    match is_address {
        true => quoted(&address_shown(text)),
        false => quoted(&text[..end]),
    }
}

impl Value for String {
    fn read(text: &str) -> Result<Self, String> {
        const LENGTH_MAX: usize = 1_024;
        if text.is_empty() || text.len() > LENGTH_MAX || text.contains(char::is_control) {
            return Err(format!("one line of 1 to {LENGTH_MAX} characters"));
        }
        Ok(text.to_owned())
    }
}

impl Value for PathBuf {
    fn read(text: &str) -> Result<Self, String> {
        String::read(text).map(Self::from)
    }
}

impl Value for Location {
    fn read(text: &str) -> Result<Self, String> {
        String::read(text)?;
        Self::parse(OsStr::new(text)).map_err(|error| {
            format!("a file, or postgres://USER@HOST/DATABASE without a password ({error})")
        })
    }
}

impl Value for bool {
    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "true or false".to_owned())
    }
}

impl Value for SocketAddr {
    fn read(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| r#"an IP address and a port such as "127.0.0.1:8490""#.to_owned())
    }
}

impl Value for WireZone {
    fn read(text: &str) -> Result<Self, String> {
        Self::from_name(text)
            .ok_or_else(|| r#"an IANA time zone such as "Africa/Nairobi""#.to_owned())
    }
}

impl Value for Country {
    fn read(text: &str) -> Result<Self, String> {
        Self::from_code(text).ok_or_else(|| r#"a two-letter country code such as "KE""#.to_owned())
    }
}

impl Value for Currency {
    fn read(text: &str) -> Result<Self, String> {
        Self::from_code(text)
            .ok_or_else(|| r#"a three-letter currency code such as "KES""#.to_owned())
    }
}

impl Value for Originator {
    fn read(text: &str) -> Result<Self, String> {
        Self::parse(text).map_err(|error| format!("a name (it {error})"))
    }
}

impl Value for ServiceCode {
    fn read(text: &str) -> Result<Self, String> {
        Self::parse(text).map_err(|error| format!("a service code (it {error})"))
    }
}

impl Value for NonZeroU32 {
    fn read(text: &str) -> Result<Self, String> {
        digits(text)
            .and_then(|number| u32::try_from(number).ok())
            .and_then(Self::new)
            .ok_or_else(|| "a whole number from 1".to_owned())
    }
}

impl Value for Duration {
    fn read(text: &str) -> Result<Self, String> {
        duration(text).ok_or_else(|| {
            r#"a duration such as "250ms", "40s", "10m", "24h" or "1h30m""#.to_owned()
        })
    }
}

impl Value for Url {
    fn read(text: &str) -> Result<Self, String> {
        let mut url = Self::parse(text)
            .map_err(|_| r#"an address such as "https://gateway.example""#.to_owned())?;
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(&url) => {}
            "http" => {
                return Err("an https:// address (plain http:// is for loopback only)".to_owned());
            }
            _ => return Err("an https:// address".to_owned()),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("an address without credentials".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("an address without query and fragment".to_owned());
        }
        // One address has one text: the journal compares it.
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(url)
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn url_path(text: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '?' | '#' | '\\' | '%');
    let steps_back = text.split('/').any(|part| matches!(part, "." | ".."));
    if !text.starts_with('/') || text.starts_with("//") || !text.chars().all(plain) || steps_back {
        return Err(r#"a path such as "/v1/global-api/payments""#.to_owned());
    }
    Ok(())
}
