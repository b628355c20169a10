//! Bills, asked for before a run, against a gateway that answers from a script.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use disburse::domain::{Amount, BillAmount, Currency, Money, Rate, ServiceCode};
use disburse::engine::Clock;
use disburse::gateway::{Bill, BillAnswer, BillInquiry, OperationError};
use disburse::journal::{LoadRow, Loaded, ReportRow};
use disburse::preflight::{BillQueries, BillReport, BillRule, Bills, BillsStop, RequestPolicy};
use tokio_util::sync::CancellationToken;

use crate::support::*;

/// Answers by account; what stands in `failures` comes first, one for every request.
#[derive(Default)]
struct Script {
    answers: BTreeMap<String, BillAnswer>,
    failures: Mutex<VecDeque<OperationError>>,
    requests: Mutex<Vec<usize>>,
}

impl BillQueries for Script {
    async fn bills(&self, inquiries: &[BillInquiry]) -> Result<Vec<BillAnswer>, OperationError> {
        self.requests.lock().unwrap().push(inquiries.len());
        if let Some(failure) = self.failures.lock().unwrap().pop_front() {
            return Err(failure);
        }
        let answer = |inquiry: &BillInquiry| self.answers[&inquiry.account_number].clone();
        Ok(inquiries.iter().map(answer).collect())
    }
}

fn due(minor: i64, code: &str) -> BillAnswer {
    BillAnswer::Due(Bill {
        due: Money {
            amount: Amount::from_minor(minor).unwrap(),
            currency: Currency::from_code(code).unwrap(),
        },
        due_date: "2026-12-05 00:00:00".into(),
        customer_name: "A. Customer".into(),
    })
}

fn none(code: i32) -> BillAnswer {
    BillAnswer::None {
        code,
        description: "so it is".into(),
    }
}

fn script(answers: impl IntoIterator<Item = (u64, BillAnswer)>) -> Script {
    Script {
        answers: answers
            .into_iter()
            .map(|(n, answer)| (format!("{n:06}"), answer))
            .collect(),
        ..Script::default()
    }
}

fn unavailable() -> OperationError {
    OperationError::Unavailable("nobody is there".into())
}

impl World {
    /// Holds `EMP-n` for every number: without an amount, or of the service `EXACT` or `AT_MOST` with this one.
    async fn with_bills(rows: &[(u64, Option<(&str, i64)>)]) -> Self {
        let world = Self::new();
        let incoming = rows.iter().map(|(n, written)| match written {
            None => LoadRow::Unpriced(unpriced(*n)),
            Some((service, minor)) => {
                let mut row = of_service(with_amount(row(*n), *minor), service);
                row.account_number = format!("{n:06}").into();
                LoadRow::Valid(row)
            }
        });
        let loaded = world
            .load_incoming(plan(), incoming.chain([LoadRow::EndOfFile]).collect())
            .await;
        assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
        world
    }

    async fn ask(&self, script: &Arc<Script>, packets: usize, take_due: bool) -> BillReport {
        let service = |code: &str, amount| {
            let rule = BillRule {
                decimals: None,
                amount,
                min: None,
                max: Amount::from_minor(100_000),
            };
            (ServiceCode::parse(code).unwrap(), rule)
        };
        let rate = Rate::per_second(100_000).unwrap();
        let mut manner = RequestPolicy::packed(rate, packets, 2, CancellationToken::new());
        manner.pauses = vec![Duration::ZERO; 2];
        let bills = Bills {
            journal: self.journal.clone(),
            batch: batch(),
            services: [
                service("WATER", BillAmount::Any),
                service("EXACT", BillAmount::Exact),
                service("AT_MOST", BillAmount::AtMost),
            ]
            .into(),
            take_due,
            gateway: Arc::clone(script),
            manner: Arc::new(manner),
            clock: Clock::start(),
        };
        let report = bills.carry_out(|_| {}).await.unwrap();
        self.assert_adds_up();
        report
    }
}

