-- The journal of `disburse` in PostgreSQL: the tables of /schema.sql, which says what their columns mean, and those that only a
-- journal has that many runners share. The binary embeds this file; src/store/postgres/expected.rs reads it to know what must be
-- there: each column stands on a line of its own, each trigger and index on one.
--
-- Texts are ordered by their bytes. A text has no character U+0000 here: it is written U+0001 U+0001, and U+0001 is written
-- U+0001 U+0002, which keeps the order. Values of `meta` begin with their kind: i, t or b (in hexadecimal digits). Nothing comes before
-- everything else in an order. An index ends with the key: rows that are alike in it come in that order, and need not be sorted.
--
-- Of the three tables with a row and more for each payment, columns are as narrow as what they count, and stand by their width, so that
-- none is filled up.

create schema disburse;

-- The version of this schema. A later release may expand it (more columns that may be left out, more tables and indexes); `oldest` in
-- `turn` says which releases may go on meanwhile.
create table disburse.schema_version (
    one boolean primary key default true check (one),
    version bigint not null
);
insert into disburse.schema_version (version) values (1);

-- Whose turn it is to write: transactions that write come one after the other, over all hosts, as each begins with an update of this
-- row. It has the number of the newest of them, who wrote it, and who wrote the one before; and the oldest version of the schema whose
-- releases may still read and write, so that whoever takes its turn after that was raised learns of it.
create table disburse.turn (
    one boolean primary key default true check (one),
    number bigint not null,
    writer bytea,
    previous bytea,
    oldest bigint not null
) with (fillfactor = 10);
insert into disburse.turn (number, oldest) values (0, 1);

-- The newest transaction of each writer: whether one was committed whose end was not heard is read here.
create table disburse.writer (
    id bytea primary key,
    turn bigint not null,
    begun_at timestamptz not null
) with (fillfactor = 50);

create table disburse.meta (
    key text collate "C" primary key,
    value text collate "C" not null
);

create table disburse.batch (
    batch_id bigint primary key,
    name text collate "C" not null,
    originator text collate "C" not null,
    created_at bigint not null,
    gateway text collate "C",
    wire text collate "C",
    last_claim_at bigint,
    account text collate "C",
    rehearsal bigint check (rehearsal in (0, 1)),
    reading text collate "C",
    identifier_form text collate "C"
);
create unique index by_name on disburse.batch (name);

create table disburse.load (
    load_id bigint primary key,
    batch_id bigint not null references disburse.batch deferrable initially deferred,
    source text collate "C" not null,
    digest text collate "C" not null,
    loaded_at bigint not null,
    accepted bigint not null,
    rejected bigint not null,
    total bigint,
    total_currency text collate "C",
    payments bigint,
    identifiers bigint,
    layout text collate "C",
    layout_digest text collate "C",
    file_digest text collate "C"
);
create index load_by_batch on disburse.load (batch_id, load_id);
create index load_by_digest on disburse.load (digest, load_id);

create table disburse.service (
    service_id bigint primary key,
    code text collate "C" not null
);
create unique index by_code on disburse.service (code);

create table disburse.instruction (
    seq bigint primary key,
    received_at bigint not null,
    amount bigint check (amount > 0),
    not_before bigint,
    batch_id integer not null,
    load_id integer not null,
    line integer not null,
    generation integer not null,
    service_id integer not null,
    as_due smallint not null default 0 check (as_due = 1 or as_due = 0 and amount is not null),
    identifier text collate "C" not null,
    reference text collate "C",
    msisdn text collate "C" not null,
    account_number text collate "C",
    currency text collate "C" not null,
    country text collate "C" not null,
    narration text collate "C",
    customer_names text collate "C",
    invoice_number text collate "C",
    payment_mode text collate "C",
    hub_id text collate "C",
    extra text collate "C",
    document text collate "C",
    document_folder text collate "C",
    salt bytea check (salt is null or length(salt) in (16, 32))
);
create index instruction_with_document on disburse.instruction (batch_id, seq) where document is not null;
create index scheduled on disburse.instruction (batch_id, not_before nulls first, seq) where not_before is not null;
create index unpriced on disburse.instruction (batch_id, seq) where amount is null;
create index taken_from_bill on disburse.instruction (service_id, coalesce(account_number, msisdn), seq) where as_due = 1;

create table disburse.identifier (
    identifier text collate "C" primary key,
    seq bigint not null
);

