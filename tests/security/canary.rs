//! Values that are found nowhere by chance, sent through everything: the table says where each of them may turn up.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use crate::front::sql;
use crate::recorder::Recorder;
use crate::sandbox::Sandbox;
use crate::secrets::Place::{
    self, CommandLine, Corrections, Environment, Journal, Lookup, Output, PaymentsCsv, ReportHtml,
    ReportJson, Reveal, Wire,
};
use crate::secrets::{ACCOUNT, CORE, NAME, PASSWORD, PHONE, PLACES, secrets};
use crate::world::{Done, Setup, World};

/// A world whose commands log everything there is to log.
struct Aviary {
    world: World,
    sandbox: Sandbox,
    recorder: Recorder,
    log_format: &'static str,
    found: BTreeMap<Place, Vec<u8>>,
}

const BATCH: &str = "reference,service_code,msisdn,account_number,amount,currency_code,customer_names,narration,bank_code,bank_name,bank_account_name,bank_account_number,document\n\
    MM,B2C_MPESA,PHONE,,1500.00,KES,NAME,Salary,,,,,\n\
    BANK,BANK_TRANSFER,PHONE,,2500.00,KES,NAME,Salary,49,Baraka Community Bank,NAME,ACCOUNT,\n\
    RTGS,RTGS,PHONE,,1000000.00,KES,NAME,Supplier,02,Bonde Commercial Bank,NAME,ACCOUNT,contract.pdf\n\
    AIR,AIRTIME,PHONE,,100.00,KES,NAME,Airtime,,,,,\n\
    WATER,WATER,PHONE,12850617,,KES,NAME,Bill,,,,,\n\
    POWER,ELECTRICITY,PHONE,60286191011,1000.00,KES,NAME,Electricity,,,,,\n";

fn filled(text: &str) -> String {
    text.replace("PHONE", PHONE)
        .replace("NAME", NAME)
        .replace("ACCOUNT", ACCOUNT)
}

impl Aviary {
    fn open(log_format: &'static str) -> Self {
        let setup = Setup {
            more: "payment_bearer = true\npassword_file = \"secret/password\"\nfloat.query = true\n",
            ..Setup::with_callbacks()
        };
        let world = World::new(&setup);
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
        let services = fs::read_to_string(sample.join("disburse.toml")).unwrap();
        let services = services.split_once("[services.B2C_MPESA]").unwrap().1;
        let config = format!(
            "{}[services.B2C_MPESA]{services}",
            world.read("disburse.toml")
        );
        world.write("disburse.toml", &config);
        fs::create_dir(world.path("secret")).unwrap();
        world.write("secret/password", &format!("{PASSWORD}\n"));
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(world.path("secret/password"), mode).unwrap();
        fs::copy(
            sample.join("documents/bank-statement.pdf"),
            world.path("contract.pdf"),
        )
        .unwrap();
        world.write("batch.csv", &filled(BATCH));
        // A bad row among good ones, for the file of corrections.
        let bad = BATCH
            .replacen("1500.00", "15x00", 1)
            .replacen("2500.00", "25x00", 1);
        world.write("bad.csv", &filled(&bad));
        let sandbox = Sandbox::start(&world, "ledger", &["--rtgs-delay", "200ms"]);
        let recorder = Recorder::before(&sandbox.base_url);
        Self {
            world: world.towards(&recorder.url),
            sandbox,
            recorder,
            log_format,
            found: BTreeMap::new(),
        }
    }

    fn keep(&mut self, place: Place, bytes: &[u8]) {
        let kept = self.found.entry(place).or_default();
        kept.extend_from_slice(bytes);
        // Two texts that follow one another make no third.
        kept.push(b'\n');
    }

