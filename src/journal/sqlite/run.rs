//! The verbs of a run: take the batch, claim, ask, hold lanes.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};

use super::NEVER;
use super::chain::Chained;
use super::evidence::{Subject, apply, claim_one, subject};
use super::fresh::{claim_fresh, has_fresh};
use super::rest::{disturb, resting};
use super::restart::{doubt_anew, restart_waits};
use super::row::{
    LIFE_COLUMNS, PAYMENT_COLUMNS, PAYMENT_WIDTH, batch_id, corrupt, identifier_of, life_of,
    payment_of, service_of, stamp,
};
use super::seal;
use super::upload::DOCUMENT_IS_THERE;
use super::waits::Waits;
use crate::domain::{BatchName, Said, Timestamp};
use crate::journal::{Acquired, Claim, Due, Error, Lane, Moved, Question, RunTerms, RunToken};
use crate::lifecycle::{Event, Moment, Policy, State};

/// Takes a batch for a run.
pub(super) fn acquire(
    c: &Chained,
    batch: &BatchName,
    terms: &RunTerms,
    policy: &Policy,
) -> Result<Acquired, Error> {
    let (batch_id, last_claim_at) = pin(c, batch, &terms.gateway, &terms.wire, terms.now)?;
    c.execute(
        "insert into meta (key, value) values ('epoch', 1) on conflict do update set value = value + 1",
        [],
    )?;
    let token = RunToken {
        batch_id,
        epoch: epoch(c)?,
    };
    #[cfg(test)]
    super::inline::acquiring();
    #[cfg(test)]
    if crate::canary::Canary::WaitsOutliveTheClock.sings() {
        c.begin_waits(batch_id, Waits::begin(c, batch_id, terms)?);
        return Ok(Acquired {
            token,
            last_claim_at: stamp(last_claim_at),
            resting: resting(c, batch_id)?,
            abandoned: abandon(c, batch_id, terms.now, policy)?,
            held: held_lanes(c, batch_id)?,
        });
    }
    doubt_anew(c, batch_id, terms.now, policy)?;
    let abandoned = abandon(c, batch_id, terms.now, policy)?;
    restart_waits(c, batch_id, terms)?;
    c.begin_waits(batch_id, Waits::begin(c, batch_id, terms)?);
    Ok(Acquired {
        token,
        last_claim_at: stamp(last_claim_at),
        resting: resting(c, batch_id)?,
        abandoned,
        held: held_lanes(c, batch_id)?,
    })
}

