//! A life: a run until it ends, is told to end, crashes or is taken over from, and what goes on beside it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use reqwest::Url;
use secrecy::SecretString;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::line::Line;
use super::papers::FileService;
use super::wire::Hold;
use super::world::World;
use super::{Scene, batch};
use crate::callback::{self, Addresses};
use crate::domain::{Country, Pulse, WireZone};
use crate::engine::{self, Clock, Limits, Plan, Progress, Rate, Run, Summary};
use crate::gateway::{Profile, Secrets, wire::Requests};
use crate::journal::inline::{Fuse, Latency};
use crate::journal::{Error, Home, Journal, Kind, Moved};
use crate::ledger::confirmation::{Answer, Confirmation};
use crate::ledger::standstill::SILENCE_MAX;
use crate::lifecycle::{Policy, SettleOn};
use crate::preflight::{Manner, Uploads};

const REQUEST_TIMEOUT: Duration = Duration::from_secs(8);
const YEAR_S: u64 = 365 * 86_400;
const ADDRESS: &str = "http://127.0.0.1:2/callbacks";

/// How a process ended.
enum End {
    Ended(Result<Summary, Error>),
    Crashed,
}

/// What a run is started with.
struct Settings {
    /// Its number.
    run: usize,
    fuse: Option<Fuse>,
    settle_on: SettleOn,
    drain_after: Option<u64>,
    limits: Limits,
}

/// What comes besides the first run of a life.
struct Beside {
    /// A process of its own takes the callbacks.
    listens: bool,
    /// A second run takes over after this long, as when the lock of the operating system fails.
    takeover: Option<u64>,
    /// The first run stands still after this long, for so long.
    standstill: Option<(u64, u64)>,
    /// Somebody has edited the journal's file.
    tampered: bool,
    /// The operator acts meanwhile.
    hasty: bool,
}

