import { Readable } from 'node:stream';
import { findApplicationId } from '@odograph/database/accounts';
import { appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Tables } from '@odograph/database/tables';
import { findVehicleOwner } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { AppId, answers, DeviceId, pageLimit, VehicleId, word } from '@odograph/http/schemas';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { exportVehicle } from './export.ts';
import { createVehicle, listVehicles, setTankLitres } from './queries.ts';
import { accessories, DescriptionFields, Plate } from './schemas.ts';

const maximumId = 2_147_483_647;
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

function addExport(http: Http, db: Kysely<Tables>): void {
  http.get(
    '/v1/x/admin/vehicles/:id/export',
    {
      schema: {
        summary: 'Export everything stored about a vehicle, as lines of JSON',
        params: Type.Object({ id: VehicleId }),
        produces: ['text/x-ndjson'],
        response: answers(Type.Unsafe<Readable>({ type: 'string' }), 'UNKNOWN_VEHICLE'),
      },
    },
    async ({ params: { id }, ip, operator }, reply) => {
      const origin = operatorOrigin({ ip, operator }, await findVehicleOwner(db, operator, id));
      const subject = `vehicle:${id}`;
      await appendAudit(db, { ...origin, action: 'vehicle.export', subject, outcome: 'done' });
      reply.header('content-disposition', `attachment; filename="vehicle-${id}.ndjson"`);
      return reply.type('text/x-ndjson').send(Readable.from(exportVehicle(db, Number(id))));
    },
  );
}

/** The operator's routes for vehicles. */
export function operatorVehicleRoutes(db: Kysely<Tables>, changes: ChangeAnnouncer): RoutePlugin {
  return (http) => {
    addExport(http, db);
    http.post(
      '/v1/x/admin/vehicles',
      {
        schema: {
          summary: 'Create a vehicle of an application',
          body: Type.Object({ appId: AppId, plate: Plate, ...DescriptionFields }),
          response: answers(Type.Object({ id: VehicleId }), 'UNKNOWN_APPLICATION', 'ALREADY_EXISTS'),
        },
      },
      async ({
        body: { appId, plate, vin, brand, model, energy, seats, gearbox, kind, accessories },
        ip,
        operator,
      }) => {
        const applicationId = await findApplicationId(db, appId, operator.applicationIds);
        const description = { plate, vin, brand, model, energy, seats, gearbox, kind, accessories };
        const created = await db.transaction().execute(async (trx) => {
          const id = await createVehicle(trx, applicationId, description);
          const origin = operatorOrigin({ ip, operator }, applicationId);
          await appendAudit(trx, { ...origin, action: 'vehicle.create', subject: `vehicle:${id}`, outcome: 'done' });
          return { id };
        });
        await changes.announce({ vehicleIds: [Number(created.id)] });
        return created;
      },
    );

    http.get(
      '/v1/x/admin/vehicles',
      {
        schema: {
          summary: 'List the vehicles of an application with their devices',
          querystring: Type.Object({
            appId: AppId,
            limit: pageLimit,
            after: Type.Integer({ minimum: 0, maximum: maximumId, default: 0 }),
          }),
          response: answers(Type.Object({ vehicles: Type.Array(ListedVehicle) }), 'UNKNOWN_APPLICATION'),
        },
      },
      async ({ query, operator }) => {
        const applicationId = await findApplicationId(db, query.appId, operator.applicationIds);
        return { vehicles: await listVehicles(db, applicationId, query) };
      },
    );

    addTankCapacityRoute(http, db);
  };
}

function addTankCapacityRoute(http: Http, db: Kysely<Tables>): void {
  http.put(
    '/v1/x/admin/vehicles/:id',
    {
      schema: {
        summary: 'Set the fuel tank capacity of a vehicle in litres',
        params: Type.Object({ id: VehicleId }),
        body: Type.Object({ tankLitres: TankLitres }),
        response: answers(Type.Object({ id: VehicleId, tankLitres: TankLitres }), 'UNKNOWN_VEHICLE'),
      },
    },
    async ({ params: { id }, body: { tankLitres }, ip, operator }) =>
      db.transaction().execute(async (trx) => {
        const origin = operatorOrigin({ ip, operator }, await findVehicleOwner(trx, operator, id));
        await setTankLitres(trx, id, tankLitres);
        const details = { tankLitres };
        await appendAudit(trx, {
          ...origin,
          action: 'vehicle.tank',
          subject: `vehicle:${id}`,
          details,
          outcome: 'done',
        });
        return { id, tankLitres };
      }),
  );
}
