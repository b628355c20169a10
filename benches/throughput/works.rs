//! The works that are measured: ours, and those of the yardsticks.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::gateway::{BATCH, Gateway, any_port, client, disburse, free_address};
use super::process::{Outcome, Process, limit, until};
use super::stock::{Stock, journal_bytes};
use super::tools::{Tool, Tools};
use super::watch::Watch;

/// The default of `limits.concurrency`.
const CONCURRENCY: usize = 64;
/// The rate limit of `rate`, in payments per second.
pub const RATE: usize = 500;
/// How many browsers look at the page of `rate-watched`.
const VIEWERS: usize = 10;
/// How long a page may be silent.
const VIEWER_PATIENCE: Duration = Duration::from_secs(60);

/// One thing that is done once and measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// `.import` of the CSV file into a table of texts.
    Import,
    LoadCsv,
    LoadJsonl,
    /// Posts of the same form to the same sandbox.
    Oha,
    Run,
    RunPackets,
    /// Until the last payment is settled by its callback.
    RunCallbacks,
    /// Until the last payment is settled by a status query.
    RunQueries,
    /// With a rate limit.
    Rate,
    /// The same while browsers look at its page.
    RateWatched,
    /// A look at every payment of the journal.
    Scan,
    Resume,
    /// The columns of payments.csv out of the journal.
    Export,
    Report,
    Status,
    Verify,
    FirstPost,
}

impl Work {
    /// Returns the program of somebody else that does it.
    pub fn tool(self) -> Option<Tool> {
        match self {
            Self::Import | Self::Scan | Self::Export => Some(Tool::Sqlite3),
            Self::Oha => Some(Tool::Oha),
            _ => None,
        }
    }
}

/// What a work took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// How many rows, payments or requests.
    pub count: usize,
    pub seconds: f64,
    pub cpu_seconds: f64,
    pub peak_kib: u64,
    /// Size of the journal afterwards.
    pub journal_bytes: u64,
    /// The greatest number of posts in any one second.
    pub busiest: usize,
}

/// How many rows each work has.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Of files and journals.
    pub rows: usize,
    /// Of runs.
    pub payments: usize,
    /// Of the batch whose first post is waited for.
    pub small: usize,
    /// Of the run with a rate limit.
    pub limited: usize,
}

/// Carries the works out.
pub struct Bench {
    pub sizes: Sizes,
    pub tools: Tools,
    pub stock: RefCell<Stock>,
    /// What `oha` uses before its first request, in seconds of CPU time: reading the bodies.
    oha_start: RefCell<BTreeMap<usize, f64>>,
    /// Another program that runs ours.
    host: RefCell<Option<Host>>,
}

/// Makes a command that runs another one.
pub type Host = Box<dyn Fn(&Command) -> Command>;

impl Bench {
    pub fn new(sizes: Sizes) -> Outcome<Self> {
        Ok(Self {
            sizes,
            tools: Tools::default(),
            stock: RefCell::new(Stock::new()?),
            oha_start: RefCell::default(),
            host: RefCell::default(),
        })
    }

    /// Does the work once.
    pub fn measure(&self, work: Work) -> Outcome<Sample> {
        self.measure_of(work, self.sizes)
    }

    /// Does a work of ours once with so many rows, the program under another one.
    pub fn measure_under(&self, host: Host, work: Work, rows: usize) -> Outcome<Sample> {
        *self.host.borrow_mut() = Some(host);
        let sizes = Sizes {
            rows,
            payments: rows,
            small: rows,
            limited: rows,
        };
        let sample = self.measure_of(work, sizes);
        self.host.take();
        sample
    }

    fn measure_of(&self, work: Work, sizes: Sizes) -> Outcome<Sample> {
        let Sizes {
            rows,
            payments,
            small,
            limited,
        } = sizes;
        match work {
            Work::Import => self.import(rows),
            Work::LoadCsv => self.load(rows, "rows.csv"),
            Work::LoadJsonl => self.load(rows, "rows.jsonl"),
            Work::Oha => self.oha(payments),
            Work::Run => self.run(payments, Until::Posted, &[]),
            Work::RunPackets => self.run(
                payments,
                Until::Posted,
                &[("DISBURSE_PACKETS_PER_REQUEST", "20")],
            ),
            Work::RunCallbacks => self.run(payments, Until::CalledBack, &[]),
            Work::RunQueries => self.run(payments, Until::Asked, &[]),
            Work::Rate => self.limited(limited, 0),
            Work::RateWatched => self.limited(limited, VIEWERS),
            Work::Scan => self.scan(rows),
            Work::Resume => self.resume(rows),
            Work::Export => self.export(rows),
            Work::Report => self.report(rows),
            Work::Status => self.read(rows, &["status", BATCH]),
            Work::Verify => self.read(rows, &["verify", BATCH]),
            Work::FirstPost => self.first_post(small),
        }
    }

