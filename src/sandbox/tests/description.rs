//! The OpenAPI document of a dialect: the interface document's where nothing differs, and true of what the sandbox takes.

use std::sync::Arc;

use super::*;
use crate::dialect::samples::{SAMPLES, of_text};
use crate::dialect::{Dialect, Method, Operation};
use crate::domain::IdentifierForm;
use crate::sandbox::description::{described, the_documents};
use crate::sandbox::dialect::PAYMENTS;

fn schema<'d>(document: &'d Value, name: &str) -> &'d Value {
    &document["components"]["schemas"][name]
}

/// Every place to which a reference leads.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.extend(
                members
                    .get("$ref")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            );
            members.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn the_documents_own_description_stays_as_it_is() {
    let document = the_documents();
    assert_eq!(described(&Dialect::default()), document);
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["paths"].as_object().unwrap().len(), 8);
}

#[test]
fn no_reference_of_a_description_leads_nowhere() {
    for (name, text) in SAMPLES {
        let document = described(&of_text(text));
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 50, "{name}");
        for reference in found {
            let at = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(at).is_some(), "{name}: {reference}");
        }
    }
}

#[test]
fn every_freedom_of_a_dialect_is_in_its_description() {
    let post = format!("/paths/{}/post", PAYMENTS.replace('/', "~1"));
    let at = |end: &str| format!("{post}{end}");
    let of = |end: &str| format!("/components/schemas/{end}");
    for (line, pointer, expected) in [
        (
            "operations.post.function = 'X.pay'",
            of("PostPayment/properties/function/const"),
            json!("X.pay"),
        ),
        (
            "operations.post.function = 'X.pay'",
            of("FunctionCall/discriminator/mapping/X.pay"),
            json!("#/components/schemas/PostPayment"),
        ),
        (
            "operations.post.function = ''",
            of("PostPayment/required"),
            json!(["countryCode", "payload"]),
        ),
        (
            "operations.post.function = ''",
            of("FunctionCall/discriminator"),
            json!(null),
        ),
        (
            "operations.post.path = '/pay'",
            "/paths/~1pay/post/operationId".to_owned(),
            json!("payout"),
        ),
        (
            "operations.post.path = '/pay'",
            at("/operationId"),
            json!("status_bill_float_account"),
        ),
        (
            "operations.post.path = '/pay'",
            at("/callbacks"),
            json!(null),
        ),
        (
            "operations.post.method = 'PUT'",
            at("").replace("/post", "/put/operationId"),
            json!("payout"),
        ),
        (
            "operations.post.authentication = 'basic'",
            of("PostPayment/properties/payload/required"),
            json!(["packet"]),
        ),
        (
            "operations.post.authentication = 'basic'",
            at("/security"),
            json!([{"basic": []}, {}]),
        ),
        (
            "operations.post.authentication = 'basic'",
            "/components/securitySchemes/basic/scheme".to_owned(),
            json!("basic"),
        ),
        (
            "operations.post.authentication = 'body+bearer'",
            at("/security"),
            json!([{"bearer": []}, {}]),
        ),
        (
            "operations.token.path = '/t'",
            "/paths/~1t/post/operationId".to_owned(),
            json!("token"),
        ),
        (
            "operations.lookup.path = '/l'\noperations.lookup.method = 'PUT'",
            "/paths/~1l/put/security".to_owned(),
            json!([{"bearer": []}]),
        ),
        (
            "operations.lookup.path = '/l'\noperations.lookup.authentication = 'none'",
            "/paths/~1l/post/security".to_owned(),
            json!(null),
        ),
        (
            "operations.upload.path = '/u'\noperations.upload.authentication = 'basic'",
            "/paths/~1u/post/security".to_owned(),
            json!([{"basic": []}]),
        ),
        (
            "operations.upload.path = '/u'\noperations.upload.authentication = 'basic'",
            "/paths/~1u/post/responses/401/description".to_owned(),
            json!("The token is missing, unknown or expired"),
        ),
        (
            "members.function = 'event'",
            of("FunctionCall/discriminator/propertyName"),
            json!("event"),
        ),
        (
            "members.amount = 'sum'",
            of("PaymentPacket/properties/sum/exclusiveMinimum"),
            json!(0),
        ),
        (
            "members.amount = 'sum'",
            of("PaymentPacket/properties/amount"),
            json!(null),
        ),
        (
            "members.results = 'entries'",
            of("PostReply/required"),
            json!(["authStatus", "entries"]),
        ),
        (
            "members.callbackUrl = 'hook'",
            of("ExtraData/properties/hook/type"),
            json!("string"),
        ),
        (
            "members.callbackUrl = 'hook'",
            at(
                "/callbacks/paymentStatus/{$request.body#~1payload~1packet~10~1extraData~1hook}/post/responses/200/description",
            ),
            json!("Stored"),
        ),
        (
            "members.statusCode = 'code'",
            of("PushedPacket/properties/code/enum/0"),
            json!(140),
        ),
        // What no dialect names stays as it is: the lookup has members of its own.
        (
            "members.countryCode = 'country'",
            of("LookupRequest/properties/countryCode/$ref"),
            json!("#/components/schemas/Country"),
        ),
        (
            "members.destinationBankName = 'destinationBank'",
            of("ExtraData/properties/destinationBank/description"),
            json!(null),
        ),
        (
            "identifiers.form = 'P.{base32:20}'",
            of("PayerTransactionID/pattern"),
            json!(r"^P\.[0-9A-HJKMNP-TV-Z]{20}$"),
        ),
        (
            "types.amount = 'text'",
            of("PaymentPacket/properties/amount/type"),
            json!("string"),
        ),
        (
            "types.extra_data = 'object'",
            of("PaymentPacket/properties/extraData/$ref"),
            json!("#/components/schemas/ExtraData"),
        ),
        (
            "types.extra_data = 'text'",
            of("PaymentPacket/properties/extraData/type"),
            json!("string"),
        ),
        (
            "types.empty_extra_data = 'empty_text'",
            of("QueryBill/properties/payload/properties/packet/items/properties/extraData/const"),
            json!(""),
        ),
        (
            "types.empty_extra_data = 'omitted'",
            of("ValidateAccount/properties/payload/properties/packet/items/properties/extraData"),
            json!(null),
        ),
        (
            "types.decimals.B2C = 0",
            of("PaymentPacket/allOf/0/then/properties/amount/type"),
            json!("integer"),
        ),
        (
            "types.amount = 'text'\ntypes.decimals.B2C = 2",
            of("PaymentPacket/allOf/0/then/properties/amount/pattern"),
            json!(r"^[0-9]+\.[0-9]{2}$"),
        ),
        (
            "types.extra.urgent = 'boolean'",
            of("ExtraData/properties/urgent/type"),
            json!("boolean"),
        ),
        (
            "headers.X-Channel = 'bulk'",
            at("/parameters/0/schema/const"),
            json!("bulk"),
        ),
        (
            "header_files.X-Key = 'key'",
            at("/parameters/0/name"),
            json!("X-Key"),
        ),
        (
            "header_files.X-Key = 'key'",
            "/paths/~1api~1v1~1transaction-documents/post/responses/401/description".to_owned(),
            json!("The token is missing, unknown or expired"),
        ),
        (
            "[signing]\nalgorithm = 'hmac-sha256'\nkey_file = 'k'\nencoding = 'hex'\ntimestamp_header = 'X-Time'",
            at("/parameters/0/schema/pattern"),
            json!("^([0-9a-f]{2})+$"),
        ),
        (
            "[signing]\nalgorithm = 'hmac-sha256'\nkey_file = 'k'\nencoding = 'hex'\ntimestamp_header = 'X-Time'",
            at("/parameters/1/name"),
            json!("X-Time"),
        ),
        (
            "replies.auth_status = 'absent'",
            of("PostReply/required"),
            json!(["results"]),
        ),
        (
            "replies.auth_status = 'absent'",
            at("/responses/401/content/application~1json/schema/$ref"),
            json!("#/components/schemas/NothingDone"),
        ),
        (
            "replies.authenticated = [1]\nreplies.not_authenticated = [2]",
            of("AuthStatus/properties/authStatusCode/enum"),
            json!([1, 2, 174]),
        ),
        (
            "replies.account_valid = [200]",
            of("AccountReply/properties/results/items/properties/statusCode/enum"),
            json!([301, 306, 200, 167, 106, 120, 174]),
        ),
        (
            "replies.bill_found = [200]",
            of("BillReply/properties/results/items/properties/statusCode/enum/4"),
            json!(200),
        ),
        (
            "replies.not_found_code = [104]\nreplies.not_found_description = 'none'",
            of("StatusReply/properties/results/items/properties/statusCode/enum/9"),
            json!(104),
        ),
        (
            "replies.document_reference = ['documentId']",
            of("Uploaded/required"),
            json!(["documentId"]),
        ),
        (
            "callbacks.functions = ['X.push']",
            of("PushPaymentStatus/properties/function/const"),
            json!("X.push"),
        ),
        (
            "callbacks.packet = ''",
            of("PushPaymentStatus/$ref"),
            json!("#/components/schemas/PushedPacket"),
        ),
        (
            "callbacks.packet = 'data.payment'",
            of("PushPaymentStatus/properties/data/properties/payment/$ref"),
            json!("#/components/schemas/PushedPacket"),
        ),
        (
            "callbacks.packet = 'data'",
            of("PushPaymentStatus/required"),
            json!(["function", "countryCode", "data"]),
        ),
        (
            "callbacks.secret_header = 'X-Word'\ncallbacks.secret_file = 'word'",
            at(
                "/callbacks/paymentStatus/{$request.body#~1payload~1packet~10~1extraData~1callbackUrl}/post/parameters/0/name",
            ),
            json!("X-Word"),
        ),
        (
            "[callbacks.acknowledgement]\nform = 'flat'\ncode = 1\ncodes = 'text'",
            of("Receipt/properties/statusCode/const"),
            json!("1"),
        ),
        (
            "[callbacks.acknowledgement]\nform = 'empty'",
            of("Receipt"),
            json!(null),
        ),
        (
            "[callbacks.acknowledgement]\nauth_code = 9",
            of("Acknowledgement/properties/authStatus/properties/authStatusCode/const"),
            json!(9),
        ),
        (
            "[callbacks.acknowledgement]\ndescription = 'noted'",
            of("Receipt/properties/statusDescription/const"),
            json!("noted"),
        ),
    ] {
        let document = described(&of_text(&format!("written_from = 'a test'\n{line}")));
        let found = document.pointer(&pointer).unwrap_or(&Value::Null);
        assert_eq!(*found, expected, "{line}: {pointer}");
    }
}

