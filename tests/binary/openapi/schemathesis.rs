//! schemathesis drives the sandbox: whatever it sends, no server error and no reply outside the document.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::DOCUMENT;
use super::tool::{Tool, find};
use crate::world::{Setup, World};

const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_headers_conformance,response_schema_conformance,unsupported_method";

/// A token as a client gets it.
pub fn token(base_url: &str, path: &str) -> String {
    let address = base_url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    let query = "grant_type=password&client_id=customers&username=a&password=b";
    write!(
        stream,
        "POST {path}?{query} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let body = reply.split("\r\n\r\n").nth(1).unwrap_or_default();
    let body: serde_json::Value = serde_json::from_str(body).expect(&reply);
    body["access_token"].as_str().expect(&reply).to_owned()
}

/// All that it can do without knowing which request follows which.
pub const PHASES: &str = "examples,coverage,fuzzing";

/// Makes requests from a document, in phases with so many examples and with headers of ours; returns whether nothing was found, and what was told.
pub fn drive(
    document: &str,
    base_url: &str,
    world: &World,
    (phases, examples): (&str, &str),
    headers: &[(&str, &str)],
) -> Option<(bool, String)> {
    let program = find("st", "INTERFACE_TOOLS")?;
    let headers: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let mut arguments = vec![
        "run",
        document,
        "--url",
        base_url,
        "--phases",
        phases,
        "--max-examples",
        examples,
        "--seed",
        "2026",
        "--checks",
        CHECKS,
    ];
    for header in &headers {
        arguments.extend(["--header", header]);
    }
    let mut tool = Tool::start(&program, &world.path(""), "schemathesis.txt", &arguments);
    let ended_well = tool.wait().success();
    Some((ended_well, tool.output()))
}

/// The same with a token of the document's endpoint.
fn drive_the_documents(
    document: &str,
    base_url: &str,
    world: &World,
    examples: &str,
) -> Option<(bool, String)> {
    let authorization = format!("Bearer {}", token(base_url, "/api/v1/oauth/token"));
    let headers = [("Authorization", authorization.as_str())];
    drive(document, base_url, world, (PHASES, examples), &headers)
}

#[test]
fn schemathesis_finds_no_server_error_and_no_reply_outside_the_document() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    let Some((ended_well, output)) =
        drive_the_documents(DOCUMENT, &sandbox.base_url, &world, "120")
    else {
        return;
    };
    assert!(ended_well, "{output}");
    let tested = output.lines().find(|line| line.contains("Tested:"));
    assert!(
        tested.is_some_and(|line| line.ends_with(": 8")),
        "not every operation was tested: {output}"
    );
}

#[test]
fn schemathesis_would_find_a_reply_outside_the_document() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    let document = std::fs::read_to_string(DOCUMENT).unwrap();
    let altered = document.replace("required: [carrier, timeZone]", "required: [carrier, zone]");
    assert_ne!(document, altered);
    world.write("openapi.yaml", &altered);
    let path = world.path("openapi.yaml");
    let path = path.to_str().unwrap();
    let Some((ended_well, output)) = drive_the_documents(path, &sandbox.base_url, &world, "10")
    else {
        return;
    };
    assert!(!ended_well && output.contains("zone"), "{output}");
}
