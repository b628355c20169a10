//! Requests (section 2.3): the order of the members and the digits of the amount are exact.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use secrecy::ExposeSecret;
use secrecy::zeroize::{Zeroize as _, Zeroizing};
use serde::Serialize;

use super::amount::write_amount;
use crate::dialect::{Dialect, EmptyExtra, ExtraType, Names, Operation};
use crate::domain::{Country, Instruction, SUPPORT_DOCUMENT, ServiceCode, WireZone};
use crate::gateway::operations::BillInquiry;
use crate::gateway::port::{Inquiry, Outgoing};
use crate::gateway::profile::{ExtraDataForm, Profile, SupportDocumentIn};

/// Members of `extraData` that we write ourselves; a row cannot set them.
const OWN_EXTRAS: [&str; 2] = ["pushToOriginator", "callbackUrl"];
const TAIL: &[u8] = b"]}}";
/// Nearly every packet finds room in this many bytes.
const PACKET_ROOM: usize = 768;
/// Nearly every `extraData` finds room in this many bytes.
const EXTRA_ROOM: usize = 256;

/// Writes requests. What is equal in all of them, the credentials included, is prepared once.
pub struct Requests {
    post: Head,
    query: Head,
    bill: Head,
    float: Head,
    account: Head,
    labels: Labels,
    dialect: Arc<Dialect>,
    country: Country,
    zone: WireZone,
    extra_data: ExtraDataForm,
    support_document_in: SupportDocumentIn,
    undated: BTreeSet<ServiceCode>,
}

impl Requests {
    /// Prepares requests for one deployment.
    #[must_use]
    pub fn new(profile: &Profile) -> Self {
        let dialect = &profile.dialect;
        let head = |operation| Head::new(operation, profile);
        Self {
            post: head(Operation::Post),
            query: head(Operation::Status),
            bill: head(Operation::Bill),
            float: head(Operation::Float),
            account: head(Operation::Account),
            labels: Labels::new(&dialect.names),
            country: profile.country_code,
            zone: profile.zone.clone(),
            extra_data: match dialect.extra_data_as_text {
                Some(true) => ExtraDataForm::String,
                Some(false) => ExtraDataForm::Object,
                None => profile.extra_data,
            },
            support_document_in: profile.support_document_in,
            undated: profile.undated.clone(),
            dialect: Arc::clone(dialect),
        }
    }

    /// Writes the body of a post. It holds the password. The payments are all of one country where the envelope names theirs.
    #[must_use]
    pub fn post(&self, payments: &[Outgoing]) -> Body {
        let country = payments
            .first()
            .map(|outgoing| outgoing.payment.instruction.country);
        self.wrapped(&self.post, country, payments, |outgoing, out| {
            self.write_packet(outgoing, out);
        })
    }

    /// Writes the body of a status query. It holds the password. The payments are all of one country where the envelope names
    /// theirs.
    #[must_use]
    pub fn query(&self, payments: &[Inquiry]) -> Body {
        let country = payments.first().and_then(|inquiry| inquiry.country);
        let labels = &self.labels;
        self.wrapped(&self.query, country, payments, |inquiry, out| {
            let gateway_id = inquiry.gateway_transaction_id.as_ref();
            first(out, &labels.payer_transaction_id);
            write_text(out, inquiry.id.as_str());
            put(out, &labels.gateway_transaction_id);
            write_text(out, gateway_id.map_or("", |id| id.as_str()));
            out.push(b'}');
        })
    }

    /// Writes the body of a question about bills. It holds the password.
    #[must_use]
    pub fn bills(&self, inquiries: &[BillInquiry]) -> Body {
        let country = inquiries.first().and_then(|inquiry| inquiry.country);
        self.wrapped(&self.bill, country, inquiries, |inquiry, out| {
            let number = inquiry.msisdn.as_ref().map_or("", |number| number.as_str());
            let id = inquiry.id.as_ref().map_or("", |id| id.as_str());
            self.write_account(out, &inquiry.service, number, &inquiry.account_number, id);
        })
    }

    /// Writes the body of a question about an account: its form is not shown, so that of a bill's is taken.
    #[must_use]
    pub fn account(&self, service: &ServiceCode, account_number: &str) -> Body {
        self.wrapped(&self.account, None, &[account_number], |account, out| {
            self.write_account(out, service, "", account, "");
        })
    }

