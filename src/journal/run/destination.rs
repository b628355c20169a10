//! Where a batch is to go, as it was loaded or as a person ordered since: the newest evidence of it counts.

use std::ops::ControlFlow;

use serde_json::{Value, json};

use crate::domain::{BatchId, BatchName, EvidenceId, Timestamp};
use crate::journal::codec::catalog::{account, known_batch, of_batch};
use crate::journal::codec::events::{DESTINED, event_numbers, is_heard};
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::chain::Evidence;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, Home, Journal};
use crate::ledger::pin::Destination;
use crate::lifecycle::Event;
use crate::store::tables::{batch, evidence};
use crate::store::{Read, Reads, Scan, Test};

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

fn read(detail: &str) -> Result<Destination, Error> {
    let detail: Value =
        serde_json::from_str(detail).map_err(|_| corrupt("an unreadable destination"))?;
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
    record(c, batch_id, (to, None), now)
}

/// Records that the user name of a profile was mended before anything of a batch was posted.
pub(super) fn mended(
    c: &WriteSession,
    batch_id: BatchId,
    account: &str,
    now: Timestamp,
) -> Result<(), Error> {
    match destination(c, batch_id)? {
        Some(meant) if !meant.names(account) => {
            let user = account.to_owned();
            record(c, batch_id, (&Destination { user, ..meant }, None), now)
        }
        _ => Ok(()),
    }
}

/// Records that a batch was moved by order, where it had a destination.
pub(super) fn moved(
    c: &WriteSession,
    batch_id: BatchId,
    (to, reason): (impl FnOnce(Destination) -> Destination, &str),
    now: Timestamp,
) -> Result<(), Error> {
    match destination(c, batch_id)? {
        Some(from) => record(c, batch_id, (&to(from), Some(reason)), now),
        None => Ok(()),
    }
}

pub(super) fn record(
    c: &WriteSession,
    batch_id: BatchId,
    (to, reason): (&Destination, Option<&str>),
    now: Timestamp,
) -> Result<(), Error> {
    let detail = json!({
        "gateway": to.gateway,
        "user": to.user,
        "profile": to.profile,
        "reason": reason,
    });
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (DESTINED, None, None),
        detail: Some(&detail.to_string()),
        ..Evidence::default()
    })
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
    match destination(c, batch_id)? {
        Some(meant) if !is_meant(c, batch_id, &meant, home)? => Err(Error::OtherDestination {
            batch: batch.clone(),
            meant: Box::new(meant),
            configured: Box::new(home.destination()),
        }),
        _ => Ok(()),
    }
}

/// Returns whether a batch goes there, or its user name was mended since.
pub(super) fn is_meant(
    c: &dyn Read,
    batch_id: BatchId,
    meant: &Destination,
    home: &Home,
) -> Result<bool, Error> {
    if meant.is(&home.gateway, &home.account) {
        return Ok(true);
    }
    // Every row of evidence may have to be read: looked for only where it decides.
    let could_be = meant.is_mended(&home.gateway, &home.profile, true);
    Ok(could_be && was_refused(c, batch_id)?)
}

/// Returns whether the last that the gateway has said to a batch, since it has its destination, is that it does not let the account in.
fn was_refused(c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
    let (refused, _, _) = event_numbers(Event::Unauthorised);
    let destined = Scan::by(&evidence::about_batch).at(&DESTINED).at(&batch_id);
    let destined: Option<EvidenceId> = c.value(&destined.descending(), evidence::evidence_id)?;
    let destined = destined.unwrap_or(EvidenceId::NONE);
    let since = Scan::of(&evidence::TABLE)
        .after(&destined)
        .only(evidence::batch_id, Test::is(&batch_id))
        .descending();
    let mut last = None;
    c.each_row(&since, &[evidence::event], |row| {
        let event: i64 = row.get(0)?;
        Ok::<_, Error>(match is_heard(event) {
            true => {
                last = Some(event);
                ControlFlow::Break(())
            }
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(last == Some(refused))
}
