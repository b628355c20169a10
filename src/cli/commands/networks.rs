//! `--lookup`: the network of every number of a file, compared with the carriers of its service.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::operation;
use crate::cli::Error;
use crate::cli::config::{Mismatch, Settings};
use crate::cli::files::input::Input;
use crate::cli::files::scratch::Scratch;
use crate::cli::gateway;
use crate::cli::session::{Session, batch_name};
use crate::cli::terminal::output;
use crate::domain::{BatchName, Originator, ServiceCode, Timestamp};
use crate::engine::Clock;
use crate::gateway::{LookupClient, OperationError};
use crate::journal::{Journal, LoadPlan, Reader};
use crate::preflight::{LookupReport, Lookups, RequestPolicy, WrongNetwork};

/// Rows that are named one by one.
const SHOWN: u64 = 50;
/// How often a person hears how far the lookups are.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// Looks every number of a file up, against the profile's lookup or against a sandbox's.
pub(in crate::cli) async fn check(
    session: &Session,
    input: &Input,
    sandbox: bool,
) -> Result<(), Error> {
    // A sandbox makes carriers up: a journal that real batches are checked with must not keep them.
    operation::against(session, sandbox, async |settings| {
        look_up(session, settings, input, !sandbox).await
    })
    .await
}

/// The same before a load. A batch that is loaded already is not held up by it.
pub(in crate::cli) async fn check_new(
    session: &Session,
    input: &Input,
    plan: &LoadPlan,
    sandbox: bool,
) -> Result<(), Error> {
    let at = session.location()?;
    let loaded = at.is_there() && Reader::open(at)?.batches()?.contains(&plan.batch);
    if loaded && !plan.amend {
        return Ok(());
    }
    check(session, input, sandbox).await
}

/// `keep`: what is learned is kept in the journal, and asked from it next time.
async fn look_up(
    session: &Session,
    settings: &Settings,
    input: &Input,
    keep: bool,
) -> Result<(), Error> {
    let service = gateway::lookups(settings)?;
    let scratch = Scratch::for_a_journal()?;
    let batch = batch_name("lookup")?;
    let rows = Journal::aside(&scratch.path().join("lookup.db"))?;
    // Rows with errors are told where the file is checked or loaded.
    let (blocks, reading) = input.read()?;
    rows.load(plan(&batch)?, blocks).await?;
    let _ = reading
        .await
        .map_err(|_| Error::unexpected("the reader of the file failed"))??;
    let limits = &settings.profile.limits;
    let concurrency = usize::try_from(limits.concurrency.get()).unwrap_or(usize::MAX);
    let lookups = Lookups {
        rows,
        batch,
        to_account: settings
            .services
            .iter()
            .filter(|(_, service)| service.kind.account_defaults_to_msisdn())
            .map(|(code, _)| code.clone())
            .collect::<BTreeSet<_>>(),
        cache: match keep {
            true => Some(Journal::open(session.location()?)?),
            false => None,
        },
        max_age: settings.profile.lookup.max_age,
        service: Arc::new(service),
        manner: Arc::new(RequestPolicy::new(
            limits.lookup_rate,
            concurrency,
            CancellationToken::new(),
        )),
        clock: Clock::start(),
    };
    let mut told = Instant::now();
    let report = lookups
        .carry_out(|report| {
            if told.elapsed() >= TOLD_EVERY {
                told = Instant::now();
                session.note(&text(report));
            }
        })
        .await?;
    if let Some(stop) = &report.stopped {
        return Err(stopped(&report, stop.as_ref(), keep));
    }
    session.note(&text(&report));
    compare(settings, input, &lookups).await
}

