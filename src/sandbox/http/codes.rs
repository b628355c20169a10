//! Status codes with their texts (sections 5 and 7.2), and the replies made of them.

use std::fmt::Write;

/// The client is who it says it is.
pub(in crate::sandbox) const AUTHENTICATED: u16 = 131;
/// The client is not.
pub(in crate::sandbox) const NOT_AUTHENTICATED: u16 = 132;
/// A failure that its description explains.
pub(in crate::sandbox) const FAILURE: u16 = 174;

/// The text of a code.
pub(in crate::sandbox) fn description(code: u16) -> &'static str {
    match code {
        106 => "Inactive service",
        109 => "Customer MSISDN missing",
        110 => "Invalid customer MSISDN",
        111 => "Invalid invoice amount",
        115 => "Invalid currency code specified",
        120 => "Account number not specified",
        131 => "Client authenticated successfully",
        132 => "Client authentication failed",
        139 => "Payment posted successfully and pending acknowledgement",
        140 => "Payment accepted",
        141 => "Payment rejected",
        143 => "Payment does not exist",
        146 => "Invoice does not exist",
        148 => "Payment delivered to the bank, pending settlement",
        167 => "Invalid service ID",
        180 => "Payment failed",
        229 => "Duplicate payment found",
        230 => "Insufficient float balance",
        231 => "Amount greater than the maximum allowed for the service",
        232 => "Amount less than the minimum allowed for the service",
        301 => "Account validation is unavailable",
        306 => "Account is invalid",
        307 => "Account is valid",
        308 => "Bill found",
        309 => "No bill is due",
        _ => "Generic failure",
    }
}

/// Why a packet is refused.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::sandbox) struct Refusal {
    pub code: u16,
    /// What is wrong, where the code alone does not tell.
    pub why: Option<String>,
}

impl Refusal {
    /// A mistake that the document has no code for: the description names the field.
    pub fn of_field(why: impl Into<String>) -> Self {
        Self {
            code: FAILURE,
            why: Some(why.into()),
        }
    }
}

impl From<u16> for Refusal {
    fn from(code: u16) -> Self {
        Self { code, why: None }
    }
}

/// One entry of `results` in the reply to a post.
pub(in crate::sandbox) struct Entry<'a> {
    pub code: u16,
    pub id: &'a str,
    /// 0 when the gateway keeps no transaction.
    pub gateway_id: u64,
    /// What is wrong, where the code alone does not tell.
    pub why: Option<String>,
    /// The application id of a transfer that is with the bank.
    pub receipt: Option<String>,
}

/// The reply to a post.
pub(in crate::sandbox) fn acknowledgement(entries: &[Entry<'_>]) -> String {
    let mut out = String::with_capacity(128 + entries.len() * 192);
    envelope_head(&mut out, AUTHENTICATED, description(AUTHENTICATED));
    for (index, entry) in entries.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        let _ = write!(out, r#"{{"statusCode":{},"statusDescription":"#, entry.code);
        let why = entry.why.as_deref();
        text(&mut out, why.unwrap_or_else(|| description(entry.code)));
        out.push_str(r#","payerTransactionID":"#);
        text(&mut out, entry.id);
        let _ = write!(out, r#","gatewayTransactionID":{}"#, entry.gateway_id);
        if let Some(receipt) = &entry.receipt {
            out.push_str(r#","receiptNumber":"#);
            text(&mut out, receipt);
        }
        out.push('}');
    }
    out.push_str("]}");
    out
}

/// A reply about the request as a whole: nothing was done.
pub(in crate::sandbox) fn refusal(auth_code: u16, why: &str) -> String {
    let mut out = String::with_capacity(128);
    envelope_head(&mut out, auth_code, why);
    out.push_str("]}");
    out
}

/// Writes the envelope up to the first entry of `results`.
pub(in crate::sandbox) fn envelope_head(out: &mut String, auth_code: u16, why: &str) {
    let _ = write!(
        out,
        r#"{{"authStatus":{{"authStatusCode":{auth_code},"authStatusDescription":"#
    );
    text(out, why);
    out.push_str(r#"},"results":["#);
}

/// Writes a JSON string.
pub(in crate::sandbox) fn text(out: &mut String, value: &str) {
    out.push('"');
    for character in value.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// The gateway's identifier of an acceptance; every fourth one is beyond what a binary float holds exactly.
pub(in crate::sandbox) fn gateway_id(number: u64) -> u64 {
    const FLOAT_EXACT_MAX: u64 = 1 << 53;
    if number.is_multiple_of(4) {
        FLOAT_EXACT_MAX + 2 * number + 1
    } else {
        400_000_000 + number
    }
}

/// A receipt number of ten letters and digits.
pub(in crate::sandbox) fn receipt(bits: u64) -> String {
    const SYMBOLS: &[u8; 36] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let mut rest = bits;
    let mut symbol = |among: u64| {
        let index = rest % among;
        rest /= among;
        char::from(SYMBOLS[usize::try_from(index).unwrap_or(0)])
    };
    // Receipts begin with letters.
    let mut receipt = String::with_capacity(10);
    for among in [26, 26, 36, 36, 36, 36, 36, 36, 36, 36] {
        receipt.push(symbol(among));
    }
    receipt
}
