//! Every payment: its identifier derived again, its evidence folded again.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::ControlFlow;

use super::learn::{learn, said_in, word};
use super::next::next_of;
use super::prover::{Above, Verifier};
use crate::domain::{
    BatchId, EvidenceId, IdentifierScheme, LaneId, PayerTransactionId, PaymentId, PhraseId,
    PolicyId, RowKey, Timestamp,
};
use crate::journal::Error;
use crate::journal::codec::catalog::{find, of_payment};
use crate::journal::codec::events::{REPLACED, fact_of, is_about_another};
use crate::journal::codec::instructions::{COLUMNS, Instructions, SEQ};
use crate::journal::codec::values::{NEVER, StoredRow, TAKEN, UNPRICED, corrupt, state_number};
use crate::journal::payments::agreed::all_named_otherwise;
use crate::journal::payments::first_claims::{FirstClaim, FirstClaims};
use crate::journal::payments::unstarted::fresh_from;
use crate::journal::read::phrases::Phrases;
use crate::journal::recovery::until_done;
use crate::journal::session::members::{of_row, states};
use crate::journal::verify::intact::text_of;
use crate::ledger::due::is_possible;
use crate::ledger::evidence::{Standing, misfits_without_amount};
use crate::ledger::generations::stands_for;
use crate::ledger::successor::Successor;
use crate::lifecycle::{Event, PaymentState, Policy, RecordedEvent, State};
use crate::store::tables::{bill, evidence, instruction, life, upload};
use crate::store::{Beside, Column, Reads, Row, Scan, Shape, Test, shape};

/// Contents of rows without a reference that are remembered, to number equal ones.
const CONTENTS_MAX: usize = 4096;

/// One row as it is stored.
struct Subject {
    seq: PaymentId,
    row: StoredRow,
    service_id: LaneId,
    standing: Option<Standing>,
    life_belongs: bool,
    replaced_by: Option<PaymentId>,
    /// The largest integer: never.
    due_at: Option<i64>,
}

/// What is read of a life, behind the columns of [`PaymentState`].
const OTHERS: [Column; 9] = [
    life::settled_at,
    life::gateway_transaction_id,
    life::receipt_number,
    life::receiver_narration,
    life::phrase_id,
    life::application_id,
    life::batch_id,
    life::service_id,
    life::replaced_by,
];
/// Where two of the columns of [`PaymentState`] stand.
const KNOWN: usize = 5;
const DUE_AT: usize = 9;

/// What is read of a row of evidence.
const LEARNED: [Column; 13] = [
    evidence::at,
    evidence::event,
    evidence::class,
    evidence::code,
    evidence::detail,
    evidence::policy_id,
    evidence::batch_id,
    evidence::gateway_transaction_id,
    evidence::receipt_number,
    evidence::receiver_narration,
    evidence::phrase_id,
    evidence::evidence_id,
    evidence::anomaly,
];

/// What a pass over the payments of a batch has at hand.
struct Pass<'c> {
    scheme: IdentifierScheme,
    instructions: Instructions<'c>,
    stored: Beside<'c>,
    phrases: Phrases<'c>,
    counted: Counted,
    lanes: BTreeMap<LaneId, Lane>,
    /// Notes about payments that the pass has not come to yet.
    named_otherwise: BTreeMap<PaymentId, String>,
    /// The last time that is on record.
    latest: Timestamp,
}

/// What is known of the payments of one service.
struct Lane {
    fresh_from: i64,
    claims: FirstClaims,
}

/// What was met of the payments of a batch.
#[derive(Default)]
struct Counted {
    /// Rows of evidence about one payment.
    evidence: u64,
    first_claims: u64,
}

impl Subject {
    /// Returns whether its life begins with its first claim, which is still to come.
    fn is_fresh(&self, from: i64) -> bool {
        let instruction = &self.row.instruction;
        instruction.money.amount.is_some()
            && instruction.document.is_none()
            && self.row.generation == 0
            && self.seq.get() >= from
    }
}

