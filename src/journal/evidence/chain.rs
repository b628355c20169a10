//! The hash chain of a batch's evidence.
//!
//! Every row of evidence has a SHA-256 over itself and the hash of the row before it in its batch; the first rests on who
//! pays, the batch's name and its date. Every 64th hash of a chain is written down, and the last one as its head; those
//! between them can be computed. What stands in other tables is on the chain as well: a row of evidence holds the digest of an upload, of a
//! bill, of a pinned gateway, of a file that was loaded, of a block of instructions.
//!
//! Rows, heads and what they speak of are one transaction: a crash leaves all of it or nothing.

use std::collections::BTreeMap;

use super::append::{self, Kind, WAITING_MAX, Waiting};
use super::body_digest::BodyDigest;
use super::encoding::{CanonicalHasher, Digest, Terms, genesis};
use super::phrases::Phrases;
use super::salt::{self, Salt};
use crate::domain::{BatchId, EvidenceId, PaymentId, PhraseId, PolicyId, Timestamp};
use crate::journal::codec::events::is_heard;
use crate::journal::codec::values::corrupt;
use crate::journal::{ChainHead, Error};
use crate::ledger::evidence::Words;
use crate::ledger::recovery::Position;
use crate::lifecycle::Policy;
use crate::store::tables::{chain, evidence, policy};
use crate::store::{Read, Reads, Scan, Test, Write, Writes, shape};

/// A row of evidence, as it is appended.
#[derive(Clone, Copy)]
pub(in crate::journal) struct Evidence<'a> {
    pub(in crate::journal) batch_id: BatchId,
    /// The payment; 0 for what is about the batch.
    pub(in crate::journal) seq: PaymentId,
    pub(in crate::journal) at: Timestamp,
    pub(in crate::journal) kind: Kind,
    pub(in crate::journal) anomaly: Option<&'a str>,
    pub(in crate::journal) digest: Option<&'a Digest>,
    /// That is the digest of the body of a callback, and is kept with the salt of the row, where it has one.
    pub(in crate::journal) is_of_body: bool,
    pub(in crate::journal) detail: Option<&'a str>,
    pub(in crate::journal) words: Words<'a>,
    /// What it is judged by, where waits enter into it.
    pub(in crate::journal) policy: Option<&'a Policy>,
}

// Whoever appends names the batch; what is left out is what most rows do not have.
impl Default for Evidence<'_> {
    fn default() -> Self {
        Self {
            batch_id: BatchId::new(0),
            seq: PaymentId::NONE,
            at: Timestamp::default(),
            kind: Kind::default(),
            anomaly: None,
            digest: None,
            is_of_body: false,
            detail: None,
            words: Words::default(),
            policy: None,
        }
    }
}

impl Evidence<'_> {
    /// Returns whether it holds texts that may name a person.
    fn is_personal(&self) -> bool {
        let texts = [self.anomaly, self.detail, self.words.receiver_narration];
        self.seq != PaymentId::NONE && is_heard(self.kind.0) && texts.iter().any(Option::is_some)
    }

    fn leaf(&self, leaves: &mut Leaves, salt: &Salt) -> Digest {
        let canon = &mut leaves.0;
        canon.begin_leaf(salt);
        for text in [self.anomaly, self.detail, self.words.receiver_narration] {
            canon.maybe(text, CanonicalHasher::text);
        }
        canon.end_leaf()
    }

    /// Returns the hash of the row behind the one with that hash.
    fn hash(
        &self,
        previous: &Digest,
        evidence_id: EvidenceId,
        (leaf, digest): (Option<Digest>, Option<BodyDigest>),
        terms: Option<Terms>,
    ) -> Digest {
        let (event, class, code) = self.kind;
        let mut canon = CanonicalHasher::after(previous);
        if let Some(leaf) = &leaf {
            canon.bytes(leaf);
        }
        canon.integer(evidence_id.get());
        canon.integer(self.seq.get());
        canon.integer(self.at.as_millis());
        canon.integer(event);
        canon.maybe(class, CanonicalHasher::integer);
        canon.maybe(code.map(i64::from), CanonicalHasher::integer);
        let open = |text| match leaf {
            Some(_) => None,
            None => text,
        };
        canon.maybe(open(self.anomaly), CanonicalHasher::text);
        canon.maybe(
            digest.as_ref().map(BodyDigest::bytes),
            CanonicalHasher::bytes,
        );
        canon.maybe(open(self.detail), CanonicalHasher::text);
        canon.terms(terms);
        let mut words = self.words;
        words.receiver_narration = open(words.receiver_narration);
        canon.words(words.all());
        canon.finish()
    }
}

/// Makes the leaves of rows of evidence.
struct Leaves(CanonicalHasher);

impl Default for Leaves {
    fn default() -> Self {
        Self(CanonicalHasher::of("evidence"))
    }
}

