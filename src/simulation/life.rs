//! One process's life: a run until it ends, is told to end, or crashes.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use reqwest::Url;
use secrecy::SecretString;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::line::Line;
use super::world::World;
use super::{Scene, batch, plan};
use crate::callback::{self, Addresses};
use crate::domain::{Country, WireZone};
use crate::engine::{self, Clock, Limits, Plan, Progress, Rate, Run, Summary};
use crate::gateway::{Profile, wire::Requests};
use crate::journal::inline::{Fuse, Latency};
use crate::journal::{Error, Incoming, Journal, Kind, Loaded};
use crate::lifecycle::{CodeTable, Policy, SettleOn};

const REQUEST_TIMEOUT: Duration = Duration::from_secs(8);

/// How a life ended.
enum End {
    Ended(Result<Summary, Error>),
    Crashed,
}

fn latency(world: &Arc<World>) -> Latency {
    let mut rng = Rng::with_seed(world.lock().rng.u64(..));
    let most = rng.u64(0..40);
    Box::new(move || Duration::from_millis(rng.u64(0..=most)))
}

fn profile() -> Profile {
    Profile::new(
        Url::parse("http://127.0.0.1:1").expect("an address"),
        "acme".into(),
        SecretString::from("secret"),
        Country::from_code("KE").expect("known"),
        WireZone::from_name("Africa/Nairobi").expect("known"),
    )
}

/// The waits: short, and longer than anything the network or a late execution takes.
pub(super) fn policy(callbacks: bool, settle_on: SettleOn) -> Arc<Policy> {
    Arc::new(Policy {
        first_query_after: Duration::from_secs(5),
        query_backoff_max: Duration::from_secs(20),
        callback_grace: Duration::from_secs(15),
        not_found_quarantine: Duration::from_secs(60),
        give_up_after: Duration::from_secs(1_800),
        settle_on,
        callbacks,
        ..Policy::default()
    })
}

impl Scene {
    /// Runs something on a runtime whose time is simulated.
    pub(super) fn on_a_runtime<T>(&self, work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without a reactor");
        let result = runtime.block_on(async {
            self.world.lock().begin_life();
            let turning = tokio::spawn(Arc::clone(&self.world).turn());
            let result = work.await;
            turning.abort();
            self.world.lock().end_life();
            result
        });
        // Whatever the process still did ends with it.
        drop(runtime);
        result
    }

    pub(super) fn open(&self, fuse: Option<Fuse>, crash: &CancellationToken) -> Journal {
        Journal::simulated(self.disk.clone(), fuse, latency(&self.world), crash.clone())
    }

    /// Loads the file.
    pub(super) fn load(&self, presume_posted: bool) {
        let now = self.world.lock().wall_now();
        let journal = self.open(None, &CancellationToken::new());
        let (sender, receiver) = std::sync::mpsc::channel();
        let rows = self.rows.iter().cloned().map(Incoming::Good);
        let _ = sender.send(rows.chain([Incoming::End]).collect());
        drop(sender);
        let loaded = self.on_a_runtime(journal.load(plan(now, presume_posted), receiver));
        assert!(matches!(loaded, Ok(Loaded::New(_))), "{loaded:?}");
    }

    /// Lives a life; an error is a violation.
    pub(super) fn live(&self, healthy: bool) -> Result<(), String> {
        let (fuse, callbacks, settle_on, drain_after, limits) = {
            let mut shape = self.world.lock();
            let crashes = !healthy && shape.chance(|f| f.crash);
            let fuse = crashes.then(|| Fuse {
                verbs: shape.rng.u32(0..60),
                commits: shape.rng.bool(),
            });
            let callbacks = shape.rng.u32(0..3) > 0;
            let confirmed = shape.rng.u32(0..4) == 0;
            shape.confirmed |= confirmed;
            let settle_on = if confirmed {
                SettleOn::Confirmed
            } else {
                SettleOn::Callback
            };
            let drain_after =
                (!healthy && shape.rng.u32(0..4) == 0).then(|| shape.rng.u64(0..40_000));
            let limits = Limits {
                rate: Rate::per_second(if shape.rng.bool() {
                    1
                } else {
                    shape.rng.u32(1..20)
                })
                .expect("not zero"),
                query_rate: Rate::per_second(shape.rng.u32(1..20)).expect("not zero"),
                concurrency: shape.rng.usize(1..6),
                packets: 1 + shape.rng.usize(0..4) * shape.rng.usize(0..2),
                breaker_losses: shape.rng.u32(1..8),
                breaker_pause: Duration::from_secs(2),
                lane_retry_after: (healthy || shape.rng.bool()).then(|| Duration::from_secs(10)),
                max_wait: Duration::from_secs(600),
                float_poll: None,
                no_wait: !healthy && shape.rng.u32(0..6) == 0,
                callbacks,
            };
            shape.note(|| format!("a run begins: {fuse:?} {limits:?}"));
            (fuse, callbacks, settle_on, drain_after, limits)
        };
        let crash = CancellationToken::new();
        let journal = self.open(fuse, &crash);
        let policy = policy(callbacks, settle_on);
        let life = async {
            let run = self.run(journal, limits, policy, drain_after);
            tokio::select! {
                biased;
                () = crash.cancelled() => End::Crashed,
                ended = run => End::Ended(ended),
            }
        };
        match self.on_a_runtime(life) {
            End::Crashed => self.world.lock().note(|| "the process crashes".into()),
            End::Ended(Ok(summary)) => self.world.lock().note(|| format!("{summary:?}")),
            End::Ended(Err(error)) if error.kind() == Kind::Fault => {
                return Err(format!("the journal failed: {error}"));
            }
            End::Ended(Err(error)) => return Err(format!("the run was refused: {error}")),
        }
        Ok(())
    }

    async fn run(
        &self,
        journal: Journal,
        limits: Limits,
        policy: Arc<Policy>,
        drain_after: Option<u64>,
    ) -> Result<Summary, Error> {
        let key = journal.callback_key().await?;
        let addresses = Addresses::new("http://127.0.0.1:2/callbacks", key);
        let (sender, moved) = mpsc::channel(64);
        if limits.callbacks {
            // Sometimes a listener beside the run takes them, and tells it nothing.
            let told = self.world.lock().rng.u32(0..4) > 0;
            self.world.lock().door = Some(callback::Options {
                journal: journal.clone(),
                addresses: addresses.clone(),
                codes: Arc::new(CodeTable::default()),
                policy: Arc::clone(&policy),
                moved: told.then_some(sender),
            });
        }
        let callbacks = limits.callbacks;
        let plan = Plan {
            journal,
            gateway: Arc::new(Line {
                world: Arc::clone(&self.world),
                requests: Requests::new(&profile()),
                codes: CodeTable::default(),
                timeout: REQUEST_TIMEOUT,
                rate: limits.rate.get() as usize,
            }),
            batch: batch(),
            gateway_identity: "gateway".into(),
            wire: "wire".into(),
            policy,
            limits,
            request_timeout: REQUEST_TIMEOUT,
            addresses: callbacks.then_some(addresses),
            clock: Clock::started_at(self.world.lock().wall_now()),
        };
        let drain = CancellationToken::new();
        if let Some(after) = drain_after {
            let drain = drain.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(after)).await;
                drain.cancel();
            });
        }
        engine::run(
            plan,
            Run {
                drain,
                progress: watch::channel(Progress::default()).0,
                callbacks: moved,
            },
        )
        .await
    }
}
