//! What transactions read again and again: it is read at the beginning of the next one, all at once.
//!
//! Each question costs a round trip, and everybody else waits for the turn meanwhile. What is read in advance is read within the turn,
//! so that nobody can change it before it is asked for; what the transaction writes itself is read anew.

use std::collections::HashMap;

use crate::store::Scan;

/// Scans of one table that are noted in a transaction: those of single payments are others each time.
const OF_TABLE_MAX: u8 = 16;
/// Scans that are remembered at most, and read in advance at most.
const REMEMBERED_MAX: usize = 512;
const WANTED_MAX: usize = 64;
/// A scan is a habit where so many of the last four transactions asked for it.
const OFTEN: u32 = 2;
const OF_LAST_FOUR: u8 = 0b1_1110;

/// A scan, and which of the last transactions asked for it, the current one first.
#[derive(Debug)]
struct Habit {
    scan: Scan<'static>,
    asked: u8,
}

/// What was asked of late.
#[derive(Debug, Default)]
pub(super) struct Habits {
    known: HashMap<String, Habit>,
    /// Scans of this transaction, by their tables.
    noted: HashMap<&'static str, u8>,
}

impl Habits {
    /// Begins a transaction; returns what it is likely to ask for.
    pub(super) fn begin(&mut self) -> Vec<Scan<'static>> {
        self.noted.clear();
        self.known.retain(|_, habit| {
            habit.asked <<= 1;
            habit.asked & OF_LAST_FOUR != 0
        });
        let often = |habit: &&Habit| (habit.asked & OF_LAST_FOUR).count_ones() >= OFTEN;
        let wanted = self.known.values().filter(often);
        wanted
            .take(WANTED_MAX)
            .map(|habit| habit.scan.clone())
            .collect()
    }

    /// Notes that the transaction asks for something.
    pub(super) fn note(&mut self, scan: &Scan<'_>) {
        let noted = self.noted.entry(scan.table.name).or_default();
        if *noted >= OF_TABLE_MAX {
            return;
        }
        *noted += 1;
        let is_full = self.known.len() >= REMEMBERED_MAX;
        let name = scan.name();
        match self.known.get_mut(&name) {
            Some(habit) => habit.asked |= 1,
            None if is_full => {}
            None => {
                let scan = scan.clone().into_owned();
                self.known.insert(name, Habit { scan, asked: 1 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tables::{batch, life};

    #[test]
    fn what_was_asked_for_twice_of_late_is_wanted_and_is_forgotten_again() {
        let mut habits = Habits::default();
        let (one, other) = (7_i64, 8_i64);
        let mut turn = |asked: &[&i64]| {
            let wanted = habits.begin();
            for key in asked {
                habits.note(&Scan::of(&batch::TABLE).at(*key));
            }
            wanted.len()
        };
        assert_eq!(turn(&[&one]), 0);
        assert_eq!(turn(&[&one, &other]), 0, "once is no habit");
        assert_eq!(turn(&[]), 1);
        assert_eq!(turn(&[]), 1);
        assert_eq!(turn(&[]), 1);
        assert_eq!(turn(&[]), 0);
        assert_eq!(turn(&[&one]), 0, "it is forgotten");
    }

    #[test]
    fn scans_of_single_payments_push_nothing_else_out() {
        let mut habits = Habits::default();
        for _ in 0..3 {
            habits.begin();
            for seq in 0_i64..1000 {
                habits.note(&Scan::of(&life::TABLE).at(&seq));
            }
            habits.note(&Scan::of(&batch::TABLE).at(&1_i64));
        }
        let wanted = habits.begin();
        assert!(wanted.iter().any(|scan| scan.table.name == "batch"));
        assert!(wanted.len() <= 1 + usize::from(OF_TABLE_MAX));
    }
}