    fn import(&self, rows: usize) -> Outcome<Sample> {
        let file = self.stock.borrow_mut().files(rows)?.join("rows.csv");
        self.in_folder(|folder| {
            let import = format!(".import --csv \"{}\" rows", file.display());
            let ended =
                self.tools
                    .sqlite3(&["import.db", &import], folder, rows, tempfile::tempfile()?)?;
            Ok(Sample {
                count: rows,
                seconds: ended.seconds,
                cpu_seconds: ended.cpu_seconds,
                peak_kib: ended.peak_kib,
                ..Sample::default()
            })
        })
    }

    pub fn load(&self, rows: usize, file: &str) -> Outcome<Sample> {
        let file = self.stock.borrow_mut().files(rows)?.join(file);
        self.in_folder(|folder| {
            let mut command = client(folder, any_port())?;
            command.arg("load").arg(&file).args(["--batch", BATCH]);
            Ok(Sample {
                journal_bytes: journal_bytes(folder),
                ..self.ours(&mut command, rows, &[0])?
            })
        })
    }

    fn oha(&self, payments: usize) -> Outcome<Sample> {
        // Chosen at random by oha: the sandbox executes what it is sent again, so that every post costs it the same.
        let bodies = self.stock.borrow_mut().bodies(2 * payments)?;
        self.in_folder(|folder| {
            let gateway = Gateway::start(folder, &["--no-duplicate-check"])?;
            let known = self.oha_start.borrow().get(&payments).copied();
            let start = match known {
                Some(start) => start,
                None => {
                    let (_, ended) = self.tools.oha(&gateway, &bodies, 1, 1)?;
                    self.oha_start
                        .borrow_mut()
                        .insert(payments, ended.cpu_seconds);
                    ended.cpu_seconds
                }
            };
            let (seconds, ended) = self.tools.oha(&gateway, &bodies, payments, CONCURRENCY)?;
            // Status 200 has every reply: what the sandbox made of the bodies is in its ledger.
            let ledger = gateway.ledger()?;
            let accepted = ledger["services"]["B2C_MPESA"]["accepted"].as_u64();
            if accepted.is_none_or(|accepted| accepted < payments as u64) {
                return Err(format!("of {payments} posts by oha the ledger says {ledger}").into());
            }
            Ok(Sample {
                count: payments,
                seconds,
                cpu_seconds: (ended.cpu_seconds - start).max(0.0),
                peak_kib: ended.peak_kib,
                ..Sample::default()
            })
        })
    }

    pub fn run(
        &self,
        payments: usize,
        until: Until,
        environment: &[(&str, &str)],
    ) -> Outcome<Sample> {
        self.in_folder(|folder| {
            self.stock.borrow_mut().load_into(folder, payments)?;
            let gateway = Gateway::start(folder, &[])?;
            let mut command = client(folder, gateway.address)?;
            command.args(["run", BATCH, "--yes", "--quiet"]);
            command.envs(environment.iter().copied());
            let codes: &[i32] = match until {
                Until::Posted => {
                    // As soon as all are answered it ends: a status is not due before.
                    command
                        .args(["--poll-only", "--no-wait"])
                        .env("DISBURSE_FIRST_QUERY_AFTER", "5m");
                    &[0, 4]
                }
                Until::Asked => {
                    command.arg("--poll-only");
                    &[0]
                }
                Until::CalledBack => {
                    let door = free_address()?;
                    command
                        .env("DISBURSE_CALLBACK_GRACE", "5m")
                        .env("DISBURSE_CALLBACK_LISTEN", door.to_string())
                        .env("DISBURSE_CALLBACK_PUBLIC_URL", format!("http://{door}"));
                    &[0]
                }
            };
            let sample = self.ours(&mut command, payments, codes)?;
            gateway.expect(payments, until != Until::Posted)?;
            Ok(Sample {
                journal_bytes: journal_bytes(folder),
                ..sample
            })
        })
    }

