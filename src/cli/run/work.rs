//! One run at work: where the batch stands, what is asked of a person, the posts, and the callbacks beside them.

use super::job::{Job, Probed, What};
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::callback_endpoint::{self, CallbackEndpoint};
use super::confirm;
use crate::callback::{self, Addresses};
use crate::cli::Error;
use crate::cli::gateway;
use crate::cli::session::Commands;
use crate::cli::terminal::progress::{self, Times};
use crate::cli::words::approvals;
use crate::cli::words::hours::Unposted;
use crate::cli::words::limits;
use crate::cli::words::probe::known_check;
use crate::domain::{Pulse, Timestamp, WireZone};
use crate::engine::{self, Clock, Pacing, Plan, Run, Summary};
use crate::gateway::{HttpGateway, Secrets};
use crate::journal::{
    Approvals, DuplicateProbe, Home, Proof, ReadBy, Reader, Runner, Shown, Standing, Transition,
};
use crate::ledger::Purpose;
use crate::ledger::confirmation::{Answer, Bound, Confirmation};
use crate::ledger::intact::{Extends, extends};
use crate::ledger::standstill::SILENCE_MAX;
use crate::metrics::Metered;
use crate::sandbox::Sandbox;

/// Payments moved by callbacks that wait for the run to hear of them.
const CALLBACKS: usize = 4096;

impl Job<'_> {
    /// Refuses a batch that has not run yet under another organisation than it was loaded for: most likely another profile was meant.
    fn is_of_the_originator(&self) -> Result<(), Error> {
        let Ok(configured) = self.settings.originator() else {
            return Ok(());
        };
        let record = Reader::open(self.journal.location())?
            .snapshot(self.batch)?
            .record()?;
        if record.gateway.is_some() || record.originator == *configured {
            return Ok(());
        }
        Err(Error::refused(format!(
            "batch {} was loaded for originator {}; this run is configured for originator {configured}. Nothing was sent",
            self.batch, record.originator
        ))
        .hint(format!(
            "choose the profile whose originator is {}, with --profile NAME; `disburse config show` says which one is used here. If {configured} \
             shall pay these rows: disburse cancel {}, then load the file with this profile under another batch name",
            record.originator, self.batch
        )))
    }

    pub(super) fn commands(&self) -> Commands<'_> {
        Commands {
            batch: self.batch,
            purpose: Purpose::of_command(self.options.sandbox),
        }
    }

    /// Returns where the batch stands with its signatures, towards this gateway.
    pub(super) async fn approvals(&self, home: &Home) -> Result<Approvals, Error> {
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

    pub(super) async fn run(
        self,
        sandbox: Option<&Sandbox>,
    ) -> Result<(Summary, Option<Probed>), Error> {
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
        self.is_told_apart(&home).await?;
        match &self.orders.moved {
            Some((What::Account, reason)) => self.move_account(&client, &home, reason).await?,
            Some((What::Gateway, reason)) => self.move_gateway(&client, &home, reason).await?,
            Some((What::Both, reason)) => self.move_both(&client, &home, reason).await?,
            None => {}
        }
        self.know_the_payer(&home, false).await?;
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
        let at = self.journal.location();
        limits::tell_ahead(self.session, self.settings, (at, self.batch), Some(at))
    }

    /// Computes the evidence of the batch again, up to now, and refuses it unless it was once this far and no further.
    async fn goes_on_from(&self, head: [u8; 32]) -> Result<(), Error> {
        let (at, batch) = (self.journal.location().clone(), self.batch.clone());
        let walked = tokio::task::spawn_blocking(move || -> Result<Proof, Error> {
            let reader = Reader::open(&at)?;
            Ok(reader.snapshot(&batch)?.walked(head)?)
        });
        let proof = walked.await.map_err(Error::broke_off)??;
        let batch = self.batch;
        match extends(proof.earlier_head_at, proof.findings_count) {
            Extends::Yes => Ok(()),
            Extends::Unknown => Err(Error::refused(format!(
                "--head: the evidence of batch {batch} has no such head: it was changed or cut off since, or the head \
                 is of another batch; nothing was sent"
            ))
            .hint(format!(
                "compare it with what `disburse load` printed; `disburse verify {batch} --head HASH` says more"
            ))),
            Extends::Changed => Err(Error::refused(format!(
                "the evidence of batch {batch} differs from what was recorded: {}; nothing was sent",
                proof.findings.first().map_or("", String::as_str)
            ))
            .hint(format!(
                "send nothing from this journal: `disburse verify {batch}` lists what was changed. Go on with a copy from \
                before the change"
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
        let runner = runner(self.options.runner.as_deref(), &limits);
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
            pacing: Pacing::of(self.journal),
            limits,
            policy,
            ceilings: self.ceilings.clone(),
            request_timeout: self.settings.profile.limits.request_timeout,
            addresses: addresses.clone(),
            clock: self.clock().await?,
            runner,
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

    /// The clock of the run: that of the store, where runs of several machines share one.
    async fn clock(&self) -> Result<Clock, Error> {
        Ok(match self.journal.is_shared() {
            true => Clock::of_store(self.journal).await?,
            false => Clock::start(),
        })
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

/// Says who runs the batch, to others that do so, too.
fn runner(name: Option<&str>, limits: &engine::Limits) -> Runner {
    let system = rustix::system::uname();
    let host = system.nodename().to_string_lossy().into_owned();
    let name = name.map_or_else(|| format!("{host}-{}", std::process::id()), str::to_owned);
    Runner {
        host,
        name,
        rate: limits.rate.get(),
        query_rate: match limits.shared_rate {
            true => 0,
            false => limits.query_rate.get(),
        },
    }
}
