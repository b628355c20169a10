//! What stands in other tables, put on the chain by its digest; and the chain of a journal that was written without one.
//!
//! Each digest has one statement, which the one who appends it and the one who proves it share.

use rusqlite::types::FromSql;
use rusqlite::{Connection, Row, params};
use serde_json::json;

use super::chain::{Chain, Evidence};
use super::encoding::{CanonicalHasher, Digest};
use super::instruction_blocks;
use super::salt::Sealed;
use crate::domain::{BatchId, EvidenceId, LoadId, PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::sqlite::codec::catalog::{loaded_for, rehearsal};
use crate::journal::sqlite::codec::events::{FILE_LOADED, MIGRATED, PINNED, STOOD, UPLOADED};
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::payments::stood::{Standing, standing_columns};
use crate::journal::sqlite::repeats::fingerprints::chunks_of;

/// Returns the digest of one row that a statement finds by a number; `None` when there is none.
pub(in crate::journal::sqlite) fn digest_of(
    c: &Connection,
    what: &'static str,
    sql: &str,
    key: i64,
) -> Result<Option<Digest>, Error> {
    let mut canon = CanonicalHasher::of(what);
    let mut statement = c.prepare_cached(sql)?;
    let mut rows = statement.query([key])?;
    match rows.next()? {
        Some(row) => canon.row(row)?,
        None => return Ok(None),
    }
    Ok(Some(canon.finish()))
}

pub(in crate::journal::sqlite) fn upload_digest(
    c: &Connection,
    seq: PaymentId,
) -> Result<Option<Digest>, Error> {
    let sql = "select seq, at, digest, bytes, reference, reply from upload where seq = ?1";
    digest_of(c, "upload", sql, seq.get())
}

pub(in crate::journal::sqlite) fn bill_digest(
    c: &Connection,
    bill_id: i64,
) -> Result<Option<Digest>, Error> {
    // With a salt, what names a person is hashed into a leaf.
    let sql = "select bill_id, seq, at, outcome, code, due, currency, due_date, iif(salt is null, customer_name, null),
             iif(salt is null, description, null), salt, customer_name, description from bill where bill_id = ?1";
    let mut statement = c.prepare_cached(sql)?;
    let mut rows = statement.query([bill_id])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let leaf = leaf_over(row, 10)?;
    let mut canon = CanonicalHasher::of("bill");
    canon.columns(row, 0..10)?;
    if let Some(leaf) = &leaf {
        canon.bytes(leaf);
    }
    Ok(Some(canon.finish()))
}

/// Returns the leaf over the columns behind the one with the salt, all of them.
fn leaf_over(row: &Row<'_>, salt: usize) -> Result<Option<Digest>, Error> {
    let mut leaves = CanonicalHasher::of("leaf");
    Sealed::of(row, salt)?.leaf(&mut leaves, |leaf| {
        Ok(leaf.columns(row, salt + 1..row.as_ref().column_count())?)
    })
}

/// Returns the leaf of a row that a statement finds: its salt, and what is personal of it; `None` where it has no salt.
fn leaf_of_row(
    c: &Connection,
    sql: &str,
    keys: impl rusqlite::Params,
) -> Result<Option<Digest>, Error> {
    let mut statement = c.prepare_cached(sql)?;
    let mut rows = statement.query(keys)?;
    match rows.next()? {
        Some(row) => leaf_over(row, 0),
        None => Ok(None),
    }
}

/// Returns the leaf of what a bill says of a person.
pub(in crate::journal::sqlite) fn bill_leaf(
    c: &Connection,
    bill_id: i64,
) -> Result<Option<Digest>, Error> {
    let sql = "select salt, customer_name, description from bill where bill_id = ?1";
    leaf_of_row(c, sql, [bill_id])
}

/// Returns the leaf of a row of evidence.
pub(in crate::journal::sqlite) fn evidence_leaf(
    c: &Connection,
    evidence_id: EvidenceId,
) -> Result<Option<Digest>, Error> {
    let sql =
        "select salt, anomaly, detail, receiver_narration from evidence where evidence_id = ?1";
    leaf_of_row(c, sql, [evidence_id])
}

/// Returns the leaf of a rejected row: of its load, on its line, behind so many others.
pub(in crate::journal::sqlite) fn rejected_leaf(
    c: &Connection,
    place: (LoadId, i64, i64),
) -> Result<Option<Digest>, Error> {
    let sql = format!(
        "select salt, {REJECTED_TEXTS} from rejected where load_id = ?1 and line = ?2 and nth = ?3"
    );
    leaf_of_row(c, &sql, place)
}

/// Everything that is left of the people of a batch who were forgotten: pseudonyms, leaves, and that nothing stands where a text was.
const FORGOTTEN: [&str; 4] = [
    "select seq, reference, msisdn, account_number, narration, customer_names, invoice_number, extra, document, document_folder, salt
     from instruction where batch_id = ?1 and length(salt) = 32 order by seq",
    "select evidence_id, anomaly, detail, receiver_narration, salt from evidence where batch_id = ?1 and length(salt) = 32 order by evidence_id",
    "select load_id, line, nth, reference, service_code, msisdn, account_number, amount_text, errors, digest, cells, salt
     from rejected where batch_id = ?1 and length(salt) = 32 order by load_id, line, nth",
    "select b.bill_id, b.customer_name, b.description, b.salt from bill b cross join instruction i using (seq)
     where i.batch_id = ?1 and length(b.salt) = 32 order by b.bill_id",
];

/// Returns the digest of what is left of the people of a batch who were forgotten.
pub(in crate::journal::sqlite) fn forgotten_digest(
    c: &Connection,
    batch_id: BatchId,
) -> Result<Digest, Error> {
    let mut canon = CanonicalHasher::of("forgotten");
    for sql in FORGOTTEN {
        let mut statement = c.prepare_cached(sql)?;
        let mut rows = statement.query([batch_id])?;
        while let Some(row) = rows.next()? {
            canon.row(row)?;
        }
        canon.null();
    }
    Ok(canon.finish())
}

pub(in crate::journal::sqlite) fn pin_digest(
    c: &Connection,
    batch_id: BatchId,
) -> Result<Option<Digest>, Error> {
    let sql = "select gateway, wire from batch where batch_id = ?1";
    digest_of(c, "pin", sql, batch_id.get())
}

/// Returns the digest of a load and of the rows that it set aside, and how many these are.
pub(in crate::journal::sqlite) fn file_digest(
    c: &Connection,
    load_id: LoadId,
) -> Result<Option<(Digest, i64)>, Error> {
    let mut canon = CanonicalHasher::of("load");
    let mut load = c.prepare_cached(
        "select load_id, batch_id, source, digest, loaded_at, accepted, rejected, total, total_currency
         from load where load_id = ?1",
    )?;
    let mut rows = load.query([load_id])?;
    match rows.next()? {
        Some(row) => canon.row(row)?,
        None => return Ok(None),
    }
    let mut rejected = c.prepare_cached(
        "select line, batch_id, reference, service_code, msisdn, account_number, amount_text, amount, currency, errors
         from rejected where load_id = ?1 and salt is null order by line, nth",
    )?;
    let mut rows = rejected.query([load_id])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        canon.row(row)?;
        count += 1;
    }
    count += salted_rejected(c, load_id, &mut canon)?;
    // Versions before 5 had neither, and what they recorded is still to be proven.
    let mut known = c.prepare_cached(
        "select nth, digest, cells from rejected where load_id = ?1 and digest is not null and salt is null order by line, nth",
    )?;
    let mut rows = known.query([load_id])?;
    while let Some(row) = rows.next()? {
        canon.row(row)?;
    }
    let mut read_by = c.prepare_cached(
        "select layout, layout_digest, file_digest from load where load_id = ?1
         and (layout is not null or layout_digest is not null or file_digest is not null)",
    )?;
    let mut rows = read_by.query([load_id])?;
    while let Some(row) = rows.next()? {
        canon.row(row)?;
    }
    let mut known = c.prepare_cached(
        "select payments, identifiers from load where load_id = ?1 and payments is not null",
    )?;
    let mut rows = known.query([load_id])?;
    while let Some(row) = rows.next()? {
        canon.row(row)?;
    }
    Ok(Some((canon.finish(), count)))
}

