//! Where a journal is: in a file of its own, or on a server.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{Error, FileOnly};

/// Where a journal is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In a file.
    File(PathBuf),
    /// In a database on a PostgreSQL server, which many runs share.
    Server(ServerAddress),
}

/// Why a text does not say where a journal is. No message repeats the text: it may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// It is empty.
    #[error("the journal has no name")]
    Empty,
    /// An address of another kind.
    #[error("{scheme}:// is no place for a journal: give a file, or postgres://USER@HOST/DATABASE")]
    Scheme {
        /// What stands before `://`.
        scheme: String,
    },
    /// A password would be seen by everybody who lists processes, and kept in the history of a shell.
    #[error("the address of the journal holds a password, which others can see there")]
    Password,
    /// Nothing says where the server is.
    #[error("the address of the journal names no host")]
    NoHost,
    /// Nothing says which of the server's databases is meant.
    #[error("the address of the journal names no database")]
    NoDatabase,
    /// Anything else.
    #[error("the address of the journal cannot be read: {what}")]
    Malformed {
        /// Which part.
        what: &'static str,
    },
}

impl LocationError {
    /// Returns what to do.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "name a file, such as disburse.db",
            Self::Scheme { .. } => "for a journal in a file, give its path alone",
            Self::Password => {
                "leave it out of the address; put it into a file of mode 0600, and name that file with journal_password_file in the configuration"
            }
            Self::NoHost | Self::NoDatabase | Self::Malformed { .. } => {
                "write it as postgres://USER@HOST:PORT/DATABASE; write a special character in a name as %XX"
            }
        }
    }
}

impl Location {
    /// Reads what a flag, a variable or the configuration says: the path of a file, or `postgres://USER@HOST/DATABASE`.
    ///
    /// # Errors
    /// [`LocationError`]. A scheme that is not known is refused: taken for a file, a mistyped address would be a journal of its own,
    /// which knows of no payment.
    pub fn parse(text: &OsStr) -> Result<Self, LocationError> {
        if text.is_empty() {
            return Err(LocationError::Empty);
        }
        let lossy = text.to_string_lossy();
        let malformed = |what| Err(LocationError::Malformed { what });
        match scheme_of(&lossy) {
            None if is_like_an_address(&lossy) => malformed("it does not begin with postgres://"),
            None => Ok(Self::File(text.into())),
            Some(_) if text.to_str().is_none() => malformed("it is not UTF-8"),
            Some((scheme, rest)) => match (is_postgres(scheme), rest.strip_prefix("//")) {
                (true, Some(rest)) => ServerAddress::parse(rest).map(Self::Server),
                (true, None) => malformed("two slashes must follow postgres:"),
                (false, _) => Err(LocationError::Scheme {
                    scheme: scheme.to_owned(),
                }),
            },
        }
    }

    /// Returns the file that it is in.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Server(_) => None,
        }
    }

    /// Returns whether it is there, as far as a look tells: a server is asked by whoever opens it.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.file()
            .is_none_or(|path| path.symlink_metadata().is_ok())
    }

    /// Returns the file that it is in, for work that nothing else can do.
    ///
    /// # Errors
    /// [`Error::NotInAFile`].
    pub fn file_for(&self, work: FileOnly) -> Result<&Path, Error> {
        self.file().ok_or_else(|| Error::NotInAFile {
            journal: self.to_string(),
            work,
        })
    }

    /// Returns the text that names it where a command is typed.
    #[must_use]
    pub fn typed(&self) -> Cow<'_, str> {
        match self {
            Self::File(path) => path.to_string_lossy(),
            Self::Server(address) => Cow::Borrowed(address.text()),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Server(address) => address.fmt(f),
        }
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for Location {
    fn from(path: &P) -> Self {
        Self::File(path.as_ref().to_owned())
    }
}

/// Characters of a place that the name of its mark shows at most.
const SHOWN: usize = 80;

