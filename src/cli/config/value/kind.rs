//! What values a key takes, and how each is read from text.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;

use super::rate::Rate;
use super::typed::{Value, digits, duration};
use crate::domain::{Country, Currency, Originator, ServiceCode, WireZone};

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
        let visible = if self == Self::Url {
            without_secrets(text)
        } else {
            text.to_owned()
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

/// Hides what an address may hold besides host and path: credentials, query, fragment.
fn without_secrets(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let separator = if scheme.is_empty() { "" } else { "://" };
    let (hidden, rest) = rest
        .rsplit_once('@')
        .map_or(("", rest), |(_, host)| ("***@", host));
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    format!("{scheme}{separator}{hidden}{}", &rest[..end])
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
