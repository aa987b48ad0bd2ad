import { randomUUID } from 'node:crypto';
import type { CommandState } from '@odograph/contracts/commands';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import fc from 'fast-check';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import {
  acknowledgeCommand,
  endCommand,
  endOverdueCommands,
  insertCommand,
  markSent,
  type NewCommand,
} from './commands.ts';
import { findTarget } from './rules.ts';
import { createStaleFinder } from './service.ts';

const platform = await usePlatform([]);
const application = await createApplication(platform.db);

async function newCommand(idempotencyKey?: string): Promise<NewCommand> {
  const { id, deviceId } = await createVehicle(platform.db, application);
  const caller = { applicationId: application.id };
  const vehicleId = Number(id);
  return {
    id: randomUUID(),
    caller,
    address: '127.0.0.1',
    vehicleId,
    deviceId,
    action: 'LOCK',
    idempotencyKey,
    remainingMs: 60_000,
  };
}

async function statesOf({ vehicleId }: NewCommand): Promise<CommandState[]> {
  const rows = platform.db.selectFrom('command').select('state').where('vehicle_id', '=', vehicleId);
  return (await rows.orderBy('position').execute()).map(({ state }) => state);
}

interface Step {
  readonly verb: 'insert' | 'send' | 'end' | 'acknowledge' | 'refuse' | 'acknowledgeAsAnother';
  /** Which command of the vehicle it is about; one that does not exist is about none. */
  readonly index: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  verb: fc.constantFrom('insert', 'insert', 'send', 'end', 'acknowledge', 'refuse', 'acknowledgeAsAnother'),
  index: fc.nat({ max: 4 }),
});

const isActive = (state: CommandState) => state === 'pending' || state === 'sent';

/** The state machine as a table: from which state a step leads where; from any other it leads nowhere. */
const transitions: Record<Step['verb'], Partial<Record<CommandState, CommandState>>> = {
  insert: {},
  send: { pending: 'sent' },
  end: { pending: 'expired', sent: 'unknown' },
  acknowledge: { sent: 'acknowledged', unknown: 'acknowledged' },
  refuse: { sent: 'refused', unknown: 'refused' },
  acknowledgeAsAnother: {},
};

/** The states of the vehicle's commands after a step. */
function modelled(states: readonly CommandState[], { verb, index }: Step): CommandState[] {
  if (verb === 'insert') return [...states, states.some(isActive) ? 'pending' : 'sent'];
  const waits = states.some((state, other) => state === 'sent' || (other < index && state === 'pending'));
  if (verb === 'send' && waits) return [...states];
  return states.map((state, at) => (at === index ? (transitions[verb][state] ?? state) : state));
}

async function take({ verb, index }: Step, template: NewCommand, ids: string[]): Promise<void> {
  const { db } = platform;
  const id = ids[index] ?? randomUUID();
  const { deviceId } = template;
  switch (verb) {
    case 'insert': {
      const created = await insertCommand(db, { ...template, id: randomUUID() });
      ids.push(created?.id ?? '');
      break;
    }
    case 'send':
      await markSent(db, id);
      break;
    case 'end': {
      const ended = await endCommand(db, id);
      const pending = db.selectFrom('command').select('id').where('vehicle_id', '=', template.vehicleId);
      const [next] = await pending.where('state', '=', 'pending').orderBy('position').limit(1).execute();
      if (ended && ended.nextId !== next?.id) throw new Error('endCommand returned the wrong next command');
      break;
    }
    case 'acknowledgeAsAnother':
      await acknowledgeCommand(db, 'another', { id, ok: true }, Date.now());
      break;
    default:
      await acknowledgeCommand(db, deviceId, { id, ok: verb === 'acknowledge' }, Date.now());
  }
}

it('changes states only as the state machine permits, with at most one command of a vehicle in flight', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), async (steps) => {
      const template = await newCommand();
      const ids: string[] = [];
      let states: CommandState[] = [];
      for (const taken of steps) {
        states = modelled(states, taken);
        await take(taken, template, ids);
        expect(await statesOf(template)).toEqual(states);
        expect(states.filter((state) => state === 'sent').length).toBeLessThanOrEqual(1);
      }
    }),
    { numRuns: 60 },
  );
});

