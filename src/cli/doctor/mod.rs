//! `doctor`: what is wrong here. It looks and changes nothing; whatever is broken, the rest is looked at.
//!
//! Each file gathers facts about one part and judges them with pure rules, which have tables of tests; this one puts them in order.

mod certificate;
mod finding;
mod job;
mod journal;
mod machine;
pub(in crate::cli) mod server;
mod settings;

use std::collections::BTreeMap;
use std::net::ToSocketAddrs;
use std::path::Path;
use std::time::{Duration, Instant};

use tracing::subscriber::{NoSubscriber, with_default};

use self::finding::{Finding, Level};
use self::journal::JournalFacts;
use crate::cli::Error;
use crate::cli::arguments::DoctorArguments;
use crate::cli::config::{Settings, only_hosts};
use crate::cli::exit::ExitStatus;
use crate::cli::gateway;
use crate::cli::notices::NoticeSender;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::domain::Timestamp;
use crate::journal::Location;

/// How long a name server may take.
const NAME_WITHIN: Duration = Duration::from_secs(10);
/// Requests at once, where no configuration says it.
const CONNECTIONS: u64 = 64;

/// What was looked at, by parts.
type Parts = Vec<(&'static str, Vec<Finding>)>;

/// `disburse doctor`.
pub(in crate::cli) async fn doctor(
    session: &Session,
    arguments: DoctorArguments,
) -> Result<ExitStatus, Error> {
    let begun = (Timestamp::now(), Instant::now());
    // What is unusual is a finding here, and no line of the log beside it.
    let (mut parts, settings) = with_default(NoSubscriber::default(), || look(session, begun));
    if let Some(settings) = settings {
        let at = match arguments.online {
            true => online(&settings).await,
            false => offline(&settings),
        };
        parts.insert(1, ("gateway", at));
    }
    show(session, &parts)
}

/// Where the journal is, and what was seen of its file.
enum Place<'a> {
    File(&'a Path, JournalFacts),
    Server(&'a Location),
    Unknown(Error),
}

impl<'a> Place<'a> {
    fn of(session: &'a Session) -> Self {
        match session.location() {
            Ok(at) => match at.file() {
                Some(path) => Self::File(path, journal::look(path)),
                None => Self::Server(at),
            },
            Err(error) => Self::Unknown(error),
        }
    }

    fn is_in_use(&self) -> bool {
        matches!(self, Self::File(_, facts) if facts.holder.is_some())
    }

    /// Adds what is found of the journal and of its disk; returns its file, and the newest that it holds.
    fn look_at(&self, parts: &mut Parts) -> (Option<&'a Path>, Option<Timestamp>) {
        let (path, facts) = match self {
            Self::File(path, facts) => (*path, facts),
            Self::Server(at) => {
                let finding = Finding::note(
                    output::name(&at.to_string()),
                    "the journal is on a server, and was not checked here",
                );
                let advice = format!("disburse journal check {}", output::quoted(&at.typed()));
                parts.push(("journal", vec![finding.advised(advice)]));
                return (None, None);
            }
            Self::Unknown(error) => {
                let finding = Finding::problem("journal", error.message());
                let hint = error.first_hint().unwrap_or("mend it there");
                parts.push(("journal", vec![finding.advised(hint)]));
                return (None, None);
            }
        };
        parts.push(("journal", journal::judge(facts)));
        let disk = match machine::look_at_disk(path, facts.holder.is_some()) {
            Ok(facts) => machine::disk(&facts),
            Err(error) => vec![
                Finding::problem("disk", error)
                    .advised("check the name of the journal: --journal FILE"),
            ],
        };
        parts.push(("disk", disk));
        let newest = match &facts.inside {
            Some(Ok(inside)) => inside.newest,
            _ => None,
        };
        (Some(path), newest)
    }
}

fn look(session: &Session, begun: (Timestamp, Instant)) -> (Parts, Option<Settings>) {
    let environment = environment();
    let now = begun.0;
    let place = Place::of(session);
    let settings = session.settings(false, Vec::new());
    let mut parts = Parts::new();
    let configuration = match &settings {
        Ok(settings) => settings::ready(settings),
        Err(error) => {
            let finding = Finding::problem("configuration", error.message());
            vec![match error.first_hint() {
                Some(hint) => finding.advised(hint),
                None => finding.advised("mend it there; disburse config show reads it again"),
            }]
        }
    };
    parts.push(("configuration", configuration));
    let settings = settings.ok();
    if let Some(settings) = &settings {
        of_settings(&mut parts, settings, place.is_in_use(), now);
    }
    let (file, newest) = place.look_at(&mut parts);
    parts.push((
        "clock",
        machine::clock(&machine::look_at_clock(file, begun, newest)),
    ));
    let connections = settings.as_ref().map_or(CONNECTIONS, |settings| {
        u64::from(settings.profile.limits.concurrency.get())
    });
    let mut limits = machine::limits(machine::look_at_limits(connections));
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| environment.get(*name).filter(|value| !value.is_empty()));
    limits.push(machine::locale(locale.map(String::as_str)));
    parts.push(("system", limits));
    parts.push((
        "job",
        job::judge(&job_facts(session, &environment, settings.as_ref())),
    ));
    (parts, settings)
}

fn of_settings(parts: &mut Parts, settings: &Settings, is_in_use: bool, now: Timestamp) {
    let mut keys: Vec<Finding> = settings::look_at_secrets(settings)
        .iter()
        .map(settings::secret_file)
        .collect();
    if let Some(path) = &settings.profile.ca_file {
        keys.extend(settings::certificates(path, now));
    }
    keys.extend(settings::approval(settings, now));
    if let Some(notices) = &settings.notices {
        keys.push(match NoticeSender::of(notices) {
            Ok(_) => Finding::ok(
                "notices",
                "their address or command can be used; disburse notices --test sends one",
            ),
            Err(error) => {
                let finding = Finding::problem("notices", error.message());
                match error.first_hint() {
                    Some(hint) => finding.advised(hint),
                    None => finding.advised("docs/operations.md, Notices, says what they need"),
                }
            }
        });
    }
    match settings.payment_limits() {
        Ok(_) => {}
        Err(error) => keys.push(settings::of_error("limits", &error)),
    }
    parts.push(("keys", keys));
    parts.push(("wire", settings::wire(settings, now)));
    let callbacks = settings::look_at_callbacks(settings, is_in_use);
    parts.push(("callbacks", settings::callbacks(&callbacks)));
}

fn job_facts(
    session: &Session,
    environment: &BTreeMap<String, String>,
    settings: Option<&Settings>,
) -> job::JobFacts {
    let config = settings.and_then(|settings| settings.file.as_ref().ok());
    let decrypt = settings.and_then(|settings| settings.files.decrypt.as_ref());
    let heads = settings.and_then(|settings| settings.evidence.as_ref());
    let notices = settings.and_then(|settings| settings.notices.as_ref());
    job::look(
        environment,
        config.map(std::path::PathBuf::as_path),
        session.common.config.is_some(),
        session.location().ok().and_then(Location::file),
        &[
            ("files.decrypt", decrypt.and_then(|command| command.first())),
            (
                "evidence.command",
                heads.and_then(|heads| heads.command.first()),
            ),
            (
                "notices.command",
                notices.and_then(|notices| notices.command.first()),
            ),
        ],
    )
}

/// The process's own variables, as far as they are text.
fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Without a word to anybody else.
fn offline(settings: &Settings) -> Vec<Finding> {
    let url = settings.profile.base_url.iter();
    url.map(|url| {
        Finding::ok(
            "base_url",
            format!(
                "{}; not contacted (--online checks it)",
                only_hosts(url.as_str())
            ),
        )
    })
    .collect()
}

/// Asks name servers, and the token service as `disburse token` does. Nothing is posted.
async fn online(settings: &Settings) -> Vec<Finding> {
    let profile = &settings.profile;
    let addresses = [
        ("base_url", &profile.base_url),
        ("auth_url", &profile.auth_url),
        ("api_url", &profile.api_url),
        ("file_service_url", &profile.file_service_url),
    ];
    let mut found = Vec::new();
    for (key, url) in addresses {
        let Some(url) = url else { continue };
        let host = url.host_str().unwrap_or_default().to_owned();
        let port = url.port_or_known_default().unwrap_or(443);
        found.push(match resolved(host.clone(), port).await {
            Ok(_) => match connected(&host, port).await {
                Ok(()) => Finding::ok(key, format!("{host} takes connections on port {port}")),
                Err(why) => {
                    Finding::problem(key, format!("{host} takes no connection on port {port}: {why}"))
                        .advised("the gateway or the network to it is down: nothing is lost, and runs try again by \
                            themselves; see whether others reach it")
                }
            },
            Err(why) => Finding::problem(key, format!("{host} is not found: {why}"))
                .advised("check the name in the configuration, and the network of this machine"),
        });
    }
    if profile.auth_url.is_some() {
        let token = async {
            gateway::tokens(settings)?
                .bearer()
                .await
                .map_err(Error::from)
        };
        found.push(match token.await {
            Ok(_) => Finding::ok(
                "token",
                "the gateway gives one: user name and password are right",
            ),
            Err(error) => {
                let finding = Finding::problem("token", error.message());
                match error.first_hint() {
                    Some(hint) => finding.advised(hint),
                    None => finding.advised("disburse token asks again"),
                }
            }
        });
    }
    found
}

/// Connects, and says nothing.
async fn connected(host: &str, port: u16) -> Result<(), String> {
    let connecting = tokio::net::TcpStream::connect((host, port));
    match tokio::time::timeout(NAME_WITHIN, connecting).await {
        Err(_) => Err(format!("no answer within {} s", NAME_WITHIN.as_secs())),
        Ok(connected) => connected.map(drop).map_err(|error| error.to_string()),
    }
}

/// Returns how many addresses a name has.
async fn resolved(host: String, port: u16) -> Result<usize, String> {
    let asked = tokio::task::spawn_blocking(move || (host.as_str(), port).to_socket_addrs());
    match tokio::time::timeout(NAME_WITHIN, asked).await {
        Err(_) => Err(format!("no answer within {} s", NAME_WITHIN.as_secs())),
        Ok(Err(_)) => Err("the check stopped early".to_owned()),
        Ok(Ok(Err(error))) => Err(error.to_string()),
        Ok(Ok(Ok(addresses))) => match addresses.count() {
            0 => Err("it has no address".to_owned()),
            count => Ok(count),
        },
    }
}

fn show(session: &Session, parts: &Parts) -> Result<ExitStatus, Error> {
    let all = || parts.iter().flat_map(|(_, findings)| findings);
    let count = |level: Level| all().filter(|finding| finding.level == level).count() as u64;
    if session.common.json {
        let findings: Vec<_> = parts
            .iter()
            .flat_map(|(part, findings)| findings.iter().map(move |finding| (part, finding)))
            .map(|(part, finding)| {
                serde_json::json!({
                    "part": part,
                    "level": finding.level.name(),
                    "looked_at": finding.looked_at,
                    "found": finding.found,
                    "to_do": finding.advice,
                })
            })
            .collect();
        output::json(&serde_json::json!({
            "findings": findings,
            "problems": count(Level::Problem),
            "warnings": count(Level::Warning),
        }));
    } else {
        for finding in all() {
            output::line(&format!(
                "{:<8} {}: {}",
                finding.level.name(),
                output::name(&finding.looked_at),
                finding.found.replace('\n', "\n         ")
            ));
            if let Some(advice) = &finding.advice {
                output::line(&format!(
                    "         -> {}",
                    advice.replace('\n', "\n         ")
                ));
            }
        }
    }
    let summary = format!(
        "{}, {}, {}; {} ok",
        output::counted(count(Level::Problem), "problem"),
        output::counted(count(Level::Warning), "warning"),
        output::counted(count(Level::Note), "note"),
        output::grouped(&count(Level::Ok).to_string())
    );
    match count(Level::Problem) {
        0 => {
            session.note(&summary);
            Ok(ExitStatus::Done)
        }
        _ => Err(Error::refused(summary)
            .hint("each finding says what to do; then run the same command again")),
    }
}
