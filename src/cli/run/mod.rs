//! `run` and `pay`: the main job.
//!
//! Before the first post: the lock, the signals, the sandbox, client and listener; then what is asked beforehand, the
//! confirmation with the final totals, and what is sent beforehand.

mod beforehand;
mod confirm;
mod door;
mod verdict;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::arguments::{PayArguments, RunArguments, RunOptions};
use super::config::Settings;
use super::input::Input;
use super::session::{Session, batch_name};
use super::{Error, Verdict, gateway, load, networks, output, progress, sandbox, signals};
use crate::callback::{self, Addresses};
use crate::domain::{BatchName, Timestamp};
use crate::engine::{self, Clock, Plan, Run, Summary};
use crate::gateway::HttpGateway;
use crate::journal::{Journal, Moved, RunLock};
use crate::sandbox::Sandbox;
use door::Door;
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
pub(super) async fn run(session: &Session, arguments: RunArguments) -> Result<Verdict, Error> {
    let batch = batch_name(&arguments.batch)?;
    let options = arguments.options;
    let settings = session.settings(options.sandbox, overrides(&options))?;
    let journal = Journal::open_existing(session.journal_path())?;
    let resume = format!("To resume: disburse run {batch}");
    let outcome = carry_out(session, settings, &journal, &batch, &options, resume).await?;
    conclude(session, &journal, &batch, &outcome, None).await
}

/// `disburse pay`.
pub(super) async fn pay(session: &Session, arguments: PayArguments) -> Result<Verdict, Error> {
    let options = arguments.run;
    let mut flags = overrides(&options);
    flags.push(("service_code", arguments.file.service.clone()));
    let settings = session.settings(options.sandbox, flags)?;
    if !options.sandbox {
        // Refused before anything is loaded: a file without a gateway is half a job.
        settings.gateway()?;
    }
    let plan = load::plan(&arguments.file, &arguments.load, &settings)?;
    let batch = plan.batch.clone();
    let out = arguments
        .out
        .unwrap_or_else(|| PathBuf::from("reports").join(batch.as_str()));
    let input = Input::open(&arguments.file, &settings)?;
    // Better told now than when the money has moved.
    crate::report::usable(&out)?;
    if arguments.load.lookup {
        networks::check_new(session, &input, &plan, options.sandbox).await?;
    }
    let (journal, summary, fresh) = load::open_and_load(session, &input, plan).await?;
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
        "{}: {}, {}{by_bill}: {what}",
        input.name,
        output::counted(total.count, "payment"),
        output::amounts(&total.amounts)
    ));
    let resume = "To resume: the same command again".to_owned();
    let outcome = carry_out(session, settings, &journal, &batch, &options, resume).await?;
    conclude(session, &journal, &batch, &outcome, Some(out)).await
}

/// What a run came to.
struct Outcome {
    summary: Summary,
    /// A run asks whether held lanes have float again.
    reopens_lanes: bool,
    ledger: Option<crate::sandbox::Verdict>,
}

async fn carry_out(
    session: &Session,
    mut settings: Settings,
    journal: &Journal,
    batch: &BatchName,
    options: &RunOptions,
    resume: String,
) -> Result<Outcome, Error> {
    if !options.sandbox {
        let standing = journal.standing(batch.clone()).await?;
        confirm::refuse_unattended(&settings, batch, &standing, options.yes)?;
    }
    let purpose = format!("run of batch {batch}");
    let _lock = RunLock::take(journal.path(), &purpose, Timestamp::now())?;
    // Heard from here on: whatever is begun below is ended in good order.
    let drain = CancellationToken::new();
    let notice = format!(
        "ending: no further payment is posted, what is under way is waited for (once more to end at once). {resume}"
    );
    signals::drain_on_signal(drain.clone(), notice)?;
    let sandbox = match options.sandbox {
        true => Some({
            let (seed, faults) = (options.seed, &options.faults);
            sandbox::beside(journal.path(), &mut settings, seed, faults).await?
        }),
        false => None,
    };
    let job = Job {
        session,
        settings: &settings,
        journal,
        batch,
        options,
        drain,
    };
    let outcome = job.run(sandbox.as_ref()).await;
    let ledger = sandbox.as_ref().map(Sandbox::verdict);
    if let Some(sandbox) = sandbox {
        sandbox.shutdown().await;
    }
    Ok(Outcome {
        summary: outcome?,
        reopens_lanes: settings.profile.float.reopen_lanes,
        ledger,
    })
}

struct Job<'a> {
    session: &'a Session,
    settings: &'a Settings,
    journal: &'a Journal,
    batch: &'a BatchName,
    options: &'a RunOptions,
    drain: CancellationToken,
}

impl Job<'_> {
    async fn run(self, sandbox: Option<&Sandbox>) -> Result<Summary, Error> {
        let profile = gateway::profile(self.settings)?;
        let identity = match sandbox {
            Some(sandbox) => format!("sandbox {}", sandbox.identity()),
            None => profile.identity(),
        };
        let client = Arc::new(
            HttpGateway::new(profile)
                .map_err(|error| Error::refused(format!("gateway: {error}")))?,
        );
        let door = door::open(self.settings, self.options, self.journal).await?;
        self.bills(&client, &identity).await?;
        let standing = self.journal.standing(self.batch.clone()).await?;
        self.forecast(&*client, &standing).await?;
        // A rehearsal moves nothing.
        if sandbox.is_none() {
            let yes = self.options.yes;
            confirm::confirm(self.settings, self.batch, &standing, yes, &self.drain).await?;
        }
        self.upload(&identity).await?;
        self.post(client, identity, door).await
    }

    /// Hands the batch to the engine, with the listener beside it.
    async fn post(
        self,
        client: Arc<HttpGateway>,
        identity: String,
        door: Option<Door>,
    ) -> Result<Summary, Error> {
        let callbacks = door.is_some();
        let policy = gateway::policy(self.settings, callbacks);
        let (sender, moved) = mpsc::channel(CALLBACKS);
        let background = TaskTracker::new();
        let closing = CancellationToken::new();
        let addresses = match door {
            Some(door) => Some(
                self.serve(door, &policy, sender, &background, &closing)
                    .await?,
            ),
            None => None,
        };
        let (watched, watcher) = watch::channel(progress::blank());
        let screen = tokio::spawn(progress::show(watcher, self.session.common.quiet));
        let plan = Plan {
            journal: self.journal.clone(),
            gateway: client,
            batch: self.batch.clone(),
            gateway_identity: identity,
            wire: gateway::wire(self.settings),
            limits: gateway::limits(self.settings, self.options, callbacks)?,
            policy,
            request_timeout: self.settings.profile.limits.request_timeout,
            addresses,
            clock: Clock::start(),
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
        closing.cancel();
        background.close();
        background.wait().await;
        // The sender is gone with the run, so that the screen ends by itself.
        let _ = screen.await;
        Ok(outcome?)
    }

    async fn serve(
        &self,
        door: Door,
        policy: &Arc<crate::lifecycle::Policy>,
        moved: mpsc::Sender<Moved>,
        background: &TaskTracker,
        closing: &CancellationToken,
    ) -> Result<Addresses, Error> {
        let addresses = Addresses::new(&door.public_url, &self.journal.callback_key().await?);
        if let Some(listener) = door.listener {
            let options = callback::Options {
                journal: self.journal.clone(),
                addresses: addresses.clone(),
                codes: Arc::new(gateway::codes(self.settings)),
                policy: Arc::clone(policy),
                moved: Some(moved),
            };
            background.spawn(listener.serve(options, closing.clone()));
        }
        Ok(addresses)
    }
}
