-- Removes the values that disclose a position from readings in privacy intervals that an earlier version stored. Run it
-- as the owner of the tables, outside a transaction; it is idempotent, and commits after each interval. It decompresses
-- the readings of these intervals, but no others; those it changes come again in the change feed.

-- The patterns of packages/contracts/positions.ts.
create or replace function pg_temp.position_key() returns text immutable language sql return
  'lat(itude)?|lon(gitude)?|lng|gps|gnss|position|heading|coordinates|location|locatedat|address|geofence|geohash|plus.?code|what3words|cell.?id|area.?code|(^|[._"])(cells?|lac|cid|poi|network)($|")|network[.]|beacon|^tags_(near|away|lost)|wifi|ssid|^inr(egions|ids)$|destination|routeline|homelinknearby|^serial_(text|hex)|^(raw|result)($|[._])|^payload[._]|^(io|field|parameter_|custom[.]param[.])[0-9]+(_[0-9]+)?$|^event[.]enum$';
create or replace function pg_temp.discloses_position(key text, value text) returns boolean immutable language sql return
  key ~* pg_temp.position_key() or key ~ '_[0-9]+$' and value ~ '[[{}",]'
    or (key ~* '^(event|alarm|list)$' or value ~ '^[[{]') and value ~* (pg_temp.position_key() || '|^[0-9]+$');

create or replace function pg_temp.without_positions(data jsonb) returns jsonb immutable strict language sql return (
  select coalesce(jsonb_agg(datum order by place), '[]') from jsonb_array_elements(data) with ordinality as list (datum, place)
  where not pg_temp.discloses_position(datum->>'key', datum->>'value'));

create or replace function pg_temp.sensors_without_positions(sensors jsonb) returns jsonb immutable strict language sql return (
  select coalesce(jsonb_agg(jsonb_set(sensor, '{data}', pg_temp.without_positions(sensor->'data')) order by place), '[]')
  from jsonb_array_elements(sensors) with ordinality as list (sensor, place)
  where sensor->>'name' !~* pg_temp.position_key() and not exists (
    select from jsonb_array_elements(sensor->'data') as datum
    where datum->>'key' = 'list' and datum->>'value' ~* pg_temp.position_key()));

set timescaledb.max_tuples_decompressed_per_dml_transaction = 0;

do $$
declare
  private record;
begin
  for private in
    select vehicle_id, coalesce(lower(period), '-infinity') as since, coalesce(upper(period), 'infinity') as until
    from privacy_period order by vehicle_id, period
  loop
    -- Waiting for a chunk that is being compressed would keep the vehicle locked (services/ingest/pipeline/compression.ts).
    perform pg_advisory_xact_lock_shared(7305114905);
    -- As every transaction that stores readings of the vehicle does first.
    perform from vehicle_latest where vehicle_id = private.vehicle_id for update;
    update vehicle_latest set can = pg_temp.without_positions(can)
      where vehicle_id = private.vehicle_id and can_time >= private.since and can_time < private.until;
    update vehicle_latest set sensors = pg_temp.sensors_without_positions(sensors)
      where vehicle_id = private.vehicle_id and sensors_time >= private.since and sensors_time < private.until;
    with cleared as (
      update reading set can = pg_temp.without_positions(can), decoded_can = pg_temp.without_positions(decoded_can),
        sensors = pg_temp.sensors_without_positions(sensors)
      where vehicle_id = private.vehicle_id and time >= private.since and time < private.until
        and (can is distinct from pg_temp.without_positions(can)
          or decoded_can is distinct from pg_temp.without_positions(decoded_can)
          or sensors is distinct from pg_temp.sensors_without_positions(sensors))
      returning application_id, vehicle_id, time)
    insert into reading_change (application_id, vehicle_ids, times)
      select application_id, array_agg(vehicle_id), array_agg(time) from cleared group by application_id;
    commit;
  end loop;
end $$;
