//! A sandbox gateway in a process of its own, so that it outlives a client that is killed.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;

use rustix::process::Signal;
use serde_json::Value;

use crate::world::{PATIENCE, Running, World};

pub struct Sandbox {
    process: Running,
    pub base_url: String,
}

impl Sandbox {
    /// Starts a sandbox on the ledger file `ledger` of the world's folder.
    #[track_caller]
    pub fn start(world: &World, ledger: &str, options: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", world, ledger, options)
    }

    /// The same at an address of the test's choice: a gateway that is started again stays where it was.
    #[track_caller]
    pub fn start_at(address: &str, world: &World, ledger: &str, options: &[&str]) -> Self {
        let mut arguments = vec!["sandbox", "--json", "--listen", address, "--ledger", ledger];
        arguments.extend_from_slice(options);
        let mut process = world.start(&arguments);
        process.until("listening", |process| process.out().ends_with('\n'));
        let hello: Value = serde_json::from_str(&process.out()).unwrap();
        Self {
            process,
            base_url: hello["base_url"].as_str().unwrap().to_owned(),
        }
    }

    /// Reads the ledger.
    #[track_caller]
    pub fn ledger(&self) -> Ledger {
        Ledger::read(&self.request("GET /sandbox/ledger", ""))
    }

    /// Reads what the ledger says of the documents, by identifier.
    #[track_caller]
    pub fn documents(&self) -> BTreeMap<String, Value> {
        let listing: Value =
            serde_json::from_str(&self.request("GET /sandbox/ledger", "")).unwrap();
        serde_json::from_value(listing["documents"].clone()).unwrap()
    }

    /// Puts money into the float of a service.
    #[track_caller]
    pub fn top_up(&self, service: &str, amount: &str) {
        let body = format!(r#"{{"serviceCode":"{service}","amount":{amount}}}"#);
        self.request("POST /sandbox/float", &body);
    }

    /// Reads the OpenAPI document.
    #[allow(dead_code, reason = "for the tests of that document")]
    #[track_caller]
    pub fn description(&self) -> String {
        self.request("GET /openapi.yaml", "")
    }

    #[track_caller]
    fn request(&self, what: &str, body: &str) -> String {
        self.request_with(what, "", body)
    }

    /// Sends a request with further headers, each with its line break; returns the body of a reply that is HTTP 200.
    #[track_caller]
    pub fn request_with(&self, what: &str, headers: &str, body: &str) -> String {
        let address = self.base_url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len();
        let request = format!(
            "{what} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}connection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head} {body}");
        body.to_owned()
    }

    /// Ends the sandbox in good order.
    pub fn stop(self) {
        self.process.signal(Signal::TERM);
        let done = self.process.wait();
        assert_eq!(done.code, Some(0), "{done:?}");
    }
}

/// Reads the ledger that runs with a sandbox inside kept beside the journal.
#[track_caller]
pub fn ledger_beside_journal(world: &World) -> Ledger {
    let sandbox = Sandbox::start(world, "disburse.db.sandbox", &[]);
    let ledger = sandbox.ledger();
    sandbox.stop();
    ledger
}

/// What the gateway did.
#[derive(Debug)]
pub struct Ledger {
    pub executed_once: u64,
    pub executed_more: u64,
    pub altered: u64,
    pub pending: u64,
    pub posts: u64,
    pub amounts: BTreeMap<String, String>,
    pub identifiers: BTreeMap<String, Executed>,
}

/// What the gateway did with one identifier.
#[derive(Debug)]
pub struct Executed {
    pub executions: u64,
    pub status: String,
    pub amount: Option<String>,
    pub service: Option<String>,
}

impl Ledger {
    fn read(body: &str) -> Self {
        let listing: Value = serde_json::from_str(body).unwrap();
        let number = |name: &str| listing[name].as_u64().unwrap();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Self {
            executed_once: number("executed_once"),
            executed_more: number("executed_more"),
            altered: number("altered"),
            pending: number("pending"),
            posts: number("posts"),
            amounts: serde_json::from_value(listing["amounts"].clone()).unwrap(),
            identifiers: listing["identifiers"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(id, row)| {
                    let executed = Executed {
                        executions: row["executions"].as_u64().unwrap(),
                        status: text(&row["status"]).unwrap(),
                        amount: text(&row["amount"]),
                        service: text(&row["service_code"]),
                    };
                    (id.clone(), executed)
                })
                .collect(),
        }
    }
}
