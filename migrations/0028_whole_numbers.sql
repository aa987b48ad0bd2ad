-- Values that differ in nearly every reading, as integers: TimescaleDB compresses the differences of integers to a fraction of
-- what doubles take. The double columns keep values with more decimals or beyond the range of an integer, and all values that
-- older versions stored; at most one column of each pair is not null.
alter table reading
  -- degrees × 10⁷, about a centimetre
  add column latitude_e7 integer,
  add column longitude_e7 integer,
  add column mileage_metres integer,
  add column current_milliamperes integer,
  add column voltage_millivolts integer;

-- Readings in the units of the interface, for every query that needs one of these values. The division returns exactly the
-- double that was reported.
create view reading_in_units as
  select time, application_id, vehicle_id,
    coalesce(latitude_e7 / 1e7::double precision, latitude) as latitude,
    coalesce(longitude_e7 / 1e7::double precision, longitude) as longitude,
    angle, altitude, speed, satellites, ignition, movement,
    coalesce(mileage_metres / 1e3::double precision, mileage) as mileage, autonomy, soh, soc,
    coalesce(current_milliamperes / 1e3::double precision, current) as current,
    coalesce(voltage_millivolts / 1e3::double precision, voltage) as voltage,
    energy, max_energy, min_cell_voltage, max_cell_voltage, temperature, min_cell_temperature, max_cell_temperature,
    lifetime_power_use, lifetime_charge_power, can, sensors, fleet, alarms, frames, decoded_can, device_id, sequence, received_at
  from reading;

create or replace view fleet.readings with (security_barrier) as
  select reading.time, reading.vehicle_id, vehicle.plate, reading.device_id, reading.sequence, reading.received_at,
    reading.speed as speed_kmh, reading.ignition, reading.movement, reading.mileage as mileage_km, reading.autonomy as range_km,
    reading.soc as soc_percent, reading.soh as soh_percent, reading.current as current_a, reading.voltage as voltage_v,
    reading.energy as energy_kwh, reading.max_energy as max_energy_kwh,
    reading.min_cell_voltage as min_cell_voltage_v, reading.max_cell_voltage as max_cell_voltage_v,
    reading.temperature as temperature_c, reading.min_cell_temperature as min_cell_temperature_c,
    reading.max_cell_temperature as max_cell_temperature_c, reading.lifetime_power_use as lifetime_power_use_kwh,
    reading.lifetime_charge_power as lifetime_charge_power_kwh
  from reading_in_units as reading
  join vehicle on vehicle.id = reading.vehicle_id and vehicle.application_id = reading.application_id
  where reading.application_id = any (array(select id from report_scope)) and vehicle.deleted_at is null;

create or replace view fleet.positions with (security_barrier) as
  select reading.time, reading.vehicle_id, vehicle.plate, reading.latitude, reading.longitude, reading.speed as speed_kmh,
    reading.angle as heading_degrees, reading.altitude as altitude_m, reading.satellites
  from reading_in_units as reading
  join vehicle on vehicle.id = reading.vehicle_id and vehicle.application_id = reading.application_id
  where reading.application_id = any (array(select id from report_scope)) and vehicle.deleted_at is null
    and reading.latitude is not null and reading.longitude is not null
    and not exists (select from privacy_period where privacy_period.vehicle_id = reading.vehicle_id
      and privacy_period.period @> reading.time);
