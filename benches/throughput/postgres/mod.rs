//! Journals on PostgreSQL: rows of their own, beside the server's yardsticks and beside SQLite, on one server and in one run.
//!
//! `cargo bench -- postgres` measures all of them, `cargo bench -- postgres-load postgres-rate` those whose names begin so.

pub mod alone;
mod delay;
#[path = "../../../src/store/postgres/fixture.rs"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "tests need more of it, and fail by panicking"
)]
mod fixture;
mod rates;
mod server;
mod works;

use std::time::Duration;

use super::process::Outcome;
use super::rows::{Figure, Goal, Row, Yardstick, judge};
use super::table::{self, Spread};
use super::works::{Bench, Until, Work};
use server::{SCALE, Server, lease, tpc_b_seconds};
use works::{FIRST_QUERY_AFTER, Order, Works};

/// What all of them begin with.
pub const NAME: &str = "postgres";
const ROUNDS: usize = 3;
const RUNNERS: [usize; 3] = [1, 2, 4];
/// Rows of the rows about memory, where nobody says how many.
const ROWS_OF_MEMORY: usize = 200_000;
const ROWS_OF_REPORT: usize = 300_000;
const MIB_MAX: f64 = 64.0;

const PAYMENTS_PER_SECOND: Figure = Figure::PerSecond("payments");
const ROWS_PER_SECOND: Figure = Figure::PerSecond("rows");

/// What the names mean.
const NOTES: &[(&str, &str)] = &[
    (
        "postgres-journal",
        "the journal alone, by so many runners, each a process: payments are claimed 1,024 at a time and their outcomes recorded as a run does it, from the first claim to the last commit, with no gateway; pgbench is TPC-B at scale 10 with as many clients",
    ),
    (
        "postgres-callbacks",
        "the same with a callback for each payment, a verb of its own",
    ),
    (
        "postgres-load",
        "a whole load, as load-csv; psql copies the same file into a bare table of texts",
    ),
    (
        "postgres-run",
        "one run as `run`, with a limit of 50,000/s, and the same on SQLite beside it",
    ),
    (
        "postgres-bytes",
        "pg_total_relation_size of all tables, for each payment that was settled by its callback",
    ),
    (
        "postgres-memory",
        "peak resident memory (VmHWM) of a run until everything is posted, one measure each",
    ),
    (
        "postgres-report",
        "peak resident memory of a report of a finished batch, one measure each",
    ),
    (
        "postgres-orders",
        "a whole command that cancels a batch, presumes it posted, or orders that all its payments, which have failed, be paid again: one transaction, for which all runs wait. It must take a minute for 100,000 at most",
    ),
    (
        "postgres-takeover",
        "from the kill of a run, beside which another one is under way, until the gateway is asked about the first of the payments that it had posted; at most the lease, first_query_after and 2 s",
    ),
    (
        rates::NAME,
        "one limit over so many runs at once, behind a wire by which each round trip to the server takes so much longer, half of it in each direction; arrivals as in `rate`: the mean from a third to nine tenths of them, while all take part, and the greatest number in any window of one second of all",
    ),
];

/// Which rows are wanted, and with how many payments.
pub struct Wanted<'a> {
    pub names: &'a [String],
    /// As somebody asked for.
    pub rows: Option<usize>,
}

impl Wanted<'_> {
    /// Returns whether a row is wanted: all are, where no name is given.
    fn has(&self, row: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| begins(row, name))
    }

    fn any(&self) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| is_known(name))
    }
}

fn begins(row: &str, name: &str) -> bool {
    name.starts_with(NAME)
        && row
            .strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Returns whether rows have a name.
pub fn is_known(name: &str) -> bool {
    let numbered = |of: &str| RUNNERS.map(|runners| format!("{of}-{runners}"));
    let known = ["postgres-journal", "postgres-callbacks"].map(numbered);
    let mut all = known.into_iter().flatten().chain(rates::names());
    NOTES.iter().any(|(row, _)| begins(row, name)) || all.any(|row| begins(&row, name))
}

/// What a table is made of.
struct Section<'b> {
    works: Works<'b>,
    wanted: &'b Wanted<'b>,
    complete: bool,
}

/// Prints the section; `false` when a row could not be measured.
pub fn measure(bench: &Bench, wanted: &Wanted<'_>) -> Outcome<bool> {
    if !wanted.any() {
        return Ok(true);
    }
    let Some(server) = Server::start() else {
        println!("{NAME}: skipped: PostgreSQL is not installed: apt-get install postgresql");
        return Ok(false);
    };
    let mut section = Section {
        works: Works {
            bench,
            server: &server,
        },
        wanted,
        complete: true,
    };
    println!(
        "\n{}, fsync on, settings as installed but for max_connections; pgbench: scale {SCALE}, {} s; {ROUNDS} measures each, in turns",
        server.version(),
        tpc_b_seconds(),
    );
    for runners in RUNNERS {
        section.alone(runners);
    }
    section.load();
    section.run();
    section.bytes();
    section.memory();
    section.report();
    section.orders();
    section.takeover();
    section.rates();
    println!();
    for (name, note) in NOTES {
        let is_shown = wanted.names.is_empty()
            || wanted
                .names
                .iter()
                .any(|wanted| begins(name, wanted) || begins(wanted, name));
        if is_shown {
            println!("{name}: {note}.");
        }
    }
    Ok(section.complete)
}

