//! Supporting documents.

use super::*;

const PATH: &str = "/api/v1/transaction-documents";

/// A form of the given parts: name, file name, bytes.
async fn send(bench: &Bench, parts: &[(&str, Option<&str>, &[u8])]) -> Reply {
    let mut form = reqwest::multipart::Form::new();
    for (name, file, bytes) in parts {
        let mut part = reqwest::multipart::Part::bytes(bytes.to_vec());
        if let Some(file) = file {
            part = part.file_name((*file).to_owned());
        }
        form = form.part((*name).to_owned(), part);
    }
    let url = format!("{}{PATH}", bench.sandbox.base_url());
    let reply = bench.client.post(url).multipart(form).send().await.unwrap();
    Reply {
        status: reply.status().as_u16(),
        text: reply.text().await.unwrap(),
    }
}

#[tokio::test]
async fn a_document_has_one_reference_however_often_it_is_uploaded() {
    let bench = Bench::start(quick()).await;
    let first = bench.upload("P", &pdf()).await;
    assert_eq!(first.status, 201);
    let body = first.json();
    assert!(body["reference"].as_str().unwrap().starts_with("DOC-"));
    assert_eq!(body["payerTransactionId"], "P");
    assert_eq!(body["fileName"], "invoice.pdf");
    assert_eq!(body["size"], pdf().len());
    let mut longer = pdf();
    longer.extend_from_slice(b"\n\n");
    let again = bench.upload("P", &longer).await;
    assert_eq!(again.status, 200);
    assert_eq!(again.json()["reference"], body["reference"]);
    assert_ne!(again.json()["sha256"], body["sha256"]);
    let other = bench.upload("Q", &pdf()).await.json();
    assert_ne!(other["reference"], body["reference"]);
    assert_eq!(other["sha256"], body["sha256"]);
    let ledger = bench.ledger(false).await;
    assert_eq!(ledger["document_count"], 2);
    assert_eq!(ledger["documents"]["P"]["size"], longer.len());
    assert!(bench.ledger(true).await.get("documents").is_none());
}

#[tokio::test]
async fn only_a_readable_pdf_is_a_document() {
    let bench = Bench::start(quick()).await;
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let with = |from: &str, to: &str| {
        let pdf = text(&pdf());
        assert!(pdf.contains(from));
        pdf.replacen(from, to, 1).into_bytes()
    };
    let xref_stream = b"%PDF-1.5\n9 0 obj<</Type/XRef/Encrypt 3 0 R/W[1 2 1]>>stream\nxx\nendstream\nstartxref\n9\n%%EOF";
    let far = [&pdf()[..], &[b' '; 2000]].concat();
    for (file, status, part) in [
        (&b""[..], 422, "empty"),
        (b"PK\x03\x04 a spreadsheet", 415, "not a PDF"),
        (b"\xff\xd8\xff\xe0 a photograph", 415, "not a PDF"),
        (&with("%PDF-", " %PDF-"), 415, "not a PDF"),
        (&with("%%EOF", ""), 422, "%%EOF"),
        (&pdf()[..40], 422, "%%EOF"),
        (&far, 422, "%%EOF"),
        (&with("/Size 2", "/Encrypt 5 0 R"), 422, "password"),
        (&with("/Size 2", "/Encrypt<</V 4>>"), 422, "password"),
        (xref_stream, 422, "password"),
        (&with("/Size 2", "/EncryptMetadata true"), 201, "reference"),
        (
            &with("startxref\n9", "startxref\n99999999999999999999"),
            200,
            "reference",
        ),
        (&with("startxref\n9", "startxref\n400"), 200, "reference"),
    ] {
        let reply = bench.upload("P", file).await;
        assert_eq!(
            reply.status,
            status,
            "{:?}: {}",
            String::from_utf8_lossy(file),
            reply.text
        );
        assert!(reply.text.contains(part), "{}", reply.text);
        assert_eq!(reply.json().get("error").is_some(), status >= 400);
    }
}

