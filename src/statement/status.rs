//! What a row says about whether its money has moved, in whatever column it says so.

use super::fields::Fields;
use super::headers::folded;
use super::{StatementError, error::shown};
use crate::ledger::reconciliation::Standing;

/// Words of a status. "Posted" is not among them: at a bank it means booked, at this gateway that nothing is known yet (code 139).
const BOOKED: [&str; 7] = [
    "paid",
    "success",
    "successful",
    "completed",
    "complete",
    "settled",
    "booked",
];
const PENDING: [&str; 5] = [
    "pending",
    "processing",
    "in progress",
    "accepted",
    "authorised",
];
const NOT_EXECUTED: [&str; 7] = [
    "failed",
    "rejected",
    "declined",
    "cancelled",
    "canceled",
    "expired",
    "error",
];
const REVERSED: [&str; 3] = ["reversed", "returned", "refunded"];

/// Parts of headers under which a code of the outcome stands.
const CODES: [&str; 5] = [
    "responsecode",
    "resultcode",
    "statuscode",
    "errorcode",
    "returncode",
];
/// Such codes of a payment that was made.
const GOOD_CODES: [&str; 5] = ["0", "00", "000", "140", "200"];

/// Headers above what is there only if a payment was not made, or came back.
const FAULTS: [&str; 13] = [
    "error",
    "errors",
    "errormessage",
    "errordescription",
    "failed",
    "failurereason",
    "rejected",
    "rejectreason",
    "rejectionreason",
    "cancelled",
    "reversed",
    "isreversed",
    "returned",
];
/// What stands there of one that was made.
const NO: [&str; 9] = ["no", "n", "false", "0", "none", "nil", "null", "na", ""];

/// Words with which a cell begins that says of a line that it did not move money, or that the money came back; as [`folded`] has them.
const DOUBTS: [&str; 41] = [
    "failed",
    "failure",
    "fail",
    "rejected",
    "rejection",
    "reject",
    "declined",
    "denied",
    "cancelled",
    "canceled",
    "expired",
    "error",
    "unsuccessful",
    "unpaid",
    "reversed",
    "reversal",
    "returned",
    "refunded",
    "insufficient",
    "invalid",
    "timeout",
    "fallida",
    "fallido",
    "fallo",
    "rechazada",
    "rechazado",
    "echec",
    "echoue",
    "echouee",
    "rejete",
    "rejetee",
    "annule",
    "annulee",
    "imeshindwa",
    "imeshindikana",
    "imekataliwa",
    "imefeli",
    "falhou",
    "rejeitado",
    "fehlgeschlagen",
    "abgelehnt",
];

/// Returns whether the first word of a cell casts doubt on its line.
fn casts_doubt(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    let first = words.find(|word| !word.is_empty()).unwrap_or_default();
    DOUBTS.contains(&folded(first).as_str())
}

/// Returns whether a cell under a header that nobody reads says that its payment was not made.
fn speaks_against(header: &str, cell: &str) -> bool {
    let (header, value) = (folded(header), folded(cell));
    if CODES.iter().any(|code| header.contains(code)) {
        return !value.is_empty() && !GOOD_CODES.contains(&value.as_str());
    }
    match FAULTS.contains(&header.as_str()) {
        true => !NO.contains(&value.as_str()),
        false => casts_doubt(cell),
    }
}