#[tokio::test]
async fn a_sandbox_serves_the_description_of_its_dialect_and_takes_its_examples() {
    for (name, text) in SAMPLES {
        let spoken = of_text(text);
        let has_signature = spoken.signing.is_some();
        let list = spoken.names.theirs("results").to_owned();
        let headers = spoken.headers.clone();
        let bench = Bench::start(Options {
            dialect: Arc::new(spoken),
            ..quick()
        })
        .await;
        let served = bench.request("GET", "/openapi.yaml", "").await;
        let document: Value = serde_saphyr::from_str(&served.text).unwrap();
        assert_eq!(document, described(&of_text(text)), "{name}");
        let token = &document["paths"].as_object().unwrap();
        let (path, _) = token
            .iter()
            .find(|(_, path)| path["post"]["operationId"] == "token")
            .unwrap();
        let query = "grant_type=password&client_id=c&username=a&password=b";
        let token = bench
            .request("POST", &format!("{path}?{query}"), "")
            .await
            .json();
        let token = token["access_token"].as_str().unwrap();
        let mut examples = 0;
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let content = &operation["requestBody"]["content"]["application/json"];
                let Some(all) = content["examples"].as_object() else {
                    continue;
                };
                for (example, value) in all {
                    let url = format!("{}{path}", bench.sandbox.base_url());
                    let mut request = bench
                        .client
                        .request(method.to_uppercase().parse().unwrap(), url)
                        .body(value["value"].to_string());
                    let is_basic = operation["security"].to_string().contains("basic");
                    request = match is_basic {
                        true => request.basic_auth("sandbox", Some("sandbox")),
                        false => request.bearer_auth(token),
                    };
                    for (name, value) in &headers {
                        request = request.header(name, value);
                    }
                    let reply = request.send().await.unwrap();
                    assert_eq!(reply.status(), 200, "{name} {example}");
                    let reply: Value = serde_json::from_str(&reply.text().await.unwrap()).unwrap();
                    let results = reply.get(&list).unwrap();
                    assert_eq!(
                        results.as_array().map(Vec::len),
                        Some(1),
                        "{name} {example}: {reply}"
                    );
                    examples += 1;
                }
            }
        }
        assert_eq!(examples, 5, "{name}");
        assert_eq!(bench.sandbox.verdict().posts, 1, "{name}");
        assert!(has_signature || name != "signed");
    }
}

