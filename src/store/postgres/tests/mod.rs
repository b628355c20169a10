//! The store on servers: held to the contract, to the store that is memory, and to what it promises when servers fail.

mod alike;
mod appending;
mod connecting;
mod figures;
mod foreseen;
mod guards;
mod losses;
mod origin;
mod own_rows;
mod paging;
mod plans;
mod proxy;
mod schema;
mod sent_ahead;
mod turns;

use std::time::Duration;

use super::fixture::{Kind, Server, shared};
use super::*;
use crate::store::compare::compare;
use crate::store::exercise::exercise;
use crate::store::memory::Memory;

/// Reads an address that needs no password.
fn address(text: &str) -> Address {
    Address::parse(text, &Environment::default()).unwrap()
}

/// Makes a journal on a server, and opens it.
fn fresh(server: &Server) -> Postgres {
    made(&address(&server.address(&server.database())))
}

fn made(address: &Address) -> Postgres {
    Postgres::make(address.clone(), Deadlines::default()).unwrap()
}

/// Opens the journal of another store once more.
fn beside(store: &Postgres) -> Postgres {
    Postgres::open(store.address().clone(), Deadlines::default()).unwrap()
}

/// Deadlines for what never comes.
fn short() -> Deadlines {
    Deadlines {
        connect: Duration::from_secs(2),
        connect_all: Duration::from_secs(3),
        turn: Duration::from_millis(300),
        commit: Duration::from_millis(700),
        learn: Duration::from_secs(3),
        ..Deadlines::default()
    }
}

#[test]
fn it_keeps_the_contract() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        exercise(|| fresh(server));
    }
}

#[test]
fn random_reads_and_writes_end_as_in_memory() {
    for (kind, seeds) in Kind::ALL.into_iter().zip([30, 3, 3]) {
        let Some(server) = shared(kind) else {
            continue;
        };
        for seed in 1..=seeds {
            compare(&fresh(server), &Memory::default(), seed, 60);
        }
    }
}
