//! The rows of the table: what is compared with what, and how far it is to get.

use super::works::{RATE, Sample, Work};

/// One row of the table.
pub struct Row {
    pub name: &'static str,
    /// Rows of one family are measured together, in turns.
    pub family: u8,
    pub yardstick: Yardstick,
    pub ours: Work,
    pub figure: Figure,
    pub goal: Goal,
    pub note: &'static str,
}

/// What ours is held against.
#[derive(Clone, Copy)]
pub enum Yardstick {
    None,
    Work(&'static str, Work),
    /// The bytes of a row of the CSV file.
    CsvRow,
    /// The rate limit.
    Limit,
}

/// What is told of a sample.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    PerSecond(&'static str),
    CpuMicros,
    Millis,
    JournalBytes,
    Mebibytes,
}

impl Figure {
    pub fn of(self, sample: &Sample) -> f64 {
        let count = sample.count.max(1) as f64;
        match self {
            Self::PerSecond(_) => count / sample.seconds,
            Self::CpuMicros => sample.cpu_seconds * 1e6 / count,
            Self::Millis => sample.seconds * 1e3,
            Self::JournalBytes => sample.journal_bytes as f64 / count,
            Self::Mebibytes => sample.peak_kib as f64 / 1024.0,
        }
    }

    pub fn unit(self) -> String {
        match self {
            Self::PerSecond(what) => format!("{what}/s"),
            Self::CpuMicros => "µs".to_owned(),
            Self::Millis => "ms".to_owned(),
            Self::JournalBytes => "bytes".to_owned(),
            Self::Mebibytes => "MiB".to_owned(),
        }
    }
}

/// How far a row is to get: what it must reach, and what is aimed at.
#[derive(Clone, Copy)]
pub enum Goal {
    None,
    /// So many times the yardstick, or more.
    AtLeast(f64, f64),
    /// So many times the yardstick, or less.
    AtMost(f64, f64),
    /// So much, or less.
    Within(f64, f64),
    /// The mean within one per cent of the limit, and no second above it.
    Limit,
}

const fn row(
    name: &'static str,
    family: u8,
    yardstick: Yardstick,
    ours: Work,
    figure: Figure,
    goal: Goal,
    note: &'static str,
) -> Row {
    Row {
        name,
        family,
        yardstick,
        ours,
        figure,
        goal,
        note,
    }
}

/// The name of the rows of peak memory; they have sizes of their own.
pub const MEMORY: &str = "memory";
pub const MEMORY_NOTE: &str = "peak resident memory (VmHWM), one measure each: load, run (until everything is posted), report, and archive --keep-people (of a finished batch)";
pub const MEMORY_GOAL: Goal = Goal::Within(64.0, 32.0);

const ROWS_PER_SECOND: Figure = Figure::PerSecond("rows");
const PAYMENTS_PER_SECOND: Figure = Figure::PerSecond("payments");

