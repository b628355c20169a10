//! What the gateway names of a payment, held against its instruction.

use std::collections::BTreeMap;

use crate::domain::{BatchId, Country, Msisdn, PaymentId, ResponseDetails};
use crate::journal::Error;
use crate::journal::codec::values::corrupt;
use crate::journal::repeats::fingerprints::Key;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::ledger::failure::has_ended_unpaid;
use crate::ledger::forgetting::hidden_recipient;
use crate::ledger::{Judgement, Ours, Recipient, judge, judge_forgotten, names_recipient};
use crate::store::tables::{instruction, named_otherwise};
use crate::store::{Read, Reads, Scan, Writes, shape};

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
