//! Which page is asked for, and who may ask: pure, with a table of tests.

use std::net::{IpAddr, SocketAddr};

use hyper::header::HOST;
use hyper::{HeaderMap, Method, Uri};
use percent_encoding::percent_decode_str;

use super::token::Token;

/// A search is for a reference, a number or a name: none is longer.
const SEARCH_MAX: usize = 200;

/// A file of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// `report.html`, whole in itself only while the list of payments is in it.
    Html,
    /// `report.xlsx`.
    Xlsx,
    /// `payments.csv`.
    Csv,
    /// `report.json`.
    Json,
    /// `failed.csv`, where there is one.
    Failed,
    /// All of them in one `report.zip`.
    All,
}

impl File {
    /// Every one.
    pub const ALL: [Self; 6] = [
        Self::All,
        Self::Html,
        Self::Xlsx,
        Self::Csv,
        Self::Json,
        Self::Failed,
    ];

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Html => "report.html",
            Self::Xlsx => "report.xlsx",
            Self::Csv => "payments.csv",
            Self::Json => "report.json",
            Self::Failed => "failed.csv",
            Self::All => "report.zip",
        }
    }

    /// Returns what a browser takes it for. It is saved, never shown: what is in it has another origin's rules.
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            Self::Csv | Self::Failed => "text/csv; charset=utf-8",
            Self::Json => "application/json",
            Self::All => "application/zip",
        }
    }
}

/// Rows of one batch, of one state and code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The batch.
    pub batch: String,
    /// The state, by its name in files.
    pub state: String,
    /// The status code, where only its rows are wanted.
    pub code: Option<i32>,
    /// Those behind this one.
    pub after: i64,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A page that is kept fresh.
    Live(Key),
    /// Its events.
    Events(Key),
    Rows(Wanted),
    Payment {
        batch: String,
        id: String,
    },
    Report {
        batch: String,
        file: File,
    },
    Search(String),
}

/// A page that many may look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Batches,
    Batch(String),
}

/// Why nothing is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Not asked by the name of this machine: another site may have had its name lead here.
    Host,
    /// Nothing is changed here.
    Method,
    /// Wrong token, or no such page: nobody can tell which.
    Nothing,
}

