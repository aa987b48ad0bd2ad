import { type DeviceAction, deviceActions } from '@odograph/contracts/commands';
import { avlFamilies, type DeviceCommands, deviceProtocols } from '@odograph/contracts/device-models';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { listSchemaFaults, type SchemaRule } from '@odograph/contracts/schema-faults';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { answers, text, word } from '@odograph/http/schemas';
import { bluetoothCommands } from '@odograph/keyless/command-string';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';

const encryptedCommands = [...bluetoothCommands, 'readio'] as const;
const scenarioNames = ['gps_jamming', 'gnss_jamming', 'towing_detection', 'crash_detection'] as const;
const Output = Type.Integer({ minimum: 1, maximum: 255 });

const ModelName = Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$', examples: ['generic'] });

const actions = Type.Array(word(deviceActions), {
  description: 'actions that devices of the model support',
  maxItems: 32,
});
/** Devices take at most 160 characters. */
const commandText = (example: string) => Type.String({ pattern: '^[ -~]{1,160}$', examples: [example] });
const answerTexts = (description: string, example: string, minItems: number) =>
  Type.Array(commandText(example), { description, minItems, maxItems: 10 });
const FlespiCall = Type.Object(
  {
    name: Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$', description: 'of the command', examples: ['custom'] }),
    properties: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      description: 'of the command, as flespi describes them for the type of device',
      examples: [{ text: 'setdigout 1?' }],
    }),
  },
  { additionalProperties: false },
);
const Command = Type.Object(
  {
    text: Type.Optional(commandText('setdigout 1?')),
    flespi: Type.Optional(FlespiCall),
    success: Type.Optional(answerTexts('texts of an answer that reports success', 'DOUT1:ON', 1)),
    refusal: answerTexts('texts of an answer that reports a refusal; they go first', 'disabled from CFG', 0),
  },
  { additionalProperties: false },
);

/** The properties of a device model besides its name and actions. */
const otherProperties = {
  protocol: word(deviceProtocols, {
    description: 'how devices of the model report: MQTT, Teltonika, or through another system (a source)',
  }),
  commands: Type.Unsafe<DeviceCommands>(
    Type.Partial(Type.Object(Object.fromEntries(deviceActions.map((action) => [action, Command]))), {
      additionalProperties: false,
      description:
        'what devices are told for each action, and what their answers mean: a `text` for the protocol teltonika, a command of `flespi` for source',
    }),
  ),
  proprietaryCan: Type.Boolean({ description: 'devices report proprietary CAN data' }),
  bluetooth: Type.Boolean({ description: 'devices have Bluetooth' }),
  encryptedCommands: Type.Array(word(encryptedCommands), {
    description: 'Bluetooth commands that must be encrypted (encrypt… of the device commands record)',
    maxItems: 32,
  }),
  digitalOutputs: Type.Unsafe<Record<string, number>>(
    Type.Partial(Type.Object(Object.fromEntries(bluetoothCommands.map((name) => [name, Output]))), {
      additionalProperties: false,
      description: 'number of the digital output by Bluetooth command (digitalOutput of the device commands record)',
    }),
  ),
  scenarii: Type.Unsafe<Record<string, string>>(
    Type.Partial(
      Type.Object(Object.fromEntries(scenarioNames.map((name) => [name, text(0, 64, { examples: ['IMMOBILIZE'] })]))),
      {
        additionalProperties: false,
        description: 'action by monitored scenario, empty for none (scenarii of the fleet vehicle status record)',
      },
    ),
  ),
};
const family = word(avlFamilies, {
  description:
    'of Teltonika devices, which decides what their I/O elements mean; without it only those are used that mean the same in all families',
});
/** A device model, as routes answer it. */
const DeviceModel = Type.Object(
  { name: ModelName, ...otherProperties, actions, family: Type.Optional(family) },
  { title: 'DeviceModel' },
);
type DeviceModel = Type.Static<typeof DeviceModel>;

