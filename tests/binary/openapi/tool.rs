//! A tool that is not ours.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// No tool takes longer.
const PATIENCE: Duration = Duration::from_secs(240);

/// Finds a program on the path. One that is missing is told; where a variable requires it, the test fails.
#[allow(
    clippy::print_stderr,
    reason = "a test that checks nothing must say so"
)]
pub fn find(name: &str, required_by: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file());
    if found.is_none() {
        assert!(
            std::env::var_os(required_by).is_none_or(|value| value != "required"),
            "{name} is not installed"
        );
        eprintln!("NOT CHECKED: {name} is not installed; .ci/run installs it");
    }
    found
}

/// A tool under way, its output in a file. It is killed when the test ends before it does.
pub struct Tool {
    child: Child,
    output: PathBuf,
}

impl Tool {
    pub fn start(program: &Path, folder: &Path, output: &str, arguments: &[&str]) -> Self {
        let output = folder.join(output);
        let file = File::create(&output).unwrap();
        let child = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .env("NO_COLOR", "1")
            .env("PYTHONIOENCODING", "utf-8")
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap();
        Self { child, output }
    }

    pub fn output(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.output).unwrap_or_default()).into_owned()
    }

    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for the end.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(
                Instant::now() < deadline,
                "still running: {}",
                self.output()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
