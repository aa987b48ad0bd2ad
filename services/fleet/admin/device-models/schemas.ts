import { deviceActions } from '@odograph/contracts/commands';
import { text, word } from '@odograph/http/schemas';
import { bluetoothCommands } from '@odograph/keyless/command-string';
import Type from 'typebox';

const encryptedCommands = [...bluetoothCommands, 'readio'] as const;
const scenarioNames = ['gps_jamming', 'gnss_jamming', 'towing_detection', 'crash_detection'] as const;
const Output = Type.Integer({ minimum: 1, maximum: 255 });

export const ModelName = Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$', examples: ['generic'] });

/** The properties of a device model besides its name. */
export const modelProperties = {
  actions: Type.Array(word(deviceActions), { description: 'actions that devices of the model support', maxItems: 32 }),
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
/** A device model, as routes accept and answer it. */
export const DeviceModel = Type.Object({ name: ModelName, ...modelProperties }, { title: 'DeviceModel' });
export type DeviceModel = Type.Static<typeof DeviceModel>;
