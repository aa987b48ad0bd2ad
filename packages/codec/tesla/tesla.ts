import {
  addFields,
  completeReading,
  type Draft,
  isoTime,
  objectOf,
  readFieldTable,
  requireDevice,
  requireObject,
  type SourceFormat,
  secondsOf,
} from '../shared/source-format.ts';
import { decodePayload } from './payload.ts';

const teslaFields = readFieldTable(new URL('fields.json', import.meta.url));

const invalid = '<invalid>';
const windows = ['FdWindow', 'FpWindow', 'RdWindow', 'RpWindow'];

/**
 * The records that fleet-telemetry sends with `transmit_decoded_records`: `vin`, `createdAt`, `isResend` and `data`, a list of
 * fields that changed (fleet-telemetry, vehicle_data.proto); and those that its logger writes, with `Vin`, `CreatedAt`,
 * `IsResend` and a member for each field (PayloadToMap). Speeds and distances are in miles.
 */
export const tesla: SourceFormat = {
  endpoint: { decodeProtobuf: decodePayload },
  fields: teslaFields,
  split({ body }) {
    const records = Array.isArray(body) ? body : [body];
    return records.map((value: unknown, index) => {
      const message = requireObject(value, `record ${index}`);
      const name = message['Vin'] === undefined ? 'vin' : 'Vin';
      return { device: requireDevice(message[name], `record ${index}: ${name}`), message };
    });
  },
  toReading(message) {
    const { Vin: _vin, CreatedAt, IsResend: _isResend, ...logged } = message;
    const { vin: _lowerVin, createdAt = CreatedAt, isResend: _lowerIsResend, data, ...typed } = logged;
    const { Location: location, DoorState: doors, ...fields } = plainValues({ ...typed, ...fieldsOf(data) });
    const isEmpty = location === undefined && doors === undefined && Object.keys(fields).length === 0;
    // Alerts in protobuf have no fields of the vehicle.
    if (isEmpty && Array.isArray(data)) return undefined;
    const draft: Draft = { timestamp: secondsOf(createdAt), can: [] };
    const { latitude, longitude } = objectOf(location);
    if (typeof latitude === 'number') draft.location = { latitude, longitude };
    addFields(draft, fields, teslaFields);
    addDoors(draft, doors);
    addWindows(draft, fields);
    addCharging(draft, fields['DetailedChargeState']);
    return completeReading(draft);
  },
  toMessage: (device, { timestamp, location }, fields) => ({
    ...{ Vin: device, CreatedAt: isoTime(timestamp), IsResend: false, ...fields },
    ...(location && { Location: { latitude: location.latitude, longitude: location.longitude } }),
  }),
};

/** The values of `data` by the names of their fields. */
function fieldsOf(data: unknown): Record<string, unknown> {
  if (!Array.isArray(data)) return data === undefined ? {} : { data };
  const fields = data.map(objectOf).filter(({ value }) => value !== null);
  return Object.fromEntries(fields.map(({ key, value }) => [String(key), value]));
}

/** Unwraps values with their types, such as `{ "doubleValue": 1.5 }`, and leaves out those that the vehicle calls invalid. */
function plainValues(typed: Record<string, unknown>): Record<string, unknown> {
  const plain = Object.entries(typed).map(([name, value]): [string, unknown] => {
    const members = Object.entries(objectOf(value));
    const [only] = members;
    const isTyped = members.length === 1 && only !== undefined && /Value$|^invalid$/.test(only[0]);
    if (!isTyped) return [name, value];
    return [name, only[0] === 'invalid' ? invalid : only[1]];
  });
  return Object.fromEntries(plain.filter(([, value]) => value !== invalid));
}

/** Doors are an object of flags or, from older vehicles, a text with those that are open, such as `DriverFront|TrunkRear`. */
function addDoors(draft: Draft, doors: unknown): void {
  if (doors === undefined || doors === null) return;
  const isOpen = typeof doors === 'string' ? doors !== '' : Object.values(objectOf(doors)).includes(true);
  draft.fleet = { ...draft.fleet, doors: isOpen ? 'OPEN' : 'CLOSED' };
  addFields(draft, { DoorState: doors }, new Map());
}

/** A record has only the windows that changed, so a closed one does not say that all are. */
function addWindows(draft: Draft, fields: Record<string, unknown>): void {
  const states = windows.map((name) => fields[name]).filter((state) => typeof state === 'string');
  const isOpen = states.some((state) => /Open/.test(state));
  const isClosed = states.length === windows.length && states.every((state) => /Closed$/.test(state));
  if (isOpen || isClosed) draft.fleet = { ...draft.fleet, windows: isOpen ? 'OPEN' : 'CLOSED' };
}

function addCharging(draft: Draft, state: unknown): void {
  if (typeof state !== 'string' || state.endsWith('Unknown')) return;
  const isCharging = /(Charging|Starting)$/.test(state);
  draft.fleet = { ...draft.fleet, ChargingStatus: isCharging ? 'CHARGING' : 'NOT_CHARGING' };
}
