-- Readings, the latest state of each vehicle, and what could not be stored.

-- One row for each vehicle and device time: the key makes a repeated upload harmless.
create table reading (
  time timestamptz not null,
  application_id integer not null,
  vehicle_id integer not null,
  latitude double precision,
  longitude double precision,
  angle double precision,
  altitude double precision,
  speed double precision,
  satellites smallint,
  ignition boolean,
  movement boolean,
  mileage double precision,
  autonomy double precision,
  soh double precision,
  soc double precision,
  current double precision,
  voltage double precision,
  energy double precision,
  max_energy double precision,
  min_cell_voltage double precision,
  max_cell_voltage double precision,
  temperature double precision,
  min_cell_temperature double precision,
  max_cell_temperature double precision,
  lifetime_power_use double precision,
  lifetime_charge_power double precision,
  can jsonb,
  sensors jsonb,
  fleet jsonb,
  alarms jsonb,
  device_id text not null,
  sequence bigint,
  received_at timestamptz not null,
  primary key (vehicle_id, time)
);
select create_hypertable('reading', by_range('time', interval '1 day'), create_default_indexes => false);
create index reading_application_time on reading (application_id, time, vehicle_id);
alter table reading set (
  timescaledb.compress,
  timescaledb.compress_segmentby = 'application_id, vehicle_id',
  timescaledb.compress_orderby = 'time'
);

-- Each group of fields with the device time it was last reported at; a group is never set back by older data.
create table vehicle_latest (
  vehicle_id integer primary key references vehicle,
  time timestamptz not null,
  location jsonb,
  location_time timestamptz,
  status jsonb,
  status_time timestamptz,
  can jsonb,
  can_time timestamptz,
  electric jsonb,
  electric_time timestamptz,
  sensors jsonb,
  sensors_time timestamptz,
  fleet jsonb,
  fleet_time timestamptz,
  alarms jsonb,
  alarms_time timestamptz,
  received_at timestamptz not null
) with (fillfactor = 50);

-- Uploads of which something could not be stored, byte for byte; the same bytes again only count up.
create table quarantine (
  id bigint generated always as identity primary key,
  device_id text not null,
  received_at timestamptz not null,
  -- sealed, since it can hold positions of a private time; the key is not in the database
  sealed_payload bytea not null,
  payload_bytes integer not null,
  -- tells the same bytes from others without telling the bytes
  payload_fingerprint bytea not null,
  -- [{ "index", "reason", "field", "message" }], index null for the upload as a whole
  faults jsonb not null,
  times_seen integer not null default 1,
  resolved_at timestamptz,
  unique (device_id, payload_fingerprint)
);
create index quarantine_open on quarantine (id) where resolved_at is null;
