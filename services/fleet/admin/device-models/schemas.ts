import { deviceActions } from '@odograph/contracts/commands';
import { avlFamilies, type DeviceCommands, deviceProtocols } from '@odograph/contracts/device-models';
import { text, word } from '@odograph/http/schemas';
import { bluetoothCommands } from '@odograph/keyless/command-string';
import Type from 'typebox';

const encryptedCommands = [...bluetoothCommands, 'readio'] as const;
const scenarioNames = ['gps_jamming', 'gnss_jamming', 'towing_detection', 'crash_detection'] as const;
const Output = Type.Integer({ minimum: 1, maximum: 255 });

export const ModelName = Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$', examples: ['generic'] });

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
export const DeviceModel = Type.Object(
  { name: ModelName, ...otherProperties, actions, family: Type.Optional(family) },
  { title: 'DeviceModel' },
);
export type DeviceModel = Type.Static<typeof DeviceModel>;

/** A device model, as routes accept it. */
export const NewDeviceModel = Type.Object(
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
export type NewDeviceModel = Type.Static<typeof NewDeviceModel>;
