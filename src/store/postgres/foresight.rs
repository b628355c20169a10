//! What is asked about one number after the other: what was asked about two of them in a row is asked about the next ones, too.
//!
//! It is a guess about reads alone. A guess that is wrong costs a read that nobody needed; whatever was not guessed is asked for when
//! it is wanted.

use std::collections::{HashMap, HashSet};

use crate::store::Scan;

/// Numbers of which everything is read at once.
const TOGETHER: usize = 128;

/// Scans of an example that are noted at most.
const NOTED_MAX: usize = 96;

/// What was asked about one number.
#[derive(Debug)]
struct Example {
    number: i64,
    scans: Vec<Scan<'static>>,
}

/// A scan that is asked for of every number.
#[derive(Debug)]
struct Pattern {
    scan: Scan<'static>,
    /// The number that it was asked for of.
    of: i64,
    /// Which of its integers go with the number.
    moving: Vec<bool>,
}

impl Pattern {
    /// Returns what two scans of one shape have in common that were asked for of these numbers; `None` where nothing says how one
    /// follows from the other.
    fn of(
        scan: &mut Scan<'static>,
        number: i64,
        next: &mut Scan<'static>,
        step: i64,
    ) -> Option<Self> {
        let mut moving = Vec::new();
        for (one, other) in scan.integers().zip(next.integers()) {
            match other.wrapping_sub(*one) {
                0 => moving.push(false),
                distance if distance == step => moving.push(true),
                _ => return None,
            }
        }
        Some(Self {
            scan: scan.clone(),
            of: number,
            moving,
        })
    }

    fn is_the_same_for_all(&self) -> bool {
        !self.moving.contains(&true)
    }

    /// Returns the scan that is asked for of a number.
    fn at(&self, number: i64) -> Scan<'static> {
        let mut scan = self.scan.clone();
        let distance = number.wrapping_sub(self.of);
        for (integer, moves) in scan.integers().zip(&self.moving) {
            if *moves {
                *integer = integer.wrapping_add(distance);
            }
        }
        scan
    }
}

/// What is to be read before the next number's turn.
#[derive(Debug, Default)]
pub(super) struct Foreseen {
    pub(super) scans: Vec<Scan<'static>>,
    /// What was read of the numbers before is needed no more.
    pub(super) is_fresh: bool,
}

/// What is asked about numbers that come one after the other.
#[derive(Debug, Default)]
pub(super) struct Foresight {
    /// Where the numbers are, and how many: what is asked about others has nothing to do with it.
    list: (usize, usize),
    /// Numbers that came since everything was read of some at once.
    came: usize,
    /// One of those numbers is an example of what is asked.
    is_noting: bool,
    examples: Vec<Example>,
    patterns: Vec<Pattern>,
    /// The names of the scans that the patterns were made of.
    known: HashSet<String>,
}

impl Foresight {
    /// Notes a scan that is asked for.
    pub(super) fn note(&mut self, scan: &Scan<'_>) {
        if self.is_noting
            && let Some(example) = self.examples.last_mut()
            && example.scans.len() < NOTED_MAX
        {
            example.scans.push(scan.clone().into_owned());
        }
    }

    /// Comes to the number at a place; returns what is likely to be asked about it and the next ones, as far as that is new.
    pub(super) fn come_to(&mut self, numbers: &[i64], nth: usize) -> Foreseen {
        let list = (numbers.as_ptr().addr(), numbers.len());
        if nth == 0 || self.list != list {
            *self = Self {
                list,
                ..Self::default()
            };
        }
        let came = self.came;
        self.came = (came + 1) % TOGETHER;
        let last = numbers.len().min(nth + TOGETHER - came);
        let next = numbers.get(nth..last).unwrap_or_default();
        self.is_noting = came < 2 && next.len() > 2 - came;
        match (came, next.first()) {
            (0, Some(number)) => {
                self.examples = vec![Example::of(*number)];
                Foreseen {
                    scans: scans(&self.patterns, next),
                    is_fresh: !self.patterns.is_empty(),
                }
            }
            (1, Some(number)) => {
                self.examples.push(Example::of(*number));
                Foreseen::default()
            }
            (2, Some(_)) => Foreseen {
                scans: scans(self.learn(), next),
                is_fresh: false,
            },
            _ => Foreseen::default(),
        }
    }

    /// Learns what the two examples have in common; returns what is new of it.
    fn learn(&mut self) -> &[Pattern] {
        let before = self.patterns.len();
        if let [one, other] = &mut self.examples[..] {
            let step = other.number.wrapping_sub(one.number);
            let mut others: HashMap<String, Vec<&mut Scan<'static>>> = HashMap::new();
            for scan in other.scans.iter_mut().rev() {
                others.entry(shape(scan)).or_default().push(scan);
            }
            for scan in &mut one.scans {
                let Some(next) = others.get_mut(&shape(scan)).and_then(Vec::pop) else {
                    continue;
                };
                if let Some(pattern) = Pattern::of(scan, one.number, next, step)
                    && self.known.insert(pattern.at(0).name())
                {
                    self.patterns.push(pattern);
                }
            }
        }
        self.examples.clear();
        &self.patterns[before..]
    }
}

impl Example {
    fn of(number: i64) -> Self {
        Self {
            number,
            scans: Vec::new(),
        }
    }
}

