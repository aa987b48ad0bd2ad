import type { Caller } from '@odograph/contracts/caller';
import { invalidParameter } from '@odograph/contracts/failures';
import { findApplicationId } from '@odograph/database/accounts';
import { appendAudit, auditChange, operatorOrigin, originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, EmptyAnswer, Flag, isTrue, text, VehicleId, word } from '@odograph/http/schemas';
import { sql } from 'kysely';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { Default } from 'typebox/value';
import { checkLine, importBody, importFile, importOutcome, maxLines } from '../common/csv-import.ts';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { DescriptionFields, Plate } from '../common/vehicle-description.ts';
import { changeLinks } from '../devices/links.ts';
import { createVehicle, operatedVehicles } from './admin.ts';
import { mileage } from './mileage.ts';
import { privacy } from './privacy.ts';
import {
  deleteVehicle,
  findDetailById,
  findDetailByPlate,
  insertRequest,
  lockVehicleForUse,
  setArchived,
  VehicleDetail,
} from './queries.ts';
import { requests } from './requests.ts';

const maxRequestLength = 10_000;

const route = { tags: ['vehicles and devices'] };

function addRequestRoute(http: Http, { db }: Fleet): void {
  const requestSchema = {
    ...route,
    summary: 'Request a vehicle; the operator decides',
    body: Type.Object({
      plate: Plate,
      request: Type.Unsafe<string>({
        ...text(0, maxRequestLength, { examples: ['OBD device with trips'] }),
        default: '',
        description: 'what is requested, such as the type of device',
      }),
    }),
    response: answers(
      Type.Object({ request_id: Type.String({ examples: ['0197a1de-5f0e-7000-8000-000000000005'] }) }),
      'UNAUTHORIZED',
    ),
  };
  http.post('/v1/vehicle', { preValidation: leaveOutEmpty('request'), schema: requestSchema }, async (request) => {
    const { caller, body } = request;
    return db.transaction().execute(async (trx) => {
      const id = await insertRequest(trx, caller, body);
      const subject = `request:${id}`;
      await auditChange(trx, originOf(request), 'request.create', subject);
      return { request_id: id };
    });
  });
}

function addSearchRoutes(http: Http, { db }: Fleet): void {
  const findOptions = {
    preValidation: leaveOutEmpty('id', 'plate'),
    schema: {
      ...route,
      summary: 'Find a vehicle by its id or plate',
      querystring: Type.Object({
        id: Type.Optional(VehicleId),
        plate: Type.Optional(text(1, 256, { description: 'license plate, instead of id', examples: ['AB-123-CD'] })),
      }),
      exactlyOne: ['id', 'plate'],
      response: answers(VehicleDetail, 'UNKNOWN_VEHICLE'),
    },
  };
  http.get('/v1/vehicle', findOptions, async ({ caller, query: { id, plate } }) => {
    if (id !== undefined && plate !== undefined) throw invalidParameter('plate', 'and id are mutually exclusive');
    if (id !== undefined) return findDetailById(db, caller, id);
    if (plate !== undefined) return findDetailByPlate(db, caller, plate);
    throw invalidParameter('id', 'or plate is missing');
  });

  const showSchema = {
    ...route,
    summary: 'Find a vehicle',
    params: Type.Object({ id: VehicleId }),
    response: answers(VehicleDetail, 'UNKNOWN_VEHICLE'),
  };
  http.get('/v1/vehicle/:id', { schema: showSchema }, async ({ caller, params }) =>
    findDetailById(db, caller, params.id),
  );
}

function addChangeRoutes(http: Http, { db, changes }: Fleet): void {
  const archiveSchema = {
    ...route,
    summary: 'Archive or reactivate a vehicle',
    body: Type.Object({ id: VehicleId, archived: Flag }),
    response: answers(
      Type.Object({ id: VehicleId, archived: word(['true', 'false']) }, { title: 'ArchivedVehicle' }),
      'UNKNOWN_VEHICLE',
      'UNAUTHORIZED',
    ),
  };
  http.put('/v1/vehicle', { schema: archiveSchema }, async (request) => {
    const { caller, body } = request;
    const archived = isTrue(body.archived);
    await db.transaction().execute(async (trx) => {
      const changed = await setArchived(trx, caller, body.id, archived);
      await appendAudit(trx, {
        ...originOf(request),
        action: archived ? 'vehicle.archive' : 'vehicle.reactivate',
        subject: `vehicle:${body.id}`,
        outcome: changed ? 'done' : 'unchanged',
      });
    });
    await changes.announce({ vehicleIds: [Number(body.id)] });
    return { id: body.id, archived: String(archived) };
  });

  const deleteSchema = {
    ...route,
    summary: 'Delete a vehicle; its data is purged in the background',
    body: Type.Object({ id: VehicleId }),
    response: answers(EmptyAnswer, 'UNKNOWN_VEHICLE', 'UNAUTHORIZED'),
  };
  http.delete('/v1/vehicle', { schema: deleteSchema }, async (request) => {
    const { caller, body } = request;
    await changeLinks(db, async (trx) => {
      await deleteVehicle(trx, caller, body.id);
      const subject = `vehicle:${body.id}`;
      await auditChange(trx, originOf(request), 'vehicle.delete', subject);
    });
    await changes.announce({ vehicleIds: [Number(body.id)] });
    return {};
  });
}

const ImportedVehicles = Type.Object(
  {
    ...importOutcome,
    vehicles: Type.Array(Type.Object({ id: VehicleId, plate: Plate }, { title: 'ImportedVehicle' }), {
      description: 'the vehicles that were created',
    }),
  },
  { title: 'VehicleImport' },
);

