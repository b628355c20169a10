//! One row whose person is forgotten: pseudonyms and leaves take the place of what was personal.

use std::ops::ControlFlow;

use crate::domain::{
    BatchId, BillId, Currency, Day, EvidenceId, LoadId, Msisdn, PaymentId, Reference,
};
use crate::journal::Error;
use crate::journal::codec::insert::Texts;
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::digests::{bill_leaf, evidence_leaf, rejected_leaf};
use crate::journal::evidence::encoding::Digest;
use crate::journal::evidence::instruction_blocks::instruction_leaf;
use crate::journal::evidence::salt::Salt;
use crate::journal::repeats::fingerprints::Key;
use crate::ledger::forgetting::forgotten;
use crate::ledger::limits::recipient_of;
use crate::store::tables::{
    bill, counted, evidence, instruction, life, lookup, named_otherwise, rejected, used,
};
use crate::store::{Column, Field, Read, Reads, Row, Scan, Test, Value, Write, Writes, shape};

shape! {
    /// What is left of a payment whose person is forgotten.
    struct Kept of instruction {
        reference: Option<Reference>, msisdn: Msisdn, account_number: String, narration: Option<String>, customer_names: Option<String>,
        invoice_number: Option<String>, extra: Option<String>, document: Option<String>, document_folder: Option<String>, salt: Digest,
    }
}

/// Forgets the person of a payment; returns whether there was one: a row that was forgotten before stays as it is.
pub(in crate::journal) fn forget_payment(
    c: &dyn Write,
    key: Key,
    batch_id: BatchId,
    seq: PaymentId,
) -> Result<bool, Error> {
    let own = Scan::of(&instruction::TABLE).at(&seq);
    if salted::<PaymentId>(c, &own, [instruction::seq, instruction::salt])?.is_empty() {
        return Ok(false);
    }
    let found = Instructions::of(c).find(seq)?;
    let Some(found) = found.filter(|found| found.batch_id == batch_id) else {
        return Ok(false);
    };
    let row = found.row.instruction;
    let leaf = instruction_leaf(c, seq)?.ok_or_else(|| corrupt("a row without a salt"))?;
    let kept = forgotten(&row, |parts| key.pseudonym(parts));
    let texts = Texts::of(&kept);
    move_ceilings(c, seq, &recipient_of(&kept))?;
    let own = Scan::of(&instruction::TABLE).at(&seq);
    c.change(
        &own,
        &Kept {
            reference: kept.reference.clone(),
            msisdn: kept.msisdn,
            account_number: kept.account_number.to_string(),
            narration: None,
            customer_names: texts.customer_names.map(str::to_owned),
            invoice_number: None,
            extra: texts.extra,
            document: None,
            document_folder: None,
            salt: leaf,
        },
    )?;
    let told = Scan::of(&life::TABLE).at(&seq);
    let told = told.only(life::receiver_narration, Test::Present);
    c.set(&told, life::receiver_narration, &None::<String>)?;
    c.remove(&Scan::of(&named_otherwise::TABLE).at(&batch_id).at(&seq))?;
    for number in [row.msisdn.as_str(), &row.account_number] {
        c.remove(&Scan::of(&lookup::TABLE).at(&row.country).at(&number))?;
    }
    forget_evidence(c, seq)?;
    forget_bills(c, seq)?;
    Ok(true)
}

