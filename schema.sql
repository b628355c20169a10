-- The journal of `disburse`: batches, their immutable instructions, where each payment stands, and the evidence for it.
-- The binary embeds this file: a new journal is made by it. Journals of earlier versions are brought up by the files in
-- src/journal/schema/migrations, to the same schema, but for the order of columns. Of the tables that have a row for each payment, those
-- that most rows leave empty stand last: there they take no byte. Times are milliseconds since 1970 UTC, amounts are minor units.

-- Facts about the journal as a whole: the fencing epoch of the last run, the key of the callback addresses.
create table meta (
    key   text primary key,                 -- name of the fact
    value any not null                      -- its value
) strict, without rowid;
-- What the journal calls itself, for the mark beside it. A copy has the same name until it is noticed.
insert into meta (key, value) values ('journal', randomblob(16));

create table batch (
    batch_id      integer primary key,
    name          text not null unique,     -- BatchName
    originator    text not null,            -- part of every identifier of the batch
    created_at    integer not null,         -- first load
    gateway       text,                     -- the gateway it was started with; null until the first run
    wire          text,                     -- settings that shape the bytes of a post, pinned with the gateway
    last_claim_at integer,                  -- last intent: the rate limit holds over a restart
    account       text,                     -- the account at the gateway that it belongs to: another one at the same address knows
                                            -- nothing of its payments; null: it has not been run yet, or by earlier versions alone
    rehearsal     integer check (rehearsal in (0, 1)),  -- loaded for: 0 its gateway, 1 a rehearsal; null: by an earlier version
    reading       text,                     -- digest of how replies are read; null: as the document has it
    identifier_form text                    -- how its identifiers are written; null: 26 characters of base32
) strict;

-- One row for every file that was loaded, the first and every amendment.
create table load (
    load_id   integer primary key,
    batch_id  integer not null references batch,
    source    text not null,                -- file name, without its folder
    digest    text not null,                -- ContentDigest of its valid rows
    loaded_at integer not null,
    accepted  integer not null,             -- rows that became payments
    rejected  integer not null,             -- rows that did not pass validation
    total     integer,                      -- declared total of a file with rows without an amount: compared once they have theirs
    total_currency text,
    payments  integer,                      -- the payments it brought, without their retries; null: an earlier version loaded it
    identifiers integer,                    -- sum of the FNV-1a (64 bits) of each of their identifiers
    layout    text,                         -- the layout that its columns were read by; null: they are ours
    layout_digest text,                     -- SHA-256 over what the layout said
    file_digest text                        -- SHA-256 over the bytes of the file: with another layout of the same name it is refused
) strict;
create index load_by_batch on load (batch_id);
create index load_by_digest on load (digest);

-- Service codes; a lane of a run is one of them.
create table service (
    service_id integer primary key,
    code       text not null unique
) strict;

