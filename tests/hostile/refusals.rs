//! Journals on a server that cannot be used: each command says what is wrong and what to do, and nothing is sent.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use super::fixture::{Kind, PASSWORD, Server, free_port, not_checked, shared};
use super::gateway::Gateway;
use super::office::{BATCH, Ended, Office, Setup};
use super::oracle::check;
use super::script::Mixed;

const PAY: [&str; 5] = ["pay", "batch.csv", "--batch", BATCH, "--yes"];

/// An office, and the gateway that must hear nothing of it.
struct Desk {
    gateway: Gateway,
    office: Office,
}

impl Desk {
    fn open() -> Self {
        let gateway = Gateway::start(Mixed::new(720));
        let setup = Setup {
            rows: 30,
            breaker_losses: 30,
            ..Setup::default()
        };
        let office = Office::open(&gateway, setup);
        Self { gateway, office }
    }

    /// Gives a command about a journal with its password in a file.
    fn says(&self, journal: &str, password: &str, words: &[&str]) -> Ended {
        let file = self.office.path("journal-password");
        fs::write(&file, password).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let said = Command::new(env!("CARGO_BIN_EXE_disburse"))
            .args(words)
            .env_clear()
            .env("DISBURSE_PASSWORD", super::office::PASSWORD)
            .env("DISBURSE_JOURNAL", journal)
            .env("DISBURSE_JOURNAL_PASSWORD_FILE", &file)
            .current_dir(self.office.folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ended {
            code: said.status.code(),
            out: text(said.stdout),
            err: text(said.stderr),
        }
    }

    /// Tries to pay, to run and to load with a journal that cannot be used.
    fn is_refused(&self, journal: &str, password: &str, code: i32, sentences: &[&str]) {
        for words in [
            &PAY[..],
            &["run", BATCH, "--yes"],
            &["load", "batch.csv", "--batch", BATCH],
            &["listen"],
        ] {
            let ended = self.says(journal, password, words);
            let text = format!("{journal}: {words:?}: {ended:?}");
            assert_eq!(ended.code, Some(code), "{text}");
            for sentence in sentences {
                assert!(ended.err.contains(sentence), "{sentence}: {text}");
            }
            let errors = ended.err.lines().filter(|line| line.starts_with("error:"));
            assert_eq!(errors.count(), 1, "{text}");
            assert!(!ended.err.contains(PASSWORD), "{text}");
            assert_eq!(self.gateway.ledger.posts(), 0, "{text}");
        }
    }
}

#[test]
fn a_journal_that_is_not_there_or_of_another_release_is_refused() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let desk = Desk::open();
    let away = format!("postgres://disburse@127.0.0.1:{}/pay", free_port());
    let said = ["cannot be reached", "Check that the server is up"];
    desk.is_refused(&away, PASSWORD, 4, &said);
    let said = ["has no database nowhere", "correct the address"];
    desk.is_refused(&server.address("nowhere"), PASSWORD, 2, &said);
    let database = server.database();
    let journal = server.address(&database);
    let said = [
        "has no journal.",
        "do not make another",
        "disburse journal init",
    ];
    desk.is_refused(&journal, PASSWORD, 2, &said);
    let made = desk.says(&journal, PASSWORD, &["journal", "init", &journal]);
    assert_eq!(made.code, Some(0), "{made:?}");
    server.psql(&database, "update disburse.schema_version set version = 0");
    let said = ["schema 0, of an earlier release", "disburse journal copy"];
    desk.is_refused(&journal, PASSWORD, 2, &said);
    server.psql(
        &database,
        "update disburse.schema_version set version = 3; update disburse.turn set oldest = 2",
    );
    let said = ["schema 3, of a later release", "update this program"];
    desk.is_refused(&journal, PASSWORD, 2, &said);
    server.psql(
        &database,
        "update disburse.schema_version set version = 1; update disburse.turn set oldest = 1",
    );
    let user = format!("stranger_of_{database}");
    server.psql(&database, &format!("create role {user} login"));
    let strange = journal.replace("disburse@", &format!("{user}@"));
    let said = ["lacks rights", "disburse journal init prints"];
    desk.is_refused(&strange, PASSWORD, 2, &said);
    let sandbox = desk.says(&journal, PASSWORD, &[&PAY[..], &["--sandbox"]].concat());
    assert_eq!(sandbox.code, Some(2), "{sandbox:?}");
    assert!(
        sandbox.err.contains("a rehearsal (--sandbox)") && sandbox.err.contains("--journal FILE"),
        "{sandbox:?}"
    );
}