    /// Writes the body of a question about a service's float. It holds the password.
    #[must_use]
    pub fn float(&self, service: &ServiceCode) -> Body {
        let labels = &self.labels;
        let services = std::slice::from_ref(service);
        self.wrapped(&self.float, None, services, |service, out| {
            first(out, &labels.service_code);
            write_text(out, service.as_str());
            put(out, &labels.narration);
            write_text(out, "");
            out.push(b'}');
        })
    }

    fn write_account(
        &self,
        out: &mut Vec<u8>,
        service: &ServiceCode,
        msisdn: &str,
        account_number: &str,
        id: &str,
    ) {
        let labels = &self.labels;
        first(out, &labels.service_code);
        write_text(out, service.as_str());
        put(out, &labels.msisdn);
        write_text(out, msisdn);
        put(out, &labels.account_number);
        write_text(out, account_number);
        put(out, &labels.payer_transaction_id);
        write_text(out, id);
        match self.dialect.empty_extra {
            EmptyExtra::Object => {
                put(out, &labels.extra_data);
                put(out, b"{}");
            }
            EmptyExtra::EmptyText => {
                put(out, &labels.extra_data);
                write_text(out, "");
            }
            EmptyExtra::Omitted => {}
        }
        out.push(b'}');
    }

    fn write_packet(&self, outgoing: &Outgoing, out: &mut Vec<u8>) {
        let payment = &*outgoing.payment;
        let row = &payment.instruction;
        let document = support_document(row, outgoing.support_document.as_deref());
        let (in_extra, in_packet) = match self.support_document_in {
            SupportDocumentIn::ExtraData => (document, None),
            SupportDocumentIn::Packet => (None, document),
        };
        let labels = &self.labels;
        first(out, &labels.service_code);
        write_text(out, row.service.as_str());
        put(out, &labels.msisdn);
        write_text(out, row.msisdn.as_str());
        let member = |out: &mut Vec<u8>, ours: &str, label: &[u8], value: &str| {
            if self.dialect.writes(ours) {
                put(out, label);
                write_text(out, value);
            }
        };
        member(
            out,
            "invoiceNumber",
            &labels.invoice_number,
            &row.invoice_number,
        );
        put(out, &labels.account_number);
        write_text(out, &row.account_number);
        put(out, &labels.payer_transaction_id);
        write_text(out, payment.id.as_str());
        put(out, &labels.amount);
        write_amount(out, row.money, &row.service, &self.dialect);
        put(out, &labels.narration);
        write_text(out, &row.narration);
        if self.dialect.writes("datePaymentReceived") {
            put(out, &labels.date_payment_received);
            match row.date_received() {
                Some(date) => write_text(out, date),
                None if self.undated.contains(&row.service) => write_text(out, ""),
                None => write_text(out, &self.zone.format(payment.received_at)),
            }
        }
        put(out, &labels.currency_code);
        write_text(out, row.money.currency.code());
        member(out, "countryCode", &labels.country_code, row.country.code());
        member(out, "hubID", &labels.hub_id, &row.hub_id);
        member(out, "paymentMode", &labels.payment_mode, &row.payment_mode);
        let names = &labels.customer_names;
        member(out, "customerNames", names, &row.customer_names);
        if let Some(document) = in_packet {
            put(out, &labels.support_document);
            write_text(out, document);
        }
        let before = out.len();
        put(out, &labels.extra_data);
        let callback_url = outgoing.callback_url.as_deref();
        let is_empty = match self.extra_data {
            ExtraDataForm::Object => self.write_extra(out, row, callback_url, in_extra),
            ExtraDataForm::String => {
                let mut object = Vec::with_capacity(EXTRA_ROOM);
                let is_empty = self.write_extra(&mut object, row, callback_url, in_extra);
                let object = str::from_utf8(&object).expect("members of an object are texts");
                write_text(out, object);
                is_empty
            }
        };
        if is_empty && !self.dialect.writes("extraData") {
            out.truncate(before);
        }
        out.push(b'}');
    }

