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

/** What a device hears. `expiresAt` in UNIX seconds: executed never after it. */
export const CommandMessage = Type.Object({
  id: Type.String(),
  action: Type.Union(deviceActions.map((action) => Type.Literal(action))),
  expiresAt: Type.Number(),
});
export interface CommandMessage {
  id: string;
  action: DeviceAction;
  expiresAt: number;
}

/** What a device answers. */
export const AcknowledgementMessage = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 64 }),
  ok: Type.Boolean(),
  status: Type.Optional(Type.String({ maxLength: 64 })),
  reason: Type.Optional(Type.String({ maxLength: 256 })),
  /** Of the confirmation of a key list (docs/keyless.md). */
  mac: Type.Optional(Type.String({ maxLength: 64 })),
});
export type AcknowledgementMessage = Static<typeof AcknowledgementMessage>;

/** The life of a command: pending -> sent -> acknowledged | refused | unknown, and pending -> expired. */
export type CommandState = 'pending' | 'sent' | 'acknowledged' | 'refused' | 'unknown' | 'expired';
