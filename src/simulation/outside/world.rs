//! The world outside the program: the gateway with its ledger, the network, and the time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::packet::{Answer, Departures, Hold, Packet, Sent};
use super::speech::Speech;
use crate::callback;
use crate::domain::{BootTime, Day, Instruction, PayerTransactionId, Timestamp};
use crate::journal::simulated::Disk;
use crate::ledger::calendar::BatchDates;
use crate::ledger::limits::Limits;
use crate::simulation::faults::Faults;
use crate::simulation::operator::again::Again;
use crate::simulation::outside::closed::Closed;
use crate::store::memory::shared::ServerClock;

/// A callback is sent so often, until it is acknowledged.
const PUSHES_MAX: u32 = 6;
const PUSH_AGAIN_MS: u64 = 2_000;

/// The clocks of two servers, or of a server and a run, are this far apart at most.
pub(in crate::simulation) const CLOCKS_DIFFER_MS: i64 = 1_000;
/// Somebody who sets the clock of a server does so by more and by less than this: by little, a quarantine is shorter by as much.
const SET_BY_LEAST_MS: i64 = 25_000;
const SET_BY_MOST_MS: i64 = 7_200_000;
/// The time at which a simulation begins.
const EPOCH_MS: i64 = 1_795_824_000_000;

/// What happens at a moment.
pub(in crate::simulation) enum SimEvent {
    /// A post arrives.
    Post(Vec<Packet>, oneshot::Sender<Answer>),
    /// A status query of this user arrives.
    Query(
        &'static str,
        Vec<PayerTransactionId>,
        oneshot::Sender<Answer>,
    ),
    /// A post that was put aside is carried out.
    Late(Vec<Packet>),
    /// A reply arrives.
    Reply(oneshot::Sender<Answer>, Answer),
    /// A payment comes to its end.
    Settle(PayerTransactionId),
    /// The gateway breaks its word about a payment that came to its end.
    Recant(PayerTransactionId),
    /// It speaks otherwise of a payment that it has called failed.
    Waver(PayerTransactionId),
    /// A callback is sent, for the n-th time.
    Push(PayerTransactionId, i32, u32),
    /// So many bodies that nobody can read are sent to a payment's address.
    Junk(PayerTransactionId, u32),
    /// A callback about another payment is sent to its address.
    Stray(PayerTransactionId),
}

/// What the gateway knows of one identifier.
#[derive(Clone, Debug, Default)]
pub(in crate::simulation) struct Account {
    /// The row it pays.
    pub line: u64,
    /// Its amount, in the smallest unit.
    pub minor: i64,
    /// The number that it pays.
    pub to: String,
    pub accepted_at: Option<u64>,
    pub number: u64,
    /// Times that money moved.
    pub executions: u32,
    /// The code that ended it.
    pub end: Option<i32>,
    pub delivered: bool,
    pub refused: Option<i32>,
    pub callback: bool,
    /// Those of them that came after the journal had it as failed, by the gateway's own word.
    pub broken: u32,
    /// A status reply has denied it although it was there.
    pub denied: bool,
    /// Which account of the gateway has it.
    pub owner: Option<u8>,
    /// Whether the gateway has heard of it; somebody else's payment may have had the identifier by then.
    pub met: bool,
    /// It was somebody else's before we posted it.
    pub taken: bool,
    /// Status replies about somebody else's payment name its amount or its currency.
    pub names_itself: bool,
    /// No status reply shows it until it is posted a second time.
    pub hidden: bool,
    /// When programs asked about it that heard that it was not found, and when they did.
    pub denied_all: Vec<(u64, u64)>,
    /// What it told of it.
    pub told: BTreeSet<i32>,
    /// What statements show of it.
    pub booked: Booked,
    /// What left about it.
    pub wire: Departures,
}

/// What statements show of one identifier: once it is booked, it stays.
#[derive(Clone, Debug, Default)]
pub(in crate::simulation) struct Booked {
    /// The day of each time that money moved.
    pub days: Vec<Day>,
    /// The day on which it came back.
    pub returned: Option<Day>,
    /// A statement that showed it come back was compared with its batch.
    pub return_is_known: bool,
    /// The day on which somebody paid the same person as much by hand.
    pub by_hand: Option<Day>,
}

