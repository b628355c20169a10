//! A journal in a folder of its own, and made-up batches to put into it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::fixture::Server;
use crate::listed::assert_listed;
use crate::on_servers;
use disburse::domain::{
    Amount, BatchName, Country, Currency, Instruction, Member, Money, Msisdn, Named, Originator,
    PayerTransactionId, PaymentId, Reference, ResponseDetails, ServiceCode, Tally, Timestamp,
    Unpriced,
};
use disburse::journal::{
    Acquired, Claim, Finding, Home, IncomingCallback, Journal, LoadPlan, LoadRefusal, LoadRow,
    LoadSummary, Loaded, Location, PaymentRecord, Reader, Received, RejectedRow, RepeatPlan,
    Repeats, ReportRow, RunTerms, RunToken, Runner, Standing, Transition,
};
use disburse::ledger::calendar::BatchDates;
use disburse::ledger::confirmation::{Answer, Bound, Confirmation};
use disburse::lifecycle::{Class, CodeMeaning, Event, Policy, State, StepContext};

/// The time of the first load, in seconds since 1970.
// So far ahead that no clock of a machine or a server is there: what is opened takes their time for its first moment.
pub const T0: i64 = 2_679_436_800;

/// `secs` after the first load.
pub fn at(secs: i64) -> Timestamp {
    Timestamp::from_millis((T0 + secs) * 1000)
}

pub fn moment(secs: i64) -> StepContext {
    StepContext {
        now: at(secs),
        jitter: 0,
    }
}

pub fn batch() -> BatchName {
    BatchName::parse("payroll").unwrap()
}

/// Short waits: first query after 10 s, quarantine 60 s.
pub fn policy() -> Policy {
    Policy {
        first_query_after: Duration::from_secs(10),
        not_found_quarantine: Duration::from_secs(60),
        ..Policy::default()
    }
}

pub fn kes() -> Currency {
    Currency::from_code("KES").unwrap()
}

/// A row with the reference `EMP-n`, of `n` shillings, to its own number.
pub fn row(n: u64) -> Instruction {
    let msisdn = Msisdn::from_digits(&format!("2547{n:08}")).unwrap();
    Instruction {
        line: n + 1,
        reference: Some(Reference::parse(&format!("EMP-{n}")).unwrap()),
        service: ServiceCode::parse("B2C").unwrap(),
        msisdn,
        account_number: msisdn.as_str().into(),
        money: Money {
            amount: Amount::from_minor(i64::try_from(n).unwrap() * 100).unwrap(),
            currency: kes(),
        },
        country: Country::from_code("KE").unwrap(),
        narration: "".into(),
        customer_names: "".into(),
        invoice_number: "".into(),
        payment_mode: "".into(),
        hub_id: "".into(),
        extra: Vec::new(),
        document: None,
    }
}

/// A row of a postpaid service with the reference `EMP-n` that leaves its amount to the bill of account `n`.
pub fn unpriced(n: u64) -> Unpriced {
    let mut row = of_service(row(n), "WATER");
    row.account_number = format!("{n:06}").into();
    row.with_money(kes())
}

/// The same without a reference, on a line of its own.
pub fn nameless(n: u64, line: u64) -> Instruction {
    Instruction {
        line,
        reference: None,
        ..row(n)
    }
}

/// Ends every payment of the batch `payroll` with these words.
pub async fn all_end(world: &World, class: Class, code: i32) {
    let token = world.acquire(1).await.token;
    for claim in world.claim(token, 100, 2).await {
        world
            .record(vec![finding(claim.seq, reply(class, code))], 3)
            .await;
    }
}

/// The repeats that a load is refused for.
pub fn repeats(loaded: Loaded) -> Repeats {
    match loaded {
        Loaded::Refused(LoadRefusal::BadRows {
            repeats: Some(repeats),
            ..
        }) => repeats,
        other => panic!("{other:?}"),
    }
}

pub const DAY: i64 = 24 * 60 * 60;

/// A load of another batch some days later, which looks for repeats.
pub fn other_batch(name: &str, day: i64) -> LoadPlan {
    LoadPlan {
        batch: BatchName::parse(name).unwrap(),
        source: format!("{name}.csv"),
        layout: None,
        now: at(day * DAY),
        repeats: Some(RepeatPlan::default()),
        ..plan()
    }
}

pub fn with_amount(mut row: Instruction, minor: i64) -> Instruction {
    row.money.amount = Amount::from_minor(minor).unwrap();
    row
}

