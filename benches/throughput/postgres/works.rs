//! What is measured of journals on a server: works like those of the table, of one run and of several.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::super::gateway::{BATCH, Gateway, any_port, client, disburse, free_address};
use super::super::process::{Outcome, Process, limit, until};
use super::super::watch::Watch;
use super::super::works::{Bench, Sample, busiest};
use super::alone;
use super::delay::Delay;
use super::server::{Database, Server};

/// Payments that are under way when a run is killed.
const UNDER_WAY: usize = 32;
/// How long the other run has been there by then.
const ACQUAINTED: Duration = Duration::from_secs(3);
/// How soon a doubt is asked about, by the configuration of the bench.
pub const FIRST_QUERY_AFTER: Duration = Duration::from_millis(500);

/// Carries the works out on a server.
pub struct Works<'b> {
    pub bench: &'b Bench,
    pub server: &'b Server,
}

impl Works<'_> {
    fn rows(&self, rows: usize) -> Outcome<PathBuf> {
        Ok(self.bench.stock.borrow_mut().files(rows)?.join("rows.csv"))
    }

    /// Does something with a journal that has so many rows.
    fn with_loaded<T>(
        &self,
        rows: usize,
        work: impl FnOnce(&Path, &Database<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        let file = self.rows(rows)?;
        self.bench.in_folder(|folder| {
            let journal = self.server.journal(folder)?;
            journal.load(folder, &file, rows)?;
            self.server.rest();
            work(folder, &journal)
        })
    }

    /// The journal alone with so many runners, in payments for each second.
    pub fn alone(&self, runners: usize, payments: usize, callbacks: bool) -> Outcome<f64> {
        self.with_loaded(payments, |folder, journal| {
            let at = (folder, &*journal.address());
            let seconds = alone::measure(at, runners, payments, callbacks)?;
            Ok(payments as f64 / seconds)
        })
    }

    /// `\copy` into a bare table, and a load: in rows for each second.
    pub fn copy(&self, rows: usize) -> Outcome<f64> {
        Ok(rows as f64 / self.server.copy(&self.rows(rows)?, rows)?)
    }

    pub fn load(&self, rows: usize) -> Outcome<f64> {
        let file = self.rows(rows)?;
        self.bench.in_folder(|folder| {
            let journal = self.server.journal(folder)?;
            self.server.rest();
            let (seconds, _) = journal.load(folder, &file, rows)?;
            Ok(rows as f64 / seconds)
        })
    }

    /// One run until every payment is posted and answered.
    pub fn run(&self, payments: usize, environment: &[(&str, &str)]) -> Outcome<Sample> {
        self.with_loaded(payments, |folder, journal| {
            let gateway = Gateway::start(folder, &[])?;
            let mut command = run(folder, gateway.address, &journal.address())?;
            command
                .args(["--poll-only", "--no-wait"])
                .envs(environment.iter().copied())
                .env("DISBURSE_FIRST_QUERY_AFTER", "5m");
            let sample = self.bench.ours(&mut command, payments, &[0, 4])?;
            gateway.expect(payments, false)?;
            Ok(sample)
        })
    }

    /// One run until the last payment is settled by its callback; returns the bytes for each, too.
    pub fn settled(&self, payments: usize) -> Outcome<f64> {
        self.with_loaded(payments, |folder, journal| {
            let gateway = Gateway::start(folder, &[])?;
            let door = free_address()?;
            let mut command = run(folder, gateway.address, &journal.address())?;
            command
                .env("DISBURSE_CALLBACK_GRACE", "5m")
                .env("DISBURSE_CALLBACK_LISTEN", door.to_string())
                .env("DISBURSE_CALLBACK_PUBLIC_URL", format!("http://{door}"));
            self.bench.ours(&mut command, payments, &[0])?;
            gateway.expect(payments, true)?;
            Ok(journal.bytes()? as f64 / payments as f64)
        })
    }

    /// The peak of memory of a report, in MiB.
    pub fn report(&self, rows: usize) -> Outcome<f64> {
        self.with_loaded(rows, |folder, journal| {
            let gateway = Gateway::start(folder, &[])?;
            let mut command = run(folder, gateway.address, &journal.address())?;
            command
                .env("DISBURSE_PACKETS_PER_REQUEST", "20")
                .arg("--poll-only");
            Process::start(&mut command, limit(rows))?.wait()?;
            gateway.expect(rows, true)?;
            let mut command = disburse(folder);
            command
                .env("DISBURSE_JOURNAL", journal.address())
                .args(["report", BATCH, "--out"])
                .arg(folder.join("report"));
            let ended = Process::start(&mut command, limit(rows))?.wait()?;
            Ok(ended.peak_kib as f64 / 1024.0)
        })
    }

    /// How long an order about every payment of a batch takes, in milliseconds.
    pub fn order(&self, payments: usize, order: Order) -> Outcome<f64> {
        self.with_loaded(payments, |folder, journal| {
            let faults = folder.join("faults.toml");
            std::fs::write(&faults, "refuse = 1.0\n")?;
            let faults = faults.to_string_lossy();
            let gateway = Gateway::start(folder, &["--faults", &*faults])?;
            if order.needs_failures() {
                let mut command = run(folder, gateway.address, &journal.address())?;
                Process::start(&mut command, limit(payments))?.wait_for(&[3])?;
            }
            let mut command = client(folder, gateway.address)?;
            command
                .env("DISBURSE_JOURNAL", journal.address())
                .args(order.arguments());
            let ended = Process::start(&mut command, limit(payments))?.wait()?;
            Ok(ended.seconds * 1e3)
        })
    }

    /// From the death of a run until the gateway is asked about what it had under way, in milliseconds.
    pub fn takeover(&self) -> Outcome<f64> {
        self.with_loaded(UNDER_WAY, |folder, journal| {
            let gateway = Gateway::start(folder, &[])?;
            let watch = Watch::start_without_answers(any_port(), gateway.address)?;
            let start = |name: &str| {
                let mut command = run(folder, watch.address(), &journal.address())?;
                command.args(["--runner", name, "--poll-only"]);
                Process::start(&mut command, limit(1))
            };
            let first = start("first")?;
            let are_under_way = || watch.arrivals().len() >= UNDER_WAY || first.is_over();
            if !until(limit(1), are_under_way) || first.is_over() {
                return Err(format!("not every payment was posted: {}", first.err()).into());
            }
            let other = start("other")?;
            std::thread::sleep(ACQUAINTED);
            let died = Instant::now();
            first.kill();
            let is_asked = || watch.first_question().is_some() || other.is_over();
            until(limit(1), is_asked);
            match watch.first_question() {
                Some(asked) if asked > died => Ok((asked - died).as_secs_f64() * 1e3),
                Some(_) => Err("the gateway was asked before the run died".into()),
                None => Err(format!("the gateway was not asked: {}", other.err()).into()),
            }
        })
    }

    /// So many runs at once with one rate for all of them, each so far from the server.
    pub fn rate(
        &self,
        runners: usize,
        (payments, rate): (usize, usize),
        each_way: Duration,
    ) -> Outcome<Paced> {
        self.with_loaded(payments, |folder, journal| {
            let gateway = Gateway::start(folder, &[])?;
            let watch = Watch::start(any_port(), gateway.address)?;
            let wire = match each_way.is_zero() {
                true => None,
                false => Some(Delay::start(self.server.socket(), each_way)?),
            };
            let address = match &wire {
                Some(wire) => journal.address_at(wire.port()),
                None => journal.address(),
            };
            let start = |runner: usize| {
                let folder = folder.join(format!("host-{runner}"));
                std::fs::create_dir(&folder)?;
                let mut command = run(&folder, watch.address(), &address)?;
                command
                    .args(["--poll-only", "--no-wait", "--runner", &runner.to_string()])
                    .args(["--rate", &format!("{rate}/s")])
                    .env("DISBURSE_FIRST_QUERY_AFTER", "5m");
                Process::start(&mut command, limit(payments))
            };
            let processes: Vec<Process> = (0..runners).map(start).collect::<Outcome<_>>()?;
            for process in processes {
                process.wait_for(&[0, 4])?;
            }
            gateway.expect(payments, false)?;
            Paced::of(&watch.arrivals())
        })
    }
}

