//! The server of the section, with its yardsticks: a server of its own on the disk of the build, fsync on, its settings as installed but
//! for the number of connections.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::super::gateway::{BATCH, any_port, client, disburse};
use super::super::process::{Outcome, Process, limit};
use super::fixture::{self, Kind, USER};

/// The scale of `pgbench`: a million accounts, ten branches.
pub const SCALE: u32 = 10;
/// How long `pgbench` runs, in seconds.
const TPC_B_SECONDS: u64 = 5;
const BENCH: &str = "pgbench";

/// What the fixture gives tests in place of the settings as installed.
const AS_INSTALLED: &[&str] = &["shared_buffers=128MB", "dynamic_shared_memory_type=posix"];

pub struct Server {
    server: fixture::Server,
}

impl Server {
    /// Starts it, with the tables of `pgbench`; `None` where PostgreSQL is not installed.
    pub fn start() -> Option<Self> {
        // Beside the build, on a real disk: in memory every fsync would be free.
        let room = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let server = fixture::Server::start_in(room, Kind::Installed, AS_INSTALLED)?;
        Some(Self { server })
    }

    /// Returns what it says of itself.
    pub fn version(&self) -> String {
        let said = self.server.psql("postgres", "select version()");
        let version = said.first().and_then(|row| row.first());
        let version = version.and_then(|text| text.split(" on ").next());
        version.unwrap_or_default().to_owned()
    }

    /// Returns how many transactions of TPC-B it makes each second for so many clients.
    pub fn tpc_b(&self, clients: usize, seconds: u64) -> Outcome<f64> {
        let is_there = format!("select 1 from pg_database where datname = '{BENCH}'");
        if self.server.psql("postgres", &is_there).is_empty() {
            self.server
                .psql("postgres", &format!("create database {BENCH}"));
            self.pgbench(&["-i", "-q", "-s", &SCALE.to_string()])?;
        }
        self.rest();
        let (clients, seconds) = (clients.to_string(), seconds.to_string());
        let told = self.pgbench(&["-c", &clients, "-j", &clients, "-T", &seconds])?;
        let tps = told.lines().find_map(|line| line.strip_prefix("tps = "));
        let tps = tps.and_then(|text| text.split(' ').next());
        Ok(tps.ok_or("pgbench does not say its rate")?.parse()?)
    }

    fn pgbench(&self, arguments: &[&str]) -> Outcome<String> {
        let mut command = self.command(BENCH);
        command.args(arguments).arg(BENCH);
        Ok(Process::start(&mut command, limit(100_000))?.wait()?.out)
    }

    /// One of its programs, as a client of it.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.server.program(name));
        command
            .env("PGHOST", "127.0.0.1")
            .env("PGPORT", self.server.port().to_string())
            .env("PGUSER", USER);
        command
    }

    /// Writes what waits, so that one measure does not pay for another.
    pub fn rest(&self) {
        self.server.psql("postgres", "checkpoint");
    }

    /// Copies a CSV file of rows into a bare table of texts; returns how long that took.
    pub fn copy(&self, file: &Path, rows: usize) -> Outcome<f64> {
        let database = Database::make(&self.server);
        let columns =
            "reference, service_code, msisdn, amount, currency_code, customer_names, narration";
        let table = columns.replace(',', " text,");
        database.psql(&format!("create table bare ({table} text)"));
        self.rest();
        let copy = format!("\\copy bare from '{}' csv header", file.display());
        let mut command = self.command("psql");
        command.args(["-q", "-d", &database.name, "-c", &copy]);
        let ended = Process::start(&mut command, limit(rows))?.wait()?;
        let found = database.psql("select count(*) from bare");
        match found
            .first()
            .and_then(|row| row.first()?.parse::<usize>().ok())
        {
            Some(found) if found == rows => Ok(ended.seconds),
            _ => Err(format!("of {rows} rows {found:?} were copied").into()),
        }
    }

    /// Makes an empty journal.
    pub fn journal(&self, folder: &Path) -> Outcome<Database<'_>> {
        let database = Database::make(&self.server);
        let mut command = disburse(folder);
        command.args(["journal", "init", &database.address()]);
        Process::start(&mut command, limit(1))?.wait()?;
        Ok(database)
    }

    pub fn socket(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.server.port()))
    }
}

/// How long a measure of `pgbench` takes.
pub fn tpc_b_seconds() -> u64 {
    TPC_B_SECONDS
}

/// A database, which is there as long as this.
pub struct Database<'s> {
    server: &'s fixture::Server,
    name: String,
}

impl<'s> Database<'s> {
    fn make(server: &'s fixture::Server) -> Self {
        let name = server.database();
        Self { server, name }
    }

    pub fn address(&self) -> String {
        self.server.address(&self.name)
    }

    /// Returns its address behind another port.
    pub fn address_at(&self, port: u16) -> String {
        format!("postgres://{USER}@127.0.0.1:{port}/{}", self.name)
    }

    pub fn psql(&self, statements: &str) -> Vec<Vec<String>> {
        self.server.psql(&self.name, statements)
    }

    /// Loads a file of rows; returns how long that took, and the most memory that it had.
    pub fn load(&self, folder: &Path, file: &Path, rows: usize) -> Outcome<(f64, u64)> {
        let mut command = client(folder, any_port())?;
        command
            .env("DISBURSE_JOURNAL", self.address())
            .arg("load")
            .arg(file)
            .args(["--batch", BATCH]);
        let ended = Process::start(&mut command, limit(rows))?.wait()?;
        Ok((ended.seconds, ended.peak_kib))
    }

    /// Returns how large its tables are, with their indexes and all.
    pub fn bytes(&self) -> Outcome<u64> {
        let told = self.psql(
            "select sum(pg_total_relation_size(c.oid)) from pg_class c
            join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'disburse' and c.relkind = 'r'",
        );
        let bytes = told.first().and_then(|row| row.first()?.parse().ok());
        Ok(bytes.ok_or("the server does not say how large its tables are")?)
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        let name = &self.name;
        let drop = format!("drop database {name} with (force)");
        // It ends with the server at the latest.
        let _ = self.server.try_psql("postgres", &drop);
    }
}

/// How long a run that is killed may keep its payments, by the documents.
pub fn lease() -> Duration {
    disburse::journal::LEASE
}
