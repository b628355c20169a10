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
mod verdict;

use job::{Job, Outcome, What};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Error;
use super::arguments::{PayArguments, RunArguments, RunOptions};
use super::config::Settings;
use super::exit::ExitStatus;
use super::gateway;
use super::session::{Commands, Session, batch_name, run_command};
use super::signals;
use crate::callback::{self, Addresses};
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
use crate::cli::terminal::progress::{self, Times};
use crate::cli::watch::{self as cli_watch, Watched};
use crate::cli::words::approvals;
use crate::cli::words::hours::Unposted;
use crate::cli::words::limits;
use crate::cli::words::probe::known_check;
use crate::domain::{Amount, BatchName, Currency, Money, Pulse, Timestamp, WireZone};
use crate::engine::{self, Clock, Plan, Run, Summary};
use crate::gateway::{HttpGateway, Secrets};
use crate::journal::{
    Approvals, DuplicateProbe, Home, Journal, LoadSummary, Proof, ReadBy, Reader, RunLock, Shown,
    Standing, Transition,
};
use crate::ledger::Purpose;
use crate::ledger::confirmation::{Answer, Bound, Confirmation};
use crate::ledger::intact::{Extends, extends};
use crate::ledger::recovery::OrdersLost;
use crate::ledger::standstill::SILENCE_MAX;
use crate::metrics::Metered;
use crate::report::Owner;
use crate::sandbox::Sandbox;
use callback_endpoint::CallbackEndpoint;
pub(in crate::cli) use confirm::Declared;
pub(in crate::cli) use job::Orders;
pub(in crate::cli) use job::Probed;
use notices::RunNotices;
use verdict::conclude;

/// Payments moved by callbacks that wait for the run to hear of them.
const CALLBACKS: usize = 4096;

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
    let journal = session.journal()?;
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
    let _lock = RunLock::take(journal.path(), &purpose, Timestamp::now())?;
    // Heard from here on: whatever is begun below is ended in good order.
    let drain = CancellationToken::new();
    let notice = format!(
        "ending: no further payment is posted, what is under way is waited for (once more to end at once). {}",
        orders.resume
    );
    signals::drain_on_signal(drain.clone(), notice)?;
    let page = watch_from_here(session, &settings, options)?;
    let (seed, faults) = (options.seed, &options.faults);
    let sandbox = match options.sandbox {
        true => Some(sandbox::beside(journal.path(), &mut settings, seed, faults).await?),
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
        probed,
        reopens_lanes: settings.profile.float.reopen_lanes,
        orders_lost,
        ledger,
        calendar,
    })
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

