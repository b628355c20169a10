//! Networks of numbers: which numbers there are, and what the lookup said of them.

use std::collections::BTreeSet;

use crate::domain::{
    BatchId, BatchName, Country, LaneId, Msisdn, PaymentId, ServiceCode, Timestamp,
};
use crate::journal::Journal;
use crate::journal::codec::catalog::known_batch;
use crate::journal::codec::instructions::Instructions;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, Network, Number, RowNetwork};
use crate::store::tables::{instruction, lookup};
use crate::store::{Field, Read, Reads, Scan, Test, Write, Writes, shape};

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
        self.ask_again(CommitMode::Alone, move |c| {
            note_numbers(c, &batch, &to_account)
        })
        .await
    }

    /// Returns numbers that were noted, beyond `after`, in their order.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn numbers(&self, after: Option<Number>, limit: usize) -> Result<Vec<Number>, Error> {
        self.read(move |c| numbers(c, after, limit)).await
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
        self.read(move |c| {
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
        self.ask_again(CommitMode::Shared, move |c| {
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
        self.read(move |c| row_networks(c, &batch, &to_account, after, limit))
            .await
    }
}

/// Rows noted between two looks at the table.
const PAGE: usize = 4096;

shape! {
    /// A number that was never looked up.
    struct Noted of lookup { country: Country, msisdn: Msisdn, at: Timestamp }
}
shape! {
    /// A number, and what the lookup said of it.
    struct Known of lookup {
        country: Country, msisdn: Msisdn, at: Timestamp, carrier: Option<String>, time_zone: Option<String>,
    }
}
shape! {
    /// A row, as far as its numbers go.
    struct Numbered of instruction {
        seq: PaymentId, line: i64, service_id: LaneId, country: Country, msisdn: Msisdn, account_number: Option<String>,
    }
}

fn note_numbers(
    c: &dyn Write,
    batch: &BatchName,
    to_account: &BTreeSet<ServiceCode>,
) -> Result<u64, Error> {
    let batch_id = known_batch(c, batch)?;
    let (mut after, mut noted) = (PaymentId::NONE, 0);
    loop {
        let page = rows(c, batch_id, to_account, after, PAGE)?;
        let Some(last) = page.last() else {
            return Ok(noted);
        };
        after = last.seq;
        for row in &page {
            noted += u64::from(c.insert_new(&Noted {
                country: row.number.country,
                msisdn: row.number.msisdn,
                at: Timestamp::from_millis(0),
            })?);
        }
    }
}

/// Reads a page of rows, without what is known of their numbers.
fn rows(
    c: &dyn Read,
    batch_id: BatchId,
    to_account: &BTreeSet<ServiceCode>,
    after: PaymentId,
    limit: usize,
) -> Result<Vec<RowNetwork>, Error> {
    let rows = Scan::of(&instruction::TABLE).after(&after);
    let rows = rows.only(instruction::batch_id, Test::is(&batch_id));
    let services = Instructions::of(c);
    let mut found = Vec::new();
    c.each(&rows.limit(limit), |row: Numbered| {
        let service = services.service(row.service_id)?;
        // An account that is no phone number leaves the customer's own.
        let account = row
            .account_number
            .filter(|_| to_account.contains(&service))
            .and_then(|account| Msisdn::from_digits(&account));
        found.push(RowNetwork {
            seq: row.seq,
            line: row.line.unsigned_abs(),
            service,
            column: if account.is_some() {
                "account_number"
            } else {
                "msisdn"
            },
            number: Number {
                country: row.country,
                msisdn: account.unwrap_or(row.msisdn),
            },
            carrier: None,
        });
        Ok::<_, Error>(())
    })?;
    Ok(found)
}

fn row_networks(
    c: &dyn Read,
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

fn numbers(c: &dyn Read, after: Option<Number>, limit: usize) -> Result<Vec<Number>, Error> {
    shape! {
        struct Key of lookup { country: Country, msisdn: Msisdn }
    }
    let all = Scan::of(&lookup::TABLE);
    let beyond = match &after {
        Some(number) => all.after_all(vec![number.country.to_value(), number.msisdn.to_value()]),
        None => all,
    };
    let mut numbers = Vec::new();
    c.each(&beyond.limit(limit), |Key { country, msisdn }| {
        numbers.push(Number { country, msisdn });
        Ok::<_, Error>(())
    })?;
    Ok(numbers)
}

fn network(c: &dyn Read, number: Number) -> Result<Option<Network>, Error> {
    let one = Scan::of(&lookup::TABLE)
        .at(&number.country)
        .at(&number.msisdn);
    let found: Option<Known> = c.first(&one)?;
    Ok(found.map(|known| Network {
        number,
        at: known.at,
        carrier: known.carrier,
        time_zone: known.time_zone,
    }))
}

fn record(c: &dyn Write, network: &Network) -> Result<(), Error> {
    Ok(c.put(&Known {
        country: network.number.country,
        msisdn: network.number.msisdn,
        at: network.at,
        carrier: network.carrier.clone(),
        time_zone: network.time_zone.clone(),
    })?)
}
