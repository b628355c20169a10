//! The one table of the freedoms: names, what each takes, what the document says, and what a change of it touches.

use std::sync::LazyLock;

use super::members::MEMBERS;
use super::types::{Affects, Operation};

/// What a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One line of text.
    Text,
    /// One line of text, or nothing.
    TextOrEmpty,
    /// A path below an address.
    Path,
    /// A path below an address, or nothing.
    PathOrEmpty,
    /// A file.
    File,
    /// One of some words.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A whole number from 0.
    Number {
        /// The largest.
        most: u32,
    },
    /// Status codes, in an array.
    Codes,
    /// Texts, in an array.
    Texts,
}

/// A freedom.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its dotted name in a dialect file.
    pub name: String,
    /// What it takes.
    pub kind: Kind,
    /// What the document says; several for arrays.
    pub default: Vec<String>,
    /// What a change of it touches.
    pub affects: Affects,
    /// Its meaning, in a sentence or two.
    pub doc: &'static str,
}

/// Tables whose keys are the user's own names.
const OPEN: [(&str, Kind, Affects, &str); 4] = [
    (
        "headers.",
        Kind::Text,
        Affects::Reading,
        "A fixed header of every request.",
    ),
    (
        "header_files.",
        Kind::File,
        Affects::Reading,
        "A header of every request whose value is secret: the file that holds it.",
    ),
    (
        "types.decimals.",
        Kind::Number { most: 4 },
        Affects::Requests,
        "How many decimals the amounts of a service have; 0 writes whole numbers.",
    ),
    (
        "types.extra.",
        Kind::Word(EXTRA_TYPES),
        Affects::Requests,
        "What the value of a column extra.NAME is on the wire.",
    ),
];

pub(super) const METHODS: &[&str] = &["POST", "PUT"];
pub(super) const AUTHENTICATION: &[&str] = &[
    "profile",
    "body",
    "none",
    "bearer",
    "basic",
    "body+bearer",
    "body+basic",
];
pub(super) const HEADERS: &[&str] = &["none", "bearer", "basic"];
pub(super) const EXTRA_TYPES: &[&str] = &["text", "boolean", "number", "object"];
pub(super) const ALGORITHMS: &[&str] = &["none", "hmac-sha256", "rsa-sha256"];
const ENCODINGS: &[&str] = &["base64", "hex"];

/// Returns every freedom with a name of ours, in the order in which a person reads them.
pub fn keys() -> &'static [Key] {
    static KEYS: LazyLock<Vec<Key>> = LazyLock::new(all);
    &KEYS
}

/// Looks a key up by its dotted name, among the user's own names too.
#[must_use]
pub fn find(name: &str) -> Option<Key> {
    if let Some(known) = keys().iter().find(|key| key.name == name) {
        return Some(known.clone());
    }
    OPEN.iter()
        .find(|(table, ..)| name.len() > table.len() && name.starts_with(table))
        .map(|&(_, kind, affects, doc)| Key {
            name: name.to_owned(),
            kind,
            default: Vec::new(),
            affects,
            doc,
        })
}

/// Returns the tables of a dialect file, those within others too.
#[must_use]
pub fn is_table(name: &str) -> bool {
    let within = |full: &str| full.starts_with(&format!("{name}."));
    keys().iter().any(|key| within(&key.name)) || OPEN.iter().any(|(table, ..)| within(table))
}

