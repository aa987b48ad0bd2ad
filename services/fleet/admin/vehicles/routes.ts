import type { Database } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { answers } from '@odograph/http/schemas';
import Type from 'typebox';
import { text, word } from '../../schemas.ts';
import { findApplicationId } from '../applications/queries.ts';
import { AppId, adminRoute, pageLimit } from '../schemas.ts';
import { createVehicle, listVehicles } from './queries.ts';

const largestId = 2_147_483_647;
const accessories = ['TEMPERATURE-SENSOR', 'CARDHOLDER', 'KEY-DETECTOR'] as const;
const optionalText = Type.Unsafe<string>({ ...text(0, 64), default: '' });

/** Plates are told apart by their letters and digits, so one needs at least one of them. */
const Plate = Type.String({
  minLength: 1,
  maxLength: 32,
  pattern: '^[^\\u0000-\\u001f\\ud800-\\udfff]*[A-Za-z0-9][^\\u0000-\\u001f\\ud800-\\udfff]*$',
});

const Description = {
  plate: Plate,
  vin: optionalText,
  brand: optionalText,
  model: optionalText,
  energy: optionalText,
  seats: Type.Integer({ minimum: 0, maximum: 1000, default: 0 }),
  gearbox: Type.Unsafe<'' | 'AUTOMATIC' | 'MANUAL'>({ ...word(['', 'AUTOMATIC', 'MANUAL']), default: '' }),
  kind: optionalText,
  accessories: Type.Array(word(accessories), { maxItems: accessories.length, uniqueItems: true, default: [] }),
};
const ListedVehicle = Type.Object({
  id: Type.String(),
  plate: Type.String(),
  vin: Type.String(),
  brand: Type.String(),
  model: Type.String(),
  energy: Type.String(),
  seats: Type.Integer(),
  gearbox: Type.String(),
  kind: Type.String(),
  accessories: Type.Array(Type.String()),
  archived: Type.Boolean(),
  deviceId: Type.Union([Type.String(), Type.Null()]),
});

/** The operator's routes for vehicles. */
export function addVehicleRoutes(http: Http, db: Database): void {
  http.post(
    '/v1/x/admin/vehicles',
    {
      schema: {
        ...adminRoute,
        summary: 'Enter a vehicle of an application',
        body: Type.Object({ appId: AppId, ...Description }),
        response: answers(Type.Object({ id: Type.String() }), 'UNKNOWN_APPLICATION', 'ALREADY_EXISTS'),
      },
    },
    async ({ body: { appId, plate, vin, brand, model, energy, seats, gearbox, kind, accessories } }) => {
      const applicationId = await findApplicationId(db, appId);
      const description = { plate, vin, brand, model, energy, seats, gearbox, kind, accessories };
      return { id: await createVehicle(db, applicationId, description) };
    },
  );

  http.get(
    '/v1/x/admin/vehicles',
    {
      schema: {
        ...adminRoute,
        summary: 'List the vehicles of an application with the devices that sit in them',
        querystring: Type.Object({
          appId: AppId,
          limit: pageLimit,
          after: Type.Integer({ minimum: 0, maximum: largestId, default: 0 }),
        }),
        response: answers(Type.Object({ vehicles: Type.Array(ListedVehicle) }), 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ query }) => {
      const applicationId = await findApplicationId(db, query.appId);
      return { vehicles: await listVehicles(db, applicationId, query) };
    },
  );
}
