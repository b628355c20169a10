//! What must be there: tables, columns, indexes and guards of a journal, held against those of a database.
//!
//! Each is a line; what a new journal has is read out of its own schema. No line holds what a release of PostgreSQL may write otherwise.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::codec::{Kind, Width};
use super::columns::{self, SCHEMA, SCHEMA_VERSION, order_of, type_of};
use super::pending::Leaving;
use super::statement::Statement;
use super::store::Postgres;
use crate::store::{Column, Condition, Error, Index, Table, tables};

/// Things by name, and what each is like.
type Things = BTreeMap<String, String>;

/// Returns the lines of the schema that make something of a kind.
fn made(what: &str) -> impl Iterator<Item = &'static str> {
    let begin = format!("create {what} ");
    SCHEMA
        .lines()
        .filter_map(move |line| line.strip_prefix(&begin))
}

/// Returns the columns of a table: their names, types, whether they may be empty, and what they have where nothing is said.
fn expected_columns(all: &mut Things) {
    for ((table, column), of) in columns::all() {
        let kind = match of.kind {
            Kind::Integer(Width::Eight) => "bigint",
            Kind::Integer(Width::Four) => "integer",
            Kind::Integer(Width::Two) => "smallint",
            Kind::Text | Kind::Any => "text C",
            Kind::Bytes => "bytea",
        };
        let null = if of.is_nullable { "" } else { " not null" };
        let known = tables::ALL.into_iter().chain(tables::SHARED);
        let known = known.into_iter().find(|known| known.name == *table);
        let defaults = known.map_or(&[][..], |known| known.defaults);
        let default = defaults.iter().find_map(|(of, number)| {
            let is_it = known?.name_of(*of) == *column;
            is_it.then(|| format!(" default {number}"))
        });
        let default = default.unwrap_or_default();
        all.insert(
            format!("column {table}.{column}"),
            format!("{kind}{null}{default}"),
        );
    }
}

fn name_of(table: &Table, column: Column) -> String {
    let name = |at: u8| table.columns[usize::from(at)];
    match column.or {
        Some(or) => format!("COALESCE({}, {})", name(column.at), name(or)),
        None => name(column.at).to_owned(),
    }
}

/// Returns the condition of an index as PostgreSQL writes it.
fn condition_of(index: &Index) -> String {
    let table = (index.table)();
    let parts: Vec<String> = index
        .of
        .iter()
        .map(|condition| match *condition {
            Condition::Is(column, number) => format!("({} = {number})", name_of(table, column)),
            Condition::AtLeast(column, number) => {
                format!("({} >= {number})", name_of(table, column))
            }
            Condition::AtMost(column, number) => {
                format!("({} <= {number})", name_of(table, column))
            }
            Condition::Absent(column) => format!("({} IS NULL)", name_of(table, column)),
            Condition::Present(column) => format!("({} IS NOT NULL)", name_of(table, column)),
        })
        .collect();
    match &parts[..] {
        [] => String::new(),
        [one] => format!(" where {one}"),
        parts => format!(" where ({})", parts.join(" AND ")),
    }
}

/// Returns the indexes of a table, its key among them.
fn expected_indexes(table: &Table, all: &mut Things) -> Result<(), Error> {
    let key: Vec<_> = order_of(table, None);
    let key: Vec<_> = key.iter().map(|column| name_of(table, *column)).collect();
    all.insert(
        format!("index {}_pkey", table.name),
        format!("{} unique ({})", table.name, key.join(", ")),
    );
    for index in table.indexes {
        let mut said = format!(
            "{}{} (",
            table.name,
            if index.is_unique { " unique" } else { "" }
        );
        for (at, column) in order_of(table, Some(index)).into_iter().enumerate() {
            let nulls = match type_of(table, column)?.is_nullable {
                true => " nulls first",
                false => "",
            };
            let name = name_of(table, column);
            let _ = write!(said, "{}{name}{nulls}", if at > 0 { ", " } else { "" });
        }
        let _ = write!(said, "){}", condition_of(index));
        all.insert(format!("index {}", index.name), said);
    }
    Ok(())
}