/// An order about every payment of a batch.
#[derive(Clone, Copy)]
pub enum Order {
    Cancel,
    PresumePosted,
    Retry,
}

impl Order {
    pub const ALL: [(&str, Self); 3] = [
        ("postgres-orders-cancel", Self::Cancel),
        ("postgres-orders-presume", Self::PresumePosted),
        ("postgres-orders-retry", Self::Retry),
    ];

    fn needs_failures(self) -> bool {
        matches!(self, Self::Retry)
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Cancel => &["cancel", BATCH, "--yes", "--reason", "wrong month"],
            Self::PresumePosted => &["recover", BATCH, "--presume-posted"],
            Self::Retry => &["retry", BATCH, "--yes"],
        }
    }
}

/// How a limit was kept.
#[derive(Clone, Copy)]
pub struct Paced {
    /// Payments for each second while all take part: whoever joins holds the others up, and in the end some have nothing left.
    pub mean: f64,
    /// The most in any one second.
    pub busiest: usize,
}

impl Paced {
    fn of(arrivals: &[Instant]) -> Outcome<Self> {
        let middle = arrivals.get(arrivals.len() / 3..arrivals.len() * 9 / 10);
        let middle = middle.unwrap_or_default();
        let (Some(first), Some(last)) = (middle.first(), middle.last()) else {
            return Err("no post was seen".into());
        };
        // From the first to the last there is one fewer.
        let between = middle.len().saturating_sub(1).max(1);
        Ok(Self {
            mean: between as f64 / last.duration_since(*first).as_secs_f64(),
            busiest: busiest(arrivals),
        })
    }
}

/// A run of the batch on a journal that is on a server.
fn run(folder: &Path, gateway: SocketAddr, journal: &str) -> Outcome<Command> {
    let mut command = client(folder, gateway)?;
    command
        .env("DISBURSE_JOURNAL", journal)
        .args(["run", BATCH, "--yes", "--quiet"]);
    Ok(command)
}
