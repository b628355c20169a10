//! The configuration, as the gateway client, the lifecycle and the engine take it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};

use super::Error;
use super::arguments::RunOptions;
use super::config::{self, DateReceived, Settings};
use crate::callback::Proof;
use crate::dialect::{Algorithm, Header, Signing};
use crate::domain::ServiceCode;
use crate::engine::Limits;
use crate::gateway::{
    self, DocumentClient, ExtraDataForm, HttpGateway, Keys, LookupClient, Profile,
    SupportDocumentIn, TokenClient,
};
use crate::journal::{DuplicateProbe, Home};
use crate::ledger::duplicate_check::DuplicateCheck;
use crate::ledger::pin::{self, Destination};
use crate::lifecycle::{Class, CodeTable, Policy};
use sha2::{Digest as _, Sha256};

/// The longest reply that is read.
const BODY_MAX: usize = 4 * 1024 * 1024;

/// Returns the client's profile.
pub(super) fn profile(settings: &Settings) -> Result<Profile, Error> {
    let gateway = settings.gateway()?;
    let p = &settings.profile;
    Ok(Profile {
        payment_path: p.payment_path.clone(),
        auth_url: p.auth_url.clone(),
        api_url: p.api_url.clone(),
        file_service_url: p.file_service_url.clone(),
        client_id: p.client_id.clone(),
        payment_bearer: p.payment_bearer,
        extra_data: p.extra_data,
        support_document_in: p.support_document_in,
        undated: undated(settings).cloned().collect(),
        connect_timeout: p.limits.connect_timeout,
        request_timeout: p.limits.request_timeout,
        idle_timeout: p.limits.idle_timeout,
        proxy: p.proxy.as_ref().map(ToString::to_string),
        ca_file: p.ca_file.clone(),
        codes: codes(settings),
        dialect: Arc::clone(&settings.dialect.dialect),
        keys: keys(settings)?,
        // The sandbox beside a run has its check for duplicates on.
        duplicate_check_proven: settings.is_rehearsal,
        body_limit: BODY_MAX,
        ..Profile::new(
            gateway.base_url.clone(),
            gateway.username.to_owned(),
            gateway.password.clone(),
            gateway.country,
            gateway.zone.clone(),
        )
    })
}

/// Stands for every secret of a dialect in a rehearsal: no real one is read for it.
pub(super) const REHEARSED: &str = "sandbox";

/// Reads the files that the dialect names. In a rehearsal none is read but private RSA keys, which sign and are not sent.
fn keys(settings: &Settings) -> Result<Keys, Error> {
    let dialect = &settings.dialect.dialect;
    let rehearsed = || SecretString::from(REHEARSED);
    let text = |path: &PathBuf| -> Result<SecretString, Error> {
        let bytes = config::read_key(path)?;
        let text = String::from_utf8(bytes.expose_secret().to_vec());
        text.map(SecretString::from)
            .map_err(|_| Error::refused(format!("key file {} is not UTF-8", path.display())))
    };
    let headers = dialect.header_files.iter().map(|(name, path)| {
        let value = match settings.is_rehearsal {
            true => rehearsed(),
            false => text(path)?,
        };
        Ok((name.clone(), value))
    });
    let signing = dialect
        .signing
        .as_ref()
        .map(|signing| key(settings, signing));
    let callbacks = &dialect.callbacks;
    let callback_signing = callbacks.signing.as_ref();
    let callback_signing = callback_signing.map(|signing| key(settings, signing));
    let secret = callbacks
        .secret
        .as_ref()
        .map(|(_, path)| match settings.is_rehearsal {
            true => Ok(rehearsed()),
            false => text(path),
        });
    Ok(Keys {
        headers: headers.collect::<Result<_, Error>>()?,
        signing: signing.transpose()?,
        callback_secret: secret.transpose()?,
        callback_signing: callback_signing.transpose()?,
    })
}

