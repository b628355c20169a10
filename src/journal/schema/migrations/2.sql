-- Version 2: what is learned before a payment is posted. Times are milliseconds since 1970 UTC, amounts are minor units.

-- Where the path in `document` starts, when it is relative: the absolute folder of the batch file. Null: it was not kept.
alter table instruction add column document_folder text;

-- The supporting document of a payment, as the file service took it. Written once, before the payment may be posted:
-- a repeated post then names the same document.
create table upload (
    seq       integer primary key,
    at        integer not null,
    digest    blob not null,                -- SHA-256 of the file
    bytes     integer not null,             -- its length
    reference text not null,                -- supportDocument
    reply     text not null                 -- what the file service said
) strict;
-- Earlier versions named the identifier; what they posted keeps it in every repeat.
insert into upload (seq, at, digest, bytes, reference, reply)
select i.seq, l.posted_at, x'', 0, i.identifier, 'posted by a version that uploaded nothing'
from instruction i join life l using (seq) where i.document is not null and l.posted_at is not null;
create trigger upload_is_never_changed before update on upload
begin select raise(abort, 'an upload is never changed'); end;
create trigger upload_is_never_removed before delete on upload
begin select raise(abort, 'an upload is never removed'); end;

-- Few rows have a document, and a run looks for those that are not uploaded yet.
create index instruction_with_document on instruction (batch_id, seq) where document is not null;

-- Networks of numbers, as the lookup told them. A cache: it proves nothing about a payment.
create table lookup (
    country    text not null,
    msisdn     text not null,
    at         integer not null,            -- 0: noted, and never looked up
    carrier    text,                        -- null: not a phone number, says the lookup
    time_zone  text,
    primary key (country, msisdn)
) strict, without rowid;

-- A row of a postpaid service may leave its amount to its bill. Until its amount is fixed it has no life, so that nothing
-- can post it; `tally` counts it with the state 9. One that is withdrawn instead is cancelled without an amount.
alter table instruction alter column amount drop not null;
alter table instruction add column as_due integer not null default 0    -- 1: the file has no amount for the row
    check (as_due = 1 or as_due = 0 and amount is not null);
create index unpriced on instruction (batch_id, seq) where amount is null;
create index taken_from_bill on instruction (service_id, coalesce(account_number, msisdn), seq) where as_due = 1;

-- What bills said, in the order they were asked for.
create table bill (
    bill_id       integer primary key,
    seq           integer not null,
    at            integer not null,
    outcome       integer not null check (outcome between 0 and 2), -- the row took the due amount; its own amount fits; refused
    code          integer,                  -- statusCode; null: no usable answer
    due           integer check (due > 0),
    currency      text,
    due_date      text,                     -- as it was written
    customer_name text,
    description   text not null,            -- statusDescription, or why the row cannot be paid by this bill
    check (outcome = 2 or due is not null)
) strict;
create index bill_by_payment on bill (seq);
-- One bill decides, once and for ever.
create unique index bill_that_decided on bill (seq) where outcome < 2;
create trigger bill_is_never_changed before update on bill
begin select raise(abort, 'what a bill said is never changed'); end;
create trigger bill_is_never_removed before delete on bill
begin select raise(abort, 'what a bill said is never removed'); end;

-- The receiptNumber that came with a delivery to the bank (148): the receipt of the settlement does not replace it.
alter table life add column application_id text;

-- The declared total of a file with rows without an amount: it is compared once they have theirs.
alter table load add column total integer;
alter table load add column total_currency text;

-- The policies that evidence was judged by: what of them decides how it adds up.
create table policy (
    policy_id            integer primary key,
    not_found_quarantine integer not null,  -- milliseconds
    exposures_max        integer not null,
    settle_on            integer not null check (settle_on in (0, 1)),      -- the callback, or a status query that agrees
    status_query         integer not null check (status_query in (0, 1)),
    unique (not_found_quarantine, exposures_max, settle_on, status_query)
) strict;
create trigger policy_is_never_changed before update on policy
begin select raise(abort, 'a policy never changes'); end;
create trigger policy_is_never_removed before delete on policy
begin select raise(abort, 'a policy is never removed'); end;

-- Since when no post of a batch has left, by the clock that nobody sets: the next run need not wait for the rate. A claim
-- takes it away, the end of a run puts it there; none after a crash.
create table rest (
    batch_id integer primary key,
    boot     text not null,                 -- the start of the machine that it counts from
    since    integer not null               -- milliseconds since that start
) strict;

-- The chain of evidence: every row has a hash over itself and the row before it in its batch.
alter table evidence add column batch_id integer;
alter table evidence add column policy_id integer;  -- null: no wait enters into it, or an earlier version wrote it
alter table evidence add column hash blob check (length(hash) = 32);
-- What has no hash yet gets one when an earlier journal is brought up, in the same transaction as this.
drop trigger evidence_is_never_changed;
create trigger evidence_is_never_changed before update on evidence when old.hash is not null
begin select raise(abort, 'evidence is append-only'); end;
create table chain (
    batch_id integer primary key,
    length   integer not null,              -- rows of evidence
    head     blob not null check (length(head) = 32)
) strict;

-- The same rows as before: with a list of states, every change of a life builds a set of them anew, for the old row and for
-- the new one.
drop index ask_queue;
create index ask_queue on life (batch_id, due_at, seq) where state >= 2 and state <= 4;
-- A run that begins looks at the doubts alone.
create index doubts on life (batch_id, seq) where state = 2;
