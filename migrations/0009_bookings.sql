-- Who drives which vehicle when, and where vehicles are parked.

create table booking (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  vehicle_id integer not null references vehicle on delete cascade,
  -- the driver as the interface shows it
  user_id text not null,
  -- the account of that driver, when the application has one for it
  account_id uuid references user_account,
  type text not null check (type in ('BOOKING', 'FREE_FLOATING')),
  starts_at timestamptz not null,
  -- exclusive; null is open
  ends_at timestamptz,
  -- or the one that an update made of it, or none when it was revoked on its own
  authorization_id uuid not null,
  created_at timestamptz not null default now(),
  stopped_at timestamptz,
  deleted_at timestamptz,
  check (ends_at >= starts_at),
  check (ends_at is not null or type = 'FREE_FLOATING'),
  -- The one judge of overlaps, however many book at once. What was stopped before its start holds no time.
  constraint booking_overlap exclude using gist (vehicle_id with =, tstzrange(starts_at, ends_at) with &&)
    where (deleted_at is null)
);
create index booking_vehicle on booking (vehicle_id, starts_at desc, id desc) where deleted_at is null;
create index booking_open on booking (application_id, coalesce(ends_at, 'infinity')) where deleted_at is null;

-- What updates made of an authorization: itself without any.
create function latest_authorization(first uuid) returns uuid language sql stable as $$
  with recursive chain (id, replaced_by) as (
    select id, replaced_by from bluetooth_authorization where id = first
    union all
    select next.id, next.replaced_by from chain join bluetooth_authorization next on next.id = chain.replaced_by)
  select coalesce((select id from chain where replaced_by is null), first)
$$;

create table parking (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  short_id text not null,
  name text not null,
  address text not null,
  address2 text not null default '',
  zipcode text not null,
  city text not null,
  country text not null,
  created_at timestamptz not null default now(),
  constraint parking_short_id unique (application_id, short_id)
);

create table vehicle_parking (
  vehicle_id integer primary key references vehicle on delete cascade,
  parking_id uuid not null references parking on delete cascade
);
create index vehicle_parking_spot on vehicle_parking (parking_id);
