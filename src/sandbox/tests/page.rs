//! The page for a person.

use super::*;

async fn page(bench: &Bench) -> String {
    let reply = bench.request("GET", "/", "").await;
    assert_eq!(reply.status, 200);
    reply.text
}

#[tokio::test]
async fn an_empty_sandbox_has_a_page() {
    let bench = Bench::start(quick()).await;
    let page = page(&bench).await;
    for part in [
        "None so far.",
        "None is waiting for settlement.",
        "None planned: everything goes well.",
        r#"href="/openapi.yaml""#,
        r#"href="/sandbox/ledger""#,
        "ELECTRICITY",
        "bill_prepaid",
        "inactive",
        "KES 5,000,000,000,000.00",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("http://") && !page.contains("https://"));
    // One script, ours: what the policy in the header lets in.
    assert_eq!(page.matches("<script").count(), 1);
    assert!(page.contains(&format!("<script>{}</script>", crate::page::SCRIPT)));
}

#[tokio::test]
async fn the_page_is_held_to_its_own_style_and_script() {
    let bench = Bench::start(quick()).await;
    let reply = reqwest::get(bench.sandbox.base_url()).await.unwrap();
    for (name, value) in crate::page::HEADERS.iter() {
        assert_eq!(reply.headers()[*name].to_str().unwrap(), value, "{name}");
    }
}

#[tokio::test]
async fn the_page_shows_what_happened_and_no_number_whole() {
    let faults = Faults::none().with(Fault::CallbackDoubled, 1.0);
    let mut options = quick_with(faults);
    options.rtgs_delay_ms = 60_000..=60_000;
    let bench = Bench::start(options).await;
    let listener = Listener::start(&[]).await;
    bench.post(&packet_to("<b>&P", &listener)).await.unwrap();
    listener.hears(2).await;
    let meter = json!({"accountNumber": "14001234567"});
    bench
        .post(&packet_of("ELECTRICITY", "E", meter))
        .await
        .unwrap();
    let status = bench.settled("E").await.json();
    let narration = status["results"][0]["receiverNarration"]
        .as_str()
        .unwrap()
        .to_owned();
    let token = narration
        .split('"')
        .nth(1)
        .unwrap()
        .strip_prefix("Token: ")
        .unwrap();
    let bad_meter = json!({"accountNumber": "999"});
    bench
        .post(&packet_of("ELECTRICITY", "M", bad_meter))
        .await
        .unwrap();
    bench.settled("M").await;
    bench.upload("R", &pdf()).await;
    let transfer = json!({"amount": "5000.00", "extraData": bank()});
    let reply = bench.post(&packet_of("RTGS", "R", transfer)).await.unwrap();
    let application = reply.json()["results"][0]["receiptNumber"]
        .as_str()
        .unwrap()
        .to_owned();

    let page = page(&bench).await;
    let last_group = token.rsplit(' ').next().unwrap();
    for part in [
        "&#60;b&#62;&#38;P",
        "…5678",
        &format!("Token …{last_group}"),
        "Meter not found",
        application.as_str(),
        "DOC-",
        "KES 1,500.50",
        "KES 5,000.00",
        "invoice.pdf",
        "callback_doubled",
        "100.0 %",
        "delivered (148)",
        "failed (180)",
        "paid (140)",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    for hidden in [
        "254712345678",
        "14001234567",
        token,
        "<b>&P",
        "secret",
        "acme",
    ] {
        assert!(!page.contains(hidden), "{hidden}");
    }
    let doubled = page.split("callback_doubled").nth(1).unwrap();
    assert!(
        doubled.contains(r#"<td class="n">1</td></tr>"#),
        "{doubled}"
    );
}

#[tokio::test]
async fn the_page_stays_short_however_much_happened() {
    let bench = Bench::start(quick()).await;
    for index in 0..60 {
        bench.post(&packet(&format!("P{index:03}"))).await.unwrap();
        bench.upload(&format!("P{index:03}"), &pdf()).await;
    }
    let page = page(&bench).await;
    assert!(page.contains("P059") && !page.contains("P030"));
    assert!(page.contains("60 in all; the first 25"));
    assert!(page.len() < 64 * 1024, "{}", page.len());
}
