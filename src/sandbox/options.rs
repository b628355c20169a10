//! How a sandbox is set up.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::dialect::Seals;
use super::error::Error;
use super::faults::chances::Faults;
use crate::dialect::Dialect;
use crate::domain::{Amount, Currency, PaymentKind, Timestamp};

/// How many services a sandbox offers at most.
pub const SERVICES_MAX: usize = 256;
/// The longest delay and token lifetime: a year, which no clock overflows at.
const WAIT_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// A product of the gateway with its float account and limits (section 8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// `serviceCode`.
    pub code: String,
    /// What kind of payment it makes (section 1).
    pub kind: PaymentKind,
    /// The only currency the service pays in.
    pub currency: Currency,
    /// The least amount (status 232 below it).
    pub min: Amount,
    /// The greatest amount (status 231 above it).
    pub max: Amount,
    /// What the float account holds at first, in minor units.
    pub float: i64,
    /// Whether payments are taken (status 106 when not).
    pub active: bool,
}

impl Service {
    /// Reads limits and float of a mobile-money service from decimal text such as `250000.00`.
    ///
    /// # Errors
    /// The currency is unknown, or a text is not an amount of it.
    pub fn parse(
        code: &str,
        currency: &str,
        min: &str,
        max: &str,
        float: &str,
    ) -> Result<Self, Error> {
        let wrong = |what: &str, reason: &dyn fmt::Display| {
            Error::Options(format!("service {code}: {what} {reason}"))
        };
        let currency = Currency::from_code(currency)
            .ok_or_else(|| wrong(currency, &"is not an ISO 4217 currency code"))?;
        let amount =
            |name, text| Amount::parse(text, currency).map_err(|reason| wrong(name, &reason));
        Ok(Self {
            code: code.to_owned(),
            kind: PaymentKind::MobileMoney,
            currency,
            min: amount("minimum", min)?,
            max: amount("maximum", max)?,
            float: amount("float", float)?.minor(),
            active: true,
        })
    }

    /// Returns the same service for another kind of payment.
    #[must_use]
    pub fn of_kind(self, kind: PaymentKind) -> Self {
        Self { kind, ..self }
    }

    /// Returns the services that the samples use.
    #[must_use]
    pub fn samples() -> Vec<Self> {
        use PaymentKind::{Airtime, Bank, BillPostpaid, BillPrepaid, Rtgs};
        let with_float = |code, currency, min, max, float| {
            Self::parse(code, currency, min, max, float).expect("the table's texts are amounts")
        };
        let service =
            |code, currency, min, max| with_float(code, currency, min, max, "50000000000");
        vec![
            service("B2C_MPESA", "KES", "10.00", "250000.00"),
            service("B2C_AIRTEL", "KES", "10.00", "250000.00"),
            service("B2C_TKASH", "KES", "10.00", "250000.00"),
            service("B2C_MTN_UG", "UGX", "500", "5000000"),
            service("B2C_VODACOM_TZ", "TZS", "1000.00", "5000000.00"),
            service("REFUND_MPESA", "KES", "10.00", "250000.00"),
            Self {
                active: false,
                ..service("LEGACY_B2C", "KES", "10.00", "250000.00")
            },
            service("BANK_TRANSFER", "KES", "100.00", "999999.99").of_kind(Bank),
            // Room for thousands of the largest transfers.
            with_float("RTGS", "KES", "1000.00", "500000000.00", "5000000000000").of_kind(Rtgs),
            service("AIRTIME", "KES", "5.00", "10000.00").of_kind(Airtime),
            service("ELECTRICITY", "KES", "50.00", "100000.00").of_kind(BillPrepaid),
            service("WATER", "KES", "1.00", "500000.00").of_kind(BillPostpaid),
            service("PAYTV", "KES", "1.00", "50000.00").of_kind(BillPostpaid),
        ]
    }
}

