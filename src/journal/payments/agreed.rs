//! What the gateway names of a payment, held against its instruction.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::domain::{BatchId, Country, Msisdn, PaymentId, ResponseDetails};
use crate::journal::codec::detail::detail_of;
use crate::journal::codec::events::{OTHER_ANSWER, OTHER_REPLY, event_numbers};
use crate::journal::codec::lives::save_life;
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::chain::{Evidence, Words};
use crate::journal::repeats::fingerprints::Key;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Heard};
use crate::ledger::forgetting::hidden_recipient;
use crate::ledger::{
    Judgement, Ours, Recipient, UNCOMPARED, judge, judge_forgotten, names_recipient,
};
use crate::lifecycle::{Anomaly, Event, PaymentState, Policy, State, Step, StepContext, step};
use crate::store::tables::{instruction, named_otherwise};
use crate::store::{Read, Reads, Scan, Writes, shape};

/// Returns whether a payment has ended, and nobody was paid by it.
pub(in crate::journal) fn has_ended_unpaid(state: State) -> bool {
    matches!(state, State::Failed | State::Cancelled)
}

/// Compares what was named with what was ordered. Whoever reads the words, of a post, of a question or of a callback, believes nothing
/// that differs.
pub(in crate::journal) fn judged(
    c: &WriteSession,
    subject: &Subject,
    said: &ResponseDetails,
) -> Result<Judgement, Error> {
    // Nearly every reply to a post names nothing.
    if said.named.is_empty() {
        return Ok(Judgement::default());
    }
    planted_instead!(journal::names_nothing());
    let (seq, money) = (subject.moved.seq, subject.moved.money);
    if !names_recipient(&said.named) {
        let recipient = None;
        return Ok(judge(&said.named, &Ours { money, recipient }));
    }
    if let Some((msisdn, country)) = c.recent_wallet(seq) {
        let recipient = Some(Recipient {
            msisdn,
            account: msisdn.as_str(),
            country,
        });
        return Ok(judge(&said.named, &Ours { money, recipient }));
    }
    let one = Scan::of(&instruction::TABLE).at(&seq);
    let Ordered {
        msisdn,
        account_number,
        country,
    } = c
        .first(&one)?
        .ok_or_else(|| corrupt(format!("payment {seq} is missing")))?;
    let account = account_number.as_deref().unwrap_or(msisdn.as_str());
    // Who it was is forgotten: what is named is compared by its pseudonym.
    if msisdn.is_forgotten() {
        let key = Key::of(c)?.ok_or_else(|| corrupt("rows without fingerprints"))?;
        let is_ours = |text: &str| {
            // The bank's code was forgotten with the account: an account of a bank is never recognised.
            hidden_recipient("", text, |parts| key.pseudonym(parts)) == account
        };
        let judgement = judge_forgotten(&said.named, (money, country), is_ours);
        let differs = judgement.disbelieved(has_ended_unpaid(subject.moved.life.state));
        return Ok(Judgement {
            differs,
            ..judgement
        });
    }
    let recipient = Some(Recipient {
        msisdn,
        account,
        country,
    });
    Ok(judge(&said.named, &Ours { money, recipient }))
}

shape! {
    /// Whom an instruction pays.
    struct Ordered of instruction { msisdn: Msisdn, account_number: Option<String>, country: Country }
}
shape! {
    struct NamedOtherwise of named_otherwise { batch_id: BatchId, seq: PaymentId, words: String }
}

/// Returns words with what their evidence has to say of them: that nobody could see whom they are about.
pub(in crate::journal) fn noted<'s>(
    said: &'s ResponseDetails,
    judgement: &Judgement,
) -> Cow<'s, ResponseDetails> {
    if !judgement.uncompared {
        return Cow::Borrowed(said);
    }
    let before = said.anomaly.iter().cloned();
    let notes: Vec<String> = before.chain([format!("it names {UNCOMPARED}")]).collect();
    Cow::Owned(ResponseDetails {
        anomaly: Some(notes.join("; ")),
        ..said.clone()
    })
}

/// Makes the next question about a payment due now, if there is one.
pub(in crate::journal) fn hastened(
    life: PaymentState,
    moment: StepContext,
    policy: &Policy,
) -> PaymentState {
    if !life.state.is_asked_about() || !policy.status_query {
        return life;
    }
    let due_at = life.due_at.map_or(moment.now, |at| at.min(moment.now));
    PaymentState {
        due_at: Some(due_at),
        ..life
    }
}

/// Records words that are about another payment: a post is lost, a question unanswered, whatever they say.
pub(in crate::journal) fn apply_other(
    c: &WriteSession,
    subject: &mut Subject,
    event: Event,
    said: &ResponseDetails,
    differs: &str,
    moment: StepContext,
    policy: &Policy,
) -> Result<Option<Anomaly>, Error> {
    let (number, class, code) = event_numbers(event);
    let is_reply = matches!(event, Event::Reply(_));
    let (kind, meaning) = if is_reply {
        (OTHER_REPLY, Event::Lost)
    } else {
        (OTHER_ANSWER, Event::NoAnswer)
    };
    debug_assert!(number != event_numbers(meaning).0, "words, and not silence");
    let before = subject.moved.life;
    let Step { mut life, anomaly } = step(&before, meaning, moment, policy);
    if is_reply {
        // The gateway has the identifier, and answers: what it says of it when asked is all there is to wait for.
        life = hastened(life, moment, policy);
    }
    if life != before {
        save_life(c, subject.moved.seq, &life, true)?;
    }
    subject.moved.life = life;
    subject.moved.heard = Heard::Other;
    c.remember(subject);
    let code_text = code.map_or_else(String::new, |code| format!("{code}, "));
    let note = format!("not believed: {code_text}it names {differs}");
    note_other(c, subject, &note)?;
    c.append(&Evidence {
        batch_id: subject.batch_id,
        seq: subject.moved.seq,
        at: moment.now,
        kind: (kind, class, code),
        anomaly: Some(&note),
        detail: detail_of(said).as_deref(),
        words: Words::of(said),
        policy: Some(policy),
        ..Evidence::default()
    })?;
    Ok(anomaly)
}

/// Notes, for the people, that the gateway named something of a payment that is not ours.
pub(in crate::journal) fn note_other(
    c: &WriteSession,
    subject: &Subject,
    words: &str,
) -> Result<(), Error> {
    Ok(c.put(&NamedOtherwise {
        batch_id: subject.batch_id,
        seq: subject.moved.seq,
        words: words.to_owned(),
    })?)
}

/// Returns what the gateway named last of a payment that is not ours.
pub(in crate::journal) fn named_otherwise(
    c: &dyn Read,
    batch_id: BatchId,
    seq: PaymentId,
) -> Result<Option<String>, Error> {
    let one = Scan::of(&named_otherwise::TABLE).at(&batch_id).at(&seq);
    Ok(c.value(&one, named_otherwise::words)?)
}

/// Returns the same of every payment of a batch.
pub(in crate::journal) fn all_named_otherwise(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<BTreeMap<PaymentId, String>, Error> {
    let of_batch = Scan::of(&named_otherwise::TABLE).at(&batch_id);
    let found: Vec<NamedOtherwise> = c.list(&of_batch)?;
    Ok(found.into_iter().map(|row| (row.seq, row.words)).collect())
}