fn row(figure: Figure, goal: Goal) -> Row {
    Row {
        name: NAME,
        family: u8::MAX,
        yardstick: Yardstick::None,
        ours: Work::Run,
        figure,
        goal,
        note: "",
    }
}

/// What is measured in turns, in the order in which it is said.
type Turns<'a> = Vec<Box<dyn FnMut() -> Outcome<f64> + 'a>>;

/// Measures in turns; what failed is said in words.
fn in_turns(name: &str, rounds: usize, mut turns: Turns<'_>) -> Vec<Result<Spread, String>> {
    let mut samples: Vec<Result<Vec<f64>, String>> = turns.iter().map(|_| Ok(Vec::new())).collect();
    for round in 1..=rounds {
        eprintln!("{name}, {round} of {rounds} ...");
        for (turn, samples) in turns.iter_mut().zip(&mut samples) {
            let Ok(known) = samples else { continue };
            match turn() {
                Ok(figure) => known.push(figure),
                Err(error) => *samples = Err(format!("failed: {error}")),
            }
        }
    }
    let spread = |samples: Vec<f64>| Spread::of(samples).ok_or_else(|| "not measured".to_owned());
    samples
        .into_iter()
        .map(|samples| samples.and_then(spread))
        .collect()
}

impl Section<'_> {
    /// Prints a row, with what it is held against.
    fn tell(
        &mut self,
        name: &str,
        row: &Row,
        yardstick: Option<(&str, &Figure, &Result<Spread, String>)>,
        ours: &Result<Spread, String>,
    ) {
        let ours = match ours {
            Ok(ours) => ours,
            Err(why) => {
                self.complete = false;
                println!("{name:<21} {why}");
                return;
            }
        };
        let (words, median) = match yardstick {
            None => ("-".to_owned(), None),
            Some((of, figure, Ok(spread))) => {
                let text = spread.text(*figure);
                (format!("{of}: {text}"), Some(spread.median))
            }
            Some((of, _, Err(why))) => {
                self.complete = false;
                (format!("{of}: {why}"), None)
            }
        };
        let verdict = judge(row, ours.median, median, 0);
        let ours = ours.text(row.figure);
        println!("{}", table::row(name, &words, &ours, &verdict));
    }

    fn alone(&mut self, runners: usize) {
        let works = &self.works;
        let payments = works.bench.sizes.payments;
        let kinds = [
            ("postgres-journal", false, Goal::AtLeast(20.0, 20.0)),
            ("postgres-callbacks", true, Goal::AtLeast(10.0, 10.0)),
        ];
        let kinds = kinds.map(|(name, callbacks, goal)| {
            let name = format!("{name}-{runners}");
            let is_wanted = self.wanted.has(&name);
            (name, callbacks, goal, is_wanted)
        });
        let wanted: Vec<_> = kinds.iter().filter(|(.., is_wanted)| *is_wanted).collect();
        if wanted.is_empty() {
            return;
        }
        let mut turns: Turns<'_> = vec![Box::new(|| works.server.tpc_b(runners, tpc_b_seconds()))];
        for (_, callbacks, ..) in &wanted {
            turns.push(Box::new(|| works.alone(runners, payments, *callbacks)));
        }
        let told = in_turns(&format!("{runners} runners"), ROUNDS, turns);
        let transactions = Figure::PerSecond("transactions");
        for ((name, _, goal, _), ours) in wanted.into_iter().zip(&told[1..]) {
            let row = row(PAYMENTS_PER_SECOND, *goal);
            self.tell(name, &row, Some(("pgbench", &transactions, &told[0])), ours);
        }
    }

    fn load(&mut self) {
        const NAME: &str = "postgres-load";
        if !self.wanted.has(NAME) {
            return;
        }
        let works = &self.works;
        let rows = works.bench.sizes.rows;
        let turns: Turns<'_> = vec![Box::new(|| works.copy(rows)), Box::new(|| works.load(rows))];
        let told = in_turns(NAME, ROUNDS, turns);
        let row = row(ROWS_PER_SECOND, Goal::AtLeast(0.2, 0.35));
        let yardstick = Some(("\\copy", &ROWS_PER_SECOND, &told[0]));
        self.tell(NAME, &row, yardstick, &told[1]);
    }

    fn run(&mut self) {
        const NAME: &str = "postgres-run";
        // Beyond what either comes to. Slots that are a microsecond apart are over before they are used.
        const RATE: (&str, &str) = ("DISBURSE_RATE", "50000/s");
        if !self.wanted.has(NAME) {
            return;
        }
        let works = &self.works;
        let payments = works.bench.sizes.payments;
        let turns: Turns<'_> = vec![
            Box::new(|| {
                let sample = works.bench.run(payments, Until::Posted, &[RATE])?;
                Ok(PAYMENTS_PER_SECOND.of(&sample))
            }),
            Box::new(|| Ok(PAYMENTS_PER_SECOND.of(&works.run(payments, &[RATE])?))),
        ];
        let told = in_turns(NAME, ROUNDS, turns);
        let row = row(PAYMENTS_PER_SECOND, Goal::AtLeast(0.5, 1.0));
        let yardstick = Some(("SQLite", &PAYMENTS_PER_SECOND, &told[0]));
        self.tell(NAME, &row, yardstick, &told[1]);
    }

    fn bytes(&mut self) {
        const NAME: &str = "postgres-bytes";
        if !self.wanted.has(NAME) {
            return;
        }
        let works = &self.works;
        let payments = works.bench.sizes.payments;
        let told = in_turns(NAME, 1, vec![Box::new(|| works.settled(payments))]);
        let row = row(Figure::JournalBytes, Goal::Within(1_100.0, 1_100.0));
        self.tell(NAME, &row, None, &told[0]);
    }

    fn memory(&mut self) {
        let most = self.wanted.rows.unwrap_or(ROWS_OF_MEMORY);
        self.peaks(
            "postgres-memory",
            [most.min(100_000).min(most / 2), most],
            |works, rows| Ok(Figure::Mebibytes.of(&works.run(rows, &[])?)),
        );
    }

    fn report(&mut self) {
        let most = self.wanted.rows.unwrap_or(ROWS_OF_REPORT);
        self.peaks(
            "postgres-report",
            [most.min(300_000) / 3, most],
            |works, rows| works.report(rows),
        );
    }

    /// Prints the peaks of memory at two sizes.
    fn peaks(
        &mut self,
        name: &str,
        sizes: [usize; 2],
        peak: impl Fn(&Works<'_>, usize) -> Outcome<f64>,
    ) {
        if !self.wanted.has(name) {
            return;
        }
        let row = row(Figure::Mebibytes, Goal::Within(MIB_MAX, MIB_MAX));
        for rows in sizes {
            let works = &self.works;
            let told = in_turns(name, 1, vec![Box::new(|| peak(works, rows))]);
            let name = format!("{name} {}", table::grouped(&rows.to_string()));
            self.tell(&name, &row, None, &told[0]);
        }
    }

    fn orders(&mut self) {
        let payments = self.works.bench.sizes.payments;
        for (name, order) in Order::ALL {
            if !self.wanted.has(name) {
                continue;
            }
            let works = &self.works;
            let told = in_turns(
                name,
                ROUNDS,
                vec![Box::new(|| works.order(payments, order))],
            );
            // A run that gets no turn for a minute ends.
            let row = row(
                Figure::Millis,
                Goal::Within(payments as f64 * 0.6, payments as f64 * 0.2),
            );
            self.tell(name, &row, None, &told[0]);
        }
    }

    fn takeover(&mut self) {
        const NAME: &str = "postgres-takeover";
        if !self.wanted.has(NAME) {
            return;
        }
        let works = &self.works;
        let told = in_turns(NAME, ROUNDS, vec![Box::new(|| works.takeover())]);
        let most = (lease() + FIRST_QUERY_AFTER + Duration::from_secs(2)).as_secs_f64() * 1e3;
        let row = row(Figure::Millis, Goal::Within(most, most));
        self.tell(NAME, &row, None, &told[0]);
    }
}

