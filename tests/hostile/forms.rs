//! The forms a reply may take on the wire: harmless ones that must be understood, and spoilt ones that prove nothing.

use std::time::Duration;

use fastrand::Rng;

use super::tongue::Tongue;

/// What the body of an error reply holds.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    Html,
    Empty,
    /// An envelope that claims this code for the payment; under a 5xx it must not be believed.
    Claims(i32),
}

/// The shape of one reply.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    // Harmless.
    Plain,
    Bom,
    Chunked,
    CloseDelimited,
    Interim,
    TextCodes,
    OneObject,
    Reversed,
    StrangeMembers,
    Trickled,
    CloseAfter,
    ReplyTwice,
    /// Further members of every entry; `AMOUNT` and `NUMBER` stand for those of the payment.
    Names(&'static str),
    // Spoilt.
    Http(u16, Body),
    Redirect(u16),
    Slow429(&'static str),
    NoBody,
    NoContent,
    SwitchProtocols,
    ChunkedCut,
    Reset,
    ResetMidBody,
    Closed,
    InterimOnly,
    LengthTooLong,
    LengthTooShort,
    TwoLengths,
    DoubledKeys,
    Foreign(i32),
    LowercaseId,
    Contradicting(i32),
    /// The raw text that stands as `statusCode`.
    Code(&'static str),
    /// The raw text that stands as `authStatus`; empty: none.
    Auth(&'static str),
    /// The raw text that stands as `results`; empty: none.
    Results(&'static str),
    Garbage,
    TrailingGarbage,
    Gigantic,
    Gzip,
    TooSlow,
    NotHttp,
    Deep,
}

/// Forms that change nothing of what is said.
pub const HARMLESS: &[Form] = &[
    Form::Plain,
    Form::Plain,
    Form::Plain,
    Form::Bom,
    Form::Chunked,
    Form::CloseDelimited,
    Form::Interim,
    Form::TextCodes,
    Form::OneObject,
    Form::Reversed,
    Form::StrangeMembers,
    Form::Trickled,
    Form::CloseAfter,
    Form::ReplyTwice,
];

/// Forms that prove nothing and do not stop a run.
pub const SPOILT: &[Form] = &[
    Form::Http(500, Body::Html),
    Form::Http(500, Body::Claims(231)),
    Form::Http(502, Body::Html),
    Form::Http(502, Body::Claims(141)),
    Form::Http(503, Body::Claims(140)),
    Form::Http(504, Body::Empty),
    Form::Http(504, Body::Claims(139)),
    Form::Http(500, Body::Claims(132)),
    Form::Http(599, Body::Claims(230)),
    Form::Http(408, Body::Html),
    Form::Http(400, Body::Html),
    Form::Http(200, Body::Html),
    Form::NoBody,
    Form::NoContent,
    Form::SwitchProtocols,
    Form::ChunkedCut,
    Form::Reset,
    Form::ResetMidBody,
    Form::Closed,
    Form::InterimOnly,
    Form::LengthTooLong,
    Form::LengthTooShort,
    Form::TwoLengths,
    Form::DoubledKeys,
    Form::Foreign(139),
    Form::Foreign(141),
    Form::Foreign(231),
    Form::LowercaseId,
    Form::Contradicting(231),
    Form::Contradicting(141),
    Form::Code("139.0"),
    Form::Code("141.0"),
    Form::Code("-231"),
    Form::Code("null"),
    Form::Code("true"),
    Form::Code("\"accepted\""),
    Form::Code("[141]"),
    Form::Code("{\"code\":231}"),
    Form::Code("99999999999999999999999"),
    Form::Code("4294967437"),
    Form::Code("1.41e2"),
    Form::Code("\"0141\""),
    Form::Code("\"+231\""),
    Form::Code("\"\""),
    Form::Code("0"),
    Form::Code("999"),
    Form::Code("200"),
    Form::Code("104"),
    Form::Code("174"),
    Form::Auth("{\"authStatusCode\":174,\"authStatusDescription\":\"generic\"}"),
    Form::Auth("{\"authStatusCode\":0}"),
    Form::Results("null"),
    Form::Results(""),
    Form::Results("[]"),
    Form::Results("\"141\""),
    Form::Results("231"),
    Form::Results("[null]"),
    Form::Results("[[]]"),
    Form::Garbage,
    Form::TrailingGarbage,
    Form::Gigantic,
    Form::Gzip,
    Form::TooSlow,
    Form::NotHttp,
    Form::Deep,
];

/// What the connection does next.
#[derive(Debug)]
pub enum Step {
    Send(Vec<u8>),
    Pause(Duration),
    Reset,
    Close,
}

/// One entry of `results`.
#[derive(Clone, Debug)]
pub struct Said {
    pub id: String,
    pub code: i32,
    pub number: u64,
    /// The packet that was posted.
    pub packet: String,
}

const AUTHENTICATED: &str = "{\"authStatusCode\":131,\"authStatusDescription\":\"ok\"}";

/// Writes replies in a dialect.
struct Writer<'t>(&'t Tongue);

impl Writer<'_> {
    fn entry(&self, said: &Said, code: &str) -> String {
        let is_absent = said.code == 143;
        // What it does not find has no number.
        let number = if is_absent { 0 } else { said.number };
        let (code, words) = match is_absent {
            true => {
                let (theirs, words) = self.0.not_found();
                (code.replace("143", &theirs.to_string()), words)
            }
            false => (code.to_owned(), format!("status {}", said.code)),
        };
        let [status, description, payer, gateway] = [
            "statusCode",
            "statusDescription",
            "payerTransactionID",
            "gatewayTransactionID",
        ]
        .map(|ours| self.0.called(ours));
        format!(
            "{{\"{status}\":{code},\"{description}\":\"{words}\",\"{payer}\":\"{}\",\"{gateway}\":{number}}}",
            said.id
        )
    }

    fn named(&self, entries: &[Said], members: &str) -> String {
        let entries: Vec<String> = entries
            .iter()
            .map(|said| {
                let packet: serde_json::Value =
                    serde_json::from_str(&said.packet).unwrap_or_default();
                let members = members
                    .replace("AMOUNT", &packet["amount"].to_string())
                    .replace("NUMBER", packet["MSISDN"].as_str().unwrap_or_default());
                let entry = self.entry(said, &said.code.to_string());
                format!("{},{members}}}", entry.trim_end_matches('}'))
            })
            .collect();
        format!("[{}]", entries.join(","))
    }

    fn list(&self, entries: &[Said], code: impl Fn(&Said) -> String) -> String {
        let entries: Vec<String> = entries
            .iter()
            .map(|said| self.entry(said, &code(said)))
            .collect();
        format!("[{}]", entries.join(","))
    }

    fn envelope(&self, auth: &str, results: &str) -> String {
        let auth = match self.0.tells_who() {
            true => auth.replace("authStatusCode", self.0.called("authStatusCode")),
            false => String::new(),
        };
        let members: Vec<String> = [("authStatus", auth.as_str()), ("results", results)]
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("\"{}\":{value}", self.0.called(name)))
            .collect();
        format!("{{{}}}", members.join(","))
    }
}

fn head(status: u16, more: &str, length: usize) -> String {
    format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{more}Content-Length: {length}\r\n\r\n"
    )
}

