//! A process under way: bounded in time, ended with its owner, and measured.

use std::error::Error;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// How long anything about so many rows may take: hardly any program is so slow that this ends it.
pub fn limit(rows: usize) -> Duration {
    Duration::from_secs(120 + rows as u64 / 1_500)
}

const PAUSE: Duration = Duration::from_millis(5);

/// What a process took.
pub struct Ended {
    pub seconds: f64,
    /// User and system time together.
    pub cpu_seconds: f64,
    /// The most resident memory that it ever had; zero where there is no `/proc`.
    pub peak_kib: u64,
    pub out: String,
}

/// A process that this program started. It is killed when it is dropped, or at the end of its time.
pub struct Process {
    child: Child,
    what: String,
    out: File,
    err: File,
    started: Instant,
    over: Arc<AtomicBool>,
    expired: Arc<AtomicBool>,
    watch: Option<JoinHandle<u64>>,
}

impl Process {
    /// Starts a command; what it prints goes to files, so that it never waits for a reader.
    pub fn start(command: &mut Command, limit: Duration) -> Outcome<Self> {
        let (out, err) = (tempfile::tempfile()?, tempfile::tempfile()?);
        Self::start_into(command, limit, out, err)
    }

    /// The same with standard output in a file of the caller's.
    pub fn start_to(command: &mut Command, limit: Duration, out: File) -> Outcome<Self> {
        let err = tempfile::tempfile()?;
        Self::start_into(command, limit, out, err)
    }

    fn start_into(command: &mut Command, limit: Duration, out: File, err: File) -> Outcome<Self> {
        let arguments = command.get_args().map(|text| text.to_string_lossy());
        let what = arguments.collect::<Vec<_>>().join(" ");
        let what = format!("{} {what}", command.get_program().to_string_lossy());
        command
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(err.try_clone()?);
        let started = Instant::now();
        let child = command
            .spawn()
            .map_err(|cause| format!("{what}: {cause}"))?;
        let (over, expired) = (Arc::default(), Arc::default());
        let watch = watch(
            child.id(),
            started + limit,
            Arc::clone(&over),
            Arc::clone(&expired),
        );
        Ok(Self {
            child,
            what,
            out,
            err,
            started,
            over,
            expired,
            watch: Some(watch),
        })
    }

    pub fn started(&self) -> Instant {
        self.started
    }

    /// Returns what it has printed so far.
    pub fn out(&self) -> String {
        text(&self.out)
    }

    /// The same of its messages.
    pub fn err(&self) -> String {
        text(&self.err)
    }

    /// Returns whether it has ended by itself.
    pub fn is_over(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        !matches!(waitid(WaitId::Pid(self.pid()), options), Ok(None))
    }

    pub fn signal(&self, signal: Signal) {
        // Not reaped before it is waited for: the number is still its own.
        let _ = kill_process(self.pid(), signal);
    }

    /// Waits until it has ended well.
    pub fn wait(self) -> Outcome<Ended> {
        self.wait_for(&[0])
    }

    /// Waits until it has ended with one of these codes.
    pub fn wait_for(mut self, codes: &[i32]) -> Outcome<Ended> {
        // Ended, and not yet reaped: what it used can still be read.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(self.pid()), options), Err(Errno::INTR)) {}
        let seconds = self.started.elapsed().as_secs_f64();
        let cpu_seconds = cpu_seconds(self.child.id());
        let peak_kib = self.join_watch();
        let status = self.child.wait()?;
        let ended_well = status.code().is_some_and(|code| codes.contains(&code));
        if !ended_well {
            let why = match self.expired.load(Ordering::Relaxed) {
                true => "took longer than it may".to_owned(),
                false => status.to_string(),
            };
            return Err(format!(
                "{}: {why}\n{}{}",
                self.what,
                text(&self.out),
                text(&self.err)
            )
            .into());
        }
        Ok(Ended {
            seconds,
            cpu_seconds,
            peak_kib,
            out: self.out(),
        })
    }

    /// Ends it at once.
    pub fn kill(mut self) -> u64 {
        self.end()
    }

    fn end(&mut self) -> u64 {
        let _ = self.child.kill();
        let peak = self.join_watch();
        let _ = self.child.wait();
        peak
    }

    // Before it is reaped: the watch must never end another process that was given the same number.
    fn join_watch(&mut self) -> u64 {
        self.over.store(true, Ordering::Relaxed);
        self.watch
            .take()
            .and_then(|watch| watch.join().ok())
            .unwrap_or(0)
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.watch.is_some() {
            self.end();
        }
    }
}

/// Reads the peak of resident memory until the process is over, and ends it after its time.
fn watch(
    process: u32,
    deadline: Instant,
    over: Arc<AtomicBool>,
    expired: Arc<AtomicBool>,
) -> JoinHandle<u64> {
    std::thread::spawn(move || {
        let path = format!("/proc/{process}/status");
        let mut peak = 0;
        while !over.load(Ordering::Relaxed) {
            let status = std::fs::read_to_string(&path).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            peak = peak.max(kib.unwrap_or(0));
            if Instant::now() > deadline
                && let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw)
            {
                expired.store(true, Ordering::Relaxed);
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(PAUSE);
        }
        peak
    })
}

/// Reads what a process used that has ended and is not reaped; zero where there is no `/proc`.
fn cpu_seconds(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name of the program may hold blanks; it ends with the last parenthesis. User time and system time follow as
    // the twelfth and thirteenth field behind it.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: f64 = ticks.filter_map(|text| text.parse::<f64>().ok()).sum();
    ticks / rustix::param::clock_ticks_per_second() as f64
}

fn text(file: &File) -> String {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    // A table on standard output is for its file alone.
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0).min(1 << 20)];
    let read = file.read_at(&mut bytes, 0).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..read]).into_owned()
}

/// Waits until a condition holds; `false` when it never did.
pub fn until(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        if holds() {
            return true;
        }
        std::thread::sleep(PAUSE);
    }
    false
}