-- A payment is claimed, answered and settled: two more versions of its row, each longer than the one before. Its page keeps room for the
-- second; the third takes the place of the first, and some more.
create table disburse.life (
    seq bigint primary key,
    posted_at bigint,
    quarantine_from bigint,
    due_at bigint not null,
    settled_at bigint,
    replaced_by bigint,
    batch_id integer not null,
    service_id integer not null,
    code integer,
    attempts integer not null default 0,
    exposures integer not null default 0,
    not_found integer not null default 0,
    queries integer not null default 0,
    phrase_id integer,
    state smallint not null check (state between 0 and 8),
    known smallint not null default 0,
    queued smallint not null default 1 check (queued = 1 or queued = 0 and state = 3),
    gateway_transaction_id text collate "C",
    receipt_number text collate "C",
    receiver_narration text collate "C",
    application_id text collate "C",
    check (state <> 1 or posted_at is not null),
    check (state < 5 or due_at = 9223372036854775807),
    check (replaced_by is null or state in (5, 6, 8))
) with (fillfactor = 50);
create index post_queue on disburse.life (batch_id, service_id, due_at, seq) where state = 0;
create index replaced on disburse.life (batch_id, seq) where replaced_by is not null;
create index ask_queue on disburse.life (batch_id, state, due_at, seq) where state >= 2 and state <= 4 and queued = 1;
create index predecessor on disburse.life (replaced_by nulls first, seq) where replaced_by is not null;

create table disburse.lane (
    batch_id bigint not null,
    service_id bigint not null,
    fresh_from bigint not null,
    primary key (batch_id, service_id)
);

create table disburse.evidence (
    evidence_id bigint primary key,
    seq bigint not null,
    at bigint not null,
    code integer,
    batch_id integer,
    policy_id integer,
    phrase_id integer,
    event smallint not null,
    class smallint,
    anomaly text collate "C",
    digest bytea,
    detail text collate "C",
    hash bytea check (length(hash) = 32),
    gateway_transaction_id text collate "C",
    receipt_number text collate "C",
    receiver_narration text collate "C",
    salt bytea check (salt is null or length(salt) in (16, 32))
);
-- Evidence of a payment comes when that of others stands behind it already: a page that is full by then would be split in two.
create index evidence_by_payment on disburse.evidence (seq, evidence_id) with (fillfactor = 50);
create index about_batch on disburse.evidence (event, batch_id nulls first, evidence_id) where seq = 0;
create index presumed on disburse.evidence (batch_id nulls first, evidence_id) where event = 21;
create index watches on disburse.evidence (seq, evidence_id) where event = 87;

create table disburse.chain (
    batch_id bigint primary key,
    length bigint not null,
    head bytea not null check (length(head) = 32)
);

create table disburse.phrase (
    phrase_id bigint primary key,
    text text collate "C" not null
);

create table disburse.policy (
    policy_id bigint primary key,
    not_found_quarantine bigint not null,
    exposures_max bigint not null,
    settle_on bigint not null check (settle_on in (0, 1)),
    status_query bigint not null check (status_query in (0, 1)),
    unique (not_found_quarantine, exposures_max, settle_on, status_query)
);

create table disburse.named_otherwise (
    batch_id bigint not null,
    seq bigint not null,
    words text collate "C" not null,
    primary key (batch_id, seq)
);

create table disburse.inquiry (
    seq bigint primary key,
    batch_id bigint not null,
    due_at bigint not null,
    queries bigint not null default 0,
    since bigint not null default 0,
    alone bigint not null default 0
);
create index inquiry_queue on disburse.inquiry (batch_id, due_at, seq);

create table disburse.rejected (
    load_id bigint not null,
    line bigint not null,
    nth bigint not null,
    batch_id bigint not null,
    reference text collate "C",
    service_code text collate "C",
    msisdn text collate "C",
    account_number text collate "C",
    amount_text text collate "C",
    amount bigint,
    currency text collate "C",
    errors text collate "C" not null,
    digest bytea,
    cells text collate "C",
    replaced_by bigint,
    withdrawn bigint,
    salt bytea check (salt is null or length(salt) in (16, 32)),
    primary key (load_id, line, nth),
    check (replaced_by is null or withdrawn is null)
);
create index rejected_by_batch on disburse.rejected (batch_id, digest nulls first, load_id, line, nth);

create table disburse.tally (
    batch_id bigint not null,
    service_id bigint not null,
    currency text collate "C" not null,
    state bigint not null,
    count bigint not null,
    amount bigint not null,
    primary key (batch_id, service_id, currency, state)
);

create table disburse.held_lane (
    batch_id bigint not null,
    service_id bigint not null,
    held_at bigint not null,
    reason text collate "C" not null,
    primary key (batch_id, service_id)
);

