import type { TelemetryReading } from '@odograph/contracts/telemetry';
import { distinctTime } from '../shared/distinct-time.ts';
import {
  addFields,
  completeReading,
  type Draft,
  type FieldTable,
  objectOf,
  readFieldTable,
  requireDevice,
  requireObject,
  type SourceFormat,
} from '../shared/source-format.ts';
import { isoTime, secondsOf } from '../shared/time.ts';

const attributes = readFieldTable(new URL('attributes.json', import.meta.url));
const kilometresPerNauticalMile = 1.852;

/** The attributes that have a place in positions of one protocol of Traccar; of undefined, in those of any other. */
function attributesOf(protocol: string | undefined): FieldTable {
  return new Map(
    [...attributes].filter(([, { onlyOf, notOf }]) =>
      protocol === undefined
        ? onlyOf === undefined
        : (onlyOf?.includes(protocol) ?? notOf?.includes(protocol) !== true),
    ),
  );
}
const named = new Set([...attributes.values()].flatMap(({ onlyOf = [], notOf = [] }) => [...onlyOf, ...notOf]));
const attributesByProtocol = new Map([...named].map((protocol) => [protocol, attributesOf(protocol)]));
const commonAttributes = attributesOf(undefined);
const noAttributes: FieldTable = new Map();

/** Alarms of Traccar (`Position.KEY_ALARM`) that a reading has a flag for. */
const alarmFlags: Readonly<Record<string, string>> = {
  tow: 'towing',
  accident: 'crash',
  jamming: 'gps_jamming',
};

/** Members of a position that are placed here, or that say nothing about the vehicle. */
const placed = new Set([
  ...['id', 'deviceId', 'attributes', 'serverTime', 'deviceTime', 'fixTime'],
  ...['latitude', 'longitude', 'altitude', 'speed', 'course', 'valid', 'outdated'],
]);

/**
 * The format that Traccar forwards with `forward.type=json` and `event.forward.type=json`: `{ position, device }` and `{ event, device }`
 * (Traccar, PositionData, EventData). Speeds are in knots, distances in metres.
 */
export const traccar: SourceFormat = {
  fields: attributes,
  split({ body }) {
    const message = requireObject(body, 'body');
    const device = requireDevice(objectOf(message['device'])['uniqueId'], 'device.uniqueId');
    if (message['event'] === undefined) requireObject(message['position'], 'position');
    return [{ device, message }];
  },
  timestampOf(message) {
    return message['event'] === undefined
      ? timestampOfPosition(objectOf(message['position']))
      : secondsOf(objectOf(message['event'])['eventTime']);
  },
  toReading(message) {
    return message['event'] === undefined
      ? readPosition(objectOf(message['position']))
      : readEvent(objectOf(message['event']), message);
  },
  toMessage(device, reading, fields) {
    return { device: { uniqueId: device }, position: positionOf(reading, fields) };
  },
};

/** An outdated position repeats the last fix for a message without one: its values are of the device's time. */
function timestampOfPosition({ outdated, deviceTime, fixTime }: Record<string, unknown>): number | undefined {
  return secondsOf(outdated === true ? deviceTime : fixTime);
}

function readPosition(position: Record<string, unknown>): Draft {
  const isOutdated = position['outdated'] === true;
  const draft: Draft = { timestamp: timestampOfPosition(position), can: [] };
  if (!isOutdated) draft.location = readLocation(position);
  if (isOutdated) draft.can.push({ key: 'outdated', value: 'true' });
  if (position['valid'] === false) draft.can.push({ key: 'valid', value: 'false' });
  addFields(draft, position, noAttributes, placed);
  addAttributes(draft, objectOf(position['attributes']), position['protocol']);
  return completeReading(draft);
}

function readLocation({ latitude, longitude, altitude, speed: knots, course }: Record<string, unknown>) {
  const speed = typeof knots === 'number' ? Math.round(knots * kilometresPerNauticalMile * 1e6) / 1e6 : undefined;
  const location: Record<string, unknown> = {};
  for (const [name, value] of Object.entries({ latitude, longitude, altitude, angle: course, speed })) {
    if (value !== undefined && value !== null) location[name] = value;
  }
  return location;
}

/** An event repeats a position that is also forwarded on its own. All events of a position have its time. */
function readEvent(event: Record<string, unknown>, message: Readonly<Record<string, unknown>>): Draft {
  const seconds = secondsOf(event['eventTime']);
  const timestamp = seconds === undefined ? undefined : distinctTime(seconds, Buffer.from(JSON.stringify(event)));
  const draft: Draft = { timestamp, can: [] };
  addFields(draft, { event: event['type'], geofence: objectOf(message['geofence'])['name'] }, noAttributes);
  addAttributes(draft, objectOf(event['attributes']));
  return completeReading(draft);
}

/** `Position.PREFIX_TEMP`: a probe of the device, in °C. */
const probeForm = /^temp\d{1,3}$/;

function addAttributes(draft: Draft, values: Record<string, unknown>, protocol?: unknown): void {
  const table = attributesByProtocol.get(String(protocol)) ?? commonAttributes;
  const probes = Object.keys(values).filter((name) => probeForm.test(name) && typeof values[name] === 'number');
  addFields(draft, values, table, new Set(probes));
  if (probes.length > 0) {
    draft.sensors = probes.map((name) => ({ name, data: [{ key: 'temperature', value: String(values[name]) }] }));
  }
  const alarms = typeof values['alarm'] === 'string' ? values['alarm'].split(',') : [];
  const flags = alarms.flatMap((alarm) => alarmFlags[alarm] ?? []);
  if (flags.length > 0) draft.alarms = Object.fromEntries(flags.map((flag) => [flag, true]));
}

/** A position of Traccar; one that is outdated has the time of the device and no place. */
function positionOf({ timestamp, location }: TelemetryReading, fields: Readonly<Record<string, unknown>>) {
  const { outdated, valid = 'true', ...attributes } = fields;
  const { latitude, longitude, altitude, angle, speed } = location ?? { latitude: 0, longitude: 0 };
  const time = isoTime(timestamp);
  const isOutdated = outdated === 'true';
  return {
    ...{ valid: valid === 'true', outdated: isOutdated, latitude, longitude, altitude, attributes },
    ...{ fixTime: time, deviceTime: time, serverTime: time },
    ...(angle !== undefined && { course: angle }),
    ...(speed !== undefined && { speed: speed / kilometresPerNauticalMile }),
  };
}
