import { Readable } from 'node:stream';
import { Failure } from '@odograph/contracts/failures';
import { findApplicationId } from '@odograph/database/accounts';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { raiseIngestBarrier } from '@odograph/database/ingest-barrier';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import { findVehicleOwner, parseVehicleId } from '@odograph/database/vehicle-access';
import type { Http } from '@odograph/http/http';
import { AppId, answers, DeviceId, pageLimit, VehicleId } from '@odograph/http/schemas';
import { type RawBuilder, sql } from 'kysely';
import Type, { type Static } from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { DescribedVehicle, DescriptionFields, Plate } from '../common/vehicle-description.ts';

const maxId = 2_147_483_647;
const VehiclePath = Type.Object({ id: VehicleId });
const ListedVehicle = Type.Object(
  {
    id: VehicleId,
    ...DescribedVehicle.properties,
    archived: Type.Boolean(),
    deviceId: Type.Union([DeviceId, Type.Null()]),
  },
  { title: 'OperatedVehicle' },
);
type ListedVehicle = Static<typeof ListedVehicle>;

function addExport(http: Http, { db }: Fleet): void {
  const exportSchema = {
    summary: 'Export everything stored about a vehicle, as lines of JSON',
    params: VehiclePath,
    produces: ['text/x-ndjson'],
    response: answers(Type.Unsafe<Readable>({ type: 'string' }), 'UNKNOWN_VEHICLE'),
  };
  http.get(
    '/v1/x/admin/vehicles/:id/export',
    { schema: exportSchema },
    async ({ params: { id }, ip, operator }, reply) => {
      const applicationId = await findVehicleOwner(db, operator, id);
      const subject = `vehicle:${id}`;
      await auditChange(db, operatorOrigin({ ip, operator }, applicationId), 'vehicle.export', subject);
      reply.header('content-disposition', `attachment; filename="vehicle-${id}.ndjson"`);
      return reply.type('text/x-ndjson').send(Readable.from(exportVehicle(db, Number(id))));
    },
  );
}

/** The operator's routes for vehicles. */
export const operatedVehicles: FleetRoutes = {
  operator: [addCreation, addReadRoutes, addChange, addExport],
};

function addCreation(http: Http, { db, changes }: Fleet): void {
  const createSchema = {
    summary: 'Create a vehicle of an application',
    body: Type.Object({ appId: AppId, plate: Plate, ...DescriptionFields }),
    response: answers(Type.Object({ id: VehicleId }), 'UNKNOWN_APPLICATION', 'ALREADY_EXISTS'),
  };
  http.post('/v1/x/admin/vehicles', { schema: createSchema }, async ({ body, ip, operator }) => {
    const { appId, ...description } = body;
    const applicationId = await findApplicationId(db, appId, operator.applicationIds);
    const created = await db.transaction().execute(async (trx) => {
      const id = await createVehicle(trx, applicationId, description);
      await auditChange(trx, operatorOrigin({ ip, operator }, applicationId), 'vehicle.create', `vehicle:${id}`);
      return { id };
    });
    await changes.announce({ vehicleIds: [Number(created.id)] });
    return created;
  });
}

function addReadRoutes(http: Http, { db }: Fleet): void {
  const listSchema = {
    summary: 'List the vehicles of an application with their devices',
    querystring: Type.Object({
      appId: AppId,
      limit: pageLimit,
      after: Type.Integer({ minimum: 0, maximum: maxId, default: 0 }),
    }),
    response: answers(Type.Object({ vehicles: Type.Array(ListedVehicle) }), 'UNKNOWN_APPLICATION'),
  };
  http.get('/v1/x/admin/vehicles', { schema: listSchema }, async ({ query, operator }) => {
    const { after, limit } = query;
    const applicationId = await findApplicationId(db, query.appId, operator.applicationIds);
    const page = sql<boolean>`vehicle.application_id = ${applicationId} and vehicle.id > ${after}`;
    return { vehicles: await findVehicles(db, page, limit) };
  });

  const showSchema = {
    summary: 'Show a vehicle with its device, even if it is archived',
    params: VehiclePath,
    response: answers(ListedVehicle, 'UNKNOWN_VEHICLE'),
  };
  http.get('/v1/x/admin/vehicles/:id', { schema: showSchema }, async ({ params: { id }, operator }) => {
    await findVehicleOwner(db, operator, id);
    return findOperated(db, id);
  });
}

