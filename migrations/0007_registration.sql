-- Registration data: records that the operator imported, how far each import came, and answers of a provider.

create table registration_record (
  id bigint generated always as identity primary key,
  -- null: every application sees it
  application_id integer references application,
  -- letters and digits alone
  plate text,
  vin text,
  -- path of the field -> value, only what is known
  fields jsonb not null,
  updated_at timestamptz not null,
  check (plate is not null or vin is not null)
);
-- A vehicle is its VIN; without one its plate.
create unique index registration_record_identity on registration_record
  (coalesce(application_id, 0), coalesce('vin:' || vin, 'plate:' || plate));
create index registration_record_plate on registration_record (plate);
create index registration_record_vin on registration_record (vin);

create table registration_import (
  id bigint generated always as identity primary key,
  application_id integer references application,
  file_sha256 text not null,
  -- rows of the file that are done: changed + unchanged + bad
  position integer not null default 0,
  changed integer not null default 0,
  unchanged integer not null default 0,
  bad integer not null default 0,
  started_at timestamptz not null default now(),
  finished_at timestamptz
);
create unique index registration_import_file on registration_import (coalesce(application_id, 0), file_sha256);

create table registration_import_fault (
  id bigint generated always as identity primary key,
  import_id bigint not null references registration_import on delete cascade,
  line integer not null,
  field text not null,
  message text not null
);
create index registration_import_fault_import on registration_import_fault (import_id, id);

create table registration_provider_answer (
  -- of address and mapping: other settings are another provider
  provider_sha256 text not null,
  -- what the provider was asked for, empty when it was not
  plate text not null,
  vin text not null,
  -- null: the provider does not know the vehicle
  fields jsonb,
  fetched_at timestamptz not null,
  primary key (provider_sha256, plate, vin)
);