/// Of so many rows of a chain one has its hash written down: whatever was changed is found within so many rows.
const WRITTEN_DOWN: i64 = 64;
/// How far the chain of a batch reaches.
#[derive(Clone, Copy)]
struct Head {
    length: i64,
    hash: Digest,
    moved: bool,
}

/// The chains that a transaction extends.
#[derive(Default)]
pub(in crate::journal) struct Chain {
    heads: BTreeMap<BatchId, Head>,
    /// Number of the newest row of evidence; `None` until it is asked for.
    newest: Option<EvidenceId>,
    policies: Vec<(Terms, PolicyId)>,
    waiting: Vec<Waiting>,
    /// How many rows about several payments at once it has written.
    written_about_rows: u64,
    phrases: Phrases,
    leaf: Leaves,
    /// Batches whose evidence the mark beside the journal is to follow, and how far it had come when it was last written.
    marking: BTreeMap<BatchId, Option<Position>>,
}

impl Chain {
    /// Begins the chain of a batch.
    pub(in crate::journal) fn begin(c: &dyn Write, batch_id: BatchId) -> Result<(), Error> {
        Ok(c.insert(&StoredHead {
            batch_id,
            length: 0,
            head: genesis(c, batch_id)?,
        })?)
    }

    pub(in crate::journal) fn append(
        &mut self,
        c: &dyn Write,
        row: &Evidence<'_>,
    ) -> Result<(), Error> {
        if self.waiting.len() >= WAITING_MAX {
            self.flush(c)?;
        }
        let evidence_id = self.next(c)?;
        let (policy_id, terms) = match row.policy {
            Some(policy) => {
                let terms = Terms::of(policy);
                (Some(self.policy(c, terms)?), Some(terms))
            }
            None => (None, None),
        };
        let phrase_id = match row.words.description {
            Some(text) => Some(self.phrases.number(c, text)?),
            None => None,
        };
        let salt = match row.is_personal() {
            true => Some(salt::fresh()?),
            false => None,
        };
        let leaf = salt.map(|salt| row.leaf(&mut self.leaf, &salt));
        let digest = row.digest.map(|digest| match salt {
            Some(salt) if row.is_of_body => BodyDigest::salted(digest, &salt),
            _ => BodyDigest::Whole(*digest),
        });
        let head = self.head(c, row.batch_id)?;
        *head = Head {
            length: head.length + 1,
            hash: row.hash(&head.hash, evidence_id, (leaf, digest), terms),
            moved: true,
        };
        let hash = (head.length % WRITTEN_DOWN == 0).then_some(head.hash);
        let own = |text: Option<&str>| text.map(str::to_owned);
        self.waiting.push(Waiting {
            evidence_id,
            seq: row.seq,
            at: row.at.as_millis(),
            kind: row.kind,
            anomaly: own(row.anomaly),
            digest,
            detail: own(row.detail),
            batch_id: row.batch_id,
            policy_id,
            hash,
            phrase_id,
            gateway_transaction_id: own(row.words.gateway_transaction_id),
            receipt_number: own(row.words.receipt_number),
            receiver_narration: own(row.words.receiver_narration),
            salt,
        });
        self.newest = Some(evidence_id);
        Ok(())
    }

