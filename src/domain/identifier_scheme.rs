//! What the identifiers of a batch are derived from.

use sha2::{Digest, Sha256};

use super::identifier::PayerTransactionId;
use super::identifier_form::IdentifierForm;
use super::{BatchName, Originator, Reference};

/// What tells one row of a batch from every other: its reference, or its content and how many equal rows stand above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowKey<'a> {
    /// The row has a reference.
    Reference(&'a Reference),
    /// The row has none.
    Content {
        /// SHA-256 over the row's fields, see [`super::Instruction::content_hash`].
        hash: [u8; 32],
        /// How many equal rows stand above this one in the file.
        above: u32,
    },
    /// The row corrects a payment that has failed.
    Corrected {
        /// The payment that failed.
        predecessor: PayerTransactionId,
        /// SHA-256 over the corrected row's fields.
        hash: [u8; 32],
    },
}

impl RowKey<'_> {
    /// Returns the key of the retry of a payment without a reference: among equal rows its identifier tells which one it is.
    #[must_use]
    pub fn of_predecessor(id: PayerTransactionId) -> Self {
        let text = id.as_str().as_bytes();
        let mut hash = [0; 32];
        // A longer one does not fit: its digest stands for it.
        match hash.get_mut(..text.len()) {
            Some(place) => place.copy_from_slice(text),
            None => hash = Sha256::digest(text).into(),
        }
        Self::Content { hash, above: 0 }
    }
}

/// What the identifiers of a batch rest on, beside the rows. It never changes for a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentifierScheme {
    /// Who pays.
    pub originator: Originator,
    /// The batch's name.
    pub batch: BatchName,
    /// How they are written.
    pub form: IdentifierForm,
}

impl IdentifierScheme {
    /// Derives the identifier of a row. The same arguments give the same identifier on every machine, for ever.
    #[must_use]
    pub fn derive(&self, key: &RowKey<'_>, generation: u32) -> PayerTransactionId {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend_from_slice(b"disburse/payerTransactionID/1");
        let mut part = |part: &[u8]| {
            bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bytes.extend_from_slice(part);
        };
        part(self.originator.as_str().as_bytes());
        part(self.batch.as_str().as_bytes());
        match key {
            RowKey::Reference(reference) => {
                part(b"reference");
                part(reference.as_str().as_bytes());
            }
            RowKey::Content { hash, above } => {
                part(b"content");
                part(hash);
                part(&above.to_be_bytes());
            }
            RowKey::Corrected { predecessor, hash } => {
                part(b"corrected");
                part(predecessor.as_str().as_bytes());
                part(hash);
            }
        }
        part(&generation.to_be_bytes());
        self.form.write(&Sha256::digest(&bytes).into())
    }

    /// Derives the identifier of the retry of a payment.
    #[must_use]
    pub fn of_retry(
        &self,
        id: PayerTransactionId,
        reference: Option<&Reference>,
        generation: u32,
    ) -> PayerTransactionId {
        let next = generation.saturating_add(1);
        if let Some(reference) = reference {
            let key = RowKey::Reference(reference);
            // Once a row was corrected, its reference no longer tells what is paid.
            if self.derive(&key, generation) == id {
                return self.derive(&key, next);
            }
        }
        self.derive(&RowKey::of_predecessor(id), next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scheme(originator: &str, batch: &str, form: &str) -> IdentifierScheme {
        IdentifierScheme {
            originator: Originator::parse(originator).unwrap(),
            batch: BatchName::parse(batch).unwrap(),
            form: IdentifierForm::parse(form).unwrap(),
        }
    }

    fn id(originator: &str, batch: &str, reference: &str, generation: u32) -> PayerTransactionId {
        let reference = Reference::parse(reference).unwrap();
        scheme(originator, batch, "{base32:26}").derive(&RowKey::Reference(&reference), generation)
    }

    // The expected texts were computed with another program (Python's hashlib, uuid and integer arithmetic).
    #[test]
    fn an_identifier_never_changes_between_releases() {
        let reference = Reference::parse("EMP-1").unwrap();
        for (form, expected) in [
            ("{base32:26}", "D6XG76YFHSD4N4GSMC3R7K7EGS"),
            ("{base32:16}", "D6XG76YFHSD4N4GS"),
            ("PAY-{base32:20}", "PAY-D6XG76YFHSD4N4GSMC3R"),
            ("{uuid}", "69bb039b-cf8e-5a4a-9219-a30783ccee86"),
            ("ke_{uuid}", "ke_69bb039b-cf8e-5a4a-9219-a30783ccee86"),
        ] {
            let scheme = scheme("acme", "payroll-2026-11", form);
            let found = scheme.derive(&RowKey::Reference(&reference), 0);
            assert_eq!(found.as_str(), expected, "{form}");
        }
    }

    #[test]
    fn every_argument_counts_and_none_can_borrow_from_its_neighbour() {
        let base = id("acme", "payroll", "EMP-1", 0);
        for other in [
            id("acmep", "ayroll", "EMP-1", 0),
            id("acme", "payroll2", "EMP-1", 0),
            id("acme", "payroll", "EMP-2", 0),
            id("acme", "payroll", "EMP-1", 1),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn a_reference_and_a_content_of_the_same_bytes_differ() {
        let scheme = scheme("acme", "b", "{base32:26}");
        let above = |above| RowKey::Content {
            hash: [7; 32],
            above,
        };
        assert_ne!(scheme.derive(&above(0), 0), scheme.derive(&above(1), 0));
    }

    // That of 26 characters is the one that earlier releases derived.
    #[test]
    fn a_retry_without_a_reference_comes_from_the_payment_before_in_every_form() {
        for form in ["{base32:26}", "{base32:16}", "{uuid}", "PAY-{uuid}"] {
            let scheme = scheme("acme", "b", form);
            let first = scheme.derive(
                &RowKey::Content {
                    hash: [7; 32],
                    above: 0,
                },
                0,
            );
            let second = scheme.of_retry(first, None, 0);
            let third = scheme.of_retry(second, None, 1);
            assert!(scheme.form.has(second.as_str()) && scheme.form.has(third.as_str()));
            assert!(
                first != second && second != third && first != third,
                "{form}"
            );
        }
        let scheme = scheme("acme", "b", "{base32:26}");
        let first = PayerTransactionId::parse("D6XG76YFHSD4N4GSMC3R7K7EGS").unwrap();
        let mut hash = [0; 32];
        hash[..26].copy_from_slice(b"D6XG76YFHSD4N4GSMC3R7K7EGS");
        let before = scheme.derive(&RowKey::Content { hash, above: 0 }, 1);
        assert_eq!(scheme.of_retry(first, None, 0), before);
    }

    proptest! {
        #[test]
        fn identifiers_survive_text(reference in "[ -~]{1,128}", generation in 0_u32..9) {
            let reference = Reference::parse(&reference).unwrap();
            for form in ["{base32:26}", "{base32:16}", "x.y_{base32:23}", "{uuid}", "prefix-of-12{uuid}"] {
                let scheme = scheme("acme", "b", form);
                let id = scheme.derive(&RowKey::Reference(&reference), generation);
                prop_assert_eq!(PayerTransactionId::parse(id.as_str()), Some(id));
                prop_assert!(scheme.form.has(id.as_str()));
                prop_assert_eq!(scheme.form.unpack(&scheme.form.pack(&id)), Some(id));
            }
        }
    }
}
