//! Networks of the numbers of a file, compared with the carriers of their services (sections 2.6 and 4.4).

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::RequestPolicy;
use crate::domain::{BatchName, PaymentId, ServiceCode, Timestamp};
use crate::engine::Clock;
use crate::gateway::{LookupClient, LookupInquiry, NetworkOf, OperationError};
use crate::journal::{Error, Journal, Network, Number, RowNetwork};

/// Numbers between two commits of what was learned.
const PAGE: usize = 64;
/// Rows compared between two reads.
const ROWS: usize = 512;

/// Where numbers are looked up.
pub trait NetworkLookup: Send + Sync + 'static {
    /// Looks one number up (section 4.4).
    fn lookup(
        &self,
        inquiry: &LookupInquiry,
    ) -> impl Future<Output = Result<NetworkOf, OperationError>> + Send;
}

impl NetworkLookup for LookupClient {
    async fn lookup(&self, inquiry: &LookupInquiry) -> Result<NetworkOf, OperationError> {
        Self::lookup(self, inquiry).await
    }
}

/// The numbers of one file.
pub struct Lookups<L> {
    /// A journal that holds the rows of the file, in this batch.
    pub rows: Journal,
    /// Their batch there.
    pub batch: BatchName,
    /// Services that pay the account: where it is a phone number, its network is the one that counts.
    pub to_account: BTreeSet<ServiceCode>,
    /// The journal that keeps what was learned; without it, nothing is kept.
    pub cache: Option<Journal>,
    /// How long what was learned counts.
    pub max_age: Duration,
    /// The lookup.
    pub service: Arc<L>,
    /// How requests are made.
    pub manner: Arc<RequestPolicy>,
    /// The clock.
    pub clock: Clock,
}

/// What became of the lookups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LookupReport {
    /// Distinct numbers of the file.
    pub numbers: u64,
    /// Numbers that were looked up now.
    pub looked_up: u64,
    /// Numbers that were known from before.
    pub known: u64,
    /// Why the lookups ended early; `None` as the reason: a signal.
    pub stopped: Option<Option<OperationError>>,
}

/// A row whose number is not one, or is of another network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongNetwork {
    /// The row.
    pub row: RowNetwork,
    /// The carriers of its service; empty when the number is not a phone number at all.
    pub carriers: Vec<String>,
}

impl<L: NetworkLookup> Lookups<L> {
    /// Looks up every distinct number that is not known; `tell` hears how far it is.
    ///
    /// # Errors
    /// Faults of a journal.
    pub async fn carry_out(
        &self,
        mut tell: impl FnMut(&LookupReport),
    ) -> Result<LookupReport, Error> {
        let mut report = LookupReport {
            numbers: self
                .rows
                .note_numbers(self.batch.clone(), self.to_account.clone())
                .await?,
            ..LookupReport::default()
        };
        let mut after = None;
        while report.stopped.is_none() {
            let page = self.rows.numbers(after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(*last);
            self.page(page, &mut report).await?;
            tell(&report);
        }
        Ok(report)
    }

    async fn page(&self, page: Vec<Number>, report: &mut LookupReport) -> Result<(), Error> {
        let known = match &self.cache {
            Some(cache) => {
                let age = i64::try_from(self.max_age.as_millis()).unwrap_or(i64::MAX);
                let now = self.clock.now().as_millis();
                let since = Timestamp::from_millis(now.saturating_sub(age).max(0));
                cache.networks(page.clone(), since).await?
            }
            None => vec![None; page.len()],
        };
        let mut found: Vec<Network> = Vec::with_capacity(page.len());
        let mut unknown = Vec::new();
        for (number, network) in page.into_iter().zip(known) {
            match network {
                Some(network) => found.push(network),
                None => unknown.push(number),
            }
        }
        report.known += found.len() as u64;
        let learned = self.learn(unknown, report).await;
        report.looked_up += learned.len() as u64;
        if let Some(cache) = &self.cache
            && !learned.is_empty()
        {
            cache.record_networks(learned.clone()).await?;
        }
        found.extend(learned);
        self.rows.record_networks(found).await
    }

    /// Looks numbers up until all are known or the lookup ends; what was learned is never thrown away.
    async fn learn(&self, numbers: Vec<Number>, report: &mut LookupReport) -> Vec<Network> {
        let mut learned = Vec::with_capacity(numbers.len());
        let mut under_way = JoinSet::new();
        let mut left = numbers.into_iter();
        loop {
            while under_way.len() < self.manner.concurrency && report.stopped.is_none() {
                let Some(number) = left.next() else { break };
                let (service, manner) = (Arc::clone(&self.service), Arc::clone(&self.manner));
                under_way.spawn(async move { (number, ask(&*service, &manner, number).await) });
            }
            let Some(joined) = under_way.join_next().await else {
                return learned;
            };
            let stop = match joined {
                Ok((number, Some(Ok(network)))) => {
                    learned.push(self.network(number, Some(network)));
                    continue;
                }
                Ok((number, Some(Err(OperationError::NotANumber(_))))) => {
                    learned.push(self.network(number, None));
                    continue;
                }
                Ok((_, Some(Err(error)))) => Some(error),
                Ok((_, None)) => None,
                Err(_) => Some(OperationError::Unavailable("a lookup broke off".to_owned())),
            };
            report.stopped.get_or_insert(stop);
        }
    }

    fn network(&self, number: Number, network: Option<NetworkOf>) -> Network {
        let (carrier, time_zone) = network
            .map(|network| (network.carrier, network.time_zone))
            .unzip();
        Network {
            number,
            at: self.clock.now(),
            carrier,
            time_zone,
        }
    }

    /// Compares every row with the carriers of its service, in the order of the file; `tell` hears what is wrong.
    ///
    /// # Errors
    /// Faults of a journal.
    pub async fn compare(
        &self,
        carriers: &BTreeMap<ServiceCode, Vec<String>>,
        mut tell: impl FnMut(WrongNetwork),
    ) -> Result<(), Error> {
        let mut after = PaymentId::NONE;
        loop {
            let page = self
                .rows
                .row_networks(self.batch.clone(), self.to_account.clone(), after, ROWS)
                .await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = last.seq;
            page.into_iter()
                .filter_map(|row| wrong(row, carriers))
                .for_each(&mut tell);
        }
    }
}

async fn ask<L: NetworkLookup>(
    service: &L,
    manner: &RequestPolicy,
    number: Number,
) -> Option<Result<NetworkOf, OperationError>> {
    let inquiry = LookupInquiry {
        country: number.country,
        number: number.msisdn,
    };
    manner.persist(|| service.lookup(&inquiry)).await
}

fn wrong(row: RowNetwork, carriers: &BTreeMap<ServiceCode, Vec<String>>) -> Option<WrongNetwork> {
    let Some(carrier) = &row.carrier else {
        let carriers = Vec::new();
        return Some(WrongNetwork { row, carriers });
    };
    let expected = carriers
        .get(&row.service)
        .filter(|expected| !expected.is_empty())?;
    let found = carrier.trim().to_lowercase();
    let fits = expected
        .iter()
        .any(|expected| expected.trim().to_lowercase() == found);
    (!fits).then(|| WrongNetwork {
        carriers: expected.clone(),
        row,
    })
}
