//! The rows of the journal as whoever judges it reads them: past its verbs, and with no word of its own codec but the columns.

use crate::domain::{BatchId, EvidenceId, PayerTransactionId, PaymentId, Timestamp};
use crate::ledger::payer::key;
use crate::ledger::recovery::Order;
use crate::lifecycle::State;
use crate::store::tables::{batch, evidence, identifier, instruction, life, lost_order};
use crate::store::{Read, Reads, Scan, shape};

/// Codes that prove an end, as the interface has them.
pub(in crate::simulation) const PAID: [i32; 2] = [140, 183];
pub(in crate::simulation) const FAILED: [i32; 6] = [141, 180, 106, 110, 120, 231];

/// Kinds of evidence: a reply, an answer, a callback.
const REPLY: i64 = 5;
const ANSWER: i64 = 6;
/// The class of "not found".
const NOT_FOUND: i64 = 7;
const CALLBACK: i64 = 8;
/// A person's words: paid, failed.
const CALLED_PAID: i64 = 9;
const CALLED_FAILED: i64 = 10;
/// A callback that cannot be read.
const NOTED: i64 = 20;
/// Its batch was moved to another account.
const MOVED: i64 = 61;
/// A run has claimed payments together.
const CLAIMED_TOGETHER: i64 = 30;
/// An earlier journal may have posted it.
pub(in crate::simulation) const PRESUMED: i64 = 21;

shape! {
    /// What is to be paid.
    pub(in crate::simulation) struct Instruction of instruction {
        seq: PaymentId, batch_id: BatchId, line: u64, identifier: PayerTransactionId, generation: u32, received_at: Timestamp,
        msisdn: String, amount: Option<i64>,
    }
}
shape! {
    /// Where a payment stands.
    pub(in crate::simulation) struct Life of life {
        seq: PaymentId, batch_id: BatchId, state: State, code: Option<i32>, attempts: u32, posted_at: Option<i64>, exposures: u32,
        known: i64, due_at: i64, queued: bool, replaced_by: Option<PaymentId>,
    }
}
shape! {
    /// What is on record of a payment.
    pub(in crate::simulation) struct Heard of evidence {
        evidence_id: EvidenceId, at: i64, event: i64, class: Option<i64>, code: Option<i32>, digest: Option<Vec<u8>>,
    }
}
shape! {
    /// A batch.
    pub(in crate::simulation) struct Batch of batch { batch_id: BatchId, name: String, account: Option<String> }
}

/// Rows are read from memory, or from a file that was just written.
const READ: &str = "the rows can be read";

impl Heard {
    /// Whether the gateway said one of these codes of it, and was believed.
    pub(in crate::simulation) fn is_word(&self, codes: &[i32]) -> bool {
        self.is_word_at_all() && self.is_about(codes)
    }

    pub(in crate::simulation) fn is_word_at_all(&self) -> bool {
        matches!(self.event, REPLY | ANSWER | CALLBACK)
    }

    fn is_about(&self, codes: &[i32]) -> bool {
        self.code.is_some_and(|code| codes.contains(&code))
    }

    pub(in crate::simulation) fn is_reply(&self) -> bool {
        self.event == REPLY
    }

    /// Whether the gateway, asked about it, did not have it.
    pub(in crate::simulation) fn is_denial(&self) -> bool {
        self.event == ANSWER && self.class == Some(NOT_FOUND)
    }

    /// Whether a person decided it.
    pub(in crate::simulation) fn is_decision(&self) -> bool {
        matches!(self.event, CALLED_PAID | CALLED_FAILED)
    }
}

pub(in crate::simulation) fn seq_of(c: &dyn Read, id: PayerTransactionId) -> Option<PaymentId> {
    c.value(&Scan::of(&identifier::TABLE).at(&id), identifier::seq)
        .expect(READ)
}

pub(in crate::simulation) fn instruction(c: &dyn Read, seq: PaymentId) -> Instruction {
    let found = c.first(&Scan::of(&instruction::TABLE).at(&seq));
    found.expect(READ).expect("a payment has an instruction")
}

