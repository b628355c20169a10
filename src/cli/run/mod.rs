//! `run` and `pay`: the main job.
//!
//! Before the first post: the lock, the signals, the sandbox, client and listener; then what is asked beforehand, the
//! confirmation with the final totals, and what is sent beforehand.

mod account;
mod beside;
mod callback_endpoint;
mod confirm;
mod examples;
mod fits;
mod heads;
mod job;
mod moved;
mod notices;
mod preflight;
mod second_post;
mod still_open;
mod verdict;
mod witness;
mod work;

use job::{Job, Outcome, What};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Error;
use super::arguments::{PayArguments, RunArguments, RunOptions};
use super::config::Settings;
use super::exit::ExitStatus;
use super::session::{Session, batch_name, run_command};
use super::signals;
use crate::cli::commands::approve::Desk;
use crate::cli::commands::load;
use crate::cli::commands::networks;
use crate::cli::commands::recover;
use crate::cli::commands::sandbox;
use crate::cli::commands::verify;
use crate::cli::files::calendar;
use crate::cli::files::declared::declared_total;
use crate::cli::files::input::Input;
use crate::cli::metrics::MetricsEndpoint;
use crate::cli::terminal::output;
use crate::cli::watch::{self as cli_watch, Watched};
use crate::domain::{Amount, BatchName, Currency, Money, Timestamp};
use crate::journal::{Journal, LoadSummary, RunLock, Standing};
use crate::ledger::Purpose;
use crate::ledger::recovery::OrdersLost;
use crate::report::Owner;
pub(in crate::cli) use confirm::Declared;
pub(in crate::cli) use job::Orders;
pub(in crate::cli) use job::Probed;
use notices::RunNotices;
use verdict::conclude;

fn overrides(options: &RunOptions) -> Vec<(&'static str, Option<String>)> {
    vec![
        ("limits.rate", options.rate.clone()),
        ("limits.concurrency", options.concurrency.clone()),
    ]
}

/// `disburse run`.
pub(super) async fn run(session: &Session, arguments: RunArguments) -> Result<ExitStatus, Error> {
    let batch = batch_name(&arguments.batch)?;
    let options = arguments.options;
    let settings = session.settings(options.sandbox, overrides(&options))?;
    let purpose = Purpose::of_command(options.sandbox);
    let of = Some((&batch, purpose));
    let metrics = MetricsEndpoint::open(session, "run", options.metrics, of).await?;
    let journal = session.journal_to_run()?;
    let moved = moved(
        arguments.account_moved,
        arguments.gateway_moved,
        arguments.reason,
    )?;
    recover::warn(&journal, &session.zone(false)).await?;
    recover::warn_missing(&journal).await?;
    let orders = Orders {
        moved,
        head: head(arguments.head.as_deref(), &batch)?,
        declared: Declared {
            count: arguments.expect_count,
            total: match &arguments.expect_total {
                Some(text) => Some(money(declared_total(text, &settings)?)),
                None => None,
            },
        },
        resume: format!("To resume: {}", run_command(&batch, purpose)),
        probes: false,
        metrics,
    };
    let outcome = carry_out(session, settings, &journal, &batch, &options, orders).await?;
    conclude(session, &journal, &batch, &outcome, None).await
}

