-- Addresses by application: a shared cache would show how fast an address is found, and so whether the vehicle of another
-- application has been at a place.
delete from place_address;
alter table place_address drop constraint place_address_pkey,
  add column application_id integer not null references application on delete cascade;
alter table place_address add primary key (application_id, latitude_cell, longitude_cell);
