//! Status code -> class, as data (sections 3 and 7.2, and what the interface does not show).

use std::collections::BTreeMap;
use std::str::FromStr;

/// What a status code means for a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The money moved; final.
    Paid,
    /// It was accepted and then failed; final.
    Failed,
    /// It was not executed, for a reason that a repeat does not mend; final.
    Refused,
    /// The gateway has it and works on it.
    Acknowledged,
    /// It is at the bank, not settled.
    Delivered,
    /// Not executed, for want of float.
    NoFloat,
    /// The gateway has this identifier already.
    Duplicate,
    /// The gateway does not know this identifier.
    NotFound,
    /// The code proves nothing.
    InDoubt,
}

impl Class {
    /// Every class with its name in the configuration.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Paid, "paid"),
        (Self::Failed, "failed"),
        (Self::Refused, "refused"),
        (Self::Acknowledged, "acknowledged"),
        (Self::Delivered, "delivered"),
        (Self::NoFloat, "no_float"),
        (Self::Duplicate, "duplicate"),
        (Self::NotFound, "not_found"),
        (Self::InDoubt, "in_doubt"),
    ];
}

impl Class {
    /// Returns the name in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(class, _)| *class == self);
        named.map_or("", |(_, name)| *name)
    }
}

impl FromStr for Class {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(class, _)| *class)
            .ok_or(())
    }
}

/// No such transaction: the code of a payment that ends because the gateway does not have it.
pub(super) const NO_SUCH_TRANSACTION: i32 = 143;

const REFUSALS: [i32; 10] = [106, 109, 110, 111, 115, 120, 146, 167, 231, 232];

/// Code -> class, separately for replies to posts and for status replies and callbacks.
///
/// A code that is in neither table proves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeTable {
    posts: BTreeMap<i32, Class>,
    statuses: BTreeMap<i32, Class>,
}

impl Default for CodeTable {
    fn default() -> Self {
        let mut posts = BTreeMap::from([
            (139, Class::Acknowledged),
            (148, Class::Delivered),
            (140, Class::Paid),
            (183, Class::Paid),
            (141, Class::Failed),
            (180, Class::Failed),
            (230, Class::NoFloat),
            (229, Class::Duplicate),
        ]);
        let mut statuses = BTreeMap::from([
            (140, Class::Paid),
            (183, Class::Paid),
            (217, Class::Paid),
            (141, Class::Failed),
            (180, Class::Failed),
            (216, Class::Failed),
            (139, Class::Acknowledged),
            (178, Class::Acknowledged),
            (219, Class::Acknowledged),
            (148, Class::Delivered),
            (NO_SUCH_TRANSACTION, Class::NotFound),
            // In a status reply the want of float is what became of the payment, not a wait.
            (230, Class::Failed),
        ]);
        for code in REFUSALS {
            posts.insert(code, Class::Refused);
            statuses.insert(code, Class::Failed);
        }
        Self { posts, statuses }
    }
}

impl CodeTable {
    /// Returns the class of a code in the reply to a post.
    #[must_use]
    pub fn of_post(&self, code: i32) -> Class {
        let class = self.posts.get(&code).copied().unwrap_or(Class::InDoubt);
        planted!(lifecycle::class_of(class, code))
    }

    /// Returns the class of a code in a status reply or a callback.
    #[must_use]
    pub fn of_status(&self, code: i32) -> Class {
        let class = self.statuses.get(&code).copied();
        planted!(lifecycle::class_of(class.unwrap_or(Class::InDoubt), code))
    }

    /// Returns what differs from the document: codes of replies to posts, then those of status replies and callbacks, each in their order.
    #[must_use]
    pub fn differing(&self) -> Vec<(&'static str, i32, Class)> {
        let document = Self::default();
        let of = |which, codes: &BTreeMap<i32, Class>, of_document: &BTreeMap<i32, Class>| {
            let meaning = |code| of_document.get(code).copied().unwrap_or(Class::InDoubt);
            let differing = codes
                .iter()
                .filter(|(code, class)| meaning(code) != **class);
            let differing = differing.map(|(code, class)| (which, *code, *class));
            differing.collect::<Vec<_>>()
        };
        let mut found = of("post", &self.posts, &document.posts);
        found.extend(of("status", &self.statuses, &document.statuses));
        found
    }

    /// Adds or moves a code of replies to posts.
    pub fn set_post(&mut self, code: i32, class: Class) {
        self.posts.insert(code, class);
    }

    /// Adds or moves a code of status replies and callbacks.
    pub fn set_status(&mut self, code: i32, class: Class) {
        self.statuses.insert(code, class);
    }
}
