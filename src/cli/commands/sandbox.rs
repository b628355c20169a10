//! `sandbox`: the sandbox gateway as a server, and beside a run.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use secrecy::ExposeSecret;
use tokio_util::sync::CancellationToken;

use crate::callback::{self, Listener};
use crate::cli::Error;
use crate::cli::arguments::SandboxArguments;
use crate::cli::config::{self, Settings};
use crate::cli::exit::ExitStatus;
use crate::cli::gateway;
use crate::cli::session::Session;
use crate::cli::signals;
use crate::cli::terminal::output;
use crate::dialect::{Algorithm, Dialect};
use crate::domain::{Amount, PaymentKind};
use crate::journal::{FileOnly, Location};
use crate::sandbox::{self, Faults, Options, Sandbox, Seals, Service};

/// Starts the sandbox in this process and points the profile at it. Its ledger lies beside the journal's file.
pub(in crate::cli) async fn beside(
    journal: &Location,
    settings: &mut Settings,
    seed: u64,
    fault_plan: &str,
) -> Result<Sandbox, Error> {
    let path = journal.file_for(FileOnly::Rehearsal)?;
    let mut ledger = path.as_os_str().to_owned();
    ledger.push(".sandbox");
    let (user, password) = credentials(settings)?;
    let sandbox = start(Options {
        seed,
        faults: faults(fault_plan)?,
        services: services(settings),
        credentials: Some((user, password)),
        dialect: Arc::clone(&settings.dialect.dialect),
        seals: seals(&settings.dialect.dialect)?,
        ledger_file: Some(PathBuf::from(ledger)),
        ..Options::default()
    })
    .await?;
    point_at(settings, &sandbox.base_url())?;
    Ok(sandbox)
}

/// The keys of a dialect in a rehearsal: no secret is read for it, and private RSA keys tell the public ones.
fn seals(dialect: &Dialect) -> Result<Seals, Error> {
    let rehearsed = || gateway::REHEARSED.to_owned();
    let signing = dialect
        .signing
        .as_ref()
        .map(|signing| match signing.algorithm {
            Algorithm::HmacSha256 => Ok(rehearsed().into_bytes()),
            Algorithm::RsaSha256 => {
                config::read_key(&signing.key_file).map(|key| key.expose_secret().to_vec())
            }
        });
    let headers = dialect.header_files.keys();
    let callbacks = &dialect.callbacks;
    Ok(Seals {
        headers: headers.map(|name| (name.clone(), rehearsed())).collect(),
        signing: signing.transpose()?,
        callback_secret: callbacks.secret.as_ref().map(|_| rehearsed()),
        callback_signing: callbacks.signing.as_ref().map(|_| rehearsed().into_bytes()),
    })
}

/// Starts a sandbox without faults that forgets everything, for the one command that looks something up in it.
pub(in crate::cli) async fn alone(settings: &mut Settings) -> Result<Sandbox, Error> {
    let (user, password) = credentials(settings)?;
    let sandbox = start(Options {
        services: with_samples(services(settings)),
        credentials: Some((user, password)),
        dialect: Arc::clone(&settings.dialect.dialect),
        seals: seals(&settings.dialect.dialect)?,
        ..Options::default()
    })
    .await?;
    point_at(settings, &sandbox.base_url())?;
    Ok(sandbox)
}

/// Every address of the profile becomes the sandbox's: it serves the whole interface.
fn point_at(settings: &mut Settings, address: &str) -> Result<(), Error> {
    let url = Url::parse(address).map_err(Error::unexpected)?;
    let profile = &mut settings.profile;
    profile.auth_url = Some(url.clone());
    profile.api_url = Some(url.clone());
    profile.file_service_url = Some(url.clone());
    profile.base_url = Some(url);
    Ok(())
}

/// Binds the listener for the sandbox's callbacks.
///
/// The address of a callback is part of a post's bytes, so a run that resumes listens where the earlier one did: the
/// ports to try follow from the journal's key.
pub(in crate::cli) async fn callback_door(listen: SocketAddr, key: &[u8]) -> io::Result<Listener> {
    for pair in key.chunks_exact(2) {
        // Below the ports that systems give out by themselves.
        let port = 20_000 + u16::from_be_bytes([pair[0], pair[1]]) % 12_000;
        if let Ok(listener) = callback::bind(SocketAddr::new(listen.ip(), port)).await {
            return Ok(listener);
        }
    }
    callback::bind(listen).await
}

fn credentials(settings: &mut Settings) -> Result<(String, String), Error> {
    // The addresses are set once the sandbox listens; until then any will do.
    point_at(settings, "http://127.0.0.1")?;
    let gateway = settings.gateway()?;
    Ok((
        gateway.username.to_owned(),
        gateway.password.expose_secret().to_owned(),
    ))
}

