//! One payment as the page lists it.

use std::borrow::Cow;

use crate::domain::WireZone;
use crate::report::rows::entry::StateName;
use crate::report::rows::row::Row;
use crate::report::words::figures::push_number;
use crate::report::words::text;

/// Texts that are safe to show, composed into few cells: a page of six columns fits on paper.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) line: u64,
    pub(super) reference: String,
    pub(super) id: String,
    /// Invoice and narration of the payer.
    pub(super) about: String,
    /// The customer's names.
    pub(super) name: String,
    pub(super) msisdn: String,
    /// Empty when it is the phone number itself.
    pub(super) account: String,
    /// The bank, and whose account it is there, where that is not the customer's name.
    pub(super) bank: String,
    pub(super) service: String,
    /// With thousands separators.
    pub(super) amount: String,
    pub(super) currency: String,
    /// For adding up; empty when the amount is not known.
    pub(super) minor: String,
    pub(super) state: StateName,
    pub(super) code: Option<i64>,
    /// When it was settled, or else posted.
    pub(super) at: String,
    /// The receipt of what is paid; the status code and its description of everything else.
    pub(super) outcome: String,
    /// The note, receipt and whatever else is known.
    pub(super) detail: String,
}

impl Listed {
    pub(super) fn new(row: &Row<'_>, zone: &WireZone) -> Self {
        let entry = row.entry;
        let shown = |raw: &str| text::for_page(raw).into_owned();
        let differs = entry.account_number != entry.msisdn;
        let at = entry.settled_at.or(entry.posted_at);
        Self {
            line: entry.line,
            reference: shown(entry.reference),
            id: shown(entry.id),
            about: joined([entry.invoice_number, entry.narration]),
            name: shown(entry.customer_names),
            msisdn: shown(entry.msisdn),
            account: if differs {
                shown(entry.account_number)
            } else {
                String::new()
            },
            bank: bank(row),
            service: shown(entry.service_code),
            amount: entry
                .money
                .map_or_else(|| shown(row.amount), |_| text::grouped(row.amount)),
            currency: shown(row.currency),
            minor: entry
                .money
                .map_or_else(String::new, |money| money.amount.minor().to_string()),
            state: entry.state,
            code: entry.status_code,
            at: at.map(|at| zone.format(at)).unwrap_or_default(),
            outcome: if has_receipt(row) {
                format!("receipt {}", text::for_page(entry.receipt_number))
            } else {
                outcome(entry.status_code, entry.status_description)
            },
            detail: detail(row),
        }
    }

    /// Appends the row as a line of a part, in the order page.js reads it. It may stand within quotes in a script or in JSON.
    pub(super) fn write_line(&self, out: &mut Vec<u8>) {
        push_number(out, self.line);
        for cell in [
            &self.reference,
            &self.id,
            &self.msisdn,
            &self.account,
            &self.service,
            &self.amount,
            &self.currency,
            &self.minor,
            self.state.as_str(),
            &self.at,
            &self.outcome,
            &self.detail,
            &self.name,
            &self.bank,
            &self.about,
        ] {
            out.extend_from_slice(b"\\t");
            push_escaped(out, cell);
        }
    }
}

/// Bytes that make a text one to look at closely. 0xE2 begins the line separators, among others.
const CARE: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let careful = byte < 0x20 || matches!(byte as u8, b'"' | b'\\' | b'<' | b'>' | b'&' | 0xe2);
        table[byte] = careful as u8;
        byte += 1;
    }
    table
};

/// Appends a text as it stands between the quotes of a JSON text or of a script's. No text can end those, or the element that
/// they stand in, or open a comment: what markup needs is written as escapes, and so are the line ends that older scripts know.
fn push_escaped(out: &mut Vec<u8>, text: &str) {
    // The usual case, copied whole; no loop that ends early, which is slower for texts as short as these.
    let care = text
        .bytes()
        .fold(0, |care, byte| care | CARE[usize::from(byte)]);
    if care == 0 {
        return out.extend_from_slice(text.as_bytes());
    }
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend_from_slice(&[b'\\', character as u8]),
            '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.extend_from_slice(format!("\\u{:04x}", u32::from(character)).as_bytes());
            }
            _ => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// Returns the texts that are there, with a point between them.
fn joined<const N: usize>(texts: [&str; N]) -> String {
    let there = texts.into_iter().filter(|text| !text.is_empty());
    there.map(text::for_page).collect::<Vec<_>>().join(" · ")
}

fn bank(row: &Row<'_>) -> String {
    let bank = &row.entry.bank;
    let bank_and_code = match (bank.bank_name, bank.bank_code) {
        (name, "") => name.to_owned(),
        ("", code) => format!("bank {code}"),
        (name, code) => format!("{name} ({code})"),
    };
    let holder = match bank.account_name == row.entry.customer_names {
        true => "",
        false => bank.account_name,
    };
    let account = match bank.account_number == row.entry.account_number {
        true => "",
        false => bank.account_number,
    };
    joined([account, &bank_and_code, holder])
}

/// Returns a status code and its description in one text.
pub(super) fn outcome(code: Option<i64>, description: &str) -> String {
    let description = text::for_page(description);
    match code {
        Some(code) => format!("{code} {description}").trim_end().to_owned(),
        None => description.into_owned(),
    }
}

fn has_receipt(row: &Row<'_>) -> bool {
    row.entry.state == StateName::Paid && !row.entry.receipt_number.is_empty()
}

fn detail(row: &Row<'_>) -> String {
    let entry = row.entry;
    let mut parts: Vec<Cow<'_, str>> = vec![text::for_page(entry.note)];
    let receipt = if has_receipt(row) {
        ""
    } else {
        entry.receipt_number
    };
    for (label, value) in [
        ("receipt", receipt),
        ("gateway", entry.gateway_transaction_id),
    ] {
        if !value.is_empty() {
            parts.push(format!("{label} {}", text::for_page(value)).into());
        }
    }
    match &row.electricity {
        Some(electricity) => {
            parts.push(format!("token {}", electricity.masked()).into());
            let units = electricity.units_text();
            if !units.is_empty() {
                parts.push(format!("{units} units").into());
            }
        }
        None if row.is_bearer() && !entry.receiver_narration.is_empty() => {
            parts.push("narration in payments.csv".into());
        }
        None => parts.push(text::for_page(entry.receiver_narration)),
    }
    if entry.attempts > 1 {
        parts.push(format!("{} attempts", entry.attempts).into());
    }
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn escaped(text: &str) -> String {
        let mut out = Vec::new();
        push_escaped(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    proptest! {
        #[test]
        fn texts_come_back_and_hold_nothing_that_ends_them(
            any in ".{0,12}",
            odd in "[\"\\\\<>&/!\\x00-\\x20\\x7f\u{2028}\u{2029}\u{20ac}a-]{0,12}",
        ) {
            for text in [any, odd] {
                let written = escaped(&text);
                for sign in ['<', '>', '&', '\n', '\r', '\u{2028}', '\u{2029}'] {
                    prop_assert!(!written.contains(sign), "{written:?}");
                }
                let read: String = serde_json::from_str(&format!("\"{written}\"")).unwrap();
                prop_assert_eq!(read, text);
            }
        }
    }
}