#[tokio::test]
async fn every_answer_is_judged_by_itself_and_every_refused_row_is_named() {
    let world = World::with_bills(&[
        (1, None),
        (2, None),
        (3, None),
        (4, None),
        (5, None),
        (6, None),
        (7, Some(("EXACT", 500))),
        (8, Some(("EXACT", 499))),
        (9, Some(("AT_MOST", 499))),
        (10, Some(("AT_MOST", 501))),
        (11, Some(("AT_MOST", 1))),
    ])
    .await;
    let script = Arc::new(script([
        (1, due(4_550, "KES")),
        (2, none(309)),
        (3, none(306)),
        (4, BillAnswer::Unknown("no entry about this account".into())),
        (5, due(4_550, "TZS")),
        (6, due(100_001, "KES")),
        (7, due(500, "KES")),
        (8, due(500, "KES")),
        (9, due(500, "KES")),
        (10, due(500, "KES")),
        (11, none(146)),
    ]));
    let report = world.ask(&script, 4, true).await;
    assert_eq!(report.stopped, None);
    assert_eq!(report.taken.total().amounts.minor(kes()), 4_550);
    assert_eq!((report.fitting, report.refused), (2, 8));
    let told: Vec<String> = report
        .refusals
        .iter()
        .map(|row| format!("{}:{}: {}: {}", row.source, row.line, row.column, row.what))
        .collect();
    assert_eq!(
        told,
        [
            "payroll.csv:3: amount: section 4.2: the bill query answers 309: so it is",
            "payroll.csv:4: account_number: section 4.2: the bill query answers 306: so it is",
            "payroll.csv:5: account_number: section 4.2: the bill query gives no usable answer: no entry about this account",
            "payroll.csv:6: currency_code: section 4.2: the bill is TZS 45.50, expected KES",
            "payroll.csv:7: amount: section 8: expected at most 1000.00 KES for WATER, the bill is 1000.01",
            "payroll.csv:9: amount: section 4.2: expected 5.00 KES, which is due on the bill of EXACT, found 4.99",
            "payroll.csv:11: amount: section 4.2: expected at most 5.00 KES, which is due on the bill of AT_MOST, found 5.01",
            "payroll.csv:12: account_number: section 4.2: the bill query answers 146: so it is",
        ]
    );
    assert!(script.requests.lock().unwrap().iter().all(|n| *n <= 4));
    // Asked again, only what is refused is asked about; what it says now counts.
    script.requests.lock().unwrap().clear();
    let mut better = script.answers.clone();
    better.insert("000002".into(), due(7, "KES"));
    let script = Arc::new(Script {
        answers: better,
        ..Script::default()
    });
    let report = world.ask(&script, 1, true).await;
    assert_eq!(script.requests.lock().unwrap().len(), 8);
    assert_eq!(report.taken.total().amounts.minor(kes()), 7);
    assert_eq!(report.refused, 7);
}

#[tokio::test]
async fn rows_without_an_amount_are_left_alone_unless_what_is_due_is_to_be_taken() {
    let world = World::with_bills(&[(1, None), (2, Some(("EXACT", 500)))]).await;
    let script = Arc::new(script([(2, due(500, "KES"))]));
    let report = world.ask(&script, 1, false).await;
    assert_eq!((report.fitting, report.taken.total().count), (1, 0));
    assert_eq!(world.standing().unpriced, 1);
}

#[tokio::test]
async fn a_gateway_that_is_away_for_a_while_is_asked_again_and_one_that_stays_away_is_given_up() {
    let rows: Vec<_> = (1..=3).map(|n| (n, None)).collect();
    let world = World::with_bills(&rows).await;
    let script = Arc::new(script((1..=3).map(|n| (n, due(100, "KES")))));
    script
        .failures
        .lock()
        .unwrap()
        .extend([unavailable(), unavailable()]);
    let report = world.ask(&script, 3, true).await;
    assert_eq!(report.stopped, None);
    assert_eq!(report.taken.total().count, 3);
    assert_eq!(script.requests.lock().unwrap().len(), 3);

    let world = World::with_bills(&rows).await;
    let away = Arc::new(Script::default());
    away.failures
        .lock()
        .unwrap()
        .extend(std::iter::repeat_with(unavailable).take(3));
    let report = world.ask(&away, 3, true).await;
    assert_eq!(report.stopped, Some(BillsStop::Gateway(unavailable())));
    assert_eq!(away.requests.lock().unwrap().len(), 3);
    // Nothing is lost: the same question later.
    assert_eq!(world.ask(&script, 3, true).await.taken.total().count, 3);
}

