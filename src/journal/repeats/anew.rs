//! Rows whose debt another load has by now: judged when a failure is ordered to be paid anew.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::fingerprints::{Entry, Key, entry_of};
use super::joins::{has_open, join, join_open};
use super::namesakes::Namesakes;
use super::on_record::check_row;
use super::on_record::{OnRecord, Other, Record, Which, loads_on_record};
use super::vouched::{Vouched, check_loads};
use crate::domain::{AmountField, BatchId, Instruction, LoadId, PaymentId, Timestamp};
use crate::journal::codec::catalog::{batch_of, of_batch, purpose};
use crate::journal::codec::values::{Stored, corrupt, services};
use crate::journal::session::members::of_row;
use crate::journal::{Error, PaidSince, RepeatPlan};
use crate::ledger::Purpose;
use crate::ledger::repeats::{
    Likeness, References, Standing, is_of_failure, is_same_amount_to_person, judge, likeness,
    may_be_paid_since, may_be_same_person, may_stand_for, pays_failure,
};
use crate::store::tables::{batch, load};
use crate::store::{Read, Reads, Scan};

/// What the rows of failures are compared with.
pub(in crate::journal) struct Anew<'a> {
    c: &'a dyn Read,
    plan: &'a RepeatPlan,
    key: Key,
    loads: Vec<OnRecord>,
    has_open: bool,
    record: Record<'a>,
    now: Timestamp,
    batch_id: BatchId,
    namesakes: OnceCell<Namesakes>,
}

/// What other loads have of the debt of a row.
#[derive(Default)]
pub(in crate::journal) struct Elsewhere {
    /// The batch of a row that is paid, or may be.
    pub(in crate::journal) counts: Option<String>,
    /// Rows that have failed as well, or were cancelled.
    pub(in crate::journal) unpaid: Vec<PaymentId>,
    /// The first row under another reference by which it may be paid.
    pub(in crate::journal) since: Option<PaidSince>,
}

impl Elsewhere {
    fn add(&mut self, more: Self) {
        self.counts = self.counts.take().or(more.counts);
        self.unpaid.extend(more.unpaid);
        self.since = self.since.take().or(more.since);
    }
}

