-- Version 7: how replies are read stays with a batch, identifiers may have another form, and the layout that a file was read by stays with
-- its load.

alter table batch add column reading text;
alter table batch add column identifier_form text;
alter table load add column layout text;
alter table load add column layout_digest text;
alter table load add column file_digest text;
