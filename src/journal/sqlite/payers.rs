//! From which account of which gateway an earlier journal may have posted a batch: what is asked elsewhere proves nothing.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::json;

use super::Journal;
use super::chain::{Chained, Evidence};
use super::pin::is_bound;
use super::recovery::open_recovery;
use super::row::{PAYER_CONFIRMED, RELEASED};
use super::run::known_batch;
use super::turns::Manner;
use crate::domain::{BatchName, Timestamp};
use crate::journal::{Error, Home};
use crate::ledger::Purpose;
use crate::ledger::payer::{Asking, Payer, Posted, judge, key, lost};
use crate::ledger::recovery::Told;

/// Under this name stands who posted all batches that are not named.
const OTHERS: &str = "";

impl Journal {
    /// Returns why the answers of the gateway would prove nothing about a batch, if it were asked from there; `None`: they do.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn payer_unknown(
        &self,
        batch: BatchName,
        home: Home,
    ) -> Result<Option<Error>, Error> {
        self.ask(Manner::Alone, move |c| {
            let batch_id = known_batch(c, &batch)?;
            match assert_known(c, batch_id, &batch, &home) {
                Err(error @ Error::PayerUnknown { .. }) => Ok(Some(error)),
                judged => judged.map(|()| None),
            }
        })
        .await
    }

    /// Takes a person's word that a batch was posted from this account of this gateway, if from anywhere.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn confirm_payer(
        &self,
        batch: BatchName,
        home: Home,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.ask(Manner::Alone, move |c| confirm(c, &batch, &home, now))
            .await
    }
}

fn confirm(c: &Chained, batch: &BatchName, home: &Home, now: Timestamp) -> Result<(), Error> {
    let batch_id = known_batch(c, batch)?;
    c.mark(batch_id);
    let payer = Payer::of(&home.gateway, &home.account);
    put(c, &key(batch.as_str()), &payer, true)?;
    c.act(
        batch_id,
        now,
        "asked-as",
        home.account.as_str().into(),
        None,
    )?;
    let detail = json!({"gateway": home.gateway, "account": home.account}).to_string();
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (PAYER_CONFIRMED, None, None),
        detail: Some(&detail),
        ..Evidence::default()
    })
}

/// Keeps who posted, as the place of a journal told it when it was noticed that the journal may have missed something.
// What a person said before was about another time.
pub(super) fn told(c: &Connection, told: &Told) -> Result<(), Error> {
    c.execute("delete from payer", [])?;
    for (batch, payer) in &told.batches {
        put(c, batch, payer, false)?;
    }
    match &told.others {
        Some(Posted::By(payer)) => put(c, OTHERS, payer, false),
        Some(Posted::ByNobody) => put(c, OTHERS, &nobody(), false),
        None => Ok(()),
    }
}

/// What stands for nobody.
fn nobody() -> Payer {
    Payer::kept(String::new(), String::new())
}

fn put(c: &Connection, batch: &str, payer: &Payer, by_person: bool) -> Result<(), Error> {
    c.execute(
        "insert or replace into payer (batch, gateway, account, by_person) values (?1, ?2, ?3, ?4)",
        params![batch, payer.gateway(), payer.account(), by_person],
    )?;
    Ok(())
}

/// Returns the accounts that the batches of a journal were pinned to.
pub(super) fn on_record(c: &Connection) -> Result<Vec<Payer>, Error> {
    let mut statement = c.prepare(
        "select distinct gateway, coalesce(account, '') from batch
         where gateway is not null and coalesce(rehearsal, 0) = 0 and gateway not like 'sandbox %'",
    )?;
    let found = statement.query_map([], |row| {
        let (gateway, account): (String, String) = (row.get(0)?, row.get(1)?);
        Ok(Payer::of(&gateway, &account))
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Refuses to ask about a batch that an earlier journal may have posted, where nobody knows that it did so from there.
pub(super) fn assert_known(
    c: &Connection,
    batch_id: i64,
    batch: &BatchName,
    home: &Home,
) -> Result<(), Error> {
    if Purpose::of_gateway(&home.gateway) == Purpose::Rehearsal {
        return Ok(());
    }
    let presumed = is_presumed(c, batch_id)?;
    let told = match presumed {
        true => who_posted(c, batch)?,
        false => None,
    };
    let configured = Payer::of(&home.gateway, &home.account);
    // Every life may have to be read: looked for only where it decides.
    let is_open = judge(presumed, false, told.as_ref(), &configured) != Asking::Proves;
    let bound = is_open && is_bound(c, batch_id)?;
    match judge(presumed, bound, told.as_ref(), &configured) {
        Asking::Proves => Ok(()),
        Asking::Unknown | Asking::Elsewhere => Err(Error::PayerUnknown {
            batch: batch.clone(),
            gateway: home.gateway.clone(),
            account: home.account.clone(),
            told: match told {
                Some(Posted::By(told)) => {
                    Some(format!("as {} at {}", told.account(), told.gateway()))
                }
                Some(Posted::ByNobody) | None => None,
            },
        }),
    }
}

fn who_posted(c: &Connection, batch: &BatchName) -> Result<Option<Posted>, Error> {
    let found: Option<(String, String)> = c
        .prepare_cached("select gateway, account from payer where batch in (?1, ?2) order by batch desc limit 1")?
        .query_row([key(batch.as_str()).as_str(), OTHERS], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let kept = found.map(|(gateway, account)| Payer::kept(gateway, account));
    Ok(kept.map(|payer| match payer == nobody() {
        true => Posted::ByNobody,
        false => Posted::By(payer),
    }))
}

/// Refuses to pay anew what failed, while a batch that was posted in the place of this journal is not loaded again: it may have
/// paid it.
pub(super) fn assert_none_lost(c: &Connection) -> Result<(), Error> {
    if open_recovery(c)?.is_none() {
        return Ok(());
    }
    let told: Vec<String> = c
        .prepare("select batch from payer order by batch")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let known = c
        .prepare("select name from batch")?
        .query_map([], |row| row.get::<_, String>(0))?
        .map(|name| name.map(|name| key(&name)))
        .collect::<Result<_, _>>()?;
    let batches = lost(true, told, &known);
    match batches.is_empty() {
        true => Ok(()),
        false => Err(Error::BatchesLost { batches }),
    }
}

/// Returns whether an earlier journal may have posted something of a batch, and no person's word has released it.
fn is_presumed(c: &Connection, batch_id: i64) -> Result<bool, Error> {
    Ok(c.prepare_cached(
        "select exists (select 1 from evidence p indexed by presumed
             where p.batch_id = ?1 and p.event = 21 and not exists (
                 select 1 from evidence r indexed by evidence_by_payment
                 where r.seq = p.seq and r.event = ?2 and r.evidence_id > p.evidence_id))",
    )?
    .query_row([batch_id, RELEASED], |row| row.get(0))?)
}