it('lets one of many commands that are made at the same moment go first', async () => {
  const template = await newCommand();
  const ids = Array.from({ length: 12 }, () => randomUUID());
  const made = await Promise.all(ids.map((id) => insertCommand(platform.db, { ...template, id })));
  expect(made.filter((command) => command?.state === 'sent')).toHaveLength(1);
  expect(made.filter((command) => command?.state === 'pending')).toHaveLength(11);
});

it('makes one command of many with the same key at the same moment', async () => {
  const template = await newCommand(randomUUID());
  const ids = Array.from({ length: 12 }, () => randomUUID());
  const made = await Promise.all(ids.map((id) => insertCommand(platform.db, { ...template, id })));
  expect(made.filter((command) => command !== undefined)).toHaveLength(1);
  expect(await statesOf(template)).toEqual(['sent']);
});

it('does not send a command whose time is over, or whose device left the vehicle', async () => {
  const first = await newCommand();
  await insertCommand(platform.db, first);
  const [late, moved] = [randomUUID(), randomUUID()];
  await insertCommand(platform.db, { ...first, id: late, remainingMs: -1 });
  await insertCommand(platform.db, { ...first, id: moved });
  await endCommand(platform.db, first.id);
  expect(await markSent(platform.db, late)).toBeUndefined();
  await endCommand(platform.db, late);
  await platform.db.deleteFrom('device_link').where('device_id', '=', first.deviceId).execute();
  expect(await markSent(platform.db, moved)).toBeUndefined();
  expect(await statesOf(first)).toEqual(['unknown', 'expired', 'pending']);
});

it('leaves a row in the audit for each request and each outcome, and none for what changed nothing', async () => {
  const { db } = platform;
  const first = { ...(await newCommand('key')), address: '192.0.2.7' };
  const user = await db
    .insertInto('user_account')
    .values({ application_id: application.id, username: randomUUID(), password_hash: '-' })
    .returning('id')
    .executeTakeFirstOrThrow();
  const byUser = {
    ...first,
    id: randomUUID(),
    caller: { ...first.caller, userId: user.id },
    idempotencyKey: undefined,
  };
  await insertCommand(db, first);
  await insertCommand(db, { ...first, id: randomUUID() });
  await insertCommand(db, byUser);
  await acknowledgeCommand(db, 'another', { id: first.id, ok: true }, Date.now());
  await endCommand(db, first.id);
  await endCommand(db, first.id);
  await acknowledgeCommand(db, first.deviceId, { id: first.id, ok: false, reason: 'no' }, Date.now());
  await acknowledgeCommand(db, first.deviceId, { id: first.id, ok: true }, Date.now());
  await sql`update command set expires_at = now() where id = ${byUser.id}`.execute(db);
  await endOverdueCommands(db, first.vehicleId);
  const { rows } = await sql`select actor, address, action, details, outcome from audit
    where subject = ${`vehicle:${first.vehicleId}`} order by position`.execute(db);
  const action = 'command.lock';
  expect(rows).toEqual(
    [
      ['application', '192.0.2.7', { commandId: first.id }, 'requested'],
      [`user:${user.id}`, '192.0.2.7', { commandId: byUser.id }, 'requested'],
      ['platform', '', { commandId: first.id, cause: 'NO_ACKNOWLEDGEMENT' }, 'unknown'],
      [`device:${first.deviceId}`, '', { commandId: first.id, cause: 'REFUSED' }, 'refused'],
      ['platform', '', { commandId: byUser.id, cause: 'VEHICLE_BUSY' }, 'expired'],
    ].map(([actor, address, details, outcome]) => ({ actor, address, action, details, outcome })),
  );
});

it('a command ends after its maximum time in flight, even when the clock of the database is set back', async () => {
  const command = await newCommand();
  const other = await newCommand();
  await insertCommand(platform.db, command);
  await insertCommand(platform.db, other);
  await sql`update command set expires_at = expires_at + interval '1 hour'
    where id = ${command.id}`.execute(platform.db);
  let nowMs = 0;
  const find = createStaleFinder(platform.db, () => nowMs);
  const found = async () => (await find()).filter((id) => id === command.id || id === other.id);
  expect(await found()).toEqual([]);
  nowMs = 120_000;
  expect(await found()).toEqual([]);
  nowMs = 120_001;
  expect(await found()).toEqual([command.id]);
  await endCommand(platform.db, command.id);
  expect(await found()).toEqual([]);
});

