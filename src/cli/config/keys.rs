//! The one table of profile keys: names, variables, defaults, kinds and meanings all come from here.

use std::time::Duration;

use crate::cli::config::value::kind::Kind;

/// One key of a profile.
#[derive(Debug)]
pub struct Key {
    /// The dotted name inside a profile, such as `limits.rate`.
    pub name: &'static str,
    /// The environment variable that sets it.
    pub env: &'static str,
    /// The value when nothing sets it, written as in the environment; `None` when there is none.
    pub default: Option<&'static str>,
    /// Whether the value is never printed, and never taken from a flag or from the file itself.
    pub secret: bool,
    /// What values it takes.
    pub kind: Kind,
    /// Its meaning, in one sentence or two.
    pub doc: &'static str,
}

impl Key {
    /// Returns the table the key lives in (`limits`), empty for the profile itself.
    #[must_use]
    pub fn group(&self) -> &'static str {
        self.name.rsplit_once('.').map_or("", |(group, _)| group)
    }

    /// Returns whether the key reaches outside the process.
    ///
    /// With `--sandbox` such a key is taken from flags alone: a rehearsal never touches a real gateway or a real password.
    /// The bank directory is a list of rules, by which rows are checked in a rehearsal too.
    #[must_use]
    pub fn is_external(&self) -> bool {
        self.secret
            || self.kind == Kind::Url
            || self.kind == Kind::Path && self.name != "bank_directory"
    }
}

/// The variable that holds the secret which notices are signed with.
pub const NOTICES_SECRET: &str = "DISBURSE_NOTICES_SECRET";

/// Variables that begin with `DISBURSE_` and are no profile key.
pub const OTHER_VARIABLES: &[&str] = &[
    "DISBURSE_CONFIG",
    "DISBURSE_PROFILE",
    "DISBURSE_LOG",
    "DISBURSE_LOG_FORMAT",
    NOTICES_SECRET,
];

/// Looks a key up by its dotted name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

const fn key(
    name: &'static str,
    env: &'static str,
    default: Option<&'static str>,
    kind: Kind,
    doc: &'static str,
) -> Key {
    Key {
        name,
        env,
        default,
        secret: false,
        kind,
        doc,
    }
}

const fn at_least(millis: u64) -> Kind {
    Kind::Duration {
        least: Duration::from_millis(millis),
    }
}