    /// Writes the rows that wait.
    pub(in crate::journal) fn flush(&mut self, c: &dyn Write) -> Result<(), Error> {
        // What the mark names is looked up by its number: its hash is written down.
        for (batch_id, position) in &mut self.marking {
            let mut newest = self.waiting.iter_mut().rev();
            if let Some(row) = newest.find(|row| row.batch_id == *batch_id)
                && let Some(head) = self.heads.get(batch_id)
            {
                row.hash = Some(head.hash);
                *position = Some(Position {
                    batch_id: *batch_id,
                    length: head.length.unsigned_abs(),
                    evidence_id: row.evidence_id,
                    head: head.hash,
                });
            }
        }
        append::append(c, &self.waiting)?;
        let about_rows = self.waiting.iter().filter(|row| row.seq == PaymentId::NONE);
        self.written_about_rows += about_rows.count() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Returns how many rows about several payments at once it has written since it knew of none: whoever has read those before reads
    /// on where there are more.
    pub(in crate::journal) fn written_about_rows(&self) -> u64 {
        self.written_about_rows
    }

    /// Takes a row that is there already into the chain, and returns its hash.
    pub(in crate::journal) fn take_in(
        &mut self,
        c: &dyn Write,
        batch_id: BatchId,
        seal: impl FnOnce(&Digest) -> Result<Digest, Error>,
    ) -> Result<Digest, Error> {
        let head = self.head(c, batch_id)?;
        let hash = seal(&head.hash)?;
        *head = Head {
            length: head.length + 1,
            hash,
            moved: true,
        };
        Ok(hash)
    }

    /// Returns the number of the row that was appended last in this transaction.
    pub(in crate::journal) fn newest(&self) -> Option<EvidenceId> {
        self.newest
    }

    fn next(&mut self, c: &dyn Write) -> Result<EvidenceId, Error> {
        let newest = match self.newest {
            Some(newest) => newest,
            None => return Ok(EvidenceId::new(c.allocate(&evidence::TABLE, 1)?)),
        };
        Ok(newest.next())
    }

    fn head(&mut self, c: &dyn Write, batch_id: BatchId) -> Result<&mut Head, Error> {
        use std::collections::btree_map::Entry;
        match self.heads.entry(batch_id) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let found: Option<StoredHead> = c.first(&Scan::of(&chain::TABLE).at(&batch_id))?;
                let found = found
                    .ok_or_else(|| corrupt(format!("batch {batch_id} has no chain of evidence")))?;
                Ok(entry.insert(Head {
                    length: found.length,
                    hash: found.head,
                    moved: false,
                }))
            }
        }
    }

    fn policy(&mut self, c: &dyn Write, terms: Terms) -> Result<PolicyId, Error> {
        if let Some((_, id)) = self.policies.iter().find(|(known, _)| *known == terms) {
            return Ok(*id);
        }
        let [quarantine, exposures, settle, query] = terms.0;
        // There are a few, one for every change of the configuration.
        let alike = Scan::of(&policy::TABLE)
            .only(policy::not_found_quarantine, Test::is(&quarantine))
            .only(policy::exposures_max, Test::is(&exposures))
            .only(policy::settle_on, Test::is(&settle))
            .only(policy::status_query, Test::is(&query));
        let id = match c.value(&alike, policy::policy_id)? {
            Some(id) => id,
            None => PolicyId::new(c.append(&StoredPolicy {
                not_found_quarantine: quarantine,
                exposures_max: exposures,
                settle_on: settle,
                status_query: query,
            })?),
        };
        self.policies.push((terms, id));
        Ok(id)
    }

    /// Lets the mark follow what is appended to a batch from now on.
    pub(in crate::journal) fn mark(&mut self, batch_id: BatchId) {
        self.marking.entry(batch_id).or_default();
    }

    /// Takes out how far the batches have come that the mark follows.
    pub(in crate::journal) fn take_marked(&mut self) -> Vec<Position> {
        let marking = std::mem::take(&mut self.marking);
        marking.into_values().flatten().collect()
    }

    /// Returns the number of a text that the gateway said.
    pub(in crate::journal) fn phrase(
        &mut self,
        c: &dyn Write,
        text: &str,
    ) -> Result<PhraseId, Error> {
        self.phrases.number(c, text)
    }

    /// Returns kinds, digests and salts of a payment's evidence with a digest that waits to be written.
    pub(in crate::journal) fn waiting_digests(
        &self,
        seq: PaymentId,
    ) -> Vec<(Kind, BodyDigest, Option<Salt>)> {
        let of_payment = self.waiting.iter().filter(|row| row.seq == seq);
        of_payment
            .filter_map(|row| Some((row.kind, row.digest?, row.salt)))
            .collect()
    }

    /// Forgets what an earlier transaction knew: another process may have written since. Phrases never change.
    pub(in crate::journal) fn start(&mut self) {
        self.heads.clear();
        self.newest = None;
        self.waiting.clear();
        self.marking.clear();
    }

    /// Forgets the numbers of policies: another process has written.
    pub(in crate::journal) fn forget_policies(&mut self) {
        self.policies.clear();
    }

    /// Writes what waits, and the heads that moved. Without it nothing that was appended may be committed.
    pub(in crate::journal) fn save(&mut self, c: &dyn Write) -> Result<(), Error> {
        self.flush(c)?;
        for (batch_id, head) in self.heads.iter_mut().filter(|(_, head)| head.moved) {
            let moved = MovedHead {
                length: head.length,
                head: head.hash,
            };
            c.change(&Scan::of(&chain::TABLE).at(batch_id), &moved)?;
            head.moved = false;
        }
        Ok(())
    }
}

shape! {
    /// The head of a chain, as it is stored.
    struct StoredHead of chain { batch_id: BatchId, length: i64, head: Digest }
}
shape! {
    struct MovedHead of chain { length: i64, head: Digest }
}
shape! {
    struct StoredPolicy of policy { not_found_quarantine: i64, exposures_max: i64, settle_on: i64, status_query: i64 }
}

pub(in crate::journal) fn head(c: &dyn Read, batch_id: BatchId) -> Result<ChainHead, Error> {
    let found: Option<MovedHead> = c.first(&Scan::of(&chain::TABLE).at(&batch_id))?;
    let found =
        found.ok_or_else(|| corrupt(format!("batch {batch_id} has no chain of evidence")))?;
    Ok(ChainHead {
        // No chain has a length below zero; it must not pass for one above.
        length: found.length.try_into().unwrap_or(u64::MAX),
        hash: found.head,
    })
}
