//! What the file service says of a document, beside the status of its reply (section 4.3).

use disburse::gateway::{DocumentClient, OperationError, Uploaded};

use super::around::everything_at;
use super::payments::{A, id};
use super::server::Server;
use super::soon;

async fn upload(status: &'static str, reply: &'static str) -> Result<Uploaded, OperationError> {
    let server = Server::start(move |mut connection| {
        connection.request();
        connection.reply(status, reply);
    });
    let documents = DocumentClient::new(&everything_at(&server.url())).unwrap();
    soon(documents.upload(&id(A), "a.pdf", b"%PDF-".to_vec())).await
}

#[tokio::test]
async fn a_success_whose_body_says_no_is_a_refusal_in_the_services_words() {
    for (status, reply) in [
        (
            "200 OK",
            r#"{"success":false,"message":"the file is corrupted"}"#,
        ),
        (
            "201 Created",
            r#"{"errorCode":400,"errorDescription":"the file is corrupted"}"#,
        ),
        (
            "202 Accepted",
            r#"{"status":"error","data":{"reference":"D1"},"detail":"the file is corrupted"}"#,
        ),
        (
            "200 OK",
            r#"{"statusCode":141,"statusDescription":"the file is corrupted"}"#,
        ),
    ] {
        let refused = upload(status, reply).await;
        let Err(OperationError::Refused { section, what }) = refused else {
            panic!("{reply}: {refused:?}");
        };
        assert_eq!(section, "4.3");
        assert!(
            what.contains("does not take the document") && what.contains("corrupted"),
            "{what}"
        );
    }
}

#[tokio::test]
async fn a_document_that_is_there_already_is_named_by_its_own_reference_or_ours() {
    for (status, reply, reference) in [
        (
            "409 Conflict",
            r#"{"success":false,"data":{"reference":"D1"}}"#,
            "D1",
        ),
        (
            "409 Conflict",
            r#"{"documentReference":"D1","error":"exists"}"#,
            "D1",
        ),
        ("409 Conflict", r#"{"message":"a document exists"}"#, A),
        ("409 Conflict", "", A),
        (
            "200 OK",
            r#"{"success":false,"errorCode":409,"data":"D1"}"#,
            "D1",
        ),
    ] {
        let uploaded = upload(status, reply).await.unwrap();
        assert_eq!(
            (uploaded.reference.as_str(), uploaded.already),
            (reference, true),
            "{reply}"
        );
        assert_eq!(uploaded.reply, reply);
    }
    let taken = upload("200 OK", r#"{"success":true,"data":{"reference":"D1"}}"#)
        .await
        .unwrap();
    assert_eq!((taken.reference.as_str(), taken.already), ("D1", false));
}
