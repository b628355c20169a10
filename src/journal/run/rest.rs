//! Since when nothing leaves: what a run notes at its end, so that the next one need not wait for the rate, of whichever
//! batch it is.

use crate::domain::{BatchId, BootTime};
use crate::journal::codec::values::corrupt;
use crate::journal::session::fence::assert_current;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, RunToken};
use crate::ledger::pace::Last;
use crate::store::tables::{batch, pace};
use crate::store::{Read, Reads, Scan, Test, Write, Writes, shape};

/// What leaves; each has a rate of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::journal) enum What {
    Posts = 0,
    Questions = 1,
}

shape! {
    /// Where a batch is posted.
    pub(super) struct PostedAt of batch { gateway: Option<String>, account: Option<String> }
}
shape! {
    /// Since when nothing has left; nothing: something may have.
    struct Rested of pace { boot: Option<String>, since: Option<i64> }
}
shape! {
    /// That something may have left.
    struct Disturbed of pace { gateway: String, account: String, what: i64, boot: Option<String>, since: Option<i64> }
}

/// The account of a gateway whose notes speak of runs of earlier releases, which knew of no accounts.
const NO_ACCOUNT: &str = "";

pub(super) fn posted_at(c: &dyn Read, batch_id: BatchId) -> Result<Option<PostedAt>, Error> {
    Ok(c.first(&Scan::of(&batch::TABLE).at(&batch_id))?)
}

/// Notes since when no post and no question has left.
pub(in crate::journal) fn rest(
    c: &WriteSession,
    token: RunToken,
    posts: BootTime,
    questions: BootTime,
) -> Result<(), Error> {
    assert_current(c, token)?;
    // Whatever ran before this run had ended when it began: its note speaks of that, too.
    let Some(PostedAt {
        gateway: Some(gateway),
        account,
    }) = posted_at(c, token.batch_id)?
    else {
        return Ok(());
    };
    c.remove(&Scan::of(&pace::TABLE).at(&gateway).at(&NO_ACCOUNT))?;
    let Some(account) = account else {
        return Ok(());
    };
    for (what, since) in [(What::Posts, posts), (What::Questions, questions)] {
        let (boot, millis) = since.parts();
        let what = what as i64;
        let own = Scan::of(&pace::TABLE).at(&gateway).at(&account).at(&what);
        c.change(
            &own,
            &Rested {
                boot: Some(format!("{boot:032x}")),
                since: Some(i64::try_from(millis).unwrap_or(i64::MAX)),
            },
        )?;
    }
    Ok(())
}

/// Forgets it: from the commit on, something may leave.
pub(in crate::journal) fn disturb(
    c: &dyn Write,
    batch_id: BatchId,
    what: What,
) -> Result<(), Error> {
    let Some(PostedAt { gateway, account }) = posted_at(c, batch_id)? else {
        return Ok(());
    };
    let (Some(gateway), Some(account)) = (gateway, account) else {
        return Err(corrupt("a batch that is run without an account"));
    };
    let what = what as i64;
    let own = Scan::of(&pace::TABLE).at(&gateway).at(&account).at(&what);
    // It stands so from the first departure of a run on: that is not written again with every block.
    if c.any(&own.only(pace::boot, Test::Absent))? {
        return Ok(());
    }
    c.put(&Disturbed {
        gateway,
        account,
        what,
        boot: None,
        since: None,
    })?;
    Ok(())
}

/// Returns what is known of the last departure to the account of a batch.
pub(in crate::journal) fn last(c: &dyn Read, batch_id: BatchId, what: What) -> Result<Last, Error> {
    let mut last = Last::Never;
    let Some(PostedAt {
        gateway: Some(gateway),
        account,
    }) = posted_at(c, batch_id)?
    else {
        return Ok(last);
    };
    let what = what as i64;
    let own = account.filter(|account| account != NO_ACCOUNT);
    for account in own.into_iter().chain([NO_ACCOUNT.to_owned()]) {
        let noted = Scan::of(&pace::TABLE).at(&gateway).at(&account).at(&what);
        let Some(Rested { boot, since }) = c.first(&noted)? else {
            continue;
        };
        // What cannot be read is no proof.
        let noted = boot.zip(since).and_then(|(boot, since)| {
            let boot = u128::from_str_radix(&boot, 16).ok()?;
            Some(BootTime::from_parts(boot, u64::try_from(since).ok()?))
        });
        last = last.and(noted.map_or(Last::Unknown, Last::Since));
    }
    Ok(last)
}
