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
