-- Grants each service the least privileges that it needs. Run it as the owner of the tables after every migration; it is
-- idempotent. The roles cannot log in until infra/database-logins.sql gives them passwords.
--
-- Only the owner can use a table that is not named here, so a new table fails closed.

begin;

do $$
declare
  service text;
  lock regprocedure;
begin
  -- Serializes concurrent runs in one database. Roles are shared by all databases of the server.
  perform pg_advisory_xact_lock(7305114904);
  foreach service in array array['broker', 'gateway', 'ingest', 'query', 'fleet', 'access', 'registration', 'command', 'console', 'events'] loop
    begin
      execute format('create role %I nologin', 'odograph_' || service);
    exception when duplicate_object or unique_violation then null;
    end;
    execute format('revoke all on all tables in schema public from %I', 'odograph_' || service);
    execute format('revoke all on all sequences in schema public from %I', 'odograph_' || service);
    execute format('grant usage on schema public to %I', 'odograph_' || service);
    -- each process checks that the database is at its version
    execute format('grant select on migration to %I', 'odograph_' || service);
    -- and that it is whole
    execute format('grant execute on function find_database_faults(), recognize_database(), assign_cell(integer) to %I', 'odograph_' || service);
    -- advisory lock functions: PUBLIC may execute them until `odograph reports create` revokes that
    for lock in select oid from pg_proc where proname ~ '^pg_(try_)?advisory_'
        and has_function_privilege(oid, 'execute with grant option') loop
      execute format('grant execute on function %s to %I', lock, 'odograph_' || service);
    end loop;
  end loop;
end $$;
revoke create on schema public from public;

-- These functions run with the owner's privileges. Rows of the audit are added by append_audit alone.
do $$
declare
  signature regprocedure;
begin
  for signature in
    select oid from pg_proc where pronamespace = 'public'::regnamespace
      and proname in ('append_audit', 'prune_audit', 'erase_person', 'end_tokens_with_link',
        'end_tokens_with_vehicle', 'end_access_with_grant')
  loop
    execute format('alter function %s security definer set search_path = public, pg_temp', signature);
    execute format('revoke all on function %s from public', signature);
  end loop;
  for signature in select oid from pg_proc where pronamespace = 'public'::regnamespace and proname = 'append_audit' loop
    execute format('grant execute on function %s to odograph_ingest, odograph_gateway, odograph_fleet, odograph_access, odograph_registration,
      odograph_command, odograph_console, odograph_events',
      signature);
  end loop;
end $$;

-- Grants select on every column but those that hold credentials.
create or replace procedure pg_temp.show(tables text[], roles text, secrets text[]) language plpgsql as $$
declare
  one text;
  shown text;
begin
  foreach one in array tables loop
    select string_agg(format('%I', attname), ', ') into shown from pg_attribute
      where attrelid = one::regclass and attnum > 0 and not attisdropped and attname <> all (secrets);
    execute format('grant select (%s) on %I to %s', shown, one, roles);
  end loop;
end $$;
call pg_temp.show('{application,user_account,device}',
  'odograph_query, odograph_command, odograph_ingest, odograph_console, odograph_registration, odograph_events',
  '{app_key_sha256,previous_app_key_sha256,password_hash,secret_sha256,previous_secret_sha256,claim_code_sha256,
    bluetooth_pin}');

-- broker: authentication of devices, and their rates
grant select (id, application_id, secret_sha256, previous_secret_sha256, previous_secret_until, certificates_issued_from)
  on device to odograph_broker;
grant select (id, device_uploads_per_second, device_bytes_per_second, moving_since) on application to odograph_broker;
grant execute on function confirm_device_secret(text, bytea) to odograph_broker;
grant insert on pipeline_sample to odograph_broker;

-- gateway: devices that may report to its listeners, their rate limits, and their commands
grant select (id, application_id, model_id, deleted_at, secret_sha256, previous_secret_sha256, previous_secret_until)
  on device to odograph_gateway;
grant insert (id, model_id, application_id, secret_sha256) on device to odograph_gateway;
grant execute on function confirm_device_secret(text, bytea) to odograph_gateway;
grant select, update (previous_secret_sha256, previous_secret_until, last_seen_at, messages, unknown_messages,
  refused_requests) on source to odograph_gateway;
grant select, insert on source_device to odograph_gateway;
grant select (id, protocol, family, commands) on device_model to odograph_gateway;
grant select (id, app_id, deleted_at, device_uploads_per_second, device_bytes_per_second, moving_since) on application
  to odograph_gateway;
grant insert on pipeline_sample to odograph_gateway;

-- every service with an interface for users: authentication and access to vehicles
grant select on session, access_token, api_key, vehicle_access to odograph_query, odograph_access, odograph_registration, odograph_command,
  odograph_events;
