//! The signatures of a batch, verified again from the journal alone.

use super::figures::Figured;
use super::on_record::{OnRecord, Pinned, signatures, statement_of};
use crate::domain::BatchId;
use crate::journal::Error;
use crate::ledger::approval::ssh::Signature;
use crate::ledger::approval::text::difference;
use crate::store::Read;

/// Verifies every signature that is on record; returns how many there are, and what does not fit.
pub(in crate::journal) fn verify_signatures(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<(u64, Vec<String>), Error> {
    let pinned = Pinned::read(c, batch_id)?;
    let on_record = signatures(c, batch_id)?;
    let figured = Figured::of(c, batch_id);
    let mut findings = Vec::new();
    for one in &on_record {
        if let Some(what) = finding(&figured, (&pinned, &on_record), one)? {
            findings.push(format!(
                "evidence {}, the signature that {} {} the batch: {what}",
                one.evidence_id,
                one.hand.by,
                one.claimed.role.name()
            ));
        }
    }
    Ok((on_record.len() as u64, findings))
}

/// Returns what does not fit of a signature, by the rules that its batch had been loaded under when it was made.
// Documents are taken anew, and a batch may be moved to another name of its account: then a signature counts no more, and nobody
// has changed what was recorded.
fn finding(
    figured: &Figured<'_>,
    (pinned, on_record): (&Pinned, &[OnRecord]),
    one: &OnRecord,
) -> Result<Option<String>, Error> {
    let OnRecord { claimed, hand, .. } = one;
    let then = pinned.before(one.evidence_id).in_force(None)?;
    if let Err(why) = then.may_sign(&hand.by, &hand.key, &[claimed.signed, one.at]) {
        return Ok(Some(why));
    }
    let verified = Signature::parse(&one.armour).and_then(|it| it.verify(one.text.as_bytes()));
    if let Err(why) = verified {
        return Ok(Some(why.to_string()));
    }
    let statement = statement_of(
        figured,
        (pinned, on_record),
        (claimed, claimed.target.as_ref()),
        one.evidence_id,
    )?;
    let (is, should_be) = (
        without_documents(&one.text),
        without_documents(&statement.to_text()),
    );
    Ok(difference(&is, &should_be).map(|(is, should_be)| {
        format!("it is over \"{is}\", and the journal says \"{should_be}\"")
    }))
}

fn without_documents(text: &str) -> String {
    let lines = text
        .split('\n')
        .filter(|line| !line.starts_with("documents: "));
    lines.collect::<Vec<_>>().join("\n")
}
