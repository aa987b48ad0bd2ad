import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import type { Pool } from './engines.ts';

export interface BenchFleet {
  applicationId: number;
  /** An access token of the application, valid for a day. */
  token: string;
  /** Shared by all devices of the benchmark. */
  secret: string;
  vehicles: { vehicleId: number; deviceId: string }[];
}

async function createApplication(pool: Pool): Promise<{ applicationId: number; token: string }> {
  const token = createSecret();
  const { rows } = await pool.query<{ id: number }>(
    `insert into application (app_id, app_key_sha256, name, device_uploads_per_second, device_bytes_per_second)
    values ($1, '', 'bench', 1000000, 1000000000) returning id`,
    [createSecret()],
  );
  const applicationId = rows[0]?.id ?? 0;
  await pool.query(
    `with opened as (insert into session (application_id) values ($1) returning id)
    insert into access_token (token_sha256, session_id, expires_at) select $2, id, now() + interval '1 day' from opened`,
    [applicationId, hashSecret(token)],
  );
  return { applicationId, token };
}

/**
 * Creates an application with vehicles, each linked to a device over all time. The ids of the devices are those of
 * the vehicles, of ten digits, after a prefix.
 */
export async function createFleet(
  pool: Pool,
  count: number,
  { model, prefix }: { model: string; prefix: string } = { model: 'generic', prefix: 'bench-' },
): Promise<BenchFleet> {
  const { applicationId, token } = await createApplication(pool);
  const secret = createSecret();
  const { rows } = await pool.query<{ id: number; device_id: string }>(
    `with fleet as (insert into vehicle (application_id, plate, vin, brand, model)
        select $1, 'BN-' || n || '-CH', 'VF1AG0000' || lpad(n::text, 8, '0'), 'Renault', 'Zoe'
        from generate_series(1, $2::integer) as n returning id),
      devices as (insert into device (id, model_id, application_id, secret_sha256)
        select $5 || id, $4, $1, $3 from fleet returning id)
    select fleet.id, devices.id as device_id from fleet join devices on devices.id = $5 || fleet.id order by fleet.id`,
    [applicationId, count, hashSecret(secret), model, prefix],
  );
  const vehicles = rows.map((row) => ({ vehicleId: row.id, deviceId: row.device_id }));
  await pool.query(
    `insert into device_link (device_id, vehicle_id, period)
    select device_id, vehicle_id, tstzrange(null, null) from unnest($1::text[], $2::integer[]) as link (device_id, vehicle_id)`,
    [vehicles.map(({ deviceId }) => deviceId), vehicles.map(({ vehicleId }) => vehicleId)],
  );
  // Autovacuum would do so within a minute. Without statistics, lookups scan whole tables.
  await pool.query('analyze vehicle, device, device_link');
  return { applicationId, token, secret, vehicles };
}

/** Gives every vehicle without a latest state a position in the country. */
export async function spreadFleet(pool: Pool): Promise<void> {
  await pool.query(
    `insert into vehicle_latest (vehicle_id, time, location, location_time, status, status_time, received_at)
    select id, now(), jsonb_build_object('latitude', 43 + random() * 6, 'longitude', -1 + random() * 8, 'angle', 90), now(),
      '{"ignition": false}', now(), now() from vehicle on conflict (vehicle_id) do nothing`,
  );
  await pool.query('vacuum analyze vehicle, vehicle_latest, device_link');
}
