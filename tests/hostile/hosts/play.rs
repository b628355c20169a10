//! How a scenario is played: hosts at work, harm after harm, and the books at the end.

use std::time::{Duration, Instant};

use fastrand::Rng;

use super::fleet::{Hosts, office};
use crate::fixture::Server;
use crate::forms::{Body, Form};
use crate::gateway::Gateway;
use crate::jobs;
use crate::ledger::Books;
use crate::office::{BATCH, Setup};
use crate::oracle;
use crate::script::{Conduct, Effect, Mixed, Post, dice, millis};

/// What is done to them so often in a round.
const HARMS: u32 = 8;

/// Runs of a batch at once: 3, or what `TORTURE_HOSTS` says, up to 8.
pub fn hosts() -> usize {
    let told = std::env::var("TORTURE_HOSTS").ok();
    let told = told.map(|text| text.parse().expect("TORTURE_HOSTS is a number"));
    told.unwrap_or(3).clamp(3, 8)
}

/// What was counted.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub rounds: usize,
    pub kills: usize,
    pub pauses: usize,
    /// Connections, servers, answers: whatever else was broken.
    pub broken: usize,
    /// Runs that ended because they had lost the journal.
    pub ended: usize,
    pub orders: usize,
    pub payments: usize,
    pub posts: u32,
    /// Payments that were executed more than once.
    pub twice: usize,
    /// What the runs said that lost the journal.
    pub said: Vec<String>,
}

impl Figures {
    /// A run has ended because of the journal, and says why.
    pub fn lost(&mut self, said: &str) {
        self.ended += 1;
        let line = said
            .lines()
            .find(|line| line.starts_with("error"))
            .unwrap_or(said);
        self.said.push(line.to_owned());
    }

    /// Nothing was done to anybody: whoever has ended has left.
    fn was_calm(&self) -> bool {
        self.kills + self.pauses + self.broken + self.ended == 0
    }

    fn add(&mut self, other: Self) {
        self.rounds += 1;
        self.kills += other.kills;
        self.pauses += other.pauses;
        self.broken += other.broken;
        self.ended += other.ended;
        self.orders += other.orders;
        self.payments += other.payments;
        self.posts += other.posts;
        self.twice += other.twice;
        self.said.extend(other.said);
    }
}

/// A scenario under way.
pub struct Scene<'s, 'o> {
    pub hosts: Hosts<'o>,
    pub server: &'s Server,
    pub gateway: &'s Gateway,
    pub rng: Rng,
}

/// How a scenario differs from the others.
#[derive(Clone, Copy, Default)]
pub struct Stage {
    /// The guard that all hosts go without.
    pub without: Option<&'static str>,
    pub callbacks: Option<bool>,
    pub rate: Option<&'static str>,
    /// The gateway loses its reply to every first post, and shows late what it executes.
    pub is_late: bool,
    /// More than the usual number of rows.
    pub rows: Option<usize>,
}

fn setup(rng: &mut Rng, stage: Stage) -> Setup {
    let callbacks = rng.bool();
    let rate = if rng.bool() { "40/s" } else { "400/s" };
    Setup {
        rows: stage.rows.unwrap_or(90),
        services: 3,
        callbacks: stage.callbacks.unwrap_or(callbacks),
        packets: if rng.bool() { 1 } else { 4 },
        rate: stage.rate.unwrap_or(rate),
        breaker_losses: 30,
        max_wait: "8s",
        ..Setup::default()
    }
}

/// Executes whatever comes, loses its reply to the first post of a payment, and shows within the quarantine what it has.
fn late(post: &Post<'_>) -> Conduct {
    let effect = Effect::Execute {
        visible: millis(500),
        settled: millis(0),
        code: 140,
    };
    match post.nth {
        1 => Conduct::spoilt(effect, Form::Http(500, Body::Html)),
        _ => Conduct::honest(),
    }
}

/// Where each host finds the journal that the office has made.
type Ways<'w> = &'w dyn Fn(&str, &mut Rng) -> Vec<String>;

/// All hosts name the server itself.
pub fn directly(journal: &str, _: &mut Rng) -> Vec<String> {
    vec![journal.to_owned(); hosts()]
}

