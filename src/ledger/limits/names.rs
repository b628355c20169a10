//! Lists of recipients: who is paid, who is not.

use sha2::{Digest, Sha256};

use crate::domain::{Country, Instruction, Msisdn};
use crate::ledger::likeness::of_account;

/// How a digest begins in a list.
const DIGEST: &str = "sha256:";
/// Bytes of a line, at most.
const LINE_BYTES_MAX: usize = 256;

/// Returns the recipient of a row as it is counted: the account it pays to (a wallet's number, a meter, an account of a bank),
/// without separators and leading zeros. The same through whatever service, and however it is written.
#[must_use]
pub fn recipient_of<M>(row: &Instruction<M>) -> String {
    let account = match row.account_number.as_str() {
        "" => row.msisdn.as_str(),
        account => account,
    };
    of_account(account).into_owned()
}

/// Why a line of a list cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// A digest that is none.
    #[error(
        "expected 64 hexadecimal digits behind sha256:, as in the output of sha256sum; found {0} characters"
    )]
    Digest(usize),
    /// Neither a number nor an account.
    #[error("expected one phone number or account a line, found neither")]
    Nobody,
    /// Too long.
    #[error("expected at most {LINE_BYTES_MAX} bytes in a line, found {0}")]
    Long(usize),
    /// A digest without what says that it is one.
    #[error(
        "found 64 hexadecimal digits: write sha256: before a digest; where it is an account, write it with a separator, such as a hyphen"
    )]
    Bare,
    /// A sign that no phone number and no account has.
    #[error(
        "found {0:?}, which no phone number and no account has: one phone number or account a line, as its digits are written, sha256: before a \
         digest, and # before a remark"
    )]
    Sign(char),
    /// Words without a digit, or behind a phone number.
    #[error("expected one phone number or account a line, and # before a remark; found words")]
    Words,
    /// Two on a line, or a remark without its #.
    #[error(
        "expected one phone number or account a line, and # before a remark; found a comma or semicolon"
    )]
    Several,
}

/// Recipients, by the digests of how they are counted: a list in memory holds no numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameList {
    sorted: Vec<[u8; 32]>,
    /// What tells the list from another one.
    digest: [u8; 32],
    entries: Entries,
}

/// How many lines of a list name somebody, by what they name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// Phone numbers of the country.
    pub phones: u64,
    /// Texts that are no phone numbers.
    pub accounts: u64,
    /// Digests.
    pub digests: u64,
}

impl Entries {
    /// Counts a line, by what [`read_line`] made of it.
    pub fn add(&mut self, line: &str, found: &[[u8; 32]]) {
        let kind = match found.len() {
            0 => return,
            _ if line.trim_start().starts_with(DIGEST) => &mut self.digests,
            1 => &mut self.accounts,
            // It names the number as a phone and as an account.
            _ => &mut self.phones,
        };
        *kind += 1;
    }

    /// Returns how many there are.
    #[must_use]
    pub fn all(self) -> u64 {
        self.phones + self.accounts + self.digests
    }
}

impl NameList {
    /// Makes a list of the digests that its lines gave.
    #[must_use]
    pub fn of(mut digests: Vec<[u8; 32]>) -> Self {
        digests.sort_unstable();
        digests.dedup();
        let mut all = Sha256::new();
        digests.iter().for_each(|digest| all.update(digest));
        Self {
            sorted: digests,
            digest: all.finalize().into(),
            entries: Entries::default(),
        }
    }

    /// Says how many entries it was read from.
    #[must_use]
    pub fn with(self, entries: Entries) -> Self {
        Self { entries, ..self }
    }

    /// Returns how many entries it was read from.
    #[must_use]
    pub fn entries(&self) -> Entries {
        self.entries
    }

    /// Returns whether somebody is on it, by the name of [`recipient_of`].
    #[must_use]
    pub fn has(&self, recipient: &str) -> bool {
        self.sorted.binary_search(&digest_of(recipient)).is_ok()
    }