fn all() -> Vec<Key> {
    let mut keys = vec![key(
        "written_from",
        Kind::Text,
        &["the interface document"],
        Affects::Nothing,
        "What the dialect was written from. A dialect file must say it.",
    )];
    operations(&mut keys);
    keys.push(key(
        "envelope.country_code",
        Kind::Word(&["row", "profile"]),
        &["row"],
        Affects::Requests,
        "Whose country the envelope names. With \"row\", a request never mixes countries.",
    ));
    for name in MEMBERS {
        keys.push(Key {
            name: format!("members.{name}"),
            kind: Kind::Text,
            default: vec![name.to_owned()],
            affects: Affects::Requests,
            doc: "The gateway's name of this member, in requests, replies and callbacks.",
        });
    }
    keys.push(key(
        "bank.required_members",
        Kind::Texts,
        &[
            "destinationBankCode",
            "destinationBankName",
            "destinationAccountName",
            "destinationAccountNo",
        ],
        Affects::Nothing,
        "Which members a payment to a bank must have, by the document's names; destinationAccountNo is always among them. A row without one of them is refused when it is loaded.",
    ));
    keys.push(key(
        "posts.left_out",
        Kind::Texts,
        &[],
        Affects::Requests,
        "Members of a post, by the document's names, that this gateway does not take: invoiceNumber, datePaymentReceived, countryCode (of the packet), hubID, paymentMode, customerNames, pushToOriginator, callbackUrl (with one address for all callbacks), extraData (where it would hold nothing), destinationBankCode, destinationBankName, destinationAccountName. A row that fills in invoiceNumber, datePaymentReceived, hubID or paymentMode is refused.",
    ));
    keys.push(key(
        "identifiers.form",
        Kind::Text,
        &["{base32:26}"],
        Affects::Requests,
        "The form of our payerTransactionID: an optional prefix, and then {uuid} or {base32:16} to {base32:26} (characters of five bits). A batch keeps the form of its load.",
    ));
    types(&mut keys);
    signing(&mut keys, "signing", Affects::Requests);
    replies(&mut keys);
    callbacks(&mut keys);
    signing(&mut keys, "callbacks.signing", Affects::Reading);
    keys.push(key(
        "rate.shared",
        Kind::Flag,
        &["false"],
        Affects::Nothing,
        "Whether the gateway counts posts and queries towards one limit: both then share limits.rate.",
    ));
    for key in &mut keys {
        if key.affects == Affects::Requests && !is_of_posts(&key.name) {
            key.affects = Affects::Reading;
        }
    }
    keys
}

/// Members that no post has.
const NOT_OF_POSTS: [&str; 10] = [
    "gatewayTransactionID",
    "authStatus",
    "authStatusCode",
    "authStatusDescription",
    "results",
    "statusCode",
    "statusDescription",
    "receiptNumber",
    "receiverNarration",
    "balance",
];

/// Returns whether a key shapes the bytes of a post, which a repeat must have again. What shapes questions and headers alone
/// may be wrong while payments are open, and changes by order, as the reading of replies does.
fn is_of_posts(name: &str) -> bool {
    let is_of_others = ["operations.", "headers.", "header_files.", "signing."]
        .iter()
        .any(|table| name.starts_with(table))
        && !name.starts_with("operations.post.");
    let member = name.strip_prefix("members.");
    !is_of_others
        && name != "types.empty_extra_data"
        && !member.is_some_and(|member| NOT_OF_POSTS.contains(&member))
}

/// The operations beside the payment path: name, path, meaning of the path, and what the Authorization header holds.
const BESIDE: [(&str, &str, &str, &str); 2] = [
    (
        "lookup",
        "/v4/remittance/payments/network-lookup",
        "The path below api_url.",
        "bearer",
    ),
    (
        "upload",
        "/api/v1/transaction-documents",
        "The path below file_service_url.",
        "none",
    ),
];