pub fn of_service(mut row: Instruction, service: &str) -> Instruction {
    row.service = ServiceCode::parse(service).unwrap();
    row
}

pub fn rows(range: std::ops::RangeInclusive<u64>) -> Vec<Instruction> {
    range.map(row).collect()
}

fn digest_of(line: u64, minor: i64) -> [u8; 32] {
    let mut digest = [0; 32];
    digest[..8].copy_from_slice(&line.to_be_bytes());
    digest[8..16].copy_from_slice(&minor.to_be_bytes());
    digest
}

/// A row that failed validation, of a readable amount.
pub fn bad(line: u64, minor: i64) -> RejectedRow {
    RejectedRow {
        line,
        reference: format!("BAD-{line}"),
        amount_text: "1".into(),
        currency_code: "KES".into(),
        money: Amount::from_minor(minor).map(|amount| Money {
            amount,
            currency: kes(),
        }),
        errors: "msisdn: expected 12 digits".into(),
        digest: digest_of(line, minor),
        ..RejectedRow::default()
    }
}

pub fn plan() -> LoadPlan {
    LoadPlan {
        dates: BatchDates::default(),
        batch: batch(),
        originator: Originator::parse("acme").unwrap(),
        form: disburse::domain::IdentifierForm::default(),
        source: "payroll.csv".into(),
        layout: None,
        is_ours: false,
        now: at(0),
        purpose: disburse::ledger::Purpose::Gateway,
        amend: false,
        allow_equal_rows: false,
        repeats: None,
        skip_bad_rows: false,
        presume_posted: false,
        expect_count: None,
        expect_total: None,
        batch_ceilings: Default::default(),
        new_documents: false,
        destination: None,
        approval: None,
        dry_run: false,
    }
}

/// Where every batch belongs.
pub fn home() -> Home {
    Home {
        gateway: "gateway".into(),
        wire: "wire".into(),
        account: "acme".into(),
        reading: "document".into(),
        profile: "default".to_owned(),
        accepts_reading: false,
    }
}

/// A word that covers what is there and what is still to come.
pub fn everything() -> Confirmation {
    Confirmation::of(Tally::default(), Bound::EVERYTHING, Answer::Flag)
}

pub fn terms(secs: i64) -> RunTerms {
    RunTerms {
        home: home(),
        confirmation: everything(),
        approval: None,
        longest_wait: Duration::from_secs(600),
        first_query_after: policy().first_query_after,
        calendar: Arc::default(),
        limits: None,
        runner: Runner::default(),
        now: at(secs),
        shows: None,
    }
}

pub fn verdict(class: Class, code: i32) -> CodeMeaning {
    CodeMeaning { class, code }
}

pub fn reply(class: Class, code: i32) -> Event {
    Event::Reply(verdict(class, code))
}

pub fn answer(class: Class, code: i32) -> Event {
    Event::Answer(verdict(class, code))
}

pub fn finding(seq: PaymentId, event: Event) -> Finding {
    Finding {
        seq,
        event,
        said: ResponseDetails::default(),
        asked: None,
    }
}

/// A callback about a payment whose body has this digest.
pub fn note(id: PayerTransactionId, class: Class, code: i32, digest: u8) -> IncomingCallback {
    IncomingCallback {
        id,
        event: Some(Event::Callback(verdict(class, code))),
        said: ResponseDetails::default(),
        digest: [digest; 32],
        body: None,
    }
}

/// Words that name these values beside the identifier.
pub fn naming(values: &[(Member, &str)]) -> ResponseDetails {
    let named = values.iter().map(|(member, text)| Named {
        member: *member,
        text: (*text).to_owned(),
        is_number: false,
    });
    ResponseDetails {
        named: named.collect(),
        ..ResponseDetails::default()
    }
}

/// Makes a journal on a server, whose mark is in a folder.
fn made_on(address: &str, folder: &Path) -> Location {
    let Ok(Location::Server(at)) = Location::parse(OsStr::new(address)) else {
        panic!("no address of a server: {address}");
    };
    let at = at.with_state_folder(Some(folder.join("state")));
    disburse::journal::server::make(&at).unwrap();
    Location::Server(at)
}

/// The tables that hold what is known of a batch.
const TABLES: [&str; 13] = [
    "meta",
    "batch",
    "load",
    "service",
    "instruction",
    "identifier",
    "life",
    "evidence",
    "rejected",
    "tally",
    "held_lane",
    "bill",
    "named_otherwise",
];