    /// Writes `extraData`; returns whether it holds nothing.
    fn write_extra(
        &self,
        out: &mut Vec<u8>,
        row: &Instruction,
        callback_url: Option<&str>,
        support_document: Option<&str>,
    ) -> bool {
        let labels = &self.labels;
        let start = out.len();
        out.push(b'{');
        if self.dialect.writes("pushToOriginator") {
            put(out, &labels.push_to_originator);
            let pushes: &[u8] = match callback_url {
                Some(_) => b"true",
                None => b"false",
            };
            put(out, pushes);
        }
        if let Some(url) = callback_url
            && self.dialect.writes("callbackUrl")
        {
            put(out, &labels.callback_url);
            write_text(out, url);
        }
        if let Some(document) = support_document {
            put(out, &labels.support_document);
            write_text(out, document);
        }
        for (name, value) in row.extra_members() {
            let is_left_out = BANK_EXTRAS.contains(&name) && !self.dialect.writes(name);
            if OWN_EXTRAS.contains(&name) || name == SUPPORT_DOCUMENT || is_left_out {
                continue;
            }
            out.push(b',');
            let theirs = match BANK_EXTRAS.contains(&name) {
                true => self.dialect.names.theirs(name),
                false => name,
            };
            write_text(out, theirs);
            out.push(b':');
            write_typed(out, self.dialect.extra_types.get(name), value);
        }
        // Every member begins with a comma.
        if out.get(start + 1) == Some(&b',') {
            out.remove(start + 1);
        }
        out.push(b'}');
        out.len() == start + 2
    }

    /// Writes a request: the head, the packets, the tail. `country` is that of the payments, where they have one.
    fn wrapped<T>(
        &self,
        head: &Head,
        country: Option<Country>,
        payments: &[T],
        write: impl Fn(&T, &mut Vec<u8>),
    ) -> Body {
        let country = match self.dialect.country_of_row {
            true => country.unwrap_or(self.country),
            false => self.country,
        };
        wrapped(head, country, payments, write)
    }
}

/// The members of `extraData` that the bank columns become (section 2.3).
const BANK_EXTRAS: [&str; 4] = [
    "destinationBankCode",
    "destinationBankName",
    "destinationAccountName",
    "destinationAccountNo",
];

