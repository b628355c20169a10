//! The gateway's tongue: how it understands requests, and how it writes replies and callbacks, by a dialect's data alone. What
//! the client encodes and decodes with has no part in it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use data_encoding::{BASE64, HEXLOWER};
use disburse::cli::config::{Origin, read_dialect};
use disburse::dialect::{Call, Dialect, Encoding, Header, MEMBERS, Method, Operation, Signing};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::Sha256;

use super::office::PASSWORD;

/// The dialects that come along, beside the document's.
pub const OTHERS: [&str; 3] = ["beep", "paths", "signed"];
/// Where the document has all payments.
const PAYMENTS: &str = "/v1/global-api/payments";
const TOKEN: &str = "a-token-of-the-hostile-gateway";

/// A request as it arrived.
#[derive(Debug, Default)]
pub struct Request {
    pub method: String,
    pub target: String,
    /// By their names in small letters.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

/// A packet, and its bytes.
pub type Packets = Vec<(Packet, String)>;

/// What a request asks for.
#[derive(Debug)]
pub enum Heard {
    Post(Packets),
    Status(Packets),
    Token,
}

/// What a packet says that decides something here.
#[derive(Debug, Default)]
pub struct Packet {
    pub id: String,
    pub msisdn: String,
    pub service: String,
    /// The rows of these tests carry their reference as the invoice's number.
    pub reference: String,
    pub callback_url: Option<String>,
}

type Members = BTreeMap<String, Box<RawValue>>;

/// A dialect, spoken.
#[derive(Debug)]
pub struct Tongue {
    pub name: &'static str,
    dialect: Arc<Dialect>,
}

/// What a key file holds.
fn key(file: &Path) -> String {
    format!("what {} holds", file.display())
}

impl Tongue {
    pub fn of(name: &'static str) -> Self {
        let settings = read_dialect(name, &Origin::Flag, true).unwrap();
        Self {
            name,
            dialect: settings.dialect,
        }
    }

    /// The deployment's name of a member.
    pub fn called<'t>(&'t self, ours: &'t str) -> &'t str {
        self.dialect.names.theirs(ours)
    }

    /// Whether replies say who was let in.
    pub fn tells_who(&self) -> bool {
        self.dialect.replies.has_auth_status
    }

    /// Whether the bodies of server errors are read.
    pub fn reads_server_errors(&self) -> bool {
        self.dialect.replies.server_errors
    }

    /// Whether "no such payment" is proof: the words of a dialect are none until somebody has seen what they are worth.
    pub fn proves_absence(&self) -> bool {
        self.dialect.replies.not_found_words.is_none()
    }

    /// The code of "no such payment", and its words.
    pub fn not_found(&self) -> (i32, String) {
        let words = self.dialect.replies.not_found_words.clone();
        words.unwrap_or_else(|| (143, "status 143".to_owned()))
    }

    /// The key files that a client has: name and content.
    pub fn keys(&self) -> Vec<(String, String)> {
        let dialect = &self.dialect;
        let secret = dialect.callbacks.secret.iter().map(|(_, file)| file);
        let signings = [&dialect.signing, &dialect.callbacks.signing];
        let signings = signings
            .into_iter()
            .flatten()
            .map(|signing| &signing.key_file);
        let files = dialect.header_files.values().chain(secret).chain(signings);
        files
            .map(|file| (file.display().to_string(), key(file)))
            .collect()
    }

    /// The reply to a question for a token.
    pub fn token() -> String {
        json!({"token_type": "bearer", "expires_in": 3600, "access_token": TOKEN, "refresh_token": "none"}).to_string()
    }

