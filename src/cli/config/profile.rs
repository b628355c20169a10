//! A profile as typed values.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;

use super::Error;
use crate::cli::config::file::layers::Layers;
use crate::cli::config::value::typed::Value;
use crate::domain::{Country, Currency, Originator, Rate, ServiceCode, WireZone};
use crate::gateway::{ExtraDataForm, SupportDocumentIn};
use crate::ledger::repeats::Terms;
use crate::lifecycle::{Policy, SettleOn};

/// Everything about one gateway but its password. [`super::KEYS`] says what each key means.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Without a trailing slash, as every address here (a bare host keeps the one that its URL has).
    pub base_url: Option<Url>,
    /// Begins with a slash.
    pub payment_path: String,
    /// The token endpoint's address.
    pub auth_url: Option<Url>,
    /// The network lookup's address.
    pub api_url: Option<Url>,
    /// The document upload's address.
    pub file_service_url: Option<Url>,
    /// For the token endpoint.
    pub client_id: String,
    /// User name at the gateway.
    pub username: Option<String>,
    /// The paying organisation.
    pub originator: Option<Originator>,
    /// For rows that name no service.
    pub service_code: Option<ServiceCode>,
    /// Of requests, and of rows that name none.
    pub country_code: Option<Country>,
    /// For rows that name no currency.
    pub currency_code: Option<Currency>,
    /// Of `datePaymentReceived`.
    pub time_zone: Option<WireZone>,
    /// How `extraData` travels.
    pub extra_data: ExtraDataForm,
    /// Where `supportDocument` goes.
    pub support_document_in: SupportDocumentIn,
    /// Whether payments carry a bearer token.
    pub payment_bearer: bool,
    /// Code and name of every bank.
    pub bank_directory: Option<PathBuf>,
    /// For payments to bank accounts whose row has no phone number.
    pub bank_msisdn: Option<String>,
    /// Of a supporting document.
    pub document_bytes_max: NonZeroU32,
    /// For every request.
    pub proxy: Option<Url>,
    /// Further certificate authorities, PEM.
    pub ca_file: Option<PathBuf>,
    /// How fast, how much at once, how long.
    pub limits: Limits,
    /// The waits of a payment, and what settles it. Whether callbacks come is known when a run begins.
    pub policy: Policy,
    /// From a lane's hold to its reopening; `None`: only the operator reopens it.
    pub lane_retry_after: Option<Duration>,
    /// How the network of a number is looked up.
    pub lookup: Lookup,
    /// When a row repeats what was loaded before.
    pub repeats: Terms,
    /// What is asked about the float.
    pub float: Float,
    /// How callbacks come in.
    pub callback: Callback,
    /// The page for a browser.
    pub page: Page,
}

/// The keys below `limits`.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Payments posted in any one second.
    pub rate: Rate,
    /// Payments asked about in any one second.
    pub query_rate: Rate,
    /// Numbers looked up in any one second.
    pub lookup_rate: Rate,
    /// Requests in flight.
    pub concurrency: NonZeroU32,
    /// Payments in one request.
    pub packets_per_request: NonZeroU32,
    /// Strictly shorter than `request_timeout`.
    pub connect_timeout: Duration,
    /// For a whole request.
    pub request_timeout: Duration,
    /// How long an unused connection is kept.
    pub idle_timeout: Duration,
    /// Posts lost in a row before posting pauses.
    pub breaker_losses: NonZeroU32,
    /// The first pause.
    pub breaker_pause: Duration,
}

/// The keys below `lookup`.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// How long an answer counts.
    pub max_age: Duration,
    /// What a number on another network is.
    pub mismatch: Mismatch,
}

/// The keys below `float`.
#[derive(Clone, Debug)]
pub struct Float {
    /// Whether the gateway tells the balance.
    pub query: bool,
    /// Whether a balance that suffices reopens a held lane.
    pub reopen_lanes: bool,
    /// From one question about a held lane to the next.
    pub poll_every: Duration,
}

/// The keys below `callback`.
#[derive(Clone, Debug)]
pub struct Callback {
    /// Where the listener binds.
    pub listen: SocketAddr,
    /// How the gateway reaches it; `None`: no callbacks.
    pub public_url: Option<Url>,
}

/// The keys below `page`.
#[derive(Clone, Debug)]
pub struct Page {
    /// Where the page is served.
    pub listen: SocketAddr,
}

/// What a number on another network than its service's carriers is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The row is refused.
    Error,
    /// It is told.
    Warning,
}

macro_rules! words {
    ($name:ident { $($variant:ident = $text:literal,)* }) => {
        impl Value for $name {
            fn read(text: &str) -> Result<Self, String> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    _ => Err(format!("one of {}", [$($text),*].join(", "))),
                }
            }
        }
    };
}

words! {
    ExtraDataForm {
        Object = "object",
        String = "string",
    }
}

words! {
    SupportDocumentIn {
        ExtraData = "extraData",
        Packet = "packet",
    }
}

words! {
    SettleOn {
        Callback = "callback",
        Confirmed = "confirmed",
    }
}

words! {
    Mismatch {
        Error = "error",
        Warning = "warning",
    }
}

pub(super) use words;

