//! How identifiers are written: 26 characters of base32, fewer of them, or a UUID; each with a prefix where a gateway wants one.

use std::fmt;
use std::sync::{Arc, LazyLock};

use data_encoding::{Encoding, Specification};

use super::identifier::{IDENTIFIER_MAX, PayerTransactionId};

/// The form of the identifiers of a batch.
///
/// As a text it is `PREFIX{base32:26}` or `PREFIX{uuid}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdentifierForm {
    prefix: Option<Arc<str>>,
    tail: Tail,
}

/// What stands behind the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Tail {
    /// So many characters of Crockford base32, five bits each.
    Base32(u8),
    /// A UUID in small letters: version and variant as RFC 9562 has them for version 5, 122 bits of the digest.
    Uuid,
}

/// Characters of base32: at least 80 bits, and no more than there have always been.
const BASE32_MIN: u8 = 16;
const BASE32_MAX: u8 = 26;
/// Characters of a prefix, at most.
const PREFIX_MAX: usize = 12;
const UUID: usize = 36;
const _: () = assert!(PREFIX_MAX + UUID <= IDENTIFIER_MAX);
/// Bytes of a packed identifier.
pub const PACKED: usize = BASE32_MAX as usize;

const CROCKFORD: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Which bytes are among them: a million identifiers are read back for one report.
const IS_CROCKFORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < CROCKFORD.len() {
        table[CROCKFORD.as_bytes()[at] as usize] = true;
        at += 1;
    }
    table
};

static BASE32: LazyLock<Encoding> = LazyLock::new(|| {
    let mut specification = Specification::new();
    specification.symbols.push_str(CROCKFORD);
    specification
        .encoding()
        .expect("32 distinct ASCII symbols make an encoding")
});

/// What a form is to look like.
pub const EXPECTED: &str = r#"a prefix of up to 12 letters, digits, ".", "_" or "-", or none, and then {uuid} or {base32:16} to {base32:26}, such as "PAY-{base32:20}""#;

impl Default for IdentifierForm {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl IdentifierForm {
    /// Our 26 characters, 130 bits.
    pub const DEFAULT: Self = Self {
        prefix: None,
        tail: Tail::Base32(BASE32_MAX),
    };

    /// Reads a form; `None` unless it is as [`EXPECTED`] says.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (prefix, tail) = text.strip_suffix('}')?.split_once('{')?;
        let tail = match tail.strip_prefix("base32:") {
            None if tail == "uuid" => Tail::Uuid,
            None => return None,
            Some(length) => {
                let length: u8 = length.parse().ok()?;
                Tail::Base32(length)
            }
        };
        let form = Self {
            prefix: (!prefix.is_empty()).then(|| prefix.into()),
            tail,
        };
        let is_sound = match tail {
            Tail::Base32(length) => (BASE32_MIN..=BASE32_MAX).contains(&length),
            Tail::Uuid => true,
        };
        // One form has one text.
        (is_sound && is_prefix(prefix) && form.to_string() == text).then_some(form)
    }

    /// A form so short that two rows have one identifier.
    #[cfg(test)]
    pub(crate) fn colliding() -> Self {
        Self {
            prefix: Some("0".repeat(16).into()),
            tail: Tail::Base32(1),
        }
    }

    fn prefix(&self) -> &str {
        self.prefix.as_deref().unwrap_or_default()
    }

    /// Writes a digest in this form.
    #[must_use]
    pub fn write(&self, digest: &[u8; 32]) -> PayerTransactionId {
        let mut packed = [0; PACKED];
        match self.tail {
            Tail::Base32(length) => {
                // 20 bytes are 160 bits, 32 characters without padding; the first 26 of them are the first 130 bits.
                let mut text = [0_u8; 32];
                BASE32.encode_mut(&digest[..20], &mut text);
                let length = usize::from(length);
                packed[..length].copy_from_slice(&text[..length]);
            }
            Tail::Uuid => {
                packed[..16].copy_from_slice(&digest[..16]);
                packed[6] = (packed[6] & 0x0F) | 0x50;
                packed[8] = (packed[8] & 0x3F) | 0x80;
            }
        }
        self.unpack(&packed)
            .expect("what was just made is one of this form")
    }