    fn limited(&self, payments: usize, viewers: usize) -> Outcome<Sample> {
        self.in_folder(|folder| {
            self.stock.borrow_mut().load_into(folder, payments)?;
            let gateway = Gateway::start(folder, &[])?;
            let watch = Watch::start(any_port(), gateway.address)?;
            let mut command = client(folder, watch.address())?;
            command
                .args(["run", BATCH, "--yes", "--quiet", "--poll-only", "--no-wait"])
                .args(["--rate", &format!("{RATE}/s")]);
            let sample = match viewers {
                0 => self.ours(&mut command, payments, &[0, 4])?,
                _ => watched(command.arg("--page"), payments, viewers)?,
            };
            gateway.expect(payments, false)?;
            let arrivals = watch.arrivals();
            let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) else {
                return Err("no post was seen".into());
            };
            Ok(Sample {
                // From the first to the last there is one fewer.
                count: arrivals.len().saturating_sub(1).max(1),
                seconds: last.duration_since(*first).as_secs_f64(),
                busiest: busiest(&arrivals),
                ..sample
            })
        })
    }

    fn scan(&self, rows: usize) -> Outcome<Sample> {
        self.sqlite3_of(
            rows,
            "select count(*), sum(amount) from instruction not indexed;",
        )
    }

    fn export(&self, rows: usize) -> Outcome<Sample> {
        self.sqlite3_of(rows, EXPORT)
    }

    fn sqlite3_of(&self, rows: usize, sql: &str) -> Outcome<Sample> {
        let journal = self.stock.borrow_mut().finished(rows)?;
        let journal = journal.join("disburse.db").display().to_string();
        self.in_folder(|folder| {
            let out = File::create(folder.join("out.csv"))?;
            let arguments = ["-readonly", "-csv", "-header", &journal, sql];
            let ended = self.tools.sqlite3(&arguments, folder, rows, out)?;
            Ok(Sample {
                count: rows,
                seconds: ended.seconds,
                cpu_seconds: ended.cpu_seconds,
                peak_kib: ended.peak_kib,
                ..Sample::default()
            })
        })
    }

    fn resume(&self, rows: usize) -> Outcome<Sample> {
        self.in_folder(|folder| {
            let (gateway, address) = self.stock.borrow_mut().half_into(folder, rows)?;
            drop(gateway);
            let (seconds, peak_kib) = until_first_post(folder, rows, Some(address), |command| {
                command.args(["run", BATCH]);
            })?;
            Ok(Sample {
                count: rows,
                seconds,
                peak_kib,
                ..Sample::default()
            })
        })
    }

    fn first_post(&self, rows: usize) -> Outcome<Sample> {
        let file = self.stock.borrow_mut().files(rows)?.join("rows.csv");
        self.in_folder(|folder| {
            let (seconds, peak_kib) = until_first_post(folder, rows, None, |command| {
                command.arg("pay").arg(&file).args(["--batch", BATCH]);
            })?;
            Ok(Sample {
                count: rows,
                seconds,
                peak_kib,
                ..Sample::default()
            })
        })
    }

    pub fn report(&self, rows: usize) -> Outcome<Sample> {
        let journal = self.stock.borrow_mut().finished(rows)?;
        self.in_folder(|folder| {
            let mut command = disburse(&journal);
            command.args(["report", BATCH, "--out"]).arg(folder);
            self.ours(&mut command, rows, &[0])
        })
    }

    /// Writes the archive of a finished batch, whose people stay in the journal: they do so for a month after its last post.
    pub fn archive(&self, rows: usize) -> Outcome<Sample> {
        let journal = self.stock.borrow_mut().finished(rows)?;
        self.in_folder(|folder| {
            let mut command = disburse(&journal);
            command
                .args(["archive", BATCH, "--keep-people", "--out"])
                .arg(folder.join("archives"));
            self.ours(&mut command, rows, &[0])
        })
    }

    fn read(&self, rows: usize, arguments: &[&str]) -> Outcome<Sample> {
        let journal = self.stock.borrow_mut().finished(rows)?;
        self.ours(disburse(&journal).args(arguments), rows, &[0])
    }

    /// Runs our program to its end.
    pub fn ours(&self, command: &mut Command, count: usize, codes: &[i32]) -> Outcome<Sample> {
        let mut hosted = self.host.borrow().as_ref().map(|host| host(command));
        let command = hosted.as_mut().unwrap_or(command);
        let ended = Process::start(command, limit(count))?.wait_for(codes)?;
        Ok(Sample {
            count,
            seconds: ended.seconds,
            cpu_seconds: ended.cpu_seconds,
            peak_kib: ended.peak_kib,
            ..Sample::default()
        })
    }

    /// Does something in a folder that is there for as long.
    pub fn in_folder<T>(&self, work: impl FnOnce(&Path) -> Outcome<T>) -> Outcome<T> {
        let folder = self.stock.borrow_mut().folder()?;
        let outcome = work(&folder);
        fs::remove_dir_all(&folder)?;
        outcome
    }
}

