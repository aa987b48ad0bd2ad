-- Addresses by rounded position, so that a geocoder is asked once for each place. A cache: no vehicle and no time of a visit.
create table place_address (
  -- ten-thousandths of a degree: 11 m from south to north
  latitude_cell integer not null,
  longitude_cell integer not null,
  -- null: the geocoder knows none
  address text,
  answered_at timestamptz not null default now(),
  primary key (latitude_cell, longitude_cell)
);
create index place_address_age on place_address (answered_at);
