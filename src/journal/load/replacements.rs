//! Corrected rows of failed payments, loaded as their next generations. The rule is in [`crate::ledger::replacement`].

use std::collections::BTreeSet;

use super::corrections::late;
use super::job::Load;
use super::link::Link;
use super::sorted::Sorted;
use crate::domain::{BatchId, Instruction, LaneId, PayerTransactionId, PaymentId, RowKey};
use crate::journal::codec::catalog::{find, id_of, of_batch};
use crate::journal::codec::insert::{Insert, Placed};
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::salt;
use crate::journal::operator::retry::succeed;
use crate::journal::payments::watched::watch;
use crate::journal::recovery::lost_orders::assert_in_order;
use crate::journal::recovery::payers::assert_none_lost;
use crate::journal::repeats::anew::{Anew, Elsewhere};
use crate::journal::session::members::{of_row, states};
use crate::journal::verify::checks::check_generations;
use crate::journal::{Error, LoadRefusal};
use crate::ledger::correction::Corrects;
use crate::ledger::replacement::{Changed, Predecessor, Refusal, may_replace};
use crate::lifecycle::State;
use crate::store::tables::{batch, instruction, life};
use crate::store::{Reads, Scan};

/// A payment that a row of the file names.
struct Named {
    seq: PaymentId,
    id: PayerTransactionId,
    batch_id: BatchId,
    lane: LaneId,
    generation: u32,
    minor: i64,
    predecessor: Predecessor,
    /// The other generations of its row, and itself.
    members: Vec<PaymentId>,
}

