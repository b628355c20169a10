//! What verbs read again and again: it is read at the beginning of the next transaction that carries them out, all at once.
//!
//! Each question costs a round trip, and everybody else waits for the turn meanwhile. What is read in advance is read within the turn,
//! so that nobody can change it before it is asked for; what the transaction writes itself is read anew.

use std::collections::{HashMap, HashSet};

use crate::store::{Scan, Table};

/// Scans of one table that a verb's are noted of in a transaction: those of single payments are others each time.
const OF_TABLE_MAX: u8 = 16;
/// Scans that are remembered of a verb at most, and read in advance at most.
const REMEMBERED_MAX: usize = 128;
const WANTED_MAX: usize = 64;

/// In this transaction, in the last one that carried the verb out, and in the one before.
const NOW: u8 = 0b001;
const LAST: u8 = 0b010;
const BEFORE: u8 = 0b100;

/// A scan, and which transactions asked for it.
#[derive(Debug)]
struct Habit {
    scan: Scan<'static>,
    asked: u8,
}

/// What a verb asks for.
#[derive(Debug, Default)]
struct Verb {
    known: HashMap<String, Habit>,
    /// Tables whose greatest numbers it asks for.
    numbered: Vec<&'static Table>,
    /// Scans of this transaction, by their tables.
    noted: HashMap<&'static str, u8>,
    times: u8,
}

impl Verb {
    fn begin(&mut self) {
        self.noted.clear();
        self.times = self.times.saturating_add(1);
        self.known.retain(|_, habit| {
            habit.asked <<= 1;
            habit.asked & (LAST | BEFORE) != 0
        });
    }

    /// Returns what it is likely to ask for: what it asked for the last two times, or the only one.
    fn wanted(&self) -> impl Iterator<Item = (&String, &Scan<'static>)> {
        let needed = match self.times {
            ..=2 => LAST,
            3.. => LAST | BEFORE,
        };
        let often = self.known.iter();
        let often = often.filter(move |(_, habit)| habit.asked & needed == needed);
        often.map(|(name, habit)| (name, &habit.scan))
    }

    fn note(&mut self, scan: &Scan<'_>) {
        let noted = self.noted.entry(scan.table.name).or_default();
        if *noted >= OF_TABLE_MAX {
            return;
        }
        *noted += 1;
        let is_full = self.known.len() >= REMEMBERED_MAX;
        let name = scan.name();
        match self.known.get_mut(&name) {
            Some(habit) => habit.asked |= NOW,
            None if is_full => {}
            None => {
                let scan = scan.clone().into_owned();
                self.known.insert(name, Habit { scan, asked: NOW });
            }
        }
    }
}

/// What a transaction is likely to ask for.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) scans: Vec<Scan<'static>>,
    /// Tables whose greatest numbers it asks for.
    pub(super) numbered: Vec<&'static Table>,
}

/// What verbs ask for, by their names.
#[derive(Debug, Default)]
pub(super) struct Habits {
    verbs: HashMap<&'static str, Verb>,
    /// Those that the next transaction carries out.
    planned: Vec<&'static str>,
    /// Those that the transaction carries out which is under way.
    under_way: Vec<&'static str>,
    current: &'static str,
}