    /// Returns whether a text is an identifier of this form.
    #[must_use]
    pub fn has(&self, text: &str) -> bool {
        text.strip_prefix(self.prefix())
            .is_some_and(|tail| match self.tail {
                Tail::Base32(length) => tail.len() == usize::from(length) && is_base32(tail),
                Tail::Uuid => is_uuid(tail),
            })
    }

    /// Returns a regular expression that the identifiers of this form match, and no other text.
    #[must_use]
    pub fn pattern(&self) -> String {
        let prefix = self.prefix().replace('.', r"\.");
        match self.tail {
            Tail::Base32(length) => format!("^{prefix}[0-9A-HJKMNP-TV-Z]{{{length}}}$"),
            Tail::Uuid => format!(
                "^{prefix}[0-9a-f]{{8}}-[0-9a-f]{{4}}-5[0-9a-f]{{3}}-[89ab][0-9a-f]{{3}}-[0-9a-f]{{12}}$"
            ),
        }
    }

    /// Returns whether a text is an identifier of some form.
    pub(super) fn is_of_some(text: &str) -> bool {
        if !text.is_ascii() || text.len() > IDENTIFIER_MAX {
            return false;
        }
        let uuid = text.len().checked_sub(UUID).map(|at| text.split_at(at));
        if uuid.is_some_and(|(prefix, tail)| is_prefix(prefix) && is_uuid(tail)) {
            return true;
        }
        // Where the prefix ends cannot be told: the shortest tail decides, as it may be all of it.
        (usize::from(BASE32_MIN)..=usize::from(BASE32_MAX)).any(|length| {
            let base32 = text.len().checked_sub(length).map(|at| text.split_at(at));
            base32.is_some_and(|(prefix, tail)| is_prefix(prefix) && is_base32(tail))
        })
    }

    /// Packs an identifier of this form into few bytes, in the order of the texts.
    #[must_use]
    pub fn pack(&self, id: &PayerTransactionId) -> [u8; PACKED] {
        let mut packed = [0; PACKED];
        let tail = id.as_str().get(self.prefix().len()..).unwrap_or_default();
        match self.tail {
            Tail::Base32(_) => {
                let length = tail.len().min(PACKED);
                packed[..length].copy_from_slice(&tail.as_bytes()[..length]);
            }
            Tail::Uuid => {
                let digits: Vec<u8> = tail.bytes().filter(|byte| *byte != b'-').collect();
                let bytes = data_encoding::HEXLOWER.decode(&digits).unwrap_or_default();
                let length = bytes.len().min(16);
                packed[..length].copy_from_slice(&bytes[..length]);
            }
        }
        packed
    }

    /// Unpacks what [`Self::pack`] made; `None` where it is none.
    #[must_use]
    pub fn unpack(&self, packed: &[u8; PACKED]) -> Option<PayerTransactionId> {
        if let (None, Tail::Base32(length)) = (&self.prefix, self.tail) {
            let text = std::str::from_utf8(&packed[..usize::from(length)]).ok()?;
            return is_base32(text)
                .then(|| PayerTransactionId::of_text(text))
                .flatten();
        }
        let mut text = self.prefix().to_owned();
        match self.tail {
            Tail::Base32(length) => {
                text.push_str(std::str::from_utf8(&packed[..usize::from(length)]).ok()?);
            }
            Tail::Uuid => {
                let digits = data_encoding::HEXLOWER.encode(&packed[..16]);
                for (at, part) in [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)] {
                    if at > 0 {
                        text.push('-');
                    }
                    text.push_str(&digits[at..part]);
                }
            }
        }
        self.has(&text)
            .then(|| PayerTransactionId::of_text(&text))
            .flatten()
    }
}

impl PayerTransactionId {
    /// Reads an identifier back; `None` unless it has a form that [`IdentifierForm`] can give it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match Self::is_one(text) {
            true => Self::of_text(text),
            false => None,
        }
    }

    /// Returns whether [`Self::parse`] takes the text.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        IdentifierForm::DEFAULT.has(text) || IdentifierForm::is_of_some(text)
    }
}

impl fmt::Display for IdentifierForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tail {
            Tail::Base32(length) => write!(f, "{}{{base32:{length}}}", self.prefix()),
            Tail::Uuid => write!(f, "{}{{uuid}}", self.prefix()),
        }
    }
}

