//! Where a batch belongs, by its evidence: what was edited in the file is not believed.

use serde_json::Value;

use crate::domain::{BatchId, BatchName, EvidenceId};
use crate::journal::Error;
use crate::journal::codec::catalog::{account, loaded_for, of_batch, reading, rehearsal};
use crate::journal::codec::detail::parsed;
use crate::journal::codec::events::{
    ACCOUNT_MOVED, ACCOUNT_TAKEN, FILE_LOADED, GATEWAY_MOVED, PINNED, READING_ACCEPTED,
    READING_TAKEN,
};
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::digests::pin_digest;
use crate::journal::evidence::encoding::Digest;
use crate::ledger::pin::{Belongs, altered};
use crate::store::tables::{batch, evidence};
use crate::store::{Read, Reads, Scan, shape};

/// Refuses a batch whose purpose, gateway, account or way of reading is not what its evidence says.
///
/// # Errors
/// [`Error::Altered`].
pub(in crate::journal) fn assert_as_recorded(
    c: &dyn Read,
    batch_id: BatchId,
    batch: &BatchName,
) -> Result<(), Error> {
    match altered(&stands(c, batch_id)?, &recorded(c, batch_id)?) {
        None => Ok(()),
        Some(what) => Err(Error::Altered {
            batch: batch.clone(),
            what: what.into(),
        }),
    }
}

/// Refuses a journal that has a rehearsal which was none when it was loaded: rehearsals count for nothing where rows are compared.
///
/// # Errors
/// [`Error::AlteredRow`].
pub(in crate::journal) fn assert_rehearsals(c: &dyn Read) -> Result<(), Error> {
    c.each(&Scan::of(&batch::TABLE), |row: LoadedFor| {
        if !row.is_rehearsal() {
            return Ok(());
        }
        match altered(&stands(c, row.batch_id)?, &recorded(c, row.batch_id)?) {
            None => Ok(()),
            Some(what) => Err(Error::AlteredRow {
                batch: BatchName::parse(&row.name).map_err(|_| corrupt("an invalid batch name"))?,
                what: what.into(),
            }),
        }
    })
}

shape! {
    /// What tells whether a batch is a rehearsal.
    struct LoadedFor of batch { batch_id: BatchId, name: String, rehearsal: Option<i64>, gateway: Option<String> }
}

impl LoadedFor {
    fn is_rehearsal(&self) -> bool {
        const SANDBOX: &str = "sandbox ";
        let is_sandbox = |gateway: &str| {
            let start = gateway.get(..SANDBOX.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(SANDBOX))
        };
        match self.rehearsal {
            Some(rehearsal) => rehearsal == 1,
            None => self.gateway.as_deref().is_some_and(is_sandbox),
        }
    }
}

fn stands(c: &dyn Read, batch_id: BatchId) -> Result<Belongs, Error> {
    let gateway: Option<String> = of_batch(c, batch_id, batch::gateway)?;
    Ok(Belongs {
        rehearsal: rehearsal(loaded_for(c, batch_id)?),
        gateway: match gateway.is_some() {
            true => pin_digest(c, batch_id)?,
            false => None,
        },
        account: account(c, batch_id)?,
        reading: reading(c, batch_id)?,
    })
}

fn recorded(c: &dyn Read, batch_id: BatchId) -> Result<Belongs, Error> {
    let mut recorded = Belongs::default();
    let loads = Scan::by(&evidence::about_batch)
        .at(&FILE_LOADED)
        .at(&batch_id);
    c.each(&loads, |load: Said| {
        recorded.rehearsal = match &load.detail()?["rehearsal"] {
            Value::Null => recorded.rehearsal,
            Value::Bool(rehearsal) => Some(*rehearsal),
            _ => return Err(corrupt("an unreadable purpose of a load")),
        };
        Ok(())
    })?;
    let pinned = newest(c, batch_id, &[PINNED, GATEWAY_MOVED])?;
    recorded.gateway = pinned.and_then(|pinned| pinned.digest);
    let account = newest(c, batch_id, &[ACCOUNT_TAKEN, ACCOUNT_MOVED])?;
    recorded.account = text(account.as_ref(), "account")?;
    let reading = newest(c, batch_id, &[READING_TAKEN, READING_ACCEPTED])?;
    recorded.reading = text(reading.as_ref(), "reading")?;
    Ok(recorded)
}

shape! {
    /// What evidence says of where a batch belongs.
    struct Said of evidence { evidence_id: EvidenceId, digest: Option<Digest>, detail: Option<String> }
}

impl Said {
    fn detail(&self) -> Result<Value, Error> {
        parsed(self.detail.as_deref())
    }
}

/// Returns the newest evidence of these kinds.
fn newest(c: &dyn Read, batch_id: BatchId, kinds: &[i64]) -> Result<Option<Said>, Error> {
    let mut newest: Option<Said> = None;
    for kind in kinds {
        let of_kind = Scan::by(&evidence::about_batch).at(kind).at(&batch_id);
        let found: Option<Said> = c.first(&of_kind.descending().limit(1))?;
        newest = [newest, found]
            .into_iter()
            .flatten()
            .max_by_key(|said| said.evidence_id);
    }
    Ok(newest)
}

/// Returns a text of a detail, where it has one.
fn text(said: Option<&Said>, name: &str) -> Result<Option<String>, Error> {
    let detail = said.map(Said::detail).transpose()?;
    match detail.as_ref().map(|detail| &detail[name]) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(corrupt(format!("a batch whose {name} is not text"))),
    }
}
