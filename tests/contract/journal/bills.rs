//! Rows of postpaid services that leave their amount to the bill, and those whose amount is compared with it.

use disburse::domain::{Amount, Money, PaymentId, ServiceCode, Tally, Unpriced};
use disburse::journal::{
    BillCursor, BillFinding, BillOutcome, BillRow, Error, Journal, Kind, LoadPlan, LoadRefusal,
    LoadRow, Loaded, Location, ReportRow,
};
use disburse::lifecycle::{Class, State};

use crate::fold::assert_evidence_adds_up;
use crate::support::*;

fn water() -> Vec<ServiceCode> {
    vec![ServiceCode::parse("WATER").unwrap()]
}

fn money(minor: i64) -> Money {
    Money {
        amount: Amount::from_minor(minor).unwrap(),
        currency: kes(),
    }
}

fn finding(seq: PaymentId, outcome: BillOutcome, due: Option<i64>) -> BillFinding {
    BillFinding {
        seq,
        outcome,
        code: Some(if due.is_some() { 308 } else { 309 }),
        due: due.map(money),
        due_date: "2026-12-05 00:00:00".into(),
        customer_name: "A. Customer".into(),
        description: String::new(),
    }
}

fn incoming(rows: impl IntoIterator<Item = Unpriced>) -> Vec<LoadRow> {
    rows.into_iter()
        .map(LoadRow::Unpriced)
        .chain([LoadRow::EndOfFile])
        .collect()
}

/// A journal with `EMP-1` of 1.00 to a number, and `EMP-2` to `EMP-n` that leave their amount to their bills.
async fn mixed(n: u64) -> World {
    let world = World::new();
    let mut file = vec![LoadRow::Valid(row(1))];
    file.extend(incoming((2..=n).map(unpriced)));
    let loaded = world.load_incoming(plan(), file).await;
    assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
    world
}

impl World {
    async fn to_ask(&self, checked: Vec<ServiceCode>, from: BillCursor) -> Vec<BillRow> {
        let mut cursor = Some(from);
        let mut rows = Vec::new();
        while let Some(from) = cursor {
            // Small pages, so that there are several.
            let page = self.journal.bills_to_ask(batch(), checked.clone(), from, 2);
            let (page, next) = page.await.unwrap();
            assert!(page.len() <= 2);
            rows.extend(page);
            cursor = next;
        }
        rows
    }

    pub(super) async fn price(&self, seq: PaymentId, minor: i64) -> Result<Tally, Error> {
        let finding = finding(seq, BillOutcome::Taken, Some(minor));
        let recorded = self.journal.record_bills(vec![finding], at(5)).await;
        recorded.map(|recorded| recorded.taken)
    }

    fn unpriced_rows(&self) -> u64 {
        let rows = self.report_rows();
        let unpriced = |row: &&ReportRow| matches!(row, ReportRow::Unpriced(_));
        rows.iter().filter(unpriced).count() as u64
    }
}

#[tokio::test]
async fn a_row_without_an_amount_is_counted_and_cannot_be_posted() {
    let world = mixed(3).await;
    world.assert_adds_up();
    let standing = world.standing();
    assert_eq!(standing.unpriced, 2);
    assert_eq!(standing.total().count, 3);
    assert_eq!(standing.total().amounts.minor(kes()), 100);
    assert!(!standing.is_finished());
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 10, 2).await;
    assert_eq!(claims.len(), 1);
    world
        .record(
            vec![crate::support::finding(
                claims[0].seq,
                reply(Class::Paid, 140),
            )],
            3,
        )
        .await;
    assert!(!world.standing().is_finished());
    world.assert_adds_up();
}

