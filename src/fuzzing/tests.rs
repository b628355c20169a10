//! Every promise, held over the committed corpora, over what becomes of their files, and over naughty texts.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use super::TARGETS;
use super::dialects::FIRST_BYTES;

/// Longer inputs than this say nothing that shorter ones do not.
const BYTES_MAX: usize = 16 * 1024;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// Returns the corpus of a target by name, in one order on every machine.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = folder().join("corpus").join(target);
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{target} has no corpus");
    files
}

/// Texts that have broken programs before.
fn naughty() -> Vec<String> {
    let text = fs::read_to_string(folder().join("naughty.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn of(name: &str) -> fn(&[u8]) {
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    target.unwrap().1
}

/// Runs a target; a broken promise is told with the bytes that broke it.
#[track_caller]
fn hold(target: &str, bytes: &[u8], what: &str) {
    let run = of(target);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(bytes))) {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let text = text.unwrap_or_default();
        panic!("{target}, {what}: {text}\nb\"{}\"", bytes.escape_ascii());
    }
}

/// Targets whose inputs begin with the byte of a dialect.
const IN_DIALECTS: [&str; 3] = ["callback", "operation", "reply"];

/// An input in every dialect where it has one, the one that it is kept with first.
fn in_every_dialect(target: &str, bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![bytes.to_vec()];
    if let (true, Some((_, rest))) = (IN_DIALECTS.contains(&target), bytes.split_first()) {
        let first = FIRST_BYTES.iter();
        all.extend(first.map(|byte| [&[*byte], rest].concat()));
    }
    all
}

/// Runs a target over its corpus, and over so many mutations of each file, the same ones each time.
fn corpus_and_mutations(target: &str, mutations: u32) {
    let files = corpus(target);
    let words = naughty();
    for (name, bytes) in &files {
        let spoken = in_every_dialect(target, bytes);
        for bytes in &spoken {
            hold(target, bytes, name);
        }
        let mut hash = DefaultHasher::new();
        name.hash(&mut hash);
        let mut random = fastrand::Rng::with_seed(hash.finish());
        for number in 0..mutations {
            let bytes = random.choice(&spoken).expect("it is there itself");
            let mutated = mutated(&mut random, bytes, &files, &words);
            hold(target, &mutated, &format!("mutation {number} of {name}"));
        }
    }
}

/// Flips, cuts, repeats, joins: one to four of them.
fn mutated(
    random: &mut fastrand::Rng,
    bytes: &[u8],
    files: &[(String, Vec<u8>)],
    words: &[String],
) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.usize(1..=4) {
        let length = bytes.len();
        let at = random.usize(0..=length);
        let to = random.usize(at..=length.min(at + 64));
        match random.u8(0..9) {
            0 | 1 if at < length => bytes[at] ^= 1 << random.u8(0..8),
            2 if at < length => bytes[at] = random.u8(..),
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(at..to)),
            5 => {
                let again = bytes[at..to].to_vec();
                bytes.splice(at..at, again);
            }
            6 => {
                let (_, other) = &files[random.usize(0..files.len())];
                let from = random.usize(0..=other.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            7 => {
                let special = b"\"',;:|\t\r\n{}[]\\=+-@<>&\0#0.9eE/%";
                let one = special[random.usize(0..special.len())];
                bytes.insert(at, one);
            }
            _ => {
                let word = &words[random.usize(0..words.len())];
                bytes.splice(at..to, word.bytes().take(256));
            }
        }
    }
    bytes.truncate(BYTES_MAX);
    bytes
}

#[test]
fn amounts_are_exact_or_refused_whatever_the_text() {
    corpus_and_mutations("amount", 300);
}

#[test]
fn a_callback_says_what_its_packet_says_whatever_the_body() {
    corpus_and_mutations("callback", 200);
}

#[test]
fn a_camt_is_read_whole_or_refused_with_its_place_whatever_the_bytes() {
    corpus_and_mutations("camt", 60);
}

#[test]
fn a_configuration_is_refused_with_its_place_and_without_its_password() {
    corpus_and_mutations("configuration", 30);
}

#[test]
fn every_row_of_csv_is_good_or_has_its_error_and_is_the_row_that_stands_there() {
    corpus_and_mutations("csv", 60);
}