fn whole(status: u16, more: &str, body: &[u8]) -> Vec<u8> {
    [head(status, more, body.len()).as_bytes(), body].concat()
}

fn chunked(body: &str, cut: bool) -> Vec<u8> {
    let mut out = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    let half = body.len() / 2;
    for part in [&body[..half], &body[half..]] {
        if cut && part.len() != half {
            break;
        }
        out.extend_from_slice(format!("{:x}\r\n{part}\r\n", part.len()).as_bytes());
    }
    if !cut {
        out.extend_from_slice(b"0\r\n\r\n");
    }
    out
}

/// Returns what the connection does to say `entries` in this form. `trap` is where redirects lead.
pub fn render(
    tongue: &Tongue,
    form: Form,
    entries: &[Said],
    trap: &str,
    rng: &mut Rng,
) -> Vec<Step> {
    let writer = Writer(tongue);
    let list = |entries: &[Said], code: &dyn Fn(&Said) -> String| writer.list(entries, code);
    let envelope = |auth: &str, results: &str| writer.envelope(auth, results);
    let description = format!("\"{}\"", tongue.called("statusDescription"));
    // Where replies do not tell who was let in, the status does, and nothing else is said of it.
    let form = match form {
        Form::Auth(auth) if !tongue.tells_who() && auth.contains("132") => {
            Form::Http(401, Body::Claims(132))
        }
        Form::Auth(_) if !tongue.tells_who() => Form::Http(500, Body::Html),
        form => form,
    };
    let plain = list(entries, &|said| said.code.to_string());
    let honest = envelope(AUTHENTICATED, &plain);
    let send = |bytes: Vec<u8>| vec![Step::Send(bytes)];
    let ok = |body: &str| send(whole(200, "", body.as_bytes()));
    match form {
        Form::Plain => ok(&honest),
        Form::Names(members) => ok(&envelope(AUTHENTICATED, &writer.named(entries, members))),
        Form::Bom => ok(&format!("\u{feff}\r\n {honest} \n")),
        Form::Chunked => send(chunked(&honest, false)),
        Form::CloseDelimited => vec![
            Step::Send(format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{honest}").into()),
            Step::Close,
        ],
        Form::Interim => send(
            [
                b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
                    .to_vec(),
                whole(200, "", honest.as_bytes()),
            ]
            .concat(),
        ),
        Form::TextCodes => ok(&envelope(
            "{\"authStatusCode\":\"131\"}",
            &list(entries, &|said| format!("\" {} \"", said.code)),
        )),
        Form::OneObject if entries.len() == 1 => {
            ok(&envelope(AUTHENTICATED, plain.trim_matches(['[', ']'])))
        }
        Form::OneObject => ok(&honest),
        Form::Reversed => {
            let turned: Vec<Said> = entries.iter().rev().cloned().collect();
            ok(&envelope(
                AUTHENTICATED,
                &list(&turned, &|said| said.code.to_string()),
            ))
        }
        Form::StrangeMembers => {
            let strange = format!(
                "\"statuscode\":141,\"StatusCode\":231,\"amount\":1e999,\"receiptNumber\":\"[\\\"=cmd()\\\"]\",{description}:\"\\u001b[31m=1+1"
            );
            // The words of "not found" are exact.
            let is_exact = entries.iter().any(|said| said.code == 143) && !tongue.proves_absence();
            let results = match is_exact {
                true => plain,
                false => plain.replace(&format!("{description}:\""), &strange),
            };
            let envelope = envelope(AUTHENTICATED, &results);
            ok(&format!(
                "{{\"x\":1,\"x\":2,\"authstatus\":{{\"authStatusCode\":132}},{}",
                envelope.trim_start_matches('{')
            ))
        }
        Form::Trickled => {
            let bytes = whole(200, "", honest.as_bytes());
            bytes
                .chunks(48)
                .flat_map(|part| {
                    [
                        Step::Send(part.to_vec()),
                        Step::Pause(Duration::from_millis(8)),
                    ]
                })
                .collect()
        }
        Form::CloseAfter => vec![Step::Send(whole(200, "", honest.as_bytes())), Step::Reset],
        // What follows belongs to no request, and contradicts.
        Form::ReplyTwice => {
            let lie = envelope(AUTHENTICATED, &list(entries, &|_| "141".into()));
            send(
                [
                    whole(200, "", honest.as_bytes()),
                    whole(200, "", lie.as_bytes()),
                ]
                .concat(),
            )
        }
        Form::Http(status, body) => {
            let body = match body {
                Body::Html => "<html><body>139 140 231 {\"statusCode\":231}</body></html>".into(),
                Body::Empty => String::new(),
                Body::Claims(132) => envelope("{\"authStatusCode\":132}", "[]"),
                Body::Claims(code) => {
                    envelope(AUTHENTICATED, &list(entries, &|_| code.to_string()))
                }
            };
            send(whole(status, "", body.as_bytes()))
        }
        Form::Redirect(status) => send(whole(
            status,
            &format!("Location: {trap}/v1/global-api/payments\r\nRefresh: 0; url={trap}\r\n"),
            honest.as_bytes(),
        )),
        Form::Slow429(after) => send(whole(
            429,
            &format!("Retry-After: {after}\r\n"),
            b"slow down",
        )),
        Form::NoBody => ok(""),
        Form::NoContent => send(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()),
        Form::SwitchProtocols => vec![
            Step::Send(
                b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"
                    .to_vec(),
            ),
            Step::Send(whole(200, "", honest.as_bytes())),
            Step::Close,
        ],
        Form::ChunkedCut => vec![Step::Send(chunked(&honest, true)), Step::Close],
        Form::Reset => vec![Step::Reset],
        Form::ResetMidBody => {
            let bytes = whole(200, "", honest.as_bytes());
            let cut = bytes.len() - 1 - rng.usize(..honest.len());
            vec![
                Step::Send(bytes[..cut].to_vec()),
                Step::Pause(Duration::from_millis(5)),
                Step::Reset,
            ]
        }
        Form::Closed => vec![Step::Close],
        Form::InterimOnly => vec![
            Step::Send(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()),
            Step::Close,
        ],
        Form::LengthTooLong => vec![
            Step::Send(
                [
                    head(200, "", honest.len() + 40).as_bytes(),
                    honest.as_bytes(),
                ]
                .concat(),
            ),
            Step::Close,
        ],
        Form::LengthTooShort => send(
            [
                head(200, "", honest.len() - 2).as_bytes(),
                honest.as_bytes(),
            ]
            .concat(),
        ),
        Form::TwoLengths => send(
            [
                head(
                    200,
                    &format!("Content-Length: {}\r\n", honest.len() / 2),
                    honest.len(),
                )
                .as_bytes(),
                honest.as_bytes(),
            ]
            .concat(),
        ),
        Form::DoubledKeys => ok(&honest.replace(
            &description,
            &format!("\"{}\":231,{description}", tongue.called("statusCode")),
        )),
        Form::Foreign(code) => {
            let strangers: Vec<Said> = entries
                .iter()
                .map(|said| Said {
                    id: said.id.chars().rev().collect(),
                    ..said.clone()
                })
                .collect();
            ok(&envelope(
                AUTHENTICATED,
                &list(&strangers, &|_| code.to_string()),
            ))
        }
        Form::LowercaseId => {
            let lower: Vec<Said> = entries
                .iter()
                .map(|said| {
                    let other = match said.id.to_lowercase() {
                        same if same == said.id => said.id.to_uppercase(),
                        lower => lower,
                    };
                    Said {
                        id: format!(" {other}"),
                        ..said.clone()
                    }
                })
                .collect();
            ok(&envelope(AUTHENTICATED, &list(&lower, &|_| "231".into())))
        }
        Form::Contradicting(code) => {
            let other = list(entries, &|_| code.to_string());
            ok(&envelope(
                AUTHENTICATED,
                &format!(
                    "[{},{}]",
                    plain.trim_matches(['[', ']']),
                    other.trim_matches(['[', ']'])
                ),
            ))
        }
        Form::Code(raw) => ok(&envelope(
            AUTHENTICATED,
            &list(entries, &|_| raw.to_owned()),
        )),
        Form::Auth(raw) => ok(&envelope(raw, &plain)),
        Form::Results(raw) => ok(&envelope(AUTHENTICATED, raw)),
        Form::Garbage => ok("\u{0}\u{7}{{{\"results\": [ \"statusCode\" 231"),
        Form::TrailingGarbage => ok(&format!("{honest}{honest}")),
        Form::Gigantic => {
            let padding = " ".repeat(5 << 20);
            ok(&format!("{padding}{honest}"))
        }
        Form::Gzip => send(whole(
            200,
            "Content-Encoding: gzip\r\n",
            b"\x1f\x8b\x08\x00\x00\x00",
        )),
        Form::TooSlow => vec![
            Step::Pause(Duration::from_millis(1500)),
            Step::Send(whole(200, "", honest.as_bytes())),
        ],
        Form::NotHttp => vec![Step::Send(honest.into_bytes()), Step::Close],
        Form::Deep => ok(&format!(
            "{{\"a\":{}1{},\"b\":{honest}}}",
            "[".repeat(9000),
            "]".repeat(9000)
        )),
    }
}
