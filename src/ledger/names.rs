//! Which payment a person means, who names it by a text: the reference of a row, or a payerTransactionID.
//!
//! A reference may be any text, another row's identifier among them. Such a text names two payments, and a decision about the
//! wrong one is money: nothing is guessed.

use crate::domain::PayerTransactionId;

/// What a text is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Reference or identifier, whichever there is.
    Either,
    /// The reference of a row.
    Reference,
    /// A payerTransactionID.
    Identifier,
}

/// A payment, as a person names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentName {
    /// The text.
    pub text: String,
    /// What it is.
    pub by: By,
}

impl From<String> for PaymentName {
    fn from(text: String) -> Self {
        Self {
            text,
            by: By::Either,
        }
    }
}

impl From<&str> for PaymentName {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<PayerTransactionId> for PaymentName {
    fn from(id: PayerTransactionId) -> Self {
        Self {
            text: id.to_string(),
            by: By::Identifier,
        }
    }
}

/// All that a text names in a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<Payment> {
    /// Payments of the batch whose row has the text as its reference, the newest generation first.
    pub by_reference: Vec<Payment>,
    /// The payment of the batch that has it as its identifier.
    pub by_identifier: Option<Payment>,
    /// A payment of another batch has it as its identifier.
    pub elsewhere: bool,
}

/// Why a text names no payment that could be acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unclear {
    /// It names none of the batch.
    Nothing,
    /// It is the reference of one row and the identifier of another.
    Two,
}

/// Returns the payment that is meant: the generations of one row, the newest first, or the one that has the identifier.
///
/// # Errors
/// [`Unclear`], when nothing is meant, or two rows may be.
pub fn meant<Payment: PartialEq>(by: By, named: Named<Payment>) -> Result<Vec<Payment>, Unclear> {
    let Named {
        by_reference,
        by_identifier,
        elsewhere,
    } = named;
    let by_reference = planted!(ledger::by_reference(
        by_reference,
        by,
        by_identifier.as_ref()
    ));
    let meant: Vec<Payment> = match by {
        By::Reference => by_reference,
        By::Identifier => by_identifier.into_iter().collect(),
        By::Either => match by_identifier {
            // The identifier of one generation of this very row is the more exact name.
            Some(payment) if by_reference.is_empty() || by_reference.contains(&payment) => {
                vec![payment]
            }
            Some(_) => return Err(Unclear::Two),
            None if elsewhere && !by_reference.is_empty() => return Err(Unclear::Two),
            None => by_reference,
        },
    };
    if meant.is_empty() {
        return Err(Unclear::Nothing);
    }
    Ok(meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Case = (
        By,
        &'static [u32],
        Option<u32>,
        bool,
        Result<&'static [u32], Unclear>,
    );

    const CASES: [Case; 20] = {
        use By::{Either, Identifier, Reference};
        use Unclear::{Nothing, Two};
        [
            // by, by reference, by identifier, in another batch, meant
            (Either, &[], None, false, Err(Nothing)),
            (Either, &[], None, true, Err(Nothing)),
            (Either, &[7], None, false, Ok(&[7])),
            (Either, &[9, 8, 7], None, false, Ok(&[9, 8, 7])),
            (Either, &[7], None, true, Err(Two)),
            (Either, &[], Some(7), false, Ok(&[7])),
            (Either, &[7], Some(7), false, Ok(&[7])),
            (Either, &[9, 7], Some(7), false, Ok(&[7])),
            (Either, &[7], Some(8), false, Err(Two)),
            (Either, &[9, 7], Some(8), false, Err(Two)),
            (Reference, &[], None, false, Err(Nothing)),
            (Reference, &[], Some(8), false, Err(Nothing)),
            (Reference, &[7], Some(8), false, Ok(&[7])),
            (Reference, &[9, 7], Some(8), false, Ok(&[9, 7])),
            (Reference, &[7], None, true, Ok(&[7])),
            (Identifier, &[], None, false, Err(Nothing)),
            (Identifier, &[7], None, false, Err(Nothing)),
            (Identifier, &[7], None, true, Err(Nothing)),
            (Identifier, &[7], Some(8), false, Ok(&[8])),
            (Identifier, &[], Some(8), false, Ok(&[8])),
        ]
    };

    fn wrong() -> Vec<String> {
        let mut wrong = Vec::new();
        for (by, by_reference, by_identifier, elsewhere, expected) in CASES {
            let named = Named {
                by_reference: by_reference.to_vec(),
                by_identifier,
                elsewhere,
            };
            let case = format!("{by:?} {named:?}");
            let found = meant(by, named);
            if found.as_deref() != expected.as_ref().map(|rows| *rows) {
                wrong.push(format!("{case}: {found:?}"));
            }
        }
        wrong
    }

    #[test]
    fn a_text_that_names_two_rows_names_none() {
        assert_eq!(wrong(), Vec::<String>::new());
        let _awake = crate::seeded_bugs::SeededBug::IdentifierFirst.wake();
        assert_eq!(wrong().len(), 2, "the planted mistake is found");
    }
}
