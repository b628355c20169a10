//! Hosts that run one batch at once, each with an address of the journal, a state folder and a door for callbacks of its own.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::balancer::Balancer;
use super::people::People;
use super::play::Figures;
use crate::fixture::Server;
use crate::gateway::Gateway;
use crate::office::{BATCH, Office, Running, Setup, free_port};
use crate::script::millis;

/// No scenario may take longer.
const LONGEST: Duration = Duration::from_secs(240);

/// The hosts, and what they do.
pub struct Hosts<'a> {
    pub office: &'a Office,
    pub figures: Figures,
    /// Where each of them finds the journal.
    addresses: Vec<String>,
    running: BTreeMap<usize, Running>,
    paused: BTreeMap<usize, Instant>,
    away: BTreeMap<usize, bool>,
    listener: Option<Running>,
    /// Spreads callbacks over all of them.
    _balancer: Balancer,
    without: Option<&'static str>,
    pub people: People,
}

/// An office whose journal is in a database of its own, and is named to every host.
pub fn office(
    server: &Server,
    gateway: &Gateway,
    setup: Setup,
    hosts: usize,
) -> (Office, Balancer) {
    let mut office = Office::open(gateway, setup);
    let doors: Vec<u16> = (0..=hosts).map(|_| free_port()).collect();
    let balancer = Balancer::over(doors.clone());
    for (host, door) in doors.iter().enumerate() {
        let file = format!("host-{host}.toml");
        office.write_config_behind(&file, gateway, *door, balancer.port);
    }
    let journal = server.address(&server.database());
    let made = office.call(&["journal", "init", &journal]);
    assert_eq!(made.code, Some(0), "{made:?}");
    office.journal = Some(journal);
    let loaded = office.call(&["load", "batch.csv", "--batch", BATCH]);
    assert_eq!(loaded.code, Some(0), "{loaded:?}");
    (office, balancer)
}

