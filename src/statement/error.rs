//! What is wrong with a statement.

use std::fmt;

/// Why a statement is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementError {
    place: String,
    what: String,
    hint: String,
}

impl StatementError {
    pub(super) fn new(
        place: impl Into<String>,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            place: place.into(),
            what: what.into(),
            hint: hint.into(),
        }
    }

    pub(super) fn io(error: &std::io::Error) -> Self {
        Self::new(
            "",
            format!("it cannot be read: {error}"),
            "look at the file",
        )
    }

    /// It was ended by whoever takes its lines.
    pub(super) fn stopped() -> Self {
        Self::new("", "its lines are not taken any more", "try again")
    }

    /// A file that does not reach its end.
    pub(super) fn cut_off(place: impl Into<String>, what: &str) -> Self {
        Self::new(
            place,
            format!("the statement is cut off: {what}"),
            "fetch the statement again, whole",
        )
    }

    /// Returns what to do.
    #[must_use]
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

impl fmt::Display for StatementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for StatementError {}

/// Characters of a file that an error shows.
const SHOWN_MAX: usize = 40;

/// Quotes what was found, as far as it is shown.
pub(super) fn shown(text: &str) -> String {
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let cut: String = text.chars().map(plain).take(SHOWN_MAX).collect();
    match text.chars().count() > SHOWN_MAX {
        true => format!("\"{cut}…\""),
        false => format!("\"{cut}\""),
    }
}
