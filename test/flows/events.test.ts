import { accessService } from '@odograph/access/service';
import { brokerService } from '@odograph/broker/service';
import { commandService } from '@odograph/command/service';
import type { EventType } from '@odograph/contracts/events';
import { fleetService } from '@odograph/fleet/service';
import { ingestService } from '@odograph/ingest/service';
import { EventClient } from '@odograph/query/live/event-client.fixture';
import { queryService } from '@odograph/query/service';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import type { ApiClient } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let application: TestApplication;
let api: ApiClient;
let vehicle: TestVehicle;
let device: DeviceConnection;
let stream: EventClient;

const services = [brokerService, ingestService, queryService, fleetService, accessService, commandService];
const platform = await usePlatform(services, {}, { alarmCheckIntervalMs: 500 });
beforeEach(async () => {
  application = await createApplication(platform.db);
  api = platform.as(application.token);
  vehicle = await createVehicle(platform.db, application);
  device = await connectDevice(platform.mqttUrl, vehicle);
});
afterEach(async () => {
  stream.close();
  await device.close();
});

/** Opens the stream for these types, from now on. */
async function listen(types: string): Promise<void> {
  stream = new EventClient(platform.httpUrl, `?types=${types}`, { 'x-service-token': application.token });
  await stream.open();
}

const listed = () => stream.events.filter(({ event }) => event.includes('.'));

/** Waits for exactly these events, and returns what they show. */
// biome-ignore lint/suspicious/noExplicitAny: tests read events of any type
async function expectEvents(...types: EventType[]): Promise<any[]> {
  await stream.until(() => listed().length >= types.length, 60_000);
  const events = listed();
  expect(events.map(({ event }) => event)).toEqual(types);
  for (const { data } of events) expect(data).toMatchObject({ appId: application.appId, vehicleId: vehicle.id });
  return events.map(({ data }) => data.data);
}

const post = async (path: string, body: object) => {
  const { status, body: answer } = await api.post(path, body);
  expect([status, answer.error]).toEqual([200, undefined]);
  return answer;
};

/** Uploads a drive of ten minutes at 36 km/h, an hour ago, and the parked hour after it, in readings of ten seconds. */
async function drive({ start, from = 0, until = 96 }: { start: number; from?: number; until?: number }): Promise<void> {
  const readings = Array.from({ length: until - from }, (_, n) => {
    const step = from + n;
    const isDriving = step > 5 && step <= 65;
    const metres = Math.min(Math.max(step - 5, 0), 60) * 100;
    return {
      timestamp: start + step * 10,
      location: { latitude: 48.85 + metres / 111_195, longitude: 2.35, speed: isDriving ? 36 : 0 },
      status: { ignition: isDriving, movement: isDriving, mileage: 1000 + metres / 1000 },
    };
  });
  await device.upload(readings);
}