/// When a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    Posted,
    CalledBack,
    Asked,
}

/// Starts our program, waits for the first post on the wire and ends it; returns how long that took.
fn until_first_post(
    folder: &Path,
    rows: usize,
    listen: Option<SocketAddr>,
    arguments: impl FnOnce(&mut Command),
) -> Outcome<(f64, u64)> {
    let gateway = Gateway::start(folder, &[])?;
    let watch = Watch::start(listen.unwrap_or_else(any_port), gateway.address)?;
    let mut command = client(folder, watch.address())?;
    arguments(&mut command);
    command.args(["--yes", "--quiet", "--poll-only"]);
    let most = limit(rows);
    let process = Process::start(&mut command, most)?;
    let came = until(most, || !watch.arrivals().is_empty() || process.is_over());
    match watch.arrivals().first() {
        Some(first) if came => {
            let seconds = first.duration_since(process.started()).as_secs_f64();
            Ok((seconds, process.kill()))
        }
        _ => Err(format!("no post came: {:?}", process.wait().map(|ended| ended.out)).into()),
    }
}

/// Runs the program to its end while so many look at its page, and each of them has to see it change.
fn watched(command: &mut Command, payments: usize, viewers: usize) -> Outcome<Sample> {
    let process = Process::start(command, limit(payments))?;
    let address = |text: String| -> Option<(String, String)> {
        let (host, path) = text.split_once("http://")?.1.split_once('/')?;
        let (token, _) = path.split_once('/')?;
        Some((host.to_owned(), format!("/{token}/batch/{BATCH}/events")))
    };
    let told = || address(process.out()).or_else(|| address(process.err()));
    until(limit(payments), || told().is_some() || process.is_over());
    let (host, path) = told().ok_or("it did not say where its page is")?;
    let looking: Vec<_> = (0..viewers)
        .map(|_| {
            let (host, path) = (host.clone(), path.clone());
            std::thread::spawn(move || look(&host, &path))
        })
        .collect();
    let ended = process.wait_for(&[0, 4])?;
    for viewer in looking {
        let changes = viewer.join().map_err(|_| "a viewer panicked")??;
        if changes == 0 {
            return Err("a viewer saw nothing change".into());
        }
    }
    Ok(Sample {
        count: payments,
        seconds: ended.seconds,
        cpu_seconds: ended.cpu_seconds,
        peak_kib: ended.peak_kib,
        ..Sample::default()
    })
}

/// Takes the events of a page until it is gone; returns how many there were.
fn look(host: &str, path: &str) -> std::io::Result<usize> {
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(VIEWER_PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n")?;
    let mut changes = 0;
    for line in BufReader::new(stream).lines() {
        match line {
            Ok(line) => changes += usize::from(line == "event: page"),
            // However the program closes its connections when it ends.
            Err(_) => break,
        }
    }
    Ok(changes)
}

/// Returns the greatest number of instants in any window of one second.
pub fn busiest(arrivals: &[Instant]) -> usize {
    let mut begins = 0;
    let mut most = 0;
    for (index, at) in arrivals.iter().enumerate() {
        while at.duration_since(arrivals[begins]) >= Duration::from_secs(1) {
            begins += 1;
        }
        most = most.max(index + 1 - begins);
    }
    most
}

/// What payments.csv shows, as far as a column of the journal has it; times stay numbers.
const EXPORT: &str = "select i.line, i.reference, i.identifier, s.code, i.msisdn, coalesce(i.account_number, i.msisdn), i.amount, i.currency,
    l.state, l.code, (select text from phrase where phrase_id = l.phrase_id) as status_description, l.gateway_transaction_id, l.receipt_number, l.receiver_narration, l.attempts,
    l.posted_at, l.settled_at, '' as note, '' as electricity_token, '' as electricity_units, l.application_id
    from instruction i cross join life l on l.seq = i.seq cross join service s on s.service_id = i.service_id order by i.seq;";