/// What one journal has sent and heard.
pub(in crate::simulation) struct Books {
    wires: BTreeMap<PayerTransactionId, Departures>,
    sends: Vec<Sent>,
    acknowledged: BTreeSet<(PayerTransactionId, i32)>,
}

pub(in crate::simulation) struct World {
    state: Mutex<Shape>,
    pub changed: Notify,
}

pub(in crate::simulation) struct Shape {
    pub rng: Rng,
    /// The journal.
    pub disk: Option<Disk>,
    pub faults: Faults,
    /// What its gateway speaks.
    pub speech: Speech,
    queue: BTreeMap<(u64, u64), SimEvent>,
    serial: u64,
    base_ms: u64,
    started: Option<Instant>,
    pub ledger: BTreeMap<PayerTransactionId, Account>,
    /// The amounts of the rows of the file, in the smallest unit, and their numbers, by line.
    pub loaded: BTreeMap<u64, BTreeSet<(i64, String)>>,
    /// Before when a row of the file may not leave, by line.
    pub not_before: BTreeMap<u64, Timestamp>,
    /// When service B is closed.
    pub closed: Option<Closed>,
    /// The dates that the first batch may have; none: nobody has given it any, or nobody knows.
    pub dates: Vec<BatchDates>,
    /// The limits of each run that has some.
    pub limits: BTreeMap<usize, Arc<Limits>>,
    /// How often a person ordered that a row be paid once more, by line.
    pub ordered: BTreeMap<u64, u32>,
    /// Failed payments that no longer counted when a batch was loaded: their loads were too long ago.
    pub forgotten: BTreeSet<(String, PayerTransactionId)>,
    /// For how long a load counts whose rows have ended, in milliseconds.
    pub window: i64,
    /// Rows of other batches that a person has seen beside one, by line, at most.
    pub beside: BTreeMap<u64, u32>,
    /// What has left.
    pub sends: Vec<Sent>,
    /// The accounts that a batch may be paid by, as it was loaded and sent elsewhere; and those that it ever was to be paid by.
    pub meant: BTreeMap<String, BTreeSet<u8>>,
    pub ever_meant: BTreeMap<String, BTreeSet<u8>>,
    /// What should not have happened.
    pub violations: Vec<String>,
    /// Every run, and whether it has the batch.
    pub runs: Vec<Hold>,
    /// References under which the file service has documents.
    pub documents: BTreeMap<PayerTransactionId, BTreeSet<String>>,
    /// Callbacks that the listener acknowledged.
    pub acknowledged: BTreeSet<(PayerTransactionId, i32)>,
    /// Where callbacks arrive, while processes listen: by the run that does, where several share the store.
    pub doors: BTreeMap<usize, callback::Options>,
    /// Several runs share the store, which tells the time.
    pub is_shared: bool,
    /// By how much its clock is ahead of that of the first server, in milliseconds.
    pub shift: i64,
    /// Somebody has set it.
    pub server_was_set: bool,
    /// By how much it was set back, all in all: whatever has a time waits as much longer.
    pub set_back: Duration,
    /// What somebody has edited in the journal's file.
    pub tampered: Option<PayerTransactionId>,
    /// Callbacks find nobody, and nobody orders anything: what was edited must not move before it is taken back.
    pub deaf: bool,
    /// The journal is a copy that does not know of all orders, and nobody has given them again.
    pub orders_lost: bool,
    /// How far the clock of whoever listens is ahead.
    pub ahead: Duration,
    pub wall: Timestamp,
    /// Whether it was ever set.
    pub was_set: bool,
    pub trace: Option<Vec<String>>,
}

