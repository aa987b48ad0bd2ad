import { deviceActions } from '@odograph/contracts/commands';
import { listSchemaFaults, type SchemaRule } from '@odograph/contracts/schema-faults';
import { type DeviceModel, NewDeviceModel } from './schemas.ts';

const actionsOf = (commands: DeviceModel['commands']) =>
  deviceActions.filter((action) => Object.hasOwn(commands, action));

/** Completes a device model without faults: its protocol, and the actions of its commands. */
export function completeModel(name: string, body: NewDeviceModel): DeviceModel {
  const { protocol = 'mqtt', commands = {}, actions = actionsOf(commands) } = body;
  const { proprietaryCan, bluetooth, encryptedCommands, digitalOutputs, scenarii } = body;
  const ofDevice = { proprietaryCan, bluetooth, encryptedCommands, digitalOutputs, scenarii };
  return { name, protocol, actions, commands, ...ofDevice };
}

/**
 * Lists every fault of a device model. A model must not promise an action that its devices cannot be told: a command that
 * cannot be sent is refused at once.
 * @param body as the request gives it
 */
export function findModelFaults(body: unknown): SchemaRule[] {
  const faults = listSchemaFaults(NewDeviceModel, body);
  if (faults.length > 0) return faults;
  const { protocol = 'mqtt', actions, commands = {} } = body as NewDeviceModel;
  const told = actionsOf(commands);
  if (protocol !== 'teltonika' && told.length > 0) {
    faults.push({ field: 'commands', rule: 'must be empty unless protocol is teltonika' });
  }
  if (protocol === 'source' && actions?.length) {
    faults.push({ field: 'actions', rule: 'must be empty where protocol is source' });
  }
  if (protocol === 'mqtt' && actions === undefined) faults.push({ field: 'actions', rule: 'is missing' });
  if (protocol === 'teltonika') {
    const untold = actions?.filter((action) => !told.includes(action)) ?? [];
    const unlisted = actions ? told.filter((action) => !actions.includes(action)) : [];
    for (const action of untold) faults.push({ field: `commands.${action}`, rule: 'is missing' });
    for (const action of unlisted) faults.push({ field: 'actions', rule: `must hold ${action}, which has a command` });
  }
  return faults;
}
