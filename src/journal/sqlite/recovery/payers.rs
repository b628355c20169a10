//! From which account of which gateway an earlier journal may have posted a batch: what is asked elsewhere proves nothing.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::json;

use super::lost_batches::{batches_lost, loads, told_batches};
use super::noticed::open_recovery;
use super::on_chain;
use super::presume::ask_anew;
use crate::domain::{BatchId, BatchName, Timestamp};
use crate::journal::sqlite::Journal;
use crate::journal::sqlite::Reader;
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::events::{PAYER_CONFIRMED, RELEASED};
use crate::journal::sqlite::evidence::chain::Evidence;
use crate::journal::sqlite::run::pinned::is_bound;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{Error, Home};
use crate::ledger::Purpose;
use crate::ledger::payer::{
    AsLoaded, Asking, Back, Lost, Payer, Posted, Teller, Word, back, judge, judge_word, key,
};
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
        self.ask(CommitMode::Alone, move |c| {
            let batch_id = known_batch(c, &batch)?;
            match assert_known(c, batch_id, &batch, &home) {
                Err(error @ (Error::PayerUnknown { .. } | Error::PayerElsewhere { .. })) => {
                    Ok(Some(error))
                }
                judged => judged.map(|()| None),
            }
        })
        .await
    }

    /// Returns the batches that were posted in the place of this journal and that it does not have.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn batches_lost(&self) -> Result<Lost, Error> {
        self.ask(CommitMode::Shared, |c| batches_lost(c)).await
    }

    /// Returns whether a batch that is loaded was posted in the place of this journal before.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn comes_back(&self, batch: BatchName) -> Result<Back, Error> {
        self.ask(CommitMode::Shared, move |c| {
            let recovering = open_recovery(c)?.is_some();
            Ok(back(recovering, &told_batches(c)?, batch.as_str()))
        })
        .await
    }

    /// Takes a person's word that a batch was posted from this account of this gateway, if from anywhere.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`]; [`Error::PayerElsewhere`] where the place of the journal says otherwise.
    pub async fn confirm_payer(
        &self,
        batch: BatchName,
        home: Home,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.ask(CommitMode::Alone, move |c| confirm(c, &batch, &home, now))
            .await
    }
}

fn confirm(c: &WriteSession, batch: &BatchName, home: &Home, now: Timestamp) -> Result<(), Error> {
    let batch_id = known_batch(c, batch)?;
    let payer = Payer::of(&home.gateway, &home.account);
    let told = who_posted(c, batch)?;
    let told = told.as_ref().map(|(posted, teller)| (posted, *teller));
    match judge_word(told, &payer) {
        Word::Taken => {}
        Word::Corrects => drop(ask_anew(c, batch_id, now)?),
        Word::Refused => return Err(unknown(batch, home, told)),
    }
    c.mark(batch_id);
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
    })?;
    on_chain::tell_of_payer(c, now)
}

/// Keeps who posted, as the place of a journal told it when it was noticed that the journal may have missed something.
// What a person said before was about another time.
pub(in crate::journal::sqlite) fn told(c: &Connection, told: &Told) -> Result<(), Error> {
    c.execute("delete from payer", [])?;
    for (batch, payer) in &told.batches {
        put(c, batch, payer, false)?;
        if let Some(loaded) = told.loaded.get(batch) {
            let (payments, identifiers) = loaded.identifiers.to_stored();
            c.execute(
                "update payer set payments = ?2, identifiers = ?3, originator = ?4 where batch = ?1",
                params![batch, payments, identifiers, loaded.originator],
            )?;
        }
    }
    for batch in &told.unnamed {
        put(c, batch, &nobody(), false)?;
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
        "insert into payer (batch, gateway, account, by_person) values (?1, ?2, ?3, ?4)
         on conflict do update set gateway = ?2, account = ?3, by_person = ?4",
        params![batch, payer.gateway(), payer.account(), by_person],
    )?;
    Ok(())
}