create table disburse.counted (
    seq bigint primary key,
    realm bigint not null,
    service_id bigint not null,
    recipient text collate "C" not null,
    currency text collate "C" not null,
    amount bigint not null,
    day bigint not null,
    counts bigint not null check (counts in (0, 1, 2))
);
create index paid_recipient on disburse.counted (realm, recipient, seq) where counts = 2;

create table disburse.used (
    realm bigint not null,
    name text collate "C" not null,
    currency text collate "C" not null,
    day bigint not null,
    amount bigint not null,
    primary key (realm, name, currency, day)
);

create table disburse.limited (
    batch_id bigint not null,
    seq bigint not null,
    service_id bigint not null,
    reason text collate "C" not null,
    until bigint not null,
    primary key (batch_id, seq)
);

create table disburse.opened_lane (
    batch_id bigint not null,
    service_id bigint not null,
    paid bigint not null,
    failed bigint not null,
    primary key (batch_id, service_id)
);

create table disburse.pace (
    gateway text collate "C" not null,
    account text collate "C" not null,
    what bigint not null check (what in (0, 1)),
    boot text collate "C",
    since bigint,
    primary key (gateway, account, what),
    check ((boot is null) = (since is null))
);

create table disburse.upload (
    seq bigint primary key,
    at bigint not null,
    digest bytea not null,
    bytes bigint not null,
    reference text collate "C" not null,
    reply text collate "C" not null
);

create table disburse.upload_begun (
    seq bigint not null references disburse.instruction (seq) deferrable initially deferred,
    digest bytea not null,
    primary key (seq, digest)
);

create table disburse.lookup (
    country text collate "C" not null,
    msisdn text collate "C" not null,
    at bigint not null,
    carrier text collate "C",
    time_zone text collate "C",
    primary key (country, msisdn)
);

create table disburse.bill (
    bill_id bigint primary key,
    seq bigint not null,
    at bigint not null,
    outcome bigint not null check (outcome between 0 and 2),
    code bigint,
    due bigint check (due > 0),
    currency text collate "C",
    due_date text collate "C",
    customer_name text collate "C",
    description text collate "C" not null,
    salt bytea check (salt is null or length(salt) in (16, 32)),
    check (outcome = 2 or due is not null)
);
create index bill_by_payment on disburse.bill (seq, bill_id);
create unique index bill_that_decided on disburse.bill (seq) where outcome <= 1;

create table disburse.fingerprints (
    fingerprints_id bigint primary key,
    load_id bigint not null,
    least bigint not null,
    first_seq bigint not null,
    entries bytea not null
);
create index fingerprints_by_load on disburse.fingerprints (load_id, least, fingerprints_id);

create table disburse.alike (
    alike_id bigint primary key,
    load_id bigint not null,
    kind bigint not null check (kind between 0 and 7),
    batch text collate "C" not null,
    source text collate "C" not null,
    loaded_at bigint not null,
    count bigint not null,
    lines text collate "C" not null
);
create index alike_by_load on disburse.alike (load_id, alike_id);

create table disburse.watched (
    seq bigint not null,
    other bigint not null,
    by_word bigint not null default 0 check (by_word in (0, 1)),
    primary key (seq, other)
);
create index watched_other on disburse.watched (other, seq);

create table disburse.recovery (
    recovery_id bigint primary key,
    begun_at bigint not null,
    cause bigint not null,
    newest_seq bigint not null,
    newest_evidence bigint not null,
    done_at bigint,
    reason text collate "C",
    orders_lost bigint not null default 0,
    orders_unknown bigint not null default 0 check (orders_unknown in (0, 1)),
    orders_reason text collate "C",
    batches_missing bigint not null default 0 check (batches_missing in (0, 1)),
    ran_since text collate "C"
);

create table disburse.payer (
    batch text collate "C" not null primary key,
    gateway text collate "C" not null,
    account text collate "C" not null,
    by_person bigint not null check (by_person in (0, 1)),
    payments bigint,
    identifiers bigint,
    originator text collate "C"
);

create table disburse.given_order (
    order_id bigint primary key,
    number bigint not null,
    at bigint not null,
    act text collate "C" not null,
    batch text collate "C" not null,
    payments bigint not null,
    digest text collate "C" not null,
    by text collate "C" not null
);

create table disburse.lost_order (
    lost_order_id bigint primary key,
    recovery_id bigint not null,
    after_order bigint not null,
    line text collate "C" not null
);