/// Certificates of an authority and of a server, which has expired.
fn expired() -> [(&'static str, String); 3] {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let root = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, key);
    let own = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2019, 1, 1);
    params.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let certificate = params.signed_by(&own, &issuer).unwrap();
    [
        ("root.crt", root.pem()),
        ("server.crt", certificate.pem()),
        ("server.key", own.serialize_pem()),
    ]
}

#[test]
fn a_server_that_lets_nobody_in_or_only_reads_is_refused() {
    let Some(server) = Server::start(Kind::Installed, &[]) else {
        return;
    };
    let desk = Desk::open();
    let database = server.database();
    let plain = server.address(&database);
    let made = desk.says(&plain, PASSWORD, &["journal", "init", &plain]);
    assert_eq!(made.code, Some(0), "{made:?}");
    server.psql(
        &database,
        &format!("create role asked login superuser password '{PASSWORD}'"),
    );
    for (name, text) in expired() {
        match name {
            "root.crt" => fs::write(desk.office.path(name), text).unwrap(),
            _ => server.write(name, &text),
        }
    }
    server.write(
        "pg_hba.conf",
        "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\nhost all all ::1/128 scram-sha-256\n",
    );
    server.psql("postgres", "alter system set ssl = on");
    server.stop("fast");
    server.run();
    let asked = plain.replace("disburse@", "asked@");
    let said = [
        "refuses the password of asked",
        "Correct the user in the address, or the password there",
    ];
    desk.is_refused(&asked, "another one", 2, &said);
    let root = desk.office.path("root.crt");
    let named = asked.replace("127.0.0.1", "localhost");
    let encrypted = format!("{named}?sslmode=verify-full&sslrootcert={}", root.display());
    let said = ["the certificate of the server", "has expired: renew it"];
    desk.is_refused(&encrypted, PASSWORD, 2, &said);
    server.stop("fast");
    server.write("standby.signal", "");
    server.run();
    let said = ["is a standby, which only reads", "name the primary"];
    desk.is_refused(&asked, PASSWORD, 4, &said);
}

/// A pooler before a server, which ends with the test.
struct Pooler {
    process: Child,
    port: u16,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Pooler {
    fn start(server: &Server, mode: &str) -> Option<Self> {
        let programs = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].map(PathBuf::from);
        let Some(program) = programs.into_iter().find(|path| path.exists()) else {
            not_checked("pgbouncer is not installed (apt-get install pgbouncer)");
            return None;
        };
        let port = free_port();
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (users, settings) = (folder.path().join("users"), folder.path().join("settings"));
        fs::write(&users, "\"disburse\" \"\"\n").unwrap();
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port={port}\nunix_socket_dir=\n\
            auth_type=trust\nauth_file={}\npool_mode={mode}\nlogfile=\npidfile=\n",
            server.port(),
            users.display()
        );
        fs::write(&settings, text).unwrap();
        let mut start = server.ordinary(program);
        start.arg("-q").arg(&settings);
        let process = start.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let pooler = Self {
            process: process.unwrap(),
            port,
        };
        let until = Instant::now() + Duration::from_secs(20);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "the pooler does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(pooler)
    }
}

#[test]
fn a_pooler_by_transactions_is_refused_and_one_by_sessions_is_used() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let mut desk = Desk::open();
    let database = server.database();
    let made = server.address(&database);
    let made = desk.says(&made, PASSWORD, &["journal", "init", &made]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let through =
        |pooler: &Pooler| format!("postgres://disburse@127.0.0.1:{}/{database}", pooler.port);
    let Some(pooler) = Pooler::start(server, "transaction") else {
        return;
    };
    let said = ["a pooler in front of the server", "pool_mode = session"];
    desk.is_refused(&through(&pooler), PASSWORD, 2, &said);
    drop(pooler);
    let Some(pooler) = Pooler::start(server, "session") else {
        return;
    };
    desk.office.journal = Some(through(&pooler));
    let code = desk.office.pay_to_the_end(12);
    let verified = desk.office.call(&["verify", BATCH]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    check("a pooler", &desk.gateway, &desk.office, Some(code));
}
