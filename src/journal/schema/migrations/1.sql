-- Version 1. A new journal is made by schema.sql; this is what the next ones bring up. Times are milliseconds since 1970 UTC,
-- amounts are minor units.

-- Facts about the journal as a whole: the fencing epoch of the last run, the key of the callback addresses.
create table meta (
    key   text primary key,                 -- name of the fact
    value any not null                      -- its value
) strict, without rowid;

create table batch (
    batch_id      integer primary key,
    name          text not null unique,     -- BatchName
    originator    text not null,            -- part of every identifier of the batch
    created_at    integer not null,         -- first load
    gateway       text,                     -- the gateway it was started with; null until the first run
    wire          text,                     -- settings that shape the bytes of a post, pinned with the gateway
    last_claim_at integer                   -- last intent: the rate limit holds over a restart
) strict;

-- One row for every file that was loaded, the first and every amendment.
create table load (
    load_id   integer primary key,
    batch_id  integer not null references batch,
    source    text not null,                -- file name, without its folder
    digest    text not null,                -- ContentDigest of its valid rows
    loaded_at integer not null,
    accepted  integer not null,             -- rows that became payments
    rejected  integer not null              -- rows that did not pass validation
) strict;
create index load_by_batch on load (batch_id);
create index load_by_digest on load (digest);

-- Service codes; a lane of a run is one of them.
create table service (
    service_id integer primary key,
    code       text not null unique
) strict;

-- What is to be paid. Never changes once the load has committed.
create table instruction (
    seq            integer primary key,     -- order of loading
    batch_id       integer not null,
    load_id        integer not null,
    line           integer not null,        -- line of the file the row begins at
    identifier     text not null,           -- payerTransactionID
    reference      text,
    generation     integer not null,        -- 0, one more for every ordered retry
    received_at    integer not null,        -- datePaymentReceived
    service_id     integer not null,
    msisdn         text not null,
    account_number text,                    -- null: the same as msisdn
    amount         integer not null check (amount > 0),
    currency       text not null,
    country        text not null,
    narration      text,                    -- null here and below: empty on the wire
    customer_names text,
    invoice_number text,
    payment_mode   text,
    hub_id         text,
    extra          text,                    -- members of extraData, as an array of pairs
    document       text
) strict;

-- Every identifier once, over all batches.
create table identifier (
    identifier text primary key,
    seq        integer not null
) strict, without rowid;

-- Where each payment stands: what its evidence adds up to.
create table life (
    seq                    integer primary key,
    batch_id               integer not null,
    service_id             integer not null,
    state                  integer not null check (state between 0 and 8), -- ready posting in_doubt acknowledged delivered paid failed cancelled conflict
    code                   integer,                        -- code that proved the state
    attempts               integer not null default 0,     -- intents recorded
    posted_at              integer,                        -- last intent
    exposures              integer not null default 0,     -- attempts that may have arrived without a definite outcome
    known                  integer not null default 0,     -- the gateway has shown that it has the identifier
    not_found              integer not null default 0,     -- "not found" in a row, after the quarantine
    quarantine_from        integer,
    queries                integer not null default 0,     -- queries in a row that changed nothing
    due_at                 integer not null,               -- next action; the largest integer: none
    settled_at             integer,                        -- when it reached its end
    replaced_by            integer,                        -- seq of the retry that replaces this proven failure
    gateway_transaction_id text,
    receipt_number         text,
    receiver_narration     text,
    status_description     text,
    check (state <> 1 or posted_at is not null),
    check (state < 5 or due_at = 9223372036854775807),
    check (replaced_by is null or state in (5, 6, 8))       -- once replaced, late evidence and a decision may still come
) strict;
create index post_queue on life (batch_id, service_id, due_at, seq) where state = 0;
create index unfinished_posts on life (batch_id) where state = 1;
create index replaced on life (batch_id) where replaced_by is not null;
create index ask_queue on life (batch_id, due_at, seq) where state in (2, 3, 4);

-- Everything that was ever learned about a payment, in the order it was learned.
create table evidence (
    evidence_id integer primary key,
    seq         integer not null,
    at          integer not null,
    event       integer not null,           -- kind of lifecycle::Event
    class       integer,                    -- lifecycle::Class of a reply, an answer or a callback
    code        integer,                    -- its status code
    anomaly     text,                       -- why it did not fit
    digest      blob,                       -- SHA-256 of a callback's body: a repeat is recognised
    detail      text                        -- what else was said, as JSON
) strict;
create index evidence_by_payment on evidence (seq);

-- Rows that did not pass validation and were set aside.
create table rejected (
    load_id        integer not null,
    line           integer not null,
    batch_id       integer not null,
    reference      text,
    service_code   text,
    msisdn         text,
    account_number text,
    amount_text    text,                    -- as it was written
    amount         integer,                 -- where amount and currency could be read
    currency       text,
    errors         text not null,
    primary key (load_id, line)
) strict, without rowid;
create index rejected_by_batch on rejected (batch_id);

-- Counts and amounts per lane, currency and state, kept with every transition: a status never scans the payments.
create table tally (
    batch_id   integer not null,
    service_id integer not null,
    currency   text not null,
    state      integer not null,
    count      integer not null,
    amount     integer not null,
    primary key (batch_id, service_id, currency, state)
) strict, without rowid;

-- Lanes that wait for float (230).
create table held_lane (
    batch_id   integer not null,
    service_id integer not null,
    held_at    integer not null,
    reason     text not null,
    primary key (batch_id, service_id)
) strict, without rowid;

create trigger evidence_is_never_changed before update on evidence
begin select raise(abort, 'evidence is append-only'); end;
create trigger evidence_is_never_removed before delete on evidence
begin select raise(abort, 'evidence is append-only'); end;
create trigger instruction_is_never_changed before update on instruction
when exists (select 1 from life where life.seq = old.seq)
begin select raise(abort, 'an instruction never changes'); end;
create trigger instruction_is_never_removed before delete on instruction
when exists (select 1 from life where life.seq = old.seq)
begin select raise(abort, 'an instruction is never removed'); end;
