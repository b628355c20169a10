//! The supporting documents that were uploaded (sections 2.5 and 4.3). Their bytes are not kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// How many identifiers may have a document.
const DOCUMENTS_MAX: usize = 100_000;

/// A document as the file service knows it.
// No Debug: a file's name may name its owner.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::sandbox) struct Document {
    /// What the payment names as its `supportDocument`.
    pub reference: Box<str>,
    /// The name the file was sent under.
    pub name: Box<str>,
    /// How many bytes it has.
    pub size: u64,
    /// SHA-256 over its bytes, as hexadecimal digits.
    pub sha256: Box<str>,
}

/// The documents by `payerTransactionId`.
#[derive(Default)]
pub(in crate::sandbox) struct Documents(BTreeMap<Arc<str>, Document>);

impl Documents {
    /// The document that was uploaded last under an identifier.
    pub fn of(&self, id: &str) -> Option<&Document> {
        self.0.get(id)
    }

    /// Whether a further identifier finds no room.
    pub fn is_full(&self) -> bool {
        self.0.len() >= DOCUMENTS_MAX
    }

    /// Keeps a document; a later one of the same identifier takes its place.
    pub fn keep(&mut self, id: Arc<str>, document: Document) {
        self.0.insert(id, document);
    }

    /// How many identifiers have one.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The documents in the order of their identifiers.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Document)> {
        self.0.iter()
    }
}