impl Habits {
    /// Notes which verbs the next transaction carries out.
    pub(super) fn plan(&mut self, verbs: &[&'static str]) {
        self.planned = verbs.to_vec();
    }

    /// Begins a transaction; returns what it is likely to ask for.
    pub(super) fn begin(&mut self) -> Wanted {
        self.current = "";
        self.under_way.clear();
        let mut planned = std::mem::take(&mut self.planned);
        planned.push("");
        self.join(&planned)
    }

    /// Lets verbs join the transaction; returns what it is likely to ask for besides.
    pub(super) fn join(&mut self, verbs: &[&'static str]) -> Wanted {
        let mut planned = verbs.to_vec();
        planned.sort_unstable();
        planned.dedup();
        planned.retain(|name| !self.under_way.contains(name));
        self.under_way.extend(&planned);
        let mut wanted = Wanted::default();
        let mut names = HashSet::new();
        for name in planned {
            let verb = self.verbs.entry(name).or_default();
            verb.begin();
            let verb = &*verb;
            for (name, scan) in verb.wanted() {
                if wanted.scans.len() < WANTED_MAX && names.insert(name.clone()) {
                    wanted.scans.push(scan.clone());
                }
            }
            for table in &verb.numbered {
                if !wanted.numbered.iter().any(|of| of.name == table.name) {
                    wanted.numbered.push(table);
                }
            }
        }
        wanted
    }

    /// Notes that what is asked for from now on is what a verb asks for.
    pub(super) fn enter(&mut self, verb: &'static str) {
        self.current = verb;
    }

    /// Notes that the transaction asks for the greatest number of a table.
    pub(super) fn note_number(&mut self, table: &'static Table) {
        let verb = self.verbs.entry(self.current).or_default();
        if !verb.numbered.iter().any(|known| known.name == table.name) {
            verb.numbered.push(table);
        }
    }

    /// Notes that the transaction asks for something.
    pub(super) fn note(&mut self, scan: &Scan<'_>) {
        // Between two ends lie other rows each time.
        if scan.from.is_some() && scan.to.is_some() {
            return;
        }
        self.verbs.entry(self.current).or_default().note(scan);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tables::{batch, life};

    fn turn(habits: &mut Habits, verb: &'static str, asked: &[i64]) -> usize {
        habits.plan(&[verb]);
        let wanted = habits.begin().scans.len();
        habits.enter(verb);
        for key in asked {
            habits.note(&Scan::of(&batch::TABLE).at(key));
        }
        wanted
    }

    #[test]
    fn what_a_verb_asked_for_the_last_two_times_is_wanted_and_is_forgotten_again() {
        let mut habits = Habits::default();
        for (asked, wanted) in [
            (&[7][..], 0),
            (&[7, 8][..], 1),
            (&[7][..], 1),
            (&[7, 9][..], 1),
            (&[][..], 1),
            (&[7][..], 0),
            (&[7][..], 0),
            (&[][..], 1),
        ] {
            assert_eq!(turn(&mut habits, "claim", asked), wanted, "{asked:?}");
        }
    }

    #[test]
    fn other_verbs_have_habits_of_their_own() {
        let mut habits = Habits::default();
        turn(&mut habits, "claim", &[1, 2, 3]);
        for _ in 0..9 {
            assert!(turn(&mut habits, "record", &[4]) <= 1);
        }
        assert_eq!(turn(&mut habits, "claim", &[1, 2, 3]), 3);
        habits.plan(&["claim", "record", "claim"]);
        assert_eq!(habits.begin().scans.len(), 4, "of both, once");
    }

    #[test]
    fn verbs_that_join_want_what_they_ask_for_once() {
        let mut habits = Habits::default();
        for _ in 0..3 {
            turn(&mut habits, "claim", &[1, 2, 3]);
            turn(&mut habits, "record", &[4]);
        }
        habits.plan(&["record"]);
        assert_eq!(habits.begin().scans.len(), 1);
        assert_eq!(habits.join(&["claim", "record", "claim"]).scans.len(), 3);
        assert_eq!(habits.join(&["claim"]).scans.len(), 0, "it has joined");
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
        let wanted = habits.begin().scans;
        assert!(wanted.iter().any(|scan| scan.table.name == "batch"));
        assert!(wanted.len() <= 1 + usize::from(OF_TABLE_MAX));
    }

    #[test]
    fn numbers_that_were_asked_for_are_wanted() {
        let mut habits = Habits::default();
        habits.plan(&["record"]);
        habits.begin();
        habits.enter("record");
        habits.note_number(&batch::TABLE);
        habits.plan(&["other"]);
        assert!(habits.begin().numbered.is_empty());
        habits.plan(&["record"]);
        assert_eq!(habits.begin().numbered.len(), 1);
    }
}
