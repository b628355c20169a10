//! What a batch keeps of a dialect: a digest of what differs from the document.

use sha2::{Digest as _, Sha256};

use super::types::{Affects, Dialect};

impl Dialect {
    /// Returns the digest of what shapes the bytes that are sent; `None` where nothing differs from the document.
    #[must_use]
    pub fn request_digest(&self) -> Option<String> {
        self.digest_of(Affects::Requests)
    }

    /// Returns the digest of how replies and callbacks are read; `None` where nothing differs from the document.
    #[must_use]
    pub fn reading_digest(&self) -> Option<String> {
        self.digest_of(Affects::Reading)
    }

    /// Returns the keys whose values differ from the document's.
    pub fn differing(&self) -> impl Iterator<Item = &str> {
        self.differing.keys().map(String::as_str)
    }

    /// Each key and value is preceded by its length, so that no two sets of them give the same bytes.
    fn digest_of(&self, affects: Affects) -> Option<String> {
        let mut digest = Sha256::new();
        let mut some = false;
        for (key, (_, values)) in self.differing.iter().filter(|(_, (of, _))| *of == affects) {
            some = true;
            for text in std::iter::once(key).chain(values) {
                digest.update((text.len() as u64).to_be_bytes());
                digest.update(text);
            }
            digest.update(u64::MAX.to_be_bytes());
        }
        some.then(|| data_encoding::HEXLOWER.encode(&digest.finalize()[..8]))
    }
}
