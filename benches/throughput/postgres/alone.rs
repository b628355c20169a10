//! The journal alone, in a process of its own: it claims payments and records what a gateway would say of them, with nothing between.
//!
//! It asks as a run does: the next payments are claimed while the outcomes of those before are recorded, and callbacks come beside both.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use disburse::domain::{BatchName, GatewayTransactionId, ResponseDetails, Tally, Timestamp};
use disburse::journal::{
    Claim, Finding, Home, IncomingCallback, Journal, Location, RunTerms, RunToken, Runner,
};
use disburse::ledger::confirmation::{Answer, Bound, Confirmation};
use disburse::lifecycle::{Class, CodeMeaning, Event, Policy, StepContext};
use serde_json::{Value, json};

use super::super::gateway::BATCH;
use super::super::process::{Ended, Outcome, Process, limit};

/// What this program is called with in place of the names of rows.
pub const FLAG: &str = "--journal-alone";
/// Payments of a claim, and outcomes of a transaction at most, as a run has them.
const GROUP: usize = 1024;
/// How often it looks what is due, which renews its lease.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long after their start all of them begin together.
const GATHER: Duration = Duration::from_secs(3);

/// Runs a batch with so many runners at once; returns how long they took, from the first claim to the last commit.
pub fn measure(
    (folder, journal): (&Path, &str),
    runners: usize,
    payments: usize,
    callbacks: bool,
) -> Outcome<f64> {
    let begin = now() + i64::try_from(GATHER.as_millis())?;
    let start = |runner: usize| {
        let mut command = Command::new(env::current_exe()?);
        command
            .current_dir(folder)
            .env_clear()
            .env("HOME", folder.join(runner.to_string()))
            .arg(FLAG)
            .args([journal, &begin.to_string(), &callbacks.to_string()]);
        std::fs::create_dir_all(folder.join(runner.to_string()))?;
        Process::start(&mut command, limit(payments))
    };
    let processes: Vec<Process> = (0..runners).map(start).collect::<Outcome<_>>()?;
    let ended: Vec<Ended> = processes
        .into_iter()
        .map(Process::wait)
        .collect::<Outcome<_>>()?;
    let mut done = 0;
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    for ended in &ended {
        let told: Value = serde_json::from_str(&ended.out)?;
        let number = |name: &str| {
            told[name]
                .as_i64()
                .ok_or("a runner does not say what it did")
        };
        done += number("payments")?;
        first = first.min(number("began")?);
        last = last.max(number("ended")?);
    }
    if done != i64::try_from(payments)? {
        return Err(format!("of {payments} payments {done} were claimed").into());
    }
    Ok(Duration::from_millis(u64::try_from(last - first)?).as_secs_f64())
}

/// What such a process does.
pub fn main(arguments: &[String]) -> Outcome<()> {
    let [journal, begin, callbacks] = arguments else {
        return Err("an address, a time and a word are to follow".into());
    };
    let (begin, callbacks) = (begin.parse()?, callbacks == "true");
    let journal = Location::parse(&OsString::from(journal))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let told = runtime.block_on(pay(journal, begin, callbacks))?;
    println!("{told}");
    Ok(())
}

async fn pay(at: Location, begin: i64, callbacks: bool) -> Outcome<Value> {
    let journal = Journal::open_existing(&at)?;
    let policy = Arc::new(Policy {
        callbacks,
        ..Policy::default()
    });
    let terms = terms(&policy);
    let acquired = journal
        .acquire(BatchName::parse(BATCH)?, terms, Arc::clone(&policy))
        .await?;
    let runner = Alone {
        journal,
        policy,
        token: acquired.token,
        callbacks,
    };
    let wait = Duration::from_millis(u64::try_from(begin - now()).unwrap_or(0));
    tokio::time::sleep(wait).await;
    let began = now();
    let payments = runner.pay_all().await?;
    let ended = now();
    runner.journal.leave(runner.token, runner.policy).await?;
    Ok(json!({ "payments": payments, "began": began, "ended": ended }))
}

struct Alone {
    journal: Journal,
    policy: Arc<Policy>,
    token: RunToken,
    callbacks: bool,
}

