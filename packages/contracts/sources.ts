/** The formats in which other systems forward what their devices said; packages/codec decodes them. */
export const sourceFormatNames = ['traccar', 'flespi', 'tesla', 'owntracks', 'osmand'] as const;
export type SourceFormatName = (typeof sourceFormatNames)[number];

/**
 * The id of a device that a source of an application creates: in a namespace of that application, so that a source cannot
 * take an id reserved for another application, such as an IMEI.
 */
export function createdDeviceId(appId: string, name: string): string {
  return `${appId}:${name}`;
}

/** The name by which another system knows a device of an application. */
export function nameBehindSource(appId: string, deviceId: string): string {
  const namespace = createdDeviceId(appId, '');
  return deviceId.startsWith(namespace) ? deviceId.slice(namespace.length) : deviceId;
}
