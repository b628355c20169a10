//! What `[approval]` says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Error;
use super::Settings;
use super::file::approval::signers;
use crate::domain::Currency;
use crate::ledger::approval::rule::Rule;

/// What `[approval]` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// So many people approve.
    pub required: u8,
    /// From where on, in minor units.
    pub above: BTreeMap<Currency, i64>,
    /// The file of those who may sign.
    pub allowed_signers: PathBuf,
    /// The key that this machine's user signs with.
    pub signing_key: Option<PathBuf>,
}

impl Settings {
    /// Returns the rule of approval, with the signers as their file has them now; `None`: none is configured.
    ///
    /// # Errors
    /// The file of signers is not there, not to be trusted, or broken, with the line.
    pub fn approval(&self) -> Result<Option<Rule>, Error> {
        let Some(approval) = &self.approval else {
            return Ok(None);
        };
        Ok(Some(Rule {
            required: approval.required,
            above: approval.above.clone(),
            signers: signers(&approval.allowed_signers, self.is_rehearsal)?,
        }))
    }

    /// Returns the key that is signed with, where nobody names one.
    #[must_use]
    pub fn signing_key(&self) -> Option<&Path> {
        self.approval.as_ref()?.signing_key.as_deref()
    }
}