#[tokio::test]
async fn the_amount_of_a_bill_is_fixed_once_and_can_then_be_posted() {
    let world = mixed(3).await;
    let rows = world.to_ask(Vec::new(), BillCursor::ALL).await;
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].account_number, "000002");
    assert_eq!((rows[0].line, rows[0].source.as_str()), (3, "payroll.csv"));
    let before: Vec<_> = rows.iter().map(|row| row.id).collect();
    let taken = world.price(rows[0].seq, 4_550).await.unwrap();
    assert_eq!((taken.count, taken.amounts.minor(kes())), (1, 4_550));
    world.assert_adds_up();
    assert_eq!(world.standing().unpriced, 1);
    assert_eq!(world.standing().total().amounts.minor(kes()), 4_650);
    let known = world.find("EMP-2");
    assert_eq!(known.payment.id, before[0]);
    assert_eq!(known.payment.instruction.money, money(4_550));

    // Twice is refused, with the same amount and with another one.
    let contents = world.contents();
    for minor in [4_550, 9_999] {
        let refused = world.price(rows[0].seq, minor).await.unwrap_err();
        assert!(matches!(refused, Error::NotAllowed { .. }), "{refused}");
        assert_eq!(refused.kind(), Kind::Refused);
    }
    assert_eq!(world.contents(), contents);
    let mine = world.sql();
    let changed = mine.execute(
        "update instruction set amount = 1 where seq = ?1",
        [rows[0].seq],
    );
    assert!(changed.unwrap_err().to_string().contains("never changes"));
    let removed = mine.execute("delete from bill", []);
    assert!(removed.unwrap_err().to_string().contains("never removed"));

    world.price(rows[1].seq, 100).await.unwrap();
    assert!(world.to_ask(Vec::new(), BillCursor::ALL).await.is_empty());
    let token = world.acquire(10).await.token;
    assert_eq!(world.claim(token, 10, 11).await.len(), 3);
    world.assert_adds_up();
}

#[tokio::test]
async fn a_group_of_bills_with_one_that_cannot_be_recorded_changes_nothing() {
    let world = mixed(4).await;
    let rows = world.to_ask(Vec::new(), BillCursor::ALL).await;
    world.price(rows[2].seq, 5).await.unwrap();
    let before = world.contents();
    let findings = rows
        .iter()
        .map(|row| finding(row.seq, BillOutcome::Taken, Some(7)))
        .collect();
    let refused = world.journal.record_bills(findings, at(6)).await;
    assert!(matches!(refused, Err(Error::NotAllowed { .. })));
    assert_eq!(world.contents(), before);
}

#[tokio::test]
async fn a_second_load_is_already_there_before_and_after_the_bills_whatever_they_say() {
    let world = mixed(3).await;
    let file = || {
        let mut file = vec![LoadRow::Valid(row(1))];
        file.extend(incoming((2..=3).map(unpriced)));
        file
    };
    let before = world.contents();
    let loaded = world.load_incoming(plan(), file()).await;
    let Loaded::AlreadyLoaded(summary) = loaded else {
        panic!("{loaded:?}");
    };
    assert_eq!((summary.total().count, summary.unpriced), (3, 2));
    assert_eq!(world.contents(), before);

    for row in world.to_ask(Vec::new(), BillCursor::ALL).await {
        world.price(row.seq, 777).await.unwrap();
    }
    let priced = world.contents();
    let loaded = world.load_incoming(plan(), file()).await;
    let Loaded::AlreadyLoaded(summary) = loaded else {
        panic!("{loaded:?}");
    };
    assert_eq!(summary.unpriced, 0);
    assert_eq!(summary.total().amounts.minor(kes()), 100 + 2 * 777);
    assert_eq!(world.contents(), priced);

    // More rows: those that are there are known again by what the file says of them.
    let amend = LoadPlan {
        amend: true,
        ..plan()
    };
    let mut more = file();
    more.insert(0, LoadRow::Unpriced(unpriced(9)));
    let loaded = world.load_incoming(amend.clone(), more).await;
    let Loaded::New(summary) = loaded else {
        panic!("{loaded:?}");
    };
    assert_eq!((summary.total().count, summary.unchanged), (1, 3));
    world.assert_adds_up();

    // The due amount written into the file makes another row of it.
    let mut written = of_service(with_amount(row(2), 777), "WATER");
    written.account_number = "000002".into();
    let loaded = world.load(amend, vec![written]).await;
    let Loaded::Refused(LoadRefusal::OtherContent(difference)) = loaded else {
        panic!("{loaded:?}");
    };
    assert_eq!(difference.changed, 1);
    assert!(difference.examples[0].contains("was KES, left to the bill, is KES 7.77"));
}