function addChange(http: Http, { db, changes }: Fleet): void {
  const changeSchema = {
    summary: 'Change the description of a vehicle; omitted members keep their values',
    params: VehiclePath,
    body: Type.Partial(DescribedVehicle),
    response: answers(ListedVehicle, 'UNKNOWN_VEHICLE', 'ALREADY_EXISTS', 'VEHICLE_ARCHIVED'),
  };
  http.put('/v1/x/admin/vehicles/:id', { schema: changeSchema }, async ({ params: { id }, body, ip, operator }) => {
    const changed = await db.transaction().execute(async (trx) => {
      const applicationId = await findVehicleOwner(trx, operator, id);
      await changeVehicle(trx, id, toRow(body));
      // Names without values: deleting a vehicle purges its values, but not the audit.
      const changed = Object.keys(DescribedVehicle.properties).filter((name) => name in body);
      const details = { changed: changed.join(' ') };
      await auditChange(
        trx,
        operatorOrigin({ ip, operator }, applicationId),
        'vehicle.change',
        `vehicle:${id}`,
        details,
      );
      return findOperated(trx, id);
    });
    await changes.announce({ vehicleIds: [Number(id)] });
    return changed;
  });
}

const plateIsTaken = 'the application has a vehicle with these letters and digits in its plate already';

/** Converts a description to columns. A body also contains the path parameters, which are no columns. */
function toRow({ plate, vin, brand, model, energy, ...rest }: Partial<DescribedVehicle>) {
  const { seats, gearbox, kind, accessories, tankLitres: tank_litres } = rest;
  return { plate: plate?.normalize('NFC'), vin, brand, model, energy, seats, gearbox, kind, accessories, tank_litres };
}

/**
 * Creates a vehicle; the transaction stays usable after a failure. @returns its id, ten digits
 * @throws Failure ALREADY_EXISTS if the application has a vehicle with the same letters and digits in its plate
 */
export async function createVehicle(db: Database, applicationId: number, vehicle: DescribedVehicle): Promise<string> {
  const created = await db
    .insertInto('vehicle')
    .values({ ...toRow(vehicle), application_id: applicationId, plate: vehicle.plate.normalize('NFC') })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  if (!created) throw new Failure('ALREADY_EXISTS', plateIsTaken, { field: 'plate' });
  return String(created.id);
}

