//! What every command starts from: the common options and the configuration.

use std::collections::BTreeMap;
use std::path::Path;

use super::arguments::Common;
use super::config::{Settings, Sources};
use super::{Error, output};
use crate::domain::BatchName;

/// The common options of one command.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) common: Common,
}

impl Session {
    pub(super) fn new(common: Common) -> Self {
        Self { common }
    }

    /// Reads the configuration; flags come as key and value.
    pub(super) fn settings(
        &self,
        sandbox: bool,
        overrides: Vec<(&'static str, Option<String>)>,
    ) -> Result<Settings, Error> {
        let sources = Sources {
            config_path: self.common.config.clone(),
            profile: self.common.profile.clone(),
            // Variables that are not text cannot be ours.
            environment: std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .collect::<BTreeMap<_, _>>(),
            overrides: overrides
                .into_iter()
                .filter_map(|(key, value)| Some((key.to_owned(), value?)))
                .collect(),
            directory: std::path::PathBuf::new(),
        };
        let settings = if sandbox {
            Settings::sandbox(&sources)
        } else {
            Settings::load(&sources)
        }?;
        Ok(settings)
    }

    pub(super) fn journal_path(&self) -> &Path {
        &self.common.journal
    }

    /// Says something, unless the person asked for quiet.
    pub(super) fn note(&self, text: &str) {
        if !self.common.quiet {
            output::note(text);
        }
    }
}

/// Reads a batch's name.
pub(super) fn batch_name(text: &str) -> Result<BatchName, Error> {
    BatchName::parse(text).map_err(|error| Error::refused(format!("batch name {text:?}: {error}")))
}
