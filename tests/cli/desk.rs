//! A desk: a folder of its own, in which the program is run as a person would.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use tempfile::TempDir;

/// The header of the small files here.
pub const HEADER: &str = "reference,service_code,msisdn,amount,currency_code,country_code\n";
/// Three payments of 100.00, 200.50 and 300.00 KES.
pub const ROWS: &str = "R-1,B2C_MPESA,254712345678,100.00,KES,KE\n\
                        R-2,B2C_AIRTEL,254733345678,200.50,KES,KE\n\
                        R-3,B2C_MPESA,254712345679,300.00,KES,KE\n";
/// A gateway on a port where nobody listens; everything else a run needs, but the password.
pub const CONFIGURATION: &str = r#"[profiles.p]
base_url = "http://127.0.0.1:9"
username = "someone"
originator = "acme"
country_code = "KE"
currency_code = "KES"
time_zone = "Africa/Nairobi"

[services.B2C_MPESA]
kind = "mobile_money"
currency_code = "KES"

[services.B2C_AIRTEL]
kind = "mobile_money"
currency_code = "KES"
"#;

/// A folder of its own.
pub struct Desk {
    folder: TempDir,
    variables: Vec<(&'static str, String)>,
}

/// What a command came to.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Desk {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
        }
    }

    /// A desk with `ok.csv`, three good rows.
    pub fn with_rows() -> Self {
        Self::new().file("ok.csv", format!("{HEADER}{ROWS}"))
    }

    /// A desk with `ok.csv`, loaded for the sandbox as batch `b`.
    pub fn loaded() -> Self {
        let desk = Self::with_rows();
        desk.run(&["load", "ok.csv", "--batch", "b", "--sandbox"])
            .finished(0);
        desk
    }

    /// A desk whose batch `b` is posted and waits, as the sandbox has ended with the run: R-1 to R-3 are accepted, not settled.
    pub fn waiting() -> Self {
        let desk = Self::loaded();
        let run = "run b --sandbox --faults none --no-wait --poll-only";
        desk.run(&run.split(' ').collect::<Vec<_>>()).finished(4);
        desk
    }

    /// A desk with `ok.csv` and the configuration of a gateway that nobody serves, the password known.
    pub fn configured() -> Self {
        Self::with_rows()
            .file("disburse.toml", CONFIGURATION)
            .variable("DISBURSE_PASSWORD", "hunter2")
    }

    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.path(name), content).unwrap();
        self
    }

    pub fn sample(self, name: &str) -> Self {
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("samples")
            .join(name);
        fs::copy(from, self.path(name)).unwrap();
        self
    }

    pub fn variable(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The program, not yet started: in this folder, with no variables but ours, ended when it takes too long.
    pub fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", self.folder.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .timeout(Duration::from_secs(60));
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.program(BINARY).args(arguments))
    }

    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Said {
        Said::of(self.program(BINARY).args(arguments).write_stdin(input))
    }

    /// Runs a line of shell in which `disburse` is the program.
    pub fn shell(&self, line: &str) -> Said {
        // Ending the shell would leave its program behind, so that is bounded too.
        let script = format!("disburse() {{ timeout --foreground 50 {BINARY} \"$@\"; }}\n{line}");
        Said::of(self.program("bash").args(["-c", &script]))
    }

    /// Every file with its content, to see that nothing was left behind and nothing changed.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else {
                    let content = fs::read(entry.path()).unwrap_or_default();
                    files.insert(entry.path(), content);
                }
            }
        }
        files
    }

    /// Runs a command that must be refused with exactly these lines, and leave every file as it was.
    #[track_caller]
    pub fn refuses(&self, arguments: &[&str], code: i32, lines: &[&str]) {
        let before = self.files();
        let said = self.run(arguments);
        said.refused(code, lines);
        let after = self.files();
        let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&before), names(&after), "{arguments:?}");
        for (name, content) in &before {
            assert!(
                &after[name] == content,
                "{arguments:?} changed {}",
                name.display()
            );
        }
    }
}

pub const BINARY: &str = env!("CARGO_BIN_EXE_disburse");

impl Said {
    pub fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub fn finished(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        self
    }

    /// One clear error, what to do, and nothing where data goes.
    #[track_caller]
    pub fn refused(&self, code: i32, lines: &[&str]) {
        let said: Vec<&str> = self.err.lines().collect();
        assert_eq!(said, lines);
        assert_eq!(self.out, "", "nothing is printed as data");
        assert_eq!(self.code, code);
        let errors = said.iter().filter(|line| line.starts_with("error: "));
        assert_eq!(errors.count(), 1, "one error, not two or none");
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap()
    }

    /// A standing without how far its evidence reaches, which hangs on the time of day.
    #[track_caller]
    pub fn standing(&self) -> serde_json::Value {
        let mut standing = self.json();
        let evidence = standing
            .as_object_mut()
            .unwrap()
            .remove("evidence")
            .unwrap();
        assert!(evidence["rows"].as_u64().unwrap() > 0, "{evidence}");
        assert_eq!(evidence["head"].as_str().unwrap().len(), 64, "{evidence}");
        standing
    }

    /// What was printed as data, the same at any time of day.
    #[track_caller]
    pub fn timeless(&self) -> String {
        let begins = self.out.find("evidence: ").expect("the head is told");
        let ends = begins + self.out[begins..].find('\n').unwrap();
        format!("{}evidence: …{}", &self.out[..begins], &self.out[ends..])
    }

    /// Everything that was printed, the same at any time of day, for a snapshot.
    pub fn whole_but_the_head(&self) -> String {
        format!(
            "exit code {}\n--- stdout ---\n{}--- stderr ---\n{}",
            self.code,
            self.timeless(),
            self.err
        )
    }

    /// Everything that was printed, for a snapshot.
    pub fn whole(&self) -> String {
        format!(
            "exit code {}\n--- stdout ---\n{}--- stderr ---\n{}",
            self.code, self.out, self.err
        )
    }
}
