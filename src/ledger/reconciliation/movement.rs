//! Movements of a payment's money over several statements: which lines tell of the same one.

use super::before::ShownBefore;
use super::marks::{MARKS_MAX, Marks};
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

/// How much two sources have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinship {
    /// It is the same source: what both show is added up.
    Same,
    /// The tables differ by columns that one of them lacks: the export was changed, or it is another source.
    Near,
    /// It is another one, such as a bank beside a gateway: both may tell of the same movement.
    Other,
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
    /// The first statement that shows it, by its place among those that were compared.
    pub statement: i64,
}

impl Movement {
    /// Returns whether nothing tells both apart.
    #[must_use]
    pub fn can_be(&self, other: &Self) -> bool {
        self.likeness(other).is_some()
    }

    /// Returns how much tells that both are one; `None`: they are two. A receipt tells it by itself, on whatever day it is booked.
    fn likeness(&self, other: &Self) -> Option<usize> {
        if self.moved != other.moved {
            return None;
        }
        if self.marks.has_receipt_of(&other.marks) && self.marks.adds_as(&other.marks) {
            return Some(MARKS_MAX + 1);
        }
        let is_of_the_day = self.day == other.day;
        let common = is_of_the_day.then(|| self.marks.in_common(&other.marks));
        common.flatten()
    }

    /// Returns how well this movement, which a line with a name told before, claims a line without one: the greater, the better;
    /// `None`: not at all. `kinship`: of both statements.
    #[must_use]
    pub fn claims(&self, line: &Self, kinship: Kinship) -> Option<u8> {
        let is_mine = self.is_named && self.moved == Moved::Out && line.moved == Moved::Out;
        if !is_mine {
            None
        } else if self.marks.has_receipt_of(&line.marks) {
            Some(2)
        } else if self.day == line.day && self.marks.has_reference_of(&line.marks) {
            Some(1)
        } else {
            (kinship == Kinship::Same && self.can_be(line)).then_some(0)
        }
    }
}

/// Lines of one statement about one payment that are held against those of others.
pub const MOVEMENTS_MAX: usize = 64;

/// Takes in the movements that one more statement shows. Those that are known already, one for each line, are the same.
pub fn take_statement(known: &mut Vec<Movement>, shown: Vec<Movement>) {
    let places = matched(known, &shown);
    for (movement, place) in shown.into_iter().zip(places) {
        match place {
            Some(place) => {
                known[place].is_named |= movement.is_named;
                known[place].marks.join(&movement.marks);
            }
            None => known.push(movement),
        }
    }
}

/// Finds for each movement that a statement shows the place of the known one that it is, the most alike first.
#[must_use]
pub fn matched(known: &[Movement], shown: &[Movement]) -> Vec<Option<usize>> {
    let mut pairs = Vec::new();
    for (new, movement) in shown.iter().enumerate() {
        for (old, before) in known.iter().enumerate() {
            if let Some(common) = before.likeness(movement) {
                pairs.push((std::cmp::Reverse(common), old, new));
            }
        }
    }
    pairs.sort_unstable();
    let mut places: Vec<Option<usize>> = vec![None; shown.len()];
    let mut is_taken = vec![false; known.len()];
    for (_, old, new) in pairs {
        if !is_taken[old] && places[new].is_none() {
            (places[new], is_taken[old]) = (Some(old), true);
        }
    }
    places
}

