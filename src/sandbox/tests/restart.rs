//! A sandbox on a ledger file dies at any moment and goes on where it was.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;
use crate::sandbox::books::verdict::Verdict;
use crate::sandbox::error::Error;

fn on(path: &Path) -> Options {
    Options {
        ledger_file: Some(path.to_owned()),
        ..quick()
    }
}

/// Runs `life` in a runtime of its own and ends it without ceremony: every task dies where it stands.
fn killed<T>(life: impl AsyncFnOnce() -> T) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(life())
}

#[test]
fn what_was_accepted_before_the_kill_is_executed_once_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let identity = killed(async || {
        let never = Options {
            settle_delay_ms: 60_000..=60_000,
            ..on(&path)
        };
        let bench = Bench::start(never).await;
        for index in 0..20 {
            let reply = bench.post(&packet(&format!("P{index}"))).await.unwrap();
            assert_eq!(reply.code(), 139);
        }
        bench.post(&packet_with("R", "1.00", "{}")).await.unwrap();
        assert_eq!(bench.sandbox.verdict().pending, 20);
        bench.sandbox.identity().to_owned()
    });
    let verdict = killed(async || {
        let bench = Bench::start(on(&path)).await;
        assert_eq!(bench.sandbox.identity(), identity);
        assert_eq!(bench.query("R").await.code(), 232);
        assert_eq!(bench.post(&packet("P3")).await.unwrap().code(), 229);
        bench
            .until("all settle", |sandbox| sandbox.verdict().pending == 0)
            .await;
        bench.sandbox.verdict()
    });
    assert_eq!((verdict.executed_once, verdict.executed_more), (20, 0));
    let read_again = killed(async || Bench::start(on(&path)).await.sandbox.verdict());
    assert_eq!(read_again, verdict);
}

#[test]
fn killed_again_and_again_under_load_it_executes_each_identifier_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let mut faults = Faults::hostile();
    faults.slow_reply_ms = 5..=20;
    faults.late_execution_ms = 5..=50;
    for round in 0..8_u64 {
        killed(async || {
            let options = Options {
                faults: faults.clone(),
                ..on(&path)
            };
            let bench = Bench::start(options).await;
            let posts = async {
                for index in 0..60 {
                    let _ = bench.post(&packet(&format!("P{index}"))).await;
                }
            };
            let _ = tokio::time::timeout(Duration::from_millis(20 + 9 * round), posts).await;
        });
    }
    let (before, after): (Verdict, Verdict) = killed(async || {
        let bench = Bench::start(on(&path)).await;
        let before = bench.sandbox.verdict();
        bench
            .until("all settle", |sandbox| sandbox.verdict().pending == 0)
            .await;
        (before, bench.sandbox.verdict())
    });
    assert_eq!(after.executed_more, 0);
    assert!(after.executed_once > 0 && after.executed_once >= before.executed_once);
    assert_eq!(after.altered, 0);
}

#[test]
fn callbacks_late_posts_and_top_ups_are_taken_up_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    killed(async || {
        let mut options = on(&path);
        options.faults = Faults::none().short("B2C_MPESA", 1, 60_000);
        let bench = Bench::start(options).await;
        // Nobody listens there yet.
        let extra = json!({"pushToOriginator": true, "callbackUrl": "http://127.0.0.1:9/x"});
        let packet_called = packet_with("C", "1500.50", &extra.to_string());
        bench.post(&packet_called).await.unwrap();
        bench.settled("C").await;
        assert_eq!(bench.post(&packet("S")).await.unwrap().code(), 230);
    });
    killed(async || {
        let mut options = on(&path);
        options.faults = Faults::none().with(Fault::LateExecution, 1.0);
        options.faults.late_execution_ms = 60_000..=60_000;
        let bench = Bench::start(options).await;
        let late = packet("L").replace("B2C_MPESA", "B2C_AIRTEL");
        assert_eq!(bench.post(&late).await.unwrap().status, 504);
        assert_eq!(bench.query("L").await.code(), 143);
    });
    killed(async || {
        let listener = Listener::start(&[]).await;
        let moved = std::fs::read_to_string(&path)
            .unwrap()
            .replace("http://127.0.0.1:9/x", &listener.url);
        std::fs::write(&path, moved).unwrap();
        let bench = Bench::start(on(&path)).await;
        assert_eq!(bench.settled("L").await.code(), 140);
        listener.hears(1).await;
        bench
            .until("topped up", |sandbox| !sandbox.floats()[0].short)
            .await;
        assert_eq!(bench.post(&packet("S")).await.unwrap().code(), 139);
    });
    killed(async || {
        // An acknowledged callback is over.
        let bench = Bench::start(on(&path)).await;
        assert_eq!(bench.gateway_callbacks_owed(), 0);
    });
}

impl Bench {
    fn gateway_callbacks_owed(&self) -> usize {
        let book = self.sandbox.gateway.book();
        book.ledger.unfinished().callbacks.len()
    }
}

