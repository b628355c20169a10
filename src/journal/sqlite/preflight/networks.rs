//! Networks of numbers: which numbers there are, and what the lookup said of them.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};

use crate::domain::{BatchId, BatchName, Msisdn, PaymentId, ServiceCode, Timestamp};
use crate::journal::sqlite::Journal;
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::values::{country_of, msisdn_of, service_of};
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{Error, Network, Number, RowNetwork};

impl Journal {
    /// Notes every number of a batch once, as never looked up; what is known of a number stays. Services among `to_account`
    /// pay the account, so that its number is the one that counts.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn note_numbers(
        &self,
        batch: BatchName,
        to_account: BTreeSet<ServiceCode>,
    ) -> Result<u64, Error> {
        self.ask(CommitMode::Alone, move |c| {
            note_numbers(c, &batch, &to_account)
        })
        .await
    }

    /// Returns numbers that were noted, beyond `after`, in their order.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn numbers(&self, after: Option<Number>, limit: usize) -> Result<Vec<Number>, Error> {
        self.ask(CommitMode::Shared, move |c| numbers(c, after, limit))
            .await
    }

    /// Returns what is known of these numbers since `since`, in the same order.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn networks(
        &self,
        asked: Vec<Number>,
        since: Timestamp,
    ) -> Result<Vec<Option<Network>>, Error> {
        self.ask(CommitMode::Shared, move |c| {
            asked
                .iter()
                .map(|number| Ok(network(c, *number)?.filter(|found| found.at > since)))
                .collect()
        })
        .await
    }

    /// Records what the lookup said, in the place of what it said before.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn record_networks(&self, networks: Vec<Network>) -> Result<(), Error> {
        self.ask(CommitMode::Shared, move |c| {
            networks.iter().try_for_each(|network| record(c, network))
        })
        .await
    }

    /// Returns rows of a batch with the networks of their numbers, beyond the payment `after`.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn row_networks(
        &self,
        batch: BatchName,
        to_account: BTreeSet<ServiceCode>,
        after: PaymentId,
        limit: usize,
    ) -> Result<Vec<RowNetwork>, Error> {
        self.ask(CommitMode::Shared, move |c| {
            row_networks(c, &batch, &to_account, after, limit)
        })
        .await
    }
}

const ROWS: &str = "select i.seq, i.line, s.code, i.country, i.msisdn, i.account_number
     from instruction i cross join service s on s.service_id = i.service_id
     where i.seq > ?2 and i.batch_id = ?1 order by i.seq limit ?3";
/// Rows noted between two looks at the table.
const PAGE: usize = 4096;

fn note_numbers(
    c: &Connection,
    batch: &BatchName,
    to_account: &BTreeSet<ServiceCode>,
) -> Result<u64, Error> {
    let batch_id = known_batch(c, batch)?;
    let mut note = c.prepare_cached(
        "insert into lookup (country, msisdn, at) values (?1, ?2, 0) on conflict do nothing",
    )?;
    let (mut after, mut noted) = (PaymentId::NONE, 0);
    loop {
        let page = rows(c, batch_id, to_account, after, PAGE)?;
        let Some(last) = page.last() else {
            return Ok(noted);
        };
        after = last.seq;
        for row in &page {
            noted += note.execute(params![
                row.number.country.code(),
                row.number.msisdn.as_str()
            ])? as u64;
        }
    }
}

/// Reads a page of rows, without what is known of their numbers.
fn rows(
    c: &Connection,
    batch_id: BatchId,
    to_account: &BTreeSet<ServiceCode>,
    after: PaymentId,
    limit: usize,
) -> Result<Vec<RowNetwork>, Error> {
    let mut statement = c.prepare_cached(ROWS)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![batch_id, after, limit])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let service = service_of(&row.get::<_, String>(2)?)?;
        let country = country_of(&row.get::<_, String>(3)?)?;
        let account: Option<String> = row.get(5)?;
        // An account that is no phone number leaves the customer's own.
        let account = account
            .filter(|_| to_account.contains(&service))
            .and_then(|account| Msisdn::from_digits(&account));
        let msisdn = msisdn_of(&row.get::<_, String>(4)?)?;
        found.push(RowNetwork {
            seq: row.get(0)?,
            line: row.get::<_, i64>(1)?.unsigned_abs(),
            service,
            column: if account.is_some() {
                "account_number"
            } else {
                "msisdn"
            },
            number: Number {
                country,
                msisdn: account.unwrap_or(msisdn),
            },
            carrier: None,
        });
    }
    Ok(found)
}

fn row_networks(
    c: &Connection,
    batch: &BatchName,
    to_account: &BTreeSet<ServiceCode>,
    after: PaymentId,
    limit: usize,
) -> Result<Vec<RowNetwork>, Error> {
    let mut page = rows(c, known_batch(c, batch)?, to_account, after, limit)?;
    for row in &mut page {
        row.carrier = network(c, row.number)?.and_then(|network| network.carrier);
    }
    Ok(page)
}

fn numbers(c: &Connection, after: Option<Number>, limit: usize) -> Result<Vec<Number>, Error> {
    let mut statement = c.prepare_cached(
        "select country, msisdn from lookup where (country, msisdn) > (?1, ?2) order by country, msisdn limit ?3",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = match &after {
        Some(number) => statement.query(params![
            number.country.code(),
            number.msisdn.as_str(),
            limit
        ])?,
        None => statement.query(params!["", "", limit])?,
    };
    let mut numbers = Vec::new();
    while let Some(row) = rows.next()? {
        numbers.push(Number {
            country: country_of(&row.get::<_, String>(0)?)?,
            msisdn: msisdn_of(&row.get::<_, String>(1)?)?,
        });
    }
    Ok(numbers)
}

fn network(c: &Connection, number: Number) -> Result<Option<Network>, Error> {
    let found = c
        .prepare_cached(
            "select at, carrier, time_zone from lookup where country = ?1 and msisdn = ?2",
        )?
        .query_row(
            params![number.country.code(), number.msisdn.as_str()],
            |row| {
                Ok(Network {
                    number,
                    at: Timestamp::from_millis(row.get(0)?),
                    carrier: row.get(1)?,
                    time_zone: row.get(2)?,
                })
            },
        )
        .optional()?;
    Ok(found)
}

fn record(c: &Connection, network: &Network) -> Result<(), Error> {
    c.prepare_cached(
        "insert into lookup (country, msisdn, at, carrier, time_zone) values (?1, ?2, ?3, ?4, ?5)
         on conflict do update set at = excluded.at, carrier = excluded.carrier, time_zone = excluded.time_zone",
    )?
    .execute(params![
        network.number.country.code(),
        network.number.msisdn.as_str(),
        network.at.as_millis(),
        network.carrier,
        network.time_zone,
    ])?;
    Ok(())
}
