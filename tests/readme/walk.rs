//! The commands of the README, said from top to bottom in a folder of their own, with the configuration that it prints.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::{README, help_of};

/// How long one command may be said again until the moment has come that it names.
const PATIENCE: Duration = Duration::from_secs(30);

/// A sandbox in its own process, as the README has one in another terminal.
pub(super) struct Gateway {
    process: Child,
    pub(super) address: String,
}

impl Gateway {
    pub(super) fn start(folder: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_disburse"))
            .args("sandbox --faults realistic --listen 127.0.0.1:0".split(' '))
            .current_dir(folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let said = process.stdout.as_mut().unwrap();
        BufReader::new(said).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("sandbox gateway at ").unwrap();
        Self {
            address: address.to_owned(),
            process,
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// The lines of all blocks of one language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("\n```{language}\n");
    README
        .split(fence.as_str())
        .skip(1)
        .flat_map(|rest| rest.split("\n```").next().unwrap().lines())
        .collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// What a command comes to: `run` and `pay` finish with some payments failed, unless they are told not to wait.
fn is_expected(words: &str, code: i32) -> bool {
    let pays = words.starts_with("run ") || words.starts_with("pay ");
    match pays {
        true if words.contains("--no-wait") => code == 4,
        true => code == 0 || code == 3,
        false => code == 0,
    }
}

pub(super) fn say(folder: &Path, gateway: &str, exports: &str, words: &str) -> Output {
    let command = words.split(' ').next().unwrap();
    // Nobody is there to answer.
    let yes = match help_of(command).contains("--yes") && !words.contains("--yes") {
        true => " --yes",
        false => "",
    };
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("exec \"$DISBURSE\" {words}{yes}")])
        .current_dir(folder)
        .env("DISBURSE", env!("CARGO_BIN_EXE_disburse"));
    shell.envs(exports.split(' ').filter_map(|one| one.split_once('=')));
    // The port that the README names may be somebody else's here; and nobody watches, so that it need not be slow.
    for key in ["BASE_URL", "AUTH_URL", "API_URL", "FILE_SERVICE_URL"] {
        shell.env(format!("DISBURSE_{key}"), gateway);
    }
    for key in ["RATE", "QUERY_RATE", "LOOKUP_RATE"] {
        shell.env(format!("DISBURSE_{key}"), "1000/s");
    }
    shell.output().unwrap()
}

#[test]
fn its_commands_work_from_top_to_bottom() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
    copy(&checkout.join("samples"), &folder.join("samples"));
    let gateway = Gateway::start(folder);
    let mut said = 0;
    // The first command needs no configuration; those below it are said with the one that the README prints.
    let mut exports = "";
    for line in blocks("sh") {
        if let Some(variables) = line
            .strip_prefix("export ")
            .filter(|variables| variables.starts_with("DISBURSE_"))
        {
            exports = variables;
            fs::write(folder.join("disburse.toml"), blocks("toml").join("\n")).unwrap();
        }
        let words = line
            .strip_prefix("disburse ")
            .or_else(|| line.strip_prefix("cargo run --release -- "));
        let Some(words) = words else { continue };
        let words = words.split(" #").next().unwrap().trim();
        let begun = Instant::now();
        loop {
            let output = say(folder, &gateway.address, exports, words);
            let code = output.status.code().unwrap();
            let complaint = String::from_utf8_lossy(&output.stderr);
            // No journal was lost on the way, and no order with it.
            let nothing_lost = complaint.contains("there is no recovery to end")
                || complaint.contains("there is nothing to confirm");
            if is_expected(words, code) || nothing_lost {
                break;
            }
            let too_soon = complaint.contains("proves nothing before");
            assert!(
                too_soon && begun.elapsed() < PATIENCE,
                "disburse {words}\nended with {code}\n{}{complaint}",
                String::from_utf8_lossy(&output.stdout)
            );
            std::thread::sleep(Duration::from_millis(500));
        }
        said += 1;
        println!("{:>6} ms  {words}", begun.elapsed().as_millis());
    }
    assert!(said > 35, "only {said} commands were said");
    // Somebody opens another terminal in the same folder, with the configuration, and goes on where the first command ended.
    for line in blocks("sh") {
        let words = line.strip_prefix("cargo run --release -- ");
        let Some(words) = words.filter(|words| words.contains("--sandbox")) else {
            continue;
        };
        let output = say(folder, &gateway.address, "", words);
        assert!(
            is_expected(words, output.status.code().unwrap()),
            "said again, without the variables: disburse {words}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    // The mistakes that it shows are those that this configuration finds.
    let output = say(
        folder,
        &gateway.address,
        exports,
        "check samples/mistakes.csv",
    );
    let complaints = String::from_utf8_lossy(&output.stderr);
    let shown = blocks("text");
    let shown: Vec<_> = shown
        .iter()
        .filter(|line| line.starts_with("samples/mistakes.csv:"))
        .collect();
    assert!(shown.len() > 3);
    for line in shown {
        assert!(
            complaints.contains(*line),
            "{line}\nis not in\n{complaints}"
        );
    }
}
