//! A process and a store that several share, over a network, in simulated time: transactions that wait for their turn, hang, or are cut
//! off, and commits of which nobody hears.
//!
//! What a client does here is what that of a real server must do: a commit that was not acknowledged is learned of by a write, whose own
//! acknowledgement says that what came before it is there for good.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::commit::Work;
use super::simulated::{Fuse, Inline, Seen};
use super::weather::{Heard, Path, Weather};
use crate::domain::{Epoch, Timestamp};
use crate::journal::Error;
use crate::seeded_bugs::SeededBug;
use crate::store::memory::shared::{Fate, Server};
use crate::store::tables::session;
use crate::store::{self, Read, Reads, Scan, Transact, shape};

/// So long a client tries to connect, waits for its turn and for its statements.
const WAITS_MAX: Duration = Duration::from_secs(10);
/// So long it tries to learn what became of a commit.
const LEARNS_WITHIN: Duration = Duration::from_secs(10);
/// The server takes the turn from whoever does nothing with it for so long.
const IDLE_MAX: Duration = Duration::from_secs(5);

/// One verb on its way.
pub(super) struct Remote<'a> {
    inline: &'a Inline,
    server: &'a Arc<Server>,
    client: u64,
    path: &'a Path,
}

/// The turn of a client. One that dies keeps it until the server notices.
struct Turn {
    server: Arc<Server>,
    client: u64,
    noticed: Duration,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.noticed.is_zero() {
            return self.server.end_turn(self.client);
        }
        let (server, client, noticed) = (Arc::clone(&self.server), self.client, self.noticed);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                sleep(noticed).await;
                server.end_turn(client);
            });
        }
    }
}

impl Turn {
    fn end(mut self) {
        self.noticed = Duration::ZERO;
    }
}

fn unknown() -> Error {
    let what = "whether the transaction was committed is not known".into();
    store::Error::OutcomeUnknown { what }.into()
}

shape! {
    struct Open of session { session_id: Epoch, lease_until: Timestamp }
}

/// The sessions that are open, and until when.
fn open_sessions(c: &dyn Read) -> BTreeMap<Epoch, Timestamp> {
    let open: Vec<Open> = c
        .list(&Scan::by(&session::session_open))
        .expect("memory is there");
    open.into_iter()
        .map(|open| (open.session_id, open.lease_until))
        .collect()
}

impl<'a> Remote<'a> {
    pub(super) fn new(
        inline: &'a Inline,
        server: &'a Arc<Server>,
        client: u64,
        path: &'a Path,
    ) -> Self {
        Self {
            inline,
            server,
            client,
            path,
        }
    }

    /// Until when something is waited for, unless the process has all the time.
    fn until(&self, wait: Duration) -> Option<Instant> {
        self.path.next.is_some().then(|| Instant::now() + wait)
    }

    fn fails(&self, why: &'static str) -> Error {
        (self.path.met)(why);
        Error::fault(why)
    }

    /// Carries a verb out. Where the process dies meanwhile, nobody ever hears of it.
    pub(super) async fn perform(self, work: Work, burns: Option<Fuse>) -> Result<(), Error> {
        let weather = self.path.next.as_ref().map(|next| next());
        let weather = weather.unwrap_or_default();
        let turn = loop {
            let (turn, is_there) = self.begin(weather).await?;
            if is_there {
                break turn;
            }
            turn.end();
            if self.path.next.is_some() {
                return Err(self.fails("the connection was lost, and the transaction with it"));
            }
        };
        if burns.is_some_and(|fuse| fuse.crashes && !fuse.commits) {
            return self.dies().await;
        }
        let (outcome, mine, opened) = self.commit(work, burns, weather);
        if matches!(weather.heard, Heard::Done | Heard::NothingBack) {
            self.replicated(self.until(WAITS_MAX)).await;
        }
        turn.end();
        if burns.is_some_and(|fuse| fuse.crashes) {
            return self.dies().await;
        }
        sleep(weather.back).await;
        self.awake().await;
        let (Ok(()), Some(mine)) = (&outcome, mine) else {
            return outcome;
        };
        let hears = self.is_connected() && (self.path.is_cut_off)().is_none();
        match weather.heard {
            Heard::Done if hears => {}
            Heard::Warning if hears && SeededBug::WarningIsSuccess.is_active() => {}
            _ => self.learn(mine).await?,
        }
        for id in opened {
            (self.inline.watch)(Seen::Opened(id));
        }
        Ok(())
    }

