//! A folder with a configuration in it, and the program run in that folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde_json::Value;
use tempfile::TempDir;

use crate::files::Row;
use crate::sandbox::Sandbox;

/// No single command takes longer, however busy the machine is.
pub const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);

/// What a world's configuration says, where tests differ.
#[derive(Clone)]
pub struct Setup {
    /// Callbacks come to a listener on this port; `None`: the outcome is only asked for.
    pub callback_port: Option<u16>,
    pub request_timeout: &'static str,
    pub quarantine: &'static str,
    pub lane_retry_after: Option<&'static str>,
    /// Rows of every seed have the same references.
    pub references_restart: bool,
    /// Further lines of the profile, such as `limits.breaker_losses = 3`.
    pub more: &'static str,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            callback_port: None,
            request_timeout: "1900ms",
            // Longer than a late execution of the sandbox takes; with less, a gateway without a duplicate check pays twice.
            quarantine: "2s",
            lane_retry_after: Some("500ms"),
            references_restart: true,
            more: "",
        }
    }
}

impl Setup {
    /// Callbacks come, beside the status queries.
    pub fn with_callbacks() -> Self {
        Self {
            callback_port: Some(free_port()),
            ..Self::default()
        }
    }

    fn text(&self) -> String {
        let lane = self
            .lane_retry_after
            .map(|pause| format!("resolution.lane_retry_after = \"{pause}\"\n"))
            .unwrap_or_default();
        // Port 0 serves the runs with a sandbox inside, which tell it the port that they got.
        let callback = match self.callback_port {
            Some(port) => format!(
                "callback.listen = \"127.0.0.1:{port}\"\ncallback.public_url = \"http://127.0.0.1:{port}/callbacks\"\n"
            ),
            None => "callback.listen = \"127.0.0.1:0\"\n".to_owned(),
        };
        format!(
            r#"default_profile = "test"
[profiles.test]
username = "acme"
originator = "acme"
country_code = "KE"
currency_code = "KES"
time_zone = "Africa/Nairobi"
limits.rate = "2000/s"
limits.query_rate = "1000/s"
limits.connect_timeout = "900ms"
limits.request_timeout = "{}"
resolution.first_query_after = "200ms"
resolution.query_backoff_max = "1s"
resolution.callback_grace = "500ms"
resolution.delivered_grace = "300ms"
resolution.not_found_quarantine = "{}"
resolution.attempts_max = 50
repeats.references_restart = {}
{lane}{callback}{}
"#,
            self.request_timeout, self.quarantine, self.references_restart, self.more
        )
    }
}

/// A port that nothing listens on, outside the range from which the system chooses; no two tests get the same.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = u16::try_from(std::process::id() % 100).unwrap() * 100;
    for _ in 0..500 {
        let port = 20_000 + (start + NEXT.fetch_add(1, Ordering::Relaxed)) % 10_000;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no free port between 20000 and 30000");
}

pub struct World {
    folder: TempDir,
    base_url: Option<String>,
    file_service: Option<String>,
    outputs: AtomicUsize,
    variables: BTreeMap<&'static str, String>,
}

