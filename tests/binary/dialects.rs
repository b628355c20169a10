//! Every sample batch, through every dialect that comes along, to the same ledger.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;

use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::files::rows;
use crate::oracle::prove;
use crate::sandbox::ledger_beside_journal;
use crate::world::{Setup, World};

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/");

/// The batches, and how many rows they have. The largest stands in the test of the samples themselves.
const BATCHES: [(&str, u64); 6] = [
    ("bank", 48),
    ("rtgs", 24),
    ("airtime", 40),
    ("bills", 36),
    ("electricity", 30),
    ("refunds", 200),
];

/// What the ledger of the sandbox says in the end: payments executed once, and amounts by currency.
type Moved = BTreeMap<&'static str, (u64, BTreeMap<String, String>)>;

fn moved_in(dialect: &str) -> Moved {
    BATCHES
        .into_iter()
        .map(|(name, rows)| (name, moved(dialect, name, rows)))
        .collect()
}

fn moved(dialect: &str, name: &str, rows: u64) -> (u64, BTreeMap<String, String>) {
    let world = World::new(&Setup::default());
    // Without services of its own: they are the built-in ones.
    let profile = format!("[profiles.sandbox]\ndialect = \"{dialect}\"\n");
    fs::write(world.path("disburse.toml"), profile).unwrap();
    let file = format!("{SAMPLES}{name}.csv");
    let command = [
        "pay",
        &file,
        "--batch",
        name,
        "--sandbox",
        "--pay-due",
        "--faults",
        "none",
    ];
    let code = world.until_finished(&command);
    assert!(matches!(code, 0 | 3), "{dialect}, {name}: {code}");
    let status = world.status(name);
    assert_eq!(status["count"], rows, "{dialect}, {name}");
    let ledger = ledger_beside_journal(&world);
    assert_eq!(ledger.executed_more, 0, "{dialect}, {name}");
    assert_eq!(
        ledger.executed_once,
        world.count(name, "paid"),
        "{dialect}, {name}"
    );
    (ledger.executed_once, ledger.amounts.into_iter().collect())
}

fn is_paid_as_by_the_document(dialect: &str) {
    let (here, there) = (moved_in(dialect), moved_in("document"));
    assert_eq!(here, there, "{dialect}");
    assert!(
        here.values().all(|(executed, _)| *executed > 10),
        "{here:?}"
    );
}

#[test]
fn every_sample_is_paid_by_the_dialect_beep_as_by_the_document() {
    is_paid_as_by_the_document("beep");
}

#[test]
fn every_sample_is_paid_by_the_dialect_paths_as_by_the_document() {
    is_paid_as_by_the_document("paths");
}

#[test]
fn every_sample_is_paid_by_the_dialect_signed_as_by_the_document() {
    is_paid_as_by_the_document("signed");
}

#[test]
fn every_dialect_file_is_listed_and_contradicts_nothing() {
    let world = World::new(&Setup::default());
    let folder = fs::read_dir(format!("{SAMPLES}dialects")).unwrap();
    let mut names = Vec::new();
    for file in folder {
        let path = file.unwrap().path();
        let shown = path.display().to_string();
        world.expect(0, &["dialect", "check", &shown]);
        names.push(path.file_stem().unwrap().to_str().unwrap().to_owned());
    }
    let listed = world.expect(0, &["dialect", "list"]);
    for name in &names {
        listed.says(name);
        world
            .expect(0, &["dialect", "show", name, "--all"])
            .says("operations.post.function");
    }
    assert_eq!(names.len(), 4);
}

#[test]
fn a_check_names_the_key_files_that_cannot_be_read() {
    let world = World::new(&Setup::default());
    let signed = fs::read_to_string(format!("{SAMPLES}dialects/signed.toml")).unwrap();
    world.write("gateway.toml", &signed);
    let named = ["api-key", "signing-key", "callback-secret", "callback-key"];
    let check = ["dialect", "check", "gateway.toml"];
    let lacking = world.expect(0, &check);
    for name in named {
        lacking.says(&format!("{name}\": No such file"));
        world.write(name, "a key\n");
    }
    let is_there = world.expect(0, &check);
    assert!(!is_there.err.contains("key file"), "{is_there:?}");
    world.write("api-key", "");
    world.expect(0, &check).says("is empty");
}

