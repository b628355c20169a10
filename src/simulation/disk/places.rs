//! What becomes of the place of a journal: copies are taken of it, and put back when more has happened.

use std::cell::{Cell, RefCell};

use fastrand::Rng;

use crate::journal::simulated::Image;

/// The copies, with a generator of their own: scenes without copies stay as they are.
pub(in crate::simulation) struct Places {
    pub(in crate::simulation) rng: RefCell<Rng>,
    /// With how many batches it knew.
    pub(in crate::simulation) image: RefCell<Option<(Image, usize)>>,
    /// What runs is a copy: the operator knows nothing of it.
    pub(in crate::simulation) is_copy: Cell<bool>,
}

impl Places {
    pub(in crate::simulation) fn of(seed: u64) -> Self {
        Self {
            rng: RefCell::new(Rng::with_seed(!seed)),
            image: RefCell::new(None),
            is_copy: Cell::new(false),
        }
    }

    pub(in crate::simulation) fn forget_copy(&self) {
        self.image.take();
    }
}