#[tokio::test]
async fn the_form_must_be_complete() {
    let bench = Bench::start(quick()).await;
    let pdf = pdf();
    let (id, file) = (
        ("payerTransactionId", None, &b"P"[..]),
        ("file", Some("a.pdf"), &pdf[..]),
    );
    let long = [b'x'; 129];
    for (parts, status, part) in [
        (vec![file], 400, "payerTransactionId is missing"),
        (vec![id], 400, "file is missing"),
        (vec![], 400, "the form cannot be read"),
        (
            vec![id, id, file],
            400,
            "payerTransactionId is given more than once",
        ),
        (vec![id, file, file], 400, "file is given more than once"),
        (
            vec![("payerTransactionId", None, &b""[..]), file],
            400,
            "payerTransactionId is missing",
        ),
        (
            vec![("payerTransactionId", None, &b"\xff"[..]), file],
            400,
            "not UTF-8",
        ),
        (
            vec![("payerTransactionId", None, &long[..]), file],
            400,
            "longer than 128",
        ),
        (vec![file, ("other", None, &b"x"[..]), id], 201, "reference"),
    ] {
        let reply = send(&bench, &parts).await;
        assert_eq!(reply.status, status, "{}", reply.text);
        assert!(reply.text.contains(part), "{}", reply.text);
    }
    let reply = bench.request("POST", PATH, "not a form").await;
    assert_eq!(reply.status, 415);
    assert!(
        reply.json()["error"]
            .as_str()
            .unwrap()
            .contains("multipart/form-data")
    );
}

#[tokio::test]
async fn a_form_that_breaks_off_is_refused() {
    let bench = Bench::start(quick()).await;
    let url = format!("{}{PATH}", bench.sandbox.base_url());
    for (kind, body) in [
        ("multipart/form-data", "--x\r\n"),
        ("multipart/form-data; boundary=", "--\r\n"),
        ("multipart/form-data; boundary=x", ""),
        (
            "multipart/form-data; boundary=x",
            "--x\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nabc",
        ),
        ("multipart/form-data; boundary=x", "--y\r\n\r\n--y--"),
        (
            "multipart/form-data; boundary=x",
            "--x\r\n\r\nno head\r\n--x--",
        ),
        ("multipart/form-data; charset=utf-8", "--x--"),
    ] {
        let request = bench
            .client
            .post(&url)
            .header("content-type", kind)
            .body(body);
        let reply = request.send().await.unwrap();
        let (status, text) = (reply.status().as_u16(), reply.text().await.unwrap());
        assert_eq!(status, 400, "{kind} {body:?}: {text}");
        let json: Value = serde_json::from_str(&text).unwrap();
        assert!(json["error"].is_string());
    }
}

#[tokio::test]
async fn an_upload_has_its_bound() {
    let bench = Bench::start(quick()).await;
    let mut file = pdf();
    file.splice(9..9, std::iter::repeat_n(b'x', 10 * 1024 * 1024));
    assert_eq!(bench.upload("LARGE", &file).await.status, 201);
    file.splice(9..9, std::iter::repeat_n(b'x', 2 * 1024 * 1024));
    let reply = bench.upload("LARGER", &file).await;
    assert_eq!(reply.status, 413);
    assert!(reply.json()["error"].is_string());
}

#[tokio::test]
async fn a_files_name_is_kept_without_control_characters_and_not_at_length() {
    let bench = Bench::start(quick()).await;
    let name = format!("in\u{85}voice{}.pdf", "x".repeat(500));
    let mut body = format!(
        "--x\r\nContent-Disposition: form-data; name=\"payerTransactionId\"\r\n\r\nP\r\n\
         --x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
    )
    .into_bytes();
    body.extend(pdf());
    body.extend(b"\r\n--x--\r\n");
    let request = bench
        .client
        .post(format!("{}{PATH}", bench.sandbox.base_url()))
        .header("content-type", "multipart/form-data; boundary=x")
        .body(body);
    let reply: Value = request.send().await.unwrap().json().await.unwrap();
    let kept = reply["fileName"].as_str().unwrap();
    assert_eq!(kept, format!("invoice{}", "x".repeat(193)));
}
