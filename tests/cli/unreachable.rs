//! Runs that cannot begin: nobody at the gateway, a port that is taken, another gateway, nobody who says yes.

use std::net::TcpListener;

use crate::desk::{CONFIGURATION, Desk, HEADER};

const NOBODY: [&str; 2] = [
    "error: the gateway cannot be reached: connection refused; nothing was sent",
    "hint: check base_url and the network, then: disburse run b",
];

#[test]
fn a_gateway_that_cannot_be_reached_leaves_every_payment_ready() {
    let desk = Desk::configured();
    desk.run(&["load", "ok.csv", "--batch", "b"]).finished(0);
    let standing = || {
        let shown = desk.run(&["status", "b", "--json"]).finished(0);
        shown.standing()["states"].clone()
    };
    let before = standing();
    for quiet in [&[][..], &["-q"]] {
        let said = desk
            .run(&[&["run", "b", "--yes", "--max-wait", "3s"], quiet].concat())
            .finished(4);
        assert_eq!(said.err.lines().collect::<Vec<_>>(), NOBODY);
        assert!(
            said.out.contains("not sent yet      3  KES 600.50"),
            "{}",
            said.out
        );
    }
    assert_eq!(standing(), before);
}

#[test]
fn by_itself_it_gives_up_within_seconds() {
    let desk = Desk::configured();
    // A minute at most: --max-wait is half an hour.
    let said = desk
        .run(&["pay", "ok.csv", "--batch", "b", "--yes"])
        .finished(4);
    assert!(
        said.err.ends_with(&format!("{}\n", NOBODY.join("\n"))),
        "{}",
        said.err
    );
    assert!(
        said.out.ends_with("report: reports/b/report.html\n"),
        "{}",
        said.out
    );
}

#[test]
fn without_a_yes_the_total_is_named_that_would_have_moved() {
    let desk = Desk::configured();
    desk.run(&["load", "ok.csv", "--batch", "b"]).finished(0);
    desk.refuses(
        &["run", "b"],
        2,
        &[
            "error: this would pay KES 600.50 in 3 payments (batch b, gateway 127.0.0.1:9, account someone); nothing was sent",
            "hint: add --yes to do it without a question",
        ],
    );
}

#[test]
fn what_is_not_due_is_named_before_anybody_says_yes() {
    let header = HEADER.trim_end();
    let rows = "R-1,B2C_MPESA,254712345678,100.00,KES,KE,\n\
                R-2,B2C_MPESA,254712345679,200.50,KES,KE,2199-12-01\n";
    let desk = Desk::configured().file("ok.csv", format!("{header},not_before\n{rows}"));
    desk.run(&["load", "ok.csv", "--batch", "b"]).finished(0);
    let said = desk.run(&["run", "b"]).finished(2);
    for text in [
        "note: KES 200.50 of it is not paid today: 1 payment waits for the time in not_before: until 2199-12-01 00:00:00",
        "this would pay KES 300.50 in 2 payments",
    ] {
        assert!(said.err.contains(text), "{}", said.err);
    }
}

#[test]
fn a_listener_port_that_is_taken_stops_the_run_before_anything_is_sent() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let callback = format!(
        "[profiles.p.callback]\nlisten = \"{address}\"\npublic_url = \"https://pay.example/callbacks\"\n[services.B2C_MPESA]"
    );
    let desk = Desk::configured().file(
        "disburse.toml",
        CONFIGURATION.replacen("[services.B2C_MPESA]", &callback, 1),
    );
    desk.run(&["load", "ok.csv", "--batch", "b"]).finished(0);
    let before = desk.run(&["status", "b", "--json"]).finished(0).out;
    desk.run(&["run", "b", "--yes"]).refused(
        2,
        &[
            &format!("error: callback.listen {address}: Address already in use (os error 98); nothing was sent"),
            "hint: free the port or choose another; or add --external-listener if a `disburse listen` has it, or --poll-only to run \
             without callbacks",
        ],
    );
    desk.run(&["listen"]).refused(
        2,
        &[
            &format!("error: callback.listen {address}: Address already in use (os error 98)"),
            "hint: a run with callbacks listens itself; choose another port with --listen, or end that run",
        ],
    );
    desk.run(&["sandbox", "--listen", &address.to_string()])
        .refused(
            2,
            &[&format!(
                "error: sandbox: cannot listen on {address}: Address already in use (os error 98)"
            )],
        );
    assert_eq!(desk.run(&["status", "b", "--json"]).finished(0).out, before);
    // Without callbacks the port is not needed.
    let said = desk
        .run(&["run", "b", "--yes", "--poll-only", "--max-wait", "1s"])
        .finished(4);
    assert_eq!(said.err.lines().collect::<Vec<_>>(), NOBODY);
}

