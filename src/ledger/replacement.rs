//! A failed payment whose row was corrected: the corrected row becomes the next generation of it, with an identifier of its own.
//!
//! From then on it is held to the rules of every retry ([`super::generations`]): it leaves only while every earlier generation
//! is proven failed. Here it is said whether there may be one at all.

use std::fmt;

use super::generations::may_be_retried;
use super::lost::lost_in;
use super::lost_digits::Lost;
use super::repeats::{References, Standing};
use crate::domain::{AmountField, BatchName, Instruction, PayerTransactionId, Reference};
use crate::lifecycle::State;

/// The payment that a corrected row names, as the journal knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predecessor {
    /// Its batch.
    pub batch: BatchName,
    /// Where the generations of its row stand, the oldest first.
    pub states: Vec<State>,
    /// What replaced it already, and where that stands.
    pub replaced_by: Option<(PayerTransactionId, State)>,
    /// The batch into which its row was loaded anew, where that is paid, or may be.
    pub elsewhere: Option<String>,
    /// What of the row is another one than it was.
    pub changed: Changed,
}

/// How a corrected row differs from what it replaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Something does.
    pub anything: bool,
    /// Its reference.
    pub reference: bool,
    /// Its service.
    pub service: bool,
    /// Its currency.
    pub currency: bool,
    /// One of the two names a document that was uploaded for an identifier.
    pub names_a_document: bool,
    /// A column whose digits a spreadsheet took.
    pub lost: Option<(&'static str, Lost)>,
}

impl Changed {
    /// Compares a corrected row with what it replaces.
    #[must_use]
    pub fn between<A: AmountField, B: AmountField>(
        was: &Instruction<A>,
        is: &Instruction<B>,
    ) -> Self {
        fn reference<M>(row: &Instruction<M>) -> Option<&str> {
            row.reference.as_ref().map(Reference::as_str)
        }
        Self {
            anything: was.content_hash() != is.content_hash(),
            reference: reference(was) != reference(is),
            service: was.service != is.service,
            currency: was.money.currency() != is.money.currency(),
            names_a_document: was.names_document() || is.names_document(),
            lost: lost(&was.cells(), &is.cells()),
        }
    }
}

/// Returns the column whose digits were lost in a corrected row, and how.
///
/// Nobody knows which column was wrong: a number that is right without them is not told from one that a spreadsheet spoilt.
fn lost(was: &[(String, String)], is: &[(String, String)]) -> Option<(&'static str, Lost)> {
    let cells = |cells: &[(String, String)]| cells.iter().cloned().collect();
    lost_in(&cells(was), &cells(is), |_, _, _| true)
}