#[test]
fn a_torn_last_line_is_cut_off_and_a_bad_line_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    killed(async || {
        let bench = Bench::start(on(&path)).await;
        bench.post(&packet("P")).await.unwrap();
        bench.settled("P").await;
    });
    let append = |text: &str| {
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    append(r#"{"event":"settled","num"#);
    killed(async || {
        let bench = Bench::start(on(&path)).await;
        assert_eq!(bench.executions("P"), 1);
        bench.post(&packet("Q")).await.unwrap();
        bench.settled("Q").await;
    });
    killed(async || {
        let bench = Bench::start(on(&path)).await;
        assert_eq!(bench.sandbox.verdict().executed_once, 2);
    });
    append("{\"event\":\"dance\"}\n");
    let error = killed(async || start(on(&path)).await.err().unwrap());
    assert!(matches!(error, Error::LedgerCorrupt { .. }), "{error}");
}

#[test]
fn a_file_that_is_no_ledger_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("payroll.csv");
    for text in ["reference,amount\n1,2\n", "reference,amount"] {
        std::fs::write(&path, text).unwrap();
        let error = killed(async || start(on(&path)).await.err().unwrap());
        assert!(
            matches!(error, Error::LedgerCorrupt { line: 1, .. }),
            "{error}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[tokio::test]
async fn a_ledger_file_has_one_sandbox_and_one_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let first = start(on(&path)).await.unwrap();
    let error = start(on(&path)).await.err().unwrap();
    assert!(matches!(error, Error::LedgerInUse(_)), "{error}");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    first.shutdown().await;
    start(on(&path)).await.unwrap().shutdown().await;
}

#[tokio::test]
async fn a_write_that_fails_executes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::start(on(&folder.path().join("ledger.jsonl"))).await;
    bench.post(&packet("P")).await.unwrap();
    bench.sandbox.gateway.book().fail_writes();
    assert_eq!(bench.post(&packet("Q")).await.unwrap().status, 503);
    assert_eq!(bench.query("Q").await.code(), 143);
    tokio::time::sleep(Duration::from_millis(100)).await;
    // What was accepted before settles after a restart.
    assert_eq!(bench.query("P").await.code(), 139);
}

#[tokio::test]
async fn a_device_is_no_ledger_file() {
    for path in ["/dev/null", "/dev/full"] {
        let error = start(on(Path::new(path))).await.err().unwrap();
        assert!(matches!(error, Error::Ledger { .. }), "{error}");
    }
}

#[test]
fn an_endless_line_is_not_read_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    std::fs::write(&path, vec![b'x'; 1024 * 1024]).unwrap();
    let error = killed(async || start(on(&path)).await.err().unwrap());
    assert!(matches!(error, Error::LedgerCorrupt { .. }), "{error}");
}

#[test]
fn documents_transfers_and_balances_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let transfer = |id: &str, reference: &Value| {
        let extra = bank_with(json!({"supportDocument": reference}));
        packet_of(
            "RTGS",
            id,
            json!({"amount": "2000000.00", "extraData": extra}),
        )
    };
    let (reference, before) = killed(async || {
        let never = Options {
            rtgs_delay_ms: 60_000..=60_000,
            ..on(&path)
        };
        let bench = Bench::start(never).await;
        let reference = bench.upload("R", &pdf()).await.json()["reference"].clone();
        bench.upload("LATER", &pdf()).await;
        let reply = bench.post(&transfer("R", &reference)).await.unwrap();
        assert_eq!(reply.code(), 148);
        let refused = packet_of("B2C_MPESA", "D", json!({"datePaymentReceived": "today"}));
        assert_eq!(bench.post(&refused).await.unwrap().code(), 174);
        let body = r#"{"serviceCode":"AIRTIME","amount":"12.34"}"#;
        assert_eq!(
            bench.request("POST", "/sandbox/float", body).await.status,
            200
        );
        (reference, bench.ledger(false).await)
    });
    killed(async || {
        let again = Options {
            // The reference is the ledger's, not the seed's.
            seed: 99,
            rtgs_delay_ms: 200..=200,
            ..on(&path)
        };
        let bench = Bench::start(again).await;
        let after = bench.ledger(false).await;
        for part in ["documents", "services", "identifiers", "identity"] {
            assert_eq!(after[part], before[part]);
        }
        let again = bench.upload("R", &pdf()).await;
        assert_eq!(
            (again.status, &again.json()["reference"]),
            (200, &reference)
        );
        assert_eq!(bench.query("R").await.code(), 148);
        assert_eq!(bench.settled("R").await.code(), 140);
        assert_eq!(bench.executions("R"), 1);
        let why = bench.query("D").await.json()["results"][0]["statusDescription"].clone();
        assert!(why.as_str().unwrap().contains("datePaymentReceived"));
        let own = bench.upload("LATER", &pdf()).await.json()["reference"].clone();
        let reply = bench.post(&transfer("LATER", &own)).await.unwrap();
        assert_eq!(reply.code(), 148);
    });
}

#[test]
fn a_ledger_file_from_before_there_were_kinds_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let lines = [
        r#"{"ledger":"disburse-sandbox/1","identity":"0f"}"#,
        r#"{"event":"refused","id":"R","digest":1,"code":110}"#,
        r#"{"event":"accepted","number":1,"attempt":1,"at_ms":5,"post":{"id":"P","service":"B2C_MPESA","money":"KES 10.00","msisdn":"254712345678","account":"254712345678","callback":null,"digest":2}}"#,
        "",
    ];
    std::fs::write(&path, lines.join("\n")).unwrap();
    killed(async || {
        let bench = Bench::start(on(&path)).await;
        assert_eq!(bench.query("R").await.code(), 110);
        assert_eq!(bench.settled("P").await.code(), 140);
    });
}
