//! Where a batch is to go, as it was loaded or as a person ordered since: the newest evidence of it counts.

use std::ops::ControlFlow;

use serde_json::json;

use super::pinned::documents_there;
use crate::domain::{BatchId, BatchName, EvidenceId, Timestamp};
use crate::journal::codec::catalog::{account, known_batch, of_batch};
use crate::journal::codec::detail::parsed;
use crate::journal::codec::events::{DESTINED, event_numbers, is_heard, is_of_nothing};
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::chain::Evidence;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, Home, Journal};
use crate::ledger::Purpose;
use crate::ledger::pin::Destination;
use crate::lifecycle::Event;
use crate::store::tables::{batch, evidence};
use crate::store::{Read, Reads, Scan, Test, shape};

impl Journal {
    /// Returns where a batch is to go; `None` where no gateway was configured when it was loaded.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn destination(&self, batch: BatchName) -> Result<Option<Destination>, Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            destination(c, known_batch(c, &batch)?)
        })
        .await
    }

    /// Returns where a batch belongs, as far as that is known: where it was run, or else where it is to go.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn place(&self, batch: BatchName) -> Result<Option<Destination>, Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            place(c, known_batch(c, &batch)?)
        })
        .await
    }

    /// Makes sure that a batch is not to go to another gateway or account.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], [`Error::OtherDestination`].
    pub async fn is_meant_for(&self, batch: BatchName, home: Home) -> Result<(), Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            assert_meant(c, (known_batch(c, &batch)?, &batch), &home)
        })
        .await
    }
}

/// Returns where a batch is to go.
pub(in crate::journal) fn destination(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Option<Destination>, Error> {
    let of_batch = Scan::by(&evidence::about_batch).at(&DESTINED).at(&batch_id);
    let detail: Option<String> = c.value(&of_batch.descending(), evidence::detail)?;
    detail.map(|detail| read(&detail)).transpose()
}

shape! {
    /// Where a batch is to go, as it was recorded.
    struct Destined of evidence { evidence_id: EvidenceId, detail: Option<String> }
}

impl Destined {
    fn is_apart(&self) -> Result<bool, Error> {
        Ok(parsed(self.detail.as_deref())?["apart"] == true)
    }
}

fn read(detail: &str) -> Result<Destination, Error> {
    let detail = parsed(Some(detail))?;
    let text = |name: &str| match detail[name].as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(corrupt("an incomplete destination")),
    };
    Ok(Destination {
        gateway: text("gateway")?,
        user: text("user")?,
        profile: text("profile")?,
    })
}

/// Records where a new batch is to go. One that has a destination, or went somewhere already, keeps it.
pub(in crate::journal) fn begin(
    c: &WriteSession,
    batch_id: BatchId,
    to: &Destination,
    now: Timestamp,
) -> Result<(), Error> {
    let tied: Option<String> = of_batch(c, batch_id, batch::gateway)?;
    if tied.is_some() || destination(c, batch_id)?.is_some() {
        return Ok(());
    }
    record(c, batch_id, (to, None), false, now)
}

/// Records where a batch goes that begins to go somewhere: what nobody knew when it was loaded, or a user name of its profile that was
/// mended before anything of it was posted.
pub(super) fn taken(
    c: &WriteSession,
    batch_id: BatchId,
    home: &Home,
    now: Timestamp,
) -> Result<(), Error> {
    if Purpose::of_gateway(&home.gateway) == Purpose::Rehearsal {
        return Ok(());
    }
    let (meant, to) = (destination(c, batch_id)?, home.destination());
    let is_apart = match &meant {
        Some(meant) if meant.user == to.user && meant.gateway == to.gateway => return Ok(()),
        Some(meant) => !meant.is(&to),
        None => false,
    };
    record(c, batch_id, (&to, None), is_apart, now)
}

/// Records that a batch was moved by order, where it had a destination. `is_apart`: nothing has shown that the two places are one.
pub(super) fn moved(
    c: &WriteSession,
    batch_id: BatchId,
    (to, reason): (impl FnOnce(Destination) -> Destination, &str),
    is_apart: bool,
    now: Timestamp,
) -> Result<(), Error> {
    match destination(c, batch_id)? {
        Some(from) => record(c, batch_id, (&to(from), Some(reason)), is_apart, now),
        None => Ok(()),
    }
}

pub(super) fn record(
    c: &WriteSession,
    batch_id: BatchId,
    (to, reason): (&Destination, Option<&str>),
    is_apart: bool,
    now: Timestamp,
) -> Result<(), Error> {
    let detail = json!({
        "gateway": to.gateway,
        "user": to.user,
        "profile": to.profile,
        "reason": reason,
        "apart": is_apart,
    });
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (DESTINED, None, None),
        detail: Some(&detail.to_string()),
        ..Evidence::default()
    })
}