/** A device model, as routes accept it. */
const NewDeviceModel = Type.Object(
  {
    name: Type.Optional(Type.String({ description: 'ignored: the path names the model' })),
    ...otherProperties,
    protocol: Type.Optional(Type.Unsafe<DeviceModel['protocol']>({ ...otherProperties.protocol, default: 'mqtt' })),
    commands: Type.Optional(otherProperties.commands),
    actions: Type.Optional(
      Type.Unsafe<DeviceModel['actions']>({
        ...actions,
        description: 'left out with `commands`, whose actions it has',
      }),
    ),
    family: Type.Optional(family),
  },
  { additionalProperties: false },
);
type NewDeviceModel = Type.Static<typeof NewDeviceModel>;

const NamePath = Type.Object({ name: ModelName });

/** Operator routes that list, show, create and change device models. */
export const deviceModels: FleetRoutes = { operator: [addModelRoutes] };

function addModelRoutes(http: Http, { db }: Fleet): void {
  const listSchema = {
    summary: 'List device models',
    response: answers(Type.Object({ models: Type.Array(DeviceModel) })),
  };
  http.get('/v1/x/admin/device-models', { schema: listSchema }, async () => ({ models: await listModels(db) }));

  const showSchema = {
    summary: 'Show a device model',
    params: NamePath,
    response: answers(DeviceModel, 'NOT_FOUND'),
  };
  http.get('/v1/x/admin/device-models/:name', { schema: showSchema }, async ({ params }) => {
    const model = await findModel(db, params.name);
    if (!model) throw new Failure('NOT_FOUND', 'no device model has this name');
    return model;
  });

  const replaceOptions = {
    // Every fault of a file is named at once.
    attachValidation: true,
    schema: {
      summary: 'Create or replace a device model; it applies to all devices of the model at once',
      params: NamePath,
      body: NewDeviceModel,
      response: answers(DeviceModel),
    },
  };
  http.put(
    '/v1/x/admin/device-models/:name',
    replaceOptions,
    async ({ params, body, ip, operator, validationError }) => {
      if (validationError && validationError.validationContext !== 'body') throw validationError;
      requireSound(body);
      const model = completeModel(params.name, body);
      await db.transaction().execute(async (trx) => {
        await storeModel(trx, model);
        await auditChange(trx, operatorOrigin({ ip, operator }), 'device-model.set', `device-model:${params.name}`);
      });
      return model;
    },
  );
}

/** @throws Failure INVALID_PARAMETER that names every fault */
function requireSound(body: unknown): void {
  const [first, ...others] = findModelFaults(body);
  if (!first) return;
  const failure = invalidParameter(first.field || 'body', first.rule);
  if (others.length === 0) throw failure;
  const rest = others.map(({ field, rule }) => `${field} ${rule}`).join('; ');
  throw new Failure('INVALID_PARAMETER', `${failure.message}; ${rest}`, failure.details);
}

/** Characters of a flespi command as JSON. */
const maxPropertiesLength = 2000;

const actionsOf = (commands: DeviceModel['commands']) =>
  deviceActions.filter((action) => Object.hasOwn(commands, action));

/** Completes a device model without faults: its protocol, and the actions of its commands. */
function completeModel(name: string, body: NewDeviceModel): DeviceModel {
  const { protocol = 'mqtt', commands = {}, actions = actionsOf(commands) } = body;
  const { proprietaryCan, bluetooth, encryptedCommands, digitalOutputs, scenarii, family } = body;
  const ofDevice = { proprietaryCan, bluetooth, encryptedCommands, digitalOutputs, scenarii };
  return { name, protocol, actions, commands, ...ofDevice, ...(family && { family }) };
}

/**
 * Lists every fault of a device model. A model must not promise an action that its devices cannot be told: a command that
 * cannot be sent is refused at once.
 * @param body as the request gives it
 */
export function findModelFaults(body: unknown): SchemaRule[] {
  const faults = listSchemaFaults(NewDeviceModel, body);
  if (faults.length > 0) return faults;
  const { protocol = 'mqtt', actions, commands = {}, family } = body as NewDeviceModel;
  if (family !== undefined && protocol !== 'teltonika') {
    faults.push({ field: 'family', rule: 'must be left out where protocol is not teltonika' });
  }
  if (protocol === 'mqtt') {
    if (actionsOf(commands).length > 0)
      faults.push({ field: 'commands', rule: 'must be empty where protocol is mqtt' });
    if (actions === undefined) faults.push({ field: 'actions', rule: 'is missing' });
    return faults;
  }
  return [...faults, ...findCommandFaults(protocol, commands), ...findActionFaults(actions, actionsOf(commands))];
}