fn operations(keys: &mut Vec<Key>) {
    keys.push(key(
        "operations.absent",
        Kind::Texts,
        &[],
        Affects::Nothing,
        "Operations that this gateway does not have: bill, float, account. They are never asked for.",
    ));
    for (_, operation, function) in Operation::ALL {
        let name = |last: &str| format!("operations.{operation}.{last}");
        let defined = |last: &str, kind, default: &str, doc| Key {
            name: name(last),
            kind,
            default: vec![default.to_owned()],
            affects: Affects::Requests,
            doc,
        };
        keys.extend([
            defined(
                "function",
                Kind::TextOrEmpty,
                function,
                "The value of the member function; \"\" writes no such member.",
            ),
            defined(
                "path",
                Kind::PathOrEmpty,
                "",
                "The path below base_url; \"\" is the profile's payment_path.",
            ),
            defined("method", Kind::Word(METHODS), "POST", "The HTTP method."),
            defined(
                "authentication",
                Kind::Word(AUTHENTICATION),
                "profile",
                "How the request authenticates: credentials in the body, a bearer token, HTTP Basic. \"profile\": in the body, and a bearer token too if payment_bearer is set.",
            ),
        ]);
    }
    keys.push(key(
        "operations.token.path",
        Kind::Path,
        &["/api/v1/oauth/token"],
        Affects::Requests,
        "The path of the token endpoint below auth_url (section 4.1).",
    ));
    for (operation, path, below, header) in BESIDE {
        let defined = |last: &str, kind, default: &str, doc| Key {
            name: format!("operations.{operation}.{last}"),
            kind,
            default: vec![default.to_owned()],
            affects: Affects::Requests,
            doc,
        };
        keys.extend([
            defined("path", Kind::Path, path, below),
            defined("method", Kind::Word(METHODS), "POST", "The HTTP method."),
            defined(
                "authentication",
                Kind::Word(HEADERS),
                header,
                "What the Authorization header holds.",
            ),
        ]);
    }
}

fn types(keys: &mut Vec<Key>) {
    keys.extend([
        key(
            "types.amount",
            Kind::Word(&["number", "text"]),
            &["number"],
            Affects::Requests,
            "What an amount is on the wire.",
        ),
        key(
            "types.extra_data",
            Kind::Word(&["profile", "object", "text"]),
            &["profile"],
            Affects::Requests,
            "What extraData is: an object, or a text that holds one. \"profile\" is what the profile's extra_data says.",
        ),
        key(
            "types.empty_extra_data",
            Kind::Word(&["object", "empty_text", "omitted"]),
            &["object"],
            Affects::Requests,
            "What extraData is in queries when it holds nothing: {}, \"\", or no member at all.",
        ),
    ]);
}

fn signing(keys: &mut Vec<Key>, table: &str, affects: Affects) {
    let defined = |last: &str, kind, default: &[&str], doc| Key {
        name: format!("{table}.{last}"),
        kind,
        default: default.iter().map(|text| (*text).to_owned()).collect(),
        affects,
        doc,
    };
    keys.extend([
        defined(
            "algorithm",
            Kind::Word(ALGORITHMS),
            &["none"],
            "How the exact body is signed.",
        ),
        defined(
            "key_file",
            Kind::File,
            &[],
            "The file with the key: its bytes for HMAC (without a line break at the end), PEM for RSA.",
        ),
        defined(
            "header",
            Kind::Text,
            &["X-Signature"],
            "The header that holds the signature.",
        ),
        defined(
            "encoding",
            Kind::Word(ENCODINGS),
            &["base64"],
            "How the signature is written.",
        ),
        defined(
            "timestamp_header",
            Kind::TextOrEmpty,
            &[""],
            "The header that holds the time, in seconds since 1970. With it, TIME.BODY is signed instead of BODY.",
        ),
    ]);
}

