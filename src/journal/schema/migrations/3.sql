-- Version 3: a smaller journal. Times are milliseconds since 1970 UTC, amounts are minor units.

-- What gateways say in the same words again and again, each text once or nearly so: a text that was not heard of late may
-- stand here twice.
create table phrase (
    phrase_id integer primary key,
    text      text not null
) strict;
create trigger phrase_is_never_changed before update on phrase
begin select raise(abort, 'a phrase never changes'); end;
create trigger phrase_is_never_removed before delete on phrase
begin select raise(abort, 'a phrase is never removed'); end;

-- What the gateway said, which earlier versions kept in `detail`.
alter table evidence add column phrase_id integer;                  -- statusDescription
alter table evidence add column gateway_transaction_id text;
alter table evidence add column receipt_number text;
alter table evidence add column receiver_narration text;
-- The hash of every row covers the row before it. One of 64 is written down, and the last one as the head of the chain; those
-- between them are computed.
drop trigger evidence_is_never_changed;
create trigger evidence_is_never_changed before update on evidence when old.batch_id is not null
begin select raise(abort, 'evidence is append-only'); end;

alter table life add column phrase_id integer;                      -- statusDescription
insert into phrase (text) select distinct status_description from life where status_description is not null order by 1;
create index phrase_by_text on phrase (text);
update life set phrase_id = (select phrase_id from phrase where text = status_description) where status_description is not null;
drop index phrase_by_text;
alter table life drop column status_description;

-- What is asked about next, and what is in doubt, is found by state; a payment under way needs no index, as few are.
drop index ask_queue;
drop index doubts;
drop index unfinished_posts;
create index ask_queue on life (batch_id, state, due_at) where state >= 2 and state <= 4;

-- From where on a lane has payments of which nothing is known yet. They have no life: it begins with the first claim.
create table lane (
    batch_id   integer not null,
    service_id integer not null,
    fresh_from integer not null,            -- every payment of the lane below has a life
    primary key (batch_id, service_id)
) strict, without rowid;
insert into lane (batch_id, service_id, fresh_from)
select batch_id, service_id, max(seq) + 1 from instruction group by batch_id, service_id;
-- What has no amount yet gets it from its bill; else an instruction never changes once its load is complete.
drop trigger instruction_is_never_changed;
drop trigger instruction_is_never_removed;
create trigger instruction_is_never_changed before update on instruction
when exists (select 1 from life where life.seq = old.seq)
    or old.amount is not null and exists (select 1 from load where load.load_id = old.load_id and load.digest <> '')
begin select raise(abort, 'an instruction never changes'); end;
create trigger instruction_is_never_removed before delete on instruction
when exists (select 1 from life where life.seq = old.seq) or exists (select 1 from load where load.load_id = old.load_id and load.digest <> '')
begin select raise(abort, 'an instruction is never removed'); end;