/// Plays one round; returns what was counted, and holds the books against the journal where no guard was taken away.
pub fn play(
    seed: u64,
    stage: Stage,
    server: &Server,
    ways: Ways<'_>,
    course: impl FnOnce(&mut Scene<'_, '_>),
) -> Figures {
    let mut rng = dice(seed, "hosts", "", 0);
    let setup = setup(&mut rng, stage);
    let script = Mixed::new(seed);
    let name = format!("seed {seed}: {script:?} {setup:?}");
    let gateway = match stage.is_late {
        true => Gateway::start(late),
        false => Gateway::start(script),
    };
    let (mut office, balancer) = office(server, &gateway, setup, hosts());
    let addresses = ways(office.journal.as_ref().unwrap(), &mut rng);
    // People sit at the last of the hosts.
    office.journal = addresses.last().cloned();
    let mut scene = Scene {
        hosts: Hosts::of((&office, balancer), addresses, stage.without),
        server,
        gateway: &gateway,
        rng,
    };
    course(&mut scene);
    // Without a guard, what was done shows in the books alone.
    let code = match stage.without {
        None => Some(scene.hosts.finish()),
        Some(_) => None,
    };
    let books = gateway.ledger.books();
    let mut figures = Figures {
        orders: scene.hosts.people.done,
        payments: office.setup.rows,
        twice: twice(&books),
        ..scene.hosts.figures.clone()
    };
    drop(books);
    if figures.was_calm() && stage.without.is_none() {
        let status = office.call(&["status", BATCH]);
        assert!(
            !status.out.contains("at work on this batch"),
            "{name}: {status:?}"
        );
    }
    figures.posts = gateway.ledger.posts();
    if stage.without.is_none() {
        oracle::check(&name, &gateway, &office, code);
    }
    figures
}

/// How many payments were executed more than once.
fn twice(books: &Books) -> usize {
    let deals = books.deals.values();
    deals.filter(|deal| deal.executions > 1).count()
}

impl Scene<'_, '_> {
    /// Goes on until somebody was paid twice.
    pub fn until_twice(&mut self, longest: Duration) {
        let gateway = self.gateway;
        let happened = || twice(&gateway.ledger.books()) > 0;
        let until = Instant::now() + longest;
        while !happened() && Instant::now() < until {
            self.hosts.until(Duration::from_secs(1), happened);
        }
    }

    /// Lets the hosts post, and does something to them, again and again.
    pub fn harms(&mut self, mut harm: impl FnMut(&mut Self, u32)) {
        for nth in 0..HARMS {
            if self.posts_more(2..16, Duration::from_secs(3)) {
                return;
            }
            std::thread::sleep(millis(self.rng.u64(..25)));
            harm(self, nth);
        }
    }

    /// Waits until the hosts have posted so many in all: what follows is of interest only for a batch that is under way, and on a busy
    /// machine it takes them a while.
    pub fn posts(&mut self, first: std::ops::Range<u32>) {
        let is_finished = self.posts_more(first, Duration::from_secs(60));
        let posts = self.gateway.ledger.posts();
        assert!(is_finished || posts > 0, "no host posts anything");
    }

    /// Waits until the hosts have posted so many more; returns whether the batch is finished.
    pub fn posts_more(&mut self, more: std::ops::Range<u32>, longest: Duration) -> bool {
        let until = self.gateway.ledger.posts() + self.rng.u32(more);
        let gateway = self.gateway;
        self.hosts
            .until(longest, || gateway.ledger.posts() >= until)
    }

    /// Any of the hosts.
    pub fn any(&mut self) -> usize {
        self.rng.usize(..self.hosts.count())
    }
}

/// Plays a scenario with seed after seed, and prints what was counted. `TORTURE_ONLY` plays those alone whose names it is a part of.
pub fn rounds(
    test: &str,
    usual: usize,
    seed: u64,
    round: impl Fn(u64) -> Option<Figures>,
) -> Figures {
    let (began, mut all) = (Instant::now(), Figures::default());
    let only = std::env::var("TORTURE_ONLY").unwrap_or_default();
    if !test.contains(&only) {
        return all;
    }
    for nth in 0..jobs::rounds(usual) {
        match round(seed + nth as u64) {
            Some(figures) => all.add(figures),
            None => return all,
        }
    }
    let said = format!(
        "{} rounds of {} hosts, {} kills, {} pauses, {} broken, {} runs that ended, {} orders, {} payments, {} posts, {} executed twice",
        all.rounds,
        hosts(),
        all.kills,
        all.pauses,
        all.broken,
        all.ended,
        all.orders,
        all.payments,
        all.posts,
        all.twice
    );
    jobs::tell(test, began, &said);
    all.said.sort();
    all.said.dedup();
    all.said
        .iter()
        .for_each(|line| jobs::tell(test, began, line));
    all
}

/// Scenarios that a test plays at once: most of the time of each is waiting, and each has a server's worth of processes.
const AT_ONCE: usize = 2;

/// Plays scenarios, some beside one another; in the long mode one after the other.
pub fn side_by_side(scenarios: &[fn()]) {
    if jobs::long() {
        return scenarios.iter().for_each(|play| play());
    }
    for together in scenarios.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            for play in together {
                scope.spawn(play);
            }
        });
    }
}
