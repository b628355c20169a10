//! The configuration, and the files that it names: password, keys, certificates, those who sign.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::net::TcpSocket;

use super::certificate::not_after;
use super::finding::{Finding, Level};
use super::machine::small_file;
use crate::cli::commands::dialect::key_files;
use crate::cli::config::{self, Settings, only_hosts, read_key};
use crate::cli::terminal::output;
use crate::domain::Timestamp;

/// What ends within this time is told.
const SOON: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The largest file of certificates that is read.
const CERTIFICATES_MAX: u64 = 4 << 20;

/// Judges what an attempt to be ready for a gateway came to: every key that is needed, and the password.
pub(super) fn ready(settings: &Settings) -> Vec<Finding> {
    let at = match &settings.file {
        Ok(path) => output::name(&path.display().to_string()),
        Err(_) => "configuration".to_owned(),
    };
    let file = match &settings.file {
        Ok(_) => Ok(Finding::ok(
            &at,
            format!("readable; profile {}", settings.profile_name),
        )),
        Err(places) => {
            let places: Vec<String> = places
                .iter()
                .map(|place| output::name(&place.display().to_string()))
                .collect();
            Err(format!(
                "no configuration file was found; looked for {}",
                places.join(" and ")
            ))
        }
    };
    match (file, settings.gateway()) {
        (Ok(file), Ok(_)) => vec![file, Finding::ok("password", "it can be read")],
        // All of it is in variables.
        (Err(none), Ok(_)) => vec![
            Finding::note(&at, none).advised("disburse init writes one; --config FILE names one"),
            Finding::ok("password", "it can be read"),
        ],
        (Err(none), Err(config::Error::Missing { .. })) => vec![
            Finding::problem(&at, none)
                .advised("disburse init writes one; --config FILE names one"),
        ],
        (file, Err(error)) => {
            let part = match &error {
                config::Error::Missing { .. } => at.as_str(),
                _ => "password",
            };
            let finding = of_error(part, &error);
            let finding = match finding.advice {
                Some(_) => finding,
                None => finding.advised(
                    "write the password into the first line of that file, and nothing else",
                ),
            };
            file.into_iter().chain([finding]).collect()
        }
    }
}

/// A mistake of the configuration as a finding, with its own advice.
pub(super) fn of_error(part: &str, error: &config::Error) -> Finding {
    let finding = Finding::problem(part, error.to_string());
    match error.hint() {
        Some(hint) => finding.advised(hint),
        None => finding,
    }
}

/// A file with a secret, as the system has it.
#[derive(Clone, Debug)]
pub(super) struct SecretFile {
    /// The key that names it.
    pub(super) key: String,
    pub(super) path: String,
    /// Its mode, or why it cannot be looked at.
    pub(super) mode: Result<u32, String>,
    /// Why it cannot be used.
    pub(super) problem: Option<String>,
}

/// Judges a file with a secret.
pub(super) fn secret_file(file: &SecretFile) -> Finding {
    let at = format!("{}: {}", file.key, output::name(&file.path));
    let word = output::quoted(&file.path);
    match (&file.problem, &file.mode) {
        (Some(problem), _) => Finding::problem(at, problem.clone())
            .advised("create it with mode 0600, with the key as it was given to you"),
        (None, Err(problem)) => Finding::problem(at, problem.clone())
            .advised("check the name in the configuration, and who may read the file"),
        (None, Ok(mode)) if mode & 0o077 != 0 => {
            Finding::warning(at, format!("others may open it (mode {mode:04o})"))
                .advised(format!("chmod 600 {word}"))
        }
        (None, Ok(_)) => Finding::ok(at, "it can be read, by its user alone"),
    }
}