#[tokio::test]
async fn a_path_of_a_dialect_takes_its_methods_alone() {
    for (name, text) in SAMPLES {
        let spoken = of_text(text);
        let call = spoken.call(Operation::Post);
        let path = call.path.clone().unwrap_or(PAYMENTS.to_owned());
        let taken: &[&str] = match (name, call.method) {
            ("signed", Method::Put) => &["PUT", "POST"],
            _ => &["POST"],
        };
        let bench = Bench::start(Options {
            dialect: Arc::new(spoken),
            ..quick()
        })
        .await;
        for method in ["GET", "PUT", "POST", "DELETE", "PATCH"] {
            let expected = if taken.contains(&method) { 200 } else { 405 };
            let url = format!("{}{path}", bench.sandbox.base_url());
            let request = bench.client.request(method.parse().unwrap(), url);
            let reply = request.send().await.unwrap();
            // Where replies have no place for it, the status says that nobody was let in.
            let is_told = reply.status() == 401 && name == "paths";
            assert!(
                is_told || reply.status() == expected,
                "{name} {method}: {reply:?}"
            );
            if expected == 405 {
                let allowed = reply.headers()["allow"].to_str().unwrap();
                let allowed: Vec<&str> = allowed.split(", ").collect();
                assert_eq!(allowed, taken, "{name} {method}");
            }
        }
        let nowhere = bench.request("POST", "/nowhere", "").await;
        assert_eq!(nowhere.status, 404, "{name}");
        let page = bench.request("DELETE", "/sandbox/ledger", "").await;
        assert_eq!(page.status, 405, "{name}");
        assert!(page.json()["error"].is_string(), "{name}");
    }
}

#[test]
fn a_made_up_identifier_of_an_example_has_the_dialects_form() {
    let document = described(&of_text(SAMPLES[3].1));
    let put = &document["paths"][PAYMENTS]["put"];
    let content = &put["requestBody"]["content"]["application/json"];
    let packet = &content["examples"]["payout"]["value"]["payload"]["packet"][0];
    let id = packet["clientReference"].as_str().unwrap();
    assert!(IdentifierForm::parse("{uuid}").unwrap().has(id), "{id}");
    assert_eq!(schema(&document, "PayerTransactionID")["type"], "string");
}
