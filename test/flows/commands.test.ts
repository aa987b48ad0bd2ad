import { randomUUID } from 'node:crypto';
import { brokerService } from '@odograph/broker/service';
import { commandService } from '@odograph/command/service';
import type { CommandMessage } from '@odograph/contracts/commands';
import { countUnfinishedJobs, openQueue, type TypedQueue } from '@odograph/queue/queues';
import { type CommandAnswer, connectDevice } from '@odograph/simulator/device-connection';
import { clientWithToken } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { ackTimeoutMs, type CommandFixture, expectFailure, startCommandFixture, timed } from './command.fixture.ts';

let fixture: CommandFixture;
let queue: TypedQueue<'acknowledgements'>;

beforeAll(async () => {
  fixture = await startCommandFixture();
  const { REDIS_URL: redisUrl, QUEUE_PREFIX: prefix } = fixture.platform.config;
  queue = openQueue('acknowledgements', { redisUrl, prefix });
});

afterEach(() => fixture.disconnectAll());

afterAll(async () => {
  await queue?.close();
  await fixture?.stop();
});

/** Waits until every acknowledgement has been processed. */
async function queueIsEmpty(): Promise<void> {
  await eventually(async () => expect(await countUnfinishedJobs(queue)).toBe(0));
}

it.each([
  ['lock', 'LOCK', { Status: 'CLOSED' }],
  ['unlock', 'UNLOCK', { Status: 'OPEN' }],
  ['immobilize', 'IMMOBILIZE', { Status: 'LOCKED' }],
  ['start', 'START', { Status: 'UNLOCKED' }],
  ['honk', 'HONK', ''],
  ['lights/on', 'TURNING-LIGHTS', {}],
  ['trunk/unlock', 'UNLOCK-TRUNK', {}],
  ['windows/open', 'OPEN-WINDOWS', {}],
  ['windows/close', 'CLOSE-WINDOWS', {}],
])('answers %s as documented once the device acknowledged %s', async (path, action, body) => {
  const vehicle = await fixture.createVehicle();
  const device = await fixture.connected(vehicle);
  const before = Date.now() / 1000;
  const answer = await fixture.act(path, vehicle);
  expect(answer.body).toEqual(body);
  expect(answer.status).toBe(200);
  expect(device.heard).toEqual([{ id: expect.any(String), action, expiresAt: expect.any(Number) }]);
  const expiresAt = device.heard[0]?.expiresAt ?? 0;
  expect(expiresAt).toBeGreaterThan(before);
  expect(expiresAt).toBeLessThanOrEqual(Date.now() / 1000 + ackTimeoutMs / 1000);
  const [row] = await fixture.rowsOf(vehicle);
  expect(row).toMatchObject({ id: device.heard[0]?.id, action, state: 'acknowledged', device_id: vehicle.deviceId });
  expect(row?.sent_at).toBeInstanceOf(Date);
  expect(row?.ended_at).toBeInstanceOf(Date);
});

it('answers with an acknowledgement before its job is processed, and the job is then a no-op', async () => {
  const vehicle = await fixture.createVehicle();
  const device = await fixture.silent(vehicle);
  await queue.pause();
  try {
    const lock = fixture.act('lock', vehicle);
    const { id } = await device.next();
    await device.acknowledge({ id, ok: true });
    expect((await lock).body).toEqual({ Status: 'CLOSED' });
    expect(await countUnfinishedJobs(queue)).toBe(1);
  } finally {
    await queue.resume();
  }
  await queueIsEmpty();
  await fixture.expectState(vehicle, 'acknowledged');
  const { rows } = await sql`select outcome from audit where subject = ${`vehicle:${vehicle.id}`}
    order by position`.execute(fixture.platform.db);
  expect(rows).toEqual([{ outcome: 'requested' }, { outcome: 'acknowledged' }]);
});

it('answers honk with a body of no bytes', async () => {
  const vehicle = await fixture.createVehicle();
  await fixture.connected(vehicle);
  const answer = await fixture.act('honk', vehicle);
  expect(answer.status).toBe(200);
  expect(answer.body).toBe('');
  expect(answer.headers.get('content-length')).toBe('0');
});

it('accepts vehicleId in the query string too', async () => {
  const vehicle = await fixture.createVehicle();
  await fixture.connected(vehicle);
  const answer = await fixture.client.post(`/v1/vehicle/lock?vehicleId=${vehicle.id}`, '');
  expect(answer.body).toEqual({ Status: 'CLOSED' });
});

