-- Authorizations name accounts in any case.
create index bluetooth_authorization_driver_name on bluetooth_authorization (lower(driver_id));
