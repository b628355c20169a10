//! Callbacks: stored once, applied once, and never at the cost of one that counts.

use rusqlite::params;

use super::agreed::{hastened, judged, note_other};
use super::chain::{Chained, Evidence, Words};
use super::evidence::{Subject, apply, batch_of, detail_with, find, payment};
use super::generations;
use super::row::{NOTED_CALLBACK, OTHER_CALLBACK, event_numbers, save_life};
use super::taken::recognise;
use crate::journal::{CallbackNote, Error, Heard, Received};
use crate::ledger::{Brings, Kept, has_room};
use crate::lifecycle::{Class, Event, Moment, Policy, step};

/// The callbacks of payment ?1 that are stored: words, junk, words of this class and code, and those with digest ?4.
// The index is named: statistics of a journal that was only just loaded say that there is next to no evidence, and that
// reading all of it is as good.
pub(super) const STORED_CALLBACKS: &str = "select count(*) filter (where event = 8), count(*) filter (where event <> 8),
         count(*) filter (where event = 8 and class is ?2 and code is ?3), count(*) filter (where digest = ?4)
     from evidence indexed by evidence_by_payment where seq = ?1 and event in (8, ?5, ?6) and digest is not null";

/// Returns what is kept of a payment's callbacks, and whether this one is.
fn kept(c: &Chained, seq: i64, note: &CallbackNote) -> Result<(Kept, bool), Error> {
    let (_, class, code) = note.event.map_or((0, None, None), event_numbers);
    let stored = c.prepare_cached(STORED_CALLBACKS)?.query_row(
        params![
            seq,
            class,
            code,
            &note.digest[..],
            NOTED_CALLBACK,
            OTHER_CALLBACK
        ],
        |row| {
            let kept = Kept {
                words: row.get(0)?,
                junk: row.get(1)?,
                same: row.get::<_, i64>(2)? > 0,
            };
            Ok((kept, row.get::<_, i64>(3)? > 0))
        },
    )?;
    let waiting = c.waiting_digests(seq).into_iter();
    Ok(waiting.fold(stored, |(mut kept, repeat), (kind, digest)| {
        match kind {
            (8, was_class, was_code) => {
                kept.words += 1;
                kept.same |= (was_class, was_code) == (class, code);
            }
            (NOTED_CALLBACK | OTHER_CALLBACK, ..) => kept.junk += 1,
            _ => return (kept, repeat),
        }
        (kept, repeat || digest == note.digest)
    }))
}

/// Stores a callback and applies it.
pub(super) fn callback(
    c: &Chained,
    note: &CallbackNote,
    moment: Moment,
    policy: &Policy,
) -> Result<Received, Error> {
    let seq = match c.recent_by(note.id) {
        Some(seq) => seq,
        None => match find(c, note.id)? {
            Some(seq) => seq,
            None => return Ok(Received::Unknown),
        },
    };
    let known = c.recent(seq);
    let kept = match known.and_then(|known| known.callbacks) {
        Some(0) => Kept::default(),
        _ => match kept(c, seq, note)? {
            (_, true) => return Ok(Received::Repeat),
            (kept, false) => kept,
        },
    };
    let Some(mut subject) = payment(c, seq)? else {
        return note_early(c, seq, note, kept, moment);
    };
    let judgement = judged(c, &subject, &note.said)?;
    let brings = match (note.event, &judgement.differs) {
        (Some(event), None) => words(&subject, event, moment, policy),
        _ => Brings::Junk,
    };
    if !has_room(kept, brings) {
        return Ok(Received::TooMany);
    }
    subject.callbacks = Some(i64::from(kept.words + kept.junk) + 1);
    // It is acknowledged, so that it is never said again: an older journal must be known as older by it.
    c.mark(subject.batch_id);
    match (note.event, judgement.differs) {
        (Some(event), None) => {
            recognise(c, &mut subject, judgement.is_ours, moment, policy)?;
            let (from, digest) = (subject.moved.from, Some(&note.digest));
            apply(c, &mut subject, event, &note.said, digest, moment, policy)?;
            c.moved(&subject, from)?;
            generations::settle(c, &mut subject, moment, Some(policy))?;
        }
        (event, differs) => {
            set_aside(c, &mut subject, note, event.zip(differs), moment, policy)?;
            // Whoever called may know more of an earlier payment than its "failed".
            generations::settle(c, &mut subject, moment, Some(policy))?;
        }
    }
    Ok(Received::Stored(Some(subject.moved)))
}

fn words(subject: &Subject, event: Event, moment: Moment, policy: &Policy) -> Brings {
    let life = &subject.moved.life;
    let is_final = match event {
        Event::Callback(verdict) => matches!(verdict.class, Class::Paid | Class::Failed),
        _ => false,
    };
    Brings::Words {
        is_final,
        moves: step(life, event, moment, policy).life.state != life.state,
    }
}

/// Keeps a callback that is not applied, and asks the gateway soon: whoever called had something to say.
fn set_aside(
    c: &Chained,
    subject: &mut Subject,
    note: &CallbackNote,
    differs: Option<(Event, String)>,
    moment: Moment,
    policy: &Policy,
) -> Result<(), Error> {
    let before = subject.moved.life;
    subject.moved.life = hastened(before, moment, policy);
    if subject.moved.life != before {
        save_life(c, subject.moved.seq, &subject.moved.life, true)?;
    }
    let Some((event, differs)) = differs else {
        c.remember(subject);
        let why = note.said.anomaly.as_deref();
        let why = why.unwrap_or("not a callback about this payment");
        let kind = (NOTED_CALLBACK, None, None);
        return append(
            c,
            subject.batch_id,
            subject.moved.seq,
            note,
            kind,
            why,
            moment,
        );
    };
    subject.moved.heard = Heard::Other;
    c.remember(subject);
    let (_, class, code) = event_numbers(event);
    let code_text = code.map_or_else(String::new, |code| format!("{code}, "));
    let why = format!("not believed: {code_text}it names {differs}");
    note_other(c, subject, &why)?;
    let kind = (OTHER_CALLBACK, class, code);
    append(
        c,
        subject.batch_id,
        subject.moved.seq,
        note,
        kind,
        &why,
        moment,
    )
}

/// Keeps a callback about a row without an amount.
// It was never posted from here: another journal may have done so. Once the row has its amount, it is asked about first.
fn note_early(
    c: &Chained,
    seq: i64,
    note: &CallbackNote,
    kept: Kept,
    moment: Moment,
) -> Result<Received, Error> {
    let brings = match note.event {
        // All that is kept of such a row is kept as this is.
        Some(_) => (
            Kept {
                words: kept.junk,
                same: true,
                ..kept
            },
            Brings::Words {
                is_final: false,
                moves: false,
            },
        ),
        None => (kept, Brings::Junk),
    };
    if !has_room(brings.0, brings.1) {
        return Ok(Received::TooMany);
    }
    let (batch_id, kind) = (batch_of(c, seq)?, (NOTED_CALLBACK, None, None));
    let why = "the row has no amount";
    append(c, batch_id, seq, note, kind, why, moment)?;
    Ok(Received::Stored(None))
}

fn append(
    c: &Chained,
    batch_id: i64,
    seq: i64,
    note: &CallbackNote,
    kind: super::chain::Kind,
    why: &str,
    moment: Moment,
) -> Result<(), Error> {
    c.append(&Evidence {
        batch_id,
        seq,
        at: moment.now,
        kind,
        anomaly: Some(why),
        digest: Some(&note.digest),
        detail: detail_with(&note.said, note.body.as_deref()).as_deref(),
        words: Words::of(&note.said),
        policy: None,
    })
}
