//! Requests (section 2.3): the order of the members and the digits of the amount are exact.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::ops::Deref;

use secrecy::zeroize::{Zeroize as _, Zeroizing};
use secrecy::{ExposeSecret, SecretString};
use serde::{Serialize, Serializer};

use super::{
    POST_PAYMENT, QUERY_BILL, QUERY_FLOAT_BALANCE, QUERY_PAYMENT_STATUS, VALIDATE_ACCOUNT,
};
use crate::domain::{Instruction, ServiceCode, WireZone};
use crate::gateway::operations::BillInquiry;
use crate::gateway::port::{Inquiry, Outgoing};
use crate::gateway::profile::{ExtraDataForm, Profile, SupportDocumentIn};

/// Members of `extraData` that we write ourselves; a row cannot set them.
const OWN_EXTRAS: [&str; 2] = ["pushToOriginator", "callbackUrl"];
const SUPPORT_DOCUMENT: &str = "supportDocument";
const TAIL: &[u8] = b"]}}";
/// Nearly every packet finds room in this many bytes.
const PACKET_ROOM: usize = 768;
/// Nearly every `extraData` finds room in this many bytes.
const EXTRA_ROOM: usize = 256;
const TAKEN: &str = "a Vec takes every byte";

/// Writes requests. What is equal in all of them, the credentials included, is prepared once.
pub struct Requests {
    post_head: Zeroizing<Vec<u8>>,
    query_head: Zeroizing<Vec<u8>>,
    bill_head: Zeroizing<Vec<u8>>,
    float_head: Zeroizing<Vec<u8>>,
    account_head: Zeroizing<Vec<u8>>,
    zone: WireZone,
    extra_data: ExtraDataForm,
    support_document_in: SupportDocumentIn,
    undated: BTreeSet<ServiceCode>,
}

impl Requests {
    /// Prepares requests for one deployment.
    #[must_use]
    pub fn new(profile: &Profile) -> Self {
        Self {
            post_head: head(POST_PAYMENT, profile),
            query_head: head(QUERY_PAYMENT_STATUS, profile),
            bill_head: head(QUERY_BILL, profile),
            float_head: head(QUERY_FLOAT_BALANCE, profile),
            account_head: head(VALIDATE_ACCOUNT, profile),
            zone: profile.zone.clone(),
            extra_data: profile.extra_data,
            support_document_in: profile.support_document_in,
            undated: profile.undated.clone(),
        }
    }

    /// Writes the body of a post. It holds the password.
    #[must_use]
    pub fn post(&self, payments: &[Outgoing]) -> Body {
        wrapped(&self.post_head, payments, |outgoing, out| {
            self.write_packet(outgoing, out);
        })
    }

    /// Writes the body of a status query. It holds the password.
    #[must_use]
    pub fn query(&self, payments: &[Inquiry]) -> Body {
        wrapped(&self.query_head, payments, |inquiry, out| {
            let gateway_id = inquiry.gateway_transaction_id.as_ref();
            write_json(
                out,
                &InquiryPacket {
                    payer_transaction_id: inquiry.id.as_str(),
                    gateway_transaction_id: gateway_id.map_or("", |id| id.as_str()),
                },
            );
        })
    }

    /// Writes the body of a question about bills. It holds the password.
    #[must_use]
    pub fn bills(&self, inquiries: &[BillInquiry]) -> Body {
        wrapped(&self.bill_head, inquiries, |inquiry, out| {
            write_json(
                out,
                &AccountPacket {
                    service_code: inquiry.service.as_str(),
                    msisdn: inquiry.msisdn.as_ref().map_or("", |number| number.as_str()),
                    account_number: &inquiry.account_number,
                    payer_transaction_id: inquiry.id.as_ref().map_or("", |id| id.as_str()),
                    extra_data: Nothing {},
                },
            );
        })
    }

    /// Writes the body of a question about an account: its form is not shown, so that of a bill's is taken.
    #[must_use]
    pub fn account(&self, service: &ServiceCode, account_number: &str) -> Body {
        wrapped(&self.account_head, &[account_number], |account, out| {
            write_json(
                out,
                &AccountPacket {
                    service_code: service.as_str(),
                    msisdn: "",
                    account_number: account,
                    payer_transaction_id: "",
                    extra_data: Nothing {},
                },
            );
        })
    }

