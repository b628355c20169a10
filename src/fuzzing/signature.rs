//! Signatures, files of signers, signed texts and heads that others have written.

use crate::domain::{BillId, PaymentId, Timestamp};
use crate::ledger::approval::signers::Signers;
use crate::ledger::approval::ssh::{PublicKey, Signature};
use crate::ledger::approval::text::Claimed;
use crate::ledger::heads;

/// What is no signature is refused in words; nothing that was read verifies over a text that nobody signed.
pub fn signature(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Signature::parse(&text) {
        Ok(signature) => {
            assert!(signature.verify(b"a text that nobody has signed").is_err());
            assert!(signature.key().fingerprint().starts_with("SHA256:"));
        }
        Err(error) => super::assert_shown(&error.to_string(), 800),
    }
    match Signers::parse(&text) {
        Ok(signers) => {
            assert_eq!(signers.text(), text);
            if let Ok(key) = PublicKey::of_line(&text) {
                assert!(
                    signers
                        .may_sign("", &key, Timestamp::from_millis(0))
                        .is_err()
                );
            }
        }
        Err(mistake) => assert!(mistake.line <= text.lines().count()),
    }
    if let Some(claimed) = Claimed::read(&text) {
        assert!(claimed.bound.instruction >= PaymentId::NONE && claimed.bound.bill >= BillId::NONE);
    }
    if let Err((line, _)) = heads::read(&text) {
        assert!(line <= text.lines().count());
    }
}