const PAY: [&str; 5] = ["pay", "batch.csv", "--batch", "b", "--yes"];

#[test]
fn a_hostile_gateway_with_signatures_and_no_duplicate_check_executes_each_row_once() {
    let setup = Setup {
        more: "dialect = \"signed\"",
        ..Setup::with_callbacks()
    };
    let options = [
        "--dialect",
        "signed",
        "--faults",
        "hostile",
        "--seed",
        "151",
        "--no-duplicate-check",
    ];
    let (world, sandbox) = World::with_sandbox(&setup, &options);
    // The keys that the sandbox knows.
    for name in ["api-key", "signing-key", "callback-secret", "callback-key"] {
        world.write(name, "sandbox\n");
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(world.path(name), private).unwrap();
    }
    let rows = rows(70, 151);
    world.write_rows("batch.csv", &rows);
    world.until_finished(&PAY);
    prove(&world, "b", &rows, &sandbox.ledger());
}

#[test]
fn a_batch_keeps_the_dialect_of_its_first_post_and_a_wrong_key_moves_nothing() {
    let setup = Setup {
        more: "dialect = \"signed\"",
        ..Setup::default()
    };
    let (world, sandbox) = World::with_sandbox(&setup, &["--dialect", "signed"]);
    let rows = rows(5, 152);
    world.write_rows("batch.csv", &rows);
    // Without its keys nothing is sent.
    let refused = world.disburse(&PAY);
    assert_ne!(refused.code, Some(0));
    refused.says("key file");
    for name in ["api-key", "callback-secret", "callback-key"] {
        world.write(name, "sandbox");
    }
    world.write("signing-key", "another key");
    for name in ["api-key", "callback-secret", "callback-key", "signing-key"] {
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(world.path(name), private).unwrap();
    }
    // The gateway does not let a wrong signature in: the run stops at once.
    let stopped = world.disburse(&PAY);
    assert_ne!(stopped.code, Some(0), "{stopped:?}");
    assert_eq!(sandbox.ledger().executed_once, 0);
    world.write("signing-key", "sandbox");
    world.until_finished(&PAY);
    prove(&world, "b", &rows, &sandbox.ledger());
    let other = world
        .read("disburse.toml")
        .replace("\"signed\"", "\"document\"");
    world.write("disburse.toml", &other);
    world.write_rows("batch.csv", &rows);
    world.disburse(&["run", "b", "--yes"]).says("dialect");
}

/// What a probe says, and its exit code; the profile names an address for tokens too.
fn probed(dialect: &str, spoken: &str) -> (i32, String) {
    let more = format!("dialect = \"{dialect}\"\nfloat.query = true");
    let setup = Setup {
        more: more.leak(),
        ..Setup::with_callbacks()
    };
    let (world, sandbox) = World::with_sandbox(&setup, &["--dialect", spoken]);
    let text = world.read("disburse.toml");
    let token = format!("[profiles.test]\nauth_url = \"{}\"", sandbox.base_url);
    world.write(
        "disburse.toml",
        &text.replacen("[profiles.test]", &token, 1),
    );
    let done = world.disburse(&["probe"]);
    assert_eq!(sandbox.ledger().executed_once, 0);
    (done.code.unwrap(), format!("{}{}", done.out, done.err))
}

#[test]
fn a_probe_says_what_it_saw_and_which_lines_to_change_and_moves_no_money() {
    let (code, said) = probed("document", "document");
    assert_eq!(code, 0, "{said}");
    for part in [
        "143: ",
        "means \"not found\"",
        "seen from here",
        "valid for 3600 s",
        "no money moved",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    // A gateway of another family than the profile's dialect says.
    let (code, said) = probed("document", "beep");
    assert_eq!(code, 5, "{said}");
    assert!(said.contains("otherwise"), "{said}");
    let (code, said) = probed("document", "paths");
    assert_eq!(code, 5, "{said}");
    assert!(said.contains("[operations.status] path"), "{said}");
    // Its own dialect: the words for "not found" are the configured ones.
    let (code, said) = probed("beep", "beep");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("174: Transaction not found"), "{said}");
    let (code, said) = probed("paths", "paths");
    assert_eq!(code, 0, "{said}");
}