pub const ROWS: &[Row] = &[
    row(
        "load-csv",
        0,
        Yardstick::Work("sqlite3 .import", Work::Import),
        Work::LoadCsv,
        ROWS_PER_SECOND,
        Goal::AtLeast(0.6, 1.0),
        "every row checked, phone metadata included, with its identifier, in one durable transaction; .import puts the same file into a bare table of texts",
    ),
    row(
        "load-jsonl",
        0,
        Yardstick::Work("load-csv", Work::LoadCsv),
        Work::LoadJsonl,
        ROWS_PER_SECOND,
        Goal::AtLeast(0.7, 1.0),
        "the same rows as JSON lines",
    ),
    row(
        "run",
        1,
        Yardstick::Work("oha", Work::Oha),
        Work::Run,
        PAYMENTS_PER_SECOND,
        Goal::AtLeast(0.6, 0.85),
        "from the start of the process until every payment is posted and answered, one to a request, 64 requests at once, every intent durable before its post; oha posts bodies like ours (one that disburse posted, each line with another identifier, twice as many lines as requests, chosen at random) over as many connections to a sandbox like ours, which has its check for duplicates off, so that it executes them all; the time is oha's own, without its start",
    ),
    row(
        "run-packets",
        1,
        Yardstick::Work("run", Work::Run),
        Work::RunPackets,
        PAYMENTS_PER_SECOND,
        Goal::AtLeast(5.0, 12.0),
        "twenty payments in a request",
    ),
    row(
        "run-callbacks",
        1,
        Yardstick::Work("run", Work::Run),
        Work::RunCallbacks,
        PAYMENTS_PER_SECOND,
        Goal::AtLeast(0.5, 0.7),
        "until the last payment is settled by its callback; the sandbox settles a payment 50 to 400 ms after its post",
    ),
    row(
        "run-cpu",
        1,
        Yardstick::Work("oha", Work::Oha),
        Work::Run,
        Figure::CpuMicros,
        Goal::AtMost(2.0, 1.2),
        "user and system time of the client for each payment of `run`; what oha uses to read its bodies before the first request is taken off",
    ),
    row(
        "rate",
        2,
        Yardstick::Limit,
        Work::Rate,
        PAYMENTS_PER_SECOND,
        Goal::Limit,
        "arrivals of posts, noted by a watch between client and sandbox; the mean from the first to the last, and the greatest number in any window of one second",
    ),
    row(
        "rate-watched",
        2,
        Yardstick::Limit,
        Work::RateWatched,
        PAYMENTS_PER_SECOND,
        Goal::Limit,
        "the same with `--page` and ten viewers, each of which sees the page change",
    ),
    row(
        "resume",
        3,
        Yardstick::Work("sqlite3 scan", Work::Scan),
        Work::Resume,
        Figure::Millis,
        Goal::Within(1000.0, 100.0),
        "from the start of the process until the first post has arrived, half of the batch being paid; the scan looks at every payment",
    ),
    row(
        "report",
        3,
        Yardstick::Work("sqlite3 -csv", Work::Export),
        Work::Report,
        ROWS_PER_SECOND,
        Goal::AtLeast(0.4, 1.0),
        "payments.csv, report.json and report.html (with the rows beside it) of a finished batch, synced; sqlite3 writes the columns of payments.csv once, as they are, to a file that is not synced",
    ),
    row(
        "status",
        3,
        Yardstick::None,
        Work::Status,
        Figure::Millis,
        Goal::Within(50.0, 5.0),
        "the whole process",
    ),
    row(
        "verify",
        3,
        Yardstick::None,
        Work::Verify,
        ROWS_PER_SECOND,
        Goal::None,
        "hashes, states and totals of a finished batch",
    ),
    row(
        "journal-bytes",
        4,
        Yardstick::CsvRow,
        Work::RunCallbacks,
        Figure::JournalBytes,
        Goal::AtMost(6.0, 3.0),
        "the journal's files for each payment that was settled by its callback",
    ),
    row(
        "journal-bytes-polled",
        4,
        Yardstick::CsvRow,
        Work::RunQueries,
        Figure::JournalBytes,
        Goal::AtMost(6.0, 3.0),
        "the same where the status was asked for",
    ),
    row(
        "first-post",
        5,
        Yardstick::None,
        Work::FirstPost,
        Figure::Millis,
        Goal::Within(150.0, 50.0),
        "`pay` of a file: from the start of the process, the load included, until the first post has arrived",
    ),
];

/// What a row came to, against its goal.
pub struct Verdict {
    /// Ours by the yardstick.
    pub ratio: Option<f64>,
    /// What must be reached, in words, and whether it was.
    pub reach: Option<(String, bool)>,
    pub aim: Option<(String, bool)>,
}

/// Judges the medians of a row.
pub fn judge(row: &Row, ours: f64, yardstick: Option<f64>, busiest: usize) -> Verdict {
    let ratio = yardstick.map(|yardstick| ours / yardstick);
    let times = |limit: f64, holds: &dyn Fn(f64) -> bool| {
        ratio.map(|ratio| (format!("{limit}x"), holds(ratio)))
    };
    let unit = row.figure.unit();
    let (reach, aim) = match row.goal {
        Goal::None => (None, None),
        Goal::AtLeast(reach, aim) => (
            times(reach, &|ratio| ratio >= reach),
            times(aim, &|ratio| ratio >= aim),
        ),
        Goal::AtMost(reach, aim) => (
            times(reach, &|ratio| ratio <= reach),
            times(aim, &|ratio| ratio <= aim),
        ),
        Goal::Within(reach, aim) => (
            Some((format!("{reach} {unit}"), ours <= reach)),
            Some((format!("{aim} {unit}"), ours <= aim)),
        ),
        Goal::Limit => {
            let near = ratio.is_some_and(|ratio| (0.99..=1.01).contains(&ratio));
            let kept = (format!("{busiest} <= {RATE}"), busiest <= RATE);
            (Some(("1 %".to_owned(), near)), Some(kept))
        }
    };
    Verdict { ratio, reach, aim }
}
