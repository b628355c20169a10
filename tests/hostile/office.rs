//! The payroll office: a folder with a batch file and a configuration, and the real binary run in it.

use std::cell::Cell;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::gateway::Gateway;
use super::script::millis;

pub const PASSWORD: &str = "swordfish-never-shown";
pub const BATCH: &str = "salaries";
/// No run of these tests may take longer.
pub const RUN_MAX: Duration = Duration::from_secs(40);

/// How the office is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    pub rows: usize,
    pub services: usize,
    pub rate: &'static str,
    pub packets: usize,
    pub callbacks: bool,
    pub confirmed: bool,
    pub lane_retry: Option<&'static str>,
    pub give_up: &'static str,
    pub breaker_losses: u32,
    pub grace: &'static str,
    pub max_wait: &'static str,
    pub concurrency: usize,
    pub first_query: &'static str,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            rows: 40,
            services: 2,
            rate: "2000/s",
            packets: 1,
            callbacks: false,
            confirmed: false,
            lane_retry: None,
            give_up: "30s",
            breaker_losses: 8,
            grace: "300ms",
            max_wait: "8s",
            concurrency: 16,
            first_query: "60ms",
        }
    }
}

/// A run that has ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; `None` when it was killed.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// The folder.
pub struct Office {
    pub folder: tempfile::TempDir,
    pub setup: Setup,
    /// The journal was lost, and with it the count of attempts.
    pub attempts_lost: Cell<bool>,
    /// Somebody has ordered payments anew that had failed: their rows have other identifiers since.
    pub retried: Cell<bool>,
    runs: Cell<u32>,
    /// Where the journal is; `None`: in the folder.
    pub journal: Option<String>,
}

/// A run under way.
pub struct Running {
    pub child: Child,
    out: PathBuf,
    err: PathBuf,
}

// Below the ports that the system gives out by itself.
static NEXT_PORT: AtomicU16 = AtomicU16::new(0);

