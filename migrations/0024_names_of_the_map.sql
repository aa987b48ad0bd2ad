-- Names from the map file, which a geocoder replaces once there is one.
alter table place_address add column from_map boolean not null default false;