fn key(settings: &Settings, signing: &Signing) -> Result<Arc<SecretSlice<u8>>, Error> {
    let bytes = match (settings.is_rehearsal, signing.algorithm) {
        (true, Algorithm::HmacSha256) => REHEARSED.as_bytes().to_vec().into(),
        _ => config::read_key(&signing.key_file)?,
    };
    Ok(Arc::new(bytes))
}

/// Returns what callbacks show beside their address.
pub(super) fn proof(settings: &Settings) -> Result<Proof, Error> {
    let keys = keys(settings)?;
    let key = keys.callback_signing.as_ref();
    Proof::new(
        &settings.dialect.dialect.callbacks,
        keys.callback_secret.as_ref(),
        key.map(|key| key.expose_secret()),
    )
    .map_err(|error| Error::refused(format!("{error}; nothing was sent")))
}

/// Returns the client of the payment path.
pub(super) fn client(settings: &Settings) -> Result<HttpGateway, Error> {
    HttpGateway::new(profile(settings)?).map_err(unusable)
}

/// Returns the client of the token endpoint (section 4.1).
pub(super) fn tokens(settings: &Settings) -> Result<TokenClient, Error> {
    needed(
        settings,
        "auth_url",
        settings.profile.auth_url.as_ref(),
        "a token is asked for at auth_url (section 4.1)",
    )?;
    TokenClient::new(&profile(settings)?).map_err(unusable)
}

/// Returns the client of the network lookup (section 4.4), with tokens of its own.
pub(super) fn lookups(settings: &Settings) -> Result<LookupClient, Error> {
    let p = &settings.profile;
    needed(
        settings,
        "api_url",
        p.api_url.as_ref(),
        "numbers are looked up at api_url (section 4.4)",
    )?;
    let tokens = match settings.dialect.dialect.lookup.header {
        Header::Bearer => {
            needed(
                settings,
                "auth_url",
                p.auth_url.as_ref(),
                "a lookup carries a token from auth_url (sections 4.1 and 4.4)",
            )?;
            Some(tokens(settings)?)
        }
        Header::Absent | Header::Basic => None,
    };
    LookupClient::new(&profile(settings)?, tokens).map_err(unusable)
}

/// Returns the client of the document upload (section 4.3).
pub(super) fn documents(settings: &Settings) -> Result<DocumentClient, Error> {
    let address = settings.profile.file_service_url.as_ref();
    needed(
        settings,
        "file_service_url",
        address,
        "documents are uploaded to file_service_url (section 4.3)",
    )?;
    DocumentClient::new(&profile(settings)?).map_err(unusable)
}

fn needed(
    settings: &Settings,
    key: &'static str,
    address: Option<&Url>,
    why: &str,
) -> Result<(), Error> {
    settings
        .need(key, address)
        .map(|_| ())
        .map_err(|error| Error::from(error).hint(why))
}

fn unusable(error: crate::gateway::Error) -> Error {
    Error::refused(format!("gateway: {error}; nothing was sent"))
}

/// Returns the settings that shape the bytes of a post: a batch keeps them for all its posts.
fn wire(settings: &Settings) -> String {
    let p = &settings.profile;
    let zone = p.time_zone.as_ref().map_or("", |zone| zone.name());
    let country = p
        .country_code
        .map(|country| country.to_string())
        .unwrap_or_default();
    let extra = match p.extra_data {
        ExtraDataForm::Object => "object",
        ExtraDataForm::String => "string",
    };
    let document = match p.support_document_in {
        SupportDocumentIn::ExtraData => "extraData",
        SupportDocumentIn::Packet => "packet",
    };
    let undated: Vec<&str> = undated(settings).map(ServiceCode::as_str).collect();
    // Left out when there are none: batches that were begun before there could be any go on.
    let undated = match undated.as_slice() {
        [] => String::new(),
        some => format!(", no datePaymentReceived for {}", some.join(" ")),
    };
    let dialect = match settings.dialect.dialect.request_digest() {
        None => String::new(),
        Some(digest) => format!(", dialect {digest}"),
    };
    format!(
        "time_zone {zone}, country_code {country}, extra_data {extra}, support_document_in {document}{undated}{dialect}"
    )
}

