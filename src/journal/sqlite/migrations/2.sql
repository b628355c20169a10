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
