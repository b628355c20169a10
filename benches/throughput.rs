//! How fast a batch of 100,000 rows is loaded, paid and reported, by the release binary itself, as one table.
//!
//! `cargo bench` runs everything, `cargo bench -- load` the lines whose name holds `load`, and
//! `cargo bench -- --rows 10000` the same with fewer rows. Each line is measured three times; the middle one counts.
//! The gateway of `run` is the sandbox without faults, in the same process: its work is part of the figure.
#![allow(clippy::print_stdout, reason = "the table is what this program is for")]

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

const DISBURSE: &str = env!("CARGO_BIN_EXE_disburse");
const RUNS: usize = 3;
const ROWS: usize = 100_000;
const BATCH: &str = "bench";

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1).collect::<Vec<_>>();
    // `cargo test --all-targets` starts this program as well, without the flag that `cargo bench` gives.
    let Some(flag) = arguments.iter().position(|argument| argument == "--bench") else {
        println!("nothing to test here; `cargo bench` measures");
        return Ok(());
    };
    arguments.remove(flag);
    let mut rows = ROWS;
    if let Some(at) = arguments.iter().position(|argument| argument == "--rows") {
        rows = arguments
            .get(at + 1)
            .ok_or("--rows wants a number")?
            .parse()?;
        arguments.drain(at..=at + 1);
    }
    let bench = Bench::prepare(rows)?;
    println!(
        "{:<34} {:>9}  {:>19}  {:>18}  {:>11}",
        format!("{rows} rows"),
        "median",
        format!("of {RUNS} runs"),
        "rate",
        "peak memory"
    );
    for line in LINES {
        if arguments.is_empty() || arguments.iter().any(|filter| line.name.contains(filter)) {
            println!("{}", bench.measure(line)?);
        }
    }
    Ok(())
}

/// One line of the table.
struct Line {
    name: &'static str,
    what: &'static str,
    run: fn(&Bench, &Path) -> Outcome<Measure>,
}

const LINES: &[Line] = &[
    Line {
        name: "load-csv",
        what: "rows",
        run: |bench, folder| bench.load(folder, "rows.csv"),
    },
    Line {
        name: "load-jsonl",
        what: "rows",
        run: |bench, folder| bench.load(folder, "rows.jsonl"),
    },
    Line {
        name: "run",
        what: "payments",
        run: Bench::run,
    },
    Line {
        name: "report (html, csv and json)",
        what: "rows",
        run: Bench::report,
    },
    Line {
        name: "status",
        what: "",
        run: Bench::status,
    },
];

/// What one run of the binary took.
#[derive(Clone, Copy)]
struct Measure {
    time: Duration,
    peak_kib: u64,
}

/// The files that all lines start from.
struct Bench {
    rows: usize,
    folder: tempfile::TempDir,
}