/// Returns the guards: when they look, and by what function.
fn expected_guards(all: &mut Things) {
    for line in made("trigger") {
        let mut words = line.split_whitespace();
        let mut next = || words.next().unwrap_or_default();
        let (name, when, of) = (next(), next(), next());
        let (_, table) = (next(), next());
        let (_, _, each) = (next(), next(), next());
        let (_, _, function) = (next(), next(), next());
        all.insert(
            format!("guard {name}"),
            format!(
                "{table} {when} {of} {each} {}",
                function.trim_end_matches(';')
            ),
        );
    }
}

/// Returns the functions of the guards, as they were written.
fn expected_functions(all: &mut Things) {
    for part in SCHEMA.split("create function disburse.").skip(1) {
        let name = part.split('(').next().unwrap_or_default();
        let body = part.split("$$").nth(1).unwrap_or_default();
        all.insert(format!("function {name}"), body.to_owned());
    }
}

/// Returns how many rules each table has beside its columns and its key, and what it refers to.
fn expected_rules(all: &mut Things) {
    for part in SCHEMA.split("create table disburse.").skip(1) {
        let table = part.split(" (").next().unwrap_or_default();
        let body = part.split("\n)").next().unwrap_or_default();
        let checks = body.matches("check (").count();
        let (unique, refers) = (
            body.matches("    unique (").count(),
            body.matches("references ").count(),
        );
        let said = format!("{checks} checks, {unique} unique, {refers} references");
        all.insert(format!("rules of {table}"), said);
    }
}

/// What the tables of this store alone have beside numbers and bytes.
const OWN: [(&str, &str); 6] = [
    ("column schema_version.one", "boolean not null default true"),
    ("column turn.one", "boolean not null default true"),
    (
        "column writer.begun_at",
        "timestamp with time zone not null",
    ),
    ("index schema_version_pkey", "schema_version unique (one)"),
    ("index turn_pkey", "turn unique (one)"),
    ("index writer_pkey", "writer unique (id)"),
];

/// Returns what a new journal has.
fn expected() -> Result<Things, Error> {
    let mut all = Things::new();
    for line in made("table") {
        let name = line.trim_start_matches("disburse.").trim_end_matches(" (");
        all.insert(format!("table {name}"), "permanent".to_owned());
    }
    expected_columns(&mut all);
    for table in tables::ALL.into_iter().chain(tables::SHARED) {
        expected_indexes(table, &mut all)?;
    }
    for (name, like) in OWN {
        all.insert(name.to_owned(), like.to_owned());
    }
    expected_guards(&mut all);
    expected_functions(&mut all);
    expected_rules(&mut all);
    Ok(all)
}

