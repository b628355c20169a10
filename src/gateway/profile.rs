//! One deployment of the gateway: where it is, who we are to it, and how its wire differs.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::BASE64;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretSlice, SecretString};

use super::error::Error;
use super::scrub::Secrets;
use crate::dialect::{Dialect, Operation};
use crate::domain::{Country, ServiceCode, Timestamp, WireZone};
use crate::lifecycle::CodeTable;

/// How `extraData` is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExtraDataForm {
    /// A JSON object.
    #[default]
    Object,
    /// The same object as an escaped JSON string (section 2.3).
    String,
}

/// Where `supportDocument` is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SupportDocumentIn {
    /// A member of `extraData`.
    #[default]
    ExtraData,
    /// A member of the packet itself.
    Packet,
}

/// What the files hold that a dialect names.
#[derive(Clone, Default)]
pub struct Keys {
    /// Headers whose values are secret, by name.
    pub headers: Vec<(String, SecretString)>,
    /// The key that requests are signed with.
    pub signing: Option<Arc<SecretSlice<u8>>>,
    /// The secret that callbacks carry.
    pub callback_secret: Option<SecretString>,
    /// The key that callbacks are signed with.
    pub callback_signing: Option<Arc<SecretSlice<u8>>>,
}

/// One deployment of the gateway.
#[derive(Clone)]
pub struct Profile {
    /// `{base_url}`: https, or http on a loopback address; no credentials, query or fragment.
    pub base_url: Url,
    /// The path of the payment operation below it.
    pub payment_path: String,
    /// `{auth_url}` of the token endpoint, under the same rules as `base_url`.
    pub auth_url: Option<Url>,
    /// `{api_url}` of the network lookup, under the same rules.
    pub api_url: Option<Url>,
    /// `{file_service_url}` of the document upload, under the same rules.
    pub file_service_url: Option<Url>,
    /// `client_id` of a token request.
    pub client_id: String,
    /// Whether requests on the payment path carry a bearer token.
    pub payment_bearer: bool,
    /// `payload.credentials.username`.
    pub username: String,
    /// `payload.credentials.password`.
    pub password: SecretString,
    /// `countryCode` of the envelope; each packet carries its own.
    pub country_code: Country,
    /// The zone of `datePaymentReceived`.
    pub zone: WireZone,
    /// How `extraData` is written.
    pub extra_data: ExtraDataForm,
    /// Where `supportDocument` is written.
    pub support_document_in: SupportDocumentIn,
    /// The services whose posts carry an empty `datePaymentReceived`, as the airtime request of section 2.3 does.
    pub undated: BTreeSet<ServiceCode>,
    /// The longest wait for a connection: name, TCP and TLS. Strictly shorter than `request_timeout`.
    pub connect_timeout: Duration,
    /// The longest wait for a whole reply, from the start of the connection to the last byte.
    pub request_timeout: Duration,
    /// How long an unused connection is kept.
    pub idle_timeout: Duration,
    /// The address of a proxy. What the environment names is never used.
    pub proxy: Option<String>,
    /// PEM certificates that alone are trusted; the system's roots otherwise.
    pub ca_file: Option<PathBuf>,
    /// What the status codes mean.
    pub codes: CodeTable,
    /// How the wire differs from the interface document.
    pub dialect: Arc<Dialect>,
    /// What the dialect's key files hold.
    pub keys: Keys,
    /// Whether the gateway was seen to refuse an identifier that it has: only then may its own words for "not found" count.
    pub duplicate_check_proven: bool,
    /// The wall clock that dates signatures.
    pub clock: fn() -> Timestamp,
    /// The longest reply that is read, in bytes.
    pub body_limit: usize,
}

