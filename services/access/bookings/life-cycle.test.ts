import { randomUUID } from 'node:crypto';
import { Failure } from '@odograph/contracts/failures';
import { type Database, openDatabase } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { RequestContext } from '@odograph/http/http';
import { Sealer } from '@odograph/runtime/sealing';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import fc from 'fast-check';
import { type Kysely, sql } from 'kysely';
import { afterAll, expect, it } from 'vitest';
import { createBooking, deleteBooking, stopBooking, updateBooking } from './life-cycle.ts';
import { applyStep, isActive, type Model, type Step } from './life-cycle-model.fixture.ts';
import { type Booking, listActive, listOfVehicle } from './queries.ts';

const db: Kysely<Tables> = openDatabase({ url: testDatabaseUrl(), name: 'test', size: 2 });
const issuer = { sealer: new Sealer([randomUUID()], 'device keys'), longestAuthorizationMs: 366 * 86_400_000 };
afterAll(() => db.destroy());

const minuteMs = 60_000;
const start = Math.floor(Date.now() / minuteMs) * minuteMs;
const moment = (minute: number) => new Date(start + minute * minuteMs);
const minuteOf = (date: Date) => (date.getTime() - start) / minuteMs;

/** The platform's counterparts of the model's vehicles and bookings. */
interface World {
  applicationId: number;
  vehicleIds: number[];
  bookingIds: string[];
}

async function createWorld(): Promise<World> {
  const application = await createApplication(db);
  const vehicles = [await createVehicle(db, application), await createVehicle(db, application)];
  return { applicationId: application.id, vehicleIds: vehicles.map(({ id }) => Number(id)), bookingIds: [] };
}

async function change(trx: Database, world: World, step: Step, context: RequestContext): Promise<unknown> {
  const at = (minutes: number) => new Date(context.now.getTime() + minutes * minuteMs);
  if (step.kind === 'create') {
    const { booking } = await createBooking(trx, issuer, context, {
      vehicleId: String(world.vehicleIds[step.vehicle]),
      type: step.isFreeFloating ? 'FREE_FLOATING' : 'BOOKING',
      driver: 'driver',
      interval: { from: at(step.from), until: step.until === null ? undefined : at(step.until) },
    });
    return world.bookingIds.push(booking.id);
  }
  if (!('booking' in step)) return undefined;
  const id = world.bookingIds.at(-1 - step.booking) ?? randomUUID();
  if (step.kind === 'stop') return stopBooking(trx, context, id);
  if (step.kind === 'delete') return deleteBooking(trx, context, id);
  const from = step.from === undefined ? undefined : at(step.from);
  const until = step.until === undefined ? undefined : at(step.until);
  return updateBooking(trx, issuer, context, { id, from, until });
}

async function perform(world: World, step: Step, now: number): Promise<string | undefined> {
  const context = { caller: { applicationId: world.applicationId }, address: '127.0.0.1', now: moment(now) };
  if (step.kind === 'drive') {
    await sql`insert into reading (time, application_id, vehicle_id, movement, device_id, received_at)
      values (${context.now}, ${world.applicationId}, ${world.vehicleIds[step.vehicle]}, true, 'test', now())
      on conflict do nothing`.execute(db);
  }
  if (step.kind === 'flag') {
    await sql`update vehicle set unavailable = not unavailable where id = ${world.vehicleIds[step.vehicle]}`.execute(
      db,
    );
  }
  try {
    await db.transaction().execute((trx) => change(trx, world, step, context));
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error.code;
    throw error;
  }
}

/** Reads the bookings in the form of the model. */
async function shown(world: World, now: number) {
  const caller = { applicationId: world.applicationId };
  const describe = ({ id, from, until, type }: Booking) => ({
    booking: world.bookingIds.indexOf(id),
    isFreeFloating: type === 'FREE_FLOATING',
    from: minuteOf(from),
    until: until === undefined ? null : minuteOf(until),
  });
  const ofVehicles = [];
  for (const id of world.vehicleIds)
    ofVehicles.push(...(await listOfVehicle(db, caller, id, { offset: 0, count: 99 })));
  const active = await listActive(db, caller, moment(now));
  return {
    bookings: ofVehicles.map(describe).sort((a, b) => a.booking - b.booking),
    active: active.map(({ id }) => world.bookingIds.indexOf(id)).sort((a, b) => a - b),
  };
}

function expected(model: Model) {
  const all = model.bookings.map((booking, index) => ({ ...booking, booking: index }));
  return {
    bookings: all
      .filter(({ isDeleted }) => !isDeleted)
      .map(({ booking, isFreeFloating, from, until }) => ({ booking, isFreeFloating, from, until })),
    active: all.filter((booking) => isActive(model, booking)).map(({ booking }) => booking),
  };
}

/** Reads the authorizations that are not revoked, each with its booking. */
async function authorizationsOf(world: World) {
  const { rows } = await sql<{ id: string; from: Date; until: Date | null; level: string }>`
    select booking.id, valid_from as "from", level,
      case when booking.ends_at is null and valid_until > valid_from + interval '29 days' then null
      else valid_until end as until
    from bluetooth_authorization issued
    left join booking on booking.authorization_id = issued.id and booking.vehicle_id = issued.vehicle_id
    where issued.vehicle_id = any(${world.vehicleIds}::integer[]) and issued.revoked_at is null`.execute(db);
  return rows
    .map(({ id, from, until, level }) => ({
      ...{ booking: world.bookingIds.indexOf(id), level, from: minuteOf(from) },
      until: until === null ? null : minuteOf(until),
    }))
    .sort((a, b) => a.booking - b.booking);
}

function expectedAuthorizations(model: Model) {
  return model.bookings.flatMap(({ from, until, isStopped, isDeleted }, booking) =>
    isStopped || isDeleted ? [] : [{ booking, level: 'DRIVE', from, until }],
  );
}

const vehicle = fc.constantFrom(0, 0, 1);
const booking = fc.constantFrom(0, 0, 0, 1, 2, 9);
// Few values, so that bounds are often met exactly.
const from = fc.constantFrom(-6, -5, -1, 0, 0, 0, 5, 10);
const ends = [-5, 0, 5, 10, 11, 20, 40, 40] as const;
const end = fc.constantFrom(...ends);
const until = fc.constantFrom(...ends, null, null);
const minutes = fc.constantFrom(1, 4, 5, 10, 11);
const kind = <Kind extends string>(word: Kind) => fc.constant(word);
const isFreeFloating = fc.boolean();
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: kind('create'), vehicle, isFreeFloating, from, until }) },
  {
    weight: 4,
    arbitrary: fc.record({
      ...{ kind: kind('update'), booking },
      from: fc.option(from, { nil: undefined }),
      until: fc.option(end, { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: kind('stop'), booking }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('delete'), booking }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('drive'), vehicle }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('flag'), vehicle }) },
  { weight: 5, arbitrary: fc.record({ kind: kind('wait'), minutes }) },
);

it('creates, changes, stops and deletes bookings like a simple model, with matching authorizations', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 40, size: 'max' }), async (steps) => {
      const world = await createWorld();
      const model: Model = { now: 0, bookings: [], drives: [], unavailable: new Set() };
      for (const step of steps) {
        expect(await perform(world, step, model.now)).toBe(applyStep(model, step));
        expect(await shown(world, model.now)).toEqual(expected(model));
      }
      expect(await authorizationsOf(world)).toEqual(expectedAuthorizations(model));
    }),
    { numRuns: 60 },
  );
}, 120_000);