grant select on sign_in, operator_application to odograph_query, odograph_access, odograph_registration, odograph_command,
  odograph_console, odograph_events;
call pg_temp.show('{operator}', 'odograph_query, odograph_access, odograph_registration, odograph_command, odograph_console, odograph_events',
  '{password_hash}');

-- services that create: the answers of requests with an idempotency key
grant select, insert, update, delete on idempotent_request to odograph_fleet, odograph_access, odograph_events;

-- query: reads only
grant select on vehicle, device_model, device_link, privacy_period, reading, reading_in_units, reading_count, reading_settlement,
  vehicle_latest, reading_change, trip, trip_checkpoint, trip_touched, trip_work, trip_turn, device_sequence, closed_gap,
  booking, parking, vehicle_parking, vehicle_request, command, vehicle_purge, bluetooth_authorization, installation, alarm,
  alarm_rule, event, geofence, gbfs_system, can_database, place_address, mileage_entry to odograph_query;
grant select (id, device_id, received_at, payload_bytes, faults) on quarantine to odograph_query;

-- ingest: readings of devices and the retention of old data
grant select, insert, update, delete on reading, reading_count, vehicle_latest, quarantine, reading_change, trip, trip_checkpoint,
  trip_touched, trip_work, trip_turn, device_sequence, closed_gap to odograph_ingest;
grant select on reading_in_units, device_model, vehicle_grant, vehicle_purge, installation to odograph_ingest;
grant update on vehicle_purge to odograph_ingest;
grant execute on function raise_ingest_barrier() to odograph_ingest;
grant select, insert, delete on pipeline_sample to odograph_ingest;
grant select, update, delete on vehicle to odograph_ingest;
grant update (left_deleted_vehicle_at) on device to odograph_ingest;
grant update (changes_forgotten_until) on application to odograph_ingest;
grant select, delete on device_link, privacy_period, command, booking, vehicle_parking, vehicle_grant, vehicle_request,
  bluetooth_authorization, session, share to odograph_ingest;
grant select (answered_at), delete on place_address to odograph_ingest;
grant select (expires_at, session_id), delete on access_token, refresh_token to odograph_ingest;
grant select (expires_at, used_at, session_id), delete on sign_in to odograph_ingest;
grant select, update on reading_settlement to odograph_ingest;
grant select on alarm_rule, geofence to odograph_ingest;
-- the databases that frames are decoded by, and the progress of decoding stored ones again
grant select on can_database to odograph_ingest;
grant select, update, delete on can_redecoding to odograph_ingest;
grant select, delete on alarm_rule_vehicle, mileage_entry, sent_report_vehicle to odograph_ingest;
grant select, insert, update, delete on alarm to odograph_ingest;
grant select, insert, update on alarm_watch to odograph_ingest;
-- the list of events: triggers write it with the owner's privileges
grant select, delete on event to odograph_ingest;
grant select, insert, update, delete on recorded_silence, recorded_connection to odograph_ingest;
grant update (events_forgotten_until) on application to odograph_ingest;
grant select (created_at), delete on idempotent_request to odograph_ingest;
grant execute on function record_due_events(), record_booking_times(), record_escalations() to odograph_ingest;
grant execute on function analyze_reading_chunk(regclass), compress_reading_chunk(regclass), drop_readings_older_than(interval),
  settle_readings(interval), share_ingest_barrier(), prune_audit(interval), end_long_reports(interval) to odograph_ingest;

-- command: the state machine of commands, and key lists, which it signs with device keys but whose keys it cannot change
grant select on vehicle, vehicle_latest, device_model, device_link, privacy_period, bluetooth_authorization, booking
  to odograph_command;
grant select, insert, update on command to odograph_command;
-- whether a source can pass a command on
grant select (application_id, format, takes_commands, deleted_at) on source to odograph_command;
grant update (fleet, fleet_time) on vehicle_latest to odograph_command;
grant select, update (list_version, published_version, published_at, confirmed_version, confirmed_at, refused_reason, claim,
  claimed_until) on device_key to odograph_command;

-- fleet: accounts, vehicles and devices; the only service that reads all hashes of secrets
grant select, insert, update, delete on application, user_account, session, access_token, refresh_token, api_key, vehicle,
  vehicle_grant, device, device_link, device_model, privacy_period, vehicle_request, vehicle_purge, parking,
  vehicle_parking, operator, operator_application, sign_in, second_factor, recovery_code, passkey to odograph_fleet;
