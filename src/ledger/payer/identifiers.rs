//! What tells the payments of a batch from any others, in a few bytes that fit into a mark.

use super::short::digest_of;

/// The identifiers of a batch's payments as they were loaded, without their retries, in whatever order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identifiers {
    /// How many there are.
    pub count: u64,
    sum: u64,
}

impl Identifiers {
    /// Adds one.
    // A sum needs no order and no scan: what several loads brought is added up.
    pub fn add(&mut self, identifier: &str) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(fnv_1a(identifier.as_bytes()));
    }

    /// Adds those of another load.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            sum: self.sum.wrapping_add(other.sum),
        }
    }

    /// Returns the two numbers that are stored.
    #[must_use]
    pub fn to_stored(self) -> (i64, i64) {
        (
            i64::try_from(self.count).unwrap_or(i64::MAX),
            self.sum.cast_signed(),
        )
    }

    /// Takes them back.
    #[must_use]
    pub fn of_stored(count: i64, sum: i64) -> Self {
        Self {
            count: count.unsigned_abs(),
            sum: sum.cast_unsigned(),
        }
    }

    /// Writes them as two words.
    pub(super) fn to_words(self) -> String {
        format!("{} {:016x}", self.count, self.sum)
    }

    /// Reads the two words.
    pub(super) fn read(count: &str, sum: &str) -> Option<Self> {
        Some(Self {
            count: count.parse().ok()?,
            sum: u64::from_str_radix(sum, 16).ok()?,
        })
    }

    /// Returns the few letters that stand for them where there is no room for more.
    pub(super) fn digest(self) -> String {
        digest_of(&self.to_words())
    }
}

/// The 64-bit hash FNV-1a, by Fowler, Noll and Vo. An identifier is a hash already; here it only becomes a number.
fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// What is known of how a batch was loaded that was posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsLoaded {
    /// Its payments.
    pub identifiers: Identifiers,
    /// Who paid; `None` where there was no room for it.
    pub originator: Option<String>,
}

impl AsLoaded {
    /// Reads the words behind an account on a line of a mark; `None`: they are not there.
    pub(super) fn read<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Self> {
        let identifiers = Identifiers::read(words.next()?, words.next()?)?;
        let originator = words.next().map(plain);
        Some(Self {
            identifiers,
            originator,
        })
    }
}

/// Writes an originator as one word: it is a name, with blanks in it as often as not.
pub(super) fn one_word(text: &str) -> String {
    text.replace('%', "%25").replace(' ', "%20")
}

fn plain(word: &str) -> String {
    word.replace("%20", " ").replace("%25", "%")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ids: &[&str]) -> Identifiers {
        let mut all = Identifiers::default();
        ids.iter().for_each(|id| all.add(id));
        all
    }

    #[test]
    fn the_same_identifiers_are_the_same_in_any_order_and_by_whatever_loads() {
        assert_eq!(of(&["A", "B", "C"]), of(&["C", "A", "B"]));
        assert_eq!(of(&["A"]).and(of(&["C", "B"])), of(&["A", "B", "C"]));
        for other in [&["A", "B"][..], &["A", "B", "D"], &["A", "B", "B"], &[]] {
            assert_ne!(of(other), of(&["A", "B", "C"]), "{other:?}");
            assert_ne!(of(other).digest(), of(&["A", "B", "C"]).digest());
        }
        assert_ne!(of(&["A", "A"]), of(&["B", "B"]));
        let all = of(&["A", "B", "C"]);
        let (count, sum) = all.to_stored();
        assert_eq!(Identifiers::of_stored(count, sum), all);
    }

    #[test]
    fn how_a_batch_was_loaded_is_read_back_from_its_words() {
        let identifiers = of(&["A", "B"]);
        for name in ["acme", "Acme Ltd", "100% %20 é", "%2520"] {
            let text = format!("{} {}", identifiers.to_words(), one_word(name));
            let read = AsLoaded::read(text.split(' ')).unwrap();
            assert_eq!(read.originator.as_deref(), Some(name));
            assert_eq!(read.identifiers, identifiers);
        }
        let bare = identifiers.to_words();
        assert_eq!(AsLoaded::read(bare.split(' ')).unwrap().originator, None);
        assert_eq!(AsLoaded::read("".split(' ')), None);
        assert_eq!(AsLoaded::read(std::iter::empty()), None);
    }
}
