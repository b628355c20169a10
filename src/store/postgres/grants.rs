//! Who may do what to the tables of a journal: three roles, each with the rights that its commands need and no others.
//!
//! What holds for everybody is said by the guards of the schema; a role says what one user has no business with.

use std::fmt::Write as _;
use std::time::Duration;

use super::address::Address;
use super::failure::Failure;
use super::link::Link;
use super::statement::Statement;
use crate::store::{Table, tables};

/// A group of users of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Loads files, runs batches, listens for callbacks.
    Runner,
    /// Reports, verifies, shows; writes nothing.
    Reader,
    /// Gives the orders of people.
    Operator,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Runner, Self::Reader, Self::Operator];

    /// Returns what it is called on the server.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Runner => "disburse_runner",
            Self::Reader => "disburse_reader",
            Self::Operator => "disburse_operator",
        }
    }

    /// Returns what its users do.
    #[must_use]
    pub fn work(self) -> &'static str {
        match self {
            Self::Runner => "load, run, pay, listen",
            Self::Reader => "status, report, verify, explain, serve",
            Self::Operator => "cancel, retry, resolve, recover and the other orders of people",
        }
    }

    fn grants(self) -> &'static [Grant] {
        match self {
            Self::Runner => RUNNER,
            Self::Reader => &[],
            Self::Operator => OPERATOR,
        }
    }
}

/// What a role may do to a table beside reading it.
struct Grant {
    table: &'static str,
    inserts: bool,
    /// The columns that it may change.
    changes: Changes,
    removes: bool,
}

enum Changes {
    Nothing,
    /// Whatever is no part of the key.
    All,
    Only(&'static [&'static str]),
}

use Changes::{All, Nothing, Only};

const fn grant(table: &'static str, inserts: bool, changes: Changes, removes: bool) -> Grant {
    Grant {
        table,
        inserts,
        changes,
        removes,
    }
}

/// What whoever writes takes part in: one after the other, each with a receipt.
const TURN: Grant = grant(
    "turn",
    false,
    Only(&["number", "writer", "previous"]),
    false,
);
const WRITER: Grant = grant("writer", true, Only(&["turn", "begun_at"]), false);

// A row that a load has just brought may be taken out again, or be named otherwise, before the load has ended; a row that waits for
// its bill is given its amount. Whatever else is tried the guards refuse.
const RUNNER: &[Grant] = &[
    TURN,
    WRITER,
    grant("meta", true, All, true),
    grant(
        "batch",
        true,
        Only(&[
            "gateway",
            "wire",
            "last_claim_at",
            "account",
            "rehearsal",
            "reading",
        ]),
        false,
    ),
    grant(
        "load",
        true,
        Only(&[
            "digest",
            "accepted",
            "rejected",
            "total",
            "total_currency",
            "payments",
            "identifiers",
        ]),
        false,
    ),
    grant("service", true, Nothing, false),
    grant("instruction", true, Only(&["identifier", "amount"]), true),
    grant("identifier", true, Nothing, true),
    grant("life", true, All, false),
    grant("lane", true, All, false),
    grant("evidence", true, Nothing, false),
    grant("chain", true, All, false),
    grant("phrase", true, Nothing, false),
    grant("policy", true, Nothing, false),
    grant("named_otherwise", true, All, false),
    grant("inquiry", true, All, true),
    grant("rejected", true, Only(&["replaced_by", "withdrawn"]), true),
    grant("tally", true, All, false),
    grant("held_lane", true, All, true),
    grant("counted", true, Only(&["day", "counts"]), true),
    grant("used", true, All, true),
    grant("limited", true, All, true),
    grant("opened_lane", true, All, false),
    grant("pace", true, All, true),
    grant("upload", true, Nothing, false),
    grant("upload_begun", true, Nothing, true),
    grant("lookup", true, All, false),
    grant("bill", true, Nothing, false),
    grant("fingerprints", true, Nothing, true),
    grant("alike", true, Nothing, false),
    grant("watched", true, Nothing, false),
    grant("recovery", true, All, true),
    grant("payer", true, All, true),
    grant("given_order", true, Nothing, false),
    grant("lost_order", true, Nothing, false),
    grant("repeat_in_recovery", true, Nothing, false),
    grant("notice", true, All, true),
    grant("seen_open", true, Nothing, true),
    grant("session", true, Only(&["lease_until", "closed_at"]), false),
    grant("claim", true, Nothing, true),
    grant("claimed", true, Only(&["session_id"]), true),
    grant("slot", true, All, true),
];

