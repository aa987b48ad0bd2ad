-- Links that show a vehicle to people without an account.

create table share (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  vehicle_id integer not null references vehicle on delete cascade,
  token_sha256 bytea not null,
  -- the user, operator or API key that created it; none of them: the application, or the admin token
  user_id uuid references user_account on delete cascade,
  api_key_id uuid references api_key on delete cascade,
  operator_name text,
  created_at timestamptz not null default clock_timestamp(),
  -- the positions that it shows: from its creation on, or those of a trip, which has an end
  shown_from timestamptz not null default clock_timestamp(),
  shown_until timestamptz,
  -- it ends at this time at the latest, with the booking, and when the vehicle comes within the radius of the place
  ends_at timestamptz not null,
  booking_id uuid references booking on delete cascade,
  place_latitude double precision,
  place_longitude double precision,
  place_radius_metres double precision,
  -- positions are rounded to a grid of this width; null: exact
  grid_metres integer,
  -- when it was revoked, or found to have ended
  ended_at timestamptz,
  views integer not null default 0,
  last_viewed_at timestamptz,
  constraint share_token unique (token_sha256),
  constraint share_place check (num_nulls(place_latitude, place_longitude, place_radius_metres) in (0, 3))
);
create index share_application on share (application_id, id);
create index share_vehicle on share (vehicle_id);
create index share_user on share (user_id) where user_id is not null;
create index share_api_key on share (api_key_id) where api_key_id is not null;
create index share_booking on share (booking_id) where booking_id is not null;
create trigger refuse_while_moving before insert or delete or update on share for each row
  execute function refuse_while_moving('application_id');