it('answers the status that the device reports if it is documented, otherwise the default one', async () => {
  const vehicle = await fixture.createVehicle();
  const reports = ['OPEN', 'AJAR'];
  await fixture.connected(vehicle, () => ({ ok: true, status: reports.shift() ?? '' }));
  expect((await fixture.act('lock', vehicle)).body).toEqual({ Status: 'OPEN' });
  expect((await fixture.act('lock', vehicle)).body).toEqual({ Status: 'CLOSED' });
});

it('answers the reason that the device gives for a refusal', async () => {
  const vehicle = await fixture.createVehicle();
  await fixture.connected(vehicle, () => ({ ok: false, reason: 'the original key is in\u0000side' }));
  const answer = await fixture.act('unlock', vehicle);
  expectFailure(answer, 'REFUSED');
  expect(answer.body.message).toBe('the original key is inside');
  await fixture.expectState(vehicle, 'refused');
});

it('answers NO_ACKNOWLEDGEMENT in time, and a late acknowledgement changes unknown into the outcome, once', async () => {
  const vehicle = await fixture.createVehicle();
  const device = await fixture.silent(vehicle);
  const [answer, milliseconds] = await timed(fixture.act('unlock', vehicle));
  expectFailure(answer, 'NO_ACKNOWLEDGEMENT');
  expect(milliseconds).toBeGreaterThanOrEqual(ackTimeoutMs - 5);
  expect(await fixture.statesOf(vehicle)).toEqual(['unknown']);
  const { id } = await device.next();
  await device.acknowledge({ id, ok: true, status: 'OPEN' });
  await fixture.expectState(vehicle, 'acknowledged');
  await device.acknowledge({ id, ok: false, reason: 'no' });
  await device.acknowledge({ id: 'garbage', ok: true });
  await device.acknowledge({ id: randomUUID(), ok: true });
  await queueIsEmpty();
  const lock = fixture.act('lock', vehicle);
  const command = await device.next();
  await device.acknowledge({ id: command.id, ok: true });
  expect((await lock).body).toEqual({ Status: 'CLOSED' });
  const rows = await fixture.rowsOf(vehicle);
  expect(rows.map(({ state, status, cause }) => [state, status, cause])).toEqual([
    ['acknowledged', 'OPEN', null],
    ['acknowledged', null, null],
  ]);
});

it('answers DEVICE_OFFLINE at once, and never delivers the command to the resumed session', async () => {
  const vehicle = await fixture.createVehicle();
  const persistent = { clean: false };
  const first = await connectDevice(fixture.platform.mqttUrl, vehicle, persistent);
  await first.obey(() => ({ ok: true }));
  expect((await fixture.act('lock', vehicle)).status).toBe(200);
  await first.close();
  await eventually(async () => {
    const [answer, milliseconds] = await timed(fixture.act('unlock', vehicle));
    expectFailure(answer, 'DEVICE_OFFLINE');
    expect(milliseconds).toBeLessThan(ackTimeoutMs);
  });
  const second = await connectDevice(fixture.platform.mqttUrl, vehicle, persistent);
  fixture.adopt(second);
  const heard: string[] = [];
  await second.obey(({ action }) => {
    heard.push(action);
    return { ok: true };
  });
  expect((await fixture.act('honk', vehicle)).status).toBe(200);
  expect(heard).toEqual(['HONK']);
});

it('does not deliver a command to the resumed session after it has expired', async () => {
  const vehicle = await fixture.createVehicle();
  const first = await connectDevice(fixture.platform.mqttUrl, vehicle, { clean: false });
  await first.obey(() => undefined);
  first.client.stream.pause();
  const unlock = fixture.act('unlock', vehicle);
  await fixture.expectState(vehicle, 'sent');
  await first.close('cut');
  // REFUSED if the connection closed before the command reached the broker, else NO_ACKNOWLEDGEMENT.
  expect((await unlock).body.error).toBe('COMMUNICATION_FAILED');
  const second = await connectDevice(fixture.platform.mqttUrl, vehicle, { clean: false });
  fixture.adopt(second);
  const heard: string[] = [];
  await second.obey(({ action }) => {
    heard.push(action);
    return { ok: true };
  });
  expect((await fixture.act('honk', vehicle)).status).toBe(200);
  expect(heard).toEqual(['HONK']);
});

it('ignores an acknowledgement by another device', async () => {
  const [vehicle, other] = [await fixture.createVehicle(), await fixture.createVehicle()];
  const device = await fixture.silent(vehicle);
  const stranger = await fixture.silent(other);
  const unlock = fixture.act('unlock', vehicle);
  const { id } = await device.next();
  await stranger.acknowledge({ id, ok: false, reason: 'not mine' });
  await device.acknowledge({ id, ok: true });
  expect((await unlock).body).toEqual({ Status: 'OPEN' });
  await fixture.expectState(vehicle, 'acknowledged');
});

