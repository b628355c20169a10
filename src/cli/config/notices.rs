//! What `[notices]` says: who is told how a batch goes.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};

use super::Error;
use super::keys::NOTICES_SECRET;
use super::value::kind::only_hosts;
use super::value::secret::read_key;
use crate::gateway::SigningSecret;
use crate::ledger::notices::{NoticeKind, NoticeRules};

/// What `[notices]` says. Debug output shows no secret, of an address the host alone, and no argument of the command.
#[derive(Clone, Default)]
pub struct NoticeSettings {
    /// A program and its arguments, which has each notice as its input.
    pub command: Vec<String>,
    /// The address that each notice is posted to.
    pub url: Option<Url>,
    /// The file of the secret that they are signed with.
    pub secret_file: Option<PathBuf>,
    /// The secret, from the environment.
    pub secret: Option<SecretString>,
    /// What is told; empty: everything.
    pub events: Vec<NoticeKind>,
    /// More failures than this are told.
    pub failures_above: Option<u64>,
    /// Nothing for so long is told.
    pub quiet_for: Option<Duration>,
    /// Rehearsals are told, too.
    pub rehearsals: bool,
}

impl fmt::Debug for NoticeSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.url.as_ref().map(|url| only_hosts(url.as_str()));
        f.debug_struct("NoticeSettings")
            .field("command", &self.command.first())
            .field("url", &address)
            .field("secret_file", &self.secret_file)
            .field("events", &self.events)
            .field("failures_above", &self.failures_above)
            .field("quiet_for", &self.quiet_for)
            .field("rehearsals", &self.rehearsals)
            .finish_non_exhaustive()
    }
}

impl NoticeSettings {
    /// Returns from where on something is told.
    #[must_use]
    pub fn rules(&self) -> NoticeRules {
        let kinds = match self.events.is_empty() {
            true => NoticeKind::ALL.to_vec(),
            false => self.events.clone(),
        };
        NoticeRules {
            kinds,
            failures_above: self.failures_above,
            quiet_for: self.quiet_for,
        }
    }

    /// Takes the secret of the environment, where it has one.
    pub(super) fn with_secret(self, environment: &BTreeMap<String, String>) -> Self {
        let secret = environment.get(NOTICES_SECRET).cloned();
        Self {
            secret: secret.map(SecretString::from),
            ..self
        }
    }

    /// Returns the secret that notices to an address are signed with: of the environment, or of the file.
    ///
    /// # Errors
    /// There is none, it cannot be read, others may have written it, or it is not one.
    pub fn signing_secret(&self) -> Result<SigningSecret, Error> {
        let (found, place) = match (&self.secret, &self.secret_file) {
            (Some(secret), _) => (
                SigningSecret::parse(secret.expose_secret()),
                NOTICES_SECRET.to_owned(),
            ),
            (None, Some(path)) => {
                let bytes = read_key(path).map_err(|error| match error {
                    Error::KeyFile { .. } => Error::NoticeSecret {
                        problem: format!("notices.secret_file: {error}"),
                    },
                    other => other,
                })?;
                let text = std::str::from_utf8(bytes.expose_secret()).ok();
                (
                    text.and_then(SigningSecret::parse),
                    path.display().to_string(),
                )
            }
            (None, None) => {
                return Err(Error::NoticeSecret {
                    problem: format!(
                        "notices.url has no secret to sign with: neither {NOTICES_SECRET} nor notices.secret_file is set"
                    ),
                });
            }
        };
        found.ok_or_else(|| Error::NoticeSecret {
            problem: format!("{place}: is not whsec_ and base64 of 24 to 64 bytes"),
        })
    }
}