    /// The password is in its file alone.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.command(arguments);
        command
            .env_remove("DISBURSE_PASSWORD")
            .env("DISBURSE_LOG", "trace")
            .env("DISBURSE_LOG_FORMAT", self.log_format)
            .env("RUST_BACKTRACE", "full");
        command
    }

    #[track_caller]
    fn run(&mut self, code: i32, arguments: &[&str]) -> Done {
        let done = self.world.start_as(self.command(arguments)).wait();
        assert_eq!(done.code, Some(code), "{arguments:?}: {}", last(&done));
        let place = if arguments[0] == "lookup" {
            Lookup
        } else {
            Output
        };
        self.keep(place, done.out.as_bytes());
        self.keep(Output, done.err.as_bytes());
        done
    }

    /// Keeps the files of the journal as they are now.
    fn keep_journal(&mut self) {
        for suffix in ["", "-wal", "-shm", ".lock"] {
            if let Ok(bytes) = fs::read(self.world.path(&format!("disburse.db{suffix}"))) {
                self.keep(Journal, &bytes);
            }
        }
    }

    fn keep_process(&mut self, id: u32) {
        for (place, name) in [(CommandLine, "cmdline"), (Environment, "environ")] {
            let bytes = fs::read(format!("/proc/{id}/{name}")).unwrap();
            assert!(!bytes.is_empty());
            self.keep(place, &bytes);
        }
    }

    /// A run that is looked at while it goes, then killed, then finished.
    fn crash_and_finish(&mut self) {
        let rows: String = (0..40)
            .map(|n| format!("K{n},B2C_MPESA,{PHONE},{NAME},20.00,KES\n"))
            .collect();
        let text =
            format!("reference,service_code,msisdn,customer_names,amount,currency_code\n{rows}");
        self.world.write("slow.csv", &text);
        let arguments = [
            "pay",
            "slow.csv",
            "--batch",
            "slow",
            "--yes",
            "--rate",
            "10/s",
            "--pay-due",
        ];
        let mut run = self.world.start_as(self.command(&arguments));
        let world = &self.world;
        run.until("posting", |_| {
            world.path("disburse.db-wal").exists() && posted(world) >= 8
        });
        self.keep_process(run.id());
        self.keep_journal();
        // Refused while another run has the journal.
        self.run(4, &["run", "slow", "--yes"]);
        run.signal(Signal::KILL);
        let killed = run.wait();
        self.keep(Output, killed.err.as_bytes());
        self.keep_journal();
        self.run(0, &["run", "slow", "--yes"]);
    }

    /// Every command, in good order and in bad.
    fn everything(&mut self) {
        self.run(0, &["check", "batch.csv", "--lookup", "--bills"]);
        self.run(2, &["check", "bad.csv"]);
        self.run(
            0,
            &[
                "pay",
                "batch.csv",
                "--batch",
                "all",
                "--yes",
                "--pay-due",
                "--out",
                "reports",
            ],
        );
        for json in [&[][..], &["--json"]] {
            for command in [
                &["status"][..],
                &["status", "all"],
                &["explain", "all", "MM"],
                &["explain", "all", "BANK"],
                &["explain", "all", "RTGS"],
                &["explain", "all", "AIR"],
                &["explain", "all", "WATER"],
                &["explain", "all", "POWER"],
                &["report", "all", "--out", "proof"],
                &["token"],
                &["lookup", PHONE],
                &["bill", "12850617", "--service", "WATER"],
                &["account", "60286191011", "--service", "ELECTRICITY"],
                &["float"],
                &["float", "B2C_MPESA"],
                &[
                    "upload",
                    "contract.pdf",
                    "--id",
                    "0123456789ABCDEFGHJKMNPQRS",
                ],
                &["config", "show"],
            ] {
                self.run(0, &[command, json].concat());
            }
        }
        self.crash_and_finish();
        self.wrong_settings();
        let revealed = self
            .command(&["explain", "all", "POWER", "--reveal"])
            .output()
            .unwrap();
        self.keep(Reveal, &revealed.stdout);
        let answers = self.recorder.text();
        self.keep(Wire, answers.as_bytes());
        for (place, name) in [
            (ReportJson, "report.json"),
            (PaymentsCsv, "payments.csv"),
            (ReportHtml, "report.html"),
        ] {
            let bytes = fs::read(self.world.path("proof").join(name)).unwrap();
            self.keep(place, &bytes);
        }
        self.keep(
            Corrections,
            &fs::read(self.world.path("bad.corrections.csv")).unwrap(),
        );
        self.keep_journal();
    }

    /// Mistakes with the password in them, as operators make them.
    fn wrong_settings(&mut self) {
        let good = self.world.read("disburse.toml");
        let profile = "[profiles.test]\n";
        for line in [
            format!("password = \"{CORE}\""),
            format!("pasword = \"{CORE}\""),
            format!("password = \"{CORE}"),
            format!("base_url = \"https://acme:{CORE}@gateway.example\""),
            format!("base_url = \"https://gateway.example/?password={CORE}\""),
            format!("base_url = \"http://acme:{CORE}@gateway.example\""),
            format!("auth_url = \"acme:{CORE}@gateway.example\""),
            format!("proxy = \"socks9://acme:{CORE}@proxy.example\""),
        ] {
            self.world.write(
                "disburse.toml",
                &good.replace(profile, &format!("{profile}{line}\n")),
            );
            self.run(2, &["run", "all", "--yes"]);
            self.run(2, &["config", "show"]);
        }
        self.world.write("disburse.toml", &good);
        for password in [format!("{}{CORE}", "x".repeat(2_000)), format!("\n{CORE}")] {
            self.world.write("secret/password", &password);
            self.run(2, &["token"]);
        }
        self.world
            .write("secret/password", &format!("{PASSWORD}\n"));
        for flag in [
            vec!["--password", CORE],
            vec![&*format!("--password={CORE}")],
        ] {
            // It never gets far enough to write a log.
            self.run(2, &[&["status"], &flag[..]].concat());
        }
        // Addresses that nobody answers at, with the password in the request that fails.
        for name in ["BASE", "AUTH", "API", "FILE_SERVICE"] {
            for command in [
                &["token"][..],
                &["lookup", "254712000009"],
                &["float"],
                &[
                    "upload",
                    "contract.pdf",
                    "--id",
                    "0123456789ABCDEFGHJKMNPQRS",
                ],
            ] {
                let mut command = self.command(command);
                command.env(format!("DISBURSE_{name}_URL"), "http://127.0.0.1:1");
                let done = self.world.start_as(command).wait();
                self.keep(Output, done.out.as_bytes());
                self.keep(Output, done.err.as_bytes());
            }
        }
    }

    /// No file lies about that nobody has looked at.
    fn every_file_is_known(&self) {
        let known = [
            "batch.csv",
            "bad.csv",
            "slow.csv",
            "contract.pdf",
            "disburse.toml",
            "secret",
            "ledger",
            "reports",
            "proof",
            "bad.corrections.csv",
            "disburse.db",
            "disburse.db-wal",
            "disburse.db-shm",
            "disburse.db.lock",
            "disburse.db.mark",
            ".disburse-files",
        ];
        for entry in fs::read_dir(self.world.path("")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let output = name.starts_with("out-") || name.starts_with("err-");
            assert!(output || known.contains(&&*name), "{name} was left behind");
        }
    }
}