/// A dialect that differs from the document in how replies are read, and in nothing that is sent.
const LENIENT: &str =
    "written_from = \"a test\"\n[replies]\nserver_errors = true\nno_bill = [309, 306, 146, 999]\n";

#[test]
fn how_replies_are_read_stays_with_a_batch_until_a_person_orders_it_otherwise() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &["--faults", "none"]);
    let rows = rows(5, 153);
    world.write_rows("batch.csv", &rows);
    world.until_finished(&PAY);
    world.write("lenient.toml", LENIENT);
    let profile = world.read("disburse.toml");
    let lenient = profile.replacen("username", "dialect = \"lenient.toml\"\nusername", 1);
    assert_ne!(lenient, profile);
    world.write("disburse.toml", &lenient);
    // Another reading by accident: refused, with the way out.
    let refused = world.expect(2, &["run", "b", "--yes"]);
    refused.says("read by dialect document until now");
    let shown = world.disburse(&["dialect", "show", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    let digest = shown["digests"]["reading"]
        .as_str()
        .unwrap_or_else(|| shown["reading"].as_str().unwrap());
    let way_out = format!("disburse run b --accept-dialect {digest}");
    refused.says(&way_out);
    // An order for another one than that in force is none.
    world
        .expect(2, &["run", "b", "--yes", "--accept-dialect", "document"])
        .says("reads replies as");
    // The order is carried out, is on the chain, and need not be repeated.
    world.expect(0, &["run", "b", "--yes", "--accept-dialect", digest]);
    world.expect(0, &["run", "b", "--yes"]);
    world.expect(0, &["verify", "b"]);
    // Back again is an order as well.
    world.write("disburse.toml", &profile);
    world.expect(2, &["run", "b", "--yes"]);
    world.expect(0, &["run", "b", "--yes", "--accept-dialect", "document"]);
    // Nobody changes it in the file.
    let c = rusqlite::Connection::open(world.path("disburse.db")).unwrap();
    c.execute("update batch set reading = 'x'", []).unwrap();
    drop(c);
    let found = world.disburse(&["verify", "b"]);
    assert_ne!(found.code, Some(0), "{found:?}");
    assert_ne!(world.disburse(&["run", "b", "--yes"]).code, Some(0));
    assert_eq!(sandbox.ledger().executed_once, 5);
}

/// A dialect in which amounts of this service have no decimals.
const WHOLE: &str = "written_from = \"a test\"\n[types.decimals]\nB2C_MPESA = 0\n";

#[test]
fn a_row_that_the_dialect_cannot_say_is_found_before_the_first_post() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &["--faults", "none"]);
    let row = |reference: &str, amount: &str| {
        format!("{reference},254712345678,{amount},B2C_MPESA,salary\n")
    };
    let rows = [row("R1", "100"), row("R2", "77.50"), row("R3", "50.25")];
    let header = "reference,msisdn,amount,service_code,narration\n";
    world.write("batch.csv", &format!("{header}{}", rows.concat()));
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    world.write("whole.toml", WHOLE);
    let profile = world.read("disburse.toml");
    let whole = profile.replacen("username", "dialect = \"whole.toml\"\nusername", 1);
    world.write("disburse.toml", &whole);
    let refused = world.expect(2, &["run", "b", "--yes"]);
    for part in [
        "2 rows of batch b cannot be sent",
        "line 3, reference R2",
        "line 4, reference R3",
        "Nothing was sent",
    ] {
        refused.says(part);
    }
    assert_eq!(sandbox.ledger().executed_once, 0);
    // Nothing has left: the batch still goes by the dialect that it was loaded with.
    world.write("disburse.toml", &profile);
    world.expect(0, &["run", "b", "--yes"]);
    assert_eq!(sandbox.ledger().executed_once, 3);
}