/// Why a corrected row does not replace what it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The text is no identifier of a payment of this journal.
    Unknown,
    /// It is a payment of another batch.
    OtherBatch(BatchName),
    /// The file is not added to a batch that is there.
    NotAdded,
    /// Another row of the file names the same payment.
    Twice,
    /// It was replaced before, by a payment that stands there.
    Replaced(PayerTransactionId, State),
    /// It is not proven to have failed.
    NotFailed(State),
    /// An earlier generation of its row is paid, or may be.
    EarlierMayBePaid,
    /// Its row was loaded anew into this batch, and is paid there, or may be.
    LoadedAnew(String),
    /// The row has another reference.
    OtherReference,
    /// The row is paid by another service.
    OtherService,
    /// The row has another currency.
    OtherCurrency,
    /// The row leaves its amount to the bill.
    NoAmount,
    /// The document that is named was uploaded for another identifier.
    NamesADocument,
    /// A column has lost digits, as in a spreadsheet.
    LostDigits(&'static str, Lost),
    /// The row is as it was.
    Unchanged,
    /// It pays what another row of the batch pays, at this line of this file, and nothing tells the two apart.
    EqualRow(u64, String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str(
                "names no payment of this journal; take the identifier from the failed.csv of the batch's report as it stands there",
            ),
            Self::OtherBatch(batch) => write!(
                f,
                "names a payment of batch {batch}; add the file to that batch: --batch {batch} --amend"
            ),
            Self::NotAdded => f.write_str(
                "names a failed payment, and the file is not added to its batch; add --amend, with the name of that batch",
            ),
            Self::Twice => {
                f.write_str("names a payment that another row of the file replaces; keep one of the two rows")
            }
            Self::Replaced(id, state) => write_replaced(f, id, *state),
            Self::NotFailed(State::Cancelled) => f.write_str(
                "names a payment that was cancelled; to pay its row all the same, load it, with its reference and without `replaces`, under a new batch name",
            ),
            Self::NotFailed(state) => write!(
                f,
                "names a payment that is {}; only one that is proven to have failed is replaced: remove this row",
                state.name()
            ),
            Self::EarlierMayBePaid => f.write_str(
                "names a payment whose row was paid by an earlier payment, or may have been; `disburse explain` shows it: remove this row",
            ),
            Self::LoadedAnew(batch) => write!(
                f,
                "names a payment whose row, as it was or as it is now, was loaded again into batch {batch}, and is paid there, or may be: remove this row. If it \
                 waits there to be posted, and this row is to be paid in its place, cancel it there first (disburse cancel {batch} REFERENCE). If it is a separate debt, load it into a new batch; that load asks you to confirm"
            ),
            Self::OtherReference => f.write_str(
                "names a payment with another reference; write the reference as it was",
            ),
            Self::OtherService => f.write_str(
                "names a payment of another service; write the service_code as it was. To pay by another service, load the row in a file of \
                 its own under a new batch name, with its reference as it was or, where it has none, with recipient and amount as they were: \
                 `disburse retry` leaves the failed one alone then",
            ),
            Self::OtherCurrency => {
                f.write_str("names a payment in another currency; write the currency_code as it was")
            }
            Self::NoAmount => f.write_str("names a failed payment, and the row has no amount; write the amount"),
            Self::NamesADocument => f.write_str(
                "names a payment with extra.supportDocument, which was uploaded for its own identifier; load the row with the column \
                 document, with its reference as it was, under a new batch name",
            ),
            Self::LostDigits(column, lost) => write!(
                f,
                "names a failed payment, of which {column} was another one: {lost}, as a spreadsheet does it. Write the value as it was. If the new one is right, \
                 load the row, with its reference and without `replaces`, under a new batch name"
            ),
            Self::EqualRow(line, file) => write!(
                f,
                "pays the same recipient, amount and service as line {line} of {file}, and nothing tells the two apart, as one of them has no \
                 reference. Remove this row if it is the same debt; if both are to be paid, add --allow-equal-rows"
            ),
            Self::Unchanged => f.write_str(
                "names a failed payment, but nothing in the row was mended; remove this row, or pay it as it is with \
                `disburse retry`",
            ),
        }
    }
}

/// Says what to do with a row whose payment was replaced by `id` already, which stands at `state`.
fn write_replaced(
    f: &mut fmt::Formatter<'_>,
    id: &PayerTransactionId,
    state: State,
) -> fmt::Result {
    write!(
        f,
        "names a payment that was already replaced by {id}, which "
    )?;
    match state {
        State::Failed => write!(f, "has failed too: write {id} here"),
        State::Paid => f.write_str("is paid: remove this row"),
        State::Cancelled => f.write_str(
            "was cancelled: to pay the row all the same, load it, with its reference and without `replaces`, under a new batch name",
        ),
        State::Ready => write!(
            f,
            "waits to be sent: remove this row. If that payment is wrong, withdraw it (`disburse cancel` of its batch, with --id {id}), and load this row, with \
             its reference and without `replaces`, under a new batch name"
        ),
        State::Posting | State::InDoubt | State::Acknowledged | State::Delivered | State::Conflict => {
            f.write_str("may be paid: remove this row, and let `disburse run` find out")
        }
    }
}

