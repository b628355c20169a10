//! What a run does before and around its posts: documents, floats, networks of numbers.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::files::rows;
use crate::oracle::{nothing_twice, payments, prove};
use crate::sandbox::Sandbox;
use crate::world::{Setup, World, eventually};

const PAY: [&str; 5] = ["pay", "batch.csv", "--batch", "b", "--yes"];
const SLOWLY: [&str; 7] = [
    "pay",
    "batch.csv",
    "--batch",
    "b",
    "--yes",
    "--rate",
    "10/s",
];

/// Writes `count` transfers of a million shillings, each with a document of its own.
fn transfers(world: &World, count: usize) {
    fs::create_dir_all(world.path("documents")).unwrap();
    let document =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/documents/bank-statement.pdf");
    let mut text = "reference,service_code,msisdn,amount,currency_code,customer_names,\
                    bank_code,bank_name,bank_account_name,bank_account_number,document\n"
        .to_owned();
    for n in 1..=count {
        fs::copy(&document, world.path(&format!("documents/{n}.pdf"))).unwrap();
        writeln!(
            text,
            "R{n:03},RTGS,254712{n:06},1000000.00,KES,Supplier {n},02,Bank,Supplier {n},01000{n:05},documents/{n}.pdf"
        )
        .unwrap();
    }
    world.write("batch.csv", &text);
}

/// A sandbox that settles transfers at once.
fn world_of_transfers(setup: &Setup, count: usize) -> (World, Sandbox) {
    let world = World::new(setup);
    let services = "[services.RTGS]\nkind = \"rtgs\"\ncurrency_code = \"KES\"\n";
    world.write(
        "disburse.toml",
        &format!("{}{services}", world.read("disburse.toml")),
    );
    let sandbox = Sandbox::start(&world, "ledger", &["--rtgs-delay", "200ms"]);
    let world = world.towards(&sandbox.base_url);
    transfers(&world, count);
    (world, sandbox)
}

#[track_caller]
fn every_transfer_is_paid_with_its_document(world: &World, sandbox: &Sandbox, count: usize) {
    let ledger = sandbox.ledger();
    nothing_twice(&ledger);
    assert_eq!(ledger.altered, 0, "a repeat named another document");
    assert_eq!(ledger.executed_once, count as u64);
    let documents = sandbox.documents();
    assert_eq!(documents.len(), count);
    world.expect(0, &["report", "b", "--out", "proof"]);
    for line in payments(world, "proof") {
        assert_eq!(line.get("state"), "paid");
        let id = line.get("payer_transaction_id");
        let number = line
            .get("reference")
            .trim_start_matches(['R', '0'])
            .to_owned();
        assert_eq!(documents[id]["name"], format!("{number}.pdf"), "{id}");
        let trail = world.expect(0, &["explain", "b", id]);
        assert_eq!(
            trail.out.matches("document uploaded").count(),
            1,
            "{}",
            trail.out
        );
        trail.says(documents[id]["reference"].as_str().unwrap());
    }
}

#[test]
fn transfers_are_paid_each_with_its_own_document() {
    let (world, sandbox) = world_of_transfers(&Setup::default(), 6);
    world.expect(0, &PAY).says("6 documents uploaded");
    every_transfer_is_paid_with_its_document(&world, &sandbox, 6);
    let again = world.expect(0, &PAY);
    assert!(!again.err.contains("uploaded"), "{}", again.err);
}

#[test]
fn a_run_killed_among_its_uploads_goes_on_where_it_was() {
    let (world, sandbox) = world_of_transfers(&Setup::default(), 12);
    let mut run = world.start(&SLOWLY);
    run.until("uploading", |_| sandbox.documents().len() >= 4);
    // Dropped, it is killed.
    drop(run);
    assert_eq!(
        sandbox.ledger().posts,
        0,
        "nothing is posted before the last upload"
    );
    let resumed = world.expect(0, &PAY);
    assert!(!resumed.err.contains("12 documents"), "{}", resumed.err);
    every_transfer_is_paid_with_its_document(&world, &sandbox, 12);
}

#[test]
fn a_run_killed_after_its_uploads_uploads_nothing_again() {
    let (world, sandbox) = world_of_transfers(&Setup::default(), 8);
    let mut run = world.start(&SLOWLY);
    run.until("posting", |_| sandbox.ledger().posts >= 2);
    drop(run);
    let before = sandbox.documents();
    let resumed = world.expect(0, &PAY);
    assert!(!resumed.err.contains("uploaded"), "{}", resumed.err);
    assert_eq!(sandbox.documents(), before);
    every_transfer_is_paid_with_its_document(&world, &sandbox, 8);
}