-- What is to be paid. Never changes once the load has committed, but that a row without an amount gets it from its bill. Until
-- its amount is fixed a row has no life, so that nothing can post it; `tally` counts it with the state 9.
create table instruction (
    seq            integer primary key,     -- order of loading
    batch_id       integer not null,
    load_id        integer not null,
    line           integer not null,        -- line of the file the row begins at
    identifier     text not null,           -- payerTransactionID
    generation     integer not null,        -- 0, one more for every ordered retry
    received_at    integer not null,        -- datePaymentReceived
    service_id     integer not null,
    msisdn         text not null,
    amount         integer check (amount > 0),
    currency       text not null,
    country        text not null,
    as_due         integer not null default 0    -- 1: the file has no amount for the row
        check (as_due = 1 or as_due = 0 and amount is not null),
    salt           blob                     -- 16 bytes: what is personal of the row is on the chain by a leaf over it and them; 32: that
        check (salt is null or length(salt) in (16, 32)),   -- leaf, once the person was forgotten; null: an earlier version loaded it
    reference      text,
    narration      text,                    -- null: empty on the wire, as every text here but account_number
    customer_names text,
    account_number text,                    -- null: the same as msisdn
    extra          text,                    -- members of extraData, as an array of pairs
    invoice_number text,
    payment_mode   text,
    hub_id         text,
    not_before     integer,                 -- not posted before; null: at once
    document       text,
    document_folder text                    -- where a relative path in `document` starts: the absolute folder of the batch file;
                                            -- null: it was not kept
) strict;
-- Few rows have a document, and a run looks for those that are not uploaded yet.
create index instruction_with_document on instruction (batch_id, seq) where document is not null;
-- Rows that wait for their time are few, or a file is all of them.
create index scheduled on instruction (batch_id, not_before) where not_before is not null;
create index unpriced on instruction (batch_id, seq) where amount is null;
create index taken_from_bill on instruction (service_id, coalesce(account_number, msisdn), seq) where as_due = 1;
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
create trigger instruction_is_never_removed before delete on instruction
when exists (select 1 from life where life.seq = old.seq) or exists (select 1 from load where load.load_id = old.load_id and load.digest <> '')
begin select raise(abort, 'an instruction is never removed'); end;

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
    known                  integer not null default 0,     -- the gateway has shown that it has the identifier; 2: before our first post,
                                                           -- so that what it has may be somebody else's payment
    not_found              integer not null default 0,     -- "not found" in a row, after the quarantine
    quarantine_from        integer,
    queries                integer not null default 0,     -- queries in a row that changed nothing
    due_at                 integer not null,               -- next action; the largest integer: none
    queued                 integer not null default 1      -- whether it stands in `ask_queue`, once it is to be asked about; 0: the run that
        check (queued = 1 or queued = 0 and state = 3),    -- had it acknowledged remembers when, and puts it there when the time comes
    settled_at             integer,                        -- when it reached its end
    gateway_transaction_id text,
    phrase_id              integer,                        -- statusDescription
    receipt_number         text,
    receiver_narration     text,
    application_id         text,                           -- the receiptNumber that came with a delivery to the bank (148): the receipt of
                                                           -- the settlement does not replace it
    replaced_by            integer,                        -- seq of the retry that replaces this proven failure
    check (state <> 1 or posted_at is not null),
    check (state < 5 or due_at = 9223372036854775807),
    check (replaced_by is null or state in (5, 6, 8))      -- once replaced, late evidence and a decision may still come
) strict;
create index post_queue on life (batch_id, service_id, due_at, seq) where state = 0;
create index replaced on life (batch_id) where replaced_by is not null;
-- With a list of states, every change of a life would build a set of them anew, for the old row and for the new one.
create index ask_queue on life (batch_id, state, due_at) where state >= 2 and state <= 4 and queued = 1;
-- What a retry replaces is found by it: before a retry leaves, all earlier generations of its row are looked at.
create index predecessor on life (replaced_by) where replaced_by is not null;

-- From where on a lane has payments of which nothing is known yet. They have no life: it begins with the first claim.
create table lane (
    batch_id   integer not null,
    service_id integer not null,
    fresh_from integer not null,            -- every payment of the lane below has a life
    primary key (batch_id, service_id)
) strict, without rowid;