    /// Begins a transaction; returns whether it is still there when it is to be committed.
    async fn begin(&self, weather: Weather) -> Result<(Turn, bool), Error> {
        let until = self.until(WAITS_MAX);
        self.connect(until).await?;
        self.inline.disk.ask_for_turn();
        let turn = self.take_turn(until, weather.noticed).await?;
        sleep(weather.within).await;
        self.reach(self.until(WAITS_MAX)).await?;
        if self.path.next.is_none() {
            self.replicated(None).await;
        }
        let is_there = self.server.has_turn(self.client) && self.is_connected();
        Ok((turn, is_there && weather.heard != Heard::NothingSent))
    }

    async fn dies(&self) -> Result<(), Error> {
        self.inline.crash.cancel();
        std::future::pending().await
    }

    /// Commits at this moment; returns the number of the commit, where there was something to be committed, and what sessions it opened.
    fn commit(
        &self,
        work: Work,
        burns: Option<Fuse>,
        weather: Weather,
    ) -> (Result<(), Error>, Option<i64>, Vec<Epoch>) {
        let is_alone = matches!(weather.heard, Heard::Warning | Heard::NothingKept);
        let (before, first) = self.inline.with(|c| {
            let client = c.client().expect("it is one");
            client.arrange(if is_alone { Fate::Alone } else { Fate::Kept });
            (open_sessions(c), client.committed())
        });
        let (outcome, _) = self.inline.commit(work, burns);
        let (after, mine, now) = self.inline.with(|c| {
            let client = c.client().expect("it is one");
            let now = Transact::now(&**c).expect("it has a clock");
            (open_sessions(c), client.committed(), now)
        });
        let opened = after.keys().filter(|id| !before.contains_key(id));
        let opened = opened.copied().collect();
        for (id, until) in before.iter().filter(|(id, _)| !after.contains_key(id)) {
            (self.inline.watch)(Seen::Closed(*id, *until < now));
        }
        if let Some(wait) = weather.failover.filter(|_| is_alone) {
            let server = Arc::clone(self.server);
            server.sever();
            tokio::spawn(async move {
                sleep(wait).await;
                server.stop();
                server.start(true);
            });
        }
        (outcome, (mine != first).then_some(mine), opened)
    }

    fn is_connected(&self) -> bool {
        let connected = self.inline.disk.client_of(|client| client.is_connected());
        connected.unwrap_or(false)
    }

    /// Waits while the process stands still.
    async fn awake(&self) {
        while let Some(wait) = (self.path.stands)() {
            sleep(wait).await;
        }
    }