/// Returns a character as a file name shows it.
fn plain(c: char) -> char {
    match c.is_ascii_alphanumeric() || matches!(c, '.' | '-') {
        true => c,
        false => '_',
    }
}

/// The address of a database on a server. It holds no password; the file of one may stand beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    text: String,
    shown: String,
    /// Hosts, ports and database, whoever comes.
    place: String,
    password_file: Option<PathBuf>,
    state_folder: Option<PathBuf>,
}

impl ServerAddress {
    /// Reads what stands behind the scheme.
    fn parse(rest: &str) -> Result<Self, LocationError> {
        let malformed = |what| LocationError::Malformed { what };
        if rest.contains(|c: char| c.is_control() || c.is_whitespace() || c == '#') {
            return Err(malformed("it has a space, a # or an invisible character"));
        }
        let (base, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = base.split_once('/').unwrap_or((base, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, _)) if user.contains(':') => return Err(LocationError::Password),
            Some(("", _)) => return Err(malformed("it has an @ without a user")),
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, authority),
        };
        let host = host_of(parameters)?;
        match (hosts.is_empty(), host) {
            (true, None) => return Err(LocationError::NoHost),
            (true, Some(_)) => {}
            (false, _) if hosts.split(',').all(is_host) => {}
            (false, _) => return Err(malformed("its host or its port")),
        }
        if database.is_empty() {
            return Err(LocationError::NoDatabase);
        }
        // What has an @ here may be the end of a password.
        if database.contains(['/', '@', ':']) {
            return Err(malformed("its database"));
        }
        let user = user.map(|user| format!("{user}@")).unwrap_or_default();
        let port = parameters
            .split('&')
            .find_map(|text| text.strip_prefix("port="));
        let place = format!(
            "{}{}:{}/{database}",
            hosts.to_ascii_lowercase(),
            host.unwrap_or_default(),
            port.unwrap_or_default()
        );
        let host = host.map(|host| format!("?host={host}")).unwrap_or_default();
        Ok(Self {
            text: format!("postgres://{rest}"),
            shown: format!("postgres://{user}{hosts}/{database}{host}"),
            place,
            password_file: None,
            state_folder: None,
        })
    }

    /// Returns the whole address.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the role that the address names.
    #[must_use]
    pub fn role(&self) -> Option<&str> {
        let place = self.shown.strip_prefix("postgres://")?;
        place.split_once('@').map(|(role, _)| role)
    }

    /// Returns the file that the password is in, where the configuration names one.
    #[must_use]
    pub fn password_file(&self) -> Option<&Path> {
        self.password_file.as_deref()
    }

    /// Returns the folder in which this host keeps what it has seen of the journal, where there is one.
    #[must_use]
    pub fn state_folder(&self) -> Option<&Path> {
        self.state_folder.as_deref()
    }

    /// The same address, with the folder in which this host keeps what it has seen of the journal.
    #[must_use]
    pub fn with_state_folder(self, folder: Option<PathBuf>) -> Self {
        Self {
            state_folder: folder,
            ..self
        }
    }

    /// Returns the file beside which the mark of this host lies: its name shows the place, and a digest keeps two of them apart.
    #[must_use]
    pub fn mark(&self) -> Option<PathBuf> {
        let shown: String = self.place.chars().map(plain).take(SHOWN).collect();
        let digest = Sha256::digest(self.place.as_bytes());
        let digest = data_encoding::HEXLOWER.encode(&digest[..6]);
        Some(
            self.state_folder
                .as_ref()?
                .join(format!("{shown}-{digest}")),
        )
    }

    /// Returns whether a mark of this host may be of a database with the same name, by the name of its file: of the same server, however
    /// that was spelled, it is the same place.
    #[must_use]
    pub fn may_be_of_the_database_of(&self, mark: &str) -> bool {
        let database = self.place.rsplit('/').next().unwrap_or_default();
        let database: String = database.chars().map(plain).collect();
        let name = mark.rsplit('/').next().unwrap_or_default();
        // Behind it stands a digest.
        let Some((shown, _)) = name.rsplit_once('-') else {
            return false;
        };
        let before = shown
            .strip_suffix(&database)
            .and_then(|before| before.strip_suffix('_'));
        let is_it = before.is_some_and(|before| {
            let port = before.trim_end_matches(|c: char| c.is_ascii_digit());
            port.ends_with('_')
        });
        is_it || shown.len() >= SHOWN
    }

    /// The same address, with the file that the password is in.
    #[must_use]
    pub fn with_password_file(self, file: Option<PathBuf>) -> Self {
        Self {
            password_file: file,
            ..self
        }
    }
}