/// Every key of a profile, in the order in which they are shown.
pub static KEYS: &[Key] = &[
    key(
        "base_url",
        "DISBURSE_BASE_URL",
        None,
        Kind::Url,
        "Address of the payment gateway. Required to send anything.",
    ),
    key(
        "dialect",
        "DISBURSE_DIALECT",
        Some("document"),
        Kind::Dialect,
        "How the gateway's wire differs from the interface document: a name that \"disburse dialect list\" knows, or the path of a dialect file.",
    ),
    key(
        "payment_path",
        "DISBURSE_PAYMENT_PATH",
        Some("/v1/global-api/payments"),
        Kind::UrlPath,
        "Path of the payment operations below base_url.",
    ),
    key(
        "auth_url",
        "DISBURSE_AUTH_URL",
        None,
        Kind::Url,
        "Address of the token endpoint. Needed for lookups and with payment_bearer.",
    ),
    key(
        "api_url",
        "DISBURSE_API_URL",
        None,
        Kind::Url,
        "Address of the network lookup. Needed for lookups.",
    ),
    key(
        "file_service_url",
        "DISBURSE_FILE_SERVICE_URL",
        None,
        Kind::Url,
        "Address of the document upload. Needed for RTGS payments with a supporting document.",
    ),
    key(
        "client_id",
        "DISBURSE_CLIENT_ID",
        Some("customers"),
        Kind::Text,
        "Client identifier sent to the token endpoint.",
    ),
    key(
        "username",
        "DISBURSE_USERNAME",
        None,
        Kind::Text,
        "User name at the gateway. Required to send anything.",
    ),
    Key {
        name: "password",
        env: "DISBURSE_PASSWORD",
        default: None,
        secret: true,
        kind: Kind::Text,
        doc: "Password at the gateway: from the environment only, or from password_file.",
    },
    key(
        "password_file",
        "DISBURSE_PASSWORD_FILE",
        None,
        Kind::Path,
        "File whose first line is the password; mode 0600 or stricter. Relative to this file.",
    ),
    key(
        "originator",
        "DISBURSE_ORIGINATOR",
        None,
        Kind::Originator,
        "Name of the paying organisation; part of every payment's identifier, so it must never change.",
    ),
    key(
        "service_code",
        "DISBURSE_SERVICE_CODE",
        None,
        Kind::ServiceCode,
        "Service of rows that name none.",
    ),
    key(
        "country_code",
        "DISBURSE_COUNTRY_CODE",
        None,
        Kind::Country,
        "Country of rows that name none, and of requests that are about no row. Required to send anything.",
    ),
    key(
        "currency_code",
        "DISBURSE_CURRENCY_CODE",
        None,
        Kind::Currency,
        "Currency of rows that name none.",
    ),
    key(
        "time_zone",
        "DISBURSE_TIME_ZONE",
        None,
        Kind::Zone,
        "Time zone of datePaymentReceived, which carries none on the wire. Required to send anything.",
    ),
    key(
        "extra_data",
        "DISBURSE_EXTRA_DATA",
        Some("object"),
        Kind::Word(&["object", "string"]),
        "How extraData is sent: as a JSON object, or as a string that holds one.",
    ),
    key(
        "support_document_in",
        "DISBURSE_SUPPORT_DOCUMENT_IN",
        Some("extraData"),
        Kind::Word(&["extraData", "packet"]),
        "Where the reference of an uploaded document goes.",
    ),
    key(
        "payment_bearer",
        "DISBURSE_PAYMENT_BEARER",
        Some("false"),
        Kind::Flag,
        "Whether payments carry a bearer token beside the credentials in the body.",
    ),
    key(
        "bank_directory",
        "DISBURSE_BANK_DIRECTORY",
        None,
        Kind::Path,
        "CSV file with the columns bank_code and bank_name, against which the bank of a row is checked. Relative to this file.",
    ),
    key(
        "bank_msisdn",
        "DISBURSE_BANK_MSISDN",
        None,
        Kind::Text,
        "Phone number that is sent for a payment to a bank account whose row has none, such as that of the payroll office: the interface wants one, and the bank does not. Rows without a reference get other identifiers if this number changes.",
    ),
    key(
        "document_bytes_max",
        "DISBURSE_DOCUMENT_BYTES_MAX",
        Some("10485760"),
        Kind::Count { most: 104_857_600 },
        "Largest size of a supporting document, in bytes.",
    ),
    key(
        "proxy",
        "DISBURSE_PROXY",
        None,
        Kind::Url,
        "Proxy for every request. Proxies named in the environment are never used.",
    ),
    key(
        "ca_file",
        "DISBURSE_CA_FILE",
        None,
        Kind::Path,
        "PEM file of the certificate authorities to trust, in place of the system's. Relative to this file.",
    ),
    key(
        "journal",
        "DISBURSE_JOURNAL",
        None,
        Kind::Journal,
        "Where the journal is: a file, relative to this file, or a database on a server, as postgres://USER@HOST/DATABASE. Absent: disburse.db in the folder of the command.",
    ),
    key(
        "journal_password_file",
        "DISBURSE_JOURNAL_PASSWORD_FILE",
        None,
        Kind::Path,
        "File whose first line is the password of USER on that server; mode 0600 or stricter. Relative to this file.",
    ),
    key(
        "limits.rate",
        "DISBURSE_RATE",
        Some("50/s"),
        Kind::Rate,
        "Most payments that are posted in any one second, however many share a request.",
    ),
    key(
        "limits.query_rate",
        "DISBURSE_QUERY_RATE",
        Some("10/s"),
        Kind::Rate,
        "Most payments that are asked about in any one second.",
    ),
    key(
        "limits.lookup_rate",
        "DISBURSE_LOOKUP_RATE",
        Some("10/s"),
        Kind::Rate,
        "Most numbers that are looked up in any one second.",
    ),
    key(
        "limits.concurrency",
        "DISBURSE_CONCURRENCY",
        Some("64"),
        Kind::Count { most: 1_024 },
        "Requests in flight at once.",
    ),
    key(
        "limits.packets_per_request",
        "DISBURSE_PACKETS_PER_REQUEST",
        Some("1"),
        Kind::Count { most: 1_000 },
        "Payments in one request; more than 1 only where the gateway agrees.",
    ),
    key(
        "limits.connect_timeout",
        "DISBURSE_CONNECT_TIMEOUT",
        Some("5s"),
        at_least(1),
        "How long connecting may take; shorter than request_timeout.",
    ),
    key(
        "limits.request_timeout",
        "DISBURSE_REQUEST_TIMEOUT",
        Some("60s"),
        at_least(1),
        "How long a whole request may take; afterwards its payment is in doubt.",
    ),
    key(
        "limits.idle_timeout",
        "DISBURSE_IDLE_TIMEOUT",
        Some("15s"),
        at_least(0),
        "How long an unused connection is kept. Shorter than the gateway's own timeout, or posts get lost on closing connections.",
    ),
    key(
        "limits.breaker_losses",
        "DISBURSE_BREAKER_LOSSES",
        Some("20"),
        Kind::Count { most: 1_000_000 },
        "Posts lost in a row before posting pauses.",
    ),
    key(
        "limits.breaker_pause",
        "DISBURSE_BREAKER_PAUSE",
        Some("5s"),
        at_least(1),
        "First pause of posting; it doubles up to 5m while losses go on.",
    ),
    key(
        "resolution.first_query_after",
        "DISBURSE_FIRST_QUERY_AFTER",
        Some("40s"),
        at_least(0),
        "How long a payment in doubt waits before its status is asked.",
    ),
    key(
        "resolution.query_backoff_max",
        "DISBURSE_QUERY_BACKOFF_MAX",
        Some("10m"),
        at_least(1),
        "Longest pause between two questions about one payment.",
    ),
    key(
        "resolution.callback_grace",
        "DISBURSE_CALLBACK_GRACE",
        Some("5m"),
        at_least(0),
        "How long an acknowledged payment waits for its callback before its status is asked.",
    ),
    key(
        "resolution.delivered_grace",
        "DISBURSE_DELIVERED_GRACE",
        Some("15m"),
        at_least(0),
        "How long a payment delivered to its bank (148) waits for word of its settlement before its status is asked.",
    ),
    key(
        "resolution.not_found_quarantine",
        "DISBURSE_NOT_FOUND_QUARANTINE",
        Some("2m"),
        // Without a quarantine a gateway that is merely slow to index a payment would have it sent twice.
        at_least(100),
        "How long after a payment's last post an answer of not found proves nothing; only after that is the payment posted again. Longer than request_timeout. While payments are in doubt, a run with a shorter one than they were posted with is refused.",
    ),
    key(
        "resolution.give_up_after",
        "DISBURSE_GIVE_UP_AFTER",
        Some("24h"),
        at_least(100),
        "How long a payment is asked about before it is left to the operator.",
    ),
    key(
        "resolution.delivered_give_up_after",
        "DISBURSE_DELIVERED_GIVE_UP_AFTER",
        Some("72h"),
        at_least(100),
        "How long a delivered payment is asked about before it is left to the operator; settlement between banks stops over a weekend.",
    ),
    key(
        "resolution.attempts_max",
        "DISBURSE_ATTEMPTS_MAX",
        Some("50"),
        Kind::Count { most: 1_000 },
        "How many posts of one payment may vanish without a trace before only an operator may decide.",
    ),
    key(
        "resolution.status_query",
        "DISBURSE_STATUS_QUERY",
        Some("true"),
        Kind::Flag,
        "Whether the gateway answers status queries. If false, what stays unknown waits for a callback or for `resolve`.",
    ),
    key(
        "resolution.lane_retry_after",
        "DISBURSE_LANE_RETRY_AFTER",
        None,
        at_least(100),
        "How long until a service that is paused for lack of float is tried again by itself. Absent: only `resume-lane` opens it.",
    ),
    key(
        "repeats.window",
        "DISBURSE_REPEATS_WINDOW",
        Some("20d"),
        at_least(0),
        "For how long a row that repeats an earlier one is refused. Set it shorter for payments that are made more often.",
    ),
    key(
        "repeats.references_restart",
        "DISBURSE_REFERENCES_RESTART",
        Some("false"),
        Kind::Flag,
        "Whether references start again, as in systems that count from 1 every day: a reference that comes again is \
         then a repeat only with the same recipient, amount and service.",
    ),
    key(
        "lookup.max_age",
        "DISBURSE_LOOKUP_MAX_AGE",
        Some("30d"),
        at_least(0),
        "How long the answer of a network lookup counts; afterwards the number is looked up anew.",
    ),
    key(
        "lookup.mismatch",
        "DISBURSE_LOOKUP_MISMATCH",
        Some("error"),
        Kind::Word(&["error", "warning"]),
        "How a number on another network than its service's carriers is taken: error (it is refused) or warning (it is reported, and loaded).",
    ),
    key(
        "float.query",
        "DISBURSE_FLOAT_QUERY",
        Some("false"),
        Kind::Flag,
        "Whether the gateway answers queries for the float balance. If true, a run begins with a forecast, and is refused when a float is too small.",
    ),
    key(
        "float.reopen_lanes",
        "DISBURSE_FLOAT_REOPEN_LANES",
        Some("false"),
        Kind::Flag,
        "Whether a service that is paused for lack of float goes on by itself once the balance covers what waits for it; needs float.query.",
    ),
    key(
        "float.poll_every",
        "DISBURSE_FLOAT_POLL_EVERY",
        Some("30s"),
        at_least(100),
        "How often the balance of a paused service is asked for.",
    ),
    key(
        "callback.listen",
        "DISBURSE_CALLBACK_LISTEN",
        Some("127.0.0.1:8490"),
        Kind::Address,
        "Address and port of the callback listener.",
    ),
    key(
        "callback.public_url",
        "DISBURSE_CALLBACK_PUBLIC_URL",
        None,
        Kind::Url,
        "Address under which the gateway reaches the listener. Absent: no callbacks, status queries only.",
    ),
    key(
        "callback.settle_on",
        "DISBURSE_SETTLE_ON",
        Some("callback"),
        Kind::Word(&["callback", "confirmed"]),
        "What settles a payment: its callback, or a status query that agrees with it.",
    ),
    key(
        "page.listen",
        "DISBURSE_PAGE_LISTEN",
        Some("127.0.0.1:0"),
        Kind::Address,
        "Address and port of the page that `serve` and `run --page` show to a browser; loopback only. Port 0: any that is free.",
    ),
];
