-- Version 9: what counts towards ceilings, which payments wait for one, and what had ended when a person opened a service.

create table counted (
    seq        integer primary key,
    realm      integer not null,
    service_id integer not null,
    recipient  text not null,
    currency   text not null,
    amount     integer not null,
    day        integer not null,
    counts     integer not null check (counts in (0, 1, 2))
) strict;
create index paid_recipient on counted (realm, recipient) where counts = 2;
create table used (
    realm    integer not null,
    name     text not null,
    currency text not null,
    day      integer not null,
    amount   integer not null,
    primary key (realm, name, currency, day)
) strict, without rowid;
create table limited (
    batch_id   integer not null,
    seq        integer not null,
    service_id integer not null,
    reason     text not null,
    until      integer not null,
    primary key (batch_id, seq)
) strict, without rowid;
create table opened_lane (
    batch_id   integer not null,
    service_id integer not null,
    paid       integer not null,
    failed     integer not null,
    primary key (batch_id, service_id)
) strict, without rowid;