impl<'a> Anew<'a> {
    /// Begins with the failures of a batch; `None` where nothing is to be compared: a rehearsal repeats nothing.
    pub(in crate::journal) fn begin(
        c: &'a dyn Read,
        batch_id: BatchId,
        judged: Option<(&'a RepeatPlan, Timestamp)>,
    ) -> Result<Option<Self>, Error> {
        let Some((plan, now)) = judged else {
            return Ok(None);
        };
        if purpose(c, batch_id)? == Purpose::Rehearsal {
            return Ok(None);
        }
        check_loads(c)?;
        // Whatever came after the first row of the batch may pay what of it has failed.
        let first: Option<LoadId> =
            c.value(&Scan::by(&load::load_by_batch).at(&batch_id), load::load_id)?;
        let which = first.map_or(Which::All, Which::After);
        let Some(key) = Key::of(c)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            c,
            plan,
            key,
            loads: loads_on_record(c, plan, (key, which), now)?,
            has_open: has_open(c)?,
            record: Record::of(c, Vouched::read_as(plan.reading.as_deref())),
            now,
            batch_id,
            namesakes: OnceCell::new(),
        }))
    }

    /// Looks for the debt of a failed row in all loads but its own: as it is, and as it was before it was corrected.
    pub(in crate::journal) fn find(&self, seq: PaymentId) -> Result<Elsewhere, Error> {
        let own = self.own(seq)?;
        let (mut found, mut seen) = (Elsewhere::default(), BTreeSet::new());
        for member in &own {
            // A corrected row came with another load than the payment that it replaces.
            let (load_id, row) = self.row(*member)?;
            if seen.insert(row.content_hash()) {
                found.add(self.find_as(load_id, &own, (&row, row.money.written()))?);
            }
        }
        Ok(found)
    }

    /// The same, by what a person corrected in a failed row.
    pub(in crate::journal) fn find_corrected<M: AmountField + Clone>(
        &self,
        seq: PaymentId,
        row: &Instruction<M>,
    ) -> Result<Elsewhere, Error> {
        let mut found = self.find(seq)?;
        let (load_id, _) = self.row(seq)?;
        let amount = row.money.known().map(|amount| amount.minor());
        found.add(self.find_as(load_id, &self.own(seq)?, (row, amount))?);
        Ok(found)
    }

    /// All generations of a row, the oldest first.
    fn own(&self, seq: PaymentId) -> Result<Vec<PaymentId>, Error> {
        Ok(of_row(self.c, seq)?.iter().map(|own| own.seq).collect())
    }

    fn find_as<M: AmountField + Clone>(
        &self,
        load_id: LoadId,
        own: &[PaymentId],
        (row, amount): (&Instruction<M>, Option<i64>),
    ) -> Result<Elsewhere, Error> {
        let mut of_service = row.clone();
        let mut entries = Vec::new();
        // Where no references tell them apart, a row of another service may have been loaded in its place.
        for service in services(self.c)? {
            of_service.service = service;
            let hashes = self.key.hashes(&of_service, amount);
            entries.extend(hashes.into_iter().map(entry_of));
        }
        entries.sort_unstable();
        entries.dedup();
        let mut found = Elsewhere::default();
        for load in self.loads.iter().filter(|load| load.load_id != load_id) {
            let mut take = |_: &[Entry], seqs: &[(PaymentId, Entry)]| {
                for (seq, entry) in seqs.iter().filter(|(seq, _)| !own.contains(seq)) {
                    if let Some(other) = load.other(&self.record, *seq)? {
                        check_row(self.key, *entry, &other)?;
                        let row = other.counterpart(row, self.key);
                        self.take_in((&row, own[0]), &other, &mut found)?;
                    }
                }
                Ok(())
            };
            join(self.c, load.load_id, &entries, &mut take)?;
            join_open(self.c, load.load_id, &entries, self.has_open, &mut take)?;
            if found.counts.is_some() {
                return Ok(found);
            }
        }
        // A number that was mended, or another service, leaves the name.
        for (load, seq) in self.namesakes()?.of(row) {
            let load = self.loads[load];
            if load.load_id != load_id
                && !own.contains(&seq)
                && let Some(other) = load.other(&self.record, seq)?
            {
                let row = other.counterpart(row, self.key);
                self.take_in((&row, own[0]), &other, &mut found)?;
            }
        }
        Ok(found)
    }

    /// Later rows with the names of the failures, read once, when they are asked for first.
    fn namesakes(&self) -> Result<&Namesakes, Error> {
        if let Some(known) = self.namesakes.get() {
            return Ok(known);
        }
        let read = Namesakes::read(self.c, self.batch_id, (&self.loads, self.key))?;
        Ok(self.namesakes.get_or_init(|| read))
    }

    fn row(&self, seq: PaymentId) -> Result<(LoadId, Instruction<Stored>), Error> {
        let found = self.record.rows.find(seq)?;
        let found = found.ok_or_else(|| corrupt("a payment without its instruction"))?;
        Ok((found.load_id, found.row.instruction))
    }

    /// `first`: the oldest generation of the row.
    fn take_in<M: AmountField>(
        &self,
        (row, first): (&Instruction<M>, PaymentId),
        other: &Other,
        found: &mut Elsewhere,
    ) -> Result<(), Error> {
        let terms = self.plan.terms.between(&row.service, &other.row.service);
        let reference = row.reference.as_ref().map(|reference| reference.as_str());
        let references = References::of(reference, other.reference());
        let same = may_stand_for(references, row, &other.row);
        let age = self.now.since(other.newest);
        let came_later = other.generations.iter().any(|seq| *seq > first);
        let of_failure = came_later
            && is_of_failure(
                references,
                same,
                may_be_same_person(row, &other.row),
                &terms,
            );
        let is_later = came_later && is_same_amount_to_person(row, &other.row);
        if found.since.is_none() && may_be_paid_since(references, is_later, other.standing) {
            found.since = Some(PaidSince {
                batch: name_of_batch(self.c, other.seq)?,
                reference: other.reference().unwrap_or_default().to_owned(),
                line: other.row.line,
            });
        }
        // What has failed unless something was missed is asked about again: whatever pays its debt waits for the answer.
        let has_failed =
            other.missed || matches!(other.standing, Standing::Failed | Standing::Cancelled);
        let counts = judge(references, same, other.standing, age, &terms) == Likeness::Repeat
            || of_failure && pays_failure(other.standing);
        if counts && !other.missed {
            if found.counts.is_none() {
                found.counts = Some(name_of_batch(self.c, other.seq)?);
            }
        } else if has_failed
            && (of_failure || likeness(references, same, &terms) == Likeness::Repeat)
        {
            found.unpaid.push(other.seq);
        }
        Ok(())
    }
}

fn name_of_batch(c: &dyn Read, seq: PaymentId) -> Result<String, Error> {
    of_batch(c, batch_of(c, seq)?, batch::name)
}
