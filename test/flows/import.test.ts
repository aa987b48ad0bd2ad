import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommandLine } from '@odograph/cli/command-line';
import { importHistory } from '@odograph/cli/imports/import-history';
import { createAdminApi } from '@odograph/cli/server/admin-api';
import { consoleService } from '@odograph/console/service';
import { ingestService } from '@odograph/ingest/service';
import { queryService } from '@odograph/query/service';
import { createBrowser } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import {
  createApplication,
  createOperator,
  createUnlinkedVehicle,
  createVehicle,
  type TestApplication,
  type TestVehicle,
  unlinkDevice,
} from '@odograph/testkit/fixtures';
import { useDirectory, usePlatform } from '@odograph/testkit/scopes';
import { testAdminToken } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';

let application: TestApplication;
let vehicle: TestVehicle;

// History is older than devices may report, and spread over more chunks than one may create in an hour.
const limits = { maxReadingAgeDays: 30, maxNewChunksPerHour: 1 };
const interval = 'from=2024-01-01T00:00:00Z&until=2025-01-01T00:00:00Z';

const platform = await usePlatform([ingestService, queryService, consoleService], {}, limits);
const directory = useDirectory();
beforeEach(async () => {
  application = await createApplication(platform.db);
  vehicle = await createVehicle(platform.db, application);
});

async function writeHistory(name: string, text: string): Promise<string> {
  const path = join(directory, `${vehicle.id}-${name}`);
  await writeFile(path, text);
  return path;
}

async function importFile(path: string, ...options: string[]) {
  const environment = { ODOGRAPH_URL: platform.httpUrl, ADMIN_TOKEN: testAdminToken, HOME: directory };
  const output = await runCommandLine(['import', path, ...options, '--json'], environment);
  const { exitCode } = process;
  process.exitCode = undefined;
  return { exitCode: exitCode ?? 0, ...JSON.parse(output) };
}

const faultsOf = async (path: string) => (await readFile(`${path}.faults.csv`, 'utf8')).trimEnd().split('\n').slice(1);

/** Reads the readings of a vehicle, but for the vehicle, once there are `count`. */
async function historyOf({ id }: TestVehicle, count: number): Promise<{ timestamp: number }[]> {
  const client = platform.as(application.token);
  return eventually(async () => {
    const { body } = await client.get(`/v1/x/vehicle/${id}/export?format=ndjson&${interval}`);
    const readings = String(body)
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    expect(readings).toHaveLength(count);
    return readings.map(({ vehicle: _vehicle, ...reading }) => reading);
  }, 60_000);
}

/** Stores three months of readings, with every kind of value. */
async function storeHistory(count: number): Promise<void> {
  await sql`insert into reading (time, application_id, vehicle_id, latitude_e7, longitude, altitude, angle, speed, satellites,
      ignition, movement, mileage, autonomy, soc, temperature, can, sensors, device_id, received_at)
    select '2024-03-01T00:00:00.000001Z'::timestamptz + n * interval '1 hour', ${application.id}, ${vehicle.id}::integer,
      case when n % 5 > 0 then 481000000 + n end, case when n % 5 > 0 then -0.0000001 * n end, 35.5, n % 360, 12.25, 7,
      n % 2 = 0, case when n % 3 = 0 then true end, n / 7.0, null, n % 100, -3.5,
      jsonb_build_array(jsonb_build_object('key', 'note', 'value', 'a "b", c' || chr(10) || '=' || n)),
      '[{"name": "cargo", "data": [{"key": "temperature", "value": "4.5"}]}]', 'test', now()
    from generate_series(0, ${count}::integer - 1) as n`.execute(platform.db);
  await sql`insert into vehicle_latest (vehicle_id, earliest_time, time, received_at)
    select vehicle_id, min(time), max(time), now() from reading where vehicle_id = ${vehicle.id}::integer
    group by 1`.execute(platform.db);
}