    /// Understands a request, or says what no client of this dialect sends.
    pub fn hear(&self, request: &Request) -> Result<Heard, String> {
        let path = request.target.split('?').next().unwrap_or_default();
        if self.dialect.needs_token(false) && path == self.dialect.token_path {
            return Ok(Heard::Token);
        }
        let envelope = members(&request.body)?;
        let function = text(&envelope, self.called("function"));
        let operation = [Operation::Post, Operation::Status]
            .into_iter()
            .find(|operation| {
                let call = self.dialect.call(*operation);
                let method = match call.method {
                    Method::Post => "POST",
                    Method::Put => "PUT",
                };
                call.path.as_deref().unwrap_or(PAYMENTS) == path
                    && method == request.method
                    && call.function == function
            });
        let operation = operation
            .ok_or_else(|| format!("{} {path} with function {function:?}", request.method))?;
        let call = self.dialect.call(operation);
        self.check_headers(request)?;
        text(&envelope, self.called("countryCode")).ok_or("no country")?;
        let payload = envelope.get(self.called("payload")).ok_or("no payload")?;
        let payload = members(payload.get().as_bytes())?;
        self.check_credentials(call, &payload, request)?;
        let packets = payload.get(self.called("packet")).ok_or("no packet")?;
        let packets: Vec<&RawValue> =
            serde_json::from_str(packets.get()).map_err(|error| error.to_string())?;
        let packets: Result<Packets, String> = packets
            .into_iter()
            .map(|raw| Ok((self.packet(operation, raw)?, raw.get().to_owned())))
            .collect();
        let packets = packets?;
        if packets.is_empty() {
            return Err("a request without packets".to_owned());
        }
        Ok(match operation {
            Operation::Post => Heard::Post(packets),
            _ => Heard::Status(packets),
        })
    }

    fn check_headers(&self, request: &Request) -> Result<(), String> {
        let dialect = &self.dialect;
        let open = dialect
            .headers
            .iter()
            .map(|(name, value)| (name, value.clone()));
        let secret = dialect
            .header_files
            .iter()
            .map(|(name, file)| (name, key(file)));
        for (name, value) in open.chain(secret) {
            let shown = request.headers.get(&name.to_lowercase());
            if shown != Some(&value) {
                return Err(format!("header {name} is {shown:?}"));
            }
        }
        let Some(signing) = &dialect.signing else {
            return Ok(());
        };
        let mut signed = Vec::new();
        if let Some(name) = &signing.timestamp_header {
            let time = request.headers.get(&name.to_lowercase()).ok_or("no time")?;
            signed.extend(format!("{time}.").bytes());
        }
        signed.extend(&request.body);
        let shown = request.headers.get(&signing.header.to_lowercase());
        match shown == Some(&signature(signing, &signed)) {
            true => Ok(()),
            false => Err(format!("signature {shown:?}")),
        }
    }

    fn check_credentials(
        &self,
        call: &Call,
        payload: &Members,
        request: &Request,
    ) -> Result<(), String> {
        let (in_body, in_header) = match call.authentication {
            None => (true, Header::Absent),
            Some(authentication) => (authentication.body, authentication.header),
        };
        let shown = payload.get(self.called("credentials"));
        match (shown, in_body) {
            (None, false) => {}
            (Some(shown), true) => {
                let shown = members(shown.get().as_bytes())?;
                let pair = ["username", "password"].map(|name| text(&shown, self.called(name)));
                if pair != [Some("acme".to_owned()), Some(PASSWORD.to_owned())] {
                    return Err("other credentials".to_owned());
                }
            }
            (shown, _) => return Err(format!("credentials in the body: {}", shown.is_some())),
        }
        let expected = match in_header {
            Header::Absent => return Ok(()),
            Header::Bearer => format!("Bearer {TOKEN}"),
            Header::Basic => {
                format!(
                    "Basic {}",
                    BASE64.encode(format!("acme:{PASSWORD}").as_bytes())
                )
            }
        };
        match request.headers.get("authorization") == Some(&expected) {
            true => Ok(()),
            false => Err("another Authorization header".to_owned()),
        }
    }