describe('the list of events holds once, by its cause,', () => {
  it('a stored reading, the alarm that it raises in the same transaction, and the one that clears it', async () => {
    await post('/v1/x/alarm-rules', { name: 'Crash', kind: 'crash', vehicleIds: [vehicle.id] });
    await listen('reading.stored,alarm.*');
    const now = Math.ceil(Date.now() / 1000);
    await device.upload({ timestamp: now, status: { mileage: 7 }, alarms: { crash: true } });
    await stream.until(() => listed().length >= 2, 60_000);
    await device.upload({ timestamp: now + 1, alarms: { crash: false } });
    const [reading, raised, , cleared] = await expectEvents(
      ...(['reading.stored', 'alarm.raised', 'reading.stored', 'alarm.cleared'] as const),
    );
    expect(reading).toMatchObject({ vehicle: { id: vehicle.id }, timestamp: now, status: { mileage: 7 } });
    expect(raised).toMatchObject({ kind: 'crash', ruleName: 'Crash' });
    expect(cleared).toMatchObject({ id: raised.id, clearedAt: expect.any(String) });
  });

  it('a trip when its end is known, and again when late readings change it', async () => {
    await listen('trip.*');
    const start = Math.floor(Date.now() / 1000) - 7200;
    await drive({ start, from: 30 });
    await stream.until(() => listed().length > 0, 60_000);
    await drive({ start, until: 30 });
    const [finished, changed] = await expectEvents('trip.finished', 'trip.changed');
    expect(finished.trip_id).toBe(changed.trip_id);
    const { trips } = (await api.get(`/v1/vehicle/${vehicle.id}/trips?from=${start - 60}`)).body;
    expect(changed).toEqual(trips[0]);
  });

  it('a command when it has ended', async () => {
    await listen('command.*');
    await device.obey(async () => ({ ok: true, status: 'CLOSED' }));
    await eventually(async () => {
      expect((await api.post('/v1/vehicle/lock', { vehicleId: vehicle.id })).status).toBe(200);
    });
    await stream.until(() => listed().some(({ data }) => data.data.state === 'acknowledged'), 60_000);
    expect(listed().at(-1)?.data.data).toMatchObject({ action: 'LOCK', state: 'acknowledged', status: 'CLOSED' });
    expect(listed().filter(({ data }) => data.data.state === 'acknowledged')).toHaveLength(1);
  });

  it('each state flag that changed, and none that did not', async () => {
    await listen('state.*');
    for (const state of [true, true, false]) await post(`/v1/vehicle/${vehicle.id}/stolen`, { state });
    const changes = await expectEvents('state.changed', 'state.changed');
    expect(changes.map(({ changed }) => changed)).toEqual([{ stolen: true }, { stolen: false }]);
  });

  it('a booking and its authorization: created, changed, and ended before or by its time', async () => {
    // Without booking.starting, which a booking of two seconds gets or not.
    await listen('booking.created,booking.changed,booking.ended,authorization.*');
    const now = Math.floor(Date.now() / 1000);
    const interval = { from: now + 3600, until: now + 7200 };
    const request = { ...interval, type: 'BOOKING', driver: 'driver-1' };
    const { bookingId } = await post(`/v1/vehicle/${vehicle.id}/booking`, request);
    expect((await api.put(`/v1/booking/${bookingId}`, { ...interval, until: now + 9000 })).status).toBe(200);
    expect((await api.delete(`/v1/booking/${bookingId}`)).status).toBe(200);
    const soon = Math.ceil(Date.now() / 1000);
    const brief = { from: soon, until: soon + 2, type: 'BOOKING', driver: 'driver-1' };
    const { bookingId: ending } = await post(`/v1/vehicle/${vehicle.id}/booking`, brief);
    await stream.until(() => listed().filter(({ event }) => event === 'booking.ended').length === 2, 60_000);
    const bookings = listed().filter(({ event }) => event.startsWith('booking.'));
    expect(bookings.map(({ event, data }) => [event, data.data.bookingId, data.data.state])).toEqual([
      ['booking.created', bookingId, expect.any(String)],
      ['booking.changed', bookingId, expect.any(String)],
      ['booking.ended', bookingId, 'DELETED'],
      ['booking.created', ending, expect.any(String)],
      ['booking.ended', ending, 'ENDED'],
    ]);
    await stream.until(() => listed().filter(({ event }) => event === 'authorization.ended').length === 3, 60_000);
    const authorizations = listed().filter(({ event }) => event.startsWith('authorization.'));
    const created = authorizations.filter(({ event }) => event === 'authorization.created');
    expect(created.map(({ data }) => data.data.userId)).toEqual(['driver-1', 'driver-1', 'driver-1']);
    const ended = authorizations.filter(({ event }) => event === 'authorization.ended');
    expect(ended.map(({ data }) => data.data.authorizationId)).toEqual(
      created.map(({ data }) => data.data.authorizationId),
    );
    expect(ended[0]?.data.data.replacedBy).toBe(created[1]?.data.data.authorizationId);
    expect(ended[1]?.data.data).not.toHaveProperty('replacedBy');
  });

  it('the suspension of an authorization and its end', async () => {
    await listen('authorization.*');
    const now = Math.floor(Date.now() / 1000);
    const { authorizationId } = await post('/v1/bluetooth-token', {
      ...{ vehicleId: vehicle.id, userId: 'driver-1', level: 'DRIVE', from: now - 1, until: now + 3600 },
    });
    await post('/v1/bluetooth-token/invalidate', { authorizationId, until: now + 1800 });
    await post('/v1/bluetooth-token/validate', { authorizationId });
    await api.delete('/v1/bluetooth-token', { authorizationId });
    const events = await expectEvents(
      ...(['authorization.created', 'authorization.changed', 'authorization.changed', 'authorization.ended'] as const),
    );
    expect(new Set(events.map((data) => data.authorizationId))).toEqual(new Set([authorizationId]));
  });

  it('the end of a link and a new one', async () => {
    await listen('device.linked,device.unlinked');
    expect((await api.delete('/v1/device', { deviceId: vehicle.deviceId })).status).toBe(200);
    await post('/v1/device', { deviceId: vehicle.deviceId, vehicleId: vehicle.id });
    // The link of the set-up may be listed late: a transaction that is running anywhere on the server delays the list.
    const latest = () => listed().slice(listed().findIndex(({ event }) => event === 'device.unlinked'));
    await stream.until(() => latest().length === 2, 60_000);
    expect(latest().map(({ event }) => event)).toEqual(['device.unlinked', 'device.linked']);
    const [ended, begun] = latest().map(({ data }) => data.data);
    expect(ended).toEqual({ deviceId: vehicle.deviceId, until: expect.any(String) });
    expect(begun).toEqual({ deviceId: vehicle.deviceId, from: expect.any(String) });
  });

  it('the session of a linked device: when it began, and when it ended', async () => {
    await listen('device.connected,device.disconnected');
    const linked = await createVehicle(platform.db, application);
    const session = await connectDevice(platform.mqttUrl, linked);
    const ofLinked = () => listed().filter(({ data }) => data.vehicleId === linked.id);
    await stream.until(() => ofLinked().length > 0, 60_000);
    await session.close();
    await stream.until(() => ofLinked().at(-1)?.event === 'device.disconnected', 60_000);
    expect(ofLinked()[0]).toMatchObject({ event: 'device.connected', data: { data: { deviceId: linked.deviceId } } });
  });

  it('an upload that went to quarantine, with the reasons and without its content', async () => {
    await listen('upload.*');
    for (const timestamp of ['x', 'x', 1_750_000_000]) {
      await device.upload([{ timestamp, location: { latitude: 48.1234567, longitude: 'x' } }]);
    }
    const [upload] = await expectEvents('upload.quarantined');
    expect(upload).toMatchObject({ deviceId: vehicle.deviceId, reasons: ['INVALID_FIELD'] });
    expect(stream.text).not.toContain('48.1234567');
  });
});

