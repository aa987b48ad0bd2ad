-- Set by ingest for itself, as time_before: the last batch had readings from before and after a field group, which it has
-- to write in two parts.
alter table vehicle_latest add column is_spanned boolean;