#[tokio::test]
async fn a_crash_between_two_answers_keeps_the_first_and_asks_for_the_second() {
    let world = mixed(3).await;
    let rows = world.to_ask(Vec::new(), BillCursor::ALL).await;
    world.price(rows[0].seq, 4_550).await.unwrap();
    let World { journal, path, .. } = &world;
    // As a process that died leaves it: without a checkpoint, beside the one that is still open.
    let copy = path.with_file_name("copy.db");
    for suffix in ["", "-wal"] {
        let name = |path: &std::path::Path| format!("{}{suffix}", path.display());
        std::fs::copy(name(path), name(&copy)).unwrap();
    }
    let again = Journal::open_existing(&Location::from(&copy)).unwrap();
    let page = again.bills_to_ask(batch(), Vec::new(), BillCursor::ALL, 9);
    let (left, _) = page.await.unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].seq, rows[1].seq);
    drop(journal.clone());
}

#[tokio::test]
async fn amounts_that_must_fit_are_asked_about_until_one_bill_fits() {
    let world = World::new();
    let rows = (1..=5).map(|n| of_service(row(n), if n == 5 { "B2C" } else { "WATER" }));
    world.load_new(plan(), rows.collect()).await;
    let asked = world.to_ask(water(), BillCursor::CHECKS).await;
    assert_eq!(asked.len(), 4);
    assert_eq!(asked[0].amount, Amount::from_minor(100));
    assert!(
        world
            .to_ask(Vec::new(), BillCursor::CHECKS)
            .await
            .is_empty()
    );
    let findings = vec![
        finding(asked[0].seq, BillOutcome::Fits, Some(100)),
        finding(asked[1].seq, BillOutcome::Refused, Some(9_000)),
        finding(asked[2].seq, BillOutcome::Refused, None),
    ];
    let recorded = world.journal.record_bills(findings.clone(), at(4)).await;
    let recorded = recorded.unwrap();
    assert_eq!((recorded.fitting, recorded.refused), (1, 2));
    let left = world.to_ask(water(), BillCursor::CHECKS).await;
    assert_eq!(left.len(), 3, "refused rows are asked about again");
    // The same refusal is on record once, however often it comes.
    world
        .journal
        .record_bills(findings[1..].to_vec(), at(5))
        .await
        .unwrap();
    let count: i64 = world
        .sql()
        .query_row("select count(*) from bill", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 3);
    // What has been posted is beyond its bill.
    let token = world.acquire(6).await.token;
    world.claim(token, 10, 7).await;
    assert!(world.to_ask(water(), BillCursor::CHECKS).await.is_empty());
}

#[tokio::test]
async fn what_an_operator_withdraws_ends_without_an_amount_and_is_not_brought_back() {
    let world = mixed(5).await;
    let rows = world.to_ask(Vec::new(), BillCursor::ALL).await;
    let refused = finding(rows[0].seq, BillOutcome::Refused, None);
    world
        .journal
        .record_bills(vec![refused], at(2))
        .await
        .unwrap();
    let cancel = |id: Option<&str>| world.journal.cancel(batch(), id.map(Into::into), moment(3));
    assert_eq!(cancel(Some("EMP-2")).await.unwrap(), 1);
    world.assert_adds_up();
    let twice = cancel(Some("EMP-2")).await.unwrap_err();
    assert!(twice.to_string().contains("cancelled already"), "{twice}");
    assert!(world.price(rows[0].seq, 5).await.is_err());
    let decision = disburse::journal::Decision {
        paid: true,
        reason: "r".into(),
        evidence: "e".into(),
    };
    for id in ["EMP-2", "EMP-3"] {
        let decided = world
            .journal
            .decide(batch(), id.into(), decision.clone(), moment(4))
            .await;
        assert!(matches!(decided, Err(Error::NotAllowed { .. })), "{id}");
    }
    // The rest, the row with an amount among it.
    assert_eq!(cancel(None).await.unwrap(), 4);
    world.assert_adds_up();
    assert!(world.standing().is_finished());
    assert_eq!(world.count(State::Cancelled), 5);
    assert_eq!(world.unpriced_rows(), 4);
    let amend = LoadPlan {
        amend: true,
        ..plan()
    };
    world
        .load_incoming(amend, incoming((2..=4).map(unpriced)))
        .await;
    assert!(world.to_ask(Vec::new(), BillCursor::ALL).await.is_empty());
    assert!(world.standing().is_finished());
}