/// Looks at every file with a secret that the configuration names.
pub(super) fn look_at_secrets(settings: &Settings) -> Vec<SecretFile> {
    let mode = |path: &Path| match path.metadata() {
        Ok(found) => Ok(found.permissions().mode() & 0o7777),
        Err(error) => Err(error.to_string()),
    };
    let file = |key: String, path: &Path, problem: Option<String>| SecretFile {
        key,
        path: path.display().to_string(),
        mode: mode(path),
        problem,
    };
    let mut files = Vec::new();
    // Whether it can be used was judged with the gateway.
    let password = config::show(settings)
        .into_iter()
        .find(|value| value.key == "password_file");
    if let Some(path) = password.and_then(|value| value.value)
        && Path::new(&path).exists()
    {
        files.push(file("password_file".to_owned(), Path::new(&path), None));
    }
    for (key, path) in key_files(&settings.dialect.dialect) {
        let problem = read_key(path).err().map(|error| error.to_string());
        files.push(file(format!("dialect {key}"), path, problem));
    }
    if let Some(evidence) = &settings.evidence {
        files.push(file(
            "evidence.key_file".to_owned(),
            &evidence.key_file,
            None,
        ));
    }
    if let Some(notices) = &settings.notices
        && let Some(path) = &notices.secret_file
    {
        files.push(file("notices.secret_file".to_owned(), path, None));
    }
    // The public half of a key in the agent may be read by everybody.
    if let Some(key) = settings
        .signing_key()
        .filter(|key| key.extension().is_none_or(|end| end != "pub"))
    {
        files.push(file("approval.signing_key".to_owned(), key, None));
    }
    files
}

/// Judges when something ends.
pub(super) fn ends(at: &str, what: &str, end: Timestamp, now: Timestamp, advice: &str) -> Finding {
    if end <= now {
        Finding::problem(at, format!("{what} ended on {end}")).advised(advice)
    } else if end.since(now) < SOON {
        Finding::warning(at, format!("{what} ends on {end}")).advised(advice)
    } else {
        Finding::ok(at, format!("{what} is good until {end}"))
    }
}

/// Looks at the certificates of `ca_file`.
pub(super) fn certificates(path: &Path, now: Timestamp) -> Vec<Finding> {
    let at = format!("ca_file: {}", output::name(&path.display().to_string()));
    let advice = "ask the gateway's operators for the next certificate, and put both into the file";
    let bytes = match small_file(path, CERTIFICATES_MAX) {
        Ok(bytes) => bytes,
        Err(error) => {
            return vec![
                Finding::problem(at, error)
                    .advised("check the name in the configuration, and who may read the file"),
            ];
        }
    };
    let mut last: Option<Timestamp> = None;
    let mut count = 0;
    for certificate in CertificateDer::pem_slice_iter(&bytes).flatten() {
        count += 1;
        // Of several, the one that lasts longest is enough.
        last = last.max(not_after(&certificate));
    }
    vec![match last {
        Some(end) => ends(
            &at,
            &format!("the last of {}", output::counted(count, "certificate")),
            end,
            now,
            advice,
        ),
        None => Finding::problem(at, "no certificate is in it")
            .advised("it holds certificates of authorities in PEM, BEGIN CERTIFICATE"),
    }]
}

/// Judges whether those who may sign can do what the rule asks for.
///
/// `ends`: everybody, with when their last key ends.
pub(super) fn signers(
    required: usize,
    ends_at: &BTreeMap<String, Option<Timestamp>>,
    now: Timestamp,
) -> Vec<Finding> {
    let at = "approval";
    let wanted = required + 1;
    let good = ends_at
        .values()
        .filter(|end| end.is_none_or(|end| end > now))
        .count();
    let mut found = vec![if good < wanted {
        Finding::problem(
            at,
            format!("{good} people can sign today, and the rule takes {wanted}: whoever loads, and {required} who approve"),
        )
        .advised("add their keys to allowed_signers; until then a batch that needs approval waits")
    } else {
        Finding::ok(
            at,
            format!("{good} people can sign, and the rule takes {wanted}"),
        )
    }];
    for (name, end) in ends_at {
        if let Some(end) = end
            && end.since(now) < SOON
        {
            let finding = ends(
                at,
                &format!("the key of {}", output::name(name)),
                *end,
                now,
                "add the next key to allowed_signers before that day",
            );
            // That enough others are left was judged above.
            found.push(Finding {
                level: Level::Warning,
                ..finding
            });
        }
    }
    found
}

