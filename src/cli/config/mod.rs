//! The configuration: flags, environment, file, sandbox, defaults, in this order; the first that sets a key wins.
//!
//! [`KEYS`] is the one table of what a profile may hold. [`Settings::load`] returns typed values and the origin of each;
//! everything that is wrong is refused with its place and what would be right. Nothing here reads the process's own
//! environment, so that every rule can be tested.

mod classes;
mod codes;
mod columns;
mod custody;
mod document;
mod entry;
mod error;
mod file;
mod keys;
mod kind;
mod layers;
mod origin;
mod profile;
mod rate;
mod reading;
mod secret;
mod service;
mod service_table;
mod settings;
mod show;
mod shown;
mod suggest;
#[cfg(test)]
mod tests;
mod thresholds;
mod value;

pub(super) use custody::TARGET as CUSTODY;

pub use classes::{PostClass, StatusClass};
pub use error::Error;
pub use keys::{KEYS, Key, OTHER_VARIABLES, find};
pub use kind::Kind;
pub use origin::Origin;
pub use profile::{
    Callback, ExtraData, Float, Limits, Lookup, Mismatch, Profile, Resolution, SettleOn,
    SupportDocumentIn,
};
pub use rate::Rate;
pub use service::{DateReceived, Service};
pub use settings::{GatewaySettings, Settings, Sources};
pub use show::{show, show_json};
pub use shown::ShownValue;

/// Reads a duration such as `250ms`, `40s`, `10m`, `24h` or `1h30m`.
///
/// # Errors
/// What was expected.
pub fn duration(text: &str) -> Result<std::time::Duration, String> {
    value::duration(text).ok_or_else(|| "a duration such as 250ms, 40s, 10m or 24h".to_owned())
}