/// Returns what a scan is but for its integers.
fn shape(scan: &Scan<'static>) -> String {
    let mut scan = scan.clone();
    scan.integers().for_each(|integer| *integer = 0);
    scan.name()
}

/// Returns what is asked for of these numbers.
fn scans(patterns: &[Pattern], numbers: &[i64]) -> Vec<Scan<'static>> {
    let each = |pattern: &Pattern| -> Vec<_> {
        match pattern.is_the_same_for_all() {
            true => vec![pattern.scan.clone()],
            false => numbers.iter().map(|number| pattern.at(*number)).collect(),
        }
    };
    patterns.iter().flat_map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::BatchId;
    use crate::store::tables::{evidence, life, upload};

    const BATCH: BatchId = BatchId::new(7);

    /// What is asked about a payment whose predecessor has a number that is ten less.
    fn asked(seq: i64) -> Vec<Scan<'static>> {
        let evidence = Scan::by(&evidence::evidence_by_payment);
        [
            Scan::of(&life::TABLE).at(&seq),
            Scan::of(&life::TABLE).at(&(seq - 10)),
            evidence.at(&seq),
            Scan::by(&life::post_queue).at(&BATCH).up_to(&seq),
            Scan::by(&life::post_queue).at(&BATCH),
            // It follows from nothing that is known of the payment.
            Scan::of(&upload::TABLE).at(&(seq * 3)),
        ]
        .map(Scan::into_owned)
        .into()
    }

    fn names(scans: &[Scan<'_>]) -> Vec<String> {
        let mut names: Vec<_> = scans.iter().map(Scan::name).collect();
        names.sort();
        names
    }

    fn come_to(foresight: &mut Foresight, numbers: &[i64], nth: usize) -> Foreseen {
        let foreseen = foresight.come_to(numbers, nth);
        asked(numbers[nth])
            .iter()
            .for_each(|scan| foresight.note(scan));
        foreseen
    }

    /// What is foreseen of numbers: all but what follows from nothing, and what is the same for all of them once.
    fn expected(numbers: &[i64]) -> Vec<String> {
        let each = numbers.iter().flat_map(|number| asked(*number));
        let mut names: Vec<_> = names(&each.collect::<Vec<_>>());
        names.retain(|name| !name.starts_with("upload"));
        names.dedup();
        names
    }

    #[test]
    fn what_was_asked_about_two_numbers_is_foreseen_of_the_next_ones() {
        let numbers: Vec<i64> = (0..300).map(|nth| 100 + nth * nth).collect();
        let mut foresight = Foresight::default();
        for nth in 0..numbers.len() {
            let foreseen = come_to(&mut foresight, &numbers, nth);
            let of = match nth {
                2 => 2..128,
                128 => 128..256,
                256 => 256..300,
                _ => 0..0,
            };
            assert_eq!(names(&foreseen.scans), expected(&numbers[of]), "{nth}");
            assert_eq!(foreseen.is_fresh, nth > 0 && nth % TOGETHER == 0, "{nth}");
        }
        // A list that begins anew has nothing to do with the one before.
        assert!(come_to(&mut foresight, &numbers, 0).scans.is_empty());
    }

    #[test]
    fn a_list_that_comes_between_leaves_nothing_behind() {
        let numbers: Vec<i64> = (1..=300).map(|nth| nth * 100).collect();
        let between: Vec<i64> = (1000..1300).collect();
        let mut foresight = Foresight::default();
        come_to(&mut foresight, &numbers, 0);
        for nth in 0..between.len() {
            foresight.come_to(&between, nth);
            foresight.note(&Scan::of(&upload::TABLE).at(&between[nth]));
        }
        assert!(come_to(&mut foresight, &numbers, 1).scans.is_empty());
        assert!(come_to(&mut foresight, &numbers, 2).scans.is_empty());
        let foreseen = come_to(&mut foresight, &numbers, 3);
        assert_eq!(names(&foreseen.scans), expected(&numbers[3..129]));
    }

    #[test]
    fn what_is_asked_later_is_learned_with_the_next_ones() {
        let numbers: Vec<i64> = (1..=300).collect();
        let mut foresight = Foresight::default();
        for (nth, number) in numbers.iter().enumerate() {
            let foreseen = foresight.come_to(&numbers, nth).scans.len();
            let upload = Scan::of(&upload::TABLE).at(number);
            if nth >= TOGETHER {
                foresight.note(&upload);
            }
            let expected = match nth {
                130 => 256 - 130,
                256 => 300 - 256,
                _ => 0,
            };
            assert_eq!(foreseen, expected, "{nth}");
        }
    }

    #[test]
    fn of_few_numbers_nothing_is_foreseen_and_little_is_noted() {
        let mut foresight = Foresight::default();
        for numbers in [&[][..], &[1], &[1, 2]] {
            for nth in 0..numbers.len() {
                assert!(come_to(&mut foresight, numbers, nth).scans.is_empty());
                assert!(!foresight.is_noting);
            }
        }
        let numbers: Vec<i64> = (1..10).collect();
        foresight.come_to(&numbers, 0);
        for _ in 0..9 * NOTED_MAX {
            foresight.note(&Scan::of(&life::TABLE).at(&1_i64));
        }
        assert_eq!(foresight.examples[0].scans.len(), NOTED_MAX);
    }
}
