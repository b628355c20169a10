//! Whose a file is that has the name of one of ours.

use std::borrow::Cow;

use crate::domain::BatchName;
use crate::ledger::Purpose;

/// A batch, as the list names it: `batch payroll`, `rehearsal payroll`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner(pub(super) String);

impl Owner {
    /// Returns the owner of the report of a batch.
    #[must_use]
    pub fn new(batch: &BatchName, purpose: Purpose) -> Self {
        Self(match purpose {
            Purpose::Rehearsal => format!("rehearsal {batch}"),
            Purpose::Gateway | Purpose::Unknown => format!("batch {batch}"),
        })
    }
}

/// Why a file is not overwritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// It is the file that the command reads.
    Input,
    /// It is a link, or no file at all.
    NoFile,
    /// It was not written by this program, or it was changed since.
    Somebodys,
    /// It is of the report of another batch.
    OfAnother(Owner),
}

impl Whose {
    pub(super) fn text(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Input => "is the file that is being read",
            Self::NoFile => "is a link, or no file at all",
            Self::Somebodys => "was not written there by disburse, or was changed or copied since",
            Self::OfAnother(Owner(other)) => {
                return Cow::Owned(format!("is the report of {other}"));
            }
        })
    }
}
