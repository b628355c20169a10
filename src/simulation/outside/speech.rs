//! The gateway's words in a dialect, written from its data as texts: garbled bodies are put into it as well.

use std::sync::{Arc, LazyLock};

use super::packet::{Answer, Proof};
use crate::dialect::samples::{SAMPLES, of_text};
use crate::dialect::{Dialect, MEMBERS};

/// The dialects that come along.
static ALL: LazyLock<Vec<Arc<Dialect>>> = LazyLock::new(|| {
    let read = |(_, text)| Arc::new(of_text(text));
    SAMPLES.into_iter().map(read).collect()
});

const LET_IN: &str = r#""authStatus":{"authStatusCode":131,"authStatusDescription":""},"#;
const NOT_LET_IN: &str = r#""authStatus":{"authStatusCode":132,"authStatusDescription":""},"#;
const ABSENT: &str = r#""statusCode":143,"statusDescription":"""#;

/// The dialect of a seed.
#[derive(Clone)]
pub(in crate::simulation) struct Speech {
    pub dialect: Arc<Dialect>,
    /// Whether the gateway was seen to refuse an identifier that it has.
    pub not_found_words_count: bool,
}

impl Speech {
    /// Three seeds of eight speak another dialect than the document's. While its words for "not found" do not count, the gateway
    /// says them of what it has, too.
    pub fn of(seed: u64) -> Self {
        let place = match seed % 8 {
            2 => 1,
            3 => 2,
            5 => 3,
            _ => 0,
        };
        Self {
            dialect: Arc::clone(&ALL[place]),
            not_found_words_count: seed % 16 < 8,
        }
    }

    /// Whether replies say who was let in.
    pub fn tells_who(&self) -> bool {
        self.dialect.replies.has_auth_status
    }

    /// Whether "not found" is said in words that prove nothing.
    pub fn denies_in_vain(&self) -> bool {
        self.dialect.replies.not_found_words.is_some() && !self.not_found_words_count
    }

    /// Whether the body of a server error is read.
    pub fn reads_server_errors(&self) -> bool {
        self.dialect.replies.server_errors
    }

    /// The code by which a payment is not there.
    pub fn not_found_code(&self) -> i32 {
        let words = self.dialect.replies.not_found_words.as_ref();
        words.map_or(143, |(code, _)| *code)
    }

    /// Puts an answer into the dialect, and takes from it what it does not prove here.
    pub fn said(&self, answer: Answer) -> Answer {
        let Answer::Body(status, body, mut proofs) = answer else {
            return answer;
        };
        if self.dialect.is_the_document() {
            return Answer::Body(status, body, proofs);
        }
        let Ok(mut text) = String::from_utf8(body) else {
            return Answer::nothing(status, Vec::new());
        };
        if let Some((code, words)) = &self.dialect.replies.not_found_words {
            let theirs = format!(r#""statusCode":{code},"statusDescription":"{words}""#);
            text = text.replace(ABSENT, &theirs);
        }
        if self.denies_in_vain() {
            proofs.retain(|(_, proof)| !matches!(proof, Proof::NotFound));
        }
        if !self.tells_who() && text.contains(NOT_LET_IN) {
            // The status alone says it, and nobody knows whose word that is.
            let body = self.named(text.replace(NOT_LET_IN, ""));
            return Answer::nothing(401, body.into_bytes());
        }
        if !self.tells_who() {
            text = text.replace(LET_IN, "");
        }
        Answer::Body(status, self.named(text).into_bytes(), proofs)
    }

    /// The body of a callback with this packet, in the document's words.
    pub fn pushed(&self, packet: String) -> String {
        if self.dialect.is_the_document() {
            return format!(
                r#"{{"function":"GATEWAY.pushPaymentStatus","countryCode":"KE","payload":{{"packet":{packet},"credentials":{{}}}}}}"#
            );
        }
        let callbacks = &self.dialect.callbacks;
        let own = callbacks
            .functions
            .iter()
            .find(|known| !known.starts_with('*'));
        let function = own.map_or("GATEWAY.pushPaymentStatus", String::as_str);
        let mut within = packet;
        for (depth, name) in callbacks.packet.iter().enumerate().rev() {
            let beside = match depth {
                0 => format!(r#""function":"{function}","countryCode":"KE","#),
                _ => String::new(),
            };
            within = format!(r#"{{{beside}"{name}":{within}}}"#);
        }
        self.named(within)
    }

    /// Gives members the dialect's names.
    fn named(&self, text: String) -> String {
        let renamed = MEMBERS.iter().filter_map(|ours| {
            let theirs = self.dialect.names.theirs(ours);
            (theirs != *ours).then_some((ours, theirs))
        });
        renamed.fold(text, |text, (ours, theirs)| {
            text.replace(&format!("\"{ours}\":"), &format!("\"{theirs}\":"))
        })
    }
}