grant select, insert, update on source to odograph_fleet;
grant select, insert, update, delete on gbfs_system, share, place_address to odograph_fleet;
grant select on bluetooth_authorization, booking, source_device to odograph_fleet;
-- deleting a user stops its bookings and revokes its authorizations
grant update (stopped_at, ends_at) on booking to odograph_fleet;
grant update (revoked_at) on bluetooth_authorization to odograph_fleet;
grant select (device_id, list_version), update (list_version) on device_key to odograph_fleet;
grant select (device_id, resolved_at, is_partial) on quarantine to odograph_fleet;
grant select, insert, update, delete on geofence, alarm_rule_vehicle to odograph_fleet;
grant select, insert, update on alarm_rule to odograph_fleet;
grant select, insert, update, delete on can_database to odograph_fleet;
grant select, insert, update on can_redecoding to odograph_fleet;
-- privacy deletes alarms that tell where a vehicle was
grant select, update, delete on alarm to odograph_fleet;
grant select, insert, update on reading to odograph_fleet;
grant select, update on vehicle_latest, trip to odograph_fleet;
grant select on reading_in_units to odograph_fleet;
grant select, insert, update, delete on reading_change, trip_touched, trip_checkpoint, trip_work to odograph_fleet;
grant select on audit, audit_chain, command, trip_turn, device_sequence, closed_gap to odograph_fleet;
-- entries of the mileage log are immutable; later entries replace them
grant select, insert on mileage_entry to odograph_fleet;
grant execute on function raise_ingest_barrier(), erase_person(integer, text[], uuid, uuid),
  erase_mileage_entries(integer, text[], text) to odograph_fleet;

-- access: authorizations, bookings and device keys
call pg_temp.show('{application,user_account}', 'odograph_access', '{app_key_sha256,previous_app_key_sha256,password_hash}');
call pg_temp.show('{device}', 'odograph_access', '{secret_sha256,previous_secret_sha256,claim_code_sha256}');
grant select, insert, update, delete on device_key, bluetooth_authorization, booking to odograph_access;
grant select on vehicle, device_link, device_model, reading, reading_in_units to odograph_access;
-- a booking locks its vehicle, and the first key of a device locks the device; `select … for update` requires the privilege to
-- update a column
grant update (created_at) on vehicle, device to odograph_access;

-- registration: registration records and their sources
grant select, insert, update, delete on registration_record, registration_import, registration_import_fault,
  registration_provider_answer to odograph_registration;
grant select on vehicle to odograph_registration;

-- console: pages for operators, and the quarantine
grant select on session, access_token, api_key to odograph_console;
grant select, update on quarantine to odograph_console;
grant select on pipeline_sample to odograph_console;
grant select on vehicle, vehicle_latest, device_model, device_link, privacy_period, audit, audit_chain, vehicle_purge,
  device_sequence, closed_gap, command to odograph_console;

-- events: webhooks and notifications, and the data of their events
grant select, insert, update, delete on webhook, webhook_vehicle, webhook_retry, webhook_dead_letter, webhook_attempt,
  notification, notification_held, notification_escalation to odograph_events;
grant select, insert, update on push_key to odograph_events;
-- scheduled reports, and the tables that they read
grant select, insert, update, delete on report_schedule, sent_report, sent_report_vehicle to odograph_events;
grant select on mileage_entry to odograph_events;
-- a new webhook locks its application, which requires the privilege to update a column
grant update (created_at) on application to odograph_events;
grant select on event, vehicle, device_model, device_link, privacy_period, reading, reading_in_units, reading_change,
  vehicle_latest, trip, trip_checkpoint, trip_touched, trip_work, trip_turn, booking, bluetooth_authorization, command, alarm, alarm_rule, installation
  to odograph_events;
grant select (id, device_id, received_at, payload_bytes, faults) on quarantine to odograph_events;
-- addresses
grant select on parking, geofence, place_address to odograph_events;
-- the purge of a vehicle removes it from webhooks
grant select, delete on webhook_vehicle, webhook_retry, webhook_dead_letter, webhook_attempt to odograph_ingest;

-- groups of vehicles, and the access that triggers compute from grants
grant select on vehicle_group, vehicle_group_member to odograph_query, odograph_access, odograph_registration,
  odograph_command, odograph_events, odograph_ingest, odograph_console;
grant select, insert, update, delete on vehicle_group, vehicle_group_member, group_grant, alarm_rule_group
  to odograph_fleet;
grant select on vehicle_access to odograph_fleet;
grant select on vehicle_grant to odograph_query;
grant select on alarm_rule_group to odograph_ingest;
-- the purge of a vehicle
grant select, delete on vehicle_access, vehicle_group_member to odograph_ingest;

-- The users for reports read the schema fleet alone (`odograph reports create`); report_login belongs to the owner, as does
-- application_move (`odograph application move-out`).

-- `odograph doctor` names what is missing later.
update installation set granted_rights = list_granted_rights(),
  granted_migrations = (select count(*) from migration where name ~ '^\d{4}_');

drop procedure pg_temp.show(text[], text, text[]);
commit;
