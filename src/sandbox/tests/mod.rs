//! The sandbox as its callers see it: over HTTP on loopback.

mod callbacks;
mod description;
mod faults;
mod fields;
mod inquiries;
mod kinds;
mod ledger;
mod page;
mod posts;
mod restart;
mod routes;
mod tokens;
mod uploads;

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{Fault, Faults, Options, Sandbox, Service, start};

/// A sandbox with a client. Amounts are checked as text, so replies are kept as text too.
struct Bench {
    sandbox: Sandbox,
    client: reqwest::Client,
}

struct Reply {
    status: u16,
    text: String,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The code of the only entry.
    fn code(&self) -> i64 {
        let json = self.json();
        assert_eq!(json["authStatus"]["authStatusCode"], 131, "{json}");
        assert_eq!(json["results"].as_array().unwrap().len(), 1, "{json}");
        json["results"][0]["statusCode"].as_i64().unwrap()
    }

    fn auth_code(&self) -> i64 {
        self.json()["authStatus"]["authStatusCode"]
            .as_i64()
            .unwrap()
    }
}

/// Quick settlement and quick retries.
fn quick() -> Options {
    Options {
        settle_delay_ms: 5..=20,
        callback_backoff_ms: 10,
        ..Options::default()
    }
}

fn quick_with(faults: Faults) -> Options {
    Options { faults, ..quick() }
}

fn always(fault: Fault) -> Options {
    quick_with(Faults::none().with(fault, 1.0))
}

impl Bench {
    async fn start(options: Options) -> Self {
        let sandbox = start(options).await.unwrap();
        // Another test may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .no_proxy()
            .retry(reqwest::retry::never())
            .timeout(Duration::from_secs(30))
            .build()
            .unwrap();
        Self { sandbox, client }
    }

    async fn send(&self, body: impl Into<String>) -> Result<Reply, reqwest::Error> {
        let url = format!("{}/v1/global-api/payments", self.sandbox.base_url());
        let reply = self.client.post(url).body(body.into()).send().await?;
        Ok(Reply {
            status: reply.status().as_u16(),
            text: reply.text().await?,
        })
    }

    async fn post(&self, packet: &str) -> Result<Reply, reqwest::Error> {
        self.send(envelope("GATEWAY.postPayment", &format!("[{packet}]")))
            .await
    }

    async fn query(&self, id: &str) -> Reply {
        let packet = format!(r#"[{{"payerTransactionID":"{id}","gatewayTransactionID":""}}]"#);
        self.send(envelope("GATEWAY.queryPaymentStatus", &packet))
            .await
            .unwrap()
    }

    async fn ledger(&self, summary: bool) -> Value {
        let url = format!(
            "{}/sandbox/ledger?summary={summary}",
            self.sandbox.base_url()
        );
        let reply = self.client.get(url).send().await.unwrap();
        serde_json::from_str(&reply.text().await.unwrap()).unwrap()
    }

    /// Calls a payment function with one packet.
    async fn call(&self, function: &str, packet: &Value) -> Reply {
        let packets = Value::Array(vec![packet.clone()]).to_string();
        self.send(envelope(function, &packets)).await.unwrap()
    }

    /// Sends any request.
    async fn request(&self, method: &str, path: &str, body: impl Into<reqwest::Body>) -> Reply {
        let url = format!("{}{path}", self.sandbox.base_url());
        let method = method.parse().unwrap();
        let request = self.client.request(method, url).body(body);
        let reply = request.send().await.unwrap();
        Reply {
            status: reply.status().as_u16(),
            text: reply.text().await.unwrap(),
        }
    }

    /// Uploads a file under an identifier.
    async fn upload(&self, id: &str, file: &[u8]) -> Reply {
        let part = reqwest::multipart::Part::bytes(file.to_vec()).file_name("invoice.pdf");
        let form = reqwest::multipart::Form::new()
            .text("payerTransactionId", id.to_owned())
            .part("file", part);
        let url = format!("{}/api/v1/transaction-documents", self.sandbox.base_url());
        let reply = self.client.post(url).multipart(form).send().await.unwrap();
        Reply {
            status: reply.status().as_u16(),
            text: reply.text().await.unwrap(),
        }
    }

    /// Asks until the status is another than 139 and 148.
    async fn settled(&self, id: &str) -> Reply {
        for _ in 0..200 {
            let reply = self.query(id).await;
            if !matches!(reply.code(), 139 | 148) {
                return reply;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{id} does not settle");
    }

    /// Waits until something holds.
    async fn until(&self, what: &str, holds: impl Fn(&Sandbox) -> bool) {
        for _ in 0..300 {
            if holds(&self.sandbox) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("not in time: {what}: {:?}", self.sandbox.verdict());
    }

    fn executions(&self, id: &str) -> u32 {
        let rows = self.sandbox.executions();
        rows.iter().find(|row| &*row.id == id).unwrap().executions
    }
}

fn envelope(function: &str, packet: &str) -> String {
    format!(
        r#"{{"function":"{function}","countryCode":"KE","payload":{{
            "credentials":{{"username":"acme","password":"secret"}},"packet":{packet}}}}}"#
    )
}

