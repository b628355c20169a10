//! What a server, or the way to it, answered instead of what was asked, in the words of the store.

use std::error::Error as _;
use std::sync::Arc;

use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::store::Error;

/// Why something was not done.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// The server refused it: the transaction, if there is one, cannot go on.
    Server {
        /// Five characters.
        code: String,
        what: Arc<str>,
        /// The connection stands.
        is_plain: bool,
    },
    /// The connection is gone, or does not answer.
    Lost { what: Arc<str> },
}

impl Failure {
    pub(super) fn lost(what: impl Into<Arc<str>>) -> Self {
        Self::Lost { what: what.into() }
    }

    /// Returns whether the server said that it did not do what it was asked, and goes on.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::Server { is_plain: true, .. })
    }

    /// Returns whether it is this state of the server.
    pub(super) fn is(&self, state: &SqlState) -> bool {
        matches!(self, Self::Server { code, .. } if code == state.code())
    }

    pub(super) fn what(&self) -> &Arc<str> {
        match self {
            Self::Server { what, .. } | Self::Lost { what } => what,
        }
    }
}

/// Says what a server said. What it says in detail holds values of rows: that stays out.
fn said(error: &DbError) -> String {
    format!("PostgreSQL: {} ({})", error.message(), error.code().code())
}

/// Says what is the matter, without anything that stands in a row.
pub(super) fn words_of(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return said(error);
    }
    let mut text = error.to_string();
    if let Some(cause) = error.source() {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    format!("the connection to PostgreSQL: {text}")
}

impl From<&tokio_postgres::Error> for Failure {
    fn from(error: &tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(error) => Self::Server {
                code: error.code().code().to_owned(),
                what: said(error).into(),
                is_plain: !matches!(
                    error.parsed_severity(),
                    Some(Severity::Fatal | Severity::Panic)
                ),
            },
            None => Self::lost(words_of(error)),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let (code, what) = match failure {
            Failure::Lost { what } => return Self::ConnectionLost { what },
            Failure::Server {
                what,
                is_plain: false,
                ..
            } => return Self::ConnectionLost { what },
            Failure::Server { code, what, .. } => (code, what),
        };
        match (code.get(..2).unwrap_or_default(), code.as_str()) {
            (_, "40001" | "40P01") => Self::DecideAgain { what },
            // What the guards and the rules of tables say.
            ("23", _) => Self::Refused { what },
            (_, "53100") => Self::Full { what },
            // A row that was known is not there: see `statement::change_by_key`.
            (_, "22012") => Self::DecideAgain {
                what: "a row that should be changed no longer exists".into(),
            },
            (_, "55P03") => Self::Busy {
                what: format!("others used the journal for too long, for a load or an order about many payments ({what})").into(),
            },
            // Too many are connected.
            (_, "53300") => Self::Busy { what },
            (_, "XX001" | "XX002") => Self::Damaged { what },
            ("08", _) => Self::ConnectionLost { what },
            (_, "42501") => Self::Fault {
                what: format!("{what}: load, run, pay and listen need a user with the role disburse_runner, orders of people need one with disburse_operator; disburse journal init prints the rights of both")
                    .into(),
            },
            _ => Self::Fault { what },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(code: &str, is_plain: bool) -> &'static str {
        let failure = Failure::Server {
            code: code.to_owned(),
            what: "".into(),
            is_plain,
        };
        match Error::from(failure) {
            Error::Refused { .. } => "refused",
            Error::DecideAgain { .. } => "decide again",
            Error::Busy { .. } => "busy",
            Error::Full { .. } => "full",
            Error::Damaged { .. } => "damaged",
            Error::ConnectionLost { .. } => "lost",
            _ => "fault",
        }
    }

    #[test]
    fn states_of_the_server_have_the_words_of_the_store() {
        let cases = [
            ("40001", true, "decide again"),
            ("40P01", true, "decide again"),
            ("40003", true, "fault"),
            ("23505", true, "refused"),
            ("23514", true, "refused"),
            ("23001", true, "refused"),
            ("53100", true, "full"),
            ("53300", true, "busy"),
            ("55P03", true, "busy"),
            ("XX001", true, "damaged"),
            ("XX000", true, "fault"),
            ("08006", true, "lost"),
            ("57P01", false, "lost"),
            ("57014", true, "fault"),
            ("42P01", true, "fault"),
        ];
        for (code, is_plain, expected) in cases {
            assert_eq!(kind(code, is_plain), expected, "{code}");
        }
    }
}