/// All of them, in the order of their loading.
pub(in crate::simulation) fn instructions(c: &dyn Read) -> Vec<Instruction> {
    c.list(&Scan::of(&instruction::TABLE)).expect(READ)
}

pub(in crate::simulation) fn life(c: &dyn Read, seq: PaymentId) -> Option<Life> {
    c.first(&Scan::of(&life::TABLE).at(&seq)).expect(READ)
}

/// All of them.
pub(in crate::simulation) fn lives(c: &dyn Read) -> Vec<Life> {
    c.list(&Scan::of(&life::TABLE)).expect(READ)
}

/// Whether a batch of this name was moved to another account, which had shown to be the same one.
pub(in crate::simulation) fn was_moved(c: &dyn Read, name: &str) -> bool {
    let own = batches(c).into_iter().find(|batch| batch.name == name);
    let of_batch = own.map(|own| own.batch_id);
    of_batch.is_some_and(|batch_id| {
        let moves = Scan::by(&evidence::about_batch).at(&MOVED).at(&batch_id);
        c.any(&moves).expect(READ) || is_move_lost(c, name)
    })
}

/// Returns whether an order that is lost has moved a batch, which left payments behind.
fn is_move_lost(c: &dyn Read, name: &str) -> bool {
    let lines: Vec<String> = c
        .values(&Scan::of(&lost_order::TABLE), lost_order::line)
        .expect(READ);
    let orders = lines.iter().filter_map(|line| {
        let line = line.strip_prefix("order ")?;
        Order::read(line.trim_end())
    });
    let mut of_batch = orders.filter(|order| order.batch == key(name));
    of_batch.any(|order| order.left_payments_behind())
}

/// What is on record of a payment, in its order.
pub(in crate::simulation) fn heard(c: &dyn Read, seq: PaymentId) -> Vec<Heard> {
    c.list(&Scan::by(&evidence::evidence_by_payment).at(&seq))
        .expect(READ)
}

pub(in crate::simulation) fn batches(c: &dyn Read) -> Vec<Batch> {
    c.list(&Scan::of(&batch::TABLE)).expect(READ)
}

pub(in crate::simulation) fn batch(c: &dyn Read, batch_id: BatchId) -> Batch {
    let found = c.first(&Scan::of(&batch::TABLE).at(&batch_id));
    found.expect(READ).expect("a payment has a batch")
}

/// Returns whether a journal knows with which quarantine a run has claimed payments.
pub(in crate::simulation) fn knows_a_quarantine(c: &dyn Read) -> bool {
    let claims = Scan::by(&evidence::about_batch).at(&CLAIMED_TOGETHER);
    c.any(&claims).expect(READ)
}

/// Returns whether a row is not over with a payment: it has not failed, or whoever said so has spoken of it otherwise since.
// The gateway's "failed", asked for afterwards, or a person's word gives it again; "not found" may be what has ended it.
pub(in crate::simulation) fn is_not_over(c: &dyn Read, life: &Life) -> bool {
    const TAKEN_BACK: [i32; 4] = [139, 148, 140, 183];
    const GIVEN_AGAIN: [i32; 8] = [141, 143, 174, 180, 106, 110, 120, 231];
    match life.state {
        State::Failed if life.known == 2 => return false,
        State::Failed => {}
        State::Cancelled => return false,
        _ => return true,
    }
    let heard = heard(c, life.seq);
    let failed = |row: &&Heard| row.event == CALLED_FAILED || row.is_word(&FAILED);
    let Some(first) = heard.iter().find(failed) else {
        return false;
    };
    let casts_doubt = |row: &Heard| match row.event {
        NOTED => true,
        REPLY | ANSWER | CALLBACK | 70..=72 => row.is_about(&TAKEN_BACK),
        _ => false,
    };
    let last = heard.iter().rev().find(|row| casts_doubt(row));
    let Some(last) = last.filter(|last| last.evidence_id > first.evidence_id) else {
        return false;
    };
    !heard.iter().any(|row| {
        row.evidence_id > last.evidence_id
            && (row.event == CALLED_FAILED || row.event == ANSWER && row.is_about(&GIVEN_AGAIN))
    })
}
