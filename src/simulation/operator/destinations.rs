//! Whether batches are loaded for an account of the gateway, and what is mistaken about that.

use std::cell::RefCell;

use fastrand::Rng;

/// One seed in so many plays it.
const EVERY: u32 = 4;
/// One load in so many is made with the profile of another account.
const MISTAKEN: u32 = 8;

/// Whether batches have a destination, with a generator of their own.
pub(in crate::simulation) struct Destinations {
    rng: RefCell<Rng>,
    is_on: bool,
}

impl Destinations {
    pub(in crate::simulation) fn of(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0xDE57);
        Self {
            is_on: rng.u32(0..EVERY) == 0,
            rng: RefCell::new(rng),
        }
    }

    fn by_chance(&self, of: u32) -> bool {
        self.rng.borrow_mut().u32(0..of) == 0
    }

    /// Whether a load is made for somebody, and whether that is another account by mistake, where one can be made.
    pub(in crate::simulation) fn load(&self, may_be_mistaken: bool) -> Option<bool> {
        self.is_on
            .then(|| may_be_mistaken && self.by_chance(MISTAKEN))
    }

    /// Whether somebody orders that a batch goes elsewhere.
    pub(in crate::simulation) fn orders(&self) -> bool {
        !self.by_chance(2)
    }
}
