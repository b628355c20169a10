//! The document that a sandbox serves of its dialect, held against sandbox and program.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::mirror::Mirrors;
use super::prism::{Proxy, SAMPLES, services};
use super::schemathesis::{PHASES, drive, token};
use crate::sandbox::Sandbox;
use crate::world::{Setup, World, free_port};

/// The keys of the dialects that come along: a sandbox knows no other word.
fn write_keys(world: &World) {
    for name in ["api-key", "signing-key", "callback-secret", "callback-key"] {
        world.write(name, "sandbox\n");
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(world.path(name), private).unwrap();
    }
}

/// The document that the sandbox serves.
fn served(sandbox: &Sandbox) -> Value {
    serde_saphyr::from_str(&sandbox.description()).unwrap()
}

/// The document with callbacks as if they were one more operation, of the listener.
fn with_callbacks(document: &Value) -> Value {
    let paths = document["paths"].as_object().unwrap();
    let mut operations = paths
        .values()
        .flat_map(|path| path.as_object().unwrap().values());
    let callbacks = operations.find_map(|operation| operation.pointer("/callbacks/paymentStatus"));
    let addresses = callbacks.unwrap().as_object().unwrap();
    let mut path = addresses.values().next().unwrap().clone();
    path["parameters"] = json!([
        {"name": "payment", "in": "path", "required": true, "schema": {"type": "string"}},
        {"name": "token", "in": "path", "required": true, "schema": {"type": "string"}},
    ]);
    path["post"]["operationId"] = "callback".into();
    let mut whole = document.clone();
    whole["paths"]["/callbacks/{payment}/{token}"] = path;
    whole
}

/// Adds a member that nobody writes to those that a schema requires.
fn requiring(document: &Value, schema: &str, inner: &str, name: &str) -> Value {
    let mut altered = document.clone();
    let at = format!("/components/schemas/{schema}{inner}/required");
    // A dialect may call the list of packets otherwise.
    let renamed = at.replace("/packet/items", "/items/items");
    let place = match altered.pointer(&at) {
        Some(_) => at,
        None => renamed,
    };
    let required = altered.pointer_mut(&place).unwrap();
    let required = required.as_array_mut().unwrap();
    required.push(name.into());
    altered
}

/// A proxy that sees what passes the mirrors, and judges it by a document.
fn judged(world: &World, name: &str, document: &Value, mirrors: &Mirrors) -> Option<Proxy> {
    let file = format!("{name}.json");
    world.write(&file, &document.to_string());
    let path = world.path(&file);
    let proxy = Proxy::start_as(world, name, path.to_str().unwrap(), &mirrors.stage_url)?;
    mirrors.show(&proxy.base_url);
    Some(proxy)
}

const PACKET_OF_QUERY: &str = "/properties/payload/properties/packet/items";

/// Pays samples by a dialect past a proxy that holds its document, callbacks included: it sees no violation. One beside it whose
/// document is altered sees each alteration.
fn is_held_to_its_document(dialect: &'static str, batches: &[&str]) {
    let upstream = World::new(&Setup::default());
    let sandbox = Sandbox::start(&upstream, "ledger", &["--dialect", dialect]);
    let document = served(&sandbox);
    let whole = with_callbacks(&document);
    let mirrors = Mirrors::start();
    let Some(proxy) = judged(&upstream, "whole", &whole, &mirrors) else {
        return;
    };
    // A member too few in a request, in a reply, and in a callback.
    let altered = requiring(&whole, "QueryBill", PACKET_OF_QUERY, "dateAsked");
    let altered = requiring(&altered, "Network", "", "zone");
    let altered = requiring(&altered, "PushedPacket", "", "datePushed");
    let wrong = judged(&upstream, "altered", &altered, &mirrors).unwrap();

    let base_url = mirrors.before(&sandbox.base_url);
    let port = free_port();
    let listener = mirrors.before(&format!("http://127.0.0.1:{port}"));
    let more = format!(
        "dialect = \"{dialect}\"\nfloat.query = true\nauth_url = \"{base_url}\"\napi_url = \"{base_url}\"\nfile_service_url = \"{base_url}\"\n{}",
        services()
    );
    let setup = Setup {
        callback_port: Some(port),
        more: more.leak(),
        ..Setup::default()
    };
    let world = World::new(&setup).towards(&base_url);
    write_keys(&world);
    let here = format!("public_url = \"http://127.0.0.1:{port}/");
    let profile = world.read("disburse.toml");
    assert!(profile.contains(&here));
    let there = format!("public_url = \"{listener}/");
    world.write("disburse.toml", &profile.replace(&here, &there));
    for name in batches {
        let file = format!("{SAMPLES}{name}.csv");
        let done = world.disburse(&["pay", &file, "--batch", name, "--yes", "--pay-due"]);
        assert!(matches!(done.code, Some(0 | 3)), "{done:?}");
    }
    world.expect(0, &["token"]);
    world.expect(0, &["lookup", "254722000001"]);
    world.expect(0, &["bill", "10012345", "--service", "WATER"]);
    world.expect(0, &["float", "B2C_MPESA"]);
    world.expect(0, &["account", "01234567890", "--service", "ELECTRICITY"]);

    assert_eq!(proxy.violations(), Vec::<String>::new(), "{dialect}");
    for path in document["paths"].as_object().unwrap().keys() {
        let is_a_page =
            path.starts_with("/sandbox/") || matches!(path.as_str(), "/" | "/openapi.yaml");
        let is_upload = path.ends_with("documents") && !batches.contains(&"rtgs");
        assert!(
            is_a_page || is_upload || proxy.passed(path) > 0,
            "{dialect}: nothing passed to {path}"
        );
    }
    assert!(proxy.passed("/callbacks/") > 0, "{dialect}");
    let complaints = wrong.violations();
    for (path, what) in [
        (
            path_of(
                &document,
                "/requestBody/content/application~1json/examples/bill",
            ),
            "Invalid request",
        ),
        (
            path_of(
                &document,
                "/requestBody/content/application~1json/example/number",
            ),
            "#VIOLATIONS",
        ),
        ("/callbacks/", "Invalid request"),
    ] {
        let is_it = |line: &&String| line.contains(path) && line.contains(what);
        assert!(
            complaints.iter().any(|line| is_it(&line)),
            "{dialect}, {path}: {complaints:?}"
        );
    }
}