/// What a sandbox is started with.
#[derive(Clone)]
pub struct Options {
    /// Where to listen; port 0 takes any free one. Loopback addresses only.
    pub listen: SocketAddr,
    /// Decides delays and faults: the same seed and identifiers meet the same ones.
    pub seed: u64,
    /// What goes wrong, and how often.
    pub faults: Faults,
    /// The products with their float accounts.
    pub services: Vec<Service>,
    /// The only user name and password that are let in; any when absent.
    pub credentials: Option<(String, String)>,
    /// The dialect that it speaks.
    pub dialect: Arc<Dialect>,
    /// The keys of the dialect.
    pub seals: Seals,
    /// Whether an identifier that was accepted before is refused with 229.
    // Off, the sandbox executes it again: that shows whether the other side ever relies on the check.
    pub duplicate_check: bool,
    /// How long an accepted payment takes to settle, in milliseconds.
    pub settle_delay_ms: RangeInclusive<u64>,
    /// How long an RTGS transfer stays delivered (148) before it settles, in milliseconds.
    pub rtgs_delay_ms: RangeInclusive<u64>,
    /// How long an access token is good for (section 5: 3600 seconds).
    pub token_lifetime: Duration,
    /// How many times a callback is sent before it is given up.
    pub callback_attempts_max: u32,
    /// The pause before the second sending of a callback, in milliseconds; it doubles from there, up to five seconds.
    pub callback_backoff_ms: u64,
    /// Where the ledger is kept, so that a killed sandbox resumes; in memory only when absent.
    pub ledger_file: Option<PathBuf>,
    /// The wall clock that dates the payments.
    pub clock: fn() -> Timestamp,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            seed: 0,
            faults: Faults::none(),
            services: Service::samples(),
            credentials: None,
            dialect: Arc::default(),
            seals: Seals::default(),
            duplicate_check: true,
            settle_delay_ms: 50..=400,
            rtgs_delay_ms: 800..=2500,
            token_lifetime: Duration::from_secs(3600),
            callback_attempts_max: 10,
            callback_backoff_ms: 200,
            ledger_file: None,
            clock: Timestamp::now,
        }
    }
}

impl Options {
    pub(super) fn check(&self) -> Result<(), Error> {
        if !self.listen.ip().is_loopback() {
            return Err(Error::NotLoopback(self.listen));
        }
        if self.settle_delay_ms.is_empty() || self.rtgs_delay_ms.is_empty() {
            return Err(Error::Options(
                "a settle delay ends before it begins".to_owned(),
            ));
        }
        let delays = [&self.settle_delay_ms, &self.rtgs_delay_ms];
        let longest = delays.map(|delay| Duration::from_millis(*delay.end()));
        if longest.into_iter().any(|delay| delay > WAIT_MAX) {
            return Err(Error::Options(
                "a settle delay is longer than a year".to_owned(),
            ));
        }
        if self.token_lifetime.is_zero() || self.token_lifetime > WAIT_MAX {
            return Err(Error::Options(
                "the token lifetime is zero or longer than a year".to_owned(),
            ));
        }
        if self.services.len() > SERVICES_MAX {
            return Err(Error::Options(format!("more than {SERVICES_MAX} services")));
        }
        for (index, service) in self.services.iter().enumerate() {
            let code = &service.code;
            if self.services[..index]
                .iter()
                .any(|other| other.code == *code)
            {
                return Err(Error::Options(format!("service {code} is listed twice")));
            }
            if service.min > service.max {
                return Err(Error::Options(format!(
                    "service {code}: the minimum is above the maximum"
                )));
            }
            if service.float < 0 {
                return Err(Error::Options(format!(
                    "service {code}: the float is negative"
                )));
            }
        }
        self.faults.check()
    }
}

// Credentials stay out of logs.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("listen", &self.listen)
            .field("seed", &self.seed)
            .field("faults", &self.faults)
            .field("ledger_file", &self.ledger_file)
            .finish_non_exhaustive()
    }
}