impl World {
    pub fn new(seed: u64, traced: bool) -> Arc<Self> {
        let mut rng = Rng::with_seed(seed);
        let faults = match Faults::draw(&mut rng) {
            faults if Again::plays(seed) => faults.with_failures(),
            faults => faults,
        };
        Arc::new(Self {
            state: Mutex::new(Shape {
                rng,
                disk: None,
                faults,
                speech: Speech::of(seed),
                queue: BTreeMap::new(),
                serial: 0,
                base_ms: 0,
                started: None,
                ledger: BTreeMap::new(),
                loaded: BTreeMap::new(),
                not_before: BTreeMap::new(),
                closed: None,
                dates: Vec::new(),
                limits: BTreeMap::new(),
                ordered: BTreeMap::new(),
                forgotten: BTreeSet::new(),
                beside: BTreeMap::new(),
                window: Again::window(seed),
                sends: Vec::new(),
                meant: BTreeMap::new(),
                ever_meant: BTreeMap::new(),
                violations: Vec::new(),
                runs: Vec::new(),
                documents: BTreeMap::new(),
                acknowledged: BTreeSet::new(),
                doors: BTreeMap::new(),
                is_shared: false,
                shift: 0,
                server_was_set: false,
                set_back: Duration::ZERO,
                tampered: None,
                deaf: false,
                orders_lost: false,
                ahead: Duration::ZERO,
                wall: Timestamp::from_millis(EPOCH_MS),
                was_set: false,
                trace: traced.then(Vec::new),
            }),
            changed: Notify::new(),
        })
    }

    pub fn lock(&self) -> MutexGuard<'_, Shape> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The clock of a store that several runs share.
    pub fn server_clock(self: &Arc<Self>) -> ServerClock {
        // The world knows the journal, too.
        let world = Arc::downgrade(self);
        Arc::new(move || {
            let world = world.upgrade();
            world.map_or(Timestamp::from_millis(EPOCH_MS), |world| {
                world.lock().server_now()
            })
        })
    }

    /// Lets things happen at their time, for ever.
    pub async fn turn(self: Arc<Self>) {
        loop {
            let due = {
                let mut shape = self.lock();
                while let Some(what) = shape.next_due() {
                    self.happen(&mut shape, what);
                }
                shape.next_at()
            };
            let changed = self.changed.notified();
            match due {
                Some(at) => tokio::select! {
                    biased;
                    () = tokio::time::sleep_until(at) => {}
                    () = changed => {}
                },
                None => changed.await,
            }
        }
    }

    /// Lets time pass while no process runs.
    pub fn idle(self: &Arc<Self>, ms: u64) {
        let mut shape = self.lock();
        let until = shape.base_ms + ms;
        while let Some((&(at, serial), _)) = shape.queue.first_key_value() {
            if at > until {
                break;
            }
            shape.base_ms = shape.base_ms.max(at);
            if let Some(what) = shape.queue.remove(&(at, serial)) {
                self.happen(&mut shape, what);
            }
        }
        shape.base_ms = until;
    }

    fn happen(self: &Arc<Self>, shape: &mut Shape, what: SimEvent) {
        match what {
            SimEvent::Post(packets, reply) => shape.take_post(&packets, reply),
            SimEvent::Query(user, ids, reply) => shape.take_query(user, &ids, reply),
            SimEvent::Late(packets) => {
                for packet in &packets {
                    let code = shape.accept(packet);
                    shape.note(|| format!("late {} {code}", packet.id));
                }
            }
            SimEvent::Reply(sender, answer) => {
                let _ = sender.send(answer);
            }
            SimEvent::Settle(id) => shape.settle(id),
            SimEvent::Recant(id) => shape.recant(id),
            SimEvent::Waver(id) => shape.waver(id),
            SimEvent::Push(id, code, tries) => self.push(shape, id, code, tries),
            SimEvent::Junk(id, count) => {
                let body = |number| format!("{{\"junk\":{number}");
                self.push_bodies(shape, id, (0..count).map(body).collect());
            }
            SimEvent::Stray(id) => {
                let stray = shape.stray(id);
                let body = shape.speech.pushed(stray);
                self.push_bodies(shape, id, vec![body]);
            }
        }
        // What was planned meanwhile may be earlier than what the pump waits for.
        self.changed.notify_one();
    }
}