/// Returns whether an address is of this machine alone.
#[must_use]
pub fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Judges a request by its head alone.
pub(super) fn judge(
    token: &Token,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Asked, Refusal> {
    // The port is not compared: behind `ssh -L` it is another one.
    let mut hosts = headers.get_all(HOST).iter();
    let named = hosts.next().and_then(|host| host.to_str().ok());
    let in_target = uri.host().is_none_or(is_own_name);
    if hosts.next().is_some()
        || !named.is_some_and(|host| is_own_name(without_port(host)))
        || !in_target
    {
        return Err(Refusal::Host);
    }
    let mut segments = uri.path().strip_prefix('/').unwrap_or_default().split('/');
    if !token.is(segments.next().unwrap_or_default()) {
        return Err(Refusal::Nothing);
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Err(Refusal::Method);
    }
    let segments: Option<Vec<String>> = segments.map(decoded).collect();
    let segments = segments.ok_or(Refusal::Nothing)?;
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    page(&segments, uri.query().unwrap_or_default()).ok_or(Refusal::Nothing)
}

fn page(segments: &[&str], query: &str) -> Option<Asked> {
    let value = |wanted: &str| {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        pairs
            .find(|(name, _)| name == wanted)
            .map(|(_, value)| value)
    };
    Some(match segments {
        [""] => Asked::Live(Key::Batches),
        ["events"] => Asked::Events(Key::Batches),
        ["search"] => {
            let text = value("q").unwrap_or_default();
            Asked::Search(text.trim().chars().take(SEARCH_MAX).collect())
        }
        ["batch", batch] => Asked::Live(Key::Batch((*batch).to_owned())),
        ["batch", batch, "events"] => Asked::Events(Key::Batch((*batch).to_owned())),
        ["batch", batch, "rows"] => Asked::Rows(Wanted {
            batch: (*batch).to_owned(),
            state: value("state")?.into_owned(),
            code: value("code").and_then(|code| code.parse().ok()),
            after: value("after")
                .and_then(|after| after.parse().ok())
                .unwrap_or(0),
        }),
        ["batch", batch, "payment", id] => Asked::Payment {
            batch: (*batch).to_owned(),
            id: (*id).to_owned(),
        },
        ["batch", batch, "report", name] => Asked::Report {
            batch: (*batch).to_owned(),
            file: File::ALL.into_iter().find(|file| file.name() == *name)?,
        },
        _ => return None,
    })
}

fn decoded(segment: &str) -> Option<String> {
    let text = percent_decode_str(segment).decode_utf8().ok()?;
    Some(text.into_owned())
}

fn without_port(host: &str) -> &str {
    // The colons of an address of IPv6 are within brackets.
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Returns whether a host name is one that leads here without anybody's name server.
fn is_own_name(host: &str) -> bool {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    match bare.unwrap_or(host).parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn judged(method: &str, target: &str, hosts: &[&str]) -> Result<Asked, Refusal> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_str(host).unwrap());
        }
        let method = method.parse().unwrap();
        judge(
            &Token::of("T0ken"),
            &method,
            &target.parse().unwrap(),
            &headers,
        )
    }

    #[test]
    fn only_the_names_of_this_machine_lead_here() {
        for host in [
            "127.0.0.1:8470",
            "127.0.0.1",
            "127.8.9.1:1",
            "localhost:8000",
            "LOCALHOST",
            "[::1]:80",
            "[::1]",
            "[::ffff:127.0.0.1]:80",
        ] {
            assert!(judged("GET", "/T0ken/", &[host]).is_ok(), "{host}");
        }
        for hosts in [
            &[][..],
            &[""],
            &["attacker.example"],
            &["attacker.example:8470"],
            &["localhost.attacker.example"],
            &["127.0.0.1.attacker.example"],
            &["0.0.0.0:8470"],
            &["192.168.1.7:8470"],
            &["localhost@attacker.example"],
            &["localhost", "attacker.example"],
        ] {
            assert_eq!(
                judged("GET", "/T0ken/", hosts),
                Err(Refusal::Host),
                "{hosts:?}"
            );
        }
        assert_eq!(
            judged("GET", "http://attacker.example/T0ken/", &["localhost"]),
            Err(Refusal::Host)
        );
    }

    #[test]
    fn without_the_token_nothing_is_there() {
        for target in [
            "/",
            "/t0ken/",
            "/T0ken1/",
            "//T0ken/",
            "/x/T0ken/",
            "/T0ke%6e/",
            "/batch/june",
            "/T0ken/../x",
            "/T0ken/none",
            "/T0ken",
        ] {
            assert_eq!(
                judged("GET", target, &["localhost"]),
                Err(Refusal::Nothing),
                "{target}"
            );
        }
        // Nobody learns by a method whether a token is right.
        assert_eq!(judged("POST", "/x/", &["localhost"]), Err(Refusal::Nothing));
    }

    #[test]
    fn nothing_is_changed_by_any_method() {
        for method in [
            "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW",
        ] {
            assert_eq!(
                judged(method, "/T0ken/", &["localhost"]),
                Err(Refusal::Method),
                "{method}"
            );
        }
        assert!(judged("HEAD", "/T0ken/", &["localhost"]).is_ok());
    }

    #[test]
    fn a_path_names_a_page() {
        let june = || "june".to_owned();
        let rows = |code, after| {
            Some(Asked::Rows(Wanted {
                batch: june(),
                state: "failed".into(),
                code,
                after,
            }))
        };
        for (target, expected) in [
            ("/T0ken/", Some(Asked::Live(Key::Batches))),
            ("/T0ken/events", Some(Asked::Events(Key::Batches))),
            ("/T0ken/batch/june", Some(Asked::Live(Key::Batch(june())))),
            ("/T0ken/batch/jun%65", Some(Asked::Live(Key::Batch(june())))),
            (
                "/T0ken/batch/june/events",
                Some(Asked::Events(Key::Batch(june()))),
            ),
            ("/T0ken/batch/june/rows?state=failed", rows(None, 0)),
            (
                "/T0ken/batch/june/rows?state=failed&code=106&after=77",
                rows(Some(106), 77),
            ),
            (
                "/T0ken/batch/june/rows?state=failed&code=x&after=y",
                rows(None, 0),
            ),
            ("/T0ken/batch/june/rows", None),
            (
                "/T0ken/batch/june/report/report.xlsx",
                Some(Asked::Report {
                    batch: june(),
                    file: File::Xlsx,
                }),
            ),
            ("/T0ken/batch/june/report/..%2f..%2fetc%2fpasswd", None),
            ("/T0ken/batch/june/report/disburse.db", None),
            (
                "/T0ken/search?q=+Ann%27s+",
                Some(Asked::Search("Ann's".into())),
            ),
            ("/T0ken/search", Some(Asked::Search(String::new()))),
            ("/T0ken/batch/%ff", None),
        ] {
            assert_eq!(
                judged("GET", target, &["localhost"]).ok(),
                expected,
                "{target}"
            );
        }
        let long = format!("/T0ken/search?q={}", "a".repeat(1000));
        assert_eq!(
            judged("GET", &long, &["localhost"]),
            Ok(Asked::Search("a".repeat(SEARCH_MAX)))
        );
    }

    #[test]
    fn only_loopback_is_listened_on() {
        for (address, expected) in [
            ("127.0.0.1:0", true),
            ("127.5.5.5:1", true),
            ("[::1]:80", true),
            ("[::ffff:127.0.0.1]:80", true),
            ("0.0.0.0:80", false),
            ("[::]:80", false),
            ("192.168.1.7:80", false),
        ] {
            assert_eq!(is_loopback(address.parse().unwrap()), expected, "{address}");
        }
    }
}
