import type { Right } from '@odograph/http/operator-rights';
import { moment, text, timestamp, VehicleId } from '@odograph/http/schemas';
import Type from 'typebox';

export const route = { tags: ['bluetooth authorizations'] };
/** What opens a vehicle is not for operators who only read. */
export const rightToUse: Right = ['operator', 'application'];

export const dates = {
  from: Type.Optional(timestamp('start')),
  until: Type.Optional(timestamp('end, exclusive')),
};
export const AuthorizationId = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'authorization identifier',
  examples: ['0197a1de-5f0e-7000-8000-000000000001'],
});
export const AuthorizationPath = Type.Object({ authorizationId: AuthorizationId });
export const DriverId = text(1, 256, { description: 'driver identifier', examples: ['driver-17'] });

const key = Type.String({ description: 'session key, base64url', examples: ['q83vEjRWeJCrze8SNFZ4kA'] });
const token = Type.String({ description: 'authorization token for Bluetooth, base64url', examples: ['AQIDBAUGBwg'] });
export const credentials = { token, key };
export const fields = {
  vehicleId: VehicleId,
  userId: DriverId,
  from: moment('start, inclusive'),
  until: moment('end, exclusive'),
};