impl<'a> Hosts<'a> {
    pub fn of(
        (office, balancer): (&'a Office, Balancer),
        addresses: Vec<String>,
        without: Option<&'static str>,
    ) -> Self {
        let mut hosts = Self {
            office,
            figures: Figures::default(),
            addresses,
            running: BTreeMap::new(),
            paused: BTreeMap::new(),
            away: BTreeMap::new(),
            listener: None,
            _balancer: balancer,
            without,
            people: People::default(),
        };
        hosts.listen();
        hosts
    }

    pub fn count(&self) -> usize {
        self.addresses.len()
    }

    /// One more host listens, and runs nothing.
    fn listen(&mut self) {
        if !self.office.setup.callbacks {
            return;
        }
        let is_up = |run: &mut Running| run.child.try_wait().unwrap().is_none();
        if self.listener.as_mut().is_some_and(is_up) {
            return;
        }
        if let Some(ended) = self.listener.take().map(Running::wait) {
            assert!(speaks_of_the_journal(&ended.err), "listen: {ended:?}");
        }
        let config = format!("host-{}.toml", self.count());
        self.listener = Some(self.start_at(self.count(), &["listen", "--config", &config]));
    }

    fn start_at(&self, host: usize, arguments: &[&str]) -> Running {
        let state = self.office.path(&format!("state-{host}"));
        let mut settings = vec![("XDG_STATE_HOME", state.to_str().unwrap())];
        let address = self.addresses.get(host).or(self.office.journal.as_ref());
        settings.extend(address.map(|address| ("DISBURSE_JOURNAL", address.as_str())));
        settings.extend(self.without.map(|guard| ("TORTURE_WITHOUT", guard)));
        self.office.start_with(arguments, &settings)
    }

    /// Starts the runs that are not under way; returns whether one of those that have ended found the batch finished.
    pub fn go_on(&mut self) -> bool {
        self.wake();
        self.listen();
        self.people.look();
        let mut is_finished = false;
        for host in 0..self.count() {
            if self.away.contains_key(&host) {
                continue;
            }
            let Some(mut run) = self.running.remove(&host) else {
                let run = self.start(host);
                self.running.insert(host, run);
                continue;
            };
            if run.child.try_wait().unwrap().is_none() {
                self.running.insert(host, run);
                continue;
            }
            let ended = run.wait();
            match ended.code {
                Some(0 | 3) => is_finished = true,
                // Stopped by the gateway, timed out, or closed by another one: it is started again.
                Some(4 | 5) => self.confirm_orders(&ended.err),
                // It lost the server at a moment when it could not wait for it, or its lease: its unit starts it again.
                Some(1 | 2) if speaks_of_the_journal(&ended.err) => self.figures.lost(&ended.err),
                _ => panic!("host {host}: {ended:?}"),
            }
        }
        is_finished
    }

    /// After a failover that lost something, a person says that all orders were given again: each machine knows of its own alone.
    fn confirm_orders(&self, said: &str) {
        if said.contains("people may have given orders") || said.contains("orders by people") {
            let words = ["--reason", "nobody gave any", "--yes"];
            let given = [&["recover", "--orders-given-again"][..], &words].concat();
            self.office.call(&given);
        }
    }

    fn start(&self, host: usize) -> Running {
        let config = format!("host-{host}.toml");
        let name = format!("host-{host}");
        let run = ["run", BATCH, "--config", &config, "--runner", &name];
        self.start_at(host, &[&run[..], &["--yes", "--max-wait", "30s"]].concat())
    }

    pub fn kill(&mut self, host: usize) {
        self.paused.remove(&host);
        if self.running.remove(&host).is_some_and(Running::kill) {
            self.figures.kills += 1;
        }
    }

    /// Kills a host, and leaves it off.
    pub fn switch_off(&mut self, host: usize) {
        self.kill(host);
        self.away.insert(host, true);
    }

    pub fn switch_on(&mut self, host: usize) {
        self.away.remove(&host);
    }

    pub fn pause(&mut self, host: usize, time: Duration) {
        let Some(run) = self.running.get_mut(&host) else {
            return;
        };
        if self.paused.contains_key(&host) || run.child.try_wait().unwrap().is_some() {
            return;
        }
        run.signal(rustix::process::Signal::STOP);
        self.paused.insert(host, Instant::now() + time);
        self.figures.pauses += 1;
    }

    /// Lets those go on whose pause is over.
    fn wake(&mut self) {
        let now = Instant::now();
        let running = &self.running;
        self.paused.retain(|host, until| {
            let is_over = *until <= now;
            if is_over && let Some(run) = running.get(host) {
                run.signal(rustix::process::Signal::CONT);
            }
            !is_over
        });
    }

    /// Goes on until something has happened, or for so long.
    pub fn until(&mut self, longest: Duration, happened: impl Fn() -> bool) -> bool {
        let until = Instant::now() + longest;
        let mut is_finished = false;
        while !happened() && !is_finished && Instant::now() < until {
            is_finished = self.go_on();
            std::thread::sleep(millis(2));
        }
        is_finished
    }

    fn explained(&self) -> String {
        self.office.call(&["report", BATCH, "--out", "report"]);
        let rows = crate::oracle::payments(self.office);
        let open = rows
            .iter()
            .filter(|(_, row)| row.state == "in_doubt")
            .take(2);
        let text = open.map(|(reference, _)| self.office.call(&["explain", BATCH, reference]).out);
        text.collect::<Vec<_>>().join("\n")
    }

    /// Goes on until the batch is finished and every run has ended.
    pub fn finish(&mut self) -> i32 {
        let began = Instant::now();
        self.away.clear();
        while !self.go_on() {
            assert!(
                began.elapsed() < LONGEST,
                "not finished: {:?}\n{}\n{}",
                self.office.call(&["status", BATCH]),
                self.explained(),
                self.office.complaints()
            );
            std::thread::sleep(millis(20));
        }
        while !self.paused.is_empty() {
            self.wake();
            std::thread::sleep(millis(20));
        }
        for (_, run) in std::mem::take(&mut self.running) {
            let ended = run.wait();
            let is_lost = matches!(ended.code, Some(1 | 2)) && speaks_of_the_journal(&ended.err);
            let is_done = matches!(ended.code, Some(0 | 3 | 4 | 5));
            assert!(is_lost || is_done, "{ended:?}");
        }
        if let Some(listener) = self.listener.take() {
            listener.kill();
        }
        self.people.leave();
        // What people have ordered last is carried out, too.
        for _ in 0..5 {
            let last = self
                .office
                .call(&["run", BATCH, "--yes", "--max-wait", "8s"]);
            match last.code {
                Some(code @ (0 | 3)) => return code,
                Some(4 | 5) => {}
                _ => panic!("{last:?}"),
            }
        }
        panic!("{:?}", self.office.call(&["status", BATCH]));
    }
}

impl Drop for Hosts<'_> {
    fn drop(&mut self) {
        for (_, mut run) in std::mem::take(&mut self.running) {
            let _ = run.child.kill();
            let _ = run.child.wait();
        }
        if let Some(mut listener) = self.listener.take() {
            let _ = listener.child.kill();
            let _ = listener.child.wait();
        }
    }
}

/// Whoever ends because of the journal says so in a sentence.
pub fn speaks_of_the_journal(said: &str) -> bool {
    said.contains("journal")
}
