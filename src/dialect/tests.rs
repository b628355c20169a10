use std::path::Path;

use super::*;

/// Builds of lines such as `types.amount=text`; values of arrays are separated by commas.
fn built(lines: &[&str]) -> Result<Dialect, Problem> {
    let values = lines.iter().map(|line| {
        let (name, value) = line.split_once('=').unwrap();
        let key = find(name).unwrap_or_else(|| panic!("{name} is no key"));
        let values = match key.kind {
            Kind::Codes | Kind::Texts => value.split(',').map(str::to_owned).collect(),
            _ => vec![value.to_owned()],
        };
        (name.to_owned(), values)
    });
    build(&values.collect(), Path::new("folder"))
}

#[test]
fn the_document_differs_in_nothing_from_itself() {
    let document = Dialect::default();
    assert!(document.is_the_document());
    assert_eq!(document.request_digest(), None);
    assert_eq!(document.reading_digest(), None);
    // Every default, written out, is the document too.
    let values: Values = keys()
        .iter()
        .map(|key| (key.name.clone(), key.default.clone()))
        .filter(|(_, default)| !default.is_empty())
        .collect();
    assert_eq!(build(&values, Path::new("")).unwrap(), document);
}

#[test]
fn the_digest_covers_what_differs_and_keeps_requests_and_reading_apart() {
    let of = |lines: &[&str]| {
        let dialect = built(lines).unwrap();
        (dialect.request_digest(), dialect.reading_digest())
    };
    assert_eq!(of(&["written_from=two pages"]), (None, None));
    assert_eq!(of(&["types.amount=number"]), (None, None));
    let (requests, reading) = of(&["types.amount=text"]);
    assert!(requests.is_some() && reading.is_none());
    let (requests, reading) = of(&["replies.authenticated=200"]);
    assert!(requests.is_none() && reading.is_some());
    assert_ne!(of(&["headers.A=b"]).1, of(&["headers.A=c"]).1);
    // What no post has may be mended by order while payments are open.
    for line in [
        "members.results=items",
        "members.statusCode=code",
        "operations.status.path=/v2/status",
        "operations.bill.authentication=basic",
        "header_files.X-Key=key",
        "types.empty_extra_data=omitted",
    ] {
        let (requests, reading) = of(&[line]);
        assert!(requests.is_none() && reading.is_some(), "{line}");
    }
    for line in [
        "members.amount=value",
        "operations.post.authentication=basic",
        "identifiers.form={uuid}",
        "types.decimals.AIRTIME=0",
    ] {
        let (requests, reading) = of(&[line]);
        assert!(requests.is_some() && reading.is_none(), "{line}");
    }
    assert_ne!(
        of(&["replies.authenticated=1,31"]).1,
        of(&["replies.authenticated=131,1"]).1
    );
    assert_ne!(
        of(&["callbacks.functions=ab"]).1,
        of(&["callbacks.functions=a,b"]).1
    );
}

#[test]
fn what_contradicts_itself_is_named() {
    for (lines, key, expected) in [
        (
            &["members.gatewayTransactionID=payerTransactionID"][..],
            "members.gatewayTransactionID",
            "a name of its own",
        ),
        (
            &["members.narration=AMOUNT"],
            "members.narration",
            "a name of its own",
        ),
        // A reply may have both outside.
        (
            &["members.results=receiptNumber"],
            "members.results",
            "a name of its own",
        ),
        (
            &["operations.absent=status"],
            "operations.absent",
            "every gateway takes payments",
        ),
        (
            &["posts.left_out=amount"],
            "posts.left_out",
            "every post has amount",
        ),
        (
            &["posts.left_out=callbackUrl"],
            "posts.left_out",
            "callbacks.address",
        ),
        (
            &["posts.left_out=extraData,pushToOriginator"],
            "posts.left_out",
            "callbackUrl left out, too",
        ),
        (
            &["signing.algorithm=hmac-sha256"],
            "signing.algorithm",
            "key_file",
        ),
        (
            &[
                "signing.algorithm=hmac-sha256",
                "signing.key_file=key",
                "signing.timestamp_header=x-signature",
            ],
            "signing.timestamp_header",
            "another header",
        ),
        (
            &["headers.Authorization=secret"],
            "headers.Authorization",
            "written by disburse",
        ),
        (
            &["headers.Content-Length=1"],
            "headers.Content-Length",
            "written by disburse",
        ),
        (
            &["headers.X-Key=a", "header_files.x-key=b"],
            "header_files.x-key",
            "named once",
        ),
        (&["headers.a b=c"], "headers.a b", "the name of a header"),
        (
            &["replies.not_found_code=174"],
            "replies.not_found_code",
            "not_found_description",
        ),
        (
            &["replies.not_found_description=gone"],
            "replies.not_found_description",
            "not_found_code",
        ),
        (
            &[
                "replies.not_found_code=140",
                "replies.not_found_description=gone",
            ],
            "replies.not_found_code",
            "104 or 174",
        ),
        (
            &["replies.not_authenticated=131"],
            "replies.not_authenticated",
            "another code than 131",
        ),
        (
            &["replies.authenticated=132", "replies.not_authenticated=131"],
            "replies.authenticated",
            "no other meaning",
        ),
        (
            &["replies.authenticated=200", "replies.not_authenticated=131"],
            "replies.not_authenticated",
            "no other meaning",
        ),
        (
            &["headers.Proxy-Authorization=x"],
            "headers.Proxy-Authorization",
            "written by disburse",
        ),
        (
            &["headers.Content_Length=1"],
            "headers.Content_Length",
            "the name of a header",
        ),
        (
            &["signing.key_file=key"],
            "signing.key_file",
            "nothing is signed",
        ),
        (
            &["replies.not_authenticated=104"],
            "replies.not_authenticated",
            "104 and 174 a failure of any kind",
        ),
        (
            &["replies.authenticated=139"],
            "replies.authenticated",
            "others are about payments",
        ),
        (
            &[
                "operations.post.function=",
                "operations.post.path=/v2/pay",
                "operations.status.function=",
                "operations.status.path=/v2//Pay/",
            ],
            "operations.status.function",
            "could take a question for a payment",
        ),
        (
            &["replies.bill_found=309"],
            "replies.no_bill",
            "another code than 309",
        ),
        (
            &["replies.upload_refused=state"],
            "replies.upload_refused",
            "state=REJECTED",
        ),
        (
            &["operations.post.function=", "operations.status.function="],
            "operations.status.function",
            "could take a question for a payment",
        ),
        (
            &["operations.bill.function=GATEWAY.postPayment"],
            "operations.bill.function",
            "could take a question for a payment",
        ),
        (
            &["members.narration=Currency"],
            "members.narration",
            "a currency is read under this one",
        ),
        (
            &["callbacks.packet=a..b"],
            "callbacks.packet",
            "up to 4 names",
        ),
        (
            &["callbacks.packet=a.b.c.d.e"],
            "callbacks.packet",
            "up to 4 names",
        ),
        (
            &["callbacks.secret_header=X-Secret"],
            "callbacks.secret_header",
            "secret_file",
        ),
    ] {
        let problem = built(lines).unwrap_err();
        assert_eq!(problem.key, key, "{lines:?}");
        assert!(problem.expected.contains(expected), "{problem}");
    }
}

