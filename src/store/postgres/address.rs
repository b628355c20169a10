//! Where a journal in PostgreSQL is, as an address says it.
//!
//! `postgres://USER@HOST,HOST:PORT/DATABASE?sslmode=verify-full`: one or more servers of a cluster, of which the one that takes writes
//! is looked for. A folder is named as `?host=/run/postgresql`. What libpq knows of this form is meant as libpq means it, but that
//! `sslmode` is `verify-full` by default where a host is not this machine.

use std::fmt;
use std::path::PathBuf;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::host::Host;
use super::password::{Environment, PasswordSource};
use crate::ledger::recovery::Origin;

/// The port of PostgreSQL.
const PORT: u16 = 5432;

/// The most servers of one cluster.
const HOSTS_MAX: usize = 16;

/// The most bytes of an address.
const LENGTH_MAX: usize = 4_096;

/// Why an address is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It begins with neither.
    #[error("the address of a journal in PostgreSQL begins with postgres:// or postgresql://")]
    Scheme,
    /// Nobody writes so long ones.
    #[error("the address of the journal is longer than {LENGTH_MAX} bytes")]
    TooLong,
    /// Others of this machine would see it.
    #[error(
        "the address of the journal has a password in it, which everybody on this machine can see: remove it, and put \
        it into ~/.pgpass (mode 600), into the file that journal_password_file names, or into PGPASSWORD"
    )]
    Password,
    /// A part is written in a way that has no meaning.
    #[error("the address of the journal: {what}")]
    Malformed {
        /// Which one, and why.
        what: String,
    },
    /// A parameter has no meaning here.
    #[error(
        "the address of the journal has the parameter {name}, which has no meaning here: known are host, port, sslmode, sslrootcert, sslcert, sslkey and promoted"
    )]
    UnknownParameter {
        /// Its name.
        name: String,
    },
    /// Nobody is named.
    #[error("the address of the journal names no user: postgres://USER@HOST/DATABASE")]
    NoUser,
    /// Nothing is named.
    #[error(
        "the address of the journal names no host: postgres://USER@HOST/DATABASE, or ?host=/run/postgresql for a server on this machine"
    )]
    NoHost,
}

fn malformed(what: impl Into<String>) -> AddressError {
    AddressError::Malformed { what: what.into() }
}

/// How a connection is encrypted, and whom it trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// It is not.
    Disable,
    /// It is where the server can, whoever that is.
    Prefer,
    /// It is, with whoever answers; with a root certificate, as [`Self::VerifyCa`].
    Require,
    /// It is, with a server whose certificate is of the root.
    VerifyCa,
    /// It is, with a server whose certificate is of the root and has its name.
    VerifyFull,
}

/// The modes by their names.
const MODES: [(&str, SslMode); 5] = [
    ("disable", SslMode::Disable),
    ("prefer", SslMode::Prefer),
    ("require", SslMode::Require),
    ("verify-ca", SslMode::VerifyCa),
    ("verify-full", SslMode::VerifyFull),
];

impl fmt::Display for SslMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = MODES.iter().find(|(_, mode)| mode == self);
        f.write_str(known.map_or("", |(name, _)| name))
    }
}

/// A copy of a journal that was seen before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenCopy {
    /// Which one.
    pub origin: Origin,
    /// The file that says so.
    pub told_by: String,
}

/// Where a journal in PostgreSQL is, and how it is reached.
#[derive(Clone, Debug)]
pub struct Address {
    pub(super) user: String,
    pub(super) hosts: Vec<Host>,
    pub(super) database: String,
    pub(super) sslmode: SslMode,
    pub(super) sslrootcert: Option<PathBuf>,
    /// The certificate of the client, and its key.
    pub(super) client_certificate: Option<(PathBuf, PathBuf)>,
    pub(super) password: PasswordSource,
    /// Its user says that a server which is promoted lacks nothing.
    pub(super) is_promoted_whole: bool,
    /// Which copies of journals were seen before.
    pub(super) seen: Vec<SeenCopy>,
}

/// Parameters as they were given.
#[derive(Default)]
struct Parameters {
    host: Option<String>,
    port: Option<String>,
    sslmode: Option<SslMode>,
    sslrootcert: Option<PathBuf>,
    sslcert: Option<PathBuf>,
    sslkey: Option<PathBuf>,
    is_promoted_whole: bool,
}

