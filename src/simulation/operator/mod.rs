//! What people do: they load, correct, decide, cancel, and come with other accounts and settings.

pub(super) mod accounts;
pub(super) mod again;
pub(super) mod calendar;
pub(super) mod corrections;
pub(super) mod decisions;
pub(super) mod deployment;
pub(super) mod destinations;
pub(super) mod diary;
pub(super) mod eyes;
pub(super) mod forgetting;
pub(super) mod limits;
pub(super) mod loads;
pub(super) mod mended;
pub(super) mod office;
pub(super) mod ordered;
pub(super) mod redirected;
pub(super) mod scheduled;
pub(super) mod signing;
pub(super) mod statements;
