//! The configuration: flags, environment, file, sandbox, defaults, in this order; the first that sets a key wins.
//!
//! [`KEYS`] is the one table of what a profile may hold. [`Settings::load`] returns typed values and the origin of each;
//! everything that is wrong is refused with its place and what would be right. Nothing here reads the process's own
//! environment, so that every rule can be tested.

mod approval;
mod archiving;
mod error;
mod file;
mod journal;
mod keys;
mod limits;
mod notices;
mod opening;
mod profile;
mod rule;
mod service;
mod settings;
mod show;
mod shown;
#[cfg(test)]
mod tests;
mod value;
mod written;

pub(super) use file::custody::TARGET as CUSTODY;

pub use archiving::ArchiveSettings;
pub use error::Error;
pub use file::dialect::{BUILT_IN as BUILT_IN_DIALECTS, DialectSettings, read as read_dialect};
pub use file::layouts::{BUILT_IN as BUILT_IN_LAYOUTS, built_in as built_in_layout};
pub use file::origin::Origin;
pub use journal::{JournalKeys, journal_keys};
pub use keys::{KEYS, Key, OTHER_VARIABLES, find};
pub use limits::LimitSettings;
pub use notices::NoticeSettings;
pub use opening::FileSettings;
pub use profile::{Callback, Float, Limits, Lookup, Mismatch, Profile};
pub use service::{DateReceived, Service};
pub use settings::{GatewaySettings, Settings, Sources};
pub use show::{show, show_json};
pub use shown::ShownValue;
pub use value::kind::Kind;
pub(super) use value::kind::only_hosts;
pub(super) use value::secret::read_key;
pub(super) use value::suggest::one_of;
pub(super) use written::{Approval, Written};

/// Opens a list that the configuration names. Where money can move, nobody else may have written it.
pub(super) fn open_list(
    path: &std::path::Path,
    is_rehearsal: bool,
) -> Result<std::fs::File, Error> {
    use file::custody::{self, Holds};
    let refused = |problem: String| Error::NotText {
        path: path.to_owned(),
        problem,
    };
    let (file, metadata) = custody::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => refused("no such file".to_owned()),
        _ => refused(format!("cannot be read: {error}")),
    })?;
    if !metadata.is_file() {
        return Err(refused("is not a regular file".to_owned()));
    }
    if !is_rehearsal {
        custody::check(Holds::Configuration, path, &metadata)?;
    }
    Ok(file)
}

/// Checks the text of a key of a profile, as the environment would hold it.
///
/// # Errors
/// What was expected.
pub(super) fn check_value(key: &str, text: &str) -> Result<(), String> {
    find(key).map_or(Ok(()), |key| key.kind.check(text))
}

/// Reads a duration such as `250ms`, `40s`, `10m`, `24h` or `1h30m`.
///
/// # Errors
/// What was expected.
pub fn duration(text: &str) -> Result<std::time::Duration, String> {
    value::typed::duration(text)
        .ok_or_else(|| "a duration such as 250ms, 40s, 10m or 24h".to_owned())
}
