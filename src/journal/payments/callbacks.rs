//! Callbacks: stored once, applied once, and never at the cost of one that counts.

use super::agreed::{has_ended_unpaid, hastened, judged, note_other, noted};
use super::apply::apply;
use super::generations;
use super::inquiries::is_taken_back;
use super::taken::recognise;
use crate::domain::{BatchId, PaymentId, ResponseDetails};
use crate::journal::codec::catalog::{batch_of, find};
use crate::journal::codec::detail::detail_with;
use crate::journal::codec::events::{NOTED_CALLBACK, OTHER_CALLBACK, event_numbers};
use crate::journal::codec::lives::save_life;
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::chain::{Evidence, Words};
use crate::journal::session::members::Member;
use crate::journal::session::payments::payment;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Heard, IncomingCallback, ReadBy, Received};
use crate::ledger::failure::Mark;
use crate::ledger::pin::READ_AS_DOCUMENT;
use crate::ledger::{Brings, Kept, has_room};
use crate::lifecycle::{Class, Event, Policy, State, StepContext, step};
use crate::store::tables::{batch, evidence, life};
use crate::store::{Reads, Scan, Test, shape};

/// The number of what a callback said.
const CALLBACK: i64 = 8;

shape! {
    /// A row of evidence, as a callback is compared with it.
    struct Kind of evidence { event: i64, class: Option<i64>, code: Option<i32>, digest: Option<[u8; 32]> }
}