#[test]
fn what_a_person_gets_wrong_in_a_dialect_is_explained() {
    let world = World::new(&Setup::default());
    for (lines, said) in [
        ("[limits]\nrate = \"5/s\"\n", "belongs in disburse.toml"),
        (
            "[replies]\nnot_found_code = 174\nnot_found_description = \"  \"\n",
            "words, not blanks",
        ),
        (
            "[members]\namount = \"am\u{200B}ount\"\n",
            "without invisible characters",
        ),
        (
            "[posts]\nleft_out = [\"amount\"]\n",
            "every post has amount",
        ),
    ] {
        world.write("d.toml", &format!("written_from = \"a test\"\n{lines}"));
        world.expect(2, &["dialect", "check", "d.toml"]).says(said);
    }
    world.write(
        "d.toml",
        "written_from = \"a test\"\n[callbacks]\naddress = \"fixed\"\n",
    );
    world
        .expect(0, &["dialect", "check", "d.toml"])
        .says("settle_on");
    world
        .expect(2, &["dialect", "check", "none.toml"])
        .says("there is no such file");
    // A mistyped service would have the decimals of its currency.
    let profile = world.read("disburse.toml");
    let services = "[services.B2C_MPESA]\nkind = \"mobile_money\"\ncurrency_code = \"KES\"\n";
    let with = profile.replacen("username", "dialect = \"d.toml\"\nusername", 1);
    world.write("disburse.toml", &format!("{with}\n{services}"));
    world.write(
        "d.toml",
        "written_from = \"a test\"\n[types.decimals]\nB2C_MPSEA = 0\n",
    );
    world
        .expect(2, &["config", "show"])
        .says("did you mean \"B2C_MPESA\"?");
}

/// Answers every request with HTTP 200 and what is made of its body.
fn gateway_that(answers: fn(&Value) -> String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                let header = line.to_ascii_lowercase();
                if let Some(digits) = header.strip_prefix("content-length:") {
                    length = digits.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            let _ = stream.read_exact(&mut body);
            let results = answers(&serde_json::from_slice(&body).unwrap_or_default());
            let body =
                format!(r#"{{"authStatus":{{"authStatusCode":131}},"results":[{results}]}}"#);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            let _ = stream
                .get_mut()
                .write_all(format!("{head}{body}").as_bytes());
        }
    });
    format!("http://{address}")
}

#[test]
fn a_gateway_that_answers_about_nobody_is_named_as_one_that_may_miss_a_header() {
    // As one does that misses a header.
    let gateway = gateway_that(|_| String::new());
    let world = World::new(&Setup::default()).towards(&gateway);
    let rows = rows(1, 154);
    world.write_rows("batch.csv", &rows);
    let open = world.disburse(&[
        "pay",
        "batch.csv",
        "--batch",
        "b",
        "--yes",
        "--max-wait",
        "8s",
    ]);
    assert_eq!(open.code, Some(4), "{open:?}");
    open.says("[header_files]");
    // Questions without end are told as what they are, and not line by line.
    let told = world.expect(0, &["explain", "b", &rows[0].reference]);
    told.says("more lines like it, the last one at ");
}

#[test]
fn another_key_is_another_account_until_the_gateway_shows_that_it_is_the_same() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &["--faults", "none"]);
    let profile = world.read("disburse.toml");
    let keyed = profile.replacen("username", "dialect = \"keyed.toml\"\nusername", 1);
    world.write("disburse.toml", &keyed);
    world.write(
        "keyed.toml",
        "written_from = \"a test\"\n[header_files]\nX-Api-Key = \"key\"\n",
    );
    let key = |text: &str| {
        world.write("key", text);
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(world.path("key"), private).unwrap();
    };
    key("the first key");
    let rows = rows(5, 155);
    world.write_rows("batch.csv", &rows);
    world.until_finished(&PAY);
    key("another key");
    let refused = world.expect(2, &["run", "b", "--yes"]);
    refused.says("belongs to account acme#");
    refused.says("--account-moved");
    assert_eq!(sandbox.ledger().posts, 5);
    // Nobody reads the key in what is said of it.
    assert!(!refused.err.contains("another key"), "{refused:?}");
    let moved = [
        "run",
        "b",
        "--yes",
        "--account-moved",
        "--reason",
        "rotated",
    ];
    world.expect(0, &moved);
    world.expect(0, &["verify", "b"]);
}