create table disburse.repeat_in_recovery (
    seq bigint primary key
);

create table disburse.notice (
    notice_id bigint primary key,
    id text collate "C" not null,
    batch_id bigint not null,
    kind text collate "C" not null,
    subject text collate "C" not null,
    nth bigint not null,
    figure bigint not null,
    made_at bigint not null,
    stands bigint not null check (stands in (0, 1)),
    body text collate "C",
    attempts bigint not null default 0,
    due_at bigint not null default 0,
    trouble text collate "C"
);
create unique index by_id on disburse.notice (id);
create index notice_of_batch on disburse.notice (batch_id, kind, subject, notice_id);
create index notice_waiting on disburse.notice (notice_id) where body is not null;
create index notice_standing on disburse.notice (batch_id, notice_id) where stands = 1;

create table disburse.seen_open (
    batch_id bigint primary key
);
-- Runs of any host: until when each may post, unless it asks again before.
create table disburse.session (
    session_id bigint primary key,
    batch_id bigint not null,
    host text collate "C" not null,
    runner text collate "C" not null,
    release text collate "C" not null,
    gateway text collate "C" not null,
    account text collate "C" not null,
    rate bigint not null,
    query_rate bigint not null,
    quarantine bigint not null,
    began_at bigint not null,
    lease_until bigint not null,
    closed_at bigint
);
create index session_open on disburse.session (batch_id, session_id) where closed_at is null;
create index session_of_account on disburse.session (gateway, account, session_id) where closed_at is null;

-- Payments of a lane that a session has claimed together, for the first time.
create table disburse.claim (
    claim_id bigint primary key,
    session_id bigint not null,
    batch_id bigint not null,
    service_id bigint not null,
    first bigint not null,
    last bigint not null,
    check (first <= last)
);
create index claim_by_session on disburse.claim (session_id, claim_id);

-- Payments that a session has claimed one by one, each with the session that did so last.
create table disburse.claimed (
    seq bigint primary key,
    session_id bigint not null
);
create index claimed_by_session on disburse.claimed (session_id, seq);

-- When the next post or question may leave to an account of a gateway, over all sessions.
create table disburse.slot (
    gateway text collate "C" not null,
    account text collate "C" not null,
    what bigint not null check (what in (0, 1)),
    next_at bigint not null,
    packets bigint not null,
    lateness text collate "C" not null,
    primary key (gateway, account, what)
);

-- Guards: what is never changed or removed, whoever writes.

create function disburse.never_changed() returns trigger language plpgsql as $$
begin
    raise exception 'rows of % are never changed', tg_table_name using errcode = 'restrict_violation';
end
$$;

create function disburse.never_removed() returns trigger language plpgsql as $$
begin
    raise exception 'rows of % are never removed', tg_table_name using errcode = 'restrict_violation';
end
$$;

create function disburse.instruction_changes() returns trigger language plpgsql as $$
begin
    if not exists (select 1 from disburse.life where life.seq = old.seq) then
        if not exists (select 1 from disburse.load where load.load_id = old.load_id and load.digest <> '') then
            return new;
        end if;
        -- Its bill said what it comes to.
        if old.amount is null and to_jsonb(new) - 'amount' = to_jsonb(old) - 'amount' then
            return new;
        end if;
    end if;
    if coalesce(length(old.salt), 0) = 16 and coalesce(length(new.salt), 0) = 32
        and new.msisdn = '000000000000000' and new.account_number is not null and (new.reference is null) = (old.reference is null)
        and coalesce(new.narration, new.invoice_number, new.document, new.document_folder) is null
        and (new.seq, new.batch_id, new.load_id, new.line, new.identifier, new.generation, new.received_at, new.service_id, new.amount,
                new.currency, new.country, new.payment_mode, new.hub_id, new.as_due, new.not_before)
            is not distinct from (old.seq, old.batch_id, old.load_id, old.line, old.identifier, old.generation, old.received_at,
                old.service_id, old.amount, old.currency, old.country, old.payment_mode, old.hub_id, old.as_due, old.not_before)
    then
        return new;
    end if;
    raise exception 'an instruction never changes, but that its person is forgotten' using errcode = 'restrict_violation';
end
$$;

create function disburse.instruction_goes() returns trigger language plpgsql as $$
begin
    if exists (select 1 from disburse.life where life.seq = old.seq)
        or exists (select 1 from disburse.load where load.load_id = old.load_id and load.digest <> '')
    then
        raise exception 'an instruction is never removed' using errcode = 'restrict_violation';
    end if;
    return old;
end
$$;