it('records and audits an acknowledgement once, however often the device repeats it', async () => {
  const vehicle = await fixture.createVehicle();
  const device = await fixture.silent(vehicle);
  const lock = fixture.act('lock', vehicle);
  const { id } = await device.next();
  await device.acknowledge({ id, ok: true, status: 'CLOSED' });
  expect((await lock).body).toEqual({ Status: 'CLOSED' });
  const [recorded] = await fixture.rowsOf(vehicle);
  expect(recorded).toMatchObject({ state: 'acknowledged', status: 'CLOSED' });
  await device.acknowledge({ id, ok: true, status: 'CLOSED' });
  await queueIsEmpty();
  expect(await fixture.rowsOf(vehicle)).toEqual([recorded]);
  const { rows } = await sql`select 1 from audit where action = 'command.lock' and subject = ${`vehicle:${vehicle.id}`}
    and outcome = 'acknowledged'`.execute(fixture.platform.db);
  expect(rows).toHaveLength(1);
});

it('answers by an acknowledgement that only the queue brings', async () => {
  const vehicle = await fixture.createVehicle();
  const device = await fixture.silent(vehicle);
  const lock = fixture.act('lock', vehicle, fixture.replicaClient);
  const { id } = await device.next();
  await queue.add('acknowledgements', {
    deviceId: vehicle.deviceId,
    receivedAtMs: Date.now(),
    text: JSON.stringify({ id, ok: true }),
  });
  expect((await lock).body).toEqual({ Status: 'CLOSED' });
});

it('drops messages that are no acknowledgement', async () => {
  const vehicle = await fixture.createVehicle();
  const device = await fixture.silent(vehicle);
  const lock = fixture.act('lock', vehicle);
  const { id } = await device.next();
  const topic = `v1/devices/${vehicle.deviceId}/acks`;
  for (const text of ['{', '[]', 'null', JSON.stringify({ id, ok: 'true' }), JSON.stringify({ id: [id], ok: true })]) {
    await device.client.publishAsync(topic, text, { qos: 1 });
  }
  await queueIsEmpty();
  expect(await fixture.statesOf(vehicle)).toEqual(['sent']);
  await device.acknowledge({ id, ok: true });
  expect((await lock).status).toBe(200);
});

it('lists the commands of a vehicle with states and times, newest first', async () => {
  const vehicle = await fixture.createVehicle();
  const answers: CommandAnswer[] = [
    { ok: true, status: 'CLOSED' },
    { ok: false, reason: 'no' },
  ];
  await fixture.connected(vehicle, () => answers.shift());
  await fixture.act('lock', vehicle);
  await fixture.act('unlock', vehicle);
  const { body } = await fixture.client.get(`/v1/x/commands?vehicleId=${vehicle.id}`);
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
  const times = { id: expect.any(String), createdAt: time, sentAt: time, expiresAt: time, endedAt: time };
  expect(body.commands).toEqual([
    { ...times, action: 'UNLOCK', state: 'refused', reason: 'REFUSED', message: 'no' },
    { ...times, action: 'LOCK', state: 'acknowledged', status: 'CLOSED' },
  ]);
  expect((await fixture.client.get(`/v1/x/commands?vehicleId=${vehicle.id}&limit=1`)).body.commands).toHaveLength(1);
});

it('counts the outcomes by action', async () => {
  const text = await fixture.platform.metrics.metrics();
  expect(text).toMatch(/odograph_commands_total\{action="LOCK",outcome="acknowledged"\} \d+/);
  expect(text).toMatch(/odograph_commands_total\{action="UNLOCK",outcome="DEVICE_OFFLINE"\} \d+/);
  expect(text).toMatch(/odograph_command_duration_seconds_count\{action="LOCK"\} \d+/);
});

it('finishes waiting commands before it stops', async () => {
  const alone = await startTestPlatform([brokerService, commandService], { ACK_TIMEOUT_MS: '3000' });
  const own = await createApplication(alone.db);
  const vehicle = await createVehicle(alone.db, own);
  const by = clientWithToken(alone.httpUrl, own.token);
  const device = await connectDevice(alone.mqttUrl, vehicle);
  fixture.adopt(device);
  let hear: (command: CommandMessage) => void = () => undefined;
  const heard = new Promise<CommandMessage>((resolve) => {
    hear = resolve;
  });
  await device.obey((command) => {
    hear(command);
    return undefined;
  });
  const lock = by.post('/v1/vehicle/lock', { vehicleId: vehicle.id });
  const { id } = await heard;
  const stopped = alone.stop();
  await device.acknowledge({ id, ok: true });
  expect((await lock).body).toEqual({ Status: 'CLOSED' });
  await stopped;
});
