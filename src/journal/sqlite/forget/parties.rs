//! Whom a number or an account may mean: the rows that name it, by whom they pay.

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, Row};
use serde_json::json;

use crate::domain::BatchName;
use crate::journal::sqlite::codec::recipient::know_recipients;
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::read::reader::Reader;
use crate::journal::sqlite::repeats::fingerprints::Key;
use crate::journal::{Error, Forgotten, PaidIn, Party};
use crate::ledger::forgetting::{PartyOf, Recipient, party};

/// Payments `i` of the recipient ?1 ([`compared`]); of anybody where that is null.
pub(super) const OF_RECIPIENT: &str = "(?1 is null or recipient(i.msisdn) in (select value from json_each(?1, '$.texts'))
    or recipient(coalesce(i.account_number, i.msisdn)) in (select value from json_each(?1, '$.texts')))";

/// The same of rejected rows `r`, whose number may be written as it is within its country: that of the row, of all rows of its
/// batch, or of rows that name none.
pub(super) const REJECTED_OF_RECIPIENT: &str = "(?1 is null
    or recipient(coalesce(r.msisdn, '')) in (select value from json_each(?1, '$.texts'))
    or recipient(coalesce(nullif(r.account_number, ''), r.msisdn, '')) in (select value from json_each(?1, '$.texts'))
    or exists (select 1 from json_each(?1, '$.national') n
        where n.value ->> '$[1]' in (recipient(coalesce(r.msisdn, '')), recipient(coalesce(r.account_number, '')))
        and n.value ->> '$[0]' = coalesce(
            nullif(upper(trim(json_extract(nullif(r.cells, ''), '$.country_code'))), ''),
            (select case when min(j.country) = max(j.country) then min(j.country) end from instruction j where j.batch_id = r.batch_id),
            ?1 ->> '$.of_none')))";

/// Whom a payment `i` pays, as a word.
pub(super) const INSTRUCTION_PARTY: &str = "party(i.msisdn, coalesce(i.account_number, ''),
    coalesce((select x.value ->> '$[1]' from json_each(nullif(i.extra, '')) x where x.value ->> '$[0]' = 'destinationBankCode'), ''),
    (select s.code from service s where s.service_id = i.service_id))";

/// The same of a rejected row `r`; a number that is written as it is within its country is taken in full.
pub(super) const REJECTED_PARTY: &str = "party(
    coalesce((select n.value ->> '$[2]' from json_each(?1, '$.national') n
        where n.value ->> '$[1]' = recipient(coalesce(r.msisdn, '')) and n.value ->> '$[0]' = coalesce(
            nullif(upper(trim(json_extract(nullif(r.cells, ''), '$.country_code'))), ''),
            (select case when min(j.country) = max(j.country) then min(j.country) end from instruction j where j.batch_id = r.batch_id),
            ?1 ->> '$.of_none')), r.msisdn, ''),
    coalesce(r.account_number, ''),
    coalesce(json_extract(nullif(r.cells, ''), '$.bank_code'), ''), coalesce(r.service_code, ''))";

/// Lets a statement tell recipients apart as the ledger does where one of them is forgotten.
pub(super) fn know_parties(c: &Connection) -> Result<(), Error> {
    know_recipients(c)?;
    // A journal without a key has no rows.
    let key = Key::of(c)?;
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    c.create_scalar_function("party", 4, flags, move |context| {
        let text = |at: usize| context.get::<String>(at);
        let [number, account, bank, service] = [text(0)?, text(1)?, text(2)?, text(3)?];
        let row = PartyOf {
            number: &number,
            account: &account,
            bank: &bank,
            service: &service,
        };
        Ok(key.map(|key| party(row, |parts| key.pseudonym(parts))))
    })?;
    Ok(())
}

/// Returns a recipient as statements compare it.
pub(super) fn compared(recipient: &Recipient) -> String {
    let national = recipient.national.iter();
    let national: Vec<_> = national
        .map(|(country, text, number)| json!([country.code(), text, number]))
        .collect();
    json!({
        "texts": recipient.texts,
        "national": national,
        "only": recipient.only,
        "of_none": recipient.of_none.map(|country| country.code().to_owned()),
    })
    .to_string()
}

impl Reader {
    /// Returns everybody whom a recipient may be, as far as their rows are not forgotten, each with its rows.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn parties(&self, recipient: &Recipient) -> Result<Vec<Party>, Error> {
        let c = &self.connection;
        know_parties(c)?;
        let mut statement = c.prepare(&format!(
            "with found (word, number, account, bank, service, country, batch_id, payments, rejected) as (
                 select {INSTRUCTION_PARTY}, i.msisdn, coalesce(i.account_number, ''),
                     coalesce((select x.value ->> '$[1]' from json_each(nullif(i.extra, '')) x
                         where x.value ->> '$[0]' = 'destinationBankCode'), ''),
                     (select s.code from service s where s.service_id = i.service_id), i.country, i.batch_id, 1, 0
                 from instruction i where length(i.salt) is not 32 and {OF_RECIPIENT}
                 union all
                 select {REJECTED_PARTY}, coalesce(r.msisdn, ''), coalesce(r.account_number, ''),
                     coalesce(json_extract(nullif(r.cells, ''), '$.bank_code'), ''), coalesce(r.service_code, ''),
                     coalesce(upper(trim(json_extract(nullif(r.cells, ''), '$.country_code'))), ''), r.batch_id, 0, 1
                 from rejected r where length(r.salt) is not 32 and {REJECTED_OF_RECIPIENT})
             select f.word, max(f.number), max(f.account), max(f.bank), max(f.service), max(f.country), b.name,
                 sum(f.payments), sum(f.rejected)
             from found f join batch b on b.batch_id = f.batch_id group by f.word, f.batch_id order by f.word, f.batch_id"
        ))?;
        let mut rows = statement.query([compared(recipient)])?;
        let mut found: Vec<Party> = Vec::new();
        while let Some(row) = rows.next()? {
            let next = party_of(row)?;
            match found.last_mut() {
                Some(last) if last.word == next.word => last.paid_in.extend(next.paid_in),
                _ => found.push(next),
            }
        }
        Ok(found)
    }
}

fn party_of(row: &Row<'_>) -> Result<Party, Error> {
    let (number, account): (String, String) = (row.get(1)?, row.get(2)?);
    let bank: String = row.get(3)?;
    let is_number = bank.is_empty() && (account.is_empty() || account == number);
    let name: String = row.get(6)?;
    let (payments, rejected): (i64, i64) = (row.get(7)?, row.get(8)?);
    Ok(Party {
        word: row.get(0)?,
        account: match account.is_empty() {
            true => number,
            false => account,
        },
        is_number,
        bank,
        service: row.get(4)?,
        country: row.get(5)?,
        paid_in: vec![PaidIn {
            batch: BatchName::parse(&name).map_err(|_| corrupt("the name of a batch"))?,
            rows: Forgotten {
                payments: payments.unsigned_abs(),
                rejected: rejected.unsigned_abs(),
            },
        }],
    })
}
