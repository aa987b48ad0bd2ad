import type { Http } from '@odograph/http/http';
import { answers } from '@odograph/http/schemas';
import Type from 'typebox';
import type { Keyless } from '../device-keys/keyless.ts';
import { CommandsRecord, findBluetoothDevice, findCommandsRecord } from './device-commands.ts';
import { findAuthorization } from './queries.ts';
import { OfAuthorization, route } from './schemas.ts';

const Params = Type.Object({
  name: Type.String({ description: 'Bluetooth connection name' }),
  pin: Type.String(),
});

/** GET /v1/bluetooth-token/params and commands, both spellings of each. */
export function addBoxRoutes(http: Http, { db, sealer }: Keyless): void {
  const schemaOf = {
    params: {
      ...route,
      summary: 'What a phone connects to over Bluetooth',
      response: answers(Params, 'UNKNOWN_AUTHORIZATION', 'INVALID_DEVICE'),
    },
    commands: {
      ...route,
      summary: 'What a phone can tell the device over Bluetooth',
      response: answers(CommandsRecord, 'UNKNOWN_AUTHORIZATION', 'INVALID_DEVICE'),
    },
  };
  const paramsOf = async (caller: Parameters<typeof findAuthorization>[1], id: string) => {
    const { vehicleId } = await findAuthorization(db, caller, id);
    const { name, pin } = await findBluetoothDevice(db, vehicleId);
    return { name, pin };
  };
  const commandsOf = async (caller: Parameters<typeof findAuthorization>[1], id: string) =>
    findCommandsRecord(db, sealer, await findAuthorization(db, caller, id));

  http.get(
    '/v1/bluetooth-token/params',
    { schema: { ...schemaOf.params, querystring: OfAuthorization } },
    async ({ caller, query }) => paramsOf(caller, query.authorizationId),
  );
  http.get(
    '/v1/bluetooth-token/:authorizationId/params',
    { schema: { ...schemaOf.params, params: OfAuthorization } },
    async ({ caller, params }) => paramsOf(caller, params.authorizationId),
  );
  http.get(
    '/v1/bluetooth-token/commands',
    { schema: { ...schemaOf.commands, querystring: OfAuthorization } },
    async ({ caller, query }) => commandsOf(caller, query.authorizationId),
  );
  http.get(
    '/v1/bluetooth-token/:authorizationId/commands',
    { schema: { ...schemaOf.commands, params: OfAuthorization } },
    async ({ caller, params }) => commandsOf(caller, params.authorizationId),
  );
}
