import type { AvlFamily } from '@odograph/contracts/device-models';
import { type QueuedUpload, teltonikaFormat } from '@odograph/contracts/queues';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { createOwnDatabase } from '@odograph/testkit/global-setup';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { ingestService } from '../service.ts';
import { upload as describeUpload, openIngest } from './uploads.fixture.ts';

// A separate database: searching every table is slow among the readings of other tests.
const database = await createOwnDatabase('protection');
afterAll(() => database.drop());
const platform = await usePlatform([ingestService], { DATABASE_URL: database.url });
const queue = openIngest(platform);
const application = await createApplication(platform.db);
afterAll(() => queue.close());

const start = 1_710_000_000;

/** Adds one job for each reading and waits until it is processed. */
async function upload(deviceId: string, ...readings: object[]): Promise<void> {
  for (const reading of readings) await queue.ingest(describeUpload(deviceId, reading));
}

/** Returns the tables with a row that contains this text. */
async function tablesWith(text: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'`.execute(platform.db);
  const found: string[] = [];
  for (const { name } of rows) if (await holdsText(name, text)) found.push(name);
  return found;
}

async function holdsText(table: string, text: string): Promise<boolean> {
  const hits = await sql`select 1 from ${sql.table(table)} as t
    where t::text like ${`%${text}%`} limit 1`.execute(platform.db);
  return hits.rows.length > 0;
}

async function flags(vehicleId: string) {
  return platform.db
    .selectFrom('vehicle')
    .select(['towing', 'accident'])
    .where('id', '=', Number(vehicleId))
    .executeTakeFirstOrThrow();
}

describe('a position in a privacy interval', () => {
  it('is never written to the database, however late it is uploaded; time, distance and speed are', async () => {
    const vehicle = await createVehicle(platform.db, application);
    await sql`insert into privacy_period values (${Number(vehicle.id)},
      tstzrange(to_timestamp(${start + 100}), to_timestamp(${start + 200})))`.execute(platform.db);
    const reading = (timestamp: number, latitude: number) => ({
      timestamp,
      location: { latitude, longitude: latitude / 10, angle: 17.4711, altitude: 4711.25, speed: 52 },
      status: { ignition: true, mileage: timestamp - start },
      can: [
        { key: 'gps_latitude', value: String(latitude) },
        { key: 'engine_rpm', value: '2100' },
      ],
      sensors: [{ name: 'tracker', data: [{ key: 'longitude', value: String(latitude) }] }],
      frames: [{ id: '18FEF300', data: '27182818' }],
    });
    await upload(
      vehicle.deviceId,
      [reading(start + 99, 14.142135), reading(start + 100, 27.182818), reading(start + 199.999999, 31.415926)],
      reading(start + 200, 17.320508),
    );
    for (const text of ['27.182818', '271828180', '31.415926', '314159260']) expect(await tablesWith(text)).toEqual([]);
    expect(await tablesWith('2.7182818')).toEqual([]);
    expect(await tablesWith('141421350')).toContain('reading');
    expect(await tablesWith('173205080')).toContain('reading');
    expect(await tablesWith('17.320508')).toContain('vehicle_latest');
    const { rows } = await sql`select latitude, longitude, speed, mileage, can, frames from reading_in_units
      where vehicle_id = ${Number(vehicle.id)} order by time`.execute(platform.db);
    expect(rows).toMatchObject([
      { latitude: 14.142135, speed: 52, frames: [{ id: '18FEF300', data: '27182818' }] },
      {
        latitude: null,
        longitude: null,
        speed: 52,
        mileage: 100,
        frames: null,
        can: [{ key: 'engine_rpm', value: '2100' }],
      },
      { latitude: null, longitude: null, speed: 52, frames: null },
      { latitude: 17.320508, speed: 52 },
    ]);
  });

  /** Stores an upload of a vehicle with an open privacy interval. @returns what is stored of it in lists */
  async function storePrivately(describe: (deviceId: string) => QueuedUpload) {
    const vehicle = await createVehicle(platform.db, application);
    await sql`insert into privacy_period values (${Number(vehicle.id)}, tstzrange(to_timestamp(${start}), null))`.execute(
      platform.db,
    );
    await queue.ingest(describe(vehicle.deviceId));
    const { rows } = await sql`select can, sensors from reading where vehicle_id = ${Number(vehicle.id)}`.execute(
      platform.db,
    );
    return rows;
  }

  const uint16 = (value: number) => value.toString(16).padStart(4, '0');

  /** A record of Codec 8 Extended with the values of `variable`, whose event is an element with the number `event`. */
  function avlRecord(event: number, variable: Readonly<Record<number, Buffer>>): Buffer {
    const values = Object.entries(variable);
    const time = (start * 1000).toString(16).padStart(16, '0');
    // In geofence 1 (155), and 2.1 V at an input (9).
    const fixed = `${uint16(2)}${uint16(1)}${uint16(155)}01${uint16(1)}${uint16(9)}0834${uint16(0).repeat(2)}`;
    const sized = values.map(([id, value]) => uint16(Number(id)) + uint16(value.length) + value.toString('hex'));
    const elements = `${fixed}${uint16(values.length)}${sized.join('')}`;
    return Buffer.from(`8e01${time}00${'00'.repeat(15)}${uint16(event)}${elements}01`, 'hex');
  }

  it.each<AvlFamily | undefined>([undefined, 'fmb'])(
    'is not among the elements of a Teltonika device of the family %s, known or not',
    async (family) => {
      const id = '5f'.repeat(16);
      const record = avlRecord(155, {
        387: Buffer.from('+27.18281+013.37770/'),
        385: Buffer.from(`1101${id}c4`, 'hex'),
        10828: Buffer.from(`00030f01a1`, 'hex'),
      });
      const rows = await storePrivately((deviceId) => ({
        ...{ deviceId, receivedAtMs: Date.now(), format: teltonikaFormat(family) },
        base64: record.toString('base64'),
      }));
      expect(rows).toMatchObject([{ can: expect.arrayContaining([{ key: 'analog_input_1', value: '2.1' }]) }]);
      for (const text of ['27.18281', Buffer.from('27.18281').toString('hex'), id]) {
        expect(await tablesWith(text)).toEqual([]);
      }
      expect(JSON.stringify(rows)).not.toMatch(/geofence|io\d|tags_near|ble_a1/);
    },
  );

  it('is not told by the name of a geofence, an alarm or a geofence event of Traccar', async () => {
    const time = new Date(start * 1000).toISOString();
    const position = {
      ...{ fixTime: time, deviceTime: time, valid: true, latitude: 27.18281, longitude: 2, speed: 0 },
      attributes: { alarm: 'geofenceEnter', event: 155, raw: '27.18281', io387: '27.18281', rpm: 2100, power: 12 },
    };
    const event = { type: 'geofenceEnter', eventTime: new Date(start * 1000 + 1).toISOString(), attributes: {} };
    const rows = await storePrivately((deviceId) => ({
      ...{ deviceId, receivedAtMs: Date.now(), format: 'traccar' },
      text: JSON.stringify([{ position }, { event, geofence: { name: 'Home' } }]),
    }));
    expect(rows).toEqual([
      {
        can: [
          { key: 'rpm', value: '2100' },
          { key: 'power', value: '12' },
        ],
        sensors: null,
      },
      { can: [], sensors: null },
    ]);
    expect(await tablesWith('27.18281')).toEqual([]);
  });
});

