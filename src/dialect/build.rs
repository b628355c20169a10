//! A dialect of the values that a file sets.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;
use std::sync::LazyLock;

use super::contradictions::{Problem, check_codes, check_headers, problem};
use super::keys::{find, keys};
use super::members::{CURRENCY, LEAVABLE, MEMBERS, Names, Place};
use super::types::{
    Acknowledgement, AcknowledgementForm, Affects, Algorithm, Authentication, Beside, Call,
    Callbacks, Dialect, EmptyExtra, Encoding, ExtraType, Header, Method, Operation, Replies,
    Signing,
};
use crate::domain::{BANK_MEMBERS, IDENTIFIER_FORM, IdentifierForm};

const REQUIRED_BANK_MEMBERS: &str = "bank.required_members";

/// What a file sets, by dotted key. Each value was checked against the kind of its key.
pub type Values = BTreeMap<String, Vec<String>>;

/// Makes a dialect; what is not set is as the document has it. Files that it names are below `folder`.
///
/// # Errors
/// Names the key that contradicts the others.
pub fn build(values: &Values, folder: &Path) -> Result<Dialect, Problem> {
    let read = Read { values, folder };
    let dialect = Dialect {
        written_from: read.text("written_from"),
        calls: Operation::ALL
            .iter()
            .map(|(operation, name, _)| (*operation, call(read, name)))
            .collect(),
        absent: absent(read)?,
        token_path: read.text("operations.token.path"),
        lookup: beside(read, "lookup"),
        upload: beside(read, "upload"),
        country_of_row: read.text("envelope.country_code") == "row",
        names: names(read)?,
        identifiers: IdentifierForm::parse(&read.text("identifiers.form"))
            .ok_or_else(|| problem("identifiers.form", IDENTIFIER_FORM))?,
        amount_as_text: read.text("types.amount") == "text",
        decimals: read
            .below("types.decimals.")
            .map(|(service, text)| (service, text.parse().unwrap_or(0)))
            .collect(),
        extra_data_as_text: match read.text("types.extra_data").as_str() {
            "object" => Some(false),
            "text" => Some(true),
            _ => None,
        },
        empty_extra: match read.text("types.empty_extra_data").as_str() {
            "empty_text" => EmptyExtra::EmptyText,
            "omitted" => EmptyExtra::Omitted,
            _ => EmptyExtra::Object,
        },
        extra_types: read
            .below("types.extra.")
            .map(|(name, text)| (name, extra_type(&text)))
            .collect(),
        required_bank_members: required_bank_members(read)?,
        left_out: left_out(read)?,
        headers: read.below("headers.").collect(),
        header_files: read
            .below("header_files.")
            .map(|(name, text)| (name, read.folder.join(text)))
            .collect(),
        signing: signing(read, "signing")?,
        replies: replies(read)?,
        callbacks: callbacks(read)?,
        shared_rate: read.flag("rate.shared"),
        differing: differing(values),
    };
    check_headers(&dialect)?;
    check_codes(&dialect)?;
    // Whatever the profile's own path is.
    if let Some((_, name)) = dialect.alike("") {
        let key = format!("operations.{name}.function");
        return Err(problem(&key, ALIKE));
    }
    Ok(dialect)
}

impl Dialect {
    /// Returns the interface document's own.
    #[must_use]
    pub fn document() -> &'static Self {
        static DOCUMENT: LazyLock<Dialect> = LazyLock::new(|| {
            build(&Values::new(), Path::new("")).expect("the document does not contradict itself")
        });
        &DOCUMENT
    }
}

impl Default for Dialect {
    fn default() -> Self {
        Self::document().clone()
    }
}

/// Returns the values that are not the document's.
fn differing(values: &Values) -> BTreeMap<String, (Affects, Vec<String>)> {
    values
        .iter()
        .filter_map(|(name, value)| {
            let key = find(name)?;
            let differs = key.default != *value && key.affects != Affects::Nothing;
            differs.then(|| (name.clone(), (key.affects, value.clone())))
        })
        .collect()
}

/// What is set, and else what the document says.
#[derive(Clone, Copy)]
struct Read<'v> {
    values: &'v Values,
    folder: &'v Path,
}