#[test]
fn a_signal_among_the_uploads_ends_the_run_in_good_order() {
    let (world, sandbox) = world_of_transfers(&Setup::default(), 12);
    let mut run = world.start(&SLOWLY);
    run.until("uploading", |_| sandbox.documents().len() >= 3);
    run.signal(rustix::process::Signal::TERM);
    let done = run.wait();
    assert_eq!(done.code, Some(4), "{done:?}");
    done.says("nothing was posted");
    assert_eq!(sandbox.ledger().posts, 0);
    world.expect(0, &PAY);
    every_transfer_is_paid_with_its_document(&world, &sandbox, 12);
}

#[test]
fn nothing_is_posted_while_a_document_is_gone_or_spoilt() {
    let (world, sandbox) = world_of_transfers(&Setup::default(), 4);
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    fs::remove_file(world.path("documents/2.pdf")).unwrap();
    world.write("documents/4.pdf", "not a PDF any more");
    let run = ["run", "b", "--yes"];
    world
        .expect(2, &run)
        .says("line 3, reference R002")
        .says("line 5, reference R004")
        .says("no such file")
        .says("disburse cancel b R002")
        .says("2 documents not taken");
    assert_eq!(sandbox.ledger().posts, 0);
    // One is exchanged, the other payment withdrawn. What is sent is what was checked.
    let sound = fs::read(world.path("documents/1.pdf")).unwrap();
    let mut other = sound.clone();
    other.extend(b"\n");
    fs::write(world.path("documents/4.pdf"), &other).unwrap();
    world.expect(0, &["cancel", "b", "R002"]);
    world
        .expect(2, &run)
        .says("line 5, reference R004")
        .says("is not the file that was checked")
        .says("--new-documents");
    assert_eq!(sandbox.ledger().posts, 0);
    fs::write(world.path("documents/2.pdf"), &sound).unwrap();
    world
        .expect(0, &["load", "batch.csv", "--batch", "b", "--new-documents"])
        .says("1 document taken again into batch b");
    world
        .expect(0, &["explain", "b", "R004"])
        .says("document checked");
    world.expect(3, &run).says("1 document uploaded");
    assert_eq!(
        (world.count("b", "paid"), world.count("b", "cancelled")),
        (3, 1)
    );
    nothing_twice(&sandbox.ledger());
}

#[test]
fn a_file_service_that_is_away_ends_the_run_with_4_and_nothing_posted() {
    let (world, sandbox) = world_of_transfers(&Setup::default(), 2);
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    let text = world.read("disburse.toml");
    let nobody = format!("http://127.0.0.1:{}", crate::world::free_port());
    let away = world.with_file_service(&nobody);
    away.expect(4, &["run", "b", "--yes"])
        .says("section 4.3")
        .says("nothing was posted")
        .says("run the same command again");
    assert_eq!(sandbox.ledger().posts, 0);
    assert_eq!(away.read("disburse.toml"), text);
    let world = away.with_file_service(&sandbox.base_url);
    world.expect(0, &["run", "b", "--yes"]);
    every_transfer_is_paid_with_its_document(&world, &sandbox, 2);
}

fn shortage(world: &World, after: u32) {
    world.write(
        "faults.toml",
        &format!(
            "float_shortage = {{ service = \"B2C_MPESA\", after = {after}, topped_up_after_ms = 600000 }}\n"
        ),
    );
}

const FLOAT: Setup = Setup {
    references_restart: true,
    callback_port: None,
    request_timeout: "1900ms",
    quarantine: "2s",
    lane_retry_after: None,
    more: "float.query = true\nfloat.reopen_lanes = true\nfloat.poll_every = \"200ms\"",
};

fn world_short_after(after: u32, setup: &Setup) -> (World, Sandbox) {
    let world = World::new(setup);
    shortage(&world, after);
    let sandbox = Sandbox::start(&world, "ledger", &["--faults", "faults.toml"]);
    let world = world.towards(&sandbox.base_url);
    (world, sandbox)
}

#[test]
fn a_lane_reopens_by_itself_once_its_float_is_topped_up() {
    let (world, sandbox) = world_short_after(5, &FLOAT);
    let rows = rows(60, 73);
    world.write_rows("batch.csv", &rows);
    let others = rows.iter().filter(|row| row.service != "B2C_MPESA").count() as u64;
    let mut run = world.start(&PAY);
    run.until("the other lanes are through", |_| {
        sandbox.ledger().executed_once >= others + 5
    });
    sandbox.top_up("B2C_MPESA", "50000000");
    let done = run.wait();
    assert_eq!(done.code, Some(0), "{done:?}");
    done.says("float of B2C_MPESA: KES");
    prove(&world, "b", &rows, &sandbox.ledger());
}

