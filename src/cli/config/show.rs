//! Every value with its origin, secrets hidden.

use super::Settings;
use super::shown::ShownValue;

/// Lists the profile's keys in the order of their table, then services, columns and codes in the order of the file.
#[must_use]
pub fn show(settings: &Settings) -> Vec<ShownValue> {
    settings.shown.clone()
}

/// Returns `{"profile", "file", "values": [{"key", "value", "origin"}]}`.
#[must_use]
pub fn show_json(settings: &Settings) -> serde_json::Value {
    let file = settings.file.as_ref().ok();
    serde_json::json!({
        "profile": settings.profile_name,
        "file": file.map(|path| path.display().to_string()),
        "values": settings.shown,
    })
}
