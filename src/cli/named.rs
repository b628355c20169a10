//! The one payment that an operator names, and which generation of its row it is.

use serde_json::{Value, json};

use super::Error;
use super::session::Session;
use super::terminal::output;
use crate::domain::{AmountField, BatchName, Instruction, PayerTransactionId, Payment};
use crate::journal::{Reader, Snapshot};
use crate::ledger::decisions::is_asked_first;
use crate::ledger::names::{By, PaymentName};
use crate::lifecycle::State;

/// What the operator named.
pub(super) struct Meant {
    text: String,
    /// The payment: of several generations of a row, the newest.
    pub(super) id: PayerTransactionId,
    generation: u32,
    /// Of several generations, that of the newest.
    state: State,
    /// How many generations of its row the name is good for.
    generations: usize,
    /// What it pays to whom.
    pays: String,
    /// Those of the generations before it of which nobody knows yet whether they were paid, and how they stand.
    open_before: Vec<(PayerTransactionId, &'static str)>,
}

/// Finds the payment that is meant.
pub(super) fn find(
    session: &Session,
    batch: &BatchName,
    name: &PaymentName,
) -> Result<Meant, Error> {
    let reader = Reader::open(session.location()?)?;
    find_in(&reader.snapshot(batch)?, name)
}

/// As [`find`], in a journal that is open.
pub(super) fn find_in(snapshot: &Snapshot<'_>, name: &PaymentName) -> Result<Meant, Error> {
    let text = name.text.clone();
    if let Some(record) = snapshot.find_unpriced(name)? {
        return Ok(Meant {
            text,
            id: record.id,
            generation: 0,
            state: State::Ready,
            generations: 1,
            pays: pays("what its bill says", &record.row),
            open_before: Vec::new(),
        });
    }
    let records = snapshot.find(name.clone())?;
    Ok(Meant {
        text,
        id: records[0].payment.id,
        generation: records[0].payment.generation,
        state: records[0].life.state,
        generations: records.len(),
        open_before: records[1..]
            .iter()
            .filter(|record| is_asked_first(&record.life))
            .map(|record| (record.payment.id, record.life.state.in_words()))
            .collect(),
        pays: {
            let row = &records[0].payment.instruction;
            let money = output::grouped(&row.money.to_string());
            pays(&format!("{} {money}", row.money.currency()), row)
        },
    })
}

/// Names a payment as a command takes it: by its reference, and where it has none, by its identifier.
pub(super) fn argument_of(payment: &Payment) -> String {
    match &payment.instruction.reference {
        Some(reference) => output::quoted(reference.as_str()).into_owned(),
        None => format!("--id {}", payment.id),
    }
}

/// Says of a row, behind its line, what it is called: `, reference E-7`.
pub(super) fn called<M>(row: &Instruction<M>) -> String {
    let reference = row.reference.as_ref();
    reference.map_or_else(String::new, |reference| format!(", reference {reference}"))
}

/// The same with the name, where a list is to tell people apart: `, reference E-7, Ann Wanjiku`.
pub(super) fn whose<M>(row: &Instruction<M>) -> String {
    let mut text = called(row);
    if !row.customer_names.is_empty() {
        text.push_str(&format!(", {}", output::name(&row.customer_names)));
    }
    text
}

fn pays<M>(amount: &str, row: &Instruction<M>) -> String {
    let name = match row.customer_names.as_str() {
        "" => String::new(),
        name => format!("{}, ", output::name(name)),
    };
    format!("{amount} to {name}{}", row.msisdn.masked())
}

impl Meant {
    /// Returns the name under which it is this payment and no other.
    pub(super) fn name(&self) -> PaymentName {
        PaymentName {
            text: self.id.to_string(),
            by: By::Identifier,
        }
    }

    /// Returns the payment for a person: as it was named and, where that leaves a choice, which one was taken.
    pub(super) fn text(&self) -> String {
        match self.generations {
            1 => self.text.clone(),
            many => format!(
                "{}, the newest of {many} payments of its row, {}",
                self.text, self.id
            ),
        }
    }

    /// Returns what it pays to whom: `KES 200.00 to Ben Otieno, 254712***679`.
    pub(super) fn pays(&self) -> &str {
        &self.pays
    }

    /// Returns whether its row has other payments.
    pub(super) fn is_one_of_several(&self) -> bool {
        self.generations > 1
    }

    /// Returns whether it replaces a payment that failed, and waits to be posted.
    pub(super) fn is_waiting_retry(&self) -> bool {
        self.generation > 0 && self.state == State::Ready
    }

    /// Returns whether it has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.state == State::Failed
    }

    /// Refuses a name where a decision may be meant for another payment of the row: evidence of one is no evidence of another.
    ///
    /// # Errors
    /// An earlier payment of the row is open as well.
    pub(super) fn expect_one_to_decide(&self) -> Result<(), Error> {
        if self.open_before.is_empty() {
            return Ok(());
        }
        let newest = (self.id, self.state.in_words());
        let all = std::iter::once(&newest).chain(&self.open_before);
        let all: Vec<String> = all.map(|(id, state)| format!("{id} ({state})")).collect();
        let what = format!(
            "{} has {} payments, and it is not clear which one is decided: {}",
            self.text,
            self.generations,
            all.join(", ")
        );
        Err(Error::refused(what).hint(
            "name the one that your evidence is about by its identifier: --id ID, or the column identifier of a file. If an earlier one was \
             paid, and a later one is still open, that may be paid as well: look at both with disburse explain",
        ))
    }

    /// Returns the payment for programs.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "id": self.text,
            "payer_transaction_id": self.id.as_str(),
            "generation": self.generation,
        })
    }
}