#[test]
fn a_float_that_does_not_last_is_refused_before_anything_is_sent() {
    let setup = Setup {
        more: "float.query = true",
        ..FLOAT
    };
    let (world, sandbox) = world_short_after(2, &setup);
    let rows = rows(20, 74);
    world.write_rows("batch.csv", &rows);
    // Whoever pays first uses up the float.
    world.expect(5, &PAY).says("B2C_MPESA is used up");
    world.expect(0, &["resume-lane", "b", "B2C_MPESA"]);
    let posts = sandbox.ledger().posts;
    world
        .expect(5, &["run", "b", "--yes"])
        .says("KES 0.00 there")
        .says("short by KES")
        .says("nothing was sent")
        .says("--allow-short");
    assert_eq!(sandbox.ledger().posts, posts);
    // Allowed, it goes as far as the gateway lets it.
    world
        .expect(5, &["run", "b", "--yes", "--allow-short"])
        .says("B2C_MPESA is used up");
    assert!(sandbox.ledger().posts > posts);
    world.expect(0, &["resume-lane", "b", "B2C_MPESA"]);
    sandbox.top_up("B2C_MPESA", "50000000");
    world.expect(0, &["run", "b", "--yes"]);
    prove(&world, "b", &rows, &sandbox.ledger());
}

/// A world whose file has one number of each of two networks, both paid as the first one's.
fn world_of_networks(mismatch: &'static str) -> (World, Sandbox) {
    let setup = Setup {
        more: mismatch,
        ..Setup::default()
    };
    let (world, sandbox) = World::with_sandbox(&setup, &[]);
    let mut text = world.read("disburse.toml");
    text.push_str(
        "[services.B2C_MPESA]\nkind = \"mobile_money\"\ncurrency_code = \"KES\"\ncarriers = [\"SAFARICOM\"]\n",
    );
    world.write("disburse.toml", &text);
    world.write(
        "batch.csv",
        "reference,service_code,msisdn,amount,currency_code\n\
         A,B2C_MPESA,254712000001,100.00,KES\n\
         B,B2C_MPESA,254733000002,200.00,KES\n\
         C,B2C_MPESA,254712000001,300.00,KES\n",
    );
    (world, sandbox)
}

const CHECK: [&str; 3] = ["check", "batch.csv", "--lookup"];

#[test]
fn a_number_on_another_network_is_an_error_of_its_row() {
    let (world, _sandbox) = world_of_networks("");
    let wrong = world.expect(2, &CHECK);
    wrong
        .says("2 of 2 numbers looked up")
        .says("batch.csv:3: msisdn: expected a number of SAFARICOM")
        .says("of Airtel Kenya")
        .says("1 row");
    assert!(!wrong.err.contains("254733000002"), "numbers are masked");
    // What was learned is in the journal.
    world.expect(2, &CHECK).says("0 of 2 numbers looked up");
    let load = ["load", "batch.csv", "--batch", "b", "--lookup"];
    world.expect(2, &load).says("nothing was loaded");
    world.expect(2, &["status", "b"]).says("no batch named b");
    // Without being asked to, nobody looks.
    world.expect(0, &["check", "batch.csv"]);
}

#[test]
fn a_number_on_another_network_is_told_where_that_is_enough() {
    let (world, sandbox) = world_of_networks("lookup.mismatch = \"warning\"");
    world
        .expect(0, &CHECK)
        .says("batch.csv:3: msisdn: warning: expected a number of SAFARICOM")
        .says("no errors");
    let pay = [&PAY[..], &["--lookup"]].concat();
    world.expect(0, &pay).says("0 of 2 numbers looked up");
    assert_eq!(sandbox.ledger().executed_once, 3);
    // A batch that is loaded goes on without a lookup, whatever becomes of that.
    let done = world.expect(0, &pay);
    assert!(!done.err.contains("looked up"), "{}", done.err);
    eventually("settled", || sandbox.ledger().pending == 0);
}

#[test]
fn a_rehearsal_leaves_no_made_up_networks_behind() {
    let (world, _sandbox) = world_of_networks("");
    world.expect(2, &["check", "batch.csv", "--lookup", "--sandbox"]);
    world.expect(2, &CHECK).says("2 of 2 numbers looked up");
}