impl Profile {
    /// Reads every key, and compares those that depend on one another.
    pub(super) fn read(layers: &Layers) -> Result<Self, Error> {
        let profile = Self {
            base_url: layers.optional("base_url")?,
            payment_path: layers.value("payment_path")?,
            auth_url: layers.optional("auth_url")?,
            api_url: layers.optional("api_url")?,
            file_service_url: layers.optional("file_service_url")?,
            client_id: layers.value("client_id")?,
            username: layers.optional("username")?,
            originator: layers.optional("originator")?,
            service_code: layers.optional("service_code")?,
            country_code: layers.optional("country_code")?,
            currency_code: layers.optional("currency_code")?,
            time_zone: layers.optional("time_zone")?,
            extra_data: layers.value("extra_data")?,
            support_document_in: layers.value("support_document_in")?,
            payment_bearer: layers.value("payment_bearer")?,
            bank_directory: layers.optional("bank_directory")?,
            bank_msisdn: layers.optional("bank_msisdn")?,
            document_bytes_max: layers.value("document_bytes_max")?,
            proxy: layers.optional("proxy")?,
            ca_file: layers.optional("ca_file")?,
            limits: Limits {
                rate: layers.value("limits.rate")?,
                query_rate: layers.value("limits.query_rate")?,
                lookup_rate: layers.value("limits.lookup_rate")?,
                concurrency: layers.value("limits.concurrency")?,
                packets_per_request: layers.value("limits.packets_per_request")?,
                connect_timeout: layers.value("limits.connect_timeout")?,
                request_timeout: layers.value("limits.request_timeout")?,
                idle_timeout: layers.value("limits.idle_timeout")?,
                breaker_losses: layers.value("limits.breaker_losses")?,
                breaker_pause: layers.value("limits.breaker_pause")?,
            },
            policy: policy(layers)?,
            lane_retry_after: layers.optional("resolution.lane_retry_after")?,
            repeats: Terms {
                window: layers.value("repeats.window")?,
                references_restart: layers.value("repeats.references_restart")?,
            },
            lookup: Lookup {
                max_age: layers.value("lookup.max_age")?,
                mismatch: layers.value("lookup.mismatch")?,
            },
            float: Float {
                query: layers.value("float.query")?,
                reopen_lanes: layers.value("float.reopen_lanes")?,
                poll_every: layers.value("float.poll_every")?,
            },
            callback: Callback {
                listen: layers.value("callback.listen")?,
                public_url: layers.optional("callback.public_url")?,
            },
            page: Page {
                listen: layers.value("page.listen")?,
            },
        };
        profile.compare(layers)?;
        Ok(profile)
    }

    /// Refuses timeouts that would make a lost connection look like a lost post, and a confirmation nothing can give.
    fn compare(&self, layers: &Layers) -> Result<(), Error> {
        if self.limits.connect_timeout >= self.limits.request_timeout {
            return Err(contradiction(
                layers,
                ["limits.connect_timeout", "limits.request_timeout"],
                "must be shorter than",
            ));
        }
        self.compare_quarantine(layers)?;
        if self.policy.settle_on == SettleOn::Confirmed && !self.policy.status_query {
            return Err(contradiction(
                layers,
                ["callback.settle_on", "resolution.status_query"],
                "cannot go with",
            ));
        }
        if self.float.reopen_lanes && !self.float.query {
            return Err(contradiction(
                layers,
                ["float.reopen_lanes", "float.query"],
                "cannot go with",
            ));
        }
        Ok(())
    }
}

/// Reads the waits; callbacks are taken to come.
fn policy(layers: &Layers) -> Result<Policy, Error> {
    let exposures_max: NonZeroU32 = layers.value("resolution.attempts_max")?;
    Ok(Policy {
        first_query_after: layers.value("resolution.first_query_after")?,
        query_backoff_max: layers.value("resolution.query_backoff_max")?,
        callback_grace: layers.value("resolution.callback_grace")?,
        delivered_grace: layers.value("resolution.delivered_grace")?,
        not_found_quarantine: layers.value("resolution.not_found_quarantine")?,
        give_up_after: layers.value("resolution.give_up_after")?,
        delivered_give_up_after: layers.value("resolution.delivered_give_up_after")?,
        exposures_max: exposures_max.get(),
        settle_on: layers.value("callback.settle_on")?,
        status_query: layers.value("resolution.status_query")?,
        ..Policy::default()
    })
}

impl Profile {
    /// Refuses to take "not found" for an answer about a post that may still be on its way.
    fn compare_quarantine(&self, layers: &Layers) -> Result<(), Error> {
        const QUARANTINE: &str = "resolution.not_found_quarantine";
        // A rehearsal waits as little as it likes: no money moves.
        if layers.is_rehearsal || self.policy.not_found_quarantine > self.limits.request_timeout {
            return Ok(());
        }
        Err(contradiction(
            layers,
            [QUARANTINE, "limits.request_timeout"],
            "must be longer than",
        ))
    }
}

/// Names two keys with their values and origins; the place is that of the one set nearer to the operator.
fn contradiction(layers: &Layers, names: [&str; 2], relation: &str) -> Error {
    let of = |name| {
        layers.entry(name).map_or_else(
            || (format!("{name} (not set)"), super::Origin::Default),
            |entry| {
                let shown = format!("{name} = {} ({})", entry.text, entry.origin);
                (shown, entry.origin.clone())
            },
        )
    };
    let [(first, first_origin), (second, second_origin)] = names.map(of);
    let place = if first_origin == super::Origin::Default {
        second_origin
    } else {
        first_origin
    };
    Error::Contradiction {
        place,
        problem: format!("{first} {relation} {second}"),
    }
}