impl Parameters {
    fn read(text: &str) -> Result<Self, AddressError> {
        let mut found = Self::default();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| malformed(format!("the parameter {pair} has no value")))?;
            let value = decoded(value)?;
            match name {
                "host" => found.host = Some(value),
                "port" => found.port = Some(value),
                "sslmode" => {
                    let known = MODES.iter().find(|(name, _)| *name == value);
                    let (_, mode) = known.ok_or_else(|| {
                        malformed(format!(
                            "sslmode is {value}: known are disable, prefer, require, verify-ca and verify-full"
                        ))
                    })?;
                    found.sslmode = Some(*mode);
                }
                "sslrootcert" => found.sslrootcert = Some(value.into()),
                "sslcert" => found.sslcert = Some(value.into()),
                "sslkey" => found.sslkey = Some(value.into()),
                "promoted" => {
                    found.is_promoted_whole = match &*value {
                        "whole" => true,
                        "ask" => false,
                        other => {
                            return Err(malformed(format!(
                                "promoted is {other}: known are ask (what is unfinished is asked about after a promotion) and whole"
                            )));
                        }
                    }
                }
                "password" | "sslpassword" => return Err(AddressError::Password),
                other => {
                    return Err(AddressError::UnknownParameter {
                        name: other.to_owned(),
                    });
                }
            }
        }
        Ok(found)
    }
}

fn decoded(text: &str) -> Result<String, AddressError> {
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded = decoded.map_err(|_| malformed("a text that is not UTF-8"))?;
    match decoded.contains('\0') {
        true => Err(malformed("a text with the character U+0000")),
        false => Ok(decoded.into_owned()),
    }
}

fn port(text: &str) -> Result<u16, AddressError> {
    match text.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(malformed(format!("the port {text} is not valid"))),
    }
}

/// Reads `HOST`, `HOST:PORT` or `[IPV6]:PORT`.
fn host(text: &str) -> Result<(String, Option<u16>), AddressError> {
    if let Some(rest) = text.strip_prefix('[') {
        let (name, rest) = rest
            .split_once(']')
            .ok_or_else(|| malformed(format!("{text} has no closing bracket")))?;
        let port = match rest.strip_prefix(':') {
            Some(text) => Some(port(text)?),
            None if rest.is_empty() => None,
            None => return Err(malformed(format!("{text} has text after its bracket"))),
        };
        return Ok((name.to_owned(), port));
    }
    match text.split_once(':') {
        Some((_, rest)) if rest.contains(':') => Err(malformed(format!(
            "the host {text} has several ports; an IPv6 address stands in brackets"
        ))),
        Some((name, text)) => Ok((decoded(name)?, Some(port(text)?))),
        None => Ok((decoded(text)?, None)),
    }
}

/// Puts hosts and ports together, as they stand before the path and as parameters.
fn hosts(written: &str, parameters: &Parameters) -> Result<Vec<Host>, AddressError> {
    let mut found = Vec::new();
    match &parameters.host {
        Some(_) if !written.is_empty() => {
            return Err(malformed("hosts stand before the path and as a parameter"));
        }
        Some(names) => {
            let names = names.split(',');
            found.extend(names.map(|name| (name.to_owned(), None)));
        }
        None => {
            for text in written.split(',').filter(|_| !written.is_empty()) {
                found.push(host(text)?);
            }
        }
    }
    if found.is_empty() || found.iter().any(|(name, _)| name.is_empty()) {
        return Err(AddressError::NoHost);
    }
    if found.len() > HOSTS_MAX {
        return Err(malformed(format!("more than {HOSTS_MAX} hosts")));
    }
    let ports = parameters.port.as_deref().map(|text| text.split(','));
    let ports: Vec<u16> = ports
        .into_iter()
        .flatten()
        .map(port)
        .collect::<Result<_, _>>()?;
    if ports.len() > 1 && ports.len() != found.len() {
        return Err(malformed("there are not as many ports as hosts"));
    }
    let last = found.iter().rev().find_map(|(_, port)| *port);
    let hosts = found.into_iter().enumerate().map(|(at, (name, own))| {
        let given = ports.get(at).or(ports.first()).copied();
        // HOST1,HOST2:PORT: the port that is written once is that of all.
        let port = own.or(given).or(last).unwrap_or(PORT);
        Host { name, port }
    });
    Ok(hosts.collect())
}