describe('odograph import', () => {
  it.each([
    ['ndjson', ''],
    [
      'csv',
      '&fields=latitude,longitude,altitude,angle,speed,satellites,ignition,movement,mileage,autonomy,soc,temperature,can,sensors',
    ],
  ])('stores an export as %s as equal history, however often', async (format, fields) => {
    const count = 1100;
    await storeHistory(count);
    const url = `/v1/x/vehicle/${vehicle.id}/export?format=${format}${fields}&${interval}`;
    const { body } = await platform.as(application.token).get(url);
    const expected = await historyOf(vehicle, count);
    const path = await writeHistory(`export.${format}`, body);
    const copy = await createVehicle(platform.db, application);
    for (let round = 0; round < 2; round += 1) {
      const summary = await importFile(path, '--vehicle', copy.id, '--app', application.appId);
      expect(summary).toMatchObject({ exitCode: 0, rows: count, accepted: count, faults: 0, resumedAt: 0 });
    }
    expect(JSON.stringify(await historyOf(copy, count))).toBe(JSON.stringify(expected));
  });

  it('names each fault by line and column, and stores all else', async () => {
    const lines = [
      'when;lat;lon;speed;driver',
      '2024-05-01T08:00:00Z;48.1;2.1;10;a',
      '2024-05-01T08:00:01Z;98.1;2.1;10;a',
      'yesterday;48.1;2.1;10;a',
      '2024-05-01T08:00:03Z;48.1;2.1;fast;a',
      '2024-05-01 08:00:04;48.2;2.2;11;"a',
      'a"',
    ];
    const path = await writeHistory('other.csv', lines.join('\r\n'));
    const map = 'time=when,latitude=lat,longitude=lon';
    const summary = await importFile(path, '--device', vehicle.deviceId, '--map', map);
    expect(summary).toMatchObject({ exitCode: 1, rows: 5, accepted: 4, faults: 3, report: `${path}.faults.csv` });
    expect(await faultsOf(path)).toEqual([
      '3,"lat","location.latitude must be at most 90"',
      '4,"when","must be ISO 8601 or UNIX time"',
      '5,"speed","location.speed must be a number"',
    ]);
    const secondsAt = (time: string) => Date.parse(`2024-05-01T${time}Z`) / 1000;
    expect(await historyOf(vehicle, 4)).toMatchObject([
      { timestamp: secondsAt('08:00:00'), location: { latitude: 48.1 } },
      expect.not.objectContaining({ location: expect.anything() }),
      { timestamp: secondsAt('08:00:03'), location: { latitude: 48.1, longitude: 2.1 } },
      { timestamp: secondsAt('08:00:04'), location: { latitude: 48.2 } },
    ]);
  });

  it('takes the columns that are mapped, whatever others are named, and requires all of them', async () => {
    const path = await writeHistory(
      'mapped.csv',
      'time,latitude,fixtime,lat,longitude\n2024-06-01T00:00:00Z,1,2024-05-01T08:00:00Z,48.5,2.5\n',
    );
    await expect(importFile(path, '--vehicle', vehicle.id, '--map', 'time=fixtime,speed=knots')).rejects.toThrow(
      'no column is named knots',
    );
    await importFile(path, '--vehicle', vehicle.id, '--map', 'time=fixtime,latitude=lat');
    expect(await historyOf(vehicle, 1)).toMatchObject([
      { timestamp: Date.parse('2024-05-01T08:00:00Z') / 1000, location: { latitude: 48.5, longitude: 2.5 } },
    ]);
  });

  it('reads the tracks of GPX, with speed in m/s', async () => {
    const point = (time: string, latitude: string) =>
      `<trkpt lat="${latitude}" lon="2"><ele>35.5</ele><time>${time}</time><extensions><x:speed>10</x:speed><x:course>90</x:course></extensions></trkpt>`;
    const gpx = `<?xml version="1.0"?>\n<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1" xmlns:x="x"><trk><src>${vehicle.id}</src>\n<trkseg>
      ${point('2024-05-01T08:00:00Z', '48.1')}\n${point('2024-05-01T08:00:01Z', 'north')}\n</trkseg></trk></gpx>`;
    const path = await writeHistory('track.gpx', gpx);
    expect(await importFile(path)).toMatchObject({ exitCode: 1, rows: 2, accepted: 2 });
    expect(await faultsOf(path)).toEqual(['5,"lat","location.latitude must be a number"']);
    const [reading] = await historyOf(vehicle, 2);
    expect(reading).toMatchObject({ location: { latitude: 48.1, longitude: 2, altitude: 35.5, angle: 90 } });
    const { rows } = await sql`select speed from reading
      where vehicle_id = ${vehicle.id}::integer`.execute(platform.db);
    expect(rows).toEqual([{ speed: 36 }, { speed: 36 }]);
  });

  it("reads tc_positions of a dump of Traccar's database, by the devices of tc_devices", async () => {
    const dump = [
      'COPY public.tc_devices (id, name, uniqueid) FROM stdin;',
      `7\tVan\\tone\t${vehicle.deviceId}`,
      '8\tOther\tunknown-to-us',
      '\\.',
      '',
      'COPY public.tc_positions (id, protocol, deviceid, servertime, devicetime, fixtime, valid, latitude, longitude, altitude, speed, course, address, attributes) FROM stdin;',
      '1\tosmand\t7\t2024-05-01 08:00:05\t2024-05-01 08:00:00\t2024-05-01 08:00:00.25\tt\t48.1\t2.1\t35\t10\t90\t\\N\t{"batteryLevel":80,"ignition":true}',
      '2\tosmand\t8\t2024-05-01 08:00:05\t2024-05-01 08:00:00\t2024-05-01 08:00:00\tt\t48.1\t2.1\t35\t10\t90\t\\N\t{}',
      '\\.',
    ];
    const path = await writeHistory('traccar.sql', dump.join('\n'));
    expect(await importFile(path)).toMatchObject({ exitCode: 1, rows: 2, accepted: 1, faults: 1 });
    expect(await faultsOf(path)).toEqual([expect.stringMatching(/^8,"device","UNKNOWN_DEVICE/)]);
    const [reading] = await historyOf(vehicle, 1);
    expect(reading).toMatchObject({
      timestamp: Date.parse('2024-05-01T08:00:00.250Z') / 1000,
      location: { latitude: 48.1, longitude: 2.1, angle: 90, altitude: 35 },
      status: { ignition: true },
    });
  });

  it("stores Traccar's positions without a fix at their device time, without the place that they repeat", async () => {
    const [day, place] = ['2024-05-01', '48.1,2.1,35,10,90'];
    const lines = [
      'id,deviceId,serverTime,deviceTime,fixTime,valid,latitude,longitude,altitude,speed,course,attributes',
      `1,${vehicle.deviceId},${day} 07:00:01,${day} 07:00:00,1970-01-01 00:00:00,f,0,0,0,0,0,"{""ignition"":false}"`,
      `2,${vehicle.deviceId},${day} 08:00:01,${day} 08:00:00,${day} 07:59:59,t,${place},"{""ignition"":true}"`,
      `3,${vehicle.deviceId},${day} 09:00:01,${day} 09:00:00,${day} 07:59:59,t,${place},"{""ignition"":false}"`,
    ];
    const path = await writeHistory('without-fix.csv', lines.join('\n'));
    expect(await importFile(path, '--format', 'traccar')).toMatchObject({ accepted: 3, faults: 0 });
    const at = (time: string) => Date.parse(`${day}T${time}Z`) / 1000;
    const [before, fix, after] = await historyOf(vehicle, 3);
    expect(before).toMatchObject({ timestamp: at('07:00:00'), status: { ignition: false } });
    expect(fix).toMatchObject({ timestamp: at('07:59:59'), status: { ignition: true }, location: { latitude: 48.1 } });
    expect(after).toMatchObject({ timestamp: at('09:00:00'), status: { ignition: false } });
    for (const one of [before, after]) expect(one).not.toHaveProperty('location');
  });

  it('continues where it was interrupted, or starts over with other options or for another server', async () => {
    const path = await writeHistory('interrupted.ndjson', 'its size and time identify it');
    const apiOf = (url: string) => createAdminApi(url, async () => ({ authorization: `Bearer ${testAdminToken}` }));
    const targets = { vehicleId: vehicle.id, devices: new Map<string, string>() };
    async function* rows(end: number) {
      for (let line = 1; line <= end; line += 1) yield { line, reading: { timestamp: 1_714_550_400 + line } };
      if (end < 2500) throw new Error('the disk is gone');
    }
    const importRows = (end: number, options: object, url = platform.httpUrl) =>
      importHistory(apiOf(url), { path, rows: rows(end), options }, targets, () => undefined);
    const options = { format: 'csv', map: 'time=when' };
    await expect(importRows(1700, options)).rejects.toThrow('the disk is gone');
    const summary = await importRows(2500, options);
    expect(summary).toEqual({ rows: 2500, accepted: 2500, faults: 0, resumedAt: 1000 });
    // The rows sent so far lack the column that is named only now.
    await expect(importRows(1700, options)).rejects.toThrow('the disk is gone');
    const other = await importRows(2500, { ...options, map: 'time=when,latitude=lat' });
    expect(other).toEqual({ rows: 2500, accepted: 2500, faults: 0, resumedAt: 0 });
    // The progress on one server does not apply to another one.
    await expect(importRows(1700, options)).rejects.toThrow('the disk is gone');
    const elsewhere = platform.httpUrl.replace('127.0.0.1', 'localhost');
    expect(await importRows(2500, options, elsewhere)).toMatchObject({ resumedAt: 0 });
    await historyOf(vehicle, 2500);
  });

  it('stores no position of a privacy interval, and nothing of a time without a link', async () => {
    await sql`insert into privacy_period
      values (${vehicle.id}::integer, '[2024-05-01 09:00Z, 2024-05-01 10:00Z)')`.execute(platform.db);
    await sql`update device_link set period = '[2024-05-01 08:00Z,)'
      where vehicle_id = ${vehicle.id}::integer`.execute(platform.db);
    const line = (time: string) =>
      JSON.stringify({ timestamp: Date.parse(time) / 1000, location: { latitude: 48, longitude: 2 } });
    const times = ['2024-05-01T07:00:00Z', '2024-05-01T08:30:00Z', '2024-05-01T09:30:00Z'];
    const path = await writeHistory('private.ndjson', times.map(line).join('\n'));
    expect(await importFile(path, '--vehicle', vehicle.id)).toMatchObject({ accepted: 2, faults: 1 });
    expect(await faultsOf(path)).toEqual(['1,"timestamp","no device was linked to a vehicle at that time"']);
    const [open, hidden] = await historyOf(vehicle, 2);
    expect([open, hidden]).toEqual([
      expect.objectContaining({ location: expect.anything() }),
      expect.not.objectContaining({ location: expect.anything() }),
    ]);
  });

  it('refuses a vehicle of another application than the one that is named', async () => {
    const other = await createApplication(platform.db);
    const path = await writeHistory('foreign.ndjson', '{"timestamp":1714550400}');
    expect(await importFile(path, '--vehicle', vehicle.id, '--app', other.appId)).toMatchObject({
      accepted: 0,
      faults: 1,
    });
    expect(await faultsOf(path)).toEqual([expect.stringMatching(/^1,"vehicle","UNKNOWN_VEHICLE/)]);
  });

  it('stores nothing for a vehicle of an application that the operator does not see, to which the device was linked', async () => {
    const other = await createApplication(platform.db);
    const { deviceId } = vehicle;
    await unlinkDevice(platform.db, deviceId);
    await platform.db.updateTable('device').set({ application_id: other.id }).where('id', '=', deviceId).execute();
    const { cookie } = await createOperator(platform.db, { role: 'operator', applicationIds: [other.id] });
    const client = createBrowser(platform.httpUrl, cookie);
    for (const scope of [{}, { appId: other.appId }]) {
      const { body } = await client.post('/v1/x/admin/import', {
        ...{ deviceId, ...scope, readings: [{ timestamp: 1_714_550_400 }] },
      });
      expect(body).toMatchObject({ accepted: 0, faults: [{ index: 0, reason: 'DEVICE_NOT_LINKED' }] });
    }
  });

  it('stores the readings of a device that was linked in two applications for the vehicles of both', async () => {
    const other = await createApplication(platform.db);
    const later = await createUnlinkedVehicle(platform.db, other);
    const { deviceId } = vehicle;
    await sql`update device_link set period = '(,2024-05-01 09:00Z)' where device_id = ${deviceId}`.execute(
      platform.db,
    );
    await platform.db.updateTable('device').set({ application_id: other.id }).where('id', '=', deviceId).execute();
    await sql`insert into device_link (device_id, vehicle_id, period)
      values (${deviceId}, ${later}::integer, '[2024-05-01 09:00Z,)')`.execute(platform.db);
    const lines = ['08:59', '09:00'].map((time) =>
      JSON.stringify({ timestamp: Date.parse(`2024-05-01T${time}Z`) / 1000 }),
    );
    const path = await writeHistory('moved.ndjson', lines.join('\n'));
    expect(await importFile(path, '--device', deviceId)).toMatchObject({ accepted: 2, faults: 0 });
    await eventually(async () => {
      const { rows } = await sql`select vehicle_id::text as id, application_id as application from reading
        where vehicle_id in (${vehicle.id}::integer, ${later}::integer) order by time`.execute(platform.db);
      expect(rows).toEqual([
        { id: vehicle.id, application: application.id },
        { id: later, application: other.id },
      ]);
    }, 20_000);
  });
});
