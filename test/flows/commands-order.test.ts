import type { ApiAnswer } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import {
  type CommandFixture,
  expectFailure,
  patientAckTimeoutMs,
  reportDriving,
  startCommandFixture,
} from './command.fixture.ts';

let fixture: CommandFixture;
let patientFixture: CommandFixture;

beforeAll(async () => {
  fixture = await startCommandFixture();
  patientFixture = await startCommandFixture(patientAckTimeoutMs);
});

afterEach(() => Promise.all([fixture.disconnectAll(), patientFixture.disconnectAll()]));

afterAll(() => Promise.all([fixture?.stop(), patientFixture?.stop()]));

it('sends the commands of a vehicle one at a time in order of arrival, whichever replica accepted them', async () => {
  const vehicle = await patientFixture.createVehicle();
  const device = await patientFixture.silent(vehicle);
  const answers: Promise<ApiAnswer>[] = [];
  const paths = ['unlock', 'lock', 'honk', 'start', 'immobilize', 'lights/on'];
  for (const [index, path] of paths.entries()) {
    answers.push(
      patientFixture.act(path, vehicle, index % 2 === 0 ? patientFixture.client : patientFixture.replicaClient),
    );
    await eventually(async () => expect(await patientFixture.rowsOf(vehicle)).toHaveLength(index + 1));
  }
  for (const action of ['UNLOCK', 'LOCK', 'HONK', 'START', 'IMMOBILIZE', 'TURNING-LIGHTS']) {
    const command = await device.next();
    expect(command.action).toBe(action);
    expect((await patientFixture.statesOf(vehicle)).filter((state) => state === 'sent')).toHaveLength(1);
    await device.acknowledge({ id: command.id, ok: true });
  }
  for (const answer of answers) expect((await answer).status).toBe(200);
});

it('never has two commands of a vehicle in flight when many arrive at two replicas at once', async () => {
  const vehicle = await patientFixture.createVehicle();
  let underWay = 0;
  let most = 0;
  const device = await patientFixture.connected(vehicle, async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    return { ok: true };
  });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      patientFixture.act('honk', vehicle, index % 2 ? patientFixture.client : patientFixture.replicaClient),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(most).toBe(1);
  expect(new Set(device.heard.map(({ id }) => id)).size).toBe(20);
});

it('answers VEHICLE_BUSY to a command that waited until its timeout, and never sends it', async () => {
  const vehicle = await fixture.createVehicle();
  const device = await fixture.silent(vehicle);
  const first = fixture.act('lock', vehicle);
  await device.next();
  expectFailure(await fixture.act('unlock', vehicle, fixture.replicaClient), 'VEHICLE_BUSY');
  expectFailure(await first, 'NO_ACKNOWLEDGEMENT');
  expect(device.heard.map(({ action }) => action)).toEqual(['LOCK']);
  expect(await fixture.statesOf(vehicle)).toEqual(['unknown', 'expired']);
});

it('does not make one vehicle wait for another', async () => {
  const [slow, quick] = [await patientFixture.createVehicle(), await patientFixture.createVehicle()];
  const device = await patientFixture.silent(slow);
  await patientFixture.connected(quick);
  const waiting = patientFixture.act('lock', slow);
  const { id } = await device.next();
  expect((await patientFixture.act('lock', quick)).status).toBe(200);
  expect(await patientFixture.statesOf(slow)).toEqual(['sent']);
  await device.acknowledge({ id, ok: true });
  expect((await waiting).status).toBe(200);
});

it('does not immobilize a vehicle that drove off while the command waited', async () => {
  const vehicle = await fixture.createVehicle();
  const device = await fixture.silent(vehicle);
  await reportDriving(fixture, vehicle, false, 0);
  const first = fixture.act('lock', vehicle);
  const { id } = await device.next();
  const second = fixture.act('immobilize', vehicle);
  await fixture.expectState(vehicle, 'sent', 'pending');
  await reportDriving(fixture, vehicle, true, 50);
  await device.acknowledge({ id, ok: true });
  expect((await first).status).toBe(200);
  expectFailure(await second, 'VEHICLE_MOVING');
  expect(device.heard).toHaveLength(1);
});

it('ends commands that a crash left behind as expired or unknown, without sending them', async () => {
  const vehicle = await patientFixture.createVehicle();
  const device = await patientFixture.connected(vehicle);
  await sql`insert into command (application_id, vehicle_id, device_id, action, state, sent_at, expires_at)
    select ${patientFixture.application.id}, ${Number(vehicle.id)}, ${vehicle.deviceId}, 'UNLOCK', state, now(), now() + interval '0.3 s'
    from unnest(array['sent', 'pending']) state`.execute(patientFixture.platform.db);
  // It waits behind them, and is sent when they have expired.
  expect((await patientFixture.act('lock', vehicle)).body).toEqual({ Status: 'CLOSED' });
  expect(await patientFixture.statesOf(vehicle)).toEqual(['unknown', 'expired', 'acknowledged']);
  expect(device.heard.map(({ action }) => action)).toEqual(['LOCK']);
});

it('ends abandoned commands that no later command follows', async () => {
  const vehicle = await fixture.createVehicle();
  await sql`insert into command (application_id, vehicle_id, device_id, action, state, expires_at)
    select ${fixture.application.id}, ${Number(vehicle.id)}, ${vehicle.deviceId}, 'UNLOCK', state, now()
    from unnest(array['sent', 'pending']) state`.execute(fixture.platform.db);
  await eventually(async () => expect(await fixture.statesOf(vehicle)).toEqual(['unknown', 'expired']));
});
