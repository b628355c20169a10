//! What is wrong with a statement, and where.

use std::fmt;

use crate::intake;
use crate::ledger::likeness::is_invisible;

/// A place in a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// None: the statement as a whole.
    #[default]
    Nowhere,
    /// A line, from 1.
    Line(u64),
    /// Line and character of XML, both from 1, and which entry that is.
    Point((u64, u64), String),
    /// A cell of a sheet: `June!C7`.
    Cell(String),
}

impl Place {
    /// Returns the place of a part of an entry.
    pub(super) fn part(&self, part: &str) -> Self {
        match self {
            Self::Point(at, entry) => Self::Point(*at, format!("{entry}, {part}")),
            other => other.clone(),
        }
    }

    /// Returns what stands between the name of the file and what is wrong.
    fn behind_a_name(&self) -> String {
        match self {
            Self::Nowhere => String::new(),
            Self::Line(line) => format!(":{line}"),
            Self::Point((line, column), entry) if entry.is_empty() => format!(":{line}:{column}"),
            Self::Point((line, column), entry) => format!(":{line}:{column}: {entry}"),
            Self::Cell(cell) => format!(":{cell}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nowhere => Ok(()),
            Self::Line(line) => write!(f, "line {line}"),
            Self::Point((line, _), entry) if entry.is_empty() => write!(f, "line {line}"),
            Self::Point(_, entry) => f.write_str(entry),
            Self::Cell(cell) => f.write_str(cell),
        }
    }
}

/// Why a statement is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementError {
    place: Place,
    what: String,
    hint: String,
}

impl StatementError {
    pub(super) fn new(place: &Place, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            place: place.clone(),
            what: what.into(),
            hint: hint.into(),
        }
    }

    /// About the statement as a whole.
    pub(super) fn whole(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(&Place::Nowhere, what, hint)
    }

    /// What the input says; what is wrong with its text is within it.
    pub(super) fn io(error: std::io::Error) -> Self {
        match error.downcast::<intake::Error>() {
            Ok(inner) => inner.into(),
            Err(error) => Self::whole(format!("it cannot be read: {error}"), "look at the file"),
        }
    }

    /// It was ended by whoever takes its lines.
    pub(super) fn stopped() -> Self {
        Self::whole("its lines are not taken any more", "try again")
    }

    /// A file that does not reach its end.
    pub(super) fn cut_off(place: &Place, what: &str) -> Self {
        Self::new(
            place,
            format!("the statement is cut off: {what}"),
            "fetch the statement again, whole",
        )
    }

    /// Returns what happened, behind the name of the file: `june.csv:12: date: ...`.
    #[must_use]
    pub fn of_file(&self, name: &str) -> String {
        format!("{name}{}: {}", self.place.behind_a_name(), self.what)
    }

    /// Returns what to do.
    #[must_use]
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

impl fmt::Display for StatementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place != Place::Nowhere {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for StatementError {}

impl From<intake::Error> for StatementError {
    fn from(error: intake::Error) -> Self {
        use intake::Error as E;
        let place = match &error {
            E::Workbook { at: Some(cell), .. } => Place::Cell(cell.clone()),
            E::Message { at: Some(at), .. } => Place::Point(*at, String::new()),
            other => other.line().map_or(Place::Nowhere, Place::Line),
        };
        let what = match &error {
            E::Empty => "the file is empty".to_owned(),
            E::Foreign { what, .. } => format!("is {what}, and no statement that is read"),
            other => other.to_string(),
        };
        let hint = match &error {
            E::Empty => Some("name the statement itself".to_owned()),
            E::Foreign { what, .. } if what.contains("(XLSX)") => {
                Some("leave --format out, or add --format xlsx".to_owned())
            }
            other => other.hint(),
        };
        let hint = hint.unwrap_or_else(|| "look at the file".to_owned());
        Self { place, what, hint }
    }
}

/// Characters of a file that an error shows.
const SHOWN_MAX: usize = 40;

/// Quotes what was found, as far as it is shown.
pub(super) fn shown(text: &str) -> String {
    let plain = |c: char| match c.is_control() || is_invisible(c) {
        true => '\u{fffd}',
        false => c,
    };
    let cut: String = text.chars().map(plain).take(SHOWN_MAX).collect();
    match text.chars().count() > SHOWN_MAX {
        true => format!("\"{cut}…\""),
        false => format!("\"{cut}\""),
    }
}
