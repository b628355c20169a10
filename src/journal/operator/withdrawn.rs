//! Rejected rows that a person withdraws. The rules are in [`crate::ledger::set_aside`].

use std::collections::BTreeSet;

use super::decided::refuse_more;
use crate::domain::{BatchId, BatchName, EvidenceId, LoadId, PaymentId, Tally, Timestamp};
use crate::journal::Journal;
use crate::journal::codec::catalog::{id_of, known_batch};
use crate::journal::codec::values::{corrupt, currency_of};
use crate::journal::load::aside::{SaidBy, withdraw, withdrawal};
use crate::journal::read::looked_for::rejected_at;
use crate::journal::recovery::lost_orders::Touched;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, RejectedFound, ToWithdraw, WITHDRAWN_SHOWN};
use crate::ledger::correction::RejectedName;
use crate::ledger::set_aside::{Became, Unclear, meant};
use crate::store::tables::{load, rejected};
use crate::store::{Field, Read, Reads, Scan, Shape, Test, shape};

impl Journal {
    /// Returns what [`Self::withdraw_rejected`] would withdraw: the rejected rows that are named, by line, reference or name, or
    /// all of the batch that nothing has taken the place of.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], [`Error::NoRejectedRow`].
    pub async fn to_withdraw(
        &self,
        batch: BatchName,
        names: Vec<String>,
    ) -> Result<ToWithdraw, Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            let batch_id = known_batch(c, &batch)?;
            to_withdraw(c, &batch, &Which::of(c, &batch, batch_id, &names)?)
        })
        .await
    }

    /// Records a person's decision that rejected rows are not paid, if they are no more than what was shown; returns how many.
    ///
    /// # Errors
    /// [`Error::MoreThanShown`], and those of [`Self::to_withdraw`].
    pub async fn withdraw_rejected(
        &self,
        batch: BatchName,
        names: Vec<String>,
        shown: Tally,
        reason: String,
        now: Timestamp,
    ) -> Result<u64, Error> {
        self.ask(move |c| {
            let batch_id = known_batch(c, &batch)?;
            let which = Which::of(c, &batch, batch_id, &names)?;
            let found = to_withdraw(c, &batch, &which)?.tally;
            refuse_more(&batch, &vec![(None, shown)], &vec![(None, found)])?;
            which.withdraw(c, &reason, c.time(now)?)
        })
        .await
    }
}

/// The place of a rejected row: its load, its line, and which row of that line.
type Place = (LoadId, i64, i64);

shape! {
    /// Where a rejected row stands.
    struct Placed of rejected { load_id: LoadId, line: i64, nth: i64 }
}
shape! {
    /// By what a rejected row is named, and what became of it.
    struct Aside of rejected {
        load_id: LoadId, line: i64, nth: i64, reference: Option<String>, digest: Option<Vec<u8>>,
        replaced_by: Option<PaymentId>, withdrawn: Option<EvidenceId>,
    }
}
shape! {
    /// What a rejected row says of itself to whoever signs.
    struct Written of rejected { reference: Option<String>, amount_text: Option<String> }
}
shape! {
    /// What a rejected row would have come to.
    struct Worth of rejected { amount: Option<i64>, currency: Option<String> }
}

impl Aside {
    fn place(&self) -> Place {
        (self.load_id, self.line, self.nth)
    }
}

/// Returns a rejected row, which is there.
fn at<S: Shape>(c: &dyn Read, (load, line, nth): Place) -> Result<S, Error> {
    let own = Scan::of(&rejected::TABLE).at(&load).at(&line).at(&nth);
    c.first(&own)?.ok_or_else(gone)
}

fn gone() -> Error {
    corrupt("a rejected row that is gone while it is read")
}

/// The rejected rows that an order is about.
struct Which {
    batch_id: BatchId,
    /// Those that are named; `None`: all that are open.
    places: Option<BTreeSet<Place>>,
}

/// Rows that are withdrawn by one statement.
const AT_ONCE: usize = 1000;

