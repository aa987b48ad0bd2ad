-- The family of the Teltonika devices of a model, which decides what their I/O elements mean; null: unknown.
alter table device_model add column family text check (family in ('fmb', 'ftc', 'tat', 'fmx6'));
alter table device_model add constraint device_model_family check (family is null or protocol = 'teltonika');
