import type { ApiAnswer } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import {
  type CommandHouse,
  expectFailure,
  patientAckTimeoutMs,
  reportDriving,
  startCommandHouse,
} from './command-house.ts';

let house: CommandHouse;
let patientHouse: CommandHouse;

beforeAll(async () => {
  house = await startCommandHouse();
  patientHouse = await startCommandHouse(patientAckTimeoutMs);
});

afterEach(() => Promise.all([house.disconnectAll(), patientHouse.disconnectAll()]));

afterAll(() => Promise.all([house?.stop(), patientHouse?.stop()]));

it('sends the commands of a vehicle one after the other, in order of arrival, whichever replica took them', async () => {
  const vehicle = await patientHouse.createVehicle();
  const device = await patientHouse.silent(vehicle);
  const answers: Promise<ApiAnswer>[] = [];
  const paths = ['unlock', 'lock', 'honk', 'start', 'immobilize', 'lights/on'];
  for (const [index, path] of paths.entries()) {
    answers.push(patientHouse.act(path, vehicle, index % 2 === 0 ? patientHouse.client : patientHouse.replicaClient));
    await eventually(async () => expect(await patientHouse.rowsOf(vehicle)).toHaveLength(index + 1));
  }
  for (const action of ['UNLOCK', 'LOCK', 'HONK', 'START', 'IMMOBILIZE', 'TURNING-LIGHTS']) {
    const command = await device.next();
    expect(command.action).toBe(action);
    expect((await patientHouse.statesOf(vehicle)).filter((state) => state === 'sent')).toHaveLength(1);
    await device.acknowledge({ id: command.id, ok: true });
  }
  for (const answer of answers) expect((await answer).status).toBe(200);
});

it('never has two commands of a vehicle under way when many arrive at once at two replicas', async () => {
  const vehicle = await patientHouse.createVehicle();
  let underWay = 0;
  let most = 0;
  const device = await patientHouse.connected(vehicle, async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    return { ok: true };
  });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      patientHouse.act('honk', vehicle, index % 2 ? patientHouse.client : patientHouse.replicaClient),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(most).toBe(1);
  expect(new Set(device.heard.map(({ id }) => id)).size).toBe(20);
});

it('answers VEHICLE_BUSY to a command that waited in vain, and never sends it', async () => {
  const vehicle = await house.createVehicle();
  const device = await house.silent(vehicle);
  const first = house.act('lock', vehicle);
  await device.next();
  expectFailure(await house.act('unlock', vehicle, house.replicaClient), 'VEHICLE_BUSY');
  expectFailure(await first, 'NO_ACKNOWLEDGEMENT');
  expect(device.heard.map(({ action }) => action)).toEqual(['LOCK']);
  expect(await house.statesOf(vehicle)).toEqual(['unknown', 'expired']);
});

it('does not let the vehicles wait for each other', async () => {
  const [slow, quick] = [await patientHouse.createVehicle(), await patientHouse.createVehicle()];
  const device = await patientHouse.silent(slow);
  await patientHouse.connected(quick);
  const waiting = patientHouse.act('lock', slow);
  const { id } = await device.next();
  expect((await patientHouse.act('lock', quick)).status).toBe(200);
  expect(await patientHouse.statesOf(slow)).toEqual(['sent']);
  await device.acknowledge({ id, ok: true });
  expect((await waiting).status).toBe(200);
});

it('does not send to the device what waited while the device moved to another vehicle', async () => {
  const vehicle = await house.createVehicle();
  const device = await house.silent(vehicle);
  const first = house.act('lock', vehicle);
  const { id } = await device.next();
  const second = house.act('unlock', vehicle);
  await house.expectState(vehicle, 'sent', 'pending');
  await house.platform.db.deleteFrom('device_link').where('device_id', '=', vehicle.deviceId).execute();
  await device.acknowledge({ id, ok: true });
  expect((await first).status).toBe(200);
  expectFailure(await second, 'NO_DEVICE');
  expect(device.heard).toHaveLength(1);
  await house.expectState(vehicle, 'acknowledged', 'expired');
});

it('does not immobilize a vehicle that drove off while the command waited', async () => {
  const vehicle = await house.createVehicle();
  const device = await house.silent(vehicle);
  await reportDriving(house, vehicle, false, 0);
  const first = house.act('lock', vehicle);
  const { id } = await device.next();
  const second = house.act('immobilize', vehicle);
  await house.expectState(vehicle, 'sent', 'pending');
  await reportDriving(house, vehicle, true, 50);
  await device.acknowledge({ id, ok: true });
  expect((await first).status).toBe(200);
  expectFailure(await second, 'VEHICLE_MOVING');
  expect(device.heard).toHaveLength(1);
});

it('ends the commands that a crash left over as expired and unknown, without sending them', async () => {
  const vehicle = await patientHouse.createVehicle();
  const device = await patientHouse.connected(vehicle);
  await sql`insert into command (application_id, vehicle_id, device_id, action, state, sent_at, expires_at)
    select ${patientHouse.application.id}, ${Number(vehicle.id)}, ${vehicle.deviceId}, 'UNLOCK', state, now(), now() + interval '0.3 s'
    from unnest(array['sent', 'pending']) state`.execute(patientHouse.platform.db);
  // It waits behind them, and goes out when their time is over.
  expect((await patientHouse.act('lock', vehicle)).body).toEqual({ Status: 'CLOSED' });
  expect(await patientHouse.statesOf(vehicle)).toEqual(['unknown', 'expired', 'acknowledged']);
  expect(device.heard.map(({ action }) => action)).toEqual(['LOCK']);
});

it('sweeps the commands that nobody comes after', async () => {
  const vehicle = await house.createVehicle();
  await sql`insert into command (application_id, vehicle_id, device_id, action, state, expires_at)
    select ${house.application.id}, ${Number(vehicle.id)}, ${vehicle.deviceId}, 'UNLOCK', state, now()
    from unnest(array['sent', 'pending']) state`.execute(house.platform.db);
  await eventually(async () => expect(await house.statesOf(vehicle)).toEqual(['unknown', 'expired']));
});
