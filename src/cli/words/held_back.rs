//! What a payment that is ready waits for, where no time ends it: signatures, a list, a ceiling, a service that is paused, or what is
//! under way.

use super::approvals;
use super::limits;
use crate::cli::Error;
use crate::cli::commands::status;
use crate::cli::session::{Commands, Session};
use crate::domain::{ServiceCode, Timestamp};
use crate::journal::{Approvals, PaymentRecord, Snapshot, Standing};
use crate::ledger::Purpose;
use crate::ledger::confirmation::Bound;
use crate::ledger::limits::{Ceiling, Reason};

/// What keeps the payments of one batch.
pub(in crate::cli) struct HeldBack<'a> {
    snapshot: &'a Snapshot<'a>,
    commands: Commands<'a>,
    standing: &'a Standing,
    /// Where the batch stands with its signatures, or why that cannot be read.
    approvals: Result<Approvals, String>,
    /// The services that would wait until less is under way, and how that is said.
    exposed: Option<(Vec<ServiceCode>, String)>,
}

/// A limit that keeps one payment, with its ceiling where it has one.
pub(in crate::cli) struct Limit {
    reason: Reason,
    until: Timestamp,
    ceiling: Option<Ceiling>,
}

impl Limit {
    /// Returns the limit, and when it is looked at again.
    pub(in crate::cli) fn waits(self) -> ((Reason, Timestamp), Option<Ceiling>) {
        ((self.reason, self.until), self.ceiling)
    }

    /// Returns whether it passes with time alone.
    pub(in crate::cli) fn passes(&self) -> bool {
        self.reason.passes()
    }
}

impl<'a> HeldBack<'a> {
    /// Looks at a batch.
    pub(in crate::cli) fn of(
        session: &Session,
        snapshot: &'a Snapshot<'a>,
        commands: Commands<'a>,
        standing: &'a Standing,
    ) -> Result<Self, Error> {
        let is_rehearsal = standing.purpose == Purpose::Rehearsal;
        let settings = session.settings(is_rehearsal, Vec::new()).ok();
        let rule = settings
            .as_ref()
            .and_then(|settings| settings.approval().ok());
        let approvals = snapshot.approvals(rule.flatten());
        Ok(Self {
            snapshot,
            commands,
            standing,
            approvals: approvals.map_err(|error| error.to_string()),
            exposed: limits::exposed((snapshot, commands), standing, settings.as_ref())?,
        })
    }

    /// Returns the limit that kept a payment from leaving, as the last run found.
    pub(in crate::cli) fn limit(&self, record: &PaymentRecord) -> Result<Option<Limit>, Error> {
        let Some((reason, until)) = self.snapshot.limited_by(record.seq)? else {
            return Ok(None);
        };
        let row = &record.payment.instruction;
        let limits = self.snapshot.limits_of_last_run()?;
        let ceiling =
            limits.and_then(|limits| limits.ceiling(reason, &row.service, row.money.currency));
        Ok(Some(Limit {
            reason,
            until,
            ceiling,
        }))
    }

    /// Says what a payment that is ready waits for, each with what to do; nothing where a run sends it.
    pub(in crate::cli) fn texts(&self, record: &PaymentRecord) -> Result<Vec<String>, Error> {
        let mut texts = Vec::new();
        match &self.approvals {
            Err(error) => texts.push(format!("its signatures cannot be read: {error}")),
            Ok(found) if found.waits() => {
                let bound = found.bound.unwrap_or(Bound::NOTHING);
                if !self.snapshot.is_covered(record.seq, bound)? {
                    let (why, next) = approvals::missing_and_why(self.commands, found);
                    texts.push(format!("{why}; {next}"));
                }
            }
            Ok(_) => {}
        }
        if let Some(limit) = self.limit(record)?.filter(|limit| !limit.passes()) {
            texts.push(limits::kept_text(
                limit.reason,
                limit.ceiling,
                self.commands,
                record.payment.id,
            ));
        }
        let service = &record.payment.instruction.service;
        let batch = self.commands.batch;
        if let Some(lane) = self
            .standing
            .held
            .iter()
            .find(|lane| lane.service == *service)
        {
            texts.push(format!(
                "{service} is paused {}; when that is solved: disburse resume-lane {batch} {service}, then {}",
                status::held_for(lane.held_for),
                self.commands.run()
            ));
        }
        if let Some((services, text)) = &self.exposed
            && texts.is_empty()
            && services.contains(service)
        {
            texts.push(text.clone());
        }
        Ok(texts)
    }
}