/** Lists the faults of commands that the schema cannot express: which members a protocol needs. */
function findCommandFaults(protocol: 'teltonika' | 'source', commands: DeviceModel['commands']): SchemaRule[] {
  const [needed, other] = protocol === 'teltonika' ? (['text', 'flespi'] as const) : (['flespi', 'text'] as const);
  return Object.entries(commands).flatMap(([action, command]) => {
    const field = `commands.${action}`;
    const has = (member: string) => Object.hasOwn(command, member);
    const isTooLong = 'flespi' in command && JSON.stringify(command.flespi).length > maxPropertiesLength;
    return [
      ...(has(needed) ? [] : [{ field: `${field}.${needed}`, rule: 'is missing' }]),
      ...(has(other) ? [{ field: `${field}.${other}`, rule: `must be left out where protocol is ${protocol}` }] : []),
      ...(protocol === 'teltonika' && !has('success') ? [{ field: `${field}.success`, rule: 'is missing' }] : []),
      ...(isTooLong ? [{ field: `${field}.flespi`, rule: `must have at most ${maxPropertiesLength} characters` }] : []),
    ];
  });
}

/** Lists where the actions differ from those that have a command. */
function findActionFaults(actions: DeviceModel['actions'] | undefined, told: readonly DeviceAction[]): SchemaRule[] {
  const untold = actions?.filter((action) => !told.includes(action)) ?? [];
  const unlisted = actions ? told.filter((action) => !actions.includes(action)) : [];
  return [
    ...untold.map((action) => ({ field: `commands.${action}`, rule: 'is missing' })),
    ...unlisted.map((action) => ({ field: 'actions', rule: `must hold ${action}, which has a command` })),
  ];
}

function selectModels(db: Database) {
  return db
    .selectFrom('device_model')
    .select(['id as name', 'protocol', 'actions', 'commands', 'proprietary_can as proprietaryCan', 'bluetooth'])
    .select(['encrypted_commands as encryptedCommands', 'digital_outputs as digitalOutputs', 'scenarii', 'family'])
    .orderBy('id');
}

/** Lists the device models by name. */
async function listModels(db: Database): Promise<DeviceModel[]> {
  return (await selectModels(db).execute()).map(toModel);
}

/** Finds a device model; returns undefined when there is none of this name. */
async function findModel(db: Database, name: string): Promise<DeviceModel | undefined> {
  const row = await selectModels(db).where('id', '=', name).executeTakeFirst();
  return row && toModel(row);
}

function toModel({ family, ...row }: Awaited<ReturnType<ReturnType<typeof selectModels>['execute']>>[number]) {
  return { ...row, ...(family && { family }) } as DeviceModel;
}

/**
 * Creates a device model or replaces the one of this name.
 * @throws Failure INVALID_PARAMETER for another protocol while the model has devices: their sessions are of the former one
 */
async function storeModel(db: Database, { name, ...model }: DeviceModel): Promise<void> {
  const inUse = await db
    .selectFrom('device_model')
    .select('protocol')
    .where('id', '=', name)
    .where('protocol', '<>', model.protocol)
    .where(({ exists, selectFrom }) =>
      exists(selectFrom('device').whereRef('device.model_id', '=', 'device_model.id').where('deleted_at', 'is', null)),
    )
    .executeTakeFirst();
  if (inUse) throw invalidParameter('protocol', `must stay ${inUse.protocol}, because devices of the model exist`);
  const properties = {
    protocol: model.protocol,
    actions: model.actions,
    commands: model.commands,
    proprietary_can: model.proprietaryCan,
    bluetooth: model.bluetooth,
    encrypted_commands: model.encryptedCommands,
    digital_outputs: model.digitalOutputs,
    scenarii: model.scenarii,
    family: model.family ?? null,
    shipped: false,
  };
  await db
    .insertInto('device_model')
    .values({ id: name, ...properties })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(properties))
    .execute();
}
