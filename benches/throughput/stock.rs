//! What measures start from: files of rows, journals that are loaded, half done or finished.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::gateway::{BATCH, Gateway, any_port, client, free_address};
use super::process::{Outcome, Process, limit};
use super::watch::Watch;

/// The folder of all measures, and what is in it already.
pub struct Stock {
    folder: tempfile::TempDir,
    next: usize,
    files: BTreeMap<usize, PathBuf>,
    finished: BTreeMap<usize, PathBuf>,
    body: Option<(String, String)>,
}

impl Stock {
    pub fn new() -> Outcome<Self> {
        // Beside the build, on a real disk: a temporary folder in memory would make every fsync free.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        Ok(Self {
            folder,
            next: 0,
            files: BTreeMap::new(),
            finished: BTreeMap::new(),
            body: None,
        })
    }

    /// Makes an empty folder.
    pub fn folder(&mut self) -> Outcome<PathBuf> {
        self.next += 1;
        let folder = self.folder.path().join(self.next.to_string());
        fs::create_dir(&folder)?;
        Ok(folder)
    }

    /// Returns a folder with so many rows as `rows.csv` and `rows.jsonl`.
    pub fn files(&mut self, rows: usize) -> Outcome<PathBuf> {
        if let Some(folder) = self.files.get(&rows) {
            return Ok(folder.clone());
        }
        let folder = self.folder()?;
        write_rows(&folder, rows)?;
        self.files.insert(rows, folder.clone());
        Ok(folder)
    }

    /// Returns how many bytes a row of the CSV file has.
    pub fn bytes_per_row(&mut self, rows: usize) -> Outcome<f64> {
        let file = self.files(rows)?.join("rows.csv");
        Ok(fs::metadata(file)?.len() as f64 / rows as f64)
    }

    /// Loads so many rows into a journal in this folder. A copy of a loaded journal would not do: it asks before it posts.
    pub fn load_into(&mut self, folder: &Path, rows: usize) -> Outcome<()> {
        let file = self.files(rows)?.join("rows.csv");
        let mut command = client(folder, any_port())?;
        command.arg("load").arg(file).args(["--batch", BATCH]);
        Process::start(&mut command, limit(rows))?.wait().map(drop)
    }

    /// Returns the folder of a journal whose batch of so many rows is finished.
    pub fn finished(&mut self, rows: usize) -> Outcome<PathBuf> {
        if let Some(finished) = self.finished.get(&rows) {
            return Ok(finished.clone());
        }
        let folder = self.folder()?;
        let (gateway, address) = self.half_into(&folder, rows)?;
        run(&folder, address, rows)?;
        gateway.expect(rows, true)?;
        self.finished.insert(rows, folder.clone());
        Ok(folder)
    }

    /// Makes a journal in this folder of which half is paid, and the rest not posted yet: exactly so many are left. A copy of one
    /// would not do: it asks before it posts.
    pub fn half_into(&mut self, folder: &Path, rows: usize) -> Outcome<(Gateway, SocketAddr)> {
        let address = free_address()?;
        let gateway = Gateway::start_at(address, folder, &[])?;
        let load = |arguments: &[&str], file: &Path| -> Outcome<()> {
            let mut command = client(folder, address)?;
            command.args(["load", "--batch", BATCH]).args(arguments);
            Process::start(command.arg(file), limit(rows))?
                .wait()
                .map(drop)
        };
        load(&[], &self.files(rows / 2)?.join("rows.csv"))?;
        run(folder, address, rows)?;
        load(&["--amend"], &self.files(rows)?.join("rows.csv"))?;
        Ok((gateway, address))
    }

    /// Writes so many bodies, a line each, like one that the program itself has posted: each with another identifier.
    pub fn bodies(&mut self, lines: usize) -> Outcome<PathBuf> {
        let path = self.folder.path().join(format!("bodies-{lines}"));
        if path.exists() {
            return Ok(path);
        }
        if self.body.is_none() {
            self.body = Some(self.genuine_body()?);
        }
        let (head, tail) = self.body.as_ref().ok_or("no body")?;
        let mut out = BufWriter::new(File::create(&path)?);
        for line in 1..=lines {
            writeln!(out, "{head}{line:026}{tail}")?;
        }
        out.flush()?;
        Ok(path)
    }

    /// Returns what stands before and behind the identifier in a body that the program has posted.
    fn genuine_body(&mut self) -> Outcome<(String, String)> {
        let folder = self.folder()?;
        self.load_into(&folder, 1)?;
        let gateway = Gateway::start(&folder, &[])?;
        let watch = Watch::start(any_port(), gateway.address)?;
        let mut command = client(&folder, watch.address())?;
        command.args(["run", BATCH, "--yes", "--quiet"]);
        Process::start(&mut command, limit(1))?.wait()?;
        let body = String::from_utf8(watch.first_body())?;
        let value: Value = serde_json::from_str(&body)?;
        let id = value["payload"]["packet"][0]["payerTransactionID"].as_str();
        let id = id.ok_or("the body has no identifier")?;
        let (head, tail) = body.split_once(id).ok_or("the identifier is not there")?;
        Ok((head.to_owned(), tail.to_owned()))
    }
}

/// Runs a batch until it is finished, twenty payments to a request: this is what is measured from, not what is measured.
fn run(folder: &Path, gateway: SocketAddr, rows: usize) -> Outcome<()> {
    let mut command = client(folder, gateway)?;
    command.env("DISBURSE_PACKETS_PER_REQUEST", "20").args([
        "run",
        BATCH,
        "--yes",
        "--quiet",
        "--poll-only",
    ]);
    Process::start(&mut command, limit(rows))?.wait().map(drop)
}

/// Returns how large a journal is, with what SQLite keeps beside it.
pub fn journal_bytes(folder: &Path) -> u64 {
    ["disburse.db", "disburse.db-wal"]
        .iter()
        .filter_map(|name| fs::metadata(folder.join(name)).ok())
        .map(|metadata| metadata.len())
        .sum()
}

/// Writes the same payments as CSV and as JSON lines.
fn write_rows(folder: &Path, rows: usize) -> Outcome<()> {
    let mut random = fastrand::Rng::with_seed(2026);
    let mut csv = BufWriter::new(File::create(folder.join("rows.csv"))?);
    let mut json_lines = BufWriter::new(File::create(folder.join("rows.jsonl"))?);
    writeln!(
        csv,
        "reference,service_code,msisdn,amount,currency_code,customer_names,narration"
    )?;
    for row in 1..=rows {
        let msisdn = format!("2547{}{:07}", random.u8(1..=2), random.u32(..10_000_000));
        let amount = format!("{}.{:02}", random.u32(100..5_000), random.u8(..100));
        writeln!(
            csv,
            "EMP-{row:07},B2C_MPESA,{msisdn},{amount},KES,Wanjiku Kamau Njoroge,Salary for November"
        )?;
        writeln!(
            json_lines,
            r#"{{"reference":"EMP-{row:07}","service_code":"B2C_MPESA","msisdn":"{msisdn}","amount":{amount},"currency_code":"KES","customer_names":"Wanjiku Kamau Njoroge","narration":"Salary for November"}}"#
        )?;
    }
    for file in [&mut csv, &mut json_lines] {
        file.flush()?;
        file.get_ref().sync_all()?;
    }
    Ok(())
}