/// What is personal of a rejected row: all of its texts, and the digest of its cells.
const REJECTED_TEXTS: &str =
    "reference, service_code, msisdn, account_number, amount_text, errors, digest, cells";

/// Takes in the rejected rows whose texts are hashed into leaves; returns how many there are.
fn salted_rejected(
    c: &Connection,
    load_id: LoadId,
    canon: &mut CanonicalHasher,
) -> Result<i64, Error> {
    let mut statement = c.prepare_cached(&format!(
        "select line, nth, batch_id, amount, currency, salt, {REJECTED_TEXTS} from rejected
         where load_id = ?1 and salt is not null order by line, nth"
    ))?;
    let mut rows = statement.query([load_id])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        let leaf = leaf_over(row, 5)?;
        canon.maybe(leaf.as_ref(), |canon, leaf| canon.bytes(leaf));
        canon.columns(row, 0..5)?;
        count += 1;
    }
    Ok(count)
}

/// Puts a load, the rows that it set aside, and how many fingerprints it has on the chain.
pub(in crate::journal::sqlite) fn file(
    c: &Connection,
    chain: &mut Chain,
    batch_id: BatchId,
    load_id: LoadId,
    at: Timestamp,
) -> Result<(), Error> {
    let (digest, rejected) =
        file_digest(c, load_id)?.ok_or_else(|| corrupt("a load that is not there"))?;
    let (loaded_at, accepted) = c
        .prepare_cached("select loaded_at, accepted from load where load_id = ?1")?
        .query_row([load_id], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        })?;
    let mut detail = json!({"load": load_id.get(), "rejected": rejected, "loaded_at": loaded_at, "accepted": accepted});
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
pub(in crate::journal::sqlite) fn pin(
    c: &Connection,
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
pub(in crate::journal::sqlite) fn upload(
    c: &Connection,
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
pub(in crate::journal::sqlite) fn seal_version_1(c: &Connection) -> Result<(), Error> {
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
pub(in crate::journal::sqlite) const EVIDENCE: &str =
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
