//! One row whose person is forgotten: pseudonyms and leaves take the place of what was personal.

use rusqlite::{Connection, params};

use crate::domain::{BatchId, EvidenceId, LoadId, PaymentId, Reference};
use crate::journal::Error;
use crate::journal::sqlite::codec::insert::Texts;
use crate::journal::sqlite::codec::values::{PAYMENT_COLUMNS, corrupt, stored_of};
use crate::journal::sqlite::evidence::digests::{bill_leaf, evidence_leaf, rejected_leaf};
use crate::journal::sqlite::evidence::instruction_blocks::instruction_leaf;
use crate::journal::sqlite::repeats::fingerprints::Key;
use crate::ledger::forgetting::forgotten;
use crate::ledger::limits::recipient_of;

/// Forgets the person of a payment; returns whether there was one: a row that was forgotten before stays as it is.
pub(in crate::journal::sqlite) fn forget_payment(
    c: &Connection,
    key: Key,
    batch_id: BatchId,
    seq: PaymentId,
) -> Result<bool, Error> {
    let row = {
        let mut statement = c.prepare_cached(&format!(
            "select {PAYMENT_COLUMNS} from instruction i join service s using (service_id)
             where i.seq = ?1 and i.batch_id = ?2 and length(i.salt) = 16"
        ))?;
        let mut rows = statement.query(params![seq, batch_id])?;
        match rows.next()? {
            Some(row) => stored_of(row, 0)?.instruction,
            None => return Ok(false),
        }
    };
    let leaf = instruction_leaf(c, seq)?.ok_or_else(|| corrupt("a row without a salt"))?;
    let kept = forgotten(&row, |parts| key.pseudonym(parts));
    let texts = Texts::of(&kept);
    move_ceilings(c, seq, &recipient_of(&kept))?;
    c.prepare_cached(
        "update instruction set reference = ?2, msisdn = ?3, account_number = ?4, narration = null, customer_names = ?6,
             invoice_number = null, extra = ?7, document = null, document_folder = null, salt = ?5 where seq = ?1",
    )?
    .execute(params![
        seq,
        kept.reference.as_ref().map(Reference::as_str),
        kept.msisdn.as_str(),
        kept.account_number,
        &leaf[..],
        texts.customer_names,
        texts.extra,
    ])?;
    c.prepare_cached("update life set receiver_narration = null where seq = ?1 and receiver_narration is not null")?
        .execute([seq])?;
    c.prepare_cached("delete from named_otherwise where batch_id = ?1 and seq = ?2")?
        .execute(params![batch_id, seq])?;
    c.prepare_cached("delete from lookup where country = ?1 and msisdn in (?2, ?3)")?
        .execute(params![
            row.country.code(),
            row.msisdn.as_str(),
            row.account_number
        ])?;
    forget_evidence(c, seq)?;
    forget_bills(c, seq)?;
    Ok(true)
}

/// What a payment counts for towards ceilings counts for its pseudonym from now on.
fn move_ceilings(c: &Connection, seq: PaymentId, to: &str) -> Result<(), Error> {
    c.prepare_cached(
        "insert into used (realm, name, currency, day, amount)
         select realm, 'r' || ?2, currency, day, amount from counted where seq = ?1 and counts > 0
         on conflict do update set amount = used.amount + excluded.amount where used.amount < 9223372036854775807 - excluded.amount",
    )?
    .execute(params![seq, to])?;
    c.prepare_cached(
        "update used set amount = used.amount - n.amount from counted n
         where n.seq = ?1 and n.counts > 0 and used.amount <> 9223372036854775807
             and used.realm = n.realm and used.name = 'r' || n.recipient and used.currency = n.currency and used.day = n.day",
    )?
    .execute([seq])?;
    c.prepare_cached(
        "delete from used where (realm, name, currency, day) in (
             select realm, 'r' || recipient, currency, day from counted where seq = ?1)
         and not exists (select 1 from counted o where o.seq <> ?1 and o.counts > 0 and o.realm = used.realm
             and 'r' || o.recipient = used.name and o.currency = used.currency and o.day = used.day)",
    )?
    .execute([seq])?;
    c.prepare_cached("update counted set recipient = ?2 where seq = ?1")?
        .execute(params![seq, to])?;
    Ok(())
}

fn forget_evidence(c: &Connection, seq: PaymentId) -> Result<(), Error> {
    let mut salted = c.prepare_cached(
        "select evidence_id from evidence indexed by evidence_by_payment where seq = ?1 and length(salt) = 16",
    )?;
    let ids: Vec<EvidenceId> = salted
        .query_map([seq], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for id in ids {
        let leaf = evidence_leaf(c, id)?.ok_or_else(|| corrupt("evidence without a salt"))?;
        c.prepare_cached(
            "update evidence set anomaly = null, detail = null, receiver_narration = null, salt = ?2 where evidence_id = ?1",
        )?
        .execute(params![id, &leaf[..]])?;
    }
    Ok(())
}

fn forget_bills(c: &Connection, seq: PaymentId) -> Result<(), Error> {
    let mut salted =
        c.prepare_cached("select bill_id from bill where seq = ?1 and length(salt) = 16")?;
    let ids: Vec<i64> = salted
        .query_map([seq], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for id in ids {
        let leaf = bill_leaf(c, id)?.ok_or_else(|| corrupt("a bill without a salt"))?;
        c.prepare_cached(
            "update bill set customer_name = null, description = '', salt = ?2 where bill_id = ?1",
        )?
        .execute(params![id, &leaf[..]])?;
    }
    Ok(())
}

/// Where a rejected row stands: its load, its line, and how many of this load stand before it on the line.
pub(in crate::journal::sqlite) type RejectedPlace = (LoadId, i64, i64);

/// Forgets what was written in a rejected row.
pub(in crate::journal::sqlite) fn forget_rejected(
    c: &Connection,
    place: RejectedPlace,
) -> Result<(), Error> {
    let leaf = rejected_leaf(c, place)?.ok_or_else(|| corrupt("a rejected row without a salt"))?;
    let (load, line, nth) = place;
    c.prepare_cached(
        "update rejected set reference = null, service_code = null, msisdn = null, account_number = null, amount_text = null,
             errors = '', digest = null, cells = null, salt = ?4 where load_id = ?1 and line = ?2 and nth = ?3",
    )?
    .execute(params![load, line, nth, &leaf[..]])?;
    Ok(())
}