/// User, hosts and database, and none of the parameters.
impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// Returns the scheme of an address, and what follows its colon; `None`: it is a path.
fn scheme_of(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    // Ours with a slash too few is no file either.
    let is_nested = scheme.eq_ignore_ascii_case("jdbc");
    let is_address = is_scheme && (rest.starts_with("//") || is_postgres(scheme) || is_nested);
    is_address.then_some((scheme, rest))
}

/// Returns whether a text without a scheme looks like the address of a server as other programs have it: `host=... dbname=...`,
/// `USER@HOST:PORT/DATABASE`, `HOST:PORT`.
fn is_like_an_address(text: &str) -> bool {
    let keys = [
        "host=",
        "hostaddr=",
        "dbname=",
        "user=",
        "port=",
        "password=",
    ];
    let has_key = |word: &str| keys.iter().any(|key| word.starts_with(key));
    let server = text.split_once('/').map_or(text, |(server, _)| server);
    let has_port = server.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    text.split_whitespace().any(has_key) || has_port || (server.contains('@') && text.contains('/'))
}

fn is_postgres(scheme: &str) -> bool {
    let ours = ["postgres", "postgresql"];
    ours.iter().any(|ours| scheme.eq_ignore_ascii_case(ours))
}

/// Returns the parameter `host`, where there is one: the folder of a socket, or hosts again.
fn host_of(parameters: &str) -> Result<Option<&str>, LocationError> {
    let mut host = None;
    for parameter in parameters.split('&').filter(|text| !text.is_empty()) {
        let plain = |c: char| c.is_ascii_lowercase() || c == '_';
        match parameter.split_once('=') {
            Some(("password" | "sslpassword", _)) => return Err(LocationError::Password),
            Some(("host", value)) if !value.is_empty() => host = Some(value),
            Some((name, _)) if !name.is_empty() && name.chars().all(plain) => {}
            _ => {
                return Err(LocationError::Malformed {
                    what: "one of its parameters",
                });
            }
        }
    }
    Ok(host)
}