/// The services whose posts carry an empty `datePaymentReceived`, in the order of their codes.
fn undated(settings: &Settings) -> impl Iterator<Item = &ServiceCode> {
    let empty = |service: &config::Service| service.date_payment_received == DateReceived::Empty;
    let services = settings.services.iter();
    services
        .filter(move |(_, service)| empty(service))
        .map(|(code, _)| code)
}

/// Returns what a batch keeps of the way in which replies are read.
pub(super) fn reading(settings: &Settings) -> String {
    let dialect = settings.dialect.dialect.reading_digest();
    let differing = codes(settings).differing();
    let meanings: String = differing
        .iter()
        .map(|(which, code, class)| format!("{which} {code} {}\n", class.name()))
        .collect();
    let digest = Sha256::digest(meanings.as_bytes());
    let digest = data_encoding::HEXLOWER.encode(&digest[..8]);
    let codes = (!differing.is_empty()).then_some(digest);
    pin::reading(dialect.as_deref(), codes.as_deref())
}

/// Returns whether a person has ordered that replies are read by the dialect in force; an order for another one is refused.
///
/// # Errors
/// Names both.
pub(super) fn accepts_reading(settings: &Settings, ordered: Option<&str>) -> Result<bool, Error> {
    let reading = reading(settings);
    let in_force = pin::dialect_of(&reading);
    match ordered {
        None => Ok(false),
        Some(digest) if pin::dialect_of(digest) == in_force => Ok(true),
        Some(digest) => Err(Error::refused(format!(
            "--accept-dialect {digest}: the dialect in force reads replies as {in_force}; nothing was sent"
        ))
        .hint("`disburse dialect show` says how replies are read, and where each value stands")),
    }
}

/// Returns whether the dialect's words for "not found" count: a probe has seen that this gateway refuses an identifier that it has,
/// by a code that is still read as that.
pub(super) fn words_count(settings: &Settings, probe: Option<&DuplicateProbe>) -> bool {
    let codes = codes(settings);
    let still = |code| codes.of_post(code) == Class::Duplicate;
    probe.is_some_and(|probe| {
        probe.check == DuplicateCheck::Refuses && probe.code.is_some_and(still)
    })
}

/// Returns whether the tables in force call a code a failure, which nothing else of them contradicts.
pub(super) fn is_failure(codes: &CodeTable, code: i32) -> bool {
    let (status, post) = (codes.of_status(code), codes.of_post(code));
    let may_be_paid = matches!(status, Class::Paid | Class::Acknowledged | Class::Delivered);
    let is_refused = matches!(post, Class::Failed | Class::Refused | Class::NoFloat);
    !may_be_paid && (status == Class::Failed || is_refused)
}

/// Returns the name of the account at the gateway: the user name and, where a dialect shows who we are by something else, a mark
/// of that. Another key may be another account, which knows nothing of what this one has posted.
fn account(settings: &Settings) -> Result<String, Error> {
    account_of(settings, settings.gateway()?.username)
}

fn account_of(settings: &Settings, username: &str) -> Result<String, Error> {
    let username = username.to_owned();
    let dialect = &settings.dialect.dialect;
    let keys = keys(settings)?;
    let mut shown: Vec<(&str, &[u8])> = Vec::new();
    shown.extend(
        dialect
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes())),
    );
    let secret = keys.headers.iter();
    shown.extend(secret.map(|(name, value)| (name.as_str(), value.expose_secret().as_bytes())));
    shown.extend(
        keys.signing
            .iter()
            .map(|key| ("signing key", key.expose_secret())),
    );
    // The gateway may go by the token alone.
    if dialect.names_a_token() || settings.profile.payment_bearer {
        shown.push(("client_id", settings.profile.client_id.as_bytes()));
        let issuer = settings.profile.auth_url.as_ref();
        shown.extend(issuer.map(|url| ("auth_url", url.as_str().as_bytes())));
    }
    if shown.is_empty() {
        return Ok(username);
    }
    let mut digest = Sha256::new();
    for (name, value) in shown {
        for part in [name.to_ascii_lowercase().as_bytes(), value] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
    }
    // Four bytes tell keys apart, and tell nobody a key.
    let mark = data_encoding::HEXLOWER.encode(&digest.finalize()[..4]);
    Ok(format!("{username}#{mark}"))
}