impl Which {
    fn of(
        c: &dyn Read,
        batch: &BatchName,
        batch_id: BatchId,
        names: &[String],
    ) -> Result<Self, Error> {
        if names.is_empty() {
            return Ok(Self {
                batch_id,
                places: None,
            });
        }
        let mut places = BTreeSet::new();
        for name in names {
            places.extend(named(c, batch, batch_id, name)?);
        }
        Ok(Self {
            batch_id,
            places: Some(places),
        })
    }

    /// Returns the next of them that are open, in their order.
    fn next(&self, c: &dyn Read, after: Place) -> Result<Vec<Place>, Error> {
        if let Some(places) = &self.places {
            let next = places.range(after..).filter(|place| **place > after);
            return Ok(next.copied().collect());
        }
        let (load, line, nth) = after;
        let loads = Scan::by(&load::load_by_batch)
            .at(&self.batch_id)
            .from(&load);
        let loads: Vec<LoadId> = c.values(&loads, load::load_id)?;
        let mut places = Vec::new();
        for of_load in &loads {
            let mut open = Scan::of(&rejected::TABLE)
                .at(of_load)
                .only(rejected::batch_id, Test::is(&self.batch_id))
                .only(rejected::replaced_by, Test::Absent)
                .only(rejected::withdrawn, Test::Absent)
                .limit(AT_ONCE - places.len());
            if *of_load == load {
                open = open.after_all(vec![line.to_value(), nth.to_value()]);
            }
            let open: Vec<Placed> = c.list(&open)?;
            places.extend(open.iter().map(|open| (open.load_id, open.line, open.nth)));
            if places.len() == AT_ONCE {
                break;
            }
        }
        Ok(places)
    }

    fn withdraw(&self, c: &WriteSession, reason: &str, now: Timestamp) -> Result<u64, Error> {
        c.mark(self.batch_id);
        let (mut after, mut count) = (FIRST, 0);
        let mut touched = Touched::about(&"rejected rows".into());
        loop {
            let places = self.next(c, after)?;
            let Some(last) = places.last() else { break };
            after = *last;
            for place in &places {
                withdraw(c, self.batch_id, *place, (SaidBy::Person, reason), now)?;
                touched.add(&content_of(c, *place)?);
                touched.signed().name_last(row_text(c, *place)?);
                count += 1;
            }
        }
        if count > 0 {
            let about = match count {
                1 => "1 rejected row".into(),
                rows => format!("{rows} rejected rows").into(),
            };
            let batch = (self.batch_id, now);
            c.act_upon(batch, "cancel", about, &touched, Some(reason))?;
        }
        Ok(count)
    }
}

/// Names a rejected row for whoever signs that it is withdrawn.
fn row_text(c: &dyn Read, place: Place) -> Result<String, Error> {
    let row: Written = at(c, place)?;
    let (load, line, _) = place;
    let source: Option<String> = c.value(&Scan::of(&load::TABLE).at(&load), load::source)?;
    let source = source.ok_or_else(|| corrupt("a rejected row without its file"))?;
    let said = format!("line {line} of {source}");
    let parts = [Some(said), row.reference, row.amount_text];
    let parts: Vec<String> = parts
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
    Ok(parts.join(", "))
}

/// Returns what tells a rejected row from others in every journal that has loaded its file.
fn content_of(c: &dyn Read, (load, line, nth): Place) -> Result<String, Error> {
    let own = Scan::of(&rejected::TABLE).at(&load).at(&line).at(&nth);
    let digest: Option<[u8; 32]> = c.value(&own, rejected::digest)?.ok_or_else(gone)?;
    Ok(match digest {
        Some(digest) => data_encoding::HEXLOWER.encode(&digest),
        None => format!("line {line}"),
    })
}

/// Before every place.
const FIRST: Place = (LoadId::NONE, -1, -1);

