//! From which account of which gateway a payment was posted last: its batch may have been moved since.

use crate::domain::{EvidenceId, PaymentId};
use crate::journal::Error;
use crate::journal::codec::catalog::of_batch;
use crate::journal::codec::detail::parsed;
use crate::journal::codec::events::{ACCOUNT_MOVED, ACCOUNT_TAKEN, GATEWAY_MOVED};
use crate::journal::payments::posted_elsewhere::{last_post, was_posted_before};
use crate::journal::read::reader::Snapshot;
use crate::lifecycle::State;
use crate::store::tables::{batch, evidence, life};
use crate::store::{Reads, Scan, Test, shape};

/// An account at a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedFrom {
    /// The address of the gateway, or the sandbox.
    pub gateway: String,
    /// The user name.
    pub account: String,
}

impl Snapshot<'_> {
    /// Returns where a payment was posted last; `None`: nowhere, or no journal of this release has recorded it.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn posted_from(&self, seq: PaymentId) -> Result<Option<PostedFrom>, Error> {
        let Some(posted) = last_post(self.c, self.batch_id, seq)? else {
            return Ok(None);
        };
        let (mut account, mut gateway) = (None, None);
        for kind in [ACCOUNT_TAKEN, ACCOUNT_MOVED] {
            for (at, detail) in self.details(kind)? {
                if at < posted && account.as_ref().is_none_or(|(known, _)| *known < at) {
                    account = Some((at, text(&detail, "account")?));
                }
            }
        }
        // What it was moved from says where it was.
        for (at, detail) in self.details(GATEWAY_MOVED)? {
            if at > posted && gateway.is_none() {
                gateway = text(&detail, "before")?;
            }
        }
        let gateway = match gateway {
            None => of_batch(self.c, self.batch_id, batch::gateway)?,
            known => known,
        };
        let account = account.and_then(|(_, account)| account);
        Ok(account
            .zip(gateway)
            .map(|(account, gateway)| PostedFrom { gateway, account }))
    }

    /// Returns how many payments have no end yet that were posted before the batch was moved, or may have been, as far as they are counted.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn left_behind(&self) -> Result<u64, Error> {
        const COUNTED: u64 = 1_000;
        let in_doubt = Scan::of(&life::TABLE)
            .only(life::batch_id, Test::is(&self.batch_id))
            .only(life::state, Test::is(&State::InDoubt));
        let mut count = 0;
        for seq in self.c.values::<PaymentId>(&in_doubt, life::seq)? {
            count += u64::from(was_posted_before(self.c, self.batch_id, seq)?);
            if count == COUNTED {
                break;
            }
        }
        Ok(count)
    }

    /// Returns what evidence of a kind says of the batch, the oldest first.
    fn details(&self, kind: i64) -> Result<Vec<(EvidenceId, Option<String>)>, Error> {
        let of_kind = Scan::by(&evidence::about_batch)
            .at(&kind)
            .at(&self.batch_id);
        let said: Vec<Said> = self.c.list(&of_kind)?;
        Ok(said
            .into_iter()
            .map(|said| (said.evidence_id, said.detail))
            .collect())
    }
}

shape! {
    struct Said of evidence { evidence_id: EvidenceId, detail: Option<String> }
}

fn text(detail: &Option<String>, name: &str) -> Result<Option<String>, Error> {
    Ok(parsed(detail.as_deref())?[name].as_str().map(str::to_owned))
}