/// `disburse pay`.
pub(super) async fn pay(session: &Session, arguments: PayArguments) -> Result<ExitStatus, Error> {
    let options = arguments.run;
    let mut flags = overrides(&options);
    flags.push(("service_code", arguments.file.service.clone()));
    let settings = session.settings(options.sandbox, flags)?;
    if !options.sandbox {
        // Refused before anything is loaded: a file without a gateway is half a job.
        settings.gateway()?;
    }
    calendar::calendar(&settings)?;
    let purpose = Purpose::of_command(options.sandbox);
    let mut plan = load::plan(
        session,
        &arguments.file,
        &arguments.load,
        &settings,
        purpose,
    )?;
    let batch = plan.batch.clone();
    let head = head(arguments.head.as_deref(), &batch)?;
    // Rows that are added to a batch are a part of it; else the file is the batch, and nobody has added anything.
    let declared = match plan.amend {
        true => Declared::default(),
        false => Declared {
            count: plan.expect_count,
            total: plan.expect_total.map(money),
        },
    };
    // The batch may come to more than the file by now, or a corrected row to another amount: the run compares the whole batch, before
    // anything is sent. Another file than the one that was loaded is refused whatever it comes to.
    if !plan.amend && load::is_there(session, &batch) {
        (plan.expect_count, plan.expect_total) = (None, None);
    }
    let out = arguments
        .out
        .unwrap_or_else(|| PathBuf::from("reports").join(batch.as_str()));
    let input = Input::open(&arguments.file, &settings)?
        .presuming_posted(arguments.load.presume_posted)
        .setting_aside(plan.skip_bad_rows.then_some(&plan.batch));
    // Better told now than when the money has moved.
    crate::report::usable(&out, &Owner::new(&batch, purpose), Some(input.identity()?))?;
    let of = Some((&batch, purpose));
    let metrics = MetricsEndpoint::open(session, "pay", options.metrics, of).await?;
    if arguments.load.lookup {
        networks::check_new(session, &input, &plan, options.sandbox).await?;
    }
    let (journal, summary, fresh) = load::open_and_load(session, &input, plan).await?;
    tell_taken(session, &input.name, &summary, fresh);
    if !fresh {
        load::note_if_cancelled(session, &journal, &batch).await?;
    }
    let orders = Orders {
        moved: None,
        head,
        declared,
        resume: "To resume: the same command again".to_owned(),
        probes: false,
        metrics,
    };
    let desk = Desk::of(session, &settings, &journal, (&batch, purpose))?;
    let (key, sign_as) = (arguments.load.sign_key, arguments.load.sign_as);
    desk.sign_load(key, sign_as).await?;
    let outcome = carry_out(session, settings, &journal, &batch, &options, orders).await?;
    conclude(session, &journal, &batch, &outcome, Some(out)).await
}

/// Notes what a file came to that is paid.
fn tell_taken(session: &Session, name: &str, summary: &LoadSummary, fresh: bool) {
    let what = if fresh {
        "loaded"
    } else {
        "loaded before; the run goes on"
    };
    let total = summary.total();
    let by_bill = match summary.unpriced {
        0 => String::new(),
        rows => format!(
            " and what the bills of {} say",
            output::counted(rows, "row")
        ),
    };
    session.note(&format!(
        "{name}: {}, {}{by_bill}: {what}",
        output::counted(total.count, "payment"),
        output::amounts(&total.amounts)
    ));
}

fn head(text: Option<&str>, batch: &BatchName) -> Result<Option<[u8; 32]>, Error> {
    text.map(|text| verify::digest(text, batch)).transpose()
}

fn money((currency, amount): (Currency, Amount)) -> Money {
    Money { amount, currency }
}

/// Reads what of where the batch belongs has another name now, and why.
fn moved(
    account: bool,
    gateway: bool,
    reason: Option<String>,
) -> Result<Option<(What, String)>, Error> {
    let what = match (account, gateway) {
        (true, true) => What::Both,
        (true, false) => What::Account,
        (false, true) => What::Gateway,
        (false, false) => {
            return match reason {
                None => Ok(None),
                Some(_) => Err(Error::refused(
                    "--reason goes with --account-moved and --gateway-moved",
                )
                .hint("leave it out here")),
            };
        }
    };
    let reason = reason.unwrap_or_default();
    if reason.trim().is_empty() {
        return Err(Error::refused("--reason is empty").hint(format!(
            "the order is kept for ever: say why {}",
            what.changed()
        )));
    }
    Ok(Some((what, reason)))
}

/// Refuses a batch that was loaded for something else, before anything is asked of a person or of a gateway.
fn refuse_other_purpose(
    batch: &BatchName,
    standing: &Standing,
    sandbox: bool,
) -> Result<(), Error> {
    use crate::journal::Error as E;
    let (batch, purpose) = (batch.clone(), standing.purpose);
    match purpose.agrees(Purpose::of_command(sandbox)) {
        true => Ok(()),
        false if sandbox => Err(E::NotARehearsal { batch }.into()),
        false => Err(E::OnlyARehearsal { batch }.into()),
    }
}