    /// Waits while nothing comes to the server.
    async fn reach(&self, until: Option<Instant>) -> Result<(), Error> {
        loop {
            self.awake().await;
            let Some(wait) = (self.path.is_cut_off)() else {
                return Ok(());
            };
            let back = Instant::now() + wait;
            sleep_until(until.map_or(back, |until| back.min(until))).await;
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(self.fails("the server cannot be reached"));
            }
        }
    }

    /// Waits until another machine has what was committed, or nobody knows; returns whether it has.
    async fn replicated(&self, until: Option<Instant>) -> bool {
        loop {
            let changed = self.server.changed.notified();
            if !self.server.is_severed() {
                return true;
            }
            match until {
                None => changed.await,
                Some(until) => tokio::select! {
                    biased;
                    () = changed => {}
                    () = sleep_until(until) => return false,
                },
            }
        }
    }

    /// Connects to the server, unless it is the one that it was connected to.
    async fn connect(&self, until: Option<Instant>) -> Result<(), Error> {
        loop {
            let changed = self.server.changed.notified();
            self.reach(until).await?;
            if self.server.is_up() {
                self.inline.disk.client_of(|client| client.reconnect());
                return Ok(());
            }
            self.wait(changed, until, "the server is down").await?;
        }
    }

    /// Waits until nobody else writes.
    async fn take_turn(&self, until: Option<Instant>, noticed: Duration) -> Result<Turn, Error> {
        let mut since = (0, Instant::now());
        loop {
            let changed = self.server.changed.notified();
            let Err(other) = self.server.take_turn(self.client) else {
                return Ok(Turn {
                    server: Arc::clone(self.server),
                    client: self.client,
                    noticed,
                });
            };
            if since.0 != other {
                since = (other, Instant::now());
            }
            let idle = since.1 + IDLE_MAX;
            if Instant::now() >= idle {
                self.server.free();
                continue;
            }
            let first = until.map_or(idle, |until| until.min(idle));
            tokio::select! {
                biased;
                () = changed => {}
                () = sleep_until(first) => {}
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                (self.path.met)("others write for too long");
                let what = "others write for too long".into();
                return Err(store::Error::Busy { what }.into());
            }
        }
    }

    async fn wait(
        &self,
        changed: impl Future<Output = ()>,
        until: Option<Instant>,
        why: &'static str,
    ) -> Result<(), Error> {
        let Some(until) = until else {
            changed.await;
            return Ok(());
        };
        tokio::select! {
            biased;
            () = changed => Ok(()),
            () = sleep_until(until) => Err(self.fails(why)),
        }
    }

    /// Learns what became of a commit.
    async fn learn(&self, mine: i64) -> Result<(), Error> {
        (self.path.met)("it is not known whether a transaction was committed");
        let until = self.until(LEARNS_WITHIN);
        let outcome = loop {
            if self.connect(until).await.is_err() {
                break None;
            }
            if SeededBug::UnknownIsRead.is_active() {
                break Some(self.server.has(mine));
            }
            let Ok(turn) = self.take_turn(until, Duration::ZERO).await else {
                break None;
            };
            if !self.replicated(until).await {
                break None;
            }
            // Another server may have taken over meanwhile.
            if self.is_connected() {
                let is_there = self.server.has(mine);
                self.server.replicate();
                turn.end();
                break Some(is_there);
            }
        };
        match outcome {
            Some(true) => Ok(()),
            Some(false) => self.gone(Error::fault("the transaction was not committed")),
            None => self.gone(unknown()),
        }
    }

    /// What was learned in the transaction may not be so.
    fn gone(&self, error: Error) -> Result<(), Error> {
        self.inline.with(|connection| connection.forget());
        Err(error)
    }
}

impl Inline {
    /// Carries a verb out, where it is its turn.
    pub(in crate::journal) async fn perform(&self, work: Work) -> Result<(), Error> {
        let mut seat = self.seat.lock().await;
        tokio::time::sleep((seat.latency)()).await;
        if self.crash.is_cancelled() {
            // The process is dead.
            drop(seat);
            return std::future::pending().await;
        }
        if let Some(error) = &seat.latch {
            return Err(Error::Poisoned {
                cause: Box::new(error.clone()),
            });
        }
        let burns = match &mut seat.fuse {
            Some(fuse) if fuse.verbs == 0 => seat.fuse.take(),
            Some(fuse) => {
                fuse.verbs -= 1;
                None
            }
            None => None,
        };
        let outcome = match &self.server {
            Some((server, client)) => {
                let remote = Remote::new(self, server, *client, &self.path);
                tokio::select! {
                    biased;
                    () = self.crash.cancelled() => None,
                    outcome = remote.perform(work, burns) => Some(outcome),
                }
            }
            None => self.perform_here(work, burns),
        };
        match outcome {
            Some(outcome) => {
                if let Err(error) = &outcome
                    && error.kind() == crate::journal::Kind::Fault
                {
                    seat.latch = Some(error.clone());
                }
                outcome
            }
            None => {
                self.crash.cancel();
                // Nobody ever hears of it.
                drop(seat);
                std::future::pending().await
            }
        }
    }
}
