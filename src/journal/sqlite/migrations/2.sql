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
create trigger upload_is_never_changed before update on upload
begin select raise(abort, 'an upload is never changed'); end;
create trigger upload_is_never_removed before delete on upload
begin select raise(abort, 'an upload is never removed'); end;

-- Networks of numbers, as the lookup told them. A cache: it proves nothing about a payment.
create table lookup (
    country    text not null,
    msisdn     text not null,
    at         integer not null,
    carrier    text,                        -- null: not a phone number, says the lookup
    time_zone  text,
    primary key (country, msisdn)
) strict, without rowid;