#[test]
fn names_lead_both_ways_and_the_documents_name_of_another_member_is_unknown() {
    let names = built(&["members.gatewayTransactionID=beepTransactionID"])
        .unwrap()
        .names;
    assert_eq!(names.theirs("gatewayTransactionID"), "beepTransactionID");
    assert_eq!(
        names.ours(Place::Packet, "beepTransactionID"),
        Some("gatewayTransactionID")
    );
    assert_eq!(names.ours(Place::Packet, "gatewayTransactionID"), None);
    assert_eq!(names.ours(Place::Packet, "statusCode"), Some("statusCode"));
    assert_eq!(names.ours(Place::Packet, "new"), Some("new"));
}

#[test]
fn every_word_of_authentication_is_read_as_it_says() {
    for (word, body, header) in [
        ("body", true, Header::Absent),
        ("none", false, Header::Absent),
        ("bearer", false, Header::Bearer),
        ("basic", false, Header::Basic),
        ("body+bearer", true, Header::Bearer),
        ("body+basic", true, Header::Basic),
    ] {
        let line = format!("operations.post.authentication={word}");
        let dialect = built(&[&line]).unwrap();
        let call = dialect.call(Operation::Post);
        assert_eq!(
            call.authentication,
            Some(Authentication { body, header }),
            "{word}"
        );
        assert_eq!(dialect.needs_token(false), header == Header::Bearer);
    }
    let document = Dialect::default();
    assert_eq!(document.call(Operation::Post).authentication, None);
    assert!(document.needs_token(true) && !document.needs_token(false));
}

#[test]
fn files_are_below_the_folder_of_the_dialect() {
    let dialect = built(&[
        "header_files.X-Key=keys/a",
        "signing.algorithm=rsa-sha256",
        "signing.key_file=b",
    ])
    .unwrap();
    assert_eq!(dialect.header_files["X-Key"], Path::new("folder/keys/a"));
    assert_eq!(dialect.signing.unwrap().key_file, Path::new("folder/b"));
}

/// The row of a key in the table of the documentation.
fn row(key: &Key) -> String {
    let default = match (key.kind, key.default.as_slice()) {
        (Kind::Codes, values) => format!("`[{}]`", values.join(", ")),
        (Kind::Texts, values) => format!("`{values:?}`"),
        (Kind::Flag | Kind::Number { .. }, [value]) => format!("`{value}`"),
        (_, [value]) => format!("`{value:?}`"),
        _ => String::new(),
    };
    let words = match key.kind {
        Kind::Word(words) => format!(" One of `{}`.", words.join("`, `")),
        _ => String::new(),
    };
    format!("| `{}` | {default} | {}{words} |", key.name, key.doc)
}

#[test]
fn the_documentation_has_every_key() {
    let docs = include_str!("../../docs/dialects.md");
    let open = [
        "headers.NAME",
        "header_files.NAME",
        "types.decimals.SERVICE",
        "types.extra.NAME",
    ];
    let open = open.map(|name| find(name).unwrap());
    let lacking: Vec<String> = keys()
        .iter()
        .chain(&open)
        .map(row)
        .filter(|row| !docs.contains(row))
        .collect();
    assert!(
        lacking.is_empty(),
        "docs/dialects.md lacks:\n{}",
        lacking.join("\n")
    );
}
