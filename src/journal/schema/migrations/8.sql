-- Version 8: a row may name a time before which it is not posted.

alter table instruction add column not_before integer;
create index scheduled on instruction (batch_id, not_before) where not_before is not null;