impl World {
    pub fn new(setup: &Setup) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("disburse-")
            .tempdir()
            .unwrap();
        fs::write(folder.path().join("disburse.toml"), setup.text()).unwrap();
        Self {
            folder,
            base_url: None,
            file_service: None,
            outputs: AtomicUsize::new(0),
            variables: BTreeMap::new(),
        }
    }

    /// Points the profile at a gateway.
    pub fn towards(mut self, base_url: &str) -> Self {
        self.base_url = Some(base_url.to_owned());
        self
    }

    /// Sends documents elsewhere than to the gateway.
    pub fn with_file_service(mut self, url: &str) -> Self {
        self.file_service = Some(url.to_owned());
        self
    }

    /// Gives every further command a variable of the environment.
    #[allow(dead_code, reason = "for the tests that torture the program")]
    pub fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.variables.insert(name, value.into());
    }

    /// Takes the variable away again.
    #[allow(dead_code, reason = "for the tests that torture the program")]
    pub fn unset(&mut self, name: &'static str) {
        self.variables.remove(name);
    }

    /// A world with a sandbox process beside it, its ledger in the world's folder.
    pub fn with_sandbox(setup: &Setup, sandbox: &[&str]) -> (Self, Sandbox) {
        let world = Self::new(setup);
        let sandbox = Sandbox::start(&world, "ledger", sandbox);
        let base_url = sandbox.base_url.clone();
        (world.towards(&base_url), sandbox)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Writes rows as a CSV file.
    pub fn write_rows(&self, name: &str, rows: &[Row]) {
        self.write(name, &crate::files::csv(rows));
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Deletes the journal with all that SQLite keeps beside it.
    pub fn delete_journal(&self) {
        for name in ["disburse.db", "disburse.db-wal", "disburse.db-shm"] {
            let path = self.path(name);
            if path.exists() {
                fs::remove_file(path).unwrap();
            }
        }
    }

    /// The program in the world's folder, with the environment of a world and nothing else.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_disburse"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", self.folder.path())
            .env("DISBURSE_PASSWORD", "s3cret")
            .envs(&self.variables)
            .stdin(Stdio::null());
        if let Some(base_url) = &self.base_url {
            // The sandbox serves every address of the interface.
            for name in ["BASE", "AUTH", "API", "FILE_SERVICE"] {
                command.env(format!("DISBURSE_{name}_URL"), base_url);
            }
            let files = self.file_service.as_ref().unwrap_or(base_url);
            command.env("DISBURSE_FILE_SERVICE_URL", files);
        }
        command
    }

    /// Starts the program; its output goes to files, so that it never waits for a reader.
    pub fn start(&self, arguments: &[&str]) -> Running {
        self.start_as(self.command(arguments))
    }

    /// The same for a command whose environment a test has changed.
    pub fn start_as(&self, mut command: Command) -> Running {
        let number = self.outputs.fetch_add(1, Ordering::Relaxed);
        let (out, err) = (
            self.path(&format!("out-{number}")),
            self.path(&format!("err-{number}")),
        );
        let child = command
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap())
            .spawn()
            .unwrap();
        let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
        Running {
            child,
            out,
            err,
            what: arguments.join(" "),
            started: Instant::now(),
        }
    }

    /// Runs the program to its end.
    pub fn disburse(&self, arguments: &[&str]) -> Done {
        self.start(arguments).wait()
    }

    /// Runs the program, which must end with this code.
    #[track_caller]
    pub fn expect(&self, code: i32, arguments: &[&str]) -> Done {
        let done = self.disburse(arguments);
        assert_eq!(done.code, Some(code), "{done:?}");
        done
    }

    /// Runs the program at a terminal, where a person types this line; returns its exit code, and what the terminal shows.
    #[track_caller]
    pub fn at_terminal(&self, arguments: &[&str], line: &str) -> (Option<i32>, String) {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        use std::io::{Read, Write};
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let open = || {
            let name = name.to_str().unwrap();
            File::options().read(true).write(true).open(name).unwrap()
        };
        let mut command = self.command(arguments);
        command.stdin(open()).stdout(open()).stderr(open());
        let mut child = command.spawn().unwrap();
        // It has the only ends that are left, so that the terminal closes with it.
        drop(command);
        let mut master = File::from(master);
        writeln!(master, "{line}").unwrap();
        let (mut shown, mut some) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = master.read(&mut some) {
            shown.extend_from_slice(&some[..count]);
        }
        let code = child.wait().unwrap().code();
        (code, String::from_utf8_lossy(&shown).into_owned())
    }

    /// Says of a journal that no order is known to be missing from it.
    #[allow(dead_code, reason = "for the tests that put copies back")]
    #[track_caller]
    pub fn no_order_is_missing(&self, journal: &str) {
        let order = ["recover", "--orders-given-again", "--yes"];
        let why = ["--reason", "nobody ordered anything since"];
        let of = ["--journal", journal];
        self.expect(0, &[&order[..], &why, &of].concat())
            .says("runs post again");
    }

    /// Repeats a command until it has finished the batch; returns its last exit code, 0 or 3.
    #[track_caller]
    pub fn until_finished(&self, arguments: &[&str]) -> i32 {
        for _ in 0..20 {
            let done = self.disburse(arguments);
            match done.code {
                Some(code @ (0 | 3)) => return code,
                Some(4 | 5) => {}
                _ => panic!("{done:?}"),
            }
        }
        panic!("still unfinished after 20 runs: {}", arguments.join(" "));
    }

    /// What `status --json` says.
    #[track_caller]
    pub fn status(&self, batch: &str) -> Value {
        let done = self.expect(0, &["status", batch, "--json"]);
        serde_json::from_str(&done.out).unwrap()
    }

    /// How many payments of the batch are in a state.
    #[track_caller]
    pub fn count(&self, batch: &str, state: &str) -> u64 {
        self.status(batch)["states"][state]["count"]
            .as_u64()
            .unwrap_or(0)
    }
}

/// How a command ended.
#[derive(Debug)]
pub struct Done {
    #[allow(dead_code, reason = "read by a person, when a test fails")]
    pub what: String,
    /// `None`: a signal ended it.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
    pub took: Duration,
}

impl Done {
    #[track_caller]
    pub fn says(&self, words: &str) -> &Self {
        assert!(
            self.err.contains(words) || self.out.contains(words),
            "{words:?} is not in {self:?}"
        );
        self
    }
}

/// The program under way. It is killed when the test ends before it does.
pub struct Running {
    child: Child,
    out: PathBuf,
    err: PathBuf,
    what: String,
    started: Instant,
}

impl Running {
    pub fn out(&self) -> String {
        text(&self.out)
    }

    pub fn err(&self) -> String {
        text(&self.err)
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Stops the program; returns when all its threads stand: the signal alone returns while they may still work.
    #[allow(dead_code, reason = "for the tests of runs that are overtaken")]
    pub fn stop(&self) {
        self.signal(Signal::STOP);
        let ended = waitpid(Some(Pid::from_child(&self.child)), WaitOptions::UNTRACED).unwrap();
        assert!(
            ended.is_some_and(|(_, status)| status.stopped()),
            "it ended"
        );
    }

    /// Waits for the end, which must come in time.
    #[track_caller]
    pub fn wait(mut self) -> Done {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Done {
                    what: self.what.clone(),
                    code: status.code(),
                    out: self.out(),
                    err: self.err(),
                    took: self.started.elapsed(),
                };
            }
            assert!(
                Instant::now() < deadline,
                "still running: {}\n{}",
                self.what,
                self.err()
            );
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits until something is so, which must be before the program ends.
    #[track_caller]
    pub fn until(&mut self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(
                !self.is_over(),
                "ended before {what}: {} {}",
                self.out(),
                self.err()
            );
            assert!(Instant::now() < deadline, "never {what}: {}", self.err());
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// Waits until something is so.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "never {what}");
        std::thread::sleep(PAUSE);
    }
}