/// Returns whether a corrected row is the payment that another row of its batch is, as far as anybody can tell: equal rows without
/// references are refused in a first load, too. `same_payment`: they have recipient, amount and service in common.
#[must_use]
pub fn is_equal_row(references: References, same_payment: bool, other: Standing) -> bool {
    let may_be_paid = match other {
        Standing::Ended | Standing::Unfinished => true,
        Standing::Cancelled | Standing::Failed => false,
    };
    references == References::Missing && same_payment && may_be_paid
}

/// Says whether a corrected row may replace the payment that it names.
///
/// # Errors
/// Why not.
pub fn may_replace(
    predecessor: Option<&Predecessor>,
    batch: &BatchName,
    is_added: bool,
) -> Result<(), Refusal> {
    let Some(Predecessor {
        batch: own,
        states,
        replaced_by,
        elsewhere,
        changed,
    }) = predecessor
    else {
        return Err(Refusal::Unknown);
    };
    if own != batch {
        return Err(Refusal::OtherBatch(own.clone()));
    }
    if !is_added {
        return Err(Refusal::NotAdded);
    }
    if let Some((id, state)) = replaced_by {
        return Err(Refusal::Replaced(*id, *state));
    }
    planted_instead!(ledger::may_replace());
    match states.last() {
        Some(State::Failed) => {}
        Some(state) => return Err(Refusal::NotFailed(*state)),
        None => return Err(Refusal::Unknown),
    }
    if !may_be_retried(states) {
        return Err(Refusal::EarlierMayBePaid);
    }
    if let Some(batch) = elsewhere {
        return Err(Refusal::LoadedAnew(batch.clone()));
    }
    let mismatches = [
        (changed.reference, Refusal::OtherReference),
        (changed.service, Refusal::OtherService),
        (changed.currency, Refusal::OtherCurrency),
        (changed.names_a_document, Refusal::NamesADocument),
        (!changed.anything, Refusal::Unchanged),
    ];
    let mismatch = mismatches.into_iter().find(|(is_so, _)| *is_so);
    match (mismatch, changed.lost) {
        (Some((_, refusal)), _) => Err(refusal),
        (None, Some((column, lost))) => Err(Refusal::LostDigits(column, lost)),
        (None, None) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use State::{Cancelled, Conflict, Failed, InDoubt, Paid, Ready};

    fn named(name: &str) -> BatchName {
        BatchName::parse(name).unwrap()
    }

    fn failed() -> Predecessor {
        Predecessor {
            batch: named("own"),
            states: vec![Failed],
            replaced_by: None,
            elsewhere: None,
            changed: Changed {
                anything: true,
                ..Changed::default()
            },
        }
    }

    #[test]
    fn only_what_is_proven_to_have_failed_is_replaced() {
        let own = named("own");
        let table: [(&[State], Result<(), Refusal>); 9] = [
            (&[Failed], Ok(())),
            (&[Failed, Cancelled, Failed], Ok(())),
            (&[Paid], Err(Refusal::NotFailed(Paid))),
            (&[Ready], Err(Refusal::NotFailed(Ready))),
            (&[InDoubt], Err(Refusal::NotFailed(InDoubt))),
            (&[Conflict], Err(Refusal::NotFailed(Conflict))),
            (&[Failed, Cancelled], Err(Refusal::NotFailed(Cancelled))),
            (&[Paid, Failed], Err(Refusal::EarlierMayBePaid)),
            (&[Conflict, Failed], Err(Refusal::EarlierMayBePaid)),
        ];
        for (states, expected) in table {
            let predecessor = Predecessor {
                states: states.to_vec(),
                ..failed()
            };
            assert_eq!(
                may_replace(Some(&predecessor), &own, true),
                expected,
                "{states:?}"
            );
        }
        for state in State::ALL {
            let predecessor = Predecessor {
                states: vec![state],
                ..failed()
            };
            let may = may_replace(Some(&predecessor), &own, true).is_ok();
            assert_eq!(may, state == Failed, "{state:?}");
        }
    }

    #[test]
    fn what_nothing_tells_from_another_row_that_may_be_paid_is_an_equal_row() {
        let standings = [
            (Standing::Cancelled, false),
            (Standing::Failed, false),
            (Standing::Ended, true),
            (Standing::Unfinished, true),
        ];
        for (standing, may_be_paid) in standings {
            for references in [References::Same, References::Differ, References::Missing] {
                for same in [true, false] {
                    assert_eq!(
                        is_equal_row(references, same, standing),
                        references == References::Missing && same && may_be_paid,
                        "{references:?} {same} {standing:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn digits_that_a_spreadsheet_took_of_a_corrected_row_are_noticed() {
        let row = |msisdn: &str, account: &str| {
            let cells = [("msisdn", msisdn), ("bank_account_number", account)];
            cells.map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        let was = row("254711642920", "0099427588438");
        for (is, expected) in [
            (row("254711642921", "0099427588438"), None),
            (
                row("254711642921", "99427588438"),
                Some(("bank_account_number", Lost::LeadingZeros)),
            ),
            (
                row("254712000000", "0099427588438"),
                Some(("msisdn", Lost::Rounded)),
            ),
        ] {
            assert_eq!(lost(&was, &is), expected);
        }
    }

    #[test]
    fn what_took_the_place_of_a_payment_is_told_as_it_stands() {
        let id = PayerTransactionId::parse("0123456789ABCDEFGHJKMNPQR1").unwrap();
        for state in State::ALL {
            let said = Refusal::Replaced(id, state).to_string();
            assert!(said.contains("already replaced by"), "{said}");
            assert_eq!(
                said.contains("write 0123456789ABCDEFGHJKMNPQR1 here"),
                state == State::Failed,
                "{said}"
            );
            // Nothing that is paid, or may be, is loaded once more.
            let is_loaded = matches!(state, State::Cancelled | State::Ready);
            assert_eq!(said.contains("under a new batch name"), is_loaded, "{said}");
        }
    }

    #[test]
    fn a_row_that_is_not_the_corrected_one_is_refused_with_its_reason() {
        let own = named("own");
        let id = PayerTransactionId::parse("0123456789ABCDEFGHJKMNPQR1").unwrap();
        let changed = |change: fn(&mut Changed)| {
            let mut predecessor = failed();
            change(&mut predecessor.changed);
            predecessor
        };
        let replaced = Predecessor {
            replaced_by: Some((id, State::Paid)),
            ..failed()
        };
        let anew = Predecessor {
            elsewhere: Some("c".to_owned()),
            ..failed()
        };
        let table = [
            (anew, Refusal::LoadedAnew("c".to_owned())),
            (replaced, Refusal::Replaced(id, State::Paid)),
            (changed(|c| c.reference = true), Refusal::OtherReference),
            (changed(|c| c.service = true), Refusal::OtherService),
            (changed(|c| c.currency = true), Refusal::OtherCurrency),
            (
                changed(|c| c.names_a_document = true),
                Refusal::NamesADocument,
            ),
            (changed(|c| c.anything = false), Refusal::Unchanged),
            (
                changed(|c| c.lost = Some(("msisdn", Lost::Rounded))),
                Refusal::LostDigits("msisdn", Lost::Rounded),
            ),
        ];
        for (predecessor, expected) in table {
            let found = may_replace(Some(&predecessor), &own, true);
            assert_eq!(found, Err(expected));
        }
        assert_eq!(may_replace(None, &own, true), Err(Refusal::Unknown));
        assert_eq!(
            may_replace(Some(&failed()), &own, false),
            Err(Refusal::NotAdded)
        );
        assert_eq!(
            may_replace(Some(&failed()), &named("other"), true),
            Err(Refusal::OtherBatch(own))
        );
    }
}