fn replies(keys: &mut Vec<Key>) {
    let codes =
        |name, default: &[&str], doc| key(name, Kind::Codes, default, Affects::Reading, doc);
    let texts =
        |name, default: &[&str], doc| key(name, Kind::Texts, default, Affects::Reading, doc);
    keys.extend([
        key(
            "replies.auth_status",
            Kind::Word(&["required", "absent"]),
            &["required"],
            Affects::Reading,
            "Whether replies carry authStatus. If they do, a reply without it proves nothing.",
        ),
        codes(
            "replies.authenticated",
            &["131"],
            "Values of authStatusCode that mean: authenticated.",
        ),
        codes(
            "replies.not_authenticated",
            &["132"],
            "Values of authStatusCode that mean: not authenticated, nothing was executed.",
        ),
        codes("replies.account_valid", &["307"], "Codes that mean: the account exists."),
        codes("replies.account_invalid", &["306"], "Codes that mean: the account does not exist."),
        codes(
            "replies.account_unavailable",
            &["301"],
            "Codes that mean: the account cannot be validated at present.",
        ),
        codes("replies.bill_found", &["308"], "Codes that mean: a bill was found."),
        codes(
            "replies.no_bill",
            &["309", "306", "146"],
            "Codes that mean: there is no bill, as nothing is due, or the account or the invoice does not exist.",
        ),
        texts(
            "replies.document_reference",
            &[],
            "Members of an upload's reply that name the document. They count before reference, documentReference and id.",
        ),
        texts(
            "replies.upload_refused",
            &[],
            "Further values in an upload's reply that mean a refusal, such as \"state=REJECTED\".",
        ),
        key(
            "replies.not_found_code",
            Kind::Codes,
            &[],
            Affects::Reading,
            "A status code that means \"no such transaction\" if its description is exactly not_found_description.",
        ),
        key(
            "replies.not_found_description",
            Kind::TextOrEmpty,
            &[""],
            Affects::Reading,
            "The exact statusDescription that goes with not_found_code.",
        ),
        key(
            "replies.server_errors",
            Kind::Flag,
            &["false"],
            Affects::Reading,
            "Whether the body of a server error is read if it has an entry about our identifier. It ends no payment (section 7.5).",
        ),
    ]);
}

fn callbacks(keys: &mut Vec<Key>) {
    let reading =
        |name, kind, default: &[&str], doc| key(name, kind, default, Affects::Reading, doc);
    keys.extend([
        reading(
            "callbacks.functions",
            Kind::Texts,
            &["*.pushPaymentStatus"],
            "The functions that mean a payment's status; * stands for any beginning, and an empty list accepts every function. A callback without a function is accepted, too.",
        ),
        reading(
            "callbacks.packet",
            Kind::TextOrEmpty,
            &["payload.packet"],
            "Where the packet is: names from the outside in, with points between them; \"\" is the body itself. It may be an object, an array, or a text that holds one of them.",
        ),
        reading(
            "callbacks.packets",
            Kind::Word(&["one", "many"]),
            &["one"],
            "Whether a callback has one packet, or several, of which those that name the payment count.",
        ),
        reading(
            "callbacks.address",
            Kind::Word(&["per_payment", "fixed"]),
            &["per_payment"],
            "Whether each payment has an address of its own, or all share one that is registered at the gateway.",
        ),
        reading(
            "callbacks.secret_header",
            Kind::TextOrEmpty,
            &[""],
            "A header that every genuine callback carries.",
        ),
        reading(
            "callbacks.secret_file",
            Kind::File,
            &[],
            "The file that holds the value of secret_header.",
        ),
        reading(
            "callbacks.acknowledgement.form",
            Kind::Word(&["envelope", "flat", "empty"]),
            &["envelope"],
            "The body of our reply: authStatus and results, the members of results alone, or nothing.",
        ),
        reading(
            "callbacks.acknowledgement.code",
            Kind::Number { most: 99_999 },
            &["188"],
            "statusCode of our reply.",
        ),
        reading(
            "callbacks.acknowledgement.description",
            Kind::TextOrEmpty,
            &["Response was received"],
            "statusDescription of our reply.",
        ),
        reading(
            "callbacks.acknowledgement.auth_code",
            Kind::Number { most: 99_999 },
            &["131"],
            "authStatusCode of our reply.",
        ),
        reading(
            "callbacks.acknowledgement.codes",
            Kind::Word(&["number", "text"]),
            &["number"],
            "What codes are in our reply.",
        ),
    ]);
}

fn key(name: &str, kind: Kind, default: &[&str], affects: Affects, doc: &'static str) -> Key {
    Key {
        name: name.to_owned(),
        kind,
        default: default.iter().map(|text| (*text).to_owned()).collect(),
        affects,
        doc,
    }
}
