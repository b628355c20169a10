//! Bills of postpaid services, as `check`, `load` and `run` ask for them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::sandbox;
use crate::cli::Error;
use crate::cli::config::{self, Settings};
use crate::cli::gateway;
use crate::cli::session::Session;
use crate::cli::signals;
use crate::cli::terminal::output;
use crate::domain::{BatchName, PaymentKind, ServiceCode, Timestamp};
use crate::engine::Clock;
use crate::gateway::{HttpGateway, OperationError};
use crate::journal::{BillCursor, BillRival, Journal, LoadSummary, RunLock};
use crate::preflight::{BillReport, BillRule, Bills, BillsStop, RefusedBill, RequestPolicy};
use crate::sandbox::Sandbox;

/// Rows that are named one by one.
const SHOWN: usize = 50;
/// The seed that a run takes when none is named; without faults, nothing hangs on it.
const SEED: u64 = 2026;
/// How often a person hears how far it is.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// What is to be asked, and of whom.
pub(in crate::cli) struct Inquiry<'a> {
    pub(in crate::cli) session: &'a Session,
    pub(in crate::cli) settings: &'a Settings,
    pub(in crate::cli) journal: &'a Journal,
    pub(in crate::cli) batch: &'a BatchName,
    /// Rows without an amount take what is due.
    pub(in crate::cli) take_due: bool,
    pub(in crate::cli) drain: CancellationToken,
}

/// What the bills came to, or that none was to be asked for.
#[derive(Default)]
pub(in crate::cli) struct Told {
    report: BillReport,
    asked: bool,
}

impl Inquiry<'_> {
    /// Returns whether a bill is still to be asked for.
    pub(in crate::cli) async fn is_needed(&self) -> Result<bool, Error> {
        let checked = rules(self.settings)
            .into_iter()
            .filter(|(_, rule)| rule.amount.asks())
            .map(|(service, _)| service)
            .collect();
        let from = match self.take_due {
            true => BillCursor::ALL,
            false => BillCursor::CHECKS,
        };
        let batch = self.batch.clone();
        let (rows, _) = self.journal.bills_to_ask(batch, checked, from, 1).await?;
        Ok(!rows.is_empty())
    }

    /// Asks for the bills; what they say is recorded as it comes.
    pub(in crate::cli) async fn ask(&self, client: Arc<HttpGateway>) -> Result<Told, Error> {
        let limits = &self.settings.profile.limits;
        let count = |n: std::num::NonZeroU32| usize::try_from(n.get()).unwrap_or(usize::MAX);
        let manner = RequestPolicy::packed(
            limits.query_rate,
            count(limits.packets_per_request),
            count(limits.concurrency),
            self.drain.clone(),
        );
        let bills = Bills {
            journal: self.journal.clone(),
            batch: self.batch.clone(),
            services: rules(self.settings),
            take_due: self.take_due,
            gateway: client,
            manner: Arc::new(manner),
            clock: Clock::start(),
        };
        let mut told = Instant::now();
        let report = bills
            .carry_out(|report| {
                if told.elapsed() >= TOLD_EVERY {
                    told = Instant::now();
                    self.session.note(&text(report));
                }
            })
            .await?;
        Ok(Told {
            report,
            asked: true,
        })
    }
}

impl Told {
    /// Says what the bills came to; names every row that cannot be paid by its bill, under the name of `file` if given.
    ///
    /// `kept`: the rows are in a batch of a journal, and stay there.
    pub(in crate::cli) fn judge(
        &self,
        session: &Session,
        file: Option<&str>,
        kept: Option<&BatchName>,
    ) -> Result<(), Error> {
        if !self.asked {
            return Ok(());
        }
        let report = &self.report;
        session.note(&text(report));
        for row in report.refusals.iter().take(SHOWN) {
            output::note(&refusal_text(row, file));
        }
        if report.refused > SHOWN as u64 {
            output::note(&format!("… and {} more", report.refused - SHOWN as u64));
        }
        let nothing = match kept {
            Some(_) => "; nothing was posted",
            None => "",
        };
        if !report.refusals.is_empty() {
            return Err(self.refused(kept, nothing));
        }
        match &report.stopped {
            None => Ok(()),
            Some(BillsStop::Drained) => Err(Error::unfinished(format!(
                "stopped before the bills of all rows were asked for{nothing}"
            ))
            .hint("run the same command again to go on")),
            Some(BillsStop::Gateway(error @ OperationError::Credentials { .. })) => {
                Err(Error::stopped(format!("bill query: {error}{nothing}"))
                    .hint("check username and password, then run the same command again"))
            }
            Some(BillsStop::Gateway(error @ OperationError::Unavailable(_))) => {
                Err(Error::unfinished(format!("bill query: {error}{nothing}"))
                    .hint("run the same command again when the gateway has recovered; the bills that it has told are \
                        kept"))
            }
            Some(BillsStop::Gateway(error)) => {
                Err(Error::refused(format!("bill query: {error}{nothing}"))
                    .hint("check payment_path, and whether the gateway has bill queries"))
            }
        }
    }