/** A line of an imported file. */
const Line = Type.Object({ plate: Plate, ...DescriptionFields });
const lineSchema = Compile(Line);

const numberOf = (cell: string): number | string =>
  /^\d+([.,]\d+)?$/.test(cell) ? Number(cell.replace(',', '.')) : cell;

function readVehicle({ seats, tankLitres, accessories, ...cells }: Readonly<Record<string, string>>) {
  const vehicle = Default(Line, {
    ...cells,
    ...(seats !== undefined && { seats: numberOf(seats) }),
    ...(tankLitres !== undefined && { tankLitres: numberOf(tankLitres) }),
    ...(accessories !== undefined && { accessories: accessories.split(/[\s,;]+/) }),
  });
  return checkLine(lineSchema, vehicle);
}

const columns = { names: Object.keys(Line.properties), required: ['plate'], read: readVehicle };

/** The operator's route that creates many vehicles at once from a CSV file. */
const vehicleImports: FleetRoutes = { operator: [addImportRoute] };

function addImportRoute(http: Http, { db, changes }: Fleet): void {
  const importSchema = {
    summary: 'Create all vehicles of a CSV file in an application, or none',
    description: `The header names the columns ${columns.names.join(', ')}, of which plate is required; accessories are
          separated by spaces. At most ${maxLines} vehicles.`.replace(/\s+/g, ' '),
    body: Type.Object({ appId: AppId, ...importBody('plate,brand,model\nAB-123-CD,Renault,Zoe') }),
    response: answers(ImportedVehicles, 'UNKNOWN_APPLICATION'),
  };
  http.post('/v1/x/admin/vehicle-imports', { schema: importSchema }, async ({ body, ip, operator }) => {
    const applicationId = await findApplicationId(db, body.appId, operator.applicationIds);
    const origin = operatorOrigin({ ip, operator }, applicationId);
    const { created, ...outcome } = await importFile(body, {
      columns,
      create: async (trx, line) => ({ id: await createVehicle(trx, applicationId, line), plate: line.plate }),
      record: (trx, { id }) => auditChange(trx, origin, 'vehicle.create', `vehicle:${id}`),
      transact: (_lines, write) => db.transaction().execute(write),
    });
    await changes.announce({ vehicleIds: created.map(({ id }) => Number(id)) });
    return { ...outcome, vehicles: created };
  });
}

/** POST, GET, PUT and DELETE /v1/vehicle (interface specification, "Vehicles and devices"). */
const vehicles: FleetRoutes = { token: [addRequestRoute, addSearchRoutes, addChangeRoutes, addStateRoutes] };
export const vehicleRoutes: readonly FleetRoutes[] = [
  ...[vehicles, operatedVehicles, vehicleImports, requests, privacy, mileage],
];

function addStateRoute(http: Http, { db, changes }: Fleet, flag: StateFlag): void {
  const stateSchema = {
    tags: ['states'],
    summary: `Set or clear the state ${flag} of a vehicle`,
    params: Type.Object({ id: VehicleId }),
    body: Type.Object({ state: Flag }),
    response: answers(
      Type.Object({ [flag]: Type.Boolean() }),
      ...(['UNKNOWN_VEHICLE', 'UNAUTHORIZED', 'VEHICLE_ARCHIVED'] as const),
    ),
  };
  http.post(`/v1/vehicle/:id/${flag}`, { schema: stateSchema }, async (request) => {
    const { caller, params } = request;
    const state = isTrue(request.body.state);
    await db.transaction().execute(async (trx) => {
      const changed = await setState(trx, caller, params.id, { flag, state });
      await appendAudit(trx, {
        ...originOf(request),
        action: `state.${flag}`,
        subject: `vehicle:${params.id}`,
        details: { state },
        outcome: changed ? 'done' : 'unchanged',
      });
    });
    await changes.announce({ vehicleIds: [Number(params.id)] });
    return { [flag]: state };
  });
}

/** POST /v1/vehicle/{id}/towing and the other five states (interface specification, "Vehicle data (fleet flavor)"). */
function addStateRoutes(http: Http, fleet: Fleet): void {
  for (const flag of stateFlags) addStateRoute(http, fleet, flag);
}

/** Interface specification, "state object". */
export const stateFlags = ['towing', 'accident', 'maintenance', 'breakdown', 'stolen', 'unavailable'] as const;
type StateFlag = (typeof stateFlags)[number];

/**
 * Sets or clears a state of a vehicle. Clearing it keeps the time, so that older device events arriving later do not set
 * it again.
 * @returns whether it changed
 * @throws Failure UNKNOWN_VEHICLE, UNAUTHORIZED, VEHICLE_ARCHIVED
 */
async function setState(
  db: Database,
  caller: Caller,
  id: string,
  { flag, state }: { flag: StateFlag; state: boolean },
): Promise<boolean> {
  const vehicleId = await lockVehicleForUse(db, caller, id);
  const { rows } = await sql<{ changed: boolean }>`
    with found as (select id, ${sql.ref(flag)} as before from vehicle where id = ${vehicleId})
    update vehicle set ${sql.ref(flag)} = ${state}, states_lowered = case when ${state} then vehicle.states_lowered
      else vehicle.states_lowered || jsonb_build_object(${flag}::text, clock_timestamp()) end
    from found where vehicle.id = found.id
    returning found.before <> ${state} as changed`.execute(db);
  return rows[0]?.changed ?? false;
}