describe('a state flag', () => {
  it.each([
    ['towing', { towing: true }],
    ['accident', { crash: true }],
  ] as const)(
    '%s is raised by the device, not lowered by it, and not raised again by older readings',
    async (flag, alarms) => {
      const vehicle = await createVehicle(platform.db, application);
      await upload(vehicle.deviceId, { timestamp: start, alarms });
      expect((await flags(vehicle.id))[flag]).toBe(true);
      await upload(vehicle.deviceId, { timestamp: start + 1, alarms: { towing: false, crash: false } });
      expect((await flags(vehicle.id))[flag]).toBe(true);
      await sql`update vehicle set ${sql.ref(flag)} = false, states_lowered = jsonb_build_object(${flag}::text,
      to_timestamp(${start + 10})) where id = ${Number(vehicle.id)}`.execute(platform.db);
      await upload(vehicle.deviceId, { timestamp: start + 5, alarms });
      expect((await flags(vehicle.id))[flag]).toBe(false);
      await upload(vehicle.deviceId, { timestamp: start + 20, alarms });
      expect((await flags(vehicle.id))[flag]).toBe(true);
      const { rows } = await sql`select actor from audit where action = ${`state.${flag}`}
      and subject = ${`vehicle:${vehicle.id}`}`.execute(platform.db);
      expect(rows).toEqual([{ actor: 'device' }, { actor: 'device' }]);
    },
  );

  const at = (timestamp: number, latitude: number, ignition: boolean) => ({
    timestamp,
    location: { latitude, longitude: 2 },
    status: { ignition },
  });

  it('towing is raised when the vehicle moves 200 m with the ignition off, even across several uploads', async () => {
    const vehicle = await createVehicle(platform.db, application);
    await upload(vehicle.deviceId, at(start, 48, true), at(start + 10, 48, false), at(start + 20, 48.0017, false));
    expect((await flags(vehicle.id)).towing).toBe(false);
    await upload(vehicle.deviceId, at(start + 30, 48.0019, false));
    expect((await flags(vehicle.id)).towing).toBe(true);
  });

  it('towing is raised neither by a drive between two parking positions nor by late readings', async () => {
    const vehicle = await createVehicle(platform.db, application);
    await upload(
      vehicle.deviceId,
      [at(start, 48, false), at(start + 10, 48, true), at(start + 20, 49, true), at(start + 30, 49, false)],
      at(start + 5, 48.5, false),
      at(start + 40, 49, false),
    );
    expect((await flags(vehicle.id)).towing).toBe(false);
  });
});
