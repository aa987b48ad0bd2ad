/**
 * The formats in which other systems and apps forward what their devices said, with what the device model of that name
 * says. The folder of that name in packages/codec decodes them.
 */
export const sourceFormatTable = {
  traccar: { proprietaryCan: true },
  flespi: { proprietaryCan: true },
  tesla: { proprietaryCan: true },
  owntracks: { proprietaryCan: false },
  osmand: { proprietaryCan: false },
} as const;
export type SourceFormatName = keyof typeof sourceFormatTable;
export const sourceFormatNames = Object.keys(sourceFormatTable) as SourceFormatName[];

/** The device models of sources, in the form of migrations/device-models. */
export const sourceDeviceModels = Object.entries(sourceFormatTable).map(([name, { proprietaryCan }]) => ({
  ...{ name, protocol: 'source', actions: [], proprietaryCan, bluetooth: false },
  ...{ encryptedCommands: [], digitalOutputs: {}, scenarii: {} },
}));

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