/// What the evidence of a payment adds up to.
struct Folded {
    standing: Standing,
    /// When it was withdrawn.
    withdrawn: Option<i64>,
    replaced_by: Option<String>,
    /// What the gateway named of it last that is not ours.
    named_otherwise: Option<String>,
}

impl Verifier<'_> {
    pub(super) fn lives(&mut self) -> Result<(), Error> {
        let c = self.c;
        let mut pass = Pass {
            scheme: self.scheme()?,
            instructions: Instructions::of(c),
            stored: Beside::of(c, &life::TABLE, &[PaymentState::COLUMNS, &OTHERS].concat()),
            phrases: Phrases::of(c),
            counted: Counted::default(),
            lanes: BTreeMap::new(),
            named_otherwise: all_named_otherwise(c, self.batch_id)?,
            latest: self.latest()?,
        };
        let batch_id = self.batch_id;
        let rows = Scan::of(&instruction::TABLE).only(instruction::batch_id, Test::is(&batch_id));
        c.each_row(&rows, &COLUMNS, |row| {
            let seq: PaymentId = row.get(SEQ)?;
            match self.life(&mut pass, row) {
                Ok(()) => {}
                Err(error) if error.is_of_connection() => return Err(error),
                Err(error) => self.find(format!("payment {seq} cannot be read: {error}")),
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        if let Some((seq, _)) = pass.named_otherwise.first_key_value() {
            self.find(format!(
                "the journal notes that the gateway named other details of payment {seq}, but the payment is missing"
            ));
        }
        let counted = pass.counted;
        if counted.evidence != self.about_payments {
            self.find(format!(
                "{} rows of evidence on the chain are about payments, but the payments of the batch have {}",
                self.about_payments, counted.evidence
            ));
        }
        if counted.first_claims != self.first_claims {
            self.find(format!(
                "the chain has the first claims of {} payments, of which {} are there",
                self.first_claims, counted.first_claims
            ));
        }
        Ok(())
    }

    /// Compares one payment.
    fn life(&mut self, pass: &mut Pass<'_>, row: &dyn Row) -> Result<(), Error> {
        let mut subject = pass.subject(row)?;
        self.identifier(&pass.scheme, &subject)?;
        let lane = match pass.lanes.entry(subject.service_id) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(self.lane(subject.service_id)?),
        };
        let first = lane.claims.find(self.c, self.batch_id, subject.seq)?;
        let fresh_from = lane.fresh_from;
        let folded = self.folded(pass, subject.seq, first)?;
        if pass.named_otherwise.remove(&subject.seq) != folded.named_otherwise {
            self.find(format!(
                "payment {}: the differing details that the gateway named are not those in its evidence",
                subject.row.id
            ));
        }
        if subject.standing.is_none() && subject.is_fresh(fresh_from) {
            subject.standing = Some(Standing::NEW);
            subject.life_belongs = true;
        }
        self.due(&subject, pass.latest)?;
        self.compare(pass, &subject, &folded)
    }

    /// Returns the last time that is on record: a run that sets a due time has recorded its beginning.
    fn latest(&self) -> Result<Timestamp, Error> {
        let of_batch =
            Scan::of(&evidence::TABLE).only(evidence::batch_id, Test::is(&self.batch_id));
        let mut latest: Option<i64> = None;
        self.c.each_row(&of_batch, &[evidence::at], |row| {
            latest = latest.max(Some(row.get(0)?));
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        Ok(Timestamp::from_millis(latest.unwrap_or(0)))
    }

    /// What is due when is in no evidence: it is only held against what any wait can come to.
    fn due(&mut self, subject: &Subject, latest: Timestamp) -> Result<(), Error> {
        let (Some(standing), Some(due_at)) = (&subject.standing, subject.due_at) else {
            return Ok(());
        };
        let may_wait = subject.row.generation > 0
            || due_at == NEVER && until_done::waits(self.c, subject.seq)?;
        let due_at = (due_at != NEVER).then(|| Timestamp::from_millis(due_at));
        // It waits for the time that its row names, however late that is.
        if due_at.is_some() && due_at == subject.row.instruction.not_before() {
            return Ok(());
        }
        if !is_possible(standing.life.state, may_wait, due_at, latest) {
            self.find(format!(
                "payment {}: its next step is due at a time that no wait can reach, or never",
                subject.row.id
            ));
        }
        Ok(())
    }

    fn lane(&self, service_id: LaneId) -> Result<Lane, Error> {
        Ok(Lane {
            fresh_from: fresh_from(self.c, self.batch_id, service_id)?.unwrap_or(i64::MAX),
            claims: FirstClaims::of(service_id),
        })
    }

    fn identifier(&mut self, scheme: &IdentifierScheme, subject: &Subject) -> Result<(), Error> {
        let row = &subject.row;
        let seq = find(self.c, row.id)?;
        if seq != Some(subject.seq) {
            self.find(format!(
                "payment {}: its identifier is not in the index of identifiers",
                row.id
            ));
        }
        let derived = match &row.instruction.reference {
            // That of a retry comes from the payment it replaces, and is compared there.
            _ if row.generation > 0 => true,
            // What it came from is forgotten; its block on the chain covers it.
            _ if row.instruction.msisdn.is_forgotten() => true,
            Some(reference) => {
                let key = RowKey::Reference(reference);
                scheme.derive(&key, row.generation) == row.id
            }
            None => {
                let hash = row.instruction.content_hash();
                self.above.derives(scheme, hash, row.id)
            }
        };
        if !derived {
            self.find(format!(
                "payment {}: its identifier does not come from its batch and its row (line {})",
                row.id, row.instruction.line
            ));
        }
        Ok(())
    }

    fn folded(
        &mut self,
        pass: &mut Pass<'_>,
        seq: PaymentId,
        mut first: Option<FirstClaim>,
    ) -> Result<Folded, Error> {
        let Pass {
            phrases, counted, ..
        } = pass;
        let mut folded = Folded {
            standing: Standing::NEW,
            withdrawn: None,
            replaced_by: None,
            named_otherwise: None,
        };
        let unjudged = Policy::default();
        let about = Scan::by(&evidence::evidence_by_payment).at(&seq);
        self.c.each_row(&about, &LEARNED, |row| {
            counted.evidence += 1;
            let evidence_id: EvidenceId = row.get(11)?;
            if let Some(claim) = first.take_if(|claim| claim.evidence_id < evidence_id) {
                self.claim(&mut folded, claim, counted)?;
            }
            if row.get::<Option<BatchId>>(6)? != Some(self.batch_id) {
                self.find(format!(
                    "payment {seq} has evidence that is not on the chain of its batch"
                ));
            }
            let detail = row.value(4)?;
            let detail = text_of(&detail);
            let kind: i64 = row.get(1)?;
            let fact = fact_of(kind, row.get(2)?, row.get(3)?, detail)?;
            let policy_id: Option<PolicyId> = row.get(5)?;
            let policy = policy_id
                .and_then(|id| self.policies.get(&id))
                .map_or(&unjudged, |(_, policy)| policy);
            if fact == RecordedEvent::Event(Event::Withdrawn) {
                folded.withdrawn = Some(row.get(0)?);
            }
            if kind == REPLACED {
                folded.replaced_by = word(detail, "replaced_by");
            }
            let description = phrase(phrases, row.get(10)?)?;
            let words = [row.get(7)?, row.get(8)?, row.get(9)?, description];
            let mut words = said_in(words, detail);
            if is_about_another(kind) {
                // What is said of another payment is kept, and is nothing that is known of this one.
                words = Default::default();
                folded.named_otherwise = row.get(12)?;
            }
            let at = row.get(0)?;
            learn(&mut folded.standing, fact, at, detail, words, policy)?;
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        if let Some(claim) = first {
            self.claim(&mut folded, claim, counted)?;
        }
        Ok(folded)
    }

    fn claim(
        &self,
        folded: &mut Folded,
        claim: FirstClaim,
        counted: &mut Counted,
    ) -> Result<(), Error> {
        counted.first_claims += 1;
        let unjudged = Policy::default();
        let policy = claim
            .policy_id
            .and_then(|id| self.policies.get(&id))
            .map_or(&unjudged, |(_, policy)| policy);
        let fact = RecordedEvent::Event(Event::Claimed);
        let unsaid = Default::default();
        learn(&mut folded.standing, fact, claim.at, None, unsaid, policy)
    }

    fn compare(
        &mut self,
        pass: &Pass<'_>,
        subject: &Subject,
        folded: &Folded,
    ) -> Result<(), Error> {
        let row = &subject.row;
        let (id, money) = (row.id, row.instruction.money);
        let currency = money.currency.code().to_owned();
        let Some(standing) = &subject.standing else {
            if money.amount.is_some() {
                self.find(format!("payment {id} has an amount, but no state"));
            }
            self.proof.unpriced += 1;
            self.tallies
                .add((subject.service_id, currency, UNPRICED), 0);
            return Ok(());
        };
        self.proof.payments += 1;
        if !subject.life_belongs {
            self.find(format!(
                "payment {id}: its state belongs to another batch or service"
            ));
        }
        if let Some((state, minor)) = self.counted_as(subject, standing)? {
            let key = (subject.service_id, currency, state_number(state));
            self.tallies.add(key, minor);
        }
        let Some(amount) = money.amount else {
            let replayed = &folded.standing.life;
            for what in misfits_without_amount(standing, replayed, folded.withdrawn) {
                self.find(format!("row {id}{what}"));
            }
            return Ok(());
        };
        for difference in standing.differences(&folded.standing) {
            self.find(format!("payment {id}: {difference}"));
        }
        if money.as_due && self.taken(subject.seq)? != Some((amount.minor(), currency_of(row))) {
            self.find(format!(
                "payment {id}: its amount is not that of the bill that decided it"
            ));
        }
        if standing.life.attempts > 0 && !self.has_its_document(row, subject.seq)? {
            self.find(format!(
                "payment {id} was posted, but its document was not uploaded"
            ));
        }
        self.successor(pass, subject, folded)
    }

    /// Returns where a payment is counted, and with what; a row with retries is counted once, at its first generation.
    fn counted_as(
        &self,
        subject: &Subject,
        standing: &Standing,
    ) -> Result<Option<(State, i64)>, Error> {
        let own = subject.row.instruction.money.amount;
        Ok(match (subject.row.generation, subject.replaced_by) {
            (0, None) => Some((standing.life.state, own.map_or(0, |amount| amount.minor()))),
            (0, Some(_)) => {
                let row = of_row(self.c, subject.seq)?;
                let states = states(&row);
                let place = stands_for(&states);
                let minor: Option<i64> = of_payment(self.c, row[place].seq, instruction::amount)?;
                Some((states[place], minor.unwrap_or(0)))
            }
            _ => None,
        })
    }

    /// Amount and currency of the bill that decided.
    fn taken(&self, seq: PaymentId) -> Result<Option<(i64, String)>, Error> {
        let decided = Scan::by(&bill::bill_that_decided)
            .at(&seq)
            .only(bill::outcome, Test::is(&0_i64));
        let taken: Option<Taken> = self.c.first(&decided)?;
        Ok(taken.map(|Taken { due, currency }| (due, currency)))
    }

    fn has_its_document(&self, row: &StoredRow, seq: PaymentId) -> Result<bool, Error> {
        let instruction = &row.instruction;
        Ok(instruction.document.is_none()
            || instruction.names_document()
            || self.c.any(&Scan::of(&upload::TABLE).at(&seq))?)
    }

    /// Compares the payment that replaces this one.
    fn successor(
        &mut self,
        pass: &Pass<'_>,
        subject: &Subject,
        folded: &Folded,
    ) -> Result<(), Error> {
        let (row, scheme) = (&subject.row, &pass.scheme);
        let next = match subject.replaced_by {
            None => None,
            Some(by) => next_of(self.c, &pass.instructions, subject.seq, by)?,
        };
        let told = next.as_ref().map(|next| next.row.id.as_str().to_owned());
        if told != folded.replaced_by {
            self.find(format!(
                "payment {}: its retry is not the one that was recorded",
                row.id
            ));
        }
        let Some(next) = next else {
            return Ok(());
        };
        let id = next.row.id;
        let reference = row.instruction.reference.as_ref();
        let retry = scheme.of_retry(row.id, reference, row.generation);
        let key = RowKey::Corrected {
            predecessor: row.id,
            hash: next.row.instruction.content_hash(),
        };
        let corrected = scheme.derive(&key, next.row.generation);
        let successor = Successor {
            is_next: Some(next.row.generation) == row.generation.checked_add(1),
            repeats: next.repeats,
            corrects: next.corrects,
            has_retrys_identifier: id == retry,
            has_corrections_identifier: id == corrected,
            is_forgotten: row.instruction.msisdn.is_forgotten(),
        };
        if !successor.takes_its_place() {
            self.find(format!("the retry {id} does not repeat {}", row.id));
        }
        if !successor.is_derived() {
            self.find(format!(
                "the retry {id}: its identifier does not come from {}",
                row.id
            ));
        }
        Ok(())
    }
}

shape! {
    /// The bill that decided an amount.
    struct Taken of bill { due: i64, currency: String }
}

impl Pass<'_> {
    fn subject(&mut self, row: &dyn Row) -> Result<Subject, Error> {
        const AT: usize = PaymentState::COLUMNS.len();
        let found = self.instructions.read(row)?;
        let mut subject = Subject {
            seq: found.seq,
            row: found.row,
            service_id: found.lane,
            standing: None,
            life_belongs: false,
            replaced_by: None,
            due_at: None,
        };
        let Some(stored) = self.stored.find(found.seq.get())? else {
            return Ok(subject);
        };
        // Any other number would read as yes.
        if !(0..=TAKEN).contains(&stored.get(KNOWN)?) {
            return Err(corrupt("a yes-or-no value that is out of range"));
        }
        subject.standing = Some(Standing {
            life: PaymentState::read(&stored)?,
            settled_at: stored.get(AT)?,
            words: [
                stored.get(AT + 1)?,
                stored.get(AT + 2)?,
                stored.get(AT + 3)?,
                phrase(&mut self.phrases, stored.get(AT + 4)?)?,
            ],
            application_id: stored.get(AT + 5)?,
        });
        let of: (BatchId, LaneId) = (stored.get(AT + 6)?, stored.get(AT + 7)?);
        subject.life_belongs = of == (found.batch_id, found.lane);
        subject.replaced_by = stored.get(AT + 8)?;
        subject.due_at = Some(stored.get(DUE_AT)?);
        Ok(subject)
    }
}

/// Returns what the gateway said under this number.
fn phrase(phrases: &mut Phrases<'_>, number: Option<PhraseId>) -> Result<Option<String>, Error> {
    let Some(number) = number else {
        return Ok(None);
    };
    let text = phrases.find(number)?;
    let text = text.ok_or_else(|| corrupt("a phrase that is missing"))?;
    Ok(Some(text.to_owned()))
}

impl Above {
    /// Returns whether the identifier comes from this content, with some number of equal rows above it.
    fn derives(
        &mut self,
        scheme: &IdentifierScheme,
        hash: [u8; 32],
        id: PayerTransactionId,
    ) -> bool {
        let is = |above| scheme.derive(&RowKey::Content { hash, above }, 0) == id;
        if self.next.len() >= CONTENTS_MAX {
            self.next.clear();
        }
        let expected = self.next.get(&hash).copied().unwrap_or(0);
        if is(expected) {
            self.next.insert(hash, expected + 1);
            return true;
        }
        // An amendment brings what is new alone, and a content may have been forgotten.
        let mut above = 0;
        while self.derivations_left > 0 && above < 100_000 {
            self.derivations_left -= 1;
            if is(above) {
                self.next.insert(hash, above + 1);
                return true;
            }
            above += 1;
        }
        self.derivations_left == 0
    }
}

fn currency_of(row: &StoredRow) -> String {
    row.instruction.money.currency.code().to_owned()
}
