//! Movements of a payment's money over several statements: which lines tell of the same one.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use super::before::ShownBefore;
use super::entry::StatementEntry;
use super::recipient::recipient_key;
use crate::domain::Day;

/// Which way a payment's money moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// It left.
    Out,
    /// It came back.
    Back,
    /// So much of it moved in another way, in minor units.
    Otherwise(i64),
}

/// A movement of a payment's money, as a line of a statement tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    /// Its day.
    pub day: Day,
    /// Which way.
    pub moved: Moved,
    /// The line names the payment; else it has the amount and the recipient in common with it.
    pub is_named: bool,
    /// What tells it from other movements of its day.
    pub marks: Marks,
}

/// Fields of one line that are told apart.
const MARKS_MAX: usize = 12;

/// Digests of what the fields of a line hold, which tell its movement from others of the same payment and day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks(Vec<Mark>);

/// Digests of a field's name, of 12 bits, and of its text, of 24 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    field: u16,
    text: u32,
}

/// Returns the first bits of a digest of some text, however its letters and blanks are written; `None`: it says nothing.
fn digest(text: &str) -> Option<u32> {
    let letters = text.chars().filter(|c| !c.is_whitespace());
    let folded: String = letters.flat_map(char::to_uppercase).collect();
    let digest: [u8; 32] = Sha256::digest(folded.as_bytes()).into();
    (!folded.is_empty()).then(|| u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]))
}

impl Marks {
    /// Returns those of a line: of its references, else of its text; of the other side; and of what it adds to the balance.
    #[must_use]
    pub fn of(entry: &StatementEntry) -> Self {
        let mut marks = Self::default();
        let recipient = recipient_key(&entry.recipient).unwrap_or_default();
        marks.add("other side", &recipient);
        marks.add("adds", &entry.signed().to_string());
        let others = marks.0.len();
        for reference in &entry.references {
            marks.add(&reference.field, &reference.text);
        }
        if marks.0.len() == others {
            marks.add("text", &entry.text);
        }
        marks.0.sort_unstable();
        marks.0.dedup();
        marks
    }

    fn add(&mut self, field: &str, text: &str) {
        if self.0.len() == MARKS_MAX {
            return;
        }
        if let (Some(field), Some(text)) = (digest(field), digest(text)) {
            self.0.push(Mark {
                field: u16::try_from(field >> 20).expect("twelve bits"),
                text: text >> 8,
            });
        }
    }