/// Finds the rejected rows that a text names.
fn named(
    c: &dyn Read,
    batch: &BatchName,
    batch_id: BatchId,
    text: &str,
) -> Result<Vec<Place>, Error> {
    let name = RejectedName::parse(text).filter(|name| name.batch == *batch);
    let line: Option<i64> = text.parse().ok();
    let is_named = |row: &Aside| {
        let by_digest = name.as_ref().zip(row.digest.as_ref());
        row.reference.as_deref() == Some(text)
            || line == Some(row.line)
            || by_digest.is_some_and(|(name, digest)| digest.starts_with(&name.digest))
    };
    let of_batch = Scan::by(&rejected::rejected_by_batch).at(&batch_id);
    let mut rows = Vec::new();
    c.each(&of_batch, |row: Aside| {
        if is_named(&row) {
            rows.push(row);
        }
        Ok::<_, Error>(())
    })?;
    rows.sort_by_key(Aside::place);
    let places: Vec<Place> = rows.iter().map(Aside::place).collect();
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        found.push(became(c, row.replaced_by, row.withdrawn)?);
    }
    match meant(name.is_some(), &found) {
        Ok(open) => Ok(open.into_iter().map(|at| places[at]).collect()),
        Err(unclear) => {
            let why = match unclear {
                Unclear::Nothing => "is no rejected row of it".to_owned(),
                Unclear::Several => {
                    let rows = all_named(c, batch, &places)?;
                    format!(
                        "is the line, or the reference, of {} rejected rows: {rows}",
                        places.len()
                    )
                }
                Unclear::Mended(id) => {
                    format!("has its mended row already, which is paid in its place: payment {id}")
                }
                Unclear::Withdrawn(withdrawal) => format!("is {withdrawal}"),
            };
            Err(Error::NoRejectedRow {
                batch: batch.clone(),
                text: text.to_owned(),
                why,
            })
        }
    }
}

/// Rows of one text that are listed.
const LISTED: usize = 5;

/// Returns `row-…-of-b (line 5 of a.csv), …`.
fn all_named(c: &dyn Read, batch: &BatchName, places: &[Place]) -> Result<String, Error> {
    let mut texts = Vec::new();
    for place in places.iter().take(LISTED) {
        let row = one(c, batch, *place)?;
        let name = row.name.map(|name| format!("{name}, ")).unwrap_or_default();
        texts.push(format!("{name}line {} of {}", row.line, row.file.name));
    }
    if places.len() > LISTED {
        texts.push(format!("and {} more", places.len() - LISTED));
    }
    Ok(texts.join("; "))
}

fn became(
    c: &dyn Read,
    replaced_by: Option<PaymentId>,
    withdrawn: Option<EvidenceId>,
) -> Result<Became, Error> {
    if let Some(withdrawal) = withdrawal(c, withdrawn)? {
        return Ok(Became::Withdrawn(withdrawal));
    }
    let Some(seq) = replaced_by else {
        return Ok(Became::Open);
    };
    Ok(Became::Mended(id_of(c, seq)?))
}

fn to_withdraw(c: &dyn Read, batch: &BatchName, which: &Which) -> Result<ToWithdraw, Error> {
    let mut found = ToWithdraw::default();
    let mut after = FIRST;
    loop {
        let places = which.next(c, after)?;
        let Some(last) = places.last() else { break };
        after = *last;
        for place in &places {
            add(c, *place, &mut found.tally)?;
            if found.rows.len() < WITHDRAWN_SHOWN {
                found.rows.push(one(c, batch, *place)?);
            }
        }
    }
    Ok(found)
}

fn add(c: &dyn Read, place: Place, tally: &mut Tally) -> Result<(), Error> {
    let row: Worth = at(c, place)?;
    tally.count += 1;
    if let (Some(minor), Some(currency)) = (row.amount, row.currency) {
        tally
            .amounts
            .add_minor(currency_of(&currency)?, i128::from(minor));
    }
    Ok(())
}

fn one(c: &dyn Read, batch: &BatchName, (load, line, nth): Place) -> Result<RejectedFound, Error> {
    rejected_at(c, batch, (load, line, nth))?.ok_or_else(gone)
}
