//! A life: a run until it ends, is told to end, crashes or is taken over from, and what goes on beside it.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use reqwest::Url;
use secrecy::SecretString;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::scene::Scene;
use crate::callback::{self, Addresses};
use crate::dialect::Dialect;
use crate::domain::{Country, PayerTransactionId, Pulse, Rate, WireZone};
use crate::engine::{self, Clock, Limits, Pacing, Plan, Progress, Run, Summary};
use crate::gateway::{Profile, Secrets, wire::Requests};
use crate::journal::simulated::{Fuse, Latency, Process, set_clock};
use crate::journal::weather::Path;
use crate::journal::{Closed, Error, Home, Journal, Kind, Runner, Transition};
use crate::ledger::confirmation::{Answer, Bound, Confirmation};
use crate::ledger::standstill::SILENCE_MAX;
use crate::lifecycle::{Policy, SettleOn};
use crate::preflight::{RequestPolicy, Uploads};
use crate::simulation::disk::rows;
use crate::simulation::hurry::hurried;
use crate::simulation::operator::accounts::owner;
use crate::simulation::outside::file_service::FileService;
use crate::simulation::outside::line::Line;
use crate::simulation::outside::packet::{Hold, Ordeal};
use crate::simulation::outside::world::World;

const REQUEST_TIMEOUT: Duration = Duration::from_secs(8);
const YEAR_S: u64 = 365 * 86_400;
const ADDRESS: &str = "http://127.0.0.1:2/callbacks";
/// Where callbacks arrive while runs follow one another.
const ALONE: usize = 0;
/// No life lasts as long.
const NEVER_MS: u64 = u64::MAX / 2;

/// How a process ended.
enum End {
    Ended(Result<Summary, Error>),
    Crashed,
}

/// What a run is started with.
struct Settings {
    /// Its number.
    run: usize,
    /// The user name that is configured.
    user: &'static str,
    fuse: Option<Fuse>,
    /// The gateway and everything around it is.
    healthy: bool,
    settle_on: SettleOn,
    drain_after: Option<u64>,
    /// Its configuration takes "not found" for true too soon for this gateway.
    is_hurried: bool,
    limits: Limits,
    ceilings: Option<Arc<crate::ledger::limits::Limits>>,
}

/// What comes besides the first run of a life.
struct Beside {
    /// A process of its own takes the callbacks.
    listens: bool,
    /// A second run takes over after this long, as when the lock of the operating system fails.
    takeover: Option<u64>,
    /// The first run stands still after this long, for so long.
    standstill: Option<(u64, u64)>,
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

fn profile(dialect: &Arc<Dialect>) -> Profile {
    let profile = Profile::new(
        Url::parse("http://127.0.0.1:1").expect("an address"),
        "acme".into(),
        SecretString::from("secret"),
        Country::from_code("KE").expect("known"),
        WireZone::from_name("Africa/Nairobi").expect("known"),
    );
    Profile {
        dialect: Arc::clone(dialect),
        ..profile
    }
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
        if let Some(server) = self.disk.server() {
            server.settle();
        }
        result
    }

    pub(super) fn open(&self, fuse: Option<Fuse>, crash: &CancellationToken) -> Journal {
        self.open_for(None, fuse, crash)
    }

    /// Opens the journal for the process of a run, if it is one, and whether all is well.
    fn open_for(
        &self,
        run: Option<(usize, bool)>,
        fuse: Option<Fuse>,
        crash: &CancellationToken,
    ) -> Journal {
        let world = Arc::clone(&self.world);
        let watch = Box::new(move |seen| {
            if let Some((run, _)) = run {
                world.lock().see(run, seen);
            }
        });
        let process = Process {
            fuse,
            latency: latency(&self.world),
            crash: crash.clone(),
            watch,
            path: self.path(run),
        };
        set_clock(self.world.lock().wall_now());
        Journal::simulated(self.disk.clone(), process)
    }

