//! What stands in other tables, put on the chain by its digest; and the chain of a journal that was written without one.
//!
//! Each digest has one statement, which the one who appends it and the one who proves it share.

use std::ops::ControlFlow;

use rusqlite::types::FromSql;
use rusqlite::{Connection, params};
use serde_json::json;

use super::chain::{Chain, Evidence};
use super::encoding::{CanonicalHasher, Digest, digest_over};
use super::instruction_blocks;
use super::salt::Sealed;
use crate::domain::{BatchId, BillId, EvidenceId, LoadId, PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::codec::catalog::{batch_of, loaded_for, rehearsal};
use crate::journal::codec::events::{FILE_LOADED, MIGRATED, PINNED, STOOD, UPLOADED};
use crate::journal::codec::values::corrupt;
use crate::journal::payments::stood::standing_columns;
use crate::journal::repeats::fingerprints::chunks_of;
use crate::ledger::evidence::Standing;
use crate::store::tables::{batch, bill, evidence, instruction, load, rejected, upload};
use crate::store::{Column, Read, Reads, Row, Scan, Test, Value, Write, shape};

pub(in crate::journal) fn upload_digest(
    c: &dyn Read,
    seq: PaymentId,
) -> Result<Option<Digest>, Error> {
    const COLUMNS: [Column; 6] = [
        upload::seq,
        upload::at,
        upload::digest,
        upload::bytes,
        upload::reference,
        upload::reply,
    ];
    digest_over(c, "upload", &Scan::of(&upload::TABLE).at(&seq), &COLUMNS)
}

/// What is hashed of a bill as it stands.
const BILL: [Column; 8] = [
    bill::bill_id,
    bill::seq,
    bill::at,
    bill::outcome,
    bill::code,
    bill::due,
    bill::currency,
    bill::due_date,
];

/// The salt of a bill, and what names a person: with a salt that is hashed into a leaf.
const BILL_LEAF: [Column; 3] = [bill::salt, bill::customer_name, bill::description];

pub(in crate::journal) fn bill_digest(
    c: &dyn Read,
    bill_id: BillId,
) -> Result<Option<Digest>, Error> {
    let columns: Vec<Column> = BILL.into_iter().chain(BILL_LEAF).collect();
    let salt = BILL.len();
    let mut found = None;
    c.each_row(&Scan::of(&bill::TABLE).at(&bill_id), &columns, |row| {
        let mut canon = CanonicalHasher::of("bill");
        canon.columns(row, 0..salt)?;
        match leaf_over(row, salt)? {
            Some(leaf) => {
                canon.null();
                canon.null();
                canon.bytes(&leaf);
            }
            None => canon.columns(row, salt + 1..columns.len())?,
        }
        found = Some(canon.finish());
        Ok::<_, Error>(ControlFlow::Break(()))
    })?;
    Ok(found)
}

/// Returns the leaf over the columns behind the one with the salt, all of them.
fn leaf_over(row: &dyn Row, salt: usize) -> Result<Option<Digest>, Error> {
    let mut leaves = CanonicalHasher::of("leaf");
    Sealed::of(row, salt)?.leaf(&mut leaves, |leaf| {
        Ok(leaf.columns(row, salt + 1..row.width())?)
    })
}

/// Returns the leaf of a row: over its salt, and the columns behind it that are personal; `None` where it has no salt.
fn leaf_of_row(c: &dyn Read, scan: &Scan<'_>, columns: &[Column]) -> Result<Option<Digest>, Error> {
    let mut found = None;
    c.each_row(scan, columns, |row| {
        found = leaf_over(row, 0)?;
        Ok::<_, Error>(ControlFlow::Break(()))
    })?;
    Ok(found)
}

/// Returns the leaf of what a bill says of a person.
pub(in crate::journal) fn bill_leaf(
    c: &dyn Read,
    bill_id: BillId,
) -> Result<Option<Digest>, Error> {
    leaf_of_row(c, &Scan::of(&bill::TABLE).at(&bill_id), &BILL_LEAF)
}

/// Returns the leaf of a row of evidence.
pub(in crate::journal) fn evidence_leaf(
    c: &dyn Read,
    evidence_id: EvidenceId,
) -> Result<Option<Digest>, Error> {
    const COLUMNS: [Column; 4] = [
        evidence::salt,
        evidence::anomaly,
        evidence::detail,
        evidence::receiver_narration,
    ];
    leaf_of_row(c, &Scan::of(&evidence::TABLE).at(&evidence_id), &COLUMNS)
}

/// Returns the leaf of a rejected row: of its load, on its line, behind so many others.
pub(in crate::journal) fn rejected_leaf(
    c: &dyn Read,
    (load_id, line, nth): (LoadId, i64, i64),
) -> Result<Option<Digest>, Error> {
    let one = Scan::of(&rejected::TABLE).at(&load_id).at(&line).at(&nth);
    leaf_of_row(c, &one, &REJECTED[5..])
}

/// What is left of a payment whose person was forgotten, its salt last.
const FORGOTTEN_INSTRUCTION: [Column; 11] = [
    instruction::seq,
    instruction::reference,
    instruction::msisdn,
    instruction::account_number,
    instruction::narration,
    instruction::customer_names,
    instruction::invoice_number,
    instruction::extra,
    instruction::document,
    instruction::document_folder,
    instruction::salt,
];

/// The same of a row of evidence.
const FORGOTTEN_EVIDENCE: [Column; 5] = [
    evidence::evidence_id,
    evidence::anomaly,
    evidence::detail,
    evidence::receiver_narration,
    evidence::salt,
];

/// The same of a row that was set aside.
const FORGOTTEN_REJECTED: [Column; 12] = [
    rejected::load_id,
    rejected::line,
    rejected::nth,
    rejected::reference,
    rejected::service_code,
    rejected::msisdn,
    rejected::account_number,
    rejected::amount_text,
    rejected::errors,
    rejected::digest,
    rejected::cells,
    rejected::salt,
];

/// The same of a bill, and the payment that it is of, which is not hashed.
const FORGOTTEN_BILL: [Column; 5] = [
    bill::bill_id,
    bill::customer_name,
    bill::description,
    bill::salt,
    bill::seq,
];

/// Returns the digest of what is left of the people of a batch who were forgotten: pseudonyms, leaves, and that nothing stands where a
/// text was.
pub(in crate::journal) fn forgotten_digest(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Digest, Error> {
    let mut canon = CanonicalHasher::of("forgotten");
    let batch = || Test::is(&batch_id);
    let instructions = Scan::of(&instruction::TABLE).only(instruction::batch_id, batch());
    let evidence = Scan::of(&evidence::TABLE).only(evidence::batch_id, batch());
    let rejected = Scan::of(&rejected::TABLE).only(rejected::batch_id, batch());
    for (rows, columns) in [
        (instructions, &FORGOTTEN_INSTRUCTION[..]),
        (evidence, &FORGOTTEN_EVIDENCE),
        (rejected, &FORGOTTEN_REJECTED),
    ] {
        c.each_row(&rows, columns, |row| {
            if is_forgotten(row, columns.len() - 1)? {
                canon.row(row)?;
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        canon.null();
    }
    c.each_row(&Scan::of(&bill::TABLE), &FORGOTTEN_BILL, |row| {
        let seq = row.get(FORGOTTEN_BILL.len() - 1)?;
        if is_forgotten(row, FORGOTTEN_BILL.len() - 2)? && batch_of(c, seq)? == batch_id {
            canon.columns(row, 0..FORGOTTEN_BILL.len() - 1)?;
        }
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    canon.null();
    Ok(canon.finish())
}

/// Returns whether a leaf stands where a salt was.
fn is_forgotten(row: &dyn Row, salt: usize) -> Result<bool, Error> {
    Ok(matches!(row.value(salt)?, Value::Bytes(bytes) if bytes.len() == size_of::<Digest>()))
}

pub(in crate::journal) fn pin_digest(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Option<Digest>, Error> {
    let one = Scan::of(&batch::TABLE).at(&batch_id);
    digest_over(c, "pin", &one, &[batch::gateway, batch::wire])
}

/// What every version has hashed of a load.
const LOAD: [Column; 9] = [
    load::load_id,
    load::batch_id,
    load::source,
    load::digest,
    load::loaded_at,
    load::accepted,
    load::rejected,
    load::total,
    load::total_currency,
];

/// By what its columns were read, and the digest of its file: where one of them is known.
const READ_BY: [Column; 3] = [load::layout, load::layout_digest, load::file_digest];

/// How many payments it brought, and the sum of their identifiers: where they are known.
const BROUGHT: [Column; 2] = [load::payments, load::identifiers];

/// What every version has hashed of a rejected row without a salt.
const REJECTED_PLAIN: [Column; 10] = [
    rejected::line,
    rejected::batch_id,
    rejected::reference,
    rejected::service_code,
    rejected::msisdn,
    rejected::account_number,
    rejected::amount_text,
    rejected::amount,
    rejected::currency,
    rejected::errors,
];

/// What later ones have hashed behind these.
const REJECTED_KNOWN: [Column; 3] = [rejected::nth, rejected::digest, rejected::cells];

/// A rejected row with a salt: five columns as they stand, the salt, and what is personal, which is all of its texts and the digest of
/// its cells.
const REJECTED: [Column; 14] = [
    rejected::line,
    rejected::nth,
    rejected::batch_id,
    rejected::amount,
    rejected::currency,
    rejected::salt,
    rejected::reference,
    rejected::service_code,
    rejected::msisdn,
    rejected::account_number,
    rejected::amount_text,
    rejected::errors,
    rejected::digest,
    rejected::cells,
];

/// Returns the digest of a load and of the rows that it set aside, and how many these are.
pub(in crate::journal) fn file_digest(
    c: &dyn Read,
    load_id: LoadId,
) -> Result<Option<(Digest, i64)>, Error> {
    let mut canon = CanonicalHasher::of("load");
    let one = Scan::of(&load::TABLE).at(&load_id);
    if take_in(c, &one, &LOAD, &mut canon)? == 0 {
        return Ok(None);
    }
    let plain = Scan::of(&rejected::TABLE)
        .at(&load_id)
        .only(rejected::salt, Test::Absent);
    let mut count = take_in(c, &plain, &REJECTED_PLAIN, &mut canon)?;
    count += salted_rejected(c, load_id, &mut canon)?;
    // Versions before 5 had neither, and what they recorded is still to be proven.
    let known = plain.only(rejected::digest, Test::Present);
    take_in(c, &known, &REJECTED_KNOWN, &mut canon)?;
    c.each_row(&one, &READ_BY, |row| {
        for at in 0..READ_BY.len() {
            if row.value(at)? != Value::Null {
                canon.row(row)?;
                break;
            }
        }
        Ok::<_, Error>(ControlFlow::Break(()))
    })?;
    let brought = one.only(load::payments, Test::Present);
    take_in(c, &brought, &BROUGHT, &mut canon)?;
    Ok(Some((canon.finish(), count)))
}

/// Takes in columns of rows; returns how many rows there are.
fn take_in(
    c: &dyn Read,
    scan: &Scan<'_>,
    columns: &[Column],
    canon: &mut CanonicalHasher,
) -> Result<i64, Error> {
    let mut count = 0;
    c.each_row(scan, columns, |row| {
        canon.row(row)?;
        count += 1;
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok(count)
}

/// Takes in the rejected rows whose texts are hashed into leaves; returns how many there are.
fn salted_rejected(
    c: &dyn Read,
    load_id: LoadId,
    canon: &mut CanonicalHasher,
) -> Result<i64, Error> {
    let salted = Scan::of(&rejected::TABLE)
        .at(&load_id)
        .only(rejected::salt, Test::Present);
    let mut count = 0;
    c.each_row(&salted, &REJECTED, |row| {
        let leaf = leaf_over(row, 5)?;
        canon.maybe(leaf.as_ref(), |canon, leaf| canon.bytes(leaf));
        canon.columns(row, 0..5)?;
        count += 1;
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok(count)
}

shape! {
    struct Loaded of load { loaded_at: Timestamp, accepted: i64 }
}

/// Puts a load, the rows that it set aside, and how many fingerprints it has on the chain.
pub(in crate::journal) fn file(
    c: &dyn Write,
    chain: &mut Chain,
    batch_id: BatchId,
    load_id: LoadId,
    at: Timestamp,
) -> Result<(), Error> {
    let (digest, rejected) =
        file_digest(c, load_id)?.ok_or_else(|| corrupt("a load that is missing"))?;
    let one = Scan::of(&load::TABLE).at(&load_id);
    let loaded: Loaded = c
        .first(&one)?
        .ok_or_else(|| corrupt("a load that is missing"))?;
    let mut detail = json!({
        "load": load_id.get(),
        "rejected": rejected,
        "loaded_at": loaded.loaded_at.as_millis(),
        "accepted": loaded.accepted,
    });
    match chunks_of(c, load_id)? {
        // An earlier version had none when it was sealed.
        0 => {}
        chunks => detail["fingerprints"] = chunks.into(),
    }
    if let Some(rehearsal) = rehearsal(loaded_for(c, batch_id)?) {
        detail["rehearsal"] = rehearsal.into();
    }
    let detail = detail.to_string();
    chain.append(
        c,
        &Evidence {
            batch_id,
            at,
            kind: (FILE_LOADED, None, None),
            digest: Some(&digest),
            detail: Some(&detail),
            ..Evidence::default()
        },
    )
}

/// Puts the gateway of a batch on the chain.
pub(in crate::journal) fn pin(
    c: &dyn Write,
    chain: &mut Chain,
    batch_id: BatchId,
    at: Timestamp,
) -> Result<(), Error> {
    let digest = pin_digest(c, batch_id)?;
    chain.append(
        c,
        &Evidence {
            batch_id,
            at,
            kind: (PINNED, None, None),
            digest: digest.as_ref(),
            ..Evidence::default()
        },
    )
}

/// Puts the upload of a payment on the chain.
pub(in crate::journal) fn upload(
    c: &dyn Write,
    chain: &mut Chain,
    batch_id: BatchId,
    seq: PaymentId,
    at: Timestamp,
) -> Result<(), Error> {
    let digest = upload_digest(c, seq)?;
    chain.append(
        c,
        &Evidence {
            batch_id,
            seq,
            at,
            kind: (UPLOADED, None, None),
            digest: digest.as_ref(),
            ..Evidence::default()
        },
    )
}

/// Seals a journal whose evidence was written without a chain.
// What was changed before cannot be found any more; from here on it can. The policies of that time are not known: evidence
// is folded from where each payment stands now.
pub(in crate::journal) fn seal_version_1(c: &Connection) -> Result<(), Error> {
    let now: i64 = c.query_row(
        "select cast(unixepoch('subsec') * 1000 as integer)",
        [],
        |row| row.get(0),
    )?;
    let now = Timestamp::from_millis(now);
    let batches: Vec<BatchId> = c
        .prepare("select batch_id from batch order by batch_id")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut chain = Chain::default();
    for batch_id in batches {
        Chain::begin(c, batch_id)?;
        let rows = seal_evidence(c, &mut chain, batch_id)?;
        let at = now;
        chain.append(
            c,
            &Evidence {
                batch_id,
                at,
                kind: (MIGRATED, None, None),
                detail: Some(&json!({"rows": rows}).to_string()),
                ..Evidence::default()
            },
        )?;
        seal_lives(c, &mut chain, batch_id, now)?;
        let loads = numbers(c, "select load_id from load where batch_id = ?1", batch_id)?;
        for load_id in loads {
            file(c, &mut chain, batch_id, load_id, now)?;
        }
        let uploads = "select u.seq from upload u join instruction i using (seq) where i.batch_id = ?1 order by u.seq";
        for seq in numbers(c, uploads, batch_id)? {
            upload(c, &mut chain, batch_id, seq, now)?;
        }
        let pinned = "select batch_id from batch where batch_id = ?1 and gateway is not null";
        if !numbers::<BatchId>(c, pinned, batch_id)?.is_empty() {
            pin(c, &mut chain, batch_id, now)?;
        }
        instruction_blocks::seal(c, &mut chain, batch_id, (1, i64::MAX), now)?;
    }
    chain.save(c)
}

fn numbers<T: FromSql>(c: &Connection, sql: &str, batch_id: BatchId) -> Result<Vec<T>, Error> {
    Ok(c.prepare(sql)?
        .query_map([batch_id], |row| row.get(0))?
        .collect::<Result<_, _>>()?)
}

/// The columns that the hash of a row of evidence is taken over, in its order, before what it was judged by.
pub(in crate::journal) const EVIDENCE: &str =
    "e.evidence_id, e.seq, e.at, e.event, e.class, e.code, e.anomaly, e.digest, e.detail";

/// Gives every row of evidence of a batch its place in the chain; returns how many there are.
fn seal_evidence(c: &Connection, chain: &mut Chain, batch_id: BatchId) -> Result<u64, Error> {
    let mut select = c.prepare(&format!(
        "select {EVIDENCE} from evidence e cross join instruction i using (seq)
         where e.evidence_id > ?2 and i.batch_id = ?1 order by e.evidence_id limit 1000"
    ))?;
    let mut update =
        c.prepare("update evidence set batch_id = ?2, hash = ?3 where evidence_id = ?1")?;
    let (mut after, mut count) = (EvidenceId::NONE, 0);
    loop {
        // In pages: the table that is read is the one that is written.
        let mut page = Vec::new();
        let mut rows = select.query(params![batch_id, after])?;
        while let Some(row) = rows.next()? {
            let hash = chain.take_in(c, batch_id, |previous| {
                let mut canon = CanonicalHasher::after(previous);
                canon.row(row)?;
                canon.terms(None);
                Ok(canon.finish())
            })?;
            page.push((row.get::<_, EvidenceId>(0)?, hash));
        }
        drop(rows);
        let Some((last, _)) = page.last() else {
            return Ok(count);
        };
        after = *last;
        count += page.len() as u64;
        for (evidence_id, hash) in &page {
            update.execute(params![evidence_id, batch_id, &hash[..]])?;
        }
    }
}

/// Notes where every payment stands that something is known of.
fn seal_lives(
    c: &Connection,
    chain: &mut Chain,
    batch_id: BatchId,
    at: Timestamp,
) -> Result<(), Error> {
    let mut select = c.prepare(&format!(
        "select {}, l.seq from life l where l.seq > ?2 and l.batch_id = ?1
             and exists (select 1 from evidence e where e.seq = l.seq) order by l.seq",
        standing_columns()
    ))?;
    let mut rows = select.query(params![batch_id, 0])?;
    while let Some(row) = rows.next()? {
        let standing = Standing::of(row, 0)?;
        chain.append(
            c,
            &Evidence {
                batch_id,
                seq: row.get(16)?,
                at,
                kind: (STOOD, None, None),
                detail: Some(&standing.to_detail()),
                ..Evidence::default()
            },
        )?;
    }
    Ok(())
}