impl Address {
    /// Returns whether a text means a journal in PostgreSQL, and not a file.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// Reads an address.
    ///
    /// # Errors
    /// Where it is none, or has a password in it.
    pub fn parse(text: &str, environment: &Environment) -> Result<Self, AddressError> {
        if text.len() > LENGTH_MAX {
            return Err(AddressError::TooLong);
        }
        let rest = text
            .strip_prefix("postgres://")
            .or_else(|| text.strip_prefix("postgresql://"))
            .ok_or(AddressError::Scheme)?;
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, written) = match authority.rsplit_once('@') {
            Some((user, _)) if user.contains(':') => return Err(AddressError::Password),
            Some((user, written)) => (decoded(user)?, written),
            None => (String::new(), authority),
        };
        let parameters = Parameters::read(parameters)?;
        let hosts = hosts(written, &parameters)?;
        let user = match user.is_empty() {
            true => environment.user.clone().ok_or(AddressError::NoUser)?,
            false => user,
        };
        let database = match database.is_empty() {
            true => user.clone(),
            false => decoded(database)?,
        };
        let is_here = hosts.iter().all(Host::is_here);
        let sslmode = parameters.sslmode.unwrap_or(match is_here {
            true => SslMode::Prefer,
            false => SslMode::VerifyFull,
        });
        if sslmode == SslMode::VerifyCa && parameters.sslrootcert.is_none() {
            return Err(malformed(
                "sslmode=verify-ca needs sslrootcert: otherwise any certificate of a public authority would be accepted",
            ));
        }
        let client_certificate = match (parameters.sslcert, parameters.sslkey) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(malformed("sslcert and sslkey go together")),
        };
        Ok(Self {
            user,
            hosts,
            database,
            sslmode,
            sslrootcert: parameters.sslrootcert,
            is_promoted_whole: parameters.is_promoted_whole,
            client_certificate,
            password: environment.password_source(),
            seen: Vec::new(),
        })
    }

    /// Returns the name of the database.
    #[must_use]
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The same address, where these copies were seen before: no server is used whose place one of them has taken.
    #[must_use]
    pub fn having_seen(self, seen: Vec<SeenCopy>) -> Self {
        Self { seen, ..self }
    }

    /// Returns how connections are encrypted.
    #[must_use]
    pub fn sslmode(&self) -> SslMode {
        self.sslmode
    }
}

/// What stands in a part of an address as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'/');