/** The field group `fleet` after a LOCK is acknowledged, reported before so many seconds ago. */
async function fleetAfterLock(
  reportedSecondsAgo: number,
  status?: string,
  acknowledgedSecondsAgo = 0,
): Promise<unknown> {
  const command = await newCommand();
  await sql`insert into vehicle_latest (vehicle_id, time, received_at, fleet, fleet_time)
    select ${command.vehicleId}::integer, reported, now(), '{"lock": "UNLOCKED", "fuel": 5}', reported
    from (select now() - make_interval(secs => ${reportedSecondsAgo}) as reported) as one`.execute(platform.db);
  await insertCommand(platform.db, command);
  const acknowledgement = { id: command.id, ok: true, ...(status !== undefined && { status }) };
  for (let delivery = 0; delivery < 2; delivery += 1) {
    await acknowledgeCommand(
      platform.db,
      command.deviceId,
      acknowledgement,
      Date.now() - acknowledgedSecondsAgo * 1000,
    );
  }
  const { rows } = await sql<{ fleet: unknown }>`select fleet from vehicle_latest
    where vehicle_id = ${command.vehicleId}::integer`.execute(platform.db);
  return rows[0]?.fleet;
}

it('sets the lock in the latest state even when the acknowledgement arrives after the timeout', async () => {
  const command = await newCommand();
  await sql`insert into vehicle_latest (vehicle_id, time, received_at)
    values (${command.vehicleId}::integer, now(), now())`.execute(platform.db);
  await insertCommand(platform.db, command);
  await endCommand(platform.db, command.id);
  expect(await statesOf(command)).toEqual(['unknown']);
  await acknowledgeCommand(platform.db, command.deviceId, { id: command.id, ok: true }, Date.now());
  const { rows } = await sql`select fleet from vehicle_latest
    where vehicle_id = ${command.vehicleId}::integer`.execute(platform.db);
  expect(rows).toEqual([{ fleet: { lock: 'LOCKED' } }]);
});

it('keeps the state of a later command when an earlier one is acknowledged late', async () => {
  const lock = await newCommand();
  const { vehicleId, deviceId } = lock;
  const unlock = { ...lock, id: randomUUID(), action: 'UNLOCK' } as const;
  const start = { ...lock, id: randomUUID(), action: 'START' } as const;
  await sql`insert into vehicle_latest (vehicle_id, time, received_at)
    values (${vehicleId}::integer, now(), now())`.execute(platform.db);
  for (const command of [lock, unlock, start]) {
    await insertCommand(platform.db, command);
    await endCommand(platform.db, command.id);
  }
  for (const { id } of [unlock, lock, start]) {
    await acknowledgeCommand(platform.db, deviceId, { id, ok: true }, Date.now());
  }
  const { rows } = await sql`select fleet from vehicle_latest where vehicle_id = ${vehicleId}::integer`.execute(
    platform.db,
  );
  expect(rows).toEqual([{ fleet: { lock: 'UNLOCKED', immobilizer: 'UNLOCKED' } }]);
});

it('sets the acknowledged lock in the latest state, unless telemetry is newer or the device reports the opposite', async () => {
  expect(await fleetAfterLock(60)).toEqual({ lock: 'LOCKED', fuel: 5 });
  expect(await fleetAfterLock(60, 'OPEN')).toEqual({ lock: 'UNLOCKED', fuel: 5 });
  expect(await fleetAfterLock(-60)).toEqual({ lock: 'UNLOCKED', fuel: 5 });
  expect(await fleetAfterLock(60, undefined, 120)).toEqual({ lock: 'UNLOCKED', fuel: 5 });
});

it('reads the last reported ignition, engine and speeds, each speed with its own time', async () => {
  const { caller, vehicleId } = await newCommand();
  await sql`insert into vehicle_latest (vehicle_id, time, received_at, status, location, location_time, fleet, fleet_time)
    values (${vehicleId}::integer, now(), now(), '{"ignition": true}', '{"speed": 30}', to_timestamp(1),
      '{"engine": "ON", "speed": 40}', to_timestamp(2))`.execute(platform.db);
  const { reported } = await findTarget(platform.db, caller, String(vehicleId), 'use');
  const speeds = { locationSpeedKmh: 30, locationTimeMs: 1000, fleetSpeedKmh: 40, fleetTimeMs: 2000 };
  expect(reported).toEqual({ ignition: true, engine: 'ON', ...speeds });
});