/// Ties a batch to its gateway and to the settings that shape the bytes of a post; returns its number and its last claim.
pub(super) fn pin(
    c: &Chained,
    batch: &BatchName,
    gateway: &str,
    wire: &str,
    now: Timestamp,
) -> Result<(i64, Option<i64>), Error> {
    let found = c
        .query_row(
            "select batch_id, gateway, wire, last_claim_at from batch where name = ?1",
            [batch.as_str()],
            |row| {
                let pinned: (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
                Ok((row.get::<_, i64>(0)?, pinned, row.get::<_, Option<i64>>(3)?))
            },
        )
        .optional()?;
    let Some((batch_id, (pinned_gateway, pinned_wire), last_claim_at)) = found else {
        return Err(Error::UnknownBatch {
            name: batch.to_string(),
        });
    };
    let is_pinned = pinned_gateway.is_some() && pinned_wire.is_some();
    if let Some(pinned) = pinned_gateway.filter(|pinned| *pinned != *gateway) {
        return Err(Error::OtherGateway {
            batch: batch.clone(),
            pinned,
            configured: gateway.to_owned(),
        });
    }
    if let Some(pinned) = pinned_wire.filter(|pinned| *pinned != *wire) {
        return Err(Error::OtherWire {
            batch: batch.clone(),
            pinned,
            configured: wire.to_owned(),
        });
    }
    c.execute(
        "update batch set gateway = ?2, wire = ?3 where batch_id = ?1",
        params![batch_id, gateway, wire],
    )?;
    if !is_pinned {
        c.with(|c, chain| seal::pin(c, chain, batch_id, now))?;
    }
    Ok((batch_id, last_claim_at))
}

fn epoch(c: &Connection) -> Result<i64, Error> {
    Ok(
        c.prepare_cached("select value from meta where key = 'epoch'")?
            .query_row([], |row| row.get(0))?,
    )
}

/// Refuses a run that another one has taken over from.
pub(super) fn assert_current(c: &Connection, token: RunToken) -> Result<(), Error> {
    #[cfg(test)]
    if crate::canary::Canary::FenceIgnored.sings() {
        return Ok(());
    }
    if epoch(c)? == token.epoch {
        Ok(())
    } else {
        Err(Error::Fenced)
    }
}

/// Turns intents without an outcome into doubts: their bytes may have left.
// Found by a look at every life: few payments are under way at a time, and only a run that broke off leaves some.
pub(super) fn abandon(
    c: &Chained,
    batch_id: i64,
    now: Timestamp,
    policy: &Policy,
) -> Result<u64, Error> {
    c.write_tallies()?;
    let some: bool = c
        .prepare_cached(
            "select exists (select 1 from tally where batch_id = ?1 and state = 1 and count > 0)",
        )?
        .query_row([batch_id], |row| row.get(0))?;
    if !some {
        return Ok(0);
    }
    let seqs: Vec<i64> = c
        .prepare("select seq from life not indexed where batch_id = ?1 and state = 1 order by seq")?
        .query_map([batch_id], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for seq in &seqs {
        let mut subject = subject(c, *seq)?;
        let moment = Moment { now, jitter: 0 };
        apply(
            c,
            &mut subject,
            Event::Abandoned,
            &Said::default(),
            None,
            moment,
            policy,
        )?;
        c.moved(&subject, State::Posting);
    }
    Ok(seqs.len() as u64)
}

fn held_lanes(c: &Connection, batch_id: i64) -> Result<Vec<Lane>, Error> {
    let mut statement = c.prepare_cached(
        "select service_id, code from held_lane join service using (service_id) where batch_id = ?1 order by code",
    )?;
    let mut rows = statement.query([batch_id])?;
    let mut lanes = Vec::new();
    while let Some(row) = rows.next()? {
        lanes.push(Lane {
            id: row.get(0)?,
            service: service_of(&row.get::<_, String>(1)?)?,
        });
    }
    Ok(lanes)
}

/// Lanes of a batch that are not held and have something ready.
fn open_lanes(c: &Chained, batch_id: i64) -> Result<Vec<i64>, Error> {
    c.write_tallies()?;
    let mut statement = c.prepare_cached(
        "select distinct service_id from tally t where batch_id = ?1 and state = 0 and count > 0
         and not exists (select 1 from held_lane h where h.batch_id = ?1 and h.service_id = t.service_id)",
    )?;
    let lanes = statement
        .query_map([batch_id], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(lanes)
}

/// Records the intent to post a block of payments.
pub(super) fn claim(
    c: &Chained,
    token: RunToken,
    limit: usize,
    now: Timestamp,
    policy: &Policy,
) -> Result<Vec<Claim>, Error> {
    assert_current(c, token)?;
    let mut claims = Vec::with_capacity(limit);
    let lanes = open_lanes(c, token.batch_id)?;
    for (index, lane) in lanes.iter().enumerate() {
        // Every lane gets its share of the block; what one leaves, the next may take.
        let share = (limit - claims.len()).div_ceil(lanes.len() - index);
        let lane = (token.batch_id, *lane);
        let before = claims.len();
        claim_lane(c, lane, share, now, policy, &mut claims)?;
        let share = share - (claims.len() - before);
        if share > 0 {
            claim_fresh(c, lane, share, now, policy, &mut claims)?;
        }
    }
    if !claims.is_empty() {
        disturb(c, token.batch_id)?;
        c.prepare_cached("update batch set last_claim_at = ?2 where batch_id = ?1")?
            .execute(params![token.batch_id, now.as_millis()])?;
    }
    Ok(claims)
}

/// Payments of lane ?2 that may be posted by ?3, the oldest first, and what of their documents is to be named.
pub(super) fn due_in_lane() -> String {
    format!(
        "select {PAYMENT_COLUMNS}, {LIFE_COLUMNS}, seq, (select u.reference from upload u where u.seq = l.seq)
         from life l indexed by post_queue cross join instruction i using (seq) join service s on s.service_id = i.service_id
         where l.batch_id = ?1 and l.service_id = ?2 and l.state = 0 and l.due_at <= ?3 and {DOCUMENT_IS_THERE}
         order by l.due_at, seq limit ?4"
    )
}

/// When the next payment of lane ?2 may be posted, before ?3.
pub(super) fn next_in_lane() -> String {
    format!(
        "select l.due_at from life l indexed by post_queue cross join instruction i using (seq)
         where l.batch_id = ?1 and l.service_id = ?2 and l.state = 0 and l.due_at < ?3 and {DOCUMENT_IS_THERE}
         order by l.due_at, seq limit 1"
    )
}

/// Records the intent to post payments whose life has begun: what was posted before, or waited for its document or its bill.
fn claim_lane(
    c: &Chained,
    (batch_id, lane): (i64, i64),
    share: usize,
    now: Timestamp,
    policy: &Policy,
    claims: &mut Vec<Claim>,
) -> Result<(), Error> {
    let sql = due_in_lane();
    #[cfg(test)]
    let sql = if crate::canary::Canary::DocumentForgotten.sings() {
        sql.replace(DOCUMENT_IS_THERE, "true")
    } else {
        sql
    };
    let mut statement = c.prepare_cached(&sql)?;
    let mut rows = statement.query(params![
        batch_id,
        lane,
        now.as_millis(),
        i64::try_from(share).unwrap_or(i64::MAX)
    ])?;
    // The index is read to the end before the claims below change it.
    let mut found = Vec::with_capacity(share);
    while let Some(row) = rows.next()? {
        let payment = payment_of(row, 0)?;
        let life = life_of(row, PAYMENT_WIDTH)?;
        let (seq, document): (i64, Option<String>) =
            (row.get(PAYMENT_WIDTH + 10)?, row.get(PAYMENT_WIDTH + 11)?);
        found.push((seq, payment, life, document));
    }
    drop(rows);
    for (seq, payment, life, support_document) in found {
        let money = payment.instruction.money;
        let mut subject = Subject {
            batch_id,
            replaced: false,
            callbacks: None,
            moved: Moved {
                seq,
                lane,
                from: State::Ready,
                life,
                money,
            },
        };
        #[cfg(test)]
        let payment = super::mistakes::mistaken(payment, &life);
        #[cfg(test)]
        let support_document = support_document.map(|reference| {
            let other = life.attempts > 0 && crate::canary::Canary::OtherDocumentOnRepost.sings();
            reference + if other { "-2" } else { "" }
        });
        #[cfg(test)]
        if crate::canary::Canary::ClaimWithoutIntent.sings() {
            c.prepare_cached("update life set due_at = ?2 where seq = ?1")?
                .execute(params![seq, now.as_millis() + 500])?;
            claims.push(Claim {
                seq,
                lane,
                payment: Arc::new(payment),
                support_document: None,
                repeat: false,
            });
            continue;
        }
        if claim_one(c, &mut subject, Moment { now, jitter: 0 }, policy)? {
            c.moved(&subject, State::Ready);
            claims.push(Claim {
                seq,
                lane,
                payment: Arc::new(payment),
                support_document,
                repeat: life.is_exposed(),
            });
        }
    }
    Ok(())
}

/// Returns which of these claims still wait to be posted: evidence from elsewhere may have settled the others.
pub(super) fn still_posting(
    c: &Connection,
    token: RunToken,
    seqs: &[i64],
) -> Result<Vec<i64>, Error> {
    assert_current(c, token)?;
    let mut statement =
        c.prepare_cached("select exists (select 1 from life where seq = ?1 and state = 1)")?;
    let mut still = Vec::with_capacity(seqs.len());
    for seq in seqs {
        if statement.query_row([seq], |row| row.get(0))? {
            still.push(*seq);
        }
    }
    Ok(still)
}

/// States that are asked about: in doubt, acknowledged, delivered.
pub(super) const ASKED_ABOUT: [i64; 3] = [2, 3, 4];

/// Payments that are to be asked about by ?2, the oldest first; no more than ?3.
// The index has them by state, so that the doubts are found among them: the first of each are merged. It is taken only
// where its own condition is repeated.
pub(super) fn due_questions() -> String {
    let of_state = |state| {
        format!(
            "select * from (select seq, due_at, gateway_transaction_id from life indexed by ask_queue
                 where batch_id = ?1 and state = {state} and state >= 2 and state <= 4 and queued = 1 and due_at <= ?2 order by due_at, seq limit ?3)"
        )
    };
    format!(
        "select seq, i.identifier, d.gateway_transaction_id from ({}) d cross join instruction i using (seq)
         order by d.due_at, seq limit ?3",
        ASKED_ABOUT.map(of_state).join(" union all ")
    )
}

/// When the next payment of state ?2 is to be asked about, before ?3.
pub(super) const NEXT_QUESTION: &str = "select min(due_at) from life indexed by ask_queue
     where batch_id = ?1 and state = ?2 and state >= 2 and state <= 4 and queued = 1 and due_at < ?3";

/// Returns payments that are due to be asked about, and puts them off while they are.
pub(super) fn questions(
    c: &Chained,
    token: RunToken,
    limit: usize,
    now: Timestamp,
    lease: Timestamp,
) -> Result<Vec<Question>, Error> {
    assert_current(c, token)?;
    c.waits(token.batch_id, |waits| waits.join(c, now))
        .transpose()?;
    let mut statement = c.prepare_cached(&due_questions())?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![token.batch_id, now.as_millis(), limit])?;
    let mut questions = Vec::new();
    while let Some(row) = rows.next()? {
        let identifier = row
            .get_ref(1)?
            .as_str()
            .map_err(|_| corrupt("an identifier"))?;
        questions.push(Question {
            seq: row.get(0)?,
            id: identifier_of(identifier)?,
            gateway_transaction_id: row.get(2)?,
        });
    }
    let mut put_off = c.prepare_cached("update life set due_at = ?2 where seq = ?1")?;
    for question in &questions {
        put_off.execute(params![question.seq, lease.as_millis()])?;
        c.change_recent(question.seq, |subject| {
            subject.moved.life.due_at = Some(lease);
        });
    }
    Ok(questions)
}

/// Returns when the next post and the next question are due.
pub(super) fn due(c: &Chained, token: RunToken) -> Result<Due, Error> {
    let mut earliest_post = c.prepare_cached(&next_in_lane())?;
    // Asked only where nothing may be posted, so that the first row it meets decides.
    let mut waits = c.prepare_cached(
        "select exists (select 1 from life indexed by post_queue
         where batch_id = ?1 and service_id = ?2 and state = 0 and due_at < ?3)",
    )?;
    let (mut post, mut document) = (None, false);
    for lane in open_lanes(c, token.batch_id)? {
        let found: Option<i64> = match has_fresh(c, token.batch_id, lane)? {
            true => Some(0),
            false => earliest_post
                .query_row([token.batch_id, lane, NEVER], |row| row.get(0))
                .optional()?,
        };
        if found.is_none() {
            document |=
                waits.query_row([token.batch_id, lane, NEVER], |row| row.get::<_, bool>(0))?;
        }
        post = [post, found].into_iter().flatten().min();
    }
    let mut ask = c.waits(token.batch_id, |waits| waits.next()).flatten();
    let mut next_question = c.prepare_cached(NEXT_QUESTION)?;
    for state in ASKED_ABOUT {
        let found: Option<i64> =
            next_question.query_row(params![token.batch_id, state, NEVER], |row| row.get(0))?;
        ask = [ask, found].into_iter().flatten().min();
    }
    Ok(Due {
        post: stamp(post),
        ask: stamp(ask),
        document,
    })
}

