//! The table: which value may turn up where.

use data_encoding::{BASE64, HEXLOWER};

use crate::front::ids_and_key;
use crate::world::World;

/// With signs that are written otherwise in JSON, in an address and in debug output; its middle is the same in all of them.
pub const PASSWORD: &str = "pa\"ss\\ Kanarienvogel4711 &ü";
pub const CORE: &str = "Kanarienvogel4711";
pub const PHONE: &str = "254712987654";
pub const NAME: &str = "Zuleikha Zanzibari";
pub const ACCOUNT: &str = "0099427588438";

/// Where a value may turn up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// To and from the gateway.
    Wire,
    /// The journal with its WAL, its index and its lock.
    Journal,
    ReportJson,
    PaymentsCsv,
    ReportHtml,
    Corrections,
    /// Standard output and error of every command, with the logs at TRACE.
    Output,
    /// Standard output of `lookup NUMBER`: it repeats what it was asked about.
    Lookup,
    /// `explain --reveal`.
    Reveal,
    /// `/proc/PID/cmdline`, which `ps` shows to everybody.
    CommandLine,
    /// `/proc/PID/environ`.
    Environment,
}

use Place::{
    CommandLine, Corrections, Environment, Journal, Lookup, Output, PaymentsCsv, ReportHtml,
    ReportJson, Reveal, Wire,
};

pub const PLACES: [Place; 11] = [
    Wire,
    Journal,
    ReportJson,
    PaymentsCsv,
    ReportHtml,
    Corrections,
    Output,
    Lookup,
    Reveal,
    CommandLine,
    Environment,
];

/// A value in all its forms, where it must be found (or the test would not see it), and where it may be.
pub struct Secret {
    pub name: &'static str,
    pub forms: Vec<Vec<u8>>,
    pub must: &'static [Place],
    pub may: &'static [Place],
}

pub fn secrets(world: &World, wire: &str) -> Vec<Secret> {
    let text = |text: &str| vec![text.as_bytes().to_vec()];
    let (ids, key) = ids_and_key(world);
    let bearer = between(wire, "Bearer ", "\r\n");
    let callback = between(wire, &format!("/callbacks/{}/", ids[0]), "\"");
    assert_eq!(callback.len(), 64, "{callback}");
    let token = electricity_token(world);
    let credentials = BASE64.encode(PASSWORD.as_bytes());
    vec![
        Secret {
            name: "the password",
            forms: [text(CORE), text(&credentials)].concat(),
            must: &[Wire],
            may: &[],
        },
        Secret {
            name: "the bearer token",
            forms: text(&bearer),
            must: &[Wire],
            may: &[],
        },
        Secret {
            name: "the key of the callback addresses",
            forms: vec![
                HEXLOWER.encode(&key).into(),
                BASE64.encode(&key).into(),
                key,
            ],
            must: &[Journal],
            may: &[],
        },
        Secret {
            name: "the token of a callback address",
            forms: text(&callback),
            must: &[Wire],
            may: &[],
        },
        Secret {
            name: "a prepaid token",
            forms: forms_of_token(&token),
            must: &[Journal, ReportJson, PaymentsCsv, Reveal],
            // It comes with a callback, past the recorder, or with the answer to a status query.
            may: &[Wire],
        },
        Secret {
            name: "a phone number",
            // As the carrier and as people write it, too.
            forms: text(&PHONE[3..]),
            must: &[
                Wire,
                Journal,
                ReportJson,
                PaymentsCsv,
                ReportHtml,
                Corrections,
                Lookup,
            ],
            may: &[],
        },
        Secret {
            name: "a bank account",
            forms: text(ACCOUNT),
            must: &[Wire, Journal, Corrections],
            may: &[ReportJson, PaymentsCsv, ReportHtml],
        },
        Secret {
            name: "a name",
            forms: text(NAME),
            must: &[Wire, Journal, Corrections],
            may: &[ReportJson, PaymentsCsv, ReportHtml],
        },
    ]
}

/// A token of twenty digits, in groups of four or not.
fn forms_of_token(token: &str) -> Vec<Vec<u8>> {
    let digits: String = token.chars().filter(char::is_ascii_digit).collect();
    assert_eq!(digits.len(), 20, "{token}");
    let groups: Vec<&str> = (0..5).map(|n| &digits[n * 4..n * 4 + 4]).collect();
    ["", " ", "-"]
        .map(|between| groups.join(between).into_bytes())
        .into()
}

/// The token of the electricity payment, out of the report.
fn electricity_token(world: &World) -> String {
    let report: serde_json::Value = serde_json::from_str(&world.read("proof/report.json")).unwrap();
    let payments = report["payments"].as_array().unwrap();
    let electric = payments
        .iter()
        .find(|payment| payment["service_code"] == "ELECTRICITY")
        .unwrap();
    let narration = electric["receiver_narration"].as_str().unwrap();
    // The narration is read by hand: the longest run of digits, blanks and hyphens in it.
    narration
        .split(|c: char| !c.is_ascii_digit() && !matches!(c, ' ' | '-'))
        .max_by_key(|part| part.len())
        .unwrap()
        .trim()
        .to_owned()
}

fn between(text: &str, start: &str, end: &str) -> String {
    let (_, rest) = text
        .split_once(start)
        .unwrap_or_else(|| panic!("{start:?} never went over the wire"));
    rest.split_once(end).unwrap().0.to_owned()
}