    /// What lies between a process and a store that several share; nothing bad between it and whoever does not run a batch.
    fn path(&self, run: Option<(usize, bool)>) -> Path {
        let number = run.map_or(usize::MAX, |(number, _)| number);
        let [stands, is_cut_off, met] = [(); 3].map(|()| Arc::clone(&self.world));
        Path {
            stands: Box::new(move || stands.lock().stands(number)),
            is_cut_off: Box::new(move || is_cut_off.lock().is_cut_off(number)),
            next: run.map(|(_, healthy)| self.together.weather(healthy)),
            met: Box::new(move |why| {
                let mut shape = met.lock();
                shape.note(|| format!("run {number}: {why}"));
                if let Some(hold) = shape.runs.get_mut(number) {
                    hold.troubled = true;
                }
            }),
        }
    }

    /// Lives a life: one run or several, a listener, an operator.
    pub(super) fn live(&self, healthy: bool) {
        let edited = self.tamper();
        let user = self.configured();
        match self.together.is_on {
            true => self.live_together(healthy, user),
            false => self.live_alone(healthy, user),
        }
        self.take_back(edited);
        self.know_the_account();
    }

    /// One run, and perhaps another one that takes over.
    fn live_alone(&self, healthy: bool, user: &'static str) {
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
                hasty: !self.places.is_copy.get() && !shape.deaf && shape.chance(|f| f.hasty),
            }
        };
        self.on_a_runtime(async {
            let mut listener = None;
            if beside.listens {
                // Its own way to the disk: it outlives the run.
                let journal = self.open(None, &CancellationToken::new());
                listener = self.listen(ALONE, journal, None).await.ok();
            }
            let listens = listener.is_some();
            let ordeal = Ordeal {
                standstill: beside.standstill,
                ..Ordeal::default()
            };
            let first = self.process(healthy, user, listens, ordeal);
            let second = async {
                if let Some(after) = beside.takeover {
                    tokio::time::sleep(Duration::from_millis(after)).await;
                    let ordeal = Ordeal::default();
                    self.process(healthy, user, listens, ordeal).await;
                }
            };
            let runs = async { tokio::join!(biased; first, second) };
            let desk = Box::pin(async {
                if beside.hasty {
                    self.desk(beside.takeover.is_none()).await;
                }
                std::future::pending::<()>().await;
            });
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
    }

    /// Opens the door to callbacks.
    pub(super) async fn listen(
        &self,
        by: usize,
        journal: Journal,
        moved: Option<mpsc::Sender<Transition>>,
    ) -> Result<(), Error> {
        let key = journal.callback_key().await?;
        let speech = self.speech();
        let door = callback::Options {
            journal,
            addresses: Addresses::new(ADDRESS, &key),
            codes: Arc::new(self.codes.clone()),
            policy: policy(true, self.settle_on),
            secrets: Secrets::none(),
            dialect: Arc::clone(&speech.dialect),
            proof: callback::Proof::default(),
            reads_as: None,
            moved,
        };
        self.world.lock().doors.insert(by, door);
        Ok(())
    }

    /// Whether somebody hurries now. In a journal that was lost and begun anew, nothing tells who comes with another configuration that they do.
    pub(super) fn hurries(&self, of: u32) -> bool {
        self.hurry.comes(of) && self.disk.look(rows::knows_a_quarantine)
    }

    fn settings(&self, healthy: bool, user: &'static str, ordeal: Ordeal) -> Settings {
        let mut shape = self.world.lock();
        let blows = !healthy && shape.chance(|f| f.crash);
        let fuse = blows.then(|| Fuse {
            verbs: shape.rng.u32(0..60),
            commits: shape.rng.bool(),
            crashes: shape.rng.u32(0..3) > 0,
        });
        let drain_after = (!healthy && shape.rng.u32(0..4) == 0).then(|| shape.rng.u64(0..40_000));
        let is_hurried = !healthy && self.hurries(3);
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
            shared_rate: false,
            concurrency: shape.rng.usize(1..6),
            packets: 1 + shape.rng.usize(0..4) * shape.rng.usize(0..2),
            breaker_losses: shape.rng.u32(1..8),
            breaker_pause: Duration::from_secs(2),
            lane_retry_after: retries.then(|| Duration::from_secs(10)),
            max_wait: Duration::from_secs(if healthy { 600 } else { shape.rng.u64(30..200) }),
            float_poll: polls.then(|| Duration::from_secs(5)),
            no_wait: !healthy && shape.rng.u32(0..6) == 0,
            callbacks: shape.rng.u32(0..3) > 0,
            wait_for_window: false,
        };
        let limits = Limits {
            wait_for_window: !limits.no_wait && self.diary.waits(healthy),
            ..limits
        };
        let run = shape.runs.len();
        let now = shape.now();
        shape.runs.push(Hold::with(user, ordeal, now));
        let ceilings = self.limited.of_run(healthy);
        shape
            .limits
            .extend(ceilings.clone().map(|limits| (run, limits)));
        shape.note(|| {
            let hurry = if is_hurried { "hurried " } else { "" };
            format!("run {run} of {user} begins: {hurry}{fuse:?} {limits:?} {ordeal:?}")
        });
        Settings {
            run,
            user,
            fuse,
            healthy,
            settle_on: self.settle_on,
            drain_after,
            is_hurried,
            limits,
            ceilings,
        }
    }

    /// A process with a run, from its start to its end.
    pub(super) async fn process(
        &self,
        healthy: bool,
        user: &'static str,
        listened: bool,
        ordeal: Ordeal,
    ) {
        let settings = self.settings(healthy, user, ordeal);
        let (run, is_hurried) = (settings.run, settings.is_hurried);
        let spoilt = settings.fuse.is_some_and(|fuse| !fuse.crashes);
        let dead = CancellationToken::new();
        let journal = self.open_for(Some((run, healthy)), settings.fuse, &dead);
        // It is large: on the heap.
        let life = Box::pin(self.run(journal, settings, listened, &dead));
        let life = suspended(life, ordeal.standstill.unwrap_or((NEVER_MS, 0)));
        let killed = tokio::time::sleep(Duration::from_millis(ordeal.killed.unwrap_or(NEVER_MS)));
        let end = tokio::select! {
            biased;
            () = dead.cancelled() => End::Crashed,
            () = killed => End::Crashed,
            ended = life => End::Ended(ended),
        };
        // What is left of it does nothing any more.
        dead.cancel();
        let mut shape = self.world.lock();
        shape.end_run(run);
        let by = self.door_of(run);
        if !listened {
            shape.doors.remove(&by);
        }
        match end {
            End::Crashed => shape.note(|| format!("run {run} crashes")),
            End::Ended(Ok(summary)) => shape.note(|| format!("run {run} {summary:?}")),
            End::Ended(Err(error)) => {
                shape.note(|| format!("run {run} {error}"));
                let fenced = shape.is_fenced(run, &self.disk) || shape.runs[run].troubled;
                let tampered = shape.tampered.is_some();
                let (is_shared, was_set) = (shape.is_shared, shape.server_was_set);
                // Whoever is asked below looks at the world.
                drop(shape);
                let excused = match &error {
                    Error::Altered { .. } => tampered,
                    // It would change what a run goes by that is at work, or was killed a moment ago: later it may.
                    Error::Held { .. } => is_shared,
                    // Two of them have another configuration, and one is at work or was killed a moment ago.
                    Error::OtherQuarantine { .. } => is_shared,
                    Error::ShorterQuarantine { .. } => is_hurried,
                    // Of a run that had read the clock before it was set.
                    Error::SessionClosed {
                        why: Closed::ClockSet,
                    } => was_set,
                    Error::PaidElsewhere { found, .. } => self.is_stuck(&found.what),
                    // A copy that was put back may be from before the account had another name.
                    Error::OtherAccount { pinned, .. } => self.is_told(pinned),
                    Error::OtherDestination { meant, .. } => self.is_told(&meant.user),
                    Error::PayerElsewhere { told_account, .. } => self.is_told(told_account),
                    // Whoever has the wrong account in the configuration says nothing.
                    Error::PayerUnknown { account, .. } => {
                        owner(account) != owner(self.account_of(&self.batch()))
                    }
                    _ => error.kind() == Kind::Fault && (spoilt || fenced),
                };
                if !excused {
                    let text = format!("17: run {run} ends with an error: {error}");
                    self.world.lock().violation(text);
                }
            }
        }
    }

    /// The pulse of a run: its clock goes on while nothing else of it does.
    fn pulse(&self, run: usize) -> Pulse {
        let world = Arc::clone(&self.world);
        let read = move || {
            let shape = world.lock();
            let (hold, now) = (&shape.runs[run], shape.now());
            let stood = hold
                .standstill
                .map_or(0, |(from, until)| now.min(until).saturating_sub(from));
            // An hour is missing from when its machine slept.
            stood + if hold.stood_still { 3_600_000 } else { 0 }
        };
        let world = Arc::clone(&self.world);
        Pulse::by(read, SILENCE_MAX).leased_by(move || world.lock().now())
    }

    /// Where the callbacks of a run arrive: runs that follow one another listen in the same place.
    fn door_of(&self, run: usize) -> usize {
        if self.together.is_on { run } else { ALONE }
    }

    /// Where the batch belongs, as the configuration has it: each account has a profile of its own.
    pub(super) fn home(user: &str) -> Home {
        Home {
            reading: "document".to_owned(),
            profile: format!("profile {}", owner(user)),
            accepts_reading: false,
            gateway: "gateway".into(),
            wire: "wire".into(),
            account: user.into(),
        }
    }

    /// A line to the gateway.
    pub(super) fn line(
        &self,
        (run, user): (usize, &'static str),
        rate: u32,
        dead: &CancellationToken,
        shown: BTreeSet<PayerTransactionId>,
        pulse: &Arc<Pulse>,
    ) -> Line {
        let speech = self.speech();
        Line {
            world: Arc::clone(&self.world),
            run,
            user,
            dead: dead.clone(),
            disk: self.disk.clone(),
            pulse: Arc::clone(pulse),
            requests: Requests::new(&profile(&speech.dialect)),
            speech,
            codes: self.codes.clone(),
            timeout: REQUEST_TIMEOUT,
            rate: rate as usize,
            shown,
            approved: self.eyes.may_leave(),
        }
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
            let by = self.door_of(settings.run);
            self.listen(by, journal.clone(), told.then_some(sender))
                .await?;
        }
        let key = journal.callback_key().await?;
        let clock = match journal.is_shared() {
            true => Clock::of_store(&journal).await?,
            false => Clock::started_at(self.world.lock().wall_now()),
        };
        let clock = clock.on(self.world.lock().uptime());
        let pulse = Arc::new(self.pulse(settings.run));
        self.redirect(&journal, settings.user).await?;
        self.move_account(&journal, settings.user, dead).await?;
        self.confirm_payer(&journal, &self.batch(), settings.user)
            .await?;
        if self.has_documents {
            let home = Self::home(settings.user);
            journal.pin(self.batch(), home, clock.now()).await?;
            let uploads = Uploads {
                journal: journal.clone(),
                batch: self.batch(),
                service: Arc::new(FileService {
                    world: Arc::clone(&self.world),
                }),
                read: Arc::new(|_| Ok(b"%PDF-1.7".to_vec())),
                // One at a time: threads that read files finish in any order.
                manner: Arc::new(RequestPolicy::new(limits.rate, 1, drain.clone())),
                clock,
            };
            let report = uploads.carry_out(|_| {}).await?;
            self.world.lock().note(|| format!("{report:?}"));
        }
        let callbacks = limits.callbacks || listened;
        self.sign(settings.healthy, settings.user).await;
        let shown = journal.shown(self.batch()).await?;
        let (mut policy, mut bound) = (policy(callbacks, settings.settle_on), shown.bound);
        if settings.is_hurried {
            (policy, bound) = (Arc::new(hurried(&policy)), Bound::NOTHING);
        }
        let confirmation = Confirmation::of(shown.open(), bound, Answer::Flag);
        let shown = self.generations().iter().map(|g| g.id).collect();
        let pacing = Pacing::of(&journal);
        let plan = Plan {
            journal,
            gateway: Arc::new(self.line(
                (settings.run, settings.user),
                limits.rate.get(),
                dead,
                shown,
                &pulse,
            )),
            calendar: Arc::clone(&self.diary.calendar),
            batch: self.batch(),
            home: Self::home(settings.user),
            confirmation,
            approval: self.eyes.rule_of_run(),
            policy,
            pacing,
            limits: Limits {
                callbacks,
                ..limits
            },
            ceilings: settings.ceilings,
            request_timeout: REQUEST_TIMEOUT,
            addresses: callbacks.then(|| Addresses::new(ADDRESS, &key)),
            clock,
            runner: Runner::default(),
            pulse,
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