/// Does every work of ours once, with few rows.
pub fn try_out(bench: &Bench) -> Outcome<()> {
    let Some(server) = Server::start() else {
        return Ok(());
    };
    let works = Works {
        bench,
        server: &server,
    };
    let rows = bench.sizes.payments;
    let figures = [
        ("postgres-journal", works.alone(2, rows, false)?),
        ("postgres-callbacks", works.alone(2, rows, true)?),
        ("\\copy", works.copy(rows)?),
        ("postgres-load", works.load(rows)?),
        (
            "postgres-run",
            PAYMENTS_PER_SECOND.of(&works.run(rows, &[])?),
        ),
        ("postgres-bytes", works.settled(rows)?),
        ("postgres-report", works.report(rows)?),
        ("postgres-takeover", works.takeover()?),
        ("postgres-orders-cancel", works.order(rows, Order::Cancel)?),
        (
            "postgres-orders-presume",
            works.order(rows, Order::PresumePosted)?,
        ),
        ("postgres-orders-retry", works.order(rows, Order::Retry)?),
        (
            rates::NAME,
            works.rate(2, (rows, rows), rates::each_way(1))?.mean,
        ),
    ];
    for (name, figure) in figures {
        if !figure.is_finite() || figure <= 0.0 {
            return Err(format!("{name}: {figure}").into());
        }
    }
    Ok(())
}
