-- Version 5: what people decided, and what a journal may have missed. Times are milliseconds since 1970 UTC.

-- Who loaded, ran and decided (evidence of kind 40) is found without reading all evidence of a batch.
create index acts on evidence (batch_id, evidence_id) where event = 40;

-- What is on the chain of each load (evidence of kind 26) is compared with it before anything else is compared with its rows.
create index files on evidence (batch_id, evidence_id) where event = 26;

-- The account at the gateway that the batch belongs to: another one at the same address knows nothing of its payments. Null:
-- it has not been run yet, or by earlier versions alone; it takes the account of its next run.
alter table batch add column account text;

-- What the batch was loaded for: 0 its gateway, 1 a rehearsal in the sandbox. Null: an earlier version loaded it.
alter table batch add column rehearsal integer check (rehearsal in (0, 1));

-- Since when nothing has left to an account of a gateway, over all batches, by the clock that nobody sets: the next run need
-- not wait for the rate. A claim takes the time away, the end of a run puts it there; none after a crash.
create table pace (
    gateway text not null,
    account text not null,                  -- empty: runs of earlier versions, whose account nobody noted
    what    integer not null check (what in (0, 1)),    -- posts, questions
    boot    text,                           -- the start of the machine that it counts from; null: something may have left
    since   integer,                        -- milliseconds since that start
    primary key (gateway, account, what),
    check ((boot is null) = (since is null))
) strict, without rowid;
insert into pace (gateway, account, what)
select gateway, '', what from batch cross join (select 0 as what union all select 1)
where gateway is not null and last_claim_at is not null group by gateway, what;
drop table rest;

-- Payments about which the gateway named another amount, currency or number: what their newest such evidence says.
create table named_otherwise (
    batch_id integer not null,
    seq      integer not null,
    words    text not null,
    primary key (batch_id, seq)
) strict, without rowid;

-- Documents that were begun to be sent to the file service, whatever became of it: "there is one already" speaks of these
-- bytes when no others were ever sent for the payment.
create table upload_begun (
    seq    integer not null references instruction (seq),
    digest blob not null,
    primary key (seq, digest)
) strict, without rowid;

-- What the journal calls itself, for the mark beside it. A copy has the same name until it is noticed.
insert into meta (key, value) values ('journal', randomblob(16)) on conflict do nothing;

-- When it was noticed that the journal may have missed something: what is unfinished then, and what is loaded until it is
-- declared done, is asked about before it is posted.
create table recovery (
    recovery_id integer primary key,
    begun_at    integer not null,
    cause       integer not null,           -- number of ledger::recovery::Cause
    newest_seq  integer not null,           -- the newest instruction that was there
    newest_evidence integer not null,       -- the newest evidence that was there: what was said until then may be lost
    done_at     integer,
    reason      text,                       -- in the words of whoever said that nothing has run since
    orders_lost integer not null default 0, -- orders of people that were on record here, and that it knew nothing of
    orders_unknown integer not null default 0 check (orders_unknown in (0, 1)), -- 1: nothing tells whether there were more
    orders_reason text,                     -- in the words of whoever said that they were given again
    batches_missing integer not null default 0 check (batches_missing in (0, 1)), -- 1: batches that were posted in this place are not
                                            -- here, or not as they were: what was loaded since waits
    ran_since   text                        -- what mark and lock file said was done here that the journal did not know
) strict;

-- For "in" SQLite would build a set of the numbers for each row of evidence that is written.
-- The chain of every batch says what is on record of recoveries, and of who posted (payer): it is compared before a run, a load or an order rests on it.
create index recoveries on evidence (batch_id, evidence_id) where (event = 50 or event = 51 or event = 84);

-- What tells the payments that a load brought, without their retries, from any others: how many there are, and the sum of the
-- FNV-1a (64 bits) of each identifier. Null: an earlier version loaded it.
alter table load add column payments integer;
alter table load add column identifiers integer;

-- What a retry replaces is found by it: before a retry leaves, all earlier generations of its row are looked at.
create index predecessor on life (replaced_by) where replaced_by is not null;

-- From which account of which gateway batches were posted that an earlier journal may have posted: as the mark beside the
-- journal told when it was noticed, or a person. Under the empty name: all batches that are not named; without a gateway: nobody posted any.
create table payer (
    batch     text not null primary key,
    gateway   text not null,
    account   text not null,
    by_person integer not null check (by_person in (0, 1)),
    payments    integer,                    -- the batch as it was posted: how many payments, without their retries; null: not known
    identifiers integer,                    -- as in load
    originator  text                        -- null: not known
) strict, without rowid;

-- What the evidence says of where a batch belongs: its loads, its gateway, its account.
create index belongs on evidence (batch_id, evidence_id) where (event = 26 or event = 27 or event = 60 or event = 61 or event = 85);

-- Whether an earlier journal may have posted something of a batch (evidence of kind 21).
create index presumed on evidence (batch_id, evidence_id) where event = 21;