/// Returns whether a text is a host, with its port or without one.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, port)) => (
                host,
                port.strip_prefix(':').or(port.is_empty().then_some("0")),
            ),
            None => return false,
        },
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, Some("0")),
        },
    };
    let is_port =
        |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    !host.is_empty() && port.is_some_and(is_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Location, LocationError> {
        Location::parse(OsStr::new(text))
    }

    #[test]
    fn a_path_is_a_file_whatever_signs_it_has() {
        for text in [
            "disburse.db",
            "/srv/pay/journal.db",
            "./postgres://x",
            "a b?c#d.db",
            "C:file.db",
            "notes: june.db",
            "postgres.db",
            "/srv/pay@home/host=1.db",
            "./10.0.0.1:5432",
            "june@home.db",
        ] {
            assert_eq!(parsed(text), Ok(Location::File(text.into())), "{text}");
        }
    }

    #[test]
    fn an_address_shows_its_user_its_hosts_and_its_database() {
        for (text, shown) in [
            ("postgres://pay@db/journal", "postgres://pay@db/journal"),
            ("postgresql://pay@db/journal", "postgres://pay@db/journal"),
            ("POSTGRES://pay@db/journal", "postgres://pay@db/journal"),
            (
                "postgres://pay@db1,db2:5433/journal?sslmode=verify-full&sslkey=/etc/pay/key.pem",
                "postgres://pay@db1,db2:5433/journal",
            ),
            (
                "postgres://[::1]:5433,[fe80::2]/journal",
                "postgres://[::1]:5433,[fe80::2]/journal",
            ),
            (
                "postgres://pay@/journal?host=/run/postgresql&connect_timeout=3",
                "postgres://pay@/journal?host=/run/postgresql",
            ),
        ] {
            let found = parsed(text).unwrap();
            assert_eq!(found.to_string(), shown, "{text}");
            assert_eq!(found.file(), None);
            // Typed again, it is the same place.
            assert_eq!(parsed(&found.typed()), Ok(found.clone()), "{text}");
        }
    }

    #[test]
    fn a_mark_is_known_by_its_database_under_every_spelling_of_the_server() {
        let server = |text: &str| match parsed(text).unwrap() {
            Location::Server(address) => address.with_state_folder(Some("/state".into())),
            Location::File(path) => panic!("{}", path.display()),
        };
        let address = server("postgres://pay@db/pay");
        for (other, is_it) in [
            ("postgres://pay@db/pay", true),
            ("postgres://root@127.0.0.1:5433,db2/pay", true),
            ("postgres://pay@/pay?host=/run/postgresql&port=5433", true),
            ("postgres://pay@db/a_pay", false),
            ("postgres://pay@db/pay2", false),
            ("postgres://pay@pay/other", false),
        ] {
            let mark = server(other).mark().unwrap().display().to_string();
            assert_eq!(address.may_be_of_the_database_of(&mark), is_it, "{mark}");
        }
        // What its name does not show whole may be it.
        let long = format!("postgres://pay@{}/other", ["database.example"; 6].join(","));
        let mark = server(&long).mark().unwrap().display().to_string();
        assert!(address.may_be_of_the_database_of(&mark), "{mark}");
        assert!(!address.may_be_of_the_database_of("/state/torn"));
    }

    #[test]
    fn what_names_no_place_is_refused_and_never_taken_for_a_file() {
        let malformed = |what| LocationError::Malformed { what };
        let host = malformed("its host or its port");
        let database = malformed("its database");
        let parameter = malformed("one of its parameters");
        for (text, expected) in [
            (
                "jdbc:postgresql://db/pay",
                LocationError::Scheme {
                    scheme: "jdbc".into(),
                },
            ),
            (
                "pay1@db:5432/pay",
                malformed("it does not begin with postgres://"),
            ),
            (
                "pay1@db/pay",
                malformed("it does not begin with postgres://"),
            ),
            (
                "127.0.0.1:5432",
                malformed("it does not begin with postgres://"),
            ),
            (
                "host=db user=pay1 dbname=pay",
                malformed("it does not begin with postgres://"),
            ),
            ("", LocationError::Empty),
            ("postgres://pay@db", LocationError::NoDatabase),
            ("postgres://pay@db/", LocationError::NoDatabase),
            ("postgres:///journal", LocationError::NoHost),
            ("postgres://pay@/journal", LocationError::NoHost),
            (
                "postgres:/pay@db/journal",
                malformed("two slashes must follow postgres:"),
            ),
            ("postgres://db:port/journal", host.clone()),
            ("postgres://db:99999/journal", host.clone()),
            ("postgres://db:+1/journal", host.clone()),
            ("postgres://db,/journal", host.clone()),
            ("postgres://[::1/journal", host),
            ("postgres://db/a/b", database.clone()),
            (
                "postgres://@db/journal",
                malformed("it has an @ without a user"),
            ),
            ("postgres://db/journal?sslmode", parameter.clone()),
            ("postgres://db/journal?SSLMODE=x", parameter.clone()),
            ("postgres://db/journal?%70assword=x", parameter),
            (
                "postgres://db/jour nal",
                malformed("it has a space, a # or an invisible character"),
            ),
            (
                "sqlite://disburse.db",
                LocationError::Scheme {
                    scheme: "sqlite".to_owned(),
                },
            ),
            (
                "postgre://db/journal",
                LocationError::Scheme {
                    scheme: "postgre".to_owned(),
                },
            ),
        ] {
            assert_eq!(parsed(text).as_ref(), Err(&expected), "{text}");
        }
    }

    #[test]
    fn no_text_of_a_password_is_shown() {
        for text in [
            "postgres://pay:hunter2@db/journal",
            "postgres://pay:hun/ter2@db/journal",
            "postgres://pay:hun?ter2@db/journal",
            "postgres://pay:12/hunter2@db/journal",
            "postgres://pay:hunter2/x@db/journal",
            "postgres://pay:hun#ter2@db/journal",
            "postgres://pay:@hunter2@db/journal",
            "postgres://pay@db/journal?password=hunter2",
            "postgres://pay@db/journal?sslpassword=hunter2",
            "postgres:pay:hunter2@db/journal",
            "postgresql:/pay:hunter2@db/journal",
        ] {
            let error = parsed(text).unwrap_err();
            let said = format!("{error} {error:?} {}", error.hint());
            assert!(
                !said.contains("hun") && !said.contains("ter2"),
                "{text}: {said}"
            );
        }
        for text in [
            "postgres://pay:hunter2@db/journal",
            "postgres://db/j?password=x",
        ] {
            assert_eq!(parsed(text), Err(LocationError::Password));
        }
    }

    #[test]
    fn the_mark_of_a_host_is_of_the_place_whoever_comes_to_it() {
        let mark = |text: &str| match parsed(text) {
            Ok(Location::Server(address)) => address
                .with_state_folder(Some("/var/lib/pay".into()))
                .mark()
                .unwrap(),
            other => panic!("{other:?}"),
        };
        let ours = mark("postgres://pay@db1,db2:5433/journal");
        assert!(ours.starts_with("/var/lib/pay"), "{ours:?}");
        let name = ours.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("db1_db2_5433__journal-"), "{name}");
        assert_eq!(
            mark("postgres://desk@DB1,db2:5433/journal?sslmode=require"),
            ours
        );
        for other in [
            "postgres://pay@db1,db2:5434/journal",
            "postgres://pay@db1,db2:5433/journal2",
            "postgres://pay@/journal?host=/run/postgresql",
            "postgres://pay@/journal?host=/run/postgresql&port=5433",
        ] {
            assert_ne!(mark(other), ours, "{other}");
        }
        let sockets = ["", "&port=5433"].map(|port| {
            mark(&format!(
                "postgres://pay@/journal?host=/run/postgresql{port}"
            ))
        });
        assert_ne!(sockets[0], sockets[1]);
    }

    #[cfg(unix)]
    #[test]
    fn a_path_need_not_be_text_and_an_address_has_to() {
        use std::os::unix::ffi::OsStrExt;
        let path = OsStr::from_bytes(b"\xff.db");
        assert_eq!(Location::parse(path), Ok(Location::File(path.into())));
        let address = OsStr::from_bytes(b"postgres://pay@db/\xff");
        assert!(Location::parse(address).is_err());
    }

    #[test]
    fn work_that_a_file_alone_can_do_is_refused_for_a_server() {
        let server = parsed("postgres://pay@db/journal?sslmode=require").unwrap();
        let error = server.file_for(FileOnly::Backup).unwrap_err();
        assert_eq!(
            error.to_string(),
            "journal postgres://pay@db/journal: is on a server, and backup copies the file of a journal; nothing was written"
        );
        let file = Location::from("j.db");
        assert_eq!(file.file_for(FileOnly::Backup).unwrap(), Path::new("j.db"));
    }
}