impl World {
    /// Sends a callback, and again until it is acknowledged.
    fn push(self: &Arc<Self>, shape: &mut Shape, id: PayerTransactionId, code: i32, tries: u32) {
        if tries > 0 && shape.acknowledged.contains(&(id, code)) {
            return;
        }
        if tries < PUSHES_MAX {
            shape.plan(PUSH_AGAIN_MS, SimEvent::Push(id, code, tries + 1));
        }
        let Some(door) = shape.some_door() else {
            return;
        };
        if shape.misleads(id, code) {
            return;
        }
        let number = shape.account(id).number;
        let other = shape.other_words(id, number);
        let other = other.map(|packet| shape.speech.pushed(packet));
        let packet = shape.tell(id, code, number);
        let packet = shape.named(id, packet);
        let body = shape.speech.pushed(packet);
        shape.note(|| format!("callback {id} {code}"));
        let (world, now) = (Arc::clone(self), shape.wall_now().after(shape.ahead));
        tokio::spawn(async move {
            if let Some(other) = other {
                callback::receive(id, other.as_bytes(), &door, now).await;
            }
            if callback::receive(id, body.as_bytes(), &door, now).await {
                world.lock().acknowledged.insert((id, code));
            }
        });
    }
}

impl World {
    /// Sends bodies to a payment's address that say nothing of it.
    fn push_bodies(
        self: &Arc<Self>,
        shape: &mut Shape,
        id: PayerTransactionId,
        bodies: Vec<String>,
    ) {
        let Some(door) = shape.some_door() else {
            return;
        };
        shape.note(|| format!("{} stray bodies for {id}", bodies.len()));
        let now = shape.wall_now();
        tokio::spawn(async move {
            for body in bodies {
                callback::receive(id, body.as_bytes(), &door, now).await;
            }
        });
    }
}

impl Shape {
    /// What the clock on the wall of the program's machine shows.
    pub fn wall_now(&self) -> Timestamp {
        self.wall_at(self.now())
    }

    /// What it shows then, unless it is set.
    pub fn wall_at(&self, ms: u64) -> Timestamp {
        self.wall.after(Duration::from_millis(ms))
    }

    /// What the clock of the store shows that several runs share.
    pub fn server_now(&self) -> Timestamp {
        self.server_at(self.now())
    }

    /// What it shows then.
    pub fn server_at(&self, ms: u64) -> Timestamp {
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        Timestamp::from_millis(EPOCH_MS + self.shift + ms)
    }

    /// What people's own clocks show, whatever their machines do: those of a machine that has everything to itself go by its clock.
    pub fn real_now(&self) -> Timestamp {
        match self.is_shared {
            true => self.server_now(),
            false => self.wall_now(),
        }
    }

    /// What the clock of a run may show.
    pub fn run_times(&self) -> Vec<Timestamp> {
        match self.is_shared {
            false => vec![self.wall_now()],
            // Another server may have told it the time.
            true => {
                let now = self.server_now().as_millis();
                let about = [now - CLOCKS_DIFFER_MS, now, now + CLOCKS_DIFFER_MS];
                about.map(Timestamp::from_millis).to_vec()
            }
        }
    }

    /// Whether the clock of a run may be another one than it was.
    pub fn may_run_otherwise(&self) -> bool {
        self.was_set && (!self.is_shared || self.server_was_set)
    }

    /// One of the processes that listen.
    fn some_door(&mut self) -> Option<callback::Options> {
        if self.deaf {
            return None;
        }
        let place = match self.doors.len() {
            0 => return None,
            1 => 0,
            many => self.rng.usize(0..many),
        };
        self.doors.values().nth(place).cloned()
    }

    /// Keeps in mind what is loaded.
    pub fn know(&mut self, rows: &[Instruction]) {
        for row in rows {
            let known = self.loaded.entry(row.line).or_default();
            known.insert((row.money.amount.minor(), row.msisdn.as_str().to_owned()));
            let time = row.not_before().map(|at| (row.line, at));
            self.not_before.extend(time);
        }
    }

    /// Sets it: the program must not care.
    pub fn set_the_clock(&mut self) {
        let hours = self.rng.u64(0..7_200_000);
        self.wall = if self.rng.bool() {
            self.wall.after(Duration::from_millis(hours))
        } else {
            Timestamp::from_millis(self.wall.as_millis() - i64::try_from(hours).unwrap_or(0))
        };
        self.was_set = true;
        self.note(|| "the clock jumps".into());
        if self.is_shared {
            self.set_the_servers_clock();
        }
    }

