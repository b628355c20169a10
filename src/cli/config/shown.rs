//! What a setting is, and where it comes from.

use std::collections::BTreeMap;

use super::Origin;
use super::keys::KEYS;
use crate::cli::config::file::entry::Entry;
use crate::cli::config::file::layers::Layers;
use serde::Serialize;

/// One line of `config show`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownValue {
    /// The dotted name.
    pub key: String,
    /// The value as it was written, `***` for a secret, `None` when nothing sets it.
    pub value: Option<String>,
    /// Where it comes from: `flag`, `environment DISBURSE_RATE`, `disburse.toml:12`, `sandbox`, `default`, `not set`.
    pub origin: String,
    #[serde(skip)]
    pub(super) source: Origin,
}

/// Returns where each value comes from that is set.
pub(super) fn origins(shown: &[ShownValue]) -> BTreeMap<String, Origin> {
    let set = shown.iter().filter(|value| value.value.is_some());
    set.map(|value| (value.key.clone(), value.source.clone()))
        .collect()
}

/// Lays out all values. The password is no longer among the layers: only its origin is known here.
pub(super) fn collect(
    layers: &Layers,
    password: Option<Origin>,
    others: Vec<(String, Entry)>,
) -> Vec<ShownValue> {
    let profile = KEYS.iter().map(|key| {
        let (value, source) = if key.secret {
            (
                password.as_ref().map(|_| "***".to_owned()),
                password.clone(),
            )
        } else {
            let entry = layers.entry(key.name);
            let source = entry.map(|entry| entry.origin.clone());
            (entry.map(|entry| entry.text.clone()), source)
        };
        ShownValue::new(
            key.name.to_owned(),
            value,
            source.unwrap_or(Origin::Default),
        )
    });
    let others = others
        .into_iter()
        .map(|(name, entry)| ShownValue::new(name, Some(entry.text), entry.origin));
    profile.chain(others).collect()
}

impl ShownValue {
    fn new(key: String, value: Option<String>, source: Origin) -> Self {
        let origin = match &value {
            Some(_) => source.to_string(),
            None => "not set".to_owned(),
        };
        Self {
            key,
            value,
            origin,
            source,
        }
    }
}