impl Fields<'_> {
    /// Reads a status; the second one: it came back. Where several columns have one, none may say otherwise than the others.
    pub(super) fn standing(&self) -> Result<(Standing, bool), StatementError> {
        let mut told: Option<(Standing, bool)> = None;
        for at in self.headers.all("status") {
            let Some(cell) = self.row.cells.get(*at) else {
                continue;
            };
            self.assert_sound("status", *at, cell)?;
            let text = cell.text.trim();
            if text.is_empty() {
                continue;
            }
            let (standing, back) = self.meaning(*at, text)?;
            told = Some(match told {
                None => (standing, back),
                Some((before, came_back)) if before == standing => (before, came_back || back),
                Some(_) => (Standing::Pending, false),
            });
        }
        Ok(told.unwrap_or((Standing::Booked, false)))
    }

    fn meaning(&self, at: usize, text: &str) -> Result<(Standing, bool), StatementError> {
        let terms = self.terms;
        let word = text.to_lowercase();
        let among = |words: &[String]| {
            words
                .iter()
                .any(|known| known.trim().to_lowercase() == word)
        };
        let built_in = |words: &[&str]| words.contains(&word.as_str());
        // What is said comes before what is built in; once the words for paid are named, no other one means it.
        let is_booked = terms.booked.is_empty() && built_in(&BOOKED);
        let meanings = [
            (among(&terms.booked), (Standing::Booked, false)),
            (among(&terms.pending), (Standing::Pending, false)),
            (among(&terms.not_executed), (Standing::NotExecuted, false)),
            (among(&terms.reversed), (Standing::Booked, true)),
            (built_in(&PENDING), (Standing::Pending, false)),
            (built_in(&NOT_EXECUTED), (Standing::NotExecuted, false)),
            (built_in(&REVERSED), (Standing::Booked, true)),
            (is_booked, (Standing::Booked, false)),
        ];
        let found = meanings.into_iter().find(|(is_it, _)| *is_it);
        found.map(|(_, meaning)| meaning).ok_or_else(|| {
            let name = self.headers.shown(at);
            StatementError::new(
                &(self.row.at)(at),
                format!("status: nothing says what {} means, under {name}", shown(text)),
                "say what the words mean: --booked WORD for paid, and --pending, --not-executed and --reversed for the \
                others; or name the column that says whether lines were paid: --column status=HEADER",
            )
        })
    }

    /// Looks whether something else in a row that moved money out says that it did not, or that it came back.
    ///
    /// # Errors
    /// A column says so that is not read as the status, or the status is empty.
    pub(super) fn doubted(&self) -> Result<bool, StatementError> {
        let statuses = self.headers.all("status");
        let is_empty = |at: &usize| {
            let cell = self.row.cells.get(*at);
            cell.is_none_or(|cell| cell.text.trim().is_empty())
        };
        if let Some(first) = statuses.first()
            && statuses.iter().all(is_empty)
        {
            return Err(StatementError::new(
                &(self.row.at)(*first),
                format!(
                    "{}: the cell is empty, so that nothing says whether the line has moved",
                    self.headers.shown(*first)
                ),
                "fetch the statement again, whole; if its lines without a status have moved, write a word for that in a copy, or name another \
                column: --column status=HEADER",
            ));
        }
        for (at, cell) in self.row.cells.iter().enumerate() {
            if !self.headers.reads(at) && speaks_against(self.headers.name(at), cell.text) {
                return Err(StatementError::new(
                    &(self.row.at)(at),
                    format!(
                        "{} says {}, and is not read, while the line is taken for money that has left",
                        self.headers.shown(at),
                        shown(cell.text.trim())
                    ),
                    "if it says whether lines were paid, name it: --column status=HEADER, with --booked WORD for paid and --not-executed WORD for not \
                    paid; if it does not, name the column that does, and take this one out of a copy",
                ));
            }
        }
        for name in ["kind", "description"] {
            if self.texts(name)?.into_iter().any(casts_doubt) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::headers::is_status;

    #[test]
    fn a_header_of_a_status_is_known_in_several_languages() {
        for (header, expected) in [
            ("Status", true),
            ("Transaction Status", true),
            ("Outcome", true),
            ("Estado", true),
            ("Statut", true),
            ("Hali", true),
            ("État", true),
            ("Statement", false),
            ("Status date", false),
            ("Shop", false),
        ] {
            assert_eq!(is_status(&folded(header)), expected, "{header}");
        }
    }

    #[test]
    fn what_speaks_against_a_payment_is_seen_under_whatever_header() {
        for (header, cell, expected) in [
            ("Remarks", "REVERSED", true),
            ("Remarks", "Failed: insufficient funds", true),
            ("Nota", "Fallida", true),
            ("Note", "Échoué", true),
            ("Remarks", "Salary of November", false),
            ("Remarks", "", false),
            ("Remarks", "not failed", false),
            ("Result Desc", "Insufficient funds", true),
            ("ResponseCode", "141", true),
            ("ResponseCode", "0", false),
            ("ResponseCode", "", false),
            ("Result code", "140", false),
            ("Reversed", "Yes", true),
            ("Reversed", "No", false),
            ("Reversed", "-", false),
            ("Error", "Account closed", true),
            ("Error", "N/A", false),
        ] {
            assert_eq!(speaks_against(header, cell), expected, "{header}: {cell}");
        }
    }
}