// To forget a person is an order too: the guards let no more of an instruction and its evidence be changed than that.
const OPERATOR: &[Grant] = &[
    TURN,
    WRITER,
    grant("meta", true, All, true),
    // Whoever resolves a payment asks about it first, as a run does.
    grant(
        "batch",
        false,
        Only(&["gateway", "wire", "account", "rehearsal", "reading"]),
        false,
    ),
    grant(
        "instruction",
        true,
        Only(&[
            "reference",
            "msisdn",
            "account_number",
            "narration",
            "customer_names",
            "invoice_number",
            "extra",
            "document",
            "document_folder",
            "salt",
        ]),
        false,
    ),
    grant("identifier", true, Nothing, false),
    grant("life", true, All, false),
    grant("lane", true, All, false),
    grant(
        "evidence",
        true,
        Only(&["anomaly", "detail", "receiver_narration", "salt"]),
        false,
    ),
    grant("chain", true, All, false),
    grant("phrase", true, Nothing, false),
    grant("policy", true, Nothing, false),
    grant("named_otherwise", true, All, true),
    grant("inquiry", true, All, true),
    grant(
        "rejected",
        false,
        Only(&[
            "reference",
            "service_code",
            "msisdn",
            "account_number",
            "amount_text",
            "errors",
            "digest",
            "cells",
            "withdrawn",
            "salt",
        ]),
        false,
    ),
    grant("tally", true, All, false),
    grant("held_lane", true, All, true),
    grant("counted", false, Only(&["recipient"]), false),
    grant("used", true, All, true),
    grant("limited", false, Nothing, true),
    grant("opened_lane", true, All, false),
    grant("lookup", false, Nothing, true),
    grant(
        "bill",
        false,
        Only(&["customer_name", "description", "salt"]),
        false,
    ),
    grant("watched", true, Nothing, false),
    grant("recovery", true, All, true),
    grant("payer", true, All, true),
    grant("given_order", true, Nothing, false),
    grant("lost_order", true, Nothing, false),
    grant("repeat_in_recovery", true, Nothing, false),
    grant("notice", true, All, true),
    grant("seen_open", true, Nothing, true),
    grant("session", false, Only(&["closed_at"]), false),
];

fn every_table() -> impl Iterator<Item = &'static Table> {
    tables::ALL.into_iter().chain(tables::SHARED)
}

impl Grant {
    /// Returns the columns that may be changed.
    fn columns(&self) -> Vec<&'static str> {
        match self.changes {
            Nothing => Vec::new(),
            Only(columns) => columns.to_vec(),
            All => {
                let table = every_table().find(|table| table.name == self.table);
                let columns = table.map_or(&[][..], |table| &table.columns[table.key..]);
                columns.to_vec()
            }
        }
    }

    /// Returns what may be done, as `grant` has it.
    fn rights(&self) -> Vec<String> {
        let mut rights = Vec::new();
        if self.inserts {
            rights.push("insert".to_owned());
        }
        let columns = self.columns();
        if !columns.is_empty() {
            let columns: Vec<_> = columns.iter().map(|column| quoted(column)).collect();
            rights.push(format!("update ({})", columns.join(", ")));
        }
        if self.removes {
            rights.push("delete".to_owned());
        }
        rights
    }

    /// Returns each right as it is asked for: what, the table, and a column where it is about one.
    fn asked(&self) -> Vec<String> {
        let table = self.table;
        let columns = self.columns().into_iter();
        let updates = columns.map(|column| format!("update {table} {column}"));
        let inserts = self.inserts.then(|| format!("insert {table}"));
        let removes = self.removes.then(|| format!("delete {table}"));
        inserts.into_iter().chain(updates).chain(removes).collect()
    }
}