    /// Writes the body of a question about a service's float. It holds the password.
    #[must_use]
    pub fn float(&self, service: &ServiceCode) -> Body {
        wrapped(
            &self.float_head,
            std::slice::from_ref(service),
            |service, out| {
                write_json(
                    out,
                    &FloatPacket {
                        service_code: service.as_str(),
                        narration: "",
                    },
                );
            },
        )
    }

    fn write_packet(&self, outgoing: &Outgoing, out: &mut Vec<u8>) {
        let payment = &*outgoing.payment;
        let row = &payment.instruction;
        let document = support_document(row, outgoing.support_document.as_deref());
        let (in_extra, in_packet) = match self.support_document_in {
            SupportDocumentIn::ExtraData => (document, None),
            SupportDocumentIn::Packet => (None, document),
        };
        let extra = Extra {
            callback_url: outgoing.callback_url.as_deref(),
            support_document: in_extra,
            row,
        };
        put(out, r#"{"serviceCode":"#);
        write_text(out, row.service.as_str());
        put(out, r#","MSISDN":"#);
        write_text(out, row.msisdn.as_str());
        put(out, r#","invoiceNumber":"#);
        write_text(out, &row.invoice_number);
        put(out, r#","accountNumber":"#);
        write_text(out, &row.account_number);
        put(out, r#","payerTransactionID":"#);
        write_text(out, payment.id.as_str());
        put(out, r#","amount":"#);
        write!(out, "{}", row.money).expect(TAKEN);
        put(out, r#","narration":"#);
        write_text(out, &row.narration);
        put(out, r#","datePaymentReceived":"#);
        if self.undated.contains(&row.service) {
            write_text(out, "");
        } else {
            write_text(out, &self.zone.format(payment.received_at));
        }
        put(out, r#","currencyCode":"#);
        write_text(out, row.money.currency.code());
        put(out, r#","countryCode":"#);
        write_text(out, row.country.code());
        put(out, r#","hubID":"#);
        write_text(out, &row.hub_id);
        put(out, r#","paymentMode":"#);
        write_text(out, &row.payment_mode);
        put(out, r#","customerNames":"#);
        write_text(out, &row.customer_names);
        if let Some(document) = in_packet {
            put(out, r#","supportDocument":"#);
            write_text(out, document);
        }
        put(out, r#","extraData":"#);
        match self.extra_data {
            ExtraDataForm::Object => extra.write(out),
            ExtraDataForm::String => {
                let mut object = Vec::with_capacity(EXTRA_ROOM);
                extra.write(&mut object);
                let object = str::from_utf8(&object).expect("members of an object are texts");
                write_text(out, object);
            }
        }
        out.push(b'}');
    }
}

/// Returns the reference of the supporting document: the row's own, else the one of its upload (section 4.5).
fn support_document<'a>(row: &'a Instruction, uploaded: Option<&'a str>) -> Option<&'a str> {
    row.extra
        .iter()
        .find(|(name, _)| name == SUPPORT_DOCUMENT)
        .map(|(_, value)| value.as_str())
        .or(uploaded)
}

/// The body of a request. What it holds of the password is wiped when it is dropped.
pub struct Body {
    bytes: Vec<u8>,
    /// Where the credentials end: nothing behind them is secret, and wiping is slow.
    head: usize,
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.bytes[..self.head].zeroize();
    }
}

fn wrapped<T>(head: &[u8], payments: &[T], write: impl Fn(&T, &mut Vec<u8>)) -> Body {
    let mut bytes = Vec::with_capacity(head.len() + payments.len() * PACKET_ROOM + TAIL.len());
    // The head is written last: a buffer that grows would leave copies of the password behind.
    bytes.resize(head.len(), 0);
    for (index, payment) in payments.iter().enumerate() {
        if index > 0 {
            bytes.push(b',');
        }
        write(payment, &mut bytes);
    }
    bytes.extend_from_slice(TAIL);
    bytes[..head.len()].copy_from_slice(head);
    Body {
        bytes,
        head: head.len(),
    }
}

fn head(function: &str, profile: &Profile) -> Zeroizing<Vec<u8>> {
    // An escaped character takes at most six bytes.
    let room = 6 * (profile.username.len() + profile.password.expose_secret().len()) + 256;
    let mut head = Zeroizing::new(Vec::with_capacity(room));
    write_json(
        &mut head,
        &Envelope {
            function,
            country_code: profile.country_code.code(),
            payload: Payload {
                credentials: Credentials {
                    username: &profile.username,
                    password: &profile.password,
                },
                packet: [],
            },
        },
    );
    let length = head.len() - TAIL.len();
    head.truncate(length);
    head
}

fn write_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(out, value)
        .expect("a Vec takes every byte, and the shapes have text for keys");
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    function: &'a str,
    country_code: &'a str,
    payload: Payload<'a>,
}

#[derive(Serialize)]
struct Payload<'a> {
    credentials: Credentials<'a>,
    packet: [(); 0],
}

#[derive(Serialize)]
struct Credentials<'a> {
    username: &'a str,
    #[serde(serialize_with = "exposed")]
    password: &'a SecretString,
}

fn exposed<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}

#[derive(Serialize)]
struct InquiryPacket<'a> {
    #[serde(rename = "payerTransactionID")]
    payer_transaction_id: &'a str,
    #[serde(rename = "gatewayTransactionID")]
    gateway_transaction_id: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AccountPacket<'a> {
    service_code: &'a str,
    #[serde(rename = "MSISDN")]
    msisdn: &'a str,
    account_number: &'a str,
    #[serde(rename = "payerTransactionID")]
    payer_transaction_id: &'a str,
    extra_data: Nothing,
}

#[derive(Serialize)]
struct Nothing {}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FloatPacket<'a> {
    service_code: &'a str,
    narration: &'a str,
}

struct Extra<'a> {
    callback_url: Option<&'a str>,
    support_document: Option<&'a str>,
    row: &'a Instruction,
}

impl Extra<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let member = |out: &mut Vec<u8>, name: &str, value: &str| {
            out.push(b',');
            write_text(out, name);
            out.push(b':');
            write_text(out, value);
        };
        put(out, r#"{"pushToOriginator":"#);
        put(
            out,
            if self.callback_url.is_some() {
                "true"
            } else {
                "false"
            },
        );
        if let Some(url) = self.callback_url {
            member(out, "callbackUrl", url);
        }
        if let Some(document) = self.support_document {
            member(out, SUPPORT_DOCUMENT, document);
        }
        for (name, value) in self.row.extra_members() {
            if !OWN_EXTRAS.contains(&name) && name != SUPPORT_DOCUMENT {
                member(out, name, value);
            }
        }
        out.push(b'}');
    }
}

fn put(out: &mut Vec<u8>, json: &str) {
    out.extend_from_slice(json.as_bytes());
}

/// Writes a text with its quotes.
fn write_text(out: &mut Vec<u8>, text: &str) {
    // Almost no text needs care, and looking at it once is cheaper than writing it with care.
    let plain = text.bytes().fold(true, |plain, byte| {
        plain & (byte >= b' ') & (byte != b'"') & (byte != b'\\')
    });
    if plain {
        out.push(b'"');
        put(out, text);
        out.push(b'"');
    } else {
        write_json(out, text);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_is_written_as_the_serializer_writes_it(text in "\\PC*|[\\x00-\\x7f]*|[\"\\\\ü ]*") {
            let mut written = Vec::new();
            write_text(&mut written, &text);
            prop_assert_eq!(written, serde_json::to_vec(&text).unwrap());
        }
    }

    #[test]
    fn a_body_is_wiped_as_far_as_it_is_secret() {
        let body = wrapped(
            b"{\"password\":\"hunter2\",\"packet\":[",
            &["1", "2"],
            |packet, out| {
                put(out, packet);
            },
        );
        assert_eq!(
            body.as_ref(),
            b"{\"password\":\"hunter2\",\"packet\":[1,2]}}"
        );
        assert_eq!(&body.as_ref()[body.head..], b"1,2]}}");
    }
}