#[test]
fn identifiers_have_one_form_whatever_the_text() {
    corpus_and_mutations("identifiers", 60);
}

#[test]
fn every_row_of_json_is_good_or_has_its_error_and_is_the_row_that_stands_there() {
    corpus_and_mutations("json", 60);
}

#[test]
fn an_mt940_adds_up_or_is_refused_whatever_the_bytes() {
    corpus_and_mutations("mt940", 100);
}

#[test]
fn a_token_is_twenty_digits_that_stand_in_the_narration() {
    corpus_and_mutations("narration", 300);
}

#[test]
fn an_operation_answers_what_the_reply_says_whatever_the_body() {
    corpus_and_mutations("operation", 200);
}

#[test]
fn every_transfer_of_a_message_is_good_or_has_its_error_whatever_the_bytes() {
    corpus_and_mutations("pain001", 60);
}

#[test]
fn a_pdf_is_taken_only_whole_and_open_whatever_the_bytes() {
    corpus_and_mutations("pdf", 30);
}

#[test]
fn no_payment_ends_without_a_definite_entry_about_it_whatever_the_body() {
    corpus_and_mutations("reply", 200);
}

#[test]
fn no_report_runs_what_it_shows_whatever_the_text() {
    corpus_and_mutations("report", 10);
}

#[test]
fn every_row_of_a_workbook_is_good_or_has_its_error_whatever_the_bytes() {
    corpus_and_mutations("workbook", 60);
}

#[test]
fn a_statement_is_read_whole_or_refused_with_its_place_whatever_the_bytes() {
    corpus_and_mutations("statement", 60);
}

#[test]
fn no_text_steers_a_terminal() {
    corpus_and_mutations("terminal", 200);
}

/// Where a text may stand in each kind of input; `$` is the text, `$$` the text as JSON has it.
const PLACES: [(&str, &str); 21] = [
    ("amount", "$"),
    ("identifiers", "$"),
    ("narration", "$"),
    ("narration", "Token: $ 1234 5678 9012 3456 7890"),
    ("terminal", "$"),
    ("report", "$"),
    (
        "csv",
        "reference,msisdn,amount,narration\n$,254712345678,50,\"$\"\n",
    ),
    (
        "csv",
        "msisdn,amount,extra.note,document\n$,$,$,$\nx,254712345678,50\n",
    ),
    ("csv", "msisdn,amount,extra.$\n254712345678,50,x\n"),
    (
        "json",
        r#"[{"reference":$$,"msisdn":"254712345678","amount":50,"narration":$$,"extra":{"note":$$}}]"#,
    ),
    (
        "json",
        r#"[{"msisdn":$$,"amount":$$,"account_number":$$},{$$:1},{"extra":{$$:$$}},$$]"#,
    ),
    (
        "json",
        "{\"msisdn\":254712345678,\"amount\":$}\n{\"msisdn\":\"254712345678\",\"amount\":50,\"extra.a\":$$}\n",
    ),
    (
        "reply",
        "0post 200\n{\"authStatus\":{\"authStatusCode\":131,\"authStatusDescription\":$$},\"results\":[{\"payerTransactionID\":\"AAAAAAAAAAAAAAAAAAAAAAAAAA\",\"statusCode\":139,\"statusDescription\":$$,\"gatewayTransactionID\":$$,\"receiptNumber\":$$,\"receiverNarration\":$$}]}",
    ),
    (
        "reply",
        "0status 200\n{\"results\":[{\"payerTransactionID\":$$,\"statusCode\":$$},{\"payerTransactionID\":\"AAAAAAAAAAAAAAAAAAAAAAAAAA\",\"statusCode\":140,\"receiptNumber\":[$$]}]}",
    ),
    (
        "callback",
        r#"0{"function":"GATEWAY.pushPaymentStatus","payload":{"packet":{"statusCode":140,"payerTransactionID":$$,"statusDescription":$$,"amount":$$,"receiverNarration":$$}}}"#,
    ),
    (
        "operation",
        "0bill 200\n[{\"accountNumber\":\"0099887766\",\"statusCode\":308,\"dueAmount\":$$,\"currency\":\"KES\",\"dueDate\":$$,\"customerName\":$$}]",
    ),
    (
        "operation",
        "0token 400\n{\"error\":$$,\"error_description\":$$}",
    ),
    (
        "operation",
        "0token 200\n{\"access_token\":$$,\"expires_in\":$$}",
    ),
    ("operation", "0upload 200\n{\"id\":$$}$"),
    (
        "configuration",
        "variable 0\n[profiles.$$]\n$$ = $$\n[columns]\n$$ = $$\n",
    ),
    (
        "configuration",
        "variable 0\n[profiles.p]\nbase_url = $$\noriginator = $$\n[services.$$]\nkind = $$\n",
    ),
];

