//! Where the instructions go: our program under valgrind's callgrind, whose counts hardly differ from run to run.
//!
//! A work is counted with a tenth of the rows and with all of them, so that what a process does once is left out.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;

use super::process::Outcome;
use super::table;
use super::tools::Tool;
use super::works::{Bench, Work};

/// Callgrind is fifty times as slow as the processor.
const ROWS_MAX: usize = 10_000;

pub const NAME: &str = "instructions";
pub const NOTE: &str = "instructions of the client for each payment by callgrind, and the functions that they are in (without what these call; the kernel's are not seen, and processor features that callgrind does not know are not used)";

const WORKS: [(&str, Work); 7] = [
    ("load-csv", Work::LoadCsv),
    ("load-jsonl", Work::LoadJsonl),
    ("run", Work::Run),
    ("run-packets", Work::RunPackets),
    ("run-callbacks", Work::RunCallbacks),
    ("report", Work::Report),
    ("verify", Work::Verify),
];

/// Counts every work and prints a line for each; `false` when one could not be counted.
pub fn count(bench: &Bench) -> Outcome<bool> {
    let valgrind = match bench.tools.find(Tool::Valgrind) {
        Ok(valgrind) => valgrind.to_owned(),
        Err(why) => {
            println!("{NAME}: skipped: {why}");
            return Ok(false);
        }
    };
    let rows = bench.sizes.rows.min(ROWS_MAX);
    let fewer = rows.div_ceil(10);
    let mut complete = true;
    for (name, work) in WORKS {
        eprintln!("{NAME}, {name} ...");
        let counted = |rows| counted(bench, &valgrind, work, rows);
        match (counted(fewer), counted(rows)) {
            (Ok(fixed), Ok(all)) => println!("{}", line(name, &fixed, &all, rows - fewer)),
            (Err(error), _) | (_, Err(error)) => {
                complete = false;
                println!("{NAME} {name}: failed: {error}");
            }
        }
    }
    Ok(complete)
}

/// Counts one work of few rows.
pub fn try_out(bench: &Bench) -> Outcome<()> {
    let valgrind = bench.tools.find(Tool::Valgrind)?;
    let parts = counted(bench, valgrind, Work::LoadCsv, bench.sizes.rows)?;
    match ["SQLite", "journal", "hashing"].map(|part| parts.contains_key(part)) {
        [true, true, true] => Ok(()),
        _ => Err(format!("{NAME}: only {parts:?}").into()),
    }
}

fn counted(bench: &Bench, valgrind: &Path, work: Work, rows: usize) -> Outcome<Parts> {
    let out = bench.stock.borrow_mut().folder()?.join("callgrind.out");
    let (program, file) = (valgrind.to_owned(), out.clone());
    let host = move |command: &Command| under_callgrind(&program, &file, command);
    bench.measure_under(Box::new(host), work, rows)?;
    parts(&out)
}

/// Returns the same command as a guest of callgrind.
fn under_callgrind(valgrind: &Path, out: &Path, command: &Command) -> Command {
    let mut guest = Command::new(valgrind);
    let mut file = std::ffi::OsString::from("--callgrind-out-file=");
    file.push(out);
    guest
        .args(["--tool=callgrind", "--quiet"])
        .arg(file)
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
    if let Some(folder) = command.get_current_dir() {
        guest.current_dir(folder);
    }
    guest
}

type Parts = BTreeMap<&'static str, u64>;

fn line(name: &str, fixed: &Parts, all: &Parts, rows: usize) -> String {
    let mut parts: Vec<(f64, &str)> = all
        .iter()
        .map(|(part, count)| {
            let fixed = fixed.get(part).copied().unwrap_or(0);
            (count.saturating_sub(fixed) as f64 / rows as f64, *part)
        })
        .collect();
    parts.sort_by(|one, other| other.0.total_cmp(&one.0));
    let whole: f64 = parts.iter().map(|(count, _)| count).sum();
    let told: Vec<String> = parts
        .iter()
        .filter(|(count, _)| count * 200.0 >= whole)
        .map(|(count, part)| format!("{part} {:.0} %", 100.0 * count / whole))
        .collect();
    let whole = table::grouped(&format!("{whole:.0}"));
    format!("{NAME} {name:<14} {whole:>8}: {}", told.join(", "))
}

