import { invalidParameter } from '@odograph/contracts/failures';
import { appendAudit, originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { answers, EmptyAnswer, Flag, isTrue, text, VehicleId, word } from '@odograph/http/schemas';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { accessories, Plate } from '../admin/vehicles/schemas.ts';
import { changeLinks } from '../devices/queries.ts';
import { deleteVehicle, findDetailById, findDetailByPlate, insertRequest, setArchived } from './queries.ts';

const maximumRequestLength = 10_000;

const VehicleDetail = Type.Object(
  {
    Id: VehicleId,
    builder: Type.String({ examples: ['Renault'] }),
    model: Type.String({ examples: ['Zoe'] }),
    plate: Type.String({ examples: ['AB-123-CD'] }),
    energy: Type.String({ examples: ['EL'] }),
    bluetoothName: Type.String({ examples: ['ODO-0001'] }),
    deviceId: Type.String({ description: 'empty without a device', examples: ['unit-0001'] }),
    deviceModel: Type.String({ examples: ['generic'] }),
    accessories: Type.Array(word(accessories)),
  },
  { title: 'FleetVehicleDetail' },
);
const route = { tags: ['vehicles and devices'] };

function addRequestRoute(http: Http, db: Kysely<Tables>): void {
  http.post(
    '/v1/vehicle',
    {
      preValidation: leaveOutEmpty('request'),
      schema: {
        ...route,
        summary: 'Request a vehicle; the operator decides',
        body: Type.Object({
          plate: Plate,
          request: Type.Unsafe<string>({
            ...text(0, maximumRequestLength, { examples: ['OBD device with trips'] }),
            default: '',
            description: 'what is requested, such as the type of device',
          }),
        }),
        response: answers(
          Type.Object({ request_id: Type.String({ examples: ['0197a1de-5f0e-7000-8000-000000000005'] }) }),
          'UNAUTHORIZED',
        ),
      },
    },
    async (request) => {
      const { caller, body } = request;
      return db.transaction().execute(async (trx) => {
        const id = await insertRequest(trx, caller, body);
        const subject = `request:${id}`;
        await appendAudit(trx, { ...originOf(request), action: 'request.create', subject, outcome: 'done' });
        return { request_id: id };
      });
    },
  );
}

function addSearchRoutes(http: Http, db: Database): void {
  http.get(
    '/v1/vehicle',
    {
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
    },
    async ({ caller, query: { id, plate } }) => {
      if (id !== undefined && plate !== undefined) throw invalidParameter('plate', 'and id exclude each other');
      if (id !== undefined) return findDetailById(db, caller, id);
      if (plate !== undefined) return findDetailByPlate(db, caller, plate);
      throw invalidParameter('id', 'or plate is missing');
    },
  );

  http.get(
    '/v1/vehicle/:id',
    {
      schema: {
        ...route,
        summary: 'Find a vehicle',
        params: Type.Object({ id: VehicleId }),
        response: answers(VehicleDetail, 'UNKNOWN_VEHICLE'),
      },
    },
    async ({ caller, params }) => findDetailById(db, caller, params.id),
  );
}

function addChangeRoutes(http: Http, db: Kysely<Tables>, changes: ChangeAnnouncer): void {
  http.put(
    '/v1/vehicle',
    {
      schema: {
        ...route,
        summary: 'Archive or reactivate a vehicle',
        body: Type.Object({ id: VehicleId, archived: Flag }),
        response: answers(
          Type.Object({ id: VehicleId, archived: word(['true', 'false']) }, { title: 'ArchivedVehicle' }),
          'UNKNOWN_VEHICLE',
          'UNAUTHORIZED',
        ),
      },
    },
    async (request) => {
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
    },
  );

  http.delete(
    '/v1/vehicle',
    {
      schema: {
        ...route,
        summary: 'Delete a vehicle; its data is purged in the background',
        body: Type.Object({ id: VehicleId }),
        response: answers(EmptyAnswer, 'UNKNOWN_VEHICLE', 'UNAUTHORIZED'),
      },
    },
    async (request) => {
      const { caller, body } = request;
      await changeLinks(db, async (trx) => {
        await deleteVehicle(trx, caller, body.id);
        const subject = `vehicle:${body.id}`;
        await appendAudit(trx, { ...originOf(request), action: 'vehicle.delete', subject, outcome: 'done' });
      });
      await changes.announce({ vehicleIds: [Number(body.id)] });
      return {};
    },
  );
}

/** POST, GET, PUT and DELETE /v1/vehicle (interface specification, "Vehicles and devices"). */
export function vehicleRoutes(db: Kysely<Tables>, changes: ChangeAnnouncer): RoutePlugin {
  return (http) => {
    addRequestRoute(http, db);
    addSearchRoutes(http, db);
    addChangeRoutes(http, db, changes);
  };
}
