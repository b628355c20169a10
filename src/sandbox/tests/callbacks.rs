//! Callbacks, sound and faulty.

use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::domain::Timestamp;

/// A clock on which an hour passes between two looks: a repeated callback must not show it.
fn ticking() -> Timestamp {
    static HOURS: AtomicI64 = AtomicI64::new(0);
    Timestamp::from_millis(HOURS.fetch_add(1, Ordering::Relaxed) * 3_600_000)
}

#[tokio::test]
async fn a_settled_payment_is_told_to_the_listener() {
    let bench = Bench::start(quick()).await;
    let listener = Listener::start(&[]).await;
    let reply = bench.post(&packet_to("P", &listener)).await.unwrap();
    let call = listener.hears(1).await.remove(0);
    assert_eq!(call["function"], "GATEWAY.pushPaymentStatus");
    let told = &call["payload"]["packet"];
    assert_eq!(told["statusCode"], 140);
    assert_eq!(told["payerTransactionID"], "P");
    assert_eq!(told["msisdn"], "254712345678");
    assert_eq!(told["serviceCode"], "B2C_MPESA");
    let gateway_id = &reply.json()["results"][0]["gatewayTransactionID"];
    assert_eq!(&told["gatewayTransactionID"], gateway_id);
    let status = bench.query("P").await.json();
    assert_eq!(told["receiptNumber"], status["results"][0]["receiptNumber"]);
    assert!(call["payload"].get("credentials").is_some());
}

#[tokio::test]
async fn a_callback_is_sent_again_until_it_is_answered_with_200() {
    let options = Options {
        clock: ticking,
        ..quick()
    };
    let bench = Bench::start(options).await;
    let listener = Listener::start(&[503, 202, 302]).await;
    bench.post(&packet_to("P", &listener)).await.unwrap();
    let heard = listener.hears(4).await;
    assert!(heard.iter().all(|call| call == &heard[0]));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(listener.heard().len(), 4);
}

#[tokio::test]
async fn a_callback_is_given_up_after_so_many_times() {
    let options = Options {
        callback_attempts_max: 3,
        ..quick()
    };
    let bench = Bench::start(options).await;
    let listener = Listener::start(&[503; 50]).await;
    bench.post(&packet_to("P", &listener)).await.unwrap();
    listener.hears(3).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(listener.heard().len(), 3);
}

#[tokio::test]
async fn nothing_is_sent_unless_it_is_asked_for_or_to_another_machine() {
    let bench = Bench::start(quick()).await;
    let listener = Listener::start(&[]).await;
    let url = &listener.url;
    for (index, extra) in [
        json!({"callbackUrl": url}),
        json!({"pushToOriginator": false, "callbackUrl": url}),
        json!({"pushToOriginator": true}),
        json!({"pushToOriginator": true, "callbackUrl": "https://pay.example/callbacks"}),
        json!({"pushToOriginator": true, "callbackUrl": "http://192.0.2.1/callbacks"}),
        json!({"pushToOriginator": true, "callbackUrl": url.replace("http", "https")}),
    ]
    .iter()
    .enumerate()
    {
        let id = format!("P{index}");
        let packet = packet_with(&id, "1500.50", &extra.to_string());
        assert_eq!(bench.post(&packet).await.unwrap().code(), 139);
        assert_eq!(bench.settled(&id).await.code(), 140);
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(listener.heard().len(), 0);
}

#[tokio::test]
async fn extra_data_may_be_an_escaped_string() {
    let bench = Bench::start(quick()).await;
    let listener = Listener::start(&[]).await;
    let extra = json!({"pushToOriginator": true, "callbackUrl": listener.url}).to_string();
    let packet = packet_with("P", "1500.50", &json!(extra).to_string());
    bench.post(&packet).await.unwrap();
    listener.hears(1).await;
}

#[tokio::test]
async fn a_rejected_payment_is_told_with_141_and_without_a_receipt() {
    let bench = Bench::start(always(Fault::Reject)).await;
    let listener = Listener::start(&[]).await;
    bench.post(&packet_to("P", &listener)).await.unwrap();
    let told = listener.hears(1).await.remove(0)["payload"]["packet"].clone();
    assert_eq!(told["statusCode"], 141);
    assert_eq!(told["receiptNumber"], r#"[""]"#);
}

#[tokio::test]
async fn a_lost_callback_never_comes() {
    let bench = Bench::start(always(Fault::CallbackLost)).await;
    let listener = Listener::start(&[]).await;
    bench.post(&packet_to("P", &listener)).await.unwrap();
    assert_eq!(bench.settled("P").await.code(), 140);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(listener.heard().len(), 0);
}

#[tokio::test]
async fn a_doubled_callback_comes_twice_although_it_was_acknowledged() {
    let options = Options {
        clock: ticking,
        ..always(Fault::CallbackDoubled)
    };
    let bench = Bench::start(options).await;
    let listener = Listener::start(&[]).await;
    bench.post(&packet_to("P", &listener)).await.unwrap();
    let heard = listener.hears(2).await;
    assert_eq!(heard[0], heard[1]);
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert_eq!(listener.heard().len(), 2);
    assert_eq!(bench.executions("P"), 1);
}

#[tokio::test]
async fn an_early_callback_overtakes_the_reply() {
    let bench = Bench::start(always(Fault::CallbackEarly)).await;
    let listener = Listener::start(&[]).await;
    let reply = bench.post(&packet_to("P", &listener)).await.unwrap();
    assert_eq!(listener.heard().len(), 1);
    assert_eq!(reply.code(), 139);
    assert_eq!(bench.query("P").await.code(), 140);
}

#[tokio::test]
async fn a_late_callback_comes_well_after_settlement() {
    let mut options = always(Fault::CallbackLate);
    options.faults.callback_late_ms = 400..=500;
    let bench = Bench::start(options).await;
    let listener = Listener::start(&[]).await;
    bench.post(&packet_to("P", &listener)).await.unwrap();
    assert_eq!(bench.settled("P").await.code(), 140);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(listener.heard().len(), 0);
    listener.hears(1).await;
}
