//! Payments that are due to be asked about.

use std::ops::ControlFlow;

use super::question::{question, question_about};
use super::rest::{What, disturb};
use super::restart::ASKED_ABOUT;
use crate::domain::{BatchId, PaymentId, Timestamp};
use crate::journal::session::expected::{expect, in_turn};
use crate::journal::session::fence::assert_current;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Question, RunToken};
use crate::store::tables::{inquiry, life};
use crate::store::{Read, Reads, Scan, Writes, shape};

shape! {
    /// A payment that is to be asked about.
    struct DueQuestion of life { due_at: i64, seq: PaymentId, gateway_transaction_id: Option<String> }
}

/// Returns payments that are to be asked about by now, the oldest first.
// The index has them by state, so that the doubts are found among them: the first of each are merged.
fn due_questions(
    c: &WriteSession,
    batch_id: BatchId,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<Question>, Error> {
    let mut due: Vec<DueQuestion> = Vec::new();
    for state in ASKED_ABOUT {
        let by_now = Scan::by(&life::ask_queue)
            .at(&batch_id)
            .at(&state)
            .up_to(&now);
        due.extend(c.list(&by_now.limit(limit))?);
    }
    due.sort_unstable_by_key(|due| (due.due_at, due.seq));
    due.truncate(limit);
    expect(c, due.iter().map(|due| due.seq))?;
    let seqs: Vec<PaymentId> = due.iter().map(|due| due.seq).collect();
    let mut questions = Vec::with_capacity(due.len());
    for (due, turn) in due.into_iter().zip(in_turn(&**c, &seqs)) {
        turn?;
        questions.extend(question(&**c, due.seq, due.gateway_transaction_id)?);
    }
    Ok(questions)
}

/// Adds payments that have ended, and are asked about all the same, up to `limit` questions.
fn add_inquiries(
    c: &dyn Read,
    batch_id: BatchId,
    limit: usize,
    now: Timestamp,
    questions: &mut Vec<Question>,
) -> Result<(), Error> {
    if questions.len() >= limit {
        return Ok(());
    }
    let by_now = Scan::by(&inquiry::inquiry_queue).at(&batch_id).up_to(&now);
    c.each_row(&by_now, &[inquiry::seq], |row| {
        questions.extend(question_about(c, row.get(0)?)?);
        Ok::<_, Error>(match questions.len() < limit {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })
}

/// Returns payments that are due to be asked about, and puts them off while they are.
pub(in crate::journal) fn questions(
    c: &WriteSession,
    token: RunToken,
    limit: usize,
    now: Timestamp,
    lease: Timestamp,
) -> Result<Vec<Question>, Error> {
    assert_current(c, token)?;
    let joined = c.waits(token.batch_id, |waits| waits.join(c, now));
    if joined.transpose()? == Some(true) {
        c.forget_recent();
    }
    let mut questions = due_questions(c, token.batch_id, limit, now)?;
    let asked = questions.len();
    add_inquiries(c, token.batch_id, limit, now, &mut questions)?;
    if !questions.is_empty() {
        disturb(c, token.batch_id, What::Questions)?;
    }
    for question in &questions[asked..] {
        let own = Scan::of(&inquiry::TABLE).at(&question.seq);
        c.set(&own, inquiry::due_at, &lease)?;
    }
    for question in &questions[..asked] {
        let own = Scan::of(&life::TABLE).at(&question.seq);
        c.set(&own, life::due_at, &lease)?;
        c.change_recent(question.seq, |subject| {
            subject.moved.life.due_at = Some(lease);
        });
    }
    for question in &mut questions {
        question.until = lease;
    }
    Ok(questions)
}