/// Returns where a batch of this configuration belongs; `sandbox` is the identity of the sandbox that stands in.
pub(super) fn home(settings: &Settings, sandbox: Option<&str>) -> Result<Home, Error> {
    Ok(Home {
        gateway: match sandbox {
            Some(identity) => format!("sandbox {identity}"),
            None => profile(settings)?.identity(),
        },
        wire: wire(settings),
        account: match sandbox {
            // It has one account, whoever the profile says that we are.
            Some(_) => "sandbox".to_owned(),
            None => account(settings)?,
        },
        profile: settings.profile_name.clone(),
        reading: reading(settings),
        accepts_reading: false,
    })
}

/// Returns where a batch goes that is loaded under this configuration; `None` where it does not say that yet.
pub(super) fn destination(settings: &Settings) -> Option<Destination> {
    let profile = &settings.profile;
    let (base_url, user) = (profile.base_url.as_ref()?, profile.username.as_ref()?);
    let dialect = &settings.dialect.dialect;
    Some(Destination {
        gateway: gateway::identity(base_url, &profile.payment_path, dialect),
        // Whoever loads it need not have the keys: then any key goes.
        user: account_of(settings, user).unwrap_or_else(|_| user.clone()),
        profile: settings.profile_name.clone(),
    })
}

/// Returns the classes of the status codes.
pub(super) fn codes(settings: &Settings) -> CodeTable {
    let mut table = CodeTable::default();
    for (code, class) in &settings.post_codes {
        table.set_post(*code, *class);
    }
    for (code, class) in &settings.status_codes {
        table.set_status(*code, *class);
    }
    table
}

/// Returns the waits.
pub(super) fn policy(settings: &Settings, callbacks: bool) -> Arc<Policy> {
    let policy = settings.profile.policy.clone();
    Arc::new(Policy {
        not_found_quarantine: quarantine(policy.not_found_quarantine),
        callbacks,
        ..policy
    })
}

/// Returns how long "not found" proves nothing; in a debug build, not at all where a test says so.
fn quarantine(set: Duration) -> Duration {
    #[cfg(debug_assertions)]
    if crate::failpoints::is_without("quarantine") {
        return Duration::ZERO;
    }
    set
}

/// Returns the bounds of a run.
pub(super) fn limits(
    settings: &Settings,
    options: &RunOptions,
    callbacks: bool,
) -> Result<Limits, Error> {
    let l = &settings.profile.limits;
    let count = |n: std::num::NonZeroU32| usize::try_from(n.get()).unwrap_or(usize::MAX);
    Ok(Limits {
        rate: l.rate,
        query_rate: l.query_rate,
        shared_rate: settings.dialect.dialect.shared_rate,
        concurrency: count(l.concurrency),
        // A request may not carry more than may leave in a second.
        packets: count(l.packets_per_request).min(l.rate.get() as usize),
        breaker_losses: l.breaker_losses.get(),
        breaker_pause: l.breaker_pause,
        lane_retry_after: settings.profile.lane_retry_after,
        float_poll: settings
            .profile
            .float
            .reopen_lanes
            .then_some(settings.profile.float.poll_every),
        max_wait: max_wait(&options.max_wait)?,
        no_wait: options.no_wait,
        wait_for_window: options.wait_for_window,
        callbacks,
    })
}

/// Reads how long a run goes on while no payment moves.
pub(super) fn max_wait(text: &str) -> Result<Duration, Error> {
    config::duration(text)
        .map_err(|expected| Error::refused(format!("--max-wait {text}: expected {expected}")))
}