impl Bench {
    fn prepare(rows: usize) -> Outcome<Self> {
        // Beside the build, on a real disk: a temporary folder in memory would make every fsync free.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let bench = Self { rows, folder };
        write_rows(&bench.path("rows.csv"), &bench.path("rows.jsonl"), rows)?;
        let loaded = bench.path("loaded");
        fs::create_dir(&loaded)?;
        bench.load(&loaded, "rows.csv")?;
        Ok(bench)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn measure(&self, line: &Line) -> Outcome<String> {
        let mut measures = Vec::new();
        for index in 0..RUNS {
            let folder = self.path(&format!("{}-{index}", line.name.replace(' ', "-")));
            fs::create_dir(&folder)?;
            measures.push((line.run)(self, &folder)?);
        }
        measures.sort_by_key(|measure| measure.time);
        let seconds = |measure: &Measure| measure.time.as_secs_f64();
        let median = measures[RUNS / 2];
        let peak = measures.iter().map(|measure| measure.peak_kib).max();
        let rate = match line.what {
            "" => String::new(),
            what => format!("{:.0} {what}/s", self.rows as f64 / seconds(&median)),
        };
        let mut text = String::new();
        write!(
            text,
            "{:<34} {:>7.3} s  {:>17}  {rate:>18}  ",
            line.name,
            seconds(&median),
            format!(
                "{:.3} to {:.3} s",
                seconds(&measures[0]),
                seconds(&measures[RUNS - 1])
            ),
        )?;
        match peak {
            Some(kib @ 1..) => write!(text, "{:>7.1} MiB", kib as f64 / 1024.0)?,
            _ => write!(text, "{:>11}", "-")?,
        }
        Ok(text)
    }

    fn load(&self, folder: &Path, file: &str) -> Outcome<Measure> {
        let file = self.path(file);
        let (measure, _) = disburse(
            folder,
            &["load", &text(&file), "--batch", BATCH, "--sandbox"],
        )?;
        Ok(measure)
    }

    fn run(&self, folder: &Path) -> Outcome<Measure> {
        copy_journal(&self.path("loaded"), folder)?;
        let arguments = [
            "run",
            BATCH,
            "--sandbox",
            "--faults",
            "none",
            "--rate",
            "100000/s",
        ];
        let (measure, said) = disburse(folder, &arguments)?;
        let expected = format!("executed once: {}, twice: 0", self.rows);
        if !said.contains(&expected) {
            return Err(format!("the ledger does not say {expected:?}:\n{said}").into());
        }
        // The report is made of what was paid; the last run's journal serves.
        let paid = self.path("paid");
        let _ = fs::remove_dir_all(&paid);
        fs::create_dir(&paid)?;
        copy_journal(folder, &paid)?;
        Ok(measure)
    }

    /// Returns the folder of a journal whose batch is paid.
    fn paid(&self) -> Outcome<PathBuf> {
        let paid = self.path("paid");
        if !paid.exists() {
            let folder = self.path("run-unmeasured");
            fs::create_dir(&folder)?;
            self.run(&folder)?;
        }
        Ok(paid)
    }

    fn report(&self, folder: &Path) -> Outcome<Measure> {
        let out = text(&folder.join("report"));
        Ok(disburse(&self.paid()?, &["report", BATCH, "--out", &out])?.0)
    }

    fn status(&self, _: &Path) -> Outcome<Measure> {
        Ok(disburse(&self.paid()?, &["status", BATCH])?.0)
    }
}

/// Writes the same payments as CSV and as JSON lines.
fn write_rows(csv: &Path, json_lines: &Path, rows: usize) -> Outcome<()> {
    let mut random = fastrand::Rng::with_seed(2026);
    let mut csv = BufWriter::new(fs::File::create(csv)?);
    let mut json_lines = BufWriter::new(fs::File::create(json_lines)?);
    writeln!(
        csv,
        "reference,service_code,msisdn,amount,currency_code,customer_names,narration"
    )?;
    for row in 1..=rows {
        let msisdn = format!("2547{}{:07}", random.u8(1..=2), random.u32(..10_000_000));
        let amount = format!("{}.{:02}", random.u32(1_000..100_000), random.u8(..100));
        writeln!(
            csv,
            "EMP-{row:07},B2C_MPESA,{msisdn},{amount},KES,Wanjiku Kamau,Salary"
        )?;
        writeln!(
            json_lines,
            r#"{{"reference":"EMP-{row:07}","service_code":"B2C_MPESA","msisdn":"{msisdn}","amount":{amount},"currency_code":"KES","customer_names":"Wanjiku Kamau","narration":"Salary"}}"#
        )?;
    }
    csv.flush()?;
    json_lines.flush()?;
    Ok(())
}

/// Runs the binary in a folder, to its end, and returns what it took and what it printed.
fn disburse(folder: &Path, arguments: &[&str]) -> Outcome<(Measure, String)> {
    let started = Instant::now();
    let child = Command::new(DISBURSE)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let ended = Arc::new(AtomicBool::new(false));
    let watch = watch_memory(child.id(), Arc::clone(&ended));
    let output = child.wait_with_output()?;
    let time = started.elapsed();
    ended.store(true, Ordering::Relaxed);
    let peak_kib = watch.join().map_err(|_| "the memory's watcher failed")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "disburse {}: {}\n{said}",
            arguments.join(" "),
            output.status
        )
        .into());
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok((Measure { time, peak_kib }, said))
}

/// Reads the peak of a process' resident memory until it ends; zero where there is no `/proc`.
fn watch_memory(process: u32, ended: Arc<AtomicBool>) -> std::thread::JoinHandle<u64> {
    std::thread::spawn(move || {
        let path = format!("/proc/{process}/status");
        let mut peak = 0;
        while !ended.load(Ordering::Relaxed) {
            let status = fs::read_to_string(&path).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            peak = peak.max(kib.unwrap_or(0));
            std::thread::sleep(Duration::from_millis(2));
        }
        peak
    })
}

fn copy_journal(from: &Path, to: &Path) -> Outcome<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with("disburse.db") {
            fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