/// A fresh journal in a folder of its own.
pub struct World {
    _folder: tempfile::TempDir,
    pub path: PathBuf,
    /// Where it is: in that file, unless [`on_servers`] says otherwise.
    at: Location,
    database: Option<(&'static Server, String)>,
    pub journal: Journal,
    pub policy: Arc<Policy>,
}

impl World {
    pub fn new() -> Self {
        Self::with_policy(policy())
    }

    pub fn with_policy(policy: Policy) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let database = on_servers::chosen().map(|server| (server, server.database()));
        let at = match &database {
            None => Location::from(&path),
            Some((server, database)) => made_on(&server.address(database), folder.path()),
        };
        Self {
            journal: Journal::open(&at).unwrap(),
            at,
            database,
            _folder: folder,
            path,
            policy: Arc::new(policy),
        }
    }

    /// A journal that holds `EMP-1` to `EMP-n`.
    pub async fn loaded(n: u64) -> Self {
        let world = Self::new();
        world.load_new(plan(), rows(1..=n)).await;
        world
    }

    pub fn reader(&self) -> Reader {
        Reader::open(&self.at).unwrap()
    }

    /// A connection past the verbs, for what no verb does: to break things and to look at what is out of sight.
    pub fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(&self.path).unwrap()
    }

    pub async fn load_incoming(&self, plan: LoadPlan, incoming: Vec<LoadRow>) -> Loaded {
        let (sender, receiver) = std::sync::mpsc::channel();
        for block in incoming.chunks(3) {
            sender.send(block.to_vec()).unwrap();
        }
        drop(sender);
        self.journal.load(plan, receiver).await.unwrap()
    }

    pub async fn load(&self, plan: LoadPlan, rows: Vec<Instruction>) -> Loaded {
        self.load_mixed(plan, rows, Vec::new()).await
    }

    pub async fn load_mixed(
        &self,
        plan: LoadPlan,
        rows: Vec<Instruction>,
        bad: Vec<RejectedRow>,
    ) -> Loaded {
        let incoming = rows
            .into_iter()
            .map(LoadRow::Valid)
            .chain(bad.into_iter().map(LoadRow::Invalid))
            .chain([LoadRow::EndOfFile])
            .collect();
        self.load_incoming(plan, incoming).await
    }

    pub async fn load_new(&self, plan: LoadPlan, rows: Vec<Instruction>) -> LoadSummary {
        match self.load(plan, rows).await {
            Loaded::New(summary) => summary,
            other => panic!("{other:?}"),
        }
    }

    pub async fn acquire(&self, secs: i64) -> Acquired {
        self.journal
            .acquire(batch(), terms(secs), Arc::clone(&self.policy))
            .await
            .unwrap()
    }

    /// Says that an earlier journal posted from where the runs of this one go.
    pub async fn confirm_payer(&self, secs: i64) {
        let (home, now) = (terms(secs).home, at(secs));
        let unknown = self.journal.payer_unknown(batch(), home.clone()).await;
        assert!(unknown.unwrap().is_some());
        let confirmed = self.journal.confirm_payer(batch(), home.clone(), now).await;
        confirmed.unwrap();
        let unknown = self.journal.payer_unknown(batch(), home).await;
        assert!(unknown.unwrap().is_none());
    }

    pub async fn claim(&self, token: RunToken, limit: usize, secs: i64) -> Vec<Claim> {
        let policy = Arc::clone(&self.policy);
        let claimed = self.journal.claim(token, limit, at(secs), policy).await;
        claimed.unwrap().0
    }

    pub async fn record(&self, findings: Vec<Finding>, secs: i64) -> Vec<Transition> {
        let policy = Arc::clone(&self.policy);
        let recorded = self
            .journal
            .record(None, findings, moment(secs), policy)
            .await;
        recorded.unwrap()
    }

    pub async fn callback(&self, note: IncomingCallback, secs: i64) -> Received {
        let policy = Arc::clone(&self.policy);
        let received = self.journal.callback(note, moment(secs), policy).await;
        received.unwrap()
    }

    /// The payments as a report sees them.
    pub fn payments(&self) -> Vec<PaymentRecord> {
        self.report_rows()
            .into_iter()
            .filter_map(|row| match row {
                ReportRow::Payment(record) => Some(*record),
                ReportRow::Unpriced(_) | ReportRow::Rejected(_) | ReportRow::Withdrawn(..) => None,
            })
            .collect()
    }

    pub fn report_rows(&self) -> Vec<ReportRow> {
        let reader = self.reader();
        let snapshot = reader.snapshot(&batch()).unwrap();
        let rows: Vec<ReportRow> = snapshot.rows().collect::<Result<_, _>>().unwrap();
        assert_listed(&snapshot, &rows);
        rows
    }

    pub fn identifiers(&self) -> Vec<PayerTransactionId> {
        self.payments()
            .iter()
            .map(|record| record.payment.id)
            .collect()
    }

    /// One payment by its reference or identifier; the newest generation.
    pub fn find(&self, id: &str) -> PaymentRecord {
        let reader = self.reader();
        let snapshot = reader.snapshot(&batch()).unwrap();
        snapshot.find(id).unwrap().remove(0)
    }

    pub fn standing(&self) -> Standing {
        let reader = self.reader();
        let snapshot = reader.snapshot(&batch()).unwrap();
        snapshot.standing().unwrap()
    }

    pub fn count(&self, state: State) -> u64 {
        self.standing().of(state).count
    }

    /// Every table, row by row: what must not change when a verb refuses.
    pub fn contents(&self) -> Vec<String> {
        if let Some((server, database)) = &self.database {
            let rows_of = |table: &&str| {
                let all = format!("select * from disburse.{table} order by 1, 2");
                let rows = server.psql(database, &all).into_iter();
                let table = (*table).to_owned();
                rows.map(move |row| format!("{table}: {}", row.join(" ")))
            };
            return TABLES.iter().flat_map(rows_of).collect();
        }
        let c = self.sql();
        let mut tables = Vec::new();
        for table in TABLES {
            let mut statement = c.prepare(&format!("select * from {table}")).unwrap();
            let width = statement.column_count();
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                let cells: Vec<String> = (0..width)
                    .map(|index| format!("{:?}", row.get_ref(index).unwrap()))
                    .collect();
                tables.push(format!("{table}: {}", cells.join(" ")));
            }
        }
        tables
    }

    /// Counts and amounts must be the sum over the payments, whatever has happened.
    pub fn assert_adds_up(&self) {
        let reader = self.reader();
        let snapshot = reader.snapshot(&batch()).unwrap();
        let standing = snapshot.standing().unwrap();
        let mut folded = std::collections::BTreeMap::<_, Tally>::new();
        let (mut rejected, mut withdrawn, mut unpriced) = (Tally::default(), Tally::default(), 0);
        for row in snapshot.rows() {
            match row.unwrap() {
                ReportRow::Payment(record) => {
                    let row = &record.payment.instruction;
                    let key = (row.service.clone(), record.life.state, row.money.currency);
                    folded.entry(key).or_default().add(row.money);
                }
                ReportRow::Unpriced(record) => match record.withdrawn_at {
                    None => unpriced += 1,
                    Some(_) => {
                        let key = (
                            record.row.service.clone(),
                            State::Cancelled,
                            record.row.money,
                        );
                        let tally: &mut Tally = folded.entry(key).or_default();
                        tally.add_many(1, record.row.money, 0);
                    }
                },
                ReportRow::Rejected(row) => add_known(&mut rejected, &row),
                ReportRow::Withdrawn(row, _) => add_known(&mut withdrawn, &row),
            }
        }
        let told: std::collections::BTreeMap<_, Tally> = standing
            .rows
            .iter()
            .map(|row| {
                (
                    (row.service.clone(), row.state, row.currency),
                    row.tally.clone(),
                )
            })
            .collect();
        assert_eq!(told, folded, "the tallies are the sum over the payments");
        assert_eq!(standing.rejected, rejected);
        assert_eq!(standing.withdrawn, withdrawn);
        assert_eq!(standing.unpriced, unpriced);
        let mut control = snapshot.control().unwrap().total();
        control.add_all(&rejected);
        control.add_all(&withdrawn);
        // Rows without an amount have a currency, of which there is nothing yet.
        let there = |tally: &Tally| {
            let amounts = tally.amounts.iter().filter(|(_, minor)| *minor != 0);
            (tally.count, amounts.collect::<Vec<_>>())
        };
        assert_eq!(
            there(&standing.total()),
            there(&control),
            "every row is in one bucket"
        );
    }
}

/// Polls until `done` says so, for ten seconds at most.
pub async fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while !done() {
        assert!(std::time::Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A document as a row names it.
/// Counts a row that was set aside, with its amount where that could be read.
fn add_known(tally: &mut Tally, row: &RejectedRow) {
    tally.count += 1;
    if let Some(money) = row.money {
        tally.amounts.add(money);
    }
}

pub fn document(written: &str, folder: &str) -> disburse::domain::DocumentPath {
    disburse::domain::DocumentPath {
        digest: None,
        written: written.to_owned(),
        folder: folder.to_owned(),
    }
}
