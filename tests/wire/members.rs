//! Members that not every post carries, or not every row brings (section 2.3).

use std::sync::Arc;

use disburse::domain::{Instruction, Money, ServiceCode};
use disburse::gateway::{Gateway, HttpGateway};

use crate::payments::{A, one, profile};
use crate::{acknowledging, body_of, soon};

#[tokio::test]
async fn a_service_without_dates_posts_an_empty_one_and_the_others_their_own() {
    let service = one(A)[0].payment.instruction.service.clone();
    let other = ServiceCode::parse("AIRTIME").unwrap();
    for (undated, empty) in [(service, true), (other, false)] {
        let server = acknowledging();
        let mut profile = profile(&server.url());
        profile.undated.insert(undated);
        let gateway = HttpGateway::new(profile).unwrap();
        soon(gateway.post(&one(A))).await;
        let body: serde_json::Value = serde_json::from_str(&body_of(&server)).unwrap();
        let date = body["payload"]["packet"][0]["datePaymentReceived"]
            .as_str()
            .unwrap();
        assert_eq!(date.is_empty(), empty, "{date}");
    }
}

#[tokio::test]
async fn a_member_that_does_not_come_from_the_row_is_sent_by_its_name() {
    let server = acknowledging();
    let mut outgoing = one(A);
    let mut payment = (*outgoing[0].payment).clone();
    payment.instruction.extra = vec![
        ("destinationBankCode".into(), "01".into()),
        (
            Instruction::<Money>::supplied("destinationBankName"),
            "Mlima Bank".into(),
        ),
    ];
    outgoing[0].payment = Arc::new(payment);
    let gateway = HttpGateway::new(profile(&server.url())).unwrap();
    soon(gateway.post(&outgoing)).await;
    let body = body_of(&server);
    assert!(
        body.contains(r#""destinationBankCode":"01","destinationBankName":"Mlima Bank"}"#),
        "{body}"
    );
}
