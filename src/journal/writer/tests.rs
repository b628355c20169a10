//! Verbs of a journal on a server that come while a transaction waits for its turn.

use std::ffi::OsStr;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::domain::PayerTransactionId;
use crate::journal::{Journal, Location, server};
use crate::store::postgres::fixture::{Kind, shared};

/// Somebody waits for the turn.
const WAITS: &str = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";

const TURNS: &str = "select number from disburse.turn";

#[tokio::test]
async fn verbs_that_come_while_a_transaction_waits_for_its_turn_share_it() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let folder = tempfile::tempdir().unwrap();
        let database = server.database();
        let address = server.address(&database);
        let Ok(Location::Server(address)) = Location::parse(OsStr::new(&address)) else {
            panic!("{address} is no server");
        };
        let address = address.with_state_folder(Some(folder.path().into()));
        server::make(&address).unwrap();
        let journal = Journal::open_existing(&Location::Server(address)).unwrap();
        let id = PayerTransactionId::parse("0123456789ABCDEFGHJKMNPQRS").unwrap();
        assert!(!journal.knows(id).await.unwrap());
        let before = server.psql(&database, TURNS);
        let held = server.begin_turn(&database, Duration::from_secs(60));
        let mut asked = JoinSet::new();
        let ask = |asked: &mut JoinSet<_>| {
            let journal = journal.clone();
            asked.spawn(async move { journal.knows(id).await })
        };
        ask(&mut asked);
        // The others come when the first one has begun to wait.
        let one_waits = tokio::task::spawn_blocking({
            let database = database.clone();
            move || server.until(&database, WAITS)
        });
        while !one_waits.is_finished() {
            tokio::task::yield_now().await;
        }
        one_waits.await.unwrap();
        for _ in 0..300 {
            ask(&mut asked);
            // It has asked by then.
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
        }
        drop(held);
        while let Some(known) = asked.join_next().await {
            assert!(!known.unwrap().unwrap());
        }
        let number = |rows: &[Vec<String>]| rows[0][0].parse::<i64>().unwrap();
        let turns = number(&server.psql(&database, TURNS)) - number(&before);
        // What was held was rolled back.
        assert_eq!(turns, 1, "all of them in one transaction");
    }
}