/// Characters that no address, JSON text or spreadsheet has to escape.
fn is_prefix(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    // A cell that begins with a sign or a point is a number or a formula to a spreadsheet.
    let begins = text
        .as_bytes()
        .first()
        .is_none_or(u8::is_ascii_alphanumeric);
    text.len() <= PREFIX_MAX && begins && text.bytes().all(allowed)
}

fn is_base32(text: &str) -> bool {
    text.bytes().all(|byte| IS_CROCKFORD[usize::from(byte)])
}

fn is_uuid(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == UUID
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            14 => byte == b'5',
            19 => matches!(byte, b'8' | b'9' | b'a' | b'b'),
            _ => is_digit(byte),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_and_written_the_same_or_refused() {
        for (text, is_one) in [
            ("{base32:26}", true),
            ("{base32:16}", true),
            ("{uuid}", true),
            ("PAY-{base32:20}", true),
            ("prefix-of-12{uuid}", true),
            // Under 80 bits, and over what there is.
            ("{base32:15}", false),
            ("{base32:27}", false),
            ("{base32:016}", false),
            ("{base32:+16}", false),
            ("{base32:}", false),
            ("{base32}", false),
            ("prefix-of-13-{uuid}", false),
            ("-{uuid}", false),
            (".{uuid}", false),
            ("a/b{uuid}", false),
            ("é{uuid}", false),
            ("a{b{uuid}", false),
            ("{uuid}x", false),
            ("{UUID}", false),
            ("uuid", false),
            ("", false),
        ] {
            let form = IdentifierForm::parse(text);
            assert_eq!(form.is_some(), is_one, "{text}");
            assert!(form.is_none_or(|form| form.to_string() == text), "{text}");
        }
        assert_eq!(IdentifierForm::default().to_string(), "{base32:26}");
    }

    #[test]
    fn an_identifier_is_of_its_own_form_alone() {
        let form = |text| IdentifierForm::parse(text).unwrap();
        for (text, of, is) in [
            ("D6XG76YFHSD4N4GSMC3R7K7EGS", "{base32:26}", true),
            ("D6XG76YFHSD4N4GSMC3R7K7EG", "{base32:26}", false),
            ("D6XG76YFHSD4N4GSMC3R7K7EGU", "{base32:26}", false),
            ("d6xg76yfhsd4n4gsmc3r7k7egs", "{base32:26}", false),
            ("PAY-D6XG76YFHSD4N4GSMC3R", "PAY-{base32:20}", true),
            ("D6XG76YFHSD4N4GSMC3R", "PAY-{base32:20}", false),
            ("69bb039b-cf8e-5a4a-9219-a30783ccee86", "{uuid}", true),
            ("69BB039B-CF8E-5A4A-9219-A30783CCEE86", "{uuid}", false),
            // Version 4, and the variant of another family.
            ("69bb039b-cf8e-4a4a-9219-a30783ccee86", "{uuid}", false),
            ("69bb039b-cf8e-5a4a-1219-a30783ccee86", "{uuid}", false),
            ("69bb039bcf8e5a4a9219a30783ccee86", "{uuid}", false),
            ("69bb039b-cf8e-5a4a-9219-a30783ccee86", "{base32:26}", false),
        ] {
            assert_eq!(form(of).has(text), is, "{text} {of}");
            assert!(!is || PayerTransactionId::parse(text).is_some(), "{text}");
        }
        for text in [
            "",
            "EMP-1",
            "0123456789ABCDE",
            "é0123456789ABCDEFGHJKMNPQR",
            "a b0123456789ABCDEFGHJK",
        ] {
            assert_eq!(PayerTransactionId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn packed_identifiers_are_in_the_order_of_their_texts() {
        for text in ["{base32:26}", "PAY-{base32:16}", "{uuid}", "x{uuid}"] {
            let form = IdentifierForm::parse(text).unwrap();
            let mut ids: Vec<_> = (0..=255_u8)
                .map(|n| form.write(&[n.wrapping_mul(91); 32]))
                .collect();
            ids.sort();
            let packed: Vec<_> = ids.iter().map(|id| form.pack(id)).collect();
            assert!(packed.is_sorted(), "{text}");
            for (id, packed) in ids.iter().zip(&packed) {
                assert_eq!(form.unpack(packed), Some(*id), "{text}");
            }
        }
    }
}
