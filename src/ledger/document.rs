//! Whether a document that the file service has already is the one that is to be sent (section 4.3).

/// What is known of earlier uploads for one payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlierUploads {
    /// None is on record.
    None,
    /// All that were begun had the same bytes.
    Same,
    /// One of them had other bytes.
    Other,
}

impl EarlierUploads {
    /// Returns what the digests of earlier uploads say about bytes with this digest.
    #[must_use]
    pub fn of<'a>(digest: &[u8; 32], earlier: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut found = Self::None;
        for other in earlier {
            if other != digest {
                return Self::Other;
            }
            found = Self::Same;
        }
        found
    }
}

/// Returns whether "there is one already" speaks of these bytes, after they have been sent `copies` times by this run.
///
/// An identifier is ours alone: what is there under it came from here. It is the same document when nothing else was ever
/// sent, and these bytes were sent before; whose reply was lost.
#[must_use]
pub fn is_there_already(earlier: EarlierUploads, copies: u32) -> bool {
    let is_there = match earlier {
        EarlierUploads::Same => true,
        EarlierUploads::None => copies > 1,
        EarlierUploads::Other => false,
    };
    planted!(ledger::is_there_already(is_there))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytes_that_were_sent_before_and_no_others_are_there_already() {
        let (a, b) = ([1; 32], [2; 32]);
        for (earlier, copies, there) in [
            (vec![], 1, false),
            (vec![], 2, true),
            (vec![a], 1, true),
            (vec![a, a], 1, true),
            (vec![b], 1, false),
            (vec![b], 5, false),
            (vec![a, b], 5, false),
        ] {
            let found = EarlierUploads::of(&a, earlier.iter().map(|digest| &digest[..]));
            assert_eq!(
                is_there_already(found, copies),
                there,
                "{found:?}, {copies}"
            );
        }
        let _awake = crate::seeded_bugs::SeededBug::AnyDocumentIsThere.wake();
        let other = EarlierUploads::of(&a, [&b[..]]);
        assert!(is_there_already(other, 5), "the table finds it");
    }
}