/// The services of the configuration, with a float that no sample uses up; those of the samples when there are none.
fn services(settings: &Settings) -> Vec<Service> {
    const FLOAT: i64 = 5_000_000_000_000;
    // Room for thousands of the largest transfers.
    const RTGS_FLOAT: i64 = 100 * FLOAT;
    if settings.services.is_empty() {
        return Service::samples();
    }
    let least = Amount::from_minor(1);
    let most = Amount::from_minor(i64::MAX);
    settings
        .services
        .iter()
        .filter_map(|(code, service)| {
            Some(Service {
                code: code.as_str().to_owned(),
                kind: service.kind,
                currency: service.currency,
                min: service.min.or(least)?,
                max: service.max.or(most)?,
                float: match service.kind {
                    PaymentKind::Rtgs => RTGS_FLOAT,
                    _ => FLOAT,
                },
                // The one service of the samples that the gateway no longer offers.
                active: code.as_str() != "LEGACY_B2C",
            })
        })
        .collect()
}

/// Adds the services of the samples that the configuration does not name, so that the documented commands find them.
// A batch pays none of them for that: its rows are checked against the configuration alone.
fn with_samples(mut services: Vec<Service>) -> Vec<Service> {
    for sample in Service::samples() {
        let named = services.iter().any(|service| service.code == sample.code);
        if !named && services.len() < sandbox::SERVICES_MAX {
            services.push(sample);
        }
    }
    services
}

fn faults(plan: &str) -> Result<Faults, Error> {
    Faults::load(plan).map_err(|error| {
        Error::refused(format!("--faults {plan}: {error}"))
            .hint("--faults takes none, realistic, hostile, or a file of faults")
    })
}

fn duration(flag: &str, text: &str) -> Result<Duration, Error> {
    config::duration(text)
        .map_err(|expected| Error::refused(format!("{flag} {text}: expected {expected}")))
}

async fn start(options: Options) -> Result<Sandbox, Error> {
    sandbox::start(options)
        .await
        .map_err(|error| Error::refused(format!("sandbox: {error}")))
}

/// `disburse sandbox`.
pub(in crate::cli) async fn serve(
    session: &Session,
    arguments: SandboxArguments,
) -> Result<ExitStatus, Error> {
    let settings = session.settings(true, Vec::new())?;
    let dialect = match &arguments.dialect {
        Some(named) => config::read_dialect(named, &config::Origin::Flag, true)?.dialect,
        None => Arc::clone(&settings.dialect.dialect),
    };
    let token_lifetime = duration("--token-lifetime", &arguments.token_lifetime)?;
    let rtgs_delay = duration("--rtgs-delay", &arguments.rtgs_delay)?;
    let rtgs_delay_ms = u64::try_from(rtgs_delay.as_millis()).unwrap_or(u64::MAX);
    let sandbox = start(Options {
        listen: arguments.listen,
        seed: arguments.seed,
        faults: faults(&arguments.faults)?,
        services: with_samples(services(&settings)),
        seals: seals(&dialect)?,
        dialect,
        duplicate_check: !arguments.no_duplicate_check,
        token_lifetime,
        rtgs_delay_ms: rtgs_delay_ms..=rtgs_delay_ms,
        ledger_file: arguments.ledger,
        ..Options::default()
    })
    .await?;
    // Heard before it says that it is there: whoever waits for that may end it at once.
    let stop = CancellationToken::new();
    signals::drain_on_signal(stop.clone(), "stopping".to_owned())?;
    let base = sandbox.base_url();
    if session.common.json {
        output::json(&serde_json::json!({"base_url": base}));
    } else {
        output::line(&format!("sandbox gateway at {base}"));
        output::line(&format!("page: {base}/"));
        output::line(&format!("ledger: {base}/sandbox/ledger"));
    }
    session.note("any user name and password are accepted; no money moves. Ctrl-C ends it");
    stop.cancelled().await;
    let verdict = sandbox.verdict();
    sandbox.shutdown().await;
    output::line_unless(session.common.json, &verdict_text(&verdict));
    Ok(ExitStatus::Done)
}

/// Returns the ledger's own verdict, for a person.
pub(in crate::cli) fn verdict_text(verdict: &sandbox::Verdict) -> String {
    format!(
        "sandbox ledger, over all batches it was ever given: executed once: {}, twice: {}, amount moved: {}",
        verdict.executed_once,
        verdict.executed_more,
        output::amounts(&verdict.amounts)
    )
}
