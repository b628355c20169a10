//! The rule of approval, as configuration and file of signers have it.

use std::path::Path;

use super::Error;
use super::Settings;
use super::file::approval::signers;
use crate::ledger::approval::rule::Rule;

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
            orders: approval.orders.clone(),
        }))
    }

    /// The same for what is loaded by it: there are enough people to sign.
    ///
    /// # Errors
    /// As [`Settings::approval`]; the file names too few.
    pub fn approval_of_load(&self) -> Result<Option<Rule>, Error> {
        let rule = self.approval()?;
        if let (Some(rule), Some(approval)) = (&rule, &self.approval) {
            let (people, wanted) = (rule.signers.people(), usize::from(rule.required) + 1);
            if people < wanted {
                return Err(Error::Signers {
                    path: approval.allowed_signers.clone(),
                    line: 0,
                    what: format!(
                        "it names {people} of the {wanted} people that approval.required = {} takes: whoever loads, and those who approve",
                        rule.required
                    ),
                });
            }
        }
        Ok(rule)
    }

    /// Returns the key that is signed with, where nobody names one.
    #[must_use]
    pub fn signing_key(&self) -> Option<&Path> {
        self.approval.as_ref()?.signing_key.as_deref()
    }
}