    /// Returns how many fields both have; `None`: one of them holds something else here and there. What an export leaves empty, or has
    /// no column for, tells nothing apart.
    fn in_common(&self, other: &Self) -> Option<usize> {
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

    /// Takes in what the other has.
    fn join(&mut self, other: &Self) {
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

impl Movement {
    /// Returns how much tells that this one, which is known, is the one of a line; `None`: they are two. A line without a name is not
    /// held to be what a name told before.
    fn likeness(&self, other: &Self) -> Option<usize> {
        let is_alike = self.day == other.day && self.moved == other.moved;
        let may_be = is_alike && (other.is_named || !self.is_named);
        may_be.then(|| self.marks.in_common(&other.marks)).flatten()
    }
}

/// Lines of one statement about one payment that are held against those of others.
pub const MOVEMENTS_MAX: usize = 64;

/// Takes in the movements that one more statement shows. Those that are known already, one for each line, are the same.
pub fn take_statement(known: &mut Vec<Movement>, shown: Vec<Movement>) {
    let (same, new) = matched(known, shown);
    for (index, movement) in same {
        known[index].is_named |= movement.is_named;
        known[index].marks.join(&movement.marks);
    }
    known.extend(new);
}

/// Returns the known movements that a statement does not show.
#[must_use]
pub fn not_among(known: Vec<Movement>, shown: Vec<Movement>) -> Vec<Movement> {
    let (same, _) = matched(&known, shown);
    let is_same = |index: usize| same.iter().any(|(known, _)| *known == index);
    let each = known.into_iter().enumerate();
    let left = each.filter(|(index, _)| !is_same(*index));
    left.map(|(_, movement)| movement).collect()
}

/// Finds for each movement the known one that it is, the most alike first; returns those with their places, and the others.
fn matched(known: &[Movement], shown: Vec<Movement>) -> (Vec<(usize, Movement)>, Vec<Movement>) {
    let mut pairs = Vec::new();
    for (new, movement) in shown.iter().enumerate() {
        for (old, before) in known.iter().enumerate() {
            if let Some(common) = before.likeness(movement) {
                pairs.push((std::cmp::Reverse(common), old, new));
            }
        }
    }
    pairs.sort_unstable();
    let mut place_of: Vec<Option<usize>> = vec![None; shown.len()];
    let mut is_taken = vec![false; known.len()];
    for (_, old, new) in pairs {
        if !is_taken[old] && place_of[new].is_none() {
            (place_of[new], is_taken[old]) = (Some(old), true);
        }
    }
    let (mut same, mut others) = (Vec::new(), Vec::new());
    for (movement, place) in shown.into_iter().zip(place_of) {
        match place {
            Some(place) => same.push((place, movement)),
            None => others.push(movement),
        }
    }
    (same, others)
}

impl ShownBefore {
    /// Takes in movements that earlier statements of the same kind show, and this one does not.
    pub fn add_alike(&mut self, movements: &[Movement]) {
        for movement in movements {
            match movement.moved {
                // What only amount and recipient tell takes a line, and proves no second departure.
                Moved::Out => self.paid += u32::from(movement.is_named),
                Moved::Back => self.returned += 1,
                Moved::Otherwise(minor) => self.otherwise = self.otherwise.saturating_add(minor),
            }
        }
    }

    /// Takes in those that statements of another kind show. Several kinds may tell of the same return.
    pub fn add_of_another_kind(&mut self, movements: &[Movement]) {
        let mut returned = 0;
        for movement in movements {
            match movement.moved {
                Moved::Out => {}
                Moved::Back => returned += 1,
                Moved::Otherwise(minor) => self.otherwise = self.otherwise.saturating_add(minor),
            }
        }
        self.returned_elsewhere = self.returned_elsewhere.max(returned);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Flow, Reference, Standing};
    use super::*;
    use crate::domain::{Amount, Currency, Money};

    /// A line of a day with references, as `receipt=QK1 bank=7`; without any, it has a text.
    fn entry(references: &str) -> StatementEntry {
        let pairs = references
            .split(' ')
            .filter_map(|pair| pair.split_once('='));
        let references = pairs.map(|(field, text)| Reference {
            field: field.to_owned().into(),
            text: text.to_owned(),
        });
        StatementEntry {
            place: "line 2".to_owned(),
            day: Day::from_number(100),
            flow: Flow::Out,
            reversal: false,
            money: Money {
                amount: Amount::from_minor(1_000).unwrap(),
                currency: Currency::from_code("KES").unwrap(),
            },
            standing: Standing::Booked,
            references: references.collect(),
            text: "salary November".to_owned(),
            recipient: "0722 000 008".to_owned(),
            fee: None,
            is_charge: false,
            is_batch: false,
        }
    }

    /// `p receipt=QK1`: a line that names its payment; `u`: by amount and recipient; `r`: back.
    fn movement(line: &str) -> Movement {
        let (moved, references) = line.split_at(1);
        Movement {
            day: Day::from_number(100),
            moved: if moved == "r" {
                Moved::Back
            } else {
                Moved::Out
            },
            is_named: moved != "u",
            marks: Marks::of(&entry(references)),
        }
    }

    fn movements(lines: &[&str]) -> Vec<Movement> {
        lines.iter().map(|line| movement(line)).collect()
    }

    #[test]
    fn lines_of_several_statements_are_one_movement_unless_a_field_tells_them_apart() {
        // What earlier statements show, what this one shows, and how many of the earlier movements it does not show.
        let cases: [(&str, &[&[&str]], &[&str], usize); 14] = [
            (
                "the same line",
                &[&["p receipt=QK1"]],
                &["p receipt=QK1"],
                0,
            ),
            (
                "written otherwise",
                &[&["p receipt=QK1"]],
                &["p receipt=qk1 "],
                0,
            ),
            (
                "another receipt",
                &[&["p receipt=QK1"]],
                &["p receipt=QK2"],
                1,
            ),
            (
                "a receipt that comes later",
                &[&["p receipt="]],
                &["p receipt=QK1"],
                0,
            ),
            (
                "a column more",
                &[&["p receipt=QK1"]],
                &["p receipt=QK1 bank=7"],
                0,
            ),
            (
                "a column in the place of another",
                &[&["p receipt=QK1"]],
                &["p bank=7"],
                0,
            ),
            (
                "one field is the same, and one is not",
                &[&["p receipt=QK1 bank=7"]],
                &["p receipt=QK2 bank=7"],
                1,
            ),
            (
                "a receipt that came later, and another one",
                &[&["p receipt= bank=7"], &["p receipt=QK1 bank=7"]],
                &["p receipt=QK2 bank=7"],
                1,
            ),
            (
                "two lines alike in one statement",
                &[&["p a=1", "p a=1"]],
                &["p a=1"],
                1,
            ),
            (
                "one line in two statements",
                &[&["p a=1"], &["p a=1"]],
                &[],
                1,
            ),
            (
                "two lines, one of them again",
                &[&["p a=1", "p a=2"], &["p a=1"]],
                &[],
                2,
            ),
            ("the most alike first", &[&["p a=", "p a=1"]], &["p a=1"], 1),
            ("it is named now", &[&["u a=1"]], &["p a=1"], 0),
            ("it was named before", &[&["p a=1"]], &["u a=1"], 1),
        ];
        for (what, earlier, now, left) in cases {
            let mut known = Vec::new();
            for statement in earlier {
                take_statement(&mut known, movements(statement));
            }
            assert_eq!(not_among(known, movements(now)).len(), left, "{what}");
        }
    }

    #[test]
    fn what_left_is_not_what_came_back() {
        let known = movements(&["p a=1"]);
        assert_eq!(not_among(known.clone(), movements(&["r a=1"])), known);
        let another_day = Movement {
            day: Day::from_number(101),
            ..movement("p a=1")
        };
        assert_eq!(not_among(known.clone(), vec![another_day]), known);
    }

    #[test]
    fn earlier_movements_are_added_up_by_the_kinds_of_their_statements() {
        let alike = movements(&["p a=1", "p a=2", "u a=3", "r a=1"]);
        let mut before = ShownBefore::default();
        before.add_alike(&alike);
        // A bank and a gateway tell of one return.
        before.add_of_another_kind(&movements(&["p a=1", "r b=1"]));
        before.add_of_another_kind(&movements(&["r c=1"]));
        let expected = ShownBefore {
            paid: 2,
            returned: 1,
            returned_elsewhere: 1,
            otherwise: 0,
        };
        assert_eq!(before, expected);
    }

    #[test]
    fn marks_are_read_as_they_were_written() {
        let marks = Marks::of(&entry("receipt=QK1 bank=7"));
        assert_eq!(marks.to_string().parse(), Ok(marks.clone()));
        assert_eq!(marks.to_string().len(), 4 * 10 - 1);
        assert_eq!("".parse(), Ok(Marks::default()));
        for broken in ["x", "0ab0012f", "0ab0012ff0", "0ab0012fg", "+ab0012ff"] {
            assert_eq!(broken.parse::<Marks>(), Err(()), "{broken}");
        }
        // However many fields a line has.
        let many: Vec<String> = (0..40).map(|field| format!("f{field}=1")).collect();
        assert_eq!(Marks::of(&entry(&many.join(" "))).0.len(), MARKS_MAX);
    }
}