/// Looks at the rule of approval.
pub(super) fn approval(settings: &Settings, now: Timestamp) -> Vec<Finding> {
    match settings.approval_of_load() {
        Ok(None) => Vec::new(),
        Ok(Some(rule)) => signers(usize::from(rule.required), &rule.signers.ends(), now),
        Err(error) => vec![of_error("approval", &error)],
    }
}

/// What was seen of the place where callbacks come in.
#[derive(Clone, Debug)]
pub(super) struct CallbackFacts {
    pub(super) listen: SocketAddr,
    pub(super) public_url: Option<String>,
    /// Why the address cannot be bound.
    pub(super) taken: Option<String>,
    /// A run has the journal.
    pub(super) runs: bool,
}

/// Judges where callbacks come in.
pub(super) fn callbacks(facts: &CallbackFacts) -> Vec<Finding> {
    let at = format!("callback.listen {}", facts.listen);
    let Some(url) = &facts.public_url else {
        return vec![Finding::ok(
            "callbacks",
            "no callbacks (callback.public_url is not set): outcomes come from status queries",
        )];
    };
    let mut found = vec![match &facts.taken {
        None => Finding::ok(&at, "it can be bound"),
        Some(_) if facts.runs => Finding::ok(&at, "it is taken, as a run has the journal"),
        Some(why) => Finding::problem(&at, format!("it cannot be bound: {why}")).advised(
            "if `disburse listen` has it, start runs with --external-listener; otherwise choose another address, and \
            point the proxy to it",
        ),
    }];
    if !facts.listen.ip().is_loopback() {
        found.push(
            Finding::warning(&at, "it is open to other machines without TLS").advised(
                "listen on 127.0.0.1, behind a proxy that speaks TLS for callback.public_url",
            ),
        );
    }
    if !url.starts_with("https://") {
        found.push(
            Finding::warning(
                "callback.public_url",
                format!("{}: no other machine reaches it", only_hosts(url)),
            )
            .advised("an https:// address that the gateway reaches; without any, leave it out"),
        );
    }
    found
}

/// Looks at where callbacks come in.
pub(super) fn look_at_callbacks(settings: &Settings, runs: bool) -> CallbackFacts {
    let callback = &settings.profile.callback;
    CallbackFacts {
        listen: callback.listen,
        public_url: callback.public_url.as_ref().map(ToString::to_string),
        taken: bind(callback.listen).err().map(|error| error.to_string()),
        runs,
    }
}

/// Takes an address for a moment, and lets nobody in: a run that begins meanwhile gets it all the same.
fn bind(address: SocketAddr) -> std::io::Result<()> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)
}

