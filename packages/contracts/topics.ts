/** MQTT topics of a device; the device's side is described in docs/device-protocol.md. */
const root = 'v1/devices/';

/** The commands of every device, for the gateway. */
export const everyCommandTopic = `${root}+/commands`;

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

/** What the topics begin with that a phone with OwnTracks publishes to; its user is the device (docs/devices/owntracks.md). */
export function ownTracksPrefix(deviceId: string): string {
  return `owntracks/${deviceId}/`;
}

/** Device ids are client id, user name and topic level, so they contain no characters with a meaning in MQTT. */
export const deviceIdPattern = '^[A-Za-z0-9._:-]{1,64}$';