#[tokio::test]
async fn a_row_that_an_earlier_journal_may_have_posted_is_asked_about_first() {
    let world = World::new();
    let presumed = LoadPlan {
        presume_posted: true,
        ..plan()
    };
    world.load_incoming(presumed, incoming([unpriced(2)])).await;
    let rows = world.to_ask(water(), BillCursor::ALL).await;
    world.price(rows[0].seq, 500).await.unwrap();
    assert_eq!(world.find("EMP-2").life.state, State::InDoubt);
    assert_eq!(
        assert_evidence_adds_up(&world.reader(), &batch(), &world.policy),
        1
    );
}

#[tokio::test]
async fn a_callback_about_a_row_without_an_amount_is_kept_and_doubts_its_first_post() {
    let world = mixed(2).await;
    let row = &world.to_ask(Vec::new(), BillCursor::ALL).await[0];
    world.callback(note(row.id, Class::Paid, 140, 1), 3).await;
    assert_eq!(world.standing().unpriced, 1);
    world.price(row.seq, 500).await.unwrap();
    assert_eq!(world.find("EMP-2").life.state, State::InDoubt);
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}

#[tokio::test]
async fn two_rows_do_not_take_what_is_due_on_one_account() {
    let world = World::new();
    let mut second = unpriced(3);
    second.account_number = "000002".into();
    let file = incoming([unpriced(2), second.clone()]);
    world.load_incoming(plan(), file).await;
    let rows = world.to_ask(Vec::new(), BillCursor::ALL).await;
    assert_eq!(rows[0].rival, None);
    assert_eq!(
        rows[1].rival.as_ref().map(ToString::to_string).as_deref(),
        Some("line 3")
    );
    // In another batch neither, as long as the first may still be paid.
    let other = LoadPlan {
        batch: disburse::domain::BatchName::parse("other").unwrap(),
        ..plan()
    };
    world.load_incoming(other.clone(), incoming([second])).await;
    let ask = || async {
        let page = world
            .journal
            .bills_to_ask(other.batch.clone(), Vec::new(), BillCursor::ALL, 9);
        page.await.unwrap().0[0].rival.clone()
    };
    assert_eq!(ask().await, None);
    world.price(rows[0].seq, 500).await.unwrap();
    assert_eq!(
        ask().await.map(|rival| rival.to_string()).as_deref(),
        Some("line 3 of batch payroll")
    );
    world
        .journal
        .cancel(batch(), Some("EMP-2".into()), moment(6))
        .await
        .unwrap();
    assert_eq!(ask().await, None);
}

#[tokio::test]
async fn a_declared_total_is_compared_once_the_amounts_are_there() {
    let world = World::new();
    let declared = |minor| LoadPlan {
        expect_total: Some((kes(), Amount::from_minor(minor).unwrap())),
        ..plan()
    };
    let file = || incoming([unpriced(2), unpriced(3)]);
    let loaded = world.load_incoming(declared(1_000), file()).await;
    assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
    // While it waits, the same total is known again, and another one is refused.
    let again = world.load_incoming(declared(1_000), file()).await;
    assert!(matches!(again, Loaded::AlreadyLoaded(_)), "{again:?}");
    let other = world.load_incoming(declared(999), file()).await;
    assert_eq!(other, Loaded::Refused(LoadRefusal::TotalOpen(2)));
    for row in world.to_ask(Vec::new(), BillCursor::ALL).await {
        world.price(row.seq, 400).await.unwrap();
    }
    let differences = world.journal.declared_totals(batch()).await.unwrap();
    assert_eq!(differences[0].expected, "KES 10.00");
    assert_eq!(differences[0].found, "KES 8.00");
    let late = world.load_incoming(declared(1_000), file()).await;
    assert!(
        matches!(late, Loaded::Refused(LoadRefusal::Total { .. })),
        "{late:?}"
    );
    // What cannot be posted any more needs no total.
    world
        .journal
        .cancel(batch(), None, moment(9))
        .await
        .unwrap();
    assert!(
        world
            .journal
            .declared_totals(batch())
            .await
            .unwrap()
            .is_empty()
    );
}