#[tokio::test]
async fn what_was_answered_before_the_gateway_went_away_is_kept() {
    let rows: Vec<_> = (1..=200).map(|n| (n, None)).collect();
    let world = World::with_bills(&rows).await;
    let mut answers = script((1..=199).map(|n| (n, due(100, "KES"))));
    answers.answers.insert("000200".into(), due(100, "KES"));
    let script = Arc::new(answers);
    // Two pages of 64 go well; then nobody is there.
    struct Tiring(Arc<Script>);
    impl BillQueries for Tiring {
        async fn bills(
            &self,
            inquiries: &[BillInquiry],
        ) -> Result<Vec<BillAnswer>, OperationError> {
            if self.0.requests.lock().unwrap().len() >= 128 {
                return Err(unavailable());
            }
            self.0.bills(inquiries).await
        }
    }
    let mut manner = RequestPolicy::new(
        Rate::per_second(100_000).unwrap(),
        1,
        CancellationToken::new(),
    );
    manner.pauses.clear();
    let bills = Bills {
        journal: world.journal.clone(),
        batch: batch(),
        services: BTreeMap::new(),
        take_due: true,
        gateway: Arc::new(Tiring(Arc::clone(&script))),
        manner: Arc::new(manner),
        clock: Clock::start(),
    };
    let report = bills.carry_out(|_| {}).await.unwrap();
    assert!(report.stopped.is_some());
    assert_eq!(report.taken.total().count, 128);
    assert_eq!(world.standing().unpriced, 72);
    script.requests.lock().unwrap().clear();
    assert_eq!(world.ask(&script, 1, true).await.taken.total().count, 72);
    assert_eq!(script.requests.lock().unwrap().len(), 72);
}

#[tokio::test]
async fn credentials_that_are_not_taken_end_the_questions_at_once() {
    let rows: Vec<_> = (1..=20).map(|n| (n, None)).collect();
    let world = World::with_bills(&rows).await;
    let script = Arc::new(script((1..=20).map(|n| (n, due(100, "KES")))));
    let refusal = OperationError::Credentials {
        section: "5",
        what: "authStatusCode 132".into(),
    };
    script
        .failures
        .lock()
        .unwrap()
        .extend(std::iter::repeat_n(refusal.clone(), 20));
    let report = world.ask(&script, 1, true).await;
    assert_eq!(report.stopped, Some(BillsStop::Gateway(refusal)));
    assert!(
        script.requests.lock().unwrap().len() <= 2,
        "what was under way"
    );
    assert_eq!(world.standing().unpriced, 20);
}

#[tokio::test]
async fn a_second_row_for_the_same_account_is_refused_without_being_asked_about() {
    let world = World::new();
    let mut second = unpriced(2);
    second.account_number = "000001".into();
    let file = [unpriced(1), second].map(LoadRow::Unpriced);
    world
        .load_incoming(
            plan(),
            file.into_iter().chain([LoadRow::EndOfFile]).collect(),
        )
        .await;
    let script = Arc::new(script([(1, due(100, "KES"))]));
    let report = world.ask(&script, 1, true).await;
    assert_eq!((report.taken.total().count, report.refused), (1, 1));
    assert!(
        report.refusals[0]
            .what
            .starts_with("line 2 pays this account")
    );
    let rows = world.report_rows();
    let ReportRow::Unpriced(left) = &rows[1] else {
        panic!("{rows:?}");
    };
    assert!(left.bill.as_ref().unwrap().description.contains("line 2"));
}