fn plan(batch: &BatchName) -> Result<LoadPlan, Error> {
    Ok(LoadPlan {
        batch: batch.clone(),
        originator: Originator::parse("lookup").map_err(Error::unexpected)?,
        form: crate::domain::IdentifierForm::default(),
        source: String::new(),
        layout: None,
        is_ours: false,
        now: Timestamp::now(),
        purpose: crate::ledger::Purpose::Unknown,
        amend: false,
        allow_equal_rows: true,
        repeats: None,
        skip_bad_rows: true,
        presume_posted: false,
        expect_count: None,
        expect_total: None,
        batch_ceilings: Default::default(),
        new_documents: false,
        destination: None,
        dates: crate::ledger::calendar::BatchDates::default(),
        approval: None,
        dry_run: false,
    })
}

async fn compare(
    settings: &Settings,
    input: &Input,
    lookups: &Lookups<LookupClient>,
) -> Result<(), Error> {
    let carriers: BTreeMap<ServiceCode, Vec<String>> = settings
        .services
        .iter()
        .map(|(code, service)| (code.clone(), service.carriers.clone()))
        .collect();
    let (mut errors, mut warnings) = (0_u64, 0_u64);
    lookups
        .compare(&carriers, |wrong| {
            // What is no phone number cannot be paid, whatever the carriers are.
            let mismatch = !wrong.carriers.is_empty();
            let is_error = !mismatch || settings.profile.lookup.mismatch == Mismatch::Error;
            let count = if is_error { &mut errors } else { &mut warnings };
            *count += 1;
            if errors + warnings <= SHOWN {
                let mark = if is_error { "" } else { "warning: " };
                let row = &wrong.row;
                output::note(&format!(
                    "{}:{}: {}: {mark}{}",
                    input.name,
                    row.line,
                    row.column,
                    row_text(&wrong)
                ));
            }
        })
        .await?;
    if errors + warnings > SHOWN {
        output::note(&format!("… and {} more", errors + warnings - SHOWN));
    }
    if warnings > 0 {
        let rows = output::counted(warnings, "row");
        output::complain(
            "warning",
            &format!("{rows} with a number on another network than the service's carriers"),
        );
    }
    if errors > 0 {
        return Err(Error::refused(format!(
            "{}: {} with a number that the network lookup contradicts; nothing was loaded",
            input.name,
            output::counted(errors, "row")
        ))
        .hint(
            "mend the numbers, or the carriers of the service; with lookup.mismatch = \"warning\" other networks are \
            reported, and the rows are loaded",
        ));
    }
    Ok(())
}

fn row_text(wrong: &WrongNetwork) -> String {
    let row = &wrong.row;
    let number = row.number.msisdn.masked();
    match &row.carrier {
        Some(carrier) => format!(
            "expected a number of {} (carriers of {}), found {number} of {carrier} (section 2.6)",
            wrong.carriers.join(" or "),
            row.service
        ),
        None => format!(
            "expected a phone number, found {number}, which the network lookup says is not one (section 7.4)"
        ),
    }
}

fn text(report: &LookupReport) -> String {
    format!(
        "{} of {} looked up, {} known from before",
        output::grouped(&report.looked_up.to_string()),
        output::counted(report.numbers, "number"),
        output::grouped(&report.known.to_string())
    )
}

fn stopped(report: &LookupReport, why: Option<&OperationError>, keep: bool) -> Error {
    let done = text(report);
    let kept = match keep {
        true => "run the same command again to go on; what was looked up is kept in the journal",
        false => "run the same command again",
    };
    match why {
        None => Error::unfinished(format!("ended; {done}; nothing was loaded")).hint(kept),
        Some(error @ OperationError::Credentials { .. }) => {
            Error::stopped(format!("{error}; {done}; nothing was loaded"))
                .hint("check username, password and client_id; repetition may lock the account")
        }
        Some(error @ OperationError::Unavailable(_)) => {
            Error::unfinished(format!("{error}; {done}; nothing was loaded")).hint(kept)
        }
        Some(error) => Error::refused(format!("{error}; {done}; nothing was loaded"))
            .hint("check api_url, then run the same command again; what was looked up is kept"),
    }
}