-- Everything that was ever learned about a payment, in the order it was learned.
create table evidence (
    evidence_id integer primary key,
    seq         integer not null,
    at          integer not null,
    event       integer not null,           -- kind of lifecycle::Event
    class       integer,                    -- lifecycle::Class of a reply, an answer or a callback
    code        integer,                    -- its status code
    batch_id    integer,
    policy_id   integer,                    -- null: no wait enters into it, or an earlier version wrote it
    phrase_id   integer,                    -- statusDescription
    gateway_transaction_id text,
    digest      blob,                       -- of a callback's body, so that a repeat is recognised: 12 bytes keyed by the salt, or its SHA-256
    receipt_number text,
    receiver_narration text,
    salt        blob                        -- as in instruction: of anomaly, detail and receiver_narration, where the gateway said them
        check (salt is null or length(salt) in (16, 32)),
    hash        blob check (length(hash) = 32),     -- covers the row and the one before it in its batch; one of 64 is written down, and
                                            -- the last one as the head of the chain; those between them are computed
    detail      text,                       -- what else was said, as JSON
    anomaly     text                        -- why it did not fit
) strict;
create index evidence_by_payment on evidence (seq);
-- What was recorded of a batch, and of no single payment, is found by its kind without reading all evidence: who loaded, ran and
-- decided, its files, recoveries, where it belongs. One index: the condition of each is computed for every row of evidence.
create index about_batch on evidence (event, batch_id, evidence_id) where seq = 0;
-- So is what an earlier journal may have posted (21), and what is looked at again before it leaves (87).
create index presumed on evidence (batch_id, evidence_id) where event = 21;
create index watches on evidence (seq) where event = 87;
create trigger evidence_is_never_changed before update on evidence when old.batch_id is not null
and not (coalesce(length(old.salt), 0) = 16 and coalesce(length(new.salt), 0) = 32
    and coalesce(new.anomaly, new.detail, new.receiver_narration) is null
    and (new.evidence_id, new.seq, new.at, new.event, new.class, new.code, new.digest, new.batch_id, new.policy_id, new.hash, new.phrase_id,
            new.gateway_transaction_id, new.receipt_number)
        is (old.evidence_id, old.seq, old.at, old.event, old.class, old.code, old.digest, old.batch_id, old.policy_id, old.hash, old.phrase_id,
            old.gateway_transaction_id, old.receipt_number))
begin select raise(abort, 'evidence is append-only'); end;
create trigger evidence_is_never_removed before delete on evidence
begin select raise(abort, 'evidence is append-only'); end;

-- The chain of evidence of each batch: how long it is, and its last hash.
create table chain (
    batch_id integer primary key,
    length   integer not null,              -- rows of evidence
    head     blob not null check (length(head) = 32)
) strict;

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

-- Payments about which the gateway named another amount, currency or number: what their newest such evidence says.
create table named_otherwise (
    batch_id integer not null,
    seq      integer not null,
    words    text not null,
    primary key (batch_id, seq)
) strict, without rowid;

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

-- Rows that did not pass validation and were set aside. They are told apart by their place: a file of JSON may have all of
-- them on one line.
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
    salt           blob                     -- as in instruction: of its texts, and of the digest of its cells
        check (salt is null or length(salt) in (16, 32)),
    primary key (load_id, line, nth),
    check (replaced_by is null or withdrawn is null)
) strict, without rowid;
create index rejected_by_batch on rejected (batch_id, digest);

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

-- Lanes that are held: they wait for float (230), or the gateway's words are not about our payments.
create table held_lane (
    batch_id   integer not null,
    service_id integer not null,
    held_at    integer not null,
    reason     text not null,
    primary key (batch_id, service_id)
) strict, without rowid;

-- What counts towards ceilings: payments that were to leave, with the day of their last intent in the zone of the ceilings. It is
-- folded from the evidence, up to the row that `meta` names (counted_up_to), by runs that have ceilings; whoever throws it away
-- has it folded again.
create table counted (
    seq        integer primary key,
    realm      integer not null,            -- 1: a rehearsal, which counts among its like alone
    service_id integer not null,
    recipient  text not null,               -- the account, without separators and leading zeros
    currency   text not null,
    amount     integer not null,
    day        integer not null,            -- days since 1970
    counts     integer not null check (counts in (0, 1, 2))     -- 0: given back, 1: counts, 2: counts, and is paid
) strict;
create index paid_recipient on counted (realm, recipient) where counts = 2;

-- What these come to on a day, by recipient (r and its name) and by service (s and its number).
create table used (
    realm    integer not null,
    name     text not null,
    currency text not null,
    day      integer not null,
    amount   integer not null,              -- the largest integer: so much or more, for good
    primary key (realm, name, currency, day)
) strict, without rowid;

-- Payments that a limit kept from leaving, as the last run found: hints for a person, and for the run when to look again.
create table limited (
    batch_id   integer not null,
    seq        integer not null,
    service_id integer not null,
    reason     text not null,               -- the key of the limit
    until      integer not null,            -- looked at again
    primary key (batch_id, seq)
) strict, without rowid;