    /// Returns what tells the list from another one.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

/// Returns the digest by which a recipient may stand on a list.
#[must_use]
pub fn digest_of(recipient: &str) -> [u8; 32] {
    Sha256::digest(recipient.as_bytes()).into()
}

/// Reads a line of a list; none where it names nobody. A text that is a phone number of the country and may be an account as
/// well names both.
///
/// # Errors
/// What was expected. The text itself stays out of it.
pub fn read_line(line: &str, country: Option<Country>) -> Result<Vec<[u8; 32]>, Unreadable> {
    if line.len() > LINE_BYTES_MAX {
        return Err(Unreadable::Long(line.len()));
    }
    let text = line.split_once('#').map_or(line, |(text, _)| text).trim();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(hex) = text.strip_prefix(DIGEST) {
        // What sha256sum prints behind it is the name of what it read.
        let hex = hex.trim().strip_suffix('-').unwrap_or(hex);
        let digest = data_encoding::HEXLOWER_PERMISSIVE
            .decode(hex.trim().as_bytes())
            .ok()
            .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        return match digest {
            Some(digest) => Ok(vec![digest]),
            None => Err(Unreadable::Digest(hex.trim().chars().count())),
        };
    }
    if text.contains([',', ';', '\t']) {
        return Err(Unreadable::Several);
    }
    assert_plain(text)?;
    // A spreadsheet takes the zero of a phone number away.
    let with_zero = format!("0{text}");
    let parse = |text: &str| country.and_then(|country| Msisdn::parse(text, country).ok());
    let phone = parse(text).or_else(|| parse(&with_zero));
    let account = of_account(text);
    if !account.chars().any(char::is_alphanumeric) {
        return Err(Unreadable::Nobody);
    }
    let mut found = vec![digest_of(&account)];
    found.extend(phone.map(|phone| digest_of(&of_account(phone.as_str()))));
    Ok(found)
}

/// Refuses a text that is most likely meant for something else than the account that it would be taken for: nobody would be found by it.
fn assert_plain(text: &str) -> Result<(), Unreadable> {
    let is_hex = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if text.split_whitespace().any(is_hex) {
        return Err(Unreadable::Bare);
    }
    let is_sign = |(at, sign): &(usize, char)| {
        let may_begin = *at == 0 && *sign == '+';
        !sign.is_ascii_alphanumeric() && !may_begin && !matches!(sign, ' ' | '-' | '/' | '(' | ')')
    };
    if let Some((_, sign)) = text.char_indices().find(is_sign) {
        return Err(Unreadable::Sign(sign));
    }
    let is_word = |word: &str| {
        word.chars().filter(|letter| letter.is_alphabetic()).count() > 3
            && !word.chars().any(|letter| letter.is_ascii_digit())
    };
    if text.split(' ').any(is_word) || !text.chars().any(|letter| letter.is_ascii_digit()) {
        return Err(Unreadable::Words);
    }
    let digits = |word: &&str| word.bytes().filter(u8::is_ascii_digit).count() >= 9;
    match text.split([' ', '/']).filter(digits).count() {
        0 | 1 => Ok(()),
        _ => Err(Unreadable::Several),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_counted_by_what_they_name() {
        let kenya = Country::from_code("KE");
        let digest = format!("sha256:{}", "ab".repeat(32));
        let mut entries = Entries::default();
        for line in [
            "0711000009 # left in May",
            "711000008",
            "+254 711 000007",
            "0012-3456-7",
            &digest,
            &format!("  {digest} # by finance"),
            "",
            "# nobody",
        ] {
            entries.add(line, &read_line(line, kenya).unwrap());
        }
        let expected = Entries {
            phones: 3,
            accounts: 1,
            digests: 2,
        };
        assert_eq!((entries, entries.all()), (expected, 6));
    }

    fn list(lines: &[&str]) -> NameList {
        let kenya = Country::from_code("KE");
        let read = lines
            .iter()
            .flat_map(|line| read_line(line, kenya).unwrap());
        NameList::of(read.collect())
    }

    #[test]
    fn a_recipient_is_found_however_the_list_writes_it() {
        let digest = data_encoding::HEXLOWER.encode(&digest_of("254712345678"));
        for line in [
            "254712345678",
            "+254 712 345 678",
            "0712345678",
            "0712 345 678 # Jane",
            "712345678",
            &format!("sha256:{digest}"),
            &format!("sha256:{}  # nobody knows", digest.to_uppercase()),
        ] {
            let list = list(&["", "# nobody", line]);
            assert!(list.has("254712345678"), "{line}");
            assert!(!list.has("254712345679"), "{line}");
        }
        let accounts = list(&["0011-2345", "ac 77 / x"]);
        for (account, is_there) in [
            ("00112345", true),
            ("112345", true),
            ("AC77X", true),
            ("112346", false),
        ] {
            assert_eq!(accounts.has(&of_account(account)), is_there, "{account}");
        }
    }

    #[test]
    fn a_line_that_names_nobody_is_refused() {
        let kenya = Country::from_code("KE");
        for (line, expected) in [
            ("sha256:abc", Unreadable::Digest(3)),
            ("sha256:", Unreadable::Digest(0)),
            ("0712345678, Jane", Unreadable::Several),
            ("--", Unreadable::Words),
            ("+", Unreadable::Words),
            (&"5a".repeat(32), Unreadable::Bare),
            (&format!("{}  x", "5a".repeat(32)), Unreadable::Bare),
            ("sha256=51a9", Unreadable::Sign('=')),
            ("2.54712E+11", Unreadable::Sign('.')),
            ("SHA256:51a9", Unreadable::Sign(':')),
            ("0722\u{a0}000005", Unreadable::Sign('\u{a0}')),
            ("\u{ff10}722000005", Unreadable::Sign('\u{ff10}')),
            ("254722*", Unreadable::Sign('*')),
            ("\"0722000005\"", Unreadable::Sign('"')),
            ("0722000005/0733000005", Unreadable::Several),
            ("'0712000003", Unreadable::Sign('\'')),
            ("tel:0712000003", Unreadable::Sign(':')),
            ("John Doe", Unreadable::Words),
            ("0712000003 John", Unreadable::Words),
            ("0712000003 0712000009", Unreadable::Several),
        ] {
            assert_eq!(read_line(line, kenya), Err(expected), "{line}");
        }
        let long = "7".repeat(300);
        assert_eq!(read_line(&long, kenya), Err(Unreadable::Long(300)));
        assert_eq!(read_line("  # nobody", None), Ok(Vec::new()));
    }
}
