//! The sandbox gateway in a process of its own, and the client's folder beside it.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::process::{Outcome, Process, until};

pub const DISBURSE: &str = env!("CARGO_BIN_EXE_disburse");
pub const BATCH: &str = "bench";
const START_MAX: Duration = Duration::from_secs(20);
const LIFE_MAX: Duration = Duration::from_secs(4 * 3600);

/// A sandbox, without faults where none are asked for.
pub struct Gateway {
    // Ended with this.
    _process: Process,
    pub address: SocketAddr,
}

impl Gateway {
    pub fn start(folder: &Path, options: &[&str]) -> Outcome<Self> {
        Self::start_at(any_port(), folder, options)
    }

    pub fn start_at(listen: SocketAddr, folder: &Path, options: &[&str]) -> Outcome<Self> {
        // A folder without a configuration: the services are those of the rehearsal.
        let folder = folder.join("sandbox");
        fs::create_dir_all(&folder)?;
        let mut command = disburse(&folder);
        command
            .args(["sandbox", "--json", "--listen"])
            .arg(listen.to_string())
            .args(options);
        if !options.contains(&"--faults") {
            command.args(["--faults", "none"]);
        }
        let process = Process::start(&mut command, LIFE_MAX)?;
        until(START_MAX, || {
            process.out().ends_with('\n') || process.is_over()
        });
        let Ok(said) = serde_json::from_str::<Value>(&process.out()) else {
            process.signal(Signal::KILL);
            process.wait()?;
            return Err("the sandbox does not say where it listens".into());
        };
        let url = said["base_url"].as_str().unwrap_or_default();
        let address = url.trim_start_matches("http://").parse()?;
        Ok(Self {
            _process: process,
            address,
        })
    }

    /// Reads the sums of the ledger.
    pub fn ledger(&self) -> Outcome<Value> {
        let mut stream = TcpStream::connect_timeout(&self.address, START_MAX)?;
        stream.set_read_timeout(Some(START_MAX))?;
        let request = "GET /sandbox/ledger?summary=true HTTP/1.1\r\nhost: sandbox\r\nconnection: close\r\n\r\n";
        stream.write_all(request.as_bytes())?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        let (_, body) = reply.split_once("\r\n\r\n").ok_or("no ledger")?;
        Ok(serde_json::from_str(body)?)
    }

    /// Refuses a measure whose payments did not all arrive once, or are not all settled.
    pub fn expect(&self, rows: usize, settled: bool) -> Outcome<()> {
        let ledger = self.ledger()?;
        let number = |name: &str| ledger[name].as_u64().unwrap_or(0);
        let reached = number("executed_once") + if settled { 0 } else { number("pending") };
        if reached != rows as u64 || number("executed_more") != 0 || number("altered") != 0 {
            return Err(format!("of {rows} payments the ledger says {ledger}").into());
        }
        Ok(())
    }
}

pub fn any_port() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

/// Returns an address that nothing listens at.
pub fn free_address() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind(any_port())?.local_addr()?)
}

/// The program in a folder, with nothing of this process' environment.
pub fn disburse(folder: &Path) -> Command {
    let mut command = Command::new(DISBURSE);
    command
        .current_dir(folder)
        .env_clear()
        .env("HOME", folder)
        .env("DISBURSE_PASSWORD", "bench");
    command
}

/// The program as a client of a gateway; without a port, of one that is not known yet: what is loaded goes where it is run first.
pub fn client(folder: &Path, gateway: SocketAddr) -> Outcome<Command> {
    fs::write(folder.join("disburse.toml"), CONFIGURATION)?;
    let mut command = disburse(folder);
    if gateway.port() != 0 {
        command.env("DISBURSE_BASE_URL", format!("http://{gateway}"));
    }
    Ok(command)
}

// No limit but the concurrency that it has by default; the status is asked as soon as a person would dare.
const CONFIGURATION: &str = r#"default_profile = "bench"
[profiles.bench]
username = "bench"
originator = "bench"
country_code = "KE"
currency_code = "KES"
time_zone = "Africa/Nairobi"
limits.rate = "1000000/s"
limits.query_rate = "1000000/s"
resolution.first_query_after = "500ms"
resolution.query_backoff_max = "2s"
resolution.callback_grace = "500ms"
[services.B2C_MPESA]
kind = "mobile_money"
currency_code = "KES"
min = "10.00"
max = "250000.00"
"#;