-- What had ended in a lane when a person opened it last, after too many failures: these do not hold it again.
create table opened_lane (
    batch_id   integer not null,
    service_id integer not null,
    paid       integer not null,
    failed     integer not null,
    primary key (batch_id, service_id)
) strict, without rowid;

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

-- Documents that were begun to be sent to the file service, whatever became of it: "there is one already" speaks of these
-- bytes when no others were ever sent for the payment.
create table upload_begun (
    seq    integer not null references instruction (seq),
    digest blob not null,
    primary key (seq, digest)
) strict, without rowid;

-- Networks of numbers, as the lookup told them. A cache: it proves nothing about a payment.
create table lookup (
    country    text not null,
    msisdn     text not null,
    at         integer not null,            -- 0: noted, and never looked up
    carrier    text,                        -- null: not a phone number, says the lookup
    time_zone  text,
    primary key (country, msisdn)
) strict, without rowid;

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
    salt          blob                      -- as in instruction: of customer_name and description
        check (salt is null or length(salt) in (16, 32)),
    check (outcome = 2 or due is not null)
) strict;
create index bill_by_payment on bill (seq);
-- One bill decides, once and for ever.
create unique index bill_that_decided on bill (seq) where outcome < 2;
create trigger bill_is_never_changed before update on bill
when not (coalesce(length(old.salt), 0) = 16 and coalesce(length(new.salt), 0) = 32 and new.customer_name is null and new.description = ''
    and (new.bill_id, new.seq, new.at, new.outcome, new.code, new.due, new.currency, new.due_date)
        is (old.bill_id, old.seq, old.at, old.outcome, old.code, old.due, old.currency, old.due_date))
begin select raise(abort, 'what a bill said is never changed'); end;
create trigger bill_is_never_removed before delete on bill
begin select raise(abort, 'what a bill said is never removed'); end;

-- Fingerprints of the rows of each load, sorted: 64 bits each, of which one says of what, a reference or recipient with service
-- and amount, 33 are a keyed hash (the key is in meta; of a payment the first 24 are of recipient and service), one says whether
-- the row has a reference, and 29 are its place among the instructions of its load. A load is compared with those before it, so
-- that nothing is paid again unseen. They prove nothing: rows are compared in full.
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

-- From which account of which gateway batches were posted that an earlier journal may have posted: as the mark beside the
-- journal told when it was noticed, or a person. Under the empty name: all batches that are not named; without a gateway: nobody
-- posted any.
create table payer (
    batch     text not null primary key,
    gateway   text not null,
    account   text not null,
    by_person integer not null check (by_person in (0, 1)),
    payments    integer,                    -- the batch as it was posted: how many payments, without their retries; null: not known
    identifiers integer,                    -- as in load
    originator  text                        -- null: not known
) strict, without rowid;

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
-- until it is declared done. A list of what to look at, and not on the chain.
create table repeat_in_recovery (
    seq integer primary key
) strict;

-- What somebody elsewhere is told of a batch, in the order of their making. They prove nothing and are not on the chain; a copy of the
-- journal makes the same ones, with the same ids.
create table notice (
    notice_id integer primary key,
    id        text not null unique,         -- the receiver knows it by this: the same at each attempt
    batch_id  integer not null,
    kind      text not null,                -- name of a ledger::notices::NoticeKind
    subject   text not null,                -- the service that it is about; empty: the whole batch
    nth       integer not null,             -- of its kind and subject, in this batch
    figure    integer not null,             -- how much of it there was
    made_at   integer not null,
    stands    integer not null check (stands in (0, 1)),    -- 1: what it tells was so when somebody looked last
    body      text,                         -- as it is sent; null: it was delivered
    attempts  integer not null default 0,
    due_at    integer not null default 0,   -- the next attempt
    trouble   text                          -- what the last attempt met
) strict;
create index notice_of_batch on notice (batch_id, kind, subject, notice_id);
create index notice_waiting on notice (notice_id) where body is not null;
create index notice_standing on notice (batch_id) where stands = 1;

-- Batches that were seen unfinished, and whose end was not told since.
create table seen_open (
    batch_id integer primary key
) strict;