#[test]
fn a_row_of_a_country_that_no_post_names_is_refused() {
    let world = World::new(&Setup::default());
    world.write(
        "batch.csv",
        "reference,msisdn,amount,service_code,country_code\nR1,256772345678,100,B2C_MPESA,UG\n",
    );
    let profile = world.read("disburse.toml");
    let one = profile.replacen("username", "dialect = \"one.toml\"\nusername", 1);
    world.write("disburse.toml", &one);
    world.write(
        "one.toml",
        "written_from = \"a test\"\n[envelope]\ncountry_code = \"profile\"\n[posts]\nleft_out = [\"countryCode\"]\n",
    );
    let refused = world.disburse(&["check", "batch.csv"]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    refused.says("not told the country of a row");
}

#[test]
fn what_failed_by_a_code_that_is_no_failure_any_more_is_not_paid_again() {
    static POSTS: AtomicUsize = AtomicUsize::new(0);
    let gateway = gateway_that(|asked| {
        if asked["function"] == "GATEWAY.postPayment" {
            POSTS.fetch_add(1, Ordering::SeqCst);
        }
        let packets = asked["payload"]["packet"].as_array().cloned();
        let entries = packets.unwrap_or_default().into_iter().map(|packet| {
            let id = &packet["payerTransactionID"];
            format!(r#"{{"payerTransactionID":{id},"statusCode":299,"statusDescription":"?"}}"#)
        });
        entries.collect::<Vec<_>>().join(",")
    });
    let world = World::new(&Setup::default()).towards(&gateway);
    let tables = world.read("disburse.toml");
    let failing =
        format!("{tables}\n[status_codes]\n299 = \"failed\"\n[post_codes]\n299 = \"failed\"\n");
    world.write("disburse.toml", &failing);
    let rows = rows(3, 156);
    world.write_rows("batch.csv", &rows);
    world.expect(3, &PAY);
    assert_eq!(world.count("b", "failed"), 3);
    let posts = POSTS.load(Ordering::SeqCst);
    // It is no failure after all, say the gateway's people.
    world.write("disburse.toml", &tables);
    let refused = world.disburse(&["retry", "b", "--yes"]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    refused.says("failed with code 299");
    // A retry that was ordered before the correction does not leave before the gateway has said that what it replaces is not paid.
    world.write("disburse.toml", &failing);
    world.expect(0, &["retry", "b", "--yes"]);
    world.write("disburse.toml", &tables);
    let waits = world.expect(4, &["run", "b", "--yes", "--max-wait", "2s"]);
    waits.says("waits for the gateway's answer about");
    assert_eq!(POSTS.load(Ordering::SeqCst), posts);
}

#[test]
fn what_a_gateway_has_not_is_not_asked_for_and_what_it_does_not_take_is_not_sent() {
    let (world, _sandbox) = World::with_sandbox(&Setup::default(), &["--faults", "none"]);
    let profile = world.read("disburse.toml");
    let less = profile.replacen("username", "dialect = \"less.toml\"\nusername", 1);
    world.write("disburse.toml", &less);
    world.write(
        "less.toml",
        "written_from = \"a test\"\n[operations]\nabsent = [\"float\", \"account\"]\n[posts]\nleft_out = [\"destinationBankName\"]\n",
    );
    for asked in [
        &["float", "B2C_MPESA"][..],
        &["account", "--service", "WATER", "77"],
    ] {
        world.expect(2, asked).says("has no operation");
    }
    // The sandbox of this dialect refuses a post that has the bank's name.
    let bank = fs::read_to_string(format!("{SAMPLES}bank.csv")).unwrap();
    assert!(bank.contains("bank_name"));
    world.write("bank.csv", &bank);
    let paid = world.disburse(&[
        "pay",
        "bank.csv",
        "--batch",
        "bank",
        "--sandbox",
        "--faults",
        "none",
    ]);
    assert!(matches!(paid.code, Some(0 | 3)), "{paid:?}");
    assert!(world.count("bank", "paid") > 0, "{paid:?}");
}