/// Writes a name as a statement has it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns the statements that give the three roles their rights, whatever they had before.
#[must_use]
pub fn grants(address: &Address) -> String {
    let database = quoted(address.database());
    let names = Role::ALL.map(Role::name);
    let all = names.join(", ");
    let mut text = String::from("begin;\n");
    for name in names {
        let _ = writeln!(
            text,
            "do $$ begin if not exists (select 1 from pg_roles where rolname = '{name}') then create role {name} nologin; end if; end $$;"
        );
    }
    let _ = writeln!(
        text,
        "grant connect on database {database} to {all};\n\
        revoke all on schema disburse from {all};\n\
        revoke all on all tables in schema disburse from {all};\n\
        grant usage on schema disburse to {all};\n\
        grant select on all tables in schema disburse to {all};"
    );
    for role in Role::ALL {
        for grant in role.grants() {
            let _ = writeln!(
                text,
                "grant {} on disburse.{} to {};",
                grant.rights().join(", "),
                quoted(grant.table),
                role.name()
            );
        }
    }
    text.push_str("commit;\n");
    text
}

/// Which of these rights the user does not have.
const MISSING: &str = "select w.line::bigint from unnest(string_to_array($1, ',')) with ordinality w(asked, line)
    cross join lateral (select split_part(asked, ' ', 1) as what, ('disburse.' || quote_ident(split_part(asked, ' ', 2)))::regclass as of,
        split_part(asked, ' ', 3) as at) r
    where not case when at = '' then has_table_privilege(of, what) else has_column_privilege(of, at, what) end
    order by 1";

/// Returns the rights that a user lacks for the work of a role, each as what and on what.
pub(super) fn missing(link: &Link, within: Duration, role: Role) -> Result<Vec<String>, Failure> {
    let reads = every_table().map(|table| table.name);
    let reads = reads.chain(["turn", "writer", "schema_version"]);
    let mut asked: Vec<String> = reads.map(|table| format!("select {table}")).collect();
    asked.extend(role.grants().iter().flat_map(Grant::asked));
    lacking(link, within, &asked)
}

/// Returns the rights that a user lacks for whatever writes.
pub(super) fn missing_to_write(link: &Link, within: Duration) -> Result<Vec<String>, Failure> {
    let asked: Vec<String> = [TURN, WRITER].iter().flat_map(Grant::asked).collect();
    lacking(link, within, &asked)
}

fn lacking(link: &Link, within: Duration, asked: &[String]) -> Result<Vec<String>, Failure> {
    let text = asked.join(",");
    let rows = link.query(within, &Statement::plain(MISSING).text(&text))?;
    let lines = rows.iter().filter_map(|row| row.try_get::<_, i64>(0).ok());
    let lines = lines.filter_map(|line| asked.get(usize::try_from(line - 1).ok()?));
    Ok(lines
        .map(|asked| {
            let mut words = asked.split(' ');
            let mut next = || words.next().unwrap_or_default();
            match (next(), next(), next()) {
                (what, table, "") => format!("{what} on {table}"),
                (what, table, column) => format!("{what} of {table}.{column}"),
            }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::super::columns::SCHEMA;
    use super::*;

    #[test]
    fn rights_are_to_tables_and_columns_that_are_there() {
        for role in Role::ALL {
            for grant in role.grants() {
                let made = format!("create table disburse.{} (\n", grant.table);
                let (_, rest) = SCHEMA.split_once(&made).expect(grant.table);
                let (body, _) = rest.split_once("\n)").unwrap();
                for column in grant.columns() {
                    let is_there = |line: &str| line.trim().starts_with(&format!("{column} "));
                    assert!(body.lines().any(is_there), "{}.{column}", grant.table);
                }
            }
        }
    }

    #[test]
    fn a_runner_writes_every_table_and_changes_no_evidence() {
        for table in every_table() {
            let of = |grant: &&Grant| grant.table == table.name;
            assert!(RUNNER.iter().any(|grant| of(&grant)), "{}", table.name);
        }
        for (table, allowed) in [
            ("evidence", &["insert"][..]),
            ("phrase", &["insert"]),
            ("policy", &["insert"]),
            (
                "instruction",
                &["insert", "update (\"identifier\", \"amount\")", "delete"],
            ),
        ] {
            let grant = RUNNER.iter().find(|grant| grant.table == table).unwrap();
            assert_eq!(grant.rights(), allowed, "{table}");
        }
        let session = OPERATOR.iter().find(|grant| grant.table == "session");
        assert!(
            session.is_some_and(|grant| !grant.inserts),
            "an operator begins no run"
        );
    }
}
