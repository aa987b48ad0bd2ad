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
import { type Booking, listActive, listOfVehicle } from './queries.ts';

/** Times in whole minutes; an end of null is open. */
interface ModelBooking {
  vehicle: number;
  isFreeFloating: boolean;
  from: number;
  until: number | null;
  isStopped: boolean;
  isDeleted: boolean;
}

/** Everything the rules depend on, in its simplest form. */
interface Model {
  now: number;
  bookings: ModelBooking[];
  /** Times at which vehicles drove. */
  drives: { vehicle: number; at: number }[];
  unavailable: Set<number>;
}

/** A step; `from` and `until` in minutes from now, `booking` counts backwards from the newest, which is 0. */
type Step =
  | { kind: 'create'; vehicle: number; isFreeFloating: boolean; from: number; until: number | null }
  | { kind: 'update'; booking: number; from: number | undefined; until: number | undefined }
  | { kind: 'stop'; booking: number }
  | { kind: 'delete'; booking: number }
  | { kind: 'drive' | 'flag'; vehicle: number }
  | { kind: 'wait'; minutes: number };

function isOver(model: Model, { isStopped, until }: ModelBooking): boolean {
  return isStopped || (until !== null && until <= model.now);
}

function isBadInterval(model: Model, { isFreeFloating, from, until }: ModelBooking, start?: number): boolean {
  if (from !== start && from < model.now - 5) return true;
  return until === null ? !isFreeFloating : until <= from || until <= model.now;
}

function isTaken(model: Model, wanted: ModelBooking, self?: ModelBooking): boolean {
  const end = ({ until }: ModelBooking) => until ?? Number.POSITIVE_INFINITY;
  return model.bookings.some(
    (other) =>
      other !== self &&
      !other.isDeleted &&
      other.vehicle === wanted.vehicle &&
      Math.max(other.from, wanted.from) < Math.min(end(other), end(wanted)),
  );
}

function place(model: Model, wanted: ModelBooking, self?: ModelBooking): string | undefined {
  if (isBadInterval(model, wanted, self?.from)) return 'INVALID_INTERVAL';
  if (model.unavailable.has(wanted.vehicle) || isTaken(model, wanted, self)) return 'VEHICLE_NOT_AVAILABLE';
  return undefined;
}

/** The start of the next booking, at which an open-ended one ends; null without one. */
function nextStart(model: Model, { vehicle, from }: ModelBooking): number | null {
  const starts = model.bookings
    .filter((other) => !other.isDeleted && other.vehicle === vehicle && other.until !== other.from)
    .map((other) => other.from)
    .filter((start) => start > Math.max(from, model.now));
  return starts.length === 0 ? null : Math.min(...starts);
}

function create(model: Model, { vehicle, isFreeFloating, from, until }: Extract<Step, { kind: 'create' }>) {
  const times = { from: model.now + from, until: until === null ? null : model.now + until };
  const wanted = { vehicle, isFreeFloating, ...times, isStopped: false, isDeleted: false };
  if (wanted.until === null && isFreeFloating) wanted.until = nextStart(model, wanted);
  const failure = place(model, wanted);
  if (failure === undefined) model.bookings.push(wanted);
  return failure;
}

function wasDriven(model: Model, { vehicle, from }: ModelBooking): boolean {
  return model.drives.some((drive) => drive.vehicle === vehicle && drive.at >= from);
}

function update(model: Model, booking: ModelBooking, { from, until }: Extract<Step, { kind: 'update' }>) {
  if (isOver(model, booking)) return 'BOOKING_EXPIRED';
  const wanted = { ...booking };
  if (from !== undefined) wanted.from = model.now + from;
  if (until !== undefined) wanted.until = model.now + until;
  const isPostponed = booking.from <= model.now && wanted.from > booking.from;
  const failure = isPostponed && wasDriven(model, booking) ? 'INVALID_INTERVAL' : place(model, wanted, booking);
  if (failure === undefined) Object.assign(booking, wanted);
  return failure;
}

function stop(model: Model, booking: ModelBooking): string | undefined {
  if (booking.isStopped) return undefined;
  if (isOver(model, booking)) return 'BOOKING_EXPIRED';
  Object.assign(booking, { isStopped: true, until: Math.max(booking.from, model.now) });
  return undefined;
}

function remove(model: Model, booking: ModelBooking): string | undefined {
  const { isFreeFloating, from } = booking;
  const isEarly = isFreeFloating && model.now - from <= 10 && !wasDriven(model, booking);
  if (isOver(model, booking) || (from <= model.now && !isEarly)) return 'BOOKING_EXPIRED';
  booking.isDeleted = true;
  return undefined;
}

/** Tells whether the booking is in the list of active ones. */
function isActive(model: Model, booking: ModelBooking): boolean {
  return !booking.isDeleted && !isOver(model, booking) && booking.from <= model.now;
}

/** Applies a step by the rules of bookings in their simplest form. @returns the code of the expected failure */
function applyStep(model: Model, step: Step): string | undefined {
  if (step.kind === 'create') return create(model, step);
  if (step.kind === 'wait') model.now += step.minutes;
  if (step.kind === 'drive') model.drives.push({ vehicle: step.vehicle, at: model.now });
  if (step.kind === 'flag' && !model.unavailable.delete(step.vehicle)) model.unavailable.add(step.vehicle);
  if (!('booking' in step)) return undefined;
  const booking = model.bookings.at(-1 - step.booking);
  if (!booking || booking.isDeleted) return 'NOT_FOUND';
  if (step.kind === 'update') return update(model, booking, step);
  return step.kind === 'stop' ? stop(model, booking) : remove(model, booking);
}

const db: Kysely<Tables> = openDatabase({ url: testDatabaseUrl(), name: 'test', size: 2 });
const issuer = { sealer: new Sealer([randomUUID()], 'device keys'), maxAuthorizationMs: 366 * 86_400_000 };
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
    await sql`update vehicle set unavailable = not unavailable
      where id = ${world.vehicleIds[step.vehicle]}`.execute(db);
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
    { numRuns: 30 },
  );
}, 120_000);