/// Returns the accounts that the batches of a journal were pinned to.
pub(in crate::journal::sqlite) fn on_record(c: &Connection) -> Result<Vec<Payer>, Error> {
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
pub(in crate::journal::sqlite) fn assert_known(
    c: &Connection,
    batch_id: BatchId,
    batch: &BatchName,
    home: &Home,
) -> Result<(), Error> {
    if Purpose::of_gateway(&home.gateway) == Purpose::Rehearsal {
        return Ok(());
    }
    let presumed = is_presumed(c, batch_id)?;
    let found = match presumed {
        true => who_posted(c, batch)?,
        false => None,
    };
    let told = found.as_ref().map(|(posted, _)| posted);
    let configured = Payer::of(&home.gateway, &home.account);
    // Every life may have to be read: looked for only where it decides.
    let is_open = judge(presumed, false, told, &configured) != Asking::Proves;
    let bound = is_open && is_bound(c, batch_id)?;
    match judge(presumed, bound, told, &configured) {
        Asking::Proves => Ok(()),
        Asking::Unknown | Asking::Elsewhere => Err(unknown(
            batch,
            home,
            found.as_ref().map(|(posted, teller)| (posted, *teller)),
        )),
    }
}

/// Says why the gateway is not asked about a batch from there.
fn unknown(batch: &BatchName, home: &Home, told: Option<(&Posted, Teller)>) -> Error {
    let (batch, gateway, account) = (batch.clone(), home.gateway.clone(), home.account.clone());
    match told {
        Some((Posted::By(told), Teller::Place)) => Error::PayerElsewhere {
            batch,
            gateway,
            account,
            told_gateway: told.gateway().to_owned(),
            told_account: told.account().to_owned(),
        },
        Some((Posted::By(told), Teller::Person)) => Error::PayerUnknown {
            batch,
            gateway,
            account,
            told: Some(format!("as {} at {}", told.account(), told.gateway())),
        },
        Some((Posted::ByNobody, _)) | None => Error::PayerUnknown {
            batch,
            gateway,
            account,
            told: None,
        },
    }
}

fn who_posted(c: &Connection, batch: &BatchName) -> Result<Option<(Posted, Teller)>, Error> {
    let found: Option<(String, String, bool)> = c
        .prepare_cached(
            "select gateway, account, by_person from payer where batch in (?1, ?2) order by batch desc limit 1",
        )?
        .query_row([key(batch.as_str()).as_str(), OTHERS], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    Ok(found.map(|(gateway, account, by_person)| {
        let teller = match by_person {
            true => Teller::Person,
            false => Teller::Place,
        };
        let payer = Payer::kept(gateway, account);
        match payer == nobody() {
            true => (Posted::ByNobody, teller),
            false => (Posted::By(payer), teller),
        }
    }))
}

/// Refuses to pay anew what failed, while a batch that was posted in the place of this journal is not loaded again: it may have
/// paid it.
pub(in crate::journal::sqlite) fn assert_none_lost(c: &Connection) -> Result<(), Error> {
    let lost = batches_lost(c)?;
    match lost.is_none() {
        true => Ok(()),
        false => Err(Error::BatchesLost { lost }),
    }
}

impl Reader {
    /// Returns the batches that were posted in the place of this journal and that it does not have.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn batches_lost(&self) -> Result<Lost, Error> {
        batches_lost(&self.connection)
    }
}

/// Lets the mark say who posts a batch, and as what it was loaded.
// One that has other identifiers than those that were posted posts nothing: what the mark knows of it stays.
pub(in crate::journal::sqlite) fn mark_payer(
    c: &WriteSession,
    batch: &BatchName,
    payer: &Payer,
) -> Result<(), Error> {
    let name = key(batch.as_str());
    let lost = batches_lost(c)?;
    if lost.unlike.iter().any(|unlike| unlike.batch == name) {
        return Ok(());
    }
    let (batch_id, originator): (BatchId, String) = c.query_row(
        "select batch_id, originator from batch where name = ?1",
        [batch.as_str()],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let all = loads(c, batch_id)?.into_iter();
    let all = all.reduce(|all, load| Some(all?.and(load?))).flatten();
    let loaded = all.map(|identifiers| AsLoaded {
        identifiers,
        originator: Some(originator),
    });
    c.mark_payer(batch.as_str(), payer, loaded);
    Ok(())
}

/// Returns whether an earlier journal may have posted something of a batch, and no person's word has released it.
fn is_presumed(c: &Connection, batch_id: BatchId) -> Result<bool, Error> {
    Ok(c.prepare_cached(
        "select exists (select 1 from evidence p indexed by presumed
             where p.batch_id = ?1 and p.event = 21 and not exists (
                 select 1 from evidence r indexed by evidence_by_payment
                 where r.seq = p.seq and r.event = ?2 and r.evidence_id > p.evidence_id))",
    )?
    .query_row((batch_id, RELEASED), |row| row.get(0))?)
}
