import { text } from '@odograph/http/schemas';
import Type from 'typebox';

export const route = { tags: ['bluetooth authorizations'] };

const timestamp = (description: string) =>
  Type.Optional(Type.String({ maxLength: 64, description: `${description}: ISO 8601, UNIX seconds or milliseconds` }));

/** Dates and levels have their own failure codes, so the schemas accept any text. */
export const dates = { from: timestamp('start'), until: timestamp('end, exclusive') };
export const AuthorizationId = Type.String({ minLength: 1, maxLength: 256, description: 'authorization identifier' });
export const AuthorizationPath = Type.Object({ authorizationId: AuthorizationId });
export const DriverId = { ...text(1, 256), description: 'driver identifier' };

const key = Type.String({ description: 'session key, base64url' });
const token = Type.String({ description: 'authorization token for Bluetooth, base64url' });
export const credentials = { token, key };
export const fields = {
  vehicleId: Type.String(),
  userId: Type.String({ description: 'the driver' }),
  from: Type.String({ format: 'date-time' }),
  until: Type.String({ format: 'date-time' }),
};
