-- Version 6: one index for what was recorded of a batch. Four conditions less are computed for every row of evidence.

drop index acts;
drop index files;
drop index recoveries;
drop index belongs;
create index about_batch on evidence (event, batch_id, evidence_id) where seq = 0;
