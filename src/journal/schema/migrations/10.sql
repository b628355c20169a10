-- Version 10: what is personal is on the chain by salted leaves, so that it can be forgotten; notices, kept until they are delivered.

alter table instruction add column salt blob check (salt is null or length(salt) in (16, 32));
alter table evidence add column salt blob check (salt is null or length(salt) in (16, 32));
alter table rejected add column salt blob check (salt is null or length(salt) in (16, 32));
alter table bill add column salt blob check (salt is null or length(salt) in (16, 32));
drop trigger instruction_is_never_changed;
create trigger instruction_is_never_changed before update on instruction
when (exists (select 1 from life where life.seq = old.seq)
    or old.amount is not null and exists (select 1 from load where load.load_id = old.load_id and load.digest <> ''))
and not (coalesce(length(old.salt), 0) = 16 and coalesce(length(new.salt), 0) = 32
    and new.msisdn = '000000000000000' and new.account_number is not null and (new.reference is null) = (old.reference is null)
    and coalesce(new.narration, new.invoice_number, new.document, new.document_folder) is null
    and (new.seq, new.batch_id, new.load_id, new.line, new.identifier, new.generation, new.received_at, new.service_id, new.amount,
            new.currency, new.country, new.payment_mode, new.hub_id, new.as_due, new.not_before)
        is (old.seq, old.batch_id, old.load_id, old.line, old.identifier, old.generation, old.received_at, old.service_id, old.amount,
            old.currency, old.country, old.payment_mode, old.hub_id, old.as_due, old.not_before))
begin select raise(abort, 'an instruction never changes, but that its person is forgotten'); end;
drop trigger evidence_is_never_changed;
create trigger evidence_is_never_changed before update on evidence when old.batch_id is not null
and not (coalesce(length(old.salt), 0) = 16 and coalesce(length(new.salt), 0) = 32
    and coalesce(new.anomaly, new.detail, new.receiver_narration) is null
    and (new.evidence_id, new.seq, new.at, new.event, new.class, new.code, new.digest, new.batch_id, new.policy_id, new.hash, new.phrase_id,
            new.gateway_transaction_id, new.receipt_number)
        is (old.evidence_id, old.seq, old.at, old.event, old.class, old.code, old.digest, old.batch_id, old.policy_id, old.hash, old.phrase_id,
            old.gateway_transaction_id, old.receipt_number))
begin select raise(abort, 'evidence is append-only'); end;
drop trigger bill_is_never_changed;
create trigger bill_is_never_changed before update on bill
when not (coalesce(length(old.salt), 0) = 16 and coalesce(length(new.salt), 0) = 32 and new.customer_name is null and new.description = ''
    and (new.bill_id, new.seq, new.at, new.outcome, new.code, new.due, new.currency, new.due_date)
        is (old.bill_id, old.seq, old.at, old.outcome, old.code, old.due, old.currency, old.due_date))
begin select raise(abort, 'what a bill said is never changed'); end;
create table notice (
    notice_id integer primary key,
    id        text not null unique,
    batch_id  integer not null,
    kind      text not null,
    subject   text not null,
    nth       integer not null,
    figure    integer not null,
    made_at   integer not null,
    stands    integer not null check (stands in (0, 1)),
    body      text,
    attempts  integer not null default 0,
    due_at    integer not null default 0,
    trouble   text
) strict;
create index notice_of_batch on notice (batch_id, kind, subject, notice_id);
create index notice_waiting on notice (notice_id) where body is not null;
create index notice_standing on notice (batch_id) where stands = 1;
create table seen_open (
    batch_id integer primary key
) strict;
