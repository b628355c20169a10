//! How fast the program is, beside what people would use instead: one table, every figure from the same run.
//!
//! `cargo bench` measures everything, `cargo bench -- load-csv rate` the rows of these names, and
//! `cargo bench -- --rows 10000` everything with fewer rows. `cargo bench -- memory --rows 10000000` looks at the memory
//! of a tenth of the rows and of all of them.
//!
//! The program, the sandbox and the yardsticks are processes of their own. Yardstick and program are measured in turns,
//! five times each; the median counts. Without `--bench`, as `cargo test` starts this program, every row is tried once
//! with few rows and no yardstick, so that the table cannot rot.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the table is what this program is for"
)]

mod gateway;
mod instructions;
#[cfg(feature = "postgres")]
mod postgres;
mod process;
mod rows;
mod stock;
mod table;
mod tools;
#[cfg_attr(
    not(feature = "postgres"),
    allow(dead_code, reason = "journals on a server ask for more of it")
)]
mod watch;
mod works;

use std::collections::BTreeMap;
use std::process::ExitCode;

use process::Outcome;
use rows::{Figure, MEMORY, MEMORY_GOAL, MEMORY_NOTE, ROWS, Row, Yardstick, judge};
use table::Spread;
use tools::Tool;
use works::{Bench, RATE, Sample, Sizes, Until, Work};

const RUNS: usize = 5;
const ROWS_DEFAULT: usize = 1_000_000;

fn main() -> ExitCode {
    #[cfg(feature = "postgres")]
    if let Some((flag, arguments)) = std::env::args().skip(1).collect::<Vec<_>>().split_first()
        && flag == postgres::alone::FLAG
    {
        return ended(postgres::alone::main(arguments).map(|()| true));
    }
    ended(match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) if arguments.bench => measure(&arguments),
        Ok(arguments) => try_out(&arguments),
        Err(error) => Err(error),
    })
}

fn ended(outcome: Outcome<bool>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Arguments {
    /// The flag that `cargo bench` gives.
    bench: bool,
    /// As somebody asked for.
    rows: Option<usize>,
    names: Vec<String>,
    list: bool,
}

impl Arguments {
    fn read(arguments: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut read = Self {
            bench: false,
            rows: None,
            names: Vec::new(),
            list: false,
        };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--bench" => read.bench = true,
                "--list" => read.list = true,
                "--rows" => {
                    let rows = arguments.next().ok_or("--rows wants a number")?;
                    read.rows = Some(rows.parse()?);
                }
                // What `cargo test` passes on to every test.
                flag if flag.starts_with('-') => {}
                name => read.names.push(name.to_owned()),
            }
        }
        if read.rows.is_some_and(|rows| rows < 2) {
            return Err("--rows wants two or more".into());
        }
        let known = |name: &String| {
            [MEMORY, instructions::NAME].contains(&name.as_str())
                || ROWS.iter().any(|row| row.name == name)
                || is_of_postgres(name)
        };
        if let Some(unknown) = read.names.iter().find(|name| read.bench && !known(name)) {
            let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
            let names = names.join(", ");
            let counts = instructions::NAME;
            return Err(format!(
                "no row {unknown}; there are {names}, {MEMORY}, {counts} and postgres"
            )
            .into());
        }
        Ok(read)
    }

    fn selects(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|selected| selected == name)
    }

    fn sizes(&self) -> Sizes {
        let rows = self.rows.unwrap_or(ROWS_DEFAULT);
        Sizes {
            rows,
            payments: rows.min(100_000),
            small: rows.min(1_000),
            // Twenty seconds.
            limited: rows.min(20 * RATE),
        }
    }
}

#[cfg(feature = "postgres")]
fn is_of_postgres(name: &str) -> bool {
    postgres::is_known(name)
}

#[cfg(not(feature = "postgres"))]
fn is_of_postgres(_name: &str) -> bool {
    false
}

/// Prints the table; `false` when a row could not be measured.
fn measure(arguments: &Arguments) -> Outcome<bool> {
    let bench = Bench::new(arguments.sizes())?;
    println!("{}", table::machine());
    let size = |rows: usize| table::grouped(&rows.to_string());
    println!(
        "{} rows, runs of {} payments, {RUNS} measures each, in turns: median (least to greatest)",
        size(bench.sizes.rows),
        size(bench.sizes.payments),
    );
    println!("\n{}", table::head());
    let mut complete = true;
    let mut notes = Vec::new();
    for family in ROWS.chunk_by(|row, next| row.family == next.family) {
        let selected = family.iter().filter(|row| arguments.selects(row.name));
        let rows: Vec<_> = selected.collect();
        let samples = measure_together(&bench, &rows);
        for row in rows {
            let (line, whole) = told(&bench, row, &samples)?;
            println!("{line}");
            complete &= whole;
            notes.push((row.name, row.note));
        }
    }
    if arguments.selects(MEMORY) {
        complete &= memory(&bench)?;
        notes.push((MEMORY, MEMORY_NOTE));
    }
    if arguments.selects(instructions::NAME) {
        complete &= instructions::count(&bench)?;
        notes.push((instructions::NAME, instructions::NOTE));
    }
    println!();
    for (name, note) in notes {
        println!("{name}: {note}.");
    }
    #[cfg(feature = "postgres")]
    {
        let (names, rows) = (&*arguments.names, arguments.rows);
        complete &= postgres::measure(&bench, &postgres::Wanted { names, rows })?;
    }
    for version in bench.tools.versions() {
        println!("{version}");
    }
    Ok(complete)
}

