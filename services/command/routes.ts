import { performance } from 'node:perf_hooks';
import { Failure } from '@odograph/contracts/failures';
import { listCommands } from '@odograph/database/commands';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { IdempotencyKey, markReplayed } from '@odograph/http/idempotency';
import { answers, commandFields, EmptyAnswer, VehicleId, word } from '@odograph/http/schemas';
import type { Logger } from '@odograph/runtime/logger';
import { Counter, exportZero, Histogram, type Registry } from '@odograph/runtime/metrics';
import type { TSchema } from 'typebox';
import Type from 'typebox';
import {
  actionWords,
  availableActions,
  type CommandRequest,
  findTarget,
  type Outcome,
  type RemoteAction,
  remoteActions,
  requireAcknowledged,
  statusOf,
  unreachable,
} from './rules.ts';
import { type CommandContext, type CommandResult, sendCommand } from './send-command.ts';

const maximumListed = 1000;

/** Any text, because an identifier that no vehicle can have is that of an unknown one. */
const OfVehicle = Type.Object({ vehicleId: Type.String({ ...VehicleId, minLength: 0 }) });

const ListedCommands = Type.Object(
  {
    commands: Type.Array(Type.Object(commandFields, { title: 'Command' })),
  },
  { title: 'Commands' },
);

const tags = ['remote actions'];

function successSchema({ answer, statuses }: RemoteAction): TSchema {
  if (answer === 'nothing') return Type.Null({ description: 'an empty body' });
  if (answer === 'object' || !statuses) return EmptyAnswer;
  return Type.Object({ Status: word(statuses) });
}

/** The body of success: undefined sends none. */
function successBody({ answer, statuses }: RemoteAction, outcome: Outcome): object | undefined {
  if (answer === 'nothing') return undefined;
  return statuses ? { Status: statusOf(statuses, outcome.status) } : {};
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
        {
          config: { scope: 'commands' },
          schema: { tags, summary, headers: IdempotencyKey, body: OfVehicle, response },
        },
        async (request, reply) => {
          const command = {
            caller: request.caller,
            address: request.ip,
            vehicleId: request.body.vehicleId,
            action,
            idempotencyKey: request.headers['idempotency-key'],
          };
          const outcome = await measure(command, async () => {
            const result = await sendCommand(context, command);
            if (result.repeated) markReplayed(reply);
            return result;
          });
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
            Type.Object({ actions: Type.Array(word(Object.keys(actionWords))) }, { title: 'Actions' }),
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
            vehicleId: VehicleId,
            limit: Type.Integer({ minimum: 1, default: 100, description: `at most ${maximumListed}` }),
          }),
          response: answers(ListedCommands, 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ caller, query }) => {
        const { id } = await findVehicle(db, caller, query.vehicleId);
        return { commands: await listCommands(db, id, Math.min(query.limit, maximumListed)) };
      },
    );
  };

type MeasureCommand = (request: CommandRequest, send: () => Promise<CommandResult>) => Promise<Outcome>;

/**
 * Creates the metrics of commands. The result runs a command, and counts and logs its outcome;
 * it throws Failure COMMUNICATION_FAILED for a command that was not acknowledged.
 */
export function createCommandMetrics(registry: Registry, logger: Logger): MeasureCommand {
  const outcomes = new Counter({
    name: 'odograph_commands_total',
    help: 'Remote actions requested, by action and outcome (acknowledged, or the reason of the failure)',
    labelNames: ['action', 'outcome'],
    registers: [registry],
  });
  for (const { action } of remoteActions) exportZero(outcomes, { action, outcome: 'PLATFORM_UNAVAILABLE' });
  const durations = new Histogram({
    name: 'odograph_command_duration_seconds',
    help: 'Time from the request of a remote action to its outcome',
    labelNames: ['action'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers: [registry],
  });
  return async ({ action, vehicleId }, send) => {
    const startMs = performance.now();
    const record = (word: string, result?: CommandResult) => {
      const durationMs = performance.now() - startMs;
      const outcome = result?.repeated ? 'REPEATED' : word;
      outcomes.inc({ action, outcome });
      durations.observe({ action }, durationMs / 1000);
      const commandId = result?.commandId;
      logger.info({ commandId, vehicleId, action, outcome, durationMs: Math.round(durationMs) }, 'command answered');
    };
    let result: CommandResult | undefined;
    try {
      result = await send();
      requireAcknowledged(result.outcome);
      record('acknowledged', result);
      return result.outcome;
    } catch (error) {
      record(error instanceof Failure ? (error.details.reason ?? error.code) : 'INTERNAL_ERROR', result);
      throw error;
    }
  };
}
