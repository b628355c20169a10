//! What must be there is looked at, and what was changed is named.

use super::super::fixture::{Kind, Server, shared};
use super::fresh;
use crate::store::Read as _;

#[test]
fn what_was_changed_of_a_schema_is_named() {
    let told = |statement: &str, server: &Server| {
        let store = fresh(server);
        assert_eq!(store.misfits().unwrap(), Vec::<String>::new());
        server.psql(store.address().database(), statement);
        let found = store.misfits().unwrap().join("; ");
        assert!(store.damage().unwrap().is_empty());
        found
    };
    let cases = [
        (
            "drop index disburse.post_queue",
            "index post_queue is missing",
        ),
        (
            "drop index disburse.ask_queue; create index ask_queue on disburse.life (batch_id)",
            "index ask_queue was changed",
        ),
        (
            "create index extra on disburse.life (state)",
            "index extra was added",
        ),
        (
            "alter table disburse.evidence disable trigger evidence_is_never_changed",
            "which is switched off",
        ),
        (
            "drop trigger bill_is_never_removed on disburse.bill",
            "guard bill_is_never_removed is missing",
        ),
        (
            "create or replace function disburse.never_changed() returns trigger language plpgsql as 'begin return new; end'",
            "function never_changed was changed",
        ),
        (
            "alter table disburse.life alter column state drop not null",
            "column life.state was changed",
        ),
        (
            "alter table disburse.life drop column code",
            "column life.code is missing",
        ),
        (
            "alter table disburse.life add column more text",
            "column life.more was added",
        ),
        (
            "alter table disburse.life drop constraint life_state_check",
            "rules of life was changed",
        ),
        (
            "alter table disburse.lookup alter column carrier type text collate \"POSIX\"",
            "column lookup.carrier was changed",
        ),
        (
            "drop table disburse.seen_open",
            "table seen_open is missing",
        ),
        (
            "alter table disburse.lookup set unlogged",
            "table lookup was changed",
        ),
    ];
    for server in [Kind::Installed, Kind::Eighteen]
        .into_iter()
        .filter_map(shared)
    {
        for (statement, expected) in cases {
            let found = told(statement, server);
            assert!(found.contains(expected), "{statement}: {found}");
        }
    }
}