/// Returns the evidence of each time that a batch was sent to a place that nothing has shown to be the one before: what is said there
/// proves nothing about what had ended by then.
pub(in crate::journal) fn sent_elsewhere(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Vec<EvidenceId>, Error> {
    let of_batch = Scan::by(&evidence::about_batch).at(&DESTINED).at(&batch_id);
    let mut found = Vec::new();
    c.each(&of_batch, |row: Destined| {
        if row.is_apart()? {
            found.push(row.evidence_id);
        }
        Ok::<_, Error>(())
    })?;
    Ok(found)
}

/// Returns where a batch was run, or else where it is to go.
pub(in crate::journal) fn place(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Option<Destination>, Error> {
    let meant = destination(c, batch_id)?;
    let tied: Option<String> = of_batch(c, batch_id, batch::gateway)?;
    let user = account(c, batch_id)?;
    Ok(match (tied, user) {
        (Some(gateway), Some(user)) => Some(Destination {
            gateway,
            user,
            profile: meant.map(|meant| meant.profile).unwrap_or_default(),
        }),
        _ => meant,
    })
}

/// Refuses a batch that is to go to another gateway or account.
pub(super) fn assert_meant(
    c: &dyn Read,
    (batch_id, batch): (BatchId, &BatchName),
    home: &Home,
) -> Result<(), Error> {
    let stands = |meant: &Destination| is_meant(c, batch_id, meant, home);
    match meant_for(c, batch_id)? {
        Some(meant) if !planted!(journal::is_meant(stands(&meant)?)) => {
            Err(Error::OtherDestination {
                batch: batch.clone(),
                meant: Box::new(meant),
                configured: Box::new(home.destination()),
            })
        }
        _ => Ok(()),
    }
}

/// Returns where a batch is to go; where an earlier release loaded it, where it was run.
pub(super) fn meant_for(c: &dyn Read, batch_id: BatchId) -> Result<Option<Destination>, Error> {
    match destination(c, batch_id)? {
        Some(meant) => Ok(Some(meant)),
        None => place(c, batch_id),
    }
}

/// Returns whether a batch is to go there, as far as that is known.
pub(in crate::journal) fn is_destined(
    c: &dyn Read,
    batch_id: BatchId,
    home: &Home,
) -> Result<bool, Error> {
    let meant = meant_for(c, batch_id)?;
    Ok(meant.is_none_or(|meant| meant.is(&home.destination())))
}

/// Returns whether a batch goes there, or its user name was mended since.
pub(super) fn is_meant(
    c: &dyn Read,
    batch_id: BatchId,
    meant: &Destination,
    home: &Home,
) -> Result<bool, Error> {
    let configured = home.destination();
    if meant.gateway == configured.gateway && names(c, batch_id, meant, &configured)? {
        return Ok(true);
    }
    // Every row of evidence may have to be read: looked for only where it decides.
    Ok(meant.is_mended(&configured, true) && was_refused(c, batch_id)?)
}

/// Returns whether it is this account. Once a batch has gone somewhere, a key that was not shown then is another account's.
pub(super) fn names(
    c: &dyn Read,
    batch_id: BatchId,
    meant: &Destination,
    configured: &Destination,
) -> Result<bool, Error> {
    let on_record = account(c, batch_id)?;
    let is_same = |account: String| account == configured.user;
    Ok(meant.names(configured) && on_record.is_none_or(is_same))
}

/// Returns whether the gateway, since a batch has its destination, has said nothing to it but that it does not let the account in, and no
/// document of it is there.
fn was_refused(c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
    let (refused, _, _) = event_numbers(Event::Unauthorised);
    let destined = Scan::by(&evidence::about_batch).at(&DESTINED).at(&batch_id);
    let destined: Option<EvidenceId> = c.value(&destined.descending(), evidence::evidence_id)?;
    let destined = destined.unwrap_or(EvidenceId::NONE);
    let since = Scan::of(&evidence::TABLE)
        .after(&destined)
        .only(evidence::batch_id, Test::is(&batch_id))
        .descending();
    let mut found = false;
    c.each_row(&since, &[evidence::event], |row| {
        let event: i64 = row.get(0)?;
        let says_otherwise = is_heard(event) && !is_of_nothing(event);
        found = !says_otherwise && (found || event == refused);
        Ok::<_, Error>(match says_otherwise {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(found && documents_there(c, batch_id)? == 0)
}