impl Load<'_> {
    /// Inserts the rows that correct failed payments; returns why the file is not loaded, if one of them cannot.
    pub(in crate::journal) fn insert_replacements(
        &mut self,
        sorted: &mut Sorted,
    ) -> Result<Option<LoadRefusal>, Error> {
        let (mut errors, mut seen) = (Vec::new(), BTreeSet::new());
        let has_some = self.corrections.rows.iter().any(|row| row.is_replacement);
        let plan = self.plan.repeats.as_ref().filter(|_| has_some);
        let judged = plan.map(|plan| (plan, self.plan.now));
        let anew = Anew::begin(self.c, self.batch_id, judged)?;
        for place in 0..self.corrections.rows.len() {
            let row = &self.corrections.rows[place];
            // What has errors stays away anyway.
            let (Corrects::Failed(written), true) = (&row.corrects, row.is_replacement) else {
                continue;
            };
            let (written, replacement) = (written.clone(), row.replacement.clone());
            let outcome = match replacement {
                None => Err(Refusal::NoAmount),
                Some(row) => self.insert_replacement(
                    place,
                    &written,
                    &row,
                    &mut seen,
                    anew.as_ref(),
                    sorted,
                )?,
            };
            if let Err(refusal) = outcome {
                let row = &self.corrections.rows[place];
                errors.push(late(row.line, "replaces", refusal.to_string()));
            }
        }
        if errors.is_empty() {
            errors = self.equal_replacements()?;
        }
        Ok((!errors.is_empty()).then_some(LoadRefusal::Corrections(errors)))
    }

    fn insert_replacement(
        &mut self,
        place: usize,
        written: &str,
        row: &Instruction,
        seen: &mut BTreeSet<PaymentId>,
        anew: Option<&Anew<'_>>,
        sorted: &mut Sorted,
    ) -> Result<Result<(), Refusal>, Error> {
        let Some(mut named) = self.named(written, row)? else {
            return Ok(Err(Refusal::Unknown));
        };
        if !seen.insert(named.seq) {
            return Ok(Err(Refusal::Twice));
        }
        let generation = named.generation + 1;
        let key = RowKey::Corrected {
            predecessor: named.id,
            hash: row.content_hash(),
        };
        let id = self.scheme.derive(&key, generation);
        if named.batch_id == self.batch_id
            && let Some(earlier) = find(self.c, id)?
        {
            sorted.unchanged.add(row.money);
            self.corrections.is_there(place, earlier);
            self.kept.insert(earlier);
            return Ok(Ok(()));
        }
        let has_failed = named.predecessor.states.last() == Some(&State::Failed);
        let found = match anew.filter(|_| has_failed) {
            Some(anew) => anew.find_corrected(named.seq, row)?,
            None => Elsewhere::default(),
        };
        named.predecessor.elsewhere = found.counts;
        let is_added = self.existed && self.plan.amend;
        if let Err(refusal) = may_replace(Some(&named.predecessor), &self.plan.batch, is_added) {
            return Ok(Err(refusal));
        }
        if self.plan.repeats.is_some() {
            assert_none_lost(self.c)?;
            assert_in_order(self.c, &self.plan.batch, "correct")?;
        }
        if let Some(what) = check_generations(self.c, (self.batch_id, named.lane), named.seq)? {
            let batch = self.plan.batch.clone();
            return Err(Error::AlteredRow { batch, what });
        }
        let placed = Placed {
            batch_id: self.batch_id,
            load_id: self.load_id,
            service_id: named.lane,
            salt: salt::fresh()?,
        };
        let (now, minor) = (self.plan.now, row.money.amount.minor());
        let mut insert = Insert::new(self.c)?;
        insert.row(&placed, &id, generation, now.as_millis(), row, Some(minor))?;
        insert.flush()?;
        drop(insert);
        let newest = Scan::of(&instruction::TABLE).descending();
        let newest = self.c.value(&newest, instruction::seq)?;
        let new = newest.ok_or_else(|| corrupt("a row that is missing from its own load"))?;
        self.name(new, id)?;
        self.note_document_of(new, row)?;
        self.altered = true;
        let link = Link {
            batch_number: self.batch_id,
            lane: named.lane,
            seq: named.seq,
            new,
            id,
            minors: (named.minor, minor),
            currency: row.money.currency,
        };
        watch(self.c, new, &found.unpaid, self.plan.now)?;
        self.corrections.replace(place, link, named.members);
        Ok(Ok(()))
    }

    /// Finds the payment that a row names.
    fn named(&self, written: &str, row: &Instruction) -> Result<Option<Named>, Error> {
        let Some(id) = PayerTransactionId::parse(written) else {
            return Ok(None);
        };
        let Some(seq) = find(self.c, id)? else {
            return Ok(None);
        };
        let found = Instructions::of(self.c).find(seq)?;
        let found = found.ok_or_else(|| corrupt("a payment without its instruction"))?;
        let was = found.row;
        // What nothing has happened to yet has not failed.
        let members = match self.c.any(&Scan::of(&life::TABLE).at(&seq))? {
            true => of_row(self.c, seq)?,
            false => Vec::new(),
        };
        let place = members.iter().position(|member| member.seq == seq);
        let next = place.and_then(|place| members.get(place + 1));
        let mut standing = states(&members);
        if members.is_empty() {
            standing.push(State::Ready);
        }
        Ok(Some(Named {
            seq,
            id,
            batch_id: found.batch_id,
            lane: found.lane,
            generation: was.generation,
            minor: was.instruction.money.written().unwrap_or(0),
            predecessor: Predecessor {
                batch: of_batch(self.c, found.batch_id, batch::name)?,
                states: standing,
                replaced_by: next
                    .map(|next| Ok::<_, Error>((id_of(self.c, next.seq)?, next.life.state)))
                    .transpose()?,
                elsewhere: None,
                changed: Changed::between(&was.instruction, row),
            },
            members: members.iter().map(|member| member.seq).collect(),
        }))
    }

    /// Makes what was inserted the next generations.
    pub(in crate::journal) fn carry_out_replacements(&self) -> Result<(), Error> {
        for link in self.corrections.links() {
            succeed(self.c, link, self.plan.now)?;
        }
        Ok(())
    }
}