impl Profile {
    /// Returns a profile with every default.
    #[must_use]
    pub fn new(
        base_url: Url,
        username: String,
        password: SecretString,
        country_code: Country,
        zone: WireZone,
    ) -> Self {
        super::resident::stay(password.expose_secret().as_bytes());
        Self {
            base_url,
            payment_path: "/v1/global-api/payments".to_owned(),
            auth_url: None,
            api_url: None,
            file_service_url: None,
            client_id: "customers".to_owned(),
            payment_bearer: false,
            username,
            password,
            country_code,
            zone,
            extra_data: ExtraDataForm::default(),
            support_document_in: SupportDocumentIn::default(),
            undated: BTreeSet::new(),
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(15),
            proxy: None,
            ca_file: None,
            codes: CodeTable::default(),
            dialect: Arc::default(),
            keys: Keys::default(),
            duplicate_check_proven: false,
            clock: Timestamp::now,
            body_limit: 1024 * 1024,
        }
    }

    /// Returns `scheme://host:port/path` without credentials: what the journal pins a batch to.
    #[must_use]
    pub fn identity(&self) -> String {
        identity_of(&self.joined())
    }

    /// Returns what the other side may repeat and nobody may read.
    #[must_use]
    pub fn secrets(&self) -> Secrets {
        let values = self.keys.headers.iter();
        Secrets::new(&self.username, self.password.expose_secret())
            .and(values.map(|(_, value)| value.expose_secret()))
    }

    /// Returns the fixed headers of the dialect.
    ///
    /// # Errors
    /// A value that no header can carry.
    pub(super) fn fixed_headers(&self) -> Result<HeaderMap, Error> {
        let open = self.dialect.headers.iter();
        let open = open.map(|(name, value)| (name, value.as_str(), false));
        let secret = self.keys.headers.iter();
        let secret = secret.map(|(name, value)| (name, value.expose_secret(), true));
        let mut headers = HeaderMap::new();
        for (name, value, is_secret) in open.chain(secret) {
            let wrong = || Error::Header(name.clone());
            let header = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
            let mut value = HeaderValue::try_from(value).map_err(|_| wrong())?;
            value.set_sensitive(is_secret);
            headers.insert(header, value);
        }
        Ok(headers)
    }

