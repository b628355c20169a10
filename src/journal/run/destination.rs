//! Where a batch is to go, as it was loaded or as a person ordered since: the newest evidence of it counts.

use serde_json::{Value, json};

use crate::domain::{BatchId, BatchName, Timestamp};
use crate::journal::codec::catalog::{known_batch, of_batch};
use crate::journal::codec::events::DESTINED;
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::chain::Evidence;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, Home, Journal};
use crate::ledger::pin::{Destination, user_of};
use crate::store::tables::{batch, evidence};
use crate::store::{Read, Reads, Scan};

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

    /// Makes sure that a batch was not loaded for another gateway or account.
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
            let user = user_of(account).to_owned();
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

fn record(
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

/// Refuses a batch that was loaded for another gateway or account.
pub(super) fn assert_meant(
    c: &dyn Read,
    (batch_id, batch): (BatchId, &BatchName),
    home: &Home,
) -> Result<(), Error> {
    match destination(c, batch_id)? {
        Some(meant) if !meant.is(&home.gateway, &home.account, &home.profile) => {
            Err(Error::OtherDestination {
                batch: batch.clone(),
                meant: Box::new(meant),
                gateway: home.gateway.clone(),
                account: home.account.clone(),
                profile: home.profile.clone(),
            })
        }
        _ => Ok(()),
    }
}
