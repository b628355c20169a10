//! Made-up payments and profiles.

use std::sync::Arc;
use std::time::Duration;

use disburse::domain::{
    Amount, Country, Currency, Instruction, Money, Msisdn, PayerTransactionId, Payment,
    ServiceCode, Timestamp, WireZone,
};
use disburse::gateway::{HttpGateway, Inquiry, Outgoing, Profile};
use reqwest::Url;
use secrecy::SecretString;

pub const A: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAA";
pub const B: &str = "BBBBBBBBBBBBBBBBBBBBBBBBBB";
pub const C: &str = "CCCCCCCCCCCCCCCCCCCCCCCCCC";
pub const PASSWORD: &str = "pa\"ss\\word";

pub fn id(text: &str) -> PayerTransactionId {
    PayerTransactionId::parse(text).unwrap()
}

pub fn profile(base_url: &str) -> Profile {
    Profile {
        connect_timeout: Duration::from_millis(400),
        request_timeout: Duration::from_secs(5),
        ..Profile::new(
            Url::parse(base_url).unwrap(),
            "acme".into(),
            SecretString::from(PASSWORD),
            Country::from_code("KE").unwrap(),
            WireZone::from_name("Africa/Nairobi").unwrap(),
        )
    }
}

pub fn gateway(base_url: &str) -> HttpGateway {
    HttpGateway::new(profile(base_url)).unwrap()
}

/// A payment of `minor` units to a mobile wallet, every optional text empty.
pub fn payment(
    id_text: &str,
    (currency, minor): (&str, i64),
    (country, msisdn): (&str, &str),
) -> Payment {
    Payment {
        id: id(id_text),
        generation: 0,
        received_at: Timestamp::from_millis(1_795_824_000_000),
        instruction: Instruction {
            line: 2,
            reference: None,
            service: ServiceCode::parse("B2C").unwrap(),
            msisdn: Msisdn::from_digits(msisdn).unwrap(),
            account_number: msisdn.into(),
            money: Money {
                amount: Amount::from_minor(minor).unwrap(),
                currency: Currency::from_code(currency).unwrap(),
            },
            country: Country::from_code(country).unwrap(),
            narration: "".into(),
            customer_names: "".into(),
            invoice_number: "".into(),
            payment_mode: "".into(),
            hub_id: "".into(),
            extra: Vec::new(),
            document: None,
        },
    }
}

pub fn kenyan(id_text: &str) -> Payment {
    payment(id_text, ("KES", 150_000), ("KE", "254700000001"))
}

pub fn outgoing(payment: Payment, callback_url: Option<&str>) -> Outgoing {
    Outgoing {
        payment: Arc::new(payment),
        support_document: None,
        callback_url: callback_url.map(str::to_owned),
    }
}

/// The same, with the reference of its uploaded document.
pub fn supported(outgoing: Outgoing, reference: &str) -> Outgoing {
    Outgoing {
        support_document: Some(reference.to_owned()),
        ..outgoing
    }
}

/// One payment to post.
pub fn one(id_text: &str) -> Vec<Outgoing> {
    vec![outgoing(kenyan(id_text), None)]
}

/// One payment to ask about.
pub fn about(id_text: &str) -> Vec<Inquiry> {
    vec![Inquiry {
        id: id(id_text),
        gateway_transaction_id: None,
        country: None,
    }]
}

/// The gateway's acknowledgement of a post.
pub fn acknowledgement(id_text: &str) -> String {
    format!(
        r#"{{"authStatus":{{"authStatusCode":131}},"results":[{{"statusCode":139,"payerTransactionID":"{id_text}"}}]}}"#
    )
}