    /// Returns the `Authorization` header of HTTP Basic.
    ///
    /// # Errors
    /// Never for base 64.
    pub(super) fn basic(&self) -> Result<HeaderValue, Error> {
        let pair = Zeroizing::new(format!(
            "{}:{}",
            self.username,
            self.password.expose_secret()
        ));
        let text = Zeroizing::new(format!("Basic {}", BASE64.encode(pair.as_bytes())));
        let mut value = HeaderValue::try_from(text.as_str())
            .map_err(|_| Error::Header("Authorization".to_owned()))?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Returns the address of the payment operation.
    ///
    /// # Errors
    /// Refuses addresses that would show payments to others than the gateway.
    pub(super) fn endpoint(&self) -> Result<Url, Error> {
        self.check("base_url", &self.base_url)?;
        Ok(self.joined())
    }

    /// Returns the address of an operation below one of the other addresses, whose key is `key`.
    ///
    /// # Errors
    /// Refuses an address that is not set, and one that would show secrets to others than the service.
    pub(super) fn operation(
        &self,
        key: &'static str,
        address: Option<&Url>,
        path: &str,
    ) -> Result<Url, Error> {
        let address = address.ok_or(Error::Address {
            key,
            problem: "is not set",
        })?;
        self.check(key, address)?;
        Ok(below(address, path))
    }

    fn check(&self, key: &'static str, url: &Url) -> Result<(), Error> {
        let refused = |problem| Err(Error::Address { key, problem });
        match url.scheme() {
            "https" => {}
            "http" if !is_loopback(url) => return refused("must begin with https://"),
            "http" if self.proxy.is_some() => {
                return refused("must begin with https:// when a proxy is used");
            }
            "http" => {}
            _ => return refused("must begin with https://"),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refused("must not contain credentials");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return refused("must not have a query or a fragment");
        }
        Ok(())
    }

    fn joined(&self) -> Url {
        self.address_of(Operation::Post)
    }

    /// Returns the address of an operation on the payment path.
    pub(super) fn address_of(&self, operation: Operation) -> Url {
        address_of(&self.base_url, &self.payment_path, &self.dialect, operation)
    }
}

/// Returns the identity of the gateway at a base address, before anything else of its profile is known.
#[must_use]
pub fn identity(base_url: &Url, payment_path: &str, dialect: &Dialect) -> String {
    identity_of(&address_of(
        base_url,
        payment_path,
        dialect,
        Operation::Post,
    ))
}

fn identity_of(url: &Url) -> String {
    format!(
        "{}://{}:{}{}",
        url.scheme(),
        url.host_str().unwrap_or(""),
        url.port_or_known_default().unwrap_or(0),
        url.path()
    )
}

fn address_of(base_url: &Url, payment_path: &str, dialect: &Dialect, operation: Operation) -> Url {
    let path = dialect.call(operation).path.as_deref();
    below(base_url, path.unwrap_or(payment_path))
}

fn below(address: &Url, path: &str) -> Url {
    let mut url = address.clone();
    let path = format!(
        "{}/{}",
        url.path().trim_end_matches('/'),
        path.trim_start_matches('/')
    );
    url.set_path(&path);
    url
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or("");
    host == "localhost"
        || host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

// The base address and the proxy may hold credentials that are yet to be refused.
impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile")
            .field("gateway", &self.identity())
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(base_url: &str) -> Profile {
        Profile::new(
            Url::parse(base_url).unwrap(),
            "acme".into(),
            SecretString::from("hunter2"),
            Country::from_code("KE").unwrap(),
            WireZone::from_name("Africa/Nairobi").unwrap(),
        )
    }

    #[test]
    fn the_identity_is_canonical_and_holds_no_credentials() {
        for (base_url, expected) in [
            (
                "https://Gateway.Example",
                "https://gateway.example:443/v1/global-api/payments",
            ),
            (
                "https://gateway.example:443/",
                "https://gateway.example:443/v1/global-api/payments",
            ),
            (
                "https://u:p@gateway.example/api/?q#f",
                "https://gateway.example:443/api/v1/global-api/payments",
            ),
            (
                "http://[::1]:8080",
                "http://[::1]:8080/v1/global-api/payments",
            ),
        ] {
            assert_eq!(profile(base_url).identity(), expected, "{base_url}");
        }
    }

    #[test]
    fn payments_are_sent_over_https_or_to_this_machine() {
        for (base_url, refusal) in [
            ("https://gateway.example", None),
            ("http://127.0.0.1:1", None),
            ("http://[::1]:1", None),
            ("http://localhost:1", None),
            ("http://gateway.example", Some("https")),
            ("http://127.0.0.1.example", Some("https")),
            ("http://localhost.example", Some("https")),
            ("http://10.0.0.1", Some("https")),
            ("ftp://127.0.0.1", Some("https")),
            ("https://u:p@gateway.example", Some("credentials")),
            ("https://gateway.example?a=b", Some("query")),
            ("https://gateway.example#a", Some("fragment")),
        ] {
            let found = profile(base_url).endpoint().err().map(|e| e.to_string());
            match (found, refusal) {
                (None, None) => {}
                (Some(text), Some(part)) => assert!(text.contains(part), "{base_url}: {text}"),
                (found, _) => panic!("{base_url}: {found:?}"),
            }
        }
        let proxied = Profile {
            proxy: Some("http://proxy.example:3128".into()),
            ..profile("http://127.0.0.1:1")
        };
        assert!(proxied.endpoint().is_err());
    }

    #[test]
    fn debug_output_shows_no_secret() {
        let mut profile = profile("https://user:hunter2@gateway.example");
        profile.proxy = Some("http://user:hunter2@proxy.example".into());
        let text = format!("{profile:?}");
        assert!(
            text.contains("gateway.example") && !text.contains("hunter2"),
            "{text}"
        );
    }
}