impl Alone {
    /// Pays what there is; returns how many payments that were.
    async fn pay_all(&self) -> Outcome<usize> {
        let mut payments = 0;
        let mut looked = Instant::now();
        let (mut claimed, mut recorded) = (Vec::new(), Vec::new());
        loop {
            let time = Timestamp::from_millis(now());
            if looked.elapsed() >= LOOK_EVERY {
                looked = Instant::now();
                self.journal.due(self.token, time).await?;
            }
            let claim = self
                .journal
                .claim(self.token, GROUP, time, Arc::clone(&self.policy));
            let called = std::mem::take(&mut recorded);
            let (claims, told, heard) =
                tokio::join!(claim, self.record(&claimed), self.hear(&called));
            let (claims, _, halt) = claims?;
            told?;
            heard?;
            if let Some(halt) = halt {
                return Err(format!("{halt:?}").into());
            }
            if claims.is_empty() && claimed.is_empty() && called.is_empty() {
                return Ok(payments);
            }
            payments += claims.len();
            recorded = std::mem::replace(&mut claimed, claims);
        }
    }

    /// Records that the gateway has taken payments.
    async fn record(&self, claims: &[Claim]) -> Outcome<()> {
        if claims.is_empty() {
            return Ok(());
        }
        let taken = CodeMeaning {
            class: Class::Acknowledged,
            code: 139,
        };
        let findings = claims.iter().map(|claim| Finding {
            seq: claim.seq,
            event: Event::Reply(taken),
            said: ResponseDetails {
                description: "Payment accepted for processing".into(),
                gateway_transaction_id: GatewayTransactionId::parse(&id(claim)).ok(),
                http_status: Some(200),
                ..ResponseDetails::default()
            },
            asked: None,
        });
        let (findings, policy) = (findings.collect(), Arc::clone(&self.policy));
        self.journal
            .record(Some(self.token), findings, moment(), policy)
            .await?;
        Ok(())
    }

    /// Stores the callbacks of payments that were recorded before, each a verb of its own.
    async fn hear(&self, claims: &[Claim]) -> Outcome<()> {
        if !self.callbacks {
            return Ok(());
        }
        let paid = CodeMeaning {
            class: Class::Paid,
            code: 140,
        };
        let mut tasks = tokio::task::JoinSet::new();
        for claim in claims {
            let mut digest = [7; 32];
            digest[..8].copy_from_slice(&claim.seq.get().to_be_bytes());
            let callback = IncomingCallback {
                id: claim.payment.id,
                event: Some(Event::Callback(paid)),
                said: ResponseDetails {
                    description: "Payment completed".into(),
                    gateway_transaction_id: GatewayTransactionId::parse(&id(claim)).ok(),
                    receipt_number: Some(format!("RCT{:010}", claim.seq.get())),
                    receiver_narration: Some("Received by the customer".into()),
                    ..ResponseDetails::default()
                },
                digest,
                body: None,
            };
            let (journal, policy) = (self.journal.clone(), Arc::clone(&self.policy));
            tasks.spawn(async move { journal.callback(callback, moment(), policy).await });
        }
        while let Some(heard) = tasks.join_next().await {
            heard??;
        }
        Ok(())
    }
}

fn id(claim: &Claim) -> String {
    format!("{}", 5_000_000_000 + claim.seq.get())
}

fn moment() -> StepContext {
    StepContext {
        now: Timestamp::from_millis(now()),
        jitter: fastrand::u8(..),
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(0))
}

fn terms(policy: &Policy) -> RunTerms {
    RunTerms {
        home: Home {
            gateway: "http://127.0.0.1".into(),
            wire: "bench".into(),
            account: "bench".into(),
            profile: "bench".into(),
            reading: "document".into(),
            accepts_reading: false,
        },
        confirmation: Confirmation::of(Tally::default(), Bound::EVERYTHING, Answer::Flag),
        approval: None,
        longest_wait: policy.query_backoff_max,
        first_query_after: policy.first_query_after,
        calendar: Arc::default(),
        limits: None,
        runner: Runner {
            host: "bench".into(),
            name: std::process::id().to_string(),
            rate: 1_000_000,
            query_rate: 1_000_000,
        },
        now: Timestamp::from_millis(now()),
        shows: None,
    }
}
