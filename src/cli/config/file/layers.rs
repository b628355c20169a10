//! The five sources of a key, laid over one another.

use std::collections::BTreeMap;

use super::entry::Entry;
use crate::cli::config::Error;
use crate::cli::config::Origin;
use crate::cli::config::keys::{self, KEYS, Key, OTHER_VARIABLES};
use crate::cli::config::value::suggest;
use crate::cli::config::value::typed::Value;

/// The winning text of every key that has one.
pub(in crate::cli::config) struct Layers {
    values: BTreeMap<&'static str, Entry>,
    /// The gateway is the sandbox: no money moves.
    pub(in crate::cli::config) is_rehearsal: bool,
}

/// What the keys of one profile are set to, source by source.
pub(in crate::cli::config) struct Stack<'a> {
    pub(in crate::cli::config) overrides: &'a [(String, String)],
    pub(in crate::cli::config) environment: &'a BTreeMap<String, String>,
    pub(in crate::cli::config) file: Option<&'a BTreeMap<&'static str, Entry>>,
    /// The built-in profile, when the gateway is the sandbox.
    pub(in crate::cli::config) sandbox: Option<&'a BTreeMap<&'static str, Entry>>,
}

impl Layers {
    /// Checks every value of every source, and keeps the first of each key.
    pub(in crate::cli::config) fn resolve(stack: &Stack<'_>) -> Result<Self, Error> {
        let flags = flags(stack.overrides)?;
        let environment = environment(stack.environment)?;
        let mut values = BTreeMap::new();
        for key in KEYS {
            let outside = stack.sandbox.is_some() && key.is_external();
            let layers = [
                flags.get(key.name),
                environment.get(key.name).filter(|_| !outside),
                stack
                    .file
                    .and_then(|file| file.get(key.name))
                    .filter(|_| !outside),
                stack.sandbox.and_then(|sandbox| sandbox.get(key.name)),
            ];
            let default = || {
                key.default.map(|text| Entry {
                    text: text.to_owned(),
                    origin: Origin::Default,
                })
            };
            let winner = layers.into_iter().flatten().next().cloned();
            if let Some(entry) = winner.or_else(default) {
                values.insert(key.name, entry);
            }
        }
        Ok(Self {
            values,
            is_rehearsal: stack.sandbox.is_some(),
        })
    }

    /// Takes out a secret, so that its text is kept nowhere else.
    pub(in crate::cli::config) fn take(&mut self, name: &str) -> Option<Entry> {
        self.values.remove(name)
    }

    /// Returns the winning entry of a key.
    pub(in crate::cli::config) fn entry(&self, name: &str) -> Option<&Entry> {
        self.values.get(name)
    }

    /// Returns the value of a key, if it has one.
    pub(in crate::cli::config) fn optional<T: Value>(
        &self,
        name: &str,
    ) -> Result<Option<T>, Error> {
        let Some(entry) = self.entry(name) else {
            return Ok(None);
        };
        T::read(&entry.text).map(Some).map_err(|expected| {
            let shown = keys::find(name).map(|key| key.kind.shown(&entry.text));
            Error::Value {
                place: entry.origin.clone(),
                key: name.to_owned(),
                expected,
                found: shown.unwrap_or_default(),
            }
        })
    }

    /// Returns the value of a key that has a default.
    pub(in crate::cli::config) fn value<T: Value>(&self, name: &'static str) -> Result<T, Error> {
        self.optional(name)?.ok_or_else(|| Error::Missing {
            profile: String::new(),
            keys: keys::find(name).into_iter().collect(),
            file: Err(Vec::new()),
        })
    }
}

/// Checks a value that is a text from the start.
fn checked(key: &Key, text: &str, origin: Origin) -> Result<Entry, Error> {
    match key.kind.check(text) {
        Ok(()) => Ok(Entry {
            text: text.to_owned(),
            origin,
        }),
        Err(expected) => Err(Error::Value {
            place: origin,
            key: key.name.to_owned(),
            expected,
            found: match text {
                "" => "nothing".to_owned(),
                _ if key.secret => "something else".to_owned(),
                text => key.kind.shown(text),
            },
        }),
    }
}

fn flags(overrides: &[(String, String)]) -> Result<BTreeMap<&'static str, Entry>, Error> {
    let mut entries = BTreeMap::new();
    for (name, text) in overrides {
        let place = Origin::Flag;
        let Some(key) = keys::find(name) else {
            return Err(Error::Unknown {
                place,
                what: "key",
                name: name.clone(),
                hint: suggest::profile_key("", name, "profiles.NAME"),
            });
        };
        if key.secret {
            return Err(Error::PasswordInTheOpen { place });
        }
        entries.insert(key.name, checked(key, text, place)?);
    }
    Ok(entries)
}

fn environment(
    variables: &BTreeMap<String, String>,
) -> Result<BTreeMap<&'static str, Entry>, Error> {
    const PREFIX: &str = "DISBURSE_";
    let ours = variables
        .range(PREFIX.to_owned()..)
        .take_while(|(name, _)| name.starts_with(PREFIX));
    let mut entries = BTreeMap::new();
    for (name, text) in ours {
        if OTHER_VARIABLES.contains(&name.as_str()) {
            continue;
        }
        let Some(key) = KEYS.iter().find(|key| key.env == name) else {
            // Not refused: the variables of a whole machine are not this program's to judge.
            tracing::warn!(
                "environment variable {name} sets nothing; {}",
                suggest::variable(name)
            );
            continue;
        };
        entries.insert(key.name, checked(key, text, Origin::Environment(key.env))?);
    }
    Ok(entries)
}
