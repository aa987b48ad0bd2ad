import Type, { type Static } from 'typebox';

/** MQTT topics of a device; the device's side is described in docs/device-protocol.md. */
const root = 'v1/devices/';

export type DeviceChannel = 'telemetry' | 'commands' | 'acks' | 'keys' | 'rejects';

/** The topic of one channel of one device, `v1/devices/{deviceId}/{channel}`. */
export function deviceTopic(deviceId: string, channel: DeviceChannel): string {
  return `${root}${deviceId}/${channel}`;
}

/** Channels that a device may publish to. */
export const upChannels: ReadonlySet<string> = new Set<DeviceChannel>(['telemetry', 'acks']);
/** Channels that a device may subscribe to. */
export const downChannels: ReadonlySet<string> = new Set<DeviceChannel>(['commands', 'keys', 'rejects']);

const channels: ReadonlySet<string> = new Set([...upChannels, ...downChannels]);

/** Splits a topic into device and channel; undefined for any topic that is not exactly of that form. */
export function parseDeviceTopic(topic: string): { deviceId: string; channel: DeviceChannel } | undefined {
  if (!topic.startsWith(root)) return undefined;
  const slash = topic.indexOf('/', root.length);
  if (slash <= root.length) return undefined;
  const channel = topic.slice(slash + 1);
  if (!channels.has(channel)) return undefined;
  return { deviceId: topic.slice(root.length, slash), channel: channel as DeviceChannel };
}

/** Prefix of the topics that a phone with OwnTracks publishes to; its user is the device (docs/devices/owntracks.md). */
export function ownTracksPrefix(deviceId: string): string {
  return `owntracks/${deviceId}/`;
}

/** Device ids are client id, user name and topic level, so they contain no characters with a meaning in MQTT. */
export const deviceIdPattern = '^[A-Za-z0-9._:-]{1,64}$';

/** Redis channel on which changed key lists are announced to the command service. */
export function keyListChannel(prefix: string): string {
  return `${prefix}:key-lists`;
}

/** Formats the id by which a device acknowledges a key list on v1/devices/{id}/acks. */
export function keyListAcknowledgementId(version: number): string {
  return `keys:${version}`;
}

/** Parses the version from the id of an acknowledgement; undefined for the acknowledgement of a command. */
export function parseKeyListAcknowledgementId(id: string): number | undefined {
  const digits = /^keys:(\d{1,15})$/.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

const count = (description: string) => Type.Integer({ minimum: 0, description });

/** The retained message on v1/devices/{id}/keys; packages/keyless signs and checks it (docs/keyless.md, "The key list"). */
export const KeyListMessage = Type.Object({
  version: count('increases with every change'),
  keyVersion: count('version of the device key that signs authorization tokens'),
  epoch: count('lowest valid epoch of a token'),
  issuedAtMs: count('UNIX milliseconds, by the clock of the platform'),
  authorizations: Type.Array(
    Type.Object({
      id: Type.String({ format: 'uuid', description: 'authorization id' }),
      state: Type.Enum(['revoked', 'suspended']),
      untilMs: count('UNIX milliseconds, exclusive'),
    }),
  ),
  mac: Type.String({ description: 'HMAC-SHA-256 in base64url' }),
});

const RejectedReading = Type.Object({
  index: Type.Union([Type.Integer(), Type.Null()], {
    description: 'position of the reading in the upload; null: the whole upload',
  }),
  reason: Type.String(),
  field: Type.Optional(Type.String()),
  message: Type.String({ description: 'for people' }),
  timestamp: Type.Optional(Type.Number({ description: 'as the device sent it, if it is a number' })),
  sequence: Type.Optional(Type.Number()),
});
/** A quarantined reading or upload, as announced to its device; see "Rejected uploads" in docs/device-protocol.md. */
export type RejectedReading = Static<typeof RejectedReading>;

/** A message on a device's topic `rejects`: one for each upload. */
export const RejectMessage = Type.Object({
  receivedAt: Type.Number({ description: 'UNIX seconds' }),
  bytes: Type.Integer({ description: 'size of the upload' }),
  faultCount: Type.Integer({ description: 'faults of the upload, of which the first are listed' }),
  faults: Type.Array(RejectedReading),
});
export type RejectMessage = Static<typeof RejectMessage>;

/** One message for the topic of a device. */
export interface UploadReject {
  readonly deviceId: string;
  readonly message: RejectMessage;
}

/** Redis channel on which ingest announces rejected uploads to the brokers, as a JSON array of UploadReject. */
export function uploadRejectsChannel(prefix: string): string {
  return `${prefix}:upload-rejects`;
}