impl Job<'_> {
    /// Refuses a batch that has not run yet under another organisation than it was loaded for: most likely another profile was meant.
    fn is_of_the_originator(&self) -> Result<(), Error> {
        let Ok(configured) = self.settings.originator() else {
            return Ok(());
        };
        let record = Reader::open(self.journal.path())?
            .snapshot(self.batch)?
            .record()?;
        if record.gateway.is_some() || record.originator == *configured {
            return Ok(());
        }
        Err(Error::refused(format!(
            "batch {} was loaded for {}; this run is configured for {configured}. Nothing was sent",
            self.batch, record.originator
        ))
        .hint(format!(
            "choose the profile whose originator is {}, with --profile NAME; `disburse config show` says which one is used here",
            record.originator
        )))
    }

    fn commands(&self) -> Commands<'_> {
        Commands {
            batch: self.batch,
            purpose: Purpose::of_command(self.options.sandbox),
        }
    }

    /// Returns where the batch stands with its signatures, towards this gateway.
    async fn approvals(&self, home: &Home) -> Result<Approvals, Error> {
        let rule = self.settings.approval()?;
        let target = Some(home.target());
        let found = self.journal.approvals(self.batch.clone(), rule, target);
        Ok(found.await?)
    }

    /// Says that not all of what is confirmed is posted.
    fn note_unapproved(&self, approvals: &Approvals) {
        if approvals.waits() {
            let (why, _) = approvals::missing(self.commands(), approvals);
            self.session
                .note(&format!("note: a part of it is not posted: {why}"));
        }
    }

    fn client(
        &self,
        duplicates: Option<&DuplicateProbe>,
        pulse: &Arc<Pulse>,
    ) -> Result<Arc<HttpGateway>, Error> {
        let mut profile = gateway::profile(self.settings)?;
        profile.duplicate_check_proven |= gateway::words_count(self.settings, duplicates);
        let client = HttpGateway::new(profile)
            .map_err(|error| Error::refused(format!("gateway: {error}")))?;
        Ok(Arc::new(client.with_pulse(Arc::clone(pulse))))
    }

    async fn run(self, sandbox: Option<&Sandbox>) -> Result<(Summary, Option<Probed>), Error> {
        let identity = sandbox.map(Sandbox::identity);
        let home = Home {
            accepts_reading: gateway::accepts_reading(
                self.settings,
                self.options.accept_dialect.as_deref(),
            )?,
            ..gateway::home(self.settings, identity)?
        };
        if sandbox.is_none() {
            self.is_of_the_originator()?;
        }
        let duplicates = self.journal.duplicate_probe(home.clone()).await?;
        let pulse = Arc::new(Pulse::of_machine(SILENCE_MAX));
        let client = self.client(duplicates.as_ref(), &pulse)?;
        match &self.orders.moved {
            Some((What::Account, reason)) => self.move_account(&client, &home, reason).await?,
            Some((What::Gateway, reason)) => self.move_gateway(&client, &home, reason).await?,
            Some((What::Both, reason)) => self.move_both(&client, &home, reason).await?,
            None => {}
        }
        self.know_the_payer(&home).await?;
        if let Some(head) = self.orders.head {
            self.goes_on_from(head).await?;
        }
        let door = callback_endpoint::open(self.settings, self.options, self.journal).await?;
        self.bills(&client, &home).await?;
        self.fits_the_settings(&home).await?;
        let shown = self.journal.shown(self.batch.clone()).await?;
        let declared = self.orders.declared;
        declared
            .check(self.journal, self.batch, &shown.standing)
            .await?;
        let approvals = self.approvals(&home).await?;
        // Nothing is posted that nobody has approved: what was posted is asked about, and that takes nobody's yes.
        let posts_nothing = !self.orders_lost.is_none() || approvals.covers_nothing();
        if !approvals.covers_nothing() {
            self.forecast(&*client, &shown.standing).await?;
        }
        let journal_recovers = self.journal.recovery().await?.is_some();
        if journal_recovers && let Some(first) = confirm::asked_first(self.settings, &shown) {
            self.session.note(&first);
        }
        self.tell_limits(&shown)?;
        if !posts_nothing {
            self.tell_short(&shown);
        }
        let confirmation = match sandbox {
            // A rehearsal moves nothing.
            Some(_) => Confirmation::of(shown.open(), shown.bound, Answer::Rehearsal),
            None if posts_nothing => Confirmation::of(shown.open(), Bound::NOTHING, Answer::Flag),
            None => {
                if shown.open().count > 0 && !self.orders.probes {
                    let zone = self.settings.profile.time_zone.clone();
                    let dialect = &self.settings.dialect.dialect;
                    let told = known_check(duplicates.as_ref(), dialect, zone);
                    told.iter().for_each(|text| self.session.note(text));
                }
                confirm::notes(self.session, self.journal, self.batch, &shown).await?;
                self.tell_hours(&shown.standing);
                self.note_unapproved(&approvals);
                let yes = self.options.yes;
                confirm::confirm(self.settings, self.batch, &shown, yes).await?
            }
        };
        if !posts_nothing {
            self.upload(&home).await?;
        }
        self.post(client, home, confirmation, door, pulse).await
    }

    /// Returns by what times the run is shown.
    async fn times(&self) -> Result<Times, Error> {
        let zone = self.settings.profile.time_zone.clone();
        let zone = zone.unwrap_or_else(WireZone::utc);
        let standing = self.journal.standing(self.batch.clone()).await?;
        let unposted = Unposted::of(&standing, &self.calendar, &zone, Timestamp::now());
        let closes = unposted.closes();
        Ok(Times { zone, closes })
    }

    /// Says what will not leave before its service closes: what is asked first takes its time, too.
    fn tell_short(&self, shown: &Shown) {
        let zone = self.session.zone(self.options.sandbox);
        let unposted = Unposted::of(&shown.standing, &self.calendar, &zone, Timestamp::now());
        let first = confirm::first_asked(self.settings, shown);
        for text in unposted.short_of_time(self.settings, first) {
            self.session.note(&format!("note: {text}"));
        }
    }

    /// Says what waits for the dates of the batch or for its service to open.
    fn tell_hours(&self, standing: &Standing) {
        let zone = self.session.zone(self.options.sandbox);
        let waiting = Unposted::of(standing, &self.calendar, &zone, Timestamp::now());
        let commands = Commands {
            batch: self.batch,
            purpose: standing.purpose,
        };
        for text in waiting.texts(commands) {
            self.session.note(&format!("note: {text}"));
        }
    }

    /// Says what limits would keep from leaving.
    fn tell_limits(&self, shown: &Shown) -> Result<(), Error> {
        if shown.open().count == 0 {
            return Ok(());
        }
        let path = self.journal.path();
        limits::tell_ahead(self.session, self.settings, (path, self.batch), Some(path))
    }

    /// Computes the evidence of the batch again, up to now, and refuses it unless it was once this far and no further.
    async fn goes_on_from(&self, head: [u8; 32]) -> Result<(), Error> {
        let (path, batch) = (self.journal.path().to_owned(), self.batch.clone());
        let walked = tokio::task::spawn_blocking(move || -> Result<Proof, Error> {
            let reader = Reader::open(&path)?;
            Ok(reader.snapshot(&batch)?.walked(head))
        });
        let proof = walked.await.map_err(Error::broke_off)??;
        let batch = self.batch;
        match extends(proof.earlier_head_at, proof.findings_count) {
            Extends::Yes => Ok(()),
            Extends::Unknown => Err(Error::refused(format!(
                "--head: the evidence of batch {batch} was never at this head: it was changed or cut off since, or the head is of \
                 another batch; nothing was sent"
            ))
            .hint(format!(
                "compare it with what `disburse load` printed; `disburse verify {batch} --head HASH` says more"
            ))),
            Extends::Changed => Err(Error::refused(format!(
                "the evidence of batch {batch} is not what was recorded: {}; nothing was sent",
                proof.findings.first().map_or("", String::as_str)
            ))
            .hint(format!(
                "send nothing from this file: `disburse verify {batch}` lists what was changed; go on with a copy from before that"
            ))),
        }
    }

    /// Hands the batch to the engine, with the listener beside it.
    async fn post(
        self,
        client: Arc<HttpGateway>,
        home: Home,
        confirmation: Confirmation,
        door: Option<CallbackEndpoint>,
        pulse: Arc<Pulse>,
    ) -> Result<(Summary, Option<Probed>), Error> {
        let callbacks = door.is_some();
        let policy = gateway::policy(self.settings, callbacks);
        let (sender, moved) = mpsc::channel(CALLBACKS);
        let background = TaskTracker::new();
        let closing = CancellationToken::new();
        let addresses = match door {
            Some(door) => Some(
                self.serve(
                    (door, &home),
                    &policy,
                    client.secrets().clone(),
                    sender,
                    &background,
                    &closing,
                )
                .await?,
            ),
            None => None,
        };
        let (watched, watcher) = watch::channel(progress::blank());
        if let Some(page) = self.page {
            page.follow(self.batch, watcher.clone());
        }
        let limits = gateway::limits(self.settings, self.options, callbacks)?;
        let counted = self.watched(&watcher, &limits, &background, &closing);
        let times = self.times().await?;
        let quiet = self.session.common.quiet;
        let screen = tokio::spawn(progress::show(watcher, times, quiet));
        let plan = Plan {
            calendar: Arc::clone(&self.calendar),
            journal: self.journal.clone(),
            gateway: Arc::new(Metered::new(Arc::clone(&client), counted)),
            batch: self.batch.clone(),
            home: home.clone(),
            confirmation,
            approval: self.settings.approval()?,
            limits,
            policy,
            ceilings: self.ceilings.clone(),
            request_timeout: self.settings.profile.limits.request_timeout,
            addresses: addresses.clone(),
            clock: Clock::start(),
            pulse,
        };
        let outcome = engine::run(
            plan,
            Run {
                drain: self.drain.clone(),
                progress: watched,
                callbacks: moved,
            },
        )
        .await;
        // While callbacks are still taken: the second post may have one of its own.
        let probed = match self.orders.probes && outcome.is_ok() && self.orders_lost.is_none() {
            true => Some(
                self.post_a_second_time(&client, &home, addresses.as_ref())
                    .await,
            ),
            false => None,
        };
        closing.cancel();
        background.close();
        background.wait().await;
        // The sender is gone with the run, so that the screen ends by itself.
        let _ = screen.await;
        Ok((outcome?, probed.transpose()?))
    }

    async fn serve(
        &self,
        (door, home): (CallbackEndpoint, &Home),
        policy: &Arc<crate::lifecycle::Policy>,
        secrets: Secrets,
        moved: mpsc::Sender<Transition>,
        background: &TaskTracker,
        closing: &CancellationToken,
    ) -> Result<Addresses, Error> {
        let addresses = Addresses::new(&door.public_url, &self.journal.callback_key().await?);
        let callbacks = &self.settings.dialect.dialect.callbacks;
        let addresses = match callbacks.address_per_payment {
            true => addresses,
            false => addresses.shared(),
        };
        if let Some(listener) = door.listener {
            if let Some(endpoint) = &self.orders.metrics {
                endpoint.metrics.listens(listener.counts());
            }
            let options = callback::Options {
                journal: self.journal.clone(),
                addresses: addresses.clone(),
                codes: Arc::new(gateway::codes(self.settings)),
                policy: Arc::clone(policy),
                secrets,
                dialect: Arc::clone(&self.settings.dialect.dialect),
                proof: gateway::proof(self.settings)?,
                reads_as: Some(Arc::new(ReadBy {
                    gateway: Some(home.gateway.clone()),
                    reading: home.reading.clone(),
                })),
                moved: Some(moved),
            };
            background.spawn(listener.serve(options, closing.clone()));
        }
        Ok(addresses)
    }
}
