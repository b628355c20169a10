//! The store, held to the contract and to the one that is memory, on every server that is here.

use super::fixture::{Kind, Server, shared};
use super::*;
use crate::store::compare::compare;
use crate::store::exercise::exercise;
use crate::store::memory::Memory;

/// Opens a new journal on a server.
fn fresh(server: &Server) -> Postgres {
    let database = server.database();
    let address = Address::parse(&server.address(&database), &Environment::default()).unwrap();
    Postgres::make(address, Deadlines::default()).unwrap()
}

#[test]
fn it_keeps_the_contract() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        exercise(|| fresh(server));
    }
}

#[test]
fn random_reads_and_writes_end_as_in_memory() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        for seed in 1..=4 {
            compare(&fresh(server), &Memory::default(), seed, 60);
        }
    }
}