pub(in crate::cli) async fn carry_out(
    session: &Session,
    mut settings: Settings,
    journal: &Journal,
    batch: &BatchName,
    options: &RunOptions,
    orders: Orders,
) -> Result<Outcome, Error> {
    // Refused before anything is asked of anybody.
    let calendar = Arc::new(calendar::calendar(&settings)?);
    // A list that cannot be read is told before anything else is done.
    let ceilings = settings.payment_limits()?;
    let orders_lost = match options.sandbox {
        // A rehearsal moves nothing.
        true => OrdersLost::default(),
        false => journal.orders_lost().await?,
    };
    let shown = journal.shown(batch.clone()).await?;
    refuse_other_purpose(batch, &shown.standing, options.sandbox)?;
    let approvals = journal
        .approvals(batch.clone(), settings.approval()?, None)
        .await?;
    if !options.sandbox {
        orders
            .declared
            .check(journal, batch, &shown.standing)
            .await?;
        // It asks, and posts nothing: that takes nobody's yes.
        if orders_lost.is_none() && !approvals.covers_nothing() {
            let judged = confirm::refuse_unattended(&settings, batch, &shown, options.yes);
            if judged.is_err() {
                // Whoever says yes next has seen them.
                confirm::notes(session, journal, batch, &shown).await?;
            }
            judged?;
        }
    }
    let of = (batch, Purpose::of_command(options.sandbox));
    let notices = RunNotices::of(&settings, journal, of, approvals.waits())?;
    let purpose = format!("run of batch {batch}");
    let _lock = RunLock::take(journal.location(), &purpose, Timestamp::now())?;
    // Heard from here on: whatever is begun below is ended in good order.
    let drain = CancellationToken::new();
    let notice = format!(
        "stopping: no further payment is posted, and the run waits for what is under way (a second Ctrl-C or \
         signal stops it at once). {}",
        orders.resume
    );
    signals::drain_on_signal(drain.clone(), notice)?;
    let page = watch_from_here(session, &settings, options)?;
    let (seed, faults) = (options.seed, &options.faults);
    let sandbox = match options.sandbox {
        true => Some(sandbox::beside(journal.location(), &mut settings, seed, faults).await?),
        false => None,
    };
    note_without_callbacks(session, &settings, options);
    let job = Job {
        session,
        settings: &settings,
        journal,
        batch,
        options,
        orders,
        orders_lost,
        ceilings,
        drain,
        calendar: Arc::clone(&calendar),
        notices,
        page: page.as_ref(),
    };
    let (outcome, ledger) = beside::perform(job, sandbox).await;
    page.into_iter().for_each(Watched::end);
    let (summary, probed) = outcome?;
    Ok(Outcome {
        summary,
        decides_within: decides_within(&settings, options)?,
        probed,
        reopens_lanes: settings.profile.float.reopen_lanes,
        orders_lost,
        ledger,
        calendar,
    })
}

/// Returns what `--max-wait` would have to allow for a run to decide about payments in doubt, where it allows less.
fn decides_within(settings: &Settings, options: &RunOptions) -> Result<Option<Duration>, Error> {
    let max_wait = super::gateway::max_wait(&options.max_wait)?;
    let needed = settings.profile.policy.decides_within();
    Ok(needed.filter(|needed| *needed > max_wait))
}

/// Says that a rehearsal has no callbacks, where the dialect has none.
fn note_without_callbacks(session: &Session, settings: &Settings, options: &RunOptions) {
    if options.sandbox && !settings.dialect.dialect.writes("callbackUrl") {
        session.note("this rehearsal has no callbacks: the dialect leaves callbackUrl out of posts, and the sandbox has no address of its own to call; outcomes are asked for");
    }
}

/// Begins the page that shows the run, where it is asked for. Its address is told to whoever asked for quiet, too.
fn watch_from_here(
    session: &Session,
    settings: &Settings,
    options: &RunOptions,
) -> Result<Option<Watched>, Error> {
    if !options.page {
        return Ok(None);
    }
    let page = cli_watch::start(session, settings.profile.page.listen)?;
    output::note(&match session.common.json {
        true => serde_json::json!({"page": page.address()}).to_string(),
        false => format!("open in a browser on this machine: {}", page.address()),
    });
    Ok(Some(page))
}