/// Holds a lane for want of float.
pub(super) fn hold_lane(
    c: &Connection,
    token: RunToken,
    lane: i64,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    assert_current(c, token)?;
    c.execute(
        "insert into held_lane (batch_id, service_id, held_at, reason) values (?1, ?2, ?3, ?4) on conflict do nothing",
        params![token.batch_id, lane, now.as_millis(), reason],
    )?;
    Ok(())
}

/// Opens a held lane.
pub(super) fn reopen_lane(c: &Connection, token: RunToken, lane: i64) -> Result<(), Error> {
    assert_current(c, token)?;
    c.execute(
        "delete from held_lane where batch_id = ?1 and service_id = ?2",
        params![token.batch_id, lane],
    )?;
    Ok(())
}

/// Returns the key of the callback addresses.
pub(super) fn callback_key(c: &Connection) -> Result<Vec<u8>, Error> {
    // SQLite's generator is seeded by the operating system.
    c.execute(
        "insert into meta (key, value) values ('callback_key', randomblob(32)) on conflict do nothing",
        [],
    )?;
    Ok(c.query_row(
        "select value from meta where key = 'callback_key'",
        [],
        |row| row.get(0),
    )?)
}

/// Returns the number of a batch, or that there is none.
pub(super) fn known_batch(c: &Connection, batch: &BatchName) -> Result<i64, Error> {
    batch_id(c, batch.as_str())?.ok_or_else(|| Error::UnknownBatch {
        name: batch.to_string(),
    })
}