/// A valid packet.
fn packet(id: &str) -> String {
    packet_with(id, "1500.50", "{}")
}

fn packet_with(id: &str, amount: &str, extra: &str) -> String {
    format!(
        r#"{{"serviceCode":"B2C_MPESA","MSISDN":"254712345678","invoiceNumber":"","accountNumber":"254712345678",
            "payerTransactionID":"{id}","amount":{amount},"narration":"Salary","datePaymentReceived":"2026-11-28 08:00:00",
            "currencyCode":"KES","countryCode":"KE","hubID":"","paymentMode":"Online Payment","customerNames":"","extraData":{extra}}}"#
    )
}

/// A valid packet of another service, with some members changed; a null takes the member away.
fn packet_of(service: &str, id: &str, changes: Value) -> String {
    let mut packet: Value = serde_json::from_str(&packet(id)).unwrap();
    packet["serviceCode"] = service.into();
    let members = packet.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            members.remove(name);
        } else {
            members.insert(name.clone(), value.clone());
        }
    }
    packet.to_string()
}

/// The bank members of `extraData`.
fn bank() -> Value {
    json!({
        "destinationBankCode": "68",
        "destinationBankName": "Example Bank",
        "destinationAccountName": "Imani Stores",
        "destinationAccountNo": "0110123456789",
    })
}

/// The same with further members.
fn bank_with(more: Value) -> Value {
    let mut bank = bank();
    let members = bank.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    bank
}

/// A small PDF.
fn pdf() -> Vec<u8> {
    b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R/Size 2>>\nstartxref\n9\n%%EOF\n".to_vec()
}

fn packet_to(id: &str, listener: &Listener) -> String {
    let extra = json!({"pushToOriginator": true, "callbackUrl": listener.url});
    packet_with(id, "1500.50", &extra.to_string())
}

/// A callback listener that answers with the statuses it is given, then with 200.
struct Listener {
    url: String,
    heard: Arc<Mutex<Vec<Value>>>,
}

type Script = (Arc<Mutex<Vec<Value>>>, Arc<Mutex<Vec<u16>>>);

impl Listener {
    async fn start(answers: &[u16]) -> Self {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let mut script = answers.to_vec();
        script.reverse();
        let state: Script = (heard.clone(), Arc::new(Mutex::new(script)));
        let router = Router::new()
            .fallback(
                async |State((heard, script)): State<Script>, body: String| {
                    let body = serde_json::from_str(&body).unwrap();
                    heard.lock().unwrap().push(body);
                    StatusCode::from_u16(script.lock().unwrap().pop().unwrap_or(200)).unwrap()
                },
            )
            .with_state(state);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/callbacks/7", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, heard }
    }

    fn heard(&self) -> Vec<Value> {
        self.heard.lock().unwrap().clone()
    }

    /// Waits for so many callbacks.
    async fn hears(&self, count: usize) -> Vec<Value> {
        for _ in 0..300 {
            let heard = self.heard();
            if heard.len() >= count {
                return heard;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("heard {} of {count} callbacks", self.heard().len());
    }
}
