//! What the fields of a line hold, as short digests: what tells its movement from others.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use super::entry::StatementEntry;
use super::recipient::recipient_key;

/// Fields of one line that are told apart.
pub(super) const MARKS_MAX: usize = 12;

/// Digests of what the fields of a line hold, which tell its movement from others of the same payment and day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks(Vec<Mark>);

/// Digests of a field's name, of 12 bits, and of its text, of 24 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    field: u16,
    text: u32,
}

impl Mark {
    /// What the line adds to the balance.
    const ADDS: u16 = 0;
    const OTHER_SIDE: u16 = 2;
    const TEXT: u16 = 4;
    /// References have the fields from here on, those that one movement alone has the odd ones.
    const REFERENCES: u16 = 0x10;

    fn is_reference(self) -> bool {
        self.field >= Self::REFERENCES && self.text != OWN_NAME
    }

    fn is_receipt(self) -> bool {
        self.is_reference() && self.field % 2 == 1
    }
}

/// The text of a reference that names the payment itself, and no movement.
const OWN_NAME: u32 = 0;

/// What stands in a field that is empty.
const EMPTY: [&str; 8] = [
    "NA",
    "NIL",
    "NONE",
    "NONREF",
    "NOREF",
    "NOTPROVIDED",
    "NULL",
    "UNKNOWN",
];

/// Returns the first bits of a digest of some text, however its letters, blanks and signs are written, and whether a spreadsheet has
/// taken zeros from its beginning; `None`: it says nothing.
fn digest(text: &str) -> Option<u32> {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    let folded: String = letters.flat_map(char::to_uppercase).collect();
    let folded = folded.trim_start_matches('0');
    let digest: [u8; 32] = Sha256::digest(folded.as_bytes()).into();
    let says = !folded.is_empty() && !EMPTY.contains(&folded);
    says.then(|| u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]))
}

/// Returns what tells one account from another; `None`: it is not named.
#[must_use]
pub fn account_mark(account: &str) -> Option<u32> {
    digest(account)
}

impl Marks {
    /// Returns those of a line: of its references, else of its text; of the other side; and of what it adds to the balance.
    #[must_use]
    pub fn of(entry: &StatementEntry) -> Self {
        let mut marks = Self::default();
        let recipient = recipient_key(&entry.recipient).unwrap_or_default();
        marks.add(Mark::OTHER_SIDE, &recipient);
        marks.add(Mark::ADDS, &entry.signed().to_string());
        let others = marks.0.len();
        for reference in &entry.references {
            let Some(field) = digest(&reference.field) else {
                continue;
            };
            let even = u16::try_from(field >> 20).expect("twelve bits") & !1;
            let field = even.max(Mark::REFERENCES) + u16::from(reference.is_receipt);
            marks.add(field, &reference.text);
        }
        if marks.0.len() == others {
            marks.add(Mark::TEXT, &entry.text);
        }
        marks.0.sort_unstable();
        marks.0.dedup();
        marks
    }

    fn add(&mut self, field: u16, text: &str) {
        if let (Some(text), true) = (digest(text), self.0.len() < MARKS_MAX) {
            // No text looks like a name of the payment itself.
            let text = (text >> 8).max(OWN_NAME + 1);
            self.0.push(Mark { field, text });
        }
    }

    /// Takes whatever names the payment itself for one text: exports name it in one way or another.
    #[must_use]
    pub fn with_own_names(mut self, names: &[String]) -> Self {
        let own: Vec<u32> = names
            .iter()
            .filter_map(|name| digest(name))
            .map(|name| (name >> 8).max(OWN_NAME + 1))
            .collect();
        for mark in &mut self.0 {
            if mark.is_reference() && own.contains(&mark.text) {
                mark.text = OWN_NAME;
            }
        }
        self.0.sort_unstable();
        self.0.dedup();
        self
    }

    /// Returns how many fields both have; `None`: one of them holds something else here and there. What an export leaves empty, or has
    /// no column for, tells nothing apart.
    pub(super) fn in_common(&self, other: &Self) -> Option<usize> {
        let mut common = 0;
        for fields in self.0.chunk_by(|a, b| a.field == b.field) {
            let mut there = other.0.iter().filter(|mark| mark.field == fields[0].field);
            if there.clone().next().is_some() {
                there.find(|mark| fields.contains(mark))?;
                common += 1;
            }
        }
        Some(common)
    }

    /// Returns whether both have a receipt, or a reference of the bank, in common.
    pub(super) fn has_receipt_of(&self, other: &Self) -> bool {
        let mut receipts = self.0.iter().filter(|mark| mark.is_receipt());
        receipts.any(|own| {
            other
                .0
                .iter()
                .any(|mark| mark.is_receipt() && mark.text == own.text)
        })
    }

    /// Returns whether both have a reference in common that does not name the payment, in whatever field.
    pub(super) fn has_reference_of(&self, other: &Self) -> bool {
        let mut own = self.0.iter().filter(|mark| mark.is_reference());
        own.any(|own| {
            other
                .0
                .iter()
                .any(|mark| mark.is_reference() && mark.text == own.text)
        })
    }

    pub(super) fn adds_as(&self, other: &Self) -> bool {
        let adds = |marks: &Self| {
            marks
                .0
                .iter()
                .find(|mark| mark.field == Mark::ADDS)
                .copied()
        };
        adds(self) == adds(other)
    }

    /// Takes in what the other has.
    pub(super) fn join(&mut self, other: &Self) {
        for mark in &other.0 {
            if self.0.len() < MARKS_MAX && !self.0.contains(mark) {
                self.0.push(*mark);
            }
        }
        self.0.sort_unstable();
    }
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mark) in self.0.iter().enumerate() {
            let between = if index == 0 { "" } else { "," };
            write!(f, "{between}{:03x}{:06x}", mark.field, mark.text)?;
        }
        Ok(())
    }
}

impl FromStr for Marks {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let read = |mark: &str| {
            let is_mark = mark.len() == 9 && mark.bytes().all(|b| b.is_ascii_hexdigit());
            let (field, text) = mark.split_at_checked(3).filter(|_| is_mark).ok_or(())?;
            Ok(Mark {
                field: u16::from_str_radix(field, 16).map_err(drop)?,
                text: u32::from_str_radix(text, 16).map_err(drop)?,
            })
        };
        let marks = text.split(',').filter(|mark| !mark.is_empty());
        marks.map(read).collect::<Result<_, ()>>().map(Self)
    }
}