    /// Rows cannot be paid by their bills: says how many, and what to do.
    fn refused(&self, kept: Option<&BatchName>, nothing: &str) -> Error {
        let report = &self.report;
        let more = match report.stopped {
            Some(_) => "; the bills of other rows were not asked for",
            None => "",
        };
        let error = Error::refused(format!(
            "{} cannot be paid by {}{more}{nothing}",
            output::counted(report.refused, "row"),
            if report.refused == 1 {
                "its bill"
            } else {
                "their bills"
            },
        ));
        let name = |row: &RefusedBill| {
            let reference = row.reference.clone();
            reference.unwrap_or_else(|| row.id.to_string())
        };
        let (waiting, others): (Vec<_>, Vec<_>) =
            report.refusals.iter().partition(|row| row.rival.is_some());
        let error = match (others.first(), kept) {
            (None, _) => error,
            (Some(_), None) => error.hint("mend them in the file, and check it again"),
            (Some(first), Some(batch)) => error
                .hint(format!(
                    "the batch is not posted while these rows are in it. Withdraw each: disburse cancel {batch} {}; or \
                     run the same command again once the biller has corrected the bill",
                    name(first)
                ))
                .hint(
                    "to pay a withdrawn row after all, add it again with --amend, with an amount and with another \
                    reference",
                ),
        };
        let waits = waiting
            .first()
            .and_then(|row| Some((row, row.rival.as_ref()?)));
        match waits {
            Some((row, rival)) => error.hint(rival_hint(kept, &name(row), rival)),
            None => error,
        }
    }

    /// Adds the amounts that were taken from bills to what a file adds up to.
    pub(in crate::cli) fn complete(&self, summary: &mut LoadSummary) {
        for (service, currency, taken) in self.report.taken.iter() {
            let lane = summary
                .accepted
                .iter_mut()
                .find(|(code, other, _)| code == service && *other == currency);
            if let Some((_, _, tally)) = lane {
                tally.amounts.add_all(&taken.amounts);
            }
            summary.unpriced = summary.unpriced.saturating_sub(taken.count);
        }
    }

    /// Returns what the bills came to, for programs.
    pub(in crate::cli) fn to_json(&self) -> serde_json::Value {
        let taken = self.report.taken.total();
        serde_json::json!({
            "taken": {"count": taken.count, "amounts": taken.amounts.decimals()},
            "fitting": self.report.fitting,
        })
    }
}

/// Says what to do about a row whose bill another row pays: that one ends first, and where it cannot, this one is left for later.
// Two batches may wait for one another: each pays in full an account of which the other one takes what is due.
fn rival_hint(kept: Option<&BatchName>, row: &str, rival: &BillRival) -> String {
    let later = "can be loaded under a new batch name once the other row has ended: its bill then says what is left to \
        pay";
    match (kept, &rival.batch) {
        (None, _) => format!("leave the row that has no amount out of the file: it {later}"),
        (Some(batch), None) => format!(
            "the batch is not posted while both rows are in it. Withdraw the row that waits, disburse cancel {batch} \
             {row}, and run the batch: the withdrawn row {later}"
        ),
        (Some(batch), Some(other)) => format!(
            "first `disburse run {other}`, then run the same command again. If {other} waits for {batch} as well, \
             neither is posted until one gives way: withdraw the row that waits here, disburse cancel {batch} {row}, \
             and run {batch}, then {other}: the withdrawn row {later}"
        ),
    }
}

/// Where bills are asked for beside a run.
pub(in crate::cli) struct Place<'a> {
    pub(in crate::cli) session: &'a Session,
    pub(in crate::cli) settings: &'a mut Settings,
    pub(in crate::cli) journal: &'a Journal,
    pub(in crate::cli) batch: &'a BatchName,
    /// The file, as the person named it.
    pub(in crate::cli) file: &'a str,
}

/// Asks for the bills of a file that is checked: its rows are in a journal that is thrown away.
pub(in crate::cli) async fn check(place: Place<'_>, sandbox: bool) -> Result<Told, Error> {
    let sandbox = match sandbox {
        true => Some(sandbox::alone(place.settings).await?),
        false => None,
    };
    let outcome = place.ask(sandbox.as_ref(), false).await;
    if let Some(sandbox) = sandbox {
        sandbox.shutdown().await;
    }
    let told = outcome?;
    told.judge(place.session, Some(place.file), None)?;
    compare_declared(place.journal, place.batch).await?;
    Ok(told)
}