pub fn free_port() -> u16 {
    let base = 20_000 + u16::try_from(std::process::id() % 97).unwrap() * 100;
    loop {
        let port = base + NEXT_PORT.fetch_add(1, Ordering::SeqCst);
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl Office {
    pub fn open(gateway: &Gateway, setup: Setup) -> Self {
        let office = Self {
            folder: tempfile::tempdir().unwrap(),
            setup,
            attempts_lost: Cell::new(false),
            retried: Cell::new(false),
            runs: Cell::new(0),
            journal: None,
        };
        office.write_config(gateway);
        office.write_batch();
        office
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write_config(&self, gateway: &Gateway) {
        self.write_config_as("disburse.toml", gateway);
    }

    /// Writes the configuration into a file of another name, with a port of its own for callbacks.
    pub fn write_config_as(&self, file: &str, gateway: &Gateway) {
        let port = free_port();
        self.write_config_behind(file, gateway, port, port);
    }

    /// The same, where the gateway knows another port than the one that callbacks come to.
    pub fn write_config_behind(&self, file: &str, gateway: &Gateway, port: u16, known: u16) {
        let s = &self.setup;
        let mut text = format!(
            r#"[profiles.hostile]
base_url = "http://{}"
auth_url = "http://{}"
dialect = "{}"
username = "acme"
originator = "acme"
country_code = "KE"
currency_code = "KES"
time_zone = "Africa/Nairobi"
[profiles.hostile.limits]
rate = "{}"
query_rate = "2000/s"
concurrency = {}
packets_per_request = {}
connect_timeout = "500ms"
request_timeout = "1s"
breaker_losses = {}
breaker_pause = "100ms"
[profiles.hostile.resolution]
first_query_after = "{}"
query_backoff_max = "250ms"
callback_grace = "{}"
delivered_grace = "{}"
not_found_quarantine = "1100ms"
give_up_after = "{}"
attempts_max = 50
"#,
            gateway.address,
            gateway.address,
            gateway.tongue.name,
            s.rate,
            s.concurrency,
            s.packets,
            s.breaker_losses,
            s.first_query,
            s.grace,
            s.grace,
            s.give_up
        );
        if let Some(retry) = s.lane_retry {
            writeln!(text, "lane_retry_after = \"{retry}\"").unwrap();
        }
        if s.callbacks {
            let settle_on = if s.confirmed { "confirmed" } else { "callback" };
            write!(
                text,
                "[profiles.hostile.callback]\nlisten = \"127.0.0.1:{port}\"\npublic_url = \"http://127.0.0.1:{known}/cb\"\nsettle_on = \"{settle_on}\"\n"
            )
            .unwrap();
        }
        fs::write(self.path(file), text).unwrap();
        for (name, key) in gateway.tongue.keys() {
            fs::write(self.path(&name), key).unwrap();
            let private = fs::Permissions::from_mode(0o600);
            fs::set_permissions(self.path(&name), private).unwrap();
        }
    }

    fn write_batch(&self) {
        let mut text = String::from(
            "reference,service_code,msisdn,amount,currency_code,narration,invoice_number\n",
        );
        for row in 0..self.setup.rows {
            let reference = reference(row);
            writeln!(
                text,
                "{reference},LANE_{},2547{:08},{}.{:02},KES,pay {row},{reference}",
                row % self.setup.services,
                10_000_000 + row * 7919,
                100 + row,
                row * 37 % 100
            )
            .unwrap();
        }
        fs::write(self.path("batch.csv"), text).unwrap();
    }

    /// Starts the binary.
    pub fn start(&self, arguments: &[&str]) -> Running {
        self.start_with(arguments, &[])
    }

    /// Starts the binary with settings of its own.
    pub fn start_with(&self, arguments: &[&str], settings: &[(&str, &str)]) -> Running {
        let run = self.runs.get();
        self.runs.set(run + 1);
        let (out, err) = (
            self.path(&format!("{run}.out")),
            self.path(&format!("{run}.err")),
        );
        let child = Command::new(env!("CARGO_BIN_EXE_disburse"))
            .args(arguments)
            .env_clear()
            .env("DISBURSE_PASSWORD", PASSWORD)
            .envs(
                self.journal
                    .iter()
                    .map(|journal| ("DISBURSE_JOURNAL", journal)),
            )
            .envs(settings.iter().copied())
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap())
            .spawn()
            .unwrap();
        Running { child, out, err }
    }

    pub fn start_pay(&self) -> Running {
        self.start_pay_with(&[])
    }

    pub fn start_pay_with(&self, more: &[&str]) -> Running {
        let mut arguments = vec![
            "pay",
            "batch.csv",
            "--batch",
            BATCH,
            "--yes",
            "--out",
            "report",
            "--max-wait",
        ];
        arguments.push(self.setup.max_wait);
        arguments.extend(more);
        self.start(&arguments)
    }

    pub fn pay(&self) -> Ended {
        self.start_pay().wait()
    }

    pub fn call(&self, arguments: &[&str]) -> Ended {
        self.start(arguments).wait()
    }

    /// Runs until the batch has finished, in at most `rounds` runs; returns the last exit code.
    pub fn pay_to_the_end(&self, rounds: u32) -> i32 {
        for _ in 0..rounds {
            let ended = self.pay();
            match ended.code {
                Some(code @ (0 | 3)) => return code,
                Some(4 | 5) => {}
                _ => panic!("{ended:?}"),
            }
        }
        panic!(
            "not finished after {rounds} runs: {:?}",
            self.call(&["status", BATCH])
        );
    }

    /// Starts a run and kills it after some time; returns whether it was still alive.
    pub fn kill_after(&self, ms: u64) -> bool {
        let run = self.start_pay();
        sleep(millis(ms));
        run.kill()
    }

    /// Starts a run and kills it when it has posted so many more, and a little later; returns whether it was still alive.
    // A run that resumes keeps still for a second before it posts, so that the clock alone hits few posts under way.
    pub fn kill_after_posts(&self, gateway: &Gateway, posts: u32, ms: u64) -> bool {
        let before = gateway.ledger.posts();
        let mut run = self.start_pay();
        let started = Instant::now();
        while gateway.ledger.posts() < before + posts
            && started.elapsed() < millis(2500)
            && run.child.try_wait().unwrap().is_none()
        {
            sleep(millis(2));
        }
        sleep(millis(ms));
        run.kill()
    }

    /// Returns every file of the folder with the password in it.
    pub fn leaks(&self) -> Vec<PathBuf> {
        let mut leaks = Vec::new();
        let mut folders = vec![self.folder.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if contains(&path, PASSWORD) {
                    leaks.push(path);
                }
            }
        }
        leaks
    }

    /// Returns what the runs so far have written to standard error.
    pub fn complaints(&self) -> String {
        (0..self.runs.get())
            .map(|run| fs::read_to_string(self.path(&format!("{run}.err"))).unwrap_or_default())
            .collect()
    }
}

pub fn reference(row: usize) -> String {
    format!("ROW-{row:05}")
}

fn contains(path: &Path, text: &str) -> bool {
    let bytes = fs::read(path).unwrap_or_default();
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

impl Running {
    /// Waits for the end; a run that hangs is a failure.
    pub fn wait(mut self) -> Ended {
        let started = Instant::now();
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if started.elapsed() > RUN_MAX => {
                    let _ = self.child.kill();
                    panic!(
                        "a run hangs: {}",
                        fs::read_to_string(&self.err).unwrap_or_default()
                    );
                }
                None => sleep(millis(10)),
            }
        };
        Ended {
            code: status.code(),
            out: fs::read_to_string(&self.out).unwrap(),
            err: fs::read_to_string(&self.err).unwrap(),
        }
    }

    /// Kills it; returns whether it was still alive.
    pub fn kill(mut self) -> bool {
        let alive = self.child.try_wait().unwrap().is_none();
        let _ = self.child.kill();
        self.wait();
        alive
    }

    /// Asks the run to end, as Ctrl-C does.
    pub fn interrupt(&self) {
        self.signal(rustix::process::Signal::INT);
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Waits until something has happened.
    pub fn until(&mut self, what: &str, happened: impl Fn() -> bool) {
        until_while(what, happened, || self.child.try_wait().unwrap().is_none());
    }
}

/// Waits until something has happened, as long as it still may.
pub fn until_while(what: &str, happened: impl Fn() -> bool, mut may: impl FnMut() -> bool) {
    let started = Instant::now();
    while !happened() {
        assert!(
            may() && started.elapsed() < RUN_MAX,
            "never happened: {what}"
        );
        sleep(millis(5));
    }
}
