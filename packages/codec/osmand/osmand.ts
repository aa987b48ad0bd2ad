import {
  addFields,
  completeReading,
  type Draft,
  objectOf,
  readFieldTable,
  requireDevice,
  requireObject,
  type SourceFormat,
} from '../shared/source-format.ts';
import { secondsOf } from '../shared/time.ts';

const osmandParameters = readFieldTable(new URL('parameters.json', import.meta.url));
const secondsPerHourInKilometres = 3.6;

/**
 * The format of OsmAnd and Traccar Client: a query such as `?lat=…&lon=…&timestamp=…&speed=…` with the speed in knots, or JSON
 * `{ location: { timestamp, coords } }` with the speed in m/s (Traccar, "OsmAnd"). In both, −1 is unknown.
 */
export const osmand: SourceFormat = {
  endpoint: { isUrl: true },
  fields: osmandParameters,
  split({ body, device, receivedAtMs }) {
    const message = requireObject(body, 'body');
    const name = requireDevice(device ?? message['device_id'] ?? message['id'] ?? message['deviceid'], 'id');
    if (isJsonForm(message) || message['timestamp'] !== undefined) return [{ device: name, message }];
    // The time of arrival is written down, so that the message means the same whenever it is decoded.
    return [{ device: name, message: { ...message, timestamp: receivedAtMs / 1000 } }];
  },
  timestampOf: (message) => secondsOf((isJsonForm(message) ? objectOf(message['location']) : message)['timestamp']),
  toReading(message) {
    return isJsonForm(message) ? readJson(objectOf(message['location'])) : readQuery(message);
  },
  toMessage: (device, { timestamp }, fields) => ({ id: device, timestamp, ...fields }),
};

/** In the query form, `location` is a text: latitude and longitude. */
function isJsonForm(message: Readonly<Record<string, unknown>>): boolean {
  return typeof message['location'] === 'object' && message['location'] !== null;
}

function readQuery(message: Readonly<Record<string, unknown>>): Draft {
  const { id: _id, deviceid: _deviceId, timestamp, location, ...parameters } = message;
  const draft: Draft = { timestamp: secondsOf(timestamp), can: [] };
  const [lat, lon] = typeof location === 'string' ? location.split(',') : [];
  addFields(draft, { lat, lon, ...parameters }, osmandParameters);
  return completeReading(draft);
}

function readJson(location: Record<string, unknown>): Draft {
  const { timestamp, coords, is_moving: movement, odometer, battery, activity, extras, ...others } = location;
  const { latitude, longitude, altitude, heading, speed, ...accuracies } = objectOf(coords);
  const draft: Draft = { timestamp: secondsOf(timestamp), can: [] };
  addFields(draft, { lat: latitude, lon: longitude, altitude, heading, motion: movement, odometer }, osmandParameters);
  if (typeof speed === 'number' && speed >= 0) {
    draft.location = { ...draft.location, speed: Math.round(speed * secondsPerHourInKilometres * 1e6) / 1e6 };
  }
  const named = { ...prefixed('battery', battery), ...prefixed('activity', activity), ...others, ...objectOf(extras) };
  addFields(draft, { ...knownOnly(accuracies), ...knownOnly(named) }, new Map());
  return completeReading(draft);
}

function prefixed(prefix: string, value: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(objectOf(value)).map(([name, one]) => [`${prefix}.${name}`, one]));
}

/** `_` repeats the message as a query, with its position. */
function knownOnly(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => value !== -1 && name !== '_'));
}