#[test]
fn a_sandbox_for_others_than_this_machine_is_refused() {
    Desk::new().refuses(
        &["sandbox", "--listen", "0.0.0.0:0"],
        2,
        &["error: sandbox: the sandbox listens on loopback addresses only, not on 0.0.0.0:0"],
    );
}

#[test]
fn a_sandbox_with_a_wait_that_makes_no_sense_is_refused() {
    let form = "expected a duration such as 250ms, 40s, 10m or 24h";
    let options = "sandbox: sandbox options:";
    for (flag, value, said) in [
        (
            "--token-lifetime",
            "hour",
            format!("--token-lifetime hour: {form}"),
        ),
        ("--rtgs-delay", "2", format!("--rtgs-delay 2: {form}")),
        (
            "--token-lifetime",
            "0s",
            format!("{options} the token lifetime is zero or longer than a year"),
        ),
        (
            "--rtgs-delay",
            "400d",
            format!("{options} a settle delay is longer than a year"),
        ),
    ] {
        Desk::new().refuses(
            &["sandbox", "--listen", "127.0.0.1:0", flag, value],
            2,
            &[&format!("error: {said}")],
        );
    }
}

#[test]
fn a_batch_stays_with_the_gateway_it_was_started_with() {
    let desk = Desk::configured();
    desk.run(&["load", "ok.csv", "--batch", "b"]).finished(0);
    desk.run(&["run", "b", "--yes", "--max-wait", "1s"])
        .finished(4);
    let desk = desk.file(
        "disburse.toml",
        CONFIGURATION.replacen("127.0.0.1:9", "127.0.0.1:10", 1),
    );
    let before = desk.run(&["status", "b", "--json"]).finished(0).out;
    desk.run(&["run", "b", "--yes"]).refused(
        2,
        &[
            "error: batch b was started with gateway http://127.0.0.1:9/v1/global-api/payments; this command is configured for \
             http://127.0.0.1:10/v1/global-api/payments. Nothing was sent",
            "hint: a batch stays with its gateway: another one does not know what was paid. Choose the right profile. If \
             the same gateway has another address now: disburse run b --gateway-moved --reason TEXT, which asks there about a \
             payment of the batch first. If it has given the account another name as well: both, --account-moved --gateway-moved",
        ],
    );
    let said = desk.run(&["run", "b", "--sandbox"]).finished(2);
    assert!(
        said.err
            .contains("batch b was loaded for its gateway, not for the sandbox"),
        "{}",
        said.err
    );
    assert_eq!(desk.run(&["status", "b", "--json"]).finished(0).out, before);
}

#[test]
fn a_rehearsal_does_not_go_on_with_real_money() {
    let desk = Desk::configured();
    desk.run(&[
        "pay",
        "ok.csv",
        "--batch",
        "b",
        "--sandbox",
        "--faults",
        "none",
    ])
    .finished(0);
    let said = desk.run(&["run", "b", "--yes"]).finished(2);
    let hint = "hint: to go on rehearsing, add --sandbox; to pay the file, load it without --sandbox under another batch name: what \
                was rehearsed does not count as paid\n";
    assert!(said.err.ends_with(hint), "{}", said.err);
}