/// Returns what is kept of a payment's callbacks, and whether this one is.
fn kept(c: &WriteSession, seq: PaymentId, note: &IncomingCallback) -> Result<(Kept, bool), Error> {
    let (_, class, code) = note.event.map_or((0, None, None), event_numbers);
    let mut stored = (Kept::default(), false);
    let heard = Scan::by(&evidence::evidence_by_payment)
        .at(&seq)
        .only(evidence::digest, Test::Present);
    c.each(&heard, |row: Kind| {
        let (kept, repeat) = &mut stored;
        match row.event {
            CALLBACK => {
                kept.words += 1;
                kept.same |= (row.class, row.code) == (class, code);
            }
            NOTED_CALLBACK | OTHER_CALLBACK => kept.junk += 1,
            _ => return Ok(()),
        }
        *repeat |= row.digest == Some(note.digest);
        Ok::<_, Error>(())
    })?;
    let waiting = c.waiting_digests(seq).into_iter();
    Ok(waiting.fold(stored, |(mut kept, repeat), (kind, digest)| {
        match kind {
            (CALLBACK, was_class, was_code) => {
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
pub(in crate::journal) fn callback(
    c: &WriteSession,
    note: &IncomingCallback,
    moment: StepContext,
    policy: &Policy,
    by: Option<&ReadBy>,
) -> Result<Received, Error> {
    let seq = match c.recent_by(note.id) {
        Some(seq) => seq,
        None => match find(c, note.id)? {
            Some(seq) => seq,
            None => return Ok(Received::Unknown),
        },
    };
    let misread = by.map(|by| misread(c, seq, by)).transpose()?.flatten();
    let unread = misread.map(|why| unread(note, why));
    let note = unread.as_ref().unwrap_or(note);
    let known = c.recent(seq);
    let (kept, is_repeat) = match known.and_then(|known| known.callbacks) {
        Some(0) => (Kept::default(), false),
        _ => kept(c, seq, note)?,
    };
    // Nearly every repeat is of what was paid, or is under way.
    if is_repeat && !known.is_some_and(|known| has_ended_unpaid(known.moved.life.state)) {
        let state = state(c, seq)?;
        if !state.is_some_and(has_ended_unpaid) {
            return Ok(Received::Repeat);
        }
    }
    let Some(mut subject) = payment(c, seq)? else {
        return note_early(c, seq, note, kept, moment);
    };
    let judgement = judged(c, &subject, &note.said)?;
    let differs = judgement.differs.clone();
    let is_doubt = casts_doubt(c, &subject, note, differs.is_some())?;
    if is_repeat && !is_doubt {
        return Ok(Received::Repeat);
    }
    let brings = match (note.event, &differs) {
        _ if is_doubt => Brings::Doubt,
        (Some(event), None) => words(&subject, event, moment, policy),
        _ => Brings::Junk,
    };
    if !has_room(kept, brings) {
        return Ok(Received::TooMany);
    }
    subject.callbacks = Some(i64::from(kept.words + kept.junk) + 1);
    // It is acknowledged, so that it is never said again: an older journal must be known as older by it.
    c.mark(subject.batch_id);
    match (note.event, differs) {
        (Some(event), None) => {
            recognise(c, &mut subject, judgement.is_ours, moment, policy)?;
            let (from, digest) = (subject.moved.from, Some(&note.digest));
            let said = noted(&note.said, &judgement);
            apply(c, &mut subject, event, &said, digest, moment, policy)?;
            if judgement.agrees && subject.moved.heard == Heard::Unnamed {
                subject.moved.heard = Heard::Ours;
            }
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

shape! {
    /// Where a batch was posted, and how its replies are read.
    struct ReadAs of batch { gateway: Option<String>, reading: Option<String> }
}

/// Returns why a listener does not know what a callback about this payment says. How replies are read stays with the batch: what
/// is read in another way, or for another gateway, might end it otherwise.
fn misread(c: &WriteSession, seq: PaymentId, by: &ReadBy) -> Result<Option<&'static str>, Error> {
    let one = batch_of(c, seq)?;
    let of_batch: ReadAs = c
        .first(&Scan::of(&batch::TABLE).at(&one))?
        .ok_or_else(|| corrupt(format!("batch {one} is missing")))?;
    let ReadAs { gateway, reading } = of_batch;
    let Some(gateway) = gateway else {
        // Nothing of it was posted.
        return Ok(None);
    };
    let is_read_so = reading.as_deref().unwrap_or(READ_AS_DOCUMENT) == by.reading;
    Ok(match by.gateway.as_deref() {
        Some(of_listener) if of_listener != gateway => {
            Some("heard by a listener of another gateway, and not read")
        }
        _ if !is_read_so => Some("heard by a listener with another dialect, and not read"),
        _ => None,
    })
}

/// A callback of which is known that it came, and nothing else.
fn unread(note: &IncomingCallback, why: &str) -> IncomingCallback {
    tracing::warn!(why, "a callback is kept unread, and the gateway is asked");
    IncomingCallback {
        id: note.id,
        event: None,
        said: ResponseDetails {
            anomaly: Some(why.to_owned()),
            ..ResponseDetails::default()
        },
        digest: note.digest,
        body: note.body.clone(),
    }
}

/// Returns where a payment stands; `None` when its life has not begun.
fn state(c: &WriteSession, seq: PaymentId) -> Result<Option<State>, Error> {
    Ok(c.value(&Scan::of(&life::TABLE).at(&seq), life::state)?)
}

/// Returns whether a callback is the first since the gateway's last word that makes the end of an unpaid payment doubtful.
// What came before that word says nothing of it, be there as much as may be kept, or the same: else the retry would leave.
fn casts_doubt(
    c: &WriteSession,
    subject: &Subject,
    note: &IncomingCallback,
    differs: bool,
) -> Result<bool, Error> {
    let life = subject.moved.life;
    let mark = match note.event {
        Some(Event::Callback(verdict)) if differs => Mark::Otherwise(verdict.class),
        Some(Event::Callback(verdict)) => Mark::Callback(verdict.class),
        _ => Mark::Unreadable,
    };
    // What the gateway has under an identifier that is somebody else's is not ours, whatever is said of it.
    if !has_ended_unpaid(life.state) || life.taken || !mark.casts_doubt() {
        return Ok(false);
    }
    c.flush()?;
    let seq = subject.moved.seq;
    Ok(!is_taken_back(c, &Member { seq, life })?)
}

fn words(subject: &Subject, event: Event, moment: StepContext, policy: &Policy) -> Brings {
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
    c: &WriteSession,
    subject: &mut Subject,
    note: &IncomingCallback,
    differs: Option<(Event, String)>,
    moment: StepContext,
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
    c: &WriteSession,
    seq: PaymentId,
    note: &IncomingCallback,
    kept: Kept,
    moment: StepContext,
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
    c: &WriteSession,
    batch_id: BatchId,
    seq: PaymentId,
    note: &IncomingCallback,
    kind: crate::journal::evidence::append::Kind,
    why: &str,
    moment: StepContext,
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