/// Writes a value below `extraData` as what the dialect says it is. The load has checked that it is that; what is not is
/// written as a text, so that the request is JSON whatever a batch holds that was loaded under another dialect.
fn write_typed(out: &mut Vec<u8>, of: Option<&ExtraType>, value: &str) {
    match of {
        Some(of) if of.allows(value) => put(out, value.trim().as_bytes()),
        _ => write_text(out, value),
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

macro_rules! labels {
    ($($field:ident = $ours:literal,)*) => {
        /// The members of packets as they begin: a comma, the name and a colon.
        struct Labels {
            $($field: Box<[u8]>,)*
        }

        impl Labels {
            fn new(names: &Names) -> Self {
                Self { $($field: label(names, $ours),)* }
            }
        }
    };
}

labels! {
    service_code = "serviceCode",
    msisdn = "MSISDN",
    invoice_number = "invoiceNumber",
    account_number = "accountNumber",
    payer_transaction_id = "payerTransactionID",
    gateway_transaction_id = "gatewayTransactionID",
    amount = "amount",
    narration = "narration",
    date_payment_received = "datePaymentReceived",
    currency_code = "currencyCode",
    country_code = "countryCode",
    hub_id = "hubID",
    payment_mode = "paymentMode",
    customer_names = "customerNames",
    support_document = "supportDocument",
    extra_data = "extraData",
    push_to_originator = "pushToOriginator",
    callback_url = "callbackUrl",
}

fn label(names: &Names, ours: &str) -> Box<[u8]> {
    let mut label = vec![b','];
    write_text(&mut label, names.theirs(ours));
    label.push(b':');
    label.into()
}

/// Begins an object with its first member.
fn first(out: &mut Vec<u8>, label: &[u8]) {
    out.push(b'{');
    put(out, &label[1..]);
}

/// The body of a request. What it holds of the password is wiped when it is dropped.
pub struct Body {
    bytes: Vec<u8>,
    /// Where the credentials end: nothing behind them is secret, and wiping is slow.
    head: usize,
    /// What it asks for.
    operation: Operation,
}

impl Body {
    /// Returns what the request asks for.
    #[must_use]
    pub fn operation(&self) -> Operation {
        self.operation
    }
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

/// What a request of one operation begins with, around the country of its envelope.
struct Head {
    operation: Operation,
    before: Box<[u8]>,
    after: Zeroizing<Vec<u8>>,
}

impl Head {
    fn new(operation: Operation, profile: &Profile) -> Self {
        let dialect = &profile.dialect;
        let call = dialect.call(operation);
        let name = |ours| dialect.names.theirs(ours);
        let mut before = vec![b'{'];
        if let Some(function) = &call.function {
            write_text(&mut before, name("function"));
            before.push(b':');
            write_text(&mut before, function);
            before.push(b',');
        }
        write_text(&mut before, name("countryCode"));
        before.push(b':');
        // An escaped character takes at most six bytes. A buffer that grows would leave copies of the password behind.
        let room = 6 * (profile.username.len() + profile.password.expose_secret().len()) + 1_024;
        let mut after = Zeroizing::new(Vec::with_capacity(room));
        let out = &mut *after;
        let open = |out: &mut Vec<u8>, before: &[u8], ours| {
            put(out, before);
            write_text(out, name(ours));
            out.push(b':');
        };
        open(out, b",", "payload");
        let mut opening: &[u8] = b"{";
        if call.authentication.is_none_or(|auth| auth.body) {
            open(out, opening, "credentials");
            open(out, b"{", "username");
            write_text(out, &profile.username);
            open(out, b",", "password");
            write_text(out, profile.password.expose_secret());
            opening = b"},";
        }
        open(out, opening, "packet");
        out.push(b'[');
        Self {
            operation,
            before: before.into(),
            after,
        }
    }

    /// Returns the length of the head: a country takes four bytes.
    fn len(&self, country: Country) -> usize {
        self.before.len() + country.code().len() + 2 + self.after.len()
    }

    fn write(&self, country: Country, out: &mut [u8]) {
        let (before, rest) = out.split_at_mut(self.before.len());
        before.copy_from_slice(&self.before);
        let (quoted, after) = rest.split_at_mut(country.code().len() + 2);
        quoted.fill(b'"');
        quoted[1..=country.code().len()].copy_from_slice(country.code().as_bytes());
        after.copy_from_slice(&self.after);
    }
}

fn wrapped<T>(
    head: &Head,
    country: Country,
    payments: &[T],
    write: impl Fn(&T, &mut Vec<u8>),
) -> Body {
    let length = head.len(country);
    let mut bytes = Vec::with_capacity(length + payments.len() * PACKET_ROOM + TAIL.len());
    // The head is written last: a buffer that grows would leave copies of the password behind.
    bytes.resize(length, 0);
    for (index, payment) in payments.iter().enumerate() {
        if index > 0 {
            bytes.push(b',');
        }
        write(payment, &mut bytes);
    }
    bytes.extend_from_slice(TAIL);
    head.write(country, &mut bytes[..length]);
    Body {
        bytes,
        head: length,
        operation: head.operation,
    }
}

fn write_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(out, value)
        .expect("a Vec takes every byte, and the shapes have text for keys");
}

fn put(out: &mut Vec<u8>, json: &[u8]) {
    out.extend_from_slice(json);
}

/// Writes a text with its quotes.
pub(super) fn write_text(out: &mut Vec<u8>, text: &str) {
    // Almost no text needs care, and looking at it once is cheaper than writing it with care.
    let plain = text.bytes().fold(true, |plain, byte| {
        plain & (byte >= b' ') & (byte != b'"') & (byte != b'\\')
    });
    if plain {
        out.push(b'"');
        put(out, text.as_bytes());
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
        let head = Head {
            operation: Operation::Post,
            before: b"{\"countryCode\":".to_vec().into(),
            after: Zeroizing::new(b",\"password\":\"hunter2\",\"packet\":[".to_vec()),
        };
        let kenya = Country::from_code("KE").unwrap();
        let body = wrapped(&head, kenya, &["1", "2"], |packet, out| {
            put(out, packet.as_bytes());
        });
        assert_eq!(
            body.as_ref(),
            b"{\"countryCode\":\"KE\",\"password\":\"hunter2\",\"packet\":[1,2]}}"
        );
        assert_eq!(&body.as_ref()[body.head..], b"1,2]}}");
    }
}
