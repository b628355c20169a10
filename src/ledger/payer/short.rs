//! Names in the few letters that a mark has room for.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// Returns the few letters that stand for the name of a batch.
pub(super) fn digest_of(kept: &str) -> String {
    data_encoding::BASE32_NOPAD
        .encode(&Sha256::digest(kept.as_bytes())[..5])
        .to_ascii_lowercase()
}

/// So many letters are in such a digest; behind that of a name may stand that of the batch's identifiers.
const DIGEST: usize = 8;

/// Parts what is kept of a batch that ran long ago: the digest of its name, and that of its identifiers, empty where it is not known.
pub(super) fn halves(entry: &str) -> (&str, &str) {
    entry.split_at_checked(DIGEST).unwrap_or((entry, ""))
}

/// The longest text that is kept as it is.
const TEXT_MAX: usize = 80;

/// A text on one line of a mark, without blanks: one that is longer or odd is cut, and told apart by its digest.
pub(super) fn short(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
    if is_plain && (1..=TEXT_MAX).contains(&text.len()) && !text.starts_with('~') {
        return text.to_owned();
    }
    let digest = HEXLOWER.encode(&Sha256::digest(text.as_bytes())[..8]);
    let seen: String = text
        .chars()
        .take(40)
        .map(|c| if c.is_ascii_graphic() { c } else { '?' })
        .collect();
    format!("~{seen}~{digest}")
}

/// Returns what the name of a batch is kept as.
#[must_use]
pub fn key(batch: &str) -> String {
    short(batch)
}