/// The path of the operation that has something.
fn path_of<'d>(document: &'d Value, pointer: &str) -> &'d str {
    let mut paths = document["paths"].as_object().unwrap().iter();
    let found = paths.find(|(_, path)| {
        let mut operations = path.as_object().unwrap().values();
        operations.any(|operation| operation.pointer(pointer).is_some())
    });
    found.unwrap().0
}

const BATCHES: [&str; 5] = ["airtime", "bank", "rtgs", "bills", "electricity"];

#[test]
fn a_validating_proxy_sees_no_violation_by_callbacks_and_their_acknowledgement() {
    is_held_to_its_document("document", &["airtime"]);
}

#[test]
fn a_validating_proxy_sees_no_violation_of_the_dialect_beep() {
    is_held_to_its_document("beep", &BATCHES);
}

#[test]
fn a_validating_proxy_sees_no_violation_of_the_dialect_paths() {
    is_held_to_its_document("paths", &BATCHES);
}

#[test]
fn a_validating_proxy_sees_no_violation_of_the_dialect_signed() {
    is_held_to_its_document("signed", &BATCHES);
}

/// Drives a sandbox from the document of its dialect, and from one that is altered: only the second is complained about.
fn is_driven(dialect: &str, operations: usize, reply: &str) -> Option<(World, Sandbox)> {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &["--dialect", dialect]);
    let document = served(&sandbox);
    let paths = document["paths"].as_object().unwrap();
    let (token_path, _) = paths
        .iter()
        .find(|(_, path)| path["post"]["operationId"] == "token")
        .unwrap();
    let authorization = format!("Bearer {}", token(&sandbox.base_url, token_path));
    let headers = [
        ("Authorization", authorization.as_str()),
        ("X-Channel", "bulk"),
        ("X-Api-Key", "sandbox"),
    ];
    let run = |name: &str, document: &Value, phases| {
        world.write(name, &document.to_string());
        let path = world.path(name);
        drive(
            path.to_str().unwrap(),
            &sandbox.base_url,
            &world,
            (phases, "8"),
            &headers,
        )
    };
    let (ended_well, output) = run("openapi.json", &document, PHASES)?;
    assert!(ended_well, "{dialect}: {output}");
    let tested = output.lines().find(|line| line.contains("Tested:"));
    let all = format!(": {operations}");
    assert!(
        tested.is_some_and(|line| line.ends_with(&all)),
        "{dialect}: not every operation was tested: {output}"
    );
    let altered = requiring(&document, reply, "", "zone");
    let (ended_well, output) = run("altered.json", &altered, "examples")?;
    assert!(
        !ended_well && output.contains("Response violates schema"),
        "{dialect}: {output}"
    );
    Some((world, sandbox))
}

#[test]
fn schemathesis_finds_no_reply_outside_the_document_of_the_dialect_beep() {
    is_driven("beep", 8, "AuthStatus");
}

#[test]
fn schemathesis_finds_no_reply_outside_the_document_of_the_dialect_paths() {
    is_driven("paths", 12, "Network");
}

/// It cannot sign: what it checks is that whatever is not signed is refused with a reply of the document, and moves nothing.
/// What is signed, the validating proxy sees.
#[test]
fn schemathesis_is_refused_by_the_dialect_signed_as_its_document_says() {
    let Some((_world, sandbox)) = is_driven("signed", 9, "AuthStatus") else {
        return;
    };
    let document = served(&sandbox);
    let payout = document.pointer(
        "/paths/~1v1~1global-api~1payments/put/requestBody/content/application~1json/examples/payout/value",
    );
    let headers = "x-channel: bulk\r\nx-api-key: sandbox\r\n";
    let refused = sandbox.request_with(
        "PUT /v1/global-api/payments",
        headers,
        &payout.unwrap().to_string(),
    );
    let refused: Value = serde_json::from_str(&refused).unwrap();
    assert_eq!(refused["authStatus"]["authStatusCode"], 132, "{refused}");
    assert_eq!(refused["payments"], json!([]), "{refused}");
    let ledger = sandbox.ledger();
    assert_eq!((ledger.executed_once, ledger.executed_more), (0, 0));
}
