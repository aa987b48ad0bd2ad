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
alter role odograph_broker login password :'broker' connection limit 200;
alter role odograph_gateway login password :'gateway' connection limit 200;
alter role odograph_ingest login password :'ingest' connection limit 200;
alter role odograph_query login password :'query' connection limit 200;
alter role odograph_fleet login password :'fleet' connection limit 200;
alter role odograph_access login password :'access' connection limit 200;
alter role odograph_registration login password :'registration' connection limit 200;
alter role odograph_command login password :'command' connection limit 200;
alter role odograph_console login password :'console' connection limit 200;
alter role odograph_events login password :'events' connection limit 200;