fn last(done: &Done) -> String {
    let lines: Vec<&str> = done.err.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}

fn posted(world: &World) -> i64 {
    sql(world)
        .query_row(
            "select count(*) from life join instruction using (seq) where reference glob 'K*' and state > 0",
            [],
            |row| row.get(0),
        )
        .unwrap_or(0)
}

fn holds(bytes: &[u8], form: &[u8]) -> bool {
    bytes.windows(form.len()).any(|window| window == form)
}

#[track_caller]
fn every_value_is_where_it_may_be(aviary: &Aviary) {
    let wire = aviary.recorder.text();
    for secret in secrets(&aviary.world, &wire) {
        for place in PLACES {
            let bytes = &aviary.found[&place];
            let here = secret.forms.iter().any(|form| holds(bytes, form));
            if secret.must.contains(&place) {
                assert!(
                    here,
                    "{} is not in {place:?}: the test would not see it elsewhere",
                    secret.name
                );
            } else if !secret.may.contains(&place) {
                assert!(
                    !here,
                    "{} is in {place:?}: {}",
                    secret.name,
                    around(bytes, &secret.forms)
                );
            }
        }
    }
}

/// What stands around a value that was found, for a person to read.
fn around(bytes: &[u8], forms: &[Vec<u8>]) -> String {
    let at = forms
        .iter()
        .find_map(|form| bytes.windows(form.len()).position(|window| window == form))
        .unwrap_or(0);
    let part = &bytes[at.saturating_sub(300)..bytes.len().min(at + 100)];
    String::from_utf8_lossy(part).into_owned()
}

fn nothing_is_told(log_format: &'static str, sign: &str) {
    let mut aviary = Aviary::open(log_format);
    aviary.everything();
    let output = String::from_utf8_lossy(&aviary.found[&Output]);
    // The logs were on, down to the connections.
    for words in [sign, "TRACE", "http1 handshake complete"] {
        assert!(
            output.contains(words),
            "no {words} in the logs: {output:.4000}"
        );
    }
    every_value_is_where_it_may_be(&aviary);
    aviary.every_file_is_known();
    assert_eq!(aviary.sandbox.ledger().executed_more, 0);
}

#[test]
fn nothing_is_told_in_logs_for_people() {
    nothing_is_told("text", "TRACE pool closed");
}

#[test]
fn nothing_is_told_in_logs_for_programs() {
    nothing_is_told("json", "{\"timestamp\":");
}

#[test]
fn a_password_in_the_environment_is_where_the_operator_put_it_and_nowhere_else() {
    let (world, sandbox) = World::with_sandbox(&Setup::with_callbacks(), &[]);
    world.write_rows("batch.csv", &crate::files::rows(40, 3));
    let mut command = world.command(&[
        "pay",
        "batch.csv",
        "--batch",
        "b",
        "--yes",
        "--rate",
        "20/s",
    ]);
    command
        .env("DISBURSE_PASSWORD", CORE)
        .env("DISBURSE_LOG", "trace");
    let mut run = world.start_as(command);
    run.until("posting", |_| sandbox.ledger().posts >= 4);
    let of = |name: &str| fs::read(format!("/proc/{}/{name}", run.id())).unwrap();
    assert!(
        holds(&of("environ"), CORE.as_bytes()),
        "the test looks at the right process"
    );
    assert!(!holds(&of("cmdline"), CORE.as_bytes()));
    let done = run.wait();
    assert_eq!(done.code, Some(0), "{}", last(&done));
    for entry in walk(&world.path("")) {
        // The gateway keeps no password either.
        assert!(
            !holds(&fs::read(&entry).unwrap(), CORE.as_bytes()),
            "{}",
            entry.display()
        );
    }
}

/// Every file below a folder.
fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(walk(&path));
        } else {
            files.push(path);
        }
    }
    files
}
