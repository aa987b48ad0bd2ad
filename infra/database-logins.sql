-- Lets the roles of the services log in. For psql, with the passwords in its environment.
\set ON_ERROR_STOP on
\getenv broker BROKER_DATABASE_PASSWORD
\getenv gateway GATEWAY_DATABASE_PASSWORD
\getenv ingest INGEST_DATABASE_PASSWORD
\getenv query QUERY_DATABASE_PASSWORD
\getenv fleet FLEET_DATABASE_PASSWORD
\getenv access ACCESS_DATABASE_PASSWORD
\getenv registration REGISTRATION_DATABASE_PASSWORD
\getenv command COMMAND_DATABASE_PASSWORD
\getenv console CONSOLE_DATABASE_PASSWORD
\getenv events EVENTS_DATABASE_PASSWORD
-- The statements hold the passwords, so the server must not log them. An owner without SET privileges cannot turn logging off.
select has_parameter_privilege('log_statement', 'set') and has_parameter_privilege('log_min_error_statement', 'set') as is_privileged,
  current_setting('log_statement') <> 'none' as is_logged \gset
\if :is_privileged
set log_statement = 'none';
set log_min_error_statement = 'panic';
\elif :is_logged
do $$ begin
  raise exception 'the server would log the passwords: connect as a superuser, or set log_statement = none on the server for this script';
end $$;
\endif
-- Without passwords first: a statement that is refused is logged.
alter role odograph_broker login connection limit 200;
alter role odograph_gateway login connection limit 200;
alter role odograph_ingest login connection limit 200;
alter role odograph_query login connection limit 200;
alter role odograph_fleet login connection limit 200;
alter role odograph_access login connection limit 200;
alter role odograph_registration login connection limit 200;
alter role odograph_command login connection limit 200;
alter role odograph_console login connection limit 200;
alter role odograph_events login connection limit 200;
alter role odograph_broker password :'broker';
alter role odograph_gateway password :'gateway';
alter role odograph_ingest password :'ingest';
alter role odograph_query password :'query';
alter role odograph_fleet password :'fleet';
alter role odograph_access password :'access';
alter role odograph_registration password :'registration';
alter role odograph_command password :'command';
alter role odograph_console password :'console';
alter role odograph_events password :'events';
