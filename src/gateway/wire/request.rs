//! Requests (section 2.3): the order of the members and the digits of the amount are exact.

use std::collections::BTreeSet;

use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::{
    POST_PAYMENT, QUERY_BILL, QUERY_FLOAT_BALANCE, QUERY_PAYMENT_STATUS, VALIDATE_ACCOUNT,
};
use crate::domain::{Instruction, ServiceCode, WireZone};
use crate::gateway::{BillInquiry, ExtraDataForm, Inquiry, Outgoing, Profile, SupportDocumentIn};

/// Members of `extraData` that we write ourselves; a row cannot set them.
const OWN_EXTRAS: [&str; 2] = ["pushToOriginator", "callbackUrl"];
const SUPPORT_DOCUMENT: &str = "supportDocument";
const TAIL: &[u8] = b"]}}";

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

    /// Writes the body of a post. It holds the password, and is wiped when dropped.
    #[must_use]
    pub fn post(&self, payments: &[Outgoing]) -> Zeroizing<Vec<u8>> {
        wrapped(&self.post_head, payments, |outgoing, out| {
            self.write_packet(outgoing, out);
        })
    }

    /// Writes the body of a status query. It holds the password, and is wiped when dropped.
    #[must_use]
    pub fn query(&self, payments: &[Inquiry]) -> Zeroizing<Vec<u8>> {
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

    /// Writes the body of a question about bills. It holds the password, and is wiped when dropped.
    #[must_use]
    pub fn bills(&self, inquiries: &[BillInquiry]) -> Zeroizing<Vec<u8>> {
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
    pub fn account(&self, service: &ServiceCode, account_number: &str) -> Zeroizing<Vec<u8>> {
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

    /// Writes the body of a question about a service's float. It holds the password, and is wiped when dropped.
    #[must_use]
    pub fn float(&self, service: &ServiceCode) -> Zeroizing<Vec<u8>> {
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
        let received_at = if self.undated.contains(&row.service) {
            String::new()
        } else {
            self.zone.format(payment.received_at)
        };
        write_json(
            out,
            &PostPacket {
                service_code: row.service.as_str(),
                msisdn: row.msisdn.as_str(),
                invoice_number: &row.invoice_number,
                account_number: &row.account_number,
                payer_transaction_id: payment.id.as_str(),
                amount: RawValue::from_string(row.money.to_string())
                    .expect("decimal digits are a JSON number"),
                narration: &row.narration,
                date_payment_received: &received_at,
                currency_code: row.money.currency.code(),
                country_code: row.country.code(),
                hub_id: &row.hub_id,
                payment_mode: &row.payment_mode,
                customer_names: &row.customer_names,
                support_document: in_packet,
                extra_data: match self.extra_data {
                    ExtraDataForm::Object => ExtraData::Object(extra),
                    ExtraDataForm::String => ExtraData::String(extra),
                },
            },
        );
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

fn wrapped<T>(head: &[u8], payments: &[T], write: impl Fn(&T, &mut Vec<u8>)) -> Zeroizing<Vec<u8>> {
    let mut packets = Vec::with_capacity(payments.len() * 768);
    for (index, payment) in payments.iter().enumerate() {
        if index > 0 {
            packets.push(b',');
        }
        write(payment, &mut packets);
    }
    // The exact size from the start: a buffer that grows leaves copies of the password behind.
    let mut body = Zeroizing::new(Vec::with_capacity(head.len() + packets.len() + TAIL.len()));
    body.extend_from_slice(head);
    body.extend_from_slice(&packets);
    body.extend_from_slice(TAIL);
    body
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

fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
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
#[serde(rename_all = "camelCase")]
struct PostPacket<'a> {
    service_code: &'a str,
    #[serde(rename = "MSISDN")]
    msisdn: &'a str,
    invoice_number: &'a str,
    account_number: &'a str,
    #[serde(rename = "payerTransactionID")]
    payer_transaction_id: &'a str,
    amount: Box<RawValue>,
    narration: &'a str,
    date_payment_received: &'a str,
    currency_code: &'a str,
    country_code: &'a str,
    #[serde(rename = "hubID")]
    hub_id: &'a str,
    payment_mode: &'a str,
    customer_names: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    support_document: Option<&'a str>,
    extra_data: ExtraData<'a>,
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

enum ExtraData<'a> {
    Object(Extra<'a>),
    String(Extra<'a>),
}

impl Serialize for ExtraData<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Object(extra) => extra.serialize(serializer),
            Self::String(extra) => {
                let text = serde_json::to_string(extra).map_err(serde::ser::Error::custom)?;
                serializer.serialize_str(&text)
            }
        }
    }
}

struct Extra<'a> {
    callback_url: Option<&'a str>,
    support_document: Option<&'a str>,
    row: &'a Instruction,
}

impl Serialize for Extra<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("pushToOriginator", &self.callback_url.is_some())?;
        if let Some(url) = self.callback_url {
            map.serialize_entry("callbackUrl", url)?;
        }
        if let Some(document) = self.support_document {
            map.serialize_entry(SUPPORT_DOCUMENT, document)?;
        }
        for (name, value) in self.row.extra_members() {
            if !OWN_EXTRAS.contains(&name) && name != SUPPORT_DOCUMENT {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}
