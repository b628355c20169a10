//! Several runs of one batch at once, on a journal in PostgreSQL: killed, paused, cut off from the server, and the server killed.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::fixture::{Kind, Server, shared};
use super::gateway::Gateway;
use super::office::{BATCH, Office, Running, Setup};
use super::oracle::check;
use super::script::{Mixed, dice, millis};

/// Runs of a batch at once.
const HOSTS: usize = 3;
/// No scenario may take longer.
const LONGEST: Duration = Duration::from_secs(180);

/// An office whose journal is in a database of its own.
fn office(server: &Server, gateway: &Gateway, setup: Setup) -> Office {
    let mut office = Office::open(gateway, setup);
    office.journal = Some(server.address(&server.database()));
    for host in 0..HOSTS {
        office.write_config_as(&format!("host-{host}.toml"), gateway);
    }
    let journal = office.journal.clone().unwrap();
    let made = office.call(&["journal", "init", &journal]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let loaded = office.call(&["load", "batch.csv", "--batch", BATCH]);
    assert_eq!(loaded.code, Some(0), "{loaded:?}");
    office
}

/// The runs that are under way, by their hosts.
struct Hosts<'a> {
    office: &'a Office,
    running: BTreeMap<usize, Running>,
    paused: BTreeMap<usize, Instant>,
}

impl Hosts<'_> {
    fn of(office: &Office) -> Hosts<'_> {
        Hosts {
            office,
            running: BTreeMap::new(),
            paused: BTreeMap::new(),
        }
    }

    /// Starts the runs that are not under way; returns whether one of those that have ended found the batch finished.
    fn go_on(&mut self) -> bool {
        let mut is_finished = false;
        for host in 0..HOSTS {
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
                Some(4 | 5) => {}
                // It lost the server at a moment when it could not wait for it, or its lease: its unit starts it again.
                Some(1 | 2) if ended.err.contains("journal") => {}
                _ => panic!("host {host}: {ended:?}"),
            }
        }
        is_finished
    }

    fn start(&self, host: usize) -> Running {
        let config = format!("host-{host}.toml");
        let name = format!("host-{host}");
        self.office.start(&[
            "run",
            BATCH,
            "--config",
            &config,
            "--runner",
            &name,
            "--yes",
            "--max-wait",
            "30s",
        ])
    }

    fn kill(&mut self, host: usize) -> bool {
        self.paused.remove(&host);
        self.running.remove(&host).is_some_and(Running::kill)
    }

    fn pause(&mut self, host: usize, time: Duration) -> bool {
        let Some(run) = self.running.get_mut(&host) else {
            return false;
        };
        if self.paused.contains_key(&host) || run.child.try_wait().unwrap().is_some() {
            return false;
        }
        run.signal(rustix::process::Signal::STOP);
        self.paused.insert(host, Instant::now() + time);
        true
    }

    /// Lets those go on whose pause is over.
    fn wake(&mut self) {
        let now = Instant::now();
        let over: Vec<usize> = self
            .paused
            .iter()
            .filter(|(_, at)| **at <= now)
            .map(|(host, _)| *host)
            .collect();
        for host in over {
            self.paused.remove(&host);
            if let Some(run) = self.running.get(&host) {
                run.signal(rustix::process::Signal::CONT);
            }
        }
    }

    /// Goes on until the batch is finished and every run has ended.
    fn finish(mut self) -> i32 {
        let began = Instant::now();
        loop {
            self.wake();
            if self.go_on() {
                break;
            }
            assert!(
                began.elapsed() < LONGEST,
                "not finished: {:?}",
                self.office.call(&["status", BATCH])
            );
            sleep(millis(50));
        }
        for (host, until) in std::mem::take(&mut self.paused) {
            sleep(until.saturating_duration_since(Instant::now()));
            self.running[&host].signal(rustix::process::Signal::CONT);
        }
        for (_, run) in std::mem::take(&mut self.running) {
            let ended = run.wait();
            let lost_it = ended.code == Some(1) && ended.err.contains("journal");
            assert!(
                lost_it || matches!(ended.code, Some(0 | 3 | 4 | 5)),
                "{ended:?}"
            );
        }
        self.office
            .call(&["run", BATCH, "--yes", "--max-wait", "8s"])
            .code
            .unwrap()
    }
}

fn setup(rng: &mut Rng) -> Setup {
    Setup {
        rows: 90,
        services: 3,
        callbacks: rng.bool(),
        packets: if rng.bool() { 1 } else { 4 },
        rate: if rng.bool() { "40/s" } else { "400/s" },
        breaker_losses: 30,
        max_wait: "8s",
        ..Setup::default()
    }
}

fn play(seed: u64, harm: impl Fn(&mut Hosts<'_>, &Server, &Office, &mut Rng, u32)) {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let mut rng = dice(seed, "hosts", "", 0);
    let setup = setup(&mut rng);
    let script = Mixed::new(seed);
    let name = format!("seed {seed}: {script:?} {setup:?}");
    let gateway = Gateway::start(script);
    let office = office(server, &gateway, setup);
    let mut hosts = Hosts::of(&office);
    for nth in 0..8 {
        hosts.wake();
        if hosts.go_on() {
            break;
        }
        let before = gateway.ledger.posts();
        let until = Instant::now() + Duration::from_secs(3);
        let more = rng.u32(2..16);
        while gateway.ledger.posts() < before + more && Instant::now() < until {
            sleep(millis(2));
        }
        sleep(millis(rng.u64(..25)));
        harm(&mut hosts, server, &office, &mut rng, nth);
    }
    let code = hosts.finish();
    check(&name, &gateway, &office, Some(code));
}

#[test]
fn hosts_that_share_a_batch_pay_every_row_once() {
    play(400, |_, _, _, _, _| {});
}

#[test]
fn killed_hosts_leave_their_payments_to_the_others() {
    for seed in [410, 411] {
        play(seed, |hosts, _, _, rng, _| {
            hosts.kill(rng.usize(..HOSTS));
        });
    }
}

#[test]
fn hosts_that_stand_still_past_their_lease_post_nothing_more() {
    play(420, |hosts, _, _, rng, nth| {
        let longer = if nth % 3 == 0 { 13 } else { 3 };
        hosts.pause(rng.usize(..HOSTS), Duration::from_secs(longer));
    });
}

#[test]
fn connections_that_the_server_ends_cost_nothing() {
    play(430, |_, server, office, _, _| {
        let database = office.journal.as_ref().unwrap().rsplit('/').next().unwrap();
        server.psql(
            "postgres",
            &format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{database}'"),
        );
    });
}

#[test]
fn a_server_that_is_killed_and_comes_back_has_every_commit() {
    let Some(server) = Server::start(Kind::Installed, &[]) else {
        return;
    };
    let mut rng = dice(440, "hosts", "", 0);
    let gateway = Gateway::start(Mixed::new(440));
    let office = office(&server, &gateway, setup(&mut rng));
    let mut hosts = Hosts::of(&office);
    for _ in 0..4 {
        hosts.go_on();
        sleep(millis(rng.u64(1200..2500)));
        server.stop("immediate");
        sleep(millis(rng.u64(..1500)));
        server.run();
    }
    let code = hosts.finish();
    check("a killed server", &gateway, &office, Some(code));
}