create function disburse.load_changes() returns trigger language plpgsql as $$
begin
    if old.digest <> '' then
        raise exception 'a load that has ended is never changed or removed' using errcode = 'restrict_violation';
    end if;
    return case tg_op when 'DELETE' then old else new end;
end
$$;

create function disburse.identifier_goes() returns trigger language plpgsql as $$
begin
    if exists (select 1 from disburse.instruction i join disburse.load l on l.load_id = i.load_id where i.seq = old.seq and l.digest <> '') then
        raise exception 'an identifier is never removed' using errcode = 'restrict_violation';
    end if;
    return old;
end
$$;

create function disburse.evidence_changes() returns trigger language plpgsql as $$
begin
    if old.batch_id is null
        or coalesce(length(old.salt), 0) = 16 and coalesce(length(new.salt), 0) = 32
        and coalesce(new.anomaly, new.detail, new.receiver_narration) is null
        and (new.evidence_id, new.seq, new.at, new.event, new.class, new.code, new.digest, new.batch_id, new.policy_id, new.hash,
                new.phrase_id, new.gateway_transaction_id, new.receipt_number)
            is not distinct from (old.evidence_id, old.seq, old.at, old.event, old.class, old.code, old.digest, old.batch_id,
                old.policy_id, old.hash, old.phrase_id, old.gateway_transaction_id, old.receipt_number)
    then
        return new;
    end if;
    raise exception 'evidence is append-only' using errcode = 'restrict_violation';
end
$$;

create function disburse.bill_changes() returns trigger language plpgsql as $$
begin
    if coalesce(length(old.salt), 0) = 16 and coalesce(length(new.salt), 0) = 32 and new.customer_name is null and new.description = ''
        and (new.bill_id, new.seq, new.at, new.outcome, new.code, new.due, new.currency, new.due_date)
            is not distinct from (old.bill_id, old.seq, old.at, old.outcome, old.code, old.due, old.currency, old.due_date)
    then
        return new;
    end if;
    raise exception 'what a bill said is never changed' using errcode = 'restrict_violation';
end
$$;

create trigger instruction_is_never_changed before update on disburse.instruction for each row execute function disburse.instruction_changes();
create trigger instruction_is_never_removed before delete on disburse.instruction for each row execute function disburse.instruction_goes();
create trigger load_is_never_changed before update on disburse.load for each row execute function disburse.load_changes();
create trigger load_is_never_removed before delete on disburse.load for each row execute function disburse.load_changes();
create trigger identifier_is_never_changed before update on disburse.identifier for each row execute function disburse.never_changed();
create trigger identifier_is_never_removed before delete on disburse.identifier for each row execute function disburse.identifier_goes();
create trigger evidence_is_never_changed before update on disburse.evidence for each row execute function disburse.evidence_changes();
create trigger evidence_is_never_removed before delete on disburse.evidence for each row execute function disburse.never_removed();
create trigger phrase_is_never_changed before update on disburse.phrase for each row execute function disburse.never_changed();
create trigger phrase_is_never_removed before delete on disburse.phrase for each row execute function disburse.never_removed();
create trigger policy_is_never_changed before update on disburse.policy for each row execute function disburse.never_changed();
create trigger policy_is_never_removed before delete on disburse.policy for each row execute function disburse.never_removed();
create trigger upload_is_never_changed before update on disburse.upload for each row execute function disburse.never_changed();
create trigger upload_is_never_removed before delete on disburse.upload for each row execute function disburse.never_removed();
create trigger bill_is_never_changed before update on disburse.bill for each row execute function disburse.bill_changes();
create trigger bill_is_never_removed before delete on disburse.bill for each row execute function disburse.never_removed();
create trigger instruction_is_never_emptied before truncate on disburse.instruction for each statement execute function disburse.never_removed();
create trigger load_is_never_emptied before truncate on disburse.load for each statement execute function disburse.never_removed();
create trigger identifier_is_never_emptied before truncate on disburse.identifier for each statement execute function disburse.never_removed();
create trigger evidence_is_never_emptied before truncate on disburse.evidence for each statement execute function disburse.never_removed();
create trigger phrase_is_never_emptied before truncate on disburse.phrase for each statement execute function disburse.never_removed();
create trigger policy_is_never_emptied before truncate on disburse.policy for each statement execute function disburse.never_removed();
create trigger upload_is_never_emptied before truncate on disburse.upload for each statement execute function disburse.never_removed();
create trigger bill_is_never_emptied before truncate on disburse.bill for each statement execute function disburse.never_removed();
