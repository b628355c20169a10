//! How often what goes wrong goes wrong, and how long it takes.

use std::ops::RangeInclusive;

use super::fault::{COUNT, Fault, Group};
use crate::sandbox::error::Error;

/// A service whose float runs out once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloatShortage {
    /// The service's code.
    pub service: String,
    /// After how many accepted payments.
    pub after: u64,
    /// How long after the first 230 the float is topped up, in milliseconds.
    pub topped_up_after_ms: u64,
}

/// How often each fault happens, as probabilities from 0 to 1, and how long the slow ones take.
#[derive(Clone, Debug, PartialEq)]
pub struct Faults {
    pub(super) chances: [f64; COUNT],
    /// How long a slow reply takes.
    pub slow_reply_ms: RangeInclusive<u64>,
    /// How long after its 504 a late post is judged.
    pub late_execution_ms: RangeInclusive<u64>,
    /// How much later than settlement a late callback is sent.
    pub callback_late_ms: RangeInclusive<u64>,
    /// For how long after its post a payment may be denied.
    pub query_lies_within_ms: u64,
    /// The float shortage, if there is one.
    pub float_shortage: Option<FloatShortage>,
}

impl Faults {
    /// Nothing goes wrong.
    #[must_use]
    pub fn none() -> Self {
        Self {
            chances: [0.0; COUNT],
            slow_reply_ms: 300..=1500,
            late_execution_ms: 300..=900,
            callback_late_ms: 1000..=3000,
            query_lies_within_ms: 3000,
            float_shortage: None,
        }
    }

    /// What a gateway does on an ordinary bad day.
    #[must_use]
    pub fn realistic() -> Self {
        Self::none()
            .with(Fault::ErrorBefore, 0.01)
            .with(Fault::ErrorAfter, 0.015)
            .with(Fault::DropBefore, 0.005)
            .with(Fault::DropAfter, 0.01)
            .with(Fault::SlowReply, 0.03)
            .with(Fault::Reject, 0.01)
            .with(Fault::Refuse, 0.01)
            .with(Fault::CallbackLost, 0.03)
            .with(Fault::CallbackDoubled, 0.03)
            .with(Fault::CallbackLate, 0.02)
            .with(Fault::CallbackEarly, 0.01)
            .with(Fault::QueryError, 0.02)
            .short("B2C_MPESA", 300, 3000)
    }

    /// Everything goes wrong, several times as often.
    #[must_use]
    pub fn hostile() -> Self {
        let often = [
            (Fault::LateExecution, 0.04),
            (Fault::TruncatedReply, 0.03),
            (Fault::MissingEntry, 0.03),
            (Fault::ForeignEntry, 0.03),
            (Fault::GarbageReply, 0.03),
            (Fault::Throttle, 0.03),
            (Fault::ErrorBefore, 0.05),
            (Fault::ErrorAfter, 0.06),
            (Fault::DropBefore, 0.04),
            (Fault::DropAfter, 0.06),
            (Fault::SlowReply, 0.05),
            (Fault::Reject, 0.04),
            (Fault::Refuse, 0.04),
            (Fault::CallbackLost, 0.15),
            (Fault::CallbackDoubled, 0.15),
            (Fault::CallbackEarly, 0.08),
            (Fault::CallbackLate, 0.10),
            (Fault::QueryError, 0.10),
            (Fault::QueryLiesNotFound, 0.10),
        ];
        often
            .into_iter()
            .fold(Self::none(), |faults, (fault, chance)| {
                faults.with(fault, chance)
            })
            .short("B2C_MPESA", 100, 3000)
    }

    /// Returns the preset `none`, `realistic` or `hostile`.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::none()),
            "realistic" => Some(Self::realistic()),
            "hostile" => Some(Self::hostile()),
            _ => None,
        }
    }

    /// Sets how often one fault happens.
    #[must_use]
    pub fn with(mut self, fault: Fault, chance: f64) -> Self {
        self.chances[fault as usize] = chance;
        self
    }

    /// Returns how often one fault happens.
    #[must_use]
    pub fn chance(&self, fault: Fault) -> f64 {
        self.chances[fault as usize]
    }

    /// Lets one service's float run out.
    #[must_use]
    pub fn short(mut self, service: &str, after: u64, topped_up_after_ms: u64) -> Self {
        self.float_shortage = Some(FloatShortage {
            service: service.to_owned(),
            after,
            topped_up_after_ms,
        });
        self
    }

    pub(in crate::sandbox) fn check(&self) -> Result<(), Error> {
        for (fault, name) in Fault::ALL {
            if !(0.0..=1.0).contains(&self.chance(fault)) {
                return Err(Error::Faults(format!("{name} must be from 0 to 1")));
            }
        }
        for group in Group::ALL {
            // A little more than 1, because decimal fractions do not add up exactly.
            if self.chances[group.range()].iter().sum::<f64>() > 1.000_001 {
                let names: Vec<_> = Fault::ALL[group.range()].iter().map(|(_, n)| *n).collect();
                return Err(Error::Faults(format!(
                    "only one of these can happen, so they must not add up to more than 1: {}",
                    names.join(", ")
                )));
            }
        }
        for (name, range) in [
            ("slow_reply_ms", &self.slow_reply_ms),
            ("late_execution_ms", &self.late_execution_ms),
            ("callback_late_ms", &self.callback_late_ms),
        ] {
            if range.is_empty() {
                return Err(Error::Faults(format!("{name} ends before it begins")));
            }
        }
        Ok(())
    }
}
