//! `run` and `pay`: the main job.

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::arguments::{PayArguments, RunArguments, RunOptions};
use super::config::Settings;
use super::input::Input;
use super::session::{Session, batch_name};
use super::{Error, Verdict, gateway, load, output, progress, report, sandbox, signals, status};
use crate::callback::{self, Addresses, Listener};
use crate::domain::{BatchName, Tally, Timestamp};
use crate::engine::{self, Clock, Ending, Plan, Run, Summary};
use crate::gateway::{HttpGateway, Profile};
use crate::journal::{Journal, Moved, RunLock, Standing};
use crate::lifecycle::State;
use crate::sandbox::Sandbox;

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
    let (journal, summary, fresh) = load::open_and_load(session, &input, plan).await?;
    let what = if fresh {
        "loaded"
    } else {
        "loaded before; the run goes on"
    };
    let total = summary.total();
    session.note(&format!(
        "{}: {}, {}: {what}",
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
    let standing = journal.standing(batch.clone()).await?;
    if !options.sandbox {
        confirm(&settings, batch, &standing, options.yes)?;
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
        true => Some(sandbox::beside(journal.path(), &mut settings, options).await?),
        false => None,
    };
    let listener = listener(&settings, options, journal).await?;
    let profile = gateway::profile(&settings)?;
    let job = Job {
        session,
        settings: &settings,
        journal,
        batch,
        options,
    };
    let outcome = job.run(profile, listener, sandbox.as_ref(), drain).await;
    let ledger = sandbox.as_ref().map(Sandbox::verdict);
    if let Some(sandbox) = sandbox {
        sandbox.shutdown().await;
    }
    Ok(Outcome {
        summary: outcome?,
        ledger,
    })
}

/// Where callbacks come in, and the address that is told to the gateway.
struct Door {
    listener: Option<Listener>,
    public_url: String,
}

async fn listener(
    settings: &Settings,
    options: &RunOptions,
    journal: &Journal,
) -> Result<Option<Door>, Error> {
    let callback = &settings.profile.callback;
    let public_url = callback.public_url.as_ref().map(ToString::to_string);
    if options.poll_only || public_url.is_none() && !options.sandbox {
        return Ok(None);
    }
    if options.external_listener {
        return Ok(public_url.map(|public_url| Door {
            listener: None,
            public_url,
        }));
    }
    let bound = match options.sandbox && callback.listen.port() == 0 {
        true => sandbox::callback_door(callback.listen, &journal.callback_key().await?).await,
        false => callback::bind(callback.listen).await,
    };
    let listener = bound.map_err(|error| {
        Error::refused(format!("callback.listen {}: {error}; nothing was sent", callback.listen)).hint(
            "free the port or choose another; --external-listener leaves it to a `disburse listen`, --poll-only does without callbacks",
        )
    })?;
    let local = || -> Result<String, Error> {
        let address = listener.address().map_err(Error::unexpected)?;
        Ok(format!("http://{address}/callbacks"))
    };
    // Against the sandbox, the gateway is on this machine.
    let public_url = if options.sandbox {
        local()?
    } else {
        public_url.map_or_else(local, Ok)?
    };
    Ok(Some(Door {
        listener: Some(listener),
        public_url,
    }))
}

struct Job<'a> {
    session: &'a Session,
    settings: &'a Settings,
    journal: &'a Journal,
    batch: &'a BatchName,
    options: &'a RunOptions,
}

