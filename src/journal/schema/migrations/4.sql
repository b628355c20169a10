-- Version 4: a run remembers the first questions itself.

-- Whether the payment stands in `ask_queue`, once it is to be asked about. 0: the run that had it acknowledged remembers when,
-- and puts it there when the time comes; most payments have been settled by their callbacks until then.
alter table life add column queued integer not null default 1 check (queued = 1 or queued = 0 and state = 3);
drop index ask_queue;
create index ask_queue on life (batch_id, state, due_at) where state >= 2 and state <= 4 and queued = 1;