    fn packet(&self, operation: Operation, raw: &RawValue) -> Result<Packet, String> {
        let read = members(raw.get().as_bytes())?;
        let strange = MEMBERS
            .iter()
            .find(|ours| self.called(ours) != **ours && read.contains_key(**ours));
        if let Some(ours) = strange {
            return Err(format!("{ours} has another name here"));
        }
        let of = |ours: &str| text(&read, self.called(ours)).unwrap_or_default();
        let packet = Packet {
            id: of("payerTransactionID"),
            msisdn: of("MSISDN"),
            service: of("serviceCode"),
            reference: of("invoiceNumber"),
            callback_url: None,
        };
        let is_uuid = packet.id.len() == 36;
        if is_uuid != (self.dialect.identifiers.to_string() == "{uuid}") {
            return Err(format!("identifier {}", packet.id));
        }
        if operation == Operation::Status {
            return Ok(packet);
        }
        let amount = read.get(self.called("amount")).ok_or("no amount")?;
        if amount.get().starts_with('"') != self.dialect.amount_as_text {
            return Err(format!("amount {amount}"));
        }
        let extra = read.get(self.called("extraData")).ok_or("no extraData")?;
        let is_text = extra.get().starts_with('"');
        if self
            .dialect
            .extra_data_as_text
            .is_some_and(|wanted| wanted != is_text)
        {
            return Err(format!("extraData {extra}"));
        }
        let inner: String = match is_text {
            true => serde_json::from_str(extra.get()).map_err(|error| error.to_string())?,
            false => extra.get().to_owned(),
        };
        let callback_url = text(&members(inner.as_bytes())?, self.called("callbackUrl"));
        Ok(Packet {
            callback_url,
            ..packet
        })
    }

    /// The body of a callback about these packets, which have the document's names.
    pub fn pushed(&self, packet: &Value, function: &str) -> Value {
        let mut within = self.renamed(packet);
        let callbacks = &self.dialect.callbacks;
        let own = callbacks
            .functions
            .iter()
            .find(|known| !known.starts_with('*'));
        let (family, _) = own
            .map_or("GATEWAY.", String::as_str)
            .split_once('.')
            .unwrap_or_default();
        let function = format!(
            "{}.{function}",
            if family.is_empty() { "GATEWAY" } else { family }
        );
        for (depth, name) in callbacks.packet.iter().enumerate().rev() {
            within = json!({self.called(name): within});
            if depth == 0 {
                within[self.called("function")] = function.as_str().into();
                within[self.called("countryCode")] = "KE".into();
            }
        }
        // The packet alone says its function only where that is another one.
        if callbacks.packet.is_empty()
            && !function.ends_with(".pushPaymentStatus")
            && within.is_object()
        {
            within[self.called("function")] = function.into();
        }
        within
    }

    fn renamed(&self, packet: &Value) -> Value {
        match packet {
            Value::Object(members) => {
                let members = members.iter();
                let members =
                    members.map(|(ours, value)| (self.called(ours).to_owned(), value.clone()));
                Value::Object(members.collect())
            }
            Value::Array(packets) => packets
                .iter()
                .map(|packet| self.renamed(packet))
                .collect::<Vec<_>>()
                .into(),
            other => other.clone(),
        }
    }

    /// What a callback shows beside its body.
    pub fn seals(&self, body: &[u8]) -> Vec<(String, String)> {
        let callbacks = &self.dialect.callbacks;
        let secret = callbacks.secret.iter();
        let mut seals: Vec<(String, String)> = secret
            .map(|(name, file)| (name.clone(), key(file)))
            .collect();
        if let Some(signing) = &callbacks.signing {
            assert_eq!(
                signing.timestamp_header, None,
                "no dialect that comes along has a time here"
            );
            seals.push((signing.header.clone(), signature(signing, body)));
        }
        seals
    }
}

fn signature(signing: &Signing, signed: &[u8]) -> String {
    let key = key(&signing.key_file);
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(signed);
    let code = mac.finalize().into_bytes();
    match signing.encoding {
        Encoding::Base64 => BASE64.encode(&code),
        Encoding::Hex => HEXLOWER.encode(&code),
    }
}

fn members(text: &[u8]) -> Result<Members, String> {
    serde_json::from_slice(text)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(text)))
}

fn text(members: &Members, name: &str) -> Option<String> {
    serde_json::from_str(members.get(name)?.get()).ok()
}
