import Type, { type Static } from 'typebox';

/** The actions a device understands; see "What a device says and hears" in docs/device-protocol.md. */
export const deviceActions = [
  'IMMOBILIZE',
  'START',
  'LOCK',
  'UNLOCK',
  'HONK',
  'TURNING-LIGHTS',
  'UNLOCK-TRUNK',
  'OPEN-WINDOWS',
  'CLOSE-WINDOWS',
  'STATUS',
] as const;
export type DeviceAction = (typeof deviceActions)[number];

/** A command as sent to a device, which must not execute it after `expiresAt` (UNIX seconds). */
export const CommandMessage = Type.Object({
  id: Type.String({ description: 'never used again' }),
  action: Type.Union(deviceActions.map((action) => Type.Literal(action))),
  expiresAt: Type.Number({ description: 'UNIX seconds; never execute the command after it' }),
});
export interface CommandMessage {
  id: string;
  action: DeviceAction;
  expiresAt: number;
}

/** Maximum lengths of the texts of an acknowledgement, in characters. */
export const maxStatusLength = 64;
export const maxReasonLength = 256;
export const maxMacLength = 64;

/** An acknowledgement of a device. */
export const AcknowledgementMessage = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 64 }),
  ok: Type.Boolean(),
  status: Type.Optional(Type.String({ maxLength: maxStatusLength })),
  reason: Type.Optional(Type.String({ maxLength: maxReasonLength })),
  /** Of the confirmation of a key list (docs/keyless.md). */
  mac: Type.Optional(Type.String({ maxLength: maxMacLength })),
});
export type AcknowledgementMessage = Static<typeof AcknowledgementMessage>;

/** An acknowledgement in the form that the command service accepts. With `outcome`, `reason` is an answer that the model of
 * the device does not define, and `ok` has no meaning.
 */
export const CommandAcknowledgement = Type.Object({
  ...AcknowledgementMessage.properties,
  outcome: Type.Optional(Type.Literal('unknown')),
});
export type CommandAcknowledgement = Static<typeof CommandAcknowledgement>;

/** States of a command: pending -> sent -> acknowledged | refused | unknown, and pending -> expired. */
export const commandStates = ['pending', 'sent', 'acknowledged', 'refused', 'unknown', 'expired'] as const;
export type CommandState = (typeof commandStates)[number];
