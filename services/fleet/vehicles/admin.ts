import { Readable } from 'node:stream';
import { findApplicationId } from '@odograph/database/accounts';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import { findVehicleOwner, parseVehicleId } from '@odograph/database/vehicle-access';
import type { Http } from '@odograph/http/http';
import { AppId, answers, DeviceId, pageLimit, VehicleId, word } from '@odograph/http/schemas';
import { type RawBuilder, sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { accessories, DescriptionFields, Plate } from '../common/vehicle-description.ts';

const maxId = 2_147_483_647;
const TankLitres = Type.Number({ minimum: 0, maximum: 1_000_000, description: '0 if unknown' });
const ListedVehicle = Type.Object(
  {
    id: VehicleId,
    plate: Type.String({ examples: ['AB-123-CD'] }),
    vin: Type.String({ examples: ['VF1AG000000000001'] }),
    brand: Type.String({ examples: ['Renault'] }),
    model: Type.String({ examples: ['Zoe'] }),
    energy: Type.String({ examples: ['EL'] }),
    seats: Type.Integer(),
    gearbox: word(['AUTOMATIC', 'MANUAL', '']),
    kind: Type.String({ examples: ['VP'] }),
    accessories: Type.Array(word(accessories)),
    archived: Type.Boolean(),
    deviceId: Type.Union([DeviceId, Type.Null()]),
  },
  { title: 'OperatedVehicle' },
);
type ListedVehicle = Type.Static<typeof ListedVehicle>;

function addExport(http: Http, { db }: Fleet): void {
  const exportSchema = {
    summary: 'Export everything stored about a vehicle, as lines of JSON',
    params: Type.Object({ id: VehicleId }),
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
export const operatedVehicles: FleetRoutes = { operator: [addVehicleRoutes, addExport, addTankCapacityRoute] };

function addVehicleRoutes(http: Http, { db, changes }: Fleet): void {
  const createSchema = {
    summary: 'Create a vehicle of an application',
    body: Type.Object({ appId: AppId, plate: Plate, ...DescriptionFields }),
    response: answers(Type.Object({ id: VehicleId }), 'UNKNOWN_APPLICATION', 'ALREADY_EXISTS'),
  };
  http.post(
    '/v1/x/admin/vehicles',
    { schema: createSchema },
    async ({ body: { appId, plate, vin, brand, model, energy, seats, gearbox, kind, accessories }, ip, operator }) => {
      const applicationId = await findApplicationId(db, appId, operator.applicationIds);
      const description = { plate, vin, brand, model, energy, seats, gearbox, kind, accessories };
      const created = await db.transaction().execute(async (trx) => {
        const id = await createVehicle(trx, applicationId, description);
        await auditChange(trx, operatorOrigin({ ip, operator }, applicationId), 'vehicle.create', `vehicle:${id}`);
        return { id };
      });
      await changes.announce({ vehicleIds: [Number(created.id)] });
      return created;
    },
  );

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
    const applicationId = await findApplicationId(db, query.appId, operator.applicationIds);
    return { vehicles: await listVehicles(db, applicationId, query) };
  });
}

function addTankCapacityRoute(http: Http, { db }: Fleet): void {
  const changeSchema = {
    summary: 'Set the fuel tank capacity of a vehicle in litres',
    params: Type.Object({ id: VehicleId }),
    body: Type.Object({ tankLitres: TankLitres }),
    response: answers(Type.Object({ id: VehicleId, tankLitres: TankLitres }), 'UNKNOWN_VEHICLE'),
  };
  http.put(
    '/v1/x/admin/vehicles/:id',
    { schema: changeSchema },
    async ({ params: { id }, body: { tankLitres }, ip, operator }) =>
      db.transaction().execute(async (trx) => {
        const applicationId = await findVehicleOwner(trx, operator, id);
        await sql`update vehicle set tank_litres = ${tankLitres} where id = ${parseVehicleId(id) ?? 0}`.execute(trx);
        const origin = operatorOrigin({ ip, operator }, applicationId);
        await auditChange(trx, origin, 'vehicle.tank', `vehicle:${id}`, { tankLitres });
        return { id, tankLitres };
      }),
  );
}

const plateIsTaken = 'the application has a vehicle with these letters and digits in its plate already';

/**
 * Creates a vehicle. @returns its id, ten digits
 * @throws Failure ALREADY_EXISTS if the application has a vehicle with the same letters and digits in its plate
 */
export async function createVehicle(
  db: Database,
  applicationId: number,
  description: Omit<ListedVehicle, 'id' | 'archived' | 'deviceId'>,
): Promise<string> {
  const { id } = await failOnConstraint({ vehicle_plate: ['ALREADY_EXISTS', plateIsTaken] }, () =>
    db
      .insertInto('vehicle')
      .values({ application_id: applicationId, ...description })
      .returning('id')
      .executeTakeFirstOrThrow(),
  );
  return String(id);
}

/** Lists the vehicles of an application by id, at most `limit` after the id `after`. */
async function listVehicles(
  db: Database,
  applicationId: number,
  { after, limit }: { after: number; limit: number },
): Promise<ListedVehicle[]> {
  const rows = await db
    .selectFrom('vehicle')
    .leftJoin('device_link', (join) =>
      join.onRef('device_link.vehicle_id', '=', 'vehicle.id').on(sql<boolean>`upper_inf(device_link.period)`),
    )
    .select(['vehicle.id', 'plate', 'vin', 'brand', 'model', 'energy', 'seats', 'gearbox', 'kind', 'accessories'])
    .select(['archived_at', 'device_link.device_id'])
    .where('application_id', '=', applicationId)
    .where('deleted_at', 'is', null)
    .where('vehicle.id', '>', after)
    .orderBy('vehicle.id')
    .limit(limit)
    .execute();
  return rows.map(({ id, archived_at, device_id, gearbox, accessories, ...row }) => ({
    ...row,
    id: String(id),
    gearbox: gearbox as ListedVehicle['gearbox'],
    accessories: accessories as ListedVehicle['accessories'],
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
    select jsonb_strip_nulls(to_jsonb(reading)) - 'application_id' as row, time::text as time from reading
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