    /// Sets that of the server: what was sent is not older by it.
    fn set_the_servers_clock(&mut self) {
        let by = self.rng.i64(SET_BY_LEAST_MS..SET_BY_MOST_MS);
        let by = if self.rng.bool() { by } else { -by };
        self.shift += by;
        self.server_was_set = true;
        self.set_back += Duration::from_millis(u64::try_from(-by).unwrap_or(0));
        self.note(|| format!("the clock of the server is set by {by} ms"));
    }

    /// Begins a life: the runtime's clock goes on where the world's stands.
    pub fn begin_life(&mut self, disk: &Disk) {
        self.disk = Some(disk.clone());
        self.started = Some(Instant::now());
    }

    pub fn end_life(&mut self) {
        self.base_ms = self.now();
        self.started = None;
        self.doors.clear();
        self.ahead = Duration::ZERO;
    }

    /// Begins another journal's books of what has left and what was heard; returns those that were kept until now.
    pub fn begin_books(&mut self) -> Books {
        let keep = |(id, account): (&PayerTransactionId, &mut Account)| {
            (*id, std::mem::take(&mut account.wire))
        };
        Books {
            wires: self.ledger.iter_mut().map(keep).collect(),
            sends: std::mem::take(&mut self.sends),
            acknowledged: std::mem::take(&mut self.acknowledged),
        }
    }

    /// Goes on with these.
    pub fn end_books(&mut self, books: Books) {
        for (id, account) in &mut self.ledger {
            account.wire = books.wires.get(id).cloned().unwrap_or_default();
        }
        (self.sends, self.acknowledged) = (books.sends, books.acknowledged);
    }

    /// Milliseconds since the simulation began.
    pub fn now(&self) -> u64 {
        let lived = self.started.map_or(0, |started| {
            u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
        });
        self.base_ms + lived
    }

    /// The clock of the machine that nobody sets.
    pub fn uptime(&self) -> BootTime {
        BootTime::from_parts(1, self.now())
    }

    pub fn note(&mut self, text: impl FnOnce() -> String) {
        let now = self.now();
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{now} {}", text()));
        }
    }

    pub fn plan(&mut self, after_ms: u64, what: SimEvent) {
        self.serial += 1;
        self.queue
            .insert((self.now() + after_ms, self.serial), what);
    }

    /// The bad days are over; returns when.
    pub fn heal(&mut self) -> u64 {
        self.faults = self.faults.healed();
        // By then somebody has seen what the dialect's words are worth.
        self.speech.not_found_words_count = true;
        self.note(|| "the gateway is healthy".into());
        self.now()
    }

    /// Whether something of this chance in a thousand comes true.
    pub fn chance(&mut self, of: fn(&Faults) -> u32) -> bool {
        let chance = of(&self.faults);
        chance > 0 && self.rng.u32(0..1000) < chance
    }

    pub fn delay(&mut self, of: fn(&Faults) -> u64) -> u64 {
        let most = of(&self.faults);
        self.rng.u64(0..=most)
    }

    fn next_due(&mut self) -> Option<SimEvent> {
        let now = self.now();
        let (&key, _) = self.queue.first_key_value()?;
        (key.0 <= now).then(|| self.queue.remove(&key)).flatten()
    }

    fn next_at(&self) -> Option<Instant> {
        let (&(at, _), _) = self.queue.first_key_value()?;
        let lived = at.saturating_sub(self.base_ms);
        Some(self.started? + Duration::from_millis(lived))
    }

    /// Whether anything is still under way that could move money.
    pub fn is_quiet(&self) -> bool {
        !self.queue.values().any(|what| {
            matches!(
                what,
                SimEvent::Post(..) | SimEvent::Late(_) | SimEvent::Settle(_) | SimEvent::Recant(_)
            )
        })
    }

    /// What is known of an identifier.
    pub fn account(&mut self, id: PayerTransactionId) -> &mut Account {
        self.ledger.entry(id).or_default()
    }
}