/// What a work was measured as, or why it was not.
type Samples = BTreeMap<Work, Result<Vec<Sample>, String>>;

/// Measures the works of some rows in turns.
fn measure_together(bench: &Bench, rows: &[&Row]) -> Samples {
    let mut works = Vec::new();
    for row in rows {
        if let Yardstick::Work(_, work) = row.yardstick {
            works.push(work);
        }
        works.push(row.ours);
    }
    let mut samples = Samples::new();
    for work in &works {
        // Whose absence is found before anything is measured.
        let there = work.tool().map_or(Ok(()), |tool| {
            bench
                .tools
                .find(tool)
                .map(drop)
                .map_err(|why| format!("skipped: {why}"))
        });
        samples.insert(*work, there.map(|()| Vec::new()));
    }
    for _ in 0..RUNS {
        let mut done = Vec::new();
        for work in &works {
            if done.contains(work) {
                continue;
            }
            done.push(*work);
            if let Some(Ok(known)) = samples.get_mut(work) {
                eprintln!("{work:?}, {} of {RUNS} ...", known.len() + 1);
                match bench.measure(*work) {
                    Ok(sample) => known.push(sample),
                    Err(error) => drop(samples.insert(*work, Err(format!("failed: {error}")))),
                }
            }
        }
    }
    samples
}

/// Returns the line of a row, and whether it is whole.
fn told(bench: &Bench, row: &Row, samples: &Samples) -> Outcome<(String, bool)> {
    let spread = |work: &Work| -> Result<Spread, String> {
        let samples = samples.get(work).ok_or("not measured")?.as_ref()?;
        let figures = samples.iter().map(|sample| row.figure.of(sample)).collect();
        Ok(Spread::of(figures).ok_or("not measured")?)
    };
    let ours = match spread(&row.ours) {
        Ok(ours) => ours,
        Err(why) => return Ok((format!("{:<21} {why}", row.name), false)),
    };
    let mut whole = true;
    let (words, yardstick) = match row.yardstick {
        Yardstick::None => ("-".to_owned(), None),
        Yardstick::Limit => (format!("limit: {RATE} payments/s"), Some(RATE as f64)),
        Yardstick::CsvRow => {
            let rows = bench.sizes.payments;
            let bytes = bench.stock.borrow_mut().bytes_per_row(rows)?;
            (format!("CSV row: {bytes:.1} bytes"), Some(bytes))
        }
        Yardstick::Work(name, work) => match spread(&work) {
            Ok(spread) => (
                format!("{name}: {}", spread.text(row.figure)),
                Some(spread.median),
            ),
            Err(why) => {
                whole = false;
                (format!("{name}: {why}"), None)
            }
        },
    };
    let busiest = match samples.get(&row.ours) {
        Some(Ok(samples)) => samples.iter().map(|sample| sample.busiest).max(),
        _ => None,
    };
    let verdict = judge(row, ours.median, yardstick, busiest.unwrap_or(0));
    let ours = ours.text(row.figure);
    Ok((table::row(row.name, &words, &ours, &verdict), whole))
}

/// Prints the peaks of memory at a tenth of the rows and at all of them.
fn memory(bench: &Bench) -> Outcome<bool> {
    let rows = bench.sizes.rows;
    let mut complete = true;
    for rows in [rows.div_ceil(10), rows] {
        for name in ["load", "run", "report", "archive"] {
            let sample = match name {
                "load" => bench.load(rows, "rows.csv"),
                "run" => bench.run(rows, Until::Posted, &[]),
                "report" => bench.report(rows),
                _ => bench.archive(rows),
            };
            let row = Row {
                name: MEMORY,
                family: u8::MAX,
                yardstick: Yardstick::None,
                ours: Work::LoadCsv,
                figure: Figure::Mebibytes,
                goal: MEMORY_GOAL,
                note: "",
            };
            let name = format!("memory {name}");
            let what = format!("{} rows", table::grouped(&rows.to_string()));
            match sample {
                Ok(sample) => {
                    let peak = row.figure.of(&sample);
                    let text = format!("{peak:.1} MiB");
                    println!(
                        "{}",
                        table::row(&name, &what, &text, &judge(&row, peak, None, 0))
                    );
                }
                Err(error) => {
                    complete = false;
                    println!("{name:<21} {what}: failed: {error}");
                }
            }
        }
    }
    Ok(complete)
}

/// Does every work of ours once, with few rows.
fn try_out(arguments: &Arguments) -> Outcome<bool> {
    const NAME: &str = "every_row_of_the_table_can_be_measured";
    if arguments.list {
        println!("{NAME}: test");
        return Ok(true);
    }
    if !arguments.names.is_empty()
        && !arguments
            .names
            .iter()
            .any(|name| NAME.contains(name.as_str()))
    {
        return Ok(true);
    }
    let bench = Bench::new(Sizes {
        rows: 200,
        payments: 200,
        small: 50,
        limited: 50,
    })?;
    for row in ROWS {
        let sample = bench
            .measure(row.ours)
            .map_err(|error| format!("{}: {error}", row.name))?;
        let figure = row.figure.of(&sample);
        // So little time is used that none of it may show.
        let least = if row.figure == Figure::CpuMicros {
            -1.0
        } else {
            0.0
        };
        if !figure.is_finite() || figure <= least {
            return Err(format!("{}: {figure} {}", row.name, row.figure.unit()).into());
        }
    }
    if bench.tools.find(Tool::Valgrind).is_ok() {
        instructions::try_out(&bench)?;
    }
    #[cfg(feature = "postgres")]
    postgres::try_out(&bench)?;
    println!("{NAME}: ok");
    Ok(true)
}
