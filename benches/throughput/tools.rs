//! The yardsticks: the `sqlite3` shell and the load generator `oha`.

use std::cell::OnceCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::gateway::Gateway;
use super::process::{Ended, Outcome, Process, limit};

/// The release that the figures were taken with. It does not compile without its default features, TLS among them.
const OHA: &str = "1.16.0";
const INSTALL_MAX: Duration = Duration::from_secs(1200);

/// A program of somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Sqlite3,
    Oha,
    /// Counts instructions.
    Valgrind,
}

/// Where they are, or why they are not.
#[derive(Default)]
pub struct Tools {
    sqlite3: OnceCell<Result<PathBuf, String>>,
    oha: OnceCell<Result<PathBuf, String>>,
    valgrind: OnceCell<Result<PathBuf, String>>,
}

impl Tools {
    /// Returns where a tool is, and installs it first where that can be done; or else why it is not there.
    pub fn find(&self, tool: Tool) -> Result<&Path, String> {
        let found = match tool {
            // Version 3.37 is the first that reads strict tables.
            Tool::Sqlite3 => self.sqlite3.get_or_init(|| installed("sqlite3")),
            Tool::Oha => self.oha.get_or_init(find_oha),
            Tool::Valgrind => self.valgrind.get_or_init(|| installed("valgrind")),
        };
        found.as_deref().map_err(Clone::clone)
    }

    /// Returns what the tools that were used say of themselves.
    pub fn versions(&self) -> Vec<String> {
        [
            (&self.sqlite3, "sqlite3"),
            (&self.oha, "oha"),
            (&self.valgrind, "valgrind"),
        ]
        .iter()
        .filter_map(|(found, name)| {
            let said = said(found.get()?.as_ref().ok()?)?;
            Some(format!("{name}: {said}"))
        })
        .collect()
    }

    /// Runs SQL in the `sqlite3` shell, its table into a file.
    pub fn sqlite3(
        &self,
        arguments: &[&str],
        folder: &Path,
        rows: usize,
        out: File,
    ) -> Outcome<Ended> {
        let mut command = Command::new(self.find(Tool::Sqlite3)?);
        command.args(arguments).current_dir(folder);
        Process::start_to(&mut command, limit(rows), out)?.wait()
    }

    /// Posts bodies, chosen among the lines of a file, and returns how long the requests took, with what the process did.
    pub fn oha(
        &self,
        gateway: &Gateway,
        bodies: &Path,
        requests: usize,
        connections: usize,
    ) -> Outcome<(f64, Ended)> {
        let mut command = Command::new(self.find(Tool::Oha)?);
        command
            .args(["--no-tui", "--output-format", "json", "-m", "POST"])
            .args(["-T", "application/json", "-Z"])
            .arg(bodies)
            .args(["-n", &requests.to_string(), "-c", &connections.to_string()])
            .arg(format!("http://{}/v1/global-api/payments", gateway.address));
        let ended = Process::start(&mut command, limit(requests))?.wait()?;
        let said: Value = serde_json::from_str(&ended.out)?;
        let answered = said["statusCodeDistribution"]["200"].as_u64();
        let seconds = said["summary"]["total"].as_f64();
        match (answered, seconds) {
            (Some(answered), Some(seconds)) if answered == requests as u64 => Ok((seconds, ended)),
            _ => Err(format!("oha: not every request was answered: {}", ended.out).into()),
        }
    }
}

/// Finds a program of the system's.
fn installed(name: &str) -> Result<PathBuf, String> {
    // Its whole path: what it runs may be given none to look for it in.
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders)
        .map(|folder| folder.join(name))
        .find(|path| said(path).is_some());
    found.ok_or_else(|| format!("no {name}: apt-get install {name}, or your system's package"))
}

/// Returns what a program says of itself.
fn said(program: &Path) -> Option<String> {
    let said = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    said.status.success().then_some(text)
}

fn find_oha() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("tools");
    let program = root.join("bin/oha");
    if said(&program).is_some() {
        return Ok(program);
    }
    if let Ok(program) = installed("oha") {
        return Ok(program);
    }
    eprintln!("installing oha {OHA} into {} ...", root.display());
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["install", "oha", "--version", OHA, "--locked", "--root"])
        .arg(&root);
    let installing = Process::start(&mut command, INSTALL_MAX).and_then(Process::wait);
    match installing {
        Ok(_) => Ok(program),
        Err(cause) => {
            eprintln!("{cause}");
            Err(format!("cargo install oha --version {OHA} fails"))
        }
    }
}
