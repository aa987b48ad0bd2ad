import { randomUUID } from 'node:crypto';
import { consoleService } from '@odograph/console/service';
import { type SourceFormatName, sourceFormatNames } from '@odograph/contracts/sources';
import { fleetService } from '@odograph/fleet/service';
import { gatewayService } from '@odograph/gateway/service';
import { ingestService } from '@odograph/ingest/service';
import { queryService } from '@odograph/query/service';
import { SourceSender } from '@odograph/simulator/source-sender';
import { createBrowser } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import {
  createApplication,
  createDevice,
  createImei,
  createOperator,
  createSource,
  createUnlinkedVehicle,
  createVehicle,
} from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { readHistory, readQuarantine, start } from './sources.fixture.ts';

const platform = await usePlatform([ingestService, gatewayService, queryService, consoleService, fleetService]);
const application = await createApplication(platform.db);
const api = platform.as(application.token);

const iso = (seconds: number) => new Date(seconds * 1000).toISOString();

interface Forwarded {
  readonly path: string;
  readonly body?: string | Buffer;
  readonly headers?: Record<string, string>;
}

async function forward({ path, body, headers = {} }: Forwarded): Promise<{ status: number; body: unknown }> {
  const response = await fetch(new URL(path, platform.httpUrl), {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : new Uint8Array(body) }),
  });
  return { status: response.status, body: await response.json() };
}

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
const basic = (name: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`,
});

const historyOf = (vehicleId: string, count: number, client = api) => readHistory(client, vehicleId, count);
const quarantineOf = (deviceId: string) => readQuarantine(platform.db, deviceId);

const sourceOf = (format: SourceFormatName, createDevices = false) =>
  createSource(platform.db, application, { format, createDevices });

/** The speeds of a vehicle in km/h, by time. */
async function speedsOf(vehicleId: string): Promise<(number | null)[]> {
  const { rows } = await sql<{ speed: number | null }>`select speed from reading
    where vehicle_id = ${Number(vehicleId)} order by time`.execute(platform.db);
  return rows.map(({ speed }) => speed);
}

const traccarPosition = (uniqueId: string, timestamp: number, more: object = {}) =>
  JSON.stringify({
    position: {
      ...{ id: 7, deviceId: 3, protocol: 'gt06', serverTime: iso(timestamp), deviceTime: iso(timestamp) },
      ...{ fixTime: iso(timestamp), outdated: false, valid: true, latitude: 48.85, longitude: 2.35, altitude: 35 },
      ...{ speed: 10, course: 90, address: null, accuracy: 0, network: null, geofenceIds: null },
      attributes: { ignition: true, odometer: 12_345_000, hours: 3_600_000 },
      ...more,
    },
    device: { id: 3, name: 'van', uniqueId, status: 'online', attributes: {} },
  });

describe('a request of another system becomes readings of its vehicle', () => {
  it('from flespi, a batch of several devices in which one message has no time', async () => {
    const vehicles = [await createVehicle(platform.db, application), await createVehicle(platform.db, application)];
    const [one, other] = vehicles.map(({ deviceId }) => deviceId);
    const { sourceId, secret } = await sourceOf('flespi');
    const messages = Array.from({ length: 1000 }, (_unused, index) => ({
      ...{ ident: index % 2 === 0 ? one : other, timestamp: start + index, 'position.latitude': 48.8 },
      ...{ 'position.longitude': 2.3, 'can.vehicle.mileage': 1000 + index },
    }));
    const body = JSON.stringify([...messages, { ident: one, 'position.latitude': 1 }]);
    const answer = await forward({ path: '/in/flespi', body, headers: basic(sourceId, secret) });
    expect(answer).toEqual({ status: 200, body: { messages: 1001 } });
    for (const { id } of vehicles) await historyOf(id, 500);
    expect(await quarantineOf(one ?? '')).toMatchObject([{ format: 'flespi', reasons: ['INVALID_FIELD'] }]);
    await eventually(async () => {
      const counts = await platform.db.selectFrom('source').selectAll().where('id', '=', sourceId).executeTakeFirst();
      expect(counts).toMatchObject({ messages: 1001, unknown_messages: 0, last_seen_at: expect.any(Date) });
      const { rows } = await sql`select device_id from source_device
        where source_id = ${sourceId}`.execute(platform.db);
      expect(rows).toHaveLength(2);
    });
  });

  it('from fleet-telemetry, in JSON and in protobuf', async () => {
    const vin = `5YJ3E1EA7KF${String(Date.now()).slice(-6)}`;
    const vehicle = await createVehicle(platform.db, application, { deviceId: vin });
    const { secret } = await sourceOf('tesla');
    const createdAt = iso(start);
    const data = [{ key: 'Soc', value: { doubleValue: 80.5 } }];
    await forward({ path: '/in/tesla', body: JSON.stringify({ data, createdAt, vin }), headers: bearer(secret) });
    // Soc 81.5 a second later, as vehicle_data.proto encodes it.
    const payload = Buffer.concat([
      Buffer.from('0a0d0808120929', 'hex'),
      Buffer.from(new Float64Array([81.5]).buffer),
      Buffer.from('120608', 'hex'),
      Buffer.from([0x81, 0xb8, 0x80, 0xc9, 0x06]),
      Buffer.from('1a11', 'hex'),
      Buffer.from(vin),
    ]);
    const headers = { ...bearer(secret), 'content-type': 'application/x-protobuf' };
    expect((await forward({ path: '/in/tesla', body: payload, headers })).status).toBe(200);
    const readings = await historyOf(vehicle.id, 2);
    expect(readings.map(({ timestamp }) => timestamp)).toEqual([start, start + 1]);
    expect(readings).toMatchObject([{ electric: { soc: 80.5 } }, { electric: { soc: 81.5 } }]);
  });

  it('from OwnTracks over HTTP, with the secret of the phone or of a source', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const location = (tst: number) =>
      JSON.stringify({ _type: 'location', lat: 48.85, lon: 2.35, tst, vel: 50, topic: 'owntracks/someone/phone' });
    const path = '/in/owntracks';
    const own = basic(vehicle.deviceId, vehicle.secret);
    expect(await forward({ path, body: location(start), headers: own })).toEqual({ status: 200, body: [] });
    expect(await forward({ path, body: '{"_type":"lwt","tst":1}', headers: own })).toEqual({ status: 200, body: [] });
    expect(await forward({ path, body: '', headers: own })).toEqual({ status: 200, body: [] });
    const { sourceId, secret } = await sourceOf('owntracks');
    const headers = { ...basic(sourceId, secret), 'x-limit-u': sourceId, 'x-limit-d': vehicle.deviceId };
    expect((await forward({ path, body: location(start + 1), headers })).status).toBe(200);
    await historyOf(vehicle.id, 2);
    expect(await speedsOf(vehicle.id)).toEqual([50, 50]);
    expect(await quarantineOf(vehicle.deviceId)).toEqual([]);
  });

  it('from OsmAnd and Traccar Client, whose secret is stored nowhere', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const path = `/in/osmand/${vehicle.deviceId}?secret=${vehicle.secret}`;
    const query = `${path}&lat=48.85&lon=2.35&timestamp=${start}&speed=10&batt=77`;
    expect(await forward({ path: query })).toEqual({ status: 200, body: { messages: 1 } });
    const location = {
      timestamp: iso(start + 1),
      coords: { latitude: 48.86, longitude: 2.36, speed: 10, heading: -1 },
    };
    const json = JSON.stringify({ location, device_id: 'whatever' });
    expect((await forward({ path, body: json })).status).toBe(200);
    const form = { path, body: `lat=48.87&lon=2.37&timestamp=${start + 2}` };
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await forward({ ...form, headers })).status).toBe(200);
    const { secret } = await sourceOf('osmand');
    const ofSource = { path: `/in/osmand/${vehicle.deviceId}?lat=48.88&lon=2.38&timestamp=${start + 3}` };
    expect((await forward({ ...ofSource, headers: bearer(secret) })).status).toBe(200);
    const readings = await historyOf(vehicle.id, 4);
    expect(await speedsOf(vehicle.id)).toEqual([18.52, 36, null, null]);
    expect(JSON.stringify(readings)).not.toContain(vehicle.secret);
  });
});

describe('a device that a source names', () => {
  it('and that does not exist goes to quarantine, counted, and is stored after it is created, linked and replayed', async () => {
    const { sourceId, secret } = await sourceOf('traccar');
    const deviceId = `unknown-${randomUUID()}`;
    const headers = bearer(secret);
    const sent = await forward({ path: '/in/traccar', body: traccarPosition(deviceId, start), headers });
    expect(sent.status).toBe(200);
    const [row] = await eventually(async () => {
      const rows = await quarantineOf(deviceId);
      expect(rows).toMatchObject([
        { format: 'traccar', application_id: application.id, reasons: ['DEVICE_NOT_LINKED'] },
      ]);
      return rows;
    });
    await eventually(async () => {
      const source = await platform.db.selectFrom('source').selectAll().where('id', '=', sourceId).executeTakeFirst();
      expect(source).toMatchObject({ messages: 1, unknown_messages: 1 });
    });
    const limited = await createOperator(platform.db, { applicationIds: [application.id] });
    const browser = createBrowser(platform.httpUrl, limited.cookie);
    const { body } = await browser.get(`/v1/x/admin/quarantine?deviceId=${deviceId}`);
    expect(body.quarantine).toMatchObject([{ id: row?.id, deviceId, format: 'traccar' }]);
    await createDevice(platform.db, { applicationId: application.id, deviceId, model: 'tracker' });
    const vehicleId = await createUnlinkedVehicle(platform.db, application);
    await sql`insert into device_link
      values (${deviceId}, ${Number(vehicleId)}, tstzrange(null, null))`.execute(platform.db);
    const { admin } = platform;
    expect((await admin.post('/v1/x/admin/quarantine/replay', { ids: [row?.id] })).status).toBe(200);
    expect(await historyOf(vehicleId, 1)).toMatchObject([{ timestamp: start }]);
  });

  it('is created where the source may do so, in stock and without a known secret, and audited', async () => {
    const { sourceId, secret } = await sourceOf('flespi', true);
    const ident = `new-${randomUUID()}`;
    const deviceId = `${application.appId}:${ident}`;
    const body = JSON.stringify([{ ident, timestamp: start }]);
    for (let times = 0; times < 2; times += 1) {
      expect((await forward({ path: '/in/flespi', body, headers: bearer(secret) })).status).toBe(200);
    }
    const device = await platform.db.selectFrom('device').selectAll().where('id', '=', deviceId).executeTakeFirst();
    expect(device).toMatchObject({ model_id: 'flespi', application_id: application.id });
    const { rows } = await sql`select actor, action from audit
      where subject = ${`device:${deviceId}`}`.execute(platform.db);
    expect(rows).toEqual([{ actor: `source:${sourceId}`, action: 'device.create' }]);
  });

  it('with an id reserved for another application is a separate device, and that id stays available', async () => {
    const imei = createImei();
    const other = await createApplication(platform.db);
    const sources = [];
    for (const one of [application, other]) {
      sources.push({ ...one, ...(await createSource(platform.db, one, { format: 'traccar', createDevices: true })) });
    }
    const forwardFrom = ({ secret }: { secret: string }, timestamp: number) =>
      forward({ path: '/in/traccar', body: traccarPosition(imei, timestamp), headers: bearer(secret) });
    for (const source of sources) expect((await forwardFrom(source, start)).status).toBe(200);
    const owners = async () =>
      (
        await platform.db
          .selectFrom('device')
          .select(['id', 'application_id'])
          .where('id', 'like', `%${imei}`)
          .orderBy('application_id')
          .execute()
      ).map(({ id, application_id }) => [id, application_id]);
    const created = sources.map(({ appId, id }) => [`${appId}:${imei}`, id]);
    expect(await owners()).toEqual(created);
    // The IMEI itself is registered for the other application, whose messages reach that device from then on.
    const vehicle = await createVehicle(platform.db, other, { deviceId: imei, model: 'traccar' });
    for (const source of sources) expect((await forwardFrom(source, start + 60)).status).toBe(200);
    const readings = await historyOf(vehicle.id, 1, platform.as(other.token));
    expect(readings).toMatchObject([{ timestamp: start + 60 }]);
    expect(await owners()).toEqual(expect.arrayContaining([...created, [imei, other.id]]));
  });

  it('of another application gets no reading of it, also by a replay, and its owner sees nothing of it', async () => {
    const victim = await createApplication(platform.db);
    const vehicle = await createVehicle(platform.db, victim);
    const { secret } = await sourceOf('traccar', true);
    const headers = bearer(secret);
    const named = `${application.appId}:${vehicle.deviceId}`;
    const answer = await forward({ path: '/in/traccar', body: traccarPosition(vehicle.deviceId, start), headers });
    const unknown = await forward({ path: '/in/traccar', body: traccarPosition('no-such-device', start), headers });
    expect(answer).toEqual(unknown);
    const [row] = await eventually(async () => {
      const rows = await quarantineOf(named);
      expect(rows).toMatchObject([{ application_id: application.id, reasons: ['DEVICE_NOT_LINKED'] }]);
      return rows;
    });
    const owner = await createOperator(platform.db, { applicationIds: [victim.id] });
    const browser = createBrowser(platform.httpUrl, owner.cookie);
    expect((await browser.get(`/v1/x/admin/quarantine?deviceId=${vehicle.deviceId}`)).body.quarantine).toEqual([]);
    const { admin } = platform;
    await admin.post('/v1/x/admin/quarantine/replay', { ids: [row?.id] });
    await eventually(async () => expect(await quarantineOf(named)).toMatchObject([{ times_seen: 2 }]));
    await historyOf(vehicle.id, 0, platform.as(victim.token));
  });
});

const forwardedFrom = Math.floor(Date.now() / 1000) - 1000;
const readings = 30;

it.each(sourceFormatNames)(
  'puts what %s forwards into the history of the vehicle once, also when it is sent twice',
  async (format) => {
    const deviceId = createImei();
    const { id, secret: deviceSecret } = await createVehicle(platform.db, application, { deviceId, model: format });
    const { admin } = platform;
    const source = await admin.post('/v1/x/admin/sources', { appId: application.appId, format });
    expect(source.status).toBe(200);
    // The user name of OwnTracks is that of the device, with its own secret.
    const secret = format === 'owntracks' ? deviceSecret : source.body.secret;
    const sender = new SourceSender({ url: platform.httpUrl, format, deviceId, secret, messagesPerRequest: 7 });
    for (let round = 0; round < 2; round += 1) {
      for (let index = 0; index < readings; index += 1) {
        sender.record({
          timestamp: forwardedFrom + index,
          location: { latitude: 48.85 + index / 1e4, longitude: 2.35 },
          status: { mileage: 12_345.5 },
          can: [{ key: 'engine_rpm', value: '2071' }],
        });
      }
      await sender.drain();
    }
    const { body } = await eventually(async () => {
      const answer = await api.get(`/v1/vehicle/${id}/history?from=${forwardedFrom}&until=${forwardedFrom + 500}`);
      expect(answer.body.status).toHaveLength(readings);
      return answer;
    });
    expect(body.status[7]).toMatchObject({
      timestamp: forwardedFrom + 7,
      location: { latitude: 48.8507, longitude: 2.35 },
      status: { mileage: 12_345.5 },
    });
  },
);