-- Payments that have ended unpaid and are asked about all the same: a person decided it, and a retry of their row waits for the
-- gateway's word; or the gateway has spoken of them otherwise since. It is a list of what to ask, and proves nothing: what the
-- gateway said is looked up in the evidence.
create table inquiry (
    seq      integer primary key,
    batch_id integer not null,
    due_at   integer not null,              -- next question; the largest integer: not in this run
    queries  integer not null default 0,    -- queries in a row that brought no agreement
    since    integer not null default 0,    -- when this run began to ask
    alone    integer not null default 0     -- 1: no retry of its row waits for the answer
) strict;
create index inquiry_queue on inquiry (batch_id, due_at, seq);

-- life.known is 2 where the gateway had the identifier before our first post: what it has may be somebody else's payment.

-- Rows that were set aside are told apart by their place: a file of JSON may have all of them on one line.
alter table rejected rename to rejected_by_line;
create table rejected (
    load_id        integer not null,
    line           integer not null,
    nth            integer not null,        -- rows of this load on this line that were set aside before it
    batch_id       integer not null,
    reference      text,
    service_code   text,
    msisdn         text,
    account_number text,
    amount_text    text,                    -- as it was written
    amount         integer,                 -- where amount and currency could be read
    currency       text,
    errors         text not null,
    digest         blob,                    -- SHA-256 over its cells: set aside again it is the same row; null: not known
    cells          text,                    -- its cells by the names of their columns, as JSON; null: not known
    replaced_by    integer,                 -- the payment that its mended row became: it is counted there
    withdrawn      integer,                 -- the evidence of a person's decision that it is not paid
    primary key (load_id, line, nth),
    check (replaced_by is null or withdrawn is null)
) strict, without rowid;
insert into rejected
select load_id, line, 0, batch_id, reference, service_code, msisdn, account_number, amount_text, amount, currency, errors, null, null, null, null
from rejected_by_line;
drop table rejected_by_line;
create index rejected_by_batch on rejected (batch_id, digest);

-- Fingerprints of the rows of each load, sorted: 64 bits each, of which one says of what, a reference or recipient with service
-- and amount, 33 are a keyed hash (the key is in meta; of a payment the first 24 are of recipient and service), one says whether
-- the row has a reference, and 29 are its place among the instructions of its load. A load is compared with those before it, so that nothing is paid again unseen. They prove nothing: rows are compared in full.
create table fingerprints (
    fingerprints_id integer primary key,
    load_id         integer not null,
    least           integer not null,       -- the first of them, its uppermost bit turned over
    first_seq       integer not null,       -- the first instruction of the load: places count from it
    entries         blob not null           -- 8 bytes each, the lowest first
) strict;
create index fingerprints_by_load on fingerprints (load_id, least);

-- Rows of a load that a person is shown before they are paid: they look like rows of another load, or of their own, or they
-- repeat rows of another load and were allowed to.
create table alike (
    alike_id  integer primary key,
    load_id   integer not null,
    kind      integer not null check (kind between 0 and 7),
    batch     text not null,                -- the other load: its batch, its file, its time
    source    text not null,
    loaded_at integer not null,
    count     integer not null,             -- rows of this load
    lines     text not null                 -- the first lines of them, as an array
) strict;
create index alike_by_load on alike (load_id);

-- Rows of the same debt that had failed when a row was loaded, or ordered to be paid anew: before that one leaves, they are
-- looked at again.
create table watched (
    seq   integer not null,
    other integer not null,
    by_word integer not null default 0 check (by_word in (0, 1)),   -- that it had failed was the word of a person alone
    primary key (seq, other)
) strict, without rowid;
create index watched_other on watched (other);

-- What is on the chain of them (evidence of kind 87) is compared with them before a row leaves.
create index watches on evidence (seq) where event = 87;

-- Orders of people that a copy must not forget (meta has their number), for the mark beside the journal.
create table given_order (
    order_id integer primary key,
    number   integer not null,              -- how many there were with it
    at       integer not null,
    act      text not null,                 -- the command
    batch    text not null,                 -- as ledger::payer::key has it
    payments integer not null,              -- 0: the batch as a whole
    digest   text not null,                 -- of these payments, and of what was ordered
    by       text not null                  -- as ledger::payer::key has it
) strict;

-- Orders that were in the mark when it was noticed that the journal had missed them. One counts as given again by any of its like
-- after given_order number after_order.
create table lost_order (
    lost_order_id integer primary key,
    recovery_id integer not null,
    after_order integer not null,
    line        text not null               -- as the mark has it
) strict;

-- Rows that were loaded while a recovery was open, and were allowed to have the debt of another row: they are asked about, and wait
-- until it is declared done. Like the table before, it is a list of what to look at, and not on the chain.
create table repeat_in_recovery (
    seq integer primary key
) strict;
