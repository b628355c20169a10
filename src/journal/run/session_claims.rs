//! What the sessions of runs have claimed: so that what one of them leaves behind is found, and nothing of another.
//!
//! A payment is claimed for the first time once, with others of its lane, and is in the range of one row; whatever is claimed again,
//! or by itself, has a row of its own, which names the session that did so last.

use crate::domain::{BatchId, Epoch, EvidenceId, LaneId, PaymentId};
use crate::journal::session::expected::in_turn;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Claim, Error, RunToken};
use crate::lifecycle::State;
use crate::store::tables::{claim, claimed, life};
use crate::store::{Read, Reads, Scan, Test, Write, Writes, shape};

/// So many ranges of a session are looked at with each claim, whether all of them has an outcome.
const LOOKED_AT: usize = 4;

shape! {
    struct Range of claim { claim_id: EvidenceId, session_id: Epoch, batch_id: BatchId, service_id: LaneId, first: PaymentId, last: PaymentId }
}
shape! {
    struct Single of claimed { seq: PaymentId, session_id: Epoch }
}

/// Notes what a run has claimed of a lane: payments by themselves, and others together for the first time.
pub(in crate::journal) fn note(
    c: &WriteSession,
    token: RunToken,
    lane: LaneId,
    (singles, together): (&[Claim], &[Claim]),
) -> Result<(), Error> {
    if !c.is_shared() {
        return Ok(());
    }
    for one in singles {
        c.put(&Single {
            seq: one.seq,
            session_id: token.epoch,
        })?;
    }
    let seqs = || together.iter().map(|claim| claim.seq);
    if let Some((first, last)) = seqs().min().zip(seqs().max()) {
        let range = Range {
            // A row of evidence says of them that they were claimed together.
            claim_id: c.newest_evidence()?,
            session_id: token.epoch,
            batch_id: token.batch_id,
            service_id: lane,
            first,
            last,
        };
        c.insert(&range)?;
    }
    Ok(())
}

/// Forgets the oldest ranges of a session of which every payment has an outcome.
pub(in crate::journal) fn forget_done(c: &WriteSession, token: RunToken) -> Result<(), Error> {
    if !c.is_shared() {
        return Ok(());
    }
    let oldest = Scan::by(&claim::claim_by_session)
        .at(&token.epoch)
        .limit(LOOKED_AT);
    let oldest: Vec<Range> = c.list(&oldest)?;
    c.expect(&oldest.iter().map(first_under_way).collect::<Vec<_>>())?;
    for range in &oldest {
        if !c.any(&first_under_way(range))? {
            c.remove(&Scan::of(&claim::TABLE).at(&range.claim_id))?;
        }
    }
    Ok(())
}

fn under_way(range: &Range) -> Scan<'_> {
    Scan::of(&life::TABLE)
        .from(&range.first)
        .up_to(&range.last)
        .only(life::batch_id, Test::is(&range.batch_id))
        .only(life::service_id, Test::is(&range.service_id))
        .only(life::state, Test::is(&State::Posting))
}

fn first_under_way(range: &Range) -> Scan<'_> {
    under_way(range).limit(1)
}

/// Returns the payments that a session has claimed, and of which no outcome is recorded.
pub(in crate::journal) fn claimed_by(
    c: &dyn Read,
    session_id: Epoch,
) -> Result<Vec<PaymentId>, Error> {
    let ranges = Scan::by(&claim::claim_by_session).at(&session_id);
    let ranges: Vec<Range> = c.list(&ranges)?;
    let mut found = Vec::new();
    for range in &ranges {
        let seqs: Vec<PaymentId> = c.values(&under_way(range), life::seq)?;
        for seq in in_turn(c, &seqs) {
            let seq = seq?;
            // Whoever claimed it again has it by itself.
            if !c.any(&Scan::of(&claimed::TABLE).at(&seq))? {
                found.push(seq);
            }
        }
    }
    let singles = Scan::by(&claimed::claimed_by_session).at(&session_id);
    let singles: Vec<PaymentId> = c.values(&singles, claimed::seq)?;
    for seq in in_turn(c, &singles) {
        let seq = seq?;
        let own = Scan::of(&life::TABLE)
            .at(&seq)
            .only(life::state, Test::is(&State::Posting));
        if c.any(&own)? {
            found.push(seq);
        }
    }
    Ok(found)
}

/// Forgets what a session has claimed.
pub(in crate::journal) fn forget_claims(c: &dyn Write, session_id: Epoch) -> Result<(), Error> {
    c.remove(&Scan::by(&claim::claim_by_session).at(&session_id))?;
    c.remove(&Scan::by(&claimed::claimed_by_session).at(&session_id))?;
    Ok(())
}