/// Fixes the amounts of a batch without posting anything.
pub(in crate::cli) async fn load(place: Place<'_>, sandbox: bool) -> Result<Told, Error> {
    // No run may claim what has just got its amount: its total was not confirmed.
    let purpose = format!("bills of batch {}", place.batch);
    let _lock = RunLock::take(place.journal.location(), &purpose, Timestamp::now())?;
    let sandbox = match sandbox {
        // The one that a run of this batch will meet: the amounts are its own.
        true => {
            Some(sandbox::beside(place.journal.location(), place.settings, SEED, "none").await?)
        }
        false => None,
    };
    let outcome = place.ask(sandbox.as_ref(), true).await;
    if let Some(sandbox) = sandbox {
        sandbox.shutdown().await;
    }
    let stays = |error: Error| {
        error.hint(format!(
            "batch {} is loaded, and nothing of it is posted until this is solved",
            place.batch
        ))
    };
    let told = outcome.map_err(stays)?;
    told.judge(place.session, Some(place.file), Some(place.batch))
        .map_err(stays)?;
    compare_declared(place.journal, place.batch)
        .await
        .map_err(stays)?;
    Ok(told)
}

impl Place<'_> {
    async fn ask(&self, sandbox: Option<&Sandbox>, pin: bool) -> Result<Told, Error> {
        let drain = CancellationToken::new();
        let notice = "stopping: no further bill is asked for".to_owned();
        signals::drain_on_signal(drain.clone(), notice)?;
        let home = gateway::home(self.settings, sandbox.map(Sandbox::identity))?;
        let client = HttpGateway::new(gateway::profile(self.settings)?)
            .map_err(|error| Error::refused(format!("gateway: {error}")))?;
        let inquiry = Inquiry {
            session: self.session,
            settings: self.settings,
            journal: self.journal,
            batch: self.batch,
            take_due: true,
            drain,
        };
        if !inquiry.is_needed().await? {
            return Ok(Told::default());
        }
        if pin {
            // What one gateway says is due must not be paid through another.
            self.journal
                .pin(self.batch.clone(), home, Timestamp::now())
                .await?;
        }
        inquiry.ask(Arc::new(client)).await
    }
}

/// Compares the totals that were declared for files with rows without an amount.
pub(in crate::cli) async fn compare_declared(
    journal: &Journal,
    batch: &BatchName,
) -> Result<(), Error> {
    let differences = journal.declared_totals(batch.clone()).await?;
    let Some(difference) = differences.first() else {
        return Ok(());
    };
    Err(Error::refused(format!(
        "{}: a total of {} was declared, with what is due its rows come to {}",
        difference.source, difference.expected, difference.found
    ))
    .hint("bills may have changed, or rows may be missing: ask the person who declared it"))
}

/// Refuses rows without an amount where their bills are not asked for.
pub(in crate::cli) fn refuse_unpriced(
    batch: &BatchName,
    unpriced: u64,
    next: &str,
) -> Result<(), Error> {
    if unpriced == 0 {
        return Ok(());
    }
    let (rows, have) = rows_have(unpriced);
    Err(Error::refused(format!(
        "{rows} of batch {batch} {have} no amount; nothing was posted"
    ))
    .hint(next))
}

/// Says where the missing amounts are, where what to do is said beside it.
pub(in crate::cli) fn of_bills(unpriced: u64) -> &'static str {
    match unpriced {
        1 => "its bill tells it",
        _ => "their bills tell it",
    }
}

/// Says that rows have no amount, and what to do.
pub(in crate::cli) fn unpriced_text(unpriced: u64, remedy: &str) -> String {
    let (rows, have) = rows_have(unpriced);
    format!("{rows} {have} no amount yet: {remedy}")
}

fn rows_have(unpriced: u64) -> (String, &'static str) {
    let have = if unpriced == 1 { "has" } else { "have" };
    (output::counted(unpriced, "row"), have)
}

fn rules(settings: &Settings) -> BTreeMap<ServiceCode, BillRule> {
    let decimals = &settings.dialect.dialect.decimals;
    let rule = |code: &ServiceCode, service: &config::Service| BillRule {
        amount: service.bill_amount,
        min: service.min,
        max: service.max,
        decimals: decimals.get(code.as_str()).copied(),
    };
    settings
        .services
        .iter()
        .filter(|(_, service)| service.kind == PaymentKind::BillPostpaid)
        .map(|(code, service)| (code.clone(), rule(code, service)))
        .collect()
}

fn text(report: &BillReport) -> String {
    let mut parts = Vec::new();
    let taken = report.taken.total();
    if taken.count > 0 {
        parts.push(format!(
            "{} took what is due, {}",
            output::counted(taken.count, "row"),
            output::amounts(&taken.amounts)
        ));
    }
    if report.fitting > 0 {
        let fit = if report.fitting == 1 { "fits" } else { "fit" };
        parts.push(format!(
            "{} {fit}",
            output::counted(report.fitting, "amount")
        ));
    }
    if report.refused > 0 {
        parts.push(format!(
            "{} refused",
            output::counted(report.refused, "row")
        ));
    }
    match parts.is_empty() {
        true => "bills: none asked for".to_owned(),
        false => format!("bills: {}", parts.join(", ")),
    }
}

fn refusal_text(row: &RefusedBill, file: Option<&str>) -> String {
    let reference = row
        .reference
        .as_ref()
        .map(|reference| format!(" (reference {reference})"))
        .unwrap_or_default();
    format!(
        "{}:{}: {}: {}{reference}",
        file.unwrap_or(&row.source),
        row.line,
        row.column,
        row.what
    )
}