/// Lets nothing of a run go on for a while, as a suspended machine does: its waits end meanwhile.
async fn suspended<T>(work: impl Future<Output = T>, (after, long): (u64, u64)) -> T {
    let mut work = pin!(work);
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = tokio::time::sleep(Duration::from_millis(after)) => {}
    }
    tokio::time::sleep(Duration::from_millis(long)).await;
    work.await
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
            self.world.lock().begin_life(&self.disk);
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
        self.open_for(None, fuse, crash)
    }

    fn open_for(
        &self,
        run: Option<usize>,
        fuse: Option<Fuse>,
        crash: &CancellationToken,
    ) -> Journal {
        let world = Arc::clone(&self.world);
        let acquired = Box::new(move || {
            if let Some(run) = run {
                world.lock().acquire(run);
            }
        });
        let latency = latency(&self.world);
        Journal::simulated(self.disk.clone(), fuse, latency, crash.clone(), acquired)
    }

    /// Lives a life: one run, perhaps another one that takes over, a listener, an operator.
    pub(super) fn live(&self, healthy: bool) {
        let beside = {
            let mut shape = self.world.lock();
            let standstill = shape
                .chance(|f| f.standstill)
                .then(|| (shape.rng.u64(0..20_000), shape.rng.u64(0..90_000)));
            let takeover = shape
                .chance(|f| f.takeover)
                .then(|| shape.rng.u64(0..20_000));
            let listens = shape.rng.u32(0..4) == 0;
            let ahead = listens && shape.chance(|f| f.listener_ahead);
            shape.ahead = Duration::from_secs(if ahead { 3 * YEAR_S } else { 0 });
            Beside {
                listens,
                // While the first run stands still, somebody starts another one.
                takeover: match standstill {
                    Some((after, long)) if shape.rng.bool() => Some(after + long / 2),
                    _ => takeover,
                },
                standstill,
                tampered: shape.chance(|f| f.tampered),
                hasty: shape.chance(|f| f.hasty),
            }
        };
        let edited = beside.tampered.then(|| self.tamper()).flatten();
        self.world.lock().tampered = edited.is_some();
        self.on_a_runtime(async {
            let mut listener = None;
            if beside.listens {
                // Its own way to the disk: it outlives the run.
                let journal = self.open(None, &CancellationToken::new());
                listener = self.listen(journal, None).await.ok();
            }
            let listens = listener.is_some();
            let first = self.process(healthy, listens, beside.standstill);
            let second = async {
                if let Some(after) = beside.takeover {
                    tokio::time::sleep(Duration::from_millis(after)).await;
                    self.process(healthy, listens, None).await;
                }
            };
            let runs = async { tokio::join!(biased; first, second) };
            let desk = async {
                if beside.hasty {
                    self.desk(beside.takeover.is_none()).await;
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                biased;
                _ = runs => {}
                () = desk => {}
            }
            if listens {
                // Callbacks find somebody also after the run.
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
        });
        if let Some((seq, minor)) = edited {
            self.edit(seq, minor);
            self.world.lock().tampered = false;
        }
    }

    /// Raises an amount behind the program's back; returns what it was.
    fn tamper(&self) -> Option<(i64, i64)> {
        let found = self.disk.look(|c| {
            c.query_row(
                "select seq, amount from instruction i where amount is not null
                     and not exists (select 1 from life l where l.seq = i.seq and state <> 0) order by seq limit 1",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .ok()
        })?;
        self.edit(found.0, found.1 + 1);
        self.world
            .lock()
            .note(|| format!("payment {} is edited", found.0));
        Some(found)
    }

    fn edit(&self, seq: i64, minor: i64) {
        self.disk.look(|c| {
            let guard: String = c
                .query_row(
                    "select sql from sqlite_schema where name = 'instruction_is_never_changed'",
                    [],
                    |row| row.get(0),
                )
                .expect("the schema has it");
            c.execute_batch(&format!(
                "drop trigger instruction_is_never_changed; update instruction set amount = {minor} where seq = {seq}; {guard}"
            ))
            .expect("whoever owns the file may write it");
        });
    }

    /// Opens the door to callbacks.
    async fn listen(
        &self,
        journal: Journal,
        moved: Option<mpsc::Sender<Moved>>,
    ) -> Result<(), Error> {
        let key = journal.callback_key().await?;
        self.world.lock().door = Some(callback::Options {
            journal,
            addresses: Addresses::new(ADDRESS, &key),
            codes: Arc::new(self.codes.clone()),
            policy: policy(true, self.settle_on),
            secrets: Secrets::none(),
            moved,
        });
        Ok(())
    }

    fn settings(&self, healthy: bool) -> Settings {
        let mut shape = self.world.lock();
        let blows = !healthy && shape.chance(|f| f.crash);
        let fuse = blows.then(|| Fuse {
            verbs: shape.rng.u32(0..60),
            commits: shape.rng.bool(),
            crashes: shape.rng.u32(0..3) > 0,
        });
        let drain_after = (!healthy && shape.rng.u32(0..4) == 0).then(|| shape.rng.u64(0..40_000));
        let rate = if shape.rng.bool() {
            1
        } else {
            shape.rng.u32(1..20)
        };
        let polls = shape.rng.u32(0..3) == 0;
        // A healthy run needs no operator to open a lane.
        let retries = if healthy { !polls } else { shape.rng.bool() };
        let limits = Limits {
            rate: Rate::per_second(rate).expect("not zero"),
            query_rate: Rate::per_second(shape.rng.u32(1..20)).expect("not zero"),
            concurrency: shape.rng.usize(1..6),
            packets: 1 + shape.rng.usize(0..4) * shape.rng.usize(0..2),
            breaker_losses: shape.rng.u32(1..8),
            breaker_pause: Duration::from_secs(2),
            lane_retry_after: retries.then(|| Duration::from_secs(10)),
            max_wait: Duration::from_secs(if healthy { 600 } else { shape.rng.u64(30..200) }),
            float_poll: polls.then(|| Duration::from_secs(5)),
            no_wait: !healthy && shape.rng.u32(0..6) == 0,
            callbacks: shape.rng.u32(0..3) > 0,
        };
        let run = shape.runs.len();
        shape.runs.push(Hold::default());
        shape.note(|| format!("run {run} begins: {fuse:?} {limits:?}"));
        Settings {
            run,
            fuse,
            settle_on: self.settle_on,
            drain_after,
            limits,
        }
    }

    /// A process with a run, from its start to its end.
    async fn process(&self, healthy: bool, listened: bool, standstill: Option<(u64, u64)>) {
        let settings = self.settings(healthy);
        let (run, spoilt) = (
            settings.run,
            settings.fuse.is_some_and(|fuse| !fuse.crashes),
        );
        let dead = CancellationToken::new();
        let journal = self.open_for(Some(run), settings.fuse, &dead);
        let life = self.run(journal, settings, listened, &dead);
        let life = suspended(life, standstill.unwrap_or((u64::MAX / 2, 0)));
        let end = tokio::select! {
            biased;
            () = dead.cancelled() => End::Crashed,
            ended = life => End::Ended(ended),
        };
        // What is left of it does nothing any more.
        dead.cancel();
        let mut shape = self.world.lock();
        shape.end_run(run);
        if !listened {
            shape.door = None;
        }
        match end {
            End::Crashed => shape.note(|| format!("run {run} crashes")),
            End::Ended(Ok(summary)) => shape.note(|| format!("run {run} {summary:?}")),
            End::Ended(Err(error)) => {
                shape.note(|| format!("run {run} {error}"));
                let fenced = shape.runs[run].overtaken_at.is_some();
                if !(error.kind() == Kind::Fault && (spoilt || fenced || shape.tampered)) {
                    shape.violation(format!("17: run {run} ends with an error: {error}"));
                }
            }
        }
    }

    /// The pulse of a run: an hour is missing from when it stood still.
    fn pulse(&self, run: usize) -> Pulse {
        let world = Arc::clone(&self.world);
        let read = move || match world.lock().runs[run].stood_still {
            true => 3_600_000,
            false => 0,
        };
        Pulse::by(read, SILENCE_MAX)
    }

    async fn run(
        &self,
        journal: Journal,
        settings: Settings,
        listened: bool,
        dead: &CancellationToken,
    ) -> Result<Summary, Error> {
        let drain = CancellationToken::new();
        if let Some(after) = settings.drain_after {
            let drain = drain.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(after)).await;
                drain.cancel();
            });
        }
        let (sender, moved) = mpsc::channel(64);
        let limits = settings.limits;
        if limits.callbacks && !listened {
            // Sometimes a listener beside the run takes them, and tells it nothing.
            let told = self.world.lock().rng.u32(0..4) > 0;
            self.listen(journal.clone(), told.then_some(sender)).await?;
        }
        let key = journal.callback_key().await?;
        let clock = {
            let shape = self.world.lock();
            Clock::started_at(shape.wall_now()).on(shape.uptime())
        };
        if self.has_documents {
            let uploads = Uploads {
                journal: journal.clone(),
                batch: batch(),
                service: Arc::new(FileService {
                    world: Arc::clone(&self.world),
                }),
                read: Arc::new(|_| Ok(b"%PDF-1.7".to_vec())),
                // One at a time: threads that read files finish in any order.
                manner: Arc::new(Manner::new(limits.rate, 1, drain.clone())),
                clock,
            };
            let report = uploads.carry_out(|_| {}).await?;
            self.world.lock().note(|| format!("{report:?}"));
        }
        let callbacks = limits.callbacks || listened;
        let shown = journal.shown(batch()).await?;
        let confirmation = Confirmation::of(shown.open(), shown.bound, Answer::Flag);
        let shown = self.generations().iter().map(|g| g.id).collect();
        let plan = Plan {
            journal,
            gateway: Arc::new(Line {
                world: Arc::clone(&self.world),
                run: settings.run,
                dead: dead.clone(),
                disk: self.disk.clone(),
                requests: Requests::new(&profile()),
                codes: self.codes.clone(),
                timeout: REQUEST_TIMEOUT,
                rate: limits.rate.get() as usize,
                shown,
            }),
            batch: batch(),
            home: Home {
                gateway: "gateway".into(),
                wire: "wire".into(),
                account: "acme".into(),
            },
            confirmation,
            policy: policy(callbacks, settings.settle_on),
            limits: Limits {
                callbacks,
                ..limits
            },
            request_timeout: REQUEST_TIMEOUT,
            addresses: callbacks.then(|| Addresses::new(ADDRESS, &key)),
            clock,
            pulse: Arc::new(self.pulse(settings.run)),
        };
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