/// Adds up what callgrind counted in the functions themselves, by what they are for.
fn parts(out: &Path) -> Outcome<Parts> {
    let mut parts = Parts::new();
    // A name stands behind its number where it is met first.
    let mut names: HashMap<String, &'static str> = HashMap::new();
    let mut objects: HashMap<String, bool> = HashMap::new();
    let (mut ours, mut callee_is_ours) = (false, false);
    let mut part = OTHER;
    let mut called = false;
    for line in BufReader::new(File::open(out)?).lines() {
        let line = line?;
        if let Some(object) = line.strip_prefix("ob=") {
            ours = is_ours(&mut objects, object);
            callee_is_ours = ours;
        } else if let Some(object) = line.strip_prefix("cob=") {
            callee_is_ours = is_ours(&mut objects, object);
        } else if let Some(function) = line.strip_prefix("fn=") {
            part = part_of(&mut names, function, ours);
        } else if let Some(function) = line.strip_prefix("cfn=") {
            part_of(&mut names, function, callee_is_ours);
            callee_is_ours = ours;
        } else if line.starts_with("calls=") {
            called = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            // What a function spent in those that it called is counted there.
            if !std::mem::take(&mut called) {
                let count = line
                    .split(' ')
                    .nth(1)
                    .and_then(|count| count.parse::<u64>().ok());
                *parts.entry(part).or_default() += count.ok_or("not callgrind's format")?;
            }
        }
    }
    match parts.is_empty() {
        true => Err("callgrind counted nothing".into()),
        false => Ok(parts),
    }
}

/// Returns whether an object is our program.
fn is_ours(objects: &mut HashMap<String, bool>, object: &str) -> bool {
    let (number, name) = object.split_once(' ').unwrap_or((object, ""));
    if !name.is_empty() {
        objects.insert(number.to_owned(), name.ends_with("/disburse"));
    }
    objects.get(number).copied().unwrap_or(false)
}

fn part_of(names: &mut HashMap<String, &'static str>, function: &str, ours: bool) -> &'static str {
    let (number, name) = function.split_once(' ').unwrap_or((function, ""));
    if !name.is_empty() {
        names.insert(number.to_owned(), named(name, ours));
    }
    names.get(number).copied().unwrap_or(OTHER)
}

const OTHER: &str = "others";

/// What functions are for, by the first names in their paths.
const PATHS: &[(&str, &str)] = &[
    ("disburse::journal", "journal"),
    ("disburse::intake", "intake"),
    ("disburse::gateway", "gateway"),
    ("disburse::callback", "callbacks"),
    ("disburse::engine", "engine"),
    ("disburse::lifecycle", "engine"),
    ("disburse::report", "report"),
    ("disburse", "the rest of disburse"),
    ("rusqlite", "rusqlite"),
    ("sha2", "hashing"),
    ("rlibphonenumber", "phone metadata"),
    ("regex", "phone metadata"),
    ("serde", "JSON"),
    ("csv", "intake"),
    ("memchr", "intake"),
    ("hyper", "HTTP"),
    ("http", "HTTP"),
    ("tower", "HTTP"),
    ("tokio", "tokio"),
    ("tracing", "tracing"),
];

fn named(name: &str, ours: bool) -> &'static str {
    if !ours {
        return match name.starts_with("mem") || name.starts_with("__mem") {
            true => "copying and comparing",
            false => "allocator and system calls",
        };
    }
    if !name.contains("::") {
        return "SQLite";
    }
    let path = name.trim_start_matches(|mark: char| "<&(*[ ".contains(mark));
    let path = path.strip_prefix("mut ").unwrap_or(path);
    let found = PATHS.iter().find(|(first, _)| path.starts_with(first));
    found.map_or(OTHER, |(_, part)| part)
}
