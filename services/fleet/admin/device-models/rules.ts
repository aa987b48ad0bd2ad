import { type DeviceAction, deviceActions } from '@odograph/contracts/commands';
import { listSchemaFaults, type SchemaRule } from '@odograph/contracts/schema-faults';
import { type DeviceModel, NewDeviceModel } from './schemas.ts';

/** Characters of a flespi command as JSON. */
const longestProperties = 2000;

const actionsOf = (commands: DeviceModel['commands']) =>
  deviceActions.filter((action) => Object.hasOwn(commands, action));

/** Completes a device model without faults: its protocol, and the actions of its commands. */
export function completeModel(name: string, body: NewDeviceModel): DeviceModel {
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
    const isTooLong = 'flespi' in command && JSON.stringify(command.flespi).length > longestProperties;
    return [
      ...(has(needed) ? [] : [{ field: `${field}.${needed}`, rule: 'is missing' }]),
      ...(has(other) ? [{ field: `${field}.${other}`, rule: `must be left out where protocol is ${protocol}` }] : []),
      ...(protocol === 'teltonika' && !has('success') ? [{ field: `${field}.success`, rule: 'is missing' }] : []),
      ...(isTooLong ? [{ field: `${field}.flespi`, rule: `must have at most ${longestProperties} characters` }] : []),
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