/// What a database has of it: what stands in the schema `disburse`, each thing as [`expected`] names it.
const FOUND: &str = "
    with ours as (
        select c.oid, c.relname, c.relpersistence from pg_class c where c.relnamespace = 'disburse'::regnamespace and c.relkind in ('r', 'p')
    )
    select 'table ' || relname, case when relpersistence = 'p' then 'permanent' else 'not logged' end from ours
    union all
    select 'column ' || o.relname || '.' || a.attname,
        format_type(a.atttypid, a.atttypmod) || case when c.collname is null then '' else ' ' || c.collname end
            || case when a.attnotnull then ' not null' else '' end
            || coalesce(' default ' || btrim(split_part(pg_get_expr(d.adbin, d.adrelid), '::', 1), '''()'), '')
        from ours o join pg_attribute a on a.attrelid = o.oid and a.attnum > 0 and not a.attisdropped
            left join pg_collation c on c.oid = a.attcollation left join pg_attrdef d on d.adrelid = o.oid and d.adnum = a.attnum
    union all
    select 'index ' || c.relname,
        o.relname || case when i.indisunique then ' unique' else '' end || ' (' || (
            select string_agg(replace(pg_get_indexdef(i.indexrelid, n, true), '\"', '')
                || case when i.indoption[n - 1] & 2 = 2 then ' nulls first' else '' end
                || case when i.indoption[n - 1] & 1 = 1 then ' desc' else '' end, ', ' order by n)
            from generate_series(1, i.indnkeyatts) n) || ')' || coalesce(' where ' || pg_get_expr(i.indpred, i.indrelid), '')
            || case when i.indisvalid and i.indisready and i.indimmediate then '' else ', which is not complete' end
        from ours o join pg_index i on i.indrelid = o.oid join pg_class c on c.oid = i.indexrelid
            where not exists (select 1 from pg_constraint k where k.conindid = c.oid and k.contype = 'u')
    union all
    select 'guard ' || t.tgname,
        'disburse.' || o.relname || case when t.tgtype & 2 = 2 then ' before' else ' after' end
            || case when t.tgtype & 16 = 16 then ' update' else '' end || case when t.tgtype & 8 = 8 then ' delete' else '' end
            || case when t.tgtype & 32 = 32 then ' truncate' else '' end || case when t.tgtype & 4 = 4 then ' insert' else '' end
            || case when t.tgtype & 1 = 1 then ' row' else ' statement' end || ' disburse.' || p.proname || '()'
            || case when t.tgenabled in ('O', 'A') then '' else ', which is switched off' end
            || case when t.tgqual is null and t.tgattr::text = '' then '' else ', which does not always look' end
        from ours o join pg_trigger t on t.tgrelid = o.oid and not t.tgisinternal join pg_proc p on p.oid = t.tgfoid
    union all
    select 'function ' || proname, prosrc from pg_proc where pronamespace = 'disburse'::regnamespace
    union all
    select 'rules of ' || o.relname,
        count(*) filter (where k.contype = 'c' and k.convalidated) || ' checks, ' || count(*) filter (where k.contype = 'u')
            || ' unique, ' || count(*) filter (where k.contype = 'f' and k.convalidated) || ' references'
        from ours o left join pg_constraint k on k.conrelid = o.oid group by o.relname";

/// The version of the schema, which a later release may have expanded.
const VERSION: &str = "select version from disburse.schema_version";

/// Switches that keep guards from looking, for this session.
const SWITCHED: &str = "select 1 where current_setting('session_replication_role') = 'replica'";

/// Compares tables, columns, indexes and the triggers that guard them with those of a new journal.
pub(super) fn misfits(store: &Postgres) -> Result<Vec<String>, Error> {
    let expected = expected()?;
    let mut found = Things::new();
    for row in store.query(&Leaving::nothing(), &Statement::plain(FOUND))? {
        let read = |at| {
            row.try_get(at)
                .map_err(|_| Error::corrupt("a catalog without names"))
        };
        found.insert(read(0)?, read(1)?);
    }
    let version = store.query(&Leaving::nothing(), &Statement::plain(VERSION))?;
    let version = version.first().and_then(|row| row.try_get(0).ok());
    let is_expanded = version.is_some_and(|version: i64| version > SCHEMA_VERSION);
    let mut misfits = Vec::new();
    for (name, like) in &expected {
        match found.get(name) {
            None => misfits.push(format!("schema: {name} is missing")),
            Some(other) if other == like => {}
            // A function is a page of text.
            Some(_) if name.starts_with("function ") => {
                misfits.push(format!("schema: {name} was changed"));
            }
            Some(other) => misfits.push(format!(
                "schema: {name} was changed: it is \"{other}\", and was \"{like}\""
            )),
        }
    }
    // A later release adds to a schema, and changes nothing of it as long as this one may use it.
    let added = found
        .keys()
        .filter(|name| !is_expanded && !expected.contains_key(*name));
    misfits.extend(added.map(|name| format!("schema: {name} was added")));
    if !store
        .query(&Leaving::nothing(), &Statement::plain(SWITCHED))?
        .is_empty()
    {
        misfits.push("the guards are switched off: session_replication_role is replica".to_owned());
    }
    Ok(misfits)
}

/// What the server knows of damage: pages whose checksum is wrong, indexes that were given up.
const DAMAGE: &str = "
    select 'pages with a wrong checksum in this database: ' || checksum_failures from pg_stat_database
        where datname = current_database() and checksum_failures > 0
    union all
    select 'the index ' || c.relname || ' is not complete: reindex it' from pg_index i join pg_class c on c.oid = i.indexrelid
        where c.relnamespace = 'disburse'::regnamespace and not (i.indisvalid and i.indisready)
    union all
    select 'the row of disburse.turn is missing' where not exists (select 1 from disburse.turn)";

/// Looks for damage that the server knows of.
pub(super) fn damage(store: &Postgres) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    for row in store.query(&Leaving::nothing(), &Statement::plain(DAMAGE))? {
        let said: String = row.try_get(0).map_err(|_| Error::corrupt("no text"))?;
        found.push(format!("PostgreSQL: {said}"));
    }
    Ok(found)
}