/// Returns the known movements that are not among those places.
#[must_use]
pub fn not_among(known: &[Movement], places: &[Option<usize>]) -> Vec<Movement> {
    let each = known.iter().enumerate();
    let left = each.filter(|(place, _)| !places.contains(&Some(*place)));
    left.map(|(_, movement)| movement.clone()).collect()
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

    /// Takes in what statements of another kind show: all of it, and what this one does not show. Several kinds may tell of the same
    /// movement, so of what left and of what came back the most that one of them shows counts.
    pub fn add_of_another_kind(&mut self, known: &[Movement], left: &[Movement]) {
        let count = |moved: Moved| {
            let named = known.iter().filter(|movement| movement.is_named);
            let count = named.filter(|movement| movement.moved == moved).count();
            u32::try_from(count).unwrap_or(u32::MAX)
        };
        self.paid_elsewhere = self.paid_elsewhere.max(count(Moved::Out));
        self.returned_elsewhere = self.returned_elsewhere.max(count(Moved::Back));
        for movement in left {
            if let Moved::Otherwise(minor) = movement.moved {
                self.otherwise = self.otherwise.saturating_add(minor);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Flow, Reference, Standing, StatementEntry};
    use super::*;
    use crate::domain::{Amount, Currency, Money};

    /// A line of a day with references, as `reference=QK1 bank#=7`, where `#` is behind those that one movement alone has; without any, it
    /// has a text.
    fn entry(references: &str) -> StatementEntry {
        let pairs = references
            .split(' ')
            .filter_map(|pair| pair.split_once('='));
        let references = pairs.map(|(field, text)| Reference {
            field: field.trim_end_matches('#').to_owned().into(),
            text: text.to_owned(),
            is_receipt: field.ends_with('#'),
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
            statement: 0,
        }
    }

    fn movements(lines: &[&str]) -> Vec<Movement> {
        lines.iter().map(|line| movement(line)).collect()
    }

    /// Returns the known movements that a statement does not show.
    fn left(known: &[Movement], now: &[Movement]) -> Vec<Movement> {
        not_among(known, &matched(known, now))
    }

    #[test]
    fn lines_of_several_statements_are_one_movement_unless_a_field_tells_them_apart() {
        type Lines = &'static [&'static str];
        // What earlier statements show, what this one shows, and how many of the earlier movements it does not show.
        let cases: [(&str, &[Lines], Lines, usize); 18] = [
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
            ("it was named before", &[&["p a=1"]], &["u a=1"], 0),
            (
                "a word for nothing",
                &[&["p receipt=N/A"]],
                &["p receipt=QK1"],
                0,
            ),
            (
                "a sign for nothing",
                &[&["p receipt=-"]],
                &["p receipt=QK1"],
                0,
            ),
            (
                "zeros that a sheet took",
                &[&["p receipt=00123"]],
                &["p receipt=123"],
                0,
            ),
            (
                "an apostrophe of a sheet",
                &[&["p receipt='QK1"]],
                &["p receipt=QK1"],
                0,
            ),
        ];
        for (what, earlier, now, left) in cases {
            let mut known = Vec::new();
            for statement in earlier {
                take_statement(&mut known, movements(statement));
            }
            assert_eq!(self::left(&known, &movements(now)).len(), left, "{what}");
        }
    }

    #[test]
    fn what_left_is_not_what_came_back() {
        let known = movements(&["p a=1"]);
        assert_eq!(left(&known, &movements(&["r a=1"])), known);
        let another_day = Movement {
            day: Day::from_number(101),
            ..movement("p a=1")
        };
        assert_eq!(left(&known, &[another_day]), known);
    }

    /// A receipt tells a movement by itself; other references only together with all that stands beside them.
    #[test]
    fn a_receipt_is_of_one_movement_on_whatever_day_it_is_booked() {
        let on = |day, line: &str| Movement {
            day: Day::from_number(day),
            ..movement(line)
        };
        let cases = [
            (
                "a receipt of the day after",
                "p r#=FT1",
                "p r#=FT1",
                101,
                true,
            ),
            ("in another column", "p r#=FT1", "p ref#=FT1", 101, true),
            (
                "beside other words",
                "p r#=FT1 a=1",
                "p r#=FT1 a=2",
                100,
                true,
            ),
            ("another receipt", "p r#=FT1", "p r#=FT2", 100, false),
            (
                "a reference of the day after",
                "p r=FT1",
                "p r=FT1",
                101,
                false,
            ),
        ];
        for (what, known, now, day, same) in cases {
            let left = left(&[on(100, known)], &[on(day, now)]);
            assert_eq!(left.is_empty(), same, "{what}");
        }
    }

    #[test]
    fn a_line_without_a_name_is_claimed_by_what_a_name_told_before() {
        let (same, other) = (Kinship::Same, Kinship::Other);
        let cases = [
            ("by its receipt", "p r#=FT1", other, "u r#=FT1", Some(2)),
            ("by a reference", "p r=FT1", other, "u x=FT1", Some(1)),
            ("by another one", "p r=FT1", other, "u r=FT2", None),
            (
                "by nothing, of another source",
                "p r=FT1",
                other,
                "u x=7",
                None,
            ),
            (
                "by nothing that tells them apart",
                "p r=FT1",
                same,
                "u x=7",
                Some(0),
            ),
            ("not by a guess", "u r#=FT1", same, "u r#=FT1", None),
            ("not what came back", "r r#=FT1", same, "u r#=FT1", None),
        ];
        for (what, known, kinship, line, score) in cases {
            let claimed = movement(known).claims(&movement(line), kinship);
            assert_eq!(claimed, score, "{what}");
        }
    }

    #[test]
    fn one_name_of_a_payment_is_as_good_as_another() {
        let names = ["ID-1".to_owned(), "GW-7".to_owned(), "QK1".to_owned()];
        let own = |line: &str| Movement {
            marks: movement(line).marks.with_own_names(&names),
            ..movement(line)
        };
        let known = [own("p reference=ID-1 receipt=QK1")];
        assert!(left(&known, &[own("p reference=gw-7 receipt=QK1")]).is_empty());
        // Another receipt than its own is another movement.
        let other = own("p reference=ID-1 receipt=QK2");
        assert_eq!(left(&known, &[other]), known);
    }

    #[test]
    fn earlier_movements_are_added_up_by_the_kinds_of_their_statements() {
        let mut before = ShownBefore::default();
        before.add_alike(&movements(&["p a=1", "p a=2", "u a=3", "r a=1"]));
        // A bank and a gateway tell of one return.
        before.add_of_another_kind(&movements(&["p a=1", "r b=1"]), &[]);
        before.add_of_another_kind(&movements(&["r c=1"]), &movements(&["r c=1"]));
        let expected = ShownBefore {
            paid: 2,
            returned: 1,
            paid_elsewhere: 1,
            returned_elsewhere: 1,
            ..ShownBefore::default()
        };
        assert_eq!(before, expected);
        // By itself it shows more than this one does.
        let twice = movements(&["p a=1", "p a=2"]);
        before.add_of_another_kind(&twice, &twice[1..]);
        assert_eq!(before.paid_elsewhere, 2);
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
        let marks = Marks::of(&entry(&many.join(" "))).to_string();
        assert_eq!(marks.split(',').count(), MARKS_MAX);
    }
}