/// It has no password, wherever that comes from.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoded = |text: &str| utf8_percent_encode(text, PLAIN).to_string();
        let is_socket = self.hosts.iter().any(Host::is_socket);
        write!(f, "postgres://{}@", encoded(&self.user))?;
        if !is_socket {
            for (place, host) in self.hosts.iter().enumerate() {
                write!(f, "{}{host}", if place > 0 { "," } else { "" })?;
            }
        }
        write!(f, "/{}?", encoded(&self.database).replace('/', "%2F"))?;
        if is_socket {
            let of =
                |of: fn(&Host) -> String| self.hosts.iter().map(of).collect::<Vec<_>>().join(",");
            let names = of(|host| utf8_percent_encode(&host.name, PLAIN).to_string());
            write!(f, "host={names}&port={}&", of(|host| host.port.to_string()))?;
        }
        write!(f, "sslmode={}", self.sslmode)?;
        if let Some(root) = &self.sslrootcert {
            write!(f, "&sslrootcert={}", encoded(&root.to_string_lossy()))?;
        }
        if let Some((certificate, key)) = &self.client_certificate {
            let (certificate, key) = (certificate.to_string_lossy(), key.to_string_lossy());
            write!(
                f,
                "&sslcert={}&sslkey={}",
                encoded(&certificate),
                encoded(&key)
            )?;
        }
        if self.is_promoted_whole {
            f.write_str("&promoted=whole")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address, AddressError> {
        let environment = Environment {
            user: Some("me".to_owned()),
            ..Environment::default()
        };
        Address::parse(text, &environment)
    }

    #[test]
    fn an_address_is_read_and_told_as_it_is_meant() {
        let cases = [
            (
                "postgres://a@db.example/pay",
                "postgres://a@db.example:5432/pay?sslmode=verify-full",
            ),
            (
                "postgresql://a@db.example",
                "postgres://a@db.example:5432/a?sslmode=verify-full",
            ),
            (
                "postgres://db.example/pay",
                "postgres://me@db.example:5432/pay?sslmode=verify-full",
            ),
            (
                "postgres://a@localhost/pay",
                "postgres://a@localhost:5432/pay?sslmode=prefer",
            ),
            (
                "postgres://a@127.9.0.1:7/pay",
                "postgres://a@127.9.0.1:7/pay?sslmode=prefer",
            ),
            (
                "postgres://a@[::1]:7/pay",
                "postgres://a@[::1]:7/pay?sslmode=prefer",
            ),
            (
                "postgres://a@[2001:db8::1]/pay?sslmode=require",
                "postgres://a@[2001:db8::1]:5432/pay?sslmode=require",
            ),
            (
                "postgres://a@one.example,two.example:6000/pay",
                "postgres://a@one.example:6000,two.example:6000/pay?sslmode=verify-full",
            ),
            (
                "postgres://a@one.example:1,two.example:2/pay",
                "postgres://a@one.example:1,two.example:2/pay?sslmode=verify-full",
            ),
            (
                "postgres://a@one.example,localhost/pay",
                "postgres://a@one.example:5432,localhost:5432/pay?sslmode=verify-full",
            ),
            (
                "postgres:///pay?host=/run/postgresql",
                "postgres://me@/pay?host=/run/postgresql&port=5432&sslmode=prefer",
            ),
            (
                "postgres://a@/pay?host=one.example,two.example&port=1,2",
                "postgres://a@one.example:1,two.example:2/pay?sslmode=verify-full",
            ),
            (
                "postgres://a%40b@localhost/p%2Fq",
                "postgres://a%40b@localhost:5432/p%2Fq?sslmode=prefer",
            ),
            (
                "postgres://a@db.example/pay?sslmode=verify-ca&sslrootcert=/etc/ca.pem&sslcert=c&sslkey=k",
                "postgres://a@db.example:5432/pay?sslmode=verify-ca&sslrootcert=/etc/ca.pem&sslcert=c&sslkey=k",
            ),
            (
                "postgres://a@one.example,two.example/pay?promoted=whole",
                "postgres://a@one.example:5432,two.example:5432/pay?sslmode=verify-full&promoted=whole",
            ),
            (
                "postgres://a@one.example/pay?promoted=ask",
                "postgres://a@one.example:5432/pay?sslmode=verify-full",
            ),
        ];
        for (text, told) in cases {
            let address = parse(text).unwrap();
            assert_eq!(address.to_string(), told);
            assert_eq!(
                parse(told).unwrap().to_string(),
                told,
                "what is told is read"
            );
            assert!(Address::is_meant(text));
        }
        assert!(!Address::is_meant("postgres.db"));
    }

    #[test]
    fn what_is_no_address_is_refused_by_name() {
        let cases = [
            ("disburse.db", "begins with postgres://"),
            ("postgres://a:secret@localhost/pay", "password in it"),
            (
                "postgres://a@localhost/pay?password=secret",
                "password in it",
            ),
            (
                "postgres://a@localhost/pay?sslpassword=secret",
                "password in it",
            ),
            (
                "postgres://a@localhost/pay?sslmod=require",
                "the parameter sslmod,",
            ),
            (
                "postgres://a@localhost/pay?sslmode=allow",
                "sslmode is allow",
            ),
            ("postgres://a@localhost/pay?sslmode", "sslmode has no value"),
            ("postgres://a@localhost/pay?promoted=yes", "promoted is yes"),
            (
                "postgres://a@localhost/pay?sslmode=verify-ca",
                "needs sslrootcert",
            ),
            ("postgres://a@localhost/pay?sslcert=c", "go together"),
            ("postgres://a@/pay", "names no host"),
            ("postgres://a@one,,two/pay", "names no host"),
            ("postgres://a@one:0/pay", "the port 0"),
            ("postgres://a@one:x/pay", "the port x"),
            ("postgres://a@one:1:2/pay", "in brackets"),
            ("postgres://a@[::1/pay", "no closing bracket"),
            ("postgres://a@[::1]x/pay", "after its bracket"),
            ("postgres://a@one/pay?host=two", "as a parameter"),
            ("postgres://a@/pay?host=one,two&port=1,2,3", "as many ports"),
            ("postgres://a@one/p%00", "U+0000"),
            ("postgres://a@one/p%ff", "not UTF-8"),
        ];
        for (text, said) in cases {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
        let nobody = Address::parse("postgres://localhost/pay", &Environment::default());
        assert_eq!(nobody.unwrap_err(), AddressError::NoUser);
        let long = format!("postgres://a@localhost/{}", "x".repeat(LENGTH_MAX));
        assert_eq!(parse(&long).unwrap_err(), AddressError::TooLong);
        let many = format!("postgres://a@{}/pay", ["h"; HOSTS_MAX + 1].join(","));
        assert!(parse(&many).is_err());
    }

    #[test]
    fn no_secret_is_told() {
        let environment = Environment {
            pgpassword: Some("hunter2".into()),
            ..Environment::default()
        };
        let address = Address::parse("postgres://a@localhost/pay", &environment).unwrap();
        let told = format!("{address} {address:?} {environment:?}");
        assert!(!told.contains("hunter2"), "{told}");
    }
}
