-- Version 7: how replies are read stays with a batch, and identifiers may have another form.

alter table batch add column reading text;
alter table batch add column identifier_form text;
