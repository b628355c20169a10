//! What a monitoring system is told, asked of the program as one would ask it.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use crate::files::rows;
use crate::openapi::tool::find;
use crate::world::{PATIENCE, Running, Setup, World};

const OPEN_METRICS: &str = "application/openmetrics-text";

/// Asks over a connection of its own; returns the status and the body.
fn ask(address: &str, method: &str, path: &str, accept: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAccept: {accept}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

fn scrape(address: &str) -> String {
    let (status, body) = ask(address, "GET", "/metrics", "*/*");
    assert_eq!(status, 200);
    body
}

/// Waits until the program has said where it tells its metrics.
#[track_caller]
fn address(running: &mut Running) -> String {
    let told = |running: &Running| {
        let err = running.err();
        let (_, rest) = err.split_once("metrics: http://")?;
        Some(rest.split_once("/metrics\n")?.0.to_owned())
    };
    running.until("its metrics are told", |running| told(running).is_some());
    told(running).unwrap()
}

/// Sums the samples of a metric whose labels have all of this in them.
fn sum(body: &str, name: &str, labels: &[&str]) -> f64 {
    let samples = body.lines().filter_map(|line| {
        let (series, value) = line.rsplit_once(' ')?;
        let own = series.split('{').next() == Some(name);
        (own && labels.iter().all(|label| series.contains(label))).then_some(value)
    });
    samples.map(|value| value.parse::<f64>().unwrap()).sum()
}

/// The names of all samples.
fn names(body: &str) -> BTreeSet<String> {
    let samples = body.lines().filter(|line| !line.starts_with('#'));
    samples
        .filter_map(|line| line.split(['{', ' ']).next())
        .map(str::to_owned)
        .collect()
}

/// A run that goes on for as long as its metrics are looked at, with a listener.
fn slow_run() -> (World, crate::sandbox::Sandbox, Running, String) {
    let (world, sandbox) = World::with_sandbox(&Setup::with_callbacks(), &[]);
    world.write_rows("batch.csv", &rows(600, 81));
    let mut run = world.start(&[
        "pay",
        "batch.csv",
        "--batch",
        "b",
        "--yes",
        "--rate",
        "20/s",
        "--metrics",
        "127.0.0.1:0",
    ]);
    let address = address(&mut run);
    run.until("payments are paid", |_| {
        let body = scrape(&address);
        sum(&body, "disburse_payments", &["state=\"paid\""]) >= 10.0
            && sum(&body, "disburse_callbacks_total", &["moved"]) >= 1.0
    });
    (world, sandbox, run, address)
}

fn end(run: Running) {
    run.signal(Signal::TERM);
    run.wait();
}

#[test]
fn a_run_tells_how_it_goes_and_names_nobody() {
    let (_world, _sandbox, run, address) = slow_run();
    let body = scrape(&address);
    let all = rows(600, 81);
    assert_eq!(sum(&body, "disburse_payments", &[]) as usize, all.len());
    let minor: f64 = all.iter().map(|row| row.minor as f64).sum();
    assert_eq!(sum(&body, "disburse_amount_minor_units", &["KES"]), minor);
    let (open, ended) = (
        sum(&body, "disburse_unfinished_payments", &[]),
        sum(&body, "disburse_payments", &["state=\"paid\""])
            + sum(&body, "disburse_payments", &["state=\"failed\""])
            + sum(&body, "disburse_payments", &["state=\"conflict\""]),
    );
    assert_eq!(open + ended, 600.0);
    assert_eq!(sum(&body, "disburse_run_in_progress", &[]), 1.0);
    assert_eq!(sum(&body, "disburse_journal_readable", &[]), 1.0);
    assert_eq!(
        sum(&body, "disburse_rate_limit_per_second", &["\"post\""]),
        20.0
    );
    let posts = sum(
        &body,
        "disburse_request_duration_seconds_count",
        &["\"post\""],
    );
    let infinite = sum(
        &body,
        "disburse_request_duration_seconds_bucket",
        &["\"post\"", "+Inf"],
    );
    assert!(posts >= 10.0 && posts == infinite, "{posts} {infinite}");
    assert!(sum(&body, "disburse_journal_commit_duration_seconds_count", &[]) > 0.0);
    assert_eq!(
        sum(
            &body,
            "disburse_run_info",
            &["batch=\"b\"", "rehearsal=\"no\""]
        ),
        1.0
    );
    // The same in the words of OpenMetrics, which end with a mark of their own.
    let (status, open) = ask(&address, "GET", "/metrics", OPEN_METRICS);
    assert!(status == 200 && open.ends_with("# EOF\n"));
    assert!(names(&body).is_subset(&names(&open)));
    for row in &all {
        for text in [&row.reference, &row.msisdn] {
            assert!(
                !body.contains(text.as_str()) && !open.contains(text.as_str()),
                "{text}"
            );
        }
    }
    for secret in ["s3cret", "acme"] {
        assert!(!body.contains(secret), "{secret}");
    }
    for (method, path, expected) in [
        ("GET", "/", 404),
        ("GET", "/metrics/b", 404),
        ("POST", "/metrics", 405),
    ] {
        assert_eq!(ask(&address, method, path, "*/*").0, expected, "{path}");
    }
    end(run);
}

/// The metrics that a file of the deployment names.
fn named(file: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(deployed(file)).unwrap();
    let mut named = BTreeSet::new();
    for (start, _) in text.match_indices("disburse_") {
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if text[..start].ends_with(is_word) {
            continue;
        }
        let rest = &text[start..];
        let name = &rest[..rest.find(|letter| !is_word(letter)).unwrap()];
        named.insert(name.to_owned());
    }
    named
}

fn deployed(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("deploy")
        .join(file)
}

#[test]
fn whatever_the_dashboard_and_the_alerts_ask_for_a_real_run_tells_and_promtool_finds_nothing() {
    let (world, _sandbox, run, address) = slow_run();
    let body = scrape(&address);
    end(run);
    let told = names(&body);
    for file in ["grafana/disburse.json", "prometheus/alerts.yml"] {
        let asked = named(file);
        assert!(asked.len() >= 8, "{file}: {asked:?}");
        let missing: Vec<_> = asked.difference(&told).collect();
        assert!(missing.is_empty(), "{file}: {missing:?}");
    }
    let dashboard = std::fs::read(deployed("grafana/disburse.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_slice(&dashboard).unwrap();
    assert_eq!(dashboard["uid"], "disburse");
    // Every alert is tested, so that a misspelt one cannot hide.
    let rules = std::fs::read_to_string(deployed("prometheus/alerts.yml")).unwrap();
    let tests = std::fs::read_to_string(deployed("prometheus/alerts_test.yml")).unwrap();
    for alert in rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
    {
        assert!(
            tests.contains(&format!("alertname: {alert}\n        exp_alerts")),
            "{alert}"
        );
    }
    let Some(promtool) = find("promtool", "METRICS_TOOLS") else {
        return;
    };
    let run = |arguments: &[&str], input: &str| {
        let mut command = Command::new(&promtool);
        command.args(arguments).stdin(Stdio::piped());
        let output = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = output.spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(output.status.success(), "{arguments:?}: {said}");
        said
    };
    let file = |name: &str| deployed(name).display().to_string();
    run(&["check", "rules", &file("prometheus/alerts.yml")], "");
    run(&["test", "rules", &file("prometheus/alerts_test.yml")], "");
    // It has hints on standard error, where a name breaks a custom.
    assert_eq!(run(&["check", "metrics"], &body), "");
    drop(world);
}

#[test]
fn a_port_that_is_taken_is_refused_before_anything_is_loaded_or_sent() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    world.write_rows("batch.csv", &rows(3, 82));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let pay = ["pay", "batch.csv", "--batch", "b", "--yes"];
    world
        .expect(2, &[&pay[..], &["--metrics", &address]].concat())
        .says(&format!("--metrics {address}"))
        .says("nothing was sent")
        .says("free the port");
    assert!(!world.path("disburse.db").exists(), "nothing is loaded");
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    world.expect(2, &["run", "b", "--yes", "--metrics", &address]);
    assert_eq!(sandbox.ledger().posts, 0);
    drop(taken);
    let code = world.until_finished(&pay);
    assert!(code == 0 || code == 3);
}

#[test]
fn a_listener_tells_the_metrics_of_all_batches_and_whether_somebody_runs_one() {
    let setup = Setup::with_callbacks();
    let (world, _sandbox) = World::with_sandbox(&setup, &[]);
    for (batch, seed) in [("a", 83), ("b", 84)] {
        world.write_rows("batch.csv", &rows(5, seed));
        let load = ["load", "batch.csv", "--batch", batch, "--allow-repeats"];
        world.disburse(&load[..4]);
    }
    world.write_rows("batch.csv", &rows(7, 85));
    world.expect(0, &["load", "batch.csv", "--batch", "r", "--sandbox"]);
    let mut listen = world.start(&["listen", "--metrics", "127.0.0.1:0"]);
    let address = address(&mut listen);
    let body = scrape(&address);
    // A rehearsal is nobody's money.
    assert_eq!(sum(&body, "disburse_payments", &[]), 10.0);
    assert_eq!(sum(&body, "disburse_unfinished_payments", &[]), 10.0);
    assert_eq!(sum(&body, "disburse_run_in_progress", &[]), 0.0);
    assert!(!body.contains("disburse_run_info"));
    // Callers that say nothing give way to one that asks.
    let idle: Vec<_> = (0..40)
        .map(|_| TcpStream::connect(&address).unwrap())
        .collect();
    assert!(scrape(&address).contains("disburse_build_info"));
    drop(idle);
    let listening = format!("127.0.0.1:{}", setup.callback_port.unwrap());
    listen.until("it listens", |_| TcpStream::connect(&listening).is_ok());
    assert_eq!(ask(&listening, "POST", "/callbacks/guessed", "*/*").0, 404);
    // Told at the next scrape: what is counted here is not read from the journal.
    let body = scrape(&address);
    assert_eq!(sum(&body, "disburse_callbacks_total", &["unknown"]), 1.0);
    listen.signal(Signal::TERM);
    assert_eq!(listen.wait().code, Some(0));
    assert!(
        TcpStream::connect_timeout(&address.parse().unwrap(), Duration::from_secs(1)).is_err(),
        "the port is free again"
    );
}