describe('a client of the stream', () => {
  it('misses nothing when it continues at another process of the platform', async () => {
    await listen('state.*');
    await post(`/v1/vehicle/${vehicle.id}/stolen`, { state: true });
    await expectEvents('state.changed');
    stream.close();
    await post(`/v1/vehicle/${vehicle.id}/stolen`, { state: false });
    const other = await startTestPlatform([queryService]);
    try {
      stream.moveTo(other.httpUrl);
      await stream.open();
      const changes = await expectEvents('state.changed', 'state.changed');
      expect(changes.map(({ changed }) => changed)).toEqual([{ stolen: true }, { stolen: false }]);
    } finally {
      stream.close();
      await other.stop();
    }
  });

  it('receives no position of a privacy interval, whenever the interval began, and nothing of a deleted vehicle', async () => {
    await listen('reading.stored&once=true');
    await stream.until(() => stream.hasEnded, 60_000);
    const begin = stream.lastEventId;
    await listen('reading.stored');
    stream.close();
    const now = Date.now() / 1000;
    // The clock of a device may be ahead.
    await device.upload({ timestamp: now + 60, location: { latitude: 48.7654321, longitude: 2.2 } });
    await eventually(async () => {
      const { rows } = await sql`select from reading where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
      expect(rows).toHaveLength(1);
    }, 30_000);
    await post('/v1/vehicle/privacy/on', { vehicleId: vehicle.id });
    stream.lastEventId = begin;
    await stream.open();
    await stream.until(() => listed().length >= 1, 60_000);
    expect(listed()[0]?.data.data).not.toHaveProperty('location');
    expect(stream.text).not.toContain('48.7654321');
    stream.close();
    expect((await api.delete('/v1/vehicle', { id: vehicle.id })).status).toBe(200);
    const after = new EventClient(platform.httpUrl, '?types=*&once=true', { 'x-service-token': application.token });
    after.lastEventId = begin;
    await after.open();
    await after.until(() => after.hasEnded, 30_000);
    expect(after.events).toEqual([]);
  });
});
