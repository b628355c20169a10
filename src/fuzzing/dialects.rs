//! The dialect of an input: its first byte says which of those that come along.

use std::sync::{Arc, LazyLock};

use serde_json::Value;

use crate::cli::config::{BUILT_IN_DIALECTS, Origin, read_dialect};
use crate::dialect::Dialect;

/// The dialects that come along, in the order of their list.
static ALL: LazyLock<Vec<Arc<Dialect>>> = LazyLock::new(|| {
    let read = |(name, _)| read_dialect(name, &Origin::Flag, true).unwrap().dialect;
    BUILT_IN_DIALECTS.into_iter().map(read).collect()
});

/// The first bytes of inputs, one for every dialect, and once more where its words for "not found" count.
#[cfg(test)]
pub(super) const FIRST_BYTES: &[u8; 8] = b"01234567";

/// A dialect as an input has it.
pub(super) struct Spoken {
    pub(super) dialect: &'static Dialect,
    /// Whether the gateway was seen to refuse an identifier that it has.
    pub(super) not_found_words_count: bool,
}

/// Takes the first byte off an input.
pub(super) fn spoken(bytes: &[u8]) -> (Spoken, &[u8]) {
    let (first, rest) = bytes.split_first().unwrap_or((&b'0', &[]));
    let spoken = Spoken {
        dialect: &ALL[usize::from(*first) % ALL.len()],
        not_found_words_count: first & 4 != 0,
    };
    (spoken, rest)
}

impl Spoken {
    /// The member that the document calls so.
    pub(super) fn of<'v>(&self, value: &'v Value, ours: &str) -> &'v Value {
        &value[self.dialect.names.theirs(ours)]
    }

    /// The entries of a reply.
    pub(super) fn entries<'v>(&self, read: &'v Value) -> &'v [Value] {
        match self.of(read, "results") {
            Value::Array(entries) => entries,
            single => std::slice::from_ref(single),
        }
    }
}