/// Returns which of these rows have something personal that a salt hides; named are their number and their salt.
fn salted<Id: Field>(
    c: &dyn Read,
    rows: &Scan<'_>,
    columns: [Column; 2],
) -> Result<Vec<Id>, Error> {
    let mut found = Vec::new();
    c.each_row(rows, &columns, |row| {
        if is_salted(row, 1)? {
            found.push(row.get(0)?);
        }
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// Returns whether a salt stands there, and no leaf yet.
pub(super) fn is_salted(row: &dyn Row, at: usize) -> Result<bool, Error> {
    Ok(matches!(row.value(at)?, Value::Bytes(salt) if salt.len() == size_of::<Salt>()))
}

shape! {
    /// What a payment counts for towards ceilings.
    struct Counted of counted {
        realm: i64, recipient: String, currency: Currency, amount: i64, day: Day, counts: i64,
    }
}
shape! {
    /// What a recipient was paid on a day.
    struct Used of used { realm: i64, name: String, currency: Currency, day: Day, amount: i64 }
}

/// Under this name `used` has what a recipient was paid.
fn name_of(recipient: &str) -> String {
    format!("r{recipient}")
}

/// What a payment counts for towards ceilings counts for its pseudonym from now on.
fn move_ceilings(c: &dyn Write, seq: PaymentId, to: &str) -> Result<(), Error> {
    let own = Scan::of(&counted::TABLE).at(&seq);
    let Some(counts) = c.first::<Counted>(&own)? else {
        return Ok(());
    };
    let (was, is) = (name_of(&counts.recipient), name_of(to));
    let of = |name| {
        Scan::of(&used::TABLE)
            .at(&counts.realm)
            .at(name)
            .at(&counts.currency)
            .at(&counts.day)
    };
    if counts.counts > 0 {
        match c.value::<i64>(&of(&is), used::amount)? {
            None => c.insert(&Used {
                realm: counts.realm,
                name: is.clone(),
                currency: counts.currency,
                day: counts.day,
                amount: counts.amount,
            })?,
            Some(known) => {
                // So much or more stays, for good.
                if known < i64::MAX - counts.amount {
                    c.set(&of(&is), used::amount, &(known + counts.amount))?;
                }
            }
        }
        if let Some(known) = c.value::<i64>(&of(&was), used::amount)?
            && known != i64::MAX
        {
            c.set(&of(&was), used::amount, &(known - counts.amount))?;
        }
    }
    if c.any(&of(&was))? && !others_count(c, seq, &counts)? {
        c.remove(&of(&was))?;
    }
    c.set(&own, counted::recipient, &to)?;
    Ok(())
}

/// Returns whether other payments to a recipient count on the day of this one.
fn others_count(c: &dyn Read, seq: PaymentId, counts: &Counted) -> Result<bool, Error> {
    let like = Scan::of(&counted::TABLE)
        .only(counted::seq, Test::is_not(&seq))
        .only(counted::counts, Test::at_least(&1_i64))
        .only(counted::realm, Test::is(&counts.realm))
        .only(counted::recipient, Test::is(&counts.recipient))
        .only(counted::currency, Test::is(&counts.currency))
        .only(counted::day, Test::is(&counts.day));
    Ok(c.any(&like)?)
}

fn forget_evidence(c: &dyn Write, seq: PaymentId) -> Result<(), Error> {
    shape! {
        struct Kept of evidence {
            anomaly: Option<String>, detail: Option<String>, receiver_narration: Option<String>, salt: Digest,
        }
    }
    let own = Scan::by(&evidence::evidence_by_payment).at(&seq);
    let ids: Vec<EvidenceId> = salted(c, &own, [evidence::evidence_id, evidence::salt])?;
    for id in ids {
        let leaf = evidence_leaf(c, id)?.ok_or_else(|| corrupt("evidence without a salt"))?;
        c.change(
            &Scan::of(&evidence::TABLE).at(&id),
            &Kept {
                anomaly: None,
                detail: None,
                receiver_narration: None,
                salt: leaf,
            },
        )?;
    }
    Ok(())
}

fn forget_bills(c: &dyn Write, seq: PaymentId) -> Result<(), Error> {
    shape! {
        struct Kept of bill { customer_name: Option<String>, description: String, salt: Digest }
    }
    let own = Scan::by(&bill::bill_by_payment).at(&seq);
    let ids: Vec<BillId> = salted(c, &own, [bill::bill_id, bill::salt])?;
    for id in ids {
        let leaf = bill_leaf(c, id)?.ok_or_else(|| corrupt("a bill without a salt"))?;
        c.change(
            &Scan::of(&bill::TABLE).at(&id),
            &Kept {
                customer_name: None,
                description: String::new(),
                salt: leaf,
            },
        )?;
    }
    Ok(())
}

/// Where a rejected row stands: its load, its line, and how many of this load stand before it on the line.
pub(in crate::journal) type RejectedPlace = (LoadId, i64, i64);

/// Forgets what was written in a rejected row.
pub(in crate::journal) fn forget_rejected(
    c: &dyn Write,
    place: RejectedPlace,
) -> Result<(), Error> {
    shape! {
        struct Kept of rejected {
            reference: Option<String>, service_code: Option<String>, msisdn: Option<String>, account_number: Option<String>,
            amount_text: Option<String>, errors: String, digest: Option<Vec<u8>>, cells: Option<String>, salt: Digest,
        }
    }
    let leaf = rejected_leaf(c, place)?.ok_or_else(|| corrupt("a rejected row without a salt"))?;
    let (load, line, nth) = place;
    let own = Scan::of(&rejected::TABLE).at(&load).at(&line).at(&nth);
    c.change(
        &own,
        &Kept {
            reference: None,
            service_code: None,
            msisdn: None,
            account_number: None,
            amount_text: None,
            errors: String::new(),
            digest: None,
            cells: None,
            salt: leaf,
        },
    )?;
    Ok(())
}