/// Judges dialect and time zone.
pub(super) fn wire(settings: &Settings, now: Timestamp) -> Vec<Finding> {
    let dialect = &settings.dialect.dialect;
    let differs = dialect.differing().count();
    let mut found = vec![Finding::ok(
        format!("dialect {}", settings.dialect.name),
        match differs {
            0 => "the interface document; docs/gateway.md lists our choices where it is silent"
                .to_owned(),
            differs => format!(
                "{} from the interface document, written from {}; disburse dialect show lists them",
                output::counted(differs as u64, "difference"),
                output::name(&dialect.written_from)
            ),
        },
    )];
    if settings.services.is_empty() {
        found.push(
            Finding::warning(
                "services",
                "none is configured: every service code in a file is accepted",
            )
            .advised("name them under [services], with kind and currency"),
        );
    }
    if let Some(zone) = &settings.profile.time_zone {
        found.push(Finding::ok(
            "time zone",
            format!("it is {} there now", zone.format(now)),
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level::{Note, Ok as Fine, Problem, Warning};
    use super::*;

    const DAY: i64 = 86_400_000;

    fn day(number: i64) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000 + number * DAY)
    }

    fn levels(found: &[Finding]) -> Vec<Level> {
        found.iter().map(|finding| finding.level).collect()
    }

    #[test]
    fn what_ends_is_told_a_month_before() {
        for (end, expected) in [
            (-1, Problem),
            (0, Problem),
            (1, Warning),
            (29, Warning),
            (31, Fine),
        ] {
            let finding = ends("x", "it", day(end), day(0), "renew it");
            assert_eq!(finding.level, expected, "{end}");
            assert_eq!(finding.advice.is_some(), expected > Note);
        }
    }

    #[test]
    fn a_rule_that_nobody_can_satisfy_is_a_problem() {
        let people = |ends: &[Option<i64>]| -> BTreeMap<String, Option<Timestamp>> {
            let names = ends.iter().enumerate();
            names
                .map(|(index, end)| (format!("p{index}"), end.map(day)))
                .collect()
        };
        for (required, ends, expected) in [
            (1, &[None, None][..], &[Fine][..]),
            (2, &[None, None], &[Problem]),
            (1, &[None, Some(-5)], &[Problem, Warning]),
            (1, &[None, None, Some(5)], &[Fine, Warning]),
            (1, &[None, Some(500)], &[Fine]),
        ] {
            assert_eq!(
                levels(&signers(required, &people(ends), day(0))),
                expected,
                "{ends:?}"
            );
        }
    }

    #[test]
    fn files_with_secrets_are_for_their_user_alone() {
        for (mode, problem, expected) in [
            (Ok(0o600), None, Fine),
            (Ok(0o400), None, Fine),
            (Ok(0o640), None, Warning),
            (Ok(0o604), None, Warning),
            (Err("No such file".to_owned()), None, Problem),
            (Ok(0o600), Some("is empty".to_owned()), Problem),
        ] {
            let file = SecretFile {
                key: "k".to_owned(),
                path: "my key".to_owned(),
                mode,
                problem,
            };
            let finding = secret_file(&file);
            assert_eq!(finding.level, expected, "{file:?}");
            if expected == Warning {
                assert_eq!(finding.advice.unwrap(), "chmod 600 'my key'");
            }
        }
    }

    #[test]
    fn callbacks_need_an_address_that_is_free_and_reached() {
        let good = CallbackFacts {
            listen: "127.0.0.1:8490".parse().unwrap(),
            public_url: Some("https://pay.example/c".to_owned()),
            taken: None,
            runs: false,
        };
        let taken = Some("Address already in use".to_owned());
        for (facts, expected) in [
            (good.clone(), &[Fine][..]),
            (
                CallbackFacts {
                    public_url: None,
                    taken: taken.clone(),
                    ..good.clone()
                },
                &[Fine],
            ),
            (
                CallbackFacts {
                    taken: taken.clone(),
                    ..good.clone()
                },
                &[Problem],
            ),
            (
                CallbackFacts {
                    taken,
                    runs: true,
                    ..good.clone()
                },
                &[Fine],
            ),
            (
                CallbackFacts {
                    listen: "0.0.0.0:8490".parse().unwrap(),
                    ..good.clone()
                },
                &[Fine, Warning],
            ),
            (
                CallbackFacts {
                    public_url: Some("http://127.0.0.1:1/c".to_owned()),
                    ..good
                },
                &[Fine, Warning],
            ),
        ] {
            assert_eq!(levels(&callbacks(&facts)), expected, "{facts:?}");
        }
    }

    #[tokio::test]
    async fn an_address_that_is_looked_at_can_be_taken_by_a_run() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        bind(address).unwrap_err();
        drop(listener);
        let looked = TcpSocket::new_v4().unwrap();
        looked.set_reuseaddr(true).unwrap();
        looked.bind(address).unwrap();
        std::net::TcpListener::bind(address).unwrap();
    }

    #[test]
    fn a_file_of_certificates_is_as_good_as_the_last_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        let pem = |year| {
            let mut parameters =
                rcgen::CertificateParams::new(vec!["ca.example".to_owned()]).unwrap();
            parameters.not_after = rcgen::date_time_ymd(year, 1, 1);
            let key = rcgen::KeyPair::generate().unwrap();
            parameters.self_signed(&key).unwrap().pem()
        };
        for (text, expected) in [
            (pem(2020), Problem),
            (pem(2090), Fine),
            (format!("{}{}", pem(2090), pem(2020)), Fine),
            ("none".to_owned(), Problem),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(levels(&certificates(&path, day(0))), [expected]);
        }
        assert_eq!(levels(&certificates(folder.path(), day(0))), [Problem]);
    }
}
