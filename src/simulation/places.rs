//! What becomes of the place of a journal: copies are taken of it, and put back when more has happened.

use std::cell::{Cell, RefCell};

use fastrand::Rng;

use crate::journal::simulated::Image;

/// The copies, with a generator of their own: scenes without copies stay as they are.
pub(super) struct Places {
    pub(super) rng: RefCell<Rng>,
    /// With how many batches it knew.
    pub(super) image: RefCell<Option<(Image, usize)>>,
    /// What runs is a copy: the operator knows nothing of it.
    pub(super) is_copy: Cell<bool>,
}

impl Places {
    pub(super) fn of(seed: u64) -> Self {
        Self {
            rng: RefCell::new(Rng::with_seed(!seed)),
            image: RefCell::new(None),
            is_copy: Cell::new(false),
        }
    }

    pub(super) fn forget_copy(&self) {
        self.image.take();
    }
}
