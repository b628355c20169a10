//! From which account of which gateway an earlier journal may have posted a batch: what is asked elsewhere proves nothing.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use serde_json::json;

use super::lost_batches::{batches_lost, loads, told_batches, told_loaded};
use super::noticed::{open_ones, open_recovery};
use super::on_chain;
use super::presume::ask_anew;
use super::until_done::is_rehearsal;
use crate::domain::{BatchId, BatchName, EvidenceId, PaymentId, Timestamp};
use crate::journal::Journal;
use crate::journal::Reader;
use crate::journal::codec::catalog::known_batch;
use crate::journal::codec::events::{PAYER_CONFIRMED, RELEASED};
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::chain::Evidence;
use crate::journal::run::destination::is_destined;
use crate::journal::run::pinned::is_bound;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, Home};
use crate::ledger::Purpose;
use crate::ledger::payer::{
    AsLoaded, Asking, Back, Lost, Payer, Posted, Teller, Word, back, judge, judge_word, key,
};
use crate::ledger::recovery::{Cause, Told};
use crate::store::tables::{batch, evidence, payer, recovery};
use crate::store::{Read, Reads, Scan, Test, Write, Writes, shape};

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
        self.ask_again(CommitMode::Alone, move |c| {
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

    /// Returns the gateways that any batch of the journal was posted to.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn gateways_on_record(&self) -> Result<Vec<String>, Error> {
        self.ask_again(CommitMode::Shared, |c| {
            let payers = on_record(&**c)?.into_iter();
            Ok(payers.map(|payer| payer.gateway().to_owned()).collect())
        })
        .await
    }

    /// Returns the batches that were posted in the place of this journal and that it does not have.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn batches_lost(&self) -> Result<Lost, Error> {
        self.ask_again(CommitMode::Shared, |c| batches_lost(c))
            .await
    }

    /// Returns whether a batch that is loaded was posted in the place of this journal before.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn comes_back(&self, batch: BatchName) -> Result<Back, Error> {
        self.ask_again(CommitMode::Shared, move |c| {
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
        self.ask_again(CommitMode::Alone, move |c| confirm(c, &batch, &home, now))
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
    // The place may tell the same: that stays its word, which what other places tell is added to.
    let name = key(batch.as_str());
    let by_the_place = Scan::of(&payer::TABLE)
        .at(&name)
        .only(payer::by_person, Test::is(&false));
    let told: Option<ToldBy> = c.first(&by_the_place)?;
    if told.is_none_or(|told| Payer::kept(told.gateway, told.account) != payer) {
        put(c, &name, &payer, true)?;
    }
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

shape! {
    /// Who posted a batch, and whether a person says so.
    struct ToldBy of payer { gateway: String, account: String, by_person: bool }
}
shape! {
    /// The same with the batch.
    struct Kept of payer { batch: String, gateway: String, account: String, by_person: bool }
}
shape! {
    /// The batch as it was posted.
    struct Loaded of payer { payments: i64, identifiers: i64, originator: Option<String> }
}
shape! {
    /// The account that a batch was pinned to.
    struct Pinned of batch { gateway: String, account: Option<String>, rehearsal: Option<bool> }
}
shape! {
    /// A batch by its number, and part of its identifiers.
    struct Own of batch { batch_id: BatchId, originator: String }
}
shape! {
    /// That a payment was presumed posted.
    struct Presumption of evidence { evidence_id: EvidenceId, seq: PaymentId }
}

/// Returns what was told of who posted when it was noticed that the journal may have missed something, while that recovery goes on;
/// `None`: nothing was. What a person has said since is not part of it: it was about another time.
pub(in crate::journal) fn told_so_far(c: &dyn Read) -> Result<Option<Told>, Error> {
    let ordered = Cause::Ordered.number();
    if !c.any(&open_ones().only(recovery::cause, Test::is_not(&ordered)))? {
        return Ok(None);
    }
    let mut told = Told {
        loaded: told_loaded(c)?,
        ..Told::default()
    };
    let by_the_place = Scan::of(&payer::TABLE).only(payer::by_person, Test::is(&false));
    c.each(&by_the_place, |kept: Kept| {
        let posted = Payer::kept(kept.gateway, kept.account);
        match (kept.batch.as_str(), posted == nobody()) {
            (OTHERS, true) => told.others = Some(Posted::ByNobody),
            (OTHERS, false) => told.others = Some(Posted::By(posted)),
            (_, true) => told.unnamed.push(kept.batch),
            (_, false) => told.batches.push((kept.batch, posted)),
        }
        Ok::<_, Error>(())
    })?;
    Ok(Some(told))
}

/// Keeps who posted, as the place of a journal told it when it was noticed that the journal may have missed something.
pub(in crate::journal) fn told(c: &dyn Write, told: &Told) -> Result<(), Error> {
    c.remove(&Scan::of(&payer::TABLE))?;
    for (batch, payer) in &told.batches {
        put(c, batch, payer, false)?;
        if let Some(loaded) = told.loaded.get(batch) {
            let (payments, identifiers) = loaded.identifiers.to_stored();
            let as_loaded = Loaded {
                payments,
                identifiers,
                originator: loaded.originator.clone(),
            };
            c.change(&Scan::of(&payer::TABLE).at(batch), &as_loaded)?;
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

fn put(c: &dyn Write, batch: &str, payer: &Payer, by_person: bool) -> Result<(), Error> {
    Ok(c.put(&Kept {
        batch: batch.to_owned(),
        gateway: payer.gateway().to_owned(),
        account: payer.account().to_owned(),
        by_person,
    })?)
}

/// Returns the accounts that the batches of a journal were pinned to.
pub(in crate::journal) fn on_record(c: &dyn Read) -> Result<Vec<Payer>, Error> {
    let pinned = Scan::of(&batch::TABLE).only(batch::gateway, Test::Present);
    let (mut known, mut found) = (BTreeSet::new(), Vec::new());
    c.each(&pinned, |batch: Pinned| {
        let (gateway, account) = (batch.gateway, batch.account.unwrap_or_default());
        let moves_money = batch.rehearsal != Some(true) && !is_rehearsal(None, Some(&gateway));
        if moves_money {
            let payer = Payer::of(&gateway, &account);
            if known.insert((gateway, account)) {
                found.push(payer);
            }
        }
        Ok::<_, Error>(())
    })?;
    Ok(found)
}

/// Has what an earlier journal may have posted be asked about once more where its batch was moved to: that journal may have moved it, too.
pub(in crate::journal) fn ask_in_the_new_place(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
) -> Result<(), Error> {
    if is_presumed(c, batch_id)? {
        ask_anew(c, batch_id, now)?;
    }
    Ok(())
}

/// Refuses to ask about a batch that an earlier journal may have posted, where nobody knows that it did so from there.
pub(in crate::journal) fn assert_known(
    c: &dyn Read,
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
    let mut told = found.as_ref().map(|(posted, _)| posted);
    if matches!(told, Some(Posted::ByNobody)) && !is_destined(c, batch_id, home)? {
        // A copy of what lay beside another journal may say that. It lets nobody take the batch elsewhere.
        told = None;
    }
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

fn who_posted(c: &dyn Read, batch: &BatchName) -> Result<Option<(Posted, Teller)>, Error> {
    let name = key(batch.as_str());
    let mut found: Option<ToldBy> = c.first(&Scan::of(&payer::TABLE).at(&name))?;
    if found.is_none() {
        found = c.first(&Scan::of(&payer::TABLE).at(&OTHERS))?;
    }
    Ok(found.map(|told| {
        let teller = match told.by_person {
            true => Teller::Person,
            false => Teller::Place,
        };
        let payer = Payer::kept(told.gateway, told.account);
        match payer == nobody() {
            true => (Posted::ByNobody, teller),
            false => (Posted::By(payer), teller),
        }
    }))
}

/// Refuses to pay anew what failed, while a batch that was posted in the place of this journal is not loaded again: it may have
/// paid it.
pub(in crate::journal) fn assert_none_lost(c: &dyn Read) -> Result<(), Error> {
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
        batches_lost(self.store())
    }
}

/// Lets the mark say who posts a batch, and as what it was loaded.
// One that has other identifiers than those that were posted posts nothing: what the mark knows of it stays.
pub(in crate::journal) fn mark_payer(
    c: &WriteSession,
    batch: &BatchName,
    payer: &Payer,
) -> Result<(), Error> {
    let name = key(batch.as_str());
    let lost = batches_lost(c)?;
    if lost.unlike.iter().any(|unlike| unlike.batch == name) {
        return Ok(());
    }
    let own: Option<Own> = c.first(&Scan::by(&batch::by_name).at(batch))?;
    let own = own.ok_or_else(|| corrupt("a batch that is gone while it is pinned"))?;
    let all = loads(c, own.batch_id)?.into_iter();
    let all = all.reduce(|all, load| Some(all?.and(load?))).flatten();
    let loaded = all.map(|identifiers| AsLoaded {
        identifiers,
        originator: Some(own.originator),
    });
    c.mark_payer(batch.as_str(), payer, loaded);
    Ok(())
}

/// Returns whether an earlier journal may have posted something of a batch, and no person's word has released it.
pub(in crate::journal) fn is_presumed(c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
    let mut is_presumed = false;
    let all = Scan::by(&evidence::presumed).at(&batch_id);
    c.each_until(&all, |presumption: Presumption| {
        let released = Scan::by(&evidence::evidence_by_payment)
            .at(&presumption.seq)
            .after(&presumption.evidence_id)
            .only(evidence::event, Test::is(&RELEASED));
        is_presumed = !c.any(&released)?;
        Ok::<_, Error>(match is_presumed {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(is_presumed)
}