impl Job<'_> {
    async fn run(
        self,
        profile: Profile,
        door: Option<Door>,
        sandbox: Option<&Sandbox>,
        drain: CancellationToken,
    ) -> Result<Summary, Error> {
        let identity = match sandbox {
            Some(sandbox) => format!("sandbox {}", sandbox.identity()),
            None => profile.identity(),
        };
        let request_timeout = profile.request_timeout;
        let client = HttpGateway::new(profile)
            .map_err(|error| Error::refused(format!("gateway: {error}")))?;
        let callbacks = door.is_some();
        let policy = gateway::policy(self.settings, callbacks);
        let (sender, moved) = mpsc::channel(CALLBACKS);
        let background = TaskTracker::new();
        let closing = CancellationToken::new();
        let addresses = match door {
            Some(door) => Some(
                self.open_door(door, &policy, sender, &background, &closing)
                    .await?,
            ),
            None => None,
        };
        let (watched, watcher) = watch::channel(progress::blank());
        let screen = tokio::spawn(progress::show(watcher, self.session.common.quiet));
        let plan = Plan {
            journal: self.journal.clone(),
            gateway: Arc::new(client),
            batch: self.batch.clone(),
            gateway_identity: identity,
            wire: gateway::wire(self.settings),
            limits: gateway::limits(self.settings, self.options, callbacks)?,
            policy,
            request_timeout,
            addresses,
            clock: Clock::start(),
        };
        let outcome = engine::run(
            plan,
            Run {
                drain,
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

    async fn open_door(
        &self,
        door: Door,
        policy: &Arc<crate::lifecycle::Policy>,
        moved: mpsc::Sender<Moved>,
        background: &TaskTracker,
        closing: &CancellationToken,
    ) -> Result<Addresses, Error> {
        let addresses = Addresses::new(&door.public_url, self.journal.callback_key().await?);
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

/// Asks before money moves; without anyone to ask, `--yes` is the answer.
fn confirm(
    settings: &Settings,
    batch: &BatchName,
    standing: &Standing,
    yes: bool,
) -> Result<(), Error> {
    let gateway = settings.gateway()?;
    let mut open = Tally::default();
    for state in [State::Ready, State::Posting, State::InDoubt] {
        open.add_all(&standing.of(state));
    }
    if yes || open.count == 0 {
        return Ok(());
    }
    let what = format!(
        "{} of batch {batch}, {}, through {}",
        output::counted(open.count, "payment"),
        output::amounts(&open.amounts),
        gateway.base_url
    );
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !terminal {
        return Err(
            Error::refused(format!("this would post {what}; nothing was sent"))
                .hint("say --yes to do it without being asked"),
        );
    }
    let mut answer = String::new();
    #[allow(clippy::print_stderr, reason = "a question at the terminal")]
    {
        eprint!("Post {what}? [y/N] ");
    }
    let _ = std::io::stderr().flush();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(Error::unexpected)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Error::refused("not confirmed; nothing was sent")),
    }
}

/// Writes the report, prints where the batch stands, and chooses the exit code.
async fn conclude(
    session: &Session,
    journal: &Journal,
    batch: &BatchName,
    outcome: &Outcome,
    out: Option<PathBuf>,
) -> Result<Verdict, Error> {
    let written = match out {
        Some(out) => Some(report::write(session.journal_path(), batch, &out).await),
        None => None,
    };
    let standing = journal.standing(batch.clone()).await?;
    if session.common.json {
        output::json(&status::to_json(batch, &standing));
    } else {
        output::print(&status::table(&standing));
    }
    if let Some(ledger) = &outcome.ledger {
        output::line_unless(session.common.json, &sandbox::verdict_text(ledger));
    }
    if let Some(written) = written {
        let written = written.map_err(|error| error.of_report(batch.as_str()))?;
        if !written.reconciliation.adds_up() {
            for difference in written.reconciliation.differences() {
                output::complain(
                    "error",
                    &format!("the report does not add up: {difference}"),
                );
            }
            return Err(Error::unexpected(
                "the report does not add up to the control totals",
            ));
        }
        output::line_unless(
            session.common.json,
            &format!("report: {}", written.paths.html.display()),
        );
    }
    Ok(verdict(batch, &outcome.summary, &standing))
}

fn verdict(batch: &BatchName, summary: &Summary, standing: &Standing) -> Verdict {
    let all_paid = standing.rejected.count == 0
        && standing.replaced_conflicts == 0
        && standing
            .rows
            .iter()
            .all(|row| row.state == State::Paid || row.tally.count == 0);
    if standing.replaced_conflicts > 0 {
        let count = output::counted(standing.replaced_conflicts, "failed payment");
        output::complain(
            "warning",
            &format!(
                "{count} that a retry replaced may have been paid after all; see the report's notes"
            ),
        );
    }
    if standing.is_finished() {
        return if all_paid {
            Verdict::Done
        } else {
            Verdict::Incomplete
        };
    }
    let lanes: Vec<&str> = standing
        .held
        .iter()
        .map(|lane| lane.service.as_str())
        .collect();
    let open: u64 = standing
        .rows
        .iter()
        .filter(|row| !row.state.is_finished())
        .map(|row| row.tally.count)
        .sum();
    let open = output::counted(open, "payment");
    let (verdict, why, next) = match &summary.ending {
        Ending::Held => (
            Verdict::Stopped,
            format!("the float of {} is used up (230)", lanes.join(", ")),
            format!(
                "top it up, then: disburse resume-lane {batch} {} and run again",
                lanes.first().unwrap_or(&"SERVICE")
            ),
        ),
        Ending::Stopped(why) => (
            Verdict::Stopped,
            format!("the gateway stopped the run: {why}"),
            "mend the configuration, then run again".to_owned(),
        ),
        Ending::CircuitOpen => (
            Verdict::Stopped,
            "the gateway lost one post after another; posts were paused to the end".to_owned(),
            "run again when it has recovered; what is unknown is asked about first".to_owned(),
        ),
        Ending::Unreachable(why) => (
            Verdict::Unfinished,
            // A post that was lost may have arrived; one that found no connection did not.
            match standing.of(State::InDoubt).count {
                0 => format!("the gateway cannot be reached: {why}; nothing was sent"),
                _ => format!("the gateway cannot be reached: {why}"),
            },
            "check base_url and the network, then run again".to_owned(),
        ),
        Ending::NeedsDecision => (
            Verdict::Unfinished,
            "what is left waits for a callback or for a decision".to_owned(),
            format!(
                "disburse explain {batch} ID, then disburse resolve {batch} ID --paid or --failed"
            ),
        ),
        Ending::TimedOut => (
            Verdict::Unfinished,
            "no payment moved for as long as --max-wait allows".to_owned(),
            "run again to go on waiting".to_owned(),
        ),
        Ending::Posted => (
            Verdict::Unfinished,
            format!("everything is posted; {open} without an outcome yet"),
            "run again to wait for them".to_owned(),
        ),
        Ending::Drained | Ending::Finished => (
            Verdict::Unfinished,
            format!("ended before its time; {open} without an outcome yet"),
            "run again to go on".to_owned(),
        ),
    };
    // Quiet is for what goes well.
    let failed = verdict == Verdict::Stopped || matches!(summary.ending, Ending::Unreachable(_));
    output::complain(if failed { "error" } else { "warning" }, &why);
    output::complain("hint", &next);
    verdict
}
