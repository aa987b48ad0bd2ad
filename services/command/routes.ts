import { invalidParameter } from '@odograph/contracts/failures';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers, EmptyAnswer } from '@odograph/http/schemas';
import Type, { type TSchema } from 'typebox';
import type { MeasureCommand } from './metrics.ts';
import { findTarget, listCommands } from './queries.ts';
import { availableActions, type Outcome, type RemoteAction, remoteActions, statusOf, unreachable } from './rules.ts';
import { type CommandContext, sendCommand } from './send-command.ts';

const maximumKeyLength = 255;
const maximumListed = 1000;

const OfVehicle = Type.Object({ vehicleId: Type.String() });
const KeyHeader = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      description: 'a repeated key answers the outcome of the first request, without a second command',
    }),
  ),
});

const ListedCommands = Type.Object({
  commands: Type.Array(
    Type.Object({
      id: Type.String(),
      action: Type.String(),
      state: Type.String({ description: 'pending, sent, acknowledged, refused, unknown or expired' }),
      createdAt: Type.String(),
      expiresAt: Type.String(),
      sentAt: Type.Optional(Type.String()),
      endedAt: Type.Optional(Type.String()),
      reason: Type.Optional(Type.String({ description: 'the cause when it was not acknowledged' })),
      message: Type.Optional(Type.String({ description: 'the message of a device that refused' })),
      status: Type.Optional(Type.String({ description: 'the status that the device reported' })),
    }),
  ),
});

const tags = ['remote actions'];

function successSchema({ answer, statuses }: RemoteAction): TSchema {
  if (answer === 'nothing') return Type.Null({ description: 'an empty body' });
  if (answer === 'object' || !statuses) return EmptyAnswer;
  return Type.Object({ Status: Type.Union(statuses.map((word) => Type.Literal(word))) });
}

/** The body of success: undefined sends none. */
function successBody({ answer, statuses }: RemoteAction, outcome: Outcome): object | undefined {
  if (answer === 'nothing') return undefined;
  return statuses ? { Status: statusOf(statuses, outcome.status) } : {};
}

function idempotencyKey(header: string | undefined): string | undefined {
  if (header !== undefined && (header === '' || header.length > maximumKeyLength)) {
    throw invalidParameter('Idempotency-Key', `needs 1 to ${maximumKeyLength} characters`);
  }
  return header;
}

/** POST /v1/vehicle/lock, unlock, … : interface specification, "Remote vehicle actions". */
export const actionRoutes =
  (context: CommandContext, measure: MeasureCommand): RoutePlugin =>
  (http) => {
    for (const remoteAction of remoteActions) {
      const { summary, action } = remoteAction;
      const response = answers(
        successSchema(remoteAction),
        ...(['UNKNOWN_VEHICLE', 'UNAUTHORIZED', 'COMMUNICATION_FAILED'] as const),
      );
      http.post(
        `/v1/vehicle/${remoteAction.path}`,
        { schema: { tags, summary, headers: KeyHeader, body: OfVehicle, response } },
        async (request, reply) => {
          const command = {
            caller: request.caller,
            address: request.ip,
            vehicleId: request.body.vehicleId,
            action,
            idempotencyKey: idempotencyKey(request.headers['idempotency-key']),
          };
          const outcome = await measure(command, () => sendCommand(context, command));
          return reply.send(successBody(remoteAction, outcome));
        },
      );
    }
  };

/** GET /v1/vehicle/actions and /v1/x/commands. */
export const listRoutes =
  ({ db }: CommandContext): RoutePlugin =>
  (http) => {
    http.get(
      '/v1/vehicle/actions',
      {
        schema: {
          tags,
          summary: 'The actions that the device of a vehicle supports',
          querystring: OfVehicle,
          response: answers(
            Type.Object({ actions: Type.Array(Type.String()) }),
            'UNKNOWN_VEHICLE',
            'COMMUNICATION_FAILED',
          ),
        },
      },
      async ({ caller, query }) => {
        const target = await findTarget(db, caller, query.vehicleId, 'read');
        // An archived vehicle stays readable but takes no commands.
        if (target.archived) return { actions: [] };
        if (!target.device) throw unreachable('NO_DEVICE');
        return { actions: availableActions(target.device.actions) };
      },
    );
    http.get(
      '/v1/x/commands',
      {
        schema: {
          tags,
          summary: 'The latest commands of a vehicle with their states, the newest first',
          querystring: Type.Object({
            vehicleId: Type.String(),
            limit: Type.Optional(Type.Integer({ minimum: 1, default: 100, description: `at most ${maximumListed}` })),
          }),
          response: answers(ListedCommands, 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ caller, query }) => {
        const { id } = await findVehicle(db, caller, query.vehicleId);
        return { commands: await listCommands(db, id, Math.min(query.limit ?? 100, maximumListed)) };
      },
    );
  };
