#!/bin/sh
# Writes the secrets of docker-compose.yml to .env, readable by its owner only. Never changes an existing file.
set -eu
umask 077
cd "$(dirname "$0")/.."
if [ -e .env ]; then
  echo '.env exists already; remove it only if no database was created with its passwords' >&2
  exit 1
fi
secret() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
for name in ADMIN_TOKEN METRICS_TOKEN ENCRYPTION_KEYS REDIS_PASSWORD POSTGRES_PASSWORD BROKER_DATABASE_PASSWORD \
  GATEWAY_DATABASE_PASSWORD INGEST_DATABASE_PASSWORD QUERY_DATABASE_PASSWORD FLEET_DATABASE_PASSWORD ACCESS_DATABASE_PASSWORD REGISTRATION_DATABASE_PASSWORD \
  COMMAND_DATABASE_PASSWORD CONSOLE_DATABASE_PASSWORD EVENTS_DATABASE_PASSWORD; do
  echo "$name=$(secret)"
done > .env.new
# Compose warns about every use of an unset variable.
echo 'DOMAIN=' >> .env.new
mv .env.new .env
echo 'secrets written to .env'