/** @throws Failure ALREADY_EXISTS, VEHICLE_ARCHIVED */
async function changeVehicle(db: Database, id: string, row: ReturnType<typeof toRow>): Promise<void> {
  const vehicleId = parseVehicleId(id) ?? 0;
  // A new model waits for ingest, as links do before they lock their vehicle.
  if (row.model !== undefined) await raiseIngestBarrier(db);
  const { archived_at } = await db
    .selectFrom('vehicle')
    .select('archived_at')
    .where('id', '=', vehicleId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
  if (archived_at !== null) throw new Failure('VEHICLE_ARCHIVED');
  if (Object.values(row).every((value) => value === undefined)) return;
  await failOnConstraint({ vehicle_plate: ['ALREADY_EXISTS', plateIsTaken, { field: 'plate' }] }, () =>
    db.updateTable('vehicle').set(row).where('id', '=', vehicleId).execute(),
  );
}

/** Finds a vehicle by its id. @throws Failure UNKNOWN_VEHICLE */
async function findOperated(db: Database, id: string): Promise<ListedVehicle> {
  const [vehicle] = await findVehicles(db, sql<boolean>`vehicle.id = ${parseVehicleId(id) ?? 0}`, 1);
  if (!vehicle) throw new Failure('UNKNOWN_VEHICLE');
  return vehicle;
}

/** Finds vehicles that are not deleted, by id, at most `limit`. */
async function findVehicles(db: Database, condition: RawBuilder<boolean>, limit: number): Promise<ListedVehicle[]> {
  const rows = await db
    .selectFrom('vehicle')
    .leftJoin('device_link', (join) =>
      join.onRef('device_link.vehicle_id', '=', 'vehicle.id').on(sql<boolean>`upper_inf(device_link.period)`),
    )
    .select(['vehicle.id', 'plate', 'vin', 'brand', 'model', 'energy', 'seats', 'gearbox', 'kind', 'accessories'])
    .select(['tank_litres', 'archived_at', 'device_link.device_id'])
    .where(condition)
    .where('deleted_at', 'is', null)
    .orderBy('vehicle.id')
    .limit(limit)
    .execute();
  return rows.map(({ id, archived_at, device_id, tank_litres, gearbox, accessories, ...row }) => ({
    ...row,
    id: String(id),
    gearbox: gearbox as ListedVehicle['gearbox'],
    accessories: accessories as ListedVehicle['accessories'],
    tankLitres: tank_litres,
    archived: archived_at !== null,
    deviceId: device_id,
  }));
}

/** Readings of one query: the answer is written while the next ones are read. */
const pageReadings = 2000;

/** The rows stored about a vehicle besides its readings, in the order of time. */
const kinds = {
  vehicle: (id) => sql`select to_jsonb(vehicle) - 'search_text' as row from vehicle where id = ${id}`,
  link: (id) => sql`select to_jsonb(one) as row from device_link as one where vehicle_id = ${id} order by period`,
  privacy: (id) => sql`select to_jsonb(one) as row from privacy_period as one where vehicle_id = ${id} order by period`,
  grant: (id) =>
    sql`select to_jsonb(one) as row from vehicle_grant as one where vehicle_id = ${id} order by created_at`,
  booking: (id) => sql`select to_jsonb(one) as row from booking as one where vehicle_id = ${id} order by starts_at`,
  authorization: (id) => sql`select to_jsonb(one) as row from bluetooth_authorization as one
    where vehicle_id = ${id} order by valid_from`,
  command: (id) => sql`select to_jsonb(one) - 'idempotency_key' as row from command as one
    where vehicle_id = ${id} order by position`,
  alarm: (id) => sql`select to_jsonb(one) as row from alarm as one where vehicle_id = ${id} order by raised_at`,
  trip: (id) => sql`select to_jsonb(one) as row from trip as one where vehicle_id = ${id} order by started_at`,
} as const satisfies Readonly<Record<string, (vehicleId: number) => RawBuilder<unknown>>>;

type Row = Readonly<Record<string, unknown>>;

const lineOf = (kind: string, row: Row): string => `${JSON.stringify({ kind, row })}\n`;

/** Reads the readings behind a time, the oldest ones first. */
async function readPage(db: Database, vehicleId: number, after: string) {
  const { rows } = await sql<{ row: Row; time: string }>`
    select jsonb_strip_nulls(to_jsonb(reading)) - 'application_id' as row, time::text as time from reading_in_units as reading
    where vehicle_id = ${vehicleId} and time > ${after}::timestamptz order by time limit ${pageReadings}`.execute(db);
  return rows;
}

/** Writes everything stored about a vehicle as lines of JSON, each a `row` with its `kind`; readings come last. */
async function* exportVehicle(db: Database, vehicleId: number): AsyncGenerator<string> {
  for (const [kind, select] of Object.entries(kinds)) {
    const { rows } = await sql<{ row: Row }>`${select(vehicleId)}`.execute(db);
    yield rows.map(({ row }) => lineOf(kind, row)).join('');
  }
  for (let after: string | undefined = '-infinity'; after !== undefined; ) {
    const rows: { row: Row; time: string }[] = await readPage(db, vehicleId, after);
    yield rows.map(({ row }) => lineOf('reading', row)).join('');
    after = rows.length < pageReadings ? undefined : rows.at(-1)?.time;
  }
}