#[test]
fn naughty_texts_break_nothing_wherever_they_stand() {
    for text in naughty() {
        let json = serde_json::to_string(&text).unwrap();
        for (target, place) in PLACES {
            let input = place
                .replace("$$", "\u{1}")
                .replace('$', &text)
                .replace('\u{1}', &json);
            for input in in_every_dialect(target, input.as_bytes()) {
                hold(target, &input, place);
            }
        }
    }
}

/// What a conforming reader must take (y), must refuse (n), and may treat either way (i).
#[test]
fn json_is_taken_and_refused_as_the_standard_has_it() {
    use crate::gateway::Scrub;
    use crate::gateway::wire::{Unreadable, read_envelope};
    use serde_json::value::RawValue;

    let mut seen = [0; 3];
    for (name, bytes) in corpus("json") {
        let Some((kind @ ("y" | "n" | "i"), _)) = name.split_once('_') else {
            continue;
        };
        seen["yni".find(kind).unwrap()] += 1;
        let refusal = read_envelope(&bytes, &Scrub::nothing()).err();
        let refused = !matches!(refusal, None | Some(Unreadable::OtherForm));
        match kind {
            "y" => assert!(!refused, "{name}: {refusal:?}"),
            "n" => {
                assert!(refused, "{name} was read as a reply");
                assert!(
                    serde_json::from_slice::<&RawValue>(&bytes).is_err(),
                    "{name} is no n_"
                );
            }
            _ => {}
        }
    }
    assert!(seen.iter().all(|count| *count >= 5), "{seen:?}");
}

/// What reads nothing in a dialect would hold every promise.
#[test]
fn the_corpus_of_every_dialect_holds_what_is_read() {
    use crate::gateway::offline::{self, Question};
    use crate::gateway::{Scrub, Signal, read_callbacks};
    use crate::lifecycle::CodeTable;

    for first in FIRST_BYTES.iter().take(4) {
        let own = |target| {
            let files = corpus(target).into_iter().map(|(_, bytes)| bytes);
            files.filter(|bytes| bytes.first() == Some(first))
        };
        let shown = char::from(*first);
        let read = own("callback").filter(|bytes| {
            let (spoken, body) = super::dialects::spoken(bytes);
            let codes = CodeTable::default();
            read_callbacks(body, spoken.dialect, &codes, &Scrub::nothing()).is_ok()
        });
        assert!(read.count() >= 2, "callbacks of {shown}");
        let ids =
            super::replies::IDS.map(|id| crate::domain::PayerTransactionId::parse(id).unwrap());
        let read = own("reply").filter(|bytes| {
            let (spoken, bytes) = super::dialects::spoken(bytes);
            let (head, body) = super::head(bytes);
            let status = head.number.unwrap_or(200);
            let question = Question::Status;
            let reply = offline::reply(spoken.dialect, false, question, &ids, status, body, "p");
            reply.signal == Signal::Healthy
        });
        assert!(read.count() >= 2, "replies of {shown}");
    }
}

#[test]
fn the_committed_corpus_is_small() {
    let mut total = 0;
    for (target, _) in TARGETS {
        for (name, bytes) in corpus(target) {
            assert!(
                bytes.len() <= 80 * 1024,
                "{target}/{name} has {} bytes",
                bytes.len()
            );
            total += bytes.len();
        }
    }
    assert!(total < 2_000_000, "{total} bytes");
}

#[test]
fn every_target_has_its_program() {
    let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let programs: Vec<&str> = manifest["bin"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bin| bin["name"].as_str().unwrap())
        .collect();
    assert_eq!(programs, TARGETS.map(|(name, _)| name));
    for name in programs {
        let source = fs::read_to_string(folder().join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(
            source.contains(&format!("disburse::fuzzing::{name}(bytes)")),
            "{source}"
        );
    }
}