impl<'v> Read<'v> {
    fn list(self, key: &str) -> Vec<String> {
        if let Some(found) = self.values.get(key) {
            return found.clone();
        }
        let known = keys().iter().find(|known| known.name == key);
        known.map_or_else(Vec::new, |known| known.default.clone())
    }

    fn optional(self, key: &str) -> Option<String> {
        self.list(key).into_iter().next()
    }

    fn text(self, key: &str) -> String {
        self.optional(key).unwrap_or_default()
    }

    fn filled(self, key: &str) -> Option<String> {
        self.optional(key).filter(|text| !text.is_empty())
    }

    fn flag(self, key: &str) -> bool {
        self.text(key) == "true"
    }

    fn numbers<T: FromStr>(self, key: &str) -> Vec<T> {
        let list = self.list(key);
        list.iter().filter_map(|text| text.parse().ok()).collect()
    }

    /// Returns what a table of the user's own names holds.
    fn below(self, table: &'v str) -> impl Iterator<Item = (String, String)> + 'v {
        self.values.iter().filter_map(move |(key, value)| {
            let name = key.strip_prefix(table)?;
            Some((name.to_owned(), value.first()?.clone()))
        })
    }
}

fn call(read: Read<'_>, operation: &str) -> Call {
    let key = |last: &str| format!("operations.{operation}.{last}");
    Call {
        function: read.filled(&key("function")),
        path: read.filled(&key("path")),
        method: method(&read.text(&key("method"))),
        authentication: authentication(&read.text(&key("authentication"))),
    }
}

fn beside(read: Read<'_>, operation: &str) -> Beside {
    let key = |last: &str| format!("operations.{operation}.{last}");
    Beside {
        path: read.text(&key("path")),
        method: method(&read.text(&key("method"))),
        header: header(&read.text(&key("authentication"))),
    }
}

fn method(text: &str) -> Method {
    match text {
        "PUT" => Method::Put,
        _ => Method::Post,
    }
}

fn authentication(text: &str) -> Option<Authentication> {
    let (body, rest) = match text.strip_prefix("body") {
        Some(rest) => (true, rest.trim_start_matches('+')),
        None => (false, text),
    };
    (text != "profile").then(|| Authentication {
        body,
        header: header(rest),
    })
}

fn header(text: &str) -> Header {
    match text {
        "bearer" => Header::Bearer,
        "basic" => Header::Basic,
        _ => Header::Absent,
    }
}

/// Reads which members a payment to a bank must have, by the document's names.
fn required_bank_members(read: Read<'_>) -> Result<BTreeSet<String>, Problem> {
    let known = |name: &String| BANK_MEMBERS.iter().any(|(_, member)| member == name);
    let named = read.list(REQUIRED_BANK_MEMBERS);
    match named.iter().all(known) {
        true if named.iter().any(|name| name == BANK_MEMBERS[3].1) => {
            // What posts leave out, nobody asks for.
            let left_out = read.list("posts.left_out");
            Ok(named
                .into_iter()
                .filter(|name| !left_out.contains(name))
                .collect())
        }
        true => Err(problem(
            REQUIRED_BANK_MEMBERS,
            "destinationAccountNo among them: without it nobody knows who is paid",
        )),
        false => Err(problem(
            REQUIRED_BANK_MEMBERS,
            "the document's names: destinationBankCode, destinationBankName, destinationAccountName, destinationAccountNo (what this \
             gateway calls them stands below members)",
        )),
    }
}

/// Reads which operations there are not.
fn absent(read: Read<'_>) -> Result<BTreeSet<Operation>, Problem> {
    const KEY: &str = "operations.absent";
    let may_be = |(operation, name, _): &&(Operation, &str, &str)| {
        !matches!(operation, Operation::Post | Operation::Status) && !name.is_empty()
    };
    let known = || Operation::ALL.iter().filter(may_be);
    read.list(KEY)
        .into_iter()
        .map(|text| {
            let found = known().find(|(_, name, _)| *name == text);
            found.map(|(operation, ..)| *operation).ok_or_else(|| {
                let expected = "some of bill, float, account: every gateway takes payments and tells what became of them";
                problem(KEY, expected)
            })
        })
        .collect()
}

/// Reads which members posts do not have.
fn left_out(read: Read<'_>) -> Result<BTreeSet<String>, Problem> {
    const KEY: &str = "posts.left_out";
    let named: BTreeSet<String> = read.list(KEY).into_iter().collect();
    let has = |name: &str| named.contains(name);
    if let Some(other) = named.iter().find(|name| !LEAVABLE.contains(&name.as_str())) {
        let expected = format!("some of {}; every post has {other}", LEAVABLE.join(", "));
        return Err(problem(KEY, expected));
    }
    let required = read.list(REQUIRED_BANK_MEMBERS);
    let is_default = !read.values.contains_key(REQUIRED_BANK_MEMBERS);
    if let Some(both) = named
        .iter()
        .find(|name| !is_default && required.contains(name))
    {
        let expected = format!("no {both}, which bank.required_members asks for");
        return Err(problem(KEY, expected));
    }
    if has("callbackUrl") && read.text("callbacks.address") == "per_payment" {
        let expected = "callbackUrl to be written, or callbacks.address = \"fixed\": without it nobody knows where this payment's callback goes";
        return Err(problem(KEY, expected));
    }
    if has("extraData") && !(has("callbackUrl") && has("pushToOriginator")) {
        let expected = "pushToOriginator and callbackUrl left out, too: extraData holds them";
        return Err(problem(KEY, expected));
    }
    Ok(named)
}

fn extra_type(text: &str) -> ExtraType {
    match text {
        "boolean" => ExtraType::Boolean,
        "number" => ExtraType::Number,
        "object" => ExtraType::Object,
        _ => ExtraType::Text,
    }
}

/// Reads the members' names. Two members of one object with one name, or with names that a lenient reader holds for one, are
/// refused.
fn names(read: Read<'_>) -> Result<Names, Problem> {
    let mut names = Names::default();
    for ours in MEMBERS {
        let key = format!("members.{ours}");
        let theirs = read.text(&key);
        // Letters of any script, and what a keyboard has: a character that nobody sees would never match.
        let is_seen = |c: char| c.is_alphanumeric() || c == ' ' || c.is_ascii_graphic();
        if theirs.trim() != theirs || !theirs.chars().all(is_seen) {
            let expected = "a name without spaces at its ends, and without invisible characters";
            return Err(problem(&key, expected));
        }
        if Place::Packet.has(ours) && ours != CURRENCY.1 && theirs.eq_ignore_ascii_case(CURRENCY.0)
        {
            let expected = "another name: a currency is read under this one";
            return Err(problem(&key, expected));
        }
        names.rename(ours, &theirs);
    }
    for place in Place::ALL {
        let mut taken: BTreeMap<String, &str> = BTreeMap::new();
        for ours in MEMBERS.into_iter().filter(|ours| place.has(ours)) {
            let theirs = names.theirs(ours);
            let Some(other) = taken.insert(theirs.to_lowercase(), ours) else {
                continue;
            };
            // The one that was renamed is the one that a person wrote.
            let written = match read.values.contains_key(&format!("members.{ours}")) {
                true => ours,
                false => other,
            };
            let expected =
                format!("a name of its own: {other} and {ours} would both be {theirs:?}");
            return Err(problem(&format!("members.{written}"), expected));
        }
    }
    Ok(names)
}

fn signing(read: Read<'_>, table: &str) -> Result<Option<Signing>, Problem> {
    let key = |last: &str| format!("{table}.{last}");
    let algorithm = match read.text(&key("algorithm")).as_str() {
        "hmac-sha256" => Algorithm::HmacSha256,
        "rsa-sha256" => Algorithm::RsaSha256,
        // Who names a key means that something is signed.
        _ if read.filled(&key("key_file")).is_some() => {
            return Err(problem(
                &key("key_file"),
                "an algorithm beside it: without one nothing is signed",
            ));
        }
        _ => return Ok(None),
    };
    let key_file = read
        .filled(&key("key_file"))
        .ok_or_else(|| problem(&key("algorithm"), "a key_file beside it"))?;
    let signing = Signing {
        algorithm,
        key_file: read.folder.join(key_file),
        header: read.text(&key("header")),
        encoding: match read.text(&key("encoding")).as_str() {
            "hex" => Encoding::Hex,
            _ => Encoding::Base64,
        },
        timestamp_header: read.filled(&key("timestamp_header")),
    };
    let same = |name: &String| name.eq_ignore_ascii_case(&signing.header);
    if signing.timestamp_header.as_ref().is_some_and(same) {
        let expected = "another header than the signature's";
        return Err(problem(&key("timestamp_header"), expected));
    }
    Ok(Some(signing))
}

fn replies(read: Read<'_>) -> Result<Replies, Problem> {
    let refused = read.list("replies.upload_refused");
    let upload_refused: Option<Vec<_>> = refused
        .iter()
        .map(|text| {
            let (member, value) = text.split_once('=')?;
            Some((member.to_owned(), value.to_owned()))
        })
        .collect();
    let description = read.filled("replies.not_found_description");
    if description
        .as_ref()
        .is_some_and(|words| words.trim().is_empty())
    {
        let expected =
            "words, not blanks: a failure of another kind could have the same description";
        return Err(problem("replies.not_found_description", expected));
    }
    let not_found_words = match (
        read.numbers("replies.not_found_code").as_slice(),
        description,
    ) {
        ([], None) => None,
        ([code], Some(description)) => Some((*code, description)),
        ([_], None) => {
            return Err(problem(
                "replies.not_found_code",
                "not_found_description beside it: the code alone may mean a failure of any kind",
            ));
        }
        _ => {
            return Err(problem(
                "replies.not_found_description",
                "one not_found_code beside it",
            ));
        }
    };
    Ok(Replies {
        has_auth_status: read.text("replies.auth_status") == "required",
        authenticated: read.numbers("replies.authenticated"),
        not_authenticated: read.numbers("replies.not_authenticated"),
        account_valid: read.numbers("replies.account_valid"),
        account_invalid: read.numbers("replies.account_invalid"),
        account_unavailable: read.numbers("replies.account_unavailable"),
        bill_found: read.numbers("replies.bill_found"),
        no_bill: read.numbers("replies.no_bill"),
        document_reference: read.list("replies.document_reference"),
        upload_refused: upload_refused.ok_or_else(|| {
            problem(
                "replies.upload_refused",
                r#"texts such as "state=REJECTED""#,
            )
        })?,
        not_found_words,
        server_errors: read.flag("replies.server_errors"),
    })
}

fn callbacks(read: Read<'_>) -> Result<Callbacks, Problem> {
    let packet = read.text("callbacks.packet");
    let packet: Vec<String> = match packet.as_str() {
        "" => Vec::new(),
        path => path.split('.').map(str::to_owned).collect(),
    };
    if packet.len() > 4 || packet.iter().any(String::is_empty) {
        let expected = r#"up to 4 names with points between them, such as "payload.packet""#;
        return Err(problem("callbacks.packet", expected));
    }
    let secret = match (
        read.filled("callbacks.secret_header"),
        read.filled("callbacks.secret_file"),
    ) {
        (None, None) => None,
        (Some(name), Some(file)) => Some((name, read.folder.join(file))),
        (Some(_), None) => {
            return Err(problem("callbacks.secret_header", "secret_file beside it"));
        }
        (None, Some(_)) => {
            return Err(problem("callbacks.secret_file", "secret_header beside it"));
        }
    };
    let number = |key: &str| read.text(key).parse().unwrap_or_default();
    Ok(Callbacks {
        functions: read.list("callbacks.functions"),
        may_be_several: read.text("callbacks.packets") == "many",
        packet,
        address_per_payment: read.text("callbacks.address") == "per_payment",
        acknowledgement: Acknowledgement {
            form: match read.text("callbacks.acknowledgement.form").as_str() {
                "flat" => AcknowledgementForm::Flat,
                "empty" => AcknowledgementForm::Empty,
                _ => AcknowledgementForm::Envelope,
            },
            code: number("callbacks.acknowledgement.code"),
            description: read.text("callbacks.acknowledgement.description"),
            auth_code: number("callbacks.acknowledgement.auth_code"),
            codes_as_text: read.text("callbacks.acknowledgement.codes") == "text",
        },
        secret,
        signing: signing(read, "callbacks.signing")?,
    })
}

/// What is said of two operations that nobody could tell apart.
pub const ALIKE: &str = "a function or a path of its own: the gateway cannot tell apart two operations with the same path, method and function, and could take a question for a payment";
