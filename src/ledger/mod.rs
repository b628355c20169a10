//! The rules about money, as pure functions: no SQL, no clock, no I/O.
//!
//! [`crate::lifecycle`] decides to which state one event moves one payment. This module decides what is kept of the text that came with
//! the event ([`evidence`]), and what other payments, earlier generations, the journal and people allow. Each rule has a file and a
//! table of tests.

mod agreement;
mod room;
mod streak;

pub use agreement::{
    Judgement, Ours, Recipient, UNCOMPARED, judge, judge_forgotten, names_recipient,
};
pub use room::{Brings, Kept, has_room};
pub use streak::{HeldFor, Streak};

pub mod amendment;
pub mod approval;
pub mod archive;
pub mod calendar;
pub mod callbacks;
pub mod changed_columns;
pub mod codes;
pub mod confirmation;
pub mod copies;
pub mod correction;
pub mod decisions;
pub mod departure;
pub mod document;
pub mod due;
pub mod duplicate_check;
pub mod evidence;
pub mod failure;
pub mod forgetting;
pub mod fresh;
pub mod generations;
pub mod heads;
pub mod inquiry;
pub mod intact;
pub mod likeness;
pub mod limits;
mod loaded_before;
pub(crate) mod lost;
pub mod lost_digits;
pub mod mended;
pub mod moves;
pub mod names;
pub mod notices;
pub mod pace;
pub mod paid_again;
pub mod payer;
pub mod pin;
mod purpose;
pub mod reconciliation;
pub mod recovery;
pub mod repeats;
pub mod replacement;
pub mod schedule;
pub mod set_aside;
pub mod settling;
pub mod shield;
pub mod slots;
pub mod stale;
pub mod standstill;
pub mod successor;
pub mod tallies;
pub mod told_identifier;
pub mod unread;
pub mod was_repeat;
pub mod withdrawal;

pub use loaded_before::{Became, Before};
pub use purpose::Purpose;
