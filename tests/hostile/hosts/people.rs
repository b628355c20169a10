//! People who give orders while the hosts run, each truthfully: what they say of a payment is what the gateway's books say.

use fastrand::Rng;

use super::fleet::speaks_of_the_journal;
use crate::gateway::Gateway;
use crate::office::{BATCH, Ended, Office, Running, reference};

/// So many of their commands are at work at once.
const AT_ONCE: usize = 3;

#[derive(Default)]
pub struct People {
    at_work: Vec<(Vec<String>, Running)>,
    /// Their commands that were carried out, and those that were refused.
    pub done: usize,
    pub refused: usize,
}

impl People {
    /// One more order.
    pub fn act(&mut self, office: &Office, gateway: &Gateway, rng: &mut Rng) {
        if self.at_work.len() >= AT_ONCE {
            return;
        }
        let row = reference(rng.usize(..office.setup.rows));
        let why = ["--reason", "a call", "--evidence", "ticket 7", "--yes"];
        let order: Vec<&str> = match rng.u8(..8) {
            0 => vec!["status", BATCH, "--json"],
            1 => vec!["explain", BATCH, &row],
            2 => vec!["verify", BATCH],
            3 | 4 => [&["resolve", BATCH, &row, "--failed"], &why[..]].concat(),
            5 if is_paid(gateway, &row) => [&["resolve", BATCH, &row, "--paid"], &why[..]].concat(),
            5 | 6 => vec!["cancel", BATCH, &row, "--reason", "a call", "--yes"],
            _ => {
                office.retried.set(true);
                vec!["retry", BATCH, "--yes"]
            }
        };
        let run = office.start(&order);
        let order = order.into_iter().map(str::to_owned).collect();
        self.at_work.push((order, run));
    }

    /// Looks what became of the orders.
    pub fn look(&mut self) {
        for (order, mut run) in std::mem::take(&mut self.at_work) {
            match run.child.try_wait().unwrap() {
                None => self.at_work.push((order, run)),
                Some(_) => self.note(&order, &run.wait()),
            }
        }
    }

    /// Waits for the last of them.
    pub fn leave(&mut self) {
        for (order, run) in std::mem::take(&mut self.at_work) {
            self.note(&order, &run.wait());
        }
    }

    fn note(&mut self, order: &[String], ended: &Ended) {
        match ended.code {
            Some(0) => self.done += 1,
            // Nothing to do, or not now; a hint says what to do.
            Some(2) if order[0] != "verify" => self.refused += 1,
            _ if speaks_of_the_journal(&ended.err) => self.refused += 1,
            _ => panic!("{order:?}: {ended:?}"),
        }
    }
}

/// Whether the gateway has paid a row, and will say nothing else of it.
fn is_paid(gateway: &Gateway, row: &str) -> bool {
    let books = gateway.ledger.books();
    let mut of_row = books.deals.values().filter(|deal| deal.reference == row);
    of_row.any(|deal| deal.executions > 0)
}
