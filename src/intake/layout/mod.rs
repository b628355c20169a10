//! Layouts: named descriptions of how the columns of another program's file become ours.
//!
//! ```text
//! definition (what is said) -> binding (where it stands under this header) -> mapped (one row) -> checks, as any row
//! ```
//!
//! A row is a list of cells, whatever it was read from. The mapping comes before identifiers are made, so a layout is part of
//! what a load is: its name and digest are kept with it.

mod binding;
mod dates;
mod decimal;
mod definition;
mod guess;
mod mapped;
mod pattern;
mod soundness;
mod total;
mod written;

pub(super) use binding::{Binding, Head};
pub use decimal::{Decimal, Numbers};
pub use definition::{
    Condition, EmptyAmount, Factor, FileKind, HeaderAt, Layout, Period, Place, Problem, Refusal,
    Source, Taken, Total,
};
pub use guess::{ColumnGuess, Given, Guess};
pub(super) use mapped::Mapped;
pub(super) use total::{Sum, is_marker};
