-- Registration data: imported records, the progress of each import, and cached answers of a provider.

create table registration_record (
  id bigint generated always as identity primary key,
  -- null: visible to every application
  application_id integer references application,
  -- letters and digits only
  plate text,
  vin text,
  -- path of a field -> value; unknown fields are absent
  fields jsonb not null,
  updated_at timestamptz not null,
  check (plate is not null or vin is not null)
);
-- A record is identified by its VIN, without one by its plate.
create unique index registration_record_identity on registration_record
  (coalesce(application_id, 0), coalesce('vin:' || vin, 'plate:' || plate));
create index registration_record_plate on registration_record (plate);
create index registration_record_vin on registration_record (vin);

create table registration_import (
  id bigint generated always as identity primary key,
  application_id integer references application,
  file_sha256 text not null,
  -- rows of the file processed so far: changed + unchanged + bad
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
  -- of address and mapping, so that changed settings count as another provider
  provider_sha256 text not null,
  -- the requested plate and VIN, empty when not sent
  plate text not null,
  vin text not null,
  -- null: unknown to the provider
  fields jsonb,
  fetched_at timestamptz not null,
  primary key (provider_sha256, plate, vin)
);
